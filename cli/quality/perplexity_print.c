/* SPDX-License-Identifier: Apache-2.0 */
/* perplexity_print.c: what `carat perplexity` says: a line for a window or conversation with --jsonl, and the
 * result. */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "prompt/prompt.h"
#include "quality/perplexity.h"
#include "quality/score_options.h"
#include "term/out_json.h"
#include "term/output.h"

/* Number of ids, their mean loss, and what follows from it. */
static json_t *losses_json(const struct losses *l)
{
    const double mean = losses_mean(l), error = losses_error(l);

    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "scored", (json_int_t)l->n, "loss", json_number(mean),
                     "loss_error", json_number(error), "perplexity", json_number(exp(mean)),
                     "perplexity_error", json_number(error * exp(mean)));
}

/* Puts the members of `more` behind those of `line`; both are consumed. */
static int print_line(json_t *line, json_t *more)
{
    if (line && more && json_object_update(line, more) != 0) {
        json_decref(line);
        line = NULL;
    }
    if (!more) {
        json_decref(line);
        line = NULL;
    }
    json_decref(more);
    int code = out_json(line);
    return code == DONE && !out_flush() ? FAILED : code;
}

int perplexity_print_window(const struct perplexity *p, int number, int first, const struct losses *l)
{
    if (!p->o->lines)
        return DONE;
    return print_line(json_pack("{s:i, s:i}", "window", number, "first", first), losses_json(l));
}

int perplexity_print_talk(const struct perplexity *p, long line, const json_t *id, int turns, int tokens,
                          const struct losses *l)
{
    if (!p->o->lines)
        return DONE;
    json_t *head = json_pack("{s:I, s:i, s:i, s:s}", "line", (json_int_t)line, "turns", turns, "tokens",
                             tokens, "status", l ? "ok" : "context");
    if (id)
        json_object_set(head, "id", (json_t *)id);
    return print_line(head, l ? losses_json(l) : json_object());
}

static json_t *result_json(const struct perplexity *p)
{
    const bool talks = p->o->prompt->messages;
    const double rate = p->seconds > 0 ? (double)p->before / p->seconds : NAN;
    json_t *result = losses_json(&p->all);

    json_object_update_new(result,
                           json_pack("{s:s, s:s, s:i, s:i, s:i}", "model", model_name(p->o->model), "file",
                                     p->name, talks ? "conversations" : "windows", p->windows, "context",
                                     p->context, talks ? "too_long" : "left_over", p->left));
    if (p->o->score->stride)
        json_object_set_new(result, "stride", json_integer(p->o->score->stride));
    json_object_set_new(
        result, "timings",
        json_pack("{s:o, s:o}", "seconds", json_number(p->seconds), "tokens_per_second", json_number(rate)));
    return result;
}

static void print_text(const struct perplexity *p)
{
    const double mean = losses_mean(&p->all), error = losses_error(&p->all);

    out_fold(12);
    out_print("perplexity  %.4f", exp(mean));
    if (!isnan(error))
        out_print(" +/- %.4f", error * exp(mean));
    out_print("\nloss        %.6f", mean);
    if (!isnan(error))
        out_print(" +/- %.6f", error);
    out_print(" nats an id\nscored      %lld ids in %d ", (long long)p->all.n, p->windows);
    if (p->o->prompt->messages)
        out_print("conversation%s\n", p->windows == 1 ? "" : "s");
    else
        out_print("window%s of %d\n", p->windows == 1 ? "" : "s", p->context);
    if (p->left && !p->o->prompt->messages)
        out_print("left over   %d ids\n", p->left);
}

int perplexity_print_result(const struct perplexity *p)
{
    int code = DONE;

    if (p->o->json)
        code = out_json(result_json(p));
    else if (p->o->lines)
        code = out_json(json_pack("{s:o}", "result", result_json(p)));
    else if (p->all.n)
        print_text(p);
    if (code == DONE && p->left && p->o->prompt->messages)
        code = fail_as(FAILED, CARAT_E_CONTEXT,
                       "%s: %d of %d conversations are longer than the context of %d; line %ld has %d tokens",
                       p->name, p->left, p->left + p->windows, p->context, p->long_line, p->long_ids);
    return code;
}
