/* SPDX-License-Identifier: Apache-2.0 */
/* head_dense.c: what strategies of the head have in common: every row for every token, to which they go back,
 * and how they say what became of them. */
#include "model/head.h"

#include <stdarg.h>

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

void ct_head_log(const struct ct_head *h, const char *format, ...)
{
    char line[256];
    va_list args;

    if (!h->o.log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    h->o.log(h->o.user, line);
}
