/* SPDX-License-Identifier: Apache-2.0 */
/* test_heads.c: approximate heads are other models: a receipt names them, is the same text whatever kernels,
 * threads and chunk computed it, replays with the same head and with no other. A head that may be given up
 * under way has no receipt. */
#include "receipt/receipt_util.h"

#include <stdlib.h>

static const struct {
    carat_head strategy;
    carat_head_quant quant;
    int tiles;
    const char *named;
} heads[] = {
    {CARAT_HEAD_SHORTLIST, CARAT_QUANT_NATIVE, 3,
     "\"head\":{\"quant\":\"native\",\"strategy\":\"shortlist\",\"tile\":64,\"tiles\":3}"},
    {CARAT_HEAD_LAZY, CARAT_QUANT_GROUP, 0,
     "\"head\":{\"quant\":\"group\",\"strategy\":\"lazy\",\"tile\":64,\"tiles\":0}"},
    {CARAT_HEAD_PRELOAD, CARAT_QUANT_CHANNEL, 0,
     "\"head\":{\"quant\":\"channel\",\"strategy\":\"preload\",\"tile\":64,\"tiles\":0}"},
    {CARAT_HEAD_SHORTLIST, CARAT_QUANT_TENSOR, 5,
     "\"head\":{\"quant\":\"tensor\",\"strategy\":\"shortlist\",\"tile\":64,\"tiles\":5}"},
};
enum { HEADS = sizeof heads / sizeof *heads };

static carat_engine *engine_with(int i, carat_engine_options o, int audit)
{
    carat_head_options head;
    carat_head_options_default(&head);
    carat_engine *engine = NULL;

    head.strategy = heads[i].strategy;
    head.quant = heads[i].quant;
    head.tile = 64;
    head.shortlist_tiles = heads[i].tiles;
    head.audit = audit;
    o.head = &head;
    OK(carat_engine_create(&engine, tiny, &o, err));
    return engine;
}

static void named_and_replayed(void **state)
{
    (void)state;
    for (int i = 0; i < HEADS; i++)
        for (int k = 0; k < 2; k++) {
            struct settings s;
            choose_settings(&s, k ? 3 : 0);
            carat_engine *best = engine_with(i, tiny_options(2, NULL, 256), 0);
            carat_engine *ref = engine_with(i, tiny_options(1, k == i % 2 ? "ref" : NULL, 1), 0); /* slow */
            char *text = receipt_of(best, &s, NULL, NULL), *other = receipt_of(ref, &s, NULL, NULL);
            assert_string_equal(text, other);
            if (!strstr(text, heads[i].named))
                fail_msg("no %s in %s", heads[i].named, text);
            carat_receipt *r = read_receipt(text);
            for (int way = 0; way < 2; way++) {
                const carat_engine_options o = tiny_options(1 + way, NULL, way ? 5 : 0);
                const carat_replay t = replayed(r, &o, NULL);
                if (!t.confirmed || t.drawn != t.tokens)
                    fail_msg("head %d: token %d of %d, states %d to %d", i, t.differs, t.tokens,
                             t.states_same, t.states_differ);
            }
            carat_receipt_close(r);
            carat_free(text);
            carat_free(other);
            carat_engine_close(best);
            carat_engine_close(ref);
        }
}

static void by_no_other(void **state)
{
    struct settings s;
    carat_engine *made[HEADS + 1];
    char *text[HEADS + 1];

    (void)state;
    choose_settings(&s, 3);
    for (int i = 0; i <= HEADS; i++) { /* the last one is exact */
        carat_engine_options o = tiny_options(1, NULL, 0);
        if (i < HEADS)
            made[i] = engine_with(i, o, 0);
        else
            OK(carat_engine_create(&made[i], tiny, &o, err));
        text[i] = receipt_of(made[i], &s, NULL, NULL);
    }
    for (int i = 0; i <= HEADS; i++) {
        carat_receipt *r = read_receipt(text[i]);
        for (int k = 0; k <= HEADS; k++) {
            carat_replay t;
            carat_replay_default(&t);
            carat_error why = {CARAT_OK, ""};
            const carat_status status = carat_receipt_replay(r, made[k], NULL, &t, &why);
            if (status != (i == k ? CARAT_OK : CARAT_E_UNSUPPORTED) ||
                (i != k && !strstr(why.message, "header.head")))
                fail_msg("receipt %d by head %d: %s", i, k, why.message);
        }
        carat_receipt_close(r);
    }
    for (int i = 0; i <= HEADS; i++) {
        carat_engine_close(made[i]);
        carat_free(text[i]);
    }
}

static void not_when_audited(void **state)
{
    (void)state;
    for (int audit = 0; audit < 2; audit++) {
        struct settings s;
        choose_settings(&s, 1);
        carat_engine *engine = engine_with(0, tiny_options(1, NULL, 0), audit);
        carat_session *session = NULL;
        carat_generation *g = NULL;
        carat_receipt *r = NULL;
        carat_error why = {CARAT_OK, ""};
        OK(carat_session_create(&session, engine, NULL, err));
        OK(carat_generation_create(&g, session, &s.options, err));
        assert_int_equal(carat_receipt_begin(&r, g, NULL, &why), audit ? CARAT_E_ARGUMENT : CARAT_OK);
        assert_true(!audit || strstr(why.message, "audits may give up"));
        carat_receipt_close(r);
        carat_generation_close(g);
        carat_session_close(session);
        carat_engine_close(engine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_and_replayed),
        cmocka_unit_test(by_no_other),
        cmocka_unit_test(not_when_audited),
    };

    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
