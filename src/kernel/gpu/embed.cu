/* SPDX-License-Identifier: Apache-2.0 */
/* embed.cu: rows of the table of embeddings, out of its panels (NUMERICS.md section 6). */

KERNEL(embed, ct_gpu_embed)
{
    THREADS(ct_gpu_embed);
    int i = bid * BLOCK + tid, id = a.token[row];

    if (i >= a.cols)
        return;
    float v = gpu_value(a.type, gpu_group(gpu_panel(a.table, a.panel, id), a.type, i / 32, id), i % 32);
    a.out[(long)row * a.ldo + i] = MUL(MUL(v, a.factor), a.scale);
}
