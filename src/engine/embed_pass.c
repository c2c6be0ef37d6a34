/* SPDX-License-Identifier: Apache-2.0 */
/* embed_pass.c: vectors of texts: which texts go through the next pass together, and what becomes of
 * each. A text is a sequence that lives for one pass: a slot of the KV cache without a session. How a
 * vector comes about is model/vector.c's.
 *
 * An embedder is an architecture whose rows see those behind them (ct_config.embeds): the same forward pass
 * with other intervals. No K and V outlive a layer, so all layers of a kind have one place
 * (ct_kv_extent.for_pass), and the engine has no logits of rows and no tokens that somebody comes back to.
 * The means of a pass go through the matrices as a pass of their own. */
#include "engine/row_logits.h"
#include "os/clock.h"

#include <stdlib.h>

/* One call of carat_embed. */
struct call {
    carat_engine *engine;
    carat_embed_input *inputs;
    int n;
    carat_embed_options o;
    int dim;
    int next;            /* input that no pass has taken yet */
    int rows, texts;     /* of the pass under way */
    int done_texts;      /* inputs that are through */
    size_t done, tokens; /* of those that go through, and in all */
    bool stopped;        /* a callback wanted that */
    int failed;          /* the first input that failed; n: none */
    carat_error *err;    /* of that one */
};

static void __attribute__((format(printf, 4, 5)))
fail_input(struct call *c, int i, carat_status status, const char *format, ...)
{
    char message[sizeof c->err->message];

    CT_FORMAT(message, format);
    c->inputs[i].status = status;
    if (i < c->failed) {
        ct_fail(c->err, status, "%s", message);
        c->failed = i;
    }
}

static void check_input(struct call *c, int i)
{
    const carat_embed_input *in = &c->inputs[i];
    const carat_engine *e = c->engine;

    c->inputs[i].status = CARAT_OK;
    if (!in->tokens || in->n < 1 || !in->vector) {
        fail_input(c, i, CARAT_E_ARGUMENT,
                   in->vector ? "text %d has no tokens, expected at least 1"
                              : "text %d has no place for its vector",
                   i);
        return;
    }
    for (int k = 0; k < in->n; k++)
        if (in->tokens[k] < 0 || in->tokens[k] >= e->config.n_vocab) {
            fail_input(c, i, CARAT_E_ARGUMENT, "text %d: id %d at index %d is outside the vocabulary of %d",
                       i, in->tokens[k], k, e->config.n_vocab);
            return;
        }
    if (in->n > e->plan.context)
        fail_input(c, i, CARAT_E_CONTEXT, "text %d has %d tokens, expected at most %d", i, in->n,
                   e->plan.context);
    else
        c->tokens += (size_t)in->n;
}

/* ---- a pass ---- */

/* Takes the next texts that fit. */
static void gather_texts(struct call *c)
{
    carat_engine *e = c->engine;

    c->rows = c->texts = 0;
    for (; c->next < c->n && c->texts < e->plan.sessions; c->next++) {
        const carat_embed_input *in = &c->inputs[c->next];
        if (in->status)
            continue;
        if (in->n > e->plan.chunk - c->rows)
            break;
        const int slot = c->texts++;
        const bool has_room = ct_kv_extend(&e->cache, slot, in->n);
        assert(has_room); /* the plan has a block for each text, and those of a pass */
        (void)has_room;
        e->text[slot] = c->next;
        for (int i = 0; i < in->n; i++) {
            const int at = c->rows++;
            e->rows.token[at] = in->tokens[i];
            e->rows.position[at] = i;
            e->rows.sequence[at] = slot;
            e->rows.wanted[at] = true;
            for (int k = 0; k < CT_ATTN_TYPES; k++) {
                const int window = e->config.attn[k].window;
                e->rows.seen[k][at] =
                    (struct ct_seen){ct_first_seen(window, i), ct_last_seen(window, i, in->n)};
            }
        }
    }
}

static int ask_caller(void *user)
{
    struct call *c = user;
    const struct ct_pass *p = &c->engine->pass;
    const size_t layers = (size_t)p->config->n_layer,
                 passed = (size_t)CT_MIN(p->layer, p->config->n_layer - 1);

    if (!c->stopped && c->o.watch)
        c->stopped = c->o.watch(c->o.user, c->done + (size_t)c->rows * passed / layers, c->tokens) != 0;
    return c->stopped;
}

/* The means of the texts, as the pass has left them. One whose K or V was not finite has zeros in them, which
 * nobody is to take for a vector. */
static void take_means(struct call *c)
{
    carat_engine *e = c->engine;

    for (int slot = 0, at = 0; slot < c->texts; slot++) {
        carat_embed_input *in = &c->inputs[e->text[slot]];
        for (int i = at; i < at + in->n; i++)
            if (!e->backend->verb.is_finite(e->backend, i))
                in->status = CARAT_E_NUMERIC;
        ct_vector_mean(&e->vectors, &e->pass, slot, at, in->n);
        at += in->n;
    }
}

static void give_vectors(struct call *c)
{
    carat_engine *e = c->engine;

    for (int slot = 0; slot < c->texts; slot++) {
        const int i = e->text[slot];
        carat_embed_input *in = &c->inputs[i];
        carat_error why = {CARAT_E_NUMERIC, ""};
        if (ct_vector_give(&e->vectors, &e->pass, slot, c->o.raw != 0, in->vector, c->dim) && !in->status)
            continue;
        if (i < c->failed && c->err)
            (void)ct_fail_not_finite(e, &why);
        fail_input(c, i, why.code, "text %d: %s", i, why.message);
    }
}

/* One pass over the next texts, and one over their means. False: the device failed in it. */
static bool pass_over_texts(struct call *c)
{
    carat_engine *e = c->engine;
    struct ct_backend *b = e->backend;
    const struct ct_watch watch = {ask_caller, c};
    const struct ct_rows rows = {
        c->rows,        e->rows.token, e->rows.position, e->rows.sequence, {e->rows.seen[0], e->rows.seen[1]},
        e->rows.wanted, false};
    struct ct_pass_facts pass = {.rows = c->rows, .depth = 1, .seconds = ct_os_seconds()};

    ct_choose_side(e, &pass);
    ct_pass_run(&e->pass, &rows, &watch);
    take_means(c);
    if (!c->o.raw && e->config.n_dense) {
        end_pass(b);
        ct_vectors_project(&e->vectors, &e->pass, c->texts, &watch);
    }
    const bool whole = !b->failure.code;
    if (!c->stopped && whole)
        give_vectors(c);
    end_pass(b);
    pass.seconds = ct_os_seconds() - pass.seconds;
    if (!c->stopped && whole)
        ct_stats_pass(&e->stats, &pass);
    for (int slot = 0; slot < c->texts; slot++)
        ct_kv_cut(&e->cache, slot, 0, 0, false);
    return whole;
}

/* The next texts. What a device did not finish is made again by the CPU. */
static void run_texts(struct call *c)
{
    carat_engine *e = c->engine;
    const int first = c->next;

    ct_lock_enter(&e->lock);
    gather_texts(c);
    bool whole = c->texts == 0 || pass_over_texts(c);
    if (!whole && ct_engine_leave_device(e)) {
        c->next = first;
        gather_texts(c);
        whole = pass_over_texts(c);
    }
    for (int slot = 0; slot < c->texts && !whole; slot++)
        fail_input(c, e->text[slot], e->backend->failure.code, "text %d: %s", e->text[slot],
                   e->backend->failure.message);
    ct_lock_leave(&e->lock);
}

/* Texts that a callback kept from being done. */
static void cancel_rest(struct call *c)
{
    for (int i = c->done_texts; i < c->n; i++)
        if (!c->inputs[i].status)
            fail_input(c, i, CARAT_E_CANCELLED, "making vectors was cancelled after %zu of %zu tokens",
                       c->done, c->tokens);
}

/* ---- what is asked for ---- */

static carat_status check_call(struct call *c, carat_error *err)
{
    const carat_engine *e = c->engine;
    const struct ct_config *config = &e->config;

    if (!config->embeds)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s: a model of architecture %s generates text and gives no vectors: expected an embedder",
            ct_file_path(e->model->file), config->architecture);
    if (config->n_dense == 0 && !c->o.raw)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s: the model has no dense heads (modules 2_Dense and 3_Dense, in GGUF dense_2.weight and "
            "dense_3.weight), without which it gives the raw mean alone: ask for that (raw, "
            "--no-dense), or convert the model with them",
            ct_file_path(e->model->file));
    const int width = ct_vector_width(config, c->o.raw != 0);
    CT_TRY(ct_check_range("dim", c->o.dim, 0, width, err));
    c->dim = c->o.dim ? c->o.dim : width;
    return CARAT_OK;
}

carat_status ct_embed(carat_engine *engine, carat_embed_input *inputs, int n,
                      const carat_embed_options *options, carat_error *err)
{
    struct call c = {.engine = engine, .inputs = inputs, .n = n, .failed = n, .err = err};

    CT_TRY(ct_take_struct(&c.o, sizeof c.o, options, "carat_embed_options", err));
    CT_TRY(check_call(&c, err));
    for (int i = 0; i < n; i++)
        check_input(&c, i);
    while (c.done_texts < n && !c.stopped) {
        run_texts(&c);
        if (c.stopped)
            break;
        c.done_texts = c.next;
        c.done += (size_t)c.rows;
        c.stopped = c.o.progress && c.o.progress(c.o.user, c.done, c.tokens);
    }
    cancel_rest(&c);
    return c.failed < n ? inputs[c.failed].status : CARAT_OK;
}

carat_status carat_embed(carat_engine *engine, carat_embed_input *inputs, size_t input_size, int n,
                         const carat_embed_options *options, carat_error *err)
{
    void *copy;

    if (!engine || !inputs || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine or inputs is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_array(&copy, inputs, input_size, n, sizeof *inputs, "carat_embed_input", err));
    carat_status status = ct_embed(engine, copy ? copy : inputs, n, options, err);
    free(copy);
    return status;
}
