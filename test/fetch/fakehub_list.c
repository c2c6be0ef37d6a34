/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub_list.c: the fake hub's lists of files. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fakehub.h"

static void list_below(FILE *out, const char *root, const char *below, bool *first)
{
    char path[2 * PATH], name[2 * PATH], hash[65];
    struct dirent **entry = NULL;
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", root, below);
    const int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *e = entry[i]->d_name;
        snprintf(name, sizeof name, "%.1000s%s%.250s", below, *below ? "/" : "", e);
        snprintf(path, sizeof path, "%.1000s/%.2000s", root, name);
        if (*e == '.' || stat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            fprintf(out,
                    "%s{\"type\": \"directory\", \"oid\": \"" COMMIT "\", \"size\": 0, \"path\": \"%s\"}",
                    *first ? "" : ", ", name);
            *first = false;
            list_below(out, root, name, first);
        } else if (S_ISREG(st.st_mode)) {
            const size_t size = (size_t)st.st_size;
            hash_of(hash, path, false);
            fprintf(out, "%s{\"type\": \"file\", \"oid\": \"%s\", \"size\": %zu", *first ? "" : ", ", hash,
                    size);
            if (is_large(size)) {
                hash_of(hash, path, true);
                fprintf(out, ", \"lfs\": {\"oid\": \"%s\", \"size\": %zu, \"pointerSize\": 134}", hash,
                        fault == LARGE_SIZE ? (size_t)number : size);
            }
            fprintf(out, ", \"path\": \"%s\"}", name);
            *first = false;
        }
        free(entry[i]);
    }
    free(entry);
}

/* Page `page` of the files that MANY adds. */
static void list_many(FILE *out, long long page, bool *first)
{
    for (long long i = 1000 * page; i < 1000 * (page + 1) && i < number; i++, *first = false)
        fprintf(out, "%s{\"type\": \"file\", \"oid\": \"%040llx\", \"size\": 1, \"path\": \"many/%lld\"}",
                *first ? "" : ", ", i, i);
}

/* A list of one entry that cannot be. */
static const char *bad_entry(void)
{
    switch (fault) {
    case BAD_NAME:
        return "\"oid\": \"" COMMIT "\", \"size\": 1, \"path\": \"../x\"";
    case ROOT_NAME:
        return "\"oid\": \"" COMMIT "\", \"size\": 1, \"path\": \"/etc/x\"";
    case ZERO_NAME:
        return "\"oid\": \"" COMMIT "\", \"size\": 1, \"path\": \"a\\u0000b\"";
    case HUGE_SIZE:
        return "\"oid\": \"" COMMIT "\", \"size\": 9223372036854775808, \"path\": \"x\"";
    case BAD_HASH:
        return "\"oid\": \"../../../../x\", \"size\": 1, \"path\": \"x\"";
    case XET_ONLY:
        return "\"oid\": \"" COMMIT "\", \"size\": 50000000001, \"path\": \"x.gguf\"";
    default:
        return NULL;
    }
}

void answer_list(struct request *r, const char *repository)
{
    char root[2 * PATH], link[PATH + 128] = "", small[512], *text = NULL;
    const char *bad = bad_entry();
    long long page = 0;
    size_t n = 0;
    bool first = true;

    __atomic_fetch_add(&shared->lists, 1, __ATOMIC_SEQ_CST);
    if (bad) {
        snprintf(small, sizeof small, "[{\"type\": \"file\", %s}]", bad);
        answer(r, 200, "", "application/json", small);
        return;
    }
    sscanf(r->query, "cursor=%lld", &page);
    FILE *out = open_memstream(&text, &n);
    snprintf(root, sizeof root, "%s/%s", dir, repository);
    fputc('[', out);
    for (int i = 0; i < 10000 && fault == DEEP; i++)
        fputs("{\"path\": [", out);
    if (fault == MANY)
        list_many(out, page, &first);
    if (page == 0 || fault == PAGES_ON)
        list_below(out, root, "", &first);
    fputc(']', out);
    fclose(out);
    if (fault == PAGES || fault == PAGES_ON || fault == PAGE_AWAY ||
        (fault == MANY && 1000 * (page + 1) < number))
        snprintf(link, sizeof link, "Link: <http://%s:%d%s?cursor=%lld>; rel=\"next\"\r\n",
                 fault == PAGE_AWAY ? "localhost" : "127.0.0.1", port, r->path,
                 fault == PAGES ? 0 : page + 1);
    answer(r, 200, link, "application/json", text);
    free(text);
}

/* ---- searches ---- */

static void tell_repository(FILE *out, const char *owner, const char *name, long long downloads)
{
    char path[3 * PATH], tags[1024] = "\"safetensors\"";

    snprintf(path, sizeof path, "%s/%.250s/%.250s/.tags", dir, owner, name);
    FILE *f = fopen(path, "re");
    if (f) {
        if (!fgets(tags, sizeof tags, f))
            *tags = 0;
        fclose(f);
    }
    tags[strcspn(tags, "\n")] = 0;
    fprintf(out, "{\"_id\": \"x\", \"id\": \"%s/%s\", \"likes\": 1, \"downloads\": %lld, \"tags\": [%s]}",
            owner, name, downloads, tags);
}

void answer_search(struct request *r)
{
    char words[256] = "", path[2 * PATH], *text = NULL;
    struct dirent **owner = NULL;
    int limit = 0;
    size_t n = 0;

    sscanf(r->query, "search=%255[^&]&limit=%d", words, &limit);
    FILE *out = open_memstream(&text, &n);
    fputc('[', out);
    const int owners = fault == ALL_MISSING ? 0 : scandir(dir, &owner, NULL, alphasort);
    long long found = 0;
    for (int i = 0; i < owners; free(owner[i++])) {
        struct dirent **name = NULL;
        snprintf(path, sizeof path, "%s/%.250s", dir, owner[i]->d_name);
        const int names = *owner[i]->d_name == '.' ? 0 : scandir(path, &name, NULL, alphasort);
        for (int k = 0; k < names; free(name[k++])) {
            if (*name[k]->d_name == '.' || !strcasestr(name[k]->d_name, words) || found == limit)
                continue;
            fputs(found ? ", " : "", out);
            tell_repository(out, owner[i]->d_name, name[k]->d_name, 1000 - found++);
        }
        free(name);
    }
    free(owner);
    fputs(fault == DEEP ? "[[[" : "]", out);
    fclose(out);
    answer(r, 200, "", "application/json", text);
    free(text);
}

static void name_below(FILE *out, const char *root, const char *below, bool *first)
{
    char path[2 * PATH], name[2 * PATH];
    struct dirent **entry = NULL;
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", root, below);
    const int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%.1000s%s%.250s", below, *below ? "/" : "", entry[i]->d_name);
        snprintf(path, sizeof path, "%.1000s/%.2000s", root, name);
        if (*entry[i]->d_name != '.' && stat(path, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                name_below(out, root, name, first);
            else
                fprintf(out, "%s{\"rfilename\": \"%s\"}", *first ? "" : ", ", name);
            *first = false;
        }
        free(entry[i]);
    }
    free(entry);
}

void answer_revision(struct request *r, const char *repository)
{
    char root[2 * PATH], *text = NULL;
    size_t n = 0;
    bool first = true;
    FILE *out = open_memstream(&text, &n);

    snprintf(root, sizeof root, "%s/%s", dir, repository);
    fprintf(out,
            "{\"id\": \"%s\", \"modelId\": \"%s\", \"private\": false, \"downloads\": 0, \"likes\": 0, "
            "\"tags\": [], \"siblings\": [",
            repository, repository);
    name_below(out, root, "", &first);
    fputs("], \"sha\": \"" COMMIT "\"}", out);
    fclose(out);
    answer(r, 200, "", "application/json", text);
    free(text);
}
