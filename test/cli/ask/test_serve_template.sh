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

# turns where the template raises for messages as they come; what it takes is not touched
u='{"role":"user","content":"a"}' w='{"role":"user","content":[{"type":"text","text":"b"}]}' s='{"role":"system","content":"s"}'
a='{"role":"assistant","content":"x"}' d='{"role":"developer","content":[{"type":"text","text":"p"},{"type":"text","text":"q"}]}'
begin='<bos><start_of_turn>user\n' model='<end_of_turn>\n<start_of_turn>model\n' user='<end_of_turn>\n<start_of_turn>user\n' joined='joined with what is before it' told="told as the user's"
turns() { # reads: messages|prompt|warnings, each with ; behind it
    local messages prompt says
    while IFS='|' read -r messages prompt says; do
        ask 200 POST /apply-template "{\"messages\":[$messages]}"
        body_has "{\"prompt\":\"$prompt\"}"
        ask 200 POST /v1/chat/completions "{\"messages\":[$messages],\"max_tokens\":1}"
        [ "$(grep -o '"messages\[[0-9]\]: [^,"]*' body | tr -d '"' | sed 's/ since.*//' | tr '\n' ';')" = "$says" ] || die "$messages: $(cat body), expected $says"
    done
}
turns <<END
$u,$w|${begin}a\n\nb$model|messages[1]: $joined;
$u,$a,$a,$w|${begin}a${model}x\n\nx${user}b$model|messages[2]: $joined;
$s,$u|${begin}s\n\na$model|
$s,$d,$u|${begin}s\n\npq\n\na$model|messages[1]: $joined;
$u,$a,$s,$u|${begin}a${model}x${user}s\n\na$model|messages[2]: $told;messages[3]: $joined;
$u,$a,$d|${begin}a${model}x${user}pq$model|messages[2]: $told;
$u,{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]},$u|${begin}a${model}no${user}a$model|
$u,{"role":"assistant","content":null,"refusal":"no"},$u|${begin}a${model}no${user}a$model|
$u,{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"refusal","refusal":"no"}]},$a|${begin}a${model}xno\n\nx$model|messages[2]: $joined;
END
while IFS='|' read -r path body says; do # each surface, by its own names
    ask 200 POST $path "$body"
    body_has "\"warnings\":[$says"
done <<END
/v1/messages|{"model":"x","max_tokens":1,"messages":[$u,$a,$u,$u]}|"messages[3]: $joined
/v1/responses|{"max_output_tokens":1,"input":[$u,$a,$s,$u]}|"input[2]: $told
/v1beta/models/x:generateContent|{"generationConfig":{"maxOutputTokens":1},"contents":[{"parts":[{"text":"a"}]},{"parts":[{"text":"b"}]}]}|"contents[1]: $joined
/api/chat|{"model":"x","stream":false,"options":{"num_predict":1},"messages":[$u,$a,$s,$u]}|"messages[2]: $told
END
ask 400 POST /v1/chat/completions "{\"messages\":[$a,$u]}"
body_has '"param":"messages[0].role"'
stop_server 0
start_server "$base" -np 1 --no-cache --chat-template gemma
turns <<END
$s,$u|${begin}s\n\na$model|messages[0]: $told;messages[1]: $joined;
END
ask 200 POST /api/generate '{"model":"x","system":"s","prompt":"a","stream":false,"options":{"num_predict":1}}'
body_has "\"warnings\":[\"system: $told"
body_has "\"prompt: $joined"
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
