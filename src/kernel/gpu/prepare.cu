/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.cu: inputs of products, once for all outputs of one input (NUMERICS.md sections 3 to 5). */

KERNEL(prepare_value, ct_gpu_prepare)
{
    THREADS(ct_gpu_prepare);
    int i = bid * BLOCK + tid;

    if (i >= a.padded)
        return;
    float v = i < a.cols ? a.x[(long)row * a.ldx + i] : 0.0f;
    ((GLOBAL float *)a.to)[(long)row * a.padded + i] = a.bf16 ? gpu_bf16_round(v) : v;
}

/* A warp is a group: bits of absolute values order like the values. */
KERNEL(prepare_q8, ct_gpu_prepare)
{
    THREADS(ct_gpu_prepare);
    int i = bid * BLOCK + tid;
    long group = gpu_input(row, a.padded / 32, i / 32);
    float v = i < a.cols ? a.x[(long)row * a.ldx + i] : 0.0f;
    uint32_t top = AS_U32(v) & 0x7fffffffu;

    for (int d = 16; d; d >>= 1) {
        uint32_t other = SHFL_XOR(top, d);
        top = other > top ? other : top;
    }
    float most = AS_F32(top);
    bool tiny = most < 0x1p-90f;
    v = MUL(v, tiny ? 0.0f : DIV(127.0f, most));
    v = v < 127.0f ? v : 127.0f;
    v = v > -127.0f ? v : -127.0f;
    int32_t q = (int32_t)gpu_rne(tiny ? 0.0f : v);
    uint32_t sum = (uint32_t)q; /* of a half */
    for (int d = 8; d; d >>= 1)
        sum += SHFL_XOR(sum, d);
    if (i >= a.padded)
        return;
    ((GLOBAL int8_t *)a.to)[group * 32 + lane] = (int8_t)q;
    if (lane % 16 == 0)
        a.sum[group * 2 + lane / 16] = (int32_t)sum;
    if (lane == 0)
        a.scale[group] = tiny ? 0.0f : DIV(most, 127.0f);
}
