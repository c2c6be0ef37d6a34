#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_verify_hub.sh: `carat verify` of a model in the hub's cache hashes its files, without a request, and
# names the one that is not the publisher's, also where the model cannot be opened any more.
. "$CARAT_SOURCE/test/cli/hub.bash"

serve
expect 0 pull google/gemma-3-1b-it
stop
export HF_ENDPOINT=http://127.0.0.1:9
snapshot=$folder/snapshots/$commit
n=$(find "$snapshot" -type l | wc -l)
expect 0 verify google/gemma-3-1b-it
out_has "^publisher   ok      $n files, [0-9.]* MB, with the publisher's hashes$"
expect 0 verify "$snapshot"
out_has '^publisher   ok'
expect 0 verify google/gemma-3-1b-it --json
out_has '{"name":"publisher","verdict":"passed","detail":"'"$n files"
passed=$(sed -n 's/.*"passed":\([0-9]*\),"failed":0.*/\1/p' out)
expect 0 verify "$CARAT_SOURCE/models/tiny" --json
out_has "\"passed\":$((passed - 1)),\"failed\":0"
! grep -q publisher out || die 'a model that no hub had is compared with it'

# a bit of a weight, which no other check sees; then a byte of a small file
blob=$(readlink -f "$snapshot/model.safetensors")
cp "$blob" whole
chmod u+w "$blob"
size=$(stat -c %s whole)
printf '\001' | dd of="$blob" bs=1 seek=$((size - 40)) conv=notrunc 2>/dev/null
cmp -s "$blob" whole && die 'nothing was changed'
expect 7 verify google/gemma-3-1b-it
out_has "^publisher   FAILED  model.safetensors has hash [0-9a-f]*, expected ${blob##*/}$"
expect 7 verify google/gemma-3-1b-it --json
out_has '"ok":false'
out_has '"failed":1'
head -c 1000 whole >"$blob" # it cannot be opened
expect 4 verify google/gemma-3-1b-it
out_has '^publisher   FAILED  model.safetensors has hash'
cp whole "$blob"
small=$(readlink -f "$snapshot/generation_config.json")
chmod u+w "$small"
echo >>"$small"
expect 7 verify google/gemma-3-1b-it
out_has "^publisher   FAILED  generation_config.json has hash [0-9a-f]*, expected ${small##*/}$"
rm "$small" && mkdir "$small"
code=0
"$CARAT" verify google/gemma-3-1b-it >out 2>err || code=$?
[ "$code" != 0 ] || die 'a folder in place of a file passes'
