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
    size_t end;         /* bytes of all */
    atomic_size_t done; /* of them */
};

static int ask_packing(void *user)
{
    const struct packing *p = user;
    size_t done = atomic_load_explicit(&p->done, memory_order_relaxed);

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
    uint64_t head;             /* of those before the weights */
    size_t index_size;
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
    plan->head = plan->end;
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

struct block {
    struct ct_section *of;
    uint64_t at, end;
};

/* The file is filled from front to back, some megabytes at a time: while threads pack them, those before are
 * hashed out of the last cache. A small one is filled in as many steps, so that its progress is heard of. */
enum { BATCH = 4 << 20, STEPS = 16 }; /* bytes for each thread; at least so many steps */

struct filling {
    struct ct_pack *plan;
    uint8_t *base; /* of the mapped file */
    struct ct_pool *pool;
    struct packing progress;
    struct block *block; /* [n_blocks], and one that is never reached */
    uint64_t *hash;      /* [n_blocks] */
    int n_blocks;
    uint64_t filled;    /* bytes of the file */
    int hashed, packed; /* blocks, chunks */
    int n_hash, n_pack; /* of the job under way */
};

/* Where a chunk of a weight goes: pieces [first, last) of its packed form. */
struct place {
    uint64_t at, end;
    int first, last;
};

static struct place place_of(const struct ct_pack *plan, int chunk)
{
    const struct ct_content_chunk *c = &plan->content.chunk[chunk];
    const struct ct_weight form = ct_packed_form(plan->from[c->slot]);
    int rows = form.layout == CT_LAYOUT_PANELS ? CT_PANEL_ROWS : 1;
    int first = c->r0 / rows, last = (c->r1 + rows - 1) / rows;
    uint64_t begin = plan->p.weight[c->slot].data.at;

    assert(plan->content.slot[c->slot].w == plan->from[c->slot]); /* both are listed in the order of a pass */
    return (struct place){begin + (uint64_t)first * form.row_bytes, begin + (uint64_t)last * form.row_bytes,
                          first, last};
}

/* The pages of the origin are given back while it is packed. */
static void chunk_is_packed(void *user, const void *stored, size_t stored_bytes, size_t packed_bytes)
{
    struct packing *p = user;

    ct_file_forget(p->file, stored, stored_bytes);
    atomic_fetch_add_explicit(&p->done, packed_bytes, memory_order_relaxed);
}

static void pack_chunk(struct filling *f, int chunk, int thread)
{
    const struct ct_weight *from = f->plan->from[f->plan->content.chunk[chunk].slot];
    const struct ct_packing packing = {
        .from = from, .form = ct_packed_form(from), .done_with = chunk_is_packed, .user = &f->progress};
    struct place p = place_of(f->plan, chunk);

    ct_content_read(&f->plan->content, chunk, thread, NULL, NULL);
    ct_pack_pieces(&packing, p.first, p.last, f->base + p.at);
}

/* The pages of the block are given back too: it is not read again before the model is used. */
static void hash_block(struct filling *f, int block)
{
    const struct block *b = &f->block[block];

    f->hash[block] = ct_packed_hash_block(f->base + b->at, b->end - b->at);
    ct_os_discard(f->base + b->at, b->end - b->at);
}

static void fill_item(void *filling, int item, int thread)
{
    struct filling *f = filling;

    if (item < f->n_hash)
        hash_block(f, f->hashed + item);
    else
        pack_chunk(f, f->packed + item - f->n_hash, thread);
}

static void plan_job(struct filling *f)
{
    const int chunks = f->plan->content.n_chunk;
    const uint64_t batch = (uint64_t)BATCH * (uint64_t)ct_pool_threads(f->pool);
    const uint64_t enough = f->filled + CT_MIN(batch, (f->plan->end - f->plan->head) / STEPS);

    for (f->n_hash = 0; f->block[f->hashed + f->n_hash].end <= f->filled;)
        f->n_hash++;
    for (f->n_pack = 0; f->packed + f->n_pack < chunks && f->filled < enough; f->n_pack++)
        f->filled = place_of(f->plan, f->packed + f->n_pack).end;
}

static carat_status run_jobs(struct filling *f, carat_error *err)
{
    const struct ct_content *content = &f->plan->content;
    const uint32_t n_weight = f->plan->p.n_weight;

    while (f->hashed < f->n_blocks) {
        plan_job(f);
        ct_pool_run(f->pool, f->n_hash + f->n_pack, fill_item, f);
        if (!ct_pool_goes_on(f->pool, 0))
            return ct_fail(err, CARAT_E_CANCELLED, "packing the model was cancelled after %u of %u weights",
                           f->packed < content->n_chunk ? (uint32_t)content->chunk[f->packed].slot : n_weight,
                           n_weight);
        f->hashed += f->n_hash;
        f->packed += f->n_pack;
    }
    return CARAT_OK;
}

static void add_blocks(struct filling *f, struct ct_section *s)
{
    uint64_t end = s->at + s->size;

    for (uint64_t at = s->at; at < end; at += CT_PACKED_BLOCK)
        f->block[f->n_blocks++] = (struct block){s, at, CT_MIN(at + CT_PACKED_BLOCK, end)};
}

/* Of all sections in the order of the file. */
static carat_status list_blocks(struct filling *f, carat_error *err)
{
    struct ct_packed *p = &f->plan->p;
    size_t most = f->plan->end / CT_PACKED_BLOCK + CT_COUNT(p->side) + 2 + p->n_weight;

    f->block = ct_arena_push(&f->plan->arena, most + 1, sizeof *f->block);
    f->hash = ct_arena_push(&f->plan->arena, most, sizeof *f->hash);
    if (!f->block || !f->hash)
        return ct_no_memory(err, ct_file_path(f->plan->m->file));
    for (size_t i = 0; i < CT_COUNT(p->side); i++)
        add_blocks(f, &p->side[i]);
    add_blocks(f, &p->sbs);
    add_blocks(f, &p->tables);
    for (uint32_t i = 0; i < p->n_weight; i++)
        add_blocks(f, &p->weight[i].data);
    f->block[f->n_blocks] = (struct block){NULL, UINT64_MAX, UINT64_MAX};
    return CARAT_OK;
}

static void fill_section(struct filling *f, const struct ct_section *s, struct ct_bytes b)
{
    if (s->size)
        memcpy(f->base + s->at, b.data, b.size);
}

/* Everything before the weights at once. */
static void fill_head(struct filling *f)
{
    const struct ct_pack *plan = f->plan;
    const struct ct_packed *p = &plan->p;

    for (size_t i = 0; i < CT_COUNT(plan->side); i++)
        fill_section(f, &p->side[i], plan->side[i]);
    fill_section(f, &p->sbs, plan->sbs);
    if (p->tables.size)
        ct_tokenizer_tables_write(plan->m->tokenizer, f->base + p->tables.at);
    f->filled = plan->head;
}

static void hash_sections(struct filling *f)
{
    for (int i = 0, n; i < f->n_blocks; i += n) {
        struct ct_section *s = f->block[i].of;
        for (n = 1; f->block[i + n].of == s;)
            n++;
        s->hash = ct_packed_hash_blocks(f->hash + i, (size_t)n);
    }
}

static carat_status fill_all(struct filling *f, carat_error *err)
{
    struct ct_pack *plan = f->plan;

    CT_TRY(ct_content_begin(&plan->content, plan->m, ct_pool_threads(f->pool), err));
    CT_TRY(list_blocks(f, err));
    watch_packing(f->pool, &f->progress);
    fill_head(f);
    CT_TRY(run_jobs(f, err));
    ct_content_end(&plan->content, plan->hash);
    hash_sections(f);
    return CARAT_OK;
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
    struct filling f = {.plan = plan,
                        .progress = {plan->m->file, o->progress, o->user, plan->end, plan->head}};
    carat_status status = ct_os_new_size(file, ct_pack_size(plan), err);

    f.base = file->base;
    if (!status)
        status = ct_pool_create(&f.pool, ct_os_cpus(), err);
    if (!status)
        status = fill_all(&f, err);
    if (!status)
        write_ends(plan, file->base);
    ct_os_new_written(file);
    ct_pool_destroy(f.pool);
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
    if (i < p->n_weight)
        return (struct checked){p->weight[i].name.s, &p->weight[i].data};
    i -= p->n_weight;
    return i < p->n_made ? (struct checked){p->made[i].name.s, &p->made[i].data} : (struct checked){0};
}

/* One section. */
struct hashing {
    const struct ct_file *file;
    const uint8_t *data;
    size_t size;
    uint64_t *hash; /* [blocks] */
};

/* Gives the pages back to the system: the block is not read again before the model is used. */
static void hash_item(void *arg, int item, int thread)
{
    struct hashing *h = arg;
    size_t at = (size_t)item * CT_PACKED_BLOCK, n = CT_MIN(CT_PACKED_BLOCK, h->size - at);

    (void)thread;
    h->hash[item] = ct_packed_hash_block(h->data + at, n);
    ct_file_forget(h->file, h->data + at, n);
}

static uint64_t hash_section(struct hashing *h, struct ct_pool *pool)
{
    size_t blocks = (h->size + CT_PACKED_BLOCK - 1) / CT_PACKED_BLOCK;

    ct_pool_run(pool, (int)blocks, hash_item, h);
    return ct_packed_hash_blocks(h->hash, blocks);
}

carat_status ct_pack_check(const struct ct_file *f, carat_progress progress, void *user, carat_error *err)
{
    const struct ct_packed *p = ct_file_packed(f);
    const char *path = ct_file_packed_path(f);
    struct ct_bytes all = ct_file_packed_map(f)->bytes;
    struct packing packing = {NULL, progress, user, all.size, 0};
    uint64_t *hashes = malloc((all.size / CT_PACKED_BLOCK + 1) * sizeof *hashes);
    struct ct_pool *pool = NULL;
    struct checked c;

    carat_status status = hashes ? ct_pool_create(&pool, ct_os_cpus(), err) : ct_no_memory(err, path);
    if (!status)
        watch_packing(pool, &packing);
    for (uint32_t i = 0; !status && (c = section_at(p, i)).s; i++) {
        struct hashing hashing = {f, all.data + c.s->at, c.s->size, hashes};
        packing.done = c.s->at;
        uint64_t hash = c.s->size ? hash_section(&hashing, pool) : 0;
        if (!ct_pool_goes_on(pool, 0))
            status = ct_fail(err, CARAT_E_CANCELLED, "%s: checking it was cancelled", path);
        else if (hash != c.s->hash)
            status =
                ct_fail(err, CARAT_E_FORMAT, "%s is damaged: %s at byte %llu differs from what was written",
                        path, c.name, (unsigned long long)c.s->at);
    }
    ct_pool_destroy(pool);
    free(hashes);
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
