/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_faults.c: bits that flip in memory while an answer is drawn: of K or V of a position that is
 * held, or of a weight where the engine reads it, behind some id. Either nothing came of it, and the receipt
 * is the right one byte for byte, or a replay does not confirm it, and names no place before it.
 * CARAT_PLANTED is how many of each kind there are; a few by default. */
#include "receipt/receipt_util.h"

#include <stdlib.h>

#include "generate/generate.h"

enum { LENGTH = 70, MOST_WEIGHTS = 256, MOST_ROW = 4096, NEAR = 60 /* positions that local layers keep */ };

static carat_engine *faulty, *sound;
static uint64_t state_of_chance = 1;
static char *right;
static const struct ct_weight *weights[MOST_WEIGHTS];
static int n_weights;

static uint32_t chance(size_t below)
{
    state_of_chance = state_of_chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state_of_chance >> 33) % below);
}

static int planted(int usual)
{
    const char *count = getenv("CARAT_PLANTED");

    return count ? atoi(count) : usual;
}

static void draws_as(struct settings *s)
{
    choose_settings(s, 3);
    s->options.max_tokens = LENGTH;
}

/* What the passes of an engine read. */
static void note_weights(void *user, struct ct_backend *b, const struct ct_event *event)
{
    (void)user, (void)b;
    for (int i = 0; i < event->n; i++) {
        int at = 0;
        while (at < n_weights && weights[at] != event->w[i])
            at++;
        if (at == n_weights && event->w[i]->data && n_weights < MOST_WEIGHTS)
            weights[n_weights++] = event->w[i];
    }
}

static int prepare(void **state)
{
    struct ct_trace trace = {.hook = note_weights};
    const carat_engine_options o = tiny_options(1, NULL, 0);
    struct settings s;

    open_tiny(state);
    OK(carat_engine_create(&faulty, tiny, &o, err));
    OK(carat_engine_create(&sound, tiny, &o, err));
    draws_as(&s);
    ct_trace_begin(faulty->backend, &trace);
    right = receipt_of(faulty, &s, NULL, NULL);
    ct_trace_end(faulty->backend, &trace);
    return 0;
}

static int clean_up(void **state)
{
    carat_free(right);
    carat_engine_close(faulty);
    carat_engine_close(sound);
    return close_tiny(state);
}

/* ---- a bit ---- */

struct row { /* of K and V, and what it was before */
    const struct ct_kv *kv;
    int block, first;
    uint8_t k[MOST_ROW], v[MOST_ROW];
};

struct fault {
    carat_session *session;
    int at, given; /* it flips behind so many ids */
    bool of_weight;
    uint8_t *byte; /* of a weight, else NULL */
    uint8_t bit;
    struct row row;
};

static void flip_kv(struct fault *f)
{
    static uint8_t k[MOST_ROW], v[MOST_ROW];
    const carat_session *s = f->session;
    struct ct_backend *b = faulty->backend;
    struct row *row = &f->row;
    const struct ct_kv *kv = row->kv = &faulty->cache.layer[chance((size_t)faulty->config.n_layer)];
    const struct ct_kv_pool *pool = kv->pool;
    const int p = s->n - 1 - (int)chance((size_t)CT_MIN(s->n, NEAR));
    const size_t bytes = (size_t)kv->n_kv_head * ct_kv_bytes(kv->type, 1, kv->head_dim);

    row->block = pool->table[s->slot * pool->length + p / CT_KEY_BLOCK % pool->length];
    row->first = p % CT_KEY_BLOCK;
    assert_true(bytes <= MOST_ROW);
    b->verb.kv_get(b, kv, row->block, row->first, 1, row->k, row->v);
    memcpy(k, row->k, bytes);
    memcpy(v, row->v, bytes);
    (chance(2) ? k : v)[chance(bytes)] ^= f->bit;
    b->verb.kv_put(b, kv, row->block, row->first, 1, k, v);
}

static int plant(void *user, const carat_given *given)
{
    struct fault *f = user;

    (void)given;
    if (++f->given != f->at)
        return 0;
    if (f->of_weight) {
        const struct ct_weight *w = weights[chance((size_t)n_weights)];
        f->byte = (uint8_t *)(uintptr_t)w->data + chance(ct_weight_bytes(w));
        *f->byte ^= f->bit;
    } else {
        flip_kv(f);
    }
    return 0;
}

/* The receipt of an answer with a fault; NULL: it showed by itself, in logits that are not finite. */
static char *faulty_receipt(struct fault *f)
{
    struct settings s;
    carat_generation *g = NULL;
    carat_receipt *r = NULL;
    carat_error why = {CARAT_OK, ""};
    char *text = NULL;

    draws_as(&s);
    carat_tokens prompt = prompt_of(s.prompt);
    s.options.on_token = plant;
    s.options.user = f;
    OK(carat_session_create(&f->session, faulty, NULL, err));
    OK(carat_sync(f->session, prompt.ids, prompt.n, NULL, err));
    OK(carat_generation_create(&g, f->session, &s.options, err));
    OK(carat_receipt_begin(&r, g, NULL, err));
    const carat_status status = carat_generate(g, &why);
    assert_true(status == CARAT_OK || status == CARAT_E_NUMERIC);
    if (f->byte)
        *f->byte ^= f->bit;
    if (f->row.kv) /* memory of K and V that is free holds finite values */
        faulty->backend->verb.kv_put(faulty->backend, f->row.kv, f->row.block, f->row.first, 1, f->row.k,
                                     f->row.v);
    if (status == CARAT_OK) {
        OK(carat_receipt_finish(r, err));
        OK(carat_receipt_write(r, &text, NULL, err));
    }
    carat_receipt_close(r);
    carat_generation_close(g);
    carat_session_close(f->session);
    carat_tokens_free(&prompt);
    return text;
}

static void expect_found(const char *text, const struct fault *f)
{
    carat_receipt *r = read_receipt(text);
    carat_replay t;
    carat_replay_default(&t);

    OK(carat_receipt_replay(r, sound, NULL, &t, err));
    const int clean = f->at / CARAT_RECEIPT_STEP * CARAT_RECEIPT_STEP;
    if (t.confirmed || (t.differs >= 0 && t.differs < f->at) ||
        (t.differs < 0 && (t.states_same < clean || t.states_differ <= f->at)))
        fail_msg("bit %d behind %d ids: confirmed %d, differs %d, states %d to %d", f->bit, f->at,
                 t.confirmed, t.differs, t.states_same, t.states_differ);
    carat_receipt_close(r);
}

static void plant_faults(bool of_weight, int n)
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        struct fault f = {.of_weight = of_weight, .at = 1 + (int)chance(LENGTH - 1)};
        f.bit = (uint8_t)(1u << chance(8));
        char *text = faulty_receipt(&f);
        if (text && strcmp(text, right) != 0)
            expect_found(text, &f);
        found += !text || strcmp(text, right) != 0;
        carat_free(text);
    }
    struct settings s; /* what is left is sound */
    draws_as(&s);
    char *again = receipt_of(faulty, &s, NULL, NULL);
    assert_string_equal(again, right);
    carat_free(again);
    print_message("%d bits of %s: %d found, of the others nothing came\n", n,
                  of_weight ? "weights" : "K and V", found);
    assert_true(found > n / 2);
}

static void bits_of_kv(void **state)
{
    (void)state;
    plant_faults(false, planted(60));
}

static void bits_of_weights(void **state)
{
    (void)state;
    assert_true(n_weights > 6 * 7);
    plant_faults(true, planted(60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_kv),
        cmocka_unit_test(bits_of_weights),
    };

    return cmocka_run_group_tests(tests, prepare, clean_up);
}
