/* SPDX-License-Identifier: Apache-2.0 */
/* search.c: `carat search`: models of the hub or of Kaggle by words. Those that carat cannot run are left
 * out, and those that are on this machine have a mark. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "names/fetcher.h"
#include "names/places.h"
#include "options/options.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"

/* The options of `carat search` beside words. */
struct search_options {
    const char *source; /* "hf", "kaggle" */
    int limit;
    bool all;
};

/* The options about searching. */
#define AT(field) offsetof(struct search_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 908, {"--source"}, CHOICE, AT(source), "search", "hf|kaggle", "hf",
     "ask the Hugging Face hub or Kaggle (default {default})", 0, 0},
    {ABOUT_OUTPUT + 905, {"--limit"}, INT, AT(limit), "search", "N", "10",
     "print at most N models (default {default})", 1, 100},
    {ABOUT_OUTPUT + 906, {"-a", "--all"}, FLAG, AT(all), "search", NULL, NULL,
     "also models that carat does not run", 0, 0},
};
/* clang-format on */

const struct option_group search_group = OPTION_GROUP(rows, struct search_options, NULL);

enum { MOST_WORDS = 256, WIDER = 5, MOST_ASKED = 500 };

/* ---- what carat runs ---- */

/* Model types as configurations name them, which the hub turns into tags. */
static const char *const types[] = {"gemma",        "gemma2", "gemma3",      "gemma3_text",   "gemma3n",
                                    "gemma3n_text", "gemma4", "gemma4_text", "gemma4_unified"};

static bool has_tag(const char *tags, const char *tag)
{
    char padded[64];

    snprintf(padded, sizeof padded, " %s ", tag);
    return strstr(tags, padded) != NULL;
}

/* By its name: a Gemma, and none that carat says it does not run. */
static bool is_known_name(const char *name)
{
    char lower[MOST_WORDS];
    carat_location at;
    size_t n = 0;

    for (; name[n] && n + 1 < sizeof lower; n++)
        lower[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] | 0x20) : name[n];
    lower[n] = 0;
    if (!strstr(lower, "gemma"))
        return false;
    carat_location_default(&at);
    const bool runs = carat_locate(&at, name, NULL, NULL) == CARAT_OK;
    carat_location_free(&at);
    return runs;
}

/* A repository of GGUF files says what it was made from. */
static bool has_known_base(const char *tags)
{
    static const char base[] = " base_model:";
    char name[MOST_WORDS];

    for (const char *at = tags; (at = strstr(at, base)) != NULL;) {
        at += strlen(base);
        const char *last = at;
        for (const char *p = at; *p && *p != ' '; p++)
            if (*p == ':')
                last = p + 1; /* base_model:quantized:OWNER/NAME */
        snprintf(name, sizeof name, "%.*s", (int)strcspn(last, " "), last);
        if (is_known_name(name))
            return true;
        at--; /* the space may begin the next one */
    }
    return false;
}

/* "kaggle://OWNER/MODEL/FRAMEWORK/VARIATION" is known by OWNER/MODEL. */
static bool is_known_handle(const char *name)
{
    const char *owner = name + strlen("kaggle://"), *slash = strchr(owner, '/');
    char model[MOST_WORDS];

    if (!slash)
        return false;
    snprintf(model, sizeof model, "%.*s", (int)(slash - owner + 1 + (int)strcspn(slash + 1, "/")), owner);
    return is_known_name(model);
}

static bool is_of_use(const char *name, const char *tags)
{
    if (strncmp(name, "kaggle://", strlen("kaggle://")) == 0)
        return (has_tag(tags, "gguf") || has_tag(tags, "safetensors") || has_tag(tags, "sbs")) &&
               is_known_handle(name);
    const bool readable = has_tag(tags, "gguf") || has_tag(tags, "safetensors");
    bool typed = false;

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        typed |= has_tag(tags, types[i]);
    return readable &&
           (typed || has_known_base(tags) || (!strstr(tags, " base_model:") && is_known_name(name)));
}

/* ---- what was found ---- */

struct found {
    const struct search_options *how;
    json_t *list;
    bool kaggle; /* which does not tell how often a model was fetched */
    int n, left_out;
};

static bool is_here(const char *name)
{
    static struct known_places known;
    carat_location at;

    find_places_of_models(&known);
    carat_location_default(&at);
    const bool here = carat_locate(&at, name, &known.places, NULL) == CARAT_OK && (at.path || at.commit);
    carat_location_free(&at);
    return here;
}

static int hear(void *user, const char *event, json_t *line)
{
    struct found *f = user;
    const char *name = json_string_value(json_object_get(line, "name")),
               *tags = json_string_value(json_object_get(line, "tags"));

    if (strcmp(event, "found") != 0 || !name || !tags || f->n == f->how->limit)
        return DONE;
    if (!f->how->all && !is_of_use(name, tags)) {
        f->left_out++;
        return DONE;
    }
    f->n++;
    json_t *downloads = json_object_get(line, "downloads");
    return json_array_append_new(
               f->list, json_pack("{s:O, s:o, s:b, s:s}", "name", json_object_get(line, "name"), "downloads",
                                  f->kaggle ? json_null() : json_incref(downloads), "here", is_here(name),
                                  "form", has_tag(tags, "gguf") ? "GGUF" : "")) == 0
               ? DONE
               : fail_memory();
}

static void print_found(const struct found *f)
{
    json_t *m;
    size_t i;

    out_fold(20); /* a name that has no room beside its numbers goes below them */
    json_array_foreach(f->list, i, m)
    {
        out_print("%-5s", json_is_true(json_object_get(m, "here")) ? "here" : "");
        if (!f->kaggle)
            out_print("%11lld  ", (long long)json_integer_value(json_object_get(m, "downloads")));
        out_print("%-4s  ", json_string_value(json_object_get(m, "form")));
        out_name(json_string_value(json_object_get(m, "name")), 256);
        out_print("\n");
    }
    out_fold(0);
}

static bool add_word(char words[MOST_WORDS], const char *word)
{
    const size_t n = strlen(words);

    return !word || snprintf(words + n, MOST_WORDS - n, "%s%s", n ? " " : "", word) < (int)(MOST_WORDS - n);
}

int verb_search(const struct options *o)
{
    struct found f = {.how = o->search, .kaggle = o->kaggle || strcmp(o->search->source, "kaggle") == 0};
    char words[MOST_WORDS] = "";
    bool fits = add_word(words, o->model) && add_word(words, o->text);

    for (int i = 0; i < o->more.n && fits; i++)
        fits = add_word(words, o->more.text[i]);
    if (!fits || !*words)
        return term_fail(USAGE, "search: expected words of at most %d bytes", MOST_WORDS);
    if (!(f.list = json_array()))
        return fail_memory();
    interrupt_install();
    const int asked = o->search->all ? o->search->limit : WIDER * o->search->limit;
    int code = fetch_search(words, f.kaggle, asked < MOST_ASKED ? asked : MOST_ASKED, o->fetch, hear, &f);
    if (code == DONE && o->json) {
        code = out_json(json_pack("{s:O, s:i}", "models", f.list, "left_out", f.left_out));
    } else if (code == DONE) {
        print_found(&f);
        if (f.n == 0)
            term_note("%s finds nothing that carat runs%s", f.kaggle ? "Kaggle" : "the hub",
                      f.left_out ? "; --all shows the others" : "");
        else if (f.left_out)
            term_note("%d left out that carat does not run; --all shows them", f.left_out);
    }
    json_decref(f.list);
    return code;
}
