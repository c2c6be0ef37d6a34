#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup_arm.sh: gets what building and running for 64-bit Arm needs on an x86-64 Debian: its cross compiler,
# its emulator, and the libraries for arm64, which are unpacked into build/root-arm64. No foreign architecture
# is added to the system: that would tie its C library to another one's version. What cannot be had costs the
# tests on Arm, nothing else.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
[ "$(uname -m)" = x86_64 ] || exit 0
give_up() {
    echo "setup_arm.sh: $1; nothing is tested on Arm" >&2
    exit 0
}
command -v apt-get >/dev/null || give_up "no apt-get here"

packages=()
command -v aarch64-linux-gnu-gcc >/dev/null || packages+=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
command -v qemu-aarch64 >/dev/null || packages+=(qemu-user)
if [ ${#packages[@]} -gt 0 ]; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    echo "setup_arm.sh: installing ${packages[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive sh -c 'apt-get update -q && apt-get install -qy --no-install-recommends "$@"' \
        sh "${packages[@]}" || give_up "cannot install ${packages[*]}"
fi

root=$PWD/build/root-arm64
[ ! -e "$root/complete" ] || exit 0
echo "setup_arm.sh: unpacking libraries for arm64 into build/root-arm64"
work=$(mktemp -d) # package lists of arm64, apart from those of the system
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$root"
: >"$work/status"
cat >"$work/apt.conf" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State "$work";
Dir::State::status "$work/status";
Dir::Cache "$work";
END
export APT_CONFIG=$work/apt.conf
cd "$work" || give_up "no directory for packages"
apt-get update -q # a source without arm64 is no harm
apt-get download -q libjansson-dev libxxhash-dev libcmocka-dev libcmocka0 || give_up "cannot get libraries for arm64"
for package in *.deb; do
    dpkg-deb -x "$package" "$root" || give_up "cannot unpack $package"
done
: >"$root/complete"
