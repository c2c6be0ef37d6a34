/* SPDX-License-Identifier: Apache-2.0 */
/* keep_made.c: adds what engines make of weights to the packed copy of a model: the copy is written once
 * more, with further sections behind the weights. Old sections are compared with their hashes on the way,
 * since the new file will be trusted without being read. When this is done, and under which name:
 * packed_cache.c.
 *
 * A process that maps the old file goes on with it; one that finds the file replaced, or about to be, writes
 * nothing. Only the user's own cache is believed, so that no bound from a foreign file is ever used; carat
 * pack writes none of it. */
#include "checkpoint/pack_file.h"

static bool is_replaced(const struct ct_packed_weight *old, const struct ct_made *made, int n)
{
    for (int i = 0; i < n; i++)
        if (ct_str_is(old->name, made[i].name))
            return true;
    return false;
}

static void add_made(struct ct_pack *k, struct ct_packed_weight m)
{
    m.data.at = ct_round_up(k->end, CT_PACKED_PAGE);
    k->end = m.data.at + m.data.size;
    k->p.made[k->p.n_made++] = m;
}

/* Plans where everything will lie: old sections stay where they are. */
static carat_status plan_again(struct ct_pack *k, const struct ct_made *made, int n, carat_error *err)
{
    const struct ct_packed *old = ct_file_packed(k->file);
    const uint8_t *data = ct_file_packed_map(k->file)->bytes.data;
    const size_t most = (size_t)old->n_made + (size_t)n;
    const uint8_t **from = ct_arena_push(&k->arena, most, sizeof *from);

    k->p = *old;
    k->p.n_made = 0;
    k->p.made = ct_arena_push(&k->arena, most, sizeof *k->p.made);
    if (!from || !k->p.made)
        return ct_no_memory(err, k->called);
    for (uint32_t i = 0; i < old->n_weight; i++)
        if (!old->weight[i].source)
            k->end = CT_MAX(k->end, old->weight[i].data.at + old->weight[i].data.size);
    for (uint32_t i = 0; i < old->n_made; i++)
        if (!is_replaced(&old->made[i], made, n)) {
            from[k->p.n_made] = data + old->made[i].data.at;
            add_made(k, old->made[i]);
        }
    const uint32_t kept = k->p.n_made;
    for (int i = 0; i < n; i++) {
        const struct ct_weight *w = &made[i].w;
        from[k->p.n_made] = w->data;
        add_made(k, (struct ct_packed_weight){.name = ct_str_of(made[i].name),
                                              .key = made[i].key,
                                              .type = (uint32_t)w->type,
                                              .interleaved = w->layout == CT_LAYOUT_PANELS,
                                              .rows = (uint32_t)w->rows,
                                              .cols = (uint32_t)w->cols,
                                              .data.size = ct_weight_bytes(w)});
    }
    k->end = ct_round_up(k->end, CT_PACKED_PAGE);
    k->index_size = ct_packed_write_index(&k->p, NULL);
    if (k->p.n_made > CT_PACKED_MADE || k->index_size > CT_PACKED_INDEX)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s cannot list more", k->called);
    CT_TRY(ct_pack_list(k, data, err));
    for (uint32_t i = 0; i < k->p.n_made; i++) {
        struct ct_pack_section *s = &k->section[k->n_section - (int)k->p.n_made + (int)i];
        s->from = from[i];
        s->hashed = i < kept;
    }
    return CARAT_OK;
}

static carat_status copy_blocks(struct ct_pack *k, struct ct_pool *pool, carat_error *err)
{
    return ct_pack_blocks(k, pool)
               ? CARAT_OK
               : ct_fail(err, CARAT_E_CANCELLED,
                         "creating the engine was cancelled while what it made was kept in the cache");
}

carat_status ct_pack_again(struct ct_pack **out, const struct ct_file *f, const struct ct_made *made, int n,
                           carat_error *err)
{
    struct ct_pack *k = *out = ct_pack_new(f, "the packed copy of the model", err);

    if (!k)
        return CARAT_E_MEMORY;
    k->fill = copy_blocks;
    return plan_again(k, made, n, err);
}
