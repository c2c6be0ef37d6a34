/* SPDX-License-Identifier: Apache-2.0 */
/* config.h: what a checkpoint says it is, as data: shapes, types of layers, scales. Read from config.json,
 * GGUF keys or an SBS blob; weights are in weights.h. Facts and sources: MODEL.md. */
#ifndef CT_CONFIG_H
#define CT_CONFIG_H

#include "backend/backend.h"
#include "file/file.h"

#define CT_MAX_LAYERS   256
#define CT_MOST_EXPERTS 1024 /* of a layer */

/* The tensor of GGUF that says attn[CT_GLOBAL].rotated, and is no weight; and the metadata key that says it
 * in a packed file of such a model. */
#define CT_ROPE_FREQS     "rope_freqs.weight"
#define CT_ROPE_PAIRS_KEY "carat.rope_pairs"
/* The same for ple_rows, where the table has more. */
#define CT_PLE_ROWS_KEY "carat.ple_rows"

enum ct_attn_type { CT_GLOBAL, CT_LOCAL }; /* indices of ct_config.attn */

/* Everything that can differ between layers. */
struct ct_layer_config {
    int n_head, n_kv_head, head_dim, ffn;
    int attn_type; /* enum ct_attn_type */
    int kv_layer;  /* whose K and V it reads: its own, or those of an earlier layer of its type; -1: those of
                    * another model */
    bool v_is_k;   /* V is what K is before its norm: one weight makes both */
    float attn_scale, attn_cap;
    float cutoff;                     /* deviations above its mean that gate loses; 0: none */
    int n_expert, n_used, expert_ffn; /* experts beside its feed-forward; of a row; their width. 0: none */
};

struct ct_config {
    const char *architecture; /* "gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "gemma-embedding", ... */
    int n_layer, hidden, n_vocab, max_context;
    int n_text_vocab; /* ids from here on are padding or placeholders and are never generated */
    int ple_width;    /* values of a layer's own input (PLE, MODEL.md); 0: layers have none */
    int ple_rows;     /* of the table of these inputs; ids beyond it take row 0 */
    int ple_layers;   /* layers that it has inputs for: all of the model, also when some alone run */
    int first_layer;  /* the number of layer[0] among them: not 0 once it was cut */
    float ple_scale;  /* of a row of the table: about the root of ple_width; 0 until weights are bound */
    int tied;         /* as config.json says; 1 for GGUF without output.weight */
    bool multimodal;
    bool norm_plus_one; /* stored norm weights lack Gemma's 1 (safetensors, SBS) */
    bool post_norms;    /* norms after attention and feed-forward: Gemma 2 and 3 */
    bool qk_norms;      /* Gemma 3 and 4 */
    bool v_norms;       /* Gemma 3n and 4: V is normed without a weight */
    bool out_scales;    /* Gemma 4: each layer scales what leaves it */
    bool altup;         /* Gemma 3n: CT_STREAMS residual streams, for which forward_3n.c is */
    bool altup_scales;  /* and what the input of a layer is mixed with is scaled before */
    int laurel_rank;    /* of its second way past attention */
    bool made_global;   /* the last layer, which is said to be local */
    int backbone; /* of a drafter that reads another model's K and V: the width of that; 0: it is none */
    int n_centroid,
        n_near; /* groups of its vocabulary, and those of a step that are scored; 0: all ids are */
    /* Of an embedder: rows see those behind them, too, and a pass gives a vector. dense[n_dense] are values
     * that each matrix behind the mean makes; without one the vector is that mean. */
    bool embeds;
    int n_dense, dense[CT_MOST_DENSE];
    bool vector_inside; /* the only one of them is a tensor of the model, and no module beside it */
    float norm_eps, logit_cap;
    float embed_scale;           /* 0 until weights are bound: depends on the stored type for safetensors */
    double embed_scale_override; /* GGUF key carat.embedding_scale; 0: none */
    float residual_scale;        /* GGUF key carat.residual_scale: what its stream is multiplied by; else 1 */
    struct ct_attn attn[CT_ATTN_TYPES];
    struct ct_layer_config layer[CT_MAX_LAYERS];
};

/* E_FORMAT, E_UNSUPPORTED, E_NOT_FOUND; messages name file and key. */
carat_status ct_config_read(struct ct_config *c, const struct ct_file *f, carat_error *err);
/* Layers [first, first + n) alone, as an engine runs them. */
void ct_config_cut(struct ct_config *c, int first, int n);
carat_status ct_config_read_hf(struct ct_config *c, const struct ct_file *f, carat_error *err);
/* config_unread.c: keys of config.json that say nothing to carat, with the class of transformers whose object
 * they stand in, and whether that release knows them; until visit gives another value than 0. */
typedef int (*ct_unread_visit)(void *user, const char *key, const char *class_name, bool known);
carat_status ct_config_unread(const struct ct_file *f, ct_unread_visit visit, void *user, carat_error *err);
carat_status ct_config_read_gguf(struct ct_config *c, const struct ct_file *f, carat_error *err);
/* config_embed.c: what an embedder has of its own, for c->embeds. */
carat_status ct_config_embed_hf(struct ct_config *c, const struct ct_file *f, int one, carat_error *err);
carat_status ct_config_embed_gguf(struct ct_config *c, const struct ct_file *f, const char *prefix,
                                  carat_error *err);
carat_status ct_config_read_sbs(struct ct_config *c, const struct ct_file *f, carat_error *err);

#endif
