/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.c: see recipe.h. The rules are those of llama.cpp's quantiser. */
#include "convert/recipe.h"

#include "quant/encode.h"

static bool type_named(const char *name, enum ct_type *type)
{
    for (int i = 0; i < CT_TYPE_COUNT; i++) {
        const char *a = ct_type_info((enum ct_type)i)->name, *b = name;
        while (*a && (*a | 32) == (*b | 32))
            a++, b++;
        *type = (enum ct_type)i;
        if (!*a && !*b)
            return true;
    }
    return false;
}

/* What llama.cpp's quantiser leaves in the source's type. */
static bool is_left_alone(const char *slot)
{
    return strcmp(slot, "per_layer_model_proj") == 0;
}

/* The type for rows that are no multiple of a block of 256. */
static enum ct_type fallback(enum ct_type type)
{
    static const enum ct_type instead[CT_TYPE_COUNT] = {
        [CT_Q4_K] = CT_Q5_0,     [CT_Q5_K] = CT_Q5_1, [CT_Q6_K] = CT_Q8_0,
        [CT_IQ4_XS] = CT_IQ4_NL, [CT_Q2_K] = CT_Q4_0, [CT_Q3_K] = CT_Q4_0,
    };
    return instead[type] ? instead[type] : CT_F16;
}

enum ct_type ct_recipe_type(const struct ct_recipe *r, const char *slot, const struct ct_weight *w)
{
    const bool quantises = !r->any_type && ct_type_info(r->type)->block > 1;
    enum ct_type type = r->any_type || (quantises && is_left_alone(slot)) ? w->type : r->type;

    if (w->rows == 1 || (!r->any_type && strstr(slot, "ffn_gate_inp"))) /* a router's scores decide */
        return CT_F32;
    if (ct_type_info(type)->ggml < 0) /* gemma.cpp's, whose values BF16 holds */
        type = CT_BF16;
    if (w->scale != 1 && r->any_type) /* GGUF has no place for it */
        return CT_F32;
    for (int i = 0; i < 2 && w->cols % ct_type_info(type)->block != 0; i++)
        type = i == 0 ? fallback(type) : CT_F16;
    return type;
}

carat_status ct_recipe_read(struct ct_recipe *r, const char *type, carat_error *err)
{
    *r = (struct ct_recipe){.any_type = !type};
    if (type && (!type_named(type, &r->type) || !ct_encodes_rows(r->type)))
        return ct_fail(err, CARAT_E_ARGUMENT, "type is \"%s\", which carat does not write", type);
    return CARAT_OK;
}
