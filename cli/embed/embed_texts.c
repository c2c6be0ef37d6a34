/* SPDX-License-Identifier: Apache-2.0 */
/* embed_texts.c: `carat embed`: vectors of texts. Where texts come from is embed_inputs.c's, what is printed
 * embed_print.c's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "embed/embed_print.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/phases.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"

struct job {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_embedder about;
    struct embed_inputs in;
    carat_embed_input *input; /* [n_input] those that have ids */
    int *text, n_input;       /* which texts they are */
    float *vector;            /* [in.n][dim] */
    int dim;
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
        return fail(USAGE, "embed: --dim is %d, expected 1 to %d, the values of a vector of this model", dim,
                    width);
    for (int i = 0; i < a->n_cut; i++) {
        known |= dim == a->cut[i];
        snprintf(cuts + strlen(cuts), sizeof cuts - strlen(cuts), "%s%d", i + 1 == a->n_cut ? " and " : ", ",
                 a->cut[i]);
    }
    if (!known)
        note("the model was trained for vectors of %d%s values, not of %d", width, cuts, dim);
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
    const size_t n = (size_t)j->in.n, values = n * (size_t)j->dim;

    j->input = calloc(n + 1, sizeof *j->input);
    j->text = calloc(n + 1, sizeof *j->text);
    j->vector = malloc((values + 1) * sizeof *j->vector);
    if (!j->input || !j->text || !j->vector)
        return fail_memory();
    for (size_t i = 0; i < values; i++)
        j->vector[i] = NAN;
    for (int i = 0; i < j->in.n; i++) {
        const struct embed_text *t = &j->in.text[i];
        if (t->n == 0)
            continue;
        j->text[j->n_input] = i;
        j->input[j->n_input++] = (carat_embed_input){
            .tokens = j->in.ids.ids + t->at, .n = t->n, .vector = j->vector + (size_t)i * (size_t)j->dim};
    }
    return DONE;
}

/* What became of each text; the message of the first that failed is err's. */
static void name_failures(struct job *j, const carat_error *err)
{
    bool first = true;

    for (int i = 0; i < j->n_input; i++) {
        const carat_embed_input *in = &j->input[i];
        if (in->status == CARAT_OK)
            continue;
        const struct embed_text *t = &j->in.text[j->text[i]];
        for (int k = 0; k < j->dim; k++)
            in->vector[k] = NAN;
        j->in.failed++;
        if (t->line)
            fail_as(BAD_MODEL, in->status, "line %ld: %s", t->line,
                    first ? err->message : "its vector is not finite either");
        else
            fail_as(BAD_MODEL, in->status, "%s", first ? err->message : "a vector is not finite either");
        first = false;
    }
}

/* Makes the vectors, once or for the clock more often. An exit code. */
static int embed_rounds(struct job *j, double *fastest)
{
    carat_embed_options options;
    carat_error err;
    carat_status status = CARAT_OK;

    carat_embed_options_default(&options);
    options.dim = j->dim;
    options.raw = j->o->embed->no_dense;
    options.watch = progress_update;
    options.user = &j->bar;
    *fastest = INFINITY;
    progress_begin(&j->bar, "embedding", "tok");
    for (int i = 0; i < j->o->embed->rounds && status == CARAT_OK && j->n_input; i++) {
        const double start = seconds();
        status = carat_embed(j->engine, j->input, sizeof *j->input, j->n_input, &options, &err);
        *fastest = fmin(*fastest, seconds() - start);
    }
    progress_end(&j->bar);
    if (status == CARAT_E_NUMERIC)
        name_failures(j, &err);
    else if (status != CARAT_OK)
        return fail_status(&err);
    return status == CARAT_E_NUMERIC && j->in.n == 1 ? BAD_MODEL : DONE;
}

static int embed_texts(struct job *j)
{
    struct embed_result r = {.o = j->o, .in = &j->in};
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
    TRY(embed_rounds(j, &r.seconds));
    r.vector = j->vector;
    r.dim = j->dim;
    for (int i = 0; i < j->n_input; i++)
        r.tokens += (size_t)j->input[i].n;
    TRY(embed_print(&r));
    return j->in.failed ? FAILED : DONE;
}

int verb_embed(const struct options *o)
{
    struct job j = {.o = o, .about.size = sizeof j.about};

    TRY(embed_inputs_check(o));
    if (o->embed->out && strcmp(o->embed->out, "-") == 0 && (o->json || o->embed->similarity))
        return fail(USAGE, "embed: --out - and %s cannot both go to standard output",
                    o->json ? "--json" : "--similarity");
    interrupt_install();
    const int code = embed_texts(&j);
    free(j.input);
    free(j.text);
    free(j.vector);
    embed_inputs_free(&j.in);
    carat_engine_close(j.engine);
    carat_model_close(j.model);
    return code;
}
