/* SPDX-License-Identifier: Apache-2.0 */
/* file_build.h: what the tests of this room share: a growing buffer, writers for GGUF pieces and safetensors,
 * a directory for temporary files, and the checks that every opened file must pass. */
#ifndef FILE_BUILD_H
#define FILE_BUILD_H

#define _XOPEN_SOURCE 700 /* mkdtemp and truncate; this header comes first in every test that uses it */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file/file.h"
#include "os/room.h"

#include <cmocka.h>

struct buf {
    uint8_t *p;
    size_t n, capacity;
};

static inline void put(struct buf *b, const void *data, size_t n)
{
    if (b->n + n > b->capacity) {
        b->capacity = 2 * b->capacity + n + 256;
        b->p = realloc(b->p, b->capacity);
        assert_non_null(b->p);
    }
    if (n)
        memcpy(b->p + b->n, data, n);
    b->n += n;
}
static inline void put_zero(struct buf *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(b, "", 1);
}
static inline void put_pad(struct buf *b, size_t to)
{
    put_zero(b, (to - b->n % to) % to);
}
static inline void put_u32(struct buf *b, uint32_t v)
{
    put(b, &v, 4);
}
static inline void put_u64(struct buf *b, uint64_t v)
{
    put(b, &v, 8);
}
static inline void put_text(struct buf *b, const char *s)
{
    put(b, s, strlen(s));
}
static inline void put_str(struct buf *b, const char *s)
{
    put_u64(b, strlen(s));
    put_text(b, s);
}
static inline void buf_free(struct buf *b)
{
    free(b->p);
    *b = (struct buf){0};
}

/* ---- GGUF ---- */

static inline void put_header(struct buf *b, uint32_t version, uint64_t n_tensor, uint64_t n_meta)
{
    put(b, "GGUF", 4);
    put_u32(b, version);
    put_u64(b, n_tensor);
    put_u64(b, n_meta);
}
static inline void put_meta(struct buf *b, const char *key, uint32_t type, const void *value, size_t n)
{
    put_str(b, key);
    put_u32(b, type);
    put(b, value, n);
}
static inline void put_meta_u32(struct buf *b, const char *key, uint32_t v)
{
    put_meta(b, key, 4, &v, 4);
}
static inline void put_info(struct buf *b, const char *name, uint32_t n_dim, const uint64_t *ne,
                            uint32_t type, uint64_t offset)
{
    put_str(b, name);
    put_u32(b, n_dim);
    for (uint32_t i = 0; i < n_dim && i < 8; i++)
        put_u64(b, ne[i]);
    put_u32(b, type);
    put_u64(b, offset);
}

/* ---- safetensors ---- */

static inline void put_safetensors(struct buf *b, const char *header, size_t data)
{
    put_u64(b, strlen(header));
    put_text(b, header);
    for (size_t i = 0; i < data; i++)
        put(b, &(uint8_t){(uint8_t)i}, 1);
}

/* ---- files ---- */

static inline char *temp_dir(void)
{
    const char *base = getenv("TMPDIR");
    char *dir = malloc(512);
    assert_non_null(dir);
    snprintf(dir, 512, "%s/carat-test-XXXXXX", roomy(base && *base ? base : "/tmp", "/dev/shm"));
    assert_non_null(mkdtemp(dir));
    return dir;
}
static inline const char *path_in(const char *dir, const char *name)
{
    static char path[8][2048];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", dir, name);
    return path[turn];
}
static inline void write_file(const char *dir, const char *name, const void *data, size_t n)
{
    FILE *f = fopen(path_in(dir, name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}
static inline void write_text(const char *dir, const char *name, const char *text)
{
    write_file(dir, name, text, strlen(text));
}
/* Removes the named files (a list that NULL ends) and the directory. */
static inline void remove_dir(char *dir, const char *const *name)
{
    for (; *name; name++)
        unlink(path_in(dir, *name));
    assert_int_equal(rmdir(dir), 0);
    free(dir);
}

/* ---- checks ---- */

/* Every tensor lies in [data, data + size) of its file and every question has an answer. */
static inline void check_tensors(const struct ct_file *f, const uint8_t *data, size_t size)
{
    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        assert_ptr_equal(ct_file_find(f, t->name), t);
        assert_true(t->n_dim >= 1 && t->n_dim <= 4);
        assert_true(t->size <= size && t->offset <= size - t->size);
        if (data)
            assert_ptr_equal(t->data, data + t->offset);
        assert_non_null(t->type_name);
        assert_non_null(t->file);
        if (t->type != CT_TYPE_COUNT) {
            size_t n = 1, bytes;
            for (int k = 0; k < t->n_dim; k++)
                n *= (size_t)t->dim[k];
            assert_true(ct_type_row_bytes(t->type, n, &bytes));
            assert_int_equal(bytes, t->size);
        }
    }
    assert_null(ct_file_find(f, "no such tensor"));
}

/* Opening must fail with this code and a message that holds this text; the message is one line. */
static inline void expect_error(carat_status status, const carat_error *err, carat_status code,
                                const char *text)
{
    if (status != code || !strstr(err->message, text))
        print_error("status %d (expected %d), message: %s\nexpected in it: %s\n", status, code,
                    status ? err->message : "(none)", text);
    assert_int_equal(status, code);
    assert_int_equal(err->code, code);
    assert_non_null(strstr(err->message, text));
    assert_null(strchr(err->message, '\n'));
}
static inline void refuse_path(const char *path, bool tokenizer_only, carat_status code, const char *text)
{
    struct ct_file *f = NULL;
    carat_error err;
    carat_status status = ct_file_open(&f, path, tokenizer_only, &err);
    assert_null(f);
    expect_error(status, &err, code, text);
    assert_int_equal(ct_file_open(&f, path, tokenizer_only, NULL), code);
}
static inline struct ct_file *accept_path(const char *path, bool tokenizer_only)
{
    struct ct_file *f = NULL;
    carat_error err;
    if (ct_file_open(&f, path, tokenizer_only, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    return f;
}

#endif
