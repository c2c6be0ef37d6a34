/* SPDX-License-Identifier: Apache-2.0 */
/* search_kaggle.c: asks Kaggle for models by words, as its SDK declares the call: {"search", "pageSize"} to
 * ListModels. A model's variations stand in it as instances. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "page.h"
#include "report.h"
#include "search.h"
#include "source.h"

enum { PART = 200, PREFIX = 16 };

/* "MODEL_FRAMEWORK_GEMMA_CPP", or without the beginning, as a handle spells it: "gemmaCpp". */
static void spell_framework(char out[PART], const char *name)
{
    static const char front[] = "MODEL_FRAMEWORK_";
    bool upper = false;
    size_t n = 0;

    if (strncmp(name, front, sizeof front - 1) == 0)
        name += sizeof front - 1;
    const bool shouted = strpbrk(name, "abcdefghijklmnopqrstuvwxyz") == NULL;
    for (; *name; name++) {
        if (*name == '_') {
            upper = true;
            continue;
        }
        const bool letter = *name >= 'A' && *name <= 'Z';
        out[n++] = (char)(letter && shouted && !upper ? *name | 0x20 : *name);
        upper = false;
    }
    out[n] = 0;
}

/* The kind of files that a framework has, where carat reads them. */
static const char *tags_of(const char *framework)
{
    return strcmp(framework, "gguf") == 0           ? " gguf "
           : strcmp(framework, "transformers") == 0 ? " safetensors "
           : strcmp(framework, "gemmaCpp") == 0     ? " sbs "
                                                    : " ";
}

/* Parts of a name are words; anything else would lead elsewhere. */
static bool is_word(const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return *s && *s != '.' && s[strspn(s, plain)] == 0;
}

/* Instances come before or behind the name of their model: they are kept until it has ended. */
struct found {
    char ref[PART];
    char instance[64][2 * PART]; /* FRAMEWORK/VARIATION */
    int n;
};

static bool take_instance(struct ct_json *j, struct found *f)
{
    char slug[PART] = "", framework[PART] = "", spelled[PART];
    enum ct_json_token token;

    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        const bool good = ct_str_is(j->string, "slug")        ? page_text(j, slug, sizeof slug)
                          : ct_str_is(j->string, "framework") ? page_text(j, framework, sizeof framework)
                                                              : ct_json_skip(j);
        if (!good)
            return false;
    }
    spell_framework(spelled, framework);
    if (f->n < 64 && is_word(slug) && is_word(spelled))
        snprintf(f->instance[f->n++], sizeof f->instance[0], "%s/%s", spelled, slug);
    return token == CT_JSON_OBJECT_END;
}

static bool take_instances(struct ct_json *j, struct found *f)
{
    enum ct_json_token token;

    if (ct_json_next(j) != CT_JSON_ARRAY)
        return false;
    while ((token = ct_json_next(j)) == CT_JSON_OBJECT)
        if (!take_instance(j, f))
            return false;
    return token == CT_JSON_ARRAY_END;
}

static bool take_model(struct ct_json *j)
{
    struct found f = {.n = 0};
    enum ct_json_token token;

    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        const bool good = ct_str_is(j->string, "ref")         ? page_text(j, f.ref, sizeof f.ref)
                          : ct_str_is(j->string, "instances") ? take_instances(j, &f)
                                                              : ct_json_skip(j);
        if (!good)
            return false;
    }
    const char *slash = strchr(f.ref, '/');
    char owner[PART];
    snprintf(owner, sizeof owner, "%.*s", slash ? (int)(slash - f.ref) : 0, f.ref);
    if (token != CT_JSON_OBJECT_END || !slash || !is_word(owner) || !is_word(slash + 1))
        return false;
    for (int i = 0; i < f.n; i++) {
        char name[PREFIX + 3 * PART], framework[2 * PART];
        snprintf(name, sizeof name, "kaggle://%s/%s", f.ref, f.instance[i]);
        snprintf(framework, sizeof framework, "%.*s", (int)strcspn(f.instance[i], "/"), f.instance[i]);
        report_found(name, 0, tags_of(framework));
    }
    return true;
}

static int take_answer(const struct page *p)
{
    struct ct_json j;
    enum ct_json_token token = CT_JSON_ERROR, inner;
    int64_t n = 0;

    ct_json_init(&j, "Kaggle's answer", (struct ct_bytes){p->text, p->n});
    bool good = ct_json_next(&j) == CT_JSON_OBJECT;
    while (good && (token = ct_json_next(&j)) == CT_JSON_KEY) {
        if (!ct_str_is(j.string, "models")) {
            good = ct_json_skip(&j);
            continue;
        }
        good = ct_json_next(&j) == CT_JSON_ARRAY;
        while (good && (inner = ct_json_next(&j)) != CT_JSON_ARRAY_END) {
            n++;
            good = inner == CT_JSON_OBJECT && take_model(&j);
        }
    }
    good = good && token == CT_JSON_OBJECT_END;
    ct_json_free(&j);
    return good ? DONE
                : fetch_refuse(REMOTE, "entry %lld of what Kaggle found is not understood", (long long)n);
}

/* Words as they stand in a text of JSON; false: that is too long. */
static bool quote(char *out, size_t capacity, const char *words)
{
    size_t n = 0;

    for (; *words && n + 8 < capacity; words++) {
        const unsigned char c = (unsigned char)*words;
        n += (size_t)snprintf(out + n, capacity - n,
                              c < 0x20                ? "\\u%04x"
                              : c == '"' || c == '\\' ? "\\%c"
                                                      : "%c",
                              c);
    }
    return !*words;
}

int search_kaggle(struct http *h, const struct plan *plan)
{
    char url[PLAN_PATH], query[8 * sizeof plan->query], body[10 * sizeof plan->query];
    struct http_reply reply;
    struct page p;

    if (!quote(query, sizeof query, plan->query) ||
        snprintf(url, sizeof url, "%s/v1/models.ModelApiService/ListModels", plan->endpoint) >=
            (int)sizeof url)
        return fetch_refuse(WRONG_PLAN, "the words are too long");
    snprintf(body, sizeof body, "{\"search\": \"%s\", \"pageSize\": %lld}", query, (long long)plan->limit);
    TRY(page_open(&p));
    int code = page_ask(h, plan, url, body, plan->query, &p, &reply);
    if (code == DONE)
        code = take_answer(&p);
    page_close(&p);
    return code;
}
