/* SPDX-License-Identifier: Apache-2.0 */
/* pack_model.c: a model written as a packed file (file/packed.h): where everything lies in it, and weights
 * packed by threads straight into the mapped file. The cache of such files is packed_cache.c's. */
#include "checkpoint/pack_model.h"
#include "checkpoint/content.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "kernel/layout/pack_weight.h"
#include "os/cgroup.h"
#include "os/files.h"
#include "os/memory.h"
#include "os/pool.h"

/* Progress of packing or checking. */
struct packing {
    const struct ct_file *file; /* that weights are packed from, or that is checked */
    carat_progress progress;
    void *user;
    size_t before, end;   /* bytes before the section under way, and of all */
    atomic_size_t packed; /* of that section */
    uint64_t *block_hash; /* [blocks of the longest section] */
};

static int ask_packing(void *user)
{
    const struct packing *p = user;
    size_t done = p->before + atomic_load_explicit(&p->packed, memory_order_relaxed);

    return p->progress(p->user, CT_MIN(done, p->end) >> 10, p->end >> 10);
}

static void watch_packing(struct ct_pool *pool, struct packing *p)
{
    ct_pool_watch(pool, p->progress ? ask_packing : NULL, p);
}

struct ct_pack {
    const struct carat_model *m;
    struct ct_arena arena;
    struct ct_packed p;
    struct ct_bytes side[CT_COUNT(((struct ct_packed *)0)->side)], sbs;
    const struct ct_weight **from; /* [n_weight] */
    struct ct_content content;
    char hash[CT_CONTENT_HEX]; /* of the content; a text of the metadata */
    uint64_t end;              /* of the sections so far */
    size_t index_size;
    int first_chunk; /* of the weight that is hashed */
};

/* ---- where everything lies ---- */

static struct ct_section assign_section(struct ct_pack *plan, uint64_t size)
{
    uint64_t align = size < CT_PACKED_PAGE ? CT_PACKED_ALIGN : CT_PACKED_PAGE;
    struct ct_section s = {0};

    if (size) {
        s = (struct ct_section){.at = ct_round_up(plan->end, align), .size = size};
        assert(s.at >= plan->end && s.at % CT_PACKED_ALIGN == 0);
        plan->end = s.at + size;
    }
    return s;
}

static carat_status count_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    (void)slot;
    (void)tensor;
    (void)w;
    ++*(uint32_t *)user;
    return CARAT_OK;
}

static carat_status plan_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    struct ct_pack *plan = user;
    struct ct_weight form = ct_packed_form(w);
    char name[64];
    int n = snprintf(name, sizeof name, "%s.weight", slot);
    const char *copy = ct_arena_str(&plan->arena, name, (size_t)n);
    uint32_t i = plan->p.n_weight++;

    (void)tensor;
    if (!copy)
        return CARAT_E_MEMORY;
    plan->from[i] = w;
    plan->p.weight[i] = (struct ct_packed_weight){
        .name = {copy, (size_t)n},
        .type = w->type,
        .interleaved = form.layout == CT_LAYOUT_PANELS,
        .rows = (uint32_t)w->rows,
        .cols = (uint32_t)w->cols,
        .scale = w->scale,
        .data = assign_section(plan, ct_weight_bytes(&form)),
    };
    return CARAT_OK;
}

/* The metadata entry that keeps the content hash; one of a packed origin is replaced. */
static void plan_content(struct ct_pack *plan)
{
    static const char key[] = CT_CONTENT_KEY;
    struct ct_packed *p = &plan->p;
    uint32_t i = 0;

    while (i < p->n_meta &&
           !(p->meta[i].key.n == sizeof key - 1 && memcmp(p->meta[i].key.s, key, sizeof key - 1) == 0))
        i++;
    p->n_meta = CT_MAX(p->n_meta, i + 1);
    memset(plan->hash, '0', sizeof plan->hash - 1);
    p->meta[i] = (struct ct_meta){
        .key = {key, sizeof key - 1}, .type = CT_META_STRING, .s = {plan->hash, sizeof plan->hash - 1}};
}

static carat_status assign_offsets(struct ct_pack *plan, carat_error *err)
{
    const struct carat_model *m = plan->m;
    struct ct_packed *p = &plan->p;
    uint32_t n = 0;

    CT_TRY(ct_file_describe(m->file, p, plan->side, &plan->sbs, &plan->arena, err));
    plan_content(plan);
    ct_weights_walk(&m->weights, &m->config, m->file, count_weight, &n);
    p->weight = ct_arena_push(&plan->arena, n, sizeof *p->weight);
    plan->from = ct_arena_push(&plan->arena, n, sizeof *plan->from);
    if (!p->weight || !plan->from)
        return ct_no_memory(err, ct_file_path(m->file));
    p->weight_bytes = m->weights.bytes;
    p->n_unused = (uint32_t)m->weights.n_unused;
    p->unused = (struct ct_str){m->weights.unused, m->weights.unused ? strlen(m->weights.unused) : 0};
    plan->end = CT_PACKED_PAGE;
    for (size_t i = 0; i < CT_COUNT(plan->side); i++)
        p->side[i] = assign_section(plan, plan->side[i].size);
    p->sbs = assign_section(plan, plan->sbs.size);
    if (m->tokenizer)
        p->tables = assign_section(plan, ct_tokenizer_tables_size(m->tokenizer));
    if (ct_weights_walk(&m->weights, &m->config, m->file, plan_weight, plan))
        return ct_no_memory(err, ct_file_path(m->file));
    plan->end = ct_round_up(plan->end, CT_PACKED_PAGE);
    plan->index_size = ct_packed_write_index(p, NULL);
    if (plan->index_size > CT_PACKED_INDEX || p->tables.size > CT_PACKED_TABLES)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: its names and metadata take %zu bytes in a packed file, and its tokenizer %llu; "
                       "at most %d and %d are kept",
                       ct_file_path(m->file), plan->index_size, (unsigned long long)p->tables.size,
                       CT_PACKED_INDEX, CT_PACKED_TABLES);
    return CARAT_OK;
}

/* ---- filling it ---- */

/* One section that is whole. */
struct hashing {
    const uint8_t *data;
    size_t size;
    const struct ct_file
        *file;      /* that is checked, perhaps in memory of the caller's; NULL: one that is written */
    uint64_t *hash; /* [blocks] */
};

/* Gives the pages back to the system: the block is not read again before the model is used. */
static void hash_item(void *arg, int item, int thread)
{
    struct hashing *h = arg;
    size_t at = (size_t)item * CT_PACKED_BLOCK, n = CT_MIN(CT_PACKED_BLOCK, h->size - at);

    (void)thread;
    h->hash[item] = ct_packed_hash_block(h->data + at, n);
    if (h->file)
        ct_file_forget(h->file, h->data + at, n);
    else
        ct_os_discard(h->data + at, n);
}

static uint64_t hash_section(uint64_t *block_hash, struct ct_pool *pool, const struct ct_file *checked,
                             const uint8_t *data, size_t size)
{
    size_t blocks = (size + CT_PACKED_BLOCK - 1) / CT_PACKED_BLOCK;

    ct_pool_run(pool, (int)blocks, hash_item, &(struct hashing){data, size, checked, block_hash});
    return ct_packed_hash_blocks(block_hash, blocks);
}

/* The pages of the origin are given back while it is packed. */
static void item_is_packed(void *user, const void *stored, size_t stored_bytes, size_t packed_bytes)
{
    struct packing *p = user;

    ct_file_forget(p->file, stored, stored_bytes);
    atomic_fetch_add_explicit(&p->packed, packed_bytes, memory_order_relaxed);
}

static void hash_chunk(void *pack, int item, int thread)
{
    struct ct_pack *plan = pack;

    ct_content_read(&plan->content, plan->first_chunk + item, thread, NULL, NULL);
}

static carat_status fill_weights(struct ct_pack *plan, uint8_t *base, struct ct_pool *pool, struct packing *p,
                                 carat_error *err)
{
    for (uint32_t i = 0; i < plan->p.n_weight; i++) {
        struct ct_section *s = &plan->p.weight[i].data;
        struct ct_packing item = {.from = plan->from[i],
                                  .form = ct_packed_form(plan->from[i]),
                                  .to = base + s->at,
                                  .done_with = item_is_packed,
                                  .user = p};
        assert(ct_weight_bytes(&item.form) == s->size);
        const struct ct_content_slot *slot =
            &plan->content.slot[i]; /* both are listed in the order of a pass */
        assert(slot->w == plan->from[i]);
        plan->first_chunk = slot->chunk;
        ct_pool_run(pool, slot->n, hash_chunk, plan);
        p->before = s->at;
        p->packed = 0;
        ct_pool_run(pool, ct_packing_items(&item), ct_pack_item, &item);
        s->hash = hash_section(p->block_hash, pool, NULL, item.to, s->size);
        if (!ct_pool_goes_on(pool, 0))
            return ct_fail(err, CARAT_E_CANCELLED, "packing the model was cancelled after %u of %u weights",
                           i, plan->p.n_weight);
    }
    ct_content_end(&plan->content, plan->hash);
    return CARAT_OK;
}

static carat_status fill_all(struct ct_pack *plan, uint8_t *base, struct ct_pool *pool,
                             const carat_model_options *o, carat_error *err)
{
    struct ct_packed *p = &plan->p;
    struct packing packing = {plan->m->file, o->progress, o->user, 0, plan->end, 0, NULL};

    packing.block_hash =
        ct_arena_push(&plan->arena, plan->end / CT_PACKED_BLOCK + 1, sizeof *packing.block_hash);
    if (!packing.block_hash)
        return ct_no_memory(err, ct_file_path(plan->m->file));
    CT_TRY(ct_content_begin(&plan->content, plan->m, ct_pool_threads(pool), err));
    watch_packing(pool, &packing);
    for (size_t i = 0; i <= CT_COUNT(plan->side); i++) {
        struct ct_bytes b = i < CT_COUNT(plan->side) ? plan->side[i] : plan->sbs;
        struct ct_section *s = i < CT_COUNT(plan->side) ? &p->side[i] : &p->sbs;
        if (!s->size)
            continue;
        memcpy(base + s->at, b.data, b.size);
        s->hash = ct_packed_hash(base + s->at, s->size);
    }
    if (p->tables.size) {
        ct_tokenizer_tables_write(plan->m->tokenizer, base + p->tables.at);
        p->tables.hash = hash_section(packing.block_hash, pool, NULL, base + p->tables.at, p->tables.size);
    }
    return fill_weights(plan, base, pool, &packing, err);
}

static void write_ends(struct ct_pack *plan, uint8_t *base)
{
    assert(ct_packed_write_index(&plan->p, NULL) == plan->index_size);
    ct_packed_write_index(&plan->p, base + plan->end);
    struct ct_packed_header h = ct_packed_header(plan->end, plan->index_size,
                                                 ct_packed_hash_block(base + plan->end, plan->index_size));
    memcpy(base, &h, sizeof h);
}

carat_status ct_pack_begin(struct ct_pack **out, const struct carat_model *m, carat_error *err)
{
    struct ct_pack *plan = calloc(1, sizeof *plan);
    carat_status status;

    if (!plan)
        return ct_no_memory(err, ct_file_path(m->file));
    plan->m = m;
    status = assign_offsets(plan, err);
    if (status)
        ct_pack_end(plan);
    else
        *out = plan;
    return status;
}

size_t ct_pack_size(const struct ct_pack *plan)
{
    return plan->end + plan->index_size;
}

carat_status ct_pack_write(struct ct_pack *plan, struct ct_os_new *file, const carat_model_options *o,
                           carat_error *err)
{
    struct ct_pool *pool = NULL;
    carat_status status = ct_os_new_size(file, ct_pack_size(plan), err);

    if (!status)
        status = ct_pool_create(&pool, ct_os_cpus(), err);
    if (!status)
        status = fill_all(plan, file->base, pool, o, err);
    if (!status)
        write_ends(plan, file->base);
    ct_os_new_written(file);
    ct_pool_destroy(pool);
    return status;
}

void ct_pack_end(struct ct_pack *plan)
{
    if (plan) {
        ct_content_free(&plan->content);
        ct_arena_free(&plan->arena);
    }
    free(plan);
}

/* ---- checking one ---- */

/* A section and what it is called. */
struct checked {
    const char *name;
    const struct ct_section *s;
};

static struct checked section_at(const struct ct_packed *p, uint32_t i)
{
    const uint32_t sides = CT_COUNT(p->side);

    if (i < sides)
        return (struct checked){"a side file", &p->side[i]};
    if (i == sides)
        return (struct checked){"the configuration", &p->sbs};
    if (i == sides + 1)
        return (struct checked){"the tokenizer", &p->tables};
    i -= sides + 2;
    return i < p->n_weight ? (struct checked){p->weight[i].name.s, &p->weight[i].data} : (struct checked){0};
}

carat_status ct_pack_check(const struct ct_file *f, carat_progress progress, void *user, carat_error *err)
{
    const struct ct_packed *p = ct_file_packed(f);
    const char *path = ct_file_packed_path(f);
    struct ct_bytes all = ct_file_packed_map(f)->bytes;
    struct packing packing = {NULL, progress, user, 0, all.size, 0, NULL};
    struct ct_pool *pool = NULL;
    struct checked c;

    packing.block_hash = malloc((all.size / CT_PACKED_BLOCK + 1) * sizeof *packing.block_hash);
    carat_status status =
        packing.block_hash ? ct_pool_create(&pool, ct_os_cpus(), err) : ct_no_memory(err, path);
    if (!status)
        watch_packing(pool, &packing);
    for (uint32_t i = 0; !status && (c = section_at(p, i)).s; i++) {
        packing.before = c.s->at;
        uint64_t hash =
            c.s->size ? hash_section(packing.block_hash, pool, f, all.data + c.s->at, c.s->size) : 0;
        if (!ct_pool_goes_on(pool, 0))
            status = ct_fail(err, CARAT_E_CANCELLED, "%s: checking it was cancelled", path);
        else if (hash != c.s->hash)
            status =
                ct_fail(err, CARAT_E_FORMAT, "%s is damaged: %s at byte %llu differs from what was written",
                        path, c.name, (unsigned long long)c.s->at);
    }
    ct_pool_destroy(pool);
    free(packing.block_hash);
    return status;
}

/* ---- a file of its own ---- */

bool ct_model_reads(const struct carat_model *m, const char *path)
{
    return ct_file_reads(m->file, path) || (m->tokenizer_file && ct_file_reads(m->tokenizer_file, path));
}

/* The ending of a packed file while it is written. */
#define PART ".carat-part"

carat_status ct_model_pack(const carat_model *model, const char *path, carat_progress progress, void *user,
                           carat_error *err)
{
    carat_model_options o = {.size = sizeof o};
    struct ct_os_new file = {.fd = -1};
    struct ct_os_id id;
    struct ct_pack *pack = NULL;

    if (!model || !model->has_weights || !path)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s",
                       !model  ? "model is NULL"
                       : !path ? "path is NULL"
                               : "the model has no weights");
    o.progress = progress;
    o.user = user;
    char *part = malloc(strlen(path) + sizeof PART);
    if (!part)
        return ct_no_memory(err, path);
    strcat(strcpy(part, path), PART);
    carat_status status =
        ct_os_replaceable(path)
            ? ct_pack_begin(&pack, model, err)
            : ct_fail(err, CARAT_E_IO, "%s is not a regular file, so it cannot be replaced", path);
    if (!status && ct_model_reads(model, path)) /* it would be overwritten */
        status = ct_fail(err, CARAT_E_ARGUMENT, "%s is what the model is read from: name another file", path);
    if (!status)
        status = ct_os_new_begin(&file, part, 0666, err);
    if (!status)
        status = ct_pack_write(pack, &file, &o, err);
    if (!status)
        status = ct_os_new_finish(&file, path, &id, err);
    if (status)
        ct_os_new_abandon(&file);
    ct_pack_end(pack);
    free(part);
    return status;
}
