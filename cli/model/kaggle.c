/* SPDX-License-Identifier: Apache-2.0 */
/* kaggle.c: see kaggle.h. */
#define _POSIX_C_SOURCE 200809L
#include "model/kaggle.h"

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

/* ---- the user's own .env in the working directory: these names, nothing else ---- */

static const char *const names[] = {"KAGGLE_API_TOKEN", "KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR"};
enum { API_TOKEN, USERNAME, KEY, CONFIG_DIR, NAMES };

/* NAME=VALUE, perhaps behind export, perhaps quoted. */
static void take_setting(char value[NAMES][KAGGLE_KEY], char *line)
{
    line += strspn(line, " \t");
    if (strncmp(line, "export ", 7) == 0)
        line += 7 + strspn(line + 7, " \t");
    char *is = strchr(line, '=');
    if (!is)
        return;
    char *text = is + 1 + strspn(is + 1, " \t");
    const char quote = *text == '"' || *text == '\'' ? *text++ : 0;
    text[quote ? strcspn(text, quote == '"' ? "\"\r\n" : "'\r\n") : strcspn(text, " \t\r\n#")] = 0;
    for (size_t i = 0; i < NAMES; i++)
        if (strlen(names[i]) == (size_t)(is - line) && strncmp(line, names[i], (size_t)(is - line)) == 0)
            snprintf(value[i], KAGGLE_KEY, "%s", text);
}

static void read_settings(char value[NAMES][KAGGLE_KEY])
{
    char line[2 * KAGGLE_KEY];
    struct stat st;
    FILE *f = fopen(".env", "re");

    if (f && fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
        while (fgets(line, sizeof line, f))
            take_setting(value, line);
    if (f)
        fclose(f);
    for (size_t i = 0; i < NAMES; i++) {
        const char *given = getenv(names[i]);
        if (given && *given)
            snprintf(value[i], KAGGLE_KEY, "%s", given);
    }
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
    if (!user || !key || strlen(user) >= KAGGLE_USER || strlen(key) >= KAGGLE_KEY)
        code = fail(FAILED, "%s: expected an object of JSON with the texts username and key", path);
    else {
        snprintf(c->user, sizeof c->user, "%s", user);
        snprintf(c->key, sizeof c->key, "%s", key);
        if (st.st_mode & 077)
            note("%s can be read by others: 'chmod 600 %s' keeps your key to yourself", path, path);
    }
    json_decref(root);
    return code;
}

int kaggle_find_credentials(struct kaggle_credentials *c)
{
    static char value[NAMES][KAGGLE_KEY];
    char path[MOST_PATH + 32], folder[MOST_PATH];
    const char *home = getenv("HOME");

    *c = (struct kaggle_credentials){.user = ""};
    memset(value, 0, sizeof value);
    read_settings(value);
    if (*value[API_TOKEN]) {
        if (access(value[API_TOKEN], F_OK) != 0)
            snprintf(c->key, sizeof c->key, "%s", value[API_TOKEN]);
        else if (!read_word(c->key, sizeof c->key, value[API_TOKEN]))
            return fail(FAILED, "KAGGLE_API_TOKEN: %s has no token", value[API_TOKEN]);
        return DONE;
    }
    if (snprintf(folder, sizeof folder, "%s%s",
                 *value[CONFIG_DIR] ? value[CONFIG_DIR]
                 : home             ? home
                                    : "",
                 *value[CONFIG_DIR] ? "" : "/.kaggle") >= (int)sizeof folder)
        return DONE;
    snprintf(path, sizeof path, "%s/.kaggle/access_token", home ? home : "");
    if (home && read_word(c->key, sizeof c->key, path))
        return DONE;
    if (*value[USERNAME] && *value[KEY] && strlen(value[USERNAME]) < KAGGLE_USER) {
        snprintf(c->user, sizeof c->user, "%s", value[USERNAME]);
        snprintf(c->key, sizeof c->key, "%s", value[KEY]);
        return DONE;
    }
    snprintf(path, sizeof path, "%s/kaggle.json", folder);
    return read_json(c, path);
}
