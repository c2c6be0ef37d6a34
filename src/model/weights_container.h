/* SPDX-License-Identifier: Apache-2.0 */
/* weights_container.h: what weights.c asks of a container: how it names the tensors of a model, how they are
 * found in it, and what its configuration calls their extents. Each container fills one struct, in
 * weights_<container>.c. A packed file has two: its own for the tensors, and that of its origin for
 * everything that the configuration says. Private to src/model. */
#ifndef CT_WEIGHTS_CONTAINER_H
#define CT_WEIGHTS_CONTAINER_H

#include "file/packed.h"
#include "model/weights.h"

enum { CT_TENSOR_NAME = 256 };

/* Extents that a shape is made of. */
enum ct_dim {
    CT_DIM_ONE,
    CT_DIM_HIDDEN,
    CT_DIM_Q,
    CT_DIM_KV,
    CT_DIM_FFN,
    CT_DIM_HEAD,
    CT_DIM_VOCAB,
    CT_DIM_PLE,      /* the input of a layer */
    CT_DIM_PLE_ALL,  /* of all layers */
    CT_DIM_PLE_ROWS, /* of their table */
    CT_DIM_STREAMS,  /* of Gemma 3n */
    CT_DIM_COEFS,    /* of one stream for another */
    CT_DIM_LAUREL,   /* rank of the second way past attention */
    CT_DIM_EXPERTS,
    CT_DIM_EXPERT_FFN,
    CT_DIM_BACKBONE, /* of the model that a drafter reads */
    CT_DIM_TWO_BACKBONES,
    CT_DIM_CENTROIDS, /* groups of a drafter's vocabulary */
    CT_DIM_DENSE,     /* what the first matrix behind the mean of an embedder makes */
    CT_DIM_SECOND_DENSE,
    CT_DIMS
};

/* The weights of one model while they are bound. Slots are called as in ct_weights_walk, but without
 * "blk.<layer>."; layer is -1 for those of the whole model. */
struct ct_binding {
    struct ct_weights *w;
    struct ct_config *c;
    const struct ct_file *f;
    struct ct_arena *arena;
    const struct ct_container *container, *origin; /* the same, unless f is a packed file */
    bool *used;                                    /* by number of the tensor: a slot has asked for it */
    uint32_t n_found;                              /* tensors that slots have asked for */
    char missing[512];                             /* the first names of others, for the message */
    int n_missing;                                 /* how many there are */
    enum ct_dim rows, cols;                        /* what the next shape is made of, for messages */
    int part, parts; /* the matrix to bind is which of so many in its tensor; parts 0: the only one */
    int stack;       /* matrices in the tensor that is looked for, one behind the other; 0: it is one */
    carat_error *err;
};

struct ct_container {
    /* ---- tensors ---- */

    /* Finds what `name` depends on; for a packed file, too. NULL: nothing. */
    void (*begin)(struct ct_binding *b);
    /* What the tensor of a slot is called. */
    void (*name)(char name[CT_TENSOR_NAME], const struct ct_weights *w, const struct ct_config *c,
                 const char *slot, int layer);
    const char *other_head; /* another name of the tensor of slot "output", or NULL */
    /* What is added to names where several tensors stand for one; NULL ends them. NULL: nothing is. */
    const char *const *parts;
    bool parts_apart; /* gate and up of all experts may lie in tensors of their own */
    /* The tensor of that name; NULL there: it is absent. */
    const struct ct_tensor *(*find)(const struct ct_file *f, const char *name);
    /* Before `find`, for a container whose tensors are not all those of the model: puts one together, or
     * leaves its name NULL. E_FORMAT: what it is made of contradicts itself; E_MEMORY. NULL: there is none
     * such. */
    carat_status (*make)(struct ct_tensor *t, struct ct_binding *b, const char *slot, int layer);
    /* The factor of a matrix that the tensor holds, where a tensor beside it says one; else *factor stays.
     * E_FORMAT: it is none. NULL: there are none such. */
    carat_status (*factor)(float *factor, struct ct_binding *b, const struct ct_tensor *t);
    bool counts_unused; /* tensors that no slot asks for are told of */
    bool prepared;      /* norms have Gemma's 1 added, and matrices lie in panels where their type can */
    /* When all slots are bound: what the file says of itself. NULL: nothing. */
    carat_status (*finish)(struct ct_binding *b);

    /* ---- the configuration ---- */

    const char *key[CT_DIMS]; /* what says an extent */
    const char *layers;       /* and how many layers there are */
    bool says_tied; /* and whether the head is the embedding: where it is, a tensor of it is one, unless it is
                     * a copy of that */
    const char *types; /* that tensors may have, and then nothing is to be done; NULL: all that carat reads */
    /* sqrt(hidden) as the trained model saw it, by the type of the embedding (NUMERICS.md section 6) */
    float (*embed_scale)(float root, enum ct_type stored);
};

/* A tensor of the file that a slot is made of, as used; NULL: it is absent. */
static inline const struct ct_tensor *ct_binding_take(struct ct_binding *b, const char *name)
{
    const struct ct_tensor *t = ct_file_find(b->f, name);

    if (t)
        b->used[t - ct_file_tensor(b->f, 0)] = true;
    return t;
}

extern const struct ct_container ct_container_hf, ct_container_gguf, ct_container_sbs, ct_container_packed;

/* weights_hf.c: the keys of config.json and the names of safetensors; files of gemma.cpp are told of so,
 * too. */
#define CT_HF_KEYS                                                                                           \
    {                                                                                                        \
        [CT_DIM_ONE] = "1", [CT_DIM_HIDDEN] = "hidden_size", [CT_DIM_Q] = "num_attention_heads * head_dim",  \
        [CT_DIM_KV] = "num_key_value_heads * head_dim", [CT_DIM_FFN] = "intermediate_size",                  \
        [CT_DIM_HEAD] = "head_dim", [CT_DIM_VOCAB] = "vocab_size",                                           \
        [CT_DIM_PLE] = "hidden_size_per_layer_input",                                                        \
        [CT_DIM_PLE_ALL] = "num_hidden_layers * hidden_size_per_layer_input",                                \
        [CT_DIM_PLE_ROWS] = "vocab_size_per_layer_input", [CT_DIM_STREAMS] = "altup_num_inputs",             \
        [CT_DIM_COEFS] = "altup_num_inputs * altup_num_inputs", [CT_DIM_LAUREL] = "laurel_rank",             \
        [CT_DIM_EXPERTS] = "num_experts", [CT_DIM_EXPERT_FFN] = "moe_intermediate_size",                     \
        [CT_DIM_BACKBONE] = "backbone_hidden_size", [CT_DIM_TWO_BACKBONES] = "2 * backbone_hidden_size",     \
        [CT_DIM_CENTROIDS] = "num_centroids", [CT_DIM_DENSE] = "out_features of the first matrix",           \
        [CT_DIM_SECOND_DENSE] = "out_features of the second matrix",                                         \
    }
void ct_hf_tensor_name(char name[CT_TENSOR_NAME], const struct ct_weights *w, const struct ct_config *c,
                       const char *slot, int layer);
/* weights_compressed.c: a tensor of compressed-tensors, three in the file, as Q4_0; the name stays NULL where
 * there is none such. E_FORMAT, E_UNSUPPORTED, E_MEMORY. */
carat_status ct_make_compressed(struct ct_tensor *t, struct ct_binding *b, const char *slot, int layer);
extern const char *const ct_compressed_parts[];
/* weights_palette.c: the tensor of that name as one of F16, where the file has palettes and indices in its
 * place; its own name stays NULL where it has not. Of a stack the palettes of its matrices are an array.
 * E_FORMAT, E_MEMORY. */
carat_status ct_make_palette(struct ct_tensor *t, struct ct_binding *b, const char *name);
/* weights_gguf.c */
float ct_embed_scale_bf16(float root, enum ct_type stored);

/* weights_tensor.c. b->rows and b->cols say what a shape is made of. */
/* "16 x 48 x 64" */
const char *ct_shape_text(const struct ct_tensor *t, char text[96]);
/* The matrix that a tensor holds, where it lies. E_FORMAT, E_UNSUPPORTED. */
carat_status ct_point_at(const struct ct_binding *b, struct ct_weight *w, const struct ct_tensor *t, int rows,
                         int cols);
/* The same, counted among the model's weights. */
carat_status ct_bind_matrix(struct ct_binding *b, struct ct_weight *w, const struct ct_tensor *t, int rows,
                            int cols);
/* A vector, or a small matrix, as f32 in the arena. times: what the values are multiplied by, unless a file
 * has them as they are used. E_FORMAT, E_UNSUPPORTED, E_MEMORY. */
carat_status ct_bind_small(struct ct_binding *b, struct ct_weight *w, const struct ct_tensor *t, int rows,
                           int cols, float times);
/* Every missing tensor is looked for before the model is refused: one name alone does not tell whether a
 * tensor was lost or half of the file. E_FORMAT: some are. */
void ct_note_missing(struct ct_binding *b, const char *name);
carat_status ct_check_missing(struct ct_binding *b);
/* A vector of the arena. */
struct ct_weight ct_made_vector(const float *v, int n);

/* weights_made.c: those that no file has. E_MEMORY. */
carat_status ct_bind_made(struct ct_binding *b);
/* What divides values made of the stream by the root of its width. */
static inline float ct_root_of_width(const struct ct_config *c)
{
    return (float)(1 / __builtin_sqrt((double)c->hidden));
}

/* weights_drafter.c. Which ids the groups of a drafter's vocabulary hold, group after group, as numbers of
 * f32; and the rows of its embedding in that order, so that those of a group lie side by side. For `make` of
 * containers; the name stays NULL for all other slots. E_FORMAT: what the file has is no permutation. */
#define CT_ORDERING "masked_embd_ordering"
/* What names of a drafter begin with where it lies in the GGUF file of its model. */
#define CT_BESIDE "nextn."
carat_status ct_make_ordered(struct ct_tensor *t, struct ct_binding *b, const char *slot);
/* That the ordering is one, as far as a step relies on it; a packed file has it ready. E_FORMAT. */
carat_status ct_check_ordering(const struct ct_binding *b);
/* The names that a drafter's tensors have in GGUF: in which of two dialects, and that of a slot, if it is of
 * drafters alone; else name stays. */
void ct_drafter_find_names(struct ct_binding *b);
/* True when a tensor that is no part of the model is one of the drafter beside it, or the other way round. */
bool ct_drafter_owns(const struct ct_binding *b, const struct ct_tensor *t);
void ct_drafter_tensor_name(char name[CT_TENSOR_NAME], const struct ct_weights *w, const char *slot);

#endif
