/* SPDX-License-Identifier: Apache-2.0 */
/* show_ranges.c: see show_ranges.h. The library measures; here the table is printed, or the JSON. */
#include "show/show_ranges.h"

#include <stdio.h>

#include "prompt/prompt.h"
#include "prompt/ranges.h"
#include "term/out_json.h"
#include "term/output.h"

#define MOST_F16 65504.0

static void print_range(void *user, const carat_range *r)
{
    char layer[16] = "-";

    (void)user;
    if (r->layer >= 0)
        snprintf(layer, sizeof layer, "%d", r->layer);
    out_print("%5s  %-14s %-20s %c %10.6g %6d %6d %9.4g\n", layer, r->operation, r->weight,
              r->residual ? '*' : ' ', (double)r->peak, r->position, r->column,
              r->peak > 0 ? MOST_F16 / (double)r->peak : 0);
}

/* Behind the table: the stream, its scale, and what else F16 cannot hold. */
static void print_scale(const struct ranges *r)
{
    struct peak stream, other;
    char text[PEAK_TEXT];

    ranges_peak(&stream, r, true);
    ranges_peak(&other, r, false);
    if (stream.peak > 0)
        out_print("residual stream: at most %g, by %s at id %d\nresidual scale: %g\n", (double)stream.peak,
                  peak_text(text, &stream), stream.position, (double)carat_ranges_scale(r->ranges));
    if ((double)other.peak > MOST_F16)
        out_print("no residual scale changes %s: %g, more than f16 holds\n", peak_text(text, &other),
                  (double)other.peak);
}

static void add_range(void *user, const carat_range *r)
{
    json_array_append_new(
        user, json_pack("{s:s, s:s, s:o, s:b, s:o, s:i, s:i, s:o}", "operation", r->operation, "weight",
                        r->weight, "layer", r->layer >= 0 ? json_integer(r->layer) : json_null(), "residual",
                        r->residual, "peak", json_number((double)r->peak), "position", r->position, "column",
                        r->column, "room", json_number(MOST_F16 / (double)r->peak)));
}

static int ranges_json(const struct ranges *r)
{
    json_t *list = json_array();

    carat_ranges_visit(r->ranges, add_range, list, NULL);
    return out_json(json_pack("{s:i, s:f, s:f, s:o}", "ids", r->n, "limit", MOST_F16, "residual_scale",
                              (double)carat_ranges_scale(r->ranges), "ranges", list));
}

int show_ranges(const carat_model *model, const struct options *o)
{
    struct ranges r = {.n = 0};
    int code = ranges_measure(&r, model, o);

    if (code == DONE && o->json) {
        code = ranges_json(&r);
    } else if (code == DONE) {
        out_print("largest values over %d ids%s; room: times up to %g,\n"
                  "the largest number of f16; *: a residual scale multiplies it\n",
                  r.n, o->prompt->file ? "" : " of a built-in text", MOST_F16);
        out_print("%5s  %-14s %-20s   %10s %6s %6s %9s\n", "layer", "operation", "weight", "peak", "at id",
                  "column", "room");
        carat_ranges_visit(r.ranges, print_range, NULL, NULL);
        print_scale(&r);
    }
    ranges_end(&r);
    return code;
}
