/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.c: --bisect: where two models begin to differ, as JSON and for a terminal. What is compared and
 * flagged is carat_bisect's; the heat map is the report's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/input.h"
#include "quality/compare/compare_options.h"
#include "quality/compare/dataset.h"
#include "term/columns.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"

/* ---- as JSON ---- */

struct listing {
    struct compare *compare;
    json_t *table;
};

static json_t *operation_json(const carat_operation_error *e)
{
    return json_pack("{s:i, s:s, s:s, s:o, s:o, s:i, s:i, s:o, s:b, s:s}", "layer", e->layer, "operation",
                     e->operation, "tensor", e->tensor, "own", json_number(e->own), "carried",
                     json_number(e->carried), "channel", e->channel, "channels", e->width, "channel_error",
                     json_number(e->channel_error), "flagged", e->flagged, "reason", e->reason);
}

static int list_operation(void *user, const carat_operation_error *e)
{
    struct listing *l = user;

    return json_array_append_new(l->table, operation_json(e)) != 0;
}

static int bisect_progress(void *user, size_t done, size_t total)
{
    struct listing *l = user;

    return progress_update(&l->compare->bar, done, total);
}

static int bisect_watch(void *user, size_t done, size_t total)
{
    (void)user;
    return stop_when_interrupted(NULL, done, total);
}

static json_t *rows_json(const struct compare *c, int n)
{
    int32_t row[CARAT_MOST_BISECT_ROWS];
    json_t *rows = json_array();
    const int n_rows =
        carat_bisect_rows(c->side[REF].engine, c->side[TEST].engine, n, c->o->compare->bisect_rows, row);

    for (int i = 0; i < n_rows; i++)
        json_array_append_new(rows, json_integer(row[i]));
    return rows;
}

static int stop_at_once(void *user, size_t done, size_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return 1;
}

/* A call that is stopped at once has only seen whether the engines can be held against each other. */
int bisect_check(const struct compare *c)
{
    static const int32_t ids[2];
    carat_operation_error first = {.size = sizeof first};
    carat_bisect_options o;
    carat_error err;

    carat_bisect_options_default(&o);
    o.watch = stop_at_once;
    const carat_status status =
        carat_bisect(c->side[REF].engine, c->side[TEST].engine, ids, 2, &o, &first, &err);
    return status == CARAT_E_UNSUPPORTED ? fail_status(&err) : DONE;
}

int bisect_run(struct compare *c, const int32_t *ids, int n, json_t **bisect)
{
    struct listing l = {.compare = c, .table = json_array()};
    carat_operation_error first = {.size = sizeof first};
    carat_bisect_options o;
    carat_error err;

    carat_bisect_options_default(&o);
    o.rows = c->o->compare->bisect_rows;
    o.on_operation = list_operation;
    o.progress = bisect_progress;
    o.watch = bisect_watch;
    o.user = &l;
    progress_begin(&c->bar, "bisecting", "tok");
    const carat_status status =
        carat_bisect(c->side[REF].engine, c->side[TEST].engine, ids, n, &o, &first, &err);
    progress_end(&c->bar);
    /* a NaN is an answer, too: the comparison goes on, and its verdict knows of it */
    if (status != CARAT_OK && (status != CARAT_E_NUMERIC || interrupted())) {
        json_decref(l.table);
        return interrupted() ? INTERRUPTED : fail_status(&err);
    }
    *bisect = json_pack("{s:i, s:o, s:o, s:o}", "tokens", n, "rows", rows_json(c, n), "flagged",
                        first.operation ? operation_json(&first) : json_null(), "table", l.table);
    if (*bisect && status != CARAT_OK)
        json_object_set_new(*bisect, "failed", json_text(err.message, strlen(err.message)));
    return *bisect ? DONE : fail_memory();
}

/* At most as many as both contexts have room for. */
static int cut_to_contexts(const struct compare *c, int n)
{
    for (int i = 0; i < SIDES; i++) {
        const int room = carat_engine_context(c->side[i].engine);
        n = n < room ? n : room;
    }
    return n;
}

int bisect_compared(struct compare *c, const struct compared *p, json_t *summary)
{
    json_t *bisect = NULL;
    carat_tokens ids = {0};
    bool fits = true;

    for (size_t i = 0; i < (size_t)p->prompt.n && fits; i++)
        fits = push_id(&ids, p->prompt.ids[i]);
    for (size_t i = 0; i + 1 < p->n && fits; i++)
        fits = push_id(&ids, p->position[i].next);
    int code = fits ? bisect_run(c, ids.ids, cut_to_contexts(c, ids.n), &bisect) : fail_memory();
    carat_tokens_free(&ids);
    if (code == DONE)
        json_object_set_new(summary, "bisect", bisect);
    return code;
}

/* The longest prompt of the data, with what follows it: it has rows that look through a window, if one
 * has. */
static int find_longest(struct dataset *d, struct dataset_prompt *p)
{
    int code = dataset_skip(d, 0);

    while (code == DONE && (code = dataset_next(d, p)) == DONE && p->c.id) {
        if (p->c.prompt.n + p->c.answer.n == d->longest)
            break;
        dataset_prompt_free(p);
    }
    return code;
}

int bisect_dataset(struct compare *c, struct dataset *d, int context, json_t *summary)
{
    struct dataset_prompt p = {0};
    json_t *bisect = NULL;
    int code = find_longest(d, &p);

    for (int i = 0; i < p.c.answer.n && code == DONE; i++)
        code = push_id(&p.c.prompt, p.c.answer.ids[i]) ? DONE : fail_memory();
    if (code == DONE && !c->side[TEST].engine)
        code = sides_start(c, 1, context);
    if (code == DONE)
        code = bisect_run(c, p.c.prompt.ids, cut_to_contexts(c, p.c.prompt.n), &bisect);
    dataset_prompt_free(&p);
    if (code == DONE)
        json_object_set_new(summary, "bisect", bisect);
    return code;
}

/* ---- for a terminal ---- */

static double number_in(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *word_in(const json_t *object, const char *member)
{
    const char *word = json_string_value(json_object_get(object, member));

    return word ? word : "";
}

/* What stands in one line: an operation over all its layers. */
struct row {
    const char *operation;
    double own, channel; /* the largest of each */
    int own_layer, channel_layer, place;
    double *all; /* [n] own errors, ascending at last */
    int n, flagged;
};

static int error_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void gather_row(struct row *r, const json_t *table)
{
    const json_t *e;
    size_t i;

    json_array_foreach(table, i, e)
    {
        if (strcmp(word_in(e, "operation"), r->operation) != 0)
            continue;
        const double own = number_in(e, "own"), channel = number_in(e, "channel_error");
        const int layer = (int)json_integer_value(json_object_get(e, "layer"));
        if (r->n == 0 || own > r->own) {
            r->own = own;
            r->own_layer = layer;
        }
        if (r->n == 0 || channel > r->channel) {
            r->channel = channel;
            r->channel_layer = layer;
            r->place = (int)json_integer_value(json_object_get(e, "channel"));
        }
        r->flagged += json_is_true(json_object_get(e, "flagged"));
        r->all[r->n++] = own;
    }
    qsort(r->all, (size_t)r->n, sizeof *r->all, error_order);
}

/* "at 3/17": a layer and a channel, or either. */
static const char *place_text(char out[32], int layer, int channel)
{
    if (layer >= 0 && channel >= 0)
        snprintf(out, 32, "at %d/%d", layer, channel);
    else if (layer >= 0 || channel >= 0)
        snprintf(out, 32, "at %d", layer >= 0 ? layer : channel);
    else
        out[0] = 0;
    return out;
}

static void print_row(const struct row *r, int columns)
{
    char own[32], channel[32];

    out_print("%c %-15s%9.2g%9.2g", r->flagged ? '!' : ' ', r->operation, r->all[(r->n - 1) / 2], r->own);
    if (columns >= 60)
        out_print(" %-7s", place_text(own, r->own_layer, -1));
    out_print("%9.2g", r->channel);
    if (columns >= 60)
        out_print(" %s", place_text(channel, r->channel_layer, r->place));
    out_print("\n");
}

static int print_rows(const json_t *table, int columns)
{
    double *all = malloc((json_array_size(table) + 1) * sizeof *all);
    const json_t *e;
    size_t i;

    if (!all)
        return fail_memory();
    out_print("  %-15s%9s%9s", "own error", "median", "largest");
    out_print(columns >= 60 ? "%-8s%9s %s\n" : "%s%9s%s\n", columns >= 60 ? " layer" : "", "channel",
              columns >= 60 ? "layer/channel" : "");
    json_array_foreach(table, i, e)
    {
        struct row r = {.operation = word_in(e, "operation"), .all = all};
        size_t before = 0; /* the first of its name stands for all of them */
        while (before < i && strcmp(word_in(json_array_get(table, before), "operation"), r.operation) != 0)
            before++;
        if (before < i)
            continue;
        gather_row(&r, table);
        print_row(&r, columns);
    }
    free(all);
    return DONE;
}

int bisect_print(const json_t *bisect)
{
    const json_t *flagged = json_object_get(bisect, "flagged");
    const int wide = columns_of(STDOUT_FILENO, USUAL_COLUMNS), layer = (int)number_in(flagged, "layer");
    const char *tensor = word_in(flagged, "tensor");

    if (!json_is_object(bisect))
        return DONE;
    out_print("\n");
    out_fold(7);
    if (*word_in(bisect, "failed")) {
        out_print("begins ");
        out_name(word_in(bisect, "failed"), 1024);
        out_print("\n");
        out_fold(0);
        return DONE;
    }
    if (json_is_object(flagged)) {
        out_print("begins ");
        if (layer >= 0)
            out_print("layer %d, ", layer);
        out_print("%s, channel %lld", word_in(flagged, "operation"),
                  (long long)json_integer_value(json_object_get(flagged, "channel")));
        if (*tensor) {
            out_print(", ");
            out_name(tensor, 200);
        }
        out_print(": %s; the operation's own error is %.3g, this channel's %.3g, carried %.3g\n",
                  word_in(flagged, "reason"), number_in(flagged, "own"), number_in(flagged, "channel_error"),
                  number_in(flagged, "carried"));
    } else {
        out_print("begins nowhere: no operation stands out\n");
    }
    out_fold(0);
    return print_rows(json_object_get(bisect, "table"), wide);
}
