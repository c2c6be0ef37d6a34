/* SPDX-License-Identifier: Apache-2.0 */
/* panel_amx.c: products over panels with AMX tiles, 16 tokens at a time: which tokens and types are theirs,
 * and how inputs lie for them. The products: panel_bytes_amx.c, panel_bf16_amx.c. Other tokens and types are
 * left to the level below (CT_BELOW). A tile of weights is lines of a panel, a tile of inputs what is written
 * here: rows of results are tokens, columns rows of the matrix. NUMERICS.md sections 4 and 5. */
#include "kernel/x86/amx/panel_amx.h"

#include "kernel/x86/avx512/quantize_avx512.h"

/* Levels below: their products, and what they make of inputs. */
#define BELOW       CT_PASTE(ct_panels_project, CT_BELOW)
#define BELOW_LANES CT_PASTE(ct_lanes_prepare, CT_BELOW_ATTEND)
void BELOW(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1, const struct ct_prepared *x,
           enum ct_input form, float *scratch, const struct ct_panels_next *next);
void BELOW_LANES(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part);
void ct_prepare_input_avx2(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                           struct ct_input_part part);

/* Tokens that a last tile may have at least; the others of it are zeros. Fewer are faster without. */
enum { FEWEST = 13 };

/* Tokens that tiles take, among them those that only fill the last one. */
static int tiled(const struct ct_prepared *p, enum ct_input form)
{
    const int over = p->n % TOKENS;

    if (form != CT_INPUT_BF16_LANES && form != CT_INPUT_LANES)
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

/* Of each 16 tokens, [group][16] of these: 32 bytes, scale, scale times their sum where levels below have the
 * sum, and behind those of all tokens the sums of both halves in 16 bits each. */
static void head_bytes(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    const size_t groups = (size_t)(p->cols / CT_GROUP);
    int32_t *pair = p->sum + ct_round_up((size_t)p->n, TOKENS) * groups;

    for (int t = part.t0; t < part.t1; t += EIGHT, x += EIGHT * ldx)
        for (int g = part.g0; g < part.g1; g++) {
            const size_t at = (size_t)(t / TOKENS * TOKENS) * groups + (size_t)(g * TOKENS + t % TOKENS);
            const struct eight_groups eight =
                quantize_eight(x + (g - part.g0) * CT_GROUP, ldx, CT_MIN(EIGHT, p->n - t));
            __m512i words[EIGHT / 2];
            __m256i half[2];
            UNROLL for (int i = 0; i < EIGHT / 2; i++) _mm512_storeu_si512(
                (void *)(p->q + at * CT_GROUP + (size_t)(LINE_BYTES * i)), pair_in_order(eight.pair[i]));
            words_side_by_side(words, &eight);
            sums_of_halves(half, words);
            const __m256 sum = _mm256_cvtepi32_ps(_mm256_add_epi32(half[0], half[1]));
            _mm256_storeu_ps(p->scale + at, eight.scale);
            _mm256_storeu_ps((float *)(void *)(p->sum + at), _mm256_mul_ps(eight.scale, sum));
            _mm256_storeu_si256((__m256i *)(void *)(pair + at), both_halves(half));
        }
}

/* 16 values as ct_bf16_round has them, in two bytes. */
INLINE __m256i two_bytes(__m512 v)
{
    const __m512i quiet = _mm512_or_si512(as_bits(v), _mm512_set1_epi32(0x400000));
    const __m512 number =
        _mm512_mask_mov_ps(fvec_bf16_round(v), _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), as_floats(quiet));
    const __m512 size = fvec_and(number, 0x7fffffffu);
    const __mmask16 counts = _mm512_cmp_ps_mask(size, _mm512_set1_ps(0x1p-50f), _CMP_NLT_UQ);

    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(as_bits(_mm512_maskz_mov_ps(counts, number)), 16));
}

/* A row of a tile. */
INLINE void put_row(void *to, const float *x)
{
    const __m512i low = _mm512_castsi256_si512(two_bytes(_mm512_loadu_ps(x)));
    _mm512_storeu_si512(to, _mm512_inserti64x4(low, two_bytes(_mm512_loadu_ps(x + CT_HALF)), 1));
}

/* The same of fewer values, and of none. */
static void put_part(void *to, const float *x, int n)
{
    float row[CT_GROUP] = {0};

    if (n > 0)
        memcpy(row, x, (size_t)n * sizeof *row);
    put_row(to, row);
}

/* Of each 16 tokens, two-byte values [chunk][16][32]: half of the memory where floats would lie. */
static void head_bf16(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    const int chunks = ct_pad_group(p->cols) / CT_GROUP;

    for (int t = part.t0; t < part.t1; t++, x += ldx) {
        const size_t block = (size_t)(t / TOKENS) * (size_t)chunks;
        for (int c = part.g0; c < part.g1; c++) {
            const int have = t < p->n ? CT_MIN(p->cols - c * CT_GROUP, CT_GROUP) : 0;
            uint8_t *to =
                (uint8_t *)p->value + ((block + (size_t)c) * TOKENS + (size_t)(t % TOKENS)) * LINE_BYTES;
            const float *in = x + (c - part.g0) * CT_GROUP;
            if (have == CT_GROUP)
                put_row(to, in);
            else
                put_part(to, in, have);
        }
    }
}

/* The tokens of a part of both inputs; those of a last tile that nobody has are among them, since t1 is a
 * multiple of CT_LANES. */
static void prepare_panels(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                           struct ct_input_part part)
{
    ct_assert_prepare(p, x, ldx, part);
    const int n = tiled(p, form);
    struct ct_prepared head = head_of(p, n), rest = rest_of(p, form, n);
    const struct ct_input_part of_head = {part.t0, CT_MIN(part.t1, n), part.g0, part.g1};
    const struct ct_input_part of_rest = {CT_MAX(part.t0 - n, 0), part.t1 - n, part.g0, part.g1};

    if (part.t0 < n && form == CT_INPUT_LANES)
        head_bytes(&head, x, ldx, of_head);
    else if (part.t0 < n)
        head_bf16(&head, x, ldx, of_head);
    if (part.t1 <= n || n >= p->n)
        return;
    x += (size_t)CT_MAX(n - part.t0, 0) * ldx;
    if (form == CT_INPUT_LANES)
        BELOW_LANES(&rest, x, ldx, of_rest);
    else
        ct_prepare_input_avx2(&rest, CT_INPUT_BF16, x, ldx, of_rest);
}

static void prepare_lanes(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    prepare_panels(p, CT_INPUT_LANES, x, ldx, part);
}

static void prepare_input(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                          struct ct_input_part part)
{
    if (form == CT_INPUT_BF16_LANES)
        prepare_panels(p, form, x, ldx, part);
    else
        ct_prepare_input_avx2(p, form, x, ldx, part);
}

void CT_NAME(ct_panels_init)(struct ct_kernel *k);
void CT_NAME(ct_panels_init)(struct ct_kernel *k)
{
    k->prepare_input = prepare_input;
    k->prepare_lanes = prepare_lanes;
    k->project_panels = project_panels;
}
