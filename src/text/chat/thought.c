/* SPDX-License-Identifier: Apache-2.0 */
/* thought.c: see thought.h. */
#include "text/chat/thought.h"

#include <stdlib.h>

#include "base/array.h"
#include "text/tokenizer/detokenizer.h"

static const char name[] = CT_CHANNEL_NAME;
enum { NAME = sizeof name - 1 };

const struct ct_thought ct_thought_text_under_way = {.inside = true, .named = NAME};

/* ---- by ids ---- */

struct ct_thought_marks ct_thought_marks(const struct ct_tokenizer *t)
{
    struct ct_thought_marks m = {t, -1, -1};
    if (!t)
        return m;
    m.begin = ct_tokenizer_control(t, CT_CONTROL_CHANNEL);
    m.end = ct_tokenizer_control(t, CT_CONTROL_CHANNEL_END);
    return m;
}

void ct_thought_follow(const struct ct_thought_marks *m, struct ct_thought *at, int32_t id)
{
    if (id < 0 || m->begin < 0 || m->end < 0)
        return;
    if (id == m->begin || id == m->end) {
        *at = (struct ct_thought){.inside = id == m->begin};
        return;
    }
    if (!at->inside)
        return;
    struct ct_str piece = ct_tokenizer_piece(m->t, id);
    int left = NAME - at->named;
    if (left && piece.n <= (size_t)left && memcmp(piece.s, name + at->named, piece.n) == 0) {
        at->named += (int)piece.n;
        return;
    }
    at->named = NAME;
    at->ids++;
}

struct ct_thought ct_thought_after(const struct ct_thought_marks *m, const int32_t *ids, int n)
{
    struct ct_thought at = {0};
    int from = n;
    while (from > 0 && ids[from - 1] != m->begin && ids[from - 1] != m->end)
        from--;
    for (int i = from > 0 ? from - 1 : n; i < n; i++)
        ct_thought_follow(m, &at, ids[i]);
    return at;
}

bool ct_thought_reached(const struct ct_thought *at, int ids)
{
    return at->inside && at->named == NAME && at->ids >= ids;
}

int ct_thought_turn(const struct ct_thought_marks *m, const int32_t *ids, int n)
{
    int at = n - 1;
    if (n == 0 || m->begin < 0 || ids[at] != m->end)
        return n;
    while (at > 0 && ids[at] != m->begin && n - at < NAME + 2)
        at--;
    struct ct_thought inside = ct_thought_after(m, ids, n - 1);
    return ids[at] == m->begin && inside.inside && inside.ids == 0 ? at : n;
}

/* ---- text ---- */

void ct_thought_text_begin(struct ct_thought_text *x, const struct ct_thought *at)
{
    *x = (struct ct_thought_text){.named = at->named};
}

size_t ct_thought_text_push(struct ct_thought_text *x, const char *text, size_t n, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (x->named < NAME) {
            if (text[i] == name[x->named]) {
                x->named++;
                continue;
            }
            memcpy(out, name, (size_t)x->named); /* it is text after all */
            used = (size_t)x->named;
            x->named = NAME;
        }
        if (x->line_break)
            out[used++] = '\n';
        x->line_break = text[i] == '\n';
        if (!x->line_break)
            out[used++] = text[i];
    }
    return used;
}

/* ---- whole lists ---- */

struct text {
    char *s;
    size_t n, capacity;
};

static carat_status add_text(struct text *all, const char *s, size_t n, carat_error *err)
{
    if (!ct_array_grow(&all->s, &all->capacity, all->n + n + 1, 1))
        return ct_no_memory(err, "the thoughts of an answer");
    memcpy(all->s + all->n, s, n);
    all->n += n;
    all->s[all->n] = 0;
    return CARAT_OK;
}

/* What an id within a thought adds to its text; id -1: what it has left of a character. */
static carat_status add_id(struct text *all, struct ct_detokenizer *d, struct ct_thought_text *x, size_t own,
                           int32_t id, carat_error *err)
{
    char piece[CT_STREAM_MAX], text[CT_STREAM_MAX + CT_THOUGHT_HELD];
    size_t n = ct_detokenizer_push(d, id, piece, sizeof piece);
    n = ct_thought_text_push(x, piece, n, text);
    if (n && own && all->n == own) /* another thought */
        CT_TRY(add_text(all, "\n\n", 2, err));
    return add_text(all, text, n, err);
}

static carat_status split(const struct ct_tokenizer *t, const int32_t *ids, int n, bool inside,
                          carat_tokens *answer, struct text *all, carat_error *err)
{
    struct ct_thought_marks m = ct_thought_marks(t);
    struct ct_thought at = inside && m.begin >= 0 ? ct_thought_text_under_way : (struct ct_thought){0};
    struct ct_thought_text x;
    struct ct_detokenizer d;
    size_t own = 0; /* of the thoughts before */
    ct_thought_text_begin(&x, &at);
    ct_detokenizer_init(&d, t, 0);
    CT_TRY(add_text(all, "", 0, err));
    for (int i = 0; i < n; i++) {
        bool was = at.inside, mark = ids[i] == m.begin || ids[i] == m.end;
        if (was)
            CT_TRY(add_id(all, &d, &x, own, mark ? -1 : ids[i], err));
        else if (!mark)
            CT_TRY(ct_tokens_push(answer, ids[i], err));
        ct_thought_follow(&m, &at, ids[i]);
        if (mark) {
            own = all->n;
            ct_thought_text_begin(&x, &at);
        }
    }
    return at.inside ? add_id(all, &d, &x, own, -1, err) : CARAT_OK;
}

carat_status ct_thoughts_split(const struct ct_tokenizer *t, const int32_t *ids, int n, bool inside,
                               carat_tokens *answer, char **text, size_t *n_text, carat_error *err)
{
    struct text all = {0};
    int had = answer->n;
    carat_status status = split(t, ids, n, inside, answer, &all, err);
    if (status != CARAT_OK) {
        answer->n = had;
        free(all.s);
        return status;
    }
    if (n_text)
        *n_text = all.n;
    if (text)
        *text = all.s;
    else
        free(all.s);
    return CARAT_OK;
}
