/* SPDX-License-Identifier: Apache-2.0 */
/* called.c: see called.h. Calls between tokens are known by their ids, wherever they stand; those that are
 * JSON by the text of the whole answer. A call that is sound is told even if no such function was declared:
 * the client knows best. One that is wrong is text, without the tokens around it. One that the answer broke
 * off in is told as far as it came, once its name is whole. */
#include "called.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "state.h"

/* Which ids and which bytes of the text a call has. */
struct span {
    size_t from, until;
    int first, end;
    bool is_told; /* as a call: the text is not told */
};

/* ---- tokens that are spelled ---- */

static const char *const visible[MOST_MARKS] = {
    CARAT_DECLARATION_START, CARAT_DECLARATION_END, CARAT_CALL_START, CARAT_CALL_END,
    CARAT_RESPONSE_START,    CARAT_RESPONSE_END,    CARAT_ESCAPE,
};

void marks_find(const carat_model *model, int32_t marks[MOST_MARKS])
{
    for (int i = 0; i < MOST_MARKS; i++) {
        carat_tokens ids = {0};
        marks[i] = -1;
        if (carat_tokenize(model, visible[i], strlen(visible[i]), CARAT_SPECIAL, &ids, NULL) == CARAT_OK &&
            ids.n == 1)
            marks[i] = ids.ids[0];
        carat_tokens_free(&ids);
    }
}

size_t marks_hide(const struct choice *c, const carat_given *given)
{
    const bool converses = c->job->request->begins.n > 0; /* a text that goes on is told as it is */
    const int32_t *marks = c->job->server->marks;

    for (int i = 0; converses && i < MOST_MARKS; i++) {
        const size_t n = strlen(visible[i]);
        if (marks[i] >= 0 && marks[i] == given->id && given->n_text >= n &&
            memcmp(given->text + given->n_text - n, visible[i], n) == 0)
            return given->n_text - n;
    }
    return given->n_text;
}

int32_t call_start_id(const carat_model *model)
{
    static const char *const starts[] = {CARAT_CALL_START, CARAT_TOOL_CALL_START};
    int32_t found = -1;

    for (size_t i = 0; i < CT_COUNT(starts) && found < 0; i++) {
        carat_tokens ids = {0};
        if (carat_tokenize(model, starts[i], strlen(starts[i]), CARAT_SPECIAL, &ids, NULL) == CARAT_OK &&
            ids.n == 1)
            found = ids.ids[0];
        carat_tokens_free(&ids);
    }
    return found;
}

/* ---- where calls are ---- */

static struct span *spans_of(const struct choice *c, int *n)
{
    *n = (int)(c->spans.n / sizeof(struct span));
    return (struct span *)(void *)c->spans.data;
}

static int count_ids(const struct choice *c)
{
    return (int)(c->ids.n / sizeof(int32_t));
}

void called_follow(const struct request *request, struct choice *c, const carat_given *given, size_t n)
{
    const size_t before = given->n_text - given->n_call; /* text that was held back */
    int n_spans;

    if (given->call && (!c->in_call || given->id == request->call_start)) {
        const size_t from = c->text.n + CT_MIN(before, n);
        const struct span new = {.from = from, .until = from, .first = count_ids(c) - 1};
        buffer_put(&c->spans, &new, sizeof new);
    }
    c->in_call = given->call && !c->spans.failed;
    struct span *spans = spans_of(c, &n_spans);
    if (c->in_call) {
        spans[n_spans - 1].until = c->text.n + n;
        spans[n_spans - 1].end = count_ids(c);
    }
}

int called_under_way(const struct choice *c)
{
    return c->in_call ? (int)(c->spans.n / sizeof(struct span)) - 1 : -1;
}

bool called_told(const struct choice *c, int call)
{
    int n;
    const struct span *spans = spans_of(c, &n);

    return call >= 0 && call < n && spans[call].is_told;
}

/* ---- calls that were cut off ---- */

/* The members of an object that is cut off which are whole, closed; malloc'd. */
static char *whole_members(const char *begun)
{
    const char *s = *begun ? begun : "{";
    char *out = malloc(2 * strlen(s) + 3), open[64];
    size_t n = 0, whole = 1; /* bytes that a value ends behind */
    int depth = 0, whole_depth = 1;
    bool quoted = false;

    if (!out)
        return NULL;
    for (; *s && depth < (int)sizeof open; s++) {
        out[n++] = *s;
        if (quoted && *s == '\\' && s[1]) {
            out[n++] = *++s;
            continue;
        }
        if (quoted) {
            quoted = *s != '"';
            continue;
        }
        quoted = *s == '"';
        if (*s == '{' || *s == '[') {
            open[depth++] = *s == '{' ? '}' : ']';
            whole = n;
            whole_depth = depth;
        } else if (*s == '}' || *s == ']' || *s == ',') {
            depth -= *s != ',' && depth > 0;
            whole = n - (*s == ',');
            whole_depth = depth;
        }
    }
    for (n = whole; whole_depth > 0; whole_depth--)
        out[n++] = open[whole_depth - 1];
    out[n] = 0;
    return out;
}

/* ---- calls that are told ---- */

static bool add_call(struct choice *c, const char *name, const char *arguments, bool is_cut)
{
    struct called *more = realloc(c->calls, (size_t)(c->n_calls + 1) * sizeof *more);
    struct called call = {.is_cut = is_cut};

    if (!more)
        return false;
    c->calls = more;
    call.name = strdup(name);
    call.arguments = strdup(arguments);
    call.object = is_cut ? whole_members(arguments) : strdup(arguments);
    more[c->n_calls] = call;
    if (call.name && call.arguments && call.object) {
        c->n_calls++;
        return true;
    }
    free(call.name);
    free(call.arguments);
    free(call.object);
    return false;
}

void called_free(struct choice *c)
{
    for (int i = 0; i < c->n_calls; i++) {
        free(c->calls[i].name);
        free(c->calls[i].arguments);
        free(c->calls[i].object);
    }
    free(c->calls);
    buffer_free(&c->spans);
}

/* Whether the model did not end its answer itself. */
static bool breaks_off(const struct choice *c)
{
    return c->reason != CARAT_REASON_STOP && c->reason != CARAT_REASON_TOOL_CALLS;
}

/* The stop string that ended the answer, or NULL. */
static const char *stop_of(const struct request *request, const struct choice *c)
{
    return c->reason == CARAT_REASON_STOP_STRING && c->stop >= 0 ? request->stops[c->stop] : NULL;
}

/* A part that is a call becomes one that is told, if it is sound, or was cut off with its name known: then
 * nothing is told of a stop string. One whose arguments are closed lacks only its end: it is whole. */
static bool take_part(const struct request *request, struct choice *c, const carat_part *p, bool is_sound,
                      bool may_be_cut)
{
    if (is_sound)
        return add_call(c, p->name, p->arguments, false);
    if (!may_be_cut || !p->begun || !add_call(c, p->name, p->begun, true))
        return false;
    struct called *call = &c->calls[c->n_calls - 1];
    char *stop = stop_of(request, c) ? strstr(call->arguments, stop_of(request, c)) : NULL;
    if (stop)
        *stop = 0;
    else
        call->is_cut = strcmp(call->object, call->arguments) != 0;
    return true;
}

/* ---- between tokens ---- */

static bool read_span(const carat_model *model, const struct request *request, struct choice *c,
                      const struct span *span, bool may_be_cut)
{
    const int32_t *ids = (const int32_t *)(const void *)c->ids.data;
    carat_calls calls = {.size = sizeof *calls.part};
    bool is_told = false;

    if (carat_parse_calls(model, ids + span->first, span->end - span->first, NULL, &calls, NULL) != CARAT_OK)
        return false;
    if (calls.n > 0 && calls.part->is_call)
        is_told = take_part(request, c, calls.part, !calls.part->error, may_be_cut);
    carat_calls_free(&calls);
    return is_told;
}

/* Of a choice without a text there is no memory to move. */
static void move_text(struct choice *c, size_t to, size_t from, size_t n)
{
    if (n > 0)
        memmove(c->text.data + to, c->text.data + from, n);
}

static void read_spans(const carat_model *model, const struct request *request, struct choice *c)
{
    int n;
    struct span *spans = spans_of(c, &n);
    size_t kept = n > 0 ? spans->from : 0, from = kept;

    for (int i = 0; i < n; i++) {
        const bool under_way = c->in_call && i + 1 == n && breaks_off(c);
        spans[i].is_told = read_span(model, request, c, &spans[i], under_way);
        if (under_way && (!spans[i].is_told || c->calls[c->n_calls - 1].is_cut)) {
            spans[i].is_told = true; /* of a call without a name there is nothing to be told */
            c->is_cut = true;
        }
        if (!spans[i].is_told)
            continue;
        c->ends_with_call = i + 1 == n && c->in_call && !c->is_cut;
        move_text(c, kept, from, spans[i].from - from);
        kept += spans[i].from - from;
        from = spans[i].until;
    }
    if (n == 0)
        return;
    move_text(c, kept, from, c->text.n - from);
    c->text.n = kept + c->text.n - from;
}

/* ---- as JSON ---- */

/* A name that is not declared is one of a function only where there are parameters, too. */
static bool is_sound(const carat_part *declared, const carat_part *any)
{
    return !declared->error || (!any->error && strstr(any->text, "\"parameters\""));
}

/* The text of an answer with calls is that of the parts which are none; a stop string ends it. */
static void keep_text(const struct request *request, struct choice *c, const struct buffer *text)
{
    const char *stop = stop_of(request, c);
    size_t n = text->n;

    for (size_t i = 0; stop && i + strlen(stop) <= n; i++)
        if (memcmp(text->data + i, stop, strlen(stop)) == 0)
            n = i;
    c->text.n = c->told; /* what was told stays as it was */
    if (n > c->told)
        buffer_put(&c->text, text->data + c->told, n - c->told);
}

static void read_json(const carat_model *model, const struct request *request, struct choice *c)
{
    const int32_t *ids = (const int32_t *)(const void *)c->ids.data;
    carat_calls declared = {.size = sizeof *declared.part}, any = declared;
    struct buffer text = {0};

    if (carat_parse_calls(model, ids, count_ids(c), request->tools, &declared, NULL) == CARAT_OK &&
        carat_parse_calls(model, ids, count_ids(c), NULL, &any, NULL) == CARAT_OK) {
        for (int i = 0; i < any.n; i++) {
            const carat_part *p = &any.part[i];
            const bool last = p->is_call && i + 1 == any.n && c->calling == HOLDS_CALLS && breaks_off(c);
            const bool sound = p->is_call && is_sound(&declared.part[i], p);
            const bool is_told = p->is_call && take_part(request, c, p, sound, last);
            const bool is_whole = sound || (is_told && !c->calls[c->n_calls - 1].is_cut);
            c->is_cut |= last && !is_whole;
            c->ends_with_call = is_whole && i + 1 == any.n;
            if (!is_told && !last)
                buffer_put(&text, p->text, p->n_text);
        }
        if (c->n_calls > 0 || c->is_cut)
            keep_text(request, c, &text);
    }
    buffer_free(&text);
    carat_calls_free(&declared);
    carat_calls_free(&any);
}

void called_read(const carat_model *model, const struct request *request, struct choice *c)
{
    if (request->call_start < 0)
        read_json(model, request, c);
    else if (!c->ids.failed && !c->spans.failed)
        read_spans(model, request, c);
    if (c->is_cut)
        c->reason = CARAT_REASON_LENGTH;
}
