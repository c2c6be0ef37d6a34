/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_schema.c: any text as a JSON Schema, in a syntax that its length chooses. Checked besides memory: what
 * is refused says why; what is taken has a shortest text, which our own reader of JSON takes where it is no
 * call. */
#include <stdlib.h>

#include "grammar/automaton.h"
#include "grammar/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* The shortest text, in brackets so that the reader of trees takes any value. */
static void read_shortest(struct ct_automaton *a, bool calls)
{
    enum { MOST = 4096 };
    char text[MOST + 2];
    size_t n = 0;
    int32_t state = a->start;
    struct ct_json_tree tree = {0};

    if (ct_automaton_least(a, state) > MOST)
        return;
    text[n++] = '[';
    for (int symbol; (symbol = ct_automaton_shortest(a, state)) != CT_NO_SYMBOL;) {
        text[n++] = (char)symbol;
        state = ct_automaton_symbol(a, state, symbol);
        require(state != CT_DEAD && n <= MOST + 1);
    }
    require(ct_automaton_accepts(a, state));
    text[n++] = ']';
    if (!calls) {
        carat_error err;
        require(ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "text", (struct ct_bytes){(uint8_t *)text, n},
                                  &err) == CARAT_OK);
    }
    ct_json_tree_free(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ct_schema_options syntaxes[] = {
        {.space = CT_SPACE_JSON},
        {.space = CT_SPACE_DUMPS, .any_order = true},
        {.space = CT_SPACE_JSON, .argument = true},
        {.space = CT_SPACE_NONE,
         .argument = true,
         .calls = true,
         .quote = 52,
         .prefix = "tools[0].function.parameters"},
    };

    const struct ct_schema_options *o = &syntaxes[size % CT_COUNT(syntaxes)];
    struct ct_grammar g;
    struct ct_automaton a;
    carat_error err = {CARAT_OK, ""};
    int32_t rule = -1;

    ct_grammar_init(&g);
    carat_status status = ct_schema_text(&g, (struct ct_str){(const char *)data, size}, o, &rule, &err);
    if (status == CARAT_OK) /* which says that no JSON fits */
        status = ct_grammar_finish(&g, rule, &err);
    require(status == CARAT_OK ||
            ((status == CARAT_E_ARGUMENT || status == CARAT_E_UNSUPPORTED) && *err.message));
    if (status == CARAT_OK) {
        require(ct_automaton_open(&a, &g, &err) == CARAT_OK);
        read_shortest(&a, o->calls);
        ct_automaton_close(&a);
    }
    ct_grammar_free(&g);
    return 0;
}
