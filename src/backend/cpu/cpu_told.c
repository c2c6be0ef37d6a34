/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_told.c: the verbs beside a pass: the draw, the best ids, their entropy and probabilities, what a pruned
 * head asks, rows of matrices. */
#include "backend/cpu/cpu_backend.h"

#include <math.h>

static float cpu_entropy(struct ct_backend *b, const struct ct_logits *l, int k, const int32_t *excluded,
                         int n_excluded)
{
    const struct ct_kernel *kernel = &ct_cpu(b)->kernel;
    int32_t best[CT_MOST_TOLD];
    float value[CT_MOST_TOLD];

    assert(k <= CT_MOST_TOLD);
    ct_fpenv fp = ct_os_fp_enter();
    int n = kernel->select(best, l, k, excluded, n_excluded, NULL);
    for (int i = 0; i < n; i++)
        value[i] = l->value[best[i]];
    float nat = n ? kernel->entropy(value, n) : 0;
    ct_os_fp_leave(fp);
    return nat;
}

static float cpu_logprob(struct ct_backend *b, const struct ct_logits *l, int32_t id, carat_logprob *top,
                         int k)
{
    const struct ct_kernel *kernel = &ct_cpu(b)->kernel;
    int32_t best[CT_MOST_TOLD];
    float most;

    assert(!l->id && id < l->n && k <= CT_MOST_TOLD);
    ct_fpenv fp = ct_os_fp_enter();
    float sum = kernel->log_sum(l->value, l->n, &most);
    int n = kernel->select(best, l, k, NULL, 0, NULL);
    for (int i = 0; i < n; i++)
        top[i] = (carat_logprob){best[i], (l->value[best[i]] - most) - sum};
    float own = (l->value[id] - most) - sum;
    ct_os_fp_leave(fp);
    return own;
}

static void cpu_top(struct ct_backend *base, const struct ct_logits *l, int k, carat_candidate *out)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    int n = b->kernel.select(b->draw.order, l, k, NULL, 0, b->draw.spare);

    assert(n == k);
    for (int i = 0; i < n; i++)
        out[i] = (carat_candidate){ct_logits_id(l, b->draw.order[i]), l->value[b->draw.order[i]]};
}

static int32_t cpu_draw(struct ct_backend *base, const struct ct_logits *l, const struct ct_draw *d)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    assert(l->n <= b->o.n_vocab);
    ct_fpenv fp = ct_os_fp_enter();
    int32_t id = b->kernel.draw(l, d, &b->draw);
    ct_os_fp_leave(fp);
    return id;
}

static int cpu_select(struct ct_backend *base, int32_t *place, const struct ct_logits *logits, int k,
                      const int32_t *excluded, int n_excluded)
{
    return ct_cpu(base)->kernel.select(place, logits, k, excluded, n_excluded, NULL);
}

static void cpu_input_norms(struct ct_backend *base, struct ct_input_norms *norms, ct_mat in, int row,
                            const struct ct_weight *w)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    b->kernel.input_norms(norms, ct_row(in, row), in.cols, ct_input_form(w, b->o.exact));
}

static int cpu_prune(struct ct_backend *base, int32_t *panels, int *rows, const struct ct_prune *p, float cap)
{
    const struct ct_kernel *k = &ct_cpu(base)->kernel;
    struct ct_prune test = *p;

    if (cap > 0 && p->bar > -INFINITY)
        test.bar = k->uncap(p->bar, cap);
    return k->prune(panels, rows, &test);
}

static void cpu_copy_out(struct ct_backend *b, float *to, ct_mat m, int row)
{
    (void)b;
    memcpy(to, ct_row(m, row), (size_t)m.cols * sizeof *to);
}

static void cpu_copy_in(struct ct_backend *b, ct_mat m, int row, const float *from)
{
    (void)b;
    memcpy(ct_row(m, row), from, (size_t)m.cols * sizeof *from);
}

void ct_cpu_told_verbs(struct ct_verbs *v)
{
    v->draw = cpu_draw;
    v->top = cpu_top;
    v->select = cpu_select;
    v->input_norms = cpu_input_norms;
    v->prune = cpu_prune;
    v->entropy = cpu_entropy;
    v->logprob = cpu_logprob;
    v->copy_out = cpu_copy_out;
    v->copy_in = cpu_copy_in;
}
