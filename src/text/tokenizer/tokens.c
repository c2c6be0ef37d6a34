/* SPDX-License-Identifier: Apache-2.0 */
/* tokens.c: the list of ids that encoding appends to. */
#include "text/tokenizer/tokenizer.h"

#include <limits.h>
#include <stdlib.h>

#include "base/array.h"

void ct_tokens_free(carat_tokens *t)
{
    free(t->ids);
    *t = (carat_tokens){0};
}

carat_status ct_tokens_push(carat_tokens *t, int32_t id, carat_error *err)
{
    size_t capacity = (size_t)t->capacity;
    if (t->n == INT_MAX || !ct_array_grow(&t->ids, &capacity, (size_t)t->n + 1, sizeof *t->ids))
        return ct_fail(err, CARAT_E_MEMORY, "no memory for more than %d tokens", t->n);
    t->capacity = (int)CT_MIN(capacity, (size_t)INT_MAX);
    t->ids[t->n++] = id;
    return CARAT_OK;
}
