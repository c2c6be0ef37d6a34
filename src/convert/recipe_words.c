/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_words.c: see recipe_words.h. */
#include "convert/recipe_words.h"

#include "convert/mixes.h"

/* Parts of a model, and the tensors that they are; of a tensor its own name is a part, too. */
static const struct {
    const char *word, *tensors; /* names between spaces */
} roles[] = {
    {"embed", " token_embd "},
    {"ple", " per_layer_token_embd "},
    {"head", " output "},
    {"attn", " attn_q attn_k attn_v attn_output "},
    {"ffn", " ffn_gate ffn_up ffn_down "},
    {"experts", " ffn_gate_up_exps ffn_down_exps "},
    {NULL, " attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down ffn_gate_up_exps ffn_down_exps "
           "inp_gate proj "},
};

static bool among(const char *names, struct ct_str name)
{
    for (const char *at = names; (at = strchr(at, ' ')) && at[1]; at++)
        if (strncmp(at + 1, name.s, name.n) == 0 && at[1 + name.n] == ' ')
            return true;
    return false;
}

static bool is_pattern(struct ct_str who)
{
    return memchr(who.s, '*', who.n) || memchr(who.s, '.', who.n);
}

/* The names of tensors that a word stands for; NULL: it is none. */
static const char *tensors_of(struct ct_str who)
{
    size_t i = 0;

    while (roles[i].word && !ct_str_is(who, roles[i].word))
        i++;
    return roles[i].word || among(roles[i].tensors, who) ? roles[i].tensors : NULL;
}

static carat_status wrong(const struct ct_words *w, const char *at, struct ct_str what, const char *why,
                          carat_error *err)
{
    return ct_fail(err, CARAT_E_ARGUMENT, "recipe, character %d: \"%.*s\" %s", (int)(at - w->text) + 1,
                   (int)CT_MIN(what.n, (size_t)60), what.s, why);
}

/* A number below n_layer; moves *at behind it, if it is one. */
static bool read_layer(const char **at, int n_layer, int *layer)
{
    const char *digits = *at;

    for (*layer = 0; **at >= '0' && **at <= '9' && *layer < n_layer; ++*at)
        *layer = *layer * 10 + (**at - '0');
    if (*at > digits && *layer < n_layer)
        return true;
    *at = digits;
    return false;
}

/* Whether layers is "0-2,25", and whether layer is among them; *at: behind it, or at what is wrong. */
static bool read_layers(struct ct_str layers, int n_layer, int layer, bool *in, const char **at)
{
    const char *end = layers.s + layers.n;
    int first, last;

    *in = false;
    for (*at = layers.s;; ++*at) {
        if (!read_layer(at, n_layer, &first))
            return false;
        last = first;
        if (**at == '-') {
            ++*at;
            if (!read_layer(at, n_layer, &last) || last < first)
                return false;
        }
        *in = *in || (first <= layer && layer <= last);
        if (*at == end)
            return true;
        if (**at != ',')
            return false;
    }
}

/* One entry, which begins at *at; moves it to the comma behind, or to the end. */
static carat_status read_word(struct ct_words *w, const char **at, int n_layer, carat_error *err)
{
    struct ct_word *e = &w->word[w->n++];
    const char *wrong_at, *text = *at;
    char why[64], no_type[CT_TYPE_WHY];
    bool in;

    e->who = (struct ct_str){text, strcspn(text, "[=,")};
    text += e->who.n;
    if (!tensors_of(e->who) && !ct_str_is(e->who, "all") && !is_pattern(e->who))
        return wrong(
            w, *at, e->who,
            "is no part of a model: it has all, embed, ple, head, attn, ffn, experts, single ones as "
            "ffn_down, and names with a dot or *",
            err);
    if (*text == '[') {
        e->layers = (struct ct_str){text + 1, strcspn(text + 1, "]")};
        if (!text[1 + e->layers.n] || e->layers.n == 0)
            return wrong(w, text, (struct ct_str){text, CT_MIN(strlen(text), (size_t)2)},
                         "has no layers in it: write [0-2,5]", err);
        snprintf(why, sizeof why, "is no list of layers, which are 0 to %d", n_layer - 1);
        if (!read_layers(e->layers, n_layer, 0, &in, &wrong_at))
            return wrong(w, wrong_at, e->layers, why, err);
        text += 1 + e->layers.n + 1;
    }
    if (*text != '=')
        return wrong(w, text, e->who, "is not followed by = and a type", err);
    const struct ct_str type = {text + 1, strcspn(text + 1, ",")};
    *at = text + 1 + type.n;
    e->type = CT_TYPE_COUNT;
    if (ct_str_is(type, "keep") || ct_type_written(type, &e->type))
        return CARAT_OK;
    if (!ct_scheme_named(type, &e->scheme))
        return wrong(w, type.s, type, ct_type_why(no_type, type), err);
    e->type = ct_scheme_type(&e->scheme);
    return CARAT_OK;
}

carat_status ct_words_read(struct ct_words *w, const char *text, int n_layer, struct ct_arena *arena,
                           carat_error *err)
{
    size_t most = 1;

    *w = (struct ct_words){.text = text};
    for (const char *at = text; at && *at; at++)
        most += *at == ',';
    w->word = ct_arena_push(arena, most, sizeof *w->word);
    if (!w->word)
        return ct_no_memory(err, "a recipe");
    for (const char *at = text; text;) {
        CT_TRY(read_word(w, &at, n_layer, err));
        if (!*at++)
            break;
    }
    return CARAT_OK;
}

/* Any number of characters for each *. */
static bool like(struct ct_str pattern, const char *name)
{
    size_t i = 0, star = pattern.n;
    const char *from = name;

    while (*name || i < pattern.n) {
        if (i < pattern.n && pattern.s[i] == '*') {
            star = i++;
            from = name;
        } else if (i < pattern.n && *name && pattern.s[i] == *name) {
            i++, name++;
        } else if (star < pattern.n && *from) {
            i = star + 1;
            name = ++from;
        } else {
            return false;
        }
    }
    return true;
}

static bool means(const struct ct_word *e, const char *name, int layer, bool by_name)
{
    const char *own = layer < 0 ? name : strchr(name + 4, '.') + 1, *tensors = tensors_of(e->who), *at;
    const struct ct_str part = {own, strlen(own) - 7}; /* without ".weight" */
    bool in = true;

    if (e->layers.s)
        read_layers(e->layers, INT32_MAX / 16, layer, &in, &at);
    if (!in || (by_name && (ct_str_is(e->who, "all") || memchr(e->who.s, '*', e->who.n))))
        return false;
    if (ct_str_is(e->who, "all"))
        return true;
    if (is_pattern(e->who))
        return like(e->who, name);
    return ct_str_same(e->who, part) ||
           (tensors != roles[CT_COUNT(roles) - 1].tensors && among(tensors, part));
}

const struct ct_word *ct_words_last(struct ct_words *w, const char *name, int layer, bool by_name)
{
    const struct ct_word *last = NULL;

    for (struct ct_word *e = w->word; e < w->word + w->n; e++)
        if (means(e, name, layer, by_name)) {
            e->used = true;
            last = e;
        }
    return last;
}

carat_status ct_words_used(const struct ct_words *w, carat_error *err)
{
    for (const struct ct_word *e = w->word; e < w->word + w->n; e++)
        if (!e->used)
            return wrong(w, e->who.s, e->who, "means no matrix of this model", err);
    return CARAT_OK;
}
