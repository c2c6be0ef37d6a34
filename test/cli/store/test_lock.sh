#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_lock.sh: `carat pull --lock` writes models.lock, and every verb takes the commit that it says, also
# when the branch has moved; other hashes, other repositories and damage are said.
. "$CARAT_SOURCE/test/cli/hub.bash"

serve
moved=fedcba9876543210fedcba9876543210fedcba98
mkdir elsewhere
is_commit() { # COMMIT: what the name stands for here
    expect 0 show gemma3:1b
    out_has "commit ${1:0:12} of"
}
expect 0 pull gemma3:1b --lock
out_has "/snapshots/$commit$"
cp models.lock first
grep -q '"repository": "google/gemma-3-1b-it"' first || die "models.lock: $(cat first)"
grep -q "\"commit\": \"$commit\"" first || die "models.lock: $(cat first)"
hash=$(sha256sum <"$CARAT_SOURCE/models/tiny/model.safetensors")
grep -q "\"model.safetensors\": \"${hash%% *}\"" first || die "models.lock: $(cat first)"
expect 0 pull gemma3:1b --lock
same first models.lock

# the branch moves
cp -r "$folder/snapshots/$commit" "$folder/snapshots/$moved"
printf %s "$moved" >"$folder/refs/main"
is_commit $commit
asks 0 0 run gemma3:1b hi -n 1
(cd elsewhere && is_commit $moved)
expect 0 show google/gemma-3-1b-it # another name, which is not locked
out_has "commit ${moved:0:12} of"
expect 0 pull gemma3:1b
out_has "/snapshots/$commit$"
rm -r "${folder:?}/snapshots/$commit" # which is fetched, not the branch
fetches 0 pull gemma3:1b
out_has "/snapshots/$commit$"
printf %s "$moved" >"$folder/refs/main"
expect 0 pull gemma3:1b --lock
is_commit $moved
grep -q $commit models.lock && die 'the old commit is locked too'

# what is wrong
cp models.lock good
sed "s/${hash%% *}/${hash:1:63}0/" good >models.lock
expect 3 run gemma3:1b hi -n 1
err_has "gemma3:1b: model.safetensors has hash ${hash%% *}, and models.lock has"
sed 's/gemma-3-1b-it/gemma-3-4b-it/' good >models.lock
expect 1 run gemma3:1b hi -n 1
err_has "models.lock: gemma3:1b is 'google/gemma-3-4b-it' there, and google/gemma-3-1b-it here"
sed "s/$moved/main/" good >models.lock
expect 1 show gemma3:1b
err_has "models.lock: the commit of gemma3:1b is 'main', expected 40 digits"
for damage in '{' '[]' '{"models": {"gemma3:1b": 1, "gemma3:1b": 2}}'; do
    echo "$damage" >models.lock
    expect 1 show gemma3:1b
    err_has '^error: .*models.lock: '
    expect 0 run tiny hi -n 1
done
echo '{"models": 7}' >models.lock
is_commit $moved
refuse 2 pull gemma3:1b --lock --dry-run
refuse 2 pull gemma3:1b --lock --out x
refuse 2 pull "$HF_ENDPOINT/x.gguf" --lock
