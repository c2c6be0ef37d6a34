/* SPDX-License-Identifier: Apache-2.0 */
/* record.c: a receipt that is kept while an answer is drawn. What is drawn behind an id that turns out wrong
 * is hashed for nothing; its digests are dropped with it.
 *
 * It hears of what a generation draws through a witness (struct ct_witness), a table of functions that a
 * program without receipts never links. The state that is hashed is the one that a session keeps for its head
 * anyway, so that a receipt costs one hash of it for a token. */
#include "receipt/receipt.h"

#include <stdlib.h>

static carat_receipt *own(struct ct_witness *w)
{
    return (carat_receipt *)w;
}

/* ---- what a generation tells ---- */

static void begin(struct ct_witness *w, const int32_t *tokens, int n)
{
    carat_receipt *r = own(w);

    memcpy(r->ids, tokens, (size_t)n * sizeof *r->ids);
    r->n_prompt = n;
    r->n_answer = 0;
    r->end_id = -1;
    r->blind = false;
    r->digests.n = r->digests.n_kept = 0;
    memcpy(r->digests.last, r->start, CT_DIGEST);
    ct_digest_prompt(r->digests.last, r->ids, r->n_prompt);
}

static void drawn(struct ct_witness *w, int i, int position, int32_t id, const float *hidden)
{
    carat_receipt *r = own(w);

    r->blind |= !hidden;
    memcpy(r->ahead[i], i ? r->ahead[i - 1] : r->digests.last, CT_DIGEST);
    if (hidden)
        ct_digest_token(r->ahead[i], (uint32_t)position, id, hidden, r->hidden);
}

static void given(struct ct_witness *w, int i, int32_t id, bool stop)
{
    carat_receipt *r = own(w);

    ct_digests_add(&r->digests, r->ahead[i]);
    if (stop)
        r->end_id = id;
    else
        r->ids[r->n_prompt + r->n_answer++] = id;
}

static void closed(struct ct_witness *w)
{
    own(w)->generation = NULL;
}

/* ---- beginning and ending ---- */

/* A session out of a file has no state behind its last token: that one is evaluated once more. */
static carat_status know_state(carat_session *s, carat_error *err)
{
    const int n = s->n;

    if (n < 1 || s->logits < 0 || ct_row_logits_state(s->engine, s->logits))
        return CARAT_OK;
    const int32_t last = ct_held_tokens(s)[n - 1];
    CT_TRY(ct_rewind(s, n - 1, err));
    return ct_evaluate(&(struct ct_row){.row = {.session = s, .tokens = &last, .n = 1}}, false, err);
}

/* Texts and lists of the header outlive the generation. */
static carat_status keep_header(carat_receipt *r, carat_error *err)
{
    struct ct_canonical text = {0};
    struct ct_json_tree tree = {0};

    ct_header_write(&text, &r->header);
    carat_status status = text.failed ? ct_no_memory(err, "a receipt") : CARAT_OK;
    const struct ct_receipt_source source = {"receipt", {(const uint8_t *)text.text, text.n}, &r->arena};
    if (!status)
        status = ct_json_tree_read(&tree, CARAT_E_ARGUMENT, source.name, source.text, err);
    if (!status)
        status = ct_header_read(&r->header, &source, tree.value, err);
    ct_json_tree_free(&tree);
    free(text.text);
    return status;
}

static carat_status open_record(carat_receipt *r, carat_generation *g, const carat_receipt_options *o,
                                carat_error *err)
{
    if (g->witness)
        return ct_fail(err, CARAT_E_ARGUMENT, "the generation has a receipt already");
    if (g->changes == g->session->changes)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the generation has begun and given %d ids, and a receipt is of all", g->info.given);
    if (o->is_private && !o->salt)
        return ct_fail(err, CARAT_E_ARGUMENT, "a private receipt needs a salt");
    CT_TRY(ct_header_of(&r->header, &r->arena, g, o, err));
    CT_TRY(keep_header(r, err));
    CT_TRY(ct_receipt_chain(r->start, &r->header, err));
    CT_TRY(know_state(g->session, err));
    r->hidden = g->session->engine->config.hidden;
    r->capacity = g->context + 1;
    r->ids = calloc((size_t)r->capacity, sizeof *r->ids);
    r->digests.kept = calloc((size_t)ct_digests_kept(r->capacity) + 1, sizeof *r->digests.kept);
    if (!r->ids || !r->digests.kept)
        return ct_no_memory(err, "a receipt");
    if (o->is_private)
        memcpy(r->salt, o->salt, CT_SALT);
    r->is_private = o->is_private != 0;
    r->generation = g;
    g->witness = &r->face;
    return CARAT_OK;
}

carat_status carat_receipt_begin(carat_receipt **receipt, carat_generation *generation,
                                 const carat_receipt_options *options, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(generation, err);
    carat_receipt_options o = {0};

    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_receipt_options", err));
    CT_TRY(ct_session_claim(generation->session, err));
    carat_receipt *r = calloc(1, sizeof *r);
    carat_status status = r ? CARAT_OK : ct_no_memory(err, "a receipt");
    if (!status) {
        r->face = (struct ct_witness){begin, drawn, given, closed};
        r->name = "the receipt";
        r->end_id = -1;
        status = open_record(r, generation, &o, err);
    }
    (void)ct_session_release(generation->session, status);
    if (status)
        carat_receipt_close(r);
    else
        *receipt = r;
    return status;
}

static carat_status end_record(carat_receipt *r, const carat_generation *g, carat_error *err)
{
    const uint8_t *salt = r->is_private ? r->salt : NULL;

    if (g->changes != g->session->changes)
        return ct_fail(err, CARAT_E_ARGUMENT, "the session was changed since the answer ended");
    if (r->digests.n == 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "no id was drawn, and a receipt is of at least one");
    if (r->blind)
        return ct_fail(err, CARAT_E_ARGUMENT, "a state behind a token was not kept");
    CT_TRY(ct_ids_sha(r->prompt_sha, salt, r->ids, r->n_prompt, err));
    CT_TRY(ct_ids_sha(r->answer_sha, salt, r->ids + r->n_prompt, r->n_answer, err));
    CT_TRY(ct_text_sha(r->text_sha, salt, g->session->engine->model->tokenizer, r->ids + r->n_prompt,
                       r->n_answer, err));
    ct_hex(r->digest, r->digests.last, CT_DIGEST);
    r->reason = g->info.reason;
    r->finished = true;
    return CARAT_OK;
}

carat_status carat_receipt_finish(carat_receipt *receipt, carat_error *err)
{
    CT_GIVEN(receipt, err);
    carat_generation *g = receipt->generation;

    if (!g)
        return ct_fail(err, CARAT_E_ARGUMENT, "the generation of the receipt %s",
                       receipt->finished ? "was ended by it before" : "is closed");
    CT_TRY(ct_session_claim(g->session, err));
    carat_status status = end_record(receipt, g, err);
    if (!status) {
        g->witness = NULL;
        receipt->generation = NULL;
    }
    return ct_session_release(g->session, status);
}
