/* SPDX-License-Identifier: Apache-2.0 */
/* test_planted.c: nothing slips through. Changes are planted one at a time: a byte of a receipt, an id of the
 * prompt or the answer with hashes that fit, a bit of a state while it is computed, a bit of a weight in the
 * model's file. Each is refused or found, and where a place is defined it is the right one. CARAT_PLANTED is
 * how many of each kind there are; a few by default. */
#define _POSIX_C_SOURCE 200809L
#include "receipt/receipt_util.h"

#include <stdlib.h>

#include "checkpoint/checkpoint.h"
#include "receipt/receipt.h"

static char *text;
static carat_receipt *right;
static carat_engine *engine;
static uint64_t state_of_chance = 1;

static uint32_t chance(uint32_t below)
{
    state_of_chance = state_of_chance * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state_of_chance >> 33) % below);
}

static int planted(int usual)
{
    const char *count = getenv("CARAT_PLANTED");

    return count ? atoi(count) : usual;
}

static int make_right(void **state)
{
    struct settings s;
    const carat_engine_options o = tiny_options(1, NULL, 0);
    carat_engine *maker = NULL;

    open_tiny(state);
    choose_settings(&s, 3);
    s.chain.repeat_penalty = 1.1f;
    s.chain.xtc_probability = 0.2f;
    OK(carat_engine_create(&maker, tiny, &o, err));
    text = receipt_of(maker, &s, NULL, NULL);
    carat_engine_close(maker);
    right = read_receipt(text);
    engine = engine_for(right, tiny_options(1, NULL, 0));
    return 0;
}

static int free_right(void **state)
{
    carat_free(text);
    carat_receipt_close(right);
    carat_engine_close(engine);
    return close_tiny(state);
}

/* Whether it is refused, or not confirmed. */
static bool is_found(const char *changed, carat_replay *t)
{
    carat_receipt *r = NULL;
    carat_status status = carat_receipt_read(&r, "r.json", changed, strlen(changed), NULL);

    carat_replay_default(t);
    if (!status)
        status = carat_receipt_replay(r, engine, NULL, t, NULL);
    carat_receipt_close(r);
    return status != CARAT_OK || !t->confirmed;
}

/* Another character of the same kind, so that most changes pass the reader. */
static char other_of(char c)
{
    static const char *const kinds[] = {"0123456789", "abcdefghijklmnopqrstuvwxyz",
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "{}[]:,\"",
                                        " !#$%&'()*+-./;<=>?@^_`|~"};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *at = c ? strchr(kinds[k], c) : NULL;
        const uint32_t n = (uint32_t)strlen(kinds[k]);
        if (at)
            return kinds[k][((uint32_t)(at - kinds[k]) + 1 + chance(n - 1)) % n];
    }
    return '0';
}

static void bytes_of_receipts(void **state)
{
    const size_t n = strlen(text);
    char *changed = strdup(text);
    carat_replay t;

    (void)state;
    assert_non_null(changed);
    assert_false(is_found(text, &t));
    for (int i = planted(150); i > 0; i--) {
        const size_t at = chance((uint32_t)n);
        changed[at] = other_of(text[at]);
        if (!is_found(changed, &t))
            fail_msg("byte %zu: '%c' in place of '%c' is confirmed: %.40s", at, changed[at], text[at],
                     text + (at < 20 ? 0 : at - 20));
        changed[at] = text[at];
    }
    free(changed);
}

/* The hashes fit: only computing finds it. */
static void ids(void **state)
{
    const int n_vocab = tiny->config.n_text_vocab;

    (void)state;
    for (int i = planted(60); i > 0; i--) {
        carat_receipt *r = read_receipt(text);
        const int all = r->n_prompt + r->n_answer, at = (int)chance((uint32_t)all);
        carat_replay t;
        carat_replay_default(&t);
        r->ids[at] = (r->ids[at] + 1 + (int32_t)chance((uint32_t)n_vocab - 1)) % n_vocab;
        OK(ct_ids_sha(r->prompt_sha, NULL, r->ids, r->n_prompt, err));
        OK(ct_ids_sha(r->answer_sha, NULL, r->ids + r->n_prompt, r->n_answer, err));
        OK(ct_text_sha(r->text_sha, NULL, tiny->tokenizer, r->ids + r->n_prompt, r->n_answer, err));
        OK(carat_receipt_replay(r, engine, NULL, &t, err));
        const int token = at - r->n_prompt;
        if (t.confirmed || (token >= 0 && t.differs != token) || t.states_same > (token < 0 ? 0 : token))
            fail_msg("id %d of %d: confirmed %d, differs %d, states the same up to %d", at, all, t.confirmed,
                     t.differs, t.states_same);
        carat_receipt_close(r);
    }
}

/* ---- a bit of a state ---- */

struct fault {
    int position, column, bit;
    bool done;
    float *row;
};

static void flip(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct fault *f = user;

    if (f->done || event->n != 1 || event->w[0] != &engine->weights.final_norm)
        return;
    for (int row = 0; row < b->verb.cost(b, event).rows; row++)
        if (engine->rows.position[row] == f->position) {
            uint32_t bits;
            b->verb.copy_out(b, f->row, event->out[0], row);
            memcpy(&bits, &f->row[f->column], sizeof bits);
            bits ^= 1u << f->bit;
            memcpy(&f->row[f->column], &bits, sizeof bits);
            b->verb.copy_in(b, event->out[0], row, f->row);
            f->done = true;
        }
}

static void bits_of_states(void **state)
{
    const int n = right->n_answer, hidden = engine->config.hidden;
    struct fault f = {.row = malloc((size_t)hidden * sizeof(float))};

    (void)state;
    assert_non_null(f.row);
    for (int i = planted(60); i > 0; i--) {
        const int token = 1 + (int)chance((uint32_t)n - 1); /* of the answer: the one that is drawn from it */
        struct ct_trace trace = {.hook = flip, .user = &f, .reads = true, .first = true};
        carat_replay_options how;
        carat_replay_options_default(&how);
        carat_replay t;
        carat_replay_default(&t);
        f.position = right->n_prompt + token - 1;
        f.column = (int)chance((uint32_t)hidden);
        f.bit = (int)chance(23); /* of the fraction: it stays finite */
        f.done = false;
        how.states_only = 1;
        ct_trace_begin(engine->backend, &trace);
        OK(carat_receipt_replay(right, engine, &how, &t, err));
        ct_trace_end(engine->backend, &trace);
        assert_true(f.done);
        if (t.confirmed || t.states_same > token || t.states_differ <= token)
            fail_msg("bit %d of column %d behind token %d: confirmed %d, states %d to %d", f.bit, f.column,
                     token, t.confirmed, t.states_same, t.states_differ);
    }
    free(f.row);
}

/* ---- a bit of a weight ---- */

static void bits_of_weights(void **state)
{
    static const char *const names[] = {"config.json", "generation_config.json", "model.safetensors",
                                        "tokenizer.json", "tokenizer_config.json"};
    carat_buffer files[5];
    char path[PATH_SIZE];
    int n = 0, weights = 0;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FILE *f = fopen(path_join(path, TINY, names[i]), "rb");
        if (!f)
            continue;
        fclose(f);
        if (strcmp(names[i], "model.safetensors") == 0)
            weights = n;
        files[n].name = names[i];
        files[n].data = read_whole(path, &files[n].size);
        n++;
    }
    uint8_t *bytes = (uint8_t *)(uintptr_t)files[weights].data;
    uint64_t head;
    memcpy(&head, bytes, sizeof head);
    for (int i = planted(20); i > 0; i--) {
        const size_t first = 8 + (size_t)head;
        const size_t at = first + chance((uint32_t)(files[weights].size - first));
        const uint8_t bit = (uint8_t)(1u << chance(at % 2 ? 6 : 8)); /* a BF16 stays finite */
        carat_model *other = NULL;
        carat_engine *e = NULL;
        carat_replay t;
        carat_replay_default(&t);
        carat_error why = {CARAT_OK, ""};
        carat_engine_options o = tiny_options(1, NULL, 0);
        bytes[at] ^= bit;
        OK(carat_model_open_memory(&other, files, sizeof *files, n, NULL, err));
        OK(carat_engine_create(&e, other, &o, err));
        const carat_status status = carat_receipt_replay(right, e, NULL, &t, &why);
        if (status != CARAT_E_UNSUPPORTED || !strstr(why.message, "content hash"))
            fail_msg("bit %d of byte %zu: %s, confirmed %d: %s", bit, at, carat_status_name(status),
                     t.confirmed, why.message);
        carat_engine_close(e);
        carat_model_close(other);
        bytes[at] ^= bit;
    }
    for (int i = 0; i < n; i++)
        free((void *)(uintptr_t)files[i].data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_receipts),
        cmocka_unit_test(ids),
        cmocka_unit_test(bits_of_states),
        cmocka_unit_test(bits_of_weights),
    };

    return cmocka_run_group_tests(tests, make_right, free_right);
}
