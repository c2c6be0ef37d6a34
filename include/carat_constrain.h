/* SPDX-License-Identifier: Apache-2.0 */
/* carat_constrain.h: libcarat, answers that cannot leave their form: a JSON schema, a regular expression, a
 * grammar, or calls of declared tools. carat.h runs a model and has the rules on threads, errors and sizes,
 * which hold here too.
 *
 * An id is drawn as without a form first. If the form allows it, it is the answer; only otherwise another one
 * is drawn among the ids that the form allows (NUMERICS.md section 8). So an answer that is valid by itself
 * comes out token for token as without a form, whether greedy or seeded.
 *
 * An id is allowed only if the form can still be ended within the ids that may come: an answer is always
 * complete. Where the model thinks (Gemma 4), a thought before the form is free, and the form begins behind
 * it.
 *
 * Usage: carat_constraint_create once for a form; carat_matcher_create for each answer;
 * carat_sampling.matcher of what is drawn. A generation copies the matcher with its sampling, moves its copy
 * by the ids that it gives and knows how many may come; whoever draws by carat_sample calls
 * carat_matcher_accept for each id himself and sets carat_sampling.left. */
#ifndef CARAT_CONSTRAIN_H
#define CARAT_CONSTRAIN_H

#include "carat_generate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A form, for the vocabulary of a model. It never changes and is shared by threads and matchers. */
typedef struct carat_constraint carat_constraint;
/* The state of an answer in a form: how far it has come. */
typedef struct carat_matcher carat_matcher;

typedef enum carat_form {
    CARAT_FORM_SCHEMA, /* JSON that fits a JSON schema (2020-12, and the older spellings of drafts 4, 6, 7) */
    CARAT_FORM_REGEX,  /* a regular expression for the whole answer */
    CARAT_FORM_GRAMMAR, /* a grammar as llama.cpp spells them (GBNF); its rule `root` */
    /* calls of the tools, as the model writes calls. What carat_parse_calls and carat_render read: at most 64
     * levels of nesting (of JSON 63), numbers of at most 200 digits before the point and behind it; 20 where
     * their schema has limits, unless these have more. */
    CARAT_FORM_TOOLS,
} carat_form;

typedef struct carat_constraint_options {
    size_t size;
    carat_form form;
    const char *text;        /* [n_text] of it in UTF-8; tools: the JSON array that carat_render gets */
    size_t n_text;           /* 0: text is terminated */
    const char *tool_choice; /* "auto", "none", "required" or a name; NULL: "auto" */
    int one_call;            /* 1: not several calls in one answer */
    int json_dumps;          /* 1: JSON with the white space of Python's json.dumps, and no other */
    /* Asked all along while it is compiled, some ten thousand times a second, with steps that are done and a
     * total of 0, which nobody knows; nonzero ends it. May be NULL; else the shortest
     * answer is sought here, and not when it is asked for first. */
    carat_progress progress;
    void *user;
    /* Tools for a form other than tools: a terminated JSON array as tools have it, and the answer may be
     * calls of these (by one_call one) in the place of what the form says; NULL: it may not. */
    const char *tools;
} carat_constraint_options;
CARAT_DEFAULT(carat_constraint_options)

/* Compiles a form. What is not understood is refused with its place: `properties.room.pattern: byte 3: ...`.
 * Nothing is fetched. The model must outlive the constraint. Any thread. CARAT_E_ARGUMENT (also a form that
 * no text fits, and one beyond the limits: a schema of 256 KiB and 32 levels, a grammar of 64 KiB, 10000
 * rules, 200000 states; where progress asks, one whose shortest answer needs more than 131072 states of its
 * automaton), CARAT_E_UNSUPPORTED (a schema with a keyword or format that is not among those here, or one in
 * a use that is not), CARAT_E_NOT_FOUND (no tokenizer), CARAT_E_FORMAT (a packed model is damaged where only
 * forms look), CARAT_E_MEMORY, CARAT_E_CANCELLED. */
CARAT_API carat_status carat_constraint_create(carat_constraint **constraint, const carat_model *model,
                                               const carat_constraint_options *options, carat_error *err);
/* Ends the caller's use of it; matchers keep theirs. NULL is allowed. Any thread. */
CARAT_API void carat_constraint_close(carat_constraint *constraint);

/* Facts about a compiled form. */
typedef struct carat_constraint_info {
    size_t size;
    int rules, nodes; /* of the grammar */
    int states;       /* of the automaton, made so far */
    int shortest;     /* ids of the shortest answer, in the tokenizer's own spelling */
    double seconds;   /* of compiling */
} carat_constraint_info;
CARAT_DEFAULT(carat_constraint_info)
/* Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_constraint_get_info(carat_constraint *constraint, carat_constraint_info *info,
                                                 carat_error *err);

/* A matcher at the beginning of the form. One thread at a time uses a matcher. CARAT_E_ARGUMENT,
 * CARAT_E_MEMORY. */
CARAT_API carat_status carat_matcher_create(carat_matcher **matcher, carat_constraint *constraint,
                                            carat_error *err);
/* Another one at the same place. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_matcher_copy(carat_matcher **matcher, const carat_matcher *from,
                                          carat_error *err);
/* NULL is allowed. */
CARAT_API void carat_matcher_close(carat_matcher *matcher);

/* The answer goes on with id. CARAT_E_ARGUMENT, CARAT_E_CONSTRAINT (the form does not allow it; nothing has
 * changed). */
CARAT_API carat_status carat_matcher_accept(carat_matcher *matcher, int32_t id, carat_error *err);
/* 1: the answer may go on with id when `left` ids may come, this one too; left 0: any number. 0 for NULL. */
CARAT_API int carat_matcher_allows(const carat_matcher *matcher, int32_t id, int left);
/* The ids that may come next: bit id % 64 of word id / 64, of the model's text vocabulary, until the next
 * call with the matcher. Stop ids are the caller's business: they may come where the answer may end. NULL
 * for NULL. */
CARAT_API const uint64_t *carat_matcher_mask(carat_matcher *matcher, int left);
/* Drafts the ids that have to come next in the form whatever is drawn, in the tokenizer's own spelling: puts
 * at most k of them into ids and returns their number. */
CARAT_API int carat_matcher_draft(const carat_matcher *matcher, int32_t *ids, int k);
/* 1: the answer may end here. */
CARAT_API int carat_matcher_complete(const carat_matcher *matcher);
/* Ids of the shortest ending, in the tokenizer's own spelling; 0: it may end here. */
CARAT_API int carat_matcher_shortest(const carat_matcher *matcher);

/* Another matcher where the answer of a generation has come to, for one that goes on with it; *matcher is
 * NULL where the answer has no form. One call a session. CARAT_E_ARGUMENT, CARAT_E_MEMORY, CARAT_E_BUSY. */
CARAT_API carat_status carat_generation_get_matcher(const carat_generation *generation,
                                                    carat_matcher **matcher, carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
