/* SPDX-License-Identifier: Apache-2.0 */
/* modes.c: the words of --ref and --test: in which mode a model is run. What a mode does is the library's. */
#include "compare/compare.h"

#include <limits.h>
#include <string.h>

/* The options that may stand there, by the names that they have as words. */
static const struct {
    const char *word, *option;
    bool changes; /* it can change a number */
} words[] = {
    {"exact", "--exact", true},      {"kv", "--kv", true},
    {"isa", "--isa", false},         {"chunk", "--chunk", false},
    {"threads", "--threads", false}, {"layers", "--max-layers", true},
    {"head", "--lm-head", true},
};
enum { N_WORDS = sizeof words / sizeof words[0] };

static const struct option *find_option(const char *name)
{
    for (int i = 0; i < option_count; i++)
        for (int k = 0; option_table[i].verbs & ON(COMPARE) && k < MOST_NAMES && option_table[i].names[k];
             k++)
            if (strcmp(option_table[i].names[k], name) == 0)
                return &option_table[i];
    return NULL;
}

/* One word of n bytes, as in kv=f16. */
static int take_word(struct side *s, const char *what, const char *word, size_t n)
{
    const size_t name = strcspn(word, "=,"), value = name < n && word[name] == '=' ? name + 1 : n;
    char origin[128];
    int i = 0;

    while (i < N_WORDS && (strlen(words[i].word) != name || strncmp(words[i].word, word, name) != 0))
        i++;
    if (i == N_WORDS)
        return fail(USAGE,
                    "%s: '%.*s' is no mode; they are exact, kv=TYPE, isa=LEVEL, chunk=N, threads=N, layers=N "
                    "and head=STRATEGY",
                    what, (int)(n < 40 ? n : 40), word);
    const struct option *option = find_option(words[i].option);
    if ((value < n) == (option->kind == FLAG) || (option->kind != FLAG && value == n))
        return fail(USAGE, "%s: %s takes %s value", what, words[i].word, option->kind == FLAG ? "no" : "a");
    if (s->n_words == (int)(sizeof s->word / sizeof s->word[0]) || n - value >= sizeof s->word[0])
        return fail(USAGE, "%s: there are too many words, or that of %s is too long", what, words[i].word);
    char *copy = s->word[s->n_words++];
    snprintf(copy, sizeof s->word[0], "%.*s", (int)(n - value), word + value);
    snprintf(origin, sizeof origin, "%s: %s", what, words[i].word);
    if (words[i].changes && strlen(s->mode) + n + 2 <= sizeof s->mode)
        snprintf(s->mode + strlen(s->mode), sizeof s->mode - strlen(s->mode), "%s%.*s", *s->mode ? "," : "",
                 (int)n, word);
    return option_store(&s->o, option, origin, option->kind == FLAG ? "1" : copy);
}

int mode_read(struct side *s, const char *what, const char *text)
{
    int code = DONE;

    while (code == DONE && text && *text) {
        const size_t n = strcspn(text, ",");
        code = take_word(s, what, text, n);
        text += n + (text[n] == ',');
    }
    return code;
}
