#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_serve_template.sh: a model without a chat template in `carat serve`: what each surface says to somebody
# who talks to it, without a path of the machine; --chat-template, by which it can be talked to.
. "$CARAT_SOURCE/test/cli/common.bash"
. "$CARAT_SOURCE/test/cli/ask/serve.bash"
cp -r "$CARAT_SOURCE/test/fixtures/tiny4" tiny4
base=$CARAT_SOURCE/fuzz/corpus/gguf/gemma
hi='[{"role":"user","content":"hi"}]'

start_server "$base" -np 1 --no-cache
while IFS='|' read -r param path body; do
    ask 400 POST "$path" "$body"
    body_has "$param: gemma has no chat template: give carat serve one (--chat-template gemma3), or send"
    ! grep -qF "$CARAT_SOURCE" body || die "$path tells where the model lies: $(cat body)"
    [[ $path != /v1/* || $path == /v1/messages* ]] || body_has "\"param\":\"$param\""
done <<END
messages|/v1/chat/completions|{"messages":$hi}
messages|/v1/chat/completions|{"messages":$hi,"stream":true}
messages|/v1/messages|{"messages":$hi,"max_tokens":1}
messages|/v1/messages/count_tokens|{"messages":$hi}
messages|/api/chat|{"model":"x","messages":$hi}
prompt|/api/generate|{"model":"x","prompt":"hi"}
input|/v1/responses|{"input":"hi"}
contents|/v1beta/models/x:generateContent|{"contents":[{"parts":[{"text":"hi"}]}]}
messages|/apply-template|{"messages":$hi}
messages|/v1/explain|{"messages":$hi}
messages|/v1/prepare|{"messages":$hi}
END
ask 200 POST /v1/completions '{"prompt":"hi","max_tokens":1}'
ask 200 POST /api/generate '{"model":"x","prompt":"hi","raw":true,"stream":false,"options":{"num_predict":1}}'
grep -q "^curl .*/v1/completions" serve.out || die "what to begin with: $(cat serve.out)"
for path in /props /v1/models /api/tags /v1/explain/v1/completions; do
    [[ $path == *explain* ]] && method=POST || method=GET
    ask 200 $method $path '{"prompt":"hi"}'
    ! grep -qF "$CARAT_SOURCE" body || die "$path tells where the model lies: $(cat body)"
done
stop_server 0

start_server "$base" -np 1 --no-cache --chat-template gemma3 --jinja
grep -q "^curl .*/v1/chat/completions" serve.out || die "what to begin with: $(cat serve.out)"
ask 200 POST /apply-template "{\"messages\":$hi}"
body_has '{"prompt":"<bos><start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n"}'
ask 200 POST /v1/chat/completions "{\"messages\":$hi,\"max_tokens\":1}"
ask 200 POST /api/generate '{"model":"x","prompt":"hi","stream":false,"options":{"num_predict":1}}'
ask 200 POST /v1/explain "{\"messages\":$hi}"
body_has '"template":{"name":"gemma3",'
stop_server 0

# one that is not the model's own, and has no thoughts
start_server tiny4 -np 1 --chat-template gemma4
ask 200 POST /apply-template "{\"messages\":$hi}"
body_has '<bos><|turn>user\nhi<turn|>\n<|turn>model\n<|channel>thought\n<channel|>"'
stop_server 0
refuse 2 serve tiny --chat-template gemma4 --port 0
err_has '--chat-template: it needs the token <|turn>, which this tokenizer'

refuse 2 serve tiny --chat-template chatml --port 0
err_has "'chatml' must be one of gemma, gemma3, functiongemma, gemma4, gemma4-small"
echo "carat serve talks by the template that it is given"
