#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_header.sh: carat.h compiles alone, warning-free, as C99, C11 and C++17, twice in one file, a C++ program links
# against it, and every function it declares is in the static and in the shared library, which exports nothing else.
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
# The initialisers must name every field: a missing one is a warning, and so an error.
cat >"$dir/init.c" <<'C'
#include <carat.h>
carat_model_options m = CARAT_MODEL_OPTIONS;
carat_render_options r = CARAT_RENDER_OPTIONS;
carat_engine_options e = CARAT_ENGINE_OPTIONS;
carat_session_options s = CARAT_SESSION_OPTIONS;
carat_sampling g = CARAT_SAMPLING;
carat_verify_options v = CARAT_VERIFY_OPTIONS;
C
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Wmissing-field-initializers -Werror -I"$source/include" -fsyntax-only "$dir/init.c"

# As C++17 the same, and its functions are found: names are not mangled.
cat >"$dir/link.cpp" <<'C'
#include <carat.h>
#include <cstdio>
int main()
{
    carat_error err;
    carat_model *model = nullptr;
    std::puts(carat_version());
    return carat_model_open(&model, "/absent", nullptr, &err) == CARAT_E_NOT_FOUND ? 0 : 1;
}
C
cp "$dir/header.c" "$dir/header.cpp"
cp "$dir/init.c" "$dir/init.cpp"
for file in header init link; do
    g++ -std=c++17 -pedantic -Wall -Wextra -Wmissing-field-initializers -Werror -I"$source/include" -fsyntax-only "$dir/$file.cpp"
done
# shellcheck disable=SC2086  # CARAT_CFLAGS is a list
g++ -std=c++17 ${CARAT_CFLAGS:-} -I"$source/include" -o "$dir/link" "$dir/link.cpp" "$build/libcarat.a" -pthread -lm
"$dir/link" >/dev/null || { echo "a C++ program does not get the status it should" >&2; exit 1; }

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
