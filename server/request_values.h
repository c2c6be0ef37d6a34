/* SPDX-License-Identifier: Apache-2.0 */
/* request_values.h: the values of a request, the same for every surface, and what becomes of them: how ids
 * are drawn, how many, in which form, behind which prompt. */
#ifndef REQUEST_VALUES_H
#define REQUEST_VALUES_H

#include "request.h"
#include "fields.h"

/* Ranges of numbers as the APIs have them, for rows of fields: the same for all surfaces, unless an API says
 * otherwise. What the engine cannot compute with becomes the nearest that it can (request_values.c). */
#define RANGE_TEMPERATURE 0, (double)CARAT_TEMPERATURE_MAX /* OpenAI's and Google's end at 2 */
#define RANGE_ANTHROPIC   0, 1                             /* of a temperature */
#define RANGE_SHARE       0, 1                             /* of probabilities */
#define RANGE_TOP_K       -1, INT32_MAX                    /* -1 and 0: off, as in vLLM and llama.cpp */
#define RANGE_TOP_K_ALONE 0, INT32_MAX                     /* Anthropic's, Google's */
#define RANGE_PENALTY     -2, 2                            /* OpenAI's, and of those who have it from there */
#define RANGE_ANY_PENALTY -1000, 1000                      /* llama.cpp's has no end */
#define RANGE_REPEAT      0.001, 1000
#define RANGE_LAST_N      -1, INT32_MAX /* -1: all */
#define RANGE_TOKENS      1, 0x1p53
#define RANGE_OF_END      -2, 0x1p53 /* the same, where numbers below 0 mean: to the end */
#define RANGE_CHOICES     1, MOST_CHOICES
#define RANGE_TOP         0, MOST_TOP

/* What a request can set of how ids are drawn. */
enum setting {
    SET_NONE,
    SET_TEMPERATURE,
    SET_TOP_K,
    SET_TOP_P,
    SET_MIN_P,
    SET_TYPICAL_P,
    SET_REPEAT_PENALTY,
    SET_REPEAT_LAST_N,
    SET_FREQUENCY,
    SET_PRESENCE,
    SET_BIAS,
    SET_SEED,
    SET_MAX_TOKENS,
    SET_DRY,
    SET_XTC,
};

/* Values that other servers have further names for, which every surface takes (spellings.c). */
struct spelled {
    /* NULL: not given */
    const struct ct_json_value *samplers, *breakers, *bad_words, *stop_ids;
    const struct ct_json_value *grammar, *schema, *regex, *choice, *structured; /* forms */
    const struct ct_json_value *kwargs, *think, *enable, *reasoning, *thinking; /* whether it thinks */
    double dry_multiplier, dry_base, xtc_probability, xtc_threshold;            /* NAN: not given */
    int64_t dry_allowed_length, dry_penalty_last_n, predict, n_probs, budget;   /* NOT_GIVEN */
    int64_t min_tokens;                                                         /* 0: none */
    bool ignores_end, any_object, as_dumps, tells_ids, continues, return_progress;
};

/* What an API takes as a name of a function. */
struct name_rule {
    const char *marks; /* what it may have beside letters and digits; NULL: anything */
    int most;          /* its bytes */
};

#define NOT_GIVEN INT64_MIN /* of whole numbers below 0 of which some mean something */

struct said;

struct request_values {
    /* NULL: not given */
    const struct ct_json_value *model, *messages, *tools, *tool_choice, *response_format, *stop, *logit_bias,
        *seed, *stream_options, *reasoning_effort, *prompt,
        *begins_turn; /* false: the prompt does not begin a turn of the model */
    /* NAN: the model's, or off */
    double temperature, top_p, min_p, typical_p, repeat_penalty, frequency_penalty, presence_penalty;
    int64_t top_k;                             /* NOT_GIVEN: the model's; below 1: off */
    int64_t repeat_last_n, usual_last_n;       /* NOT_GIVEN: the usual */
    int64_t max_tokens, max_completion_tokens; /* 0: to the end of the context */
    int64_t text_tokens;                       /* the same of a completion; below 0: not given */
    int64_t n, top_logprobs /* below 0: not given */;
    bool stream, include_usage, logprobs, parallel_tool_calls, receipt, echo;
    bool mixes;     /* a prompt may have texts and ids in one list */
    bool continues; /* the last message is an answer that goes on */
    /* The messages, in place of `messages` of OpenAI's form, with the index of what was sent of each, or
     * -1 - i: it came in others[i]; NULL: these. */
    const struct said *said;
    const char *list, *others[2]; /* fields that messages came in */
    struct name_rule names;
    struct spelled more;
};

/* What a surface can tell or do beside an answer, of those values. */
enum { TELLS_PROBS = 1, TELLS_IDS = 2, CONTINUES = 4, THINKS = 8 };

void values_default(struct request_values *a);
/* The most ids of an answer, by either of its names; 0: to the end of the context. */
static inline int64_t values_most(const struct request_values *a)
{
    return a->max_completion_tokens ? a->max_completion_tokens : a->max_tokens;
}
/* fields_take with the names of other servers behind a surface's own. *a may be the first of more values. */
bool values_fields(struct document *d, const struct ct_json_value *object, const char *prefix,
                   const struct field *fields, int n, struct request_values *a);
/* Those values become others of *a, or are named where the surface can do nothing with them. can: bits. */
bool values_settle(struct document *d, struct request_values *a, unsigned can);
/* The chain of draws, biases and ids that end the answer. */
bool values_chain(struct document *d, struct server *s, const struct request_values *a,
                  struct request *request);
/* The form that those values give a text that has none yet. */
bool values_spelled_form(struct document *d, struct server *s, const struct request_values *a,
                         struct request *request);
/* Whether the model is to think, and for how long. effort: the name of reasoning_effort. */
bool values_thinks(struct document *d, const struct server *s, const struct request_values *a,
                   const char *effort, struct request *request, bool *thinks);

/* Each returns false when *d->r says why not. */
/* Whether a model of this name is served: any is, unless the host is strict; NULL: the request names none. */
bool values_model(struct document *d, const struct server *s, const struct ct_json_value *name);
bool values_model_named(struct document *d, const struct server *s, struct ct_str name);
/* The same where no other is; ":latest" may stand behind either name. */
bool values_model_served(struct document *d, const struct server *s, struct ct_str name);
/* Whether a list of messages, a field of this name, has some and not too many. */
bool values_messages(struct document *d, const struct server *s, const char *name,
                     const struct ct_json_value *list);
/* A request with what is drawn: sampling, stops, choices, log-probabilities. */
bool values_drawing(struct document *d, struct server *s, const struct request_values *a,
                    struct request *request);
/* The messages and tools as ids. tools: those that the model is told of, or NULL; thinks: it is to. */
bool values_prompt(struct document *d, struct server *s, const struct request_values *a, const char *tools,
                   bool thinks, struct request *request);
/* A request of another surface in OpenAI's form: messages, tools and tool_choice. */
struct translated {
    struct said *said;
    const struct buffer *tools; /* a JSON object of tools and tool_choice; empty: there are none */
    bool continues;             /* as request_values.continues */
    /* Puts names that the client knows for those of OpenAI's form. user: given to it. */
    void (*respell)(char *text, size_t capacity, const void *user);
    const void *user;
};
/* Tools and prompt of a translation; a: the rest of the request. */
bool values_translated(struct document *d, struct server *s, const struct request_values *a,
                       const struct translated *t, bool thinks, struct request *request);
/* A text as ids, in which control tokens are recognised. param: the field that it came from. */
bool values_text(struct document *d, struct server *s, const char *param, struct ct_str text,
                 struct request *request);
/* The same behind what the prompt has so far; begins: it is the beginning. */
bool values_piece(struct document *d, struct server *s, const char *param, struct ct_str text, bool begins,
                  struct request *request);
/* The prompts of a request that are texts or ids, as a list. */
bool values_list(struct document *d, struct server *s, const struct request_values *a,
                 struct request *request);
/* The tools that may be called, and the form that they give the answer. */
bool values_tools(struct document *d, struct server *s, const struct request_values *a,
                  struct request *request);
/* The number of tokens is known: that there is room, and how many may come. */
bool values_room(struct document *d, struct server *s, const struct request_values *a,
                 struct request *request);
/* A form that the answer must keep. param: the field that it came from. */
bool values_form(struct document *d, struct server *s, struct request *request, const char *param,
                 const carat_constraint_options *form);
/* The form of an answer that is no call: what the tools may still be called with stands beside it, and where
 * a call is required there is no such answer. Behind values_tools. */
bool values_text_form(struct document *d, struct server *s, struct request *request, const char *param,
                      const carat_constraint_options *form);
/* Whether it is one, where the answer need not keep it: then it may be one that is not understood here. */
bool values_form_sound(struct document *d, struct server *s, const struct request *request, const char *param,
                       const carat_constraint_options *form);
/* Whether a stream tells how much of the prompt is evaluated, by this. */
void values_progress(struct document *d, const struct request_values *a, struct request *request,
                     void (*progress)(struct job *job, int evaluated, int64_t ms));
/* Puts what the head of the reply has to say: the seed, and fields that were passed over. */
void values_tell(struct document *d, struct job *job, struct request *request);
/* The latter alone. */
void values_tell_fields(struct document *d, struct job *job);

#endif
