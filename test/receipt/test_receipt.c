/* SPDX-License-Identifier: Apache-2.0 */
/* test_receipt.c: a receipt is the same text whatever computed the answer (level, threads, chunk, drafts,
 * the exact head), and every such receipt replays, whole, by its states, and by a share of
 * its ids; an altered one does not. It takes long since each of 15 kinds of settings is computed in 4 to 6
 * ways, some of them by the reference kernels. */
#include "receipt/receipt_util.h"

static struct settings settings;

/* ---- what computes an answer ---- */

struct way {
    const char *name, *isa;
    int threads, chunk;
    bool drafts, naive;
    carat_head head;
};

static const struct way ways[] = {
    {"best", NULL, 2, 256, false, false, CARAT_HEAD_DENSE},
    {"ref", "ref", 1, 1, false, false, CARAT_HEAD_DENSE},
    {"drafts", NULL, 1, 16, true, false, CARAT_HEAD_DENSE},
    {"pruned", NULL, 2, 64, true, false, CARAT_HEAD_EXACT_PRUNED},
    {"lazy", NULL, 1, 7, false, false, CARAT_HEAD_LAZY},
    {"naive", NULL, 2, 256, false, true, CARAT_HEAD_DENSE},
};

/* Proposes right ids and wrong ones. */
static int propose(void *user, const int32_t *ids, int n, int32_t *draft, int k)
{
    const carat_receipt_info *known = user;
    const int at = n - known->n_prompt;

    for (int i = 0; i < k; i++)
        draft[i] = at + i < known->n_answer && i < 3 ? known->answer[at + i] : ids[n - 1];
    return k;
}

static char *made_in(const struct way *w, const carat_receipt_info *known)
{
    carat_engine_options o = tiny_options(w->threads, w->isa, w->chunk);
    carat_head_options head;
    carat_head_options_default(&head);
    struct settings s = settings;
    carat_engine *engine = NULL;

    head.strategy = w->head;
    o.head = &head;
    s.sampling.chain = &s.chain;
    s.options.sampling = &s.sampling;
    s.options.lookup = w->drafts ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
    s.options.naive = w->naive;
    if (w->drafts && known) {
        s.options.propose = propose;
        s.options.user = (void *)(uintptr_t)known;
    }
    OK(carat_engine_create(&engine, tiny, &o, err));
    char *text = receipt_of(engine, &s, NULL, NULL);
    carat_engine_close(engine);
    return text;
}

static void equal_receipts(void **state)
{
    (void)state;
    for (int i = 0; i < SETTINGS; i++) {
        choose_settings(&settings, i);
        char *first = made_in(&ways[0], NULL);
        carat_receipt *r = read_receipt(first);
        carat_receipt_info info;
        carat_receipt_info_default(&info);
        OK(carat_receipt_get_info(r, &info, err));
        for (size_t w = 1; w < sizeof ways / sizeof *ways; w++) {
            if ((ways[w].isa && i % 3) || (ways[w].naive && i % 5)) /* these take long */
                continue;
            char *other = made_in(&ways[w], &info);
            if (strcmp(first, other) != 0)
                fail_msg("%s, %s:\n%s\n%s", settings.name, ways[w].name, first, other);
            carat_free(other);
        }
        assert_true((settings.sampling.number == 3000000000u) == !!strstr(first, "\"number\":3000000000,"));
        assert_true((settings.options.loop_guard == 32) == !!strstr(first, "\"loop_guard\":32,"));
        carat_receipt_close(r);
        carat_free(first);
    }
}

/* ---- replaying ---- */

static void all_replay(void **state)
{
    (void)state;
    for (int i = 0; i < SETTINGS; i++) {
        choose_settings(&settings, i);
        char *text = made_in(&ways[0], NULL);
        carat_receipt *r = read_receipt(text);
        char *again = NULL;
        OK(carat_receipt_write(r, &again, NULL, err));
        assert_string_equal(again, text);
        for (int k = 0; k < 4; k++) {
            const carat_engine_options o = tiny_options(1 + k % 2, k == 1 ? "ref" : NULL, k == 2 ? 5 : 0);
            carat_replay_options how;
            carat_replay_options_default(&how);
            how.states_only = k == 2;
            how.sample = k == 3 ? 0.3 : 0;
            how.sample_seed = (uint64_t)i;
            carat_replay t = replayed(r, &o, &how);
            if (!t.confirmed || t.states_same != t.tokens || t.states_differ >= 0 || t.differs >= 0 ||
                t.drawn > t.tokens || (k == 0 && t.drawn != t.tokens) || (k == 2 && t.drawn))
                fail_msg("%s, %d: confirmed %d, states %d of %d, differs %d, drawn %d, reason %s",
                         settings.name, k, t.confirmed, t.states_same, t.tokens, t.differs, t.drawn,
                         carat_reason_name(t.reason));
        }
        carat_free(again);
        carat_free(text);
        carat_receipt_close(r);
    }
}

/* ---- what is altered ---- */

static void replace(char *text, const char *from, const char *to)
{
    char *at = strstr(text, from);

    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
}

static void altered(void **state)
{
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"\"seed\":\"9223372036854775810\"", "\"seed\":\"9223372036854775811\""},
        {"\"temperature\":1", "\"temperature\":2"},
        {"\"top_k\":64", "\"top_k\":63"},
        {"\"thought_budget\":-1", "\"thought_budget\":10"},
        {"\"digest\":\"", "\"digest\":\""},
    };
    const carat_engine_options o = tiny_options(2, NULL, 0);

    (void)state;
    choose_settings(&settings, 1);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *text = made_in(&ways[0], NULL);
        if (strcmp(changes[i].from, changes[i].to) != 0) {
            char *at = strstr(text, changes[i].from);
            if (!at)
                at = strstr(text, "\"seed\":\"");
            assert_non_null(at);
            if (strncmp(at, changes[i].from, strlen(changes[i].from)) == 0)
                replace(text, changes[i].from, changes[i].to);
            else
                at[8] = at[8] == '9' ? '8' : '9';
        } else {
            char *at = strstr(text, changes[i].from) + strlen(changes[i].from);
            *at = *at == '0' ? '1' : '0';
        }
        carat_receipt *r = NULL;
        OK(carat_receipt_read(&r, "r.json", text, strlen(text), err));
        carat_replay t = replayed(r, &o, NULL);
        if (t.confirmed)
            fail_msg("change %zu is confirmed: %s", i, text);
        carat_receipt_close(r);
        carat_free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_receipts),
        cmocka_unit_test(all_replay),
        cmocka_unit_test(altered),
    };

    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
