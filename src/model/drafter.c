/* SPDX-License-Identifier: Apache-2.0 */
/* drafter.c: one step of a drafter as prose, out of the verbs of forward.c. Its layers have queries alone: K
 * and V are those of the model's last layer of each kind that has its own. Every step of a draft stands at
 * one position, that of the first token which the model has not seen, and sees what the model holds. What
 * tells one step from the next is the token, and a state of the model that each step guesses anew.
 *
 * Where there is a drafter, local layers keep one position more, which it sees. The model's state behind the
 * last token is kept with that token's logits; a session out of a file has none before its first pass. The
 * embedding lies in the order of its groups of ids, also in a packed file, so that a step scores panels side
 * by side; opened without the cache, a drafter keeps these rows as they were stored too (134 MB of E2B's),
 * since engines to come are made from them. */
#include "model/drafter.h"

#include "model/config_drafter.h"

#include <math.h>

/* The token as the model embeds it and the state, side by side. */
static void join(struct ct_drafter *d)
{
    struct ct_backend *b = d->backend;

    b->verb.copy_out(b, d->joined, d->e, 0);
    b->verb.copy_out(b, d->joined + d->e.cols, d->state, 0);
    b->verb.copy_in(b, d->pair, 0, d->joined);
}

static void run_layers(struct ct_drafter *d)
{
    struct ct_backend *b = d->backend;
    const struct ct_weights *w = &d->weights;
    const ct_mat x = d->x; /* [1][hidden] the residual stream */
    const ct_mat h = d->h; /* [1][hidden] what a block reads, then what it gives */

    embed(b, d->e, &d->reads->embed, d->model->embed_scale / d->model->residual_scale);
    join(d);
    project(b, x, d->pair, &w->draft_pre);
    for (int i = 0; i < d->config->n_layer; i++) {
        const struct ct_layer *l = &w->layer[i];
        const ct_mat q = made_by(&l->q, d->q);        /* [1][n_head][head_dim] what each head looks for */
        const ct_mat a = made_by(&l->q, d->a);        /* [1][n_head][head_dim] what each head found */
        const ct_mat ffn = made_by(&l->gate, d->ffn); /* [1][ffn] */

        norm(b, h, x, &l->attn_norm);
        project(b, q, h, &l->q);
        qk_norm(b, q, &l->q_norm);
        rope(b, q, l->c.attn_type);
        attend(b, a, q, l->kv, l->c.attn_type, l->c.attn_scale, l->c.attn_cap);
        project(b, h, a, &l->o);
        residual_norm(b, x, h, &l->attn_post_norm);

        norm(b, h, x, &l->ffn_norm);
        project_geglu(b, ffn, h, &l->gate, &l->up, &l->down);
        project(b, h, ffn, &l->down);
        residual_norm(b, x, h, &l->ffn_post_norm);
        scale(b, x, &l->out_scale);
    }
    norm(b, h, x, &w->final_norm);
    project(b, d->state, h, &w->draft_post); /* what the model's state will be, if the id is right */
}

/* ---- the head ---- */

static int group_size(const struct ct_drafter *d)
{
    return d->config->n_vocab / d->config->n_centroid;
}

/* The groups that are nearest, in ascending order. */
static void find_near(struct ct_drafter *d)
{
    struct ct_backend *b = d->backend;
    const int n = d->config->n_near;
    const struct ct_logits all = {d->score, NULL, d->config->n_centroid};

    project(b, d->near, d->h, &d->weights.centroids);
    b->verb.copy_out(b, d->score, d->near, 0);
    b->verb.select(b, d->group, &all, n, NULL, 0);
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && d->group[k] < d->group[k - 1]; k--) {
            const int32_t other = d->group[k];
            d->group[k] = d->group[k - 1];
            d->group[k - 1] = other;
        }
}

/* The panels that hold their rows; returns the number of ranges. */
static int cover_near(const struct ct_drafter *d)
{
    const int size = group_size(d), rows = d->weights.embed.rows;
    int n = 0, at = 0;

    for (int i = 0; i < d->config->n_near; i++) {
        struct ct_range r = {
            d->group[i] * size / CT_PANEL_ROWS * CT_PANEL_ROWS,
            (int32_t)CT_MIN(ct_round_up((size_t)(d->group[i] + 1) * (size_t)size, CT_PANEL_ROWS),
                            (size_t)rows),
            at};
        if (n > 0 && r.first <= d->range[n - 1].end) {
            at += r.end - d->range[n - 1].end;
            d->range[n - 1].end = r.end;
            continue;
        }
        at += r.end - r.first;
        d->range[n++] = r;
    }
    return n;
}

/* Scores the rows of these groups, and leaves ids and values of theirs alone, in their order. */
static void score_near(struct ct_drafter *d)
{
    struct ct_backend *b = d->backend;
    const int size = group_size(d);
    int n = 0;

    find_near(d);
    project_some(b, d->h, 0, 1, &d->value, &d->weights.embed, cover_near(d), d->range);
    const struct ct_range *r = d->range;
    for (int i = 0; i < d->config->n_near; i++) {
        while (r->end <= d->group[i] * size)
            r++;
        for (int row = d->group[i] * size; row < (d->group[i] + 1) * size; row++, n++) {
            d->id[n] = d->ordered[row];
            d->value[n] = d->value[r->at + row - r->first]; /* at or behind n */
        }
    }
    d->scores = (struct ct_draft_scores){d->value, d->id, n};
}

static void score_all(struct ct_drafter *d)
{
    project_logits(d->backend, d->h, 0, 1, &d->value, &d->weights.embed, 0);
    d->scores = (struct ct_draft_scores){d->value, NULL, d->config->n_vocab};
}

/* The best, of equals the lowest id. */
static int32_t best_of(const struct ct_draft_scores *s)
{
    float most = -INFINITY;
    int32_t best = -1;

    for (int i = 0; i < s->n; i++) {
        const int32_t id = s->id ? s->id[i] : i;
        if (s->value[i] > most || (s->value[i] == most && id < best)) {
            most = s->value[i];
            best = id;
        }
    }
    return best;
}

/* ---- a step ---- */

int32_t ct_drafter_step(struct ct_drafter *d, struct ct_draft_place place, int32_t token)
{
    struct ct_backend *b = d->backend;
    const int32_t position = place.n, sequence = place.sequence, last = place.n - 1;
    const bool wanted = true;
    struct ct_seen seen[CT_ATTN_TYPES] = {{0, last}, {0, last}};
    const struct ct_rows rows = {1, &token, &position, &sequence, {&seen[0], &seen[1]}, &wanted, true};
    struct ct_trace *listening = b->trace;

    for (int i = 0; i < CT_ATTN_TYPES; i++) /* from the last one held, a window back, and that one, too */
        seen[i].first = d->model->attn[i].window ? CT_MAX(0, last - d->model->attn[i].window) : 0;
    b->trace = NULL; /* who listens hears of the model */
    begin_pass(b, &rows, &(struct ct_watch){NULL, NULL});
    run_layers(d);
    if (d->config->n_centroid)
        score_near(d);
    else
        score_all(d);
    end_pass(b);
    b->trace = listening;
    return best_of(&d->scores);
}

void ct_drafter_begin(struct ct_drafter *d, const float *state)
{
    d->backend->verb.copy_in(d->backend, d->state, 0, state);
}
