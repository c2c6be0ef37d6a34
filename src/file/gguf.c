/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c: reads GGUF version 2 and 3, one file or the parts of a split one: metadata, tensor infos, and
 * the proof that every tensor lies inside its file. Tensor data is not touched. What keys mean is left to
 * others; answering questions about them is in meta.c.
 *
 * Format: ggml's docs/gguf.md. Nothing is allocated from a count that was not compared with the bytes
 * left. */
#include "file/reader.h"
#include "os/files.h"
#include "os/memory.h"

enum {
    MAX_KEY = 65535,
    MAX_NAME = 63, /* ggml keeps names in 64 bytes with a terminator */
    MAX_ALIGNMENT = 1 << 20,
    MIN_META_BYTES = 8 + 1 + 4 + 1,        /* key length, key, type, value */
    MIN_INFO_BYTES = 8 + 1 + 4 + 8 + 4 + 8 /* name length, name, n_dims, one dim, type, offset */
};
#define MAX_STRING     ((uint64_t)16 << 20)
#define MAX_COUNT      ((uint64_t)1 << 24)
#define MAX_META_BYTES ((size_t)512 << 20)
#define WINDOW         ((size_t)16 << 20)

/* A position in the file that remembers the first error and reads zeros from then on. */
struct cursor {
    struct ct_bytes bytes;
    size_t at;
    const char *path;
    char where[CT_QUOTE + 32]; /* what is being read, for messages: "metadata entry 3", "tensor \"x\"" */
    bool mapped;               /* the bytes are a mapped file, not a buffer of the caller */
    size_t kept;               /* where the pages begin that have not been given back */
    carat_status status;
    carat_error *err;
};

/* Notes the first fault, "path: sentence". */
__attribute__((format(printf, 2, 3))) static carat_status gguf_bad(struct cursor *c, const char *format, ...)
{
    char sentence[sizeof c->err->message];
    CT_FORMAT(sentence, format);
    if (c->status == CARAT_OK)
        c->status = ct_bad_file(c->err, c->path, "%s", sentence);
    return c->status;
}

static size_t gguf_left(const struct cursor *c)
{
    assert(c->at <= c->bytes.size);
    return c->bytes.size - c->at;
}

/* The next n bytes, or NULL after an error. field says what they are. */
static const uint8_t *gguf_take(struct cursor *c, uint64_t n, const char *field)
{
    if (c->status != CARAT_OK)
        return NULL;
    if (n > gguf_left(c)) {
        gguf_bad(c,
                 "the file ends at byte %zu inside %s of %s, which begins at byte %zu and takes %llu bytes: "
                 "it is cut off or corrupt; download it again",
                 c->bytes.size, field, c->where, c->at, (unsigned long long)n);
        return NULL;
    }
    /* Metadata may be as large as its limit; what has been read need not stay in memory while the rest is. */
    if (c->mapped && c->at - c->kept > WINDOW) {
        ct_os_discard(c->bytes.data + c->kept, c->at - c->kept);
        c->kept = c->at;
    }
    const uint8_t *p = c->bytes.data + c->at;
    c->at += (size_t)n;
    return p;
}

static uint32_t gguf_u32(struct cursor *c, const char *field)
{
    const uint8_t *p = gguf_take(c, 4, field);
    return p ? ct_le32(p) : 0;
}

static uint64_t gguf_u64(struct cursor *c, const char *field)
{
    const uint8_t *p = gguf_take(c, 8, field);
    return p ? ct_le64(p) : 0;
}

static struct ct_str gguf_string(struct cursor *c, uint64_t max, const char *field)
{
    size_t at = c->at;
    uint64_t n = gguf_u64(c, field);
    if (n > max)
        gguf_bad(c, "%s of %s at byte %zu says it is %llu bytes long; the limit is %llu", field, c->where, at,
                 (unsigned long long)n, (unsigned long long)max);
    const uint8_t *p = gguf_take(c, n, field);
    return p ? (struct ct_str){(const char *)p, (size_t)n} : (struct ct_str){"", 0};
}

/* ---- metadata ---- */

enum { VALUE_STRING = 8, VALUE_ARRAY = 9 };

/* By GGUF's number of a value type. */
static const struct value {
    enum ct_meta_type type;
    int bytes; /* 0: of varying length */
} values[] = {
    {CT_META_UINT, 1}, {CT_META_INT, 1},   {CT_META_UINT, 2},  {CT_META_INT, 2},    {CT_META_UINT, 4},
    {CT_META_INT, 4},  {CT_META_FLOAT, 4}, {CT_META_BOOL, 1},  {CT_META_STRING, 0}, {CT_META_ARRAY, 0},
    {CT_META_UINT, 8}, {CT_META_INT, 8},   {CT_META_FLOAT, 8},
};

static carat_status gguf_bad_bool(struct cursor *c, size_t at)
{
    return gguf_bad(c, "%s holds a bool of %d at byte %zu; 0 or 1 was expected", c->where, c->bytes.data[at],
                    at);
}

static carat_status gguf_array(struct cursor *c, struct ct_meta *m)
{
    size_t at = c->at;
    uint32_t type = gguf_u32(c, "the element type");
    if (type >= CT_COUNT(values))
        return gguf_bad(c, "%s at byte %zu is an array of type %d; types 0 to 12 exist", c->where, at,
                        (int32_t)type);
    if (type == VALUE_ARRAY)
        return gguf_bad(c, "%s at byte %zu is an array of arrays, which GGUF does not allow", c->where, at);
    at = c->at;
    m->elem = values[type].type;
    m->elem_bytes = values[type].bytes;
    m->count = gguf_u64(c, "the number of elements");
    if (m->count > MAX_COUNT)
        gguf_bad(c, "%s at byte %zu says it has %llu elements; the limit is %llu", c->where, at,
                 (unsigned long long)m->count, (unsigned long long)MAX_COUNT);
    CT_TRY(c->status);
    size_t start = c->at;
    for (uint64_t i = 0; type == VALUE_STRING && i < m->count && !c->status; i++)
        gguf_string(c, MAX_STRING, "an element");
    gguf_take(c, m->count * (uint64_t)m->elem_bytes, "the elements"); /* at most 2^27 */
    CT_TRY(c->status);
    m->raw = (struct ct_bytes){c->bytes.data + start, c->at - start};
    for (uint64_t i = 0; m->elem == CT_META_BOOL && i < m->count; i++)
        if (m->raw.data[i] > 1)
            return gguf_bad_bool(c, start + (size_t)i);
    return CARAT_OK;
}

static carat_status gguf_value(struct cursor *c, struct ct_meta *m)
{
    size_t at = c->at;
    uint32_t type = gguf_u32(c, "the type");
    if (type >= CT_COUNT(values))
        return gguf_bad(c, "%s at byte %zu has the value type %d; types 0 to 12 exist", c->where, at,
                        (int32_t)type);
    m->offset = c->at;
    m->type = values[type].type;
    if (type == VALUE_ARRAY)
        return gguf_array(c, m);
    if (type == VALUE_STRING) {
        m->s = gguf_string(c, MAX_STRING, "the string");
        return c->status;
    }
    const uint8_t *p = gguf_take(c, (uint64_t)values[type].bytes, "the value");
    CT_TRY(c->status);
    ct_meta_decode(m, p, values[type].bytes);
    return m->type == CT_META_BOOL && m->u > 1 ? gguf_bad_bool(c, (size_t)m->offset) : CARAT_OK;
}

static carat_status read_metas(struct ct_file *f, struct cursor *c, struct ct_metas *metas, uint64_t count)
{
    char q[CT_QUOTE];
    metas->meta = ct_arena_push(&f->arena, (size_t)count, sizeof *metas->meta);
    if (!metas->meta)
        return ct_no_memory(c->err, f->path);
    CT_TRY(ct_index_reserve(f, &metas->index, (size_t)count, c->err));
    for (int i = 0; i < (int)count; i++) {
        struct ct_meta *m = &metas->meta[i];
        size_t at = c->at;
        snprintf(c->where, sizeof c->where, "metadata entry %d", i);
        m->key = gguf_string(c, MAX_KEY, "the key");
        CT_TRY(c->status);
        if (!ct_name_ok(m->key, MAX_KEY))
            return gguf_bad(c, "metadata entry %d at byte %zu has the key %s, which is not a name", i, at,
                            ct_quote(q, m->key));
        snprintf(c->where, sizeof c->where, "metadata key %s", ct_quote(q, m->key));
        CT_TRY(gguf_value(c, m));
        m->pair = (struct ct_bytes){c->bytes.data + at, c->at - at};
        if (c->at > MAX_META_BYTES)
            return gguf_bad(c, "the metadata is larger than the limit of %zu bytes", MAX_META_BYTES);
        ct_index_add(&metas->index, m->key, c->path, m->offset);
    }
    return ct_index_sort(&metas->index, "the metadata key", c->err);
}

/* ---- tensors ---- */

static carat_status check_tensor_shape(struct cursor *c, struct ct_tensor *t, uint32_t number,
                                       const struct ct_ggml_type *type)
{
    size_t size = 1;
    for (int i = 0; i < t->n_dim; i++) {
        if (t->dim[i] <= 0)
            return gguf_bad(c, "%s has a dimension of %lld; at least 1 was expected", c->where,
                            (long long)t->dim[i]);
        if ((uint64_t)t->dim[i] > SIZE_MAX || !ct_mul(size, (size_t)t->dim[i], &size) || size > INT64_MAX)
            return gguf_bad(c, "%s has more elements than 63 bits can count", c->where);
    }
    int64_t row = t->dim[t->n_dim - 1];
    if (row % type->block != 0)
        return gguf_bad(c,
                        "%s of type %s (number %u) has rows of %lld elements; a multiple of %d was expected",
                        c->where, type->name, number, (long long)row, type->block);
    if (!ct_mul(size / (size_t)type->block, (size_t)type->bytes, &t->size))
        return gguf_bad(c, "%s has more bytes than 64 bits can count", c->where);
    return CARAT_OK;
}

/* One tensor info; offset stays relative to the data section. */
static carat_status read_info(struct ct_file *f, struct cursor *c, int i)
{
    char q[CT_QUOTE];
    struct ct_tensor *t;
    CT_TRY(ct_file_add(f, &t, c->err));
    size_t at = c->at;
    snprintf(c->where, sizeof c->where, "tensor %d", i);
    struct ct_str name = gguf_string(c, MAX_NAME, "the name");
    CT_TRY(c->status);
    if (!ct_name_ok(name, MAX_NAME))
        return gguf_bad(c, "tensor %d at byte %zu has the name %s, which is not 1 to %d bytes of plain text",
                        i, at, ct_quote(q, name), MAX_NAME);
    snprintf(c->where, sizeof c->where, "tensor %s", ct_quote(q, name));
    at = c->at;
    uint32_t n_dim = gguf_u32(c, "the number of dimensions");
    CT_TRY(c->status);
    if (n_dim < 1 || n_dim > 4)
        return gguf_bad(c, "%s has %u dimensions at byte %zu; 1 to 4 were expected", c->where, n_dim, at);
    t->n_dim = (int)n_dim;
    for (int k = t->n_dim - 1; k >= 0; k--) { /* the file has the contiguous dimension first */
        uint64_t extent = gguf_u64(c, "the dimensions");
        memcpy(&t->dim[k], &extent, 8);
    }
    at = c->at;
    uint32_t number = gguf_u32(c, "the type");
    t->offset = gguf_u64(c, "the offset");
    CT_TRY(c->status);
    struct ct_ggml_type type;
    if (!ct_ggml_type(number, &type)) {
        char list[CT_TYPE_LIST];
        const char *instead, *gone = ct_ggml_removed(number, &instead);
        if (gone)
            return ct_fail(c->err, CARAT_E_UNSUPPORTED,
                           "%s: %s is of type %s (number %u at byte %zu), which GGUF has removed: take the "
                           "%s file of the model",
                           c->path, c->where, gone, number, at, instead);
        return ct_fail(c->err, CARAT_E_UNSUPPORTED,
                       "%s: %s has the type number %d at byte %zu, which carat does not know; it reads %s",
                       c->path, c->where, (int32_t)number, at, ct_file_types(list));
    }
    CT_TRY(check_tensor_shape(c, t, number, &type));
    if (!ct_type_from_ggml(number, &t->type))
        t->type = CT_TYPE_COUNT;
    t->type_name = type.name;
    t->file = c->path;
    t->name = ct_arena_str(&f->arena, name.s, name.n);
    return t->name ? CARAT_OK : ct_no_memory(c->err, f->path);
}

/* Offsets must be what the reference reader demands: each tensor begins where the one before it ends, rounded
 * up to the alignment. That rules out overlap, gaps and reuse in one pass. *end: where the last one ends. */
static carat_status check_offsets(struct ct_file *f, struct cursor *c, int from, size_t alignment,
                                  size_t *end)
{
    char q[CT_QUOTE];
    size_t expected = ct_round_up(c->at, alignment), data = expected;
    *end = data;
    for (int i = from; i < f->n_tensor; i++) {
        struct ct_tensor *t = &f->tensor[i];
        ct_quote(q, ct_str_of(t->name));
        if (t->offset % alignment != 0)
            return gguf_bad(c,
                            "tensor %s of %zu bytes has the offset %llu, which is not a multiple of the "
                            "alignment %zu; the file has %zu bytes",
                            q, t->size, (unsigned long long)t->offset, alignment, c->bytes.size);
        if (t->offset != expected - data && i > from &&
            *end > c->bytes.size) /* then it is the one before that lies */
            return gguf_bad(c,
                            "tensor %s of %zu bytes from byte %llu ends beyond the file, which has %zu bytes",
                            ct_quote(q, ct_str_of(t[-1].name)), t[-1].size, (unsigned long long)t[-1].offset,
                            c->bytes.size);
        if (t->offset != expected - data)
            return gguf_bad(c,
                            "tensor %s of %zu bytes %s: it has the offset %llu, but %zu was expected; the "
                            "file has %zu bytes",
                            q, t->size,
                            t->offset < expected - data ? "overlaps the one before it"
                                                        : "leaves a gap after the one before it",
                            (unsigned long long)t->offset, expected - data, c->bytes.size);
        t->offset = expected;
        if (!ct_add(expected, t->size, end) || *end > SIZE_MAX - alignment)
            return gguf_bad(c, "tensor %s of %zu bytes ends where 64 bits cannot count", q, t->size);
        expected = ct_round_up(*end, alignment);
    }
    return CARAT_OK;
}

/* Offsets become positions in the file, and every tensor is proved to lie inside it. */
static carat_status locate_tensors(struct ct_file *f, struct cursor *c, int from, size_t alignment)
{
    size_t end;
    assert(from <= f->n_tensor && alignment > 0);
    if (from == f->n_tensor)
        return CARAT_OK;
    CT_TRY(check_offsets(f, c, from, alignment, &end));
    for (int i = from; i < f->n_tensor; i++) {
        struct ct_tensor *t = &f->tensor[i];
        size_t missing = end > c->bytes.size ? end - c->bytes.size : 0;
        if (t->offset + t->size > c->bytes.size) {
            char q[CT_QUOTE];
            return gguf_bad(c,
                            "the file ends at byte %zu, but tensor %s takes %zu bytes from byte %llu: %zu %s "
                            "missing; download it again",
                            c->bytes.size, ct_quote(q, ct_str_of(t->name)), t->size,
                            (unsigned long long)t->offset, missing, missing == 1 ? "byte is" : "bytes are");
        }
        t->data = c->bytes.data + t->offset;
    }
    end = ct_round_up(end, alignment); /* writers pad the last tensor, too */
    if (end < c->bytes.size)
        return ct_file_set_note(f, c->err, "%s: %zu byte%s after the last tensor, from byte %zu, %s ignored",
                                c->path, c->bytes.size - end, c->bytes.size - end == 1 ? "" : "s", end,
                                c->bytes.size - end == 1 ? "is" : "are");
    return CARAT_OK;
}

/* ---- files ---- */

static carat_status read_version(struct ct_file *f, struct cursor *c)
{
    uint32_t v = gguf_u32(c, "the version");
    CT_TRY(c->status);
    uint32_t swapped = v >> 24 | (v >> 8 & 0xff00u) | (v << 8 & 0xff0000u) | v << 24;
    if (swapped >= 1 && swapped <= 3)
        return ct_fail(
            c->err, CARAT_E_UNSUPPORTED,
            "%s is a big-endian GGUF file (version %u); carat reads little-endian ones: convert it", c->path,
            swapped);
    if (v == 1)
        return ct_fail(c->err, CARAT_E_UNSUPPORTED,
                       "%s is a GGUF file of version 1; carat reads 2 and 3: convert it again", c->path);
    if (v != 2 && v != 3)
        return ct_fail(c->err, v ? CARAT_E_UNSUPPORTED : CARAT_E_FORMAT,
                       "%s is a GGUF file of version %u; carat reads 2 and 3", c->path, v);
    f->version = (int)v;
    return CARAT_OK;
}

/* A count of things that take at least min_bytes each. at: where it stands. */
static carat_status check_count(struct cursor *c, const char *what, uint64_t n, size_t at, uint64_t max,
                                uint64_t min_bytes)
{
    if (n > max)
        return gguf_bad(c, "%s is %llu at byte %zu; the limit is %llu", what, (unsigned long long)n, at,
                        (unsigned long long)max);
    if (n > gguf_left(c) / min_bytes)
        return gguf_bad(
            c,
            "%s is %llu at byte %zu, more than there is room for from byte %zu to byte %zu, where "
            "the file ends; download it again",
            what, (unsigned long long)n, at, c->at, c->bytes.size);
    return CARAT_OK;
}

static carat_status read_alignment(struct cursor *c, const struct ct_metas *metas, size_t *alignment)
{
    const struct ct_meta *m = ct_metas_find(metas, "general.alignment");
    if (!m)
        return CARAT_OK;
    int64_t n = 0;
    CT_TRY(ct_metas_int(metas, c->path, "general.alignment", INT64_MIN, INT64_MAX, &n, c->err));
    if (n < 8 || n > MAX_ALIGNMENT || (n & (n - 1)) != 0)
        return gguf_bad(c,
                        "metadata key \"general.alignment\" is %lld at byte %llu, but must be a power of two "
                        "from 8 to %d",
                        (long long)n, (unsigned long long)m->offset, MAX_ALIGNMENT);
    *alignment = (size_t)n;
    return CARAT_OK;
}

/* One file: appends its tensors, fills *metas. */
static carat_status read_gguf(struct ct_file *f, const char *path, struct ct_bytes bytes,
                              struct ct_metas *metas, carat_error *err)
{
    struct cursor c = {.bytes = bytes, .path = path, .where = "the header", .err = err};
    c.mapped = f->n_map > 0 && f->map[f->n_map - 1].base == bytes.data;
    const uint8_t *magic = gguf_take(&c, 4, "the magic");
    if (!magic || memcmp(magic, "GGUF", 4) != 0)
        return magic ? ct_identify(path, bytes, err) : c.status;
    CT_TRY(read_version(f, &c));
    uint64_t n_tensor = gguf_u64(&c, "the number of tensors");
    uint64_t n_meta = gguf_u64(&c, "the number of metadata entries");
    CT_TRY(c.status);
    CT_TRY(check_count(&c, "the number of tensors", n_tensor, 8, CT_MAX_GGUF, MIN_INFO_BYTES));
    CT_TRY(check_count(&c, "the number of metadata entries", n_meta, 16, CT_MAX_META, MIN_META_BYTES));
    CT_TRY(read_metas(f, &c, metas, n_meta));
    size_t alignment = 32;
    CT_TRY(read_alignment(&c, metas, &alignment));
    int from = f->n_tensor;
    /* again, behind the metadata */
    CT_TRY(check_count(&c, "the number of tensors", n_tensor, 8, CT_MAX_GGUF, MIN_INFO_BYTES));
    for (int i = 0; i < (int)n_tensor; i++)
        CT_TRY(read_info(f, &c, i));
    ct_file_header(f, bytes.data, c.at);
    return locate_tensors(f, &c, from, alignment);
}

/* The split.* keys of one part; a file without them is part 0 of 1. */
static carat_status split_keys(const struct ct_metas *metas, const char *path, int64_t *no, int64_t *count,
                               int64_t *total, carat_error *err)
{
    *no = 0;
    *count = 1;
    *total = -1;
    CT_TRY(ct_metas_int(metas, path, "split.count", 1, CT_MAX_SHARD, count, err));
    CT_TRY(ct_metas_int(metas, path, "split.no", 0, *count - 1, no, err));
    return ct_metas_int(metas, path, "split.tensors.count", 0, CT_MAX_TENSOR, total, err);
}

static carat_status read_parts(struct ct_file *f, const char *name, const char *path, int count,
                               int64_t total, carat_error *err)
{
    char suffix[32];
    size_t n = strlen(name), k = (size_t)snprintf(suffix, sizeof suffix, "-00001-of-%05d.gguf", count),
           stem = n - k;
    if (n < k || stem > 4000 || strcmp(name + stem, suffix) != 0)
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s is the first of %d parts, but its name does not end in -00001-of-%05d.gguf, so "
                       "the others cannot be found: restore the name",
                       path, count, count);
    for (int i = 1; i < count; i++) {
        char other[4096];
        const char *other_path;
        struct ct_bytes bytes;
        struct ct_metas metas = {0};
        int64_t its_no, its_count, its_total;
        snprintf(other, sizeof other, "%.*s-%05d-of-%05d.gguf", (int)stem, name, i + 1, count);
        CT_TRY(ct_file_take(f, other, &bytes, &other_path, err));
        if (!bytes.data)
            return ct_fail(err, CARAT_E_FORMAT, "%s is missing: it is part %d of the %d that belong to %s",
                           other_path, i + 1, count, path);
        CT_TRY(read_gguf(f, other_path, bytes, &metas, err));
        CT_TRY(split_keys(&metas, other_path, &its_no, &its_count, &its_total, err));
        if (its_no != i || its_count != count || its_total != total)
            return ct_fail(err, CARAT_E_FORMAT,
                           "%s says it is part %lld of %lld with %lld tensors in all; part %d of %d with "
                           "%lld was expected: the parts belong to different models",
                           other_path, (long long)its_no + 1, (long long)its_count, (long long)its_total,
                           i + 1, count, (long long)total);
    }
    if (total >= 0 && f->n_tensor != total)
        return ct_bad_file(err, path, "the %d parts hold %d tensors, but split.tensors.count is %lld", count,
                           f->n_tensor, (long long)total);
    return CARAT_OK;
}

carat_status ct_gguf_open(struct ct_file *f, const char *name, const char *path, struct ct_bytes bytes,
                          carat_error *err)
{
    int64_t no, count, total;
    f->kind = CT_FILE_GGUF;
    CT_TRY(read_gguf(f, path, bytes, &f->metas, err));
    CT_TRY(split_keys(&f->metas, path, &no, &count, &total, err));
    if (no != 0)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s is part %lld of %lld of a split model: open part 1 of them", path,
                       (long long)no + 1, (long long)count);
    if (count == 1 || f->tokenizer_only) /* metadata is all in the first part */
        return CARAT_OK;
    return read_parts(f, name, path, (int)count, total, err);
}
