/* SPDX-License-Identifier: Apache-2.0 */
/* call_parts.c: see call_parts.h. */
#include "text/chat/call_parts.h"

#include <stdlib.h>

#include "base/array.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer_parts.h"

/* ---- text that grows ---- */

void ct_call_put(struct call_text *t, const char *s, size_t n)
{
    t->failed = t->failed || !ct_array_grow(&t->s, &t->capacity, t->n + n + 1, 1);
    if (t->failed)
        return;
    memcpy(t->s + t->n, s, n);
    t->n += n;
    t->s[t->n] = 0;
}

char *ct_call_copy(struct call_text *t, const char *s, size_t n)
{
    char *to = malloc(n + 1);
    if (!to) {
        t->failed = true;
        return NULL;
    }
    memcpy(to, s, n);
    to[n] = 0;
    return to;
}

bool ct_call_is_mark(const struct call_parser *p, int32_t id)
{
    return ct_piece_is_control(p->t, id) && id != p->t->unknown;
}

void ct_call_spell(struct call_parser *p, const int32_t *id, int n, bool call)
{
    struct ct_detokenizer d;
    char piece[256];
    ct_detokenizer_init(&d, p->t, call ? CARAT_SPECIAL : 0);
    p->id = id;
    p->n = n;
    p->text.n = p->json.n = 0;
    ct_call_put(&p->text, "", 0);
    for (int k = 0; k < n; k++) {
        if (ct_call_is_mark(p, id[k])) /* a character that is cut off before it stays cut off */
            ct_call_put(&p->text, piece, ct_detokenizer_push(&d, -1, piece, sizeof piece));
        p->begin[k] = p->text.n;
        ct_call_put(&p->text, piece, ct_detokenizer_push(&d, id[k], piece, sizeof piece));
    }
    ct_call_put(&p->text, piece, ct_detokenizer_push(&d, -1, piece, sizeof piece));
    p->begin[n] = p->text.n;
}

bool ct_call_wrong(struct call_parser *p, size_t at, const char *format, ...)
{
    va_list args;
    if (*p->error && p->part->error_byte <= at - p->origin)
        return false;
    int n = snprintf(p->error, sizeof p->error, "at byte %zu: ", at - p->origin), k = 0;
    va_start(args, format);
    vsnprintf(p->error + n, sizeof p->error - (size_t)n, format, args);
    va_end(args);
    while (k + 1 < p->n && p->begin[k + 1] <= at)
        k++;
    p->part->error_id = p->part->first + k;
    p->part->error_byte = at - p->origin;
    return false;
}

const struct ct_json_value *ct_call_tool(const struct ct_json_value *tools, struct ct_str name)
{
    CT_JSON_EACH(tool, tools)
    {
        const struct ct_json_value *function = ct_chat_function(tool);
        if (ct_str_same(ct_json_str(ct_json_get(function, "name")), name))
            return function;
    }
    return NULL;
}

carat_part *ct_call_part(struct call_parser *p, carat_calls *out)
{
    if (!ct_array_grow(&out->part, &p->part_capacity, (size_t)out->n + 1, sizeof *out->part)) {
        p->text.failed = true;
        return NULL;
    }
    return &out->part[out->n++];
}
