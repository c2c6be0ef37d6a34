/* SPDX-License-Identifier: Apache-2.0 */
/* test_verify_kernels.c: a level of kernels of which one entry gives another bit than ref is found and named
 * by carat_verify's comparison, whichever entry it is. */
#include "verify_util.h"

static struct ct_kernel ref; /* what the broken kernels below stand on */

static void nudge(void *value)
{
    *(uint8_t *)value ^= 1;
}

static void bad_dequantize_row(float *out, const struct ct_weight *w, int row, float *scratch)
{
    ref.dequantize_row(out, w, row, scratch);
    if (row == 5)
        nudge(&out[w->cols - 1]);
}
static void bad_prepare(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                        struct ct_input_part part)
{
    ref.prepare_input(p, form, x, ldx, part);
    if (form == CT_INPUT_Q8)
        p->scale[0] *= 1.5f;
    else
        p->value[0] *= 1.5f;
}
static void bad_prepare_lanes(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    ref.prepare_lanes(p, x, ldx, part);
    p->scale[0] *= 1.5f;
}
static void bad_project(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                        const struct ct_prepared *x, enum ct_input form, float *scratch,
                        const struct ct_panels_next *next)
{
    ref.project(out, ldo, w, r0, r1, x, form, scratch, next);
    if (x->n == 33)
        nudge(&out[32 * ldo + (size_t)r1 - 1]);
}
static void bad_norm(float *y, const float *x, const float *w, int n, float eps)
{
    ref.norm(y, x, w, n, eps);
    nudge(&y[n - 1]);
}
static void bad_add(float *x, const float *y, int n)
{
    ref.add(x, y, n);
    nudge(&x[0]);
}
static void bad_scale(float *x, float by, int n)
{
    ref.scale(x, by, n);
    nudge(&x[n / 2]);
}
static void bad_geglu(float *gate, const float *up, int n)
{
    ref.geglu(gate, up, n);
    nudge(&gate[n - 1]);
}
static void bad_softcap(float *x, float cap, int n)
{
    ref.softcap(x, cap, n);
    nudge(&x[n - 1]);
}
static void bad_frequencies(double *inv, int dim, double base, double factor)
{
    ref.rope_frequencies(inv, dim, base, factor);
    nudge(&inv[dim / 2 - 1]);
}
static void bad_table(float *cosine, float *sine, const double *inv, int pairs, int position)
{
    ref.rope_table(cosine, sine, inv, pairs, position);
    if (position == 777)
        nudge(&sine[pairs - 1]);
}
static void bad_rope(float *x, const float *cosine, const float *sine, int pairs, int dim)
{
    ref.rope(x, cosine, sine, pairs, dim);
    nudge(&x[dim - 1]);
}
static void bad_store(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    ref.kv_write(kv, position, k, v);
    if (kv->type == CT_KV_F16 && position == 299)
        nudge(kv->v);
}
static void bad_store_q8(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    ref.kv_write_q8(kv, position, k, v);
    if (position == 0)
        nudge(kv->k);
}
static void bad_query(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv)
{
    ref.attend_query(t, i, q, kv);
    t->q[i * kv->head_dim] *= 1.5f;
}
static void bad_block(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                      int block, float scale, float cap, float *s)
{
    ref.attend_block(a, t, kv, block, scale, cap, s);
    if (block == 1)
        a->sum[t->n - 1] *= 1.5f;
}
static void bad_merge(struct ct_attended *all, const struct ct_attended *block, int n, int dim)
{
    ref.attend_merge(all, block, n, dim);
    nudge(&all->out[(n - 1) * dim]);
}
static void bad_finish(float *out, const struct ct_attended *all, int i, int dim)
{
    ref.attend_finish(out, all, i, dim);
    nudge(&out[dim - 1]);
}
static bool bad_finite(const float *x, size_t n)
{
    return ref.finite(x, n - 1);
}
static float bad_log_sum(const float *x, int n, float *top)
{
    float sum = ref.log_sum(x, n, top);
    nudge(&sum);
    return sum;
}
static float bad_entropy(const float *x, int n)
{
    float nat = ref.entropy(x, n);
    nudge(&nat);
    return nat;
}
static int32_t bad_draw(const struct ct_logits *l, const struct ct_draw *d, struct ct_draw_room *room)
{
    return ref.draw(l, d, room) ^ (d->temperature == 0);
}

static int bad_select(int32_t *best, const struct ct_logits *l, int k, const int32_t *excluded,
                      int n_excluded, void *spare)
{
    int n = ref.select(best, l, k, excluded, n_excluded, spare);
    nudge(&best[n - 1]);
    return n;
}
static void bad_input_norms(struct ct_input_norms *out, const float *x, int n, enum ct_input form)
{
    ref.input_norms(out, x, n, form);
    nudge(out);
}
static int bad_prune(int32_t *panels, int *rows, const struct ct_prune *p)
{
    int n = ref.prune(panels, rows, p);
    return n > 0 ? n - 1 : 1;
}
static float bad_uncap(float capped, float cap)
{
    float lowest = ref.uncap(capped, cap);
    nudge(&lowest);
    return lowest;
}

/* The verdict of check kernels on one level beside ref. */
static int levels_of(const carat_model *m, const struct ct_kernel *second, char text[CT_DETAIL])
{
    static const carat_verify_options o = {.size = sizeof o};
    const struct ct_kernel level[] = {ref, *second};
    struct ct_verify *v = calloc(1, sizeof *v);
    int verdict = CT_NOTHING;
    v->model = m;
    v->o = &o;
    OK(ct_pool_create(&v->pool, 2, err));
    OK(ct_verify_levels(v, level, 2, &verdict, err));
    memcpy(text, v->detail, CT_DETAIL);
    ct_pool_destroy(v->pool);
    free(v);
    return verdict;
}

static void a_kernel_that_differs_is_named(void **state)
{
    (void)state;
    struct ct_cpu cpu;
    struct ct_kernel k;
    char text[CT_DETAIL], words[64];
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&ref, &cpu, "ref"));
    carat_model *models[] = {open_path(CT_TEST_DATA "/vectors/models/gemma2-bf16"), /* has soft-caps */
                             open_path(CT_TEST_DATA "/vectors/gguf/q4_k_m.gguf")};
    k = ref;
    k.isa = "copy";
    for (int i = 0; i < 2; i++) {
        assert_int_equal(levels_of(models[i], &k, text), CT_PASSED);
        holds(text, "calls give the bits of ref at each level: ref, copy");
    }
#define BROKEN(model, entry, function, name)                                                                 \
    do {                                                                                                     \
        k = ref;                                                                                             \
        k.isa = "broken";                                                                                    \
        k.entry = function;                                                                                  \
        assert_int_equal(levels_of(models[model], &k, text), CT_FAILED);                                     \
        snprintf(words, sizeof words, "%s of level broken gives ", name);                                    \
        holds(text, words);                                                                                  \
    } while (0)
    BROKEN(0, dequantize_row, bad_dequantize_row, "dequantize_row");
    BROKEN(0, prepare_input, bad_prepare, "project");
    BROKEN(1, prepare_input, bad_prepare, "project");
    BROKEN(1, prepare_lanes, bad_prepare_lanes, "project");
    BROKEN(0, project, bad_project, "project");
    holds(text, ", rows, ref ");
    BROKEN(1, project_panels, bad_project, "project");
    holds(text, ", panels, ref ");
    BROKEN(0, norm, bad_norm, "norm");
    BROKEN(0, add, bad_add, "add");
    BROKEN(0, scale, bad_scale, "scale");
    BROKEN(0, geglu, bad_geglu, "geglu");
    BROKEN(0, softcap, bad_softcap, "softcap");
    BROKEN(0, rope_frequencies, bad_frequencies, "rope");
    BROKEN(1, rope_table, bad_table, "rope");
    BROKEN(1, rope, bad_rope, "rope");
    BROKEN(0, kv_write, bad_store, "attention");
    BROKEN(0, kv_write_q8, bad_store_q8, "attention");
    BROKEN(0, attend_query, bad_query, "attention");
    BROKEN(0, attend_block, bad_block, "attention");
    BROKEN(1, attend_block_q8, bad_block, "attention");
    BROKEN(0, attend_merge, bad_merge, "attention");
    BROKEN(0, attend_finish, bad_finish, "attention");
    BROKEN(0, finite, bad_finite, "finite");
    BROKEN(0, log_sum, bad_log_sum, "log_sum");
    BROKEN(0, entropy, bad_entropy, "entropy");
    BROKEN(0, draw, bad_draw, "draw");
    BROKEN(0, select, bad_select, "select");
    BROKEN(0, input_norms, bad_input_norms, "input_norms");
    BROKEN(0, prune, bad_prune, "prune");
    BROKEN(0, uncap, bad_uncap, "uncap");
#undef BROKEN
    carat_model_close(models[0]);
    carat_model_close(models[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_differs_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
