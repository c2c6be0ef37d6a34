/* quant.h: the stored types and their codecs; the only place that knows bit layouts. Kernels include
 * quant/blocks.h for the structs; readers include this for sizes and names. */
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
    CT_TYPE_COUNT,
};

struct ct_type_info {
    const char *name; /* "Q4_0", as GGUF and users spell it */
    int block;        /* elements in a block (1 for plain types) */
    int bytes;        /* bytes in a block */
    int ggml;         /* type number in GGUF */
    const char *hf;   /* dtype string in safetensors, or NULL */
    /* n elements (a multiple of block) to float32 by the format's formula, bit for bit */
    void (*decode)(float *out, const void *blocks, size_t n);
};

const struct ct_type_info *ct_type_info(enum ct_type type);
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
/* Bits of an element of a safetensors dtype and its spelling with static lifetime; 0 when there is no such dtype. */
int ct_hf_bits(struct ct_str dtype, const char **name);

/* Bytes of a row of n elements; false when n is not a multiple of the block or the size overflows. */
bool ct_type_row_bytes(enum ct_type type, size_t n, size_t *bytes);

#endif
