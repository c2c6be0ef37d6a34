/* SPDX-License-Identifier: Apache-2.0 */
/* embed.cu: rows of the table of embeddings, out of its tiles (NUMERICS.md section 6). */

KERNEL(embed_bf16, ct_gpu_embed)
{
    THREADS(ct_gpu_embed);
    int i = bid * BLOCK + tid, id = a.token[row];

    if (i >= a.cols)
        return;
    GLOBAL const uint16_t *t = (GLOBAL const uint16_t *)a.table;
    long at = ((long)(id / 32) * a.groups * 4 + i / 8) * 32 + id % 32;
    float v = gpu_low(t[at * 8 + i % 8]);
    a.out[(long)row * a.ldo + i] = MUL(MUL(v, a.factor), a.scale);
}

KERNEL(embed_q8, ct_gpu_embed)
{
    THREADS(ct_gpu_embed);
    int i = bid * BLOCK + tid, id = a.token[row];

    if (i >= a.cols)
        return;
    GLOBAL const uint8_t *group =
        (GLOBAL const uint8_t *)a.table + ((long)(id / 32) * a.groups + i / 32) * CT_GPU_Q8_WORDS * 16;
    uint32_t scale = ((GLOBAL const uint16_t *)group)[id % 32];
    int q = ((GLOBAL const int8_t *)group)[64 + (i / 16 % 2 * 32 + id % 32) * 16 + i % 16];
    float v = MUL(gpu_f16(scale), (float)q);
    a.out[(long)row * a.ldo + i] = MUL(MUL(v, a.factor), a.scale);
}
