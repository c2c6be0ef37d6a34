/* SPDX-License-Identifier: Apache-2.0 */
/* kv_write.cu: K and V of the rows into their blocks, in bf16 (NUMERICS.md section 7). */

KERNEL(kv_write, ct_gpu_kv_write)
{
    THREADS(ct_gpu_kv_write);
    SHARED int32_t whole;
    GLOBAL const float *k = a.k + (long)row * a.ldk, *v = a.v + (long)row * a.ldv;
    int position = a.position[row], sequence = a.kv.sequence[row], slot = position % 256;
    int n = a.heads * a.kv.dim, block = a.kv.table[sequence * a.kv.length + position / 256 % a.kv.length];
    bool below = true;

    if (tid == 0)
        whole = 1;
    BARRIER();
    for (int i = tid; i < n; i += BLOCK) {
        float most_k = AS_F32(AS_U32(k[i]) & 0x7fffffffu), most_v = AS_F32(AS_U32(v[i]) & 0x7fffffffu);
        below = below && most_k < a.limit && most_v < a.limit; /* NaN is not */
    }
    if (!below) {
        whole = 0;
        a.bad[a.origin[row]] = 1;
    }
    BARRIER();
    if (a.kept && position < a.kept[sequence])
        return;
    for (int i = tid; i < n; i += BLOCK) {
        int d = i % a.kv.dim;
        long head = (long)block * (long)a.kv.block_bytes + (long)(i / a.kv.dim) * a.kv.dim * 512;
        GLOBAL uint16_t *to_k = (GLOBAL uint16_t *)(a.kv.k + head),
                        *to_v = (GLOBAL uint16_t *)(a.kv.v + head);
        uint32_t one = whole ? AS_U32(gpu_bf16_round(k[i])) >> 16 : 0u;
        uint32_t two = whole ? AS_U32(gpu_bf16_round(v[i])) >> 16 : 0u;
        to_k[slot / 16 * a.kv.dim * 16 + d / 2 * 32 + slot % 16 * 2 + d % 2] = (uint16_t)one;
        to_v[slot / 2 * 2 * a.kv.dim + d * 2 + slot % 2] = (uint16_t)two;
    }
}
