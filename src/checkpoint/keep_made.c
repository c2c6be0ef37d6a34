/* SPDX-License-Identifier: Apache-2.0 */
/* keep_made.c: what engines make of a model's weights, brought into its packed copy: the copy is written once
 * more, everything where it was, with further sections behind the weights. All of it is compared with its hashes
 * on the way, since the new file will be trusted without being read. When that is done, and under which name:
 * packed_cache.c. */
#include "checkpoint/keep_made.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "os/cgroup.h"
#include "os/memory.h"
#include "os/pool.h"

/* A section of the new file, and where its bytes are. */
struct brought {
    struct ct_section *to;
    const uint8_t *from;
    bool hashed; /* to->hash is what it has to be; else it is what will be found */
    int first;   /* of its blocks */
};

/* At most CT_PACKED_BLOCK bytes of one. */
struct brought_block {
    uint64_t to; /* in the file */
    const uint8_t *from;
    size_t size;
};

struct ct_keeping {
    const struct ct_file *file;
    struct ct_arena arena;
    struct ct_packed p; /* of the new file */
    struct brought *brought;
    int n_brought;
    struct brought_block *block;
    uint64_t *hash; /* [n_block] */
    int n_block;
    uint64_t end; /* of the sections */
    size_t index_size;
    uint8_t *base; /* of the new file */
    atomic_size_t done;
    const struct ct_listening *listening;
};

/* ---- where everything lies ---- */

static int blocks_of(const struct ct_section *s)
{
    return (int)((s->size + CT_PACKED_BLOCK - 1) / CT_PACKED_BLOCK);
}

static void add_brought(struct ct_keeping *k, struct ct_section *to, const void *from, bool hashed)
{
    if (!to->size)
        return;
    k->brought[k->n_brought++] = (struct brought){to, from, hashed, k->n_block};
    k->n_block += blocks_of(to);
    k->end = CT_MAX(k->end, to->at + to->size);
}

/* A section that stays where it is. */
static void add_old(struct ct_keeping *k, struct ct_section *s)
{
    add_brought(k, s, ct_file_packed_map(k->file)->bytes.data + s->at, true);
}

static void add_made(struct ct_keeping *k, const struct ct_packed_made *m, const void *from, bool hashed)
{
    struct ct_packed_made *to = &k->p.made[k->p.n_made++];

    *to = *m;
    to->data.at = ct_round_up(k->end, CT_PACKED_PAGE);
    add_brought(k, &to->data, from, hashed);
}

static bool is_replaced(const struct ct_packed_made *old, const struct ct_made *made, int n)
{
    for (int i = 0; i < n; i++)
        if (ct_str_is(old->name, made[i].name))
            return true;
    return false;
}

static void place_sections(struct ct_keeping *k, const struct ct_packed *old, const struct ct_made *made,
                           int n)
{
    struct ct_packed *p = &k->p;
    const uint8_t *data = ct_file_packed_map(k->file)->bytes.data;

    k->end = CT_PACKED_PAGE;
    for (size_t i = 0; i < CT_COUNT(p->side); i++)
        add_old(k, &p->side[i]);
    add_old(k, &p->sbs);
    add_old(k, &p->tables);
    for (uint32_t i = 0; i < p->n_weight; i++)
        add_old(k, &p->weight[i].data);
    for (uint32_t i = 0; i < old->n_made; i++)
        if (!is_replaced(&old->made[i], made, n))
            add_made(k, &old->made[i], data + old->made[i].data.at, true);
    for (int i = 0; i < n; i++) {
        const struct ct_weight *w = &made[i].w;
        const struct ct_packed_made m = {.name = ct_str_of(made[i].name),
                                         .key = made[i].key,
                                         .type = (uint32_t)w->type,
                                         .interleaved = w->layout == CT_LAYOUT_PANELS,
                                         .rows = (uint32_t)w->rows,
                                         .cols = (uint32_t)w->cols,
                                         .data.size = ct_weight_bytes(w)};
        add_made(k, &m, w->data, false);
    }
    k->end = ct_round_up(k->end, CT_PACKED_PAGE);
    k->index_size = ct_packed_write_index(p, NULL);
}

static bool list_blocks_kept(struct ct_keeping *k)
{
    int n = 0;

    k->block = ct_arena_push(&k->arena, (size_t)k->n_block, sizeof *k->block);
    k->hash = ct_arena_push(&k->arena, (size_t)k->n_block, sizeof *k->hash);
    if (!k->block || !k->hash)
        return false;
    for (int i = 0; i < k->n_brought; i++) {
        const struct ct_section *s = k->brought[i].to;
        for (uint64_t at = 0; at < s->size; at += CT_PACKED_BLOCK)
            k->block[n++] = (struct brought_block){s->at + at, k->brought[i].from + at,
                                                   (size_t)CT_MIN(CT_PACKED_BLOCK, s->size - at)};
    }
    return true;
}

carat_status ct_keep_begin(struct ct_keeping **out, const struct ct_file *f, const struct ct_made *made,
                           int n, carat_error *err)
{
    const struct ct_packed *old = ct_file_packed(f);
    const char *path = ct_file_path(f);
    struct ct_keeping *k = calloc(1, sizeof *k);

    if (!k)
        return ct_no_memory(err, path);
    const size_t most = (size_t)old->n_made + (size_t)n;
    const size_t sections = CT_COUNT(old->side) + 2 + old->n_weight + most;
    k->file = f;
    k->p = *old;
    k->p.n_made = 0;
    k->p.made = ct_arena_push(&k->arena, most, sizeof *k->p.made);
    k->p.weight = ct_arena_push(&k->arena, old->n_weight, sizeof *k->p.weight);
    k->brought = ct_arena_push(&k->arena, sections, sizeof *k->brought);
    carat_status status = CARAT_OK;
    if (!k->p.made || !k->p.weight || !k->brought) {
        status = ct_no_memory(err, path);
    } else {
        memcpy(k->p.weight, old->weight, old->n_weight * sizeof *k->p.weight);
        place_sections(k, old, made, n);
        if (!list_blocks_kept(k))
            status = ct_no_memory(err, path);
        else if (k->p.n_made > CT_PACKED_MADE || k->index_size > CT_PACKED_INDEX)
            status = ct_fail(err, CARAT_E_UNSUPPORTED, "%s: its packed copy cannot list more", path);
    }
    if (status)
        ct_keep_end(k);
    else
        *out = k;
    return status;
}

size_t ct_keep_size(const struct ct_keeping *k)
{
    return k->end + k->index_size;
}

/* ---- filling it ---- */

static int ask_keeping(void *user)
{
    const struct ct_keeping *k = user;
    size_t done = atomic_load_explicit(&k->done, memory_order_relaxed);

    return k->listening->progress(k->listening->user, CT_MIN(done, k->end) >> 10, k->end >> 10);
}

/* The pages of the new file are given back: it is not read before the next opening. */
static void keep_block(void *keeping, int item, int thread)
{
    struct ct_keeping *k = keeping;
    const struct brought_block *b = &k->block[item];
    uint8_t *to = k->base + b->to;

    (void)thread;
    memcpy(to, b->from, b->size);
    k->hash[item] = ct_packed_hash_block(to, b->size);
    ct_os_discard(to, b->size);
    atomic_fetch_add_explicit(&k->done, b->size, memory_order_relaxed);
}

static carat_status hash_brought(struct ct_keeping *k, carat_error *err)
{
    for (int i = 0; i < k->n_brought; i++) {
        const struct brought *b = &k->brought[i];
        uint64_t found = ct_packed_hash_blocks(k->hash + b->first, (size_t)blocks_of(b->to));
        if (b->hashed && found != b->to->hash)
            return ct_fail(err, CARAT_E_FORMAT, "the packed copy of the model is damaged at byte %llu",
                           (unsigned long long)b->to->at);
        b->to->hash = found;
    }
    return CARAT_OK;
}

static carat_status keep_all(struct ct_keeping *k, struct ct_pool *pool, carat_error *err)
{
    ct_pool_watch(pool, k->listening->progress ? ask_keeping : NULL, k);
    ct_pool_run(pool, k->n_block, keep_block, k);
    if (!ct_pool_unwatch(pool))
        return ct_fail(err, CARAT_E_CANCELLED,
                       "creating the engine was cancelled while what it made was kept in the cache");
    CT_TRY(hash_brought(k, err));
    ct_packed_write_index(&k->p, k->base + k->end);
    struct ct_packed_header h =
        ct_packed_header(k->end, k->index_size, ct_packed_hash_block(k->base + k->end, k->index_size));
    memcpy(k->base, &h, sizeof h);
    return CARAT_OK;
}

carat_status ct_keep_write(struct ct_keeping *k, struct ct_os_new *file, const struct ct_listening *l,
                           carat_error *err)
{
    struct ct_pool *pool = NULL;
    carat_status status = ct_os_new_size(file, ct_keep_size(k), err);

    k->base = file->base;
    k->listening = l;
    if (!status)
        status = ct_pool_create(&pool, ct_os_cpus(), err);
    if (!status)
        status = keep_all(k, pool, err);
    ct_os_new_written(file);
    ct_pool_destroy(pool);
    return status;
}

void ct_keep_end(struct ct_keeping *k)
{
    if (k)
        ct_arena_free(&k->arena);
    free(k);
}
