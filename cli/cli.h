/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h: what the verbs of the command share: exit codes, messages, reading and writing, opening a model.
 * The option table is in options.h, the bar in progress.h. The command stands on carat.h alone. */
#ifndef CLI_H
#define CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <sys/types.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "carat.h"
#include "carat_tools.h"
#include "options/options.h"
#include "term/progress.h"

/* Exit codes; `carat help` prints them. */
enum {
    DONE = 0,
    FAILED = 1,
    USAGE = 2,
    NOT_FOUND = 3,
    BAD_MODEL = 4,
    NO_MEMORY = 5,
    CHECK_FAILED = 7,
    INTERRUPTED = 130,
    PIPE_CLOSED = 141,
};

/* ---- message.c: one line on stderr, control bytes escaped; colours on a terminal ---- */

/* What --color says: on, off, always, never; auto or NULL asks NO_COLOR, CLICOLOR_FORCE and the terminal. */
void message_color(const char *when);
/* How a line of the least importance begins and ends: dim, or nothing. */
const char *dim_on(void);
const char *dim_off(void);

#if defined(__GNUC__)
#define PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define PRINTF(text, first)
#endif
/* Prints "error: E_USAGE: ..." and returns the code, so that `return fail(USAGE, ...)` reads in one line. The
 * name follows from the exit code, FAILED being E_IO; fail_as takes it from a library status. */
int fail(int code, const char *format, ...) PRINTF(2, 3);
int fail_as(int code, carat_status status, const char *format, ...) PRINTF(3, 4);
int fail_memory(void);
/* What the library reported. E_NOT_FOUND means here that the model lacks something (a tokenizer, a template).
 */
int fail_status(const carat_error *err);
/* The same for opening, where E_NOT_FOUND and E_IO mean that there is no model at that path, or no
 * tokenizer. */
int fail_open(const carat_error *err);
/* "note: ..." */
void note(const char *format, ...) PRINTF(1, 2);
void note_line(void *user, const char *line); /* a carat_log */
/* Where the words of a did-you-mean come from: next(user, i) is word i, NULL after the last. Returns the
 * nearest word when it is near enough to be meant, else NULL. */
const char *nearest(const char *word, const char *(*next)(void *user, int i), void *user);

/* ---- interrupt.c: Ctrl-C asks once, kills the second time ---- */

void interrupt_install(void); /* also anew, after one that was obeyed */
bool interrupted(void);
/* As read; a Ctrl-C ends it with EINTR, also one that came before. */
ssize_t read_unless_interrupted(int fd, void *data, size_t n);
/* A carat_progress for work without a bar. */
int stop_when_interrupted(void *user, size_t done, size_t total);
/* From now on a page that cannot be read any more (SIGBUS) ends the command with a message about path and
 * code 1. */
void interrupt_on_fault(const char *path);

/* ---- input.c ---- */

enum { INPUT_LIMIT = 64 << 20 };
/* How messages call what is read from path: "-" is standard input. */
const char *input_name(const char *path);
/* All of a file ("-" is stdin) as one malloc'd, terminated string. Returns an exit code. */
int read_input(const char *path, char **data, size_t *n);
/* Can the file be read, or made or replaced? Opens nothing. what names the option in the message. Exit
 * codes. */
int check_readable(const char *what, const char *path, bool may_be_directory);
int check_writable(const char *what, const char *path); /* save.c */
/* As read_input for text that the library takes as a terminated string: a NUL byte is refused. */
int read_json_text(const char *path, char **data);
/* Ids separated by commas or white space, or as JSON. `what` names their origin in messages. Returns an exit
 * code. */
int parse_ids(const char *text, size_t n, const char *what, carat_tokens *out);
/* The same for the value of an option: ids, @FILE, or - for standard input. */
int read_ids(const char *value, const char *what, carat_tokens *out);
/* A list of ids, or an object that has one under "ids". */
int ids_of_json(const json_t *value, const char *what, carat_tokens *out);
/* NULL, with *code set, when n bytes of text are no JSON or memory is out. */
json_t *parse_json(const char *text, size_t n, const char *what, int *code);
/* One more id; false when memory is out. */
bool push_id(carat_tokens *t, int32_t id);
/* Offset of the first byte that is not part of well-formed UTF-8; n when all is well. */
size_t utf8_valid(const char *text, size_t n);
/* The text with U+FFFD for every byte that is not UTF-8, malloc'd and terminated; NULL when memory is
 * out. */
char *utf8_clean(const char *text, size_t n, size_t *n_clean);
/* What has to be UTF-8: refused with the offset, unless it may be lossy. `what` names it in the message. */
int check_utf8(const char *what, const char *text, size_t n, bool lossy);
/* Refuses what is not UTF-8, or when it may be lossy replaces it in place. */
int settle_utf8(const char *what, char **text, size_t *n, bool lossy);

/* ---- output.c: everything on stdout goes through here, so that no write error is lost ---- */

/* Keeps descriptors 0 to 2 from being taken by other files; ignores SIGPIPE; ends the command when JSON finds
 * no memory. */
void output_start(void);
void out_write(const void *data, size_t n);
void out_print(const char *format, ...) PRINTF(1, 2);
/* Text of foreign origin, as a model's: on a terminal a control byte is shown, as \x1b, and not obeyed; what
 * is not UTF-8 likewise. Elsewhere the bytes go out as they are. Text comes in whole characters. */
void out_text(const char *text, size_t n);
/* From here on lines that are wider than the terminal go on in the next one, below column `indent`, between
 * words; 0: no more. A call of out_print is at most 4 KiB meanwhile. Nothing but a terminal is folded for. */
void out_fold(int indent);
/* A name out of a file: no byte of it may move the cursor or forge a line, and a long one says no more than
 * `most`. */
void out_name(const char *name, size_t most);
bool out_flush(void); /* false once a write has failed */
/* Last word of a verb: the given code, or the code of a write error, which it reports. */
int out_finish(int code);
bool out_is_terminal(void);
/* Columns of the terminal behind a descriptor; 0 when there is none, or it does not say. */
int terminal_columns(int fd);
/* How many columns text for this descriptor may have: COLUMNS, or those of its terminal, else 80; never below
 * 20. */
int columns_of(int fd);

/* size.c: "236 MB", "1.05 GB": decimal units, three digits; returns out. */
enum { SIZE_TEXT = 32 };
const char *size_text(char out[SIZE_TEXT], double bytes);

/* Valid UTF-8 or not, as a JSON string (bad bytes become U+FFFD). */
json_t *json_text(const char *text, size_t n);
json_t *json_ids(const int32_t *ids, int n);
/* null for what JSON cannot say. */
json_t *json_number(double value);
/* One line on stdout; consumes the value; NULL means that building it ran out of memory. Returns an exit
 * code. */
int out_json(json_t *value);
/* The same for an object, with a list under `key` behind its own members; items are JSON already. */
int out_json_with(json_t *value, const char *key, const char *items);

/* ---- model.c: from options to library objects ---- */

/* The name `tiny` is the model inside the command; all else is a path (so `./tiny` is a file). */
int open_model(carat_model **model, const struct options *o, bool tokenizer_only);
/* The same; what is not in the cache is put there. For verbs that compute. */
int open_packed(carat_model **model, const struct options *o);
void engine_options(carat_engine_options *e, const struct options *o);
/* An engine with a bar while it takes the weights. */
int create_engine(carat_engine **engine, const carat_model *model, const carat_engine_options *options);
/* Evaluates n ids without reading their logits, which are computed only on request. */
int evaluate_ids(carat_engine *engine, carat_session *session, const int32_t *ids, int n, bool logits);
/* Leaves context and KV type to --memory, where that was given with a size and they were not. An exit code.
 */
int fit_engine(carat_engine_options *e, const carat_model *model, const struct options *o);
/* Memory for the snapshots of a conversation: as many of eight as fit into 64 MiB, and at least one. An exit
 * code. */
int choose_snapshots(carat_engine_options *e, const carat_model *model);
/* show_memory.c: the part of `carat show` about memory; e is what the plan was made of. */
int show_memory(const carat_model *model, const carat_engine_options *e, const carat_plan *plan,
                const struct options *o);
json_t *show_memory_json(const carat_model *model, const carat_engine_options *e, const carat_plan *plan,
                         const struct options *o);
/* stored.c: how many tensors of at least so many dimensions have which type, the most frequent first. */
enum { MOST_TYPES = 64 };
struct type_counts {
    int n;
    struct type_count {
        const char *name;
        int n;
    } type[MOST_TYPES];
};
void count_types(struct type_counts *c, const carat_model *model, int least_dims);
/* The type that most matrices are stored in, "" without any; *only: there is no other. */
const char *stored_type(const carat_model *model, bool *only);
const char *model_name(const char *path); /* its last component, for tables */
double seconds(void);                     /* a monotonic clock */

/* ---- written.c: no file that is written may be one that is read; exit codes ---- */

/* Against what the options of the verb read, before anything is opened. */
int check_written(const struct options *o, enum verb verb);
/* Against all files of an open model. */
int check_spares_model(const struct options *o, const carat_model *model);

/* ---- cache_place.c ---- */

enum { MOST_CACHE_PATH = 1024 };
struct cache_place {
    char path[MOST_CACHE_PATH]; /* "" when no place is known */
    carat_cache_info in;
};
void cache_find(struct cache_place *c);

/* names.c: when nothing is at the path `model` and it reads like a name or an address, says what to type
 * instead and returns an exit code; else DONE. */
int explain_missing(const char *model);

/* stdin.c: as carat_model_open, from standard input. */
carat_status open_stdin(carat_model **model, const carat_model_options *options, carat_error *err);

/* ---- one function per verb: returns an exit code; out_finish is main's ---- */

int verb_run(const struct options *o);
int verb_chat(const struct options *o);
int verb_logits(const struct options *o);
int verb_decode(const struct options *o);
int verb_compare(const struct options *o);
int verb_tokenize(const struct options *o);
int verb_detokenize(const struct options *o);
int verb_render(const struct options *o);
int verb_bench(const struct options *o);
int verb_perplexity(const struct options *o);
int verb_eval(const struct options *o);
int verb_show(const struct options *o);
int verb_verify(const struct options *o);
int verb_pack(const struct options *o);
int verb_cache(const struct options *o);
int verb_doctor(const struct options *o);
int verb_completion(const struct options *o);
int verb_version(const struct options *o);
int verb_help(const struct options *o);
/* verb N_VERB: the command as a whole; all: also the options that are seldom used */
void print_help(enum verb verb, bool all);
void print_man(enum verb verb);

#endif
