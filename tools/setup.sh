#!/usr/bin/env bash
# setup.sh: installs the Debian packages that the build and the tests need, and only when one is missing.
# `setup.sh fuzz` adds clang. Needs root or sudo only when there is something to install.
set -euo pipefail

packages=()
need_command() { command -v "$1" >/dev/null || packages+=("${@:2}"); }
# The compiler is asked, so that a header counts wherever it lies; without a compiler all of them are missing.
need_header() { echo "#include <$1>" | gcc -E - >/dev/null 2>&1 || packages+=("$2"); }

need_command gcc gcc
need_command g++ g++ # carat.h must be C++17 too
need_command pkg-config pkgconf
need_command cmake cmake
need_header stdio.h libc6-dev
need_header jansson.h libjansson-dev
need_header xxhash.h libxxhash-dev
need_header cmocka.h libcmocka-dev
need_header simde/x86/avx512.h libsimde-dev # emulates levels of kernels in tests
# Runs kernels on processors that this machine is not (test/kernel/test_kcheck_qemu.sh).
[ "$(uname -m)" != x86_64 ] || need_command qemu-x86_64 qemu-user
[ "${1:-}" != fuzz ] || need_command clang clang libclang-rt-14-dev
[ ${#packages[@]} -gt 0 ] || exit 0

command -v apt-get >/dev/null || {
    echo "setup.sh: no apt-get here; install what these Debian packages hold: ${packages[*]}" >&2
    exit 1
}
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup.sh: missing ${packages[*]}; install them as root and run again" >&2
        exit 1
    }
    as_root=(sudo)
fi
echo "setup.sh: installing ${packages[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${packages[@]}"
