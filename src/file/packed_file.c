/* SPDX-License-Identifier: Apache-2.0 */
/* packed_file.c: packed files as open checkpoints: what such a file shows of itself as struct ct_file, what
 * it keeps of another container, and whether that has changed since. The index is packed.c's; shapes of
 * weights are checked in model/weights.c, as for every container, the tokenizer's tables in
 * text/tokenizer/tables.c. */
#include "file/sbs_fields.h"
#include "os/files.h"
#include "os/memory.h"

enum { MAX_ARRAY = 65536 }; /* bytes of one in the metadata: longer ones are the vocabulary's */

/* ---- a packed file as an open checkpoint ---- */

static struct ct_bytes bytes_of(struct ct_bytes file, struct ct_section s)
{
    assert(s.at <= file.size && s.size <= file.size - s.at); /* the index was checked */
    return s.size ? (struct ct_bytes){file.data + s.at, (size_t)s.size} : (struct ct_bytes){0};
}

static carat_status read_sbs(struct ct_file *f, const char *path, struct ct_section s, carat_error *err)
{
    struct ct_bytes bytes = bytes_of(f->packed_map.bytes, s);
    struct ct_sbs_cursor c;
    struct ct_sbs_config *config = ct_arena_push(&f->arena, 1, sizeof *config);

    if (!config)
        return ct_no_memory(err, f->path);
    CT_TRY(ct_sbs_cursor_init(&c, path, "config", bytes, s.at, &f->arena, err));
    CT_TRY(ct_sbs_read_config(&c, config));
    f->sbs = config;
    f->sbs_blob = bytes;
    return CARAT_OK;
}

static carat_status index_metas(struct ct_file *f, const struct ct_packed *p, carat_error *err)
{
    f->metas.meta = p->meta;
    CT_TRY(ct_index_reserve(f, &f->metas.index, p->n_meta, err));
    for (uint32_t i = 0; i < p->n_meta; i++)
        ct_index_add(&f->metas.index, p->meta[i].key, f->path, p->meta[i].offset);
    return ct_index_sort(&f->metas.index, "the origin's metadata key", err);
}

/* Checks what the readers of the origin would not have let pass. */
static carat_status check_origin(const struct ct_file *f, const char *path, carat_error *err)
{
    const char *what =
        f->kind == CT_FILE_HF && !f->side[ct_side_at("config.json")].data
            ? "a Hugging Face directory, but holds no config.json"
        : f->kind == CT_FILE_SBS && !f->packed->sbs.size ? "a file of gemma.cpp, but holds no blob \"config\""
        : f->kind != CT_FILE_SBS && f->packed->sbs.size  ? "no file of gemma.cpp, but holds a blob \"config\""
                                                         : NULL;

    return what ? ct_bad_file(err, path, "was packed from %s", what) : CARAT_OK;
}

/* The tensors of the origin, which have no data here, and the weights. */
static carat_status list_tensors(struct ct_file *f, const struct ct_packed *p, const char *path,
                                 struct ct_bytes bytes, carat_error *err)
{
    for (uint32_t i = 0; i < p->n_tensor; i++) {
        struct ct_tensor *t;
        CT_TRY(ct_file_add(f, &t, err));
        *t = p->tensor[i];
    }
    f->weight = ct_arena_push(&f->arena, p->n_weight, sizeof *f->weight);
    if (!f->weight)
        return ct_no_memory(err, f->path);
    for (uint32_t i = 0; i < p->n_weight; i++) {
        const struct ct_packed_weight *w = &p->weight[i];
        struct ct_bytes data =
            w->source ? (struct ct_bytes){NULL, (size_t)w->data.size} : bytes_of(bytes, w->data);
        if (w->source && !f->trusted)
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s is a copy for the cache, which leaves %s in the model: open that, %s", path,
                           w->name.s, p->origin.s);
        f->weight[i] = (struct ct_tensor){.name = w->name.s,
                                          .type = (enum ct_type)w->type,
                                          .type_name = ct_type_info((enum ct_type)w->type)->name,
                                          .n_dim = 2,
                                          .dim = {w->rows, w->cols},
                                          .interleaved = w->interleaved > 0,
                                          .nibbles = w->interleaved == 2,
                                          .data = data.data,
                                          .size = data.size,
                                          .scale = w->scale,
                                          .file = path,
                                          .offset = w->data.at};
        f->n_weight++;
    }
    return CARAT_OK;
}

carat_status ct_packed_file(struct ct_file *f, const char *path, const struct ct_map *map, carat_error *err)
{
    struct ct_packed *p = ct_arena_push(&f->arena, 1, sizeof *p);

    if (!p)
        return ct_no_memory(err, f->path);
    if ((uintptr_t)map->bytes.data % sizeof(uint64_t)) /* the tokenizer's tables are used where they lie */
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "%s: a packed file in memory must begin at a multiple of %zu bytes", path,
                       sizeof(uint64_t));
    if (map->base && !f->tokenizer_only)
        ct_os_huge(map->base, map->length); /* for its weights; as a whole, or it would be many mappings */
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
    CT_TRY(check_origin(f, path, err));
    if (p->kind == CT_FILE_SBS)
        CT_TRY(read_sbs(f, path, p->sbs, err));
    if (f->tokenizer_only && f->kind == CT_FILE_HF) { /* as the directory opens */
        f->kind = CT_FILE_TOKENIZER;
        return CARAT_OK;
    }
    CT_TRY(list_tensors(f, p, path, map->bytes, err));
    return ct_file_index(f, f->weight, f->n_weight, &f->weight_index, err);
}

/* The path of a source of what is at origin; NULL: it is too long. */
enum { MAX_PATH = 8192 };
static const char *path_of_source(const struct ct_source *s, const char *origin, char path[MAX_PATH])
{
    const char *slash = strrchr(origin, '/');
    const bool directory = ct_os_kind(origin) == 2;
    const int n = directory ? (int)strlen(origin) : slash ? (int)(slash - origin) + 1 : 0;

    if (!s->name.n)
        return origin;
    return snprintf(path, MAX_PATH, "%.*s%s%s", n, origin, directory ? "/" : "", s->name.s) < MAX_PATH ? path
                                                                                                       : NULL;
}

static carat_status map_source(struct ct_file *f, struct ct_source *s, carat_error *err)
{
    char path[MAX_PATH];
    struct ct_bytes bytes;
    const char *at = path_of_source(s, f->path, path);

    s->path = at ? ct_arena_str(&f->arena, at, strlen(at)) : NULL;
    if (!s->path)
        return ct_no_memory(err, f->path);
    CT_TRY(ct_file_map(f, s->name.s, s->path, &bytes, err));
    if (memcmp(&f->map[f->n_map - 1].id, &s->id, sizeof s->id) != 0)
        return ct_fail(err, CARAT_E_IO, "%s has changed since the model was packed", s->path);
    s->data = bytes.data;
    return CARAT_OK;
}

carat_status ct_packed_map_origin(struct ct_file *f, carat_error *err)
{
    for (int i = 0; i < f->n_weight; i++) {
        const struct ct_packed_weight *w = &f->packed->weight[i];
        struct ct_source *s = w->source ? &f->packed->source[w->source - 1] : NULL;
        if (!s)
            continue;
        if (!s->data)
            CT_TRY(map_source(f, s, err));
        f->weight[i].data = s->data + w->data.at; /* the index was held against its size */
        f->weight[i].file = s->path;
    }
    return CARAT_OK;
}

const struct ct_packed *ct_file_packed(const struct ct_file *f)
{
    return f->packed;
}

/* ---- what is made of weights ---- */

uint64_t ct_file_weight_hash(const struct ct_file *f, const struct ct_weight *w)
{
    for (uint32_t i = 0; f->trusted && f->packed && i < f->packed->n_weight; i++) {
        const struct ct_packed_weight *x = &f->packed->weight[i];
        if (!x->source && f->packed_map.bytes.data + x->data.at == w->data)
            return x->data.hash;
    }
    return 0;
}

bool ct_file_find_made(const struct ct_file *f, struct ct_made *m)
{
    m->w.data = NULL;
    for (uint32_t i = 0; f->trusted && f->packed && i < f->packed->n_made; i++) {
        const struct ct_packed_weight *x = &f->packed->made[i];
        if (ct_str_is(x->name, m->name) && x->key == m->key && x->type == (uint32_t)m->w.type &&
            x->interleaved == (m->w.layout == CT_LAYOUT_PANELS) && x->rows == (uint32_t)m->w.rows &&
            x->cols == (uint32_t)m->w.cols && x->data.size == ct_weight_bytes(&m->w))
            m->w.data = bytes_of(f->packed_map.bytes, x->data).data;
    }
    return m->w.data != NULL;
}

const struct ct_map *ct_file_packed_map(const struct ct_file *f)
{
    return &f->packed_map;
}

/* ---- which files a checkpoint was read from ---- */

static bool same_file(const struct ct_os_id *a, const struct ct_os_id *b)
{
    return a->inode == b->inode && a->device == b->device;
}

bool ct_file_reads(const struct ct_file *f, const char *path)
{
    struct ct_os_id id;
    bool reads = false;

    if (!ct_os_identify(&id, path))
        return false;
    for (int i = 0; i < f->n_map && !reads; i++)
        reads = f->map[i].base && same_file(&f->map[i].id, &id);
    for (uint32_t i = 0; f->packed && i < f->packed->n_source && !reads; i++)
        reads = f->packed->source[i].present && same_file(&f->packed->source[i].id, &id);
    return reads;
}

uint64_t ct_file_bytes(const struct ct_file *f)
{
    bool cached = f->packed && strcmp(f->path, f->packed_path) != 0;
    uint64_t sum = 0;

    for (int i = 0; i < f->n_map && !cached; i++)
        sum += f->map[i].bytes.size;
    for (int i = 0; i < f->n_part; i++)
        sum += f->part[i].bytes.size;
    for (uint32_t i = 0; cached && i < f->packed->n_source; i++)
        sum += f->packed->source[i].present ? f->packed->source[i].id.size : 0;
    return sum;
}

/* ---- what a packed file keeps of another ---- */

/* The vocabulary is in the tables; of its arrays only how many there are is asked for later. */
static bool of_vocabulary(const struct ct_meta *m)
{
    return m->type == CT_META_ARRAY && m->elem != CT_META_STRING && m->raw.size > MAX_ARRAY;
}

/* Describes the sources that it was made from; for a packed file, those that this was made from. */
static carat_status describe_sources(const struct ct_file *f, struct ct_packed *p, struct ct_arena *arena,
                                     carat_error *err)
{
    char absolute[8192];

    p->n_source = f->packed ? f->packed->n_source : (uint32_t)f->n_source;
    if (f->packed) {
        p->source = f->packed->source;
        p->origin = f->packed->origin;
        return CARAT_OK;
    }
    p->source = ct_arena_push(arena, (size_t)CT_MAX(f->n_source, 1), sizeof *p->source);
    p->origin = ct_str_of(f->path);
    if (f->dir) { /* else it is the name of a buffer */
        ct_os_absolute(absolute, sizeof absolute, f->path);
        p->origin = ct_str_of(ct_arena_str(arena, absolute, strlen(absolute)));
    }
    if (!p->source || !p->origin.s)
        return ct_no_memory(err, f->path);
    for (int i = 0; i < f->n_source; i++) {
        struct ct_source *s = &p->source[i];
        *s = f->source[i];
        if (s->present && !ct_packed_hash_head(s->path, s->head, &s->hash))
            return ct_fail(err, CARAT_E_IO, "%s: cannot be read again", s->path);
    }
    return CARAT_OK;
}

static carat_status describe_metas(const struct ct_file *f, struct ct_packed *p, struct ct_arena *arena,
                                   carat_error *err)
{
    p->meta = ct_arena_push(arena, (size_t)f->metas.index.n + CT_OWN_METAS, sizeof *p->meta);
    if (!p->meta)
        return ct_no_memory(err, f->path);
    for (int i = 0; i < f->metas.index.n; i++) {
        struct ct_meta m = f->metas.meta[i];
        if (of_vocabulary(&m))
            continue;
        if (m.type == CT_META_STRING && m.s.n > CT_PACKED_TEXT)
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s: metadata key %.*s has %zu bytes, and at most %d are kept", f->path,
                           (int)CT_MIN(m.key.n, (size_t)64), m.key.s, m.s.n, CT_PACKED_TEXT);
        if (m.type == CT_META_ARRAY && m.elem == CT_META_STRING) {
            m.elem_bytes = 0;
            m.raw = (struct ct_bytes){0};
        }
        p->meta[p->n_meta++] = m;
    }
    return CARAT_OK;
}

carat_status ct_file_describe(const struct ct_file *f, struct ct_packed *p, struct ct_bytes side[CT_SIDES],
                              struct ct_bytes *sbs, struct ct_arena *arena, carat_error *err)
{
    static_assert(CT_SIDES == CT_COUNT(p->side), "as packed.h says");

    if (f->n_tensor > CT_PACKED_TENSORS)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: has %d tensors, and at most %d are kept", f->path,
                       f->n_tensor, CT_PACKED_TENSORS);
    *p = (struct ct_packed){.kind = f->kind,
                            .version = (uint32_t)f->version,
                            .note = {f->note ? f->note : "", f->note ? strlen(f->note) : 0},
                            .tensor = f->tensor,
                            .n_tensor = (uint32_t)f->n_tensor};
    CT_TRY(describe_sources(f, p, arena, err));
    CT_TRY(describe_metas(f, p, arena, err));
    for (int i = 0; i < CT_SIDES; i++) {
        bool vocabulary = i == ct_side_at("tokenizer.json") || i == ct_side_at("tokenizer.model");
        side[i] = vocabulary ? (struct ct_bytes){0} : f->side[i];
        if (side[i].size > CT_PACKED_SIDE)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: a side file has %zu bytes, and at most %d are kept",
                           f->path, side[i].size, CT_PACKED_SIDE);
    }
    *sbs = f->sbs_blob;
    if (sbs->size > CT_PACKED_SIDE)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: the blob \"config\" has %zu bytes, and at most %d are kept", f->path, sbs->size,
                       CT_PACKED_SIDE);
    return CARAT_OK;
}

/* ---- has the origin changed? ---- */

bool ct_packed_current(const struct ct_packed *p, const char *path)
{
    char beside[MAX_PATH];

    for (uint32_t i = 0; i < p->n_source; i++) {
        const struct ct_source *s = &p->source[i];
        struct ct_os_id id;
        uint64_t hash;
        const char *at = path_of_source(s, path, beside);
        if (!at)
            return false;
        if (s->present ? !ct_os_identify(&id, at) : !ct_os_absent(at))
            return false;
        if (s->present && memcmp(&id, &s->id, sizeof id) != 0)
            return false;
        if (s->head && (!ct_packed_hash_head(at, s->head, &hash) || hash != s->hash))
            return false;
    }
    return p->n_source > 0;
}
