#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_install.sh: what `make install` puts into a prefix is a library that people can build with: header,
# both libraries, soname, pkg-config file, CMake package, licence, command; a program outside the tree builds
# with pkg-config or find_package against either and answers; under DESTDIR the same files lie, naming the
# prefix and never the staging folder. What the libraries export belongs to the product too; how large they
# are is said, and no reason to fail. Needs no privileges.
# Needs CARAT_SOURCE, CARAT_BUILD and CC from CMake; CARAT_CFLAGS holds the sanitizers of the build.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
top=$(mktemp -d)
dir="$top/my apps" # a path that a user gives may have blanks
mkdir "$dir"
trap 'rm -rf "$top"' EXIT
fail() { echo "$1" >&2 && exit 1; }

version=$(sed -nE 's/^#define CARAT_VERSION +"([0-9]+\.[0-9]+\.[0-9]+)"$/\1/p' "$source/include/carat.h")
[ -n "$version" ] || fail "carat.h defines no version"
[ -e "$build/libcarat.so" ] || { echo "the shared library is not built"; exit 77; }

# ---- into a prefix ----

prefix=$dir/prefix
cmake --install "$build" --prefix "$prefix" >"$dir/said"
pc=$(find "$prefix" -name carat.pc)
[ -n "$pc" ] || fail "no carat.pc is installed"
lib=$(dirname "$(dirname "$pc")")
for file in "$prefix/include/carat.h" "$prefix/include/carat_generate.h" "$prefix/bin/carat" "$lib/libcarat.a" "$lib/libcarat.so" "$lib/libcarat.so.0" "$lib/libcarat.so.$version" \
    "$prefix/share/doc/carat/LICENSE"; do
    [ -s "$file" ] || fail "not installed: ${file#"$dir"/}"
done
[ "$(readlink "$lib/libcarat.so.0")" = "libcarat.so.$version" ] || fail "libcarat.so.0 does not lead to libcarat.so.$version"
readelf -d "$lib/libcarat.so" | grep -q 'SONAME.*\[libcarat\.so\.0\]' || fail "the soname is not libcarat.so.0"
cmp -s "$prefix/include/carat.h" "$source/include/carat.h" || fail "another carat.h is installed"

# How large what was installed is, in bytes.
for file in "$lib/libcarat.a" "$lib/libcarat.so" "$prefix/bin/carat"; do
    grep -q "$(stat -L -c %s "$file") bytes: ${file#"$prefix"/}$" "$dir/said" || fail "the size of ${file#"$prefix"/} is not said: $(cat "$dir/said")"
done
grep 'bytes:' "$dir/said"

# ---- DESTDIR: staged below a folder, made for the prefix ----

DESTDIR=$dir/stage cmake --install "$build" --prefix /opt/carat >/dev/null
diff <(cd "$prefix" && find . ! -type d | sort) <(cd "$dir/stage/opt/carat" && find . ! -type d | sort) ||
    fail "DESTDIR and prefix install different files"
! grep -rl --binary-files=text "$dir" "$dir/stage" || fail "a staged file names the staging folder"

# ---- `make install` hands on what it is given, blanks and quotes too ----

mkdir "$dir/fake"
cat >"$dir/fake/cmake" <<'END'
#!/bin/sh
printf '%s|' "$@" "DESTDIR=$DESTDIR" >>"$CALLS"
echo >>"$CALLS"
END
chmod +x "$dir/fake/cmake"
CALLS=$dir/calls PATH=$dir/fake:$PATH make -s -C "$source" install PREFIX="$dir/it's 1 place" DESTDIR="$dir/a stage" >/dev/null ||
    fail "make install with blanks fails"
grep -qF -- "|-DCMAKE_INSTALL_PREFIX=$dir/it's 1 place|-DCMAKE_INSTALL_LIBDIR=lib|" "$dir/calls" || fail "the prefix is not whole: $(cat "$dir/calls")"
grep -qF -- "--install|build/release|DESTDIR=$dir/a stage|" "$dir/calls" || fail "DESTDIR is not whole: $(cat "$dir/calls")"

# ---- exports ----

odd=$(nm -D --defined-only "$lib/libcarat.so" | awk '$3 !~ /^carat_/ {print $3}' |
    grep -vE '^(__(asan|odr_asan|ubsan|tsan|sancov|start|stop)|_init$|_fini$)' || true)
[ -z "$odd" ] || fail "libcarat.so exports: $odd"
odd=$(nm -g --defined-only "$lib/libcarat.a" 2>/dev/null | awk 'NF == 3 && $3 !~ /^(carat|ct)_/ {print $3}' |
    grep -vE '^__(asan|odr_asan|ubsan|tsan|sancov)' || true)
[ -z "$odd" ] || fail "libcarat.a has global names that may collide with a program's: $odd"

# ---- a program outside the tree ----

awk '/example-end/ {exit} on {sub(/^ \* ?/, ""); print} /^ \* example-begin/ {on = 1}' "$prefix/include/carat.h" >"$dir/example.c"
answers() { # how the program was linked, the program
    "$2" "$source/models/tiny" "hello" >answer-"$1" || fail "the example, linked $1, fails"
    [ "$(wc -c <answer-"$1")" -gt 1 ] || fail "the example, linked $1, prints nothing"
}
# The packages find the prefix from where they lie, wherever the files were moved.
mv "$prefix" "$dir/moved"
lib=$dir/moved${lib#"$prefix"} prefix=$dir/moved
cd "$dir"

mkdir project
cat >project/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(carat 0.1 REQUIRED)
add_executable(cmake-shared ../example.c)
target_link_libraries(cmake-shared carat::carat)
add_executable(cmake-static ../example.c)
target_link_libraries(cmake-static carat::static)
END
cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="${CARAT_CFLAGS:-}" >project/log 2>&1 &&
    cmake --build project/build >>project/log 2>&1 || fail "find_package(carat): $(cat project/log)"
readelf -d project/build/cmake-shared | grep -q 'NEEDED.*\[libcarat\.so\.0\]' || fail "carat::carat is not libcarat.so.0"
! readelf -d project/build/cmake-static | grep -q 'NEEDED.*libcarat' || fail "carat::static is a shared library"
answers cmake-shared project/build/cmake-shared
answers cmake-static project/build/cmake-static
sed -i 's/carat 0.1/carat 0.2/' project/CMakeLists.txt
! cmake -S project -B project/other -DCMAKE_PREFIX_PATH="$prefix" >project/log 2>&1 || fail "0.1 passes as 0.2"
! grep -rl --binary-files=text "$build\|$dir/prefix" "$lib/cmake" "$lib/pkgconfig" || fail "an installed package names another folder"

command -v pkg-config >/dev/null || { echo "no pkg-config: building against the library not checked"; exit 77; }
export PKG_CONFIG_PATH=$lib/pkgconfig
[ "$(pkg-config --modversion carat)" = "$version" ] || fail "pkg-config says version $(pkg-config --modversion carat), expected $version"
# shellcheck disable=SC2046,SC2086  # lists of flags
{
    flags="-std=c99 -pedantic -Wall -Wextra -Werror ${CARAT_CFLAGS:-}"
    # as README.md has it: the program finds the library of a private prefix
    # pkg-config puts a backslash before a blank, which eval takes away
    eval "\"${CC:-cc}\" $flags -o shared example.c $(pkg-config --cflags --libs carat) -Wl,-rpath,\"\$lib\""
    eval "\"${CC:-cc}\" $flags -o static example.c $(pkg-config --cflags carat) -Wl,-Bstatic -lcarat -Wl,-Bdynamic \
        -L\"\$lib\" $(pkg-config --static --libs carat | sed 's/-lcarat//')"
}
readelf -d shared | grep -q 'NEEDED.*\[libcarat\.so\.0\]' || fail "the program does not ask for libcarat.so.0"
! readelf -d static | grep -q libcarat || fail "the static program asks for a shared libcarat"
answers shared ./shared
answers static ./static
# --static says all that the archive needs, where the C library is there as an archive too
if [ -z "${CARAT_CFLAGS:-}" ] && echo 'int main(void) {return 0;}' | "${CC:-cc}" -static -o whole -x c - 2>/dev/null; then
    eval "\"${CC:-cc}\" -static -o whole example.c $(pkg-config --static --cflags --libs carat)" || fail "pkg-config --static does not link"
    answers whole ./whole
fi
for answer in answer-*; do cmp answer-shared "$answer" || fail "$answer: another answer than the shared library's"; done
"$prefix/bin/carat" --version | grep -q "$version" || fail "the installed command does not tell its version"
