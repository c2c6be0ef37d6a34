#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_example.sh: the programs in the first comments of carat.h, carat_quality.h and carat_convert.h compile
# as C99 against the static library, warning-free, and do with models/tiny what they are for: one answers,
# piece by piece as they come, and pays for nothing else; one compares, one converts. Whether the answer is
# right is left to test_tiny.c.
# Needs CARAT_SOURCE, CARAT_BUILD and CC from CMake; CARAT_CFLAGS holds the sanitizers of the build.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

while read -r header program; do
    awk '/example-end/ {exit} on {sub(/^ \* ?/, ""); print} /^ \* example-begin/ {on = 1}' "$source/include/$header.h" \
        >"$dir/$program.c"
    grep -q 'int main' "$dir/$program.c" || { echo "no example in include/$header.h" >&2; exit 1; }
    # shellcheck disable=SC2086  # CARAT_CFLAGS is a list
    "${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror ${CARAT_CFLAGS:-} -I"$source/include" -o "$dir/$program" \
        "$dir/$program.c" "$build/libcarat.a" -pthread -lm -Wl,--gc-sections
done <<<'carat example
carat_quality compare
carat_convert convert'

# Who runs a model pays for no measuring and no writing: code with such names is in the other examples only.
measures=' (ct_score|ct_compare|ct_judge|ct_summari|ct_bisect|carat_compare|carat_bisect|carat_score)'
writes=' (ct_convert|ct_plan_weight|ct_fill|ct_recipe|ct_kmeans|ct_gguf_write|ct_safetensors_write|carat_convert)'
if nm "$dir/example" | grep -E "$measures|$writes"; then
    echo "the example of carat.h has code that measures or writes models" >&2
    exit 1
fi
[ "$(nm "$dir/compare" | grep -cE "$measures")" -ge 2 ] || { echo "the example that compares has none" >&2; exit 1; }
[ "$(nm "$dir/convert" | grep -cE "$writes")" -ge 2 ] || { echo "the example that converts has none" >&2; exit 1; }

"$dir/compare" "$source/models/tiny" "$source/models/tiny" "Where is the bed?" >"$dir/out"
grep -q '^healthy: mean KL(ref||test) is 0, correlation 1, match 100 %$' "$dir/out" || {
    echo "a model against itself: $(cat "$dir/out")" >&2
    exit 1
}
if "$dir/compare" "$source/models/tiny" "$dir/absent" "hello" >"$dir/out" 2>"$dir/err" || ! grep -q absent "$dir/err"; then
    echo "comparing with no model: $(cat "$dir/out" "$dir/err")" >&2
    exit 1
fi

"$dir/convert" "$source/models/tiny" "$dir/small.gguf" q4_0 >"$dir/out"
grep -qE '^blk\.0\.attn_q\.weight +BF16 to Q4_0 +[12][0-9]\.[0-9] dB$' "$dir/out" || {
    echo "converting told: $(cat "$dir/out")" >&2
    exit 1
}
"$dir/example" "$dir/small.gguf" "hello" >"$dir/out"
[ "$(wc -c <"$dir/out")" -gt 1 ] || { echo "the converted model says nothing" >&2; exit 1; }
if "$dir/convert" "$source/models/tiny" "$dir/no.gguf" q4_9 >"$dir/out" 2>"$dir/err" || ! grep -q q4_9 "$dir/err" ||
    [ -e "$dir/no.gguf" ]; then
    echo "converting to no type: $(cat "$dir/out" "$dir/err")" >&2
    exit 1
fi

"$dir/example" "$source/models/tiny" "hello" >"$dir/out"
cat "$dir/out"
[ "$(wc -c <"$dir/out")" -gt 1 ] || { echo "the example printed nothing" >&2; exit 1; }

# Failures are one sentence on stderr and a status, not a crash.
if "$dir/example" "$dir/absent" "hello" >"$dir/out" 2>"$dir/err"; then
    echo "the example succeeded without a model" >&2
    exit 1
fi
[ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q absent "$dir/err" || { echo "no message naming the path" >&2; exit 1; }

# It streams: what was said so far has left the program before the next token is computed, and what is held
# back at the end is asked for. Both are seen between the program and the library.
cat >"$dir/between.c" <<'END'
#include <carat_generate.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t __real_carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity);
size_t __wrap_carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity);
carat_status __real_carat_generation_create(carat_generation **generation, carat_session *session,
                                            const carat_generation_options *options, carat_error *err);
carat_status __wrap_carat_generation_create(carat_generation **generation, carat_session *session,
                                            const carat_generation_options *options, carat_error *err);

static size_t said;
static carat_on_token theirs;

size_t __wrap_carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity)
{
    size_t n = __real_carat_stream_text(session, id, out, capacity);
    return id == -1 ? strlen(strcpy(out, "<end>")) : n;
}

static int between(void *user, const carat_given *given)
{
    struct stat st;
    int result = theirs(user, given);
    said += given->n_text;
    if (fstat(STDOUT_FILENO, &st) != 0 || (size_t)st.st_size != said) {
        fprintf(stderr, "of %zu bytes %ld have left the program\n", said, (long)st.st_size);
        _exit(9);
    }
    return result;
}

carat_status __wrap_carat_generation_create(carat_generation **generation, carat_session *session,
                                            const carat_generation_options *options, carat_error *err)
{
    carat_generation_options watched = *options;
    theirs = options->on_token;
    watched.on_token = between;
    return __real_carat_generation_create(generation, session, &watched, err);
}
END
# shellcheck disable=SC2086
"${CC:-cc}" -D_POSIX_C_SOURCE=200809L ${CARAT_CFLAGS:-} -I"$source/include" -o "$dir/between" "$dir/example.c" "$dir/between.c" \
    -Wl,--wrap=carat_stream_text,--wrap=carat_generation_create "$build/libcarat.a" -pthread -lm
"$dir/between" "$source/models/tiny" "Turn on the kitchen lights" >"$dir/out"
grep -q '.<end>$' "$dir/out" || { echo "the end of the text is not asked for: $(cat "$dir/out")" >&2; exit 1; }
