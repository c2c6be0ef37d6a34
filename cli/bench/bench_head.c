/* SPDX-License-Identifier: Apache-2.0 */
/* bench_head.c: `carat bench lm-head`: every strategy of the head beside dense: speed, what is read, set-up,
 * memory, and how much of dense comes out. Here the matrix is planned; heads.h says who measures and who
 * tells it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone.h"
#include "bench/bench_options.h"
#include "bench/heads.h"
#include "io/input.h"
#include "model/pace.h"
#include "model/head.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "term/interrupt.h"
#include "term/size.h"

enum { DEFAULT_IDS = 32 };

/* ---- options ---- */

static int check_heads(const struct options *o)
{
    const struct bench_refusal own[] = {{"-p", options_given(o, &o->bench->n_prompt)},
                                        {"-n", options_given(o, &o->bench->n_gen)},
                                        {"-d", options_given(o, &o->bench->n_depth)},
                                        {"-npl", options_given(o, &o->bench->n_parallel)},
                                        {"--audit", o->head->audit > 0},
                                        {"--min-recall", options_given(o, &o->head->min_recall)},
                                        {"--draft-right", o->bench->draft_right >= 0},
                                        {NULL, false}};

    return bench_check_alone(o, own, "bench lm-head", "takes no", NULL);
}

static int read_heads_ids(struct heads *h)
{
    const int max = h->info.max_context;
    carat_tokens given = {0};
    int code = h->o->prompt->ids ? read_ids(h->o->prompt->ids, "--ids", &given) : DONE;

    h->n_ids = code == DONE && h->o->prompt->ids ? given.n : DEFAULT_IDS;
    if (code == DONE && h->n_ids + h->n_steps > max)
        code = fail_as(FAILED, CARAT_E_CONTEXT,
                       "bench lm-head: %d ids and %d steps are more than the %d positions of the model",
                       h->n_ids, h->n_steps, max);
    for (int i = 0; i < given.n && code == DONE; i++)
        if (given.ids[i] < 0 || given.ids[i] >= h->info.n_vocab)
            code = term_fail(USAGE, "--ids: %d is not an id of the model, expected 0 to %d",
                             (int)given.ids[i], h->info.n_vocab - 1);
    h->truth.ids = calloc((size_t)h->n_ids + (size_t)h->n_steps, sizeof *h->truth.ids);
    if (code == DONE && !h->truth.ids)
        code = fail_memory();
    if (code == DONE && h->o->prompt->ids)
        memcpy(h->truth.ids, given.ids, (size_t)given.n * sizeof *given.ids);
    else if (code == DONE)
        random_ids(h->truth.ids, h->n_ids, &h->info, 1);
    carat_tokens_free(&given);
    return code;
}

/* ---- the matrix ---- */

static const char *quant_text(carat_head_quant quant, char out[24])
{
    snprintf(out, 24, "%s%s", quant ? " int8/" : "", quant ? quant_name(quant) : "");
    return out;
}

static struct head_row *add_row(struct heads *h, carat_head strategy, int k, int group)
{
    struct head_row *row = &h->row[h->n];

    if (h->n == MOST_HEADS)
        return NULL;
    *row = (struct head_row){.k = k, .group = group, .cold_s = NAN, .cached_s = NAN, .rss = NAN};
    row->head = (carat_head_stats){.size = sizeof row->head, .reason = "", .fallback = ""};
    carat_head_options_default(&row->options);
    row->options.strategy = strategy;
    row->options.tile = h->o->head->lm_tile;
    snprintf(row->name, sizeof row->name, "%s", carat_head_name(strategy));
    h->n++;
    return row;
}

static bool is_asked_for(const struct heads *h, carat_head strategy)
{
    const char *const *asked = &h->o->head->lm_head;

    return !options_given(h->o, asked) || strcmp(*asked, carat_head_name(strategy)) == 0;
}

static void add_tiles_row(struct heads *h, carat_head strategy, carat_head_quant quant, int capacity,
                          int list)
{
    struct head_row *row = add_row(h, strategy, h->k, (int)strategy * 8 + (int)quant);
    const bool bytes = capacity && h->o->head->lm_capacity.bytes;
    char text[24], size[SIZE_TEXT], cap[48] = "", few[32] = "";

    if (!row)
        return;
    row->options.quant = quant;
    row->options.capacity = bytes ? 0 : capacity;
    row->options.capacity_bytes = bytes ? (size_t)h->o->head->lm_capacity.n : 0;
    row->options.shortlist_tiles = list;
    if (bytes)
        snprintf(cap, sizeof cap, " of %s", size_text(size, (double)h->o->head->lm_capacity.n));
    else if (capacity)
        snprintf(cap, sizeof cap, " of %d", capacity);
    if (list)
        snprintf(few, sizeof few, " list %d", list);
    snprintf(row->name, sizeof row->name, "%s%s%s%s", carat_head_name(strategy), quant_text(quant, text), cap,
             few);
}

/* The lists that a model has tiles enough for, and that are no longer than what is kept. */
static void add_lists(struct heads *h, carat_head strategy, carat_head_quant quant, int capacity, int tiles)
{
    static const int lists[] = {0, 8, 16, 24, 32};
    const int asked = h->o->head->lm_shortlist, most = capacity && capacity < tiles ? capacity : tiles - 1;

    if (options_given(h->o, &h->o->head->lm_shortlist)) {
        add_tiles_row(h, strategy, quant, capacity, asked);
        return;
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (lists[i] <= most)
            add_tiles_row(h, strategy, quant, capacity, lists[i]);
}

static void add_capacities(struct heads *h, carat_head_quant quant, int tiles)
{
    const int some[] = {0, tiles / 2, 32, 8};

    if (h->o->head->lm_capacity.n) {
        add_lists(h, CARAT_HEAD_LAZY, quant,
                  h->o->head->lm_capacity.bytes ? tiles : (int)h->o->head->lm_capacity.n, tiles);
        return;
    }
    for (int i = 0; i < 4; i++)
        if (i == 0 || (some[i] > 0 && some[i] < tiles && (i == 1 || some[i] < tiles / 2)))
            add_lists(h, CARAT_HEAD_LAZY, quant, some[i], tiles);
}

static void add_tiles(struct heads *h, int tiles)
{
    for (int quant = CARAT_QUANT_NATIVE; quant <= CARAT_QUANT_TENSOR; quant++) {
        if (options_given(h->o, &h->o->head->lm_quant) &&
            quant_of_name(h->o->head->lm_quant) != (carat_head_quant)quant)
            continue;
        if (is_asked_for(h, CARAT_HEAD_PRELOAD))
            add_lists(h, CARAT_HEAD_PRELOAD, (carat_head_quant)quant, 0, tiles);
        if (is_asked_for(h, CARAT_HEAD_LAZY))
            add_capacities(h, (carat_head_quant)quant, tiles);
    }
}

static void add_prompt(struct heads *h, bool logits)
{
    struct head_row *row = add_row(h, CARAT_HEAD_DENSE, 0, 0);

    if (!row)
        return;
    row->prompt_logits = logits;
    snprintf(row->name, sizeof row->name, "prompt logits %s", logits ? "on" : "off");
}

/* A shortlist alone is lazy with a list of 16, which has its row. */
static void plan_heads(struct heads *h)
{
    static const int bests[] = {1, 16, HEAD_K};
    const int tile = h->o->head->lm_tile      ? h->o->head->lm_tile
                     : h->info.n_vocab < 2624 ? h->info.n_vocab
                                              : 2624;
    struct head_row *row = add_row(h, CARAT_HEAD_DENSE, h->k, 0);

    add_prompt(h, false);
    add_prompt(h, true);
    for (int i = 0; i < 3 && is_asked_for(h, CARAT_HEAD_EXACT_PRUNED); i++)
        if (bests[i] <= h->k && (row = add_row(h, CARAT_HEAD_EXACT_PRUNED, bests[i], 1)))
            snprintf(row->name, sizeof row->name, "exact-pruned best %d", bests[i]);
    if (is_asked_for(h, CARAT_HEAD_AUTO))
        add_row(h, CARAT_HEAD_AUTO, h->k, 2);
    add_tiles(h, (h->info.n_vocab + tile - 1) / tile);
    if (is_asked_for(h, CARAT_HEAD_SHORTLIST) && options_given(h->o, &h->o->head->lm_head))
        add_tiles_row(h, CARAT_HEAD_SHORTLIST, quant_of_name(h->o->head->lm_quant),
                      (int)h->o->head->lm_capacity.n, h->o->head->lm_shortlist);
}

/* ---- an older result ---- */

static int match_older(struct heads *h)
{
    const char *name = input_name(h->o->bench->compare);
    bool memory = true;
    int found = 0;

    for (size_t i = 0; i < json_array_size(h->older); i++) {
        const json_t *element = json_array_get(h->older, i);
        const char *head = json_string_value(json_object_get(element, "lm_head"));
        struct verdict old = {.element = element, .lost = NAN, .taken = NAN};
        if (!head)
            return older_refuse(name, "has no lm_head", i);
        if (json_is_string(json_object_get(element, "refused")))
            continue;
        if (!older_samples(element, &old.ts, &memory))
            return memory ? older_refuse(name, "has no samples_ts, which are speeds above 0", i)
                          : fail_memory();
        for (int k = 0; k < h->n; k++)
            if (strcmp(head, h->row[k].name) == 0) {
                h->row[k].old = old;
                found++;
            }
    }
    return found ? DONE : term_fail(USAGE, "bench lm-head: %s has no row of this run", name);
}

static int judge_rows(struct heads *h)
{
    char names[512] = "";
    size_t used = 0;
    int slower = 0;

    for (int i = 0; i < h->n; i++) {
        struct verdict *v = &h->row[i].old;
        if (!v->element || *h->row[i].refused)
            continue;
        older_allow(v, &h->row[i].ts);
        v->word = older_word(v, 0);
        if (strcmp(v->word, "slower") != 0)
            continue;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", slower ? "; " : "",
                                     h->row[i].name);
        slower++;
    }
    return slower ? term_fail(CHECK_FAILED, "bench lm-head: slower than in %s, beyond the noise: %s",
                              input_name(h->o->bench->compare), names)
                  : DONE;
}

/* ---- the run ---- */

static int open_heads(struct heads *h)
{
    carat_error err;
    int code = open_packed(&h->dense.model, h->o);

    if (code == DONE && h->o->bench->spectrum)
        code = head_spectrum(&h->dense.model, &h->memory, &h->n_memory, h->o->bench->spectrum);
    if (code != DONE)
        return code;
    if (carat_model_get_info(h->dense.model, &h->info, &err) != CARAT_OK ||
        carat_get_host(&h->host, &err) != CARAT_OK)
        return fail_status(&err);
    h->k = h->info.n_vocab < HEAD_K ? h->info.n_vocab : HEAD_K;
    h->compared = h->n_steps < HEAD_COMPARED ? h->n_steps : HEAD_COMPARED;
    if ((code = read_heads_ids(h)) != DONE)
        return code;
    plan_heads(h);
    if (h->o->bench->compare)
        code = older_read(h->o->bench->compare, &h->older);
    if (code == DONE && h->older)
        code = match_older(h);
    return code;
}

static int run_heads(struct heads *h)
{
    int code = heads_find_truth(h);

    if (code == DONE)
        heads_tell_begin(h);
    for (int i = 0; i < h->n && code == DONE; i++) {
        code = heads_run(h, &h->row[i]);
        if (code == DONE && term_interrupted())
            code = INTERRUPTED;
        if (code == DONE)
            code = heads_tell_row(h, i);
    }
    if (code == DONE && h->older)
        code = judge_rows(h);
    if (code == DONE || code == CHECK_FAILED) {
        int told = heads_tell_end(h);
        code = told == DONE ? code : told;
    }
    for (int i = 0; i < h->n && code == DONE; i++)
        if (h->row[i].differs)
            code = term_fail(CHECK_FAILED, "bench lm-head: %s is exact, and gave another result than dense",
                             h->row[i].name);
    return code;
}

int bench_head(const struct options *o)
{
    struct heads *h = calloc(1, sizeof *h);
    int code = h ? check_heads(o) : fail_memory();

    if (code == DONE) {
        h->o = o;
        h->info.size = sizeof h->info;
        h->plan.size = sizeof h->plan;
        h->host.size = sizeof h->host;
        h->n_steps = o->bench->steps;
        h->runs = o->bench->repetitions;
        h->format = o->json ? "json" : o->bench->output;
        interrupt_install();
        code = open_heads(h);
    }
    if (code == DONE)
        code = run_heads(h);
    for (int i = 0; h && i < h->n; i++)
        free(h->row[i].speed);
    if (h) {
        head_seat_close(&h->seat);
        head_seat_close(&h->dense);
        json_decref(h->older);
        free(h->truth.ids);
        free(h->truth.logits);
        free(h->truth.best);
        free(h->seconds);
        free(h->beside);
        free(h->memory);
    }
    free(h);
    return code;
}
