/* SPDX-License-Identifier: Apache-2.0 */
/* spellings.c: names that other servers have for what a request may ask: llama.cpp's, vLLM's, SGLang's and
 * routers'. Every surface takes them behind its own. Which value has no effect is said of no router's
 * default. */
#include "request_values.h"
#include "state.h"

#define AT(field)   offsetof(struct request_values, field)
#define MORE(field) offsetof(struct request_values, more.field)

static const char no_such_way[] = "there is no such way to draw", told_so[] = "thoughts are told apart",
                  as_text[] = "the text is told as it is", here[] = "it changes nothing here",
                  by_openai[] = "what is asked for with logprobs is told", no_beams[] = "there are no beams",
                  whole[] = "the prompt is taken as it is sent",
                  by_ids[] = "logit_bias and forms say which ids may come";

/* clang-format off */
static const struct field spellings[] = {
    /* how ids are drawn */
    {"temperature", FIELD_REAL, AT(temperature), RANGE_TEMPERATURE, NULL, NULL},
    {"top_p", FIELD_REAL, AT(top_p), RANGE_SHARE, NULL, NULL},
    {"top_k", FIELD_WHOLE, AT(top_k), RANGE_TOP_K, NULL, NULL},
    {"min_p", FIELD_REAL, AT(min_p), RANGE_SHARE, NULL, NULL},
    {"typical_p", FIELD_REAL, AT(typical_p), RANGE_SHARE, NULL, NULL},
    {"repeat_penalty", FIELD_REAL, AT(repeat_penalty), RANGE_REPEAT, NULL, NULL},
    {"repetition_penalty", FIELD_REAL, AT(repeat_penalty), RANGE_REPEAT, NULL, NULL},
    {"repeat_last_n", FIELD_WHOLE, AT(repeat_last_n), RANGE_LAST_N, NULL, NULL},
    {"frequency_penalty", FIELD_REAL, AT(frequency_penalty), RANGE_PENALTY, NULL, NULL},
    {"presence_penalty", FIELD_REAL, AT(presence_penalty), RANGE_PENALTY, NULL, NULL},
    {"dry_multiplier", FIELD_REAL, MORE(dry_multiplier), 0, 1000, NULL, NULL},
    {"dry_base", FIELD_REAL, MORE(dry_base), 1, 1000, NULL, NULL},
    {"dry_allowed_length", FIELD_WHOLE, MORE(dry_allowed_length), 0, INT32_MAX, NULL, NULL},
    {"dry_penalty_last_n", FIELD_WHOLE, MORE(dry_penalty_last_n), RANGE_LAST_N, NULL, NULL},
    {"dry_sequence_breakers", FIELD_VALUE, MORE(breakers), IS_LIST, 0, NULL, NULL},
    {"xtc_probability", FIELD_REAL, MORE(xtc_probability), RANGE_SHARE, NULL, NULL},
    {"xtc_threshold", FIELD_REAL, MORE(xtc_threshold), RANGE_SHARE, NULL, NULL},
    {"samplers", FIELD_VALUE, MORE(samplers), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"seed", FIELD_VALUE, AT(seed), IS_NUMBER, 0, NULL, NULL},
    {"logit_bias", FIELD_VALUE, AT(logit_bias), IS_OBJECT, 0, NULL, NULL},
    {"bad_words", FIELD_VALUE, MORE(bad_words), IS_LIST, 0, NULL, NULL},
    {"allowed_token_ids", FIELD_REFUSED, 0, 0, 0, by_ids, " [] "},
    {"mirostat", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 "},
    {"mirostat_tau", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"mirostat_eta", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"dynatemp_range", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 0.0 "},
    {"dynatemp_exponent", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"top_n_sigma", FIELD_REFUSED, 0, 0, 0, no_such_way, " -1 -1.0 0 0.0 "},
    {"adaptive_target", FIELD_REFUSED, 0, 0, 0, no_such_way, " -1 -1.0 "},
    {"min_keep", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 1 "},
    {"tfs_z", FIELD_REFUSED, 0, 0, 0, no_such_way, " 1 1.0 "},
    {"top_a", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 0.0 "},
    {"use_beam_search", FIELD_REFUSED, 0, 0, 0, no_beams, " false "},
    {"length_penalty", FIELD_IDLE, 0, 0, 0, no_beams, " 1 1.0 "},
    {"early_stopping", FIELD_IDLE, 0, 0, 0, no_beams, " false "},
    {"best_of", FIELD_REFUSED, 0, 0, 0, "n answers are all told", " 1 "},
    {"logits_processors", FIELD_REFUSED, 0, 0, 0, "nothing is run here", " [] "},
    {"custom_logit_processor", FIELD_REFUSED, 0, 0, 0, "nothing is run here", "  "},
    /* where it ends */
    {"n_predict", FIELD_WHOLE, MORE(predict), RANGE_OF_END, NULL, NULL},
    {"stop_token_ids", FIELD_VALUE, MORE(stop_ids), IS_LIST, 0, NULL, NULL},
    {"ignore_eos", FIELD_FLAG, MORE(ignores_end), 0, 0, NULL, NULL},
    {"min_tokens", FIELD_WHOLE, MORE(min_tokens), 0, INT32_MAX, NULL, NULL},
    {"min_new_tokens", FIELD_WHOLE, MORE(min_tokens), 0, INT32_MAX, NULL, NULL},
    {"t_max_predict_ms", FIELD_REFUSED, 0, 0, 0, "answers do not depend on time", " 0 -1 "},
    {"n_indent", FIELD_REFUSED, 0, 0, 0, no_such_way, " 0 "},
    {"stop_regex", FIELD_REFUSED, 0, 0, 0, "stop strings are texts", " [] "},
    {"no_stop_trim", FIELD_IDLE, 0, 0, 0, "a stop string is no part of the text", " false "},
    {"include_stop_str_in_output", FIELD_IDLE, 0, 0, 0, "a stop string is no part of the text", " false "},
    /* forms */
    {"grammar", FIELD_VALUE, MORE(grammar), IS_TEXT, 0, NULL, NULL},
    {"guided_grammar", FIELD_VALUE, MORE(grammar), IS_TEXT, 0, NULL, NULL},
    {"ebnf", FIELD_VALUE, MORE(grammar), IS_TEXT, 0, NULL, NULL},
    {"json_schema", FIELD_VALUE, MORE(schema), IS_TEXT | IS_OBJECT | IS_FLAG, 0, NULL, NULL},
    {"guided_json", FIELD_VALUE, MORE(schema), IS_TEXT | IS_OBJECT | IS_FLAG, 0, NULL, NULL},
    {"regex", FIELD_VALUE, MORE(regex), IS_TEXT, 0, NULL, NULL},
    {"guided_regex", FIELD_VALUE, MORE(regex), IS_TEXT, 0, NULL, NULL},
    {"guided_choice", FIELD_VALUE, MORE(choice), IS_LIST, 0, NULL, NULL},
    {"guided_json_object", FIELD_FLAG, MORE(any_object), 0, 0, NULL, NULL},
    {"structured_outputs", FIELD_VALUE, MORE(structured), IS_OBJECT, 0, NULL, NULL},
    {"guided_decoding_backend", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"guided_whitespace_pattern", FIELD_REFUSED, 0, 0, 0, "forms of JSON say what white space is", NULL},
    {"structural_tag", FIELD_REFUSED, 0, 0, 0, "there is no such form", NULL},
    {"grammar_lazy", FIELD_REFUSED, 0, 0, 0, "there is no such form", " false "},
    /* thoughts */
    {"reasoning_effort", FIELD_VALUE, AT(reasoning_effort), IS_TEXT, 0, NULL, NULL},
    {"reasoning", FIELD_VALUE, MORE(reasoning), IS_OBJECT, 0, NULL, NULL},
    {"think", FIELD_VALUE, MORE(think), IS_TEXT | IS_FLAG, 0, NULL, NULL},
    {"enable_thinking", FIELD_VALUE, MORE(enable), IS_FLAG, 0, NULL, NULL},
    {"thinking", FIELD_VALUE, MORE(thinking), IS_OBJECT | IS_FLAG, 0, NULL, NULL},
    {"chat_template_kwargs", FIELD_VALUE, MORE(kwargs), IS_OBJECT, 0, NULL, NULL},
    {"thinking_budget", FIELD_WHOLE, MORE(budget), -1, INT32_MAX, NULL, NULL},
    {"thinking_budget_tokens", FIELD_WHOLE, MORE(budget), -1, INT32_MAX, NULL, NULL},
    {"thinking_token_budget", FIELD_WHOLE, MORE(budget), -1, INT32_MAX, NULL, NULL},
    {"separate_reasoning", FIELD_IDLE, 0, 0, 0, told_so, " true "},
    {"stream_reasoning", FIELD_IDLE, 0, 0, 0, told_so, " true "},
    {"include_reasoning", FIELD_IDLE, 0, 0, 0, told_so, " true "},
    {"reasoning_format", FIELD_IDLE, 0, 0, 0, told_so, " auto deepseek "},
    {"reasoning_in_content", FIELD_IDLE, 0, 0, 0, told_so, " false "},
    {"thinking_forced_open", FIELD_IDLE, 0, 0, 0, here, " false "},
    /* what is told */
    {"n_probs", FIELD_WHOLE, MORE(n_probs), RANGE_TOP, NULL, NULL},
    {"n_cmpl", FIELD_WHOLE, AT(n), RANGE_CHOICES, NULL, NULL},
    {"return_tokens", FIELD_FLAG, MORE(tells_ids), 0, 0, NULL, NULL},
    {"return_token_ids", FIELD_FLAG, MORE(tells_ids), 0, 0, NULL, NULL},
    {"receipt", FIELD_FLAG, AT(receipt), 0, 0, NULL, NULL},
    {"prompt_logprobs", FIELD_IDLE, 0, 0, 0, "/v1/completions tells how likely a prompt is, with echo and logprobs", NULL},
    {"return_tokens_as_token_ids", FIELD_IDLE, 0, 0, 0, as_text, " false "},
    {"skip_special_tokens", FIELD_IDLE, 0, 0, 0, "control tokens are no part of the text", " true "},
    {"spaces_between_special_tokens", FIELD_IDLE, 0, 0, 0, as_text, " true false "},
    {"detokenize", FIELD_IDLE, 0, 0, 0, as_text, " true "},
    {"return_hidden_states", FIELD_IDLE, 0, 0, 0, "no hidden states are told", " false "},
    {"return_logprob", FIELD_IDLE, 0, 0, 0, by_openai, " false "},
    {"return_text_in_logprobs", FIELD_IDLE, 0, 0, 0, by_openai, " true false "},
    {"logprob_start_len", FIELD_IDLE, 0, 0, 0, by_openai, " -1 "},
    {"top_logprobs_num", FIELD_IDLE, 0, 0, 0, by_openai, " 0 "},
    {"post_sampling_probs", FIELD_REFUSED, 0, 0, 0, "probabilities are those before any setting", " false "},
    {"timings_per_token", FIELD_IDLE, 0, 0, 0, "the last event has the timings", " false "},
    {"return_meta_info", FIELD_IDLE, 0, 0, 0, here, " false "},
    {"return_cached_tokens_details", FIELD_IDLE, 0, 0, 0, "usage has them", " false "},
    {"stream_interval", FIELD_IDLE, 0, 0, 0, "each piece is told when it is there", " 1 "},
    {"verbose", FIELD_IDLE, 0, 0, 0, here, " false "},
    {"parse_tool_calls", FIELD_IDLE, 0, 0, 0, "calls are told as calls", " true "},
    /* the prompt */
    {"continue_final_message", FIELD_FLAG, MORE(continues), 0, 0, NULL, NULL},
    {"add_special_tokens", FIELD_IDLE, 0, 0, 0, whole, " true false "},
    {"truncate_prompt_tokens", FIELD_REFUSED, 0, 0, 0, whole, NULL},
    {"truncation_side", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"documents", FIELD_REFUSED, 0, 0, 0, "the template takes none", " [] "},
    {"mm_processor_kwargs", FIELD_IDLE, 0, 0, 0, "the model reads text alone", " {} "},
    {"lora", FIELD_REFUSED, 0, 0, 0, "there are no adapters", " [] "},
    {"lora_path", FIELD_REFUSED, 0, 0, 0, "there are no adapters", "  "},
    /* how and when it is computed */
    {"cache_prompt", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"id_slot", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"n_keep", FIELD_IDLE, 0, 0, 0, NULL, NULL}, /* nothing is shifted */
    {"n_discard", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"n_cache_reuse", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"sse_ping_interval", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"priority", FIELD_IDLE, 0, 0, 0, "requests are taken as they come", " 0 "},
    {"cache_salt", FIELD_IDLE, 0, 0, 0, here, NULL},
    {"request_id", FIELD_IDLE, 0, 0, 0, here, NULL},
    {"rid", FIELD_IDLE, 0, 0, 0, here, NULL},
    {"kv_transfer_params", FIELD_IDLE, 0, 0, 0, here, " {} "},
    {"vllm_xargs", FIELD_IDLE, 0, 0, 0, here, " {} "},
    {"custom_params", FIELD_IDLE, 0, 0, 0, here, " {} "},
};
/* clang-format on */

bool values_fields(struct document *d, const struct ct_json_value *object, const char *prefix,
                   const struct field *fields, int n, struct request_values *a)
{
    d->more = spellings;
    d->n_more = CT_COUNT(spellings);
    const bool good = fields_take(d, object, prefix, fields, n, a);
    d->more = NULL;
    d->n_more = 0;
    return good;
}

/* n_predict becomes the number that the surface goes by. */
static bool settle_length(struct document *d, struct request_values *a)
{
    const int64_t n = a->more.predict, most = n < 0 ? INT64_MAX : n;
    const int64_t given = values_most(a);

    if (n == NOT_GIVEN)
        return true;
    if (n == 0)
        return server_refuse(d->r, 400, NULL, "n_predict", "n_predict is 0, expected 1 or more, or -1");
    if ((given && given != most) || (a->text_tokens >= 0 && a->text_tokens != most))
        return server_refuse(d->r, 400, NULL, "n_predict",
                             "n_predict and max_tokens say different things, expected one of them");
    a->max_tokens = a->text_tokens = most;
    return true;
}

/* As many ids as an answer must have may come. */
static bool settle_least(struct document *d, const struct request_values *a)
{
    const int64_t given = values_most(a);
    const int64_t most = given > 0 ? given : given == 0 && a->text_tokens > 0 ? a->text_tokens : INT64_MAX;

    return a->more.min_tokens <= most || server_refuse(d->r, 400, NULL, "min_tokens",
                                                       "min_tokens is %lld, and at most %lld tokens may come",
                                                       (long long)a->more.min_tokens, (long long)most);
}

bool values_settle(struct document *d, struct request_values *a, unsigned can)
{
    const struct spelled *m = &a->more;
    const struct {
        const char *name;
        const struct ct_json_value *v;
    } wishes[] = {{"reasoning_effort", a->reasoning_effort},
                  {"reasoning", m->reasoning},
                  {"think", m->think},
                  {"enable_thinking", m->enable},
                  {"thinking", m->thinking},
                  {"chat_template_kwargs", m->kwargs}};

    if (m->n_probs > 0 && (can & TELLS_PROBS)) {
        a->logprobs = true;
        if (a->top_logprobs < 0)
            a->top_logprobs = m->n_probs;
    } else if (m->n_probs > 0)
        document_warn(d, "n_probs", "no probabilities are told here");
    if (m->tells_ids && !(can & TELLS_IDS))
        document_warn(d, "return_token_ids", "no ids are told here");
    if (m->continues && !(can & CONTINUES))
        document_warn(d, "continue_final_message", "the prompt is taken as it is here");
    for (size_t i = 0; i < CT_COUNT(wishes); i++)
        if (wishes[i].v && !ct_json_is(wishes[i].v, CT_JSON_FALSE) && !(can & THINKS))
            document_warn(d, wishes[i].name, "the prompt says here whether the model thinks");
    return settle_length(d, a) && settle_least(d, a);
}
