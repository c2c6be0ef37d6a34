/* blocks.h: block structs exactly as they lie in GGUF files (little-endian, packed by construction).
 * Formulas: quant/decode.c. */
#ifndef CT_BLOCKS_H
#define CT_BLOCKS_H

#include <stdint.h>

/* 32 weights: w[i] = d * q[i] */
struct ct_block_q8_0 {
    uint16_t d; /* f16 */
    int8_t q[32];
};

/* 32 weights: w[i] = d * (low nibble of q[i] - 8), w[i + 16] = d * (high nibble of q[i] - 8) */
struct ct_block_q4_0 {
    uint16_t d; /* f16 */
    uint8_t q[16];
};

_Static_assert(sizeof(struct ct_block_q8_0) == 34, "Q8_0 block");
_Static_assert(sizeof(struct ct_block_q4_0) == 18, "Q4_0 block");

#endif
