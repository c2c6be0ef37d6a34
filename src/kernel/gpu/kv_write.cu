/* SPDX-License-Identifier: Apache-2.0 */
/* kv_write.cu: K and V of the rows into their blocks (NUMERICS.md section 7). */

/* One value of bf16, f16 or f32. */
DEVICE void kv_put(struct ct_gpu_kv kv, GLOBAL uint8_t *head, uint32_t slot, uint32_t d, bool is_v,
                   float value)
{
    uint64_t at = gpu_kv_place(kv, slot, d, is_v);

    if (kv.type == CT_GPU_KV_BF16)
        ((GLOBAL uint16_t *)head)[at] = (uint16_t)(AS_U32(gpu_bf16_round(value)) >> 16);
    else if (kv.type == CT_GPU_KV_F16)
        ((GLOBAL uint16_t *)head)[at] = (uint16_t)gpu_to_f16(value);
    else
        ((GLOBAL float *)head)[at] = value;
}

/* A group of at most 32 channels as int8; zeros unless they are whole. */
DEVICE void kv_put_q8(struct ct_gpu_kv kv, GLOBAL uint8_t *head, uint32_t slot, uint32_t d, bool is_v,
                      GLOBAL const float *x, bool whole)
{
    GLOBAL uint8_t *group = head + gpu_kv_group(kv, slot, d);
    uint32_t n = kv.dim - d < 32 ? kv.dim - d : 32, most = 0;

    for (uint32_t i = 0; whole && i < n; i++) {
        uint32_t size = AS_U32(x[i]) & 0x7fffffffu;
        most = size > most ? size : most;
    }
    uint32_t scale = gpu_to_f16(DIV(AS_F32(most), 127.0f));
    scale = scale < 0x7bffu ? scale : 0x7bffu;
    float by = gpu_f16(scale);
    ((GLOBAL uint16_t *)group)[slot % 16] = (uint16_t)scale;
    for (uint32_t i = 0; i < n; i++) {
        float q = by > 0.0f ? gpu_rne(DIV(x[i], by)) : 0.0f;
        q = q > -127.0f ? q : -127.0f;
        group[gpu_kv_code(slot, i, is_v)] = (uint8_t)(int32_t)(q < 127.0f ? q : 127.0f);
    }
}

KERNEL(kv_write, ct_gpu_kv_write)
{
    THREADS(ct_gpu_kv_write);
    SHARED int32_t whole;
    int position = a.position[row], sequence = a.kv.sequence[row];
    int block = a.kv.table[sequence * a.kv.length + position / 256 % a.kv.length];
    uint32_t slot = (uint32_t)position % 256, dim = a.kv.dim, n = (uint32_t)a.heads * dim;
    bool below = true;

    if (tid == 0)
        whole = 1;
    BARRIER();
    for (uint32_t i = (uint32_t)tid; i < 2 * n; i += BLOCK) {
        float v = i < n ? a.k[(long)row * a.ldk + i] : a.v[(long)row * a.ldv + i - n];
        below = below && AS_F32(AS_U32(v) & 0x7fffffffu) < a.limit; /* NaN is not */
    }
    if (!below) {
        whole = 0;
        a.bad[a.origin[row]] = 1;
    }
    BARRIER();
    if (a.kept && position < a.kept[sequence])
        return;
    uint32_t step = a.kv.type == CT_GPU_KV_Q8 ? 32 : 1, parts = (dim + step - 1) / step;
    uint32_t all = (uint32_t)a.heads * parts;
    for (uint32_t i = (uint32_t)tid; i < 2 * all; i += BLOCK) {
        bool is_v = i >= all;
        uint32_t part = is_v ? i - all : i, head = part / parts, d = part % parts * step;
        GLOBAL const float *x = is_v ? a.v + (long)row * a.ldv : a.k + (long)row * a.ldk;
        GLOBAL uint8_t *to =
            (is_v ? a.kv.v : a.kv.k) + (uint64_t)block * a.kv.block_bytes + (uint64_t)head * a.kv.head_bytes;
        if (step == 32)
            kv_put_q8(a.kv, to, slot, d, is_v, x + head * dim + d, whole);
        else
            kv_put(a.kv, to, slot, d, is_v, whole ? x[head * dim + d] : 0.0f);
    }
}
