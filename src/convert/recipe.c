/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.c: see plan.h. Here the tensors are listed, and each gets its type, by the words of a recipe; what a
 * mix gives: mixes.c. */
#include "convert/plan.h"

#include <stdlib.h>

#include "base/arena.h"
#include "convert/mixes.h"
#include "convert/scheme.h"
#include "quant/quant.h"

/* ---- words ---- */

/* "ffn_down[0-2,25]=q5_k,blk.7.*=bf16": which tensors an entry means, and what they become. */

/* An entry: "attn[0-2,5]=q8_0". */
struct word {
    struct ct_str who, layers; /* layers.s NULL: of all */
    enum ct_type type;         /* CT_TYPE_COUNT: keep */
    struct ct_scheme scheme;
    bool used; /* it meant a tensor */
};

struct words {
    const char *text; /* borrowed */
    struct word *word;
    int n;
};

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

static carat_status wrong(const struct words *w, const char *at, struct ct_str what, const char *why,
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

/* True when layers reads like "0-2,25"; *in: layer is among them; *at: behind it, or at what is wrong. */
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
static carat_status read_word(struct words *w, const char **at, int n_layer, carat_error *err)
{
    struct word *e = &w->word[w->n++];
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

/* text may be NULL. Layers are numbers below n_layer. E_ARGUMENT: the message says at which character;
 * E_MEMORY. */
static carat_status words_read(struct words *w, const char *text, int n_layer, struct ct_arena *arena,
                               carat_error *err)
{
    size_t most = 1;

    *w = (struct words){.text = text};
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

static bool means(const struct word *e, const char *name, int layer, bool by_name)
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

/* The last entry that means the tensor of a name; NULL: none does. layer: -1: it is none's. by_name: an entry
 * for all, or for all of a pattern, does not count. */
static const struct word *words_last(struct words *w, const char *name, int layer, bool by_name)
{
    const struct word *last = NULL;

    for (struct word *e = w->word; e < w->word + w->n; e++)
        if (means(e, name, layer, by_name)) {
            e->used = true;
            last = e;
        }
    return last;
}

/* E_ARGUMENT: an entry meant nothing. */
static carat_status words_used(const struct words *w, carat_error *err)
{
    for (const struct word *e = w->word; e < w->word + w->n; e++)
        if (!e->used)
            return wrong(w, e->who.s, e->who, "means no matrix of this model", err);
    return CARAT_OK;
}

/* ---- recipes ---- */

/* True for the tensors, beside vectors, that llama.cpp's quantiser leaves in the source's type. */
static bool is_left_alone(const char *name)
{
    static const char *const parts[] = {"_norm.", "ffn_gate_inp.", "altup", "laurel", "per_layer_model_proj"};
    const size_t n = strlen(name);

    for (size_t i = 0; i < CT_COUNT(parts); i++)
        if (strstr(name, parts[i]))
            return true;
    return n < 7 || strcmp(name + n - 7, ".weight") != 0;
}

struct listing {
    struct ct_recipe *r;
    const struct ct_config *c;
    struct ct_arena *arena;
};

static carat_status count_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    (void)slot, (void)tensor, (void)w;
    ((struct ct_recipe *)user)->n++;
    return CARAT_OK;
}

/* The type in which GGUF holds it: GGUF has no place for a factor, and knows none of gemma.cpp's types. */
static enum ct_type stored_type(const struct ct_weight *w)
{
    if (w->scale != 1 || w->rows == 1)
        return CT_F32;
    return ct_type_info(w->type)->ggml < 0 ? CT_BF16 : w->type;
}

static carat_status list_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    struct listing *l = user;
    struct ct_recipe *r = l->r;
    struct ct_gguf_place place;

    (void)tensor;
    ct_gguf_place(&place, l->c, slot);
    for (int i = r->n - 1; i >= 0 && i >= r->n - 2; i--)
        if (strcmp(r->tensor[i].name, place.name) == 0) {
            r->tensor[i].rows += w->rows;
            r->tensor[i].n = place.at + 1;
            return CARAT_OK;
        }
    r->tensor[r->n] = (struct ct_chosen){.name = ct_arena_str(l->arena, place.name, strlen(place.name)),
                                         .layer = strncmp(slot, "blk.", 4) == 0 ? atoi(slot + 4) : -1,
                                         .rows = w->rows,
                                         .cols = w->cols,
                                         .n = 1,
                                         .stored = stored_type(w),
                                         .matrix = w->rows > 1 && !is_left_alone(place.name)};
    return r->tensor[r->n++].name ? CARAT_OK : CARAT_E_MEMORY;
}

static enum ct_type by_mix(const struct ct_recipe *r, struct ct_mixing *m, const struct ct_chosen *t)
{
    if (!r->mix)
        return t->stored;
    if (t->matrix)
        return r->pure ? r->mix->type : ct_mix_type(m, t->name, t->cols, t->n > 1);
    if (strstr(t->name, "ffn_gate_inp."))
        return CT_F32; /* a router's scores decide */
    return t->rows > 1 && ct_type_info(r->mix->type)->block == 1 ? r->mix->type : t->stored;
}

/* Gives a tensor that type, or the one that its rows can have; as values of a scheme only where they can have
 * its own. */
static void become(struct ct_chosen *t, enum ct_type type, const struct ct_scheme *s)
{
    const bool whole_bytes = s->kind != CT_PALETTE || (int64_t)t->cols * s->bits % 8 == 0;

    t->asked = type;
    t->type = ct_fitting_type(type, t->cols);
    t->scheme = t->type == type && whole_bytes ? *s : (struct ct_scheme){.kind = CT_BLOCKS};
}

/* The type of a tensor, by the last word about it. */
static carat_status choose(struct ct_recipe *r, struct ct_mixing *m, struct words *words, struct ct_chosen *t,
                           const char *path, carat_error *err)
{
    const struct word *word = t->matrix ? words_last(words, t->name, t->layer, false) : NULL;
    const struct ct_scheme none = {.kind = CT_BLOCKS};

    if (word)
        become(t, word->type < CT_TYPE_COUNT ? word->type : t->stored, &word->scheme);
    else if (r->scheme.kind && t->matrix)
        become(t, ct_scheme_type(&r->scheme), &r->scheme);
    else
        become(t, by_mix(r, m, t), &none);
    if (r->again || ct_type_info(t->stored)->block == 1 ||
        (!t->scheme.kind && (t->type == t->stored || ct_type_info(t->type)->block == 1)))
        return CARAT_OK;
    return ct_fail(
        err, CARAT_E_UNSUPPORTED,
        "%s: %s is %s already, and %s of that would be worse than of the original: convert that, or "
        "allow it by --allow-requantize",
        path, t->name, ct_type_info(t->stored)->name,
        t->scheme.kind == CT_PALETTE ? "a palette" : ct_type_info(t->type)->name);
}

/* A head that is the embedding becomes a tensor of its own where it is asked to be another. */
static void choose_head(struct ct_recipe *r, struct words *words)
{
    const struct ct_chosen *embed = &r->tensor[0];
    struct ct_chosen *head = &r->tensor[r->n];
    const struct word *word = words_last(words, "output.weight", -1, true);

    while (strcmp(embed->name, "token_embd.weight") != 0)
        embed++;
    *head = *embed;
    head->name = "output.weight";
    if (word)
        become(head, word->type < CT_TYPE_COUNT ? word->type : head->stored, &word->scheme);
    r->head_apart = head->type != embed->type || head->scheme.kind != embed->scheme.kind ||
                    head->scheme.bits != embed->scheme.bits || head->scheme.shared != embed->scheme.shared;
}

/* Each entry has a value for every column of its matrices; what is made with importance alone has some. Small
 * matrices that are bound as vectors are no matter: nothing makes blocks of them. */
static carat_status check_importance(const struct ct_recipe *r, const char *path, carat_error *err)
{
    for (int i = 0; r->importance && i < r->importance->n; i++) {
        const struct ct_importance_of *of = &r->importance->of[i];
        const struct ct_chosen *t = r->tensor, *end = t + r->n + r->head_apart;
        while (t < end && strcmp(t->name, of->name) != 0)
            t++;
        if (t == end || (t->rows > 1 && of->n != (size_t)t->cols * (size_t)t->n))
            return ct_fail(err, CARAT_E_FORMAT,
                           "the importance is of another model: it has %zu columns of %s, but %s has %zu",
                           of->n, of->name, path, t == end ? 0 : (size_t)t->cols * (size_t)t->n);
        if (t->rows > 1 && of->counts != 1 && of->counts != (size_t)t->n)
            return ct_fail(err, CARAT_E_FORMAT,
                           "the importance has %zu counts of %s, but %s has %d matrices there", of->counts,
                           of->name, path, t->n);
    }
    for (const struct ct_chosen *t = r->tensor; r->mix && r->mix->weighted && t < r->tensor + r->n; t++)
        if (t->type == CT_Q2_K && !strstr(t->name, "token_embd") &&
            !ct_importance_find(r->importance, t->name))
            return ct_fail(err, CARAT_E_FORMAT, "the importance has nothing of %s, which %s needs", t->name,
                           r->mix->name);
    return CARAT_OK;
}

carat_status ct_recipe_choose(struct ct_recipe *r, const struct ct_weights *w, const struct ct_config *c,
                              const struct ct_file *f, struct ct_arena *arena, carat_error *err)
{
    const struct ct_layer_config *first = &c->layer[0];
    struct listing listing = {r, c, arena};
    struct words words;
    struct ct_mixing m = {.mix = r->mix,
                          .n_layer = c->n_layer,
                          .n_expert = first->n_expert,
                          .gqa = first->n_kv_head > 0 ? first->n_head / first->n_kv_head : 0,
                          .weighted = r->importance != NULL,
                          .tied = w->tied};

    CT_TRY(words_read(&words, r->words, c->n_layer, arena, err));
    r->n = 1;
    ct_weights_walk(w, c, f, count_weight, r);
    r->tensor = ct_arena_push(arena, (size_t)r->n, sizeof *r->tensor);
    r->n = 0;
    if (!r->tensor || ct_weights_walk(w, c, f, list_weight, &listing) != CARAT_OK)
        return ct_no_memory(err, "the list of weights");
    for (int i = 0; i < r->n; i++)
        m.n_v += strstr(r->tensor[i].name, "attn_v.weight") != NULL;
    for (int i = 0; i < r->n; i++)
        CT_TRY(choose(r, &m, &words, &r->tensor[i], ct_file_path(f), err));
    if (w->tied)
        choose_head(r, &words);
    CT_TRY(check_importance(r, ct_file_path(f), err));
    return words_used(&words, err);
}

const struct ct_chosen *ct_recipe_tensor(const struct ct_recipe *r, const struct ct_config *c,
                                         const char *slot)
{
    struct ct_gguf_place place;
    int i = 0;

    ct_gguf_place(&place, c, slot);
    while (i < r->n + r->head_apart && strcmp(r->tensor[i].name, place.name) != 0)
        i++;
    return i < r->n + r->head_apart ? &r->tensor[i] : NULL;
}

carat_status ct_recipe_read(struct ct_recipe *r, const char *type, carat_error *err)
{
    char why[CT_TYPE_WHY];

    r->mix = type ? ct_mix_named(ct_str_of(type)) : NULL;
    r->type = type;
    if (type && !r->mix && !ct_scheme_named(ct_str_of(type), &r->scheme))
        return ct_fail(err, CARAT_E_ARGUMENT, "type \"%.60s\" %s", type, ct_type_why(why, ct_str_of(type)));
    if (r->mix && r->mix->weighted && !r->importance)
        return ct_fail(err, CARAT_E_ARGUMENT, "type %s needs importance, which an imatrix file has", type);
    return CARAT_OK;
}

const char *ct_recipe_text(const struct ct_recipe *r, struct ct_arena *arena)
{
    const char *const part[] = {r->mix ? r->mix->name : r->type, r->mix && r->pure ? "pure" : NULL,
                                r->importance && (r->mix || r->words) ? "imatrix" : NULL,
                                r->lattices ? "qat=on" : NULL, r->words};
    size_t n = 1;
    char *text;

    for (size_t i = 0; i < CT_COUNT(part); i++)
        n += part[i] ? 1 + strlen(part[i]) : 0;
    text = ct_arena_push(arena, n, 1);
    for (size_t i = 0; text && i < CT_COUNT(part); i++)
        if (part[i])
            strcat(strcat(text, *text ? "," : ""), part[i]);
    return text;
}

uint32_t ct_recipe_file_type(const struct ct_recipe *r)
{
    uint64_t values[CT_TYPE_COUNT] = {0};
    enum ct_type most = CT_F32;
    const struct ct_mix *m = ct_mixes;

    if (r->mix)
        return r->mix->file_type;
    for (const struct ct_chosen *t = r->tensor; t < r->tensor + r->n; t++)
        values[t->type] += (uint64_t)t->rows * (uint64_t)t->cols;
    for (enum ct_type t = CT_F32; t < CT_TYPE_COUNT; t++)
        most = values[t] > values[most] ? t : most;
    while (m < ct_mixes + CT_MIX_COUNT && m->type != most)
        m++;
    return m < ct_mixes + CT_MIX_COUNT ? m->file_type : 0;
}
