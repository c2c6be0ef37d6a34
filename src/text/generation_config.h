/* SPDX-License-Identifier: Apache-2.0 */
/* generation_config.h: sampling as data: the parameters a checkpoint asks for, their legal ranges, the ids
 * that end generation and the ids that are never generated. The arithmetic of a draw is the kernel's. */
#ifndef CT_GENERATION_CONFIG_H
#define CT_GENERATION_CONFIG_H

#include "text/chat/chat.h"

/* Gemma's card: temperature 1, top_k 64, top_p 0.95; seed 0. */
carat_sampling ct_card_sampling(void);
/* The sampling parameters of a checkpoint: generation_config.json, or GGUF's general.sampling keys.
 * ct_card_sampling, which is Gemma's card, fills what they leave out. do_sample false is temperature 0.
 * E_FORMAT (not JSON, a wrong type or range), E_MEMORY. */
carat_status ct_sampling_defaults(carat_sampling *out, const struct ct_file *f, carat_error *err);
/* E_ARGUMENT names the parameter, its value and its range; NaN is outside every range. */
carat_status ct_sampling_check(const carat_sampling *s, int n_vocab, carat_error *err);

/* The ids that end generation, each once, all below n_vocab: those of config.json (text_config too),
 * generation_config.json or the GGUF eos, eot and eom keys and eos_token_ids, the tokenizer's own,
 * <end_of_turn>, for FunctionGemma <start_function_response>, for Gemma 4 <turn|> and <|tool_response>. t may
 * be NULL; then end_of_turn is one of them, unless it is -1. E_FORMAT (a wrong type, a negative id, more than
 * cap ids), E_MEMORY. */
carat_status ct_stop_ids(const struct ct_file *f, const struct ct_tokenizer *t, int32_t end_of_turn,
                         enum ct_chat chat, int n_vocab, int32_t *ids, int cap, int *n, carat_error *err);
/* The ids that stand for pictures, films or sound and mean nothing as output, and those that
 * generation_config.json or the GGUF key suppress_tokens suppresses. Like ct_stop_ids. */
carat_status ct_banned_ids(const struct ct_file *f, const struct ct_tokenizer *t, int n_vocab, int32_t *ids,
                           int cap, int *n, carat_error *err);

#endif
