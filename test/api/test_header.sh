#!/usr/bin/env bash
# test_header.sh: carat.h compiles alone, warning-free, as C99, C11 and C++17, twice in one file, and every function it
# declares can be linked from the static and from the shared library, which exports nothing else.
# Needs CARAT_SOURCE, CARAT_BUILD and CC from CMake.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
header=$source/include/carat.h
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

printf '#include <carat.h>\n#include <carat.h>\nint main(void)\n{\n    return CARAT_OK;\n}\n' >"$dir/header.c"
for standard in c99 c11; do
    "${CC:-cc}" -std=$standard -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -I"$source/include" -fsyntax-only "$dir/header.c"
done
if command -v g++ >/dev/null; then
    cp "$dir/header.c" "$dir/header.cpp"
    g++ -std=c++17 -pedantic -Wall -Wextra -Werror -I"$source/include" -fsyntax-only "$dir/header.cpp"
else
    echo "no g++: C++17 not checked"
fi

# The initialisers must name every field: a missing one is a warning, and so an error.
cat >"$dir/init.c" <<'C'
#include <carat.h>
carat_model_options m = CARAT_MODEL_OPTIONS;
carat_render_options r = CARAT_RENDER_OPTIONS;
carat_engine_options e = CARAT_ENGINE_OPTIONS;
carat_session_options s = CARAT_SESSION_OPTIONS;
carat_sampling g = CARAT_SAMPLING;
C
"${CC:-cc}" -std=c99 -Wall -Wextra -Wmissing-field-initializers -Werror -I"$source/include" -fsyntax-only "$dir/init.c"

# Names in declarations, against the symbols of both libraries.
grep -v '^ \*' "$header" | grep -o 'carat_[a-z_0-9]*(' | tr -d '(' | sort -u >"$dir/declared"
[ "$(wc -l <"$dir/declared")" -ge 30 ] || { echo "too few declarations found in carat.h" >&2; exit 1; }
nm -g --defined-only "$build/libcarat.a" 2>/dev/null | awk '$2 == "T" && $3 ~ /^carat_/ {print $3}' | sort -u >"$dir/static"
diff "$dir/declared" "$dir/static" || { echo "carat.h and libcarat.a differ" >&2; exit 1; }
if [ -e "$build/libcarat.so" ]; then
    nm -D --defined-only "$build/libcarat.so" | awk '{print $3}' | sed 's/@.*//' | grep -v '^__\(asan\|odr_asan\|ubsan\|tsan\|sancov\)' |
        sort -u >"$dir/shared"
    diff "$dir/declared" "$dir/shared" || { echo "carat.h and what libcarat.so exports differ" >&2; exit 1; }
fi
