/* SPDX-License-Identifier: Apache-2.0 */
/* logits_tap.c: writes the values that an operation of the pass gives for each id, as logits.c writes logits.
 * */
#include "steps/logits_tap.h"

#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "term/message.h"

enum { NAME = 32 }; /* bytes of a name of carat_tap_name */

struct tap {
    const char *name;
    struct save *npy;
    int width, code;
};

static void hear(void *user, const carat_tap *tap)
{
    struct tap *t = user;

    if (strcmp(tap->name, t->name) != 0)
        return;
    for (int row = 0; row < tap->rows && t->code == DONE; row++)
        t->code = npy_row(t->npy, tap->values + (size_t)row * (size_t)tap->width, (size_t)tap->width);
}

/* The logits are not asked for, but without them the last layer leaves rows out. */
static int drop_logits(void *tap, int token, const float *logits)
{
    (void)token;
    (void)logits;
    return ((struct tap *)tap)->code != DONE;
}

struct names {
    int n;
    char (*name)[NAME]; /* [n] */
};

static const char *next_name(void *user, int i)
{
    const struct names *names = user;

    return i < names->n ? names->name[i] : NULL;
}

static int refuse_tap(const char *name, const carat_engine *engine, int n)
{
    struct names names = {n, calloc((size_t)n, NAME)};

    if (!names.name)
        return fail_memory();
    for (int i = 0; i < n; i++)
        carat_tap_name(engine, i, names.name[i]);
    const char *meant = nearest(name, next_name, &names);
    int code =
        fail(USAGE,
             "--tap %s: there is no such value; %s%s%sthere are embed, final_norm, and layer.N, "
             "layer.N.attn, layer.N.q, .k and .v of the layers 0 to %d",
             name, meant ? "did you mean " : "", meant ? meant : "", meant ? "? " : "", (n - 2) / 5 - 1);
    free(names.name);
    return code;
}

static int find_tap(struct tap *t, const carat_engine *engine)
{
    char name[NAME];
    int i = 0;

    while ((t->width = carat_tap_name(engine, i, name)) > 0 && strcmp(name, t->name) != 0)
        i++;
    return t->width ? DONE : refuse_tap(t->name, engine, i);
}

int write_tap(const char *name, const char *path, carat_engine *engine, carat_session *session,
              const carat_tokens *ids, struct save *npy)
{
    struct tap t = {.name = name, .npy = npy};
    carat_row row = {.session = session,
                     .tokens = ids->ids,
                     .n = ids->n,
                     .wants = CARAT_WANTS_ALL,
                     .deliver = drop_logits,
                     .user = &t};
    carat_error err;
    int code = DONE;

    TRY(find_tap(&t, engine));
    TRY(npy_create(npy, path, (size_t)ids->n, (size_t)t.width));
    if (carat_tap_begin(engine, hear, &t, &err) != CARAT_OK ||
        carat_step(engine, &row, sizeof row, 1, &err) != CARAT_OK)
        code = t.code != DONE ? t.code : fail_status(&err);
    carat_tap_end(engine);
    return code == DONE ? t.code : code;
}
