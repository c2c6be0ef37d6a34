#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_fresh_clone.sh: a copy of the sources alone, a user without root, no apt-get, sudo, C++ compiler or
# anything else that only tests need: the lines of README.md build, run and install, and its recipe for the
# library works, in a private prefix. Compiled without optimisation, because that takes a sixth of the time;
# how fast it runs is not the question here. 30 seconds of processor time: it compiles all of the library and
# the command, without ccache, which nobody promised either.
set -euo pipefail

source=${CARAT_SOURCE:?}
fail() { echo "$1" >&2 && exit 1; }
[ -z "${CARAT_CFLAGS:-}" ] || { echo "looked at in the release flavour only"; exit 77; }
command -v make >/dev/null || { echo "there is no make"; exit 77; }

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/clone" "$dir/bin" "$dir/home"
if git -C "$source" rev-parse 2>/dev/null; then
    git -C "$source" ls-files -z -c -o --exclude-standard | (cd "$source" && xargs -0 ls -d 2>/dev/null) |
        tar -C "$source" -cf - -T - | tar -C "$dir/clone" -xf -
else
    tar -C "$source" --exclude=./build --exclude=./.git -cf - . | tar -C "$dir/clone" -xf -
fi
[ ! -e "$dir/clone/build" ] || fail "the sources contain a build folder"

# The commands of this system but for those that nobody promised.
for folder in /usr/local/bin /usr/bin /bin; do
    [ ! -d $folder ] || find $folder -mindepth 1 -maxdepth 1 -exec ln -sf -t "$dir/bin" {} +
done
rm -f "$dir"/bin/{apt,apt-get,dpkg,sudo,su,git,zsh,fish,man,clang++*,c++*,g++*,*-g++*,qemu-*,aarch64-*,ccache}

# Lines of README.md that are indented by four columns. The two of cmake come first: they decide how it is
# compiled.
sed -n 's/^    //p' "$source/README.md" >"$dir/readme"
pick() { grep -E "$1" "$dir/readme" || fail "README.md has no line like $1"; }
awk '/example-end/ {exit} on {sub(/^ \* ?/, ""); print} /^ \* example-begin/ {on = 1}' "$source/include/carat.h" >"$dir/clone/program.c"
{
    echo 'set -eux'
    pick '^cmake '
    pick '^build/release/carat '
    pick '^make demo' | sed 's/$/ >demo/'
    pick '^make install'
    echo 'test ! -e build/release/test'
    echo 'ln -s models/tiny MODEL'
    if [ -e "$dir/bin/pkg-config" ]; then
        pick '^export PKG_CONFIG_PATH='
        pick '^cc program.c '
        pick '^\./program '
    fi
    ! "$dir/bin/python3" -c 'import ctypes' 2>/dev/null || pick 'python3 examples/generate.py'
    # the installed command, its pages and its licence
    echo '"$HOME/.local/bin/carat" run tiny "Turn on the kitchen lights"'
    echo 'test -s "$HOME/.local/share/man/man1/carat-run.1"'
    echo 'test -s "$HOME/.local/share/doc/carat/LICENSE"'
} >"$dir/script"

as_user=()
if [ "$(id -u)" = 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chown -R 65534:65534 "$dir"
fi
cd "$dir/clone"
"${as_user[@]}" env -i HOME="$dir/home" PATH="$dir/bin" TMPDIR="$dir" CMAKE_BUILD_TYPE=None PYTHONDONTWRITEBYTECODE=1 \
    bash "$dir/script" >"$dir/log" 2>&1 </dev/null || fail "$(tail -n 40 "$dir/log")"

! grep -qE '^(CMOCKA|SIMDE)_' build/release/CMakeCache.txt || fail "the build looked for what only tests need"
# What make demo prints last, on standard output, is the answer and nothing else.
answer=$(tail -n 1 demo)
[ "$answer" = 'The kitchen lights are now on.' ] || fail "the last line of make demo is '$answer'"
[ "$(tail -c 1 demo | od -An -c | tr -d ' ')" = '\n' ] || fail "no newline ends the answer"
"${as_user[@]}" env -i PATH="$dir/bin" make clean >"$dir/log" 2>&1 || fail "make clean: $(cat "$dir/log")"
[ ! -e build ] || fail "make clean leaves something"

# Without the packages, and without a way to get them: one reason, and where the other way is described.
rm "$dir"/bin/cmake
code=0
"${as_user[@]}" env -i HOME="$dir/home" PATH="$dir/bin" bash tools/setup.sh >"$dir/log" 2>&1 || code=$?
[ $code = 1 ] && grep -q 'Missing: cmake$' "$dir/log" && grep -q 'README.md' "$dir/log" || fail "setup.sh: $code, $(cat "$dir/log")"
ln -s "$(type -P true)" "$dir/bin/apt-get"
if [ ${#as_user[@]} -gt 0 ] || [ "$(id -u)" != 0 ]; then
    code=0
    "${as_user[@]}" env -i HOME="$dir/home" PATH="$dir/bin" bash tools/setup.sh >"$dir/log" 2>&1 || code=$?
    [ $code = 1 ] && grep -q 'by root only.*Missing: cmake$' "$dir/log" || fail "setup.sh without root: $code, $(cat "$dir/log")"
fi
