/* SPDX-License-Identifier: Apache-2.0 */
/* text_golden.h: what the tests of src/text share: reading files and golden lines (one JSON object each). */
#ifndef TEXT_GOLDEN_H
#define TEXT_GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/utf8.h"
#include "text/tokenizer/speller.h"

static inline struct ct_bytes read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        fail_msg("cannot read %s", path);
    long n = ftell(f);
    rewind(f);
    uint8_t *data = malloc((size_t)n + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)n, f), n);
    fclose(f);
    return (struct ct_bytes){data, (size_t)n};
}

/* path below the committed test data */
static inline struct ct_bytes read_data(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/text/%s", CT_TEST_DATA, name);
    return read_file(path);
}

/* Calls fn for every line of the file; returns their number. */
static inline int each_line(const char *path, void (*fn)(void *arg, int line, json_t *golden), void *arg)
{
    struct ct_bytes file = read_file(path);
    const char *p = (const char *)file.data, *end = p + file.size;
    int line = 0;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        json_t *golden = json_loadb(p, (size_t)(stop - p), JSON_ALLOW_NUL, NULL);
        assert_non_null(golden);
        fn(arg, ++line, golden);
        json_decref(golden);
        p = stop + 1;
    }
    free((void *)file.data);
    return line;
}

/* The ids of a text stand for its bytes, each for those behind the one before. */
static inline void check_covers(const struct ct_tokenizer *t, int line, const char *text, size_t n,
                                const carat_tokens *ids, int first)
{
    size_t at = 0;
    if (!ct_utf8_valid(text, n))
        return;
    for (int i = first; i < ids->n; i++) {
        char piece[CT_TOKEN_BYTES];
        size_t bytes = ct_tokenizer_bytes(t, ids->ids[i], piece),
               covers = ct_tokenizer_covers(t, ids->ids[i], text + at, n - at);
        if (bytes && covers == bytes && memcmp(text + at, piece, bytes) != 0)
            fail_msg("line %d: id %d is not what stands at byte %zu of %.*s", line, i, at, (int)n, text);
        at += covers;
    }
    if (at != n)
        fail_msg("line %d: ids stand for %zu bytes, expected %zu: %.*s", line, at, n, (int)n, text);
}

static inline void check_ids(const struct ct_tokenizer *t, int line, const char *text, size_t n, int flags,
                             const json_t *ids)
{
    carat_tokens out = {0};
    carat_error err;
    if (ct_tokenizer_encode(t, text, n, flags, NULL, &out, &err) != CARAT_OK)
        fail_msg("line %d: %s", line, err.message);
    if ((size_t)out.n != json_array_size(ids))
        fail_msg("line %d: %d ids found, expected %zu: %.*s", line, out.n, json_array_size(ids), (int)n,
                 text);
    for (int i = 0; i < out.n; i++)
        if (out.ids[i] != json_integer_value(json_array_get(ids, (size_t)i)))
            fail_msg("line %d: id %d is %d, expected %d: %.*s", line, i, out.ids[i],
                     (int)json_integer_value(json_array_get(ids, (size_t)i)), (int)n, text);
    const bool bos = (flags & CARAT_BOS) && out.n && out.ids[0] == ct_tokenizer_bos(t) &&
                     strncmp(text, "<bos>", CT_MIN(n, (size_t)5)) != 0;
    check_covers(t, line, text, n, &out, bos);
    free(out.ids);
}

static inline int32_t *golden_ids(const json_t *ids, int *n)
{
    *n = (int)json_array_size(ids);
    int32_t *out = malloc(((size_t)*n + 1) * sizeof *out);
    assert_non_null(out);
    for (int i = 0; i < *n; i++)
        out[i] = (int32_t)json_integer_value(json_array_get(ids, (size_t)i));
    return out;
}

static inline void check_text(const struct ct_tokenizer *t, int line, const json_t *ids, int flags,
                              const char *text, size_t size)
{
    int n;
    int32_t *id = golden_ids(ids, &n);
    char *out = NULL;
    size_t length;
    carat_error err;
    if (ct_tokenizer_decode(t, id, n, flags, &out, &length, &err) != CARAT_OK)
        fail_msg("line %d: %s", line, err.message);
    if (length != size || memcmp(out, text, size) != 0)
        fail_msg("line %d: \"%s\" found, expected \"%s\"", line, out, text);
    assert_int_equal(out[length], 0);
    free(out);
    free(id);
}

/* text without any occurrence of cut; malloc'd */
static inline char *without(const char *text, const char *cut)
{
    char *out = malloc(strlen(text) + 1), *to = out;
    assert_non_null(out);
    while (*text)
        if (strncmp(text, cut, strlen(cut)) == 0)
            text += strlen(cut);
        else
            *to++ = *text++;
    *to = 0;
    return out;
}

/* The vectors' folder, or skips the test. */
static inline const char *shared(void)
{
    const char *path = getenv("CARAT_SHARED");
    if (!path)
        skip();
    return path;
}

/* The file of a real vocabulary's goldens, "" or "-decode" behind its name. */
static inline const char *real_goldens(char path[1024], const char *family, const char *what)
{
    const bool newer = strcmp(family, "gemma4") == 0;
    snprintf(path, 1024, "%s%s/tokenizer/%s%s.jsonl", shared(), newer ? "/../family" : "", family, what);
    return path;
}

/* The real tokenizer.json of gemma, gemma3 or gemma4; skips when it cannot be unpacked. */
static inline struct ct_tokenizer *real_tokenizer(const char *family)
{
    char command[2048], line[64] = "";
    snprintf(command, sizeof command, "xz -dkc '%s/../tokenizers/%s/tokenizer.json.xz' 2>/dev/null", shared(),
             family);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        skip();
    size_t size = 0, capacity = (size_t)64 << 20, got;
    uint8_t *data = malloc(capacity);
    assert_non_null(data);
    while (size < capacity && (got = fread(data + size, 1, capacity - size, pipe)) > 0)
        size += got;
    int status = pclose(pipe);
    if (status != 0 || size == 0) {
        free(data);
        skip();
    }
    struct ct_tokenizer *t = NULL;
    carat_error err;
    snprintf(line, sizeof line, "%s/tokenizer.json", family);
    if (ct_tokenizer_from_json(&t, line, (struct ct_bytes){data, size}, NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    free(data);
    return t;
}

#endif
