/* SPDX-License-Identifier: Apache-2.0 */
/* head_dense.c: what strategies of the head have in common: every row for every token, to which they go back,
 * and how they say what became of them. */
#include "model/head.h"

#include <stdarg.h>

enum { SLICE = 64 }; /* rows that are told to the backend at once */

void ct_head_dense(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row)
{
    float *to[SLICE];

    for (int done = 0, part; done < n; done += part) {
        part = CT_MIN(n - done, SLICE);
        for (int i = 0; i < part; i++) {
            struct ct_head_row *r = &row[done + i];
            to[i] = r->memory;
            r->logits = (struct ct_logits){r->memory, NULL, h->packed->rows};
        }
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
