/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h: a checkpoint's tensors bound to the slots where the forward pass uses them. */
#ifndef CT_WEIGHTS_H
#define CT_WEIGHTS_H

#include "base/arena.h"
#include "model/config.h"

/* Absent weights have data == NULL. */
struct ct_layer {
    struct ct_layer_config c;
    const struct ct_kv *kv; /* that it reads, and writes if it has K and V; the engine's */
    struct ct_weight attn_norm, q, k, v, o, q_norm, k_norm, v_norm, attn_post_norm;
    struct ct_weight ffn_norm, gate, up, down, ffn_post_norm;
    /* where it has experts: the norm of what down gives, and theirs */
    struct ct_weight mlp_post_norm, router_norm, router, experts_norm, experts_post_norm;
    struct ct_experts experts;
    struct ct_weight input_gate, input_proj, input_norm, out_scale;
    /* Gemma 3n: what mixes the streams, matrices included as vectors of f32; what attention is added to. */
    struct ct_weight altup_norm, altup_router, altup_predict, altup_correct, altup_scale;
    struct ct_weight laurel_left, laurel_right, laurel_norm, halves;
    struct ct_weight no_norm; /* absent: what is added is added as it is */
};

struct ct_weights {
    struct ct_weight embed, head, final_norm; /* head is embed where they are tied */
    /* Inputs of layers (PLE): the table of tokens, what the stream is projected by, its norm, hidden^-1/2. */
    struct ct_weight ple, ple_proj, ple_norm, ple_scale;
    /* Gemma 3n: the other streams out of the first, back, and 1/4. */
    struct ct_weight stream_proj[CT_STREAMS - 1], stream_unproj[CT_STREAMS - 1], quarter, no_norm;
    /* Drafters: what joins a token and a state of the model, what leads back to such a state; which groups of
     * ids are scored, and the ids in the order of groups, which is that of the rows of embed. */
    struct ct_weight draft_pre, draft_post, centroids, ordering;
    struct ct_weight dense[CT_MOST_DENSE]; /* what an embedder multiplies the mean by, one after the other */
    struct ct_layer *layer;                /* [n_layer], in the arena */
    bool tied;
    size_t bytes;         /* of the tensors used, as stored, a tied head once */
    uint64_t n_parameter; /* the same in elements */
    int n_unused;         /* tensors of the file that have no slot in the model */
    const char *unused;   /* the first of them */
    const char *prefix;   /* of the names of its tensors in safetensors; lives for ever */
    bool ple_apart; /* and those of inputs of layers have a word more, as in one class of transformers */
};

/* Finds and checks every tensor; norm weights become f32 with the 1 added, in the arena; sets c->embed_scale
 * and c->n_vocab. E_FORMAT (missing tensor, wrong shape), E_UNSUPPORTED (type), E_MEMORY. */
carat_status ct_weights_bind(struct ct_weights *w, struct ct_config *c, const struct ct_file *f,
                             struct ct_arena *arena, carat_error *err);

/* Points bound weights at a packed copy of the file that they were bound to; norms stay in the arena.
 * E_FORMAT: the copy is another model's, E_MEMORY: w is as it was. */
carat_status ct_weights_move(struct ct_weights *w, struct ct_config *c, const struct ct_file *copy,
                             struct ct_arena *arena, carat_error *err);

/* Calls visit for every weight in the order of a pass, a tied head once, with the name of its slot as GGUF
 * spells it ("blk.0.attn_q") and the name that its tensor has in f, unless f is an SBS file, which fuses
 * some. The first status that is not CARAT_OK ends the walk and is returned. */
typedef carat_status ct_weight_visit(void *user, const char *slot, const char *tensor,
                                     const struct ct_weight *w);
carat_status ct_weights_walk(const struct ct_weights *w, const struct ct_config *c, const struct ct_file *f,
                             ct_weight_visit *visit, void *user);

/* Where GGUF has the weight of a slot of ct_weights_walk. */
struct ct_gguf_place {
    char name[256]; /* of the tensor, as llama.cpp's converter calls it */
    int at;         /* which of its matrices it is; -1: it has no others */
    int rows;       /* of a small matrix, which is bound as a vector; of all others 1 */
};
void ct_gguf_place(struct ct_gguf_place *p, const struct ct_config *c, const char *slot);
/* The same for a directory, where w says how names begin. */
void ct_hf_place(struct ct_gguf_place *p, const struct ct_weights *w, const struct ct_config *c,
                 const char *slot);
/* What a model in a directory multiplies its embedding by, of the root of its width and the type that it is
 * stored in. */
float ct_hf_embed_scale(float root, enum ct_type stored);

/* weights_q8.c: a weight on its way into a backend: the form in which products read it, layout aside; what it
 * takes there; and itself. */
struct ct_weight ct_weight_form(const struct ct_backend *b, struct ct_weight w);
carat_status ct_weight_plan(struct ct_backend *b, const struct ct_weight *w, carat_error *err);
struct ct_weight ct_weight_bring(struct ct_backend *b, struct ct_weight w);

/* The same weights as the backend packs them; layer[c->n_layer] becomes to->layer, and expert, as many as
 * all layers have, theirs. head_aside: neither the head nor an embedding that is one with it is packed. */
void ct_weights_pack(struct ct_weights *to, const struct ct_weights *from, const struct ct_config *c,
                     struct ct_layer *layer, struct ct_expert *expert, struct ct_backend *b, bool head_aside);

#endif
