/* SPDX-License-Identifier: Apache-2.0 */
/* new_head.c: bytes that are put together before they are written: the growing buffer of write.h. What the
 * bytes mean is the formats' business. */
#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"
#include "file/write.h"

void ct_new_head_put(struct ct_new_head *h, const void *data, size_t n)
{
    size_t need;

    if (h->failed || !ct_add(h->n, n, &need)) {
        h->failed = true;
        return;
    }
    h->failed = !ct_array_grow(&h->data, &h->capacity, need, 1);
    if (h->failed)
        return;
    if (n)
        memcpy(h->data + h->n, data, n);
    h->n = need;
}

void ct_new_head_text(struct ct_new_head *h, const char *format, ...)
{
    char text[1024];

    CT_FORMAT(text, format);
    ct_new_head_put(h, text, strlen(text));
}

void ct_new_head_json(struct ct_new_head *h, struct ct_str s)
{
    ct_new_head_put(h, "\"", 1);
    for (size_t i = 0, n; i < s.n; i += n) {
        const uint8_t c = (uint8_t)s.s[i];
        n = 1;
        while (i + n < s.n && ((uint8_t)s.s[i + n] & 0xc0) == 0x80)
            n++;
        if (c == '"' || c == '\\')
            ct_new_head_text(h, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            ct_new_head_text(h, "\\u%04x", c);
        else if (ct_utf8_valid(s.s + i, n))
            ct_new_head_put(h, s.s + i, n);
        else
            ct_new_head_put(h, "\xef\xbf\xbd", 3);
    }
    ct_new_head_put(h, "\"", 1);
}

void ct_new_head_free(struct ct_new_head *h)
{
    free(h->data);
    *h = (struct ct_new_head){.data = NULL};
}
