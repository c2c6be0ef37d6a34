/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.c: carat_bisect: whether two engines can be held against each other, which rows are compared, in how
 * many runs, and what is told of them. The operations are bisect_operations.c's, the runs bisect_pass.c's,
 * the verdict bisect_judge.c's. */
#include "check/bisect.h"

#include <stdlib.h>

/* ---- whether two engines can be compared ---- */

static carat_status same_number(const char *what, int layer, int ref, int test, carat_error *err)
{
    if (ref == test)
        return CARAT_OK;
    char where[32] = "";
    if (layer >= 0)
        snprintf(where, sizeof where, "in layer %d ", layer);
    return ct_fail(err, CARAT_E_UNSUPPORTED, "%sthe reference has %s %d and the test %d, expected the same",
                   where, what, ref, test);
}

static carat_status same_layer(const struct ct_bisect *b, int layer, carat_error *err)
{
    const struct ct_layer *ref = &b->engine[CT_REF]->weights.layer[layer];
    const struct ct_layer *test = &b->engine[CT_TEST]->weights.layer[layer];
    const int shown = b->engine[CT_REF]->first_layer + layer;

    CT_TRY(same_number("heads", shown, ref->c.n_head, test->c.n_head, err));
    CT_TRY(same_number("heads of K and V", shown, ref->c.n_kv_head, test->c.n_kv_head, err));
    CT_TRY(same_number("a head of size", shown, ref->c.head_dim, test->c.head_dim, err));
    CT_TRY(same_number("a feed-forward of size", shown, ref->c.ffn, test->c.ffn, err));
    CT_TRY(same_number("experts", shown, ref->c.n_expert, test->c.n_expert, err));
    CT_TRY(same_number("experts of a row:", shown, ref->c.n_used, test->c.n_used, err));
    CT_TRY(same_number("experts of size", shown, ref->c.expert_ffn, test->c.expert_ffn, err));
    CT_TRY(same_number("K and V of layer", shown, ref->c.kv_layer, test->c.kv_layer, err));
    return same_number("a gate that is cut off:", shown, ref->c.cutoff > 0, test->c.cutoff > 0, err);
}

static carat_status same_shape(const struct ct_bisect *b, carat_error *err)
{
    const carat_engine *ref = b->engine[CT_REF], *test = b->engine[CT_TEST];
    const struct ct_config *r = &ref->config, *t = &test->config;

    CT_TRY(same_number("a number of layers of", -1, r->n_layer, t->n_layer, err));
    CT_TRY(same_number("a first layer of", -1, ref->first_layer, test->first_layer, err));
    CT_TRY(same_number("a hidden size of", -1, r->hidden, t->hidden, err));
    CT_TRY(same_number("a vocabulary of", -1, r->n_vocab, t->n_vocab, err));
    CT_TRY(same_number("norms behind its blocks:", -1, r->post_norms, t->post_norms, err));
    CT_TRY(same_number("norms of heads:", -1, r->qk_norms, t->qk_norms, err));
    CT_TRY(same_number("inputs of layers of a width of", -1, r->ple_width, t->ple_width, err));
    CT_TRY(same_number("scales of layers:", -1, r->out_scales, t->out_scales, err));
    CT_TRY(same_number("streams beside the first:", -1, r->altup, t->altup, err));
    for (int i = 0; i < r->n_layer; i++)
        CT_TRY(same_layer(b, i, err));
    return CARAT_OK;
}

/* ---- rows that are compared ---- */

/* n numbers from first to last, spread evenly, both included where there are two. */
static int spread(int32_t *to, int n, int first, int last)
{
    n = CT_MIN(n, last - first + 1);
    for (int i = 0; i < n; i++)
        to[i] = n == 1 ? last : first + (int32_t)((int64_t)i * (last - first) / (n - 1));
    return n;
}

/* Position 0 is left out: what a model does with its first token is unlike all else, and large. */
static int choose_rows(const carat_engine *ref, const carat_engine *test, int n, int rows,
                       int32_t row[CARAT_MOST_BISECT_ROWS])
{
    int window = 0; /* the larger one: from there on a row looks through it in both */

    if (n < 2 || rows < 0 || rows > CARAT_MOST_BISECT_ROWS)
        return 0;
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        window = CT_MAX(window, CT_MAX(ref->config.attn[i].window, test->config.attn[i].window));
    rows = CT_MIN(rows ? rows : CT_BISECT_ROWS, n - 1);
    if (window == 0 || window >= n - 1 || rows < 2)
        return spread(row, rows, 1, n - 1);
    int beyond = CT_MIN((rows + 1) / 2, n - window);
    int before = spread(row, rows - beyond, 1, window - 1);
    return before + spread(row + before, rows - before, window, n - 1);
}

int carat_bisect_rows(const carat_engine *ref, const carat_engine *test, int n, int rows,
                      int32_t position[CARAT_MOST_BISECT_ROWS])
{
    return ref && test && position ? choose_rows(ref, test, n, rows, position) : 0;
}

/* ---- runs ---- */

/* Behind the last operation that is judged in one run with the first. */
static int end_of_run(const struct ct_bisect *b, int first)
{
    size_t channels = (size_t)b->judged[first].width;
    int end = first + 1;

    for (; end < b->n_judged; end++) {
        channels += (size_t)b->judged[end].width;
        if (channels * 2 * sizeof(double) > b->o->bytes)
            break;
    }
    return end;
}

/* Judges operations [first, end) on the reference's inputs. */
static carat_status judge_some(struct ct_bisect *b, int first, int end, carat_error *err)
{
    size_t channels = 0, widest = 0;

    for (int i = first; i < end; i++) {
        channels += (size_t)b->judged[i].width;
        widest = CT_MAX(widest, (size_t)b->judged[i].width);
    }
    double *sums = calloc(2 * channels + widest, sizeof *sums), *at = sums;

    if (!sums)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for the errors of %zu channels", channels);
    for (int i = first; i < end; i++) {
        b->judged[i].error = at;
        b->judged[i].size = at + b->judged[i].width;
        at += 2 * b->judged[i].width;
    }
    carat_status status = ct_bisect_pass(b, err);
    for (int i = first; i < end; i++) {
        if (!status && b->judged[i].width > 0)
            ct_bisect_channels(&b->judged[i], at);
        b->judged[i].error = b->judged[i].size = NULL;
    }
    free(sums);
    return status;
}

static carat_status run_bisection(struct ct_bisect *b, carat_error *err)
{
    const carat_engine *ref = b->engine[CT_REF], *test = b->engine[CT_TEST];
    const struct ct_bisect_modes modes = {
        {ref->exact, test->exact}, {ref->kv_type, test->kv_type}, b->n_rows};

    CT_TRY(ct_bisect_operations(b, err));
    b->total = (size_t)b->n;
    for (int first = 0; first < b->n_judged; first = end_of_run(b, first))
        b->total += (size_t)b->n;
    b->replaces = true;
    for (int first = 0, end; first < b->n_judged; first = end) {
        end = end_of_run(b, first);
        CT_TRY(judge_some(b, first, end, err));
    }
    b->replaces = false;
    CT_TRY(ct_bisect_pass(b, err));
    return ct_bisect_judge(b->judged, b->n_judged, &modes, err);
}

static carat_status tell(const struct ct_bisect *b, carat_operation_error *first, carat_error *err)
{
    *first = (carat_operation_error){.size = sizeof *first, .layer = -1, .reason = ""};
    for (int i = 0; i < b->n_judged; i++) {
        const struct ct_judged *j = &b->judged[i];
        if (j->width == 0)
            continue;
        if (j->result.flagged && !first->operation)
            *first = j->result;
        if (b->o->on_operation && b->o->on_operation(b->o->user, &j->result))
            return ct_fail(err, CARAT_E_CANCELLED, "the callback ended the table of operations");
    }
    return CARAT_OK;
}

carat_status carat_bisect(carat_engine *ref, carat_engine *test, const int32_t *tokens, int n,
                          const carat_bisect_options *options, carat_operation_error *first, carat_error *err)
{
    CT_GIVEN(ref, err);
    CT_GIVEN(test, err);
    CT_GIVEN(tokens, err);
    carat_bisect_options o = {0};
    carat_operation_error full;
    struct ct_bisect b = {.engine = {ref, test}, .o = &o, .tokens = tokens, .n = n};

    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_bisect_options", err));
    CT_TRY(ct_check_struct(first, sizeof full, "carat_operation_error", err));
    if (ref == test)
        return ct_fail(err, CARAT_E_ARGUMENT, "ref and test are the same engine, expected two");
    if (n < 2)
        return ct_fail(err, CARAT_E_ARGUMENT, "n is %d, expected at least 2 tokens", n);
    if (o.rows < 0 || o.rows > CARAT_MOST_BISECT_ROWS)
        return ct_fail(err, CARAT_E_ARGUMENT, "rows is %d, expected 0 to %d", o.rows, CARAT_MOST_BISECT_ROWS);
    o.bytes = o.bytes ? o.bytes : CT_BISECT_BYTES;
    CT_TRY(same_shape(&b, err));
    for (int i = 0; i < 2; i++)
        if (n > b.engine[i]->plan.context)
            return ct_fail(err, CARAT_E_CONTEXT, "%d tokens do not fit in a context of %d", n,
                           b.engine[i]->plan.context);
    b.n_rows = choose_rows(ref, test, n, o.rows, b.row);
    carat_status status = run_bisection(&b, err);
    if (!status)
        status = tell(&b, &full, err);
    free(b.judged);
    return status ? status : ct_give_struct(first, &full, sizeof full, "carat_operation_error", err);
}
