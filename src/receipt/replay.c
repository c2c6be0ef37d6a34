/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: a receipt computed once more. Prompt and answer are evaluated in passes of a prompt, where every
 * row has the bits that it had alone; a listener takes the state behind each token of the answer into the
 * chain of digests, and each id is drawn from its row's logits by the generation that drew it, from the
 * history as it was. Nothing is evaluated before all is checked. */
#include <stdlib.h>

#include "base/arguments.h"
#include "listen/listener.h"
#include "os/clock.h"
#include "receipt/receipt.h"

struct replay {
    const carat_receipt *r;
    carat_engine *engine;
    carat_replay_options o;
    carat_replay result;
    carat_error *err;
    const int32_t *ids; /* [n_prompt + n_answer], of the receipt or of the caller */
    int n_prompt, tokens;
    int draws; /* tokens, and one more where the answer ended since nothing could be drawn */

    carat_session *session;
    carat_generation *generation; /* NULL: no id is drawn */
    carat_constraint *form;
    carat_matcher *matcher;
    struct ct_header_options settings;

    struct ct_pass_listener listener;
    struct ct_hashes *hashes; /* of operations; NULL: nobody asks for them */
    float *state;             /* [hidden] */
    struct ct_digests digests;

    int at;        /* tokens of the answer that are behind us */
    int first;     /* that of the slice under way */
    int *wanted;   /* [chunk] rows of the slice whose id is drawn */
    int evaluated; /* tokens of the whole, before the pass under way */
};

/* Token number i of the answer, the id that ended it being the last. */
static int32_t came(const struct replay *p, int i)
{
    return i < p->r->n_answer ? p->ids[p->n_prompt + i] : p->r->end_id;
}

/* ---- what must be right before anything is evaluated ---- */

/* Whose value another one is. */
static const char the_library[] = "this library's", the_model[] = "the model's",
                  the_engine[] = "the engine's";

static carat_status replay_refuse(const struct replay *p, const char *what, const char *receipt,
                                  const char *whose, const char *here)
{
    return ct_fail(p->err, CARAT_E_UNSUPPORTED, "%s: %s is %s, but %s is %s", p->r->name, what, receipt,
                   whose, here);
}

static carat_status check_number(const struct replay *p, const char *what, int receipt, const char *whose,
                                 int here)
{
    char a[16], b[16];

    snprintf(a, sizeof a, "%d", receipt);
    snprintf(b, sizeof b, "%d", here);
    return receipt == here ? CARAT_OK : replay_refuse(p, what, a, whose, b);
}

/* Says what it takes where a context is too small. */
static carat_status refuse_length(const struct replay *p)
{
    carat_engine_options options = {.size = sizeof options};
    carat_head_options head = {.size = sizeof head};
    carat_plan plan = {.size = sizeof plan};
    char needs[64] = "";

    CT_TRY(carat_receipt_engine(p->r, &options, &head, p->err));
    if (carat_plan_engine(p->engine->model, &options, &plan, NULL) == CARAT_OK)
        snprintf(needs, sizeof needs, "; an engine for them needs %s", ct_size(plan.bytes).text);
    return ct_fail(p->err, CARAT_E_ARGUMENT,
                   "%s: prompt and answer have %d tokens, and the engine has a context of %d%s", p->r->name,
                   p->n_prompt + p->r->n_answer, p->engine->plan.context, needs);
}

static carat_status check_model(const struct replay *p)
{
    const struct ct_receipt_header *h = &p->r->header;
    carat_engine *e = p->engine;
    char vocabulary[CT_RECEIPT_HEX + 1];

    CT_TRY(check_number(p, "header.numerics", h->numerics, the_library, CARAT_NUMERICS_VERSION));
    CT_TRY(check_number(p, "header.drawing", h->drawing, the_library, CARAT_DRAWING_VERSION));
    ct_lock_enter(&e->lock);
    carat_status status = ct_engine_content(e, p->err);
    ct_lock_leave(&e->lock);
    if (status)
        return status;
    if (strcmp(h->content, e->content) != 0)
        return ct_fail(
            p->err, CARAT_E_UNSUPPORTED,
            "%s: header.content is %s, but the model's content hash is %s: it is another model, or "
            "has weights of other types",
            p->r->name, h->content, e->content);
    ct_vocabulary_hash(e->model, vocabulary);
    if (strcmp(h->vocabulary, vocabulary) != 0)
        return replay_refuse(p, "header.vocabulary", *h->vocabulary ? h->vocabulary : "none", the_model,
                             *vocabulary ? vocabulary : "none");
    return CARAT_OK;
}

static carat_status check_engine(const struct replay *p)
{
    const struct ct_receipt_header *h = &p->r->header;
    const carat_engine *e = p->engine;
    const bool approximate = !e->head.stats.exact;

    if (h->arithmetic != (int)ct_engine_arithmetic(e))
        return replay_refuse(p, "header.arithmetic", ct_arithmetic_name(h->arithmetic), the_engine,
                             ct_arithmetic_name(ct_engine_arithmetic(e)));
    if (h->kv + 1 != (int)ct_kv_info(e->kv_type)->kv)
        return replay_refuse(p, "header.kv", carat_kv_name((carat_kv)(h->kv + 1)), the_engine,
                             ct_kv_info(e->kv_type)->name);
    if (h->activations_f16 != (e->f16 != NULL))
        return replay_refuse(p, "header.activations", h->activations_f16 ? "f16" : "f32", the_engine,
                             e->f16 ? "f16" : "f32");
    CT_TRY(check_number(p, "header.first_layer", h->first_layer, the_engine, e->first_layer));
    CT_TRY(check_number(p, "header.layers", h->layers, the_engine, e->config.n_layer));
    if (h->has_head != approximate)
        return replay_refuse(p, "header.head", h->has_head ? "approximate" : "exact", the_engine,
                             approximate ? "approximate" : "exact");
    if (h->has_head) {
        CT_TRY(check_number(p, "header.head.strategy", h->strategy, the_engine, (int)e->head.stats.strategy));
        CT_TRY(check_number(p, "header.head.quant", h->quant, the_engine, (int)e->head.o.quant));
        CT_TRY(check_number(p, "header.head.tile", h->tile, the_engine, e->head.stats.tile));
        CT_TRY(check_number(p, "header.head.tiles", h->tiles, the_engine, e->head.o.shortlist_tiles));
    }
    return p->n_prompt + p->r->n_answer > e->plan.context ? refuse_length(p) : CARAT_OK;
}

/* The ids of a private receipt are the caller's, and must have the hash that it has. */
static carat_status take_private(struct replay *p, int32_t **memory)
{
    const carat_receipt *r = p->r;
    const carat_replay_options *o = &p->o;
    uint8_t sha[CT_SHA256];

    if (!o->prompt || !o->answer)
        return ct_fail(p->err, CARAT_E_UNSUPPORTED,
                       "%s: the receipt is private: it has no ids of the %s, and none are given", r->name,
                       o->prompt ? "answer" : "prompt");
    if (o->n_prompt != r->n_prompt || o->n_answer != r->n_answer)
        return ct_fail(p->err, CARAT_E_UNSUPPORTED,
                       "%s: the given prompt and answer have %d and %d ids, expected %d and %d", r->name,
                       o->n_prompt, o->n_answer, r->n_prompt, r->n_answer);
    CT_TRY(ct_ids_sha(sha, r->salt, o->prompt, o->n_prompt, p->err));
    if (memcmp(sha, r->prompt_sha, sizeof sha) != 0)
        return ct_fail(p->err, CARAT_E_UNSUPPORTED,
                       "%s: the given prompt has another hash than the receipt's", r->name);
    CT_TRY(ct_ids_sha(sha, r->salt, o->answer, o->n_answer, p->err));
    if (memcmp(sha, r->answer_sha, sizeof sha) != 0)
        return ct_fail(p->err, CARAT_E_UNSUPPORTED,
                       "%s: the given answer has another hash than the receipt's", r->name);
    int32_t *ids = malloc(((size_t)o->n_prompt + (size_t)o->n_answer) * sizeof *ids);
    if (!ids)
        return ct_no_memory(p->err, r->name);
    memcpy(ids, o->prompt, (size_t)o->n_prompt * sizeof *ids);
    memcpy(ids + o->n_prompt, o->answer, (size_t)o->n_answer * sizeof *ids);
    p->ids = *memory = ids;
    return CARAT_OK;
}

static carat_status check_ids(const struct replay *p)
{
    const carat_receipt *r = p->r;
    const int n_vocab = p->engine->model->config.n_vocab;
    const int n = p->n_prompt + r->n_answer;
    uint8_t sha[CT_SHA256];

    for (int i = 0; i < n; i++)
        if (p->ids[i] < 0 || p->ids[i] >= n_vocab)
            return ct_fail(p->err, CARAT_E_FORMAT, "%s: predicate.%s.ids[%d] is %d, expected an id below %d",
                           r->name, i < p->n_prompt ? "prompt" : "answer",
                           i < p->n_prompt ? i : i - p->n_prompt, (int)p->ids[i], n_vocab);
    if (r->end_id >= n_vocab)
        return ct_fail(p->err, CARAT_E_FORMAT, "%s: predicate.answer.end is %d, expected an id below %d",
                       r->name, (int)r->end_id, n_vocab);
    CT_TRY(ct_text_sha(sha, r->is_private ? r->salt : NULL, p->engine->model->tokenizer, p->ids + p->n_prompt,
                       r->n_answer, p->err));
    if (memcmp(sha, r->text_sha, sizeof sha) != 0)
        return ct_fail(p->err, CARAT_E_FORMAT,
                       "%s: subject[1].digest.sha256 is another hash than that of the text of the answer",
                       r->name);
    return CARAT_OK;
}

/* Settings are checked by the generation that they make; where it takes none, the receipt is wrong. */
static carat_status as_format(const struct replay *p, carat_status status, const carat_error *why)
{
    if (status == CARAT_E_ARGUMENT)
        return ct_fail(p->err, CARAT_E_FORMAT, "%s: header: %s", p->r->name, why->message);
    return status ? ct_fail(p->err, status, "%s", why->message) : CARAT_OK;
}

static carat_status open_form(struct replay *p)
{
    struct ct_receipt_header given;
    const struct ct_receipt_header *h = &p->r->header;

    if (!p->o.form)
        return ct_fail(p->err, CARAT_E_UNSUPPORTED,
                       "%s: header.constraint: the answer has a form, and none is given", p->r->name);
    CT_TRY(ct_header_form(&given, p->o.form, p->err));
    if (strcmp(given.form_sha256, h->form_sha256) != 0)
        return replay_refuse(p, "header.constraint.sha256", h->form_sha256, "that of the given form",
                             given.form_sha256);
    if (given.form != h->form || given.one_call != h->one_call || given.json_dumps != h->json_dumps ||
        strcmp(given.tool_choice ? given.tool_choice : "auto", h->tool_choice ? h->tool_choice : "auto") != 0)
        return ct_fail(p->err, CARAT_E_UNSUPPORTED,
                       "%s: header.constraint: the given form is of another kind, or has other options",
                       p->r->name);
    CT_TRY(carat_constraint_create(&p->form, p->engine->model, p->o.form, p->err));
    return carat_matcher_create(&p->matcher, p->form, p->err);
}

static carat_status open_generation(struct replay *p)
{
    const struct ct_receipt_header *h = &p->r->header;
    carat_error why;

    ct_header_options(&p->settings, h);
    if (h->has_form)
        CT_TRY(open_form(p));
    p->settings.sampling.matcher = p->matcher;
    carat_status status = carat_generation_create(&p->generation, p->session, &p->settings.generation, &why);
    CT_TRY(as_format(p, status, &why));
    p->generation->context = h->context;
    return CARAT_OK;
}

/* ---- states ---- */

/* The state behind a token of the prompt's last or the answer is what the next one was drawn from. */
static void take_state(struct replay *p, struct ct_backend *b, ct_mat m, int row, int position)
{
    const int i = position + 1 - p->n_prompt, hidden = p->engine->config.hidden;
    const int step = CARAT_RECEIPT_STEP;
    ct_digest d;

    if (i != p->digests.n || i >= p->tokens)
        return;
    b->verb.copy_out(b, p->state, m, row);
    memcpy(d, p->digests.last, CT_DIGEST);
    ct_digest_token(d, (uint32_t)position + 1, came(p, i), p->state, hidden);
    ct_digests_add(&p->digests, d);
    if (p->digests.n % step || p->result.states_differ >= 0)
        return;
    const int k = p->digests.n_kept - 1;
    if (memcmp(d, p->r->digests.kept[k], CT_DIGEST) == 0)
        p->result.states_same = p->digests.n;
    else
        p->result.states_differ = p->digests.n;
}

static void hear_states(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct replay *p = user;
    const carat_engine *e = p->engine;

    if (p->hashes)
        ct_hashes_hear(p->hashes, p->session->slot, b, event);
    if (event->n == 1 && event->w[0] == &e->weights.final_norm) {
        const int rows = b->verb.cost(b, event).rows;
        for (int row = 0; row < rows; row++)
            if (e->rows.sequence[row] == p->session->slot)
                take_state(p, b, event->out[0], row, e->rows.position[row]);
    }
    (void)ct_listen_selects(&p->listener, b, event);
}

/* ---- draws ---- */

/* Takes the tokens before number i as they came. False: one of them cannot come. */
static bool take_as_they_came(struct replay *p, const int32_t *held, int i)
{
    for (; p->at < i && p->result.differs < 0; p->at++) {
        const int32_t id = came(p, p->at);
        if (ct_generation_next(p->generation, NULL, id, held, p->n_prompt + p->at) != id ||
            (p->generation->info.reason != CARAT_REASON_NONE && p->at + 1 < p->draws)) {
            p->result.differs = p->at;
            p->result.expected = id;
            p->result.computed = -1;
        }
    }
    return p->result.differs < 0;
}

/* Draws token number i. False: it is another one, or the answer ends there. */
static bool draw_token(struct replay *p, struct ct_draw_logits *logits, const int32_t *held, int i)
{
    const int32_t expected = came(p, i);

    if (!take_as_they_came(p, held, i))
        return false;
    const int32_t id = ct_generation_next(p->generation, logits, -1, held, p->n_prompt + i);
    p->at = i + 1;
    p->result.drawn += i < p->tokens;
    if (id != expected) {
        p->result.differs = i;
        p->result.expected = expected;
        p->result.computed = id;
    } else if (p->generation->info.reason != CARAT_REASON_NONE && i + 1 < p->draws) {
        p->result.differs = i + 1;
        p->result.expected = came(p, i + 1);
        p->result.computed = -1;
    }
    return p->result.differs < 0;
}

static int hash_logits(void *user, int token, const float *logits)
{
    struct replay *p = user;

    ct_hashes_logits(p->hashes, p->evaluated + token, logits);
    return 0;
}

static int take_logits(void *user, int token, struct ct_draw_logits *logits)
{
    struct replay *p = user;

    return !draw_token(p, logits, ct_held_tokens(p->session), p->first + token + 1);
}

/* True when the logits of token number i are asked for: it is one of the share that is drawn, as the last one
 * always is, or their hash is kept. */
static bool is_wanted(const struct replay *p, int i)
{
    uint64_t x = (p->o.sample_seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)i * 0xbf58476d1ce4e5b9u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    if (!p->generation)
        return p->hashes && ct_hashes_keep(p->hashes, p->n_prompt - 1 + i);
    return !(p->o.sample > 0) || i == p->draws - 1 || (double)(x >> 11) * 0x1p-53 < p->o.sample;
}

/* ---- passes ---- */

static int watch(void *user, size_t done, size_t total)
{
    const struct replay *p = user;

    (void)total;
    return p->o.progress ? p->o.progress(p->o.user, (size_t)p->evaluated + done,
                                         (size_t)p->n_prompt + (size_t)p->draws - 1)
                         : 0;
}

/* reading: what draws behind the tokens read; NULL: none are. */
static carat_status evaluate(struct replay *p, int from, int n, carat_wants wants, int n_wanted,
                             const struct ct_reading *reading)
{
    struct ct_row row = {.row = {.session = p->session,
                                 .tokens = p->ids + from,
                                 .n = n,
                                 .wants = wants,
                                 .wanted = p->wanted,
                                 .n_wanted = n_wanted,
                                 .deliver = p->hashes ? hash_logits : NULL,
                                 .user = p},
                         .reading = reading,
                         .take = reading ? take_logits : NULL,
                         .cuts = reading != NULL};

    if (n == 0)
        return CARAT_OK;
    carat_status status = ct_evaluate(&row, false, p->err);
    p->evaluated += n;
    return status;
}

/* Tokens of the answer from number p->first on: the ids behind them are drawn from their rows. */
static carat_status evaluate_slice(struct replay *p, int n)
{
    carat_session *s = p->session;
    int32_t *held = ct_held_tokens(s);
    int drawn = 0;

    for (int i = 0; i < n; i++)
        if (is_wanted(p, p->first + i + 1))
            p->wanted[drawn++] = i;
    memcpy(held + s->n, p->ids + p->n_prompt + p->first, (size_t)n * sizeof *held);
    const struct ct_reading *reading =
        drawn && p->generation ? ct_generation_reads(p->generation, held, s->n + 1, n) : NULL;
    return evaluate(p, p->n_prompt + p->first, n, drawn ? CARAT_WANTS_SOME : CARAT_WANTS_NONE, drawn,
                    reading);
}

static void listen(struct replay *p)
{
    ct_listen(&p->listener, p->engine,
              (struct ct_trace){.hook = hear_states, .user = p, .reads = p->hashes != NULL}, true);
}

/* Begins behind the prompt, whose last token's state is the first that counts. */
static carat_status begin_answer(struct replay *p)
{
    carat_session *s = p->session;
    struct ct_draw_logits logits = {.session = s};

    if (p->hashes)
        listen(p);
    CT_TRY(evaluate(p, 0, p->n_prompt - 1, CARAT_WANTS_NONE, 0, NULL));
    if (!p->hashes)
        listen(p);
    p->wanted[0] = 0;
    CT_TRY(evaluate(p, p->n_prompt - 1, 1,
                    p->generation     ? CARAT_WANTS_LAST
                    : is_wanted(p, 0) ? CARAT_WANTS_SOME
                                      : CARAT_WANTS_NONE,
                    is_wanted(p, 0), NULL));
    if (!p->generation)
        return CARAT_OK;
    CT_TRY(ct_generation_follow(p->generation, p->err));
    if (!is_wanted(p, 0))
        return CARAT_OK;
    const int32_t *held = ct_held_tokens(s);
    ct_lock_enter(&p->engine->lock);
    carat_status status =
        ct_session_read(s, ct_generation_reads(p->generation, held, s->n, 1), &logits.have, p->err);
    logits.kept = s->logits;
    if (!status)
        (void)draw_token(p, &logits, held, 0);
    ct_lock_leave(&p->engine->lock);
    return status;
}

static carat_status evaluate_all(struct replay *p)
{
    int n;

    CT_TRY(begin_answer(p));
    for (p->first = 0; p->first < p->draws - 1 && p->result.differs < 0; p->first += n) {
        n = CT_MIN(p->engine->plan.chunk, p->draws - 1 - p->first);
        CT_TRY(evaluate_slice(p, n));
    }
    return CARAT_OK;
}

/* ---- the result ---- */

/* How close the choice was: the session ends with the token behind which it was made. */
static carat_status weigh_choice(struct replay *p)
{
    carat_replay *t = &p->result;
    struct ct_logits logits;

    if (t->differs < 0 || t->differs >= p->tokens || p->session->logits < 0 ||
        p->session->n != p->n_prompt + t->differs)
        return CARAT_OK;
    ct_lock_enter(&p->engine->lock);
    carat_status status = ct_session_read(p->session, NULL, &logits, p->err);
    if (!status) {
        t->logit_expected = t->expected >= 0 ? logits.value[t->expected] : 0;
        t->logit_computed = t->computed >= 0 ? logits.value[t->computed] : 0;
    }
    ct_lock_leave(&p->engine->lock);
    return status;
}

static void judge_replay(struct replay *p)
{
    carat_replay *t = &p->result;
    const carat_generation *g = p->generation;
    const bool whole = p->digests.n == p->tokens;
    bool same_end = true;

    if (whole) {
        ct_hex(t->digest, p->digests.last, CT_DIGEST);
        if (memcmp(p->digests.last, p->r->digests.last, CT_DIGEST) == 0 && t->states_differ < 0)
            t->states_same = p->tokens;
        else if (t->states_differ < 0)
            t->states_differ = p->tokens;
    }
    if (g) {
        const carat_reason reason = p->r->reason;
        const bool interrupted = reason == CARAT_REASON_NONE || reason == CARAT_REASON_CANCELLED ||
                                 reason == CARAT_REASON_CALLBACK || reason == CARAT_REASON_NUMERIC;
        t->reason = g->info.reason;
        same_end = t->reason == (interrupted ? CARAT_REASON_NONE : reason) ||
                   (p->o.sample > 0 && reason == CARAT_REASON_LOOP);
    }
    t->confirmed = whole && t->states_differ < 0 && t->differs < 0 && same_end;
}

static carat_status run(struct replay *p)
{
    p->state = malloc((size_t)p->engine->config.hidden * sizeof *p->state);
    p->digests.kept = calloc((size_t)ct_digests_kept(p->tokens) + 1, sizeof *p->digests.kept);
    p->wanted = malloc((size_t)p->engine->plan.chunk * sizeof *p->wanted);
    if (!p->state || !p->digests.kept || !p->wanted)
        return ct_no_memory(p->err, "a replay");
    CT_TRY(ct_receipt_chain(p->digests.last, &p->r->header, p->err));
    ct_digest_prompt(p->digests.last, p->ids, p->n_prompt);
    CT_TRY(evaluate_all(p));
    CT_TRY(weigh_choice(p));
    judge_replay(p);
    return CARAT_OK;
}

static carat_status open_hashes(struct replay *p)
{
    const int first = p->o.trace_first, n = p->o.n_traced, evaluated = p->n_prompt + p->tokens - 1;

    if (n < 1 || n > CARAT_MOST_TRACED)
        return ct_fail(p->err, CARAT_E_ARGUMENT, "n_traced is %d, expected 1 to %d", n, CARAT_MOST_TRACED);
    if (first < 0 || first > evaluated - n)
        return ct_fail(p->err, CARAT_E_ARGUMENT,
                       "%s: positions to trace are %d from %d on, expected some of the %d that are evaluated",
                       p->r->name, n, first, evaluated);
    return ct_hashes_open(&p->hashes, p->engine, first, n, p->err);
}

static carat_status check_and_run(struct replay *p, int32_t **memory)
{
    carat_session_options options;
    carat_session_options_default(&options);

    if (!p->r->finished)
        return ct_fail(p->err, CARAT_E_ARGUMENT, "the receipt is not finished");
    if (!(p->o.sample >= 0 && p->o.sample <= 1))
        return ct_fail(p->err, CARAT_E_ARGUMENT, "sample is %g, expected 0 to 1", p->o.sample);
    p->ids = p->r->ids;
    if (p->r->is_private)
        CT_TRY(take_private(p, memory));
    CT_TRY(check_model(p));
    CT_TRY(check_engine(p));
    CT_TRY(check_ids(p));
    options.watch = watch;
    options.user = p;
    CT_TRY(carat_session_create(&p->session, p->engine, &options, p->err));
    if (p->o.on_operation)
        CT_TRY(open_hashes(p));
    else if (!p->o.states_only)
        CT_TRY(open_generation(p));
    CT_TRY(ct_session_claim(p->session, p->err));
    carat_status status = run(p);
    (void)ct_listen_end(&p->listener);
    return ct_session_release(p->session, status);
}

carat_status carat_receipt_replay(const carat_receipt *receipt, carat_engine *engine,
                                  const carat_replay_options *options, carat_replay *result, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(engine, err);
    const double start = ct_os_seconds();
    struct replay p = {.r = receipt,
                       .engine = engine,
                       .err = err,
                       .n_prompt = receipt->n_prompt,
                       .tokens = receipt->n_answer + (receipt->end_id >= 0),
                       .result = {.differs = -1, .expected = -1, .computed = -1, .states_differ = -1}};
    int32_t *memory = NULL;

    CT_TRY(ct_check_struct(result, sizeof *result, "carat_replay", err));
    CT_TRY(ct_take_struct(&p.o, sizeof p.o, options, "carat_replay_options", err));
    p.result.tokens = p.tokens;
    p.o.states_only |= p.o.on_operation != NULL;
    p.draws = p.tokens + (!p.o.states_only && receipt->reason == CARAT_REASON_CONSTRAINT);
    carat_status status = check_and_run(&p, &memory);
    if (!status && p.hashes)
        status = ct_hashes_tell(p.hashes, &p.o, err);
    ct_hashes_close(p.hashes);
    carat_generation_close(p.generation);
    carat_matcher_close(p.matcher);
    carat_constraint_close(p.form);
    carat_session_close(p.session);
    free(p.state);
    free(p.digests.kept);
    free(p.wanted);
    free(memory);
    if (status)
        return status;
    p.result.seconds = ct_os_seconds() - start;
    return ct_give_struct(result, &p.result, sizeof p.result, "carat_replay", err);
}
