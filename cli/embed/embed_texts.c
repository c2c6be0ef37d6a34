/* SPDX-License-Identifier: Apache-2.0 */
/* embed_texts.c: `carat embed`: vectors of texts. Where texts come from is embed_inputs.c's, what is printed
 * embed_print.c's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/embed_print.h"
#include "io/input.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/phases.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/output.h"
#include "term/progress.h"

/* The options about vectors of texts. */
#define AT(field) offsetof(struct embed_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 52, {"--ids"}, IDS, AT(ids), "embed", "IDS", NULL,
     "token ids instead of text, <bos> and <eos> included; @FILE reads them from FILE", 0, 0},
    {ABOUT_INPUT + 54, {"--task"}, CHOICE, AT(task), "embed",
     "query|document|qa|fact|classify|cluster|similarity|code", NULL,
     "what the vectors are for: the model was trained with a sentence before the text that says so "
     "(default query, with --title document)", 0, 0},
    {ABOUT_INPUT + 56, {"--title"}, TEXT, AT(title), "embed", "TITLE", NULL,
     "the title of a document", 0, 0},
    {ABOUT_INPUT + 58, {"--no-prompt"}, FLAG, AT(no_prompt), "embed", NULL, NULL,
     "leave out that sentence", 0, 0},
    {ABOUT_INPUT + 172, {"--truncate"}, FLAG, AT(truncate), "embed", NULL, NULL,
     "cut longer texts to the tokens that the model was made for, instead of refusing them", 0, 0},
    {ABOUT_INPUT + 53, {"-f", "--file"}, READS, AT(file), "embed", "FILE", NULL,
     "read a text a line; blank lines are none, CR LF ends one as LF does", 0, 0},
    {ABOUT_INPUT + 205, {"--jsonl"}, READS, AT(jsonl), "embed", "FILE", NULL,
     "read a text a line, {\"text\": ...} with \"task\" and \"title\" of its own, or {\"ids\": ...}; print one "
     "{\"line\", \"tokens\", \"vector\"} a line", 0, 0},
    {ABOUT_OUTPUT + 21, {"-o", "--out"}, WRITES, AT(out), "embed", "FILE", NULL,
     "write float32 NPY, [texts][dim] (- is standard output); a text that failed has a row of NaN", 0, 0},
    {ABOUT_OUTPUT + 22, {"--dim"}, INT, AT(dim), "embed", "N", NULL,
     "the first N values alone, at length 1: 512, 256 or 128 of 768", 1, 1 << 16},
    {ABOUT_OUTPUT + 24, {"--similarity"}, FLAG, AT(similarity), "embed", NULL, NULL,
     "print how near each text is to each, from -1 to 1, instead of vectors", 0, 0},
    {ABOUT_OUTPUT + 26, {"--progress"}, FLAG, AT(progress), "embed", NULL, NULL,
     "say how far it is also where standard error is no terminal: a line now and then, and one at the end",
     0, 0},
    {ABOUT_MEASURING + 75, {"--rounds"}, INT, AT(rounds), "embed", "N", "1",
     "make the vectors N times, for --stats, which tells the fastest (default {default})", 1, 1000},
    {ABOUT_MEASURING + 87, {"--stats"}, FLAG, AT(stats), "embed", NULL, NULL,
     "say how long it took", 0, 0},
    {ABOUT_COMPUTING + 207, {"--no-dense"}, FLAG, AT(no_dense), "embed", NULL, NULL,
     "the mean at length 1, without the matrices behind it", 0, 0},
};
/* clang-format on */

const struct option_group embed_group = OPTION_GROUP(rows, struct embed_options, NULL);

/* Texts of a call: many passes, and few vectors that wait to be printed. */
enum { CALL = 1024 };

struct job {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_embedder about;
    struct embed_inputs in;
    carat_embed_input *input; /* [n_input] those that have ids */
    int *text, n_input;       /* which texts they are */
    float *vector;            /* [CALL][dim] */
    int dim;
    size_t tokens, before; /* in all; of rounds and calls that are through */
    bool prints;           /* in the last round */
    int printed;           /* inputs */
    size_t told;           /* tokens of the call under way whose vectors are printed */
    int code;              /* of printing */
    double printing;       /* seconds that it took */
    struct embed_printer printer;
    struct progress bar;
};

/* The dimension that is asked for; any can be had, but a cut in another place than in training loses more. */
static int choose_dim(struct job *j)
{
    const carat_embedder *a = &j->about;
    const int width = j->o->embed->no_dense ? a->raw_width : a->width, dim = j->o->embed->dim;
    bool known = dim == 0 || dim == width;
    char cuts[64] = "";

    if (dim > width)
        return term_fail(USAGE, "embed: --dim is %d, expected 1 to %d, the values of a vector of this model",
                         dim, width);
    for (int i = 0; i < a->n_cut; i++) {
        known |= dim == a->cut[i];
        snprintf(cuts + strlen(cuts), sizeof cuts - strlen(cuts), "%s%d", i + 1 == a->n_cut ? " and " : ", ",
                 a->cut[i]);
    }
    if (!known)
        term_note("the model was trained for vectors of %d%s values, not of %d", width, cuts, dim);
    j->dim = dim ? dim : width;
    return DONE;
}

/* As long as the longest text, and no longer: every token of a pass takes memory. */
static int make_engine(struct job *j)
{
    carat_engine_options options;
    struct phases phases;

    TRY(phases_engine(&phases, &options, j->o));
    options.context = j->in.longest > 0 ? j->in.longest : 1;
    if (j->in.ids.n < (1 << 10)) /* else the engine's own */
        options.chunk = j->in.ids.n > 0 ? j->in.ids.n : 1;
    options.sessions = j->n_input > 0 && j->n_input < 64 ? j->n_input : 0;
    return create_engine(&j->engine, j->model, &options);
}

static int list_inputs(struct job *j)
{
    const size_t n = (size_t)j->in.n, dim = (size_t)j->dim;

    j->input = calloc(n + 1, sizeof *j->input);
    j->text = calloc(n + 1, sizeof *j->text);
    j->vector = malloc((n < CALL ? n + 1 : CALL) * dim * sizeof *j->vector);
    if (!j->input || !j->text || !j->vector)
        return fail_memory();
    for (int i = 0; i < j->in.n; i++) {
        const struct embed_text *t = &j->in.text[i];
        if (t->n == 0)
            continue;
        j->text[j->n_input] = i;
        j->tokens += (size_t)t->n;
        j->input[j->n_input] = (carat_embed_input){.tokens = j->in.ids.ids + t->at,
                                                   .n = t->n,
                                                   .vector = j->vector + (size_t)(j->n_input % CALL) * dim};
        j->n_input++;
    }
    return DONE;
}

/* ---- vectors as they come ---- */

/* Texts up to this one, of which those that are not printed yet have no vector. */
static void print_up_to(struct job *j, int text)
{
    while (j->code == DONE && j->printer.next < text)
        j->code = embed_print_next(&j->printer, NULL);
}

/* Prints what is through of the inputs before `end`, in their order: `done` tokens of the call, in which
 * those that it refused do not count. */
static void print_done(struct job *j, int end, size_t done)
{
    const double start = term_seconds();

    for (; j->code == DONE && j->printed < end; j->printed++) {
        const carat_embed_input *in = &j->input[j->printed];
        const bool counts = in->status == CARAT_OK || in->status == CARAT_E_NUMERIC;
        if (counts && j->told + (size_t)in->n > done)
            break;
        j->told += counts ? (size_t)in->n : 0;
        print_up_to(j, j->text[j->printed]);
        if (j->code == DONE)
            j->code = embed_print_next(&j->printer, in->status == CARAT_OK ? in->vector : NULL);
    }
    if (j->code == DONE && !out_flush())
        j->code = FAILED;
    j->printing += term_seconds() - start;
}

static int watch_pass(void *user, size_t done, size_t total)
{
    struct job *j = user;

    (void)total;
    return progress_update(&j->bar, j->before + done, j->tokens * (size_t)j->o->embed->rounds);
}

static int end_pass(void *user, size_t done, size_t total)
{
    struct job *j = user;

    if (j->prints && j->in.n > 1) /* one that fails alone prints nothing */
        print_done(j, j->n_input, done);
    return watch_pass(j, done, total) || j->code != DONE;
}

/* Vectors of n inputs. A message does without the number of its text: the library counts those of a call. */
static carat_status call_library(struct job *j, carat_embed_input *input, int n,
                                 const carat_embed_options *options, carat_error *err)
{
    const carat_status status = carat_embed(j->engine, input, sizeof *input, n, options, err);
    int number = 0;

    if (status != CARAT_OK && sscanf(err->message, "text %*d: %n", &number) == 0 && number > 0)
        memmove(err->message, err->message + number, strlen(err->message + number) + 1);
    return status;
}

/* A text that failed is named. Why the first of a call did is known; the others say it once more. */
static void name_failure(struct job *j, carat_embed_input *in, int text)
{
    const struct embed_text *t = &j->in.text[text];
    const struct embed_options *e = j->o->embed;
    carat_embed_options options;
    carat_error err;
    char where[300] = "";

    carat_embed_options_default(&options);
    options.dim = j->dim;
    options.raw = j->o->embed->no_dense;
    if (call_library(j, in, 1, &options, &err) == CARAT_OK)
        return;
    if (t->line)
        snprintf(where, sizeof where, "%.200s: line %ld: ", input_name(e->jsonl ? e->jsonl : e->file),
                 t->line);
    else if (j->in.n > 1)
        snprintf(where, sizeof where, "text %d: ", text + 1);
    fail_as(BAD_MODEL, err.code, "%s%s", where, err.message);
    j->in.failed++;
}

/* Inputs from `first` on in one call. */
static int embed_some(struct job *j, int first, int n, const carat_embed_options *options)
{
    carat_error err;

    j->told = 0;
    const carat_status status = call_library(j, &j->input[first], n, options, &err);
    if (j->code != DONE)
        return j->code;
    if (status != CARAT_OK && (j->in.n == 1 || status == CARAT_E_CANCELLED || status == CARAT_E_MEMORY))
        return fail_status(&err);
    for (int i = first; i < first + n && j->prints; i++)
        if (j->input[i].status != CARAT_OK)
            name_failure(j, &j->input[i], j->text[i]);
    for (int i = first; i < first + n; i++)
        j->before += (size_t)j->input[i].n;
    if (j->prints)
        print_done(j, first + n, j->tokens);
    return j->code;
}

/* Makes the vectors, once or for the clock more often. An exit code. */
static int embed_rounds(struct job *j, double *fastest)
{
    const int rounds = j->o->embed->rounds;
    carat_embed_options options;

    carat_embed_options_default(&options);
    options.dim = j->dim;
    options.raw = j->o->embed->no_dense;
    options.watch = watch_pass;
    options.progress = end_pass;
    options.user = j;
    *fastest = INFINITY;
    for (int i = 0; i < rounds; i++) {
        const double start = term_seconds();
        j->prints = i + 1 == rounds;
        for (int k = 0; k < j->n_input; k += CALL)
            TRY(embed_some(j, k, j->n_input - k < CALL ? j->n_input - k : CALL, &options));
        *fastest = fmin(*fastest, term_seconds() - start - j->printing);
    }
    print_up_to(j, j->in.n);
    return j->code;
}

static int print_vectors(struct job *j)
{
    double fastest;

    TRY(embed_print_begin(&j->printer, j->o, &j->in, j->dim));
    progress_begin(&j->bar, "embedding", "tok");
    if (j->o->embed->progress)
        progress_always(&j->bar);
    const int code = embed_rounds(j, &fastest);
    progress_end(&j->bar);
    return code == DONE ? embed_print_end(&j->printer, j->tokens, fastest) : code;
}

static int embed_texts(struct job *j)
{
    carat_error err;

    TRY(open_packed(&j->model, j->o));
    if (carat_get_embedder(j->model, &j->about, &err) != CARAT_OK)
        return fail_status(&err);
    if (j->about.n_dense == 0 && !j->o->embed->no_dense)
        return fail_as(
            BAD_MODEL, CARAT_E_UNSUPPORTED,
            "%s: the model has no dense heads (modules 2_Dense and 3_Dense, in GGUF dense_2.weight and "
            "dense_3.weight), expected them for its vectors; --no-dense takes the raw mean",
            j->o->model);
    TRY(choose_dim(j));
    TRY(embed_inputs_read(&j->in, j->o, j->model, &j->about));
    TRY(list_inputs(j));
    TRY(make_engine(j));
    TRY(print_vectors(j));
    return j->in.failed ? FAILED : DONE;
}

int verb_embed(const struct options *o)
{
    struct job j = {.o = o, .about.size = sizeof j.about};

    TRY(embed_inputs_check(o));
    if (o->embed->out && strcmp(o->embed->out, "-") == 0 && (o->json || o->embed->similarity))
        return term_fail(USAGE, "embed: --out - and %s cannot both go to standard output",
                         o->json ? "--json" : "--similarity");
    interrupt_install();
    const int code = embed_texts(&j);
    embed_print_free(&j.printer);
    free(j.input);
    free(j.text);
    free(j.vector);
    embed_inputs_free(&j.in);
    carat_engine_close(j.engine);
    carat_model_close(j.model);
    return code == FAILED && !out_flush() ? DONE : code; /* a write error is out_finish's to report */
}
