/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c: from a generation to the header of its receipt, and from a header to the options of a
 * generation that draws the same. A setting that can move no draw is written as if it were off, so that
 * answers which cannot differ have the same header. */
#include "receipt/receipt.h"

/* ---- the vocabulary ---- */

void ct_vocabulary_hash(const carat_model *m, char hex[CT_RECEIPT_HEX + 1])
{
    enum { ROOM = 1 << 14 };
    uint8_t piled[ROOM], digest[CT_DIGEST];
    const int size = m->tokenizer ? ct_tokenizer_size(m->tokenizer) : 0;
    size_t n = 0;
    struct ct_hash h;

    hex[0] = 0;
    if (!m->tokenizer)
        return;
    ct_hash_begin(&h);
    for (int id = 0; id < size; id++) {
        const struct ct_str piece = ct_tokenizer_piece(m->tokenizer, id);
        const uint32_t length = (uint32_t)piece.n;
        if (n + sizeof length > ROOM || piece.n > ROOM - n - sizeof length) {
            ct_hash_add(&h, piled, n);
            n = 0;
        }
        memcpy(piled + n, &length, sizeof length);
        n += sizeof length;
        if (piece.n > ROOM - n) {
            ct_hash_add(&h, piled, n);
            ct_hash_add(&h, piece.s, piece.n);
            n = 0;
        } else {
            memcpy(piled + n, piece.s, piece.n);
            n += piece.n;
        }
    }
    ct_hash_add(&h, piled, n);
    ct_hash_end128(&h, digest);
    ct_hex(hex, digest, CT_DIGEST);
}

/* ---- from a generation ---- */

static void take_engine(struct ct_receipt_header *h, const carat_engine *e)
{
    const carat_head_options *head = &e->head.o;

    h->version = CT_RECEIPT_VERSION;
    h->numerics = CARAT_NUMERICS_VERSION;
    h->drawing = CARAT_DRAWING_VERSION;
    memcpy(h->content, e->content, sizeof h->content);
    ct_vocabulary_hash(e->model, h->vocabulary);
    h->arithmetic = ct_engine_arithmetic(e);
    h->kv = (int)ct_kv_info(e->kv_type)->kv - 1;
    h->activations_f16 = e->f16 != NULL;
    h->first_layer = e->first_layer;
    h->layers = e->config.n_layer;
    h->has_head = !e->head.stats.exact;
    if (h->has_head) {
        h->strategy = (int)e->head.stats.strategy;
        h->quant = (int)head->quant;
        h->tile = e->head.stats.tile;
        h->tiles = head->shortlist_tiles;
    }
}

static void take_chain(struct ct_receipt_header *h, const carat_chain *c)
{
    h->repeat_penalty = h->typical_p = 1;
    h->n_links = CARAT_LINKS;
    for (int i = 0; i < CARAT_LINKS; i++)
        h->links[i] = i;
    if (!c)
        return;
    if (c->links)
        h->n_links = c->n_links;
    for (int i = 0; c->links && i < c->n_links; i++)
        h->links[i] = (int)c->links[i];
    h->biases = c->biases;
    h->n_biases = c->n_biases;
    h->typical_p = c->typical_p;
    h->has_penalties = ct_chain_repeats(c);
    if (h->has_penalties) {
        h->repeat_penalty = c->repeat_penalty;
        h->frequency_penalty = c->frequency_penalty;
        h->presence_penalty = c->presence_penalty;
        h->repeat_last_n = c->repeat_last_n;
    }
    h->has_dry = ct_chain_is_dry(c);
    if (h->has_dry) {
        h->dry_multiplier = c->dry_multiplier;
        h->dry_base = c->dry_base;
        h->dry_allowed_length = c->dry_allowed_length;
        h->dry_penalty_last_n = c->dry_penalty_last_n;
        h->dry_breakers = (struct ct_id_list){c->dry_breakers, c->n_dry_breakers};
    }
    h->has_xtc = c->xtc_probability > 0;
    if (h->has_xtc) {
        h->xtc_probability = c->xtc_probability;
        h->xtc_threshold = c->xtc_threshold;
    }
}

/* True when the chain comes to a temperature: one of 0 leaves nothing to chance there, and nowhere else. */
static bool is_tempered(const carat_chain *c)
{
    for (int i = 0; c && c->links && i < c->n_links; i++)
        if (c->links[i] == CARAT_LINK_TEMPERATURE)
            return true;
    return !c || !c->links;
}

static void take_sampling(struct ct_receipt_header *h, const carat_sampling *s)
{
    take_chain(h, s->chain);
    h->temperature = s->temperature;
    h->top_k = s->top_k;
    h->top_p = s->top_p;
    h->min_p = s->min_p;
    h->banned = (struct ct_id_list){s->banned, s->n_banned};
    if (s->temperature > 0 || h->has_xtc || !is_tempered(s->chain)) { /* else no random number is looked at */
        h->seed = s->seed;
        h->number = s->number;
    }
}

carat_status ct_header_form(struct ct_receipt_header *h, const carat_constraint_options *given,
                            carat_error *err)
{
    carat_constraint_options o = {0};
    struct ct_sha256 sha;
    uint8_t digest[CT_SHA256];

    if (!given)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the answer has a form, and its receipt needs the options of the constraint");
    CT_TRY(ct_take_struct(&o, sizeof o, given, "carat_constraint_options", err));
    CT_GIVEN(o.text, err);
    ct_sha256_begin(&sha);
    ct_sha256_add(&sha, o.text, o.n_text ? o.n_text : strlen(o.text));
    if (o.tools) { /* behind a NUL, which no form has */
        ct_sha256_add(&sha, "", 1);
        ct_sha256_add(&sha, o.tools, strlen(o.tools));
    }
    ct_sha256_end(&sha, digest);
    ct_hex(h->form_sha256, digest, CT_SHA256);
    h->has_form = 1;
    h->form = (int)o.form;
    h->one_call = o.one_call != 0;
    h->json_dumps = o.json_dumps != 0;
    h->tool_choice = o.tool_choice;
    return CARAT_OK;
}

carat_status ct_header_of(struct ct_receipt_header *h, struct ct_arena *arena, carat_generation *g,
                          const carat_receipt_options *o, carat_error *err)
{
    carat_engine *e = g->session->engine;

    *h = (struct ct_receipt_header){.context = g->context,
                                    .max_tokens = g->max_tokens,
                                    .loop_guard = g->readout.guard.least,
                                    .thought_budget = g->thought_budget,
                                    .in_thought = g->readout.goes_on,
                                    .stop_ids = {g->stop, g->n_stop},
                                    .n_stops = g->readout.stops.n};
    ct_lock_enter(&e->lock);
    carat_status status = ct_engine_content(e, err);
    ct_lock_leave(&e->lock);
    if (status)
        return status;
    for (int i = 0; i < h->n_stops; i++)
        if (!(h->stops[i] =
                  ct_arena_str(arena, g->readout.stops.of[i].text, (size_t)g->readout.stops.of[i].n)))
            return ct_no_memory(err, "a receipt");
    take_engine(h, e);
    if (e->tensor)
        return ct_fail(
            err, CARAT_E_ARGUMENT,
            "the arithmetic is tensor, whose bits nobody can compute again, and a receipt is there to "
            "be verified");
    if (h->has_head && e->head.o.audit)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the head has a shortlist that audits may give up, and a receipt is of one head");
    if (g->own.min_tokens)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "min_tokens is %d, and a receipt has no place for what may not end an answer",
                       g->own.min_tokens);
    take_sampling(h, &g->sampling);
    if (o->previous && strlen(o->previous) != CT_RECEIPT_HEX)
        return ct_fail(err, CARAT_E_ARGUMENT, "previous has %zu digits, expected %d", strlen(o->previous),
                       (int)CT_RECEIPT_HEX);
    if (o->previous)
        memcpy(h->previous, o->previous, sizeof h->previous);
    if (!g->form.begins)
        return CARAT_OK;
    if (g->form.begins->verb->begun(g->form.begins))
        return ct_fail(
            err, CARAT_E_ARGUMENT,
            "the matcher of the generation is not at the beginning of its form, where the answer of "
            "a receipt begins");
    return ct_header_form(h, o->form, err);
}

/* ---- and back ---- */

void ct_header_options(struct ct_header_options *to, const struct ct_receipt_header *h)
{
    static const int32_t none;
    carat_chain *c = &to->chain;

    carat_chain_default(c);
    for (int i = 0; i < h->n_links; i++)
        to->links[i] = (carat_link)h->links[i];
    c->links = to->links;
    c->n_links = h->n_links;
    c->biases = h->biases;
    c->n_biases = h->n_biases;
    c->typical_p = h->typical_p;
    if (h->has_penalties) {
        c->repeat_penalty = h->repeat_penalty;
        c->frequency_penalty = h->frequency_penalty;
        c->presence_penalty = h->presence_penalty;
        c->repeat_last_n = h->repeat_last_n;
    }
    if (h->has_dry) {
        c->dry_multiplier = h->dry_multiplier;
        c->dry_base = h->dry_base;
        c->dry_allowed_length = h->dry_allowed_length;
        c->dry_penalty_last_n = h->dry_penalty_last_n;
        c->dry_breakers = h->dry_breakers.ids;
        c->n_dry_breakers = h->dry_breakers.n;
    }
    if (h->has_xtc) {
        c->xtc_probability = h->xtc_probability;
        c->xtc_threshold = h->xtc_threshold;
    }
    to->sampling = (carat_sampling){.size = sizeof to->sampling,
                                    .temperature = h->temperature,
                                    .top_k = h->top_k,
                                    .top_p = h->top_p,
                                    .min_p = h->min_p,
                                    .seed = h->seed,
                                    .number = h->number,
                                    .banned = h->banned.ids,
                                    .n_banned = h->banned.n,
                                    .chain = c};
    carat_generation_options_default(&to->generation);
    to->generation.sampling = &to->sampling;
    to->generation.max_tokens = h->max_tokens;
    to->generation.stop_ids = h->stop_ids.ids ? h->stop_ids.ids : &none;
    to->generation.n_stop_ids = h->stop_ids.n;
    to->generation.stops = h->stops;
    to->generation.n_stops = h->n_stops;
    to->generation.loop_guard = h->loop_guard;
    to->generation.limits_thought = h->thought_budget >= 0;
    to->generation.thought_budget = CT_MAX(h->thought_budget, 0);
    to->generation.in_thought = h->in_thought;
    to->generation.lookup = to->generation.drafter = CARAT_LOOKUP_OFF;
}
