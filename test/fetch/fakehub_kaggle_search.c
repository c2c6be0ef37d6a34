/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub_kaggle_search.c: Kaggle's search: the models of DIR/kaggle/OWNER/MODEL/FRAMEWORK/VARIATION whose
 * names have the word that is asked for. LOG_FILE.search has the questions. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakehub.h"

static int is_visible(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

typedef void (*entry_visit)(char *body, const char *path, const char *name, const char *about);

static void each(char *body, const char *path, const char *about, entry_visit visit)
{
    struct dirent **entry;
    const int n = scandir(path, &entry, is_visible, alphasort);

    for (int i = 0; i < n; i++) {
        char below[2 * PATH];
        snprintf(below, sizeof below, "%.2000s/%.255s", path, entry[i]->d_name);
        visit(body, below, entry[i]->d_name, about);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

static void add(char *body, const char *text)
{
    const size_t n = strlen(body);

    strcpy(body + n, n && strchr("}", body[n - 1]) ? ", " : "");
    strcat(body, text);
}

static void add_instance(char *body, const char *path, const char *name, const char *framework)
{
    char text[2 * PATH];

    (void)path;
    snprintf(text, sizeof text, "{\"id\": 1, \"framework\": \"%.200s\", \"slug\": \"%.200s\"}", framework,
             fault == BAD_NAME ? "../x" : name);
    add(body, text);
}

static void add_framework(char *body, const char *path, const char *name, const char *about)
{
    (void)about;
    each(body, path, name, add_instance);
}

static const char *owner, *word;

static void add_model(char *body, const char *path, const char *name, const char *about)
{
    char text[2 * PATH];

    (void)about;
    if (!strcasestr(name, word))
        return;
    snprintf(text, sizeof text, "{\"instances\": [");
    add(body, text);
    each(body, path, NULL, add_framework);
    snprintf(text, sizeof text, "], \"ref\": \"%.200s/%.200s\", \"title\": \"a title\"}", owner, name);
    strcat(body, text);
}

static void add_owner(char *body, const char *path, const char *name, const char *about)
{
    (void)about;
    owner = name;
    each(body, path, NULL, add_model);
}

bool answer_kaggle_search(struct request *r)
{
    static char body[1 << 20] = "{\"models\": [";
    static char asked[PATH];
    char path[2 * PATH];

    if (strcmp(r->path, "/api/v1/models.ModelApiService/ListModels") != 0)
        return false;
    snprintf(path, sizeof path, "%.2000s.search", log_path);
    FILE *f = fopen(path, "ae");
    if (f) {
        fprintf(f, "%s\n", r->body);
        fclose(f);
    }
    if (fault == GATED) {
        answer(r, 401, "", "application/json", "{}");
        return true;
    }
    sscanf(r->body, "{\"search\": \"%500[^\"]", asked);
    word = asked;
    snprintf(path, sizeof path, "%.2000s/kaggle", dir);
    each(body, path, NULL, add_owner);
    strcat(body, "], \"nextPageToken\": \"\", \"totalResults\": 1}");
    answer(r, 200, "", "application/json", fault == DEEP ? "{\"models\": [[[[" : body);
    return true;
}
