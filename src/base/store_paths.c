/* SPDX-License-Identifier: Apache-2.0 */
/* store_paths.c: see store_paths.h. */
#include "base/store_paths.h"

#include <string.h>

/* %H host, %o owner, %n name, %v version, %f file, %h hash. */
static const char *const layouts[CT_STORE_PATHS] = {
    [CT_AT_HUB_FOLDER] = "models--%o--%n",
    [CT_AT_HUB_LOCK] = ".locks/models--%o--%n/%h.lock",
    [CT_AT_HUB_REFS] = "refs",
    [CT_AT_HUB_REF] = "refs/%v",
    [CT_AT_HUB_SNAPSHOTS] = "snapshots",
    [CT_AT_HUB_SNAPSHOT] = "snapshots/%v",
    [CT_AT_HUB_FILE] = "snapshots/%v/%f",
    [CT_AT_HUB_BLOBS] = "blobs",
    [CT_AT_HUB_BLOB] = "blobs/%h",
    [CT_AT_HUB_TREE] = "trees/%v.json",
    [CT_AT_OLLAMA_MANIFESTS] = "manifests",
    [CT_AT_OLLAMA_MANIFEST] = "manifests/%H/%o/%n/%v",
    [CT_AT_OLLAMA_NEWER_MANIFESTS] = "manifests-v2",
    [CT_AT_OLLAMA_NEWER_MANIFEST] = "manifests-v2/%H/%o/%n/%v",
    [CT_AT_OLLAMA_BLOB] = "blobs/sha256-%h",
    [CT_AT_KAGGLE_FOLDERS] = "models",
    [CT_AT_KAGGLE_FOLDER] = "models/%n",
    [CT_AT_KAGGLE_VERSION] = "%v",
    [CT_AT_KAGGLE_FILE] = "%v/%f",
    [CT_AT_KAGGLE_MARKS] = ".complete/%v",
    [CT_AT_KAGGLE_MARK] = ".complete/%v/%f.complete",
    [CT_AT_KAGGLE_ALL] = "%v.complete",
    [CT_AT_LLAMA_CPP_FILE] = "%o_%n_%f",
    [CT_AT_LM_STUDIO_FOLDER] = "%o/%n",
};

/* The name that a letter of a layout stands for. */
static struct ct_str name_at(const struct ct_store_names *n, char letter)
{
    switch (letter) {
    case 'H':
        return n->host;
    case 'o':
        return n->owner;
    case 'n':
        return n->name;
    case 'v':
        return n->version;
    case 'f':
        return n->file;
    default:
        return ct_str_of(n->hash);
    }
}

static void append_text(char *out, size_t capacity, size_t *n, const char *s, size_t bytes)
{
    for (size_t i = 0; i < bytes && *n + i + 1 < capacity; i++)
        out[*n + i] = s[i];
    *n += bytes;
}

size_t ct_store_path(char *out, size_t capacity, enum ct_store_path path, const struct ct_store_names *names)
{
    size_t n = 0;

    if (names->root) {
        append_text(out, capacity, &n, names->root, strlen(names->root));
        append_text(out, capacity, &n, "/", 1);
    }
    for (const char *at = layouts[path]; *at; at++) {
        const bool filled = *at == '%';
        const struct ct_str s = filled ? name_at(names, *++at) : (struct ct_str){at, 1};
        append_text(out, capacity, &n, s.s, s.n);
    }
    if (capacity)
        out[n < capacity ? n : capacity - 1] = 0;
    return n;
}

const char *ct_store_place(struct ct_arena *arena, enum ct_store_path path,
                           const struct ct_store_names *names)
{
    const size_t n = ct_store_path(NULL, 0, path, names) + 1;
    char *text = ct_arena_push(arena, 1, n);

    if (text)
        ct_store_path(text, n, path, names);
    return text;
}

/* The first place in s that begins with a layout's text up to its next name, or its end; NULL: none does. */
static const char *find_text(struct ct_str s, const char *text, size_t n)
{
    for (size_t i = 0; n && i + n <= s.n; i++)
        if (memcmp(s.s + i, text, n) == 0)
            return s.s + i;
    return n ? NULL : s.s + s.n;
}

bool ct_store_names(struct ct_store_names *n, enum ct_store_path path, struct ct_str below)
{
    struct ct_str *const names[128] = {
        ['H'] = &n->host, ['o'] = &n->owner, ['n'] = &n->name, ['v'] = &n->version, ['f'] = &n->file};

    for (const char *at = layouts[path]; *at;) {
        struct ct_str *name = NULL;
        if (*at == '%') {
            name = names[(unsigned char)at[1]];
            at += 2;
        }
        const size_t text = strcspn(at, "%");
        const char *end = name ? find_text(below, at, text) : below.s;
        if (!end || (size_t)(below.s + below.n - end) < text || memcmp(end, at, text) != 0 ||
            (name && end == below.s))
            return false;
        if (name)
            *name = (struct ct_str){below.s, (size_t)(end - below.s)};
        below = (struct ct_str){end + text, (size_t)(below.s + below.n - end) - text};
        at += text;
    }
    return below.n == 0;
}

void ct_store_split(struct ct_store_names *n, const char *repository)
{
    const char *slash = strchr(repository, '/');

    n->owner = (struct ct_str){repository, slash ? (size_t)(slash - repository) : 0};
    n->name = ct_str_of(slash ? slash + 1 : repository);
}
