/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_manifest.c: see ollama_manifest.h. A manifest comes from others: it is read value by value, its
 * digests become names of files only in the one form that they have. */
#include "base/ollama_manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"

enum { MOST_MANIFEST = 4 << 20, TYPE = 128 };

#define IMAGE "application/vnd.ollama.image."

/* Layers by the end of their type; what is refused has a reason. */
static const struct layer_kind {
    const char *type;
    int role; /* -1: it is not read */
    const char *refused;
} layer_kinds[] = {
    {"model", CT_OLLAMA_WEIGHTS, NULL},
    {"params", CT_OLLAMA_PARAMS, NULL},
    {"system", CT_OLLAMA_SYSTEM, NULL},
    {"template", CT_OLLAMA_TEMPLATE, NULL},
    {"license", -1, NULL},
    {"messages", -1, NULL},
    {"projector", -1, "a projector (" IMAGE "projector), which carat does not read"},
    {"adapter", -1, "an adapter (" IMAGE "adapter), which carat does not apply"},
    {"tensor", -1, "a layer for each tensor (" IMAGE "tensor), which carat does not read"},
};

/* An entry of the document: a layer, the config or a manifest of a list. */
struct entry {
    char type[TYPE], digest[TYPE], format[TYPE], runner[TYPE];
    int64_t size;
    bool has_format;
};

/* The text that comes next: as much of it as there is room for, with ? for what is not plain ASCII. */
static bool take_text(struct ct_json *j, char *out, size_t capacity)
{
    if (ct_json_next(j) != CT_JSON_STRING)
        return false;
    const size_t n = CT_MIN(j->string.n, capacity - 1);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(j->string.s[i] < ' ' || j->string.s[i] > '~' ? '?' : j->string.s[i]);
    out[n] = 0;
    return true;
}

static bool take_size(struct ct_json *j, int64_t *size)
{
    if (ct_json_next(j) != CT_JSON_NUMBER)
        return false;
    const struct ct_str spelled = {(const char *)j->text + j->start, j->at - j->start};
    return ct_json_whole(spelled, size) && *size >= 0;
}

/* The object that comes next. */
static bool take_members(struct ct_json *j, struct entry *e)
{
    enum ct_json_token token;

    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        const bool format = ct_str_is(j->string, "format");
        const bool good = ct_str_is(j->string, "mediaType") ? take_text(j, e->type, sizeof e->type)
                          : ct_str_is(j->string, "digest")  ? take_text(j, e->digest, sizeof e->digest)
                          : ct_str_is(j->string, "size")    ? take_size(j, &e->size)
                          : ct_str_is(j->string, "runner")  ? take_text(j, e->runner, sizeof e->runner)
                          : format                          ? take_text(j, e->format, sizeof e->format)
                                                            : ct_json_skip(j);
        if (!good)
            return false;
        e->has_format |= format;
    }
    return token == CT_JSON_OBJECT_END;
}

static bool take_digest(struct ct_ollama_layer *layer, const struct entry *e)
{
    if (strlen(e->digest) != CT_OLLAMA_BLOB - 1 || memcmp(e->digest, "sha256", 6) != 0 ||
        (e->digest[6] != ':' && e->digest[6] != '-'))
        return false;
    for (const char *c = e->digest + 7; *c; c++)
        if (ct_hex_digit(*c) < 0)
            return false;
    *layer = (struct ct_ollama_layer){.size = e->size, .kind = ""};
    memcpy(layer->blob, e->digest, CT_OLLAMA_BLOB);
    layer->blob[6] = '-';
    return true;
}

static void add_blob(struct ct_ollama_manifest *m, const struct ct_ollama_layer *layer)
{
    if (m->n < CT_OLLAMA_BLOBS)
        m->all[m->n++] = *layer;
    else if (!*m->refused)
        snprintf(m->refused, sizeof m->refused, "more than %d layers", CT_OLLAMA_BLOBS);
}

/* Finds the kind of a layer by its type. Text behind a ; in a type describes the layer further. */
static const struct layer_kind *find_kind(const char *type)
{
    const size_t front = strlen(IMAGE);

    for (size_t i = 0; i < CT_COUNT(layer_kinds) && strncmp(type, IMAGE, front) == 0; i++)
        if (strlen(layer_kinds[i].type) == strcspn(type + front, ";") &&
            strncmp(type + front, layer_kinds[i].type, strlen(layer_kinds[i].type)) == 0)
            return &layer_kinds[i];
    return NULL;
}

static bool take_layer(struct ct_ollama_manifest *m, const struct entry *e)
{
    struct ct_ollama_layer layer;
    const struct layer_kind *kind = find_kind(e->type);
    char *why = *m->refused ? NULL : m->refused;

    if (!take_digest(&layer, e))
        return false;
    if (!kind && why)
        snprintf(why, CT_OLLAMA_REFUSED, "a layer of type \"%.90s\", which carat does not know", e->type);
    else if (kind && kind->refused && why)
        snprintf(why, CT_OLLAMA_REFUSED, "%s", kind->refused);
    else if (kind && kind->role >= 0 && *m->layer[kind->role].blob && why)
        snprintf(why, CT_OLLAMA_REFUSED, "several layers of type " IMAGE "%s", kind->type);
    if (kind)
        layer.kind = kind->type;
    if (kind && kind->role >= 0)
        m->layer[kind->role] = layer;
    add_blob(m, &layer);
    return true;
}

/* The document while it is read. */
struct document {
    struct ct_ollama_manifest *m;
    bool is_list;
    int best;    /* how well m->list fits */
    int entries; /* that were read */
};

/* Takes from a list the manifest of a GGUF file, one for llama.cpp's graph before others. */
static bool take_manifest(struct document *d, const struct entry *e)
{
    struct ct_ollama_layer child;
    const int fits = e->has_format && strcmp(e->format, "gguf") != 0 ? 0
                     : strncmp(e->runner, "llama", 5) == 0           ? 2
                                                                     : 1;

    if (!take_digest(&child, e))
        return false;
    if (fits > d->best) {
        d->best = fits;
        d->m->list = child;
    }
    return true;
}

/* An array of objects; anything else is none. */
static bool take_array(struct ct_json *j, struct document *d, bool manifests)
{
    const int depth = j->depth;
    enum ct_json_token token = ct_json_next(j);

    if (token == CT_JSON_ERROR)
        return false;
    if (token != CT_JSON_ARRAY) {
        while (j->depth > depth && token != CT_JSON_ERROR)
            token = ct_json_next(j);
        return token != CT_JSON_ERROR;
    }
    d->is_list |= manifests;
    while ((token = ct_json_next(j)) == CT_JSON_OBJECT) {
        struct entry e = {.size = -1};
        if (!take_members(j, &e) || !(manifests ? take_manifest(d, &e) : take_layer(d->m, &e)))
            return false;
        d->entries++;
    }
    return token == CT_JSON_ARRAY_END;
}

/* Reads the config, which is of ollama's own making and of no use here; some models have none. */
static bool take_config(struct ct_json *j, struct ct_ollama_manifest *m)
{
    struct entry e = {.size = -1};
    struct ct_ollama_layer config;

    if (ct_json_next(j) != CT_JSON_OBJECT || !take_members(j, &e))
        return false;
    if (take_digest(&config, &e)) {
        config.kind = "config";
        add_blob(m, &config);
    }
    return true;
}

static bool take_document(struct ct_json *j, struct document *d)
{
    bool good = ct_json_next(j) == CT_JSON_OBJECT;
    enum ct_json_token token = CT_JSON_ERROR;

    while (good && (token = ct_json_next(j)) == CT_JSON_KEY)
        good = ct_str_is(j->string, "layers")      ? take_array(j, d, false)
               : ct_str_is(j->string, "manifests") ? take_array(j, d, true)
               : ct_str_is(j->string, "config")    ? take_config(j, d->m)
                                                   : ct_json_skip(j);
    return good && token == CT_JSON_OBJECT_END && ct_json_next(j) == CT_JSON_END;
}

carat_status ct_ollama_read_manifest(struct ct_ollama_manifest *m, const char *path, struct ct_bytes text,
                                     carat_error *err)
{
    struct document d = {.m = m};
    struct ct_json j;

    memset(m, 0, sizeof *m);
    if (text.size > MOST_MANIFEST)
        return ct_fail(err, CARAT_E_FORMAT, "%s: has %zu bytes, a manifest at most %d", path, text.size,
                       MOST_MANIFEST);
    ct_json_init(&j, path, text);
    const bool good = take_document(&j, &d);
    const carat_error why = j.error;
    ct_json_free(&j);
    if (!good && why.code)
        return ct_fail(err, why.code, "%s", why.message);
    if (!good)
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s: layer %d has no digest of the form sha256:<64 digits>, or no size", path,
                       d.entries + 1);
    if (d.is_list && d.best == 0)
        snprintf(m->refused, sizeof m->refused, "no manifest of a GGUF file, and carat reads no other");
    else if (!d.is_list && !*m->layer[CT_OLLAMA_WEIGHTS].blob && !*m->refused)
        snprintf(m->refused, sizeof m->refused, "no layer of weights (" IMAGE "model)");
    return CARAT_OK;
}
