/* SPDX-License-Identifier: Apache-2.0 */
/* modes.c: the words of --ref and --test: in which mode a model is run. What a mode does is the library's. */
#include <limits.h>
#include <string.h>

#include "model/engine.h"
#include "model/head.h"
#include "options/store.h"
#include "quality/compare/compare.h"
#include "term/exit.h"
#include "term/message.h"

/* The options that may stand there, by the names that they have as words. */
static const struct {
    const char *word, *option;
} words[] = {
    {"exact", "--exact"},     {"kv", "--kv"},
    {"isa", "--isa"},         {"chunk", "--chunk"},
    {"threads", "--threads"}, {"layers", "--max-layers"},
    {"head", "--lm-head"},    {"activations", "--activations"},
    {"arith", "--arith"},
};
enum { N_WORDS = sizeof words / sizeof words[0] };

/* One word of n bytes, as in kv=f16. */
static int take_word(struct side *s, const char *what, const char *word, size_t n)
{
    const size_t name = strcspn(word, "=,"), value = name < n && word[name] == '=' ? name + 1 : n;
    char origin[128];
    int i = 0;

    while (i < N_WORDS && (strlen(words[i].word) != name || strncmp(words[i].word, word, name) != 0))
        i++;
    if (i == N_WORDS)
        return term_fail(
            USAGE,
            "%s: '%.*s' is not a mode; they are exact, arith=fast8, kv=TYPE, isa=LEVEL, chunk=N, threads=N, "
            "layers=N, head=STRATEGY and activations=f16",
            what, (int)(n < 40 ? n : 40), word);
    const struct option_row *row = option_named(s->o.verb, words[i].option);
    const struct option *option = row->option;
    if ((value < n) == (option->kind == FLAG) || (option->kind != FLAG && value == n))
        return term_fail(USAGE, "%s: %s takes %s value", what, words[i].word,
                         option->kind == FLAG ? "no" : "a");
    if (s->n_words == (int)(sizeof s->word / sizeof s->word[0]) || n - value >= sizeof s->word[0])
        return term_fail(USAGE, "%s: there are too many words, or that of %s is too long", what,
                         words[i].word);
    char *copy = s->word[s->n_words++];
    snprintf(copy, sizeof s->word[0], "%.*s", (int)(n - value), word + value);
    snprintf(origin, sizeof origin, "%s: %s", what, words[i].word);
    return option_store(&s->o, row, origin, option->kind == FLAG ? "1" : copy);
}

/* The words of what can change a number, wherever it was said. */
static void write_mode(struct side *s)
{
    const struct options *o = &s->o;
    char layers[24] = "";
    size_t n = 0;

    if (o->engine->max_layers > 0)
        snprintf(layers, sizeof layers, "layers=%d", o->engine->max_layers);
    const char *const parts[][2] = {{o->engine->exact ? "exact" : NULL, ""},
                                    {options_given(o, &o->engine->arith) ? "arith=" : NULL, o->engine->arith},
                                    {o->engine->kv ? "kv=" : NULL, o->engine->kv},
                                    {*layers ? layers : NULL, ""},
                                    {options_given(o, &o->head->lm_head) ? "head=" : NULL, o->head->lm_head},
                                    {rounds_activations(o) ? "activations=" : NULL, o->engine->activations}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i][0] && n < sizeof s->mode)
            n += (size_t)snprintf(s->mode + n, sizeof s->mode - n, "%s%s%s", n ? "," : "", parts[i][0],
                                  parts[i][1]);
}

int mode_read(struct side *s, const char *what, const char *text)
{
    int code = DONE;

    while (code == DONE && text && *text) {
        const size_t n = strcspn(text, ",");
        code = take_word(s, what, text, n);
        text += n + (text[n] == ',');
    }
    write_mode(s);
    return code;
}
