/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: what a new file consists of: its tensors, and the weights that they are made from. */
#ifndef CT_CONVERT_PLAN_H
#define CT_CONVERT_PLAN_H

#include "base/arena.h"
#include "checkpoint/checkpoint.h"
#include "convert/figures.h"
#include "convert/importance.h"
#include "convert/mixes.h"
#include "convert/scheme.h"
#include "file/write.h"
#include "model/weights.h"

/* ---- recipe.c ---- */

/* Which type each tensor of the new file has: by a mix (mixes.h), or by the words of a recipe. */

/* A tensor of the new file as GGUF names it, its layer, and the type that was chosen for it. */
struct ct_chosen {
    const char *name;
    int layer;                        /* -1: it is none's */
    int rows, cols, n;                /* of all its n matrices; 1: it is no stack of them */
    enum ct_type stored, asked, type; /* what it has, as GGUF can hold it; what it should get, and gets */
    struct ct_scheme scheme;          /* and how values share it */
    bool matrix;                      /* and no vector, router or other thing that quantisers leave alone */
};

struct ct_recipe {
    const struct ct_mix *mix; /* NULL: none is asked for */
    struct ct_scheme scheme;  /* nor this, for all matrices, unless `type` names it */
    const char *type;
    const char *words;                      /* as in struct carat_convert_options, or NULL */
    bool lattices;                          /* every block of Q4_0 gets the scale of one */
    bool pure;                              /* the mix's one type, whatever its rules are */
    bool again;                             /* also what is quantised is quantised */
    const struct ct_importance *importance; /* or NULL */
    struct ct_chosen *tensor; /* [n], and behind them the head, where it is the embedding so far */
    int n;
    bool head_apart; /* it gets a tensor of its own */
};

/* type: as in struct carat_convert_options. E_ARGUMENT: carat does not write it. */
carat_status ct_recipe_read(struct ct_recipe *r, const char *type, carat_error *err);
/* Chooses for all weights of a model. E_ARGUMENT: the words are wrong, or name nothing that there is;
 * E_FORMAT: the importance is another model's; E_UNSUPPORTED: something is quantised already; E_MEMORY. */
carat_status ct_recipe_choose(struct ct_recipe *r, const struct ct_weights *w, const struct ct_config *c,
                              const struct ct_file *f, struct ct_arena *arena, carat_error *err);
/* The tensor that the weight of a slot of ct_weights_walk belongs to; NULL: it is no weight of the model. */
const struct ct_chosen *ct_recipe_tensor(const struct ct_recipe *r, const struct ct_config *c,
                                         const char *slot);
/* Says in words how the file is made; "": nothing is changed; NULL: out of memory. */
const char *ct_recipe_text(const struct ct_recipe *r, struct ct_arena *arena);
/* llama.cpp's number for such a file. */
uint32_t ct_recipe_file_type(const struct ct_recipe *r);

struct ct_conversion;

enum { CT_NEW_NAME = 256 };

/* A weight, and the rows of a tensor that it becomes. */
struct ct_converted {
    struct ct_weight w; /* as the container stores it, but for its type; CT_TYPE_COUNT: bytes to be copied */
    float times;        /* what each value is multiplied by; 0: by nothing */
    float less;         /* what is taken from each value first: Gemma's 1, where norms lack it there */
    const char *source; /* the tensor that it is from, for messages */
    const float *importance; /* of its columns, or NULL */
    const int32_t *row;      /* which of w's rows each one of it is; NULL: the same */
    size_t row_bytes;        /* of the new one */
    int tensor, first;       /* and the first of its rows there */
    struct ct_scheme scheme;
    bool lattice;                 /* it is looked for, and blocks of Q4_0 get its scales */
    int palette, palettes_before; /* the tensor of its palettes, and those of others there; -1: values */
    int rows, chunks;             /* of a chunk; chunks before its first one */
};

/* The tensors of a container depend on this. */
struct ct_new_container {
    const char *name; /* for messages */
    bool palettes;    /* it can hold palettes and indices */
    /* Names the tensor of a slot. Returns how many matrices it has so far, this one included; 0: it is this
     * weight alone. */
    int (*tensor)(char name[CT_NEW_NAME], const struct ct_conversion *v, const char *slot);
    /* Fills c->w and c->less for a weight of the model, whose tensor is c->source, and says its new type.
     * E_UNSUPPORTED: the model does not have it as it was stored. */
    carat_status (*take)(struct ct_converted *c, enum ct_type *type, const struct ct_conversion *v,
                         const char *slot, const struct ct_weight *w, carat_error *err);
    /* Plans all weights, by ct_weights_walk with ct_plan_weight. */
    carat_status (*list)(struct ct_conversion *v);
    /* When all are known: the bytes before them, where each lies, and the size of all. */
    carat_status (*end)(struct ct_conversion *v, carat_error *err);
};
extern const struct ct_new_container ct_new_gguf, ct_new_hf; /* hf_tensors.c */

/* A file of several. */
struct ct_new_shard {
    struct ct_new_head head;
    uint64_t size;
};

struct ct_conversion {
    const struct carat_model *m;
    const struct ct_new_container *container;
    const char *path;             /* of the new file */
    struct ct_file *kept;         /* an older one there, whose tensors stay; NULL: they are the model's */
    struct carat_model *kept_dir; /* the same of a directory */
    const carat_convert_options *o;
    carat_error *err;
    struct ct_recipe recipe;
    struct ct_importance importance; /* of which recipe has the address where there is some */
    const char *importance_path;
    float residual; /* scale of the stream; 1: as it is */
    bool tied;      /* the embedding has another factor then, instead of other values */
    bool expand;    /* what a palette stands for is written, instead of it */
    struct ct_arena arena;
    struct ct_converted *c;       /* [n] */
    struct ct_new_tensor *tensor; /* [n_tensor] */
    int n, n_tensor, n_chunk;
    int embed;                  /* which of c is the embedding */
    struct ct_new_head head;    /* of the only file */
    uint64_t size, heads;       /* of all files; of what stands before their tensors */
    uint64_t shard_bytes;       /* the most tensors that a safetensors file may have */
    struct ct_new_shard *shard; /* [n_shard] */
    int n_shard;
};

/* The file that tensors are taken from. */
static inline const struct ct_file *ct_taken_from(const struct ct_conversion *v)
{
    return v->kept ? v->kept : v->m->file;
}

/* Fills the members behind arena, whose owner frees it and all heads. E_UNSUPPORTED, E_FORMAT, E_MEMORY. */
carat_status ct_plan_file(struct ct_conversion *v, carat_error *err);
/* Tells who asks of a tensor, with what was measured, or NULL. */
void ct_plan_tell(const struct ct_conversion *v, int tensor, const struct ct_figures *f,
                  const carat_convert_options *o);

/* For containers: plans a weight, as ct_weights_walk gives it, and rows of zeros behind the last one. */
carat_status ct_plan_weight(void *conversion, const char *slot, const char *source,
                            const struct ct_weight *w);
carat_status ct_plan_zeros(struct ct_conversion *v, int rows);
/* K and V of layers that read another's, as the source has them, if it has. */
carat_status ct_plan_dead(struct ct_conversion *v);
/* For what has just been planned of w: a drafter's vocabulary is bound in the order of groups and stored in
 * that of ids, which are bound as floats and stored as integers; wide: of 64 bits. */
carat_status ct_plan_order(struct ct_conversion *v, const struct ct_weight *w, bool wide);
/* The rows of c->w, which are the next ones of its tensor. several: how many matrices that has then; 0: it is
 * no stack of them. */
void ct_plan_rows(struct ct_conversion *v, struct ct_converted *c, int several);

/* ---- gguf_copy.c ---- */

/* A GGUF file out of another one. */

/* True when the source is such a file, and its tensors and keys go into the new one as they are, but for the
 * types that a recipe changes. */
bool ct_gguf_copies(const struct ct_conversion *v);
/* Plans all of its tensors, also those that no model uses. E_UNSUPPORTED, E_MEMORY. */
carat_status ct_gguf_copy_tensors(struct ct_conversion *v);
/* In place of what keys say about tensors, in a head that has all, what the file says whose tensors are kept.
 * E_FORMAT. */
carat_status ct_gguf_keep_keys(struct ct_conversion *v, carat_error *err);
/* Its keys in their order, but for those of parts, and those about types where these change. E_MEMORY. */
carat_status ct_gguf_copy_keys(struct ct_conversion *v, carat_error *err);

#endif
