/* SPDX-License-Identifier: Apache-2.0 */
/* hub_choose.c: which files of a repository make the model that is meant, by their names alone. Where they
 * lie is hub.c's. */
#include "carat_tools.h"
#include "names/hub.h"
#include "base/arguments.h"
#include "file/reader.h"

#include <stdlib.h>

struct names {
    const char **name;
    size_t n;
};

/* ---- words in names ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool same_text(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    while (i < n && lower(a[i]) == lower(b[i]))
        i++;
    return i == n;
}

/* True when the text has this word, without regard to case. */
static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (; strlen(text) >= n; text++)
        if (same_text(text, word, n))
            return true;
    return false;
}

/* True when the name of a file ends like that, before ".gguf" and the number of a part. */
static bool ends_in(const char *name, const char *quant)
{
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    const size_t n = strlen(quant);
    size_t end = strlen(base) - strlen(".gguf");

    if (ct_gguf_parts(base) > 0)
        end -= strlen("-00001-of-00002");
    return n <= end && same_text(base + end - n, quant, n) &&
           (n == end || base[end - n - 1] == '-' || base[end - n - 1] == '.');
}

/* The same, and UD-Q4_K_M is no Q4_K_M. */
static bool ends_in_just(const char *name, const char *quant)
{
    char other[64];

    return ends_in(name, quant) &&
           (snprintf(other, sizeof other, "UD-%s", quant) >= (int)sizeof other || !ends_in(name, other));
}

/* Those that drafts are made with. */
static bool is_drafter(const char *name)
{
    return has_word(name, "assistant") || has_word(name, "-mtp") || has_word(name, "mtp-") ||
           has_word(name, "draft");
}

/* Keeps the names that `keep` says, if there are any. */
static void narrow(struct names *l, bool (*keep)(const char *name, const char *word), const char *word)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++)
        n += keep(l->name[i], word);
    if (n == 0)
        return;
    n = 0;
    for (size_t i = 0; i < l->n; i++)
        if (keep(l->name[i], word))
            l->name[n++] = l->name[i];
    l->n = n;
}

static bool is_no_drafter(const char *name, const char *word)
{
    (void)word;
    return !is_drafter(name);
}

/* ---- GGUF ---- */

bool ct_hub_is_gguf(const char *name)
{
    const size_t n = strlen(name);

    return n > 5 && same_text(name + n - 5, ".gguf", 5);
}

carat_status ct_hub_choose_gguf(const char **chosen, const char **name, size_t n, const char *called,
                                const char *quant, carat_error *err)
{
    static const char *const preferred[] = {"Q4_K_M", "Q4_0"};
    struct names l = {name, n};
    size_t i = 0;

    qsort(name, n, sizeof *name, compare_names);
    narrow(&l, is_no_drafter, NULL);
    for (; !*quant && i < CT_COUNT(preferred); i++) {
        narrow(&l, ends_in_just, preferred[i]);
        if (ends_in_just(l.name[0], preferred[i]))
            break;
    }
    if (*quant) {
        narrow(&l, ends_in, quant);
        narrow(&l, ends_in_just, quant);
    } else if (i < CT_COUNT(preferred)) {
        narrow(&l, has_word, "qat");
    } else {
        l.n = 1;
    }
    *chosen = !*quant || ends_in(l.name[0], quant) ? l.name[0] : NULL;
    return *chosen && l.n > 1 ? ct_gguf_fail_several(called, l.name, (int)l.n, err) : CARAT_OK;
}

/* ---- files to fetch ---- */

static bool ends(const char *name, const char *with)
{
    const size_t n = strlen(name), m = strlen(with);

    return n >= m && strcmp(name + n - m, with) == 0;
}

/* A file that a directory of safetensors is read from: beside the weights, or in a module of
 * sentence-transformers (1_Pooling/config.json). Never pickles. */
static bool is_of_directory(const char *name)
{
    static const char *const beside[] = {"config.json",
                                         "generation_config.json",
                                         "tokenizer.json",
                                         "tokenizer.model",
                                         "tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "added_tokens.json",
                                         "chat_template.jinja",
                                         "chat_template.json",
                                         "modules.json",
                                         "config_sentence_transformers.json",
                                         "model.safetensors.index.json"};
    const char *slash = strchr(name, '/');

    if (slash)
        return name[0] >= '0' && name[0] <= '9' && name[1] == '_' && !strchr(slash + 1, '/') &&
               (strcmp(slash + 1, "config.json") == 0 || strcmp(slash + 1, "model.safetensors") == 0);
    for (size_t i = 0; i < CT_COUNT(beside); i++)
        if (strcmp(name, beside[i]) == 0)
            return true;
    return strncmp(name, "model", strlen("model")) == 0 && ends(name, ".safetensors");
}

static bool is_weights(const char *name)
{
    return strcmp(name, "model.safetensors") == 0 || strcmp(name, "model.safetensors.index.json") == 0;
}

/* True when it is a part of the same model as the first one. */
static bool is_part_with(const char *name, const char *first)
{
    const size_t n = strlen(first), number = strlen("00001-of-00002.gguf");

    if (strcmp(name, first) == 0)
        return true;
    return ct_gguf_parts(first) > 0 && strlen(name) == n && memcmp(name, first, n - number) == 0 &&
           strcmp(name + n - number + 5, first + n - number + 5) == 0;
}

static carat_status choose_one_gguf(const char **chosen, const char *const *names, int n, const char *called,
                                    const char *part, carat_error *err)
{
    const char **list = calloc((size_t)n + 1, sizeof *list);
    size_t n_list = 0;
    carat_status status = CARAT_OK;

    *chosen = NULL;
    if (!list)
        return ct_no_memory(err, called);
    for (int i = 0; i < n; i++) {
        const char *slash = strrchr(names[i], '/');
        if (ct_hub_is_gguf(part) ? strcmp(names[i], part) == 0
                                 : ct_gguf_is_model(slash ? slash + 1 : names[i]))
            list[n_list++] = names[i];
    }
    if (n_list > 0 && ct_hub_is_gguf(part))
        *chosen = list[0];
    else if (n_list > 0)
        status = ct_hub_choose_gguf(chosen, list, n_list, called, part, err);
    free(list);
    return status;
}

carat_status carat_choose_files(const char *called, const char *const *names, int n, const char *part,
                                int *wanted, carat_error *err)
{
    CT_GIVEN(called, err);
    CT_GIVEN(names, err);
    CT_GIVEN(part, err);
    CT_GIVEN(wanted, err);
    const char *chosen = NULL;
    bool directory = false, config = false;

    for (int i = 0; i < n; i++) {
        directory = directory || (!*part && is_weights(names[i]));
        config = config || strcmp(names[i], "config.json") == 0;
    }
    if (!directory)
        CT_TRY(choose_one_gguf(&chosen, names, n, called, part, err));
    if (directory ? !config : !chosen)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s has no %s among its %d files", called,
                       directory ? "config.json"
                       : *part   ? part
                                 : "GGUF file and no safetensors",
                       n);
    for (int i = 0; i < n; i++)
        wanted[i] = directory ? is_of_directory(names[i]) : is_part_with(names[i], chosen);
    return CARAT_OK;
}
