/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.c: see plan.h. Here the tensors are listed, and each gets its type; what the words of a recipe
 * mean: recipe_words.c, what a mix gives: mixes.c. */
#include "convert/plan.h"

#include <stdlib.h>

#include "convert/recipe_words.h"

/* What llama.cpp's quantiser leaves in the source's type, beside vectors. */
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

/* What GGUF holds of it: it has no place for a factor, and knows none of gemma.cpp's types. */
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

/* What a tensor becomes: that type, or the one that its rows can have; as values of a scheme only where they
 * can have its own. */
static void become(struct ct_chosen *t, enum ct_type type, const struct ct_scheme *s)
{
    const bool whole_bytes = s->kind != CT_PALETTE || (int64_t)t->cols * s->bits % 8 == 0;

    t->asked = type;
    t->type = ct_fitting_type(type, t->cols);
    t->scheme = t->type == type && whole_bytes ? *s : (struct ct_scheme){.kind = CT_BLOCKS};
}

/* The type of a tensor, by the last word about it. */
static carat_status choose(struct ct_recipe *r, struct ct_mixing *m, struct ct_words *words,
                           struct ct_chosen *t, const char *path, carat_error *err)
{
    const struct ct_word *word = t->matrix ? ct_words_last(words, t->name, t->layer, false) : NULL;
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
static void choose_head(struct ct_recipe *r, struct ct_words *words)
{
    const struct ct_chosen *embed = &r->tensor[0];
    struct ct_chosen *head = &r->tensor[r->n];
    const struct ct_word *word = ct_words_last(words, "output.weight", -1, true);

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
    struct ct_words words;
    struct ct_mixing m = {.mix = r->mix,
                          .n_layer = c->n_layer,
                          .n_expert = first->n_expert,
                          .gqa = first->n_kv_head > 0 ? first->n_head / first->n_kv_head : 0,
                          .weighted = r->importance != NULL,
                          .tied = w->tied};

    CT_TRY(ct_words_read(&words, r->words, c->n_layer, arena, err));
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
    return ct_words_used(&words, err);
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
