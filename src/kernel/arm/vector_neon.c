/* SPDX-License-Identifier: Apache-2.0 */
/* vector_neon.c: of the small operators the one that compilers do not turn into good vectors for Arm: norm.
 * The others are good as ref*.c have them. */
#include <arm_neon.h>

#include "kernel/ref/ref_math.h"

enum { ACROSS = 32 / 4 }; /* section 3: 32 partial sums stand side by side in as many vectors */

static void norm_neon(float *y, const float *x, const float *w, int n, float eps)
{
    float32x4_t sum[ACROSS];
    float p[32];
    int i = 0;

    for (int j = 0; j < ACROSS; j++)
        sum[j] = vdupq_n_f32(0);
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < ACROSS; j++) {
            float32x4_t v = vld1q_f32(x + i + 4 * j);
            sum[j] = vfmaq_f32(sum[j], v, v);
        }
    for (int j = 0; j < ACROSS; j++)
        vst1q_f32(p + 4 * j, sum[j]);
    for (; i < n; i++)
        p[i % 32] = ct_fma(x[i], x[i], p[i % 32]);
    float r = 1.0f / __builtin_sqrtf(ct_fold(p) / (float)n + eps);
    for (i = 0; i < n; i++)
        y[i] = (x[i] * r) * w[i];
}

void ct_vector_init_neon(struct ct_kernel *k);
void ct_vector_init_neon(struct ct_kernel *k)
{
    k->norm = norm_neon;
}
