/* SPDX-License-Identifier: Apache-2.0 */
/* head_made.c: what strategies make of the head, as the packed copy of a model keeps it: its form there, and the
 * key that says of which bytes and by which rule it was made. Whether it may be believed is file/packed_file.c's
 * to say, when it is written checkpoint/packed_cache.c's. */
#include "model/head_made.h"

#include "base/hash.h"

struct ct_made ct_head_made(const struct ct_head *h, const char *name, int rule, const struct ct_weight *form)
{
    const struct ct_weight *w = &h->stored;
    struct ct_made m = {.name = name, .w = *form};
    const uint64_t of = h->file ? ct_file_weight_hash(h->file, w) : 0;
    uint32_t scale;

    memcpy(&scale, &w->scale, sizeof scale);
    const uint64_t key[] = {of,   (uint64_t)rule, w->type, w->layout, (uint64_t)w->rows, (uint64_t)w->cols,
                            scale};
    m.key = of ? ct_hash64(key, sizeof key) : 0;
    m.w.data = NULL;
    if (m.key)
        ct_file_find_made(h->file, &m);
    return m;
}

struct ct_weight ct_head_made_panels(enum ct_type type, int rows, int cols)
{
    return (struct ct_weight){.type = type,
                              .layout = CT_LAYOUT_PANELS,
                              .rows = rows,
                              .cols = cols,
                              .row_bytes = ct_backend_panel_size(type, cols),
                              .scale = 1};
}

void ct_head_keep(struct ct_head *h, const struct ct_made *m, const struct ct_weight *w)
{
    if (!m->key)
        return;
    assert(h->n_keep < (int)CT_COUNT(h->keep));
    h->keep[h->n_keep] = *m;
    h->keep[h->n_keep++].w.data = w->data;
}
