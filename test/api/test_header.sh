#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_header.sh: each public header compiles alone, warning-free, as C99, C11 and C++17, twice in one file, a
# C++ program links against it, and the functions that they declare are what the static and the shared library
# export.
# Needs CARAT_SOURCE, CARAT_BUILD and CC from CMake.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for header in carat carat_generate carat_tools carat_quality carat_embed carat_convert carat_constrain carat_receipt carat_device; do
    printf '#include <%s.h>\n#include <%s.h>\nint main(void)\n{\n    return CARAT_OK;\n}\n' $header $header >"$dir/$header.c"
done
# Every struct that begins with its size has a function that fills it.
cat >"$dir/init.c" <<'C'
#include <carat_generate.h>
#include <carat_tools.h>
#include <carat_convert.h>
#include <carat_constrain.h>
#include <carat_receipt.h>
#include <carat_device.h>
#include <carat_quality.h>
#include <carat_embed.h>
int main(void)
{
    carat_sampling s;
    carat_sampling_default(NULL, &s);
C
for type in $(sed -n '/^ *size_t size;/{x;p;d};x' "$source"/include/*.h | sed -n 's/^typedef struct \(.*\) {/\1/p'); do
    case $type in carat_sampling | carat_calls | carat_cache_entry | carat_check) continue ;; esac # filled otherwise
    printf '    {\n        %s one;\n        %s_default(&one);\n        if (one.size != sizeof one)\n            return 1;\n    }\n' \
        "$type" "$type" >>"$dir/init.c"
done
[ "$(grep -c _default "$dir/init.c")" -ge 12 ] || { echo "too few structs found" >&2; exit 1; }
printf '    return s.size != sizeof s;\n}\n' >>"$dir/init.c"
for file in carat carat_generate carat_tools carat_quality carat_embed carat_convert carat_constrain carat_receipt carat_device init; do
    for standard in c99 c11; do
        "${CC:-cc}" -std=$standard -pedantic -Wall -Wextra -Wstrict-prototypes -Wmissing-field-initializers -Werror \
            -I"$source/include" -fsyntax-only "$dir/$file.c"
    done
done

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
for file in carat carat_generate carat_tools carat_quality carat_embed carat_convert carat_constrain carat_receipt carat_device init; do
    cp "$dir/$file.c" "$dir/$file.cpp"
done
for file in carat carat_generate carat_tools carat_quality carat_embed carat_convert init link; do
    g++ -std=c++17 -pedantic -Wall -Wextra -Wmissing-field-initializers -Werror -I"$source/include" -fsyntax-only "$dir/$file.cpp"
done
# shellcheck disable=SC2086  # CARAT_CFLAGS is a list
g++ -std=c++17 ${CARAT_CFLAGS:-} -I"$source/include" -o "$dir/link" "$dir/link.cpp" "$build/libcarat.a" -pthread -lm
"$dir/link" >/dev/null || { echo "a C++ program does not get the status it should" >&2; exit 1; }

# Names in declarations, against the symbols of both libraries.
cat "$source"/include/*.h | grep -v '^ \*' | grep -o 'CARAT_API.*\bcarat_[a-z_0-9]*(' | grep -o 'carat_[a-z_0-9]*(' | tr -d '(' | sort -u >"$dir/declared"
[ "$(wc -l <"$dir/declared")" -ge 30 ] || { echo "too few declarations found in the headers" >&2; exit 1; }
nm -g --defined-only "$build/libcarat.a" 2>/dev/null | awk '$2 == "T" && $3 ~ /^carat_/ {print $3}' | sort -u >"$dir/static"
diff "$dir/declared" "$dir/static" || { echo "the headers and libcarat.a differ" >&2; exit 1; }
if [ -e "$build/libcarat.so" ]; then
    nm -D --defined-only "$build/libcarat.so" | awk '{print $3}' | sed 's/@.*//' | grep -v '^__\(asan\|odr_asan\|ubsan\|tsan\|sancov\)' |
        sort -u >"$dir/shared"
    diff "$dir/declared" "$dir/shared" || { echo "the headers and what libcarat.so exports differ" >&2; exit 1; }
fi
