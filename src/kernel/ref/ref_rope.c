/* SPDX-License-Identifier: Apache-2.0 */
/* ref_rope.c: rotary position embedding (NUMERICS.md section 6): frequencies and angles in double with our
 * own log, exp, sine and cosine, rounded once to f32. */
#include "kernel/ref/ref.h"

#define HALF_PI_HI 0x1.921fb54442d18p+0
#define HALF_PI_LO 0x1.1a62633145c07p-54

static inline double flip(double v, uint64_t sign)
{
    uint64_t u;
    memcpy(&u, &v, 8);
    u ^= sign;
    memcpy(&v, &u, 8);
    return v;
}

/* Both at once; pi/2 in two parts leaves an error below 1e-26 for the angles of a million positions. The
 * quadrant is the lowest bits of the sum that rounds, and is chosen by without a branch, so that pairs go
 * side by side in vectors. */
static inline void sine_cosine(double x, double *sine, double *cosine)
{
    double turned = x * 0.6366197723675814 + 0x1.8p52, n = turned - 0x1.8p52;
    double r = __builtin_fma(n, -HALF_PI_LO, __builtin_fma(n, -HALF_PI_HI, x)), z = r * r;
    double s = 1, c = 1;
    for (int i = 17; i >= 3; i -= 2) /* 1 - z/(2*3) (1 - z/(4*5) (... */
        s = __builtin_fma(-z / (double)(i * (i - 1)), s, 1);
    for (int i = 18; i >= 2; i -= 2)
        c = __builtin_fma(-z / (double)(i * (i - 1)), c, 1);
    s *= r;
    uint64_t quadrant;
    memcpy(&quadrant, &turned, 8);
    *sine = flip(quadrant & 1 ? c : s, (quadrant & 2) << 62);
    *cosine = flip(quadrant & 1 ? s : c, ((quadrant + 1) & 2) << 62);
}

void CT_NAME(ct_rope_frequencies)(double *inv, int dim, double base, double factor)
{
    double log_base = ct_log_double(base);
    for (int i = 0; i < dim / 2; i++)
        inv[i] = ct_exp_double(-2.0 * i / dim * log_base) / factor;
}

void CT_NAME(ct_rope_table)(float *cosine, float *sine, const double *inv, int pairs, int position)
{
    for (int i = 0; i < pairs; i++) {
        double s, c;
        sine_cosine(position * inv[i], &s, &c);
        cosine[i] = (float)c;
        sine[i] = (float)s;
    }
}

void CT_NAME(ct_rope)(float *x, const float *cosine, const float *sine, int pairs, int dim)
{
    float *a = x, *b = x + dim / 2;
    for (int i = 0; i < pairs; i++) {
        float x1 = a[i], x2 = b[i];
        a[i] = ct_fma(x1, cosine[i], -(x2 * sine[i]));
        b[i] = ct_fma(x2, cosine[i], x1 * sine[i]);
    }
}
