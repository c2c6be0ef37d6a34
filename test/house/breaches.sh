#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# breaches.sh: proves that the checks of the house can fail: each breach is planted alone in a small made-up
# tree and must be found, and the tree without it must pass. The tree has ARCHITECTURE.md's own table.
set -uo pipefail
cd "${CARAT_SOURCE:?}" || exit 2
tools=$CARAT_SOURCE/tools
. tools/rooms.sh
read_rooms ARCHITECTURE.md || exit 2
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT
kept=$place/kept tree=$kept
failed=0

plant() { # path, line
    local to=$tree/$1
    mkdir -p "${to%/*}"
    { licence "$1" && printf '%b\n' "$2"; } >"$to"
}
licence() { # path
    case $1 in
    *.[chS]) echo '/* SPDX-License-Identifier: Apache-2.0 */' ;;
    *) echo '# SPDX-License-Identifier: Apache-2.0' ;;
    esac
}
clean() {
    mkdir "$tree" && cp "$CARAT_SOURCE/ARCHITECTURE.md" "$tree"
    (cd "$tree" && mkdir -p "${!may_use[@]}" && rmdir cli/main.c)
    plant include/carat.h '#define CARAT_H'
    plant src/base/base.h '#include "carat.h"'
    plant src/quant/quant.h '#include "base/base.h"'
    plant src/file/file.h '#include "quant/quant.h"'
    plant src/backend/backend.h '#include "kernel/kernel.h"'
    plant src/backend/cpu/x.h '#include "backend/backend.h"'
    plant src/kernel/kernel.h '#include "quant/quant.h"\n#include "os/cpu.h"\n#include <stdint.h>'
    plant src/model/forward.c '#include "backend/backend.h"'
    plant cli/main.c '#include <carat.h>\n#include "model/embed.h"'
    plant cli/model/embed.h 'struct embedded;'
    plant cli/term/exit.h 'enum { FINE };'
    plant cli/ask/run.c '#include "ask/run.h"\n#include "term/exit.h"\n#include <carat.h>'
    plant cli/ask/run.h 'int verb_run(void);'
    plant cli/show/show.h 'int verb_show(void);'
    plant test/base/test_x.c '#include "model/config.h"'
    for header in carat.h base/base.h quant/quant.h file/file.h backend/backend.h backend/cpu/x.h kernel/kernel.h \
        model/embed.h model/x.h term/exit.h ask/run.h show/show.h y.h; do
        echo "#include \"$header\""
    done >"$place/headers"
    for user in a b; do # each header is needed by two files
        plant test/base/test_$user.c "$(cat "$place/headers")"
    done
    plant CMakeLists.txt 'add_compile_options(-O2)'
}
fresh() {
    rm -rf "${tree:?}"
    cp -r "$kept" "$tree"
}
expect() { # status, script, what
    "$tools/$2" "$tree" >"$tree/out" 2>"$tree/err"
    local got=$?
    if [ $got -ne "$1" ] || [ -s "$tree/err" ]; then # a check that dies has found nothing
        echo "$2, $3: status $got, expected $1"
        cat "$tree/out" "$tree/err"
        failed=1
    fi
}

clean
tree=$place/tree
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
src/convert/model.c|#include "../cli/embed.h"
src/strange/x.c|#include "base/base.h"
src/quant/quant.h|#include "base/../file/file.h"
src/base/base.h|#include "term/exit.h"
cli/main.c|#include "base/base.h"
cli/main.c|#include <base/base.h>
cli/main.c|#include "../src/base/base.h"
cli/term/exit.h|#include "model/embed.h"
cli/term/exit.h|#include <model/embed.h>
cli/term/exit.h|#include "term/../model/embed.h"
cli/ask/run.c|#include "show/show.h"
cli/ask/run.c|#include "run.h"
cli/ask/run.c|#include "main.c"
cli/strange/x.c|#include "term/exit.h"
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
src/convert/model.c|    const char *p = getenv("HOME");
CMakeLists.txt|add_compile_options(-march=native)
CMakeLists.txt|add_compile_options(-ffast-math)
cmake/library.cmake|add_compile_options(-Ofast)
src/lone.c|int x;
src/strange/x.c|int x;
cli/lone.c|int x;
cli/lone.h|int x;
cli/strange/x.c|int x;
gate/x.c|int x;
END
fresh
rm -r "$tree/cli/bench"
expect 1 check_house.sh 'a row of the table without its folder'

wide=$(printf '%0120d' 0) fields=$(seq -s ';\n    int a' 0 40) # 41 of them
long=$(printf '    x++;\\n%.0s' {1..98})                            # with its head and braces 101 lines
while IFS='|' read -r what paths line; do
    fresh
    line=${line//WIDE/$wide}
    line=${line//LONG/$long}
    for path in $paths; do plant "$path" "${line//FIELDS/$fields}"; done
    expect 1 check_house.sh "$what"
done <<'END'
a static name in three files|src/base/a.c src/quant/b.c src/file/c.c|static int take(int *p);
a static name in three files of the command|cli/term/a.c cli/ask/b.c cli/ask/chat/c.c|static int take(int *p);
two files of a name|src/base/a.c src/quant/a.c|int x;
two files of a name in the command|cli/term/a.c cli/ask/chat/a.c|int x;
a line of code too long|src/base/a.c|int x = WIDE;
a comment too long|src/base/a.c|/* WIDE */
a comment of a script too long|tools/x.sh|# WIDE
too many fields in a struct|cli/model/x.h|struct x_options {\n    int aFIELDS;\n};
too many fields in a typedef|src/base/a.c|typedef struct {\n    int aFIELDS;\n} many;
too many fields in a struct within a struct|src/base/a.c|struct a {\n    struct {\n    int aFIELDS;\n    } b;\n};
too many fields in a struct within a function|src/base/a.c|void f(void)\n{\n    struct a {\n    int aFIELDS;\n    };\n}
a function too long|src/base/a.c|static void f(void)\n{\nLONG}
a function too long, by its head|src/base/a.c|static void f(int a,\n    int b)\n{\nLONG}
a function of a test too long|test/base/test_c.c|static void f(void)\n{\nLONG}
a function of a GPU too long|src/kernel/gpu/a.cu|DEVICE float f(int x)\n{\nLONG}
a header that nobody needs|src/base/lone.h|struct lone;
a header that nobody needs but its own file|src/base/lone.h src/base/lone.c|#include "base/lone.h"
END
fresh
plant src/base/a.c "    {$wide},"
plant cli/model/x.h "struct x_options {\n    void (*f)(int a, int b);\n    int a${fields%;*;*}; /* a, b */\n};"
plant src/os/long.c "static void f(void)\n{\n${long#*x++;\\n}}"
plant src/quant/b.c 'static int take(int *p);'
plant src/file/c.c 'static int take(int *p);'
plant cli/term/a.c 'static int take(int *p);'
expect 0 check_house.sh 'a row of a table, a name in two files, and in one of the command that is called as one of src'

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
# The command. What the library defines is used where a public header declares it.
fresh
object src/convert/x.c 'int carat_x(void); int carat_x(void) { return 1; }'
object cli/term/x.c 'int carat_x(void); int term_say(void); int term_say(void) { return carat_x(); }'
symbols 1 'a function of the library that no public header declares'
plant include/carat_x.h 'int carat_x(void);'
symbols 0 'a public function of the library'
object src/model/x.c 'int carat_x(void); int ct_model(void); int ct_model(void) { return carat_x(); }'
symbols 1 'a public function in a room that may not use its room'
rm "$tree/src/model/x.c"
symbols 0 'an object whose source has gone'
object src/convert/x.c 'int term_say(void); int carat_x(void); int carat_x(void) { return term_say(); }'
symbols 1 'a function of the command in the library'
fresh
object cli/term/x.c 'int term_say(void); int term_say(void) { return 1; }'
object cli/model/x.c 'int term_say(void); int model_made(void); int model_made(void) { return term_say(); }'
object cli/ask/run.c 'int model_made(void); int verb_run(void); int verb_run(void) { return model_made(); }'
object cli/main.c 'int verb_run(void); int (*verb_table[])(void) = {verb_run};'
symbols 0 'a table of functions, and calls downward'
object cli/show/show.c 'int verb_run(void); int (*verb_show)(void) = verb_run;'
symbols 1 'the function of another verb'
fresh
object cli/model/embed.S 'int model_made;'
object cli/term/x.c 'extern int model_made; int *term_say = &model_made;'
symbols 1 'a variable of a room above'
plant include/carat_made.h 'extern int model_made;'
symbols 1 'a variable of a room above that is called as a public one'

fresh
object cli/term/x.c 'int say(void); int say(void) { return 1; }'
symbols 1 'an external name of one word'
object cli/term/x.c 'static int say(void) { return 1; } int term_say(void); int term_say(void) { return say(); }'
symbols 0 'one of a file alone'

# Files that need each other in a circle.
circle() { # what, the way that must be told
    symbols 1 "$1"
    [ "$(grep 'circle:' "$tree/out")" = "files need each other in a circle: $2" ] && return
    echo "check_symbols.sh does not tell $1, once: $2"
    cat "$tree/out"
    failed=1
}
for room in src/os cli/term; do
    fresh
    object $room/a.c 'int ct_b(void); int ct_a(void); int ct_a(void) { return ct_b(); }'
    object $room/b.c 'int ct_c(void); int ct_b(void); int ct_b(void) { return ct_c(); }'
    object $room/c.c 'int ct_c(void); int ct_c(void) { return 1; }'
    symbols 0 'files that need each other in a row'
    object $room/c.c 'int ct_a(void); int ct_c(void); int ct_c(void) { return ct_a(); }'
    circle 'three files of a room' "$room/a.c -> $room/b.c (ct_b) -> $room/c.c (ct_c) -> $room/a.c (ct_a)"
done
object cli/term/c.c 'int ct_b(void); int ct_c(void); int (*ct_pointer)(void) = ct_b; int ct_c(void) { return 1; }'
circle 'a circle beside the way of its first file' 'cli/term/b.c -> cli/term/c.c (ct_c) -> cli/term/b.c (ct_b)'
fresh
object cli/term/a.c 'int model_draw(void); int term_say(void); int term_say(void) { return model_draw(); }'
object cli/model/b.c 'int term_say(void); int model_draw(void); int model_draw(void) { return term_say(); }'
circle 'files of two rooms' 'cli/model/b.c -> cli/term/a.c (term_say) -> cli/model/b.c (model_draw)'

# What was too large when its limit came stands in a table, which only becomes shorter.
table() { # status, what, rows
    mkdir -p "$tree/tools"
    { licence x.txt && printf '%b\n' "${@:3}"; } >"$tree/tools/house.txt"
    expect "$1" check_house.sh "$2"
}
fresh
plant src/base/a.c "static void f(void)\n{\n$long}\nstruct a {\n    int a$fields;\n};"
plant src/base/lone.h '#define LONE_H'
plant src/base/lone.c '#include "base/lone.h"'
plant src/base/other.c '#include "base/lone.h"'
function='function src/base/a.c f' struct='struct src/base/a.c a' header='header src/base/lone.h - 1'
table 0 'what the table has' "$function 101" "$struct 41" "$header"
table 1 'a function that grew' "$function 100" "$struct 41" "$header"
table 1 'a function that became shorter' "$function 102" "$struct 41" "$header"
table 1 'a struct that grew' "$function 101" "$struct 40" "$header"
table 1 'a struct that became smaller' "$function 101" "$struct 42" "$header"
table 1 'a header that is not in the table' "$function 101" "$struct 41"
table 1 'a row for a function that is not there' "$function 101" "$struct 41" "$header" 'function src/base/a.c g 120'
plant src/base/third.c '#include "base/lone.h"'
table 1 'a row for a header that two files need' "$function 101" "$struct 41" "$header"
table 0 'a header that two files need' "$function 101" "$struct 41"

# A long file is no breach, but is told.
fresh
lines() { licence main.c && seq $(($1 - 1)); }
for n in 1200 1201; do
    lines $n >"$tree/cli/main.c"
    expect 0 check_house.sh "cli/main.c of $n lines"
    grep -qc "^warning: cli/main.c has $n lines" "$tree/out" && told=1 || told=0
    [ $told -eq $((n - 1200)) ] || { echo "check_house.sh warns of $n lines: $told"; failed=1; }
done

# A program beside the command: its row is enough for every check.
gated() { # what it may use
    fresh
    sed -i 's#^| `cli/main.c`.*#&\n| `gate` | a program | '"$1"' |#' "$tree/ARCHITECTURE.md"
    plant gate/x.c '#include "carat.h"\n#include "y.h"\n#include "term/exit.h"'
    plant gate/y.h ''
}
gated cli/term
expect 0 check_includes.sh 'a further program'
expect 0 check_house.sh 'a further program'
plant gate/x.c '#include "model/embed.h"'
expect 1 check_includes.sh 'a header of the command that a further program may not use'
plant gate/x.c '#include "base/base.h"'
expect 1 check_includes.sh 'a header of the library in a further program'
object cli/term/x.c 'int term_say(void); int term_say(void) { return 1; }'
object cli/model/x.c 'int model_made;'
object gate/x.c 'extern int model_made; int term_say(void); int main(void) { return term_say() + model_made; }'
object gate/y.c 'int model_made;'
symbols 0 'a name that the command has as well'
object gate/y.c 'int y;'
symbols 1 'a variable of the command that a further program may not use'
gated –
expect 1 check_includes.sh 'a further program that may use nothing'
for row in api/x.h cli/strange gate; do # headers of rooms below, rooms that are not there, itself
    gated "$row"
    expect 2 check_includes.sh "a row that may use $row"
done
gated –
sed -i 's#^| `gate`.*#&\n&#' "$tree/ARCHITECTURE.md"
expect 2 check_includes.sh 'two rows for a room'

# The server: the command has one header of it, and it nothing of the command.
server() { # path, line
    fresh
    plant server/server.h 'int serve(void);'
    plant server/job.h 'struct job;'
    plant src/base/json.h '#include "base/base.h"'
    plant "$@"
}
server cli/ask/run.c '#include "server.h"'
expect 0 check_includes.sh 'the header of the server in the verbs that answer'
server cli/ask/run.c '#include "job.h"'
expect 1 check_includes.sh 'another header of the server'
server cli/show/x.c '#include "server.h"'
expect 1 check_includes.sh 'the header of the server in another verb'
server server/x.c '#include "carat.h"\n#include "job.h"\n#include "base/json.h"'
expect 0 check_includes.sh 'what the server may use'
for header in term/exit.h file/file.h model/forward.h; do
    server server/x.c "#include \"$header\""
    plant src/model/forward.h ''
    expect 1 check_includes.sh "$header in the server"
done

for path in src/base/base.h cli/model/embed.S test/x/test_x.sh test/x/common.bash tools/x.py cmake/x.cmake Makefile .ci/run; do
    fresh
    plant "$path" '' # with its line, then without
    expect 0 check_house.sh "licence of $path"
    echo '# 1' >"$tree/$path"
    expect 1 check_house.sh "no licence in $path"
done
exit $failed
