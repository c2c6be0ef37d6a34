/* SPDX-License-Identifier: Apache-2.0 */
/* warnings.c: see warnings.h. */
#include "warnings.h"

#include <stdio.h>

#include "json_write.h"
#include "text.h"

void warnings_put(struct buffer *out, const struct ask *ask)
{
    struct text rest = {ask->ignored.data, ask->ignored.n};
    char warning[1200];

    if (rest.n == 0)
        return;
    for (int i = 0; rest.n; i++) {
        struct text name = rest;
        rest = text_split(&name, ',');
        name = text_trim(name);
        snprintf(warning, sizeof warning, "%.*s: no field of this name is known here, and it was ignored",
                 (int)name.n, name.s);
        json_put(out, i ? ",%s" : ",'warnings':[%s", warning);
    }
    buffer_text(out, "]");
}
