/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c: reads the header of one safetensors file and proves that its tensors fill the data buffer
 * exactly, without overlap or hole. Tensor data is not touched. Which files make a checkpoint is hf.c's.
 *
 * Format: the README of huggingface/safetensors. Stricter than its library in one point: of a repeated
 * name that means something the last one does not win; it is refused. */
#include "file/reader.h"

#include <stdlib.h>

enum { MAX_NAME = 4096, MAX_RANK = 8 };

/* An entry of the header. */
struct entry {
    int rank;
    uint64_t dim[MAX_RANK];
    int bits;
    const char *dtype;
    uint64_t begin, end;
    unsigned seen; /* bit k: entry_keys[k] */
};
enum { DTYPE, SHAPE, OFFSETS, ENTRY_KEYS };
static const char *const entry_keys[ENTRY_KEYS] = {"dtype", "shape", "data_offsets"};

/* A list of at most `max` integers. The reader gives doubles; the spelling is read again, so that 1.0, 1e3,
 * -0 and what exceeds 63 bits are refused instead of rounded. */
static carat_status read_integers(struct ct_json *j, uint64_t *out, int *n, int max, const char *what)
{
    enum ct_json_token token;
    int64_t v;

    if (ct_json_next(j) != CT_JSON_ARRAY)
        return ct_json_fail(j, "%s must be an array", what);
    for (*n = 0; (token = ct_json_next(j)) != CT_JSON_ARRAY_END; out[(*n)++] = (uint64_t)v) {
        struct ct_str spelled = {(const char *)j->text + j->start, j->at - j->start};
        if (token != CT_JSON_NUMBER || *n == max)
            return ct_json_fail(j, "%s must be an array of at most %d integers", what, max);
        if (*spelled.s == '-' || !ct_json_whole(spelled, &v))
            return ct_json_fail(j, "a plain integer from 0 to 2^63-1 was expected");
    }
    return CARAT_OK;
}

/* The value of the key just read. */
static carat_status read_member(struct ct_json *j, struct entry *e)
{
    char q[CT_QUOTE];
    uint64_t range[2];
    int n;

    int k = 0;
    while (k < ENTRY_KEYS && !ct_str_is(j->string, entry_keys[k]))
        k++;
    if (k == ENTRY_KEYS)
        return ct_json_fail(j, "found the key %s; dtype, shape and data_offsets were expected",
                            ct_quote(q, j->string));
    if (e->seen >> k & 1)
        return ct_json_fail(j, "%s is there twice", entry_keys[k]);
    e->seen |= 1u << k;
    if (k == DTYPE) {
        if (ct_json_next(j) != CT_JSON_STRING)
            return ct_json_fail(j, "dtype must be a string");
        e->bits = ct_hf_bits(j->string, &e->dtype);
        if (e->bits)
            return CARAT_OK;
        ct_json_fail(j, "the dtype %s is not one of safetensors", ct_quote(q, j->string));
        return j->error.code = CARAT_E_UNSUPPORTED; /* perhaps a future one */
    }
    if (k == SHAPE)
        return read_integers(j, e->dim, &e->rank, MAX_RANK, "shape");
    CT_TRY(read_integers(j, range, &n, 2, "data_offsets"));
    if (n != 2)
        return ct_json_fail(j, "data_offsets must hold two integers, found %d", n);
    e->begin = range[0];
    e->end = range[1];
    return CARAT_OK;
}

/* The object of one tensor. */
static carat_status read_entry(struct ct_json *j, struct entry *e)
{
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return ct_json_fail(j, "the entry of a tensor must be an object");
    while (ct_json_next(j) == CT_JSON_KEY)
        CT_TRY(read_member(j, e));
    CT_TRY(j->error.code);
    for (int k = 0; k < ENTRY_KEYS; k++)
        if (!(e->seen >> k & 1))
            return ct_json_fail(j, "the entry ends without %s", entry_keys[k]);
    return CARAT_OK;
}

/* __metadata__ maps strings to strings and means nothing here. */
static carat_status skip_metadata(struct ct_json *j)
{
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return ct_json_fail(j, "__metadata__ must be an object");
    while (ct_json_next(j) == CT_JSON_KEY)
        if (ct_json_next(j) != CT_JSON_STRING)
            return ct_json_fail(j, "__metadata__ must hold strings only");
    return j->error.code;
}

/* Bytes that a shape takes; false when they cannot be counted or are not whole. */
static bool entry_bytes(const struct entry *e, size_t *bytes)
{
    size_t n = (size_t)e->bits;
    for (int i = 0; i < e->rank; i++)
        if (e->dim[i] == 0)
            n = 0;
    for (int i = 0; n && i < e->rank; i++)
        if (e->dim[i] > SIZE_MAX || !ct_mul(n, (size_t)e->dim[i], &n))
            return false;
    *bytes = n / 8;
    return n % 8 == 0;
}

/* The entry as a tensor. data: the buffer after the header, data_at: where it begins in the file. */
static carat_status add_hf_tensor(struct ct_file *f, const char *path, const char *name,
                                  const struct entry *e, struct ct_bytes data, size_t data_at,
                                  carat_error *err)
{
    char q[CT_QUOTE];
    size_t need;
    struct ct_tensor *t;
    ct_quote(q, ct_str_of(name));
    if (e->rank > 4)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: tensor %s has %d dimensions; carat reads at most 4",
                       path, q, e->rank);
    if (!entry_bytes(e, &need))
        return ct_bad_file(
            err, path, "the shape and dtype of tensor %s do not give a countable number of whole bytes", q);
    if (e->begin > e->end)
        return ct_bad_file(err, path, "tensor %s has reversed data_offsets: %llu to %llu", q,
                           (unsigned long long)e->begin, (unsigned long long)e->end);
    if (e->end - e->begin != need)
        return ct_bad_file(err, path,
                           "tensor %s has data_offsets for %llu bytes, but its shape and dtype %s take %zu",
                           q, (unsigned long long)(e->end - e->begin), e->dtype, need);
    if (e->end > data.size)
        return ct_bad_file(err, path,
                           "tensor %s ends at byte %llu of the data, which are only %zu bytes: at least %llu "
                           "bytes are missing; download the file again",
                           q, (unsigned long long)e->end, data.size,
                           (unsigned long long)(e->end - data.size));
    assert(data.size - e->begin >= need);
    CT_TRY(ct_file_add(f, &t, err));
    t->name = name;
    t->file = path;
    t->type_name = e->dtype;
    if (!ct_type_from_hf(ct_str_of(e->dtype), &t->type))
        t->type = CT_TYPE_COUNT;
    t->n_dim = CT_MAX(e->rank, 1);
    t->dim[0] = 1; /* a scalar */
    for (int i = 0; i < e->rank; i++)
        t->dim[i] = (int64_t)e->dim[i];
    t->size = need;
    t->data = data.data + e->begin;
    t->offset = data_at + e->begin;
    return CARAT_OK;
}

static int compare_offset(const void *a, const void *b)
{
    const struct ct_tensor *x = a, *y = b;
    return x->offset != y->offset ? (x->offset > y->offset) - (x->offset < y->offset)
                                  : (x->size > y->size) - (x->size < y->size);
}

/* Tensors from `from` on, sorted by place, must fill the file from data_at to its end. */
static carat_status check_places(struct ct_file *f, int from, const char *path, size_t data_at,
                                 size_t file_size, carat_error *err)
{
    char q[CT_QUOTE];
    uint64_t expected = data_at;
    if (f->n_tensor > from)
        qsort(&f->tensor[from], (size_t)(f->n_tensor - from), sizeof *f->tensor, compare_offset);
    for (int i = from; i < f->n_tensor; i++) {
        const struct ct_tensor *t = &f->tensor[i];
        if (t->offset != expected)
            return ct_bad_file(err, path,
                               "tensor %s %s: its data begin at byte %llu of the file, but %llu was expected",
                               ct_quote(q, ct_str_of(t->name)),
                               t->offset < expected ? "overlaps another" : "leaves a gap before it",
                               (unsigned long long)t->offset, (unsigned long long)expected);
        expected += t->size;
    }
    if (expected != file_size)
        return ct_bad_file(err, path, "the last tensor ends at byte %llu, but the file has %zu bytes",
                           (unsigned long long)expected, file_size);
    return CARAT_OK;
}

/* The header object; j stands before it. What is wrong with the JSON stays in j. */
static carat_status read_tensor_entries(struct ct_file *f, struct ct_json *j, const char *path,
                                        struct ct_bytes data, size_t data_at, carat_error *err)
{
    bool has_metadata = false;
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return ct_json_fail(j, "the header must be a JSON object");
    while (ct_json_next(j) == CT_JSON_KEY) {
        if (ct_str_is(j->string, "__metadata__")) {
            if (has_metadata)
                return ct_json_fail(j, "__metadata__ is there twice");
            has_metadata = true;
            CT_TRY(skip_metadata(j));
            continue;
        }
        if (f->n_tensor == CT_MAX_TENSOR)
            return ct_json_fail(j, "more than %d tensors in the checkpoint", CT_MAX_TENSOR);
        if (!ct_name_ok(j->string, MAX_NAME))
            return ct_json_fail(j, "the name of a tensor must be 1 to %d bytes of plain text", MAX_NAME);
        const char *name = ct_arena_str(&f->arena, j->string.s, j->string.n);
        if (!name)
            return ct_no_memory(err, f->path);
        struct entry e = {0};
        if (read_entry(j, &e)) {
            char q[CT_QUOTE];
            carat_error inner = j->error;
            return ct_fail(&j->error, inner.code, "%s (in tensor %s)", inner.message,
                           ct_quote(q, ct_str_of(name)));
        }
        CT_TRY(add_hf_tensor(f, path, name, &e, data, data_at, err));
    }
    ct_json_next(j); /* refuses what follows the header */
    return j->error.code;
}

carat_status ct_safetensors_read(struct ct_file *f, const char *path, struct ct_bytes bytes, carat_error *err)
{
    int from = f->n_tensor;
    if (bytes.size < 8)
        return ct_bad_file(
            err, path, "the file ends at byte %zu inside the header length, which takes 8 bytes", bytes.size);
    uint64_t n = ct_le64(bytes.data);
    if (n > CT_MAX_HEADER || bytes.size == 8 || bytes.data[8] != '{') {
        if (n > CT_MAX_HEADER && (bytes.size < 9 || bytes.data[8] == '{'))
            return ct_bad_file(err, path, "the header length is %llu bytes; the limit of the format is %d",
                               (unsigned long long)n, CT_MAX_HEADER);
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s is not a safetensors file: an 8-byte header length and '{' were expected at the "
                       "start; perhaps a failed download or a Git LFS pointer",
                       path);
    }
    if (n > bytes.size - 8)
        return ct_bad_file(err, path,
                           "the file ends at byte %zu inside the header, which takes %llu bytes from byte 8",
                           bytes.size, (unsigned long long)n);

    struct ct_json j;
    size_t data_at = 8 + (size_t)n;
    ct_file_header(f, bytes.data, data_at);
    ct_json_init(&j, path, (struct ct_bytes){bytes.data, data_at});
    j.at = 8; /* so that messages count from the start of the file */
    carat_status status = read_tensor_entries(
        f, &j, path, (struct ct_bytes){bytes.data + data_at, bytes.size - data_at}, data_at, err);
    if (j.error.code && err)
        *err = j.error;
    ct_json_free(&j);
    CT_TRY(status);
    return check_places(f, from, path, data_at, bytes.size, err);
}
