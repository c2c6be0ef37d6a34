/* SPDX-License-Identifier: Apache-2.0 */
/* pack_file.c: what packing a model, writing a copy once more and checking one share: lists of sections and
 * blocks, hashes, header and index. */
#include "checkpoint/pack_file.h"

#include <stdlib.h>

#include "os/cgroup.h"
#include "os/memory.h"

struct ct_pack *ct_pack_new(const struct ct_file *f, const char *called, carat_error *err)
{
    struct ct_pack *k = calloc(1, sizeof *k);

    if (k)
        *k = (struct ct_pack){.file = f, .called = called, .threads = ct_os_cpus(), .end = CT_PACKED_PAGE};
    else
        ct_no_memory(err, called);
    return k;
}

void ct_pack_end(struct ct_pack *k)
{
    if (k) {
        ct_content_free(&k->content);
        ct_arena_free(&k->arena);
    }
    free(k);
}

size_t ct_pack_size(const struct ct_pack *k)
{
    return k->end + k->index_size;
}

/* ---- sections and blocks ---- */

static void add_section(struct ct_pack *k, const char *name, struct ct_section *s, const uint8_t *data)
{
    const uint8_t *from = data ? data + s->at : NULL;

    k->section[k->n_section++] = (struct ct_pack_section){name, s, from, data != NULL, k->n_block};
    k->n_block += (int)((s->size + CT_PACKED_BLOCK - 1) / CT_PACKED_BLOCK);
    k->end = CT_MAX(k->end, s->at + s->size);
}

carat_status ct_pack_list(struct ct_pack *k, const uint8_t *data, carat_error *err)
{
    struct ct_packed *p = &k->p;
    const size_t sides = CT_COUNT(p->side);

    k->section = ct_arena_push(&k->arena, sides + 2 + p->n_weight + p->n_made, sizeof *k->section);
    if (!k->section)
        return ct_no_memory(err, k->called);
    for (size_t i = 0; i < sides; i++)
        add_section(k, "a side file", &p->side[i], data);
    add_section(k, "the configuration", &p->sbs, data);
    add_section(k, "the tokenizer", &p->tables, data);
    for (uint32_t i = 0; i < p->n_weight; i++)
        if (!p->weight[i].source)
            add_section(k, p->weight[i].name.s, &p->weight[i].data, data);
    for (uint32_t i = 0; i < p->n_made; i++)
        add_section(k, p->made[i].name.s, &p->made[i].data, data);
    return CARAT_OK;
}

/* Done when the room has been taken: the list of a file that is too large for it would be large, too. */
static carat_status list_blocks(struct ct_pack *k, carat_error *err)
{
    k->block = ct_arena_push(&k->arena, (size_t)k->n_block, sizeof *k->block);
    k->hash = ct_arena_push(&k->arena, (size_t)k->n_block, sizeof *k->hash);
    if (!k->block || !k->hash)
        return ct_no_memory(err, k->called);
    for (int i = 0, n = 0; i < k->n_section; i++) {
        const struct ct_section *s = k->section[i].s;
        for (uint64_t at = 0; at < s->size; at += CT_PACKED_BLOCK)
            k->block[n++] =
                (struct ct_pack_block){i, s->at + at, (size_t)CT_MIN(CT_PACKED_BLOCK, s->size - at)};
    }
    return CARAT_OK;
}

/* The bytes are not read again before the model is used. */
void ct_pack_block(struct ct_pack *k, int block)
{
    const struct ct_pack_block *b = &k->block[block];
    const struct ct_pack_section *s = &k->section[b->section];
    const uint8_t *from = s->from ? s->from + (b->at - s->s->at) : NULL;

    if (k->base) {
        uint8_t *to = k->base + b->at;
        if (from)
            memcpy(to, from, b->size);
        k->hash[block] = ct_packed_hash_block(to, b->size);
        ct_os_discard(to, b->size);
    } else {
        k->hash[block] = ct_packed_hash_block(from, b->size);
        ct_file_forget(k->file, from, b->size);
    }
}

static void block_item(void *pack, int item, int thread)
{
    struct ct_pack *k = pack;

    (void)thread;
    ct_pack_block(k, item);
    atomic_fetch_add_explicit(&k->done, k->block[item].size, memory_order_relaxed);
}

bool ct_pack_blocks(struct ct_pack *k, struct ct_pool *pool)
{
    ct_pool_run(pool, k->n_block, block_item, k);
    return ct_pool_goes_on(pool, 0);
}

/* Hashes of sections, out of those of their blocks. */
static carat_status set_hashes(struct ct_pack *k, carat_error *err)
{
    for (int i = 0; i < k->n_section; i++) {
        const struct ct_pack_section *s = &k->section[i];
        const int end = i + 1 < k->n_section ? s[1].first : k->n_block;
        if (end == s->first)
            continue;
        uint64_t found = ct_packed_hash_blocks(k->hash + s->first, (size_t)(end - s->first));
        if (s->hashed && found != s->s->hash)
            return ct_fail(err, CARAT_E_FORMAT,
                           "%s is damaged: %s at byte %llu differs from what was written", k->called, s->name,
                           (unsigned long long)s->s->at);
        if (!s->hashed)
            s->s->hash = found;
    }
    return CARAT_OK;
}

/* ---- writing and checking ---- */

static int ask_progress(void *pack)
{
    const struct ct_pack *k = pack;
    size_t done = atomic_load_explicit(&k->done, memory_order_relaxed), all = k->end + k->aside;

    return k->listening->progress(k->listening->user, CT_MIN(done, all) >> 10, all >> 10);
}

static carat_status run_pack(struct ct_pack *k, const struct ct_listening *l, carat_error *err)
{
    struct ct_pool *pool;

    CT_TRY(list_blocks(k, err));
    CT_TRY(ct_pool_create(&pool, k->threads, err));
    k->listening = l;
    ct_pool_watch(pool, l->progress ? ask_progress : NULL, k);
    carat_status status = k->fill(k, pool, err);
    ct_pool_destroy(pool);
    return status ? status : set_hashes(k, err);
}

static void write_ends(struct ct_pack *k)
{
    uint8_t *index = k->base + k->end;

    assert(ct_packed_write_index(&k->p, NULL) == k->index_size);
    ct_packed_write_index(&k->p, index);
    struct ct_packed_header h =
        ct_packed_header(k->end, k->index_size, ct_packed_hash_block(index, k->index_size));
    memcpy(k->base, &h, sizeof h);
}

carat_status ct_pack_write(struct ct_pack *k, struct ct_os_new *file, const struct ct_listening *l,
                           carat_error *err)
{
    CT_TRY(ct_os_new_size(file, ct_pack_size(k), err));
    k->base = file->base;
    carat_status status = run_pack(k, l, err);
    if (!status)
        write_ends(k);
    ct_os_new_written(file);
    return status;
}

static carat_status read_blocks(struct ct_pack *k, struct ct_pool *pool, carat_error *err)
{
    return ct_pack_blocks(k, pool)
               ? CARAT_OK
               : ct_fail(err, CARAT_E_CANCELLED, "%s: checking it was cancelled", k->called);
}

carat_status ct_pack_check(const struct ct_file *f, const struct ct_listening *l, carat_error *err)
{
    struct ct_pack *k = ct_pack_new(f, ct_file_packed_path(f), err);

    if (!k)
        return CARAT_E_MEMORY;
    k->p = *ct_file_packed(f);
    k->fill = read_blocks;
    carat_status status = ct_pack_list(k, ct_file_packed_map(f)->bytes.data, err);
    if (!status)
        status = run_pack(k, l, err);
    ct_pack_end(k);
    return status;
}
