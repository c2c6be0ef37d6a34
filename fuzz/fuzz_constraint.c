/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_constraint.c: any form, and ids at random that follow one another in it. The first byte chooses the
 * kind of form and its options, the text of the form ends with a NUL, and each byte behind it chooses an id:
 * among those that may come, or any. Checked besides memory: the mask is what asking for each id gives, and
 * what is taken; what may come within few ids may come within more; an answer that is not complete goes on;
 * each id of the shortest ending leaves one less; what is said to follow alone follows. */
#include <stdlib.h>

#include "checkpoint/checkpoint.h"
#include "engine/constraint.h"
#include "text/tokenizer/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECES = 512, STEPS = 60, ENDING = 200 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Bytes, characters, words of JSON, and what the kinds of models have for calls and thoughts. */
static struct ct_tokenizer *vocabulary(bool newer)
{
    static const char words[] = "{\" \": \", ,\" \"} }} [[ true null false 12 00 -1 .5 e+ \xe2\x96\x81 "
                                "\xe2\x96\x81\xe2\x96\x81 ab abc "
                                "\xc3\xa9 \xc3\xa9\xc3\xa9 \\u call: call:f{ root \n ";
    static const char *const mark[][4] = {
        {CARAT_CALL_START, CARAT_CALL_END, "<escape>", "<start_function_response>"},
        {CARAT_TOOL_CALL_START, CARAT_TOOL_CALL_END, "<|\"|>", "<|tool_response>"}};
    static const char *const thought[] = {"<|channel>", "<channel|>"};
    struct ct_tokenizer *t = NULL;
    int n = 0;
    char byte[8];
    float score[PIECES];

    require(ct_tokenizer_create(&t, CT_SOURCE_MODEL, NULL, NULL) == CARAT_OK);
    t->seed = 1;
    t->byte_fallback = true;
    require(ct_tokenizer_add(t, "fuzz", n++, ct_str_of("<unk>"), CT_PIECE_UNKNOWN, false, NULL) == CARAT_OK);
    for (int i = 0; i < 4 + 2 * newer; i++)
        require(ct_tokenizer_add(t, "fuzz", n++, ct_str_of(i < 4 ? mark[newer][i] : thought[i - 4]),
                                 CT_PIECE_CONTROL, false, NULL) == CARAT_OK);
    for (int i = 0; i < 256; i++) {
        snprintf(byte, sizeof byte, "<0x%02X>", (unsigned)i);
        require(ct_tokenizer_add(t, "fuzz", n++, ct_str_of(byte), CT_PIECE_BYTE, false, NULL) == CARAT_OK);
    }
    for (char c[2] = "!"; c[0] <= '~'; c[0]++)
        require(ct_tokenizer_add(t, "fuzz", n++, ct_str_of(c), CT_PIECE_NORMAL, false, NULL) == CARAT_OK);
    for (const char *at = words, *end; (end = strchr(at, ' ')); at = end + 1) {
        const struct ct_str word = {at, (size_t)(end - at)};
        require(ct_tokenizer_add(t, "fuzz", n++, word, CT_PIECE_NORMAL, false, NULL) == CARAT_OK);
    }
    for (int i = 0; i < n; i++)
        score[i] = (float)-i;
    require(n <= PIECES && ct_tokenizer_scores(t, "fuzz", score, NULL) == CARAT_OK &&
            ct_tokenizer_finish(t, "fuzz", NULL) == CARAT_OK);
    return t;
}

static carat_constraint *read_form(const carat_model *model, unsigned how, const uint8_t *text, size_t n)
{
    static const char *const choice[] = {"auto", "required", "none", "f"};
    carat_constraint_options o;
    carat_constraint *c = NULL;
    carat_error err = {0};

    carat_constraint_options_default(&o);
    o.form = (carat_form)(how & 3);
    o.json_dumps = o.one_call = how >> 2 & 1;
    o.tool_choice = choice[how >> 3 & 3];
    o.text = (const char *)text;
    o.n_text = n;
    if (n == 0)
        return NULL; /* which would be a terminated text */
    const carat_status status = carat_constraint_create(&c, model, &o, &err);
    require((status == CARAT_OK) == (c != NULL));
    require(status == CARAT_OK ||
            ((status == CARAT_E_ARGUMENT || status == CARAT_E_UNSUPPORTED) && err.message[0]));
    return c;
}

static bool may_come(const carat_matcher *m, int32_t id, int left)
{
    return ct_matcher_fits(m, id, left) == CT_FITS;
}

static void go_on(carat_matcher *m, int32_t id)
{
    require(may_come(m, id, CT_ANY_NUMBER));
    ct_matcher_accept(m, id);
}

static bool has_bit(const uint64_t *bits, int32_t id)
{
    return bits[id / 64] >> id % 64 & 1;
}

/* Looks at a place; *list gets the ids that may come there. */
static int check_place(carat_matcher *m, int32_t n, int left, int32_t *list)
{
    uint64_t bits[PIECES / 64], all[PIECES / 64];
    const size_t words = ((size_t)n + 63) / 64;
    int count = 0;

    require(words <= CT_COUNT(bits));
    memcpy(all, ct_matcher_mask(m, CT_ANY_NUMBER), words * sizeof *all);
    memcpy(bits, ct_matcher_mask(m, left), words * sizeof *bits);
    for (int32_t id = 0; id < n; id++) {
        require(has_bit(all, id) == may_come(m, id, CT_ANY_NUMBER));
        require(has_bit(bits, id) == may_come(m, id, left));
        require(has_bit(all, id) || !has_bit(bits, id));
        if (has_bit(all, id))
            list[count++] = id;
    }
    for (int32_t id = n; (size_t)id < 64 * words; id++)
        require(!has_bit(all, id) && !has_bit(bits, id));
    return count;
}

/* Where the answer is not complete an id may come, also when there are no more than the shortest ending
 * has. */
static void check_ending(const carat_matcher *from, const uint64_t *within_shortest)
{
    carat_matcher *m = NULL;
    int left = ct_matcher_shortest(from);

    require((left == 0) == ct_matcher_complete(from));
    if (left > ENDING || carat_matcher_copy(&m, from, NULL))
        return;
    for (bool first = true; left > 0; first = false) {
        const int32_t id = m->verb->ending(m);
        require(id >= 0 && may_come(m, id, left) && may_come(m, id, CT_ANY_NUMBER));
        require(!first || has_bit(within_shortest, id));
        go_on(m, id);
        require(ct_matcher_shortest(m) == --left);
    }
    require(ct_matcher_complete(m) && m->verb->ending(m) == -1);
    carat_matcher_close(m);
}

/* What must follow, as long as nobody leaves the spelling. */
static void check_draft(const carat_matcher *from)
{
    carat_matcher *m = NULL;
    int32_t ids[CARAT_MOST_DRAFT], fewer[CARAT_MOST_DRAFT];
    const int n = ct_matcher_draft(from, ids, CARAT_MOST_DRAFT);

    require(n >= 0 && n <= CARAT_MOST_DRAFT);
    require(ct_matcher_draft(from, fewer, 1) == CT_MIN(n, 1) && (n == 0 || fewer[0] == ids[0]));
    if (carat_matcher_copy(&m, from, NULL))
        return;
    for (int i = 0; i < n; i++) {
        require(!ct_matcher_complete(m));
        go_on(m, ids[i]);
    }
    carat_matcher_close(m);
}

static void walk(const carat_model *model, carat_matcher *m, const uint8_t *choice, size_t n)
{
    int32_t list[PIECES];

    for (size_t i = 0; i < n && i < STEPS; i++) {
        const int shortest = ct_matcher_shortest(m), left = shortest + (choice[i] >> 5 & 3);
        require(shortest >= 0 && shortest < INT32_MAX / 2);
        const int count = check_place(m, model->config.n_text_vocab, left, list);
        require(count > 0 || ct_matcher_complete(m));
        check_ending(m, ct_matcher_mask(m, CT_MAX(shortest, 1)));
        check_draft(m);
        const int32_t any = (int32_t)choice[i] * 7 - 100;
        const bool may = may_come(m, any, CT_ANY_NUMBER);
        if (choice[i] >= 0x80 && may) {
            go_on(m, any);
        } else if (count > 0) {
            go_on(m, list[choice[i] * 31 % count]);
        } else {
            break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static carat_model model[2];
    carat_matcher *m = NULL;

    if (!model[0].tokenizer)
        for (int i = 0; i < 2; i++) {
            model[i].tokenizer = vocabulary(i == 1);
            model[i].config.n_vocab = model[i].config.n_text_vocab = ct_tokenizer_size(model[i].tokenizer);
        }
    if (size < 2)
        return 0;
    const uint8_t *text = data + 1, *end = memchr(text, 0, size - 1);
    const size_t n = end ? (size_t)(end - text) : size - 1;
    const carat_model *of = &model[data[0] >> 5 & 1];
    carat_constraint *c = read_form(of, data[0], text, n);
    if (c && carat_matcher_create(&m, c, NULL) == CARAT_OK)
        walk(of, m, end ? end + 1 : text, end ? size - n - 2 : 0);
    carat_matcher_close(m);
    carat_constraint_close(c);
    return 0;
}
