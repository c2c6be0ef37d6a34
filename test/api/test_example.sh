#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_example.sh: the program in carat.h's first comment compiles as C99 against the static library, warning-free, and
# answers with models/tiny, piece by piece as they come. Whether the answer is right is left to test_tiny.c.
# Needs CARAT_SOURCE, CARAT_BUILD and CC from CMake; CARAT_CFLAGS holds the sanitizers of the build.
set -euo pipefail

source=${CARAT_SOURCE:?} build=${CARAT_BUILD:?}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

awk '/example-end/ {exit} on {sub(/^ \* ?/, ""); print} /^ \* example-begin/ {on = 1}' "$source/include/carat.h" >"$dir/example.c"
grep -q 'int main' "$dir/example.c" || { echo "no example in include/carat.h" >&2; exit 1; }

# shellcheck disable=SC2086  # CARAT_CFLAGS is a list
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror ${CARAT_CFLAGS:-} -I"$source/include" -o "$dir/example" "$dir/example.c" \
    "$build/libcarat.a" -pthread -lm

"$dir/example" "$source/models/tiny" "hello" >"$dir/out"
cat "$dir/out"
[ "$(wc -c <"$dir/out")" -gt 1 ] || { echo "the example printed nothing" >&2; exit 1; }

# Failures are one sentence on stderr and a status, not a crash.
if "$dir/example" "$dir/absent" "hello" >"$dir/out" 2>"$dir/err"; then
    echo "the example succeeded without a model" >&2
    exit 1
fi
[ "$(wc -l <"$dir/err")" -eq 1 ] && grep -q absent "$dir/err" || { echo "no message naming the path" >&2; exit 1; }

# It streams: what was said so far has left the program before the next token is computed, and what is held back at the end
# is asked for. Both are seen between the program and the library.
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
