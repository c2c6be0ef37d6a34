/* SPDX-License-Identifier: Apache-2.0 */
/* converting.c: see converting.h. */
#include "prompt/converting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/engine.h"
#include "write/writing.h"
#include "prompt/ranges.h"
#include "term/exit.h"
#include "term/message.h"

#define MOST_F16 65504.0f

/* "4,8" as CoreML's users write it, as words of a recipe behind those of `words`. */
static int add_palette(char *words, size_t size, const char *option, const char *text, const char *who)
{
    static const char digits[] = "0123456789";
    const bool says = *text && text[1] == ',';
    const size_t n = strlen(words), of_rows = says ? strspn(text + 2, digits) : 0;
    const char bits = *text;
    const int rows = says ? atoi(text + 2) : 8;

    if (strcmp(text, "none") == 0)
        return DONE;
    if (!bits || !strchr("23468", bits) || text[says ? 2 + of_rows : 1] ||
        (says && (of_rows < 1 || of_rows > 6)))
        return term_fail(USAGE,
                         "%s: '%s' is not BITS,ROWS: 2, 3, 4, 6 or 8 bits, and rows from 0 on; or none",
                         option, text);
    if (rows > 0)
        snprintf(words + n, size - n, "%s%s=lut%cg%d", n ? "," : "", who, bits, rows);
    else
        snprintf(words + n, size - n, "%s%s=lut%c", n ? "," : "", who, bits);
    return DONE;
}

/* The recipe, and what --lut1 to --lut3 add to it. */
static int read_recipe(const struct writing_options *w, char *words, size_t size)
{
    static const char *const option[] = {"--lut1", "--lut2", "--lut3"}, *const who[] = {"embed", "blk.*",
                                                                                        "head"};
    int code = DONE;

    snprintf(words, size, "%s", w->recipe ? w->recipe : "");
    for (int i = 0; i < 3 && code == DONE; i++)
        if (w->lut[i])
            code = add_palette(words, size, option[i], w->lut[i], who[i]);
    return code;
}

/* Measures the scale that the model itself asks for; it may be that nothing has to change. */
static int measure_scale(float *scale, const carat_model *model, carat_convert_options how,
                         const struct options *o)
{
    struct ranges r = {.n = 0};
    struct peak peak;
    char text[PEAK_TEXT];
    carat_error err;

    how.residual_scale = 0.5f; /* is it possible at all? */
    how.dry_run = 1;
    if (carat_convert(model, NULL, &how, &err) != CARAT_OK)
        return fail_status(&err);
    const int code = ranges_measure(&r, model, o);
    if (code == DONE) {
        *scale = carat_ranges_scale(r.ranges);
        ranges_peak(&peak, &r, true);
        term_note("residual scale %g: over %d ids the residual stream is at most %g, by %s at id %d",
                  (double)*scale, r.n, (double)peak.peak, peak_text(text, &peak), peak.position);
        ranges_peak(&peak, &r, false);
        if (peak.peak > MOST_F16)
            term_note("no residual scale changes %s: %g, more than f16 holds", peak_text(text, &peak),
                      (double)peak.peak);
    }
    ranges_end(&r);
    return code;
}

/* --residual-scale: a number or auto. */
int convert_scale(float *scale, const carat_model *model, const carat_convert_options *how,
                  const struct options *o)
{
    const char *text = o->writing->residual;
    char *end;
    const double x = strtod(text, &end);

    if (strcmp(text, "auto") == 0)
        return model ? measure_scale(scale, model, *how, o) : DONE;
    if (end == text || *end || !(x >= 0x1p-20 && x <= 0x1p20))
        return term_fail(USAGE, "option --residual-scale: '%.40s' is not a number from %g to %g, or auto",
                         text, 0x1p-20, 0x1p20);
    *scale = (float)x;
    return DONE;
}

int convert_options(carat_convert_options *how, char **recipe, const struct options *o)
{
    const struct writing_options *w = o->writing;
    const size_t size = (w->recipe ? strlen(w->recipe) : 0) + 128;

    writing_options(how, o);
    *recipe = malloc(size);
    if (!*recipe)
        return fail_memory();
    TRY(read_recipe(w, *recipe, size));
    how->recipe = w->recipe || **recipe ? *recipe : NULL;
    how->expand = w->expand;
    how->tied = w->tied;
    how->metadata_only = w->metadata_only;
    how->qmax = w->qmax;
    how->clip_percentile = w->clip;
    how->threads = o->engine->threads;
    TRY(convert_scale(&how->residual_scale, NULL, how, o));
    return w->tied && !options_given(o, &w->residual)
               ? term_fail(USAGE, "--tied belongs to --residual-scale, which is not given")
               : DONE;
}
