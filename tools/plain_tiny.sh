#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# plain_tiny.sh: models/tiny in a new directory, with a vocabulary that has no tokens for calls: they are
# renamed. So its calls are JSON, as those of Gemma 1 to 3n. The arguments are models/tiny and the directory.
set -eu
mkdir -p "$2"
cp "$1"/{chat_template.jinja,config.json,generation_config.json,model.safetensors,tokenizer.json,tokenizer_config.json} "$2"
chmod -R u+w "$2"
for token in start_function_declaration end_function_declaration start_function_call end_function_call \
    start_function_response end_function_response escape; do
    sed -i "s/<$token>/<was_$token>/g" "$2/tokenizer.json" "$2/tokenizer_config.json"
done
