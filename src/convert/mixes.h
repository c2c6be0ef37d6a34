/* SPDX-License-Identifier: Apache-2.0 */
/* mixes.h: the mixes of llama.cpp's quantiser: which type a file of a name gives each of its matrices. */
#ifndef CT_MIXES_H
#define CT_MIXES_H

#include "quant/quant.h"

/* A file that llama-quantize makes. */
struct ct_mix {
    const char *name, *alias; /* as it spells them, in small letters; alias may be NULL */
    enum ct_type type;        /* of what no rule says otherwise */
    uint8_t file_type;        /* its number in general.file_type */
    bool plain;               /* every matrix gets the type */
    bool weighted;            /* it is made with importance alone */
};
extern const struct ct_mix ct_mixes[];
enum { CT_MIX_COUNT = 22, CT_TYPE_WHY = 128 };

/* In any case, or by llama-quantize's number for it; NULL: there is none such. */
const struct ct_mix *ct_mix_named(struct ct_str name);
/* Why a word is no type, as the end of a sentence: what is wrong with it, or which name is nearest. */
const char *ct_type_why(char text[CT_TYPE_WHY], struct ct_str word);
/* The type of a single name: not a mix, F32 to MXFP4. False: there is none such. */
bool ct_type_written(struct ct_str name, enum ct_type *type);

/* Facts of the model that a mix reads, and how far the mix has come. */
struct ct_mixing {
    const struct ct_mix *mix;
    int n_layer, n_expert;
    int gqa;       /* heads that share K and V in the first layer */
    int n_v;       /* tensors attn_v */
    bool weighted; /* there is importance */
    bool tied;     /* the embedding is the head */
    int at_v, at_down;
};
/* The type of the next matrix, in the order of layers. name: as GGUF spells it; cols: of a row; several: it
 * is one of many experts. */
enum ct_type ct_mix_type(struct ct_mixing *m, const char *name, int cols, bool several);
/* The type for rows that are no multiple of the block of that one. */
enum ct_type ct_fitting_type(enum ct_type type, int cols);

#endif
