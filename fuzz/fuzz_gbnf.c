/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gbnf.c: any grammar, and behind a NUL any text, in which a byte from 1 to 3 is one of three control
 * tokens. Checked besides memory: a refusal is a sentence; wherever the text stops fitting, what was taken so
 * far has an ending, as short as the automaton says. */
#include "fuzz_endings.h"
#include "grammar/gbnf.h"
#include "text/tokenizer/tokenizer_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ct_tokenizer *vocabulary(void)
{
    static const char *const piece[] = {"<unk>", "<a>", "<b>", "<|\"|>", "word"};
    struct ct_tokenizer *t = NULL;

    require(ct_tokenizer_create(&t, CT_SOURCE_JSON, NULL, NULL) == CARAT_OK);
    t->seed = 1;
    for (int i = 0; i < (int)CT_COUNT(piece); i++)
        require(ct_tokenizer_add(t, "fuzz", i, ct_str_of(piece[i]),
                                 i == 0  ? CT_PIECE_UNKNOWN
                                 : i < 4 ? CT_PIECE_CONTROL
                                         : CT_PIECE_NORMAL,
                                 false, NULL) == CARAT_OK);
    require(ct_tokenizer_merges(t, NULL, 0, NULL) == CARAT_OK &&
            ct_tokenizer_finish(t, "fuzz", NULL) == CARAT_OK);
    return t;
}

static void follow(const struct ct_grammar *g, const uint8_t *text, size_t n)
{
    struct ct_automaton a;

    if (ct_automaton_open(&a, g, NULL) != CARAT_OK)
        return;
    int32_t state = a.start;
    for (size_t i = 0; i < n && i < 4096 && !a.full; i++) {
        const int32_t next = text[i] >= 1 && text[i] <= 3 ? ct_automaton_token(&a, state, text[i])
                                                          : ct_automaton_byte(&a, state, text[i]);
        if (next == CT_DEAD)
            break;
        state = next;
    }
    check_ending(&a, state);
    ct_automaton_close(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ct_tokenizer *tokenizer;
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    const struct ct_str text = {(const char *)data, end ? (size_t)(end - data) : size};
    struct ct_grammar g;
    carat_error err = {0};
    int32_t root;

    if (!tokenizer)
        tokenizer = vocabulary();
    ct_grammar_init(&g);
    carat_status status = ct_gbnf(&g, text, tokenizer, &root, &err);
    require(status == CARAT_OK || strncmp(err.message, "line ", 5) == 0);
    if (status == CARAT_OK)
        status = ct_grammar_finish(&g, root, &err);
    require(status == CARAT_OK || status == CARAT_E_ARGUMENT);
    if (status == CARAT_OK)
        follow(&g, end ? end + 1 : data, end ? size - text.n - 1 : 0);
    ct_grammar_free(&g);
    return 0;
}
