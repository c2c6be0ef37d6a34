/* SPDX-License-Identifier: Apache-2.0 */
/* carat_quality.h: libcarat, how good a model is and how far from another one. carat.h runs a model and
 * has the rules on threads, errors and sizes, which hold here too. QUALITY.md says what each number means.
 *
 * A complete program, which compares two models over a prompt (test/api/test_example.sh compiles and runs
 * exactly this text):
 *
 * example-begin
 * #include <carat_quality.h>
 * #include <stdio.h>
 *
 * static int add(void *user, void *prompt, const carat_position *position)
 * {
 *     carat_quality *sum = user;
 *     const carat_difference *d = &position->difference;
 *     int *n = prompt;
 *
 *     sum->kl += d->kl;
 *     sum->correlation += d->correlation;
 *     sum->match += 100 * (d->match || d->near_tie);
 *     sum->entropy_ref += d->entropy_ref;
 *     sum->entropy_test += d->entropy_test;
 *     ++*n;
 *     return 0;
 * }
 *
 * int main(int argc, char **argv)
 * {
 *     carat_error err;
 *     carat_model *model[2] = {NULL, NULL};
 *     carat_engine *engine[2] = {NULL, NULL};
 *     carat_tokens ids = {0};
 *     int n = 0, failed = 1;
 *
 *     if (argc != 4)
 *         return 2;
 *     for (int i = 0; i < 2; i++)
 *         if (carat_model_open(&model[i], argv[1 + i], NULL, &err) != CARAT_OK ||
 *             carat_engine_create(&engine[i], model[i], NULL, &err) != CARAT_OK)
 *             goto done;
 *     carat_message message = {.role = "user", .content = argv[3]};
 *     if (carat_render(model[0], &message, sizeof message, 1, NULL, &ids, NULL, &err) != CARAT_OK)
 *         goto done;
 *     carat_quality mean;
 *     carat_quality_default(&mean);
 *     carat_compare_prompt prompt;
 *     carat_compare_prompt_default(&prompt);
 *     prompt.prompt = ids.ids;
 *     prompt.n_prompt = ids.n;
 *     prompt.user = &n;
 *     carat_compare_options options;
 *     carat_compare_options_default(&options);
 *     options.max_tokens = 32;
 *     options.on_position = add;
 *     options.user = &mean;
 *     carat_judgement verdict;
 *     carat_judgement_default(&verdict);
 *     if (carat_compare(engine[0], engine[1], &prompt, &options, &err) != CARAT_OK)
 *         goto done;
 *     mean.kl /= n;
 *     mean.correlation /= n;
 *     mean.match /= n;
 *     mean.entropy_ref /= n;
 *     mean.entropy_test /= n;
 *     if (carat_judge(&mean, NULL, &verdict, &err) != CARAT_OK)
 *         goto done;
 *     printf("%s: %s\n", carat_health_name(verdict.whole), verdict.reason);
 *     failed = verdict.whole == CARAT_CONCERNING;
 *     err.message[0] = 0;
 * done:
 *     if (failed)
 *         fprintf(stderr, "%s\n", err.message);
 *     carat_tokens_free(&ids);
 *     for (int i = 0; i < 2; i++) {
 *         carat_engine_close(engine[i]);
 *         carat_model_close(model[i]);
 *     }
 *     return failed;
 * }
 * example-end */
#ifndef CARAT_QUALITY_H
#define CARAT_QUALITY_H

#include "carat_generate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------- metrics ----
 * In double, with natural logarithms, over the ids of the text vocabulary, from logits behind the soft-cap.
 * The same logits give the same bits on every processor. NUMERICS.md section 13 has the formulas. */

typedef struct carat_difference_options {
    size_t size;
    int top;         /* ids of carat_difference.overlap; 0: 10; at most 1024 */
    double near_tie; /* margins of the reference below it are near-ties; 0: 0.05; below 0: none is */
    int has_next;    /* 1: `next` is the id that comes next */
    int32_t next;
    const int32_t *ids; /* [n] of the logits, ascending, where some are left out; NULL: 0 to n - 1 */
} carat_difference_options;
CARAT_DEFAULT(carat_difference_options)
/* The distance of two rows of logits. p is their softmax. Where the test leaves ids out, numbers that are of
 * the reference alone are still of all ids, and those that take both are of the ids that both have. */
typedef struct carat_difference {
    size_t size;
    double kl, kl_reverse; /* KL(ref||test) = sum p_ref (log p_ref - log p_test), and KL(test||ref) */
    double correlation;    /* Pearson's, of the logits */
    double cosine;         /* of the logits */
    double entropy_ref, entropy_test;
    int32_t top_ref, top_test;      /* ids of the highest logits; the lower of two alike */
    int match;                      /* 1: these are the same */
    double margin_ref, margin_test; /* first minus second logit */
    int near_tie;                   /* 1: margin_ref is small */
    int overlap;                    /* ids that are among the highest of both */
    double largest;                 /* largest absolute difference among the reference's hundred highest */
    /* of the id that comes next; 0 without one, or when both leave it out; -infinity when the test does */
    double logprob_ref, logprob_test;
    double delta_p;         /* its probability in test minus that in ref */
    int compared, left_out; /* ids that both rows have, and the rest of the text vocabulary */
    double outside;         /* probability in ref of the ids that the test leaves out */
} carat_difference;
CARAT_DEFAULT(carat_difference)
/* Gets the difference of the logits ref[n] and test[n], n at least 2; options may be NULL. left_out and
 * outside are 0: nobody said how many ids there are. Any thread. CARAT_E_ARGUMENT, CARAT_E_NUMERIC (a NaN or
 * infinity; the message says in which, and the id). */
CARAT_API carat_status carat_difference_of(const float *ref, const float *test, int n,
                                           const carat_difference_options *options,
                                           carat_difference *difference, carat_error *err);

/* ------------------------------------------------------------- summaries ----
 * What many positions of many prompts say together. The tokens of a prompt depend on each other, so the
 * interval is a bootstrap over prompts: 2000 times, as many prompts as there are are drawn again, with the
 * same random numbers everywhere. NUMERICS.md has the arithmetic. */

typedef struct carat_summary {
    size_t size;
    int64_t n;                          /* values that count: NaN is left out */
    double mean, median, p90, p99, max; /* NaN when there are none; quantiles as numpy.quantile's default */
    int has_interval;                   /* 0: fewer than two prompts have values */
    double low, high;                   /* 95 % of the mean; NaN without an interval */
} carat_summary;
CARAT_DEFAULT(carat_summary)
/* values are those of prompt 0, then of prompt 1 and so on; counts[n_prompts] says how many each has. They
 * are read several times and copied nowhere, so that they may be a mapped file. Any thread.
 * CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_summarise(const double *values, const int64_t *counts, int n_prompts,
                                       carat_summary *summary, carat_error *err);

/* Signs that an answer goes round. */
typedef struct carat_repetition {
    size_t size;
    int repeated_4grams; /* places whose four ids stood there before */
    int cycle;           /* shortest period, at most 64, in which it ends, for 3 times and 32 ids; 0: none */
    int cycle_start;     /* place from which on it has that period; 0 without one */
} carat_repetition;
CARAT_DEFAULT(carat_repetition)
/* ids may be NULL when n is 0. Any thread. CARAT_E_ARGUMENT, CARAT_E_MEMORY. */
CARAT_API carat_status carat_repetition_of(const int32_t *ids, int n, carat_repetition *repetition,
                                           carat_error *err);

/* -------------------------------------------------------------- verdict ---- */

typedef enum carat_health {
    CARAT_HEALTHY,
    CARAT_WATCH,
    CARAT_CONCERNING,
    CARAT_NOT_JUDGED,
} carat_health;
/* "healthy" for CARAT_HEALTHY; "" for none; never NULL. Any thread. */
CARAT_API const char *carat_health_name(carat_health health);

/* The figures that are judged, over all positions of all prompts. An interval is that of the mean before it,
 * as carat_summary has it: low and high. Two zeros, or a NaN: there is none. */
typedef struct carat_quality {
    size_t size;
    double kl, correlation; /* means; kl is KL(ref||test) */
    double match; /* positions whose highest ids are the same, in percent of those that are no near-ties */
    double entropy_ref, entropy_test;
    int loops;      /* prompts in which test goes round and ref does not */
    int broken;     /* prompts with a NaN or infinity in one side */
    double outside; /* mean probability in ref of the ids that test leaves out */
    double kl_interval[2], correlation_interval[2], match_interval[2], entropy_interval[2]; /* of the test */
    double outside_interval[2];
} carat_quality;
CARAT_DEFAULT(carat_quality)

/* On the healthy side of [0] a metric is healthy, beyond [1] it is concerning, between them it is to be
 * watched. What is compared with them is the mean, or that end of its interval which is better: what may be
 * chance counts against nobody. */
typedef struct carat_quality_limits {
    size_t size;
    double kl[2];          /* less is better */
    double correlation[2]; /* more is better, as of the rest */
    double match[2];       /* percent */
    double entropy[2];     /* of test, judged only where the reference's own is healthy */
    double outside[2];     /* less is better */
} carat_quality_limits;
/* Fills limits->size bytes with 0.01 and 0.1, 0.99 and 0.95, 98 and 90, 0.5 and 0.1, 0.01 and 0.1. Any
 * thread. */
CARAT_API void carat_get_quality_limits(carat_quality_limits *limits);
static inline void carat_quality_limits_default(carat_quality_limits *limits)
{
    limits->size = sizeof *limits;
    carat_get_quality_limits(limits);
}

typedef struct carat_judgement {
    size_t size;
    carat_health kl, correlation, match, entropy, loop;
    carat_health whole; /* the worst of them */
    char reason[256];   /* of it, one sentence without a full stop */
    carat_health outside;
} carat_judgement;
CARAT_DEFAULT(carat_judgement)
/* Judges means by limits; NULL: those of carat_get_quality_limits. Any thread. CARAT_E_ARGUMENT (also
 * limits that are not a number, and limits or intervals that are the wrong way round). */
CARAT_API carat_status carat_judge(const carat_quality *quality, const carat_quality_limits *limits,
                                   carat_judgement *judgement, carat_error *err);

/* ------------------------------------------------------------ comparing ---- */

/* Who says what comes next. */
typedef enum carat_driver {
    CARAT_DRIVER_REF,  /* the reference's highest logit */
    CARAT_DRIVER_TEST, /* the highest logit of what is tested */
    CARAT_DRIVER_FREE, /* each its own; they are compared until they part */
    CARAT_DRIVER_TEXT, /* the caller: the text of the prompt's struct, in whole chunks */
} carat_driver;
/* "ref" for CARAT_DRIVER_REF; "" for none; never NULL. Any thread. */
CARAT_API const char *carat_driver_name(carat_driver driver);

/* One prompt. Everything in it is borrowed until the prompt has ended. */
typedef struct carat_compare_prompt {
    size_t size;
    const int32_t *prompt; /* [n_prompt] at least one id */
    int n_prompt;
    const int32_t *text; /* [n_text] that follows, with the driver text; else NULL */
    int n_text;
    /* [n_recorded][n_vocab] logits of the reference behind each id of prompt and text, in place of an
     * engine; the driver is text then */
    const float *recorded;
    int n_recorded;
    void *user; /* passed to the callbacks, beside that of the options */
    int whole;  /* 1: ids that end an answer end nothing in this text; so it is with recorded logits */
} carat_compare_prompt;
CARAT_DEFAULT(carat_compare_prompt)

/* One position of a prompt. */
typedef struct carat_position {
    size_t size;
    int index;      /* among what follows the prompt, from 0 */
    int32_t next;   /* id that follows; -1: none, behind recorded logits */
    int after_stop; /* 1: a stop id came before */
    carat_difference difference;
} carat_position;
CARAT_DEFAULT(carat_position)
/* Hears of each position of a prompt in ascending order. Nonzero ends that prompt. */
typedef int (*carat_on_position)(void *user, void *prompt, const carat_position *position);

/* The result of a prompt once it has ended. */
typedef struct carat_compared {
    size_t size;
    carat_status status;
    const char *message; /* of it, or "" */
    int positions;
    int parted;                /* driver free: position behind which the answers differ; else -1 */
    int stop;                  /* position whose next id ends an answer; -1: none */
    const int32_t *answer_ref; /* [n_ref] the ids of highest logits, until the callback returns */
    int n_ref;
    const int32_t *answer_test;
    int n_test;
} carat_compared;
CARAT_DEFAULT(carat_compared)
typedef void (*carat_on_compared)(void *user, void *prompt, const carat_compared *compared);
/* Gives the next prompt: fills *prompt, whose size is set, and returns 1; 0: there is none. */
typedef int (*carat_next_prompt)(void *user, carat_compare_prompt *prompt);

typedef struct carat_compare_options {
    size_t size;
    carat_driver driver;
    int max_tokens;         /* positions of a prompt; 0: until an answer or the context ends. Of text: all */
    int ignore_eos;         /* 1: go on behind the id that ends an answer */
    int parallel;           /* prompts that advance in a pass, at most the sessions of both engines; 0: 1 */
    int top;                /* ids of carat_difference.overlap; 0: 10; at most 1024 */
    double near_tie;        /* margins of the reference below it are near-ties; 0: 0.05; below 0: none is */
    carat_next_prompt next; /* gives the prompts behind the first; NULL: there is one */
    carat_on_position on_position; /* may be NULL */
    carat_on_compared on_compared; /* may be NULL */
    carat_progress watch;          /* as carat_session_options.watch; nonzero ends the call; may be NULL */
    void *user;                    /* passed to all of them */
} carat_compare_options;
CARAT_DEFAULT(carat_compare_options)

/* Compares what two engines say behind a prompt, and behind those that options->next gives. Both have the
 * same vocabulary; ref is NULL where logits are recorded. The reference gives all logits, whatever its head;
 * the test leaves ids out where its head has a shortlist. Memory for two times 32 MiB of logits beside the
 * engines. A prompt that fails ends alone, the others go on, and the result is that of the first that failed:
 * CARAT_E_NUMERIC (NaN or infinity; the message says in which), CARAT_E_CONTEXT (the prompt does not fit; or
 * its text), CARAT_E_IO (the disk), CARAT_E_MEMORY (no block of K and V is free). A prompt that a callback
 * ended has not failed. The call ends, and nobody hears of the prompts under way, with CARAT_E_ARGUMENT (also
 * one engine twice, and a prompt that cannot be), CARAT_E_MEMORY (also all sessions of an engine exist) and
 * CARAT_E_CANCELLED. The engines are locked while watch is asked, and no other callback. Any thread. */
CARAT_API carat_status carat_compare(carat_engine *ref, carat_engine *test,
                                     const carat_compare_prompt *prompt, const carat_compare_options *options,
                                     carat_error *err);

/* -------------------------------------------------------------- scoring ----
 * How likely a model finds ids that somebody else chose: perplexity, and choices of which one is right. */

/* Puts into logprob[n] the natural logarithms of the probabilities of ids[n] after what the session holds:
 * logprob[i] is that of ids[i] after the tokens held and ids[0] to ids[i - 1], among all ids of the text
 * vocabulary. It comes from all logits, whatever the engine's head. Afterwards the session holds all of
 * ids but the last, which nobody needs; one id evaluates nothing. Logits are held for 32 ids at a time,
 * beside the engine's plan. The session's watch counts the ids of the call. After CARAT_E_CANCELLED the
 * session keeps what was evaluated; after CARAT_E_NUMERIC it is empty; logprob may be written in part
 * then. One call a session. CARAT_E_ARGUMENT (also when the session holds no logits, or an id is none of
 * the text vocabulary), CARAT_E_CONTEXT, CARAT_E_MEMORY, CARAT_E_NUMERIC, CARAT_E_IO,
 * CARAT_E_CANCELLED, CARAT_E_BUSY. */
CARAT_API carat_status carat_score(carat_session *session, const int32_t *ids, int n, double *logprob,
                                   carat_error *err);

/* Further figures of each id, out of the same passes: exactly what a generation with logprobs would have told
 * had it drawn that id there (carat_given), in float. */
typedef struct carat_score_options {
    size_t size;
    float *given;       /* [n] as carat_given.logprob; may be NULL */
    carat_logprob *top; /* [n][n_top] as carat_given.top: the most likely ids in that place, best first */
    int n_top;          /* at most CARAT_MOST_LOGPROBS, and the ids of the text vocabulary */
} carat_score_options;
CARAT_DEFAULT(carat_score_options)
/* carat_score with options; logprob may be NULL. Errors as carat_score; what is told may be written in part,
 * too. */
CARAT_API carat_status carat_score_with(carat_session *session, const int32_t *ids, int n, double *logprob,
                                        const carat_score_options *options, carat_error *err);

/* ------------------------------------------------------------- bisecting ----
 * Where two engines begin to differ. Every operation of a pass is computed by both on the reference's own
 * inputs, so that its error is its own and not what operations before it have left behind. */

/* The error of one operation, over the rows that are compared. QUALITY.md says what it is measured
 * against. */
typedef struct carat_operation_error {
    size_t size;
    int layer; /* -1: none */
    /* "embed"; of each layer "attn_norm", "q", "k", "v", "q_norm", "k_norm", "v_norm", "q_rope", "k_rope",
     * "attend", "o", "attn_post_norm", "ffn_norm", "gate", "up", "geglu", "down", "ffn_post_norm",
     * "out_scale"; "final_norm", "head". With inputs of layers also "inputs_proj", "inputs", and
     * "input_gate", "input_geglu", "input_proj", "input_norm"; of Gemma 3n "altup_proj", "altup_unproj", and
     * "altup_predict", "laurel_left", "laurel_right", "laurel_norm", "laurel_sum", "altup_correct". Static */
    const char *operation;
    char tensor[256];     /* its weight, as the file of the test names it; "": it has none */
    double own;           /* ||test - ref|| / ||ref||, on the reference's inputs */
    double carried;       /* the same of an ordinary pass of the test */
    int channel, width;   /* the channel with the largest error, of so many */
    double channel_error; /* own error of that channel alone */
    int flagged;          /* 1: it is wrong, or computes something else */
    const char *reason;   /* of that, in words; "": it is not flagged; static */
} carat_operation_error;
CARAT_DEFAULT(carat_operation_error)
/* Nonzero ends the call with CARAT_E_CANCELLED. */
typedef int (*carat_on_operation)(void *user, const carat_operation_error *error);

enum { CARAT_MOST_BISECT_ROWS = 64 };
typedef struct carat_bisect_options {
    size_t size;
    int rows;                        /* that are compared, at most CARAT_MOST_BISECT_ROWS; 0: 16 */
    carat_on_operation on_operation; /* hears of each operation in the order of a pass; may be NULL */
    carat_progress progress;         /* tokens, of all passes together; may be NULL */
    carat_progress watch;            /* as a session's: asked some hundred times a second; may be NULL */
    void *user;                      /* passed to all callbacks */
    size_t bytes; /* memory for the sums of channels; with less there are more passes; 0: 56 MiB */
} carat_bisect_options;
CARAT_DEFAULT(carat_bisect_options)
/* Evaluates tokens[n], at least 2, in both engines, which are of models of one shape; each needs a free
 * session. *first is the first operation that is flagged; its operation is NULL when none is. Both engines
 * are locked while progress and watch are asked. Any thread. CARAT_E_ARGUMENT, CARAT_E_UNSUPPORTED (shapes
 * differ: both numbers), CARAT_E_CONTEXT, CARAT_E_MEMORY, CARAT_E_IO, CARAT_E_NUMERIC (NaN or infinity: in
 * which of the two, and where), CARAT_E_CANCELLED, CARAT_E_BUSY (an engine is being bisected). */
CARAT_API carat_status carat_bisect(carat_engine *ref, carat_engine *test, const int32_t *tokens, int n,
                                    const carat_bisect_options *options, carat_operation_error *first,
                                    carat_error *err);
/* The positions that carat_bisect compares among n tokens: spread over them, half of them beyond the
 * window of local layers where there are such. Returns their number; 0 where an argument is wrong. Any
 * thread. */
CARAT_API int carat_bisect_rows(const carat_engine *ref, const carat_engine *test, int n, int rows,
                                int32_t position[CARAT_MOST_BISECT_ROWS]);

#ifdef __cplusplus
}
#endif

#endif
