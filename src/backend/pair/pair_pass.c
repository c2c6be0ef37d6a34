/* SPDX-License-Identifier: Apache-2.0 */
/* pair_pass.c: a pass of the two: each verb runs where its weights are, or its K and V, or else where the
 * matrix is that it changes. What it reads comes there first, and what it makes is there alone. */
#include "backend/pair/pair_backend.h"

/* ---- matrices ---- */

static struct ct_pair_mat *record(ct_mat m)
{
    return m.handle;
}

/* So many rows, and what lies between them, as one row. */
static ct_mat in_one(ct_mat m, int rows, int cols)
{
    return (ct_mat){m.handle, (rows - 1) * m.stride + cols, m.stride};
}

/* The current rows of a matrix that it lacks. */
static void bring(struct ct_pair_backend *b, struct ct_pair_mat *r, int side)
{
    struct ct_backend *device = b->side[CT_DEVICE];
    const int rows = CT_MIN(b->n, r->rows);
    const ct_mat all = in_one(r->at[CT_DEVICE], rows, r->cols);

    if (rows > 0 && side == CT_DEVICE)
        device->verb.copy_in(device, all, 0, r->at[CT_HOST].handle);
    else if (rows > 0)
        device->verb.copy_out(device, r->at[CT_HOST].handle, all, 0);
    r->has |= (uint8_t)(1 << side);
}

/* The matrix for one of the two that reads it. */
static ct_mat read_at(struct ct_pair_backend *b, ct_mat m, int side)
{
    struct ct_pair_mat *r = record(m);

    if (!r)
        return m;
    if (!(r->has & 1 << side))
        bring(b, r, side);
    return (ct_mat){r->at[side].handle, m.cols, r->at[side].stride};
}

/* For one that writes all current rows of it. */
static ct_mat write_at(ct_mat m, int side)
{
    struct ct_pair_mat *r = record(m);

    if (!r)
        return m;
    r->has = (uint8_t)(1 << side);
    r->cols = m.cols;
    return (ct_mat){r->at[side].handle, m.cols, r->at[side].stride};
}

/* For one that changes it. */
static ct_mat change_at(struct ct_pair_backend *b, ct_mat m, int side)
{
    const ct_mat at = read_at(b, m, side);

    if (m.handle)
        record(m)->has = (uint8_t)(1 << side);
    return at;
}

/* ---- who runs a verb ---- */

/* One of `homes`: the only one, or who has the matrix, the device where both do. */
static int run_by(struct ct_pair_backend *b, int homes, ct_mat m)
{
    const int both = homes & (m.handle ? record(m)->has : CT_AT_BOTH);

    if (b->both)
        b->last = b->turn;
    else
        b->last = (both ? both : homes) & CT_AT_DEVICE ? CT_DEVICE : CT_HOST;
    return b->last;
}

/* By the first weight that is there. */
static int run_by_weights(struct ct_pair_backend *b, int n, const struct ct_weight *const *w, ct_mat m)
{
    int i = 0;

    while (i < n && !w[i]->data)
        i++;
    return run_by(b, i < n ? ct_pair_homes(w[i]) : CT_AT_BOTH, m);
}

/* ---- rows ---- */

/* Who takes part in a pass. */
static bool is_in(const struct ct_pair_backend *b, int side)
{
    return !b->both || side == b->turn;
}

static void pair_begin_pass(struct ct_backend *base, const struct ct_rows *rows, const struct ct_watch *watch)
{
    struct ct_pair_backend *b = ct_pair(base);

    b->turn = base->on_host ? CT_HOST : CT_DEVICE;
    b->rows = *rows;
    b->n = rows->n;
    ct_pair_bring_blocks(b, rows);
    for (int i = 0; i < CT_SIDES; i++) {
        b->side[i]->trace = base->trace; /* who reads matrices changes how they are kept */
        if (is_in(b, i))
            b->side[i]->verb.begin_pass(b->side[i], rows, watch);
    }
}

static bool pair_end_pass(struct ct_backend *base)
{
    struct ct_pair_backend *b = ct_pair(base);
    bool whole = true;

    for (int i = CT_SIDES - 1; i >= 0; i--)
        if (is_in(b, i))
            whole &= b->side[i]->verb.end_pass(b->side[i]);
    ct_pair_told(b);
    return whole && !base->failure.code;
}

static bool pair_goes_on(struct ct_backend *base)
{
    struct ct_pair_backend *b = ct_pair(base);
    bool goes_on = true;

    for (int i = 0; i < CT_SIDES; i++)
        if (is_in(b, i))
            goes_on &= b->side[i]->verb.goes_on(b->side[i]);
    ct_pair_told(b);
    return goes_on;
}

static bool pair_is_finite(struct ct_backend *base, int row)
{
    struct ct_pair_backend *b = ct_pair(base);
    bool finite = true;

    for (int i = 0; i < CT_SIDES; i++)
        if (is_in(b, i))
            finite &= b->side[i]->verb.is_finite(b->side[i], row);
    ct_pair_told(b);
    return finite;
}

static void pair_select_rows(struct ct_backend *base, int n, const ct_mat *m)
{
    struct ct_pair_backend *b = ct_pair(base);
    int kept = 0;

    for (int i = 0; i < b->n; i++)
        kept += b->rows.wanted[i];
    for (int side = 0; side < CT_SIDES; side++) {
        ct_mat at[16];
        assert(n <= (int)CT_COUNT(at));
        for (int i = 0; i < n; i++)
            at[i] = m[i].handle && record(m[i])->has & 1 << side ? read_at(b, m[i], side) : (ct_mat){0};
        if (is_in(b, side))
            b->side[side]->verb.select_rows(b->side[side], n, at);
    }
    b->n = kept;
}

/* ---- row by row ---- */

static void pair_embed(struct ct_backend *base, ct_mat x, const struct ct_weight *table, float scale)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int homes = ct_pair_homes(table);
    const int side = run_by(b, homes & CT_AT_HOST ? CT_AT_HOST : homes, (ct_mat){0});

    b->side[side]->verb.embed(b->side[side], write_at(x, side), ct_pair_at(table, side), scale);
}

static void pair_embed_add(struct ct_backend *base, ct_mat x, const struct ct_weight *table,
                           const int32_t *row, float scale, float times)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(table), x);

    b->side[side]->verb.embed_add(b->side[side], change_at(b, x, side), ct_pair_at(table, side), row, scale,
                                  times);
}

static void pair_norm(struct ct_backend *base, ct_mat y, ct_mat x, const struct ct_weight *w)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(w), x);
    const ct_mat in = read_at(b, x, side);

    b->side[side]->verb.norm(b->side[side], write_at(y, side), in, ct_pair_at(w, side));
}

static void pair_qk_norm(struct ct_backend *base, ct_mat x, const struct ct_weight *w)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(w), x);

    if (w->data && x.handle)
        b->side[side]->verb.qk_norm(b->side[side], change_at(b, x, side), ct_pair_at(w, side));
}

static void pair_residual_norm(struct ct_backend *base, ct_mat x, ct_mat y, const struct ct_weight *w)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(w), y);
    const ct_mat added = change_at(b, y, side);

    b->side[side]->verb.residual_norm(b->side[side], change_at(b, x, side), added, ct_pair_at(w, side));
}

static void pair_rope(struct ct_backend *base, ct_mat x, int attn_type)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, CT_AT_BOTH, x);

    b->side[side]->verb.rope(b->side[side], change_at(b, x, side), attn_type);
}

static void pair_scale(struct ct_backend *base, ct_mat x, const struct ct_weight *w)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(w), x);

    b->side[side]->verb.scale(b->side[side], change_at(b, x, side), ct_pair_at(w, side));
}

static void pair_gelu_times(struct ct_backend *base, ct_mat x, ct_mat up, int at)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, CT_AT_BOTH, x);
    const ct_mat by = read_at(b, up, side);

    b->side[side]->verb.gelu_times(b->side[side], change_at(b, x, side), by, at);
}

static void pair_cutoff(struct ct_backend *base, ct_mat x, float deviations)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, CT_AT_BOTH, x);

    b->side[side]->verb.cutoff(b->side[side], change_at(b, x, side), deviations);
}

/* ---- products ---- */

enum { MOST_OUTPUTS = 3 };

static void pair_project(struct ct_backend *base, ct_mat in, int n, const ct_mat *out,
                         const struct ct_weight *const *w)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by_weights(b, n, w, in);
    const ct_mat from = read_at(b, in, side);
    const struct ct_weight *by[MOST_OUTPUTS];
    ct_mat to[MOST_OUTPUTS];

    assert(n <= MOST_OUTPUTS);
    for (int i = 0; i < n; i++) {
        by[i] = ct_pair_at(w[i], side);
        to[i] = w[i]->data ? write_at(out[i], side) : (ct_mat){0};
    }
    b->side[side]->verb.project(b->side[side], from, n, to, by);
}

static void pair_project_geglu(struct ct_backend *base, ct_mat out, ct_mat in, const struct ct_weight *gate,
                               const struct ct_weight *up, const struct ct_weight *reader)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by_weights(b, 2, (const struct ct_weight *const[]){gate, up}, in);
    const ct_mat from = read_at(b, in, side);

    b->side[side]->verb.project_geglu(b->side[side], write_at(out, side), from, ct_pair_at(gate, side),
                                      ct_pair_at(up, side), ct_pair_at(reader, side));
}

static void pair_experts(struct ct_backend *base, ct_mat out, ct_mat in, ct_mat route,
                         const struct ct_experts *e)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(&e->expert[0].gate), in);
    const struct ct_experts at = {e->n, e->used, b->experts, *ct_pair_at(&e->scale, side)};
    const ct_mat from = read_at(b, in, side), by = read_at(b, route, side);

    for (int i = 0; i < e->n; i++)
        b->experts[i] =
            (struct ct_expert){*ct_pair_at(&e->expert[i].gate, side), *ct_pair_at(&e->expert[i].up, side),
                               *ct_pair_at(&e->expert[i].down, side)};
    b->side[side]->verb.experts(b->side[side], write_at(out, side), from, by, &at);
}

static void pair_project_logits(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                                const struct ct_weight *head, float cap)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(head), in);

    b->side[side]->verb.project_logits(b->side[side], read_at(b, in, side), first, n, to,
                                       ct_pair_at(head, side), cap);
    ct_pair_told(b);
}

static void pair_project_few(struct ct_backend *base, ct_mat in, int first, int n, struct ct_few *few,
                             const struct ct_weight *head, float cap)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(head), in);

    b->side[side]->verb.project_few(b->side[side], read_at(b, in, side), first, n, few,
                                    ct_pair_at(head, side), cap);
    ct_pair_told(b);
}

static void pair_project_some(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                              const struct ct_weight *w, int n_ranges, const struct ct_range *range)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_homes(w), in);

    b->side[side]->verb.project_some(b->side[side], read_at(b, in, side), first, n, to, ct_pair_at(w, side),
                                     n_ranges, range);
    ct_pair_told(b);
}

/* ---- attention ---- */

static void pair_kv_write(struct ct_backend *base, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_kv_homes(b, kv), k);
    const ct_mat keys = change_at(b, k, side), values = change_at(b, v, side);

    ct_pair_kv_written(b, kv, side);
    b->side[side]->verb.kv_write(b->side[side], ct_pair_kv(b, kv, side), keys, values);
}

static void pair_attend(struct ct_backend *base, ct_mat out, ct_mat q, const struct ct_kv *kv, int attn_type,
                        float scale, float cap)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, ct_pair_kv_has(b, kv), q);
    const ct_mat queries = read_at(b, q, side);

    b->side[side]->verb.attend(b->side[side], write_at(out, side), queries, ct_pair_kv(b, kv, side),
                               attn_type, scale, cap);
}

/* ---- AltUp ---- */

static void change_streams(struct ct_pair_backend *b, ct_mat at[CT_STREAMS], const ct_mat stream[CT_STREAMS],
                           int side)
{
    for (int i = 0; i < CT_STREAMS; i++)
        at[i] = change_at(b, stream[i], side);
}

static void pair_altup_predict(struct ct_backend *base, ct_mat y, const ct_mat stream[CT_STREAMS],
                               const struct ct_weight *const w[3])
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by_weights(b, 3, w, stream[0]);
    const struct ct_weight *const by[] = {ct_pair_at(w[0], side), ct_pair_at(w[1], side),
                                          ct_pair_at(w[2], side)};
    ct_mat at[CT_STREAMS];

    change_streams(b, at, stream, side);
    b->side[side]->verb.altup_predict(b->side[side], write_at(y, side), at, by);
}

static void pair_altup_correct(struct ct_backend *base, ct_mat y, const ct_mat stream[CT_STREAMS],
                               const struct ct_weight *const w[4])
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by_weights(b, 4, w, y);
    const struct ct_weight *const by[] = {ct_pair_at(w[0], side), ct_pair_at(w[1], side),
                                          ct_pair_at(w[2], side), ct_pair_at(w[3], side)};
    ct_mat at[CT_STREAMS];

    change_streams(b, at, stream, side);
    b->side[side]->verb.altup_correct(b->side[side], change_at(b, y, side), at, by);
}

static void pair_altup_match(struct ct_backend *base, ct_mat y, ct_mat x)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = run_by(b, CT_AT_BOTH, y);
    const ct_mat like = read_at(b, x, side);

    b->side[side]->verb.altup_match(b->side[side], change_at(b, y, side), like);
}

/* ---- rows of matrices ---- */

/* It stays where it is. */
static void pair_copy_out(struct ct_backend *base, float *to, ct_mat m, int row)
{
    struct ct_pair_backend *b = ct_pair(base);
    const int side = record(m)->has & CT_AT_HOST ? CT_HOST : CT_DEVICE;

    b->side[side]->verb.copy_out(b->side[side], to, read_at(b, m, side), row);
    ct_pair_told(b);
}

static void pair_copy_in(struct ct_backend *base, ct_mat m, int row, const float *from)
{
    struct ct_pair_backend *b = ct_pair(base);
    struct ct_pair_mat *r = record(m);
    const int side = r->has & CT_AT_HOST ? CT_HOST : CT_DEVICE;

    r->has = (uint8_t)(1 << side);
    r->cols = CT_MAX(r->cols, m.cols);
    b->side[side]->verb.copy_in(b->side[side], read_at(b, m, side), row, from);
    ct_pair_told(b);
}

void ct_pair_pass_verbs(struct ct_verbs *v)
{
    v->begin_pass = pair_begin_pass;
    v->end_pass = pair_end_pass;
    v->goes_on = pair_goes_on;
    v->is_finite = pair_is_finite;
    v->select_rows = pair_select_rows;
    v->embed = pair_embed;
    v->embed_add = pair_embed_add;
    v->norm = pair_norm;
    v->qk_norm = pair_qk_norm;
    v->residual_norm = pair_residual_norm;
    v->rope = pair_rope;
    v->scale = pair_scale;
    v->gelu_times = pair_gelu_times;
    v->cutoff = pair_cutoff;
    v->project = pair_project;
    v->project_geglu = pair_project_geglu;
    v->experts = pair_experts;
    v->project_logits = pair_project_logits;
    v->project_few = pair_project_few;
    v->project_some = pair_project_some;
    v->kv_write = pair_kv_write;
    v->attend = pair_attend;
    v->altup_predict = pair_altup_predict;
    v->altup_correct = pair_altup_correct;
    v->altup_match = pair_altup_match;
    v->copy_out = pair_copy_out;
    v->copy_in = pair_copy_in;
}
