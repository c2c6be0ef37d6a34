#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_clients.sh: tries carat and huggingface_hub, transformers above it, and kagglehub on one cache, in
# both directions (check_clients.py, check_clients_kaggle.py), with the versions below, which it installs
# into build/clients; random patterns and grammars with Python's re (check_patterns.py); and random schemas
# with jsonschema and hypothesis-jsonschema (check_schemas.py), answers of a model too (check_answers.py, and
# of the command check_forms.py); digests of receipts by numpy and xxhash (check_receipt.py); and requests of
# HTTP/1.1 with llhttp (check_http1.py); carat serve with openai (check_openai.py, check_responses.py),
# anthropic and ollama (check_apis.py), google-genai and langchain-ollama (check_gemini.py), and one
# conversation by these and by libraries above them (check_conversations.py); and its answers to thousands of
# requests, whoever else is answered (check_identity.py), and its memory behind them (check_soak.py). What pip
# does not bring is skipped, with a line.
set -euo pipefail
clients=(huggingface_hub==2.4.0 huggingface_hub==1.18.0 huggingface_hub==0.23.5)
clients+=(transformers==5.23.0 kagglehub==1.0.2)
cd "$(dirname "$0")/.."
cmake --build build/release --target carat carat-fetch fakehub match walk answer events
failed=0

# bring FOLDER PACKAGES...: an environment of Python with them. False: it is skipped.
bring() {
    place=build/clients/$1
    shift
    { [ -x "$place/bin/python" ] || python3 -m venv "$place"; } &&
        "$place/bin/pip" install -q --disable-pip-version-check "$@" && return
    echo "skipped: $*: pip or its registry is not there"
    return 1
}
# check SCRIPT ARGUMENTS...: by the environment that was brought last.
check() { "$place/bin/python" "tools/$1" "${@:2}" || failed=1; }

python3 tools/check_patterns.py build/release/test/match 3000 || failed=1
schemas=(jsonschema==4.26.0 hypothesis-jsonschema==0.23.1 rfc3339-validator==0.1.4 rfc3987==1.3.8)
if bring schemas "${schemas[@]}"; then
    check check_schemas.py build/release/test/walk 500
    check check_answers.py build/release/test/answer models/tiny 500 300
    plain=$(mktemp -d)
    tools/plain_tiny.sh models/tiny "$plain" # whose calls are JSON
    check check_answers.py build/release/test/answer "$plain" 0 100
    rm -rf "$plain"
    check check_forms.py build/release/carat 100 50
fi
! bring receipts numpy==2.4.6 xxhash==4.1.0 || check check_receipt.py build/release/carat models/tiny
# carat serve
python3 tools/check_identity.py build/release/carat 1000 || failed=1
python3 tools/check_soak.py build/release/carat || failed=1
! bring apis anthropic==2.14.0 ollama==0.6.3 || check check_apis.py build/release/carat
! bring http httptools==0.9.0 || check check_http1.py build/release/test/events 1000000
if bring openai openai==3.57.0; then
    check check_openai.py build/release/carat
    check check_conversations.py build/release/carat openai
fi
! bring openai openai==3.57.0 langchain-openai==1.7.4 || check check_responses.py build/release/carat
! bring gemini google-genai==3.6.1 langchain-ollama==1.1.0 || check check_gemini.py build/release/carat
! bring apis anthropic==2.14.0 ollama==0.6.3 google-genai==3.6.1 ||
    check check_conversations.py build/release/carat anthropic ollama google-genai
! bring langchain langchain-openai==1.7.4 langchain-anthropic==1.7.10 langchain-ollama==1.1.0 \
    langchain-google-genai==4.4.3 || check check_conversations.py build/release/carat langchain-core
! bring pydantic-ai 'pydantic-ai-slim[openai,anthropic,google]==2.68.0' ||
    check check_conversations.py build/release/carat pydantic-ai-slim
! bring instructor instructor==1.17.0 anthropic==2.14.0 google-genai==3.6.1 jsonref==1.1.0 ||
    check check_conversations.py build/release/carat instructor
for client in "${clients[@]}"; do
    script=check_clients.py
    [[ $client != kagglehub* ]] || script=check_clients_kaggle.py
    ! bring "$client" "$client" ||
        check $script "$PWD/build/release/carat" "$PWD/build/release/test/fakehub" "$PWD"
done
exit $failed
