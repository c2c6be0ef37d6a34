/* SPDX-License-Identifier: Apache-2.0 */
/* chat.h: Gemma's chat templates and its two tool syntaxes, native. A conversation becomes a list of
 * segments, each either template text (control tokens recognised) or content (control tokens are ordinary
 * text). */
#ifndef CT_CHAT_H
#define CT_CHAT_H

#include "base/json_tree.h"
#include "text/tokenizer/tokenizer.h"

enum ct_chat {
    CT_CHAT_NONE,
    CT_CHAT_GEMMA,
    CT_CHAT_GEMMA3,
    CT_CHAT_FUNCTIONGEMMA,
    CT_CHAT_GEMMA4,
    CT_CHAT_GEMMA4_SMALL, /* E2B, E4B: without the empty thought */
    CT_CHATS
};

/* The published states of Gemma 4's template; the first is the newest. */
enum ct_gemma4 {
    CT_GEMMA4_JULY_9,
    CT_GEMMA4_APRIL_29,
    CT_GEMMA4_APRIL_10,
    CT_GEMMA4_INTERLEAVED,
    CT_GEMMA4_APRIL_2,
    CT_GEMMA4_STATES
};

/* "gemma", "gemma3", "functiongemma", "gemma4", "gemma4-small"; "" for NONE. */
const char *ct_chat_name(enum ct_chat chat);
bool ct_chat_from_name(const char *name, enum ct_chat *chat);
/* All of them, for messages. */
#define CT_CHAT_NAMES "gemma, gemma3, functiongemma, gemma4 and gemma4-small"
/* The template can have the model think. */
bool ct_chat_can_think(enum ct_chat chat);
/* The chat template of a checkpoint. It is recognised by a hash of its text (chat_known.c), never run. */
struct ct_chat_found {
    enum ct_chat chat; /* the built-in one to use */
    bool altered;      /* it is used although the checkpoint's own text was never published */
    /* Who published the text and when: "Google's for Gemma 3 of March 2025"; "" when that is not known. */
    const char *origin;
    enum ct_gemma4 state; /* of Gemma 4's: what it does that other states do not */
};
/* Finds the template that a checkpoint asks for, in the order of transformers: chat_template.jinja,
 * chat_template.json, tokenizer_config.json; for GGUF the key tokenizer.chat_template. NONE for a
 * checkpoint without one (pretrained) and for a template that has no built-in twin. A text that is not
 * known is classified by its words; architecture, which may be NULL, then tells Gemma 1 and 2 from Gemma
 * 3; Gemma 4's counts as the newest state, large if it has the empty thought. note becomes a sentence for
 * people when the text is altered or has no twin, else "". E_FORMAT (a side file is not JSON, the key has a
 * wrong type), E_MEMORY. */
enum {
    CT_CHAT_NOTE = 768,
    CT_CHAT_TEMPLATE_MAX = 1 << 20,
    CT_CHAT_SIDE_MAX = 16 << 20,
    CT_CHAT_TOOLS_MAX = 1024
};
carat_status ct_chat_detect(const struct ct_file *f, const char *architecture, struct ct_chat_found *found,
                            char note[CT_CHAT_NOTE], carat_error *err);

/* The text of that template, malloc'd and terminated; NULL: the checkpoint has none. E_FORMAT, E_MEMORY. */
carat_status ct_chat_source(char **text, const struct ct_file *f, carat_error *err);

struct ct_segment {
    size_t begin, end; /* in ct_prompt.text */
    bool content;
    int control; /* the control token of the template that it is, else -1 */
};
struct ct_prompt {
    char *text; /* malloc'd, terminated: the exact rendered string, <bos> included */
    size_t n, capacity;
    struct ct_segment *segment; /* malloc'd */
    int n_segment;
    size_t segment_capacity;
    size_t *message; /* [n_message] malloc'd: the bytes of text before each message, ascending */
    int n_message;
    size_t message_capacity;
};
void ct_prompt_free(struct ct_prompt *p);

/* Makes a tree of the caller's messages without writing JSON. *list starts from {0}. E_ARGUMENT, E_MEMORY. */
carat_status ct_chat_list(struct ct_json_tree *list, const carat_message *messages, int n, carat_error *err);
/* How a conversation is rendered. */
struct ct_chat_options {
    enum ct_chat chat;
    enum ct_gemma4 state; /* of Gemma 4's */
    const char *tools;    /* a JSON array or NULL */
    bool generation_prompt, thinking;
    bool continues;   /* the last message is the model's, and the prompt ends with its content */
    bool call_tokens; /* the vocabulary has tokens for calls (call.h) */
    carat_log log; /* gets a line for each part of the tools that the template cannot express; may be NULL */
    void *user;
};
/* Renders messages, an array in OpenAI's form. *out is freed by the caller; after a failure it is {0}.
 * E_NOT_FOUND (NONE), E_ARGUMENT (not such JSON, or a conversation that the template refuses), E_MEMORY. */
carat_status ct_chat_render_list(const struct ct_chat_options *o, const struct ct_json_value *messages,
                                 struct ct_prompt *out, carat_error *err);
/* The same for messages that are a JSON text. */
carat_status ct_chat_render(const struct ct_chat_options *o, const char *messages, struct ct_prompt *out,
                            carat_error *err);
/* Appends the ids of a prompt. Control tokens of the template's own text become ids; everything between two
 * of them is encoded as one text, so that merges cross from template to content as they do in the reference.
 * A control token spelled in content stays text unless special_in_content. The listener, which may be NULL,
 * gets bytes of the prompt. After a failure *out is as it was. */
carat_status ct_chat_encode(const struct ct_tokenizer *t, const struct ct_prompt *p, bool special_in_content,
                            struct ct_listener *listener, carat_tokens *out, carat_error *err);
/* Appends for each message of a prompt the index of the first id that has a byte of it, or of what follows
 * where it has none. The prompt's ids are those of *ids from `first` on. After a failure *begins is as it
 * was. E_MEMORY. */
carat_status ct_chat_begins(const struct ct_tokenizer *t, const struct ct_prompt *p, const carat_tokens *ids,
                            int first, carat_tokens *begins, carat_error *err);

#endif
