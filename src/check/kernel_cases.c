/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_cases.c: each case makes one call with every level, ref first, whose result is kept and compared
 * with. What the numbers are: NUMERICS.md; who gives memory and inputs: the callers of kernel_cases.h. */
#include "check/kernel_cases.h"

#include "layout/pack_weight.h"

void *ct_case_take(struct ct_case *c, size_t bytes, size_t align)
{
    void *p = c->take(c, bytes, align);
    c->failed |= !p;
    return p;
}

static float *case_floats(struct ct_case *c, size_t n, size_t align)
{
    return ct_case_take(c, n * sizeof(float), align);
}

static float *case_copy(struct ct_case *c, const float *x, size_t n)
{
    float *y = case_floats(c, n, 4);
    if (y)
        memcpy(y, x, n * sizeof *y);
    return y;
}

static void case_keep(struct ct_case *c, int place, const void *data, size_t bytes)
{
    c->failed |= !c->keep(c, place, data, bytes);
}

/* Keeps the values of ref, compares those of others. */
static void settle_floats(struct ct_case *c, int level, int place, const float *got, size_t n)
{
    if (level == 0)
        case_keep(c, place, got, n * sizeof *got);
    else
        c->compare_floats(c, place, got, n);
}

static void settle_bytes(struct ct_case *c, int level, int place, const void *got, size_t n)
{
    if (level == 0)
        case_keep(c, place, got, n);
    else
        c->compare_bytes(c, place, got, n);
}

static bool one_in(struct ct_case *c, int n)
{
    return c->below && c->below(c, n) == 0;
}

/* ---- products ---- */

static const char *how_of(bool panels)
{
    return panels ? ", panels" : ", rows";
}

/* Packs, and looks whether every row comes out of the panels as it went in. */
void ct_case_pack(struct ct_case *c, struct ct_product *p)
{
    const struct ct_weight *w = &p->rows;
    const struct ct_panel *form = ct_panel_of(w->type);

    p->packed = form->lines != CT_LINES_NONE;
    if (!p->packed)
        return;
    c->enter(c, 0, "pack", "");
    p->panels = *w;
    p->panels.layout = CT_LAYOUT_PANELS;
    p->panels.row_bytes = ct_panel_bytes(form, w->cols);
    if (w->layout == CT_LAYOUT_PALETTE)
        p->panels = ct_packed_form(w);
    const struct ct_packing packing = {.from = w, .form = p->panels};
    uint8_t *data = ct_case_take(c, ct_weight_bytes(&p->panels), 64);
    if (c->failed)
        return;
    ct_pack_pieces(&packing, 0, ct_weight_pieces(&p->panels), data);
    p->panels.data = data;
    c->freeze(c, data);

    int mark = c->mark(c);
    size_t bytes = w->row_bytes;
    ct_type_row_bytes(w->type, (size_t)w->cols, &bytes);
    uint8_t *row = ct_case_take(c, bytes, 1), *want = ct_case_take(c, bytes, 1);
    for (int r = 0; r < w->rows && !c->failed; r++) {
        if (ct_lies_in_rows(w))
            memcpy(want, (const uint8_t *)w->data + (size_t)r * bytes, bytes);
        else
            ct_unpack(want, w, r);
        for (int i = 0; w->type == CT_BF16 && i < w->cols; i++)
            if ((ct_le16(want + 2 * i) & 0x7fff) < 0x2680) /* below 2^-50 */
                memset(want + 2 * i, 0, 2);
        ct_unpack(row, &p->panels, r);
        case_keep(c, 3, want, bytes);
        c->compare_bytes(c, 3, row, bytes);
    }
    c->release(c, mark);
}

/* A row as f32, out of both layouts: embeddings are read so. */
void ct_case_dequantize_row(struct ct_case *c, const struct ct_product *p, int row)
{
    const size_t cols = (size_t)p->rows.cols;

    for (int l = 0; l < c->n_level; l++)
        for (int packed = 0; packed <= p->packed; packed++) {
            int mark = c->mark(c);
            float *scratch = case_floats(c, CT_SCRATCH(cols), 64), *out = case_floats(c, cols, 4);
            if (c->failed)
                return;
            c->enter(c, l, "dequantize_row", how_of(packed));
            c->level[l].dequantize_row(out, packed ? &p->panels : &p->rows, row, scratch);
            settle_floats(c, l + packed, 0, out, cols);
            c->release(c, mark);
        }
}

/* Memory for an input, as backend/cpu/cpu_backend.c lays it out; LANES may use all of it. */
static void take_prepared(struct ct_case *c, struct ct_prepared *x, const struct ct_product *p,
                          enum ct_input form)
{
    size_t padded = (size_t)ct_pad_group(p->rows.cols), n = (size_t)p->n;

    *x = (struct ct_prepared){.n = p->n, .cols = p->rows.cols};
    if (form == CT_INPUT_LANES || (form != CT_INPUT_Q8 && n > 1))
        n = ct_round_up(n, CT_LANES);
    if (form != CT_INPUT_Q8 && form != CT_INPUT_LANES) {
        x->value = case_floats(c, n * padded, 64);
        return;
    }
    x->q = ct_case_take(c, n * padded, 64);
    x->scale = case_floats(c, n * padded / CT_GROUP, 64);
    x->sum = ct_case_take(c, n * padded / CT_HALF * sizeof *x->sum, 64);
}

/* In portions of whole lanes and groups, the last ones first at times: threads do that. */
static void case_prepare(struct ct_case *c, const struct ct_kernel *k, struct ct_prepared *x,
                         const struct ct_product *p, enum ct_input form)
{
    take_prepared(c, x, p, form);
    if (c->failed)
        return;
    const int step = c->below ? CT_LANES * (1 + c->below(c, 3)) : (int)ct_round_up((size_t)p->n, CT_LANES);
    const int items = (p->n + step - 1) / step, groups = ct_pad_group(p->rows.cols) / CT_GROUP;
    const int some = one_in(c, 2) ? 1 + c->below(c, groups) : groups, runs = (groups + some - 1) / some;
    const size_t ldx = (size_t)p->rows.cols;
    const bool backwards = one_in(c, 2);
    for (int i = 0; i < items * runs; i++) {
        const int at = backwards ? items * runs - 1 - i : i, t0 = at / runs * step, g0 = at % runs * some;
        ct_call_prepare(k, x, form, p->x + (size_t)t0 * ldx + (size_t)g0 * CT_GROUP, ldx,
                        (struct ct_input_part){t0, t0 + step, g0, CT_MIN(g0 + some, groups)});
    }
}

static void check_prepare(struct ct_case *c, const struct ct_product *p, enum ct_input form)
{
    const size_t padded = (size_t)ct_pad_group(p->rows.cols), n = (size_t)p->n;
    struct ct_prepared x;

    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        c->enter(c, l, "prepare_input", "");
        case_prepare(c, &c->level[l], &x, p, form);
        if (c->failed)
            return;
        if (form != CT_INPUT_Q8) {
            settle_floats(c, l, 0, x.value, (n > 1 ? ct_round_up(n, CT_LANES) : 1) * padded);
            continue;
        }
        settle_bytes(c, l, 0, x.q, n * padded);
        settle_floats(c, l, 1, x.scale, n * padded / CT_GROUP);
        settle_bytes(c, l, 2, x.sum, n * padded / CT_HALF * sizeof *x.sum);
    }
}

static size_t out_count(const struct ct_product *p)
{
    return (size_t)(p->n - 1) * p->ldo + (size_t)p->rows.rows;
}

/* Compares out, of which only rows [r0, r1) were computed over what it held before, with those of want. */
static void compare_part(struct ct_case *c, const struct ct_product *p, const float *want, float *before,
                         const float *out, int r0, int r1)
{
    for (int t = 0; t < p->n; t++) {
        const size_t at = (size_t)t * p->ldo + (size_t)r0;
        memcpy(before + at, want + at, (size_t)(r1 - r0) * sizeof *before);
    }
    case_keep(c, 1, before, out_count(p) * sizeof *before);
    c->compare_floats(c, 1, out, out_count(p));
}

/* One level over rows or panels, all at once, in steps, or a part alone. */
static void check_project(struct ct_case *c, const struct ct_product *p, const float *want, int level,
                          bool panels)
{
    const struct ct_kernel *k = &c->level[level];
    const struct ct_weight *w = panels ? &p->panels : &p->rows;
    const enum ct_input form = ct_input_form(w, p->exact);
    const int piece = panels ? CT_PANEL_ROWS : 1;
    int mark = c->mark(c), r0 = 0, r1 = w->rows, step = w->rows;
    struct ct_prepared x;

    c->enter(c, level, panels ? "project_panels" : "project", how_of(panels));
    float *scratch = case_floats(c, CT_SCRATCH(w->cols), 64), *out = case_floats(c, out_count(p), 4);
    case_prepare(c, k, &x, p, form);
    float *before = c->failed ? NULL : case_copy(c, out, out_count(p));
    if (c->failed)
        return;
    if (c->below)
        step = panels ? CT_PANEL_ROWS * (1 + c->below(c, 9)) : 1 + c->below(c, w->rows);
    if (one_in(c, 4)) {
        r0 = c->below(c, w->rows) / piece * piece;
        r1 = r0 + 1 + c->below(c, w->rows - r0);
        step = r1 - r0;
    }
    const bool foretold = one_in(c, 2);
    for (int r = r0; r < r1; r += step) {
        const struct ct_panels_next next = {w, r + step < r1 ? r + step : 0, CT_MIN(r1, r + 2 * step)};
        (panels ? k->project_panels : k->project)(out, p->ldo, w, r, CT_MIN(r1, r + step), &x, form, scratch,
                                                  foretold ? &next : NULL);
    }
    compare_part(c, p, want, before, out, r0, r1);
    c->release(c, mark);
}

/* Exact arithmetic decodes blocks, which it takes as rows. */
static bool takes_panels(const struct ct_product *p)
{
    enum ct_lines lines = ct_panel_of(p->rows.type)->lines;
    return p->packed && (!p->exact || lines == CT_LINES_16 || lines == CT_LINES_32);
}

/* ref over stored rows, all at once, is what everything else must equal. */
void ct_case_product(struct ct_case *c, const struct ct_product *p)
{
    const enum ct_input form = ct_input_form(&p->rows, p->exact);
    int mark = c->mark(c);
    float *want = case_floats(c, out_count(p), 4), *scratch = case_floats(c, CT_SCRATCH(p->rows.cols), 64);
    struct ct_prepared x;

    check_prepare(c, p, form);
    c->enter(c, 0, "project", how_of(false));
    case_prepare(c, &c->level[0], &x, p, form);
    if (c->failed)
        return;
    c->level[0].project(want, p->ldo, &p->rows, 0, p->rows.rows, &x, form, scratch, NULL);
    c->freeze(c, want);
    for (int l = 0; l < c->n_level && !c->failed; l++)
        for (int panels = 0; panels <= takes_panels(p); panels++)
            check_project(c, p, want, l, panels);
    c->release(c, mark);
}

/* ---- vectors ---- */

const char *ct_elementwise_name(enum ct_elementwise what)
{
    static const char *const name[] = {"norm",  "add",     "scale",       "add_scaled",
                                       "geglu", "softcap", "altup_match", "cutoff"};
    return name[what];
}

void ct_case_elementwise(struct ct_case *c, enum ct_elementwise what, const float *x, const float *y,
                         float number, int n)
{
    const bool apart = what == CT_NORM && one_in(c, 2);

    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        const struct ct_kernel *k = &c->level[l];
        float *out = apart ? case_floats(c, (size_t)n, 4) : case_copy(c, x, (size_t)n);
        if (c->failed)
            return;
        c->enter(c, l, ct_elementwise_name(what), "");
        if (what == CT_NORM)
            k->norm(out, apart ? x : out, y, n, number);
        else if (what == CT_ADD)
            k->add(out, y, n);
        else if (what == CT_SCALE)
            k->scale(out, number, n);
        else if (what == CT_ADD_SCALED)
            k->add_scaled(out, number, y, n);
        else if (what == CT_GEGLU)
            k->geglu(out, y, n);
        else if (what == CT_SOFTCAP)
            k->softcap(out, number, n);
        else if (what == CT_ALTUP_MATCH)
            k->altup_match(out, y, n);
        else
            k->cutoff(out, number, n);
        settle_floats(c, l, 0, out, (size_t)n);
    }
}

/* Coefficients, the predictions by them, then what a layer made corrects these. */
void ct_case_altup(struct ct_case *c, const struct ct_stream_rows *s)
{
    enum { PREDICT = CT_STREAMS * CT_STREAMS };
    const size_t n = (size_t)s->n;

    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        const struct ct_kernel *k = &c->level[l];
        float coef[PREDICT], *stream[CT_STREAMS];
        const float *made = s->x + CT_STREAMS * n;
        float *x = case_copy(c, s->x, CT_STREAMS * n);
        if (c->failed)
            return;
        for (int i = 0; i < CT_STREAMS; i++)
            stream[i] = x + (size_t)i * n;
        c->enter(c, l, "altup_coefs", "");
        k->altup_coefs(coef, made, &(struct ct_altup){s->norm, s->router, s->coefs, PREDICT}, s->n, 1e-6f);
        settle_floats(c, l, 0, coef, PREDICT);
        c->enter(c, l, "altup_predict", "");
        k->altup_predict(stream, coef, s->n);
        settle_floats(c, l, 1, x, CT_STREAMS * n);
        c->enter(c, l, "altup_correct", "");
        k->altup_correct(stream, made, coef, s->n);
        settle_floats(c, l, 2, x, CT_STREAMS * n);
    }
}

void ct_case_route(struct ct_case *c, const float *logits, int n, int k, const float *scale)
{
    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        int32_t *id = ct_case_take(c, (size_t)k * sizeof *id, 4);
        float *weight = case_floats(c, (size_t)k, 4);
        if (c->failed)
            return;
        c->enter(c, l, "route", "");
        c->level[l].route(id, weight, logits, n, k, scale);
        settle_bytes(c, l, 0, id, (size_t)k * sizeof *id);
        settle_floats(c, l, 1, weight, (size_t)k);
    }
}

/* Frequencies, then the table of a position, then a head that it turns. */
void ct_case_rope(struct ct_case *c, const struct ct_rotation *r)
{
    const size_t n_inverse = (size_t)r->dim / 2, pairs = (size_t)r->pairs;

    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        const struct ct_kernel *k = &c->level[l];
        double *inverse = ct_case_take(c, n_inverse * sizeof *inverse, 8);
        float *cosine = case_floats(c, pairs, 4), *sine = case_floats(c, pairs, 4),
              *head = case_copy(c, r->x, (size_t)r->dim);
        if (c->failed)
            return;
        c->enter(c, l, "rope_frequencies", "");
        k->rope_frequencies(inverse, r->dim, r->base, r->factor);
        settle_bytes(c, l, 0, inverse, n_inverse * sizeof *inverse);
        c->enter(c, l, "rope_table", "");
        k->rope_table(cosine, sine, inverse, r->pairs, r->position);
        settle_floats(c, l, 1, cosine, pairs);
        settle_floats(c, l, 2, sine, pairs);
        c->enter(c, l, "rope", "");
        k->rope(head, cosine, sine, r->pairs, r->dim);
        settle_floats(c, l, 3, head, (size_t)r->dim);
    }
}

/* As they are, and with one that is not finite at the ends and in between. */
void ct_case_finite(struct ct_case *c, const float *x, int n)
{
    const int at[] = {0, n / 2, n - 1};
    bool want[1 + CT_COUNT(at)] = {true}, got[CT_COUNT(want)];

    for (int i = 0; i < n; i++)
        want[0] = want[0] && x[i] - x[i] == 0;
    case_keep(c, 0, want, sizeof want);
    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        float *y = case_copy(c, x, (size_t)n);
        if (c->failed)
            return;
        c->enter(c, l, "finite", "");
        got[0] = c->level[l].finite(y, (size_t)n);
        for (size_t i = 0; i < CT_COUNT(at); i++) {
            y[at[i]] = ct_f32_from_bits(i == 1 ? 0xff800000u : 0x7fc00000u); /* -infinity, NaN */
            got[1 + i] = c->level[l].finite(y, (size_t)n);
            y[at[i]] = x[at[i]];
        }
        c->compare_bytes(c, 0, got, sizeof got);
    }
}

/* The first above values of its own and what is not finite. */
void ct_case_above(struct ct_case *c, const float *x, int n)
{
    const float limit[] = {x[0], x[n / 3], x[n - 1], -__builtin_inff(), __builtin_inff(), __builtin_nanf("")};
    int want[CT_COUNT(limit)], got[CT_COUNT(limit)];

    for (size_t i = 0; i < CT_COUNT(limit); i++)
        for (want[i] = 0; want[i] < n && !(x[want[i]] > limit[i]);)
            want[i]++;
    case_keep(c, 0, want, sizeof want);
    for (int l = 0; l < c->n_level; l++) {
        c->enter(c, l, "above", "");
        for (size_t i = 0; i < CT_COUNT(limit); i++)
            got[i] = c->level[l].above(x, n, limit[i]);
        c->compare_bytes(c, 0, got, sizeof got);
    }
}

void ct_case_log_sum(struct ct_case *c, const float *x, int n)
{
    for (int l = 0; l < c->n_level; l++) {
        float got[2];
        c->enter(c, l, "log_sum", "");
        got[0] = c->level[l].log_sum(x, n, &got[1]);
        settle_floats(c, l, 0, got, CT_COUNT(got));
    }
}

void ct_case_entropy(struct ct_case *c, const float *x, int n)
{
    for (int l = 0; l < c->n_level; l++) {
        c->enter(c, l, "entropy", "");
        float got = c->level[l].entropy(x, n);
        settle_floats(c, l, 0, &got, 1);
    }
}

/* As asked, and the one with the highest logit; the same must come out of the others, and of the same asked
 * in another way. */
void ct_case_draw(struct ct_case *c, const struct ct_logits *logits, const struct ct_logits *others,
                  int n_others, const struct ct_draw *d, const struct ct_draw *same)
{
    struct ct_draw best = *d, same_best = same ? *same : *d;
    int most = logits->n;

    for (int i = 0; i < n_others; i++)
        most = CT_MAX(most, others[i].n);
    best.temperature = same_best.temperature = 0;
    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        const struct ct_kernel *k = &c->level[l];
        void *array[CT_DRAW_ARRAYS];
        for (int i = 0; i < CT_DRAW_ARRAYS; i++)
            array[i] = case_floats(c, (size_t)most, 4);
        if (c->failed)
            return;
        struct ct_draw_room room = {array[0], array[1], array[2], array[3], array[4], array[5]};
        c->enter(c, l, "draw", "");
        int32_t id[2] = {k->draw(logits, d, &room), k->draw(logits, &best, &room)};
        settle_bytes(c, l, 0, id, sizeof id);
        for (int i = 0; i < n_others; i++) {
            id[0] = k->draw(&others[i], d, &room);
            id[1] = k->draw(&others[i], &best, &room);
            c->compare_bytes(c, 0, id, sizeof id);
        }
        if (same) {
            id[0] = k->draw(logits, same, &room);
            id[1] = k->draw(logits, &same_best, &room);
            c->compare_bytes(c, 0, id, sizeof id);
        }
    }
}

/* ---- the rows of a head ---- */

void ct_case_select(struct ct_case *c, const struct ct_logits *l, int k, const int32_t *excluded,
                    int n_excluded)
{
    const size_t n = (size_t)l->n, room = (size_t)CT_MIN(k, l->n);

    for (int at = 0, mark = c->mark(c); at < 2 * c->n_level; at++, c->release(c, mark)) {
        const bool sorts = at % 2;
        int32_t *best = ct_case_take(c, (sorts ? n : room) * sizeof *best, 4),
                *spare = sorts ? ct_case_take(c, n * sizeof *spare, 4) : NULL,
                *got = ct_case_take(c, (room + 1) * sizeof *got, 4);
        if (c->failed)
            return;
        c->enter(c, at / 2, "select", sorts ? ", sorts" : ", heap");
        int kept = c->level[at / 2].select(best, l, k, excluded, n_excluded, spare);
        memset(got, 0, (room + 1) * sizeof *got);
        memcpy(got, &kept, sizeof kept);
        memcpy(got + 1, best, (size_t)kept * sizeof *best);
        settle_bytes(c, at, 0, got, (room + 1) * sizeof *got);
    }
}

void ct_case_input_norms(struct ct_case *c, const float *x, int n)
{
    struct ct_input_norms norms[CT_INPUT_COUNT];

    for (int l = 0; l < c->n_level; l++) {
        c->enter(c, l, "input_norms", "");
        for (int form = 0; form < CT_INPUT_COUNT; form++) {
            c->level[l].input_norms(&norms[form], x, n, (enum ct_input)form);
            if (!(norms[form].int8 >= 0)) /* a NaN has many bits */
                norms[form].int8 = -1;
            if (!(norms[form].apart >= 0))
                norms[form].apart = -1;
            if (!(norms[form].dense >= 0))
                norms[form].dense = -1;
        }
        settle_bytes(c, l, 0, norms, sizeof norms);
    }
}

void ct_case_prune(struct ct_case *c, const struct ct_prune *p)
{
    const size_t panels = (size_t)(p->n + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS;

    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark)) {
        int32_t count[2], *list = ct_case_take(c, panels * sizeof *list, 4);
        if (c->failed)
            return;
        memset(list, 0, panels * sizeof *list);
        c->enter(c, l, "prune", "");
        count[0] = c->level[l].prune(list, &count[1], p);
        settle_bytes(c, l, 0, count, sizeof count);
        settle_bytes(c, l, 1, list, panels * sizeof *list);
    }
}

void ct_case_uncap(struct ct_case *c, float capped, float cap)
{
    for (int l = 0; l < c->n_level; l++) {
        c->enter(c, l, "uncap", "");
        float lowest = c->level[l].uncap(capped, cap);
        settle_floats(c, l, 0, &lowest, 1);
    }
}

/* ---- attention ---- */

static struct ct_attended take_attended(struct ct_case *c, size_t n, size_t dim)
{
    return (struct ct_attended){case_floats(c, n, 4), case_floats(c, n, 4), case_floats(c, n * dim, 64)};
}

/* Compares what a tile made of some keys. It says nothing about queries that saw none, and of scores with a
 * NaN only that it comes out. */
static void settle_attended(struct ct_case *c, int level, int place, const struct ct_attended *a, int n,
                            int dim)
{
    float all[CT_QUERIES * (CT_MAX_HEAD_DIM + 2)] = {0};

    for (int i = 0; i < n; i++) {
        float *to = all + i * (dim + 2);
        if (a->sum[i] == 0)
            continue;
        to[0] = a->sum[i];
        to[1] = a->sum[i] != a->sum[i] ? a->sum[i] : a->max[i] + 0.0f; /* the zeros are one */
        memcpy(to + 2, a->out + i * dim, (size_t)dim * sizeof *to);
    }
    settle_floats(c, level, place, all, (size_t)(n * (dim + 2)));
}

static void attend_with(struct ct_case *c, const struct ct_attention *a, int level, int lo, int hi)
{
    const struct ct_kernel *k = &c->level[level];
    const size_t dim = (size_t)a->dim, n = (size_t)a->tile.n,
                 bytes = ct_kv_bytes(a->type, a->capacity, a->dim);
    struct ct_kv_head kv = {a->type, a->capacity, a->dim, ct_case_take(c, bytes, 64),
                            ct_case_take(c, bytes, 64)};

    if (c->failed)
        return;
    if (a->fill)
        a->fill(c, &kv);
    c->enter(c, level, "kv_write", "");
    for (int i = CT_MIN(a->n_stored, hi + 1) - 1; i >= 0; i--) {
        const float *row = a->stored + 2 * (size_t)i * dim;
        ct_kv_write(k, &kv, hi - i, row, row + dim);
    }
    settle_bytes(c, level, 0, kv.k, bytes);
    settle_bytes(c, level, 1, kv.v, bytes);
    c->freeze(c, kv.k);
    c->freeze(c, kv.v);

    struct ct_queries tile = a->tile;
    tile.q = case_floats(c, CT_QUERIES * dim, 64);
    float *scratch = case_floats(c, CT_ATTEND_SCRATCH, 64), *out = case_floats(c, n * dim, 4);
    struct ct_attended all = take_attended(c, n, dim), last = take_attended(c, n, dim);
    if (c->failed)
        return;
    c->enter(c, level, "attend", "");
    ct_call_attend(k, &all, &last, &tile, a->q, &kv, lo, hi, a->scale, a->cap, scratch);
    for (int i = 0; i < tile.n; i++)
        k->attend_finish(out + (size_t)i * dim, &all, i, a->dim);
    settle_attended(c, level, 2, &last, tile.n, a->dim);
    settle_floats(c, level, 3, out, n * dim);
}

/* K and V stored, then a tile of queries over every block that one of them sees, merged and divided. */
void ct_case_attend(struct ct_case *c, const struct ct_attention *a)
{
    int lo = a->tile.lo[0], hi = a->tile.hi[0];

    for (int i = 1; i < a->tile.n; i++) {
        lo = CT_MIN(lo, a->tile.lo[i]);
        hi = CT_MAX(hi, a->tile.hi[i]);
    }
    for (int l = 0, mark = c->mark(c); l < c->n_level; l++, c->release(c, mark))
        attend_with(c, a, l, lo, hi);
}
