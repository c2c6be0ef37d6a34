/* SPDX-License-Identifier: Apache-2.0 */
/* logits.c: `carat logits`: next-token logits of given ids, for oracles and tests. --naive computes every row
 * from nothing in one pass wide enough for the whole prompt, so that neither the cache nor the chunks take
 * part. */
#include <stdlib.h>
#include <string.h>

#include "carat.h"
#include "carat_tools.h"
#include "io/npy.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/phases.h"
#include "prompt/prompt.h"
#include "steps/steps_options.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/progress.h"

/* ---- taps ---- */

/* `carat logits --tap`: other values of a pass than logits: the values that an operation of the
 * pass gives for each id, as logits.c writes logits. */

enum { NAME = 32 }; /* bytes of a name of carat_tap_name */

struct tap {
    const char *name;
    struct save *npy;
    int width, code;
};

static void hear(void *user, const carat_tap *tap)
{
    struct tap *t = user;

    if (strcmp(tap->name, t->name) != 0)
        return;
    for (int row = 0; row < tap->rows && t->code == DONE; row++)
        t->code = npy_row(t->npy, tap->values + (size_t)row * (size_t)tap->width, (size_t)tap->width);
}

/* The logits are not asked for, but without them the last layer leaves rows out. */
static int drop_logits(void *tap, int token, const float *logits)
{
    (void)token;
    (void)logits;
    return ((struct tap *)tap)->code != DONE;
}

struct names {
    int n;
    char (*name)[NAME]; /* [n] */
};

static const char *next_name(void *user, int i)
{
    const struct names *names = user;

    return i < names->n ? names->name[i] : NULL;
}

static int refuse_tap(const char *name, const carat_engine *engine, int n)
{
    struct names names = {n, calloc((size_t)n, NAME)};

    if (!names.name)
        return fail_memory();
    for (int i = 0; i < n; i++)
        carat_tap_name(engine, i, names.name[i]);
    const char *meant = term_nearest(name, next_name, &names);
    int code =
        term_fail(USAGE,
                  "--tap %s: there is no such value; %s%s%sthere are embed, final_norm, and layer.N, "
                  "layer.N.attn, layer.N.q, .k and .v of the layers 0 to %d",
                  name, meant ? "did you mean " : "", meant ? meant : "", meant ? "? " : "", (n - 2) / 5 - 1);
    free(names.name);
    return code;
}

static int find_tap(struct tap *t, const carat_engine *engine)
{
    char name[NAME];
    int i = 0;

    while ((t->width = carat_tap_name(engine, i, name)) > 0 && strcmp(name, t->name) != 0)
        i++;
    return t->width ? DONE : refuse_tap(t->name, engine, i);
}

/* Evaluates ids in a session that holds nothing, and writes the values of that name to path, a row for each
 * id. Exit codes. */
static int write_tap(const char *name, const char *path, carat_engine *engine, carat_session *session,
                     const carat_tokens *ids, struct save *npy)
{
    struct tap t = {.name = name, .npy = npy};
    carat_row row = {.session = session,
                     .tokens = ids->ids,
                     .n = ids->n,
                     .wants = CARAT_WANTS_ALL,
                     .deliver = drop_logits,
                     .user = &t};
    carat_error err;
    int code = DONE;

    TRY(find_tap(&t, engine));
    TRY(npy_create(npy, path, (size_t)ids->n, (size_t)t.width));
    if (carat_tap_begin(engine, hear, &t, &err) != CARAT_OK ||
        carat_step(engine, &row, sizeof row, 1, &err) != CARAT_OK)
        code = t.code != DONE ? t.code : fail_status(&err);
    carat_tap_end(engine);
    return code == DONE ? t.code : code;
}

/* ---- logits ---- */

enum { DEFAULT_TOP = 10, SLICE = 32 /* rows of logits that are computed together */ };

struct job {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
    carat_model_info info;
    struct conversation talk;
    carat_tokens ids;
    struct progress bar;
    struct save npy;
    int code;     /* of a row that was written */
    int top;      /* how many to print per row, 0: none */
    int *best;    /* [top] */
    json_t *rows; /* with --json */
};

/* The `top` highest of the row into best, ties by id; returns how many there are. */
static int select_top(const float *row, int n, int top, int *best)
{
    int held = 0;

    for (int id = 0; id < n; id++) {
        if (held == top && !(row[id] > row[best[held - 1]]))
            continue;
        int at = held < top ? held++ : top - 1;
        for (; at > 0 && row[id] > row[best[at - 1]]; at--)
            best[at] = best[at - 1];
        best[at] = id;
    }
    return held;
}

static int print_top(struct job *j, int position, const float *row)
{
    int n = select_top(row, j->info.n_vocab, j->top, j->best);
    json_t *list = j->rows ? json_array() : NULL;
    carat_error err;

    for (int i = 0; i < n; i++) {
        int32_t id = j->best[i];
        char *text = NULL;
        size_t n_text = 0;
        /* Rows of the embedding beyond the tokenizer's pieces have no text. */
        if (j->info.has_tokenizer &&
            carat_detokenize(j->model, &id, 1, CARAT_SPECIAL, &text, &n_text, &err) != CARAT_OK)
            text = NULL;
        json_t *quoted = json_text(text ? text : "", text ? n_text : 0);
        carat_free(text);
        if (!quoted)
            return fail_memory();
        if (j->rows) {
            json_array_append_new(
                list, json_pack("{s:i, s:o, s:o}", "id", id, "logit", json_number(row[id]), "text", quoted));
            continue;
        }
        char *line = json_dumps(quoted, JSON_ENCODE_ANY);
        json_decref(quoted);
        if (!line)
            return fail_memory();
        if (j->o->steps->all)
            out_print("%d\t", position);
        out_print("%d\t%.9g\t%s\n", (int)id, (double)row[id], line);
        free(line);
    }
    if (j->rows)
        json_array_append_new(j->rows, json_pack("{s:i, s:o}", "position", position, "top", list));
    return DONE;
}

static int emit(struct job *j, int position, const float *row)
{
    int code = j->o->steps->out ? npy_row(&j->npy, row, (size_t)j->info.n_vocab) : DONE;

    return code == DONE && j->top ? print_top(j, position, row) : code;
}

static int new_session(struct job *j, carat_progress watch)
{
    carat_session_close(j->session);
    j->session = NULL;
    return create_session(&j->session, j->engine, watch, &j->bar);
}

/* The logits after the first n ids, evaluated by a session that holds nothing. */
static int from_nothing(struct job *j, int n, carat_progress watch)
{
    carat_error err;
    int code = new_session(j, watch);

    if (code == DONE && carat_sync(j->session, j->ids.ids, n, NULL, &err) != CARAT_OK)
        code = fail_status(&err);
    return code == DONE ? emit(j, n - 1, carat_logits(j->session)) : code;
}

static int every_row_from_nothing(struct job *j)
{
    int code = DONE;

    for (int n = 1; n <= j->ids.n && code == DONE; n++) {
        code = from_nothing(j, n, stop_when_interrupted);
        if (progress_update(&j->bar, (size_t)n, (size_t)j->ids.n))
            return INTERRUPTED;
    }
    return code;
}

static int emit_row(void *job, int token, const float *logits)
{
    struct job *j = job;

    j->code = emit(j, token, logits);
    return j->code != DONE;
}

/* Row after row, as slices of them are computed: the whole of [n][vocab] may be larger than memory. */
static int every_row(struct job *j)
{
    carat_row row = {
        .tokens = j->ids.ids, .n = j->ids.n, .wants = CARAT_WANTS_ALL, .deliver = emit_row, .user = j};
    carat_error err;
    int code = new_session(j, progress_update);

    row.session = j->session;
    if (code == DONE && carat_step(j->engine, &row, sizeof row, 1, &err) != CARAT_OK)
        code = j->code != DONE ? j->code : fail_status(&err);
    return code == DONE ? j->code : code;
}

static int evaluate(struct job *j)
{
    carat_engine_options options;
    struct phases phases;

    TRY(phases_engine(&phases, &options, j->o));
    options.context = j->ids.n;
    if (j->o->engine->naive)
        options.chunk = j->ids.n;
    if (j->o->steps->tap || (j->o->steps->all && !j->o->engine->naive))
        options.logits_rows = SLICE;
    TRY(fit_engine(&options, j->model, j->o));
    TRY(create_engine(&j->engine, j->model, &options));
    progress_begin(&j->bar, "evaluating", "tok");
    if (j->o->steps->tap) {
        TRY(new_session(j, progress_update));
        return write_tap(j->o->steps->tap, j->o->steps->out, j->engine, j->session, &j->ids, &j->npy);
    }
    if (!j->o->steps->all)
        return from_nothing(j, j->ids.n, progress_update);
    return j->o->engine->naive ? every_row_from_nothing(j) : every_row(j);
}

static int prepare(struct job *j)
{
    const struct options *o = j->o;
    carat_error err;

    TRY(read_prompt_files(&j->talk, o, &j->ids));
    TRY(open_packed(&j->model, o));
    if (carat_model_get_info(j->model, &j->info, &err) != CARAT_OK)
        return fail_status(&err);
    TRY(make_prompt(j->model, &j->info, &j->talk, &j->ids));
    TRY(check_prompt_ids(&j->ids, &j->info));
    j->top = o->steps->top ? o->steps->top : o->steps->out && !o->json ? 0 : DEFAULT_TOP;
    j->best = calloc((size_t)j->top + 1, sizeof *j->best);
    j->rows = o->json ? json_array() : NULL;
    if (!j->best || (o->json && !j->rows))
        return fail_memory();
    return o->steps->out && !o->steps->tap
               ? npy_create(&j->npy, o->steps->out, o->steps->all ? (size_t)j->ids.n : 0,
                            (size_t)j->info.n_vocab)
               : DONE;
}

int verb_logits(const struct options *o)
{
    struct job j = {.o = o, .info.size = sizeof j.info};
    int code;

    if (o->engine->naive && o->engine->chunk)
        return term_fail(USAGE, "logits: --naive evaluates in one pass, so it takes no --chunk");
    if (o->steps->tap && (!o->steps->out || o->engine->naive || o->json || o->steps->top))
        return term_fail(USAGE,
                         "logits: --tap writes values to --out FILE, and takes no --naive, --json and --top");
    if (o->steps->out && strcmp(o->steps->out, "-") == 0 && (o->json || o->steps->top))
        return term_fail(USAGE, "logits: --out - and --json or --top cannot both go to standard output");
    interrupt_install();
    code = prepare(&j);
    if (code == DONE) {
        code = evaluate(&j);
        progress_end(&j.bar);
    }
    if (code == DONE && o->steps->out)
        code = save_close(&j.npy);
    if (code == DONE && o->json) {
        code =
            out_json(json_pack("{s:i, s:i, s:O}", "n", j.ids.n, "n_vocab", j.info.n_vocab, "rows", j.rows));
    }
    save_abandon(&j.npy);
    json_decref(j.rows);
    free(j.best);
    conversation_free(&j.talk);
    carat_tokens_free(&j.ids);
    carat_session_close(j.session);
    carat_engine_close(j.engine);
    carat_model_close(j.model);
    return code;
}
