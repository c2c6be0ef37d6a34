/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_write.c: the header of a GGUF file of version 3 (write.h). Format: ggml's docs/gguf.md; it is read
 * back by gguf.c. */
#include "file/write.h"

#include <stdlib.h>

enum { ALIGNMENT = 32, MOST_NAME = 63 };

static void put_u32(struct ct_new_head *h, uint32_t v)
{
    ct_new_head_put(h, &v, sizeof v);
}

static void put_u64(struct ct_new_head *h, uint64_t v)
{
    ct_new_head_put(h, &v, sizeof v);
}

static void put_text(struct ct_new_head *h, struct ct_str s)
{
    put_u64(h, s.n);
    ct_new_head_put(h, s.s, s.n);
}

static void put_key(struct ct_new_head *h, const char *key, uint32_t type)
{
    put_text(h, ct_str_of(key));
    put_u32(h, type);
    h->entries++;
}

static void put_array(struct ct_new_head *h, const char *key, uint32_t type, size_t n)
{
    put_key(h, key, CT_GGUF_ARRAY);
    put_u32(h, type);
    put_u64(h, n);
}

void ct_gguf_begin(struct ct_new_head *h)
{
    *h = (struct ct_new_head){.data = NULL};
    ct_new_head_put(h, "GGUF", 4);
    put_u32(h, 3);
    put_u64(h, 0); /* the two counts, known at the end */
    put_u64(h, 0);
}

void ct_gguf_put_uint(struct ct_new_head *h, const char *key, uint32_t v)
{
    put_key(h, key, CT_GGUF_U32);
    put_u32(h, v);
}

void ct_gguf_put_float(struct ct_new_head *h, const char *key, float v)
{
    put_key(h, key, CT_GGUF_F32);
    ct_new_head_put(h, &v, sizeof v);
}

void ct_gguf_put_bool(struct ct_new_head *h, const char *key, bool v)
{
    const uint8_t byte = v;

    put_key(h, key, CT_GGUF_BOOL);
    ct_new_head_put(h, &byte, 1);
}

void ct_gguf_put_string(struct ct_new_head *h, const char *key, struct ct_str v)
{
    put_key(h, key, CT_GGUF_STRING);
    put_text(h, v);
}

void ct_gguf_put_uints(struct ct_new_head *h, const char *key, const uint32_t *v, size_t n)
{
    put_array(h, key, CT_GGUF_U32, n);
    ct_new_head_put(h, v, n * sizeof *v);
}

void ct_gguf_put_ints(struct ct_new_head *h, const char *key, const int32_t *v, size_t n)
{
    put_array(h, key, CT_GGUF_I32, n);
    ct_new_head_put(h, v, n * sizeof *v);
}

void ct_gguf_put_floats(struct ct_new_head *h, const char *key, const float *v, size_t n)
{
    put_array(h, key, CT_GGUF_F32, n);
    ct_new_head_put(h, v, n * sizeof *v);
}

void ct_gguf_put_bools(struct ct_new_head *h, const char *key, const bool *v, size_t n)
{
    put_array(h, key, CT_GGUF_BOOL, n);
    for (size_t i = 0; i < n; i++)
        ct_new_head_put(h, &(uint8_t){v[i]}, 1);
}

void ct_gguf_put_pair(struct ct_new_head *h, struct ct_bytes pair)
{
    ct_new_head_put(h, pair.data, pair.size);
    h->entries++;
}

void ct_gguf_put_strings(struct ct_new_head *h, const char *key, size_t n)
{
    put_array(h, key, CT_GGUF_STRING, n);
}

void ct_gguf_add_string(struct ct_new_head *h, struct ct_str s)
{
    put_text(h, s);
}

size_t ct_gguf_scalar_bytes(uint32_t type)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

    return type < sizeof bytes ? bytes[type] : 0;
}

/* Bytes of a value, which is whole: it was read or written here. */
static size_t value_bytes(const uint8_t *p, uint32_t type)
{
    if (type == CT_GGUF_STRING)
        return 8 + (size_t)ct_le64(p);
    if (type != CT_GGUF_ARRAY)
        return ct_gguf_scalar_bytes(type);
    const uint32_t of = ct_le32(p);
    const uint64_t n = ct_le64(p + 4);
    size_t at = 12;
    if (ct_gguf_scalar_bytes(of))
        return at + (size_t)n * ct_gguf_scalar_bytes(of);
    for (uint64_t i = 0; i < n; i++)
        at += value_bytes(p + at, of);
    return at;
}

enum { HEAD = 24 }; /* bytes before the pairs */

bool ct_gguf_find(const struct ct_new_head *h, const char *key, struct ct_gguf_pair *pair)
{
    size_t at = HEAD;

    *pair = (struct ct_gguf_pair){.at = h->n};
    for (uint64_t i = 0; i < h->entries && !h->failed; i++) {
        const uint64_t n = ct_le64(h->data + at);
        const uint8_t *name = h->data + at + 8, *type = name + n;
        const size_t all = 8 + (size_t)n + 4 + value_bytes(type + 4, ct_le32(type));
        if (n == strlen(key) && memcmp(name, key, n) == 0) {
            *pair = (struct ct_gguf_pair){at, all, ct_le32(type)};
            return true;
        }
        at += all;
    }
    return false;
}

void ct_gguf_drop(struct ct_new_head *h, const struct ct_gguf_pair *pair)
{
    const size_t behind = pair->at + pair->n;

    memmove(h->data + pair->at, h->data + behind, h->n - behind);
    h->n -= pair->n;
    h->entries--;
}

void ct_gguf_replace(struct ct_new_head *h, const char *key, const struct ct_gguf_pair *pair, uint32_t type,
                     const void *value, size_t n)
{
    const size_t behind = pair->at + pair->n;
    uint8_t *rest = malloc(h->n - behind + 1);
    const size_t n_rest = h->n - behind;

    h->failed = h->failed || !rest;
    if (!h->failed) {
        memcpy(rest, h->data + behind, n_rest);
        h->n = pair->at;
        h->entries -= pair->n > 0;
        put_key(h, key, type);
        if (type == CT_GGUF_STRING)
            put_u64(h, n);
        ct_new_head_put(h, value, n);
        ct_new_head_put(h, rest, n_rest);
    }
    free(rest);
}

static const char *type_name(const struct ct_new_tensor *t)
{
    return t->bytes ? "I8" : t->type == CT_TYPE_COUNT ? t->type_name : ct_type_info(t->type)->name;
}

static void put_info(struct ct_new_head *h, const struct ct_new_tensor *t, uint32_t number, uint64_t offset)
{
    put_text(h, ct_str_of(t->name));
    put_u32(h, (uint32_t)t->n_dim);
    for (int k = t->n_dim - 1; k >= 0; k--) /* the contiguous dimension comes first */
        put_u64(h, (uint64_t)t->dim[k]);
    put_u32(h, number);
    put_u64(h, offset);
}

carat_status ct_gguf_end(struct ct_new_head *h, struct ct_new_tensor *tensor, int n, uint64_t *size,
                         const char *path, carat_error *err)
{
    const uint64_t counts[2] = {(uint64_t)n, h->entries};
    const uint32_t alignment = h->alignment ? h->alignment : ALIGNMENT;
    uint64_t offset = 0;

    for (int i = 0; i < n; i++) {
        uint32_t number;
        if (strlen(tensor[i].name) > MOST_NAME || !ct_ggml_number(type_name(&tensor[i]), &number))
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s: tensor %s of type %s cannot be written: GGUF holds names of at most %d bytes "
                           "and types of its own",
                           path, tensor[i].name, type_name(&tensor[i]), MOST_NAME);
        put_info(h, &tensor[i], number, offset);
        tensor[i].at = offset;
        if (tensor[i].size > (uint64_t)INT64_MAX / 2 - offset)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: its tensors have more bytes than 62 bits count",
                           path);
        offset = ct_round_up(offset + tensor[i].size, alignment);
    }
    while (!h->failed && h->n % alignment != 0)
        ct_new_head_put(h, "", 1);
    if (h->failed)
        return ct_no_memory(err, path);
    memcpy(h->data + 8, counts, sizeof counts);
    for (int i = 0; i < n; i++)
        tensor[i].at += h->n;
    *size = h->n + offset;
    return CARAT_OK;
}
