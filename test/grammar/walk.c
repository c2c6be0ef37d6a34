/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c: what check_schemas.py asks about schemas. Standard input is lines:
 *
 *     s TEXT      a schema, with the options of the arguments: -> "ok RULES NODES" or "error MESSAGE"
 *     t TEXT      a text: -> "yes", or "no BYTE", where it stops fitting
 *     w SEED      a walk of the last schema's automaton at random, ended by the shortest ending: -> TEXT
 *
 * Texts stand with \n and \\ for line breaks and backslashes. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "grammar/automaton.h"
#include "grammar/schema.h"

static struct ct_grammar grammar;
static struct ct_automaton automaton;
static bool open;

static void forget(void)
{
    if (open)
        ct_automaton_close(&automaton);
    ct_grammar_free(&grammar);
    open = false;
}

static void read_schema(const char *text, const struct ct_schema_options *o)
{
    carat_error err = {CARAT_OK, ""};
    int32_t rule = -1;

    forget();
    ct_grammar_init(&grammar);
    if (ct_schema_text(&grammar, ct_str_of(text), o, &rule, &err) ||
        ct_grammar_finish(&grammar, rule, &err) || ct_automaton_open(&automaton, &grammar, &err)) {
        printf("error %s\n", err.message);
        return;
    }
    open = true;
    printf("ok %d %d\n", grammar.n_rules, grammar.n_nodes);
}

static void take_text(const char *text, size_t n)
{
    int32_t state = automaton.start;
    size_t i = 0;

    for (; i < n && state != CT_DEAD; i++)
        state = ct_automaton_byte(&automaton, state, (uint8_t)text[i]);
    if (state != CT_DEAD && ct_automaton_accepts(&automaton, state))
        printf("yes\n");
    else
        printf("no %zu\n", state == CT_DEAD ? i - 1 : i);
}

static uint64_t seed;
static uint32_t draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

static void put(int byte)
{
    if (byte == '\n' || byte == '\\')
        printf(byte == '\n' ? "\\n" : "\\\\");
    else
        putchar(byte);
}

/* Classes of bytes are drawn, then a byte of the class, so that rare ones are seen. */
static void walk(void)
{
    int32_t state = automaton.start;
    const uint32_t length = draw() % 8 ? draw() % 60 : draw() % 400;

    for (uint32_t i = 0; i < length; i++) {
        int choice[256], n = 0;
        const int only = (int)(draw() % (uint32_t)grammar.n_classes);
        for (int byte = 0; byte < 256; byte++)
            if (ct_automaton_byte(&automaton, state, (uint8_t)byte) != CT_DEAD &&
                (grammar.class_of[byte] == only || draw() % 16 == 0))
                choice[n++] = byte;
        if (n == 0)
            continue;
        const int byte = choice[draw() % (uint32_t)n];
        put(byte);
        state = ct_automaton_byte(&automaton, state, (uint8_t)byte);
    }
    for (int symbol; (symbol = ct_automaton_shortest(&automaton, state)) != CT_NO_SYMBOL;) {
        put(symbol);
        state = ct_automaton_symbol(&automaton, state, symbol);
    }
    printf("\n");
}

/* In place; returns the length. */
static size_t unescape(char *text)
{
    char *to = text;

    for (const char *c = text; *c; c++)
        *to++ = *c == '\\' ? (*++c == 'n' ? '\n' : *c) : *c;
    *to = 0;
    return (size_t)(to - text);
}

int main(int argc, char **argv)
{
    struct ct_schema_options o = {.space = CT_SPACE_JSON};
    char *line = NULL;
    size_t room = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "dumps") == 0)
            o.space = CT_SPACE_DUMPS;
        if (strcmp(argv[i], "any") == 0)
            o.any_order = true;
    }
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 1;) {
        line[n - 1] = 0;
        const size_t length = unescape(line + 2);
        seed = strtoull(line + 2, NULL, 10);
        if (line[0] == 's')
            read_schema(line + 2, &o);
        else if (!open)
            printf("none\n");
        else if (line[0] == 't')
            take_text(line + 2, length);
        else
            walk();
        fflush(stdout);
    }
    free(line);
    forget();
    return 0;
}
