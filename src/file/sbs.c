/* SPDX-License-Identifier: Apache-2.0 */
/* sbs.c: reads the container of gemma.cpp files: header or footer, directory of blobs, table of contents,
 * tokenizer. The serialised structs are sbs_fields.c's, the meaning of names and configuration the model's.
 *
 * V1 has its directory behind the header, V2 in front of a copy of the header that ends the file. Only files
 * with the blobs "config" and "toc", as gemma.cpp writes since 2025, are read. */
#include "file/sbs_fields.h"

#define MAGIC "SBS\n"
enum {
    HEADER = 16,
    KEY = 16,   /* bytes of a name */
    ENTRY = 32, /* of the directory: a name in one half, offset and size in the other */
    ALIGN = 256,
    END_ALIGN = 65536,
    MAX_BLOB = 16384
};

struct blob {
    struct ct_str name;
    uint64_t offset;
    size_t size;
};

struct sbs {
    struct ct_file *f;
    const char *path;
    struct ct_bytes bytes;
    int version;
    size_t directory, limit; /* where it lies; where blobs must have ended */
    struct blob *blob;
    int n;
    struct ct_index index;
    carat_error *err;
};

/* ---- header and directory ---- */

static bool sbs_magic_at(struct ct_bytes b, size_t at)
{
    return memcmp(b.data + at, MAGIC, 4) == 0;
}

bool ct_sbs_is(struct ct_bytes b)
{
    /* a V2 file whose first bytes are damaged is still known by its footer */
    return (b.size >= 4 && sbs_magic_at(b, 0)) || (b.size >= HEADER && sbs_magic_at(b, b.size - HEADER));
}

/* The header that counts: version, number of blobs, place of the directory. */
static carat_status read_sbs_header(struct sbs *s)
{
    struct ct_bytes b = s->bytes;
    size_t end = b.size - HEADER;
    bool head = sbs_magic_at(b, 0) && ct_le32(b.data + 4) != 0, tail = end >= HEADER && sbs_magic_at(b, end);
    if (head && tail)
        return ct_bad_file(s->err, s->path,
                           "a header at byte 0 counts %u blobs, and a footer at byte %zu counts %u; an SBS "
                           "file has one or the other",
                           (unsigned)ct_le32(b.data + 4), end, (unsigned)ct_le32(b.data + end + 4));
    if (!head && !tail)
        return ct_bad_file(s->err, s->path,
                           "the header counts 0 blobs, and there is no SBS footer at byte %zu, 16 before the "
                           "end: the file is cut off",
                           end);
    size_t at = head ? 0 : end;
    uint32_t n = ct_le32(b.data + at + 4);
    uint64_t size = ct_le64(b.data + at + 8);
    s->version = head ? 1 : 2;
    if (n == 0 || n > MAX_BLOB)
        return ct_bad_file(s->err, s->path, "the header at byte %zu counts %u blobs, expected 1 to %d", at,
                           (unsigned)n, MAX_BLOB);
    if (size != b.size)
        return ct_bad_file(s->err, s->path, "the header at byte %zu says %llu bytes, but the file has %zu",
                           at, (unsigned long long)size, b.size);
    s->n = (int)n;
    size_t length = (size_t)n * ENTRY /* at most 2^19 */, rest = head ? HEADER : HEADER + ALIGN;
    if (b.size < rest || length > b.size - rest)
        return ct_bad_file(s->err, s->path,
                           "a directory of %u blobs takes %zu bytes, which do not fit into %zu", (unsigned)n,
                           length, b.size);
    s->directory = head ? HEADER : end - length;
    s->limit = head ? b.size : s->directory;
    return CARAT_OK;
}

/* 1 to 16 printable characters, then zeros. */
static carat_status read_blob_name(struct sbs *s, struct blob *blob, size_t at)
{
    const char *key = (const char *)s->bytes.data + at;
    size_t n = 0;
    while (n < KEY && key[n] > 0x20 && key[n] < 0x7f)
        n++;
    bool clean = n > 0;
    for (size_t i = n; i < KEY; i++)
        clean = clean && key[i] == 0;
    char q[CT_QUOTE];
    if (!clean)
        return ct_bad_file(s->err, s->path,
                           "the blob name at byte %zu is %s, expected 1 to 16 printable ASCII characters and "
                           "zeros behind them",
                           at, ct_quote(q, (struct ct_str){key, KEY}));
    blob->name = (struct ct_str){key, n};
    return CARAT_OK;
}

/* Reads the place of blob i: it must be at `next`, behind the blob before it. */
static carat_status read_range(struct sbs *s, int i, size_t next)
{
    struct blob *blob = &s->blob[i];
    const uint8_t *range = s->bytes.data + s->directory + (size_t)s->n * KEY + (size_t)i * KEY;
    uint64_t offset = ct_le64(range), size = ct_le64(range + 8);
    char q[CT_QUOTE];
    const char *why = size == 0        ? "a blob has at least one byte"
                      : offset % ALIGN ? "blobs begin at multiples of 256"
                      : offset != next ? "blobs lie back to back"
                      : offset > s->limit || size > s->limit - offset
                          ? "blobs end before the directory and inside the file"
                          : NULL;

    if (why)
        return ct_bad_file(
            s->err, s->path,
            "blob %s has %llu bytes at byte %llu, expected it at byte %zu and to end by byte %zu: %s",
            ct_quote(q, blob->name), (unsigned long long)size, (unsigned long long)offset, next, s->limit,
            why);
    blob->offset = offset;
    blob->size = (size_t)size;
    return CARAT_OK;
}

/* Blobs lie back to back in the order of the directory, each padded to 256 bytes; pad bytes mean nothing. */
static carat_status read_directory(struct sbs *s)
{
    size_t next = s->version == 1 ? ct_round_up(HEADER + (size_t)s->n * ENTRY, ALIGN) : ALIGN, end = next;
    char q[CT_QUOTE];

    s->blob = ct_arena_push(&s->f->arena, (size_t)s->n, sizeof *s->blob);
    if (!s->blob)
        return ct_no_memory(s->err, s->path);
    CT_TRY(ct_index_reserve(s->f, &s->index, (size_t)s->n, s->err));
    for (int i = 0; i < s->n; i++) {
        CT_TRY(read_blob_name(s, &s->blob[i], s->directory + (size_t)i * KEY));
        CT_TRY(read_range(s, i, next));
        end = (size_t)s->blob[i].offset + s->blob[i].size;
        if (end > SIZE_MAX - ALIGN)
            return ct_no_memory(s->err, s->path);
        next = ct_round_up(end, ALIGN);
        ct_index_add(&s->index, s->blob[i].name, s->path, s->blob[i].offset);
    }
    CT_TRY(ct_index_sort(&s->index, "blob", s->err));
    /* the first writers did not pad the end */
    if (s->version == 1 && s->bytes.size != end && s->bytes.size != next &&
        s->bytes.size != ct_round_up(next, END_ALIGN))
        return ct_bad_file(
            s->err, s->path, "the last blob %s ends at byte %zu, but the file has %zu bytes, expected %zu",
            ct_quote(q, s->blob[s->n - 1].name), end, s->bytes.size, ct_round_up(next, END_ALIGN));
    return CARAT_OK;
}

static const struct blob *find_blob(const struct sbs *s, const char *name)
{
    int at = ct_index_find(&s->index, ct_str_of(name));
    return at < 0 ? NULL : &s->blob[at];
}

static struct ct_bytes blob_bytes(const struct sbs *s, const struct blob *b)
{
    assert(b->offset <= s->bytes.size && b->size <= s->bytes.size - b->offset);
    return (struct ct_bytes){s->bytes.data + b->offset, b->size};
}

static carat_status open_fields(struct sbs *s, const char *name, struct ct_sbs_cursor *c)
{
    const struct blob *b = find_blob(s, name);
    if (!b)
        return ct_bad_file(s->err, s->path, "there is no blob \"%s\" among %d", name, s->n);
    return ct_sbs_cursor_init(c, s->path, name, blob_bytes(s, b), b->offset, &s->f->arena, s->err);
}

/* ---- table of contents ---- */

/* By gemma.cpp's numbers. Groups are cut from the whole tensor, without regard to rows; the last one may be
 * short. */
static const struct sbs_type {
    const char *name;
    int bits;
    enum ct_type type;
    int group, head; /* elements of a group, and bytes in front of them */
} sbs_types[] = {
    {"unknown", 0, CT_TYPE_COUNT, 1, 0},
    {"F32", 32, CT_F32, 1, 0},
    {"BF16", 16, CT_BF16, 1, 0},
    {"SFP", 8, CT_SFP, 1, 0},
    {"NUQ", 4, CT_NUQ, 256, 16},
    {"F64", 64, CT_TYPE_COUNT, 1, 0},
    {"U32", 32, CT_TYPE_COUNT, 1, 0},
    {"U64", 64, CT_TYPE_COUNT, 1, 0},
    {"I8", 8, CT_I8, 128, 4},
};

/* Bytes of n elements, n at most 2^59. */
static uint64_t stored_bytes(const struct sbs_type *t, uint64_t n)
{
    uint64_t groups = n / (uint64_t)t->group + (n % (uint64_t)t->group != 0);
    if (t->bits == 4)
        return groups * (uint64_t)t->head + n / 2 + n % 2;
    return (t->head ? groups * (uint64_t)t->head : 0) + n * (uint64_t)(t->bits / 8);
}

static carat_status check_sbs_entry(const struct sbs *s, const struct ct_sbs_entry *e, const struct blob *b,
                                    const struct sbs_type *t)
{
    uint64_t n = (uint64_t)e->rows * e->cols;
    const uint64_t limit = (uint64_t)1 << 59; /* so that no size below overflows */
    uint64_t bytes = n <= limit ? stored_bytes(t, n) : UINT64_MAX;
    uint64_t unit = (uint64_t)CT_MAX(1, t->bits / 8);
    const struct {
        const char *what;
        uint64_t found, expected;
        bool wrong;
    } check[] = {
        {"element_bytes", e->element_bytes, unit, t->bits == 0 || e->element_bytes != unit},
        {"size of the blob", b->size, bytes, n == 0 || n > limit || bytes != b->size},
        {"num_elements", e->num_elements, bytes / unit, e->num_elements != bytes / unit},
        /* 0: an entry that ends before it */
        {"stride", e->stride, e->cols, e->stride != 0 && e->stride != e->cols},
    };

    for (size_t i = 0; i < CT_COUNT(check); i++)
        if (check[i].wrong)
            return ct_bad_file(s->err, s->path,
                               "blob \"%s\" at byte %llu: the entry in \"toc\" at byte %llu says %u x %u of "
                               "type %s, and its %s is %llu, expected %llu",
                               e->name, (unsigned long long)b->offset, (unsigned long long)e->offset,
                               (unsigned)e->rows, (unsigned)e->cols, t->name, check[i].what,
                               (unsigned long long)check[i].found, (unsigned long long)check[i].expected);
    if (!(e->scale > 0))
        return ct_bad_file(
            s->err, s->path,
            "blob \"toc\": the entry of \"%s\" at byte %llu has the scale %g, expected a positive number",
            e->name, (unsigned long long)e->offset, (double)e->scale);
    return CARAT_OK;
}

static carat_status add_sbs_tensor(struct sbs *s, const struct ct_sbs_entry *e)
{
    assert(e->type < CT_COUNT(sbs_types)); /* sbs_fields.c lets no other number pass */
    const struct blob *b = find_blob(s, e->name);
    const struct sbs_type *type = &sbs_types[e->type];
    struct ct_tensor *t;
    if (!b)
        return ct_bad_file(
            s->err, s->path,
            "blob \"toc\": the entry at byte %llu names \"%s\", which is not a blob of this file",
            (unsigned long long)e->offset, e->name);
    CT_TRY(check_sbs_entry(s, e, b, type));
    CT_TRY(ct_file_add(s->f, &t, s->err));
    t->name = e->name;
    t->type = type->type;
    t->type_name = type->name;
    t->n_dim = 2;
    t->dim[0] = e->rows;
    t->dim[1] = e->cols;
    t->data = s->bytes.data + b->offset;
    t->size = b->size;
    t->scale = e->scale;
    t->file = s->path;
    t->offset = b->offset;
    return CARAT_OK;
}

static carat_status read_contents(struct sbs *s, const struct ct_sbs_config *config)
{
    struct ct_sbs_cursor c;
    struct ct_sbs_entry e;
    bool more = false;
    int least = 64;
    CT_TRY(open_fields(s, "toc", &c));
    for (int n = 0;; n++) {
        CT_TRY(ct_sbs_read_entry(&c, &e, &more));
        if (!more)
            break;
        if (n == s->n)
            return ct_bad_file(s->err, s->path,
                               "blob \"toc\": entry %d at byte %llu, but the file has %d blobs", n + 1,
                               (unsigned long long)e.offset, s->n);
        CT_TRY(add_sbs_tensor(s, &e));
        least = CT_MIN(least, sbs_types[e.type].bits);
    }
    if (sbs_types[config->weight].bits != least)
        return ct_bad_file(s->err, s->path,
                           "ModelConfig.weight is %s, but the narrowest tensor in \"toc\" has %d bits",
                           sbs_types[config->weight].name, least);
    return CARAT_OK;
}

/* ---- tokenizer and the whole ---- */

/* V2 files mostly carry it; a blob without a first piece is the mark of a writer that had none. */
static carat_status take_tokenizer(struct sbs *s)
{
    static const char *const beside[] = {"tokenizer.spm", "tokenizer.model"};
    const struct blob *b = find_blob(s, "tokenizer");
    struct ct_bytes *side = &s->f->side[ct_side_at("tokenizer.model")];
    const char *path;
    if (b && s->bytes.data[b->offset] == 0x0a)
        *side = blob_bytes(s, b);
    for (size_t i = 0; i < CT_COUNT(beside) && !side->data; i++)
        CT_TRY(ct_file_take(s->f, beside[i], side, &path, s->err));
    return CARAT_OK;
}

carat_status ct_sbs_open(struct ct_file *f, const char *path, struct ct_bytes bytes, carat_error *err)
{
    struct sbs s = {.f = f, .path = path, .bytes = bytes, .err = err};
    struct ct_sbs_cursor c;
    if (bytes.size < HEADER + ENTRY)
        return ct_bad_file(err, path, "the SBS file ends at byte %zu, inside its header or directory",
                           bytes.size);
    CT_TRY(read_sbs_header(&s));
    CT_TRY(read_directory(&s));
    if (!find_blob(&s, "config") && !find_blob(&s, "toc"))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s is a gemma.cpp file from before 2025, without the blobs \"config\" and \"toc\": "
                       "write it anew with migrate_weights of gemma.cpp",
                       path);
    struct ct_sbs_config *config = ct_arena_push(&f->arena, 1, sizeof *config);
    if (!config)
        return ct_no_memory(err, f->path);
    CT_TRY(open_fields(&s, "config", &c));
    CT_TRY(ct_sbs_read_config(&c, config));
    CT_TRY(read_contents(&s, config));
    CT_TRY(take_tokenizer(&s));
    f->kind = CT_FILE_SBS;
    f->version = s.version;
    f->sbs = config;
    f->sbs_blob = c.bytes;
    return CARAT_OK;
}

const struct ct_sbs_config *ct_file_sbs(const struct ct_file *f)
{
    return f->sbs;
}
