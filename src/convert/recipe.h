/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h: which type each tensor of the new file has: by a mix (mixes.h), or by the words of a recipe. */
#ifndef CT_RECIPE_H
#define CT_RECIPE_H

#include "base/arena.h"
#include "convert/importance.h"
#include "convert/mixes.h"
#include "convert/scheme.h"
#include "model/weights.h"

/* A tensor of the new file as GGUF names it, its layer, and the type that was chosen for it. */
struct ct_chosen {
    const char *name;
    int layer;                 /* -1: it is none's */
    int rows, cols, n;         /* of all its n matrices; 1: it is no stack of them */
    enum ct_type stored, type; /* what it has, as GGUF can hold it; what it gets */
    struct ct_scheme scheme;   /* and how values share it */
    bool matrix;               /* and no vector, router or other thing that quantisers leave alone */
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
/* How the file is made, in words; "": nothing is changed; NULL: out of memory. */
const char *ct_recipe_text(const struct ct_recipe *r, struct ct_arena *arena);
/* llama.cpp's number for such a file. */
uint32_t ct_recipe_file_type(const struct ct_recipe *r);

#endif
