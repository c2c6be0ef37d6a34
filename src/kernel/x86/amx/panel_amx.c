/* SPDX-License-Identifier: Apache-2.0 */
/* panel_amx.c: products over panels with AMX tiles, 16 tokens at a time: which tokens and types are theirs,
 * and how inputs lie for them. The products: panel_bytes_amx.c, panel_bf16_amx.c. Other tokens and types are
 * left to the level below (CT_BELOW). A tile of weights is lines of a panel, a tile of inputs what is written
 * here: rows of results are tokens, columns rows of the matrix. NUMERICS.md sections 4 and 5. */
#include "kernel/x86/amx/panel_amx.h"

#include "kernel/ref/ref_math.h"

/* Levels below: their products, and the inputs that AVX2 prepares for all of them. */
#define BELOW CT_PASTE(ct_panels_project, CT_BELOW)
void BELOW(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1, const struct ct_prepared *x,
           enum ct_input form, float *scratch, const struct ct_panels_next *next);
void ct_panels_prepare_avx2(struct ct_prepared *p, const float *x, size_t ldx, int t0, int t1);
void ct_prepare_input_avx2(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx, int t0,
                           int t1);

/* Tokens that a last tile may have at least; the others of it are zeros. Fewer are faster without. */
enum { FEWEST = 13 };

/* Tokens that tiles take, among them those that only fill the last one. */
static int tiled(const struct ct_prepared *p, enum ct_input form)
{
    const int over = p->n % TOKENS;

    if (form != CT_INPUT_BF16_LANES && (form != CT_INPUT_LANES || !p->tile))
        return 0;
    return p->n - over + (over >= FEWEST ? TOKENS : 0);
}

/* An input for the tiles, of n tokens, and one for the level below, behind it in the same memory. */
static struct ct_prepared head_of(const struct ct_prepared *p, int n)
{
    struct ct_prepared head = *p;
    head.n = CT_MIN(n, p->n);
    return head;
}

static struct ct_prepared rest_of(const struct ct_prepared *p, enum ct_input form, int n)
{
    const size_t values = (size_t)n * (size_t)ct_pad_group(p->cols);
    struct ct_prepared rest = *p;

    rest.n = p->n - n;
    rest.tile = NULL;
    if (form != CT_INPUT_LANES) {
        rest.value = p->value + values;
    } else {
        rest.q = p->q + values;
        rest.scale = p->scale + values / CT_GROUP;
        rest.sum = p->sum + values / CT_HALF;
    }
    return rest;
}

static void project_panels(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                           const struct ct_prepared *x, enum ct_input form, float *scratch,
                           const struct ct_panels_next *next)
{
    ct_assert_project(out, ldo, w, r0, r1, x, form);
    const int n = tiled(x, form);

    if (n > 0) {
        const struct ct_prepared head = head_of(x, n);
        const struct ct_panels_next *after = n < x->n ? NULL : next;
        if (form == CT_INPUT_LANES)
            CT_NAME(ct_project_bytes)(out, ldo, w, r0, r1, &head, after);
        else
            CT_NAME(ct_project_bf16)(out, ldo, w, r0, r1, &head, after);
    }
    if (n < x->n) {
        const struct ct_prepared rest = rest_of(x, form, n);
        BELOW(out + (size_t)n * ldo, ldo, w, r0, r1, &rest, form, scratch, next);
    }
}

/* ---- inputs: tokens of whole tiles in rows ---- */

/* Bytes as for the levels below, and again [group][16 tokens][32]. */
static void head_bytes(struct ct_prepared *p, const float *x, size_t ldx, int t0, int t1)
{
    const size_t cols = (size_t)p->cols;

    ct_panels_prepare_avx2(p, x, ldx, t0, t1);
    for (int t = t0; t < t1; t++)
        for (size_t k = 0; k < cols; k += CT_GROUP) {
            const int8_t *from =
                p->q + (size_t)(t / CT_LANES * CT_LANES) * cols + k * CT_LANES + 4 * (t % CT_LANES);
            int8_t *to = (int8_t *)p->tile + (size_t)(t / TOKENS * TOKENS) * cols + k * TOKENS +
                         CT_GROUP * (t % TOKENS);
            for (int i = 0; i < CT_GROUP; i += 4)
                memcpy(to + i, from + i * CT_LANES, 4);
        }
}

/* Two-byte values [chunk][16 tokens][32] where floats would lie. */
static void head_bf16(struct ct_prepared *p, const float *x, size_t ldx, int t0, int t1)
{
    const int padded = ct_pad_group(p->cols);

    for (int t = t0; t < t1; t++) {
        const float *in = x + (size_t)t * ldx;
        uint16_t *block = (uint16_t *)(void *)(p->value + (size_t)(t / TOKENS * TOKENS) * (size_t)padded);
        for (int k = 0; k < padded; k += CT_GROUP) {
            uint16_t *to = block + k * TOKENS + CT_GROUP * (t % TOKENS);
            int have = t < p->n ? CT_MIN(CT_GROUP, p->cols - k) : 0;
            for (int i = 0; i < have; i++)
                to[i] = (uint16_t)(ct_f32_bits(ct_bf16_round(in[k + i])) >> 16);
            for (int i = have; i < CT_GROUP; i++)
                to[i] = 0;
        }
    }
}

/* Tokens [t0, t1) of both parts; those of a last tile that nobody has are among them, since t1 is a multiple of
 * CT_LANES. */
static void prepare_panels(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx, int t0,
                           int t1)
{
    ct_assert_prepare(p, x, ldx, t0, t1);
    const int n = tiled(p, form);
    struct ct_prepared head = head_of(p, n), rest = rest_of(p, form, n);

    if (t0 < n && form == CT_INPUT_LANES)
        head_bytes(&head, x, ldx, t0, CT_MIN(t1, n));
    else if (t0 < n)
        head_bf16(&head, x, ldx, t0, CT_MIN(t1, n));
    if (t1 <= n || n >= p->n)
        return;
    x += (size_t)n * ldx;
    t0 = CT_MAX(t0 - n, 0);
    t1 -= n;
    if (form == CT_INPUT_LANES)
        ct_panels_prepare_avx2(&rest, x, ldx, t0, t1);
    else
        ct_prepare_input_avx2(&rest, CT_INPUT_BF16, x, ldx, t0, t1);
}

static void prepare_lanes(struct ct_prepared *p, const float *x, size_t ldx, int t0, int t1)
{
    prepare_panels(p, CT_INPUT_LANES, x, ldx, t0, t1);
}

static void prepare_input(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx, int t0,
                          int t1)
{
    if (form == CT_INPUT_BF16_LANES)
        prepare_panels(p, form, x, ldx, t0, t1);
    else
        ct_prepare_input_avx2(p, form, x, ldx, t0, t1);
}

void CT_NAME(ct_panels_init)(struct ct_kernel *k);
void CT_NAME(ct_panels_init)(struct ct_kernel *k)
{
    k->tiles = true;
    k->prepare_input = prepare_input;
    k->prepare_lanes = prepare_lanes;
    k->project_panels = project_panels;
}
