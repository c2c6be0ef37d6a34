#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_hardening.sh: what a release is compiled and linked with: fortified calls and stack protectors
# everywhere but in kernels, relocations that are resolved and read-only before main. And the flags of a
# packager take the place of ours.
set -eu # a pipe ends as its reader does: grep -q stops early
: "${CARAT_SOURCE:?}" "${CARAT_BUILD:?}" "${CC:?}"
[ -z "${CARAT_CFLAGS:-}" ] || { echo "sanitizers do it better"; exit 77; }
fail() { echo "$1" >&2 && exit 1; }
needs() { nm "$1" | grep -q " U $2\$"; }

for file in "$CARAT_BUILD/carat" "$CARAT_BUILD/libcarat.so"; do
    [ -e "$file" ] || continue
    name=${file##*/}
    readelf -lW "$file" | grep -q GNU_RELRO || fail "$name: no RELRO"
    readelf -dW "$file" | grep -qE 'BIND_NOW|FLAGS.* NOW' || fail "$name: symbols are bound late"
    nm -D "$file" | grep -q ' U __stack_chk_fail' || fail "$name: no stack protector"
    nm -D "$file" | grep -qE ' U __[a-z]+_chk(@|$)' || fail "$name: no fortified call"
done

protected=0
while IFS= read -r object; do
    case $object in
    */src/kernel/* | *emulated*)
        ! needs "$object" '__[a-z_]*_chk[a-z_]*' || fail "${object#*/src/}: a kernel is hardened"
        ;;
    *) ! needs "$object" __stack_chk_fail || protected=$((protected + 1)) ;;
    esac
done < <(find "$CARAT_BUILD/CMakeFiles" -path '*/part_*/src/*.c.o')
[ $protected -ge 20 ] || fail "$protected objects with a stack protector"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake -S "$CARAT_SOURCE" -B "$work" -DCMAKE_C_COMPILER="$CC" -DCMAKE_BUILD_TYPE=Release -DCARAT_TESTS=OFF \
    -DCMAKE_C_FLAGS_RELEASE='-O1 -DPACKAGED' >"$work/log" 2>&1 || fail "$(tail -n 20 "$work/log")"
grep '"command"' "$work/compile_commands.json" | grep -v '\.S"' >"$work/commands"
[ "$(wc -l <"$work/commands")" -gt 100 ] || fail 'no commands'
! grep -v -e '-O1 -DPACKAGED' "$work/commands" >&2 || fail 'the flags of the packager are left out'
! grep -e '-O2' -e '-DNDEBUG' "$work/commands" >&2 || fail 'our flags are beside those of the packager'
