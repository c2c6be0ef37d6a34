/* SPDX-License-Identifier: Apache-2.0 */
/* explain_cached.c: how much of a prompt is kept from others, where it leaves the nearest of them, and why as
 * far as texts tell. */
#include <stdlib.h>

#include "base/base.h"
#include "explain.h"
#include "json_write.h"
#include "slots.h"
#include "scores.h"
#include "state.h"
#include "text.h"

enum { SHOWN = 32 }; /* ids of either side, and before both */

struct explained {
    carat_prefix prefix;
    int32_t next[SHOWN]; /* [prefix.n_next] how the nearest goes on */
    bool known;
};

bool explained_begin(struct request *request)
{
    return (request->explained = calloc(1, sizeof *request->explained)) != NULL;
}

void explain_look_up(struct job *job)
{
    struct server *s = job->server;
    struct explained *x = job->request->explained;

    carat_prefix_default(&x->prefix);
    x->known = slot_find(s->options->engine, &job->request->prompt, &x->prefix, x->next, SHOWN) == CARAT_OK;
    if (job_queue_put(&s->to_prepare, job))
        return;
    atomic_fetch_sub(&s->waiting, 1); /* nobody prepares any more */
    job_end(job);
}

/* ---- why ---- */

/* The parts of a prompt around the place where it leaves another one. */
struct parting {
    char *before, *prompt, *cached; /* for carat_free */
};

/* Whether a word is one of a date or a time, or has a number in it. */
static bool varies(struct text word)
{
    static const char names[] = "mon tue wed thu fri sat sun jan feb mar apr may jun jul aug sep oct nov dec";
    bool named = false;

    for (size_t i = 0; i < word.n; i++)
        if (text_is_digit(word.s[i]))
            return true;
    for (const char *at = names; word.n >= 3 && *at && !named; at += at[3] ? 4 : 3)
        named = text_same((struct text){word.s, 3}, (struct text){at, 3});
    return named;
}

/* What stands from the last line break before a place on to the next one behind it. */
static void put_line(struct buffer *line, const char *before, const char *behind)
{
    const char *last = strrchr(before, '\n');

    buffer_text(line, last ? last + 1 : before);
    buffer_put(line, behind, strcspn(behind, "\n"));
}

/* Whether two lines are the same but for words that vary. */
static bool vary_alike(const struct parting *p)
{
    struct buffer lines[2] = {{0}};
    struct text rest[2];
    bool alike = true, varied = false;

    put_line(&lines[0], p->before, p->prompt);
    put_line(&lines[1], p->before, p->cached);
    for (int i = 0; i < 2; i++)
        rest[i] = (struct text){lines[i].data, lines[i].n};
    while (rest[0].n && rest[1].n && alike) {
        struct text word[2] = {rest[0], rest[1]};
        for (int i = 0; i < 2; i++)
            rest[i] = text_split(&word[i], ' ');
        const bool same = word[0].n == word[1].n && memcmp(word[0].s, word[1].s, word[0].n) == 0;
        alike = same || (varies(word[0]) && varies(word[1]));
        varied = varied || !same;
    }
    buffer_free(&lines[0]);
    buffer_free(&lines[1]);
    return alike && varied;
}

/* Whether two texts begin alike but for white space. */
static bool differ_in_space(const char *a, const char *b)
{
    static const char space[] = " \n\t\r";
    const size_t in_a = strspn(a, space), in_b = strspn(b, space);

    return (in_a != in_b || memcmp(a, b, in_a) != 0) && a[in_a] && a[in_a] == b[in_b];
}

static const char *cause(const carat_prefix *p, const struct request *request, const struct parting *parting)
{
    if (request_waits_for_scores(request))
        return "how likely a prompt is takes all of it to be evaluated";
    if (p->common == 0)
        return "nothing of this prompt is kept";
    if (p->common == request->prompt.n)
        return "all of this prompt is kept; its last token is evaluated for what follows";
    if (p->n_next == 0)
        return "the prompt goes on where what is kept ends";
    if (vary_alike(parting))
        return "a date, a time or a number in this line changes; what comes behind it is evaluated each time";
    if (differ_in_space(parting->prompt, parting->cached))
        return "white space differs";
    return "the texts differ";
}

/* ---- what is told ---- */

static char *text_of(const carat_model *model, const int32_t *ids, int n)
{
    char *text = NULL;
    size_t bytes;

    return carat_detokenize(model, ids, n, CARAT_SPECIAL, &text, &bytes, NULL) == CARAT_OK ? text : NULL;
}

/* The index of the message as it was sent in which an id stands; -1: in none of them. */
static int message_of(const struct request *request, int at)
{
    int i = 0;

    while (i < request->begins.n && request->begins.ids[i] <= at)
        i++;
    return i > 0 && request->said.sent.n >= (size_t)i * sizeof(int)
               ? ((const int *)(const void *)request->said.sent.data)[i - 1]
               : -1;
}

void explain_put_cached(struct buffer *out, struct server *s, const struct request *request)
{
    const struct explained *x = request->explained;
    const carat_prefix *p = &x->prefix;
    const carat_model *model = s->options->model;
    const int from = CT_MAX(p->common - SHOWN, 0), behind = CT_MIN(request->prompt.n - p->common, SHOWN);
    const int message = message_of(request, p->common);
    const bool parts = p->common > 0 && p->common < request->prompt.n;
    const struct parting t = {text_of(model, request->prompt.ids + from, p->common - from),
                              text_of(model, request->prompt.ids + p->common, behind),
                              text_of(model, x->next, p->n_next)};

    if (!x->known || !t.before || !t.prompt || !t.cached)
        json_put(out, ",'cached':null");
    else {
        json_put(out, ",'cached':{'tokens':%d,'in_common':%d,'cause':%s,'left':", explain_reused(request),
                 p->common, cause(p, request, &t));
        if (parts) {
            json_put(out, "{'token':%d,'message':", p->common);
            json_put(out, message < 0 ? "null" : "%d", message);
            json_put(out, ",'before':%s,'prompt':%s,'cached':%s}", t.before, t.prompt, t.cached);
        } else
            buffer_text(out, "null");
        buffer_text(out, "}");
    }
    carat_free(t.before);
    carat_free(t.prompt);
    carat_free(t.cached);
}

int explain_reused(const struct request *request)
{
    return request_waits_for_scores(request) ? 0 : request->explained->prefix.reused;
}
