/* SPDX-License-Identifier: Apache-2.0 */
/* weights_gguf.c: the tensors of a model in GGUF: named as weights.c names their slots. */
#include "model/weights_container.h"

#include <stdio.h>

void ct_gguf_tensor_name(char name[CT_TENSOR_NAME], const struct ct_weights *w, const struct ct_config *c,
                         const char *slot, int layer)
{
    (void)w;
    (void)c;
    if (layer < 0)
        snprintf(name, CT_TENSOR_NAME, "%s.weight", slot);
    else
        snprintf(name, CT_TENSOR_NAME, "blk.%d.%s.weight", layer, slot);
}

float ct_embed_scale_bf16(float root, enum ct_type stored)
{
    (void)stored;
    return ct_bf16_to_f32(ct_f32_to_bf16(root));
}

const struct ct_container ct_container_gguf = {
    .name = ct_gguf_tensor_name,
    .find = ct_file_find,
    .counts_unused = true,
    .key = {[CT_DIM_ONE] = "1",
            [CT_DIM_HIDDEN] = "embedding_length",
            [CT_DIM_Q] = "attention.head_count * attention.key_length",
            [CT_DIM_KV] = "attention.head_count_kv * attention.key_length",
            [CT_DIM_FFN] = "feed_forward_length",
            [CT_DIM_HEAD] = "attention.key_length",
            [CT_DIM_VOCAB] = "the rows of token_embd.weight"},
    .layers = "block_count",
    .embed_scale = ct_embed_scale_bf16,
};
