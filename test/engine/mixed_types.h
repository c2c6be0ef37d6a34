/* SPDX-License-Identifier: Apache-2.0 */
/* mixed_types.h: models whose matrices have every type of few bits, mixed in one file with others: dense, and
 * with experts; and the same models with their values as F32. */
#ifndef CT_TEST_MIXED_TYPES_H
#define CT_TEST_MIXED_TYPES_H

#define GGUF_WIDTH 256
#include "cli/model/newer_gguf.h"

#include "quant/quant.h"

static const uint32_t mixed_types[] = {T_IQ1_S,   T_IQ1_M, T_IQ2_XXS, T_IQ2_XS, T_IQ2_S,
                                       T_IQ3_XXS, T_IQ3_S, T_TQ1_0,   T_TQ2_0,  T_NVFP4,
                                       T_Q1_0,    T_Q2_0,  T_Q4_K,    T_Q6_K,   T_IQ4_NL};

/* Matrices take one type after another; one that the rows are too short for is left out. */
static inline void mixed_mix(struct gguf *g, size_t first)
{
    size_t at = first;
    gguf_add(g, "blk.1.attn_k.scale", T_F32, 1, 0); /* of NVFP4 in one of the models */
    gguf_add(g, "blk.0.ffn_down.scale", T_F32, 1, 0);
    for (int i = 0; i < g->n_tensor; i++) {
        struct gguf_tensor *t = &g->tensor[i];
        if (t->n_dim < 2 || strstr(t->name, "ffn_gate_inp"))
            continue;
        while (t->dim[0] % gguf_form(mixed_types[at % CT_COUNT(mixed_types)]).block)
            at++;
        gguf_fill(t, mixed_types[at++ % CT_COUNT(mixed_types)], (uint32_t)i * 2654435761u);
    }
}

/* The same values as F32. */
static inline void mixed_decode(struct gguf *g)
{
    for (int i = 0; i < g->n_tensor; i++) {
        struct gguf_tensor *t = &g->tensor[i];
        const struct gguf_form form = gguf_form(t->type);
        enum ct_type type;
        if (form.block == 1)
            continue;
        const size_t n = t->data.n / form.bytes * form.block;
        float *values = malloc(n * sizeof *values);
        assert_true(ct_type_from_ggml(t->type, &type));
        ct_dequantize(type, values, t->data.p, n);
        buf_free(&t->data);
        put(&t->data, values, n * sizeof *values);
        t->type = T_F32;
        free(values);
    }
}

/* A Gemma 3 with a head of its own. */
static inline void mixed_dense(struct gguf *g)
{
    gguf_init(g);
    gguf_set_u32(g, "gemma3.feed_forward_length", HIDDEN);
    for (int i = 0; i < g->n_tensor;
         i++) { /* feed-forwards as wide as the stream, so that rows of down are long */
        struct gguf_tensor *t = &g->tensor[i];
        for (uint32_t d = 0; d < t->n_dim; d++)
            t->dim[d] = t->dim[d] == FFN ? HIDDEN : t->dim[d];
        gguf_fill(t, t->type, (uint32_t)i);
    }
    gguf_add(g, "output.weight", T_F32, HIDDEN, PIECES);
}

static inline void mixed_experts(struct gguf *g)
{
    newer_init(g, newer_published[AS_26B]);
}

#endif
