/* SPDX-License-Identifier: Apache-2.0 */
/* vector_neon.c: norm, geglu, soft-cap and log-softmax of vector_body.h in vectors of 128 bits. */
#include "kernel/arm/simd_neon.h"
#include "kernel/vector_body.h"

void ct_vector_init_neon(struct ct_kernel *k);
void ct_vector_init_neon(struct ct_kernel *k)
{
    k->norm = vector_norm;
    k->log_sum = log_sum;
    k->geglu = geglu;
    k->softcap = softcap;
}
