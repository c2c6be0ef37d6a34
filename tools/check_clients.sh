#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check_clients.sh: tries carat and huggingface_hub on one cache, in both directions (check_clients.py), with
# the versions below, which it installs into build/clients.
set -euo pipefail
versions=(2.4.0 1.18.0 0.23.5)
cd "$(dirname "$0")/.."
cmake --build build/release --target carat carat-fetch fakehub
failed=0
for version in "${versions[@]}"; do
    place=build/clients/$version
    [ -x "$place/bin/python" ] || python3 -m venv "$place"
    "$place/bin/pip" install -q --disable-pip-version-check "huggingface_hub==$version"
    "$place/bin/python" tools/check_clients.py "$PWD/build/release/carat" "$PWD/build/release/test/fakehub" "$PWD" ||
        failed=1
done
exit $failed
