/* SPDX-License-Identifier: Apache-2.0 */
/* head.c: logits from what the forward pass leaves: a product with the head, which often is the embedding
 * table again, and the soft-cap of Gemma 2. */
#include "model/head.h"

enum { SLICE = 64 }; /* rows that are told to the backend at once */

static void dense_rows(const struct ct_pass *p, int first, int n, struct ct_head_row *row)
{
    float *to[SLICE];

    for (int done = 0, part; done < n; done += part) {
        part = CT_MIN(n - done, SLICE);
        for (int i = 0; i < part; i++) {
            struct ct_head_row *r = &row[done + i];
            to[i] = r->memory;
            r->logits = (struct ct_logits){r->memory, NULL, p->weights->head.rows};
        }
        project_logits(p->backend, p->h, first + done, part, to, &p->weights->head, p->config->logit_cap);
    }
}

void ct_head_rows(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row)
{
    (void)h;
    dense_rows(p, first, n, row);
}

bool ct_head_again(struct ct_head *h, const struct ct_pass *p, const float *hidden, struct ct_head_row *row)
{
    static const int32_t nothing[1];
    static const struct ct_seen itself[1];
    static const bool wanted[1] = {true};
    const struct ct_rows rows = {1, nothing, nothing, nothing, {itself, itself}, wanted, true};
    struct ct_backend *b = p->backend;

    b->verb.begin_pass(b, &rows, &(struct ct_watch){0}); /* not traced: nothing is evaluated */
    b->verb.copy_in(b, p->h, 0, hidden);
    ct_head_rows(h, p, 0, 1, row);
    bool finite = b->verb.is_finite(b, 0);
    end_pass(b);
    return finite;
}
