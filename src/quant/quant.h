/* SPDX-License-Identifier: Apache-2.0 */
/* quant.h: the stored types and their codecs; the only place that knows bit layouts. Readers include this for
 * sizes and names, kernels for values and groups. */
#ifndef CT_QUANT_H
#define CT_QUANT_H

#include "base/base.h"

/* Values are private to carat; ct_type_from_ggml maps the numbers in files. */
enum ct_type {
    CT_F32,
    CT_F16,
    CT_BF16,
    CT_Q8_0,
    CT_Q4_0,
    CT_Q4_1,
    CT_Q5_0,
    CT_Q5_1,
    CT_Q2_K,
    CT_Q3_K,
    CT_Q4_K,
    CT_Q5_K,
    CT_Q6_K,
    CT_IQ4_NL,
    CT_IQ4_XS,
    CT_MXFP4,
    CT_IQ2_XXS,
    CT_IQ2_XS,
    CT_IQ2_S,
    CT_IQ3_XXS,
    CT_IQ3_S,
    CT_IQ1_S,
    CT_IQ1_M,
    CT_TQ1_0,
    CT_TQ2_0,
    CT_Q1_0,
    CT_Q2_0,
    CT_NVFP4,
    CT_SFP, /* the last three are gemma.cpp's */
    CT_NUQ, /* never a weight: its reader turns it into SFP (ct_nuq_to_sfp) */
    CT_I8,
    CT_TYPE_COUNT,
};

#define CT_GROUP 32 /* k is cut into groups of 32 everywhere (NUMERICS.md section 3) */
#define CT_HALF  16 /* some stored types scale the halves of a group apart */

static inline int ct_pad_group(int n)
{
    return (n + CT_GROUP - 1) / CT_GROUP * CT_GROUP;
}

/* 32 consecutive elements of a row of integers (NUMERICS.md section 4). Element i is ws * q[i]; where its
 * type has halves ws is multiplied by sc[i / 16]; where it has a minimum, m is added, with halves m * mn[i /
 * 16]; where its halves stand apart, ws is the first one's and ws_apart the second one's. */
struct ct_group {
    int8_t q[32];
    float ws, m, ws_apart;
    int32_t sc[2], mn[2];
};

struct ct_type_info {
    const char *name; /* "Q4_0", as GGUF and users spell it */
    int block;        /* elements in a block (1 for plain types) */
    int bytes;        /* bytes in a block */
    int ggml;         /* type number in GGUF, or -1 */
    const char *hf;   /* dtype string in safetensors, or NULL */
    /* n elements (a multiple of block) to float32; NULL: ct_dequantize makes it from the groups */
    void (*dequantize)(float *out, const void *blocks, size_t n);
    /* n elements (a multiple of block) to n / 32 groups; only the members that the type has are written.
     * NULL: the type is not one of integers */
    void (*expand)(struct ct_group *out, const void *blocks, size_t n);
    bool halves, minimum, apart;
    /* What encoders leave of a matrix, ||w' - w|| / ||w||, is a third of it at most where its values are
     * normal: QUALITY.md has the measurement. */
    double loss;
};

const struct ct_type_info *ct_type_info(enum ct_type type);
/* What codes stand for: of IQ4_NL and IQ4_XS, of MXFP4 and NVFP4 doubled, of Q1_0. */
extern const int8_t ct_iq4_values[16], ct_mxfp4_values[16], ct_q1_values[16];
/* n elements (a multiple of the block) to float32 by the format's formula, bit for bit. */
void ct_dequantize(enum ct_type type, float *out, const void *blocks, size_t n);
/* A byte of a block that has a value, though no encoder makes it: *at is the first one's place. Returns what
 * it should be, in words; NULL: there is none such. */
const char *ct_odd_byte(enum ct_type type, const uint8_t *block, int *at);
/* n values, a multiple of the block, that nobody has chosen: bits drawn from the seed, values within 8. */
void ct_make_up(enum ct_type type, void *blocks, size_t n, uint32_t seed);
/* The first n <= 256 elements of a NUQ block as SFP codes, exactly; reads the 16 centres and (n + 1) / 2
 * bytes. */
void ct_nuq_to_sfp(uint8_t *codes, const void *block, size_t n);
/* False when carat does not read the type. */
bool ct_type_from_ggml(uint32_t number, enum ct_type *type);
bool ct_type_from_hf(struct ct_str dtype, enum ct_type *type);

/* Geometry of every type number that GGUF defines, read by carat or not: a reader needs the sizes of tensors
 * that no model asks for. False for a number that is not, or no longer, in use. */
struct ct_ggml_type {
    const char *name;
    int block, bytes;
};
bool ct_ggml_type(uint32_t number, struct ct_ggml_type *out);
/* The number of the type of that name; false: GGUF has none such. */
bool ct_ggml_number(const char *name, uint32_t *number);
/* A number that GGUF once had: its name, and in *instead the type to take for it. NULL for every other
 * number. */
const char *ct_ggml_removed(uint32_t number, const char **instead);
/* Bits of an element of a safetensors dtype and its spelling with static lifetime; 0 when there is no such
 * dtype. */
int ct_hf_bits(struct ct_str dtype, const char **name);

/* Bytes of a row of n elements; false when n is not a multiple of the block or the size overflows. */
bool ct_type_row_bytes(enum ct_type type, size_t n, size_t *bytes);

#endif
