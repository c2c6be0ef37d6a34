#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_convert_bad_out.sh: `carat convert` where the new file cannot be: exit code 1 or 2, nothing under its
# name and nothing beside it, and the source as it was; also when the process is killed.
. "$CARAT_SOURCE/test/cli/common.bash"
export CARAT_ARG_FORCE=1 # files of earlier steps give way

nothing() { # is left of that name
    [ ! -e "$1" ] || die "$1 is there"
    ! ls ./*carat-part* 2>/dev/null || die "a part is left"
}

expect 0 convert "$tiny" whole.gguf --type q8_0
cp whole.gguf source.gguf

# the source by another name
ln -s source.gguf link.gguf
ln source.gguf twin.gguf
for out in source.gguf link.gguf twin.gguf; do
    refuse 1 convert source.gguf $out
    err_has 'is what the model is read from: name another file'
done

# what is no regular file, or no place for one
mkdir folder.gguf
mkfifo pipe.gguf
for out in folder.gguf pipe.gguf /dev/full; do
    refuse 1 convert source.gguf "$out" --to gguf
    err_has 'is not a regular file, so it cannot be replaced'
done
refuse 1 convert source.gguf no/such/x.gguf
refuse 1 convert source.gguf source.gguf/x.gguf

# more than the process may write
(ulimit -f 16 && exec "$CARAT" convert source.gguf x.gguf) >out 2>err && die "there was room"
err_has 'there is no room for [0-9]* bytes'
nothing x.gguf

# killed at once: the next one begins anew
"$CARAT" convert source.gguf x.gguf --type f32 --allow-requantize -t 1 2>/dev/null &
kill -9 $!
wait $! 2>/dev/null || true
expect 0 convert source.gguf y.gguf
expect 0 convert source.gguf x.gguf
same x.gguf y.gguf
rm x.gguf y.gguf
! ls ./*carat-part* 2>/dev/null || die "a part is left"

same source.gguf whole.gguf
