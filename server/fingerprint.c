/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.c: the word of struct fingerprint. What the hash is over is left to carat_tools.h. */
#include "state.h"

#include <stdio.h>
#include <string.h>

#include "carat_generate.h"
#include "carat_tools.h"

/* Adds a line of carat_explain of which answers depend, up to what is said to people behind it. */
static int add_line(void *user, const char *key, const char *value)
{
    static const char *const names[][2] = {
        {"arithmetic", ""}, {"numerics", "numerics"}, {"drawing", "drawing"}, {"kv", ""}};
    struct fingerprint *f = user;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(key, names[i][0]) == 0)
            f->n += snprintf(f->text + f->n, sizeof f->text - (size_t)f->n, "-%s%.*s", names[i][1],
                             (int)strcspn(value, ": "), value);
    return 0;
}

static int go_on(void *user, size_t done, size_t total)
{
    const struct fingerprint *f = user;

    (void)done;
    (void)total;
    return atomic_load(&f->unwanted);
}

static void add_content(void *user)
{
    struct fingerprint *f = user;
    char content[33];

    if (carat_model_content(f->model, go_on, f, content, NULL) != CARAT_OK)
        return;
    snprintf(f->text + f->n, sizeof f->text - (size_t)f->n, "-%s", content);
    atomic_store(&f->known, true);
}

static void add_slowly(void *user)
{
    (void)uv_os_setpriority(0, UV_PRIORITY_LOW); /* on Linux of this thread, and of those that it starts */
    add_content(user);
}

void fingerprint_begin(struct fingerprint *f, const carat_model *model, const carat_engine *engine)
{
    carat_model_info info;

    carat_model_info_default(&info);
    *f = (struct fingerprint){.model = model};
    f->n = snprintf(f->text, sizeof f->text, "carat-%s", CARAT_VERSION);
    if (carat_explain(engine, add_line, f, NULL) != CARAT_OK ||
        carat_model_get_info(model, &info, NULL) != CARAT_OK)
        return;
    if (*info.content)
        add_content(f);
    else
        f->has_thread = uv_thread_create(&f->thread, add_slowly, f) == 0;
}

void fingerprint_end(struct fingerprint *f)
{
    atomic_store(&f->unwanted, true);
    if (f->has_thread)
        uv_thread_join(&f->thread);
}

const char *fingerprint_text(const struct fingerprint *f)
{
    return atomic_load(&f->known) ? f->text : NULL;
}
