/* SPDX-License-Identifier: Apache-2.0 */
/* converse.h: what the verbs share that answer a prompt: model, engine and session of the options, the prompt
 * with its timeline file, the answer with the calls in it. Where prompts come from is theirs. */
#ifndef CONVERSE_H
#define CONVERSE_H

#include "ask/receipt.h"
#include "model/form.h"
#include "model/engine_report.h"
#include "model/speed_note.h"
#include "model/sampling.h"
#include "prompt/calls.h"
#include "prompt/reasoning.h"
#include "prompt/told.h"
#include "term/progress.h"

struct answer_options {
    int predict; /* below 0: to the end of the context */
    const char *log_jsonl, *prompt_cache /* a timeline file */;
    bool prompt_cache_all, prompt_cache_ro;
    bool context_shift;
    int keep; /* tokens of the prompt that a shift keeps; below 0: all */
    bool raw_calls, no_perf;
    const char *jsonl; /* prompts, one a line */
    int parallel;      /* of these, answered together */
};

struct converse {
    const struct options *o;
    carat_model *model;
    carat_model_info info;
    carat_engine *engine;
    carat_session *session;
    struct sampling how; /* ids are drawn, seed and bans aside */
    carat_sampling sampling;
    bool seed_is_random;
    carat_tokens stop_ids; /* of --stop-ids */
    struct progress bar;
    struct engine_report engine_report;
    struct told told;
    struct form form;
    struct receipts receipts;
    bool behind_results; /* the prompt ends with results of calls */
    struct calls calls;
    bool holds_calls; /* they come out as JSON */
    int together;     /* answers that are drawn at once; converse_engine lowers it where memory is short */
    double load_s;
    bool prints; /* an answer goes to standard output at once; else it is kept */

    /* of the last prompt and its answer */
    carat_tokens ids;
    char *text; /* [n_text], grown, unless it is printed */
    size_t n_text, text_capacity;
    struct thoughts thoughts;
    bool began_inside; /* a thought that the prompt begins */
    size_t n_said;     /* bytes of the text of its tokens, thoughts aside, which a stop string may have cut */
    char last_byte;    /* of the answer so far; 0: there is none */
    const char *stop;  /* name of a carat_reason; NULL: nothing has ended it */
    carat_generation_info generation;
    int prompt_n;   /* tokens of the prompt */
    int evaluated;  /* those that were, within prompt_s */
    int unfinished; /* last ids of the answer without a text yet */
    int shifts;     /* times that --context-shift made room */
    int shifted;    /* tokens that it had evaluated */
    double prompt_s, generation_s, answer_start;
    int emit_code;   /* exit code of a text that could not be written */
    bool log_failed; /* --log-jsonl cannot be written */
};

/* Opens the model of the options. Start from {.o = o}. An exit code, as for all of these. */
int converse_open(struct converse *c, const struct options *o);
/* Engine, session and sampling; tools (may be NULL) are those that calls are read by. */
int converse_start(struct converse *c, const char *tools);
/* Conversations for answers that are drawn together. converse_engine is converse_start without a session;
 * each answer has a conversation of its own, which joins the first and takes from it what all share. Leave it
 * before the first is closed. */
int converse_engine(struct converse *c, const char *tools);
int converse_join(struct converse *c, const struct converse *with, const char *tools);
void converse_leave(struct converse *c);
/* Takes sampling from the options again, which may have changed; where they are wrong nothing does. */
int converse_sampling(struct converse *c);
/* Makes the session hold the prompt, with the help of --prompt-cache. Ctrl-C is a stop "cancelled". */
int converse_prompt(struct converse *c, const carat_tokens *prompt);
/* Draws until something ends it. The answer ends with its last byte, not with a newline. */
int converse_answer(struct converse *c);
/* converse_answer in two parts, for a caller that steps the generation itself. converse_begin begins, with *g
 * NULL where nothing is to be drawn. converse_end takes what is left when the generation has ended and
 * c->generation and c->stop say how, and closes it. */
int converse_begin(struct converse *c, carat_generation **g);
int converse_end(struct converse *c, carat_generation *g);
/* The name of why an answer ended; closed: its form has ended, too. */
const char *converse_reason(const struct converse *c, carat_reason reason, bool closed);
/* converse_shift.c: makes room in a context that is full, as --context-shift says. */
int converse_shift(struct converse *c);
/* The newline behind an answer that is printed, unless it ends with one. */
void converse_end_text(struct converse *c);
/* Keeps the timeline where --prompt-cache says. */
int converse_keep(struct converse *c);
/* Says of an answer without a word that it ended inside its thought. */
void note_unfinished_thought(const struct converse *c);
/* Says of an answer that it ended before its form did. An exit code: that of a form which went no further. */
int note_unfinished_form(const struct converse *c);
/* Remarks how many tokens were thoughts, if any, and which the budget ended. */
void note_thoughts(struct speed_notes *r, const struct converse *c);
/* Do the seed and the last two options matter? A temperature of 0 draws nothing. */
bool converse_draws(const carat_sampling *s);
/* Reports what the audits of the head found, with --audit. */
int converse_audits(const struct converse *c);
void converse_close(struct converse *c);

/* ---- log_jsonl.c ---- */

/* --log-jsonl: a line of JSON for each load, prompt and generation: numbers, never text. Each of these
 * appends its line to the file of the options, or does nothing without one. A file that cannot be written is
 * noted once and left alone. */
void log_load(struct converse *c);
void log_prompt(struct converse *c, int tokens);
void log_generation(struct converse *c);

/* ---- batch.c ---- */

/* All of `carat run --jsonl`: a file of prompts, answered together. An exit code. */
int answer_lines(const struct options *o);

#endif
