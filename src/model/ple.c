/* SPDX-License-Identifier: Apache-2.0 */
/* ple.c: see ple.h. */
#include "model/ple.h"

void ct_ple_init(struct ct_ple *p, struct ct_backend *b, const struct ct_config *c, int max_rows)
{
    *p = (struct ct_ple){0};
    if (c->ple_width)
        p->row = b->verb.alloc_host(b, (size_t)max_rows * sizeof *p->row);
}

void ct_ple_find(struct ct_ple *p, const struct ct_weights *w, const struct ct_rows *rows)
{
    p->table = w->ple;
    if (!p->table.data)
        return;
    p->table.layout = CT_LAYOUT_ROWS;
    for (int i = 0; i < rows->n; i++)
        p->row[i] = rows->token[i] < w->ple.rows ? rows->token[i] : 0;
}
