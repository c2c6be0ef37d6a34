/* SPDX-License-Identifier: Apache-2.0 */
/* schema_reader.h: a JSON Schema and its automaton, which reads texts. */
#ifndef SCHEMA_READER_H
#define SCHEMA_READER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "grammar/automaton.h"
#include "grammar/schema.h"

struct reader {
    struct ct_grammar g;
    struct ct_automaton a;
    carat_error err;
};

static carat_status reader_open(struct reader *r, const char *schema, const struct ct_schema_options *o)
{
    int32_t rule = -1;

    r->err = (carat_error){CARAT_OK, ""};
    r->a = (struct ct_automaton){0};
    ct_grammar_init(&r->g);
    CT_TRY(ct_schema_text(&r->g, ct_str_of(schema), o, &rule, &r->err));
    CT_TRY(ct_grammar_finish(&r->g, rule, &r->err));
    return ct_automaton_open(&r->a, &r->g, &r->err);
}

static void reader_close(struct reader *r)
{
    if (r->a.grammar)
        ct_automaton_close(&r->a);
    ct_grammar_free(&r->g);
}

/* A byte 1 in a text of calls is the token around strings. */
static bool reader_takes(struct reader *r, const char *text, bool calls)
{
    int32_t state = r->a.start;

    for (; *text && state != CT_DEAD; text++)
        state = calls && *text == 1 ? ct_automaton_token(&r->a, state, 52)
                                    : ct_automaton_byte(&r->a, state, (uint8_t)*text);
    return state != CT_DEAD && ct_automaton_accepts(&r->a, state);
}

static const struct ct_schema_options in_order = {.space = CT_SPACE_JSON};

#endif
