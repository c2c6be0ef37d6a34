/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys.c: the tables of config_keys.h, read off transformers 5.24; test/data/config_keys.json, which
 * tools/list_config_keys.py writes, is what they are checked against. */
#include "model/config_keys.h"

#include <stdlib.h>

#define NONE NULL /* the class has no such key */
#define TANH "\"gelu_pytorch_tanh\""
#define ALL(value)                                                                                           \
    {                                                                                                        \
        value, value, value, value, value, value, value                                                      \
    }

enum { MOST_COLUMNS = 7 };
struct row {
    const char *key;
    const char *standard[MOST_COLUMNS]; /* "?" before it: null may stand there, too */
};

/* clang-format off */
/* Gemma, Gemma 2, Gemma 3, Gemma 3n, Gemma 4, the unified Gemma 4, EmbeddingGemma 2. */
static const struct row of_layers[] = {
    {"vocab_size", {"256000", "256000", "262208", "262400", "262144", "262144", "262144"}},
    {"hidden_size", {"3072", "2304", "2304", "2048", "2304", "2304", "512"}},
    {"intermediate_size", {"24576", "9216", "9216", "16384", "9216", "9216", "2048"}},
    {"num_hidden_layers", {"28", "26", "26", "35", "30", "30", "24"}},
    {"num_attention_heads", {"16", "8", "8", "8", "8", "8", "4"}},
    {"num_key_value_heads", {"16", "4", "4", "2", "4", "4", "2"}},
    {"head_dim", ALL("256")},
    {"hidden_act", {TANH, NONE, NONE, NONE, NONE, NONE, NONE}},
    {"max_position_embeddings", {"8192", "8192", "131072", "32768", "131072", "262144", "262144"}},
    {"initializer_range", ALL("0.02")},
    {"rms_norm_eps", ALL("1e-06")},
    {"use_cache", {"true", "true", "true", "true", "true", "true", NONE}},
    {"pad_token_id", ALL("?0")},
    {"eos_token_id", ALL("?1")},
    {"bos_token_id", ALL("?2")},
    {"tie_word_embeddings", {"true", "true", "true", "true", "true", "true", NONE}},
    {"rope_parameters", ALL("null")},
    {"attention_bias", ALL("false")},
    {"attention_dropout", {"0.0", "?0.0", "?0.0", "?0.0", "?0.0", "?0.0", "?0.0"}},
    {"use_bidirectional_attention", {"null", "null", "?false", NONE, "null", "?\"vision\"", NONE}},
    {"hidden_activation", {NONE, TANH, TANH, TANH, TANH, TANH, TANH}},
    {"query_pre_attn_scalar", {NONE, "256", "256", NONE, NONE, NONE, NONE}},
    {"sliding_window", {NONE, "?4096", "?4096", "512", "512", "1024", "512"}},
    {"layer_types", {NONE, "null", "null", "null", "null", "null", "null"}},
    {"final_logit_softcapping", {NONE, "?30.0", "null", "30.0", "null", "null", NONE}},
    {"attn_logit_softcapping", {NONE, "?50.0", "null", NONE, NONE, NONE, NONE}},
    {"vocab_size_per_layer_input", {NONE, NONE, NONE, "262144", "262144", NONE, NONE}},
    {"hidden_size_per_layer_input", {NONE, NONE, NONE, "256", "256", NONE, "512"}},
    {"altup_active_idx", {NONE, NONE, NONE, "0", NONE, NONE, NONE}},
    {"altup_coef_clip", {NONE, NONE, NONE, "120.0", NONE, NONE, NONE}},
    {"altup_correct_scale", {NONE, NONE, NONE, "true", NONE, NONE, NONE}},
    {"altup_num_inputs", {NONE, NONE, NONE, "4", NONE, NONE, NONE}},
    {"num_kv_shared_layers", {NONE, NONE, NONE, "15", "0", "0", NONE}},
    {"laurel_rank", {NONE, NONE, NONE, "64", NONE, NONE, NONE}},
    {"activation_sparsity_pattern", {NONE, NONE, NONE, "null", NONE, NONE, NONE}},
    {"attention_k_eq_v", {NONE, NONE, NONE, NONE, "false", "false", NONE}},
    {"enable_moe_block", {NONE, NONE, NONE, NONE, "false", NONE, NONE}},
    {"use_double_wide_mlp", {NONE, NONE, NONE, NONE, "false", "false", NONE}},
    {"num_experts", {NONE, NONE, NONE, NONE, "null", NONE, NONE}},
    {"top_k_experts", {NONE, NONE, NONE, NONE, "null", NONE, NONE}},
    {"moe_intermediate_size", {NONE, NONE, NONE, NONE, "null", NONE, NONE}},
    {"embedding_dim", {NONE, NONE, NONE, NONE, NONE, NONE, "768"}},
};

/* Around Gemma 3, Gemma 3n, Gemma 4, the unified Gemma 4, EmbeddingGemma 2; a drafter and a unified one. */
static const struct row around_layers[] = {
    {"text_config", ALL("null")},
    {"vision_config", {"null", "null", "null", "null", "null", NONE, NONE}},
    {"mm_tokens_per_image", {"?256", NONE, NONE, NONE, NONE, NONE, NONE}},
    {"boi_token_index", {"?255999", NONE, NONE, NONE, NONE, NONE, NONE}},
    {"eoi_token_index", {"?256000", NONE, NONE, NONE, NONE, NONE, NONE}},
    {"image_token_index", {"?262144", NONE, NONE, NONE, NONE, NONE, NONE}},
    {"initializer_range", {"?0.02", "?0.02", "?0.02", "?0.02", "?0.02", NONE, NONE}},
    {"tie_word_embeddings", {"?true", "?true", "true", "true", NONE, "true", "true"}},
    {"audio_config", {NONE, "null", "null", "null", "null", NONE, NONE}},
    {"audio_soft_tokens_per_image", {NONE, "?188", NONE, NONE, NONE, NONE, NONE}},
    {"vision_soft_tokens_per_image", {NONE, "?256", NONE, NONE, NONE, NONE, NONE}},
    {"boi_token_id", {NONE, "?255999", "?255999", "?255999", "?255999", NONE, NONE}},
    {"eoi_token_id", {NONE, "?262144", "?258882", "?258882", "?258882", NONE, NONE}},
    {"image_token_id", {NONE, "?262145", "?258880", "?258880", "?258880", NONE, NONE}},
    {"boa_token_id", {NONE, "?256000", "?256000", "?256000", "?256000", NONE, NONE}},
    {"eoa_token_id", {NONE, "?262272", NONE, NONE, NONE, NONE, NONE}},
    {"audio_token_id", {NONE, "?262273", "?258881", "?258881", "?258881", NONE, NONE}},
    {"use_cache", {NONE, "true", NONE, NONE, NONE, NONE, NONE}},
    {"video_token_id", {NONE, NONE, "?258884", "?258884", "?258884", NONE, NONE}},
    {"eoa_token_index", {NONE, NONE, "?258883", "?258883", "?258883", NONE, NONE}},
    {"backbone_hidden_size", {NONE, NONE, NONE, NONE, NONE, "1536", "3840"}},
    {"use_ordered_embeddings", {NONE, NONE, NONE, NONE, NONE, "false", "false"}},
    {"num_centroids", {NONE, NONE, NONE, NONE, NONE, "2048", "2048"}},
    {"centroid_intermediate_top_k", {NONE, NONE, NONE, NONE, NONE, "32", "32"}},
};

/* Of all classes. */
static const struct {
    const char *key, *standard;
} of_all[] = {
    {"architectures", "null"}, {"transformers_version", "null"}, {"dtype", "null"},
    {"output_hidden_states", "?false"}, {"return_dict", "?true"}, {"chunk_size_feed_forward", "0"},
    {"is_encoder_decoder", "false"}, {"id2label", "null"}, {"label2id", "null"}, {"problem_type", "null"},
};
/* clang-format on */

/* Nothing about logits: training, programs, ids of tokens (the tokenizer and generation_config.json say
 * them), how an answer is drawn, and what older releases and other tools leave behind. */
static const char *const no_effect[] = {
    /* of the classes */
    "initializer_range", "use_cache", "pad_token_id", "eos_token_id", "bos_token_id", "attention_dropout",
    "altup_coef_clip", "vision_config", "audio_config", "mm_tokens_per_image", "boi_token_index",
    "eoi_token_index", "audio_soft_tokens_per_image", "vision_soft_tokens_per_image", "boi_token_id",
    "eoi_token_id", "image_token_id", "boa_token_id", "eoa_token_id", "audio_token_id", "video_token_id",
    "eoa_token_index", "transformers_version", "dtype", "output_hidden_states", "return_dict",
    "chunk_size_feed_forward", "is_encoder_decoder", "id2label", "label2id", "problem_type",
    /* that each class drops, as those of how an answer is drawn */
    "assistant_confidence_threshold", "assistant_lookbehind", "bad_words_ids", "begin_suppress_tokens",
    "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "encoder_repetition_penalty", "epsilon_cutoff", "eta_cutoff", "exponential_decay_length_penalty",
    "forced_bos_token_id", "forced_eos_token_id", "length_penalty", "max_length", "min_length",
    "no_repeat_ngram_size", "num_assistant_tokens", "num_assistant_tokens_schedule", "num_beam_groups",
    "num_beams", "num_return_sequences", "output_scores", "remove_invalid_values", "repetition_penalty",
    "return_dict_in_generate", "suppress_tokens", "target_lookbehind", "temperature", "top_k", "top_p",
    "typical_p", "_name_or_path", "name_or_path", "_commit_hash", "torch_dtype", "num_labels",
    "output_attentions", "attn_implementation", "_attn_implementation", "_attn_implementation_autoset",
    "_attn_implementation_internal", "experts_implementation", "_experts_implementation_internal",
    /* of older releases and other tools */
    "add_cross_attention", "auto_map", "cache_implementation", "cross_attention_hidden_size",
    "decoder_start_token_id", "finetuning_task", "is_decoder", "prefix", "pruned_heads", "sep_token_id",
    "task_specific_params", "tf_legacy_loss", "tie_encoder_decoder", "tokenizer_class", "torchscript",
    "unsloth_fixed", "unsloth_version", "use_bfloat16", "_sliding_window_pattern",
    "serialize_explicit_per_layer_config"};

static const char *const class_names[CT_HF_CLASSES] = {
    "GemmaConfig",
    "Gemma2Config",
    "Gemma3TextConfig",
    "Gemma3nTextConfig",
    "Gemma4TextConfig",
    "Gemma4UnifiedTextConfig",
    "EmbeddingGemma2TextConfig",
    "Gemma3Config",
    "Gemma3nConfig",
    "Gemma4Config",
    "Gemma4UnifiedConfig",
    "EmbeddingGemma2Config",
    "Gemma4AssistantConfig",
    "Gemma4UnifiedAssistantConfig",
};

/* What their files call them, in the same order. */
static const char *const model_types[CT_HF_CLASSES] = {
    "gemma",
    "gemma2",
    "gemma3_text",
    "gemma3n_text",
    "gemma4_text",
    "gemma4_unified_text",
    "embedding_gemma2_text",
    "gemma3",
    "gemma3n",
    "gemma4",
    "gemma4_unified",
    "embedding_gemma2",
    "gemma4_assistant",
    "gemma4_unified_assistant",
};

static enum ct_hf_class class_of_type(struct ct_str model_type)
{
    int i = 0;

    while (i < CT_HF_CLASSES && !ct_str_is(model_type, model_types[i]))
        i++;
    return (enum ct_hf_class)i;
}

enum ct_hf_class ct_hf_class_of(const struct ct_architecture *a)
{
    /* EmbeddingGemma is a Gemma 3 there */
    return a->model_type ? class_of_type(ct_str_of(a->model_type)) : CT_HF_GEMMA3;
}

enum ct_hf_class ct_hf_class_around(struct ct_str model_type)
{
    const enum ct_hf_class class = class_of_type(model_type);

    return (int)class < (int)CT_HF_TEXT_CLASSES ? CT_HF_NO_CLASS : class;
}

const char *ct_hf_class_name(enum ct_hf_class class)
{
    return class < CT_HF_CLASSES ? class_names[class] : "";
}

/* With its "?". */
static const char *declared(enum ct_hf_class class, struct ct_str key)
{
    const bool layers = (int)class < (int)CT_HF_TEXT_CLASSES;
    const struct row *rows = layers ? of_layers : around_layers;
    const size_t n = layers ? CT_COUNT(of_layers) : CT_COUNT(around_layers);

    if (class >= CT_HF_CLASSES)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (ct_str_is(key, rows[i].key))
            return rows[i].standard[layers ? (int)class : (int)class - (int)CT_HF_TEXT_CLASSES];
    for (size_t i = 0; i < CT_COUNT(of_all); i++)
        if (ct_str_is(key, of_all[i].key))
            return of_all[i].standard;
    return NULL;
}

const char *ct_hf_standard(enum ct_hf_class class, struct ct_str key)
{
    const char *d = declared(class, key);

    return d && *d == '?' ? d + 1 : d;
}

bool ct_hf_takes_null(enum ct_hf_class class, struct ct_str key)
{
    const char *d = declared(class, key);

    return d && (*d == '?' || strcmp(d, "null") == 0);
}

bool ct_hf_is_standard(const struct ct_json_value *v, const char *standard)
{
    if (ct_json_is(v, CT_JSON_NUMBER))
        return (*standard == '-' || (*standard >= '0' && *standard <= '9')) &&
               ct_json_double(v) == strtod(standard, NULL);
    if (ct_json_is(v, CT_JSON_STRING))
        return *standard == '"' && ct_json_str(v).n == strlen(standard) - 2 &&
               memcmp(ct_json_str(v).s, standard + 1, ct_json_str(v).n) == 0;
    return (ct_json_is(v, CT_JSON_NULL) && strcmp(standard, "null") == 0) ||
           (ct_json_is(v, CT_JSON_TRUE) && strcmp(standard, "true") == 0) ||
           (ct_json_is(v, CT_JSON_FALSE) && strcmp(standard, "false") == 0);
}

bool ct_hf_same(const struct ct_json_value *a, const struct ct_json_value *b)
{
    if (!a || !b || a->kind != b->kind)
        return false;
    if (ct_json_is(a, CT_JSON_NUMBER))
        return ct_json_double(a) == ct_json_double(b);
    if (ct_json_is(a, CT_JSON_STRING))
        return ct_json_str(a).n == ct_json_str(b).n &&
               memcmp(ct_json_str(a).s, ct_json_str(b).s, ct_json_str(a).n) == 0;
    if (ct_json_count(a) != ct_json_count(b))
        return false;
    const struct ct_json_value *of_b = ct_json_first(b);
    CT_JSON_EACH(of_a, a) /* not deeper than a document may be */
    {
        const bool is_key = ct_json_is(of_a, CT_JSON_KEY);
        const struct ct_json_value *other = is_key ? ct_json_find(b, ct_json_str(of_a)) : of_b;
        if (!ct_hf_same(is_key ? ct_json_of_key(of_a) : of_a, other))
            return false;
        of_b = ct_json_after(of_b);
    }
    return true;
}

bool ct_hf_no_effect(struct ct_str key)
{
    for (size_t i = 0; i < CT_COUNT(no_effect); i++)
        if (ct_str_is(key, no_effect[i]))
            return true;
    return false;
}
