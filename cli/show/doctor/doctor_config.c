/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_config.c: what a model's config.json says that nobody reads: a key of another class of transformers,
 * or of a release that carat does not know. */
#include <stdio.h>
#include <string.h>

#include "show/doctor/doctor.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/out_json.h"

static int keep_unread(void *user, const carat_unread_key *key)
{
    struct unread *u = user;

    if (u->n < MOST_UNREAD) {
        struct unread_key *k = &u->of[u->n];
        snprintf(k->key, sizeof k->key, "%s", key->key);
        snprintf(k->class_name, sizeof k->class_name, "%s", key->class_name);
        k->known = key->known;
    }
    u->n++;
    return 0;
}

int doctor_find_unread(struct unread *u, const carat_model *model)
{
    carat_error err;

    return carat_model_unread(model, keep_unread, u, &err) == CARAT_OK ? DONE : fail_status(&err);
}

bool doctor_unread(const struct unread *u, int i, char text[UNREAD_TEXT])
{
    if (i >= u->n || i > MOST_UNREAD)
        return false;
    const struct unread_key *k = &u->of[i < MOST_UNREAD ? i : 0];
    if (i == MOST_UNREAD)
        snprintf(text, UNREAD_TEXT, "%d keys more that do not count", u->n - i);
    else if (k->known)
        snprintf(text, UNREAD_TEXT, "%s does not count in a %s, as in transformers", k->key, k->class_name);
    else
        snprintf(text, UNREAD_TEXT, "%s is in no class of transformers that carat knows: it is not read",
                 k->key);
    return true;
}

json_t *doctor_unread_json(const struct unread *u)
{
    json_t *list = json_array();

    for (int i = 0; i < u->n && i < MOST_UNREAD; i++)
        json_array_append_new(list, json_pack("{s:o, s:s, s:b}", "key",
                                              json_text(u->of[i].key, strlen(u->of[i].key)), "class",
                                              u->of[i].class_name, "known", u->of[i].known));
    return list;
}
