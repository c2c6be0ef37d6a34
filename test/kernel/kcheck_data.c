/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_data.c: kcheck's random numbers, hard values, fenced memory and comparisons. */
#define _DEFAULT_SOURCE
#include "kcheck.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "quant/blocks.h"

#define PEN_BYTES ((size_t)4 << 20)
#define MARGIN    256 /* bytes of canary that are checked where there is room */
#define CANARY    0xa5

/* ---- random numbers ---- */

uint32_t kc_random(struct kcheck *c)
{
    uint64_t z = c->random += 0x9e3779b97f4a7c15u; /* SplitMix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

int kc_below(struct kcheck *c, int n)
{
    return (int)((uint64_t)kc_random(c) * (uint64_t)n >> 32);
}

float kc_uniform(struct kcheck *c, float lo, float hi)
{
    return lo + (hi - lo) * ((float)(kc_random(c) >> 8) * 0x1p-24f);
}

/* ---- hard values ---- */

static const float hard[] = {0,
                             -0.0f,
                             1,
                             -1,
                             0x1p-149f,
                             -0x1p-149f,
                             0x1.fffffcp-127f,
                             0x1p-126f,
                             0x1p-50f,
                             0x1.ffp-51f,
                             0x1.fdp-51f,
                             0x1.01p0f,
                             0x1.03p0f,
                             0x1.fep-51f,
                             -0x1p-50f,
                             0x1p-90f,
                             0x1.fffffep-91f,
                             FLT_MAX,
                             -FLT_MAX,
                             0x1p-114f,
                             0x1p60f,
                             0x1p-60f,
                             0x1.fep127f,
                             0x1.ff8p127f};

static float hard_value(struct kcheck *c)
{
    return hard[kc_below(c, (int)CT_COUNT(hard))];
}

/* One group of 32 that quantisation must get right. */
static void fill_group(struct kcheck *c, float *x, size_t n)
{
    static const float edges[] = {0x1.fffffep-91f, 0x1p-90f, -0x1p-90f, 0x1.000002p-90f};
    float scale = 1, edge = edges[kc_below(c, (int)CT_COUNT(edges))];
    int kind = kc_below(c, 8);

    for (size_t i = 0; i < n; i++)
        switch (kind) {
        case 0:
            x[i] = kc_chance(c, 2) ? 0 : -0.0f;
            break;
        case 1: /* the largest just below, at or just above the threshold */
            x[i] = i == 0 ? edge : kc_uniform(c, -0x1.8p-91f, 0x1.8p-91f);
            break;
        case 2: /* subnormal */
            x[i] = ct_f32_from_bits(kc_random(c) & 0x807fffffu);
            break;
        case 3: /* ties: with 127 among them the factor is 1 */
            x[i] = i == 0 ? 127 : (float)kc_below(c, 507) / 2 - 126.5f;
            break;
        case 4: /* one among small ones */
            x[i] = i == 5 ? 1000 : kc_uniform(c, -1e-3f, 1e-3f);
            break;
        case 5: /* all at the edge */
            scale = i == 0 ? kc_uniform(c, 0x1p-80f, 4) : scale;
            x[i] = kc_chance(c, 2) ? scale : -scale;
            break;
        case 6:
            x[i] = hard_value(c);
            break;
        default:
            x[i] = kc_uniform(c, -4, 4);
        }
}

void kc_fill_finite(struct kcheck *c, float *x, size_t n)
{
    bool ordinary = kc_chance(c, 3);

    for (size_t g = 0; g < n; g += CT_GROUP) {
        size_t m = CT_MIN(n - g, (size_t)CT_GROUP);
        for (size_t i = g; i < g + m; i++)
            x[i] = kc_uniform(c, -4, 4);
        if (!ordinary && !kc_chance(c, 3))
            fill_group(c, x + g, m);
    }
}

void kc_fill_inputs(struct kcheck *c, float *x, size_t n)
{
    static const uint32_t odd[] = {0x7f800000u, 0xff800000u, 0x7fc00000u, 0x7f800001u, 0xffffffffu};

    kc_fill_finite(c, x, n);
    if (n && kc_chance(c, 8))
        for (int i = 0; i < 3; i++)
            x[kc_below(c, (int)n)] = ct_f32_from_bits(odd[kc_below(c, (int)CT_COUNT(odd))]);
}

/* Where the blocks of a type keep 16-bit factors; a block has at most two. */
static const struct factors {
    int count, at[2];
    bool bf16;
} factors[CT_TYPE_COUNT] = {
#define ONE(s)                                                                                               \
    {                                                                                                        \
        1, {offsetof(struct ct_block_##s, d)}, false                                                         \
    }
#define TWO(s, m)                                                                                            \
    {                                                                                                        \
        2, {offsetof(struct ct_block_##s, d), offsetof(struct ct_block_##s, m)}, false                       \
    }
    [CT_Q8_0] = ONE(q8_0),
    [CT_Q4_0] = ONE(q4_0),
    [CT_Q4_1] = TWO(q4_1, m),
    [CT_Q5_0] = ONE(q5_0),
    [CT_Q5_1] = TWO(q5_1, m),
    [CT_Q2_K] = TWO(q2_k, dmin),
    [CT_Q3_K] = ONE(q3_k),
    [CT_Q4_K] = TWO(q4_k, dmin),
    [CT_Q5_K] = TWO(q5_k, dmin),
    [CT_Q6_K] = ONE(q6_k),
    [CT_IQ4_NL] = ONE(iq4_nl),
    [CT_IQ4_XS] = ONE(iq4_xs),
    [CT_IQ2_XXS] = ONE(iq2_xxs),
    [CT_IQ2_XS] = ONE(iq2_xs),
    [CT_IQ2_S] = ONE(iq2_s),
    [CT_IQ3_XXS] = ONE(iq3_xxs),
    [CT_IQ3_S] = ONE(iq3_s),
    [CT_IQ1_S] = ONE(iq1_s),
    [CT_TQ1_0] = ONE(tq1_0),
    [CT_TQ2_0] = ONE(tq2_0),
    [CT_Q1_0] = ONE(q1_0),
    [CT_Q2_0] = ONE(q2_0),
    [CT_I8] = {2, {offsetof(struct ct_block_i8, scale), offsetof(struct ct_block_i8, zero)}, true},
#undef ONE
#undef TWO
};

static void put_value(enum ct_type type, uint8_t *at, float v)
{
    uint16_t h = type == CT_F16 ? ct_f32_to_f16(v) : ct_f32_to_bf16(v);
    memcpy(at, type == CT_F32 ? (const void *)&v : &h, type == CT_F32 ? 4 : 2);
}

static void fill_plain(struct kcheck *c, enum ct_type type, uint8_t *data, size_t bytes, enum kc_bits bits)
{
    size_t size = (size_t)ct_type_info(type)->bytes;

    for (size_t i = 0; i < bytes; i += size)
        put_value(type, data + i,
                  bits == KC_EXTREME_CODES || (bits == KC_EXTREME_FACTORS && kc_chance(c, 20))
                      ? hard_value(c)
                      : kc_uniform(c, -1, 1));
}

/* The bits of an IQ1_M block's factor are spread over its scales, four on top of each. */
static void spread_factor(struct ct_block_iq1_m *b, uint16_t d)
{
    for (int i = 0; i < 4; i++)
        b->scale[i] = (uint16_t)((b->scale[i] & 0xfff) | (d >> 4 * i & 15) << 12);
}

static void fill_blocks(struct kcheck *c, enum ct_type type, uint8_t *data, size_t bytes, enum kc_bits bits)
{
    static const uint8_t codes[] = {0x00, 0x80, 0xff, 0x7f, 0x88, 0x0f, 0xf0, 0x81};
    static const uint8_t scales[] = {0, 1, 7, 8, 0x7e, 0x7f, 0xff}; /* of NVFP4 */
    static const uint16_t halves[] = {0, 0x8000, 1, 0x3ff, 0x8001, 0x400, 0x7bff, 0xfbff, 0x3c00};
    const struct factors *f = &factors[type];
    size_t block = (size_t)ct_type_info(type)->bytes;

    for (uint8_t *b = data; b < data + bytes; b += block) {
        uint8_t same = codes[kc_below(c, (int)CT_COUNT(codes))];
        for (size_t i = 0; bits == KC_EXTREME_CODES && i < block; i++)
            b[i] = kc_chance(c, 4) ? codes[kc_below(c, (int)CT_COUNT(codes))] : same;
        for (int i = 0; i < f->count; i++) {
            float v = kc_uniform(c, -0.1f, 0.1f);
            uint16_t h = f->bf16 ? ct_f32_to_bf16(v) : ct_f32_to_f16(v);
            if (bits == KC_EXTREME_FACTORS)
                h = halves[kc_below(c, (int)CT_COUNT(halves))];
            memcpy(b + f->at[i], &h, 2);
        }
        if (type == CT_IQ1_M)
            spread_factor((struct ct_block_iq1_m *)b, bits == KC_EXTREME_FACTORS
                                                          ? halves[kc_below(c, (int)CT_COUNT(halves))]
                                                          : ct_f32_to_f16(kc_uniform(c, -0.1f, 0.1f)));
        for (int i = 0; type == CT_NVFP4 && i < 4; i++)
            b[i] = bits == KC_EXTREME_FACTORS ? scales[kc_below(c, (int)CT_COUNT(scales))]
                                              : (uint8_t)(8 + kc_below(c, 64));
        if (type == CT_MXFP4)
            b[0] = (uint8_t)(bits == KC_EXTREME_FACTORS ? 255 * kc_below(c, 2) + kc_below(c, 2)
                                                        : 120 + kc_below(c, 10));
    }
}

void kc_fill_weights(struct kcheck *c, enum ct_type type, uint8_t *data, size_t bytes, enum kc_bits bits)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)kc_random(c);
    if (bits == KC_ANY_BITS)
        return;
    if (type == CT_F32 || type == CT_F16 || type == CT_BF16)
        fill_plain(c, type, data, bytes, bits);
    else if (type != CT_SFP)
        fill_blocks(c, type, data, bytes, bits);
}

/* ---- fenced memory ---- */

static void map(struct kc_pen *p)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *m =
        mmap(NULL, PEN_BYTES + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (m == MAP_FAILED || mprotect(m + page, PEN_BYTES, PROT_READ | PROT_WRITE)) {
        perror("kcheck: mmap");
        exit(2);
    }
    p->low = m + page;
    p->high = p->low + PEN_BYTES;
}

static size_t margin(size_t room)
{
    return CT_MIN(room, (size_t)MARGIN);
}

void *kc_take(struct kcheck *c, size_t bytes, size_t align)
{
    struct kc_pen *p = &c->pen[c->pens++];

    if (c->pens > KC_PENS || bytes > PEN_BYTES - MARGIN - c->room) {
        fprintf(stderr, "kcheck: a case wants more memory than there is\n");
        exit(2);
    }
    if (!p->low)
        map(p);
    p->bytes = bytes;
    /* three of four end at the forbidden page, the others begin behind one, a little later where that is
     * allowed */
    p->at = p->high - ct_round_up(c->room, 64) - ct_round_up(bytes, align);
    if (kc_chance(c, 4))
        p->at = p->low + (size_t)kc_below(c, 2) * (size_t)kc_below(c, 64) / align * align;
    size_t before = margin((size_t)(p->at - p->low)), after = margin((size_t)(p->high - p->at) - bytes);
    memset(p->at - before, CANARY, before + bytes + after);
    return p->at;
}

static struct kc_pen *pen_of(struct kcheck *c, const void *at)
{
    for (int i = 0; i < c->pens; i++)
        if (c->pen[i].at == at)
            return &c->pen[i];
    abort();
}

static void protect(const struct kc_pen *p, int how)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (size_t)(p->at - p->low) / page * page;
    size_t to = ct_round_up((size_t)(p->at - p->low) + p->bytes, page);
    if (to > from && mprotect(p->low + from, to - from, how)) /* qemu refuses 0 bytes */
        perror("kcheck: mprotect");
}

void kc_freeze(struct kcheck *c, const void *at)
{
    struct kc_pen *p = pen_of(c, at);
    protect(p, PROT_READ);
    p->frozen = true;
}

static void fail(struct kcheck *c, const char *what)
{
    if (c->failures++ < 20)
        printf("DIFFERENT: %s of level %s, %s: %s; again with --seed %llu --time 0\n", c->entry,
               c->level[c->now].isa, c->shape, what, (unsigned long long)c->case_seed);
}

void kc_release(struct kcheck *c, int mark)
{
    while (c->pens > mark) {
        struct kc_pen *p = &c->pen[--c->pens];
        size_t before = margin((size_t)(p->at - p->low)),
               after = margin((size_t)(p->high - p->at) - p->bytes);
        for (size_t i = 1; i <= before; i++)
            if (p->at[-(ptrdiff_t)i] != CANARY) {
                fail(c, "wrote before the beginning of a buffer");
                break;
            }
        for (size_t i = 0; i < after; i++)
            if (p->at[p->bytes + i] != CANARY) {
                fail(c, "wrote behind the end of a buffer");
                break;
            }
        if (p->frozen)
            protect(p, PROT_READ | PROT_WRITE);
        p->frozen = false;
    }
}

/* ---- comparison ---- */

static void enter(struct ct_case *cases, int level, const char *entry, const char *how)
{
    struct kcheck *c = (struct kcheck *)cases;
    int i = 0;

    (void)how;
    c->now = level;
    c->entry = entry;
    while (c->done[i].name && strcmp(c->done[i].name, entry) != 0)
        if (++i == KC_ENTRIES)
            abort();
    c->done[i].name = entry;
    c->done[i].cases[level]++;
}

static bool keep(struct ct_case *cases, int place, const void *data, size_t bytes)
{
    struct kcheck *c = (struct kcheck *)cases;

    if (bytes > c->want[place].bytes) {
        free(c->want[place].data);
        c->want[place].data = malloc(bytes);
        c->want[place].bytes = bytes;
    }
    if (!c->want[place].data)
        abort();
    memcpy(c->want[place].data, data, bytes);
    return true;
}

static void compare_floats(struct ct_case *cases, int place, const float *got, size_t n)
{
    struct kcheck *c = (struct kcheck *)cases;
    const float *want = c->want[place].data;
    char text[160];

    for (size_t i = 0; i < n; i++) {
        uint32_t w, g;
        memcpy(&w, want + i, 4);
        memcpy(&g, got + i, 4);
        bool both_nan = (w & 0x7fffffffu) > 0x7f800000u && (g & 0x7fffffffu) > 0x7f800000u;
        if (w == g || both_nan) /* payloads are outside the promise */
            continue;
        snprintf(text, sizeof text, "value %zu of %zu is %a (%08x), of ref %a (%08x)", i, n,
                 (double)ct_f32_from_bits(g), g, (double)ct_f32_from_bits(w), w);
        fail(c, text);
        return;
    }
}

static void compare_bytes(struct ct_case *cases, int place, const void *got, size_t n)
{
    struct kcheck *c = (struct kcheck *)cases;
    const uint8_t *w = c->want[place].data, *g = got;
    char text[160];

    for (size_t i = 0; i < n; i++)
        if (w[i] != g[i]) {
            snprintf(text, sizeof text, "byte %zu of %zu is %02x, of ref %02x", i, n, g[i], w[i]);
            fail(c, text);
            return;
        }
}

/* ---- what cases ask for ---- */

static void *take(struct ct_case *c, size_t bytes, size_t align)
{
    return kc_take((struct kcheck *)c, bytes, align);
}

static int mark(const struct ct_case *c)
{
    return ((const struct kcheck *)c)->pens;
}

static void release(struct ct_case *c, int to)
{
    kc_release((struct kcheck *)c, to);
}

static void freeze(struct ct_case *c, const void *at)
{
    kc_freeze((struct kcheck *)c, at);
}

static int below(struct ct_case *c, int n)
{
    return kc_below((struct kcheck *)c, n);
}

void kc_host(struct kcheck *c)
{
    c->cases = (struct ct_case){.level = c->level,
                                .n_level = c->n_level,
                                .take = take,
                                .mark = mark,
                                .release = release,
                                .freeze = freeze,
                                .enter = enter,
                                .keep = keep,
                                .compare_floats = compare_floats,
                                .compare_bytes = compare_bytes,
                                .below = below};
}
