/* attend_avx512.c: attention of a tile of queries over a block of keys in vectors of 512 bits (NUMERICS.md section 7).
 * Scores and weighted sums are one product: lines of 16 keys, or of 16 channels, times numbers of up to twelve queries.
 * Between them: attend_wide.h. Heads that groups of 32 do not fill, and types of KV without a path here, are left to
 * ref_attend.c, and so is all that is done once for a query or a block. */
#include "kernel/attend_wide.h"

enum { TILE = 24 }; /* queries: twice the twelve whose sums fill the registers */

void ct_attend_query_avx2(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
void ct_attend_block_avx2(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                          int block, float scale, float cap, float *s);

INLINE size_t value_bytes(const enum ct_kv_type type)
{
    return type == CT_KV_F32 ? 4 : 2;
}

/* ---- products ---- */

/* Where the 16 pairs of lines of a group lie. */
struct lines {
    const uint8_t *at;
    size_t stride;       /* bytes between lines; for bf16, whose pairs are interleaved, between pairs */
    size_t apart;        /* bytes to the lines beside them */
    const uint8_t *soon; /* as many bytes, in a row, that will be read next; or NULL */
};

/* Sixteen values of each line of pair p. */
INLINE void line_values(vec v[2], const enum ct_kv_type type, const uint8_t *at, size_t stride, int p)
{
    if (type == CT_KV_BF16) {
        __m512i both = _mm512_loadu_si512((const void *)(at + (size_t)p * stride));
        v[0] = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
        v[1] = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int32_t)0xffff0000)));
        return;
    }
    UNROLL for (int odd = 0; odd < 2; odd++)
    {
        const uint8_t *line = at + (size_t)(2 * p + odd) * stride;
        v[odd] = type == CT_KV_F16 ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)line))
                                   : vec_load((const float *)(const void *)line);
    }
}

/* acc[t][16 * beside] += one group of lines times x[t][32]; the first group makes it. */
INLINE void add_group(float *acc, size_t ld_acc, const enum ct_kv_type type, const struct lines l,
                      const float *x, size_t ld_x, const int T, const int beside, bool first)
{
    const int bytes = beside * CT_GROUP * VEC * (int)value_bytes(type);
    vec sum[2][2][12]; /* [odd][beside][query] */

    for (int i = 0; l.soon && i < bytes; i += 64)
        _mm_prefetch((const char *)(l.soon + i), _MM_HINT_T1);
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int b = 0; b < beside; b++)
    {
        sum[0][b][t] = vec_all(0);
        sum[1][b][t] = vec_all(0);
    }
    _Pragma("GCC unroll 4") for (int p = 0; p < CT_GROUP / 2; p++)
    {
        vec v[2][2];
        UNROLL for (int b = 0; b < beside; b++)
            line_values(v[b], type, l.at + (size_t)b * l.apart, l.stride, p);
        UNROLL for (int odd = 0; odd < 2; odd++) UNROLL for (int t = 0; t < T; t++)
        {
            vec by = vec_all(x[(size_t)t * ld_x + (size_t)(2 * p + odd)]);
            UNROLL for (int b = 0; b < beside; b++) sum[odd][b][t] = vec_fma(v[b][odd], by, sum[odd][b][t]);
        }
    }
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int b = 0; b < beside; b++)
    {
        float *to = acc + (size_t)t * ld_acc + VEC * b;
        vec before = first ? vec_all(0) : vec_load(to);
        vec_store(to, vec_add(before, vec_add(sum[0][b][t], sum[1][b][t])));
    }
}

/* What a block asks of its products. */
struct work {
    struct ct_attended *a;
    const struct ct_queries *t;
    const uint8_t *k, *v; /* of the block */
    float *s;             /* scores, then weights, [query][ROW] */
    size_t dim;
    struct seen groups;
};

/* What is read after the products of keys from key j on, 32 or half of them: as many keys, or the first values. Of all
 * queries the first ask for it. */
INLINE const uint8_t *after(const struct work *w, size_t line, int i, int j, const bool values)
{
    const int next = j + CT_GROUP;

    if (i > 0 || (values && next >= w->groups.last))
        return NULL;
    if (!values && next >= w->groups.last)
        return w->v + (size_t)(w->groups.first + j % CT_GROUP) * line;
    return (values ? w->v : w->k) + (size_t)next * line;
}

/* Scores of T queries from query i on for the keys of panels from key j on, as many as lie beside each other. */
INLINE void score(const struct work *w, const enum ct_kv_type type, int i, int j, const int T,
                  const int beside)
{
    const size_t each = value_bytes(type), line = CT_KEY_PANEL * each, n = (size_t)w->t->n;
    const uint8_t *panel = w->k + (size_t)j * w->dim * each, *soon = after(w, w->dim * each, i, j, false);

    for (size_t d = 0; d < w->dim; d += CT_GROUP)
        add_group(w->s + i * ROW + j, ROW, type,
                  (struct lines){panel + d * line, type == CT_KV_BF16 ? 2 * line : line, w->dim * line,
                                 soon ? soon + d * line * (size_t)beside : NULL},
                  w->t->q + d * n + (size_t)i * CT_GROUP, CT_GROUP, T, beside, d == 0);
}

/* Adds the values of 32 keys from key j on times the weights of T queries. */
INLINE void add_values(const struct work *w, const enum ct_kv_type type, int i, int j, const int T,
                       const int beside)
{
    const size_t each = value_bytes(type), line = w->dim * each;
    const uint8_t *values = w->v + (size_t)j * line, *soon = after(w, line, i, j, true);

    for (size_t c = 0; c < w->dim; c += (size_t)(VEC * beside))
        add_group(w->a->out + (size_t)i * w->dim + c, w->dim, type,
                  (struct lines){values + c * (type == CT_KV_BF16 ? 4 : each),
                                 type == CT_KV_BF16 ? 2 * line : line, VEC * (type == CT_KV_BF16 ? 4 : each),
                                 soon ? soon + c * CT_GROUP * each : NULL},
                  w->s + i * ROW + j, ROW, T, beside, j == w->groups.first);
}

/* Either for all queries, keys from j on. Few queries take two panels, or strips of channels, to keep more sums in
 * flight. */
INLINE void multiply(const struct work *w, const enum ct_kv_type type, int j, const bool values)
{
#define PART(T, beside)                                                                                      \
    for (; w->t->n - i >= (T); i += (T)) {                                                                   \
        if (values)                                                                                          \
            add_values(w, type, i, j, T, beside);                                                            \
        else                                                                                                 \
            for (int b = 0; b < 2; b += (beside))                                                            \
                score(w, type, i, j + CT_KEY_PANEL * b, T, beside);                                          \
    }
    int i = 0;

    PART(12, 1)
    PART(8, 1)
    PART(4, 2)
    PART(2, 2)
    PART(1, 2)
#undef PART
}

INLINE void attend_type(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                        int block, float scale, float cap, float *s, const enum ct_kv_type type)
{
    const size_t dim = (size_t)kv->head_dim;
    const size_t at = (size_t)(block * CT_KEY_BLOCK % kv->capacity) * dim * value_bytes(type);
    const struct work w = {a, t,   (const uint8_t *)kv->k + at, (const uint8_t *)kv->v + at,
                           s, dim, seen_by_all(a, t, block)};

    for (int j = w.groups.first; j < w.groups.last; j += CT_GROUP)
        multiply(&w, type, j, false);
    weigh_all(a, t, block, w.groups, s, scale, cap, type == CT_KV_BF16 ? BF16_FLOATS : FLOATS);
    for (int j = w.groups.first; j < w.groups.last; j += CT_GROUP)
        multiply(&w, type, j, true);
}

/* ---- entries ---- */

/* Whether a head is attended here. */
static bool has_path(const struct ct_kv_head *kv)
{
    return kv->head_dim % CT_GROUP == 0 &&
           (kv->type == CT_KV_BF16 || kv->type == CT_KV_F16 || kv->type == CT_KV_F32);
}

/* A query in groups, [head_dim/32][n][32]: what is multiplied together lies together. */
void CT_NAME(ct_attend_query)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv)
{
    if (!has_path(kv)) {
        ct_attend_query_avx2(t, i, q, kv);
        return;
    }
    for (int d = 0; d < kv->head_dim; d += CT_GROUP) {
        float *to = t->q + d * t->n + i * CT_GROUP;
        for (int c = 0; c < CT_GROUP; c++)
            to[c] = kv->type == CT_KV_BF16 ? ct_bf16_round(q[d + c]) : q[d + c];
    }
}

void CT_NAME(ct_attend_block)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                              int block, float scale, float cap, float *s)
{
    if (!has_path(kv))
        ct_attend_block_avx2(a, t, kv, block, scale, cap, s);
    else if (kv->type == CT_KV_BF16)
        attend_type(a, t, kv, block, scale, cap, s, CT_KV_BF16);
    else if (kv->type == CT_KV_F16)
        attend_type(a, t, kv, block, scale, cap, s, CT_KV_F16);
    else
        attend_type(a, t, kv, block, scale, cap, s, CT_KV_F32);
}

void CT_NAME(ct_attend_init)(struct ct_kernel *k);
void CT_NAME(ct_attend_init)(struct ct_kernel *k)
{
    k->queries = TILE;
    k->attend_query = CT_NAME(ct_attend_query);
    k->attend_block = CT_NAME(ct_attend_block);
}
