/* packed.c: the index of a packed file, read and written by one walk over its fields, so that both agree, and packed files as
 * open checkpoints. Says nothing about where packed files lie (api/cache.c) or how weights become panels (kernel/pack.c);
 * shapes of weights are checked in model/weights.c, as for every container, the tokenizer's tables in text/tables.c. */
#include "file/packed.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "file/sbs_fields.h"

enum { MAX_TEXT = 1 << 20, MAX_SIDE = 16 << 20, MAX_ARRAY = 65536, MAX_RANK = 4 };

/* ---- hashes ---- */

uint64_t ct_packed_hash_block(const uint8_t *p, size_t size)
{
    return XXH3_64bits(p, size);
}

uint64_t ct_packed_hash_blocks(const uint64_t *hash, size_t n)
{
    return XXH3_64bits(hash, n * sizeof *hash);
}

uint64_t ct_packed_hash(const uint8_t *p, uint64_t size)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (uint64_t at = 0; at < size; at += CT_PACKED_BLOCK) {
        uint64_t h = ct_packed_hash_block(p + at, CT_MIN(CT_PACKED_BLOCK, (size_t)(size - at)));
        XXH3_64bits_update(&state, &h, sizeof h);
    }
    return XXH3_64bits_digest(&state);
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
    h.header_hash = XXH3_64bits(&h, offsetof(struct ct_packed_header, header_hash));
    return h;
}

/* ---- the index ---- */

/* Where the walk is. Reading copies from `from`, writing to `to`; without both it counts. The first fault stays. */
struct walk {
    const uint8_t *from;
    uint8_t *to;
    size_t at, size;
    uint64_t file_size;
    struct ct_arena *arena;
    const char *path, *field;
    carat_status status;
    carat_error *err;
};

static void fault(struct walk *w, const char *what)
{
    if (w->status == CARAT_OK)
        w->status = ct_fail(w->err, CARAT_E_FORMAT, "%s: byte %zu of the index of the packed file, %s: %s.",
                            w->path, w->at, w->field, what);
}

static void field(struct walk *w, const char *name, void *p, size_t n)
{
    w->field = name;
    if (w->from && w->status == CARAT_OK && n > w->size - w->at)
        fault(w, "the index ends inside it");
    if (w->from && w->status != CARAT_OK)
        memset(p, 0, n);
    else if (w->from)
        memcpy(p, w->from + w->at, n);
    else if (w->to)
        memcpy(w->to + w->at, p, n);
    w->at += w->status == CARAT_OK ? n : 0;
}

#define FIELD(w, name) field(w, #name, &(name), sizeof(name))

/* A length, the bytes, a terminator: a read string is one of C, too. */
static void text(struct walk *w, const char *name, struct ct_str *s)
{
    uint32_t n = (uint32_t)s->n;
    uint8_t end = 0;
    field(w, name, &n, sizeof n);
    if (w->from && w->status == CARAT_OK && (n > MAX_TEXT || n > w->size - w->at))
        fault(w, "a text of more than 1 MiB, or beyond the end of the index");
    if (w->from)
        *s = w->status == CARAT_OK ? (struct ct_str){(const char *)w->from + w->at, n}
                                   : (struct ct_str){"", 0};
    else if (w->to && n)
        memcpy(w->to + w->at, s->s, n);
    w->at += w->status == CARAT_OK ? n : 0;
    field(w, name, &end, sizeof end);
    if (w->from && w->status == CARAT_OK && end)
        fault(w, "a text without its end");
}

static void c_text(struct walk *w, const char *name, const char **s)
{
    struct ct_str str = {*s ? *s : "", *s ? strlen(*s) : 0};
    text(w, name, &str);
    *s = str.s;
}

static void section(struct walk *w, const char *name, struct ct_section *s)
{
    field(w, name, s, sizeof *s);
    if (w->from && w->status == CARAT_OK &&
        (s->at > w->file_size || s->size > w->file_size - s->at || s->at % CT_PACKED_ALIGN))
        fault(w, "a section outside of the file, or not on a boundary of 64 bytes");
}

/* The count of a list; reading makes the list. `least` bytes of each are there, so that a count cannot ask for more memory
 * than the file pays for. */
static void list(struct walk *w, const char *name, uint32_t *n, void *elements, size_t size, size_t least)
{
    field(w, name, n, sizeof *n);
    if (!w->from || w->status != CARAT_OK)
        return;
    if (*n > (w->size - w->at) / least) {
        fault(w, "more entries than the index has bytes for");
        *n = 0;
        return;
    }
    void *p = ct_arena_push(w->arena, CT_MAX(*n, 1), size);
    memcpy(elements, &p, sizeof p);
    if (!p) {
        *n = 0;
        w->status = ct_fail(w->err, CARAT_E_MEMORY, "%s: out of memory for its index.", w->path);
    }
}

static void walk_source(struct walk *w, struct ct_source *s)
{
    text(w, "name of a source", &s->name);
    FIELD(w, s->present);
    FIELD(w, s->id);
    FIELD(w, s->head);
    FIELD(w, s->hash);
}

/* An array keeps its bytes where its elements are numbers; those of strings are the vocabulary's. */
static void walk_meta(struct walk *w, struct ct_meta *m)
{
    uint32_t type = m->type, elem = m->elem, width = (uint32_t)m->elem_bytes;
    struct ct_str raw = {(const char *)m->raw.data, m->raw.size};

    text(w, "metadata key", &m->key);
    field(w, "type of metadata", &type, sizeof type);
    FIELD(w, m->u);
    FIELD(w, m->i);
    FIELD(w, m->f);
    field(w, "type of elements", &elem, sizeof elem);
    field(w, "width of elements", &width, sizeof width);
    FIELD(w, m->count);
    FIELD(w, m->offset);
    if (w->from && w->status == CARAT_OK && (type > CT_META_ARRAY || elem >= CT_META_ARRAY || width > 8))
        fault(w, "a type that there is not");
    m->type = w->status ? CT_META_UINT : (enum ct_meta_type)type;
    m->elem = w->status ? CT_META_UINT : (enum ct_meta_type)elem;
    m->elem_bytes = (int)width;
    if (m->type == CT_META_STRING)
        text(w, "metadata text", &m->s);
    if (m->type != CT_META_ARRAY)
        return;
    uint32_t n = (uint32_t)raw.n;
    field(w, "bytes of an array", &n, sizeof n);
    if (w->from && w->status == CARAT_OK) {
        bool whole = width == 0 ? m->elem == CT_META_STRING && n == 0
                                : (width & (width - 1)) == 0 && m->count == n / width && n % width == 0;
        if (m->elem == CT_META_FLOAT && width != 4 && width != 8)
            whole = false;
        if (n > w->size - w->at || !whole)
            fault(w, "an array whose bytes are not those of its elements");
        else
            m->raw = (struct ct_bytes){w->from + w->at, n};
    } else if (w->to && n) {
        memcpy(w->to + w->at, raw.s, n);
    }
    w->at += w->status == CARAT_OK ? n : 0;
}

static void walk_tensor(struct walk *w, struct ct_tensor *t)
{
    uint32_t type = t->type, n_dim = (uint32_t)t->n_dim;
    uint64_t size = t->size;

    c_text(w, "name of a tensor", &t->name);
    c_text(w, "type of a tensor", &t->type_name);
    c_text(w, "file of a tensor", &t->file);
    field(w, "type of a tensor", &type, sizeof type);
    field(w, "rank of a tensor", &n_dim, sizeof n_dim);
    FIELD(w, t->dim);
    field(w, "bytes of a tensor", &size, sizeof size);
    FIELD(w, t->offset);
    FIELD(w, t->scale);
    if (w->from && w->status == CARAT_OK && (type > CT_TYPE_COUNT || n_dim > MAX_RANK))
        fault(w, "a type or rank that there is not");
    t->type = w->status ? CT_TYPE_COUNT : (enum ct_type)type;
    t->n_dim = w->status ? 0 : (int)n_dim;
    t->size = (size_t)size;
}

static void walk_weight(struct walk *w, struct ct_packed_weight *x)
{
    text(w, "name of a weight", &x->name);
    FIELD(w, x->type);
    FIELD(w, x->panels);
    FIELD(w, x->rows);
    FIELD(w, x->cols);
    FIELD(w, x->scale);
    section(w, "data of a weight", &x->data);
    if (w->from && w->status == CARAT_OK &&
        (x->type >= CT_TYPE_COUNT || x->panels > 1 || x->rows == 0 || x->rows > INT32_MAX || x->cols == 0 ||
         x->cols > INT32_MAX))
        fault(w, "a weight of no type or extent that there is");
}

static void walk_index(struct walk *w, struct ct_packed *p)
{
    FIELD(w, p->kind);
    FIELD(w, p->version);
    text(w, "path of the origin", &p->origin);
    text(w, "note", &p->note);
    for (size_t i = 0; i < CT_COUNT(p->side); i++)
        section(w, "side file", &p->side[i]);
    section(w, "configuration of a gemma.cpp file", &p->sbs);
    section(w, "tables of the tokenizer", &p->tables);
    FIELD(w, p->weight_bytes);
    FIELD(w, p->n_unused);
    text(w, "unused tensor", &p->unused);
    list(w, "sources", &p->n_source, &p->source, sizeof *p->source, 5);
    for (uint32_t i = 0; i < p->n_source; i++)
        walk_source(w, &p->source[i]);
    list(w, "metadata", &p->n_meta, &p->meta, sizeof *p->meta, 40);
    for (uint32_t i = 0; i < p->n_meta; i++)
        walk_meta(w, &p->meta[i]);
    list(w, "tensors", &p->n_tensor, &p->tensor, sizeof *p->tensor, 64);
    for (uint32_t i = 0; i < p->n_tensor; i++)
        walk_tensor(w, &p->tensor[i]);
    list(w, "weights", &p->n_weight, &p->weight, sizeof *p->weight, 40);
    for (uint32_t i = 0; i < p->n_weight; i++)
        walk_weight(w, &p->weight[i]);
    w->field = "end";
    if (w->from && w->at != w->size)
        fault(w, "there are bytes behind it");
    if (w->from && w->status == CARAT_OK && p->kind > CT_FILE_SBS)
        fault(w, "the origin is of a kind that there is not");
}

size_t ct_packed_write_index(const struct ct_packed *p, uint8_t *to)
{
    struct ct_packed copy = *p; /* the walk writes to what it reads only */
    struct walk w = {.to = to};
    walk_index(&w, &copy);
    return w.at;
}

carat_status ct_packed_read(struct ct_packed *p, const char *path, struct ct_bytes bytes,
                            struct ct_arena *arena, carat_error *err)
{
    struct ct_packed_header h;

    *p = (struct ct_packed){0};
    if (bytes.size < sizeof h)
        return ct_fail(err, CARAT_E_FORMAT, "%s: the packed file ends at byte %zu, inside its header.", path,
                       bytes.size);
    memcpy(&h, bytes.data, sizeof h);
    if (memcmp(h.magic, CT_PACKED_MAGIC, sizeof h.magic) != 0)
        return ct_fail(err, CARAT_E_FORMAT, "%s is no packed file: it does not begin with \"%s\".", path,
                       CT_PACKED_MAGIC);
    if (h.layout != CT_PACKED_LAYOUT || h.numerics != CARAT_NUMERICS_VERSION)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s was packed with layout %u and numerics %u; this carat reads layout %d and numerics "
            "%d: pack the model again.",
            path, h.layout, h.numerics, CT_PACKED_LAYOUT, CARAT_NUMERICS_VERSION);
    if (h.header_hash != XXH3_64bits(&h, offsetof(struct ct_packed_header, header_hash)))
        return ct_fail(err, CARAT_E_FORMAT, "%s: the header of the packed file is damaged.", path);
    if (h.file_size != bytes.size || h.index_at > bytes.size || h.index_size > bytes.size - h.index_at)
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s: the packed file has %zu bytes, expected %llu with the index at byte %llu.", path,
                       bytes.size, (unsigned long long)h.file_size, (unsigned long long)h.index_at);
    const uint8_t *index = bytes.data + h.index_at;
    if (h.index_hash != XXH3_64bits(index, h.index_size))
        return ct_fail(err, CARAT_E_FORMAT, "%s: the index of the packed file, at byte %llu, is damaged.",
                       path, (unsigned long long)h.index_at);
    struct walk w = {.from = index,
                     .size = (size_t)h.index_size,
                     .file_size = h.file_size,
                     .arena = arena,
                     .path = path,
                     .err = err};
    walk_index(&w, p);
    return w.status;
}

/* ---- a packed file as an open checkpoint ---- */

static struct ct_bytes bytes_of(struct ct_bytes file, struct ct_section s)
{
    return s.size ? (struct ct_bytes){file.data + s.at, (size_t)s.size} : (struct ct_bytes){0};
}

static carat_status read_sbs(struct ct_file *f, const char *path, struct ct_bytes bytes, carat_error *err)
{
    struct ct_sbs_cursor c;
    struct ct_sbs_config *config = ct_arena_push(&f->arena, 1, sizeof *config);

    if (!config)
        return ct_file_no_memory(f, err);
    CT_TRY(ct_sbs_cursor_init(&c, path, "config", bytes, 0, &f->arena, err));
    CT_TRY(ct_sbs_read_config(&c, config));
    f->sbs = config;
    f->sbs_blob = bytes;
    return CARAT_OK;
}

static carat_status index_metas(struct ct_file *f, const struct ct_packed *p, carat_error *err)
{
    struct ct_index *ix = &f->metas.index;
    int first;

    f->metas.meta = p->meta;
    f->metas.n = ix->n = (int)p->n_meta;
    ix->name = ct_arena_push(&f->arena, CT_MAX(p->n_meta, 1), sizeof *ix->name);
    if (!ix->name)
        return ct_file_no_memory(f, err);
    for (uint32_t i = 0; i < p->n_meta; i++)
        ix->name[i] = (struct ct_name){p->meta[i].key, (int)i};
    if (ct_index_sort(ix, &first) >= 0)
        return ct_fail(err, CARAT_E_FORMAT, "%s: a metadata key of the packed file is there twice.", f->path);
    return CARAT_OK;
}

carat_status ct_packed_file(struct ct_file *f, const char *path, const struct ct_map *map, carat_error *err)
{
    struct ct_packed *p = ct_arena_push(&f->arena, 1, sizeof *p);

    if (!p)
        return ct_file_no_memory(f, err);
    CT_TRY(ct_packed_read(p, path, map->bytes, &f->arena, err));
    f->kind = (enum ct_file_kind)p->kind;
    f->version = (int)p->version;
    f->packed = p;
    f->packed_path = path;
    f->packed_map = *map;
    f->note = p->note.n ? p->note.s : NULL;
    for (int i = 0; i < CT_SIDES; i++)
        f->side[i] = bytes_of(map->bytes, p->side[i]);
    f->tables = bytes_of(map->bytes, p->tables);
    CT_TRY(index_metas(f, p, err));
    if (p->kind == CT_FILE_SBS)
        CT_TRY(read_sbs(f, path, bytes_of(map->bytes, p->sbs), err));
    for (uint32_t i = 0; i < p->n_tensor; i++) {
        struct ct_tensor *t;
        CT_TRY(ct_file_add(f, &t, err));
        *t = p->tensor[i];
    }
    for (uint32_t i = 0; i < p->n_weight; i++) {
        const struct ct_packed_weight *w = &p->weight[i];
        struct ct_tensor *t = &f->weight[i];
        if (i == 0 && !(f->weight = t = ct_arena_push(&f->arena, p->n_weight, sizeof *t)))
            return ct_file_no_memory(f, err);
        struct ct_bytes data = bytes_of(map->bytes, w->data);
        *t = (struct ct_tensor){.name = w->name.s,
                                .type = (enum ct_type)w->type,
                                .type_name = ct_type_info((enum ct_type)w->type)->name,
                                .n_dim = 2,
                                .dim = {w->rows, w->cols},
                                .panels = w->panels,
                                .data = data.data,
                                .size = data.size,
                                .scale = w->scale,
                                .file = path,
                                .offset = w->data.at};
        f->n_weight++;
    }
    return ct_file_index_weights(f, err);
}

const struct ct_packed *ct_file_packed(const struct ct_file *f)
{
    return f->packed;
}

const struct ct_map *ct_file_packed_map(const struct ct_file *f)
{
    return &f->packed_map;
}

/* ---- what a packed file keeps of another ---- */

/* The vocabulary is in the tables; of its arrays only how many there are is asked for later. */
static bool of_vocabulary(const struct ct_meta *m)
{
    return m->type == CT_META_ARRAY && m->elem != CT_META_STRING && m->raw.size > MAX_ARRAY;
}

carat_status ct_file_describe(const struct ct_file *f, struct ct_packed *p, struct ct_bytes side[9],
                              struct ct_bytes *sbs, struct ct_arena *arena, carat_error *err)
{
    static_assert(CT_SIDES == 9, "as packed.h says");
    int n_meta = f->metas.n;

    *p = (struct ct_packed){.kind = f->kind,
                            .version = (uint32_t)f->version,
                            .origin = {f->path, strlen(f->path)},
                            .note = {f->note ? f->note : "", f->note ? strlen(f->note) : 0},
                            .n_source = (uint32_t)f->n_source,
                            .tensor = f->tensor,
                            .n_tensor = (uint32_t)f->n_tensor};
    if (f->packed) {
        p->source = f->packed->source;
        p->n_source = f->packed->n_source;
        p->origin = f->packed->origin;
    } else {
        p->source = ct_arena_push(arena, (size_t)CT_MAX(f->n_source, 1), sizeof *p->source);
        if (!p->source)
            return ct_file_no_memory(f, err);
        for (int i = 0; i < f->n_source; i++) {
            struct ct_source *s = &p->source[i];
            *s = f->source[i];
            if (s->present && !ct_packed_hash_head(s->path, s->head, &s->hash))
                return ct_fail(err, CARAT_E_IO, "%s: cannot be read again.", s->path);
        }
    }
    p->meta = ct_arena_push(arena, (size_t)CT_MAX(n_meta, 1), sizeof *p->meta);
    if (!p->meta)
        return ct_file_no_memory(f, err);
    for (int i = 0; i < n_meta; i++) {
        struct ct_meta m = f->metas.meta[i];
        if (of_vocabulary(&m))
            continue;
        if (m.type == CT_META_STRING && m.s.n > MAX_TEXT)
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "metadata key %.*s has %zu bytes, and at most %d are kept.",
                           (int)CT_MIN(m.key.n, (size_t)64), m.key.s, m.s.n, MAX_TEXT);
        if (m.type == CT_META_ARRAY && m.elem == CT_META_STRING) {
            m.elem_bytes = 0;
            m.raw = (struct ct_bytes){0};
        }
        p->meta[p->n_meta++] = m;
    }
    for (int i = 0; i < CT_SIDES; i++) {
        bool vocabulary = i == ct_hf_side("tokenizer.json") || i == ct_hf_side("tokenizer.model");
        side[i] = vocabulary ? (struct ct_bytes){0} : f->side[i];
        if (side[i].size > MAX_SIDE)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "a side file has %zu bytes, and at most %d are kept.",
                           side[i].size, MAX_SIDE);
    }
    *sbs = f->sbs_blob;
    return CARAT_OK;
}

/* ---- has the origin changed? ---- */

static void feed(void *state, const void *p, size_t n)
{
    XXH3_64bits_update(state, p, n);
}

bool ct_packed_hash_head(const char *path, uint64_t head, uint64_t *hash)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    if (!ct_os_read_head(path, head, feed, &state))
        return false;
    *hash = XXH3_64bits_digest(&state);
    return true;
}

bool ct_packed_current(const struct ct_packed *p, const char *path)
{
    const char *slash = strrchr(path, '/');
    bool directory = ct_os_kind(path) == 2;
    size_t n = directory ? strlen(path) : slash ? (size_t)(slash - path) + 1 : 0;
    char beside[8192];

    for (uint32_t i = 0; i < p->n_source; i++) {
        const struct ct_source *s = &p->source[i];
        struct ct_os_id id;
        uint64_t hash;
        const char *at = path;
        if (s->name.n) {
            if (n + 1 + s->name.n >= sizeof beside)
                return false;
            memcpy(beside, path, n);
            beside[n] = '/';
            memcpy(beside + n + directory, s->name.s, s->name.n + 1);
            at = beside;
        }
        if (ct_os_identify(&id, at) != (s->present != 0))
            return false;
        if (s->present && memcmp(&id, &s->id, sizeof id) != 0)
            return false;
        if (s->head && (!ct_packed_hash_head(at, s->head, &hash) || hash != s->hash))
            return false;
    }
    return p->n_source > 0;
}
