/* SPDX-License-Identifier: Apache-2.0 */
/* pack_model.c: a model written as a packed file (file/packed.h): where everything lies in it, and weights
 * packed by threads straight into the mapped file. The cache of such files is packed_cache.c's. */
#include "checkpoint/new_model.h"
#include "checkpoint/pack_file.h"
#include "layout/pack_weight.h"
#include "text/tokenizer/trie.h"

/* ---- where everything lies ---- */

static struct ct_section assign_section(struct ct_pack *k, uint64_t size)
{
    uint64_t align = size < CT_PACKED_PAGE ? CT_PACKED_ALIGN : CT_PACKED_PAGE;
    struct ct_section s = {0};

    if (size) {
        s = (struct ct_section){.at = ct_round_up(k->end, align), .size = size};
        assert(s.at >= k->end && s.at % CT_PACKED_ALIGN == 0);
        k->end = s.at + size;
    }
    return s;
}

/* Leaves a table of which only some rows are read where it is; false: it is none, or lies in no file. */
static bool leave(struct ct_pack *k, struct ct_packed_weight *p, const struct ct_weight *w)
{
    uint32_t source;

    if (w->layout != CT_LAYOUT_TABLE || !ct_file_in_source(k->file, w->data, &source, &p->data.at))
        return false;
    p->source = source + 1;
    p->data.size = ct_weight_bytes(w);
    k->aside += p->data.size;
    return true;
}

static carat_status plan_weights(struct ct_pack *k, enum ct_pack_as as, carat_error *err)
{
    struct ct_packed *p = &k->p;
    const uint32_t n = (uint32_t)k->content.n_slot;

    p->weight = ct_arena_push(&k->arena, n, sizeof *p->weight);
    for (; p->weight && p->n_weight < n; p->n_weight++) {
        const struct ct_weight *w = k->content.slot[p->n_weight].w;
        const struct ct_weight form = ct_packed_form(w);
        char name[80];
        int length = snprintf(name, sizeof name, "%s.weight", k->content.slot[p->n_weight].name);
        const char *copy = ct_arena_str(&k->arena, name, (size_t)length);
        if (!copy)
            break;
        p->weight[p->n_weight] = (struct ct_packed_weight){
            .name = {copy, (size_t)length},
            .type = w->type,
            .interleaved = form.layout == CT_LAYOUT_NIBBLES ? 2 : ct_in_panels(&form),
            .rows = (uint32_t)w->rows,
            .cols = (uint32_t)w->cols,
            .scale = w->scale,
        };
        if (as == CT_PACK_ALONE || !leave(k, &p->weight[p->n_weight], w))
            p->weight[p->n_weight].data = assign_section(k, ct_weight_bytes(&form));
    }
    return p->n_weight == n ? CARAT_OK : ct_no_memory(err, k->called);
}

/* A metadata entry of carat's own; that of a packed origin is replaced. */
static void plan_own_meta(struct ct_packed *p, struct ct_meta own)
{
    uint32_t i = 0;

    while (i < p->n_meta && !ct_str_same(p->meta[i].key, own.key))
        i++;
    p->n_meta = CT_MAX(p->n_meta, i + 1);
    p->meta[i] = own;
}

static void plan_own_count(struct ct_packed *p, const char *key, int n)
{
    plan_own_meta(p, (struct ct_meta){.key = ct_str_of(key), .type = CT_META_UINT, .u = (uint64_t)n, .i = n});
}

/* The content hash, and what the tensors of GGUF say that the packed file has not as they are: at most
 * CT_OWN_METAS entries. */
static void plan_own_metas(struct ct_pack *k)
{
    const struct ct_config *c = &k->model->config;

    memset(k->content_hash, '0', CT_CONTENT_HEX - 1);
    plan_own_meta(&k->p, (struct ct_meta){.key = ct_str_of(CT_CONTENT_KEY),
                                          .type = CT_META_STRING,
                                          .s = {k->content_hash, CT_CONTENT_HEX - 1}});
    if (ct_file_find(k->file, CT_ROPE_FREQS))
        plan_own_count(&k->p, CT_ROPE_PAIRS_KEY, c->attn[CT_GLOBAL].rotated);
    if (c->altup && ct_file_kind(k->file) == CT_FILE_GGUF)
        plan_own_count(&k->p, CT_PLE_ROWS_KEY, c->ple_rows);
}

/* Its tables have the trie then. Of a vocabulary that is too large for one they have none. */
static carat_status make_trie(const struct ct_tokenizer *t, carat_error *err)
{
    const struct ct_trie *trie;
    const carat_status status = ct_tokenizer_trie(&trie, t, err);

    return status == CARAT_E_UNSUPPORTED ? CARAT_OK : status;
}

static carat_status plan_model(struct ct_pack *k, enum ct_pack_as as, carat_error *err)
{
    const struct carat_model *m = k->model;
    struct ct_packed *p = &k->p;
    struct ct_bytes side[CT_COUNT(p->side)], sbs = {0};

    CT_TRY(ct_file_describe(m->file, p, side, &sbs, &k->arena, err));
    plan_own_metas(k);
    CT_TRY(ct_content_begin(&k->content, m, err));
    p->weight_bytes = m->weights.bytes;
    p->n_unused = (uint32_t)m->weights.n_unused;
    p->unused = ct_str_of(m->weights.unused);
    for (size_t i = 0; i < CT_COUNT(side); i++)
        p->side[i] = assign_section(k, side[i].size);
    p->sbs = assign_section(k, sbs.size);
    if (m->tokenizer) {
        CT_TRY(make_trie(m->tokenizer, err));
        p->tables = assign_section(k, ct_tokenizer_tables_size(m->tokenizer));
    }
    k->head = k->end;
    CT_TRY(plan_weights(k, as, err));
    k->end = ct_round_up(k->end, CT_PACKED_PAGE);
    k->index_size = ct_packed_write_index(p, NULL);
    if (k->index_size > CT_PACKED_INDEX || p->tables.size > CT_PACKED_TABLES)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: its names and metadata take %zu bytes in a packed file, and its tokenizer %llu; "
                       "at most %d and %d are kept",
                       k->called, k->index_size, (unsigned long long)p->tables.size, CT_PACKED_INDEX,
                       CT_PACKED_TABLES);
    CT_TRY(ct_pack_list(k, NULL, err));
    for (size_t i = 0; i < CT_COUNT(side); i++)
        k->section[i].from = side[i].data;
    k->section[CT_COUNT(side)].from = sbs.data;
    return CARAT_OK;
}

/* ---- filling it ---- */

/* The file is filled from front to back, some megabytes at a time: while threads pack them, those before are
 * hashed out of the last cache. A small one is filled in as many steps, so that its progress is heard of. */
enum { BATCH = 4 << 20, STEPS = 16 }; /* bytes for each thread; at least so many steps */

struct filling {
    struct ct_pack *k;
    uint64_t filled;    /* bytes of the file */
    int hashed, packed; /* blocks, chunks */
    int n_hash, n_pack; /* of the job under way */
};

/* The place that a chunk of a weight goes to, or stays at: pieces [first, last) of its packed form. */
struct place {
    uint64_t at, end;
    int first, last;
};

static struct place place_of(const struct ct_pack *k, int chunk)
{
    const struct ct_content_chunk *c = &k->content.chunk[chunk];
    const struct ct_weight form = ct_packed_form(k->content.slot[c->slot].w);
    int rows = ct_in_panels(&form) ? CT_PANEL_ROWS : 1;
    int first = c->r0 / rows, last = (c->r1 + rows - 1) / rows;
    uint64_t begin = k->p.weight[c->slot].data.at;

    return (struct place){begin + (uint64_t)first * form.row_bytes, begin + (uint64_t)last * form.row_bytes,
                          first, last};
}

static bool stays(const struct ct_pack *k, int chunk)
{
    return k->p.weight[k->content.chunk[chunk].slot].source != 0;
}

/* The pages of the origin are given back while it is packed. */
static void chunk_is_packed(void *pack, const void *stored, size_t stored_bytes, size_t packed_bytes)
{
    struct ct_pack *k = pack;

    ct_file_forget(k->file, stored, stored_bytes);
    atomic_fetch_add_explicit(&k->done, packed_bytes, memory_order_relaxed);
}

static void pack_chunk(struct ct_pack *k, int chunk, int thread)
{
    const struct ct_weight *from = k->content.slot[k->content.chunk[chunk].slot].w;
    const struct ct_packing packing = {
        .from = from, .form = ct_packed_form(from), .done_with = chunk_is_packed, .user = k};
    struct place p = place_of(k, chunk);

    ct_content_read(&k->content, chunk, thread, NULL, NULL);
    if (stays(k, chunk))
        chunk_is_packed(k, (const uint8_t *)from->data + (size_t)p.first * from->row_bytes,
                        (size_t)(p.end - p.at), (size_t)(p.end - p.at));
    else
        ct_pack_pieces(&packing, p.first, p.last, k->base + p.at);
}

static void fill_item(void *filling, int item, int thread)
{
    struct filling *f = filling;

    if (item < f->n_hash)
        ct_pack_block(f->k, f->hashed + item);
    else
        pack_chunk(f->k, f->packed + item - f->n_hash, thread);
}

static void plan_job(struct filling *f)
{
    const struct ct_pack *k = f->k;
    const struct ct_pack_block *b = k->block + f->hashed;
    const uint64_t batch = (uint64_t)BATCH * (uint64_t)k->threads;
    const uint64_t enough = CT_MIN(batch, (k->end - k->head + k->aside) / STEPS);
    uint64_t taken = 0;

    for (f->n_hash = 0; f->hashed + f->n_hash < k->n_block && b->at + b->size <= f->filled; b++)
        f->n_hash++;
    for (f->n_pack = 0; f->packed + f->n_pack < k->content.n_chunk && taken < enough; f->n_pack++) {
        const int chunk = f->packed + f->n_pack;
        const struct place p = place_of(k, chunk);
        taken += p.end - p.at;
        if (!stays(k, chunk))
            f->filled = p.end;
    }
}

static carat_status fill_from_model(struct ct_pack *k, struct ct_pool *pool, carat_error *err)
{
    struct filling f = {.k = k, .filled = k->head};

    CT_TRY(ct_content_list(&k->content, k->threads, err));
    k->done = k->head;
    if (k->p.tables.size)
        ct_tokenizer_tables_write(k->model->tokenizer, k->base + k->p.tables.at);
    while (f.hashed < k->n_block || f.packed < k->content.n_chunk) {
        plan_job(&f);
        ct_pool_run(pool, f.n_hash + f.n_pack, fill_item, &f);
        if (!ct_pool_goes_on(pool, 0))
            return ct_fail(err, CARAT_E_CANCELLED, "packing the model was cancelled after %u of %u weights",
                           f.packed < k->content.n_chunk ? (uint32_t)k->content.chunk[f.packed].slot
                                                         : k->p.n_weight,
                           k->p.n_weight);
        f.hashed += f.n_hash;
        f.packed += f.n_pack;
    }
    ct_content_end(&k->content, k->content_hash);
    return CARAT_OK;
}

carat_status ct_pack_begin(struct ct_pack **out, const struct carat_model *m, enum ct_pack_as as,
                           carat_error *err)
{
    struct ct_pack *k = *out = ct_pack_new(m->file, ct_file_path(m->file), err);

    if (!k)
        return CARAT_E_MEMORY;
    k->model = m;
    k->fill = fill_from_model;
    return plan_model(k, as, err);
}

/* ---- a file of its own ---- */

struct packing_alone {
    struct ct_pack *pack;
    struct ct_listening l;
};

static carat_status write_alone(void *packing, struct ct_os_new *file, carat_error *err)
{
    const struct packing_alone *p = packing;

    return ct_pack_write(p->pack, file, &p->l, err);
}

carat_status carat_model_pack(const carat_model *model, const char *path, carat_progress progress, void *user,
                              carat_error *err)
{
    struct packing_alone p = {.l = {progress, user}};

    if (!model || !model->has_weights || !path)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s",
                       !model  ? "model is NULL"
                       : !path ? "path is NULL"
                               : "the model has no weights");
    carat_status status = ct_pack_begin(&p.pack, model, CT_PACK_ALONE, err);
    if (!status)
        status = ct_new_model(model, path, write_alone, &p, err);
    ct_pack_end(p.pack);
    return status;
}
