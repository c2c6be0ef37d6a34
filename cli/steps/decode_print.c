/* SPDX-License-Identifier: Apache-2.0 */
/* decode_print.c: what `carat decode` says: lines for people, or JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/lookup.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "prompt/told.h"
#include "steps/decode.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"

struct head_work head_work_between(const carat_head_stats *before, const carat_head_stats *after)
{
    return (struct head_work){
        .tokens = after->tokens - before->tokens,
        .bytes = after->bytes - before->bytes,
        .hits = after->hits - before->hits,
        .misses = after->misses - before->misses,
        .evictions = after->evictions - before->evictions,
        .evaluated = after->evaluated - before->evaluated,
        .rows_finished = after->rows_finished - before->rows_finished,
        .fallbacks = after->fallbacks - before->fallbacks,
        .audits = after->audits - before->audits,
        .recall = after->recall * (double)after->audits - before->recall * (double)before->audits,
        .top1 = after->top1 * (double)after->audits - before->top1 * (double)before->audits,
        .differences = after->differences - before->differences,
    };
}

static double share(double part, uint64_t n)
{
    return n ? part / (double)n : NAN;
}

/* As the vocabulary stores it; ids beyond it have none. */
static json_t *piece_json(const struct decoding *d, int32_t id)
{
    size_t n = 0;
    const char *piece = d->info.has_tokenizer ? carat_piece(d->model, id, &n) : NULL;

    return json_text(piece ? piece : "", n);
}

static const struct step *step_at(const struct decoding *d, int round, int step)
{
    return &d->steps[(size_t)round * (size_t)d->n_steps + (size_t)step];
}

static const carat_candidate *best_at(const struct decoding *d, int round, int step)
{
    return &d->best[((size_t)round * (size_t)d->n_steps + (size_t)step) * (size_t)d->top];
}

/* ---- JSON ---- */

static json_t *logprobs_json(const struct step *s)
{
    json_t *list = json_array();

    for (int i = 0; i < s->n_top; i++)
        json_array_append_new(list,
                              json_pack("[i, o]", (int)s->top[i].id, json_number((double)s->top[i].logprob)));
    return list;
}

static json_t *step_json(const struct decoding *d, int round, int step)
{
    const struct step *s = step_at(d, round, step);
    const carat_candidate *best = best_at(d, round, step);
    json_t *top = json_array();

    for (int i = 0; i < d->top; i++)
        json_array_append_new(top, json_pack("[i, o]", (int)best[i].id, json_number((double)best[i].logit)));
    json_t *all = json_pack("{s:i, s:i, s:i, s:o, s:o, s:f}", "round", round + 1, "step", step + 1, "id",
                            (int)s->id, "piece", piece_json(d, s->id), "top", top, "ms", s->seconds * 1e3);
    if (d->o->told->logprobs >= 0)
        json_object_update_new(all, json_pack("{s:o, s:o}", "logprob", json_number((double)s->logprob),
                                              "top_logprobs", logprobs_json(s)));
    return all;
}

/* The members that a round has, and the result as means. */
static json_t *figures_json(const struct round *r)
{
    const struct head_work *h = &r->head;

    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:I, s:o, s:I, s:I, s:o, s:o}", "prefill_ms",
        r->prefill_s * 1e3, "decode_ms_per_token", r->mean_s * 1e3, "decode_ms_p50", r->p50_s * 1e3,
        "decode_ms_p90", r->p90_s * 1e3, "tok_s", 1 / r->mean_s, "hits", (json_int_t)h->hits, "misses",
        (json_int_t)h->misses, "evictions", (json_int_t)h->evictions, "avg_eval_tiles",
        json_number(share((double)h->evaluated, h->tokens)), "rows_finished", (json_int_t)h->rows_finished,
        "head_bytes", json_number(share((double)h->bytes, h->tokens)), "fallbacks", (json_int_t)h->fallbacks,
        "audits", (json_int_t)h->audits, "recall", json_number(share(h->recall, h->audits)), "top1",
        json_number(share(h->top1, h->audits)));
}

static json_t *round_json(const struct decoding *d, int round)
{
    json_t *all = json_pack("{s:i}", "round", round + 1);

    json_object_update_new(all, figures_json(&d->rounds[round]));
    if (all && !add_drafts(all, &d->rounds[round].drafts)) {
        json_decref(all);
        return NULL;
    }
    return all;
}

/* The rounds as one: means of times, and of what was counted. */
static struct round mean_round(const struct decoding *d)
{
    const uint64_t n = (uint64_t)d->n_rounds;
    struct round m = {0};

    for (int i = 0; i < d->n_rounds; i++) {
        const struct round *r = &d->rounds[i];
        m.prefill_s += r->prefill_s / (double)n;
        m.mean_s += r->mean_s / (double)n;
        m.p50_s += r->p50_s / (double)n;
        m.p90_s += r->p90_s / (double)n;
        m.head.tokens += r->head.tokens;
        m.head.bytes += r->head.bytes;
        m.head.hits += r->head.hits;
        m.head.misses += r->head.misses;
        m.head.evictions += r->head.evictions;
        m.head.evaluated += r->head.evaluated;
        m.head.rows_finished += r->head.rows_finished;
        m.head.fallbacks += r->head.fallbacks;
        m.head.audits += r->head.audits;
        m.head.recall += r->head.recall;
        m.head.top1 += r->head.top1;
    }
    return m;
}

const carat_generation_info *last_drafts(const struct decoding *d)
{
    return !d->drafts ? NULL : &d->rounds[d->n_rounds - 1].drafts;
}

static json_t *setup_json(const struct decoding *d)
{
    const carat_load_times *t = &d->opening;

    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "open", (t->open + t->tokenizer + t->parse) * 1e3,
                     "map", t->map * 1e3, "pack", t->pack * 1e3, "engine", d->engine_s * 1e3, "tiles",
                     d->head.tiles_s * 1e3, "sketch", d->head.sketch_s * 1e3);
}

static json_t *decoding_json(const struct decoding *d)
{
    const carat_head_stats *h = &d->head;
    struct round mean = mean_round(d);
    json_t *all = json_pack("{s:s, s:s, s:s, s:b, s:s, s:i, s:i, s:i, s:I, s:I, s:f, s:o}", "model_filename",
                            model_name(d->o->model), "version", carat_version(), "lm_head",
                            carat_head_name(h->strategy), "exact", h->exact, "reason", h->reason, "n_steps",
                            d->n_steps, "n_rounds", d->n_rounds, "tiles", h->tiles, "sketch_bytes",
                            (json_int_t)h->sketch_bytes, "tile_bytes", (json_int_t)h->tile_bytes, "setup_ms",
                            (d->open_s + d->engine_s) * 1e3, "setup", setup_json(d));

    json_object_update_new(all, figures_json(&mean));
    engine_report_json(&d->engine_report, d->engine, last_drafts(d), all);
    return all;
}

static int print_object(const struct decoding *d)
{
    json_t *rounds = json_array(), *all = decoding_json(d);

    for (int r = 0; r < d->n_rounds; r++) {
        json_t *round = round_json(d, r), *steps = json_array();
        for (int i = 0; i < d->n_steps; i++)
            json_array_append_new(steps, step_json(d, r, i));
        json_object_set_new(round, "steps", steps);
        json_array_append_new(rounds, round);
    }
    json_object_set_new(all, "ids", json_ids(d->ids.ids, d->ids.n));
    json_object_set_new(all, "rounds", rounds);
    return out_json(all);
}

/* ---- for people ---- */

static void print_ms(const char *name, double seconds)
{
    out_print(", %s %.1f", name, seconds * 1e3);
}

void decode_print_head(const struct decoding *d)
{
    const carat_load_times *t = &d->opening;

    if (d->o->json || d->o->lines)
        return;
    out_print("%s: %d ids, %d steps, %d round%s; lm-head %s%s%s%s\n", model_name(d->o->model), d->ids.n,
              d->n_steps, d->n_rounds, d->n_rounds == 1 ? "" : "s", carat_head_name(d->head.strategy),
              d->head.exact ? "" : ", approximate", *d->head.reason ? ": " : "", d->head.reason);
    out_print("set-up %.1f ms: open %.1f", (d->open_s + d->engine_s) * 1e3,
              (t->open + t->tokenizer + t->parse) * 1e3);
    print_ms("map", t->map);
    print_ms("pack", t->pack);
    print_ms("engine", d->engine_s);
    if (d->head.tiles_s > 5e-5)
        print_ms("of it tiles", d->head.tiles_s);
    if (d->head.sketch_s > 5e-5)
        print_ms("of it sketch", d->head.sketch_s);
    out_print("\n\nround   step      id        ms  piece and best\n");
}

static int print_step_line(const struct decoding *d, int round, int step)
{
    const struct step *s = step_at(d, round, step);
    const carat_candidate *best = best_at(d, round, step);
    json_t *quoted = piece_json(d, s->id);
    char *piece = quoted ? json_dumps(quoted, JSON_ENCODE_ANY) : NULL;

    json_decref(quoted);
    if (!piece)
        return fail_memory();
    out_print("%5d %6d %7d %9.3f  %s ", round + 1, step + 1, (int)s->id, s->seconds * 1e3, piece);
    free(piece);
    for (int i = 0; i < d->top; i++)
        out_print(" %d:%.9g", (int)best[i].id, (double)best[i].logit);
    if (d->o->told->logprobs >= 0)
        out_print("  logprob %.6g", (double)s->logprob);
    for (int i = 0; i < s->n_top; i++)
        out_print(" %d:%.6g", (int)s->top[i].id, (double)s->top[i].logprob);
    out_print("\n");
    return DONE;
}

static void print_figures(const char *what, const struct round *r)
{
    const struct head_work *h = &r->head;

    out_print("%s: prefill %.2f ms, %.3f ms/token (p50 %.3f, p90 %.3f), %.1f tok/s\n", what,
              r->prefill_s * 1e3, r->mean_s * 1e3, r->p50_s * 1e3, r->p90_s * 1e3, 1 / r->mean_s);
    if (h->evaluated)
        out_print("  %.1f tiles a token, %llu hits, %llu misses, %llu evictions\n",
                  share((double)h->evaluated, h->tokens), (unsigned long long)h->hits,
                  (unsigned long long)h->misses, (unsigned long long)h->evictions);
    if (h->rows_finished)
        out_print("  %.1f rows finished a token, %llu of %llu tokens computed dense\n",
                  share((double)h->rows_finished, h->tokens), (unsigned long long)h->fallbacks,
                  (unsigned long long)h->tokens);
    if (r->drafts.drafted)
        out_print("  drafts %d of %d right, %.1f ms gained\n", r->drafts.accepted, r->drafts.drafted,
                  r->drafts.gained_ms);
    if (h->audits)
        out_print("  %llu audits: the best id equal in %.2f %%, of the best %.2f %% found\n",
                  (unsigned long long)h->audits, 100 * share(h->top1, h->audits),
                  100 * share(h->recall, h->audits));
}

/* ---- either ---- */

int decode_print_step(const struct decoding *d, int round, int step)
{
    if (d->o->json)
        return DONE;
    return d->o->lines ? out_json(step_json(d, round, step)) : print_step_line(d, round, step);
}

int decode_print_round(const struct decoding *d, int round)
{
    char what[32];

    if (d->o->json)
        return DONE;
    if (d->o->lines)
        return out_json(round_json(d, round));
    snprintf(what, sizeof what, "round %d", round + 1);
    print_figures(what, &d->rounds[round]);
    return DONE;
}

int decode_print_result(const struct decoding *d)
{
    struct round mean = mean_round(d);

    if (d->o->json)
        return print_object(d);
    if (d->o->lines)
        return out_json(decoding_json(d));
    if (d->n_rounds > 1)
        print_figures("all rounds", &mean);
    return DONE;
}
