#!/usr/bin/env bash
# breaches.sh: proves that check_includes.sh and check_house.sh can fail: each breach is planted alone in a small
# made-up tree and must be found, and the tree without it must pass.
set -uo pipefail
tools=${CARAT_SOURCE:?}/tools
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failed=0

plant() { # path, line
    mkdir -p "$tree/$(dirname "$1")"
    printf '%b\n' "$2" >"$tree/$1"
}
fresh() {
    rm -rf "${tree:?}"/*
    plant include/carat.h '#define CARAT_H'
    plant src/base/base.h '#include "carat.h"'
    plant src/quant/quant.h '#include "base/base.h"'
    plant src/file/file.h '#include "quant/quant.h"'
    plant src/backend/backend.h '#include "kernel/kernel.h"'
    plant src/backend/cpu.h '#include "backend/backend.h"'
    plant src/kernel/kernel.h '#include "quant/quant.h"\n#include <stdint.h>'
    plant src/model/forward.c '#include "backend/backend.h"'
    plant cli/main.c '#include <carat.h>\n#include "embed.h"'
    plant cli/embed.h 'struct embedded;'
    plant test/base/test_x.c '#include "model/config.h"'
    plant CMakeLists.txt 'add_compile_options(-O2)'
}
expect() { # status, script, what
    "$tools/$2" "$tree" >"$tree/out" 2>&1
    local got=$?
    if [ $got -ne "$1" ]; then
        echo "$2, $3: status $got, expected $1"
        cat "$tree/out"
        failed=1
    fi
}

fresh
expect 0 check_includes.sh "clean tree"
expect 0 check_house.sh "clean tree"

while IFS='|' read -r path line; do
    fresh
    plant "$path" "$line"
    expect 1 check_includes.sh "$path with $line"
done <<'END'
src/base/base.h|#include "quant/quant.h"
src/quant/quant.h|#include "file/file.h"
src/kernel/kernel.h|#include "model/config.h"
src/kernel/kernel.h|#include "quant/decode.h"
src/file/file.h|  #  include "kernel/kernel.h"
src/model/forward.c|#include "backend/cpu.h"
src/model/forward.c|#include "kernel/kernel.h"
src/backend/cpu.h|#include "model/weights.h"
src/text/chat/chat.h|#include "model/config.h"
src/api/model.c|#include "../cli/embed.h"
src/strange/x.c|#include "base/base.h"
cli/main.c|#include "base/base.h"
cli/main.c|#include <base/base.h>
END

while IFS='|' read -r path line; do
    fresh
    plant "$path" "${line//\"\"/}" # some words are written apart, or this script would be a breach itself
    expect 1 check_house.sh "$path with $line"
done <<'END'
src/model/forward.c|#ifdef __AVX2__
src/model/forward.c| # if 1
src/text/chat/chat.c|/* TO""DO: later */
tools/x.py|# FIX""ME
src/os/os.c|    abort();
src/file/open.c|    printf("%d", 1);
src/api/model.c|    const char *p = getenv("HOME");
CMakeLists.txt|add_compile_options(-march=native)
CMakeLists.txt|add_compile_options(-ffast-math)
END

fresh
seq 701 >"$tree/cli/main.c"
expect 1 check_house.sh "file of 701 lines"
seq 700 >"$tree/cli/main.c"
expect 0 check_house.sh "file of 700 lines"
exit $failed
