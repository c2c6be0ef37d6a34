/* SPDX-License-Identifier: Apache-2.0 */
/* family.c: the tables of family.h. */
#include "model/family.h"

#include "file/sbs.h"

/* Gemma 4 but for what the classes of transformers tell apart. */
/* clang-format off */
#define GEMMA4_OF_ALL_SIZES                                                                                  \
    .name = "gemma4", .post_norms = true, .qk_norms = true, .norms_as_stored = true, .v_norms = true,        \
    .out_scales = true, .rotated = 0.25, .global_head_dim = 512, .period = 6, .rope_base = 1e6,              \
    .rope_base_local = 1e4, .n_text_vocab = 262144, .end_of_turn = 106
/* clang-format on */

const struct ct_architecture ct_architectures[] = {
    {.name = "gemma",
     .model_type = "gemma",
     .rotated = 1,
     .period = 1,
     .rope_base = 1e4,
     .rope_base_local = 1e4,
     .end_of_turn = 107,
     .hf = {256000, 3072, 24576, 28, 16, 16, 256, 8192, 0, 0, 0, 0, 0, 0}},
    {.name = "gemma2",
     .model_type = "gemma2",
     .post_norms = true,
     .rotated = 1,
     .period = 2,
     .window = 4096,
     .rope_base = 1e4,
     .rope_base_local = 1e4,
     .attn_cap = 50,
     .logit_cap = 30,
     .end_of_turn = 107,
     .hf = {256000, 2304, 9216, 26, 8, 4, 256, 8192, 4096, 256, 0, 0, 0, 0}},
    {.name = "gemma3",
     .model_type = "gemma3_text",
     .post_norms = true,
     .qk_norms = true,
     .period = 6,
     .window = 512,
     .rope_base = 1e6,
     .rope_base_local = 1e4,
     .wrapper = "gemma3",
     .pictures_last = true,
     .rotated = 1,
     .n_text_vocab = 262144,
     .end_of_turn = 106,
     .embeds_as = "gemma-embedding",
     .hf = {262208, 2304, 9216, 26, 8, 4, 256, 131072, 4096, 256, 0, 0, 0, 0}},
    {.name = "gemma3n",
     .model_type = "gemma3n_text",
     .wrapper = "gemma3n",
     .post_norms = true,
     .qk_norms = true,
     .norms_as_stored = true,
     .v_norms = true,
     .altup = true,
     .rotated = 1,
     .period = 5,
     .window = 512,
     .rope_base = 1e6,
     .rope_base_local = 1e4,
     .logit_cap = 30,
     .n_text_vocab = 262144,
     .end_of_turn = 106,
     .hf = {262400, 2048, 16384, 35, 8, 2, 256, 32768, 512, 1, 256, 262144, 15, 64}},
    {GEMMA4_OF_ALL_SIZES, .model_type = "gemma4_text", .wrapper = "gemma4", .assistant = "gemma4_assistant",
     .window = 512, .gguf_logit_cap = 30,
     .hf = {262144, 2304, 9216, 30, 8, 4, 256, 131072, 512, 1, 256, 262144, 0, 0}},
    {GEMMA4_OF_ALL_SIZES, /* the 12B, without encoders, is a class of its own in transformers */
     .model_type = "gemma4_unified_text", .wrapper = "gemma4_unified",
     .assistant = "gemma4_unified_assistant", .window = 1024,
     .hf = {262144, 2304, 9216, 30, 8, 4, 256, 262144, 1024, 1, 0, 0, 0, 0}},
    {.name = "gemma-embedding", /* in config.json it is a Gemma 3 whose attention is bidirectional */
     .post_norms = true,
     .qk_norms = true,
     .period = 6,
     .window = 512,
     .rope_base = 1e6,
     .rope_base_local = 1e4,
     .rotated = 1,
     .n_text_vocab = 262144,
     .end_of_turn = 106,
     .embeds = true,
     .most_tokens = 2048,
     .hf = {262208, 2304, 9216, 26, 8, 4, 256, 131072, 4096, 256, 0, 0, 0, 0}},
    {.name = "gemma-embedding2",
     .model_type = "embedding_gemma2_text",
     .wrapper = "embedding_gemma2",
     .post_norms = true,
     .qk_norms = true,
     .norms_as_stored = true,
     .v_norms = true,
     .out_scales = true,
     .rotated = 1,
     .global_head_dim = 512,
     .n_kv_head_global = 1,
     .period = 6,
     .window = 1024,
     .rope_base = 1e6,
     .rope_base_local = 1e4,
     .n_text_vocab = 262144,
     .end_of_turn = 106,
     .embeds = true,
     .vector = 768,
     .most_tokens = 8192,
     .hf = {262144, 512, 2048, 24, 4, 2, 256, 262144, 512, 1, 512, 0, 0, 0}},
};
const int ct_architecture_count = (int)CT_COUNT(ct_architectures);

#define GEMMA1  &ct_architectures[0]
#define GEMMA2  &ct_architectures[1]
#define GEMMA3  &ct_architectures[2]
#define GEMMA3N &ct_architectures[3]
#define GEMMA4  &ct_architectures[4]
#define EMBED1  &ct_architectures[6]
#define EMBED2  &ct_architectures[7]
/* clang-format off */
const struct ct_member ct_members[] = {
    {"Gemma 1 2B", GEMMA1, 0, 18, 2048, 16384, 8, 1, 256, 256000, 2506172416, 0, 1, 256, {0}},
    {"Gemma 1 7B", GEMMA1, 0, 28, 3072, 24576, 16, 16, 256, 256000, 8537680896, 0, 1, 256, {0}},
    {"Gemma 2 2B", GEMMA2, 0, 26, 2304, 9216, 8, 4, 256, 256000, 2614341888, 4096, 1, 256, {0}},
    {"Gemma 2 9B", GEMMA2, 0, 42, 3584, 14336, 16, 8, 256, 256000, 9241705984, 4096, 1, 256, {0}},
    {"Gemma 2 27B", GEMMA2, 0, 46, 4608, 36864, 32, 16, 128, 256000, 27227128320, 4096, 1, 144, {0}},
    {"Gemma 3 270M or FunctionGemma", GEMMA3, 0, 18, 640, 2048, 4, 1, 256, 262144, 268098176, 512, 1, 256, {0}},
    {"Gemma 3 1B", GEMMA3, 0, 26, 1152, 6912, 4, 1, 256, 262144, 999885952, 512, 1, 256, {0}},
    {"Gemma 3 4B", GEMMA3, CT_SBS_GEMMA3_4B, 34, 2560, 10240, 8, 4, 256, 262208, 3880263168, 1024, 8, 256, {0}},
    {"Gemma 3 12B", GEMMA3, CT_SBS_GEMMA3_12B, 48, 3840, 15360, 16, 8, 256, 262208, 11766034176, 1024, 8, 256, {0}},
    {"Gemma 3 27B", GEMMA3, CT_SBS_GEMMA3_27B, 62, 5376, 21504, 32, 16, 128, 262208, 27009346304, 1024, 8, 168, {0}},
    {"Gemma 3n E2B", GEMMA3N, 0, 30, 2048, 8192, 8, 2, 256, 262400, 4435182688, 512, 1, 1,
     {.n_shared = 10, .ple_width = 256}},
    {"Gemma 3n E4B", GEMMA3N, 0, 35, 2048, 16384, 8, 2, 256, 262400, 6835235568, 512, 1, 1,
     {.n_shared = 15, .ple_width = 256}},
    {"Gemma 4 E2B", GEMMA4, 0, 35, 1536, 6144, 8, 1, 256, 262144, 4628569379, 512, 1, 1,
     {.n_shared = 20, .shared_ffn = 12288, .ple_width = 256, .head_dim = 512, .period = 5}},
    {"Gemma 4 E4B", GEMMA4, 0, 42, 2560, 10240, 8, 2, 256, 262144, 7463013418, 512, 1, 1,
     {.n_shared = 18, .ple_width = 256, .head_dim = 512}},
    {"Gemma 4 12B", GEMMA4, 0, 48, 3840, 15360, 16, 8, 256, 262144, 11907350320, 1024, 1, 1,
     {.n_kv_head = 1, .head_dim = 512, .v_is_k = true}},
    {"Gemma 4 26B-A4B", GEMMA4, 0, 30, 2816, 2112, 16, 8, 256, 262144, 25233141790, 1024, 1, 1,
     {.n_kv_head = 2, .head_dim = 512, .v_is_k = true, .n_expert = 128, .n_used = 8, .expert_ffn = 704}},
    {"Gemma 4 31B", GEMMA4, 0, 60, 5376, 21504, 32, 16, 256, 262144, 30697345340, 1024, 1, 1,
     {.n_kv_head = 4, .head_dim = 512, .v_is_k = true}},
    {"EmbeddingGemma 300M", EMBED1, 0, 24, 768, 1152, 3, 1, 256, 262144, 307581696, 257, 1, 256, {0}},
    {"EmbeddingGemma 2 270M", EMBED2, 0, 24, 512, 2048, 4, 2, 256, 262144, 271002648, 513, 1, 1,
     {.ple_width = 512, .n_kv_head = 1, .head_dim = 512}},
};
/* clang-format on */
const int ct_member_count = (int)CT_COUNT(ct_members);

const struct ct_architecture *ct_architecture_named(struct ct_str name)
{
    for (int i = 0; i < ct_architecture_count; i++)
        if (ct_str_is(name, ct_architectures[i].name))
            return &ct_architectures[i];
    return NULL;
}

const struct ct_architecture *ct_architecture_of_type(struct ct_str model_type)
{
    for (int i = 0; i < ct_architecture_count; i++)
        if (ct_architectures[i].model_type && ct_str_is(model_type, ct_architectures[i].model_type))
            return &ct_architectures[i];
    return NULL;
}

const struct ct_architecture *ct_architecture_within(struct ct_str model_type)
{
    for (int i = 0; i < ct_architecture_count; i++)
        if (ct_architectures[i].wrapper && ct_str_is(model_type, ct_architectures[i].wrapper))
            return &ct_architectures[i];
    return NULL;
}

const struct ct_architecture *ct_architecture_in_assistant(struct ct_str model_type)
{
    for (int i = 0; i < ct_architecture_count; i++)
        if (ct_architectures[i].assistant && ct_str_is(model_type, ct_architectures[i].assistant))
            return &ct_architectures[i];
    return NULL;
}

const struct ct_architecture *ct_architecture_with(bool post_norms, bool qk_norms)
{
    for (int i = 0; i < ct_architecture_count; i++)
        if (ct_architectures[i].post_norms == post_norms && ct_architectures[i].qk_norms == qk_norms)
            return &ct_architectures[i];
    return NULL;
}

int32_t ct_family_end_of_turn(const char *architecture, int n_vocab)
{
    const struct ct_architecture *a =
        ct_architecture_named((struct ct_str){architecture, strlen(architecture)});
    int smallest = ct_members[0].n_vocab;
    for (int i = 1; i < ct_member_count; i++)
        smallest = CT_MIN(smallest, ct_members[i].n_vocab);
    return a && n_vocab >= smallest ? a->end_of_turn : -1;
}

const struct ct_member *ct_member_find(const struct ct_config *c)
{
    for (int i = 0; i < ct_member_count; i++)
        if (strcmp(ct_members[i].architecture->name, c->architecture) == 0 &&
            ct_members[i].n_layer == c->n_layer && ct_members[i].hidden == c->hidden)
            return &ct_members[i];
    return NULL;
}

const struct ct_member *ct_member_of_sbs(uint32_t model)
{
    for (int i = 0; i < ct_member_count; i++)
        if (model && ct_members[i].sbs == model)
            return &ct_members[i];
    return NULL;
}

bool ct_member_scales_by_width(const struct ct_architecture *a, int n_layer)
{
    for (int i = 0; i < ct_member_count; i++)
        if (ct_members[i].architecture == a && ct_members[i].n_layer == n_layer)
            return ct_members[i].query_scalar != ct_members[i].head_dim && ct_members[i].query_scalar != 1;
    return false;
}

void ct_family_give_experts(struct ct_config *c, int n, int used, int ffn)
{
    for (int i = 0; i < c->n_layer; i++) {
        c->layer[i].n_expert = n;
        c->layer[i].n_used = used;
        c->layer[i].expert_ffn = ffn;
    }
}

struct ct_layer_config ct_member_layer(const struct ct_member *m, int i)
{
    const struct ct_newer *n = &m->newer;
    const bool global = (i + 1) % (n->period ? n->period : m->architecture->period) == 0;
    const bool shares = i >= m->n_layer - n->n_shared;

    return (struct ct_layer_config){
        .n_head = m->n_head,
        .n_kv_head = global && n->n_kv_head ? n->n_kv_head : m->n_kv_head,
        .head_dim = global && n->head_dim ? n->head_dim : m->head_dim,
        .ffn = shares && n->shared_ffn ? n->shared_ffn : m->ffn,
        .n_expert = n->n_expert,
        .n_used = n->n_used,
        .expert_ffn = n->expert_ffn,
        .attn_type = global ? CT_GLOBAL : CT_LOCAL,
        .kv_layer = shares ? i - 1 : i,
        .v_is_k = global && n->v_is_k,
        .attn_scale = (float)(1 / __builtin_sqrt(m->query_scalar)),
        .attn_cap = m->architecture->attn_cap,
    };
}

int ct_family_share_kv(struct ct_config *c, int n)
{
    int owner[CT_ATTN_TYPES] = {-1, -1};

    for (int i = 0; i < c->n_layer; i++) {
        struct ct_layer_config *l = &c->layer[i];
        if (i < c->n_layer - n)
            owner[l->attn_type] = i;
        if (owner[l->attn_type] < 0)
            return i;
        l->kv_layer = owner[l->attn_type];
    }
    return -1;
}

void ct_family_cut_off(struct ct_config *c)
{
    for (int i = 0; i < 10 && c->n_layer > 10; i++)
        c->layer[i].cutoff = CT_CUTOFF;
}
