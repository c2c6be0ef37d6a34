#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_clients.sh: tries carat and huggingface_hub, transformers above it, and kagglehub on one cache, in
# both directions (check_clients.py, check_clients_kaggle.py), with the versions below, which it installs
# into build/clients; random patterns and grammars with Python's re (check_patterns.py); and random schemas
# with jsonschema and hypothesis-jsonschema (check_schemas.py), answers of a model too (check_answers.py, and
# of the command check_forms.py); digests of receipts by numpy and xxhash (check_receipt.py); and requests of
# HTTP/1.1 with llhttp (check_http1.py); carat serve with openai (check_openai.py, check_responses.py),
# google-genai and langchain-ollama (check_gemini.py); and its answers to thousands of requests, whoever else
# is answered (check_identity.py).
set -euo pipefail
clients=(huggingface_hub==2.4.0 huggingface_hub==1.18.0 huggingface_hub==0.23.5)
clients+=(transformers==5.23.0 kagglehub==1.0.2)
cd "$(dirname "$0")/.."
cmake --build build/release --target carat carat-fetch fakehub match walk answer events
failed=0
python3 tools/check_patterns.py build/release/test/match 3000 || failed=1
place=build/clients/schemas
[ -x $place/bin/python ] || python3 -m venv $place
$place/bin/pip install -q --disable-pip-version-check jsonschema==4.26.0 hypothesis-jsonschema==0.23.1 \
    rfc3339-validator==0.1.4 rfc3987==1.3.8
$place/bin/python tools/check_schemas.py build/release/test/walk 500 || failed=1
$place/bin/python tools/check_answers.py build/release/test/answer models/tiny 500 300 || failed=1
plain=$(mktemp -d)
tools/plain_tiny.sh models/tiny "$plain" # whose calls are JSON
$place/bin/python tools/check_answers.py build/release/test/answer "$plain" 0 100 || failed=1
rm -rf "$plain"
$place/bin/python tools/check_forms.py build/release/carat 100 50 || failed=1
$place/bin/pip install -q --disable-pip-version-check numpy==2.4.6 xxhash==4.1.0
$place/bin/python tools/check_receipt.py build/release/carat models/tiny || failed=1
# carat serve
python3 tools/check_identity.py build/release/carat 1000 || failed=1
$place/bin/pip install -q --disable-pip-version-check anthropic==2.12.0 ollama==0.6.3
$place/bin/python tools/check_apis.py build/release/carat || failed=1
$place/bin/pip install -q --disable-pip-version-check httptools==0.9.0
$place/bin/python tools/check_http1.py build/release/test/events 1000000 || failed=1
$place/bin/pip install -q --disable-pip-version-check openai==3.57.0
$place/bin/python tools/check_openai.py build/release/carat || failed=1
$place/bin/pip install -q --disable-pip-version-check langchain-openai==1.7.4
$place/bin/python tools/check_responses.py build/release/carat || failed=1
$place/bin/pip install -q --disable-pip-version-check google-genai==3.4.0 langchain-ollama==1.1.0
$place/bin/python tools/check_gemini.py build/release/carat || failed=1
for client in "${clients[@]}"; do
    place=build/clients/$client
    check=tools/check_clients.py
    [[ $client != kagglehub* ]] || check=tools/check_clients_kaggle.py
    [ -x "$place/bin/python" ] || python3 -m venv "$place"
    "$place/bin/pip" install -q --disable-pip-version-check "$client"
    "$place/bin/python" $check "$PWD/build/release/carat" "$PWD/build/release/test/fakehub" "$PWD" || failed=1
done
exit $failed
