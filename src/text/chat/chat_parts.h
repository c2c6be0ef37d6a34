/* SPDX-License-Identifier: Apache-2.0 */
/* chat_parts.h: what the files of the chat templates share: the writer that builds a prompt segment by
 * segment, and the reading of one message. The public side is chat.h. */
#ifndef CT_CHAT_PARTS_H
#define CT_CHAT_PARTS_H

#include "base/json_tree.h"
#include "base/utf8.h"
#include "text/chat/chat.h"

/* Which tokens a family of templates writes for the same things, and where it orders them otherwise. */
struct ct_chat_syntax {
    enum ct_control turn, turn_end;
    enum ct_control image, audio, video; /* CT_CONTROL_UNK: such an item of a message vanishes */
    enum ct_control declaration, declaration_end, call, call_end, response, response_end;
    enum ct_control quote; /* on both sides of a string */
    const char *null_too;  /* null, as a published state of the template writes it; NULL: none does */
    bool sorts;            /* members of objects are written in the order of their keys */
    bool reads_json;       /* a result that is the text of an object is written as the object */
    bool id_first;         /* the function of a result is that of the call it names, not its own name */
    bool json; /* there are no tokens for calls: calls and results are JSON, as json.dumps spells it */
};
extern const struct ct_chat_syntax ct_chat_gemma3_syntax, ct_chat_gemma4_syntax, ct_chat_json_syntax;

/* Appends to a prompt; the first failure to allocate sticks and is reported once, at the end. */
struct ct_chat_writer {
    struct ct_prompt *prompt;
    const struct ct_chat_syntax *syntax;
    const char *none;        /* how null is written */
    const char *media_break; /* around a picture or a film */
    bool quotes_keys;        /* keys are written as strings are */
    bool failed;
    size_t content_end; /* bytes of the prompt up to the end of the content that was written last */
    carat_log log;      /* may be NULL */
    void *user;
};
/* The next message begins here. */
void ct_chat_mark(struct ct_chat_writer *w);
/* Takes back all but n bytes, behind which a segment begins, and no message. */
void ct_prompt_cut(struct ct_prompt *p, size_t n);
/* Text of the template. */
void ct_chat_literal(struct ct_chat_writer *w, const char *text);
void ct_chat_control(struct ct_chat_writer *w, enum ct_control c);
void ct_chat_begin_turn(struct ct_chat_writer *w, const char *role);
void ct_chat_end_turn(struct ct_chat_writer *w);
/* Text that came from the caller: never a control token. */
void ct_chat_content(struct ct_chat_writer *w, struct ct_str text);

enum ct_role { CT_ROLE_SYSTEM, CT_ROLE_DEVELOPER, CT_ROLE_USER, CT_ROLE_MODEL, CT_ROLE_TOOL };
/* As the templates print it: "assistant" and "model" are both "model". */
const char *ct_role_name(enum ct_role role);
/* Message i: an object with a known role. */
carat_status ct_chat_role(const struct ct_json_value *message, size_t i, enum ct_role *role,
                          carat_error *err);

/* Python's str.strip(): Unicode white space off both ends. */
struct ct_str ct_chat_trim(struct ct_str s);
/* Writes the content of message i: a string trimmed, or a list whose text items are trimmed one by one and
 * joined. What is neither text nor a picture's address is an error, but for these. */
enum {
    CT_CONTENT_MEDIA = 1,  /* items of type "image" and the like become their tokens, unknown ones vanish */
    CT_CONTENT_ANSWER = 2, /* thoughts are taken out of texts before they are trimmed */
};
carat_status ct_chat_write_content(struct ct_chat_writer *w, const struct ct_json_value *content, int how,
                                   size_t i, carat_error *err);

/* The function of a tool or of a call: {"function": {...}} or the bare object. */
static inline const struct ct_json_value *ct_chat_function(const struct ct_json_value *v)
{
    const struct ct_json_value *function = ct_json_get(v, "function");
    return function ? function : v;
}
/* Values: a string between the tokens for it, any JSON value. */
void ct_chat_escaped(struct ct_chat_writer *w, struct ct_str s);
void ct_chat_value(struct ct_chat_writer *w, const struct ct_json_value *v);
/* The members of an object in braces; what is none has none. */
void ct_chat_members(struct ct_chat_writer *w, const struct ct_json_value *object);
/* Of ASCII letters. */
static inline int ct_chat_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : (uint8_t)c;
}
/* The object's keys as Jinja's dictsort orders them, malloc'd; NULL for an empty object, for what is none,
 * and without memory, which marks the writer. */
const struct ct_json_value **ct_chat_sorted_keys(struct ct_chat_writer *w, const struct ct_json_value *object,
                                                 size_t *n);

/* What the published states of Gemma 4's template do differently, oldest last. */
struct ct_gemma4_state {
    const char *think;       /* behind <|think|> */
    const char *media_break; /* around <|image|> and <|video|> */
    const char *none;        /* what null is written as */
    /* The results of calls go into the turn of the calls, which waits for them; else they are turns. */
    bool results_inside;
    bool joins_results; /* without that: a turn of calls goes on where one ended in results */
    /* A past message's thoughts are shown behind the last of the user: where it has calls, everywhere. */
    bool thinks_at_calls, thinks_always;
    const char *thought_end; /* before <channel|> */
    bool system_list;        /* the system message may be a list */
    bool counts_written;     /* content is what was written of it, not what was given */
    bool joins_model;        /* messages of the model one after another are one turn, whatever they hold */
    bool thinks_on;          /* with thinking, the model's turn goes on behind results with a thought */
    bool filters_names;      /* properties that are named as words of a schema are left out */
    bool early_schema;       /* an older order in declarations, with commas that do not look back */
};
extern const struct ct_gemma4_state ct_gemma4_states[CT_GEMMA4_STATES];

/* A published template, known by its text. */
struct ct_chat_known {
    enum ct_chat chat;
    const char *origin; /* who published it and when, as in chat.h */
    enum ct_gemma4 state;
};
/* NULL: none of them. */
const struct ct_chat_known *ct_chat_find(struct ct_str text);
/* XXH3-64 of a template in its normal form: without comments, without the white space that Jinja ignores, a
 * line break spelled \n in quotes as the character, CR LF as LF. */
uint64_t ct_chat_hash(struct ct_str text);

/* Writes the declaration of tool i. */
carat_status ct_chat_declaration(struct ct_chat_writer *w, const struct ct_json_value *tool, size_t i,
                                 carat_error *err);
carat_status ct_chat_gemma4_declaration(struct ct_chat_writer *w, const struct ct_gemma4_state *state,
                                        const struct ct_json_value *tool, size_t i, carat_error *err);

/* The templates: everything after <bos>, with the generation prompt of those that have tools. */
carat_status ct_chat_render_gemma(struct ct_chat_writer *w, bool gemma3, const struct ct_json_value *messages,
                                  const struct ct_json_value *tools, carat_error *err);
carat_status ct_chat_render_gemma4(struct ct_chat_writer *w, const struct ct_chat_options *o,
                                   const struct ct_json_value *messages, const struct ct_json_value *tools,
                                   carat_error *err);
carat_status ct_chat_render_function(struct ct_chat_writer *w, const struct ct_json_value *messages,
                                     const struct ct_json_value *tools, bool generation_prompt,
                                     carat_error *err);

#endif
