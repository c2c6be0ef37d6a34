/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c: see ranges.h. */
#include "prompt/ranges.h"

#include <stdio.h>
#include <string.h>

#include "model/engine.h"
#include "prompt/prompt.h"
#include "term/message.h"

enum { MOST_WINDOW = 2048 };

/* Prose, numbers, code, a list and other scripts. The largest values mostly stand at the first id. */
static const char built_in[] =
    "The lighthouse keeper counted 1,024 ships last winter, and wrote each of them down: name, flag, cargo.\n"
    "\"Why do you write?\" asked the boy. \"Nobody reads it.\" - \"So that they were here,\" he said.\n\n"
    "def area(radius):\n    return 3.14159 * radius ** 2  # in square metres\n\n"
    "1. Heat the oven to 200 \xc2\xb0"
    "C.\n2. Mix 250 g of flour with two eggs and a pinch of salt.\n\n"
    "Die Stra\xc3\x9f"
    "e ist nass, weil es geregnet hat. \xc2\xbf"
    "D\xc3\xb3nde est\xc3\xa1 la biblioteca? "
    "\xe5\x8c\x97\xe4\xba\xac\xe6\x98\xaf\xe9\xa6\x96\xe9\x83\xbd\xe3\x80\x82 "
    "{\"id\": 7, \"tags\": [\"red\", \"blue\"], \"price\": 19.99}\n";

int ranges_measure(struct ranges *r, const carat_model *model, const struct options *o)
{
    struct windows *w = &r->windows;
    carat_tokens ids = {0};
    carat_engine_options options;
    carat_error err;
    int code = o->prompt->file
                   ? windows_read(model, o, o->prompt->file, &ids)
                   : windows_tokenize(model, built_in, sizeof built_in - 1, "the built-in text", &ids);

    engine_options(&options, o);
    const int context = ids.n < MOST_WINDOW ? ids.n : MOST_WINDOW;
    if (code == DONE) {
        w->total = windows_count(&ids, context, false);
        code = windows_begin(w, model, &options, context);
    }
    if (code == DONE && carat_ranges_begin(&r->ranges, w->engine, &err) != CARAT_OK)
        code = fail_status(&err);
    progress_begin(&w->bar, "measuring", "tok");
    if (code == DONE)
        code = windows_evaluate(w, &ids, context, false);
    progress_end(&w->bar);
    r->n = (int)w->before;
    carat_tokens_free(&ids);
    return code;
}

void ranges_end(struct ranges *r)
{
    carat_ranges_end(r->ranges);
    carat_session_close(r->windows.session);
    carat_engine_close(r->windows.engine);
}

struct search {
    struct peak *p;
    bool residual;
};

static void compare_peak(void *user, const carat_range *range)
{
    const struct search *s = user;
    struct peak *p = s->p;

    if ((range->residual != 0) != s->residual || range->peak <= p->peak)
        return;
    snprintf(p->operation, sizeof p->operation, "%s", range->operation);
    snprintf(p->weight, sizeof p->weight, "%s", range->weight);
    p->layer = range->layer;
    p->position = range->position;
    p->peak = range->peak;
}

void ranges_peak(struct peak *p, const struct ranges *r, bool residual)
{
    struct search search = {p, residual};

    *p = (struct peak){.layer = -1};
    carat_ranges_visit(r->ranges, compare_peak, &search, NULL);
}

const char *peak_text(char out[PEAK_TEXT], const struct peak *p)
{
    char layer[24] = "";

    if (p->layer >= 0)
        snprintf(layer, sizeof layer, " in layer %d", p->layer);
    snprintf(out, PEAK_TEXT, "%s%s%s%s", p->operation, *p->weight ? " " : "", p->weight, layer);
    return out;
}
