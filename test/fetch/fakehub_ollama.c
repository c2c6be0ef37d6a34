/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub_ollama.c: ollama's registry as carat-fetch asks it: DIR/ollama/OWNER/MODEL/TAG has a file for each
 * layer, called by the end of its type, and config. A manifest is made of them; blobs lie where files of the
 * hub lie, on another host (localhost), and misbehave as these do. LOG_FILE.accept has what the registry was
 * ready to be given. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakehub.h"

enum { BODY = 1 << 24 };

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

/* Its digest and size. */
static void describe(char out[256], const char *folder, const char *file)
{
    char path[3 * PATH], hash[65] = "";
    size_t n = 0;

    snprintf(path, sizeof path, "%s/%s", folder, file);
    hash_of(hash, path, true);
    close_file(open_file(path, &n), n);
    if (fault == BAD_HASH)
        hash[0] = 'g';
    if (fault == BAD_NAME)
        snprintf(hash, sizeof hash, "../../../../../../../../../../../../../../../../../../../../etc/");
    snprintf(out, 256, "\"digest\": \"sha256:%s\", \"size\": %s%zu", hash,
             fault == HUGE_SIZE ? "99999999999999" : "", n);
}

static void answer_manifest(struct request *r, const char *folder)
{
    struct dirent **entry;
    char *body = calloc(1, BODY), *to = body, blob[256];
    const int n = scandir(folder, &entry, is_visible, alphasort);
    int layers = 0;

    to += sprintf(to, "{\"schemaVersion\": 2");
    for (int i = 0; i < n; i++)
        if (strcmp(entry[i]->d_name, "config") == 0) {
            describe(blob, folder, "config");
            to += sprintf(
                to, ", \"config\": {\"mediaType\": \"application/vnd.docker.container.image.v1+json\", %s}",
                blob);
        }
    to += sprintf(to, ", \"layers\": [");
    for (int i = 0; i < n; i++) {
        const char *name = entry[i]->d_name;
        describe(blob, folder, name);
        for (int k = 0; strcmp(name, "config") != 0 && k < (fault == MANY ? number : 1); k++)
            to += sprintf(to, "%s{\"mediaType\": \"application/vnd.ollama.image.%.*s\", %s}",
                          layers++ ? ", " : "", (int)strcspn(name, "-"), name, blob);
        free(entry[i]);
    }
    strcpy(to, "]}");
    if (n >= 0)
        free(entry);
    if (n < 0)
        answer(r, 404, "", "application/json", "{\"errors\": [{\"code\": \"MANIFEST_UNKNOWN\"}]}");
    else
        answer(r, 200, "", "application/json", body);
    free(body);
}

/* A blob lies with a tag of its model. */
static bool find_blob(char name[PATH], const char *folder, const char *digest)
{
    struct dirent **tag, **file;
    const int n = scandir(folder, &tag, is_visible, alphasort);
    bool found = false;

    for (int i = 0; i < n; i++) {
        char below[3 * PATH];
        snprintf(below, sizeof below, "%s/%s", folder, tag[i]->d_name);
        const int m = scandir(below, &file, is_visible, alphasort);
        for (int k = 0; k < m; k++) {
            char path[4 * PATH], hash[65] = "";
            snprintf(path, sizeof path, "%s/%s", below, file[k]->d_name);
            hash_of(hash, path, true);
            if (strcmp(hash, digest) == 0 && !found) {
                snprintf(name, PATH, "%.500s/%.500s", tag[i]->d_name, file[k]->d_name);
                found = true;
            }
            free(file[k]);
        }
        if (m >= 0)
            free(file);
        free(tag[i]);
    }
    if (n >= 0)
        free(tag);
    return found;
}

static void answer_about(struct request *r, const char *model, const char *folder, const char *what,
                         const char *last)
{
    char name[PATH], where[3 * PATH];

    if (fault == GATED)
        answer(r, 401, "", "application/json", "{\"errors\": [{\"code\": \"UNAUTHORIZED\"}]}");
    else if (fault == ALL_MISSING)
        answer(r, 404, "", "application/json", "{}");
    else if (strcmp(what, "/blobs/sha256:") == 0 && find_blob(name, folder, last)) {
        snprintf(where, sizeof where, "Location: http://localhost:%d/cdn/ollama/%s/%s?signed=%d\r\n", port,
                 model, name, __atomic_add_fetch(&shared->addresses, 1, __ATOMIC_SEQ_CST));
        answer(r, 307, where, "text/plain", "there");
    } else if (*last == 0 || strcmp(what, "/manifests/") != 0) {
        answer(r, 404, "", "text/plain", "no");
    } else if (fault == BUSY_LIST && __atomic_fetch_add(&shared->lists, 1, __ATOMIC_SEQ_CST) < number) {
        answer(r, 503, "Retry-After: 0\r\n", "text/plain", "busy");
    } else if (fault == HTML) {
        answer(r, 200, "", "text/html", "<!DOCTYPE html><html></html>");
    } else if (fault == DEEP) {
        char *deep = calloc(1, 10001);
        memset(deep, '[', 10000);
        answer(r, 200, "", "application/json", deep);
        free(deep);
    } else {
        snprintf(where, sizeof where, "%s/%s", folder, last);
        answer_manifest(r, where);
    }
}

bool answer_ollama(struct request *r)
{
    static const char *const kinds[] = {"/manifests/", "/blobs/sha256:"};
    char folder[2 * PATH], model[PATH], accept[PATH];

    if (strncmp(r->path, "/v2/", 4) != 0)
        return false;
    snprintf(accept, sizeof accept, "%.2000s.accept", log_path);
    FILE *f = fopen(accept, "ae");
    if (f) {
        fprintf(f, "%s\n", r->accept);
        fclose(f);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *rest = strstr(r->path, kinds[i]);
        if (!rest)
            continue;
        snprintf(model, sizeof model, "%.*s", (int)(rest - r->path - 4), r->path + 4);
        snprintf(folder, sizeof folder, "%s/ollama/%.1000s", dir, model);
        answer_about(r, model, folder, kinds[i], rest + strlen(kinds[i]));
        return true;
    }
    return false;
}
