/* SPDX-License-Identifier: Apache-2.0 */
/* mixes.c: see mixes.h. The rules are those of llama.cpp's quantiser as far as they tell members of this
 * family apart; tools/check_peers.py compares files. */
#include "convert/mixes.h"

#include <stdlib.h>

#include "quant/encode.h"

/* Mixes by name. When several are mostly of one type, the one that others take a file of that type for comes
 * first. */
const struct ct_mix ct_mixes[CT_MIX_COUNT] = {
    {"f32", NULL, CT_F32, 0, true, false},         {"f16", NULL, CT_F16, 1, true, false},
    {"bf16", NULL, CT_BF16, 32, true, false},      {"q4_0", NULL, CT_Q4_0, 2, false, false},
    {"q4_1", NULL, CT_Q4_1, 3, false, false},      {"q8_0", NULL, CT_Q8_0, 7, false, false},
    {"q5_0", NULL, CT_Q5_0, 8, false, false},      {"q5_1", NULL, CT_Q5_1, 9, false, false},
    {"q2_k", NULL, CT_Q2_K, 10, false, false},     {"q2_k_s", NULL, CT_Q2_K, 21, false, true},
    {"q3_k_m", "q3_k", CT_Q3_K, 12, false, false}, {"q3_k_s", NULL, CT_Q3_K, 11, false, false},
    {"q3_k_l", NULL, CT_Q3_K, 13, false, false},   {"q4_k_m", "q4_k", CT_Q4_K, 15, false, false},
    {"q4_k_s", NULL, CT_Q4_K, 14, false, false},   {"q5_k_m", "q5_k", CT_Q5_K, 17, false, false},
    {"q5_k_s", NULL, CT_Q5_K, 16, false, false},   {"q6_k", NULL, CT_Q6_K, 18, false, false},
    {"iq4_nl", NULL, CT_IQ4_NL, 25, false, false}, {"iq4_xs", NULL, CT_IQ4_XS, 30, false, false},
    {"mxfp4", NULL, CT_MXFP4, 38, true, false},    {"mxfp4_moe", NULL, CT_MXFP4, 38, false, false},
};

enum part { OTHER, ATTN_V, ATTN_K, ATTN_OUTPUT, FFN_DOWN };

/* When a rule holds: always, or of the first so many, of that part of all layers at the beginning, of every
 * third one and an eighth at either end, where heads share K and V by four, with eight experts. */
enum when { ALWAYS, FIRST_2, FIRST_4, EIGHTH, SIXTEENTH, MORE, BY_FOUR, EIGHT };
enum importance { EITHER, WITH, WITHOUT };

/* The first one that holds counts. */
static const struct rule {
    enum part part;
    const char *mixes; /* their names, between spaces */
    enum when when;
    enum ct_type type;
    enum importance importance;
} rules[] = {
    {ATTN_V, " all ", EIGHT, CT_Q8_0, EITHER},
    {ATTN_V, " q2_k q2_k_s ", BY_FOUR, CT_Q4_K, EITHER},
    {ATTN_V, " q2_k ", ALWAYS, CT_Q3_K, EITHER},
    {ATTN_V, " q3_k_m ", FIRST_2, CT_Q5_K, EITHER},
    {ATTN_V, " q3_k_m ", ALWAYS, CT_Q4_K, EITHER},
    {ATTN_V, " q3_k_l ", ALWAYS, CT_Q5_K, EITHER},
    {ATTN_V, " iq4_nl iq4_xs ", BY_FOUR, CT_Q5_K, EITHER},
    {ATTN_V, " q4_k_m q5_k_m ", MORE, CT_Q6_K, EITHER},
    {ATTN_V, " q4_k_s ", FIRST_4, CT_Q5_K, EITHER},
    {ATTN_K, " all ", EIGHT, CT_Q8_0, EITHER},
    {ATTN_OUTPUT, " q2_k q3_k_s q3_k_m iq4_nl q4_k_s q4_k_m iq4_xs ", EIGHT, CT_Q5_K, EITHER},
    {ATTN_OUTPUT, " q3_k_l ", EIGHT, CT_Q3_K, EITHER},
    {ATTN_OUTPUT, " q2_k ", ALWAYS, CT_Q3_K, EITHER},
    {ATTN_OUTPUT, " q3_k_m ", ALWAYS, CT_Q4_K, EITHER},
    {ATTN_OUTPUT, " q3_k_l ", ALWAYS, CT_Q5_K, EITHER},
    {FFN_DOWN, " q2_k ", ALWAYS, CT_Q3_K, EITHER},
    {FFN_DOWN, " q2_k_s ", EIGHTH, CT_Q4_K, EITHER},
    {FFN_DOWN, " q3_k_m ", SIXTEENTH, CT_Q5_K, EITHER},
    {FFN_DOWN, " q3_k_m ", ALWAYS, CT_Q4_K, EITHER},
    {FFN_DOWN, " q3_k_l ", ALWAYS, CT_Q5_K, EITHER},
    {FFN_DOWN, " q4_k_m q5_k_m ", MORE, CT_Q6_K, EITHER},
    {FFN_DOWN, " q4_k_s ", EIGHTH, CT_Q5_K, EITHER},
    {FFN_DOWN, " iq4_nl iq4_xs ", EIGHTH, CT_Q5_K, WITHOUT},
    {FFN_DOWN, " q4_0 ", EIGHTH, CT_Q4_1, WITH},
    {FFN_DOWN, " q5_0 ", EIGHTH, CT_Q5_1, WITH},
};

static bool spells(struct ct_str word, const char *name)
{
    size_t i = 0;

    while (name && i < word.n && name[i] && (word.s[i] | 32) == (name[i] | 32))
        i++;
    return name && i == word.n && !name[i];
}

/* "15"; of two files of one number the later one is what llama-quantize makes. */
static const struct ct_mix *mix_numbered(struct ct_str name)
{
    const struct ct_mix *found = NULL;
    int number = 0;

    for (size_t i = 0; i < name.n; i++) {
        if (name.s[i] < '0' || name.s[i] > '9' || name.n > 3)
            return NULL;
        number = number * 10 + (name.s[i] - '0');
    }
    for (const struct ct_mix *m = ct_mixes; name.n && m < ct_mixes + CT_MIX_COUNT; m++)
        found = m->file_type == number ? m : found;
    return found;
}

const struct ct_mix *ct_mix_named(struct ct_str name)
{
    for (const struct ct_mix *m = ct_mixes; m < ct_mixes + CT_MIX_COUNT; m++)
        if (spells(name, m->name) || spells(name, m->alias))
            return m;
    return mix_numbered(name);
}

enum { LONGEST = 16 };

/* The number of letters that are added, left out or changed between a word, in any case, and a name. */
static int letters_apart(struct ct_str word, const char *name)
{
    int row[LONGEST + 1];

    for (int k = 0; k <= LONGEST; k++)
        row[k] = k;
    const int n = (int)CT_MIN(strlen(name), (size_t)LONGEST);
    for (size_t i = 0; i < word.n; i++) {
        const char c = word.s[i] >= 'A' && word.s[i] <= 'Z' ? (char)(word.s[i] | 32) : word.s[i];
        int before = row[0]++;
        for (int k = 1; k <= n; k++) {
            const int changed = before + (name[k - 1] != c);
            before = row[k];
            row[k] = CT_MIN(changed, CT_MIN(before, row[k - 1]) + 1);
        }
    }
    return row[n];
}

const char *ct_type_why(char text[CT_TYPE_WHY], struct ct_str word)
{
    const char *const group = "int8:group=", *nearest = NULL;
    int least = 3; /* letters that are one word's mistakes */

    if (word.n >= strlen(group) && memcmp(word.s, group, strlen(group)) == 0) {
        snprintf(text, CT_TYPE_WHY,
                 "is no type that carat writes: the N of int8:group=N is a multiple of 32");
        return text;
    }
    for (const struct ct_mix *m = ct_mixes; m < ct_mixes + CT_MIX_COUNT && word.n <= LONGEST; m++) {
        const int apart = letters_apart(word, m->name);
        nearest = apart < least ? m->name : nearest;
        least = CT_MIN(least, apart);
    }
    snprintf(text, CT_TYPE_WHY, "is no type that carat writes%s%s%s", nearest ? "; did you mean " : "",
             nearest ? nearest : "", nearest ? "?" : "");
    return text;
}

bool ct_type_written(struct ct_str name, enum ct_type *type)
{
    for (*type = CT_F32; *type < CT_TYPE_COUNT; (*type)++)
        if (spells(name, ct_type_info(*type)->name))
            return ct_encodes_rows(*type);
    return false;
}

enum ct_type ct_fitting_type(enum ct_type type, int cols)
{
    static const enum ct_type instead[CT_TYPE_COUNT] = {
        [CT_Q4_K] = CT_Q5_0,     [CT_Q5_K] = CT_Q5_1, [CT_Q6_K] = CT_Q8_0,
        [CT_IQ4_XS] = CT_IQ4_NL, [CT_Q2_K] = CT_Q4_0, [CT_Q3_K] = CT_Q4_0,
    };

    for (int i = 0; i < 2 && cols % ct_type_info(type)->block != 0; i++)
        type = i == 0 && instead[type] ? instead[type] : CT_F16;
    return type;
}

static bool holds(const struct ct_mixing *m, const struct rule *r, int at, int n)
{
    const int first = n / 8;

    if ((r->importance == WITH && !m->weighted) || (r->importance == WITHOUT && m->weighted))
        return false;
    switch (r->when) {
    case ALWAYS:
        return true;
    case FIRST_2:
        return at < 2;
    case FIRST_4:
        return at < 4;
    case EIGHTH:
        return at < first;
    case SIXTEENTH:
        return at < n / 16;
    case MORE:
        return at < first || at >= 7 * n / 8 || (at - first) % 3 == 2;
    case BY_FOUR:
        return m->gqa >= 4;
    case EIGHT:
        return m->n_expert == 8;
    }
    return false;
}

static bool names_mix(const struct rule *r, const struct ct_mix *m)
{
    const char *at = strstr(r->mixes, m->name);
    const size_t n = strlen(m->name);

    while (at && (at[-1] != ' ' || at[n] != ' '))
        at = strstr(at + 1, m->name);
    return at || strcmp(r->mixes, " all ") == 0;
}

static enum ct_type by_rules(const struct ct_mixing *m, enum part part, int at, int n)
{
    for (const struct rule *r = rules; r < rules + CT_COUNT(rules); r++)
        if (r->part == part && names_mix(r, m->mix) && holds(m, r, at, n))
            return r->type;
    return m->mix->type;
}

/* The type of the embedding where it is the head, of inputs of layers with it, and of a head that stands
 * alone. */
static enum ct_type of_head(const struct ct_mix *mix, int cols)
{
    const bool fits = cols % ct_type_info(mix->type)->block == 0;

    return !fits || mix->type == CT_Q8_0 || mix->type == CT_MXFP4 ? CT_Q8_0 : CT_Q6_K;
}

enum ct_type ct_mix_type(struct ct_mixing *m, const char *name, int cols, bool several)
{
    const bool table = strstr(name, "token_embd.weight") != NULL;

    if (m->mix->plain)
        return m->mix->type;
    if ((table && m->tied) || strcmp(name, "output.weight") == 0)
        return of_head(m->mix, cols);
    if (m->mix->type == CT_MXFP4)
        return several ? CT_MXFP4 : CT_Q8_0;
    if (strstr(name, "attn_v.weight"))
        return by_rules(m, ATTN_V, m->at_v++, m->n_v);
    if (strstr(name, "attn_k.weight"))
        return by_rules(m, ATTN_K, 0, 1);
    if (strstr(name, "attn_output.weight"))
        return by_rules(m, ATTN_OUTPUT, 0, 1);
    if (!strstr(name, "ffn_down"))
        return m->mix->type;
    /* experts have more than one in a layer, so that the name says which layer it is */
    const int at = m->n_expert > 1 ? atoi(name + strcspn(name, "0123456789")) : m->at_down;
    m->at_down++;
    return by_rules(m, FFN_DOWN, at, m->n_layer);
}
