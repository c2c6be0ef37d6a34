/* SPDX-License-Identifier: Apache-2.0 */
/* head_tell.c: what bench_head.c measured: a table of speeds, row by row as they come, one of what each
 * costs and gives, and what others published for an accelerator; or fields for programs. */
#include <math.h>
#include <string.h>

#include "bench/bench_options.h"
#include "bench/fields.h"
#include "bench/heads.h"
#include "model/head.h"
#include "model/model.h"
#include "term/out_json.h"
#include "term/output.h"

static const struct head_row *dense_of(const struct heads *h)
{
    return &h->row[0];
}

static double share_of(double part, uint64_t whole)
{
    return whole ? part / (double)whole : NAN;
}

static double head_ms(const struct head_row *row)
{
    return 1e3 * share_of(row->head.seconds, row->head.tokens);
}

static double head_bytes(const struct head_row *row)
{
    return share_of((double)row->head.bytes, row->head.tokens);
}

/* Rows that were finished for each token for which a sketch was asked; NAN: none. */
static double rows_finished(const struct head_row *row)
{
    const carat_head_stats *s = &row->head;

    return s->rows_finished ? share_of((double)s->rows_finished, s->tokens - s->fallbacks) : NAN;
}

/* By the medians of steps. */
static double times_dense(const struct head_row *row)
{
    return row->k ? row->dense_ms.median / row->ms.median : NAN;
}

/* Tokens after which a longer set-up has paid; NAN: never, or at once. */
static double break_even(const struct heads *h, const struct head_row *row, bool cached)
{
    const struct head_row *dense = dense_of(h);
    double longer = cached ? row->cached_s - dense->cached_s : row->cold_s - dense->cold_s;
    double gained = (row->dense_ms.median - row->ms.median) * 1e-3;

    return row != dense && row->k && gained > 0 && longer > 0 ? ceil(longer / gained) : NAN;
}

/* ---- for people ---- */

static const char *const speed_titles[] = {
    "head", "ms/token:", "± %:", "tok/s:", "x dense:", "head ms:", "MB/token:", "of dense:", "tiles:", NULL};

static void speed_cells(struct table *t, const struct heads *h, const struct head_row *row)
{
    const carat_head_stats *s = &row->head;

    table_cell(t, "%s", row->name);
    if (*row->refused) {
        while (t->cells % t->columns)
            table_cell(t, "%s", "-");
        return;
    }
    table_cell(t, "%.3f", row->k ? row->ms.median : row->ms.median / h->n_ids);
    table_number(t, "%.1f", 100 * row->ms.noise);
    table_cell(t, "%.2f", row->ts.median);
    table_number(t, "%.3f", times_dense(row));
    table_number(t, "%.3f", row->k ? head_ms(row) : NAN);
    table_number(t, "%.2f", row->k ? head_bytes(row) / 1e6 : NAN);
    table_number(t, "%.3f", row->k ? share_of((double)s->bytes, s->dense_bytes) : NAN);
    table_number(t, "%.1f", row->k ? share_of((double)s->evaluated, s->tokens) : NAN);
}

/* As wide as what will stand there. */
void heads_tell_begin(struct heads *h)
{
    struct table *t = &h->table;

    if (strcmp(h->format, "md") != 0)
        return;
    out_print("%s%s%s: %d steps behind %d ids, %d runs; a head of %d ids",
              h->o->bench->spectrum ? h->o->bench->spectrum : "",
              h->o->bench->spectrum ? ", a random model like " : "", model_name(h->o->model), h->n_steps,
              h->n_ids, h->runs, h->info.n_vocab);
    out_print("\n%s, %s, %d threads, %s cache, carat %s\n\n", h->host.cpu, h->plan.isa, h->plan.threads,
              h->plan.kv, carat_version());
    table_begin(t, speed_titles);
    for (int i = 0; i < h->n; i++) {
        table_cell(t, "%s", h->row[i].name);
        for (int c = 1; c < t->columns; c++)
            table_cell(t, "%s", "1000.000");
    }
    table_measure(t);
    table_head(t);
    out_flush();
}

static void print_gains(struct heads *h)
{
    static const char *const titles[] = {
        "head",      "cold ms:", "cached ms:",  "memory MB:", "KL:",           "top-1 %:",
        "recall %:", "rows:",    "pays after:", "cached:",    "against older", NULL};
    struct table *t = &h->table;

    table_begin(t, titles);
    for (int i = 0; i < h->n; i++) {
        const struct head_row *row = &h->row[i];
        if (!row->k || *row->refused)
            continue;
        table_cell(t, "%s", row->name);
        table_number(t, "%.0f", row->cold_s * 1e3);
        table_number(t, "%.0f", row->cached_s * 1e3);
        table_number(t, "%.1f", row->rss / 1e6);
        table_cell(t, "%.2g", row->kl);
        table_cell(t, "%.2f", 100 * row->top1);
        table_cell(t, "%.2f", 100 * row->recall);
        table_number(t, "%.1f", rows_finished(row));
        table_number(t, "%.0f", break_even(h, row, false));
        table_number(t, "%.0f", break_even(h, row, true));
        table_cell(t, "%s", row->old.word ? row->old.word : "");
    }
    out_print("\nset-up, memory beside the command's own, what is drawn from the best %d beside dense, rows "
              "finished a "
              "token,\nand the tokens after which the set-up pays\n\n",
              h->k);
    table_print(t);
}

static const struct head_row *row_like(const struct heads *h, carat_head strategy, int capacity, int list)
{
    for (int i = 1; i < h->n; i++) {
        const carat_head_options *o = &h->row[i].options;
        if (h->row[i].k && !*h->row[i].refused && o->strategy == strategy && o->quant == CARAT_QUANT_NATIVE &&
            o->capacity == capacity && o->shortlist_tiles == list)
            return &h->row[i];
    }
    return NULL;
}

static const struct head_row *prompt_row(const struct heads *h, bool logits)
{
    for (int i = 1; i < h->n; i++)
        if (!h->row[i].k && h->row[i].prompt_logits == logits)
            return &h->row[i];
    return dense_of(h);
}

/* A published example with an accelerator that holds few tiles: a 270M of one layer, ms a token and ms of
 * set-up on its own board. Only ratios can be compared. */
static void print_published(struct heads *h)
{
    static const char *const titles[] = {
        "beside a published example", "x dense:", "here:", "set-up:", "here:", NULL};
    static const double dense_ms = 16670, dense_setup = 5953;
    const struct {
        const char *name;
        double ms, setup;
        const struct head_row *row;
    } rows[] = {
        {"preload", 642, 56737, row_like(h, CARAT_HEAD_PRELOAD, 0, 0)},
        {"lazy, 32 of 100 tiles", 51883, 4571, row_like(h, CARAT_HEAD_LAZY, 32, 0)},
        {"shortlist of 16", 7973, 4399, row_like(h, CARAT_HEAD_LAZY, 0, 16)},
    };
    struct table *t = &h->table;

    table_begin(t, titles);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct head_row *row = rows[i].row;
        table_cell(t, "%s", rows[i].name);
        table_cell(t, "%.2f", dense_ms / rows[i].ms);
        table_number(t, "%.2f", row ? times_dense(row) : NAN);
        table_cell(t, "%.2f", rows[i].setup / dense_setup);
        table_number(t, "%.2f", row ? row->cold_s / dense_of(h)->cold_s : NAN);
    }
    table_cell(t, "%s", "the prompt without its logits");
    table_cell(t, "%.0f", 103810 / 47.6);
    table_cell(t, "%.2f", prompt_row(h, true)->ms.median / prompt_row(h, false)->ms.median);
    table_cell(t, "%s", "");
    table_cell(t, "%s", "");
    out_print("\n");
    table_print(t);
}

static void print_reasons(const struct heads *h)
{
    for (int i = 0; i < h->n; i++) {
        const struct head_row *row = &h->row[i];
        if (*row->refused)
            out_print("\n%s is not to be had: %s\n", row->name, row->refused);
        else if (*row->head.reason)
            out_print("\n%s is %s: %s\n", row->name, carat_head_name(row->head.strategy), row->head.reason);
        else if (row->head.fallbacks)
            out_print("\n%s: %llu of %llu tokens were computed dense: %s\n", row->name,
                      (unsigned long long)row->head.fallbacks, (unsigned long long)row->head.tokens,
                      row->head.fallback);
    }
}

/* ---- for programs ---- */

static json_t *head_json(const struct heads *h, const struct head_row *row)
{
    json_t *samples = json_array();

    for (int r = 0; r < h->runs; r++)
        json_array_append_new(samples, json_real(row->speed[r]));
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:s, s:i, s:i, s:i, s:b, s:o}",
                     "model_filename", model_name(h->o->model), "version", carat_version(), "cpu_info",
                     h->host.cpu, "n_threads", h->plan.threads, "n_prompt", row->k ? 0 : h->n_ids, "n_gen",
                     row->k ? h->n_steps : 0, "n_depth", row->k ? h->n_ids - 1 : 0, "lm_head", row->name,
                     "lm_quant", quant_name(row->options.quant), "capacity", row->options.capacity,
                     "shortlist_tiles", row->options.shortlist_tiles, "k", row->k, "prompt_logits",
                     row->prompt_logits, "samples_ts", samples);
}

static json_t *figures_json(const struct head_row *row)
{
    const carat_head_stats *s = &row->head;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ms_median",
        json_number(row->ms.median), "ms_p90", json_number(row->ms.p90), "noise", json_number(row->ms.noise),
        "ts_median", json_number(row->ts.median), "of_dense_speed", json_number(times_dense(row)), "head_ms",
        json_number(head_ms(row)), "head_bytes", json_number(head_bytes(row)), "of_dense_bytes",
        json_number(share_of((double)s->bytes, s->dense_bytes)), "eval_tiles",
        json_number(share_of((double)s->evaluated, s->tokens)), "rows_finished",
        json_number(rows_finished(row)), "panels_finished",
        json_number(share_of((double)s->panels_finished, s->tokens)), "rss", json_number(row->rss));
}

static json_t *costs_json(const struct heads *h, const struct head_row *row)
{
    const carat_head_stats *s = &row->head;
    const bool compared = row->compared > 0;

    return json_pack(
        "{s:s, s:b, s:s, s:i, s:i, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "strategy",
        carat_head_name(s->strategy), "exact", s->exact, "reason", s->reason, "tiles", s->tiles, "tile",
        s->tile, "hits", (json_int_t)s->hits, "misses", (json_int_t)s->misses, "evictions",
        (json_int_t)s->evictions, "setup_ms_cold", json_number(row->cold_s * 1e3), "setup_ms_cached",
        json_number(row->cached_s * 1e3), "pays_after_cold", json_number(break_even(h, row, false)),
        "pays_after_cached", json_number(break_even(h, row, true)), "kl",
        compared ? json_number(row->kl) : json_null(), "top1",
        compared ? json_number(row->top1) : json_null(), "recall",
        compared ? json_number(row->recall) : json_null(), "fallbacks", (json_int_t)s->fallbacks);
}

static json_t *row_json(const struct heads *h, const struct head_row *row)
{
    json_t *all = head_json(h, row);

    json_object_set_new(all, "refused", *row->refused ? json_string(row->refused) : json_null());
    if (!*row->refused) {
        json_object_update_new(all, figures_json(row));
        json_object_update_new(all, costs_json(h, row));
    }
    json_object_set_new(all, "older_ts", row->old.element ? json_number(row->old.ts.median) : json_null());
    json_object_set_new(all, "verdict", row->old.word ? json_string(row->old.word) : json_null());
    return all;
}

/* ---- either ---- */

int heads_tell_row(struct heads *h, int i)
{
    struct table *t = &h->table;

    if (strcmp(h->format, "md") != 0)
        return h->older ? DONE : bench_fields_object(row_json(h, &h->row[i]), i, h->format);
    t->cells = 0;
    speed_cells(t, h, &h->row[i]);
    table_row(t, 0);
    return out_flush() ? DONE : FAILED;
}

int heads_tell_end(struct heads *h)
{
    int code = DONE;

    if (strcmp(h->format, "md") == 0) {
        print_gains(h);
        print_published(h);
        print_reasons(h);
        return DONE;
    }
    for (int i = 0; i < h->n && h->older && code == DONE; i++) /* with verdicts, which came last */
        code = bench_fields_object(row_json(h, &h->row[i]), i, h->format);
    return code == DONE ? bench_fields_end(h->format) : code;
}
