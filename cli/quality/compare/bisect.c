/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.c: --bisect: where two models begin to differ, found and for a terminal. What is compared and
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
#include "term/output.h"

/* ---- what is found ---- */

/* The bisection that operations are put into, and the comparison whose bar tells how far it is. */
struct listing {
    struct compare *compare;
    struct bisection *b;
};

static int list_operation(void *user, const carat_operation_error *e)
{
    struct bisection *b = ((struct listing *)user)->b;

    if (b->n == b->capacity) {
        const int more = b->capacity ? 2 * b->capacity : 64;
        carat_operation_error *larger = realloc(b->table, (size_t)more * sizeof *larger);
        if (!larger)
            return 1;
        b->table = larger;
        b->capacity = more;
    }
    b->table[b->n++] = *e;
    return 0;
}

void bisect_free(struct bisection *b)
{
    free(b->table);
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

/* Bisects n ids. */
static int bisect_run(struct compare *c, const int32_t *ids, int n, struct bisection *b)
{
    struct listing l = {c, b};
    carat_bisect_options o;
    carat_error err;

    carat_bisect_options_default(&o);
    o.rows = c->o->compare->bisect_rows;
    o.on_operation = list_operation;
    o.progress = bisect_progress;
    o.watch = bisect_watch;
    o.user = &l;
    *b = (struct bisection){
        .tokens = n, .first.size = sizeof b->first, .table = calloc(1, sizeof *b->table), .capacity = 1};
    progress_begin(&c->bar, "bisecting", "tok");
    const carat_status status =
        carat_bisect(c->side[REF].engine, c->side[TEST].engine, ids, n, &o, &b->first, &err);
    progress_end(&c->bar);
    /* a NaN is an answer, too: the comparison goes on, and its verdict knows of it */
    if (status != CARAT_OK && (status != CARAT_E_NUMERIC || term_interrupted()))
        return term_interrupted() ? INTERRUPTED : fail_status(&err);
    if (status != CARAT_OK)
        snprintf(b->failed, sizeof b->failed, "%s", err.message);
    b->flagged = b->first.operation ? &b->first : NULL;
    b->n_rows = carat_bisect_rows(c->side[REF].engine, c->side[TEST].engine, n, o.rows, b->row);
    return b->table ? DONE : fail_memory();
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

int bisect_compared(struct compare *c, const struct compared *p, struct bisection *b)
{
    carat_tokens ids = {0};
    bool fits = true;

    for (size_t i = 0; i < (size_t)p->prompt.n && fits; i++)
        fits = push_id(&ids, p->prompt.ids[i]);
    for (size_t i = 0; i + 1 < p->n && fits; i++)
        fits = push_id(&ids, p->position[i].next);
    int code = fits ? bisect_run(c, ids.ids, cut_to_contexts(c, ids.n), b) : fail_memory();
    carat_tokens_free(&ids);
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

int bisect_dataset(struct compare *c, struct dataset *d, int context, struct bisection *b)
{
    struct dataset_prompt p = {0};
    int code = find_longest(d, &p);

    for (int i = 0; i < p.c.answer.n && code == DONE; i++)
        code = push_id(&p.c.prompt, p.c.answer.ids[i]) ? DONE : fail_memory();
    if (code == DONE && !c->side[TEST].engine)
        code = sides_start(c, 1, context);
    if (code == DONE)
        code = bisect_run(c, p.c.prompt.ids, cut_to_contexts(c, p.c.prompt.n), b);
    dataset_prompt_free(&p);
    return code;
}

/* ---- for a terminal ---- */

/* The error as a number; NAN for one that JSON writes as null. */
static double number_of(double error)
{
    return isfinite(error) ? error : NAN;
}

/* One line of the table: an operation over all its layers. */
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

static void gather_row(struct row *r, const struct bisection *b)
{
    for (const carat_operation_error *e = b->table; e < b->table + b->n; e++) {
        const double own = number_of(e->own), channel = number_of(e->channel_error);
        if (strcmp(e->operation, r->operation) != 0)
            continue;
        if (r->n == 0 || own > r->own) {
            r->own = own;
            r->own_layer = e->layer;
        }
        if (r->n == 0 || channel > r->channel) {
            r->channel = channel;
            r->channel_layer = e->layer;
            r->place = e->channel;
        }
        r->flagged += e->flagged;
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

static int print_rows(const struct bisection *b, int columns)
{
    double *all = malloc(((size_t)b->n + 1) * sizeof *all);

    if (!all)
        return fail_memory();
    out_print("  %-15s%9s%9s", "own error", "median", "largest");
    out_print(columns >= 60 ? "%-8s%9s %s\n" : "%s%9s%s\n", columns >= 60 ? " layer" : "", "channel",
              columns >= 60 ? "layer/channel" : "");
    for (int i = 0; i < b->n; i++) {
        struct row r = {.operation = b->table[i].operation, .all = all};
        int before = 0; /* the first of its name stands for all of them */
        while (before < i && strcmp(b->table[before].operation, r.operation) != 0)
            before++;
        if (before < i)
            continue;
        gather_row(&r, b);
        print_row(&r, columns);
    }
    free(all);
    return DONE;
}

int bisect_print(const struct bisection *b)
{
    const carat_operation_error *first = b->flagged;
    const int wide = columns_of(STDOUT_FILENO, USUAL_COLUMNS);

    out_print("\n");
    out_fold(7);
    if (*b->failed) {
        out_print("begins ");
        out_name(b->failed, 1024);
        out_print("\n");
        out_fold(0);
        return DONE;
    }
    if (first) {
        out_print("begins ");
        if (first->layer >= 0)
            out_print("layer %d, ", first->layer);
        out_print("%s, channel %d", first->operation, first->channel);
        if (*first->tensor) {
            out_print(", ");
            out_name(first->tensor, 200);
        }
        out_print(": %s; the operation's own error is %.3g, this channel's %.3g, carried %.3g\n",
                  first->reason, number_of(first->own), number_of(first->channel_error),
                  number_of(first->carried));
    } else {
        out_print("begins nowhere: no operation stands out\n");
    }
    out_fold(0);
    return print_rows(b, wide);
}
