/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_kv.h: K and V in a head of a block, as layout/kv.h has them. Included once, by gpu.cu. */

/* Words that are read together, at a multiple of their size. */
struct gpu_two {
    uint32_t x, y;
} __attribute__((aligned(8)));
struct gpu_four {
    uint32_t x, y, z, w;
} __attribute__((aligned(16)));

/* A group of q8: f16 scales of 16 keys, and 32 channels of each. */
DEVICE uint64_t gpu_kv_group(struct ct_gpu_kv kv, uint32_t slot, uint32_t d)
{
    return ((uint64_t)(slot / 16) * ((kv.dim + 31) / 32) + d / 32) * (16 * 34);
}

DEVICE uint32_t gpu_kv_code(uint32_t slot, uint32_t d, bool is_v)
{
    return 32 + (is_v ? slot % 16 * 32 + d % 32 : d % 32 * 16 + slot % 16);
}

/* The place of a value in the other types, in values. */
DEVICE uint64_t gpu_kv_place(struct ct_gpu_kv kv, uint32_t slot, uint32_t d, bool is_v)
{
    if (kv.type == CT_GPU_KV_BF16) /* pairs of keys, or of channels */
        return is_v ? (uint64_t)(slot / 2 * 2) * kv.dim + d * 2 + slot % 2
                    : (uint64_t)(slot / 16) * kv.dim * 16 + d / 2 * 32 + slot % 16 * 2 + d % 2;
    return is_v ? (uint64_t)slot * kv.dim + d : ((uint64_t)(slot / 16) * kv.dim + d) * 16 + slot % 16;
}

/* Channel d of the key in a slot. */
DEVICE float gpu_kept(struct ct_gpu_kv kv, GLOBAL const uint8_t *head, uint32_t slot, uint32_t d, bool is_v)
{
    if (kv.type == CT_GPU_KV_Q8) {
        GLOBAL const uint8_t *group = head + gpu_kv_group(kv, slot, d);
        float scale = gpu_f16(((GLOBAL const uint16_t *)group)[slot % 16]);
        return MUL(scale, (float)(int8_t)group[gpu_kv_code(slot, d, is_v)]);
    }
    uint64_t at = gpu_kv_place(kv, slot, d, is_v);
    if (kv.type == CT_GPU_KV_F32)
        return ((GLOBAL const float *)head)[at];
    uint32_t half = ((GLOBAL const uint16_t *)head)[at];
    return kv.type == CT_GPU_KV_F16 ? gpu_f16(half) : gpu_low(half);
}
