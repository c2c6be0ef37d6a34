/* SPDX-License-Identifier: Apache-2.0 */
/* quant.c: the table of stored types. To teach carat a type: a constant in quant.h, its block in blocks.h,
 * how it expands to groups in expand.c, one row here (and its row leaves `foreign`). */
#include "quant/quant.h"

#include "quant/blocks.h"
#include "quant/codec.h"

/* name, block, bytes, GGUF number, safetensors dtype, dequantize, expand, halves, minimum */
static const struct ct_type_info types[] = {
    [CT_F32] = {"F32", 1, 4, 0, "F32", ct_dequantize_f32, NULL, false, false},
    [CT_F16] = {"F16", 1, 2, 1, "F16", ct_dequantize_f16, NULL, false, false},
    [CT_BF16] = {"BF16", 1, 2, 30, "BF16", ct_dequantize_bf16, NULL, false, false},
    [CT_Q8_0] = {"Q8_0", 32, sizeof(struct ct_block_q8_0), 8, NULL, NULL, ct_expand_q8_0, false, false},
    [CT_Q4_0] = {"Q4_0", 32, sizeof(struct ct_block_q4_0), 2, NULL, NULL, ct_expand_q4_0, false, false},
    [CT_Q4_1] = {"Q4_1", 32, sizeof(struct ct_block_q4_1), 3, NULL, NULL, ct_expand_q4_1, false, true},
    [CT_Q5_0] = {"Q5_0", 32, sizeof(struct ct_block_q5_0), 6, NULL, NULL, ct_expand_q5_0, false, false},
    [CT_Q5_1] = {"Q5_1", 32, sizeof(struct ct_block_q5_1), 7, NULL, NULL, ct_expand_q5_1, false, true},
    [CT_Q2_K] = {"Q2_K", 256, sizeof(struct ct_block_q2_k), 10, NULL, NULL, ct_expand_q2_k, true, true},
    [CT_Q3_K] = {"Q3_K", 256, sizeof(struct ct_block_q3_k), 11, NULL, NULL, ct_expand_q3_k, true, false},
    [CT_Q4_K] = {"Q4_K", 256, sizeof(struct ct_block_q4_k), 12, NULL, NULL, ct_expand_q4_k, false, true},
    [CT_Q5_K] = {"Q5_K", 256, sizeof(struct ct_block_q5_k), 13, NULL, NULL, ct_expand_q5_k, false, true},
    [CT_Q6_K] = {"Q6_K", 256, sizeof(struct ct_block_q6_k), 14, NULL, NULL, ct_expand_q6_k, true, false},
    [CT_IQ4_NL] = {"IQ4_NL", 32, sizeof(struct ct_block_iq4_nl), 20, NULL, NULL, ct_expand_iq4_nl, false,
                   false},
    [CT_IQ4_XS] = {"IQ4_XS", 256, sizeof(struct ct_block_iq4_xs), 23, NULL, NULL, ct_expand_iq4_xs, false,
                   false},
    [CT_MXFP4] = {"MXFP4", 32, sizeof(struct ct_block_mxfp4), 39, NULL, NULL, ct_expand_mxfp4, false, false},
    [CT_SFP] = {"SFP", 1, 1, -1, NULL, ct_dequantize_sfp, NULL, false, false},
    [CT_NUQ] = {"NUQ", 256, sizeof(struct ct_block_nuq), -1, NULL, ct_dequantize_nuq, NULL, false, false},
    [CT_I8] = {"I8", 128, sizeof(struct ct_block_i8), -1, NULL, ct_dequantize_i8, ct_expand_i8, false, true},
};
_Static_assert(CT_COUNT(types) == CT_TYPE_COUNT, "one row per type");

/* GGUF's other types, by number: sizes only. */
static const struct foreign {
    uint32_t number;
    struct ct_ggml_type type;
} foreign[] = {
    {9, {"Q8_1", 32, 36}},     {15, {"Q8_K", 256, 292}},   {16, {"IQ2_XXS", 256, 66}},
    {17, {"IQ2_XS", 256, 74}}, {18, {"IQ3_XXS", 256, 98}}, {19, {"IQ1_S", 256, 50}},
    {21, {"IQ3_S", 256, 110}}, {22, {"IQ2_S", 256, 82}},   {24, {"I8", 1, 1}},
    {25, {"I16", 1, 2}},       {26, {"I32", 1, 4}},        {27, {"I64", 1, 8}},
    {28, {"F64", 1, 8}},       {29, {"IQ1_M", 256, 56}},   {34, {"TQ1_0", 256, 54}},
    {35, {"TQ2_0", 256, 66}},  {40, {"NVFP4", 64, 36}},    {41, {"Q1_0", 128, 18}},
    {42, {"Q2_0", 64, 18}},
};

/* Types that GGUF has removed: forms of others, rearranged for one processor. */
static const struct removed {
    uint32_t number;
    const char *name, *instead;
} removed[] = {
    {4, "Q4_2", "Q4_0"},          {5, "Q4_3", "Q4_1"},          {31, "Q4_0_4_4", "Q4_0"},
    {32, "Q4_0_4_8", "Q4_0"},     {33, "Q4_0_8_8", "Q4_0"},     {36, "IQ4_NL_4_4", "IQ4_NL"},
    {37, "IQ4_NL_4_8", "IQ4_NL"}, {38, "IQ4_NL_8_8", "IQ4_NL"},
};

/* The dtypes of safetensors, with the bits of an element. */
static const struct dtype {
    const char *name;
    int bits;
} dtypes[] = {
    {"BF16", 16},       {"F16", 16},    {"F32", 32},    {"F64", 64},    {"BOOL", 8},    {"U8", 8},
    {"I8", 8},          {"U16", 16},    {"I16", 16},    {"U32", 32},    {"I32", 32},    {"U64", 64},
    {"I64", 64},        {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};

const struct ct_type_info *ct_type_info(enum ct_type type)
{
    assert((unsigned)type < CT_TYPE_COUNT);
    return &types[type];
}

bool ct_type_from_ggml(uint32_t number, enum ct_type *type)
{
    for (int i = 0; i < CT_TYPE_COUNT; i++)
        if (types[i].ggml >= 0 && (uint32_t)types[i].ggml == number) {
            *type = (enum ct_type)i;
            return true;
        }
    return false;
}

bool ct_type_from_hf(struct ct_str dtype, enum ct_type *type)
{
    for (int i = 0; i < CT_TYPE_COUNT; i++)
        if (types[i].hf && ct_str_is(dtype, types[i].hf)) {
            *type = (enum ct_type)i;
            return true;
        }
    return false;
}

bool ct_ggml_type(uint32_t number, struct ct_ggml_type *out)
{
    enum ct_type type;
    if (ct_type_from_ggml(number, &type)) {
        *out = (struct ct_ggml_type){types[type].name, types[type].block, types[type].bytes};
        return true;
    }
    for (size_t i = 0; i < CT_COUNT(foreign); i++)
        if (foreign[i].number == number) {
            *out = foreign[i].type;
            return true;
        }
    return false;
}

const char *ct_ggml_removed(uint32_t number, const char **instead)
{
    for (size_t i = 0; i < CT_COUNT(removed); i++)
        if (removed[i].number == number) {
            *instead = removed[i].instead;
            return removed[i].name;
        }
    return NULL;
}

int ct_hf_bits(struct ct_str dtype, const char **name)
{
    for (size_t i = 0; i < CT_COUNT(dtypes); i++)
        if (ct_str_is(dtype, dtypes[i].name)) {
            *name = dtypes[i].name;
            return dtypes[i].bits;
        }
    return 0;
}

bool ct_type_row_bytes(enum ct_type type, size_t n, size_t *bytes)
{
    const struct ct_type_info *t = ct_type_info(type);
    return n % (size_t)t->block == 0 && ct_mul(n / (size_t)t->block, (size_t)t->bytes, bytes);
}

/* ---- values ---- */

/* w = (ws * sc) * q + m * mn; absent factors are 1 and an absent minimum adds nothing, not even to the sign
 * of a zero. */
static inline __attribute__((always_inline)) void group_values(float *out, const struct ct_group *g,
                                                               bool halves, bool minimum)
{
    for (int i = 0; i < 32; i++) {
        float ws = halves ? g->ws * (float)g->sc[i / 16] : g->ws;
        float m = halves && minimum ? g->m * (float)g->mn[i / 16] : g->m;
        float v = ws * (float)g->q[i];
        out[i] = minimum ? v + m : v;
    }
}

void ct_dequantize(enum ct_type type, float *out, const void *blocks, size_t n)
{
    const struct ct_type_info *t = ct_type_info(type);
    const uint8_t *p = blocks;
    struct ct_group g[8];

    assert(n % (size_t)t->block == 0);
    if (t->dequantize) {
        t->dequantize(out, blocks, n);
        return;
    }
    for (size_t i = 0; i < n; i += 256) {
        size_t have = CT_MIN((size_t)256, n - i);
        t->expand(g, p + i / (size_t)t->block * (size_t)t->bytes, have);
        for (size_t k = 0; k < have / 32; k++, out += 32)
            if (t->halves && t->minimum)
                group_values(out, &g[k], true, true);
            else if (t->halves)
                group_values(out, &g[k], true, false);
            else if (t->minimum)
                group_values(out, &g[k], false, true);
            else
                group_values(out, &g[k], false, false);
    }
}
