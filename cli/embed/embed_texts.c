/* SPDX-License-Identifier: Apache-2.0 */
/* embed_texts.c: `carat embed`: vectors of texts. */
#include <stdlib.h>

#include "carat_embed.h"
#include "embed/embed_options.h"
#include "io/input.h"
#include "io/npy.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/phases.h"
#include "prompt/prompt.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

struct job {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_embedder about;
    carat_tokens ids;
    float *vector;
    int dim;
};

static int make_engine(struct job *j)
{
    carat_engine_options options;
    struct phases phases;

    TRY(phases_engine(&phases, &options, j->o));
    options.context = j->ids.n < j->about.max_tokens ? j->ids.n : j->about.max_tokens;
    options.chunk = j->ids.n;
    return create_engine(&j->engine, j->model, &options);
}

static int embed_ids(struct job *j)
{
    carat_embed_input input = {.tokens = j->ids.ids, .n = j->ids.n, .vector = j->vector};
    carat_embed_options options;
    carat_error err;

    carat_embed_options_default(&options);
    options.dim = j->dim;
    options.raw = j->o->embed->no_dense;
    return carat_embed(j->engine, &input, sizeof input, 1, &options, &err) == CARAT_OK ? DONE
                                                                                       : fail_status(&err);
}

static int print_vector(const struct job *j)
{
    for (int i = 0; i < j->dim; i++)
        out_print("%s%.9g", i ? " " : "", (double)j->vector[i]);
    out_print("\n");
    return DONE;
}

static int embed(struct job *j)
{
    carat_error err;

    TRY(read_ids(j->o->embed->ids, "--ids", &j->ids));
    TRY(open_packed(&j->model, j->o));
    if (carat_get_embedder(j->model, &j->about, &err) != CARAT_OK)
        return fail_status(&err);
    j->dim = j->o->embed->dim        ? j->o->embed->dim
             : j->o->embed->no_dense ? j->about.raw_width
                                     : j->about.width;
    j->vector = malloc((size_t)j->dim * sizeof *j->vector);
    if (!j->vector)
        return fail_memory();
    TRY(make_engine(j));
    TRY(embed_ids(j));
    return print_vector(j);
}

int verb_embed(const struct options *o)
{
    struct job j = {.o = o, .about.size = sizeof j.about};

    if (!o->embed->ids)
        return fail(USAGE, "embed: --ids is missing");
    interrupt_install();
    const int code = embed(&j);
    free(j.vector);
    carat_tokens_free(&j.ids);
    carat_engine_close(j.engine);
    carat_model_close(j.model);
    return code;
}
