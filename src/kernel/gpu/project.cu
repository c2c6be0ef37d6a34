/* SPDX-License-Identifier: Apache-2.0 */
/* project.cu: products of rows of the pass with 32 rows of a weight, a lane each (NUMERICS.md sections 3 to
 * 5). A block takes up to CT_GPU_TOKENS rows of the pass, so that a weight is read, and its codes and factors
 * worked out, once for all of them. Groups depend on nothing else: warp w computes groups w, w + 8, ... The
 * chain over them is ordered, and short: warp w folds eight groups of row w of the pass while others are at
 * the next eight, whose results go to the other half of the buffer. */

enum { WARPS = BLOCK / 32 };

/* A row of blocks multiplies this: n rows of the input from `from` on, with one weight. */
struct project_job {
    GLOBAL const void *w;
    float factor;
    int n, from, to; /* to: of out */
};

DEVICE struct project_job project_job(struct ct_gpu_project a, int row)
{
    int first = row * CT_GPU_TOKENS, left = a.n - first;
    struct project_job job = {a.w, a.factor, left < CT_GPU_TOKENS ? left : CT_GPU_TOKENS, first, first};

    if (a.id) {
        GLOBAL const struct ct_gpu_expert *e = a.expert + a.id[row];
        job.w = e->w;
        job.factor = e->factor;
        job.n = 1;
        job.from = row / a.share;
        job.to = row;
    }
    return job;
}

/* The values of a group of 16 bit floats. */
DEVICE void project_pairs(float value[32], GLOBAL const uint32_t *lines, bool bf16)
{
    if (bf16) {
        UNROLLED for (int i = 0; i < 16; i++)
        {
            uint32_t pair = lines[i * 16];
            value[2 * i] = gpu_low(pair);
            value[2 * i + 1] = gpu_high(pair);
        }
    } else {
        UNROLLED for (int i = 0; i < 16; i++)
        {
            uint32_t pair = lines[i * 16];
            value[2 * i] = gpu_f16(pair & 0xffffu);
            value[2 * i + 1] = gpu_f16(pair >> 16);
        }
    }
}

/* A group of any type with up to four rows of the pass. */
DEVICE void project_four(LOCAL float (*to)[32], struct gpu_group group, struct ct_gpu_type t,
                         GLOBAL const float *x, int ldx, int n, int lane)
{
    float e[4], o[4];

    UNROLLED for (int i = 0; i < 4; i++) e[i] = o[i] = 0.0f;
    for (int k = 0; k < 32; k++) { /* the chains take turns */
        float v = gpu_value(t, group, k);
        UNROLLED for (int i = 0; i < 4; i++)
        {
            float next = i < n ? FMA(v, x[(long)i * ldx + k], e[i]) : 0.0f;
            e[i] = o[i];
            o[i] = next;
        }
    }
    UNROLLED for (int i = 0; i < 4; i++) to[i][lane] = ADD(e[i], o[i]);
}

/* Values of any type by f32. */
KERNEL(project_value, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    SHARED float part[2][WARPS][CT_GPU_TOKENS][32];
    int out = bid * 32 + lane, r = out < a.rows ? out : a.rows - 1, warp = tid / 32;
    struct project_job job = project_job(a, row);
    int n = job.n, ldx = a.groups * 32;
    struct gpu_place place = gpu_place(gpu_panel(job.w, a.panel, r), a.type, warp, r);
    GLOBAL const float *x = (GLOBAL const float *)a.x + (long)job.from * ldx;
    float acc = 0.0f;

    for (int first = 0, half = 0; first < a.groups; first += WARPS, half ^= 1) {
        int g = first + warp;
        if (g < a.groups) {
            struct gpu_group group = gpu_read(place, a.type);
            LOCAL float(*to)[32] = part[half][warp];
            if (a.type.form == CT_GPU_BF16 || a.type.form == CT_GPU_F16) {
                float value[32];
                project_pairs(value, group.lines, a.type.form == CT_GPU_BF16);
                for (int t = 0; t < n; t++) {
                    GLOBAL const float *by = WIDE(x + (long)t * ldx + g * 32);
                    float e = 0.0f, o = 0.0f;
                    UNROLLED for (int k = 0; k < 32; k += 2)
                    {
                        e = FMA(value[k], by[k], e);
                        o = FMA(value[k + 1], by[k + 1], o);
                    }
                    to[t][lane] = ADD(e, o);
                }
            } else {
                for (int t = 0; t < n; t += 4)
                    project_four(to + t, group, a.type, x + (long)t * ldx + g * 32, ldx, n - t, lane);
            }
        }
        place = gpu_eight_on(place, a.type);
        BARRIER();
        for (int j = 0; warp < n && j < WARPS && first + j < a.groups; j++)
            acc = ADD(acc, part[half][j][warp][lane]);
    }
    if (warp < n && out < a.rows)
        a.out[(long)(job.to + warp) * a.ldo + out] = MUL(acc, job.factor);
}

/* The codes of a group, four to a word; `room` is the thread's own. The commonest ones come without what they
 * do not need. */
DEVICE void project_codes(uint32_t code[8], struct ct_gpu_type t, GLOBAL const uint32_t *lines,
                          LOCAL int32_t room[8][32])
{
    if (t.low == 8) {
        UNROLLED for (int i = 0; i < 8; i++) code[i] = lines[i * 16] ^ t.flip;
    } else if (t.low == 4 && !t.high && !t.tabled) {
        UNROLLED for (int i = 0; i < 8; i++) code[i] = lines[i / 2 * 16] >> i % 2 * 4 & 0x0f0f0f0fu;
    } else {
        for (int i = 0; i < 8; i++)
            room[i][0] = (int32_t)gpu_codes(t, lines, i);
        UNROLLED for (int i = 0; i < 8; i++) code[i] = (uint32_t)room[i][0];
    }
}

/* Codes of integer types by int8. Where a group takes two steps of the chain, `more` are those of the
 * second. */
KERNEL(project_q8, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    SHARED int32_t dot[2][WARPS][CT_GPU_TOKENS][32], more[2][WARPS][CT_GPU_TOKENS][32];
    SHARED float ws[2][WARPS][32], m[2][WARPS][32];
    int out = bid * 32 + lane, r = out < a.rows ? out : a.rows - 1, warp = tid / 32;
    struct project_job job = project_job(a, row);
    int n = job.n;
    struct gpu_place place = gpu_place(gpu_panel(job.w, a.panel, r), a.type, warp, r);
    long input = gpu_input(job.from, a.groups, 0);
    float acc = 0.0f;

    for (int first = 0, half = 0; first < a.groups; first += WARPS, half ^= 1) {
        int g = first + warp;
        if (g < a.groups) {
            struct gpu_group f = gpu_read(place, a.type);
            LOCAL int32_t(*dots)[32] = dot[half][warp];
            uint32_t code[8];
            project_codes(code, a.type, f.lines, (LOCAL int32_t(*)[32])&dots[0][lane]);
            ws[half][warp][lane] = f.ws;
            if (a.type.more)
                m[half][warp][lane] = f.m;
            for (int t = 0; t < n; t++) {
                long at = input + g * CT_GPU_TOKENS + t;
                GLOBAL const uint32_t *by = WIDE((GLOBAL const uint32_t *)a.x + at * 8);
                int32_t first_sum = a.sum[at * 2], second_sum = a.sum[at * 2 + 1];
                int32_t first_half = -a.type.minus * first_sum, second_half = -a.type.minus * second_sum;
                uint32_t q[8];
                UNROLLED for (int i = 0; i < 8; i++) q[i] = by[i];
                UNROLLED for (int i = 0; i < 4; i++)
                {
                    first_half = DP4A(code[i], q[i], first_half);
                    second_half = DP4A(code[4 + i], q[4 + i], second_half);
                }
                dots[t][lane] = f.first * first_half + f.second * second_half;
                if (a.type.more)
                    more[half][warp][t][lane] = a.type.more == CT_GPU_APART
                                                    ? second_half
                                                    : f.low0 * first_sum + f.low1 * second_sum;
            }
        }
        place = gpu_eight_on(place, a.type);
        BARRIER();
        for (int j = 0; warp < n && j < WARPS && first + j < a.groups; j++) {
            float xs = a.scale[input + (first + j) * CT_GPU_TOKENS + warp];
            float by = MUL(ws[half][j][lane], xs), second = m[half][j][lane];
            acc = FMA((float)dot[half][j][warp][lane], by, acc);
            if (a.type.more) {
                float q = (float)more[half][j][warp][lane];
                acc = a.type.more == CT_GPU_APART ? FMA(q, MUL(second, xs), acc) : FMA(second, MUL(xs, q), acc);
            }
        }
    }
    if (warp < n && out < a.rows)
        a.out[(long)(job.to + warp) * a.ldo + out] = MUL(acc, job.factor);
}
