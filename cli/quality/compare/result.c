/* SPDX-License-Identifier: Apache-2.0 */
/* result.c: the one reader of lines of results, which may be a stranger's. */
#include "quality/compare/summary.h"

#include "term/exit.h"
#include "term/message.h"

bool result_take(struct result *l, json_t *value)
{
    *l = (struct result){.value = value};
    fields_read(result_fields, l, value);
    return l->id && l->status.s;
}

int result_read(struct result *l, const char *text, size_t n, int64_t number)
{
    json_error_t error;

    if (result_take(l, json_loadb(text, n, JSON_ALLOW_NUL, &error)))
        return DONE;
    return fail_as(FAILED, CARAT_E_FORMAT, "line %lld of the results is not a line of results: %s",
                   (long long)number, l->value ? "it has no \"id\" or no \"status\"" : error.text);
}

void result_free(struct result *l)
{
    json_decref(l->value);
    l->value = NULL;
}

void result_drop_lists(struct result *l)
{
    for (const struct field *f = result_fields; f->name; f++)
        if ((f->kind & ~FIELD_OPTIONAL) == FIELD_JSON && f->at != offsetof(struct result, id))
            json_object_del(l->value, f->name);
    fields_read(result_fields, l, l->value);
}

size_t result_end(const struct result *l)
{
    const size_t n = json_array_size(l->column[OF_KL]);

    return l->stop >= 0 && (size_t)l->stop < n ? (size_t)l->stop + 1 : n;
}

double result_number(const struct result *l, enum column column, size_t i)
{
    return field_number(json_array_get(l->column[column], i));
}
