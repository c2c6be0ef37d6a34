#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_verify.sh: `carat verify` passes a sound model, fails a damaged one with exit code 7 and says where,
# and says the same as JSON. What each check finds is tested in test/check/test_verify.c.
. "$CARAT_SOURCE/test/cli/common.bash"

expect 0 verify tiny
[ ! -s err ] || die 'there are messages'
for name in values content tokenizer chat kernels; do out_has "^$name  *ok  *[^ ]"; done
for name in packed shapes vocabulary; do out_has "^$name  *-  *[^ ]"; done
[ "$(wc -l <out)" = 8 ] || die 'not eight lines'
hash=$(sed -n 's/^content .*XXH3-128 \([0-9a-f]*\) .*/\1/p' out)
[ ${#hash} = 32 ] || die "the hash is '$hash'"
cp out once

# the same for any number of threads, and for the folder that `tiny` was made from
expect 0 verify tiny -t 1
same once out
expect 0 verify "$tiny" -t 3
same once out

expect 0 verify tiny --isa ref
out_has '^kernels .* ref$'

expect 0 verify tiny --json
[ "$(wc -l <out)" = 1 ] || die 'JSON is not one line'
out_has '"ok":true,"passed":5,"failed":0,"content":"'"$hash"'"'
out_has '"name":"values","verdict":"passed","detail":"all of '
out_has '"name":"shapes","verdict":"nothing to check"'

# one weight changed to infinity: bytes 8 to 9 of the data of a safetensors file, which is BF16
cp -r "$tiny" broken
chmod -R u+w broken
size=$(od -An -t u8 -N 8 broken/model.safetensors | tr -d ' ')
printf '\x80\x7f' | dd of=broken/model.safetensors bs=1 seek=$((size + 16)) conv=notrunc status=none
expect 7 verify broken
out_has '^values  *FAILED .* has 1 that is NaN or infinite, the first in row 0, column 4 '
out_has "byte $((size + 16)) of broken/model.safetensors"
out_has '^kernels '
! grep -q "$hash" out || die 'the hash is the same'
expect 7 verify broken --json
out_has '"ok":false,"passed":4,"failed":1'

# a packed model: its own checks, the same content; and one bit of a weight that is another
expect 0 pack tiny -o packed.carat
expect 0 verify packed.carat
out_has '^packed  *ok  *every byte of packed.carat has its checksum$'
out_has "$hash"
size=$(stat -c %s packed.carat)
printf '\x01' | dd of=packed.carat bs=1 seek=$((size / 2)) conv=notrunc status=none
expect 7 verify packed.carat
out_has '^packed  *FAILED  *packed.carat is damaged: .*weight at byte [0-9]* differs from what was written$'
# one in the cache is compared with its origin too
cp -r "$tiny" whole
expect 0 run whole hello -n 1
expect 0 verify whole
out_has '^packed  *ok .*has its checksum, and packing the model again gives the same$'

# Ctrl-C while a pipe that nobody empties holds it up
mkfifo full
exec 3<>full
timeout 1 cat /dev/zero >&3 || true
"$CARAT" verify tiny >&3 2>err &
pid=$!
for _ in $(seq 50); do
    sleep 0.5
    kill -INT $pid 2>/dev/null || break
    sleep 0.5
done
code=0
wait $pid || code=$?
exec 3>&-
[ "$code" = 130 ] || die "interrupted: exit code $code"
err_has '^error: E_CANCELLED: '

refuse 3 verify absent
refuse 4 verify "$CARAT"
refuse 2 verify
refuse 2 verify tiny --isa mmx
refuse 2 verify tiny --temp 1
code=0
"$CARAT" verify tiny >/dev/full 2>err || code=$?
[ "$code" = 1 ] || die "a full disk gives $code"
