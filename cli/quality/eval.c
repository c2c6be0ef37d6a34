/* SPDX-License-Identifier: Apache-2.0 */
/* eval.c: `carat eval`: which of several choices a model finds likeliest, by their letters and by their
 * texts. The prompt of an item is evaluated once for all choices: each goes on from it in a session of its
 * own. */
#include "quality/eval.h"

#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/json_lines.h"
#include "io/members.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/phases.h"
#include "prompt/prompt.h"
#include "quality/score_options.h"
#include "term/clock.h"
#include "term/interrupt.h"

/* ---- reading ---- */

static int add_question(struct eval *e, struct json_lines *lines, json_t *value)
{
    struct question *larger = realloc(e->question, ((size_t)e->n + 1) * sizeof *larger);
    struct item_fault fault;

    if (!larger) {
        json_decref(value);
        return fail_memory();
    }
    e->question = larger;
    struct question *q = &e->question[e->n++];
    *q = (struct question){.value = value, .id = field_find(value, "id"), .line = lines->number};
    if (eval_item_read(&q->item, value, &fault))
        return DONE;
    return json_lines_fail(lines, json_lines_byte(lines, fault.member, fault.element), "%s", fault.text);
}

static int read_questions(struct eval *e)
{
    struct json_lines lines;
    int code = json_lines_open(&lines, e->path);

    while (code == DONE && json_lines_next(&lines)) {
        json_t *value = json_lines_value(&lines, &code);
        if (code == DONE)
            code = add_question(e, &lines, value);
    }
    json_lines_close(&lines);
    return code;
}

/* ---- scoring ---- */

/* The most ids that an item is, with one of its choices. */
static int measure_item(const struct eval *e, const struct eval_item *item, int *most)
{
    carat_tokens prompt = {0}, ids = {0};
    int code = DONE, from;

    *most = 0;
    for (int way = BY_LETTER; way <= BY_LIKELIHOOD && code == DONE; way++) {
        code = eval_prompt(e, item, (enum eval_way)way, &prompt);
        for (int i = 0; i < item->n && code == DONE; i++) {
            code = eval_continue(e, item, (enum eval_way)way, i, &prompt, &ids, &from);
            *most = ids.n > *most ? ids.n : *most;
        }
    }
    carat_tokens_free(&prompt);
    carat_tokens_free(&ids);
    return code;
}

static int watch_item(void *user, size_t done, size_t total)
{
    struct eval *e = user;

    (void)done;
    (void)total;
    return progress_update(&e->bar, (size_t)e->at, (size_t)e->n);
}

/* The session holds the prompt, and keeps it. */
static int score_choice(struct eval *e, const struct question *q, const carat_tokens *ids, int from, int held,
                        double *sum)
{
    carat_session *session = NULL;
    carat_error err;
    double *logprob = calloc((size_t)(ids->n - from), sizeof *logprob);
    carat_status status = CARAT_OK;

    if (!logprob)
        return fail_memory();
    if (from == held && ids->n - from == 1) { /* it evaluates nothing */
        status = carat_score(e->session, ids->ids + from, 1, logprob, &err);
    } else {
        status = carat_fork(e->session, held, &session, &err);
        if (status == CARAT_OK && from < held)
            status = carat_sync(session, ids->ids, from, NULL, &err);
        if (status == CARAT_OK)
            status = carat_score(session, ids->ids + from, ids->n - from, logprob, &err);
        carat_session_close(session);
    }
    *sum = 0;
    for (int i = 0; i < ids->n - from; i++)
        *sum += logprob[i];
    free(logprob);
    if (status == CARAT_E_NUMERIC)
        return fail_as(BAD_MODEL, status, "%s: line %ld: %s", e->name, q->line, err.message);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

static int score_way(struct eval *e, const struct question *q, enum eval_way way, double *logprob)
{
    carat_tokens prompt = {0}, ids = {0};
    carat_error err;
    int from, code = eval_prompt(e, &q->item, way, &prompt);

    if (code == DONE && carat_sync(e->session, prompt.ids, prompt.n, NULL, &err) != CARAT_OK)
        code = err.code == CARAT_E_NUMERIC
                   ? fail_as(BAD_MODEL, err.code, "%s: line %ld: %s", e->name, q->line, err.message)
                   : fail_status(&err);
    for (int i = 0; i < q->item.n && code == DONE; i++) {
        code = eval_continue(e, &q->item, way, i, &prompt, &ids, &from);
        if (code == DONE)
            code = score_choice(e, q, &ids, from, prompt.n, &logprob[i]);
    }
    carat_tokens_free(&prompt);
    carat_tokens_free(&ids);
    return code;
}

static int score_item(struct eval *e, const struct question *q)
{
    struct score s = {{{0}}, {0}};
    int most, code = measure_item(e, &q->item, &most);

    if (code == DONE && most > e->context) {
        e->too_long++;
        return eval_print_too_long(e, q, most);
    }
    if (code == DONE)
        code = score_way(e, q, BY_LETTER, s.logprob[BY_LETTER]);
    if (code == DONE)
        code = score_way(e, q, BY_LIKELIHOOD, s.logprob[BY_LIKELIHOOD]);
    return code == DONE ? eval_count(e, q, &s) : code;
}

/* ---- the verb ---- */

/* The longest item that the model can hold gets its positions. */
static int choose_context(struct eval *e)
{
    const int limit = e->o->engine->context ? e->o->engine->context : e->info.max_context;
    int most, code = DONE;

    for (int i = 0; i < e->n && code == DONE; i++) {
        code = measure_item(e, &e->question[i].item, &most);
        if (most > e->longest) {
            e->longest = most;
            e->longest_line = e->question[i].line;
        }
        if (code == DONE && term_interrupted())
            code = INTERRUPTED;
    }
    e->context = e->longest < limit ? e->longest : limit;
    return code;
}

static int begin_eval(struct eval *e)
{
    carat_engine_options options;
    struct phases phases;

    TRY(choose_context(e));
    TRY(phases_engine(&phases, &options, e->o));
    options.context = e->context;
    options.sessions = 2;
    TRY(fit_engine(&options, e->model, e->o));
    TRY(create_engine(&e->engine, e->model, &options));
    TRY(create_session(&e->session, e->engine, watch_item, e));
    e->subject = calloc((size_t)e->n, sizeof *e->subject);
    if (!e->subject)
        return fail_memory();
    progress_begin(&e->bar, "scoring", "items");
    return DONE;
}

static int check_arguments(struct eval *e)
{
    const struct options *o = e->o;

    if (!o->text)
        return term_fail(USAGE, "eval needs items: carat eval MODEL FILE.jsonl");
    if (o->json && o->lines)
        return term_fail(USAGE, "eval: --json and --jsonl contradict each other");
    if (o->prompt->chat_template && !o->score->in_chat)
        return term_fail(USAGE, "eval: --chat-template goes with --chat");
    e->path = o->text;
    e->name = input_name(e->path);
    if (strcmp(e->path, "-") == 0)
        return strcmp(o->model, "-") == 0
                   ? term_fail(USAGE, "eval: MODEL and FILE cannot both be standard input")
                   : DONE;
    return check_readable("eval", e->path, false);
}

int verb_eval(const struct options *o)
{
    struct eval e = {.o = o, .info.size = sizeof e.info};
    carat_error err;
    int code = check_arguments(&e);

    interrupt_install();
    if (code == DONE)
        code = read_questions(&e);
    if (code == DONE)
        code = open_packed(&e.model, o);
    if (code == DONE && carat_model_get_info(e.model, &e.info, &err) != CARAT_OK)
        code = fail_status(&err);
    if (code == DONE)
        code = begin_eval(&e);
    double start = term_seconds();
    for (e.at = 0; e.at < e.n && code == DONE; e.at++)
        code = score_item(&e, &e.question[e.at]);
    e.seconds = term_seconds() - start;
    progress_end(&e.bar);
    if (code == DONE)
        code = eval_print_result(&e);
    for (int i = 0; i < e.n; i++)
        json_decref(e.question[i].value);
    free(e.question);
    free(e.subject);
    carat_session_close(e.session);
    carat_engine_close(e.engine);
    carat_model_close(e.model);
    return code;
}
