/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: see names.h. What the members are is family.c's. */
#include "names/names.h"

#include "carat_tools.h"

/* Repositories: the publisher's pages on the hub; names: the model pages of ollama's library. A name without
 * a size is the one that its page calls latest. Rows of QAT are the publisher's files in Q4_0. */
const struct ct_family_name ct_family_names[] = {
    {"gemma", "google/gemma-7b-it", NULL},
    {"gemma:2b", "google/gemma-2b-it", NULL},
    {"gemma:7b", "google/gemma-7b-it", NULL},
    {"gemma1.1:2b", "google/gemma-1.1-2b-it", NULL},
    {"gemma1.1:7b", "google/gemma-1.1-7b-it", NULL},
    {"codegemma", "google/codegemma-7b-it", NULL},
    {"codegemma:2b", "google/codegemma-2b", NULL},
    {"codegemma:7b", "google/codegemma-7b-it", NULL},
    {"gemma2", "google/gemma-2-9b-it", NULL},
    {"gemma2:2b", "google/gemma-2-2b-it", NULL},
    {"gemma2:9b", "google/gemma-2-9b-it", NULL},
    {"gemma2:27b", "google/gemma-2-27b-it", NULL},
    {"gemma3", "google/gemma-3-4b-it", NULL},
    {"gemma3:270m", "google/gemma-3-270m-it", NULL},
    {"gemma3:1b", "google/gemma-3-1b-it", NULL},
    {"gemma3:4b", "google/gemma-3-4b-it", NULL},
    {"gemma3:12b", "google/gemma-3-12b-it", NULL},
    {"gemma3:27b", "google/gemma-3-27b-it", NULL},
    {"gemma3:1b-it-qat", "google/gemma-3-1b-it-qat-q4_0-gguf", NULL},
    {"gemma3:4b-it-qat", "google/gemma-3-4b-it-qat-q4_0-gguf", NULL},
    {"gemma3:12b-it-qat", "google/gemma-3-12b-it-qat-q4_0-gguf", NULL},
    {"gemma3:27b-it-qat", "google/gemma-3-27b-it-qat-q4_0-gguf", NULL},
    {"functiongemma", "google/functiongemma-270m-it", NULL},
    {"functiongemma:270m", "google/functiongemma-270m-it", NULL},
    {"gemma3n", "google/gemma-3n-E4B-it", NULL},
    {"gemma3n:e2b", "google/gemma-3n-E2B-it", NULL},
    {"gemma3n:e4b", "google/gemma-3n-E4B-it", NULL},
    {"gemma4", "google/gemma-4-E4B-it", "google/gemma-4-E4B-it-assistant"},
    {"gemma4:e2b", "google/gemma-4-E2B-it", "google/gemma-4-E2B-it-assistant"},
    {"gemma4:e4b", "google/gemma-4-E4B-it", "google/gemma-4-E4B-it-assistant"},
    {"gemma4:12b", "google/gemma-4-12B-it", "google/gemma-4-12B-it-assistant"},
    {"gemma4:26b", "google/gemma-4-26B-A4B-it", "google/gemma-4-26B-A4B-it-assistant"},
    {"gemma4:26b-a4b", "google/gemma-4-26B-A4B-it", "google/gemma-4-26B-A4B-it-assistant"},
    {"gemma4:31b", "google/gemma-4-31B-it", "google/gemma-4-31B-it-assistant"},
    {"embeddinggemma", "google/embeddinggemma-300m", NULL},
    {"embeddinggemma:300m", "google/embeddinggemma-300m", NULL},
    {"embeddinggemma2", "google/embeddinggemma-2", NULL},
    {"paligemma", NULL, NULL},
    {"paligemma2", NULL, NULL},
    {"recurrentgemma", NULL, NULL},
    {"t5gemma", NULL, NULL},
    {"diffusiongemma", NULL, NULL},
    {"vaultgemma", NULL, NULL},
};
const int ct_family_name_count = CT_COUNT(ct_family_names);

static bool separates(char c)
{
    return c == '-' || c == '_' || c == ':' || c == '.';
}

/* The next character that counts, in lower case; 0: there is none. */
static char next(struct ct_str *s)
{
    while (s->n && separates(*s->s))
        s->s++, s->n--;
    if (s->n == 0)
        return 0;
    char c = *s->s;
    s->s++, s->n--;
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* True when name begins with key; *rest: what follows. */
static bool begins(struct ct_str name, const char *key, struct ct_str *rest)
{
    struct ct_str k = ct_str_of(key);

    for (char c = next(&k); c; c = next(&k))
        if (next(&name) != c)
            return false;
    *rest = name;
    return true;
}

static bool is_same(struct ct_str name, const char *key)
{
    struct ct_str rest;

    return begins(name, key, &rest) && next(&rest) == 0;
}

/* Without one of these at its end. */
static struct ct_str without_ending(struct ct_str name)
{
    static const char *const endings[] = {"latest", "it"};

    for (size_t i = 0; i < CT_COUNT(endings); i++) {
        size_t n = strlen(endings[i]);
        if (name.n > n + 1 && separates(name.s[name.n - n - 1]) &&
            is_same((struct ct_str){name.s + name.n - n, n}, endings[i]))
            name.n -= n + 1;
    }
    return name;
}

const struct ct_family_name *ct_family_name_find(struct ct_str name)
{
    const struct ct_str short_name = without_ending(name);
    struct ct_str rest;

    for (int i = 0; i < ct_family_name_count; i++) {
        const struct ct_family_name *f = &ct_family_names[i];
        if (is_same(short_name, f->name) ||
            (!f->repository && begins(name, f->name, &rest) && rest.n && separates(*rest.s)))
            return f;
    }
    return NULL;
}

const char *ct_mix_label(uint64_t file_type)
{
    static const char *const labels[] = {
        [0] = "F32",      [1] = "F16",      [2] = "Q4_0",    [3] = "Q4_1",    [7] = "Q8_0",
        [8] = "Q5_0",     [9] = "Q5_1",     [10] = "Q2_K",   [11] = "Q3_K_S", [12] = "Q3_K_M",
        [13] = "Q3_K_L",  [14] = "Q4_K_S",  [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M",
        [18] = "Q6_K",    [19] = "IQ2_XXS", [20] = "IQ2_XS", [21] = "Q2_K_S", [22] = "IQ3_XS",
        [23] = "IQ3_XXS", [24] = "IQ1_S",   [25] = "IQ4_NL", [26] = "IQ3_S",  [27] = "IQ3_M",
        [28] = "IQ2_S",   [29] = "IQ2_M",   [30] = "IQ4_XS", [31] = "IQ1_M",  [32] = "BF16",
        [36] = "TQ1_0",   [37] = "TQ2_0",   [38] = "MXFP4",
    };

    return file_type < CT_COUNT(labels) ? labels[file_type] : NULL;
}

const char *carat_family_name(int i)
{
    return i >= 0 && i < ct_family_name_count ? ct_family_names[i].name : NULL;
}
