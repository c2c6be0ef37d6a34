/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.cu: inputs of products, once for all outputs of one input (NUMERICS.md sections 4 and 5). */

KERNEL(prepare_bf16, ct_gpu_prepare)
{
    THREADS(ct_gpu_prepare);
    int i = bid * BLOCK + tid;

    if (i < a.padded)
        ((GLOBAL float *)a.to)[(long)row * a.padded + i] =
            i < a.cols ? gpu_bf16_round(a.x[(long)row * a.ldx + i]) : 0.0f;
}

/* A warp is a group: bits of absolute values order like the values. */
KERNEL(prepare_q8, ct_gpu_prepare)
{
    THREADS(ct_gpu_prepare);
    int i = bid * BLOCK + tid;
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
    if (i >= a.padded)
        return;
    ((GLOBAL int8_t *)a.to)[(long)row * a.padded + i] = (int8_t)gpu_rne(tiny ? 0.0f : v);
    if (lane == 0)
        a.scale[(long)row * (a.padded / 32) + i / 32] = tiny ? 0.0f : DIV(most, 127.0f);
}
