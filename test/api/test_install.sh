#!/usr/bin/env bash
# test_install.sh: what `make install` puts into a prefix is a library that people can build with: header, both
# libraries, soname, pkg-config file, command; a program outside the tree builds with pkg-config against either and
# answers; under DESTDIR the same files lie, naming the prefix and never the staging folder. What the libraries export and
# how large the static one is belongs to the product too. Needs no privileges.
# Needs CARAT_SOURCE, CARAT_BUILD and CC from CMake; CARAT_CFLAGS holds the sanitizers of the build.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "$1" >&2 && exit 1; }

version=$(sed -nE 's/^#define CARAT_VERSION +"([0-9]+\.[0-9]+\.[0-9]+)"$/\1/p' "$source/include/carat.h")
[ -n "$version" ] || fail "carat.h defines no version"
[ -e "$build/libcarat.so" ] || { echo "the shared library is not built"; exit 77; }

# ---- into a prefix ----

prefix=$dir/prefix
cmake --install "$build" --prefix "$prefix" >/dev/null
pc=$(find "$prefix" -name carat.pc)
[ -n "$pc" ] || fail "no carat.pc is installed"
lib=$(dirname "$(dirname "$pc")")
for file in "$prefix/include/carat.h" "$prefix/bin/carat" "$lib/libcarat.a" "$lib/libcarat.so" "$lib/libcarat.so.0" "$lib/libcarat.so.$version"; do
    [ -s "$file" ] || fail "not installed: ${file#"$dir"/}"
done
[ "$(readlink "$lib/libcarat.so.0")" = "libcarat.so.$version" ] || fail "libcarat.so.0 does not lead to libcarat.so.$version"
readelf -d "$lib/libcarat.so" | grep -q 'SONAME.*\[libcarat\.so\.0\]' || fail "the soname is not libcarat.so.0"
cmp -s "$prefix/include/carat.h" "$source/include/carat.h" || fail "another carat.h is installed"

# ---- DESTDIR: staged below a folder, made for the prefix ----

DESTDIR=$dir/stage cmake --install "$build" --prefix /opt/carat >/dev/null
diff <(cd "$prefix" && find . ! -type d | sort) <(cd "$dir/stage/opt/carat" && find . ! -type d | sort) ||
    fail "DESTDIR and prefix install different files"
! grep -rl --binary-files=text "$dir" "$dir/stage" || fail "a staged file names the staging folder"

# ---- exports ----

odd=$(nm -D --defined-only "$lib/libcarat.so" | awk '$3 !~ /^carat_/ {print $3}' |
    grep -vE '^(__(asan|odr_asan|ubsan|tsan|sancov|start|stop)|_init$|_fini$)' || true)
[ -z "$odd" ] || fail "libcarat.so exports: $odd"
odd=$(nm -g --defined-only "$lib/libcarat.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^(carat|ct)_/ {print $3}' |
    grep -vE '^__(asan|odr_asan|ubsan|tsan|sancov)' || true)
[ -z "$odd" ] || fail "libcarat.a has global names that may collide with a program's: $odd"

# ---- size: the model inside the command is not in the library ----

if [ -z "${CARAT_CFLAGS:-}" ]; then
    cp "$lib/libcarat.a" "$dir/stripped.a"
    strip --strip-debug "$dir/stripped.a"
    size=$(stat -c %s "$dir/stripped.a")
    echo "libcarat.a stripped: $size bytes"
    [ "$size" -le 2097152 ] || fail "libcarat.a has $size bytes stripped, expected at most 2 MiB"
fi

# ---- a program outside the tree ----

command -v pkg-config >/dev/null || { echo "no pkg-config: building against the library not checked"; exit 77; }
# carat.pc finds its prefix from where it lies, wherever the files were moved.
mv "$prefix" "$dir/moved"
lib=$dir/moved${lib#"$prefix"} prefix=$dir/moved
export PKG_CONFIG_PATH=$lib/pkgconfig
[ "$(pkg-config --modversion carat)" = "$version" ] || fail "pkg-config says version $(pkg-config --modversion carat), expected $version"
awk '/example-end/ {exit} on {sub(/^ \* ?/, ""); print} /^ \* example-begin/ {on = 1}' "$prefix/include/carat.h" >"$dir/example.c"
cd "$dir"
answers() { # how the program was linked, the program
    "$2" "$source/models/tiny" "hello" >answer-"$1" || fail "the example, linked $1, fails"
    [ "$(wc -c <answer-"$1")" -gt 1 ] || fail "the example, linked $1, prints nothing"
}
# shellcheck disable=SC2046,SC2086  # lists of flags
{
    flags="-std=c99 -pedantic -Wall -Wextra -Werror ${CARAT_CFLAGS:-}"
    "${CC:-cc}" $flags -o shared example.c $(pkg-config --cflags --libs carat)
    "${CC:-cc}" $flags -o static example.c $(pkg-config --cflags carat) -Wl,-Bstatic -lcarat -Wl,-Bdynamic \
        -L"$lib" $(pkg-config --static --libs carat | sed 's/-lcarat//')
}
readelf -d shared | grep -q 'NEEDED.*\[libcarat\.so\.0\]' || fail "the program does not ask for libcarat.so.0"
! readelf -d static | grep -q libcarat || fail "the static program asks for a shared libcarat"
LD_LIBRARY_PATH=$lib answers shared ./shared
answers static ./static
cmp answer-shared answer-static || fail "the two programs answer differently"
"$prefix/bin/carat" --version | grep -q "$version" || fail "the installed command does not tell its version"
