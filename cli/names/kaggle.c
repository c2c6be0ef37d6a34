/* SPDX-License-Identifier: Apache-2.0 */
/* kaggle.c: where Kaggle is asked, and as whom, see dotenv.h. */
#define _POSIX_C_SOURCE 200809L
#include "names/dotenv.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/word.h"
#include "term/message.h"

enum { MOST_PATH = 4096 };

const char *kaggle_endpoint(void)
{
    static char address[MOST_PATH];
    const char *endpoint = getenv("KAGGLE_API_ENDPOINT"), *where = getenv("KAGGLE_API_ENVIRONMENT");

    if (!(endpoint && *endpoint) && where && strcmp(where, "TEST") == 0)
        endpoint = "http://localhost:7777";
    if (!endpoint || snprintf(address, sizeof address, "%s/api", endpoint) >= (int)sizeof address ||
        !*endpoint)
        return "https://api.kaggle.com";
    return address;
}

/* Copies a text where it has room. */
static bool kaggle_copy(char *to, size_t capacity, const char *text)
{
    const size_t n = text ? strlen(text) : capacity;

    if (n >= capacity)
        return false;
    memcpy(to, text, n + 1);
    return true;
}

/* ---- kaggle.json ---- */

static int read_json(struct kaggle_credentials *c, const char *path)
{
    json_error_t why;
    struct stat st;
    json_t *root = stat(path, &st) == 0 ? json_load_file(path, 0, &why) : NULL;
    const char *user = json_string_value(json_object_get(root, "username")),
               *key = json_string_value(json_object_get(root, "key"));
    int code = DONE;

    if (stat(path, &st) != 0)
        return DONE;
    if (!kaggle_copy(c->user, sizeof c->user, user) || !kaggle_copy(c->key, sizeof c->key, key))
        code = term_fail(FAILED, "%s: expected an object of JSON with the texts username and key", path);
    else if (st.st_mode & 077)
        term_note("%s can be read by others: 'chmod 600 %s' keeps your key to yourself", path, path);
    json_decref(root);
    return code;
}

int kaggle_find_credentials(struct kaggle_credentials *c)
{
    char path[MOST_PATH + 32], token[MOST_SETTING], user[MOST_SETTING], key[MOST_SETTING],
        folder[MOST_SETTING];
    const char *home = getenv("HOME");

    *c = (struct kaggle_credentials){.user = ""};
    if (find_setting(token, "KAGGLE_API_TOKEN")) {
        if (access(token, F_OK) != 0)
            snprintf(c->key, sizeof c->key, "%s", token);
        else if (!read_word(c->key, sizeof c->key, token))
            return term_fail(FAILED, "KAGGLE_API_TOKEN: %s has no token", token);
        return DONE;
    }
    snprintf(path, sizeof path, "%.4000s/.kaggle/access_token", home ? home : "");
    if (home && read_word(c->key, sizeof c->key, path))
        return DONE;
    if (find_setting(user, "KAGGLE_USERNAME") && find_setting(key, "KAGGLE_KEY"))
        return kaggle_copy(c->user, sizeof c->user, user) && kaggle_copy(c->key, sizeof c->key, key)
                   ? DONE
                   : term_fail(FAILED, "KAGGLE_USERNAME has %zu bytes, expected at most %d", strlen(user),
                               KAGGLE_USER - 1);
    if (find_setting(folder, "KAGGLE_CONFIG_DIR"))
        snprintf(path, sizeof path, "%s/kaggle.json", folder);
    else
        snprintf(path, sizeof path, "%.4000s/.kaggle/kaggle.json", home ? home : "");
    return read_json(c, path);
}
