#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# breaches.sh: proves that check_includes.sh and check_house.sh can fail: each breach is planted alone in a
# small made-up tree and must be found, and the tree without it must pass.
set -uo pipefail
tools=${CARAT_SOURCE:?}/tools
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
failed=0

plant() { # path, line
    mkdir -p "$tree/$(dirname "$1")"
    printf '%b\n%b\n' "$(licence "$1")" "$2" >"$tree/$1"
}
licence() { # path
    case $1 in
    *.[chS]) echo '/* SPDX-License-Identifier: Apache-2.0 */' ;;
    *) echo '# SPDX-License-Identifier: Apache-2.0' ;;
    esac
}
fresh() {
    rm -rf "${tree:?}"/*
    plant include/carat.h '#define CARAT_H'
    cp "$CARAT_SOURCE/ARCHITECTURE.md" "$tree"
    plant src/base/base.h '#include "carat.h"'
    plant src/quant/quant.h '#include "base/base.h"'
    plant src/file/file.h '#include "quant/quant.h"'
    plant src/backend/backend.h '#include "kernel/kernel.h"'
    plant src/backend/cpu/x.h '#include "backend/backend.h"'
    plant src/kernel/kernel.h '#include "quant/quant.h"\n#include <stdint.h>'
    plant src/model/forward.c '#include "backend/backend.h"'
    plant cli/main.c '#include <carat.h>\n#include "model/embed.h"'
    plant cli/model/embed.h 'struct embedded;'
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
src/kernel/kernel.h|#include "os/pool.h"
src/file/file.h|  #  include "kernel/kernel.h"
src/model/forward.c|#include "backend/cpu/x.h"
src/model/forward.c|#include "text/chat/chat.h"
src/backend/cpu/x.h|#include "model/weights.h"
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

wide=$(printf '%0120d' 0)
while IFS='|' read -r what paths line; do
    fresh
    for path in $paths; do plant "$path" "${line//WIDE/$wide}"; done
    expect 1 check_house.sh "$what"
done <<'END'
a static name in three files|src/base/a.c src/quant/b.c src/file/c.c|static int take(int *p);
two files of a name|src/base/a.c src/quant/a.c|int x;
a line of code too long|src/base/a.c|int x = WIDE;
a comment too long|src/base/a.c|/* WIDE */
a comment of a script too long|tools/x.sh|# WIDE
END
fresh
plant src/base/a.c "    {$wide},"
plant src/quant/b.c 'static int take(int *p);'
plant src/file/c.c 'static int take(int *p);'
expect 0 check_house.sh 'a row of a table, a name in two files'

# Format and scripts, where their tools are.
fresh
cp "$CARAT_SOURCE/.clang-format" "$tree"
plant test/x/test_x.c 'int main(void)\n{\n    return 0;\n}'
plant test/x/test_x.sh '# shellcheck shell=bash\nif [ -n "$1" ]; then echo "$1"; fi'
"$tools/check_format.sh" "$tree" >"$tree/out" 2>&1
if [ $? -ne 77 ]; then
    expect 0 check_format.sh 'clean tree'
    plant test/x/test_x.c 'int main(void) { return 0; }'
    expect 1 check_format.sh 'a function on one line'
fi
"$tools/check_scripts.sh" "$tree" >"$tree/out" 2>&1
if [ $? -ne 77 ]; then
    expect 0 check_scripts.sh 'clean tree'
    plant test/x/test_x.sh '# shellcheck shell=bash\nfor i in 1 2; do echo; done'
    expect 1 check_scripts.sh 'an unused variable'
fi

# Symbols: a call into a room that may not be used, which no include shows.
object() { # path, C
    mkdir -p "$tree/objects/$(dirname "$1")"
    plant "$1" "$2"
    "${CC:-cc}" -x c -c "$tree/$1" -o "$tree/objects/$1.o" || exit 2
}
symbols() { # status, what
    "$tools/check_symbols.sh" "$tree" "$tree/objects" >"$tree/out" 2>&1
    local got=$?
    [ $got -eq "$1" ] && return
    echo "check_symbols.sh, $2: status $got, expected $1"
    cat "$tree/out"
    failed=1
}
fresh
object src/model/x.c 'int ct_base(void); int ct_model(void); int ct_model(void) { return ct_base(); }'
object src/base/x.c 'int ct_base(void); int ct_base(void) { return 1; }'
symbols 0 'a call downward'
object src/base/x.c 'int ct_model(void); int ct_base(void); int ct_base(void) { return ct_model(); }'
symbols 1 'a call upward'
fresh
object src/kernel/x.c 'int ct_seen(void); int ct_x(void); int ct_x(void) { return ct_seen(); }'
object src/os/cpu.c 'int ct_seen(void); int ct_seen(void) { return 1; }'
symbols 1 'a function of a room of which one header may be used, declared elsewhere'
plant src/os/cpu.h 'int ct_seen(void);'
symbols 0 'a function of the header that may be used'
# Files of a room that need each other in a circle.
fresh
object src/os/a.c 'int ct_b(void); int ct_a(void); int ct_a(void) { return ct_b(); }'
object src/os/b.c 'int ct_c(void); int ct_b(void); int ct_b(void) { return ct_c(); }'
object src/os/c.c 'int ct_c(void); int ct_c(void) { return 1; }'
symbols 0 'files that need each other in a row'
object src/os/c.c 'int ct_a(void); int ct_c(void); int ct_c(void) { return ct_a(); }'
symbols 1 'files that need each other in a circle'
for file in a b c; do
    grep -q "circle:.* os/$file.c" "$tree/out" || { echo "check_symbols.sh does not name os/$file.c"; failed=1; }
done
object src/os/c.c '/* c.c: needs a.c, a circle, since a test wants one. */\nint ct_a(void); int ct_c(void); int ct_c(void) { return ct_a(); }'
symbols 0 'a circle that a comment at the top explains'
object src/os/c.c '/* c.c: explains nothing. */\nint ct_a(void); /* a circle */ int ct_c(void); int ct_c(void) { return ct_a(); }'
symbols 1 'a circle that a comment further down explains'

fresh
lines() { licence main.c && seq $(($1 - 1)); }
lines 701 >"$tree/cli/main.c"
expect 1 check_house.sh "file of 701 lines"
lines 700 >"$tree/cli/main.c"
expect 0 check_house.sh "file of 700 lines"

for path in src/base/base.h cli/model/embed.S test/x/test_x.sh test/x/common.bash tools/x.py cmake/x.cmake Makefile .ci/run; do
    fresh
    plant "$path" '' # with its line, then without
    expect 0 check_house.sh "licence of $path"
    echo '# 1' >"$tree/$path"
    expect 1 check_house.sh "no licence in $path"
done
exit $failed
