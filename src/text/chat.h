/* chat.h: Gemma's chat templates and FunctionGemma's tool syntax, native. A conversation becomes a list of segments,
 * each either template text (control tokens recognised) or content (control tokens are ordinary text). */
#ifndef CT_CHAT_H
#define CT_CHAT_H

#include "text/tokenizer.h"

enum ct_chat { CT_CHAT_NONE, CT_CHAT_GEMMA, CT_CHAT_GEMMA3, CT_CHAT_FUNCTIONGEMMA };

/* "gemma", "gemma3", "functiongemma"; "" for NONE. */
const char *ct_chat_name(enum ct_chat chat);
bool ct_chat_from_name(const char *name, enum ct_chat *chat);
/* The template that a checkpoint's files (chat_template, tokenizer_config.json, tokenizer.chat_template key) ask for;
 * NONE for a pretrained checkpoint without one. */
enum ct_chat ct_chat_detect(const struct ct_file *f, const struct ct_tokenizer *t, const char *architecture);

struct ct_segment {
    size_t begin, end; /* in ct_prompt.text */
    bool content;
};
struct ct_prompt {
    char *text; /* malloc'd, terminated: the exact rendered string, <bos> included */
    size_t n, capacity;
    struct ct_segment *segment; /* malloc'd */
    int n_segment, segment_capacity;
};
void ct_prompt_free(struct ct_prompt *p);

/* messages: JSON array in OpenAI's form; tools: JSON array or NULL. */
carat_status ct_chat_render(enum ct_chat chat, const char *messages, const char *tools, bool generation_prompt,
                            struct ct_prompt *out, carat_error *err);
carat_status ct_chat_encode(const struct ct_tokenizer *t, const struct ct_prompt *p, bool special_in_content,
                            carat_tokens *out, carat_error *err);

#endif
