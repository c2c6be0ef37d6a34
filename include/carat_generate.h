/* SPDX-License-Identifier: Apache-2.0 */
/* carat_generate.h: libcarat, between a prompt and a sentence: what a session kept and what it had to
 * evaluate once more, the loop that draws an answer, and what passes are made of, did and cost. carat.h
 * runs a model and has the rules on threads, errors and sizes, which hold here too. */
#ifndef CARAT_GENERATE_H
#define CARAT_GENERATE_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------ timelines ----
 * Local layers keep K and V of the last positions only. A session that goes back to position n goes on at
 * once where they still have what n sees, else from the nearest snapshot before, else from 0; the tokens in
 * between are evaluated once more with the next ones. A snapshot keeps what local layers have at a position,
 * by reference: it costs nothing to take. One is taken after each carat_sync, every 1024 tokens of what a
 * call evaluates, and by carat_mark, as long as there are snapshot_bytes for them; then the one whose loss
 * costs fewest tokens to evaluate makes room. A fork has those of its origin; going back to before one drops
 * it. Where the prompt of carat_sync ends with an empty thought, which a later rendering of the conversation
 * leaves out, the session can go back to before that as well.
 * Sessions with the same carat_session_options.owner find what others have evaluated: carat_sync keeps
 * the longest prefix that any of them holds, also while it is in a call, or has left behind when it was
 * closed, rewound or given another prompt or file. K and V are shared by reference. With local layers that is
 * a prefix from which one can go on: one that another session has just evaluated, or what snapshots
 * have. With an owner one is taken every 512 tokens, one where a session leaves something behind, and one
 * where a prompt leaves a prefix that it shares but could not go on from: the next one can. What was left
 * behind takes blocks that are free,
 * without snapshot_bytes none of a model with local layers. When a block is missing, for a reservation too,
 * the piece of up to 256 tokens goes which was not used for the longest time and has nothing behind it;
 * snapshots of owners go by their last use as well. Where logits were NaN or infinite, nothing is left
 * behind. Sessions without an owner find nobody's prefix, and nobody finds theirs. */

/* Takes a snapshot where the session stands. Nothing happens without snapshot_bytes. One call a session.
 * CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_mark(carat_session *session, carat_error *err);

/* Writes the tokens of a session, their K and V, and its logits if it has them, to a file, with n_note bytes
 * of the caller's own, at most 16 MiB; note may be NULL. What the local layers lack is evaluated first. The
 * same model, arithmetic, KV type, layers, tokens and note give the same bytes, whatever made them. The file
 * appears under its name when it is complete, and replaces an older one. One call a session. CARAT_E_ARGUMENT
 * (also when there are no tokens, or the model was read from path), CARAT_E_IO, CARAT_E_MEMORY,
 * CARAT_E_NUMERIC, CARAT_E_CANCELLED, CARAT_E_BUSY (also when another process writes the file). */
CARAT_API carat_status carat_save(carat_session *session, const char *path, const void *note, size_t n_note,
                                  carat_error *err);
/* Makes the session hold what was saved, in place of what it holds; *note (may be NULL) gets the caller's
 * own, terminated, for carat_free, and *n_note (may be NULL) its bytes. Everything is checked before: a file
 * that is refused leaves the session as it was. One call a session. CARAT_E_ARGUMENT, CARAT_E_NOT_FOUND,
 * CARAT_E_IO, CARAT_E_FORMAT (damaged), CARAT_E_UNSUPPORTED (of another model, arithmetic, KV type, layers or
 * version), CARAT_E_CONTEXT (more tokens than the context), CARAT_E_NUMERIC (NaN or infinity among its
 * numbers), CARAT_E_MEMORY (then the session is empty if no block of K and V was free), CARAT_E_BUSY. */
CARAT_API carat_status carat_load(carat_session *session, const char *path, char **note, size_t *n_note,
                                  carat_error *err);

/* Gets what a caller left in such a file, also in one that no session here could load: *note is terminated
 * and for carat_free, *n_note (may be NULL) gets its bytes. The whole file is checked but for the numbers in
 * it. Any thread. CARAT_E_ARGUMENT, CARAT_E_NOT_FOUND, CARAT_E_IO, CARAT_E_FORMAT (damaged),
 * CARAT_E_UNSUPPORTED (of another layout), CARAT_E_MEMORY. */
CARAT_API carat_status carat_load_note(const char *path, char **note, size_t *n_note, carat_error *err);

/* The part of a prompt that sessions of an owner have. */
typedef struct carat_prefix {
    size_t size;
    int reused; /* tokens that carat_sync of a new session of this owner would not evaluate now */
    /* tokens that the nearest of all has in common with the prompt: more than reused where it is the whole
     * prompt, or local layers cannot go on from there */
    int common;
    int n_next; /* ids that the nearest has behind these, as far as they were asked for */
} carat_prefix;
CARAT_DEFAULT(carat_prefix)
/* Tells how much of the prompt ids[n], n >= 1, others of an owner have evaluated, and how the nearest of them
 * goes on where it and the prompt part: next gets up to `most` ids; it may be NULL with most 0. Of several
 * that have as much in common it is one. Takes nothing, and is no use of what it finds. Waits for a pass
 * under way, as carat_engine_use does. Any thread. CARAT_E_ARGUMENT (also owner 0). */
CARAT_API carat_status carat_find_prefix(carat_engine *engine, uint64_t owner, const int32_t *ids, int n,
                                         carat_prefix *prefix, int32_t *next, int most, carat_error *err);

/* The tokens that were kept by the last carat_sync, carat_rewind, carat_fork or carat_load that made or
 * changed the session. */
typedef struct carat_session_stats {
    size_t size;
    int kept;          /* tokens that it left held */
    int restored_from; /* of these, from here on K and V of local layers were gone; kept: nothing was */
    int reevaluated;   /* tokens that were evaluated once more since, of the kept - restored_from */
    int snapshots;     /* it has */
} carat_session_stats;
CARAT_DEFAULT(carat_session_stats)
/* One call a session. CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_session_get_stats(const carat_session *session, carat_session_stats *stats,
                                               carat_error *err);

/* ---------------------------------------------------------------- heads ----
 * The head is the largest matrix of a small model. A session keeps the hidden state behind its last token;
 * which logits are computed from it is the strategy of the engine. Sampling that begins with top-k reads few
 * of them. Whatever is asked for later is computed then, with the same bits. */

typedef enum carat_head {
    CARAT_HEAD_DENSE,        /* every row for every token */
    CARAT_HEAD_PRELOAD,      /* all tiles are made beforehand */
    CARAT_HEAD_LAZY,         /* a tile is made when it is needed; few are kept */
    CARAT_HEAD_SHORTLIST,    /* few tiles a token: approximate */
    CARAT_HEAD_EXACT_PRUNED, /* a sketch tells which rows cannot be among the best; the others are computed */
    CARAT_HEAD_AUTO,         /* dense, or pruned where that is measured to be faster */
} carat_head;
/* "exact-pruned" for CARAT_HEAD_EXACT_PRUNED; "" for none; never NULL. Any thread. */
CARAT_API const char *carat_head_name(carat_head head);

/* The weights of a tile: the head's own, or int8 made from them, which is another model. */
typedef enum carat_head_quant {
    CARAT_QUANT_NATIVE,
    CARAT_QUANT_GROUP,   /* a scale for 32 values: what Q8_0 is */
    CARAT_QUANT_CHANNEL, /* for a row */
    CARAT_QUANT_TENSOR,  /* for all rows */
} carat_head_quant;

typedef struct carat_head_options {
    size_t size;
    carat_head strategy;
    carat_head_quant quant; /* of tiles */
    int tile;               /* rows of a tile, a multiple of 64; 0: 2624, or all of a smaller vocabulary */
    int capacity;           /* tiles kept; 0: all */
    size_t capacity_bytes;  /* the same in bytes; 0: by capacity */
    /* Most tiles of a token, with preload, lazy and shortlist; 0: all, of shortlist 16. More than half of
     * them: all. What reads all logits, or more of them than there are, reads all tiles. */
    int shortlist_tiles;
    int audit;        /* every audit-th token is computed by dense, too, and compared; 0: never */
    float min_recall; /* of top-k in audits; a shortlist below it is given up; 0: 0.98 */
    carat_log log;    /* gets what happens to it, also inside passes, as a watch; may be NULL */
    void *user;       /* passed to it */
} carat_head_options;
CARAT_DEFAULT(carat_head_options)

/* Statistics of an engine's head since the engine was created. */
typedef struct carat_head_stats {
    size_t size;
    carat_head strategy;      /* in use; auto: what it chose */
    const char *reason;       /* of it, one sentence; "": it was asked for. Lives as long as the engine */
    int exact;                /* 1: the ids and logits are those of dense */
    int tiles, tile;          /* tiles and rows of one; 0: there are none */
    int kept;                 /* tiles that are kept at most */
    size_t sketch_bytes;      /* extra memory of a sketch */
    size_t tile_bytes;        /* extra memory of tiles */
    double tiles_s, sketch_s; /* seconds of making them when the engine was created */
    uint64_t tokens;          /* rows whose logits were computed */
    uint64_t bytes;           /* of weights that were read for them */
    uint64_t dense_bytes;     /* that dense would have read */
    double seconds;           /* of the head */
    uint64_t hits, misses, evictions, evaluated; /* of tiles */
    uint64_t made_bytes;                         /* of tiles */
    uint64_t rows_finished, panels_finished;     /* behind a sketch; a panel has 16 rows */
    uint64_t fallbacks;                          /* tokens that were computed dense instead */
    const char *fallback;                        /* why the last one was; "": none */
    uint64_t audits, differences; /* tokens that were computed both ways; of these, results that differed */
    double top1, recall;          /* of audits, means: agreement of the best, overlap of top-k */
    int from_cache; /* 1: sketch or tiles were mapped from the model's packed copy, and none were made */
} carat_head_stats;
CARAT_DEFAULT(carat_head_stats)
/* Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_engine_get_head(carat_engine *engine, carat_head_stats *stats, carat_error *err);

typedef struct carat_candidate {
    int32_t id;
    float logit;
} carat_candidate;
/* The k best ids of what the session holds, by logit descending, then id ascending; k is at least 1 and at
 * most the vocabulary. One call a session. CARAT_E_ARGUMENT (also no logits), CARAT_E_NUMERIC,
 * CARAT_E_BUSY. */
CARAT_API carat_status carat_top(carat_session *session, int k, carat_candidate *out, carat_error *err);

/* ------------------------------------------------------------- sampling ----
 * The chain by which an id is drawn: edits of the logits (bias, then penalties, then DRY), then cuts, then
 * the draw. NUMERICS.md section 8 has every formula. Penalties look at the tokens that are held, and at
 * nothing else. */
typedef enum carat_link {
    CARAT_LINK_PENALTIES, /* repeat, frequency, presence; the bias is always first */
    CARAT_LINK_DRY,
    CARAT_LINK_TOP_K,
    CARAT_LINK_TEMPERATURE,
    CARAT_LINK_TYPICAL,
    CARAT_LINK_TOP_P,
    CARAT_LINK_MIN_P,
    CARAT_LINK_XTC,
} carat_link;
enum { CARAT_LINKS = 8, CARAT_MOST_BIASES = 1024, CARAT_MOST_BREAKERS = 64 };
/* "top_k" for CARAT_LINK_TOP_K, as llama.cpp spells it; "" for none; never NULL. Any thread. */
CARAT_API const char *carat_link_name(carat_link link);

typedef struct carat_bias {
    int32_t id;
    float bias; /* -1e38 to 1e38, added to its logit; -INFINITY: never drawn */
} carat_bias;

typedef struct carat_chain {
    size_t size;
    const carat_link *links; /* [n_links] in this order, each at most once; NULL: all, as they are listed */
    int n_links;
    const carat_bias *biases; /* [n_biases] each id once */
    int n_biases;
    float repeat_penalty;                      /* 0.001 to 1000; 1: off */
    float frequency_penalty, presence_penalty; /* -1000 to 1000; 0: off */
    int repeat_last_n;                         /* tokens that these look at; -1: all; 0: none */
    float dry_multiplier, dry_base;            /* 0 to 1000, 1 to 1000; multiplier 0: off */
    int dry_allowed_length;
    int dry_penalty_last_n;      /* -1: all */
    const int32_t *dry_breakers; /* [n_dry_breakers] ids that no repetition goes across */
    int n_dry_breakers;
    float typical_p;       /* CARAT_TOP_P_MIN to 1; 1: off */
    float xtc_probability; /* 0 to 1; 0: off */
    float xtc_threshold;   /* 0 to 1 */
} carat_chain;
/* Every link in the usual order, each off; what is asked for otherwise is as in llama.cpp: repeat_last_n 64,
 * dry_base 1.75, dry_allowed_length 2, dry_penalty_last_n -1, xtc_threshold 0.1. */
static inline void carat_chain_default(carat_chain *s)
{
    static carat_chain zero;
    *s = zero;
    s->size = sizeof *s;
    s->repeat_penalty = s->typical_p = 1;
    s->repeat_last_n = 64;
    s->dry_base = 1.75f;
    s->dry_allowed_length = 2;
    s->dry_penalty_last_n = -1;
    s->xtc_threshold = 0.1f;
}

/* ----------------------------------------------------------- generation ----
 * A generation draws ids one after another from what its session holds: the logits are there after
 * carat_sync, carat_append or carat_load. Each id that was given is evaluated when the next one is wanted, so
 * that between steps a session holds the prompt and all given ids but the last. A generation whose session
 * was changed in between begins anew from what it holds then. Sessions, sampling and seed decide the ids;
 * other generations of a step, drafts and cancelling do not. */
typedef struct carat_generation carat_generation;

/* Why a generation ended. Where a form had to be ended for max_tokens or the context, a stop id behind it is
 * CARAT_REASON_LENGTH, too; carat_generation_info.closed says that nothing is missing. */
typedef enum carat_reason {
    CARAT_REASON_NONE = 0,    /* it has not */
    CARAT_REASON_STOP,        /* a stop id was drawn, which is neither given nor held */
    CARAT_REASON_LENGTH,      /* max_tokens were given, or the context is full */
    CARAT_REASON_CANCELLED,   /* carat_cancel, or the session's watch. The next step goes on */
    CARAT_REASON_CALLBACK,    /* on_token wanted no more. The next step goes on after the id that it got */
    CARAT_REASON_TOOL_CALLS,  /* a stop id was drawn behind a call of a function */
    CARAT_REASON_NUMERIC,     /* the logits hold NaN or infinity; the session is empty */
    CARAT_REASON_STOP_STRING, /* a stop string was complete; the id that completed it is given like others */
    CARAT_REASON_LOOP,        /* the last ids repeat in a cycle, and the model is nearly certain of them */
    CARAT_REASON_CONSTRAINT,  /* each id that the form of the answer allows is banned */
} carat_reason;
/* "stop" for CARAT_REASON_STOP, "" for none; never NULL. Any thread. */
CARAT_API const char *carat_reason_name(carat_reason reason);

/* The likelihood of an id: the logarithm of its probability among all ids of the text vocabulary, before any
 * link of the chain and any ban. */
typedef struct carat_logprob {
    int32_t id;
    float logprob;
} carat_logprob;

/* An id that a step gives, until on_token returns. Text that may become part of a stop string is held back,
 * and comes with the id that rules it out; from the beginning of a complete one on there is none. Stop
 * strings are searched for in the text of all ids of the generation; tokens around calls of functions are
 * searched apart, and no string goes across them. At the end carat_generation_rest gives what is left.
 * A model that thinks writes its thoughts between two control tokens of its vocabulary. The line that names
 * the channel and the line break before the second token are no part of their text, and stop strings are not
 * searched for in it. A prompt may end within a thought, and a generation too. */
typedef struct carat_given {
    int32_t id;
    int position;     /* of the id among those of the session */
    const char *text; /* [n_text] in UTF-8, terminated: what can be given with the id, or "" */
    size_t n_text;
    double ms;                /* milliseconds since carat_generation_create */
    int drafted;              /* 1: it was proposed, and accepted */
    float logprob;            /* of id; 0 without logprobs */
    const carat_logprob *top; /* [n_top] the most likely ids, best first, the lower id of two alike */
    int n_top;
    int thought; /* 1: the text is of a thought, 0: of the answer */
    /* 1: the id ends a thought that has reached thought_budget, or brings a form to an end for which there
     * would have been no room behind the id that was drawn first, or in an answer that goes round */
    int forced;
    /* 1: the id is of a call of a function, one of the two tokens around it too (carat_tools.h). Where there
     * are no such tokens, calls are JSON and this is 0: carat_begins_calls tells from the text */
    int call;
    size_t n_call;  /* bytes of the call, at the end of text; any others were held back before it began */
    int of_thought; /* 1: the id is of a thought, the two tokens around it too, whosever the text is */
} carat_given;
/* Nonzero ends the generation after this id. The sessions of the step are in a call meanwhile. */
typedef int (*carat_on_token)(void *user, const carat_given *given);
/* Proposes what follows ids[n]: puts up to k ids into draft and returns their number. Wrong ones cost time
 * and change no result. The sessions of the step are in a call meanwhile. */
typedef int (*carat_propose)(void *user, const int32_t *ids, int n, int32_t *draft, int k);

typedef enum { CARAT_LOOKUP_AUTO, CARAT_LOOKUP_ON, CARAT_LOOKUP_OFF } carat_lookup;
/* The sources of drafts: the text itself, or propose in its place; carat_model_options.drafter; a form that
 * leaves no choice (carat_constrain.h), as options.lookup says. */
typedef enum {
    CARAT_FROM_TEXT,
    CARAT_FROM_DRAFTER,
    CARAT_DRAFT_SOURCES,
    CARAT_FROM_FORM = CARAT_DRAFT_SOURCES
} carat_draft_source;
enum { CARAT_MOST_STOP_IDS = 64, CARAT_MOST_DRAFT = 7 };
enum {
    CARAT_MOST_STOPS = 16,
    CARAT_MOST_STOP_BYTES = 1024,
    CARAT_MOST_LOGPROBS = 20,
    CARAT_MOST_LOOP = 4096
};

typedef struct carat_generation_options {
    size_t size;
    const carat_sampling *sampling; /* copied; NULL: the model's */
    int max_tokens;                 /* ids to give; 0: until the context is full */
    const int32_t *stop_ids;        /* [n_stop_ids] copied; NULL: the model's own. At most 64, also none */
    int n_stop_ids;
    int naive;               /* 1: each step evaluates everything anew: the slow way, with the same bits */
    carat_on_token on_token; /* may be NULL */
    void *user;              /* passed to both callbacks */
    carat_lookup lookup;     /* drafts from the text itself: when they pay, always, never */
    int draft_max;           /* ids in a draft, at most CARAT_MOST_DRAFT; 0: that */
    int draft_min;           /* shorter drafts are not tried; 0: 1 */
    carat_propose propose;   /* proposes in place of the text itself; may be NULL */
    /* [n_stops] copied; UTF-8, 1 to 1024 bytes each, at most 16. What may become one is held back */
    const char *const *stops;
    int n_stops;
    int logprobs;     /* 1: carat_given.logprob is set */
    int top_logprobs; /* ids in carat_given.top, at most 20; with logprobs */
    int loop_guard;   /* tokens of a cycle that end the generation, at most CARAT_MOST_LOOP; 0: off */
    /* 1: a thought with a text of thought_budget ids is ended by its second control token, and the answer
     * begins; without such tokens in the vocabulary that changes nothing */
    int limits_thought;
    int thought_budget; /* 0: no text at all */
    int in_thought;     /* 1: it goes on with a thought whose beginning the session does not hold any more */
    carat_lookup drafter; /* drafts of the model's drafter, if it has one: when they pay, always, never */
    /* Ids before which no stop id is drawn; 0: none. Of max_tokens at most. With the ids of
     * carat_sampling.banned the stop ids are at most as many as these may be; not with a matcher, whose form
     * says how long an answer is. Stop strings, callbacks and cycles end it all the same. */
    int min_tokens;
} carat_generation_options;
CARAT_DEFAULT(carat_generation_options)

/* The prompt that a generation answers. */
typedef struct carat_prompt {
    size_t size;
    const int32_t *ids; /* [n], copied, at least 1 */
    int n;
    /* [n_marks] positions, ascending, to which a later prompt may go back: where messages begin, say. What is
     * kept for one serves those near it, so that marks cost few passes. NULL: none besides the end */
    const int *marks;
    int n_marks;
} carat_prompt;
CARAT_DEFAULT(carat_prompt)

/* Any thread. The session must outlive the generation; one session may have several, of which one steps at a
 * time. CARAT_E_ARGUMENT (also lookup, propose or drafter with naive, and stops of a model without a
 * tokenizer), CARAT_E_MEMORY. */
CARAT_API carat_status carat_generation_create(carat_generation **generation, carat_session *session,
                                               const carat_generation_options *options, carat_error *err);
/* Last call. */
CARAT_API void carat_generation_close(carat_generation *generation);

/* Gives a generation its prompt, in place of carat_sync: its session keeps the common prefix and forgets what
 * is behind it, and carat_generation_pass evaluates the rest. *reused (may be NULL) gets the number of tokens
 * that are not evaluated. Evaluates nothing itself. The generation begins anew. A prompt that is under way is
 * given up when the session is changed by another call; what was evaluated stays. One call a session.
 * CARAT_E_ARGUMENT, CARAT_E_CONTEXT (more tokens than the context), CARAT_E_MEMORY, CARAT_E_BUSY. */
CARAT_API carat_status carat_generation_prompt(carat_generation *generation, const carat_prompt *prompt,
                                               int *reused, carat_error *err);
/* Advances n generations of one engine together, in one pass if its chunk has room: each whose prompt is
 * through gives the next id, or several when a draft was right. The others have pieces of their prompts
 * evaluated: at most `piece` tokens of all prompts together, and fewer where the chunk has no room for them
 * beside the ids. These are dealt out in the order of the list: each prompt has one piece, which ends with
 * the prompt, with a mark, or with a block of K and V, and the next prompt has what is left. With the last
 * token of its prompt a generation gives its first id. So generations come and go between calls, short
 * prompts come in together, and a long one holds nobody up for longer than a piece of it. piece 0: prompts
 * wait. Those that have ended, but by CARAT_REASON_CANCELLED or CARAT_REASON_CALLBACK, are left alone. A
 * generation that fails ends alone, and the result is that of the first that failed: CARAT_E_CANCELLED,
 * CARAT_E_NUMERIC, CARAT_E_IO, CARAT_E_MEMORY (no block of K and V is free; with one the next call goes on);
 * all but CARAT_E_NUMERIC keep what was evaluated. After CARAT_E_ARGUMENT (also a session that holds no
 * logits, or one that two generations name) and CARAT_E_BUSY nothing has changed; but
 * CARAT_E_ARGUMENT is also a draw for which every id is banned. One call a session; allocates nothing. */
CARAT_API carat_status carat_generation_pass(carat_engine *engine, carat_generation *const *generations,
                                             int n, int piece, carat_error *err);
/* carat_generation_pass with pieces as long as the engine's chunk. Errors as carat_generation_pass. */
CARAT_API carat_status carat_generation_step(carat_engine *engine, carat_generation *const *generations,
                                             int n, carat_error *err);
enum { CARAT_REST_BYTES = CARAT_MOST_STOP_BYTES + 16 };
/* Takes the text that is left when no further step shall come, whatever ended the last one: what is held
 * back since it might have become a stop string, and U+FFFD for the bytes of an unfinished character;
 * without stop strings that is carat_stream_text(session, -1). Returns its bytes, and writes them,
 * terminated. A result of capacity or more says that out is too small: out is then "", and nothing was
 * taken. CARAT_REST_BYTES are always enough. There is nothing after CARAT_REASON_STOP_STRING, and no
 * unfinished character once the session was changed. A generation that goes on all the same searches a new
 * text. One call a session; 0 and "" while another one is under way. */
CARAT_API size_t carat_generation_rest(carat_generation *generation, char *out, size_t capacity);
/* Steps until the generation ends. Errors as carat_generation_pass. */
CARAT_API carat_status carat_generate(carat_generation *generation, carat_error *err);

/* A place where drafting was switched on, since it began to pay, or off. */
typedef struct carat_draft_switch {
    int given; /* ids, by then */
    int on;
    const char *reason; /* a clause; static */
} carat_draft_switch;
enum { CARAT_MOST_SWITCHES = 16 };
/* Counts of what became of the drafts of one source. */
typedef struct carat_draft_use {
    int drafted, accepted; /* ids */
    double gained_ms;      /* as below */
} carat_draft_use;

/* The state of a generation: how far it is. */
typedef struct carat_generation_info {
    size_t size;
    carat_reason reason;
    int given;             /* ids */
    int passes;            /* with ids of this generation */
    int drafted, accepted; /* ids */
    int context_full;      /* 1: it is the context that ended it by length */
    int32_t last;          /* the last id, which the session does not hold yet; -1: none */
    double gained_ms;      /* that drafts saved, by what passes cost, less what they lost */
    int switched;          /* times that drafting was switched by what it costs */
    carat_draft_switch switches[CARAT_MOST_SWITCHES]; /* the first of them */
    int cycle;                                        /* reason loop: so many last ids went round; else 0 */
    int stop;                                         /* reason stop_string: which one; else -1 */
    int thought_ids;                                  /* of those given: of thoughts, control tokens too */
    int in_thought; /* 1: what was given last, and carat_generation_rest, is of a thought that goes on */
    carat_draft_use use[CARAT_DRAFT_SOURCES];
    carat_draft_source switched_source[CARAT_MOST_SWITCHES]; /* of switches */
    int complete;                /* 1: the form of the answer may end here; also where there is none */
    int forced;                  /* ids that were given so */
    carat_draft_use use_of_form; /* CARAT_FROM_FORM; use has the others */
    int prompt_left;             /* tokens of its prompt that have yet to be evaluated */
    int32_t end;                 /* the stop id that ended it, which is not given; -1: none did */
    /* 1: complete, and all that could follow in the form is white space, or another call; also where a stop
     * id came behind it. So a form that ends with the last id that may come is no answer that was cut off */
    int closed;
} carat_generation_info;
CARAT_DEFAULT(carat_generation_info)
/* One call a session. CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_generation_get_info(const carat_generation *generation,
                                                 carat_generation_info *info, carat_error *err);

/* ---------------------------------------------------------------- plans ----
 * The CPU computes passes of any number of rows: nothing is compiled, padded or prepared for a shape. A pass
 * decodes when it has one row of each of its sessions, drafts aside; every other pass is prefill.
 * Threads, chunk and level of passes that decode may be others (carat_engine_options); no bit depends on
 * them. */

/* A line of an explanation, until the call returns. Keys are lower case, parts of one between dots, and do
 * not repeat; values are one line of text for people. Nonzero ends the call with CARAT_E_CANCELLED. */
typedef int (*carat_explain_line)(void *user, const char *key, const char *value);
/* Explains what the passes of an engine are made of, and why: arithmetic, versions of the rules of numbers
 * and draws; level asked for, found, used; for each operation types of weights, layout, input, the entry of
 * the kernels and the level that has written it, and why it is no better one; sizes of blocks and tiles;
 * threads, chunk and level of each phase; context, K and V, cache file, snapshots. Any thread.
 * CARAT_E_ARGUMENT, CARAT_E_CANCELLED. */
CARAT_API carat_status carat_explain(const carat_engine *engine, carat_explain_line line, void *user,
                                     carat_error *err);

/* ----------------------------------------------------------- statistics ----
 * An engine counts its passes; that changes no bit and costs two looks at the clock a pass. Passes that were
 * stopped, and those of carat_bisect, are not counted. */

enum { CARAT_ROW_BUCKETS = 10 }; /* passes of 1, 2, 3-4, 5-8, ... 129-256, and of more rows */
/* The passes of a bucket. Times are in seconds, 0 where there was no pass. */
typedef struct carat_pass_stats {
    int first, last; /* rows of a pass; the last bucket ends at INT32_MAX */
    uint64_t passes, rows;
    double seconds;                 /* of all passes */
    double mean, p50, p95, p99, cv; /* percentiles: within 4 %; cv: standard deviation / mean */
} carat_pass_stats;

/* Why a pass is computed where it is. */
typedef enum carat_dispatch_reason {
    CARAT_DISPATCH_OPTION,  /* as carat_engine_options.device says */
    CARAT_DISPATCH_NO_GPU,  /* there is none, or the one that there was failed */
    CARAT_DISPATCH_COST,    /* of "auto": it takes less time there */
    CARAT_DISPATCH_UNKNOWN, /* of "auto": what it takes is not known of both */
    CARAT_DISPATCH_MEASURE, /* of "auto": to know it */
    CARAT_DISPATCH_REASONS,
} carat_dispatch_reason;
/* Passes that one kind of processor computed. */
typedef struct carat_dispatch {
    carat_pass_stats all;                       /* however many rows they have */
    uint64_t by_reason[CARAT_DISPATCH_REASONS]; /* passes */
    const char *reason; /* of the choice as it stands, one sentence; until the engine is closed */
} carat_dispatch;

typedef struct carat_engine_stats {
    size_t size;
    uint64_t passes, rows; /* rows: tokens that were evaluated, however often */
    double seconds;
    carat_pass_stats by_rows[CARAT_ROW_BUCKETS];
    /* tokens by their path; the first four are all rows */
    uint64_t prefill, decode; /* of passes that prefill, and that decode */
    uint64_t drafted;         /* guessed, and evaluated beside the one before */
    uint64_t reevaluated;     /* evaluated once more after a rewind, in whatever pass */
    uint64_t restored;        /* not evaluated: they came from a snapshot, a file or another session */
    uint64_t one_by_one;      /* of a prompt, in passes of one row, since these were cheaper */
    carat_dispatch cpu, gpu;
    int blocks, blocks_held; /* of K and V */
    uint64_t padded_rows;    /* computed to fill a shape */
    uint64_t plans_built;    /* prepared for a shape */
    uint64_t snapshots_taken, snapshots_used, snapshots_dropped;
} carat_engine_stats;
CARAT_DEFAULT(carat_engine_stats)
/* Gets what the passes of the engine did since it was created. Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_engine_get_stats(carat_engine *engine, carat_engine_stats *stats,
                                              carat_error *err);

/* The costs of passes, as measured: where there are more rows, weights are read for all of them at once. One
 * table is of passes in which every row wants logits, as those of generations do, the other of the rest. Each
 * has passes that end below position 1024, 4096, 16384, and beyond. */
enum { CARAT_COST_KINDS = 2, CARAT_COST_DEPTHS = 4 };
typedef struct carat_cost {
    double rows, nanoseconds; /* of a pass, both as moving means; 0: nothing is known */
    int32_t passes;           /* that they stand on, up to 64 */
} carat_cost;
typedef struct carat_costs {
    size_t size;
    carat_cost of[CARAT_COST_KINDS][CARAT_COST_DEPTHS][CARAT_ROW_BUCKETS];
    /* passes on the GPU of an engine whose device is "auto", whose others are then the CPU's */
    carat_cost on_gpu[CARAT_COST_KINDS][CARAT_COST_DEPTHS][CARAT_ROW_BUCKETS];
} carat_costs;
CARAT_DEFAULT(carat_costs)
/* Gets what passes of this engine cost: what carat_engine_options.costs gave it, and what it measured since.
 * Costs are those of this machine, model, arithmetic, KV type, threads and level. A prompt goes through
 * passes of one row where the table says that a larger pass would take longer, and with "auto" each where it
 * says that it takes less time; no bit depends on it. Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_engine_get_costs(carat_engine *engine, carat_costs *costs, carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
