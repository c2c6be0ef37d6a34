/* SPDX-License-Identifier: Apache-2.0 */
/* family.h: the facts of Gemma 1 to 4, once: what the models of an architecture share, what
 * config.json leaves out because transformers' classes say it, and the published members. MODEL.md has
 * their sources. */
#ifndef CT_FAMILY_H
#define CT_FAMILY_H

#include "model/config.h"

struct ct_architecture {
    const char *name; /* as GGUF and messages call it: "gemma", "gemma2", "gemma3", "gemma3n", "gemma4" ... */
    const char *model_type; /* as config.json calls its text model */
    const char *wrapper;    /* and a model around that, which also sees; NULL: there is none */
    const char *assistant;  /* and a drafter for such models (config_drafter.c); NULL: there is none */
    bool post_norms;        /* norms after attention and feed-forward */
    bool qk_norms;
    bool norms_as_stored; /* else 1 is added to the weights of norms that a checkpoint holds */
    bool v_norms;         /* V is normed without a weight */
    bool out_scales;      /* each layer scales what leaves it */
    bool altup;           /* Gemma 3n's four residual streams, and what else it has beside Gemma 4 E2B */
    double rotated;       /* share of the pairs of global layers that turn, where config.json says none */
    int global_head_dim;  /* 0: that of the other layers */
    int period;           /* layer i is global when (i + 1) % period == 0; 1: all are */
    int window;           /* of local layers, where GGUF states none; 0: there are no local layers */
    double rope_base, rope_base_local;
    float attn_cap, logit_cap; /* 0: none */
    float gguf_logit_cap;      /* where GGUF leaves it out and config.json would mean none */
    int n_text_vocab;          /* ids from here on are padding or stand for pictures; 0: no such ids */
    bool pictures_last;        /* of a model that also sees: so are those from the id of a picture on */
    int32_t end_of_turn;       /* the id of <end_of_turn> */
    const char *embeds_as;     /* what it is where its rows see those behind them, too; NULL: it never does */
    bool embeds;               /* it gives a vector for a text (MODEL.md, embedders) */
    int vector;      /* values of it, which one matrix makes of the mean; 0: modules beside the model do */
    int most_tokens; /* of a text that it was trained for, whatever its files say */
    int n_kv_head_global; /* 0: that of the other layers, or what config.json says where V is K */
    /* The defaults of the class in transformers. */
    struct {
        int n_vocab, hidden, ffn, n_layer, n_head, n_kv_head, head_dim, max_context, window;
        double query_scalar; /* 0: it is head_dim; 0 and 1: whatever config.json says */
        int ple_width, ple_rows;
        int n_shared, laurel_rank;
    } hf;
};
extern const struct ct_architecture ct_architectures[];
extern const int ct_architecture_count;

#define CT_NORM_EPS 1e-6       /* of all members */
#define CT_CUTOFF   1.6448536f /* deviations, below which 0.95 of a normal distribution are */

/* NULL: not one that carat runs. */
const struct ct_architecture *ct_architecture_named(struct ct_str name);
const struct ct_architecture *ct_architecture_of_type(struct ct_str model_type);
/* The one inside a model that also sees, or a drafter. */
const struct ct_architecture *ct_architecture_within(struct ct_str model_type);
const struct ct_architecture *ct_architecture_in_assistant(struct ct_str model_type);
const struct ct_architecture *ct_architecture_with(bool post_norms, bool qk_norms);
/* The id of <end_of_turn> for a model without a tokenizer; -1 when its vocabulary is too small to be a
 * published one, or the architecture is not known. */
int32_t ct_family_end_of_turn(const char *architecture, int n_vocab);

/* A published member; zeros are what it does not have. */
struct ct_member {
    const char *name;
    const struct ct_architecture *architecture;
    uint32_t sbs; /* its number in gemma.cpp's files, where they leave facts to it */
    int n_layer, hidden, ffn, n_head, n_kv_head, head_dim;
    int n_vocab;          /* rows of the embedding */
    uint64_t n_parameter; /* of the text tower, published, without K and V of layers that share */
    int window;           /* as struct ct_attn has it */
    double rope_factor;   /* of global layers */
    double query_scalar;  /* scores are divided by its root: head_dim, in the 27B hidden / n_head, later 1 */
    struct ct_newer {
        int n_shared, shared_ffn;        /* the last layers, which share K and V; their ffn, if another */
        int ple_width;                   /* of the inputs of layers */
        int n_kv_head, head_dim, period; /* of global layers, and which they are; 0: as for the others */
        bool v_is_k;                     /* in global layers */
        int n_expert, n_used, expert_ffn;
    } newer; /* what Gemma 3n and 4 have */
};
extern const struct ct_member ct_members[];
extern const int ct_member_count;

/* The member that has as many layers of the same width; NULL: none. */
const struct ct_member *ct_member_find(const struct ct_config *c);
const struct ct_member *ct_member_of_sbs(uint32_t model);
/* True when a model of that depth divides scores by the root of hidden / n_head, as the 27B do, instead of
 * head_dim's. */
bool ct_member_scales_by_width(const struct ct_architecture *a, int n_layer);
/* Layer i of a member; K and V are its own, or the layer's before. */
struct ct_layer_config ct_member_layer(const struct ct_member *m, int i);

/* Makes the last n layers read K and V of the last one of their type before them. The first layer that finds
 * none there, or -1. */
int ct_family_share_kv(struct ct_config *c, int n);
/* The first ten of more layers cut their gates off, as in Gemma 3n where a file does not say which do. */
void ct_family_cut_off(struct ct_config *c);
/* Every layer has n experts of that width, of which a row goes through so many. */
void ct_family_give_experts(struct ct_config *c, int n, int used, int ffn);

#endif
