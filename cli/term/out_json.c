/* SPDX-License-Identifier: Apache-2.0 */
/* out_json.c: JSON on standard output. What JSON cannot say becomes what it can: U+FFFD for a byte that is
 * not text, null for a number that is none. */
#include "term/out_json.h"

#include <math.h>
#include <stdlib.h>

#include "term/output.h"
#include "term/utf8.h"

json_t *json_text(const char *text, size_t n)
{
    json_t *string = json_stringn(text, n);

    if (string)
        return string;
    size_t used;
    char *clean = utf8_clean(text, n, &used);
    if (!clean)
        return NULL;
    string = json_stringn(clean, used);
    free(clean);
    return string;
}

json_t *json_ids(const int32_t *ids, int n)
{
    json_t *list = json_array();

    for (int i = 0; list && i < n; i++) {
        if (json_array_append_new(list, json_integer(ids[i])) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

json_t *json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int dump(const char *buffer, size_t n, void *user)
{
    (void)user;
    out_write(buffer, n);
    return 0;
}

int out_json(json_t *value)
{
    return out_json_with(value, NULL, NULL);
}

int out_json_with(json_t *value, const char *key, const char *items)
{
    size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(9) | (key ? JSON_EMBED : 0);

    if (!value)
        return fail_memory();
    if (key)
        out_print("{");
    int failed = json_dump_callback(value, dump, NULL, flags);
    json_decref(value);
    if (failed)
        return fail_memory();
    if (key)
        out_print(",\"%s\":[%s]}", key, items);
    out_print("\n");
    return DONE;
}
