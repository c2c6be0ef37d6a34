/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c: header and index of a packed file. The index is read and written by one walk over its fields, so
 * that both agree; reading trusts nothing. Says nothing about where packed files lie
 * (checkpoint/packed_cache.c), how weights become panels (layout/panels.c) and what a packed file is
 * to those who read checkpoints (packed_file.c). */
#include "file/packed.h"

#include "base/hash.h"

#include <float.h>

#include "file/reader.h"

/* Every origin keeps to these limits, and so does everything that carat writes. */
enum {
    MAX_NAME = 4096, /* of tensors in safetensors */
    MAX_KEY = 65535,
    MAX_TYPE_NAME = 63,
    MAX_COUNT = 1 << 24,             /* of an array in GGUF */
    MAX_SOURCE = CT_MAX_SHARD + 256, /* side files and what else is looked for beside the shards */
};

/* ---- hashes ---- */

uint64_t ct_packed_hash_block(const uint8_t *p, size_t size)
{
    return ct_hash64(p, size);
}

uint64_t ct_packed_hash_blocks(const uint64_t *hash, size_t n)
{
    return ct_hash64(hash, n * sizeof *hash);
}

uint64_t ct_packed_hash(const uint8_t *p, uint64_t size)
{
    struct ct_hash state;
    ct_hash_begin(&state);
    for (uint64_t at = 0; at < size; at += CT_PACKED_BLOCK) {
        uint64_t h = ct_packed_hash_block(p + at, CT_MIN(CT_PACKED_BLOCK, (size_t)(size - at)));
        ct_hash_add(&state, &h, sizeof h);
    }
    return ct_hash_end64(&state);
}

static void hash_more(void *state, const void *p, size_t n)
{
    ct_hash_add(state, p, n);
}

bool ct_packed_hash_head(const char *path, uint64_t head, uint64_t *hash)
{
    struct ct_hash state;
    ct_hash_begin(&state);
    if (!ct_os_read_head(path, head, hash_more, &state))
        return false;
    *hash = ct_hash_end64(&state);
    return true;
}

struct ct_packed_header ct_packed_header(uint64_t index_at, uint64_t index_size, uint64_t index_hash)
{
    struct ct_packed_header h = {CT_PACKED_MAGIC,
                                 CT_PACKED_LAYOUT,
                                 CARAT_NUMERICS_VERSION,
                                 index_at + index_size,
                                 index_at,
                                 index_size,
                                 index_hash,
                                 0};
    h.header_hash = ct_hash64(&h, offsetof(struct ct_packed_header, header_hash));
    return h;
}

/* ---- the index ---- */

/* The place where the walk is. Reading copies from `from`, writing to `to`; without both it counts. The first
 * fault stays. */
struct walk {
    const uint8_t *from;
    uint8_t *to;
    size_t at, size;
    uint64_t begin; /* of the index in the file */
    uint64_t end;   /* of the last section so far: they follow one another, and none reaches into the index */
    const struct ct_packed *p; /* that is read or written */
    struct ct_arena *arena;
    const char *path;
    /* what is being read, for messages: a field, perhaps of an entry of a list */
    const char *field, *list;
    size_t field_at;
    uint32_t entry;
    struct ct_str name;
    carat_status status;
    carat_error *err;
};

static bool is_reading(const struct walk *w)
{
    return w->from && w->status == CARAT_OK;
}

__attribute__((format(printf, 2, 3))) static void walk_fault(struct walk *w, const char *format, ...)
{
    char sentence[CT_QUOTE + 128], whose[CT_QUOTE + 64] = "", q[CT_QUOTE];

    if (!is_reading(w))
        return;
    CT_FORMAT(sentence, format);
    if (w->list && w->name.n)
        snprintf(whose, sizeof whose, " of %s %s", w->list, ct_quote(q, w->name));
    else if (w->list)
        snprintf(whose, sizeof whose, " of %s %u", w->list, w->entry);
    w->status = ct_bad_file(w->err, w->path, "byte %llu, in the index of the packed file: the %s%s %s",
                            (unsigned long long)(w->begin + w->field_at), w->field, whose, sentence);
}

static void walk_range(struct walk *w, uint64_t found, uint64_t least, uint64_t most)
{
    if (found < least || found > most)
        walk_fault(w, "is %llu, expected %llu to %llu", (unsigned long long)found, (unsigned long long)least,
                   (unsigned long long)most);
}

/* Passes n bytes that are known to be there: writing copies them from p. Returns where they lie when reading,
 * else NULL. */
static const uint8_t *walk_span(struct walk *w, const void *p, size_t n)
{
    const uint8_t *from = is_reading(w) ? w->from + w->at : NULL;

    if (w->to && n)
        memcpy(w->to + w->at, p, n);
    w->at += w->status == CARAT_OK ? n : 0;
    return from;
}

/* n bytes of the field that was named last. */
static void walk_bytes(struct walk *w, void *p, size_t n)
{
    if (is_reading(w) && n > w->size - w->at)
        walk_fault(w, "takes %zu bytes, but the index ends after %zu", n, w->size - w->at);
    const uint8_t *from = walk_span(w, p, n);
    if (from)
        memcpy(p, from, n);
    else if (w->from)
        memset(p, 0, n);
}

static void walk_field(struct walk *w, const char *name, void *p, size_t n)
{
    assert(!w->from || !w->to);
    w->field = name;
    w->field_at = w->at;
    walk_bytes(w, p, n);
}
#define FIELD(w, name, member)               walk_field(w, name, &(member), sizeof(member))
#define WITHIN(w, name, member, least, most) (FIELD(w, name, member), walk_range(w, member, least, most))

/* A length, as many bytes, and a 0, so that what was read is a string of C, too. */
static void walk_text(struct walk *w, const char *name, struct ct_str *s, size_t most)
{
    uint32_t n = (uint32_t)s->n;
    uint8_t end = 0;

    FIELD(w, name, n);
    if (is_reading(w) && (n > most || n > w->size - w->at))
        walk_fault(w, "has %u bytes, expected at most %zu", n, CT_MIN(most, w->size - w->at));
    const uint8_t *from = walk_span(w, s->s, n);
    if (w->from)
        *s = from ? (struct ct_str){(const char *)from, n} : ct_str_of("");
    walk_bytes(w, &end, sizeof end);
    if (end)
        walk_fault(w, "does not end in a 0");
}

/* A text without zeros, as paths are, which may hold any other byte. */
static void walk_c_text(struct walk *w, const char *name, struct ct_str *s, size_t most)
{
    walk_text(w, name, s, most);
    if (is_reading(w) && memchr(s->s, 0, s->n))
        walk_fault(w, "has a 0 among its %zu bytes", s->n);
}

static void walk_plain_text(struct walk *w, const char *name, struct ct_str *s, size_t most)
{
    char q[CT_QUOTE];

    walk_text(w, name, s, most);
    if (is_reading(w) && !ct_name_ok(*s, most))
        walk_fault(w, "is %s, expected 1 to %zu bytes of plain text", ct_quote(q, *s), most);
}

/* The name of an entry, by which messages about its other fields call it. */
static void walk_name(struct walk *w, struct ct_str *name)
{
    walk_plain_text(w, "name", name, MAX_NAME);
    w->name = *name;
}

/* In the order of the walk, without overlap: no byte of the file has two meanings. */
static void walk_section(struct walk *w, const char *name, struct ct_section *s, uint64_t most)
{
    FIELD(w, name, *s);
    if (is_reading(w) && s->size == 0 && (s->at || s->hash))
        walk_fault(w, "has no bytes, but begins at byte %llu", (unsigned long long)s->at);
    if (!is_reading(w) || s->size == 0)
        return;
    if (s->size > most)
        walk_fault(w, "has %llu bytes, expected at most %llu", (unsigned long long)s->size,
                   (unsigned long long)most);
    else if (s->at % CT_PACKED_ALIGN)
        walk_fault(w, "begins at byte %llu, expected a multiple of %d", (unsigned long long)s->at,
                   CT_PACKED_ALIGN);
    else if (s->at < w->end)
        walk_fault(w, "begins at byte %llu, expected byte %llu or later, where nothing else lies",
                   (unsigned long long)s->at, (unsigned long long)w->end);
    else if (s->at > w->begin || s->size > w->begin - s->at)
        walk_fault(w, "has %llu bytes from byte %llu on, expected them to end before the index at byte %llu",
                   (unsigned long long)s->size, (unsigned long long)s->at, (unsigned long long)w->begin);
    else
        w->end = s->at + s->size;
}

/* True when the name of a file beside the origin leads to elsewhere. The only names in a folder are those of
 * a module's files (file/modules.c). */
static bool leads_out(struct ct_str name)
{
    size_t from = 0;
    struct ct_str part = {"", 0};

    for (size_t i = 0; i <= name.n && name.n; i++) {
        if (i < name.n && name.s[i] != '/')
            continue;
        part = (struct ct_str){name.s + from, i - from};
        if (part.n == 0 || ct_str_is(part, ".") || ct_str_is(part, ".."))
            return true;
        from = i + 1;
    }
    return part.n < name.n && !ct_str_is(part, "config.json") && !ct_str_is(part, "model.safetensors");
}

static void walk_source(struct walk *w, void *element)
{
    struct ct_source *s = element;

    walk_c_text(w, "name", &s->name, MAX_NAME);
    w->name = s->name;
    if (is_reading(w) && leads_out(s->name))
        walk_fault(w, "leads out of the directory of the origin");
    WITHIN(w, "presence", s->present, 0, 1);
    FIELD(w, "identity", s->id);
    WITHIN(w, "size of the header", s->head, 0, s->id.size);
    FIELD(w, "hash of the header", s->hash);
}

/* Bit i: elements of the type may have i bytes. */
static const uint32_t widths[CT_META_ARRAY] = {
    [CT_META_UINT] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
    [CT_META_INT] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
    [CT_META_FLOAT] = 1 << 4 | 1 << 8,
    [CT_META_BOOL] = 1 << 1,
    [CT_META_STRING] = 1 << 0,
};

/* An array keeps its bytes where its elements are numbers; those of strings are the vocabulary's, and only
 * counted. */
static void walk_array(struct walk *w, struct ct_meta *m)
{
    uint32_t n = (uint32_t)m->raw.size;

    FIELD(w, "size", n);
    if (is_reading(w) && (n > w->size - w->at || n != m->count * (uint64_t)m->elem_bytes))
        walk_fault(w, "is %u, expected %d bytes for each of %llu elements, and at most %zu", n, m->elem_bytes,
                   (unsigned long long)m->count, w->size - w->at);
    const uint8_t *from = walk_span(w, m->raw.data, n);
    if (from)
        m->raw = (struct ct_bytes){from, n};
    for (uint32_t i = 0; is_reading(w) && m->elem == CT_META_BOOL && i < n; i++)
        walk_range(w, from[i], 0, 1);
}

static void walk_meta(struct walk *w, void *element)
{
    struct ct_meta *m = element;
    uint32_t type = m->type, elem = m->elem, width = (uint32_t)m->elem_bytes;

    walk_plain_text(w, "key", &m->key, MAX_KEY);
    w->name = m->key;
    WITHIN(w, "type", type, 0, CT_META_ARRAY);
    FIELD(w, "value", m->u);
    if (type == CT_META_BOOL)
        walk_range(w, m->u, 0, 1);
    FIELD(w, "signed value", m->i);
    if (m->i != (int64_t)m->u)
        walk_fault(w, "is %lld, expected that of %llu", (long long)m->i, (unsigned long long)m->u);
    FIELD(w, "number", m->f);
    WITHIN(w, "type of elements", elem, 0, CT_META_ARRAY - 1);
    FIELD(w, "bytes of an element", width);
    if (is_reading(w) && type == CT_META_ARRAY && (width > 8 || !(widths[elem] >> width & 1)))
        walk_fault(w, "is %u, which no element of type %u has", width, elem);
    walk_range(w, width, 0, 8);
    WITHIN(w, "number of elements", m->count, 0, MAX_COUNT);
    FIELD(w, "place", m->offset);
    if (w->status)
        return;
    m->type = (enum ct_meta_type)type;
    m->elem = (enum ct_meta_type)elem;
    m->elem_bytes = (int)width;
    if (m->type == CT_META_STRING)
        walk_text(w, "text", &m->s, CT_PACKED_TEXT);
    if (m->type == CT_META_ARRAY)
        walk_array(w, m);
}

/* False where an extent is below 0, or 63 bits cannot count the elements. */
static bool countable(const int64_t *dim, uint32_t n_dim)
{
    uint64_t n = 1;

    for (uint32_t i = 0; i < n_dim; i++)
        if (dim[i] < 0 || __builtin_mul_overflow(n, (uint64_t)dim[i], &n) || n > INT64_MAX)
            return false;
    return true;
}

static void walk_factor(struct walk *w, float *scale)
{
    FIELD(w, "factor", *scale);
    if (!(*scale > 0 && *scale <= FLT_MAX))
        walk_fault(w, "is %g, expected a positive number", (double)*scale);
}

static void walk_tensor(struct walk *w, void *element)
{
    struct ct_tensor *t = element;
    struct ct_str name = ct_str_of(t->name), type_name = ct_str_of(t->type_name), file = ct_str_of(t->file);
    uint32_t type = t->type, n_dim = (uint32_t)t->n_dim;
    uint64_t size = t->size;

    walk_name(w, &name);
    walk_plain_text(w, "name of the type", &type_name, MAX_TYPE_NAME);
    walk_c_text(w, "file", &file, CT_PACKED_TEXT);
    WITHIN(w, "type", type, 0, CT_TYPE_COUNT);
    WITHIN(w, "rank", n_dim, 1, CT_COUNT(t->dim));
    FIELD(w, "shape", t->dim);
    if (is_reading(w) && !countable(t->dim, n_dim))
        walk_fault(w, "begins with %lld x %lld, expected extents whose product 63 bits can hold",
                   (long long)t->dim[0], (long long)t->dim[1]);
    WITHIN(w, "size", size, 0, INT64_MAX);
    FIELD(w, "place", t->offset);
    walk_factor(w, &t->scale);
    if (w->status)
        return;
    t->name = name.s;
    t->type_name = type_name.s;
    t->file = file.s;
    t->type = (enum ct_type)type;
    t->n_dim = (int)n_dim;
    t->size = (size_t)size;
}

static void walk_matrix(struct walk *w, struct ct_packed_weight *x)
{
    WITHIN(w, "type", x->type, 0, CT_TYPE_COUNT - 1);
    if (x->type == CT_NUQ)
        walk_fault(w, "is NUQ, which only files of gemma.cpp have");
    WITHIN(w, "layout", x->interleaved, 0, x->type == CT_F16 ? 2 : 1);
    WITHIN(w, "number of rows", x->rows, 1, INT32_MAX);
    WITHIN(w, "number of columns", x->cols, 1, INT32_MAX);
}

/* Data that stay in a source. */
static void walk_part(struct walk *w, struct ct_section *s, const struct ct_source *source, bool interleaved)
{
    char q[CT_QUOTE];

    FIELD(w, "data", *s);
    if (!is_reading(w))
        return;
    if (!source->present || interleaved || s->hash)
        walk_fault(w, "are %s, expected plain rows of a source that was there",
                   !source->present ? "in a source that was not"
                   : interleaved    ? "in a source, and in panels"
                                    : "in a source, and have a hash");
    else if (s->at > source->id.size || s->size > source->id.size - s->at)
        walk_fault(w, "are %llu bytes from byte %llu of source %s on, expected them to end before byte %llu",
                   (unsigned long long)s->size, (unsigned long long)s->at, ct_quote(q, source->name),
                   (unsigned long long)source->id.size);
}

static void walk_weight(struct walk *w, void *element)
{
    struct ct_packed_weight *x = element;

    walk_name(w, &x->name);
    walk_matrix(w, x);
    walk_factor(w, &x->scale);
    WITHIN(w, "source", x->source, 0, w->p ? w->p->n_source : 0);
    if (x->source && !w->status)
        walk_part(w, &x->data, &w->p->source[x->source - 1], x->interleaved);
    else
        walk_section(w, "data", &x->data, UINT64_MAX);
}

static void walk_made(struct walk *w, void *element)
{
    struct ct_packed_weight *x = element;

    walk_name(w, &x->name);
    FIELD(w, "key", x->key);
    walk_matrix(w, x);
    walk_section(w, "data", &x->data, UINT64_MAX);
}

/* The count of a list, then its entries; reading makes the list. A count cannot ask for more than some
 * entries' worth of memory that the index does not pay for: each takes at least the bytes of one that is all
 * zeros. */
static void walk_list(struct walk *w, const char *name, const char *entry, uint32_t *n, void *elements,
                      size_t size, uint32_t most, void (*walk)(struct walk *, void *))
{
    union {
        struct ct_source source;
        struct ct_meta meta;
        struct ct_tensor tensor;
        struct ct_packed_weight weight;
    } empty = {0};
    struct walk least = {0};
    char *p;

    walk_field(w, name, n, sizeof *n);
    walk_range(w, *n, 0, most);
    walk(&least, &empty);
    if (is_reading(w) && *n > (w->size - w->at) / least.at)
        walk_fault(w, "is %u, but %zu bytes are left, and each takes at least %zu", *n, w->size - w->at,
                   least.at);
    if (is_reading(w)) {
        p = ct_arena_push(w->arena, *n, size);
        memcpy(elements, &p, sizeof p);
        if (!p)
            w->status = ct_no_memory(w->err, w->path);
    }
    memcpy(&p, elements, sizeof p);
    for (uint32_t i = 0; i < *n && !w->status; i++) {
        w->list = entry;
        w->entry = i;
        w->name = (struct ct_str){0};
        walk(w, p + i * size);
    }
    w->list = NULL;
}
#define LIST(w, name, entry, n, elements, most, walk)                                                        \
    walk_list(w, name, entry, n, elements, sizeof **(elements), most, walk)

/* By kind of the origin. */
static const struct {
    uint32_t least, most;
} versions[] = {[CT_FILE_HF] = {0, 0}, [CT_FILE_GGUF] = {2, 3}, [CT_FILE_SBS] = {1, 2}};

static void walk_index(struct walk *w, struct ct_packed *p)
{
    WITHIN(w, "kind of the origin", p->kind, 0, CT_COUNT(versions) - 1);
    FIELD(w, "version of the origin", p->version);
    if (is_reading(w))
        walk_range(w, p->version, versions[p->kind].least, versions[p->kind].most);
    walk_c_text(w, "path of the origin", &p->origin, CT_PACKED_TEXT);
    walk_c_text(w, "note", &p->note, CT_PACKED_TEXT);
    for (size_t i = 0; i < CT_COUNT(p->side); i++)
        walk_section(w, "side file", &p->side[i], CT_PACKED_SIDE);
    walk_section(w, "configuration of a gemma.cpp file", &p->sbs, CT_PACKED_SIDE);
    walk_section(w, "tokenizer", &p->tables, CT_PACKED_TABLES);
    WITHIN(w, "size of the weights", p->weight_bytes, 0, INT64_MAX);
    WITHIN(w, "number of unused tensors", p->n_unused, 0, CT_PACKED_TENSORS);
    walk_c_text(w, "unused tensor", &p->unused, MAX_NAME);
    if (is_reading(w) && p->n_unused && !ct_name_ok(p->unused, MAX_NAME))
        walk_fault(w, "has a name that is not plain text");
    LIST(w, "number of sources", "source", &p->n_source, &p->source, MAX_SOURCE, walk_source);
    LIST(w, "number of metadata keys", "metadata key", &p->n_meta, &p->meta, CT_MAX_META, walk_meta);
    LIST(w, "number of tensors", "tensor", &p->n_tensor, &p->tensor, CT_PACKED_TENSORS, walk_tensor);
    LIST(w, "number of weights", "weight", &p->n_weight, &p->weight, CT_PACKED_TENSORS, walk_weight);
    LIST(w, "number of made matrices", "made matrix", &p->n_made, &p->made, CT_PACKED_MADE, walk_made);
    w->field = "end";
    w->field_at = w->at;
    if (is_reading(w) && w->at != w->size)
        walk_fault(w, "has %zu bytes behind it, expected none", w->size - w->at);
}

size_t ct_packed_write_index(const struct ct_packed *p, uint8_t *to)
{
    struct ct_packed copy = *p; /* the walk writes to what it reads only */
    struct walk w = {.to = to, .p = &copy};
    walk_index(&w, &copy);
    return w.at;
}

/* The header and the bytes of the index that it names. */
static carat_status read_packed_header(struct ct_packed_header *h, const char *path, struct ct_bytes bytes,
                                       carat_error *err)
{
    if (bytes.size < sizeof *h)
        return ct_bad_file(err, path, "the packed file ends at byte %zu, inside its header of %zu",
                           bytes.size, sizeof *h);
    memcpy(h, bytes.data, sizeof *h);
    if (memcmp(h->magic, CT_PACKED_MAGIC, sizeof h->magic) != 0)
        return ct_fail(err, CARAT_E_FORMAT, "%s is not a packed file: it does not begin with \"%s\"", path,
                       CT_PACKED_MAGIC);
    if (h->layout != CT_PACKED_LAYOUT || h->numerics != CARAT_NUMERICS_VERSION)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s was packed with layout %u and numerics %u; this carat reads layout %d and "
                       "numerics %d: pack the model again",
                       path, h->layout, h->numerics, CT_PACKED_LAYOUT, CARAT_NUMERICS_VERSION);
    if (h->header_hash != ct_hash64(h, offsetof(struct ct_packed_header, header_hash)))
        return ct_bad_file(err, path, "the header of the packed file is damaged: pack the model again");
    if (h->file_size != bytes.size)
        return ct_bad_file(err, path, "the packed file has %zu bytes, expected %llu: pack the model again",
                           bytes.size, (unsigned long long)h->file_size);
    if (h->index_at < sizeof *h || h->index_at > bytes.size || h->index_size > CT_PACKED_INDEX ||
        h->index_size != bytes.size - h->index_at)
        return ct_bad_file(err, path,
                           "the index of the packed file has %llu bytes from byte %llu on, expected at most "
                           "%d at the end of %zu",
                           (unsigned long long)h->index_size, (unsigned long long)h->index_at,
                           CT_PACKED_INDEX, bytes.size);
    if (h->index_hash != ct_hash64(bytes.data + h->index_at, (size_t)h->index_size))
        return ct_bad_file(err, path,
                           "the index of the packed file, at byte %llu, is damaged: pack the model again",
                           (unsigned long long)h->index_at);
    return CARAT_OK;
}

carat_status ct_packed_read(struct ct_packed *p, const char *path, struct ct_bytes file,
                            struct ct_arena *arena, carat_error *err)
{
    struct ct_packed_header h;

    *p = (struct ct_packed){0};
    CT_TRY(read_packed_header(&h, path, file, err));
    struct walk w = {.from = file.data + h.index_at,
                     .size = (size_t)h.index_size,
                     .begin = h.index_at,
                     .end = sizeof h,
                     .p = p,
                     .arena = arena,
                     .path = path,
                     .err = err};
    walk_index(&w, p);
    return w.status;
}
