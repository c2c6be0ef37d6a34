/* SPDX-License-Identifier: Apache-2.0 */
/* warnings.c: see warnings.h. */
#include "warnings.h"

#include <stdio.h>

#include "json_write.h"
#include "text.h"

void warnings_put(struct buffer *out, const struct request *request)
{
    struct text rest = {request->said.ignored.data, request->said.ignored.n},
                lines = {request->extra.warned.data, request->extra.warned.n};
    char warning[1200];
    int i = 0;

    if (rest.n + lines.n == 0)
        return;
    for (; rest.n; i++) {
        struct text name = rest;
        rest = text_split(&name, ',');
        name = text_trim(name);
        snprintf(warning, sizeof warning, "%.*s: no field of this name is known here, and it was ignored",
                 (int)name.n, name.s);
        json_put(out, i ? ",%s" : ",'warnings':[%s", warning);
    }
    for (; lines.n; i++) {
        struct text line = lines;
        lines = text_split(&line, '\n');
        snprintf(warning, sizeof warning, "%.*s", (int)line.n, line.s);
        json_put(out, i ? ",%s" : ",'warnings':[%s", warning);
    }
    buffer_text(out, "]");
}
