/* SPDX-License-Identifier: Apache-2.0 */
/* request.h: what a request asks of the model, whatever surface it came by, and how far its answers are.
 * Whoever prepares makes it; whoever draws moves it. */
#ifndef REQUEST_H
#define REQUEST_H

#include <stdatomic.h>

#include "buffer.h"
#include "carat_receipt.h"
#include "carat_tools.h"

struct called;
struct job;
struct kept_form;
struct listed_prompt;
struct responding;
struct vectors;
struct server;
struct writer;

enum { MOST_CHOICES = 8, MOST_STOPS = CARAT_MOST_STOPS, MOST_TOP = CARAT_MOST_LOGPROBS, MOST_MARKS = 7 };

/* What may come of an answer that the client has tools for. */
enum may_call { NO_CALLS, UNDECIDED, TEXT_ONLY, HOLDS_CALLS };

/* One of the answers. */
struct choice {
    struct job *job;
    int number;
    carat_session *session;
    carat_generation *generation;
    struct buffer text, thought, ids; /* int32_t of the answer without thoughts, where there are tools */
    size_t told;                      /* bytes of text that the client may have by now */
    struct buffer logprobs, late;     /* scores.h: of ids whose text is told, and is not yet */
    size_t late_from, ahead;          /* bytes of late that are not, and of text beyond that of ids */
    struct buffer told_ids;           /* int32_t of what is told next, where ids are */
    enum may_call calling;
    bool in_call, is_cut; /* the id that came last is of a call; the answer broke off in one */
    bool ends_with_call;  /* the answer is over behind one that is sound */
    struct buffer spans;  /* called.c: where calls are */
    struct called *calls; /* [n_calls] when it has ended */
    int n_calls;
    carat_reason reason;         /* length: only where something is cut off */
    int prompt_left, seen_given; /* as the generation has said last */
    bool is_due;                 /* the pass under way gives it an id, or reads of its prompt */
    int given, thoughts;         /* ids, and those of thoughts, the tokens around them too */
    int stop;                    /* index of the stop string that ended it; -1: none did */
    bool ended;
    carat_receipt *receipt; /* while it is drawn; NULL: none is wanted */
    char *receipt_text;     /* when it has ended; for carat_free. NULL: nothing was drawn */
    bool echoed, begun;     /* the text of the prompt was told; a piece of the answer was */
    int offset;             /* characters before what is told next */
    int block, n_blocks;    /* Anthropic's streams: the kind that is open, and how many have begun */
};

/* What few requests have. */
struct request_extra {
    bool hides_thoughts, tells_ids; /* thoughts are not told, ids are: of writers that do so */
    struct buffer warned;           /* lines of the reply's warnings, besides unknown fields */
    int32_t stop_ids[CARAT_MOST_STOP_IDS];
    int n_stop_ids; /* 0: the model's own */
    int min_tokens;
    int limits_thought, thought_budget;
};

/* Prompts that are answered one after another. */
struct request_prompts {
    struct listed_prompt *list; /* [n_list] NULL: there is one */
    int n_list, at;             /* the one whose turn it is */
};

/* What the reply says of the request beside the answer. */
struct request_said {
    struct buffer idle, ignored; /* fields without effect, and unknown ones */
    struct buffer sent;          /* as messages_talk has it */
    unsigned values_for;         /* bits of enum setting */
};

/* How far the answers are: of those who draw. */
struct request_course {
    void (*progress)(struct job *job, int evaluated, int64_t ms); /* told of tokens of the prompt, or NULL */
    int cached, evaluated;                                        /* tokens of the prompt */
    int scored, progressed;    /* of these, that were scored, and that were told of */
    struct buffer scores_told; /* struct told_logprob of each of them */
    struct {
        int prompt, cached, given;
    } past;          /* tokens of the prompts before */
    int64_t created; /* seconds since 1970 */
    double begin_ms, prompt_ms, end_ms;
};

/* The form of the answers. */
struct own_form {
    char *text, *choice;          /* strings of request.form */
    struct kept_form *kept;       /* that has request.constraint */
    const atomic_bool *cancelled; /* the job's */
    bool requires_call, one_call; /* of tools: there is no text, and not several calls */
    bool is_of_text;              /* the request has said what a text must be */
};

struct request {
    const struct writer *writer;
    carat_tokens prompt, begins; /* ids, and where messages begin among them */
    carat_sampling sampling;     /* chain points at chain */
    carat_chain chain;
    carat_bias *biases;
    carat_link links[CARAT_LINKS];         /* of chain, where they are asked for */
    int32_t breakers[CARAT_MOST_BREAKERS]; /* the same */
    carat_constraint *constraint;          /* NULL: the answer has no form */
    char *stops[MOST_STOPS];
    int n_stops;
    int n, max_tokens;
    bool is_clipped; /* more were asked for than the context has room for */
    bool stream, wants_usage, logprobs;
    struct request_extra extra;
    int top_logprobs;
    char *tools;        /* JSON; NULL: there are none that may be called */
    int32_t call_start; /* the control token before a call; -1: calls are JSON */
    bool wants_receipt;
    carat_constraint_options form; /* of constraint, for receipts and with keeps_text */
    struct own_form own_form;
    bool keeps_text; /* the text of the prompt, the form and the names below are wanted themselves */
    struct request_said said;
    bool any_length;               /* nothing is drawn, and the prompt need not fit into the context */
    bool evaluates;                /* the prompt is evaluated, and no answer given */
    struct explained *explained;   /* what is kept of the prompt; NULL: it is to be answered */
    char *text;                    /* of the prompt, as it was rendered; NULL: it is not kept */
    struct responding *responding; /* of OpenAI's responses; NULL: it is none */
    struct vectors *vectors;       /* that are wanted, and no answer; NULL: an answer is */

    bool scores, tells_end; /* how likely the ids of the prompt are is told; the stop id behind an answer */
    struct request_prompts prompts;
    struct request_course course;
    struct choice choice[MOST_CHOICES];
};

void request_free(struct request *request);

/* Positions that each answer may need: the last id is given and not held. */
static inline int request_positions(const struct request *request)
{
    return request->prompt.n + request->max_tokens - 1;
}

/* Takes what an id gives. Returns the text of the answer that can be told now, *n bytes of it: of a thought
 * there is none, and what may be a call is held back. */
const char *choice_take(const carat_model *model, const struct request *request, struct choice *choice,
                        const carat_given *given, size_t *n);
/* Takes what is left of the text when the choice has ended, and divides text and calls. */
void choice_end(const carat_model *model, struct request *request, struct choice *choice);
/* The text that was not told so far; it counts as told from here on. */
const char *choice_rest(struct choice *choice, size_t *n);

#endif
