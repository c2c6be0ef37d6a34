/* SPDX-License-Identifier: Apache-2.0 */
/* head_strategy.c: what strategies of the head share: all rows for a token, lines for the log, and how the
 * packed copy of the model keeps what they make: its form, and a key of the bytes and the rule that it was
 * made from. Whether that is believed is decided in file/packed_file.c; checkpoint/keep_made.c writes it.
 *
 * Where the copy has what a strategy asks for, it is a weight of the file, planned and mapped as the others;
 * else it is made in memory, and the engine hands it to ct_cache_keep. A change of how sketches, bounds or
 * tiles are made must raise RULE of its file. */
#include "model/head_strategy.h"

#include "base/hash.h"

int ct_head_all(const struct ct_head *h, struct ct_head_row *row, int n, float **to)
{
    const int slice = CT_MIN(n, CT_HEAD_SLICE);

    for (int i = 0; i < slice; i++) {
        to[i] = row[i].memory;
        row[i].logits = (struct ct_logits){row[i].memory, NULL, h->stored.rows};
    }
    return slice;
}

void ct_head_dense(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row)
{
    float *to[CT_HEAD_SLICE];

    for (int done = 0, part; done < n; done += part) {
        part = ct_head_all(h, row + done, n - done, to);
        project_logits(p->backend, p->h, first + done, part, to, h->packed, p->config->logit_cap);
    }
}

struct ct_made ct_head_made(const struct ct_head *h, const char *name, int rule, const struct ct_weight *form)
{
    const struct ct_weight *w = &h->stored;
    struct ct_made m = {.name = name, .w = *form};
    const uint64_t of = h->file ? ct_file_weight_hash(h->file, w) : 0;
    const uint64_t key[] = {
        of, (uint64_t)rule, w->type, w->layout, (uint64_t)w->rows, (uint64_t)w->cols, ct_f32_bits(w->scale)};
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

void ct_head_keep(struct ct_head *h, const struct ct_made *m, const void *data)
{
    if (!m->key)
        return;
    assert(h->n_keep < (int)CT_COUNT(h->keep));
    h->keep[h->n_keep] = *m;
    h->keep[h->n_keep++].w.data = data;
}

void ct_head_log(const struct ct_head *h, const char *format, ...)
{
    char line[256];

    CT_FORMAT(line, format);
    if (h->o.log)
        h->o.log(h->o.user, line);
}
