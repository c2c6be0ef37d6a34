/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: `carat convert`: writes a model into another file or directory. The library writes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/write_model.h"
#include "model/engine.h"
#include "model/model.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"

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
        return fail(USAGE, "%s: '%s' is not BITS,ROWS: 2, 3, 4, 6 or 8 bits, and rows from 0 on; or none",
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

int verb_convert(const struct options *o)
{
    carat_convert_options how;
    carat_model *model = NULL;
    const struct writing_options *w = o->writing;
    const size_t size = (w->recipe ? strlen(w->recipe) : 0) + 128;
    char *recipe = malloc(size);

    if (!recipe)
        return fail_memory();
    int code = read_recipe(w, recipe, size);
    interrupt_install();
    if (code == DONE)
        code = open_source(&model, o);
    writing_options(&how, o);
    how.recipe = w->recipe || *recipe ? recipe : NULL;
    how.expand = w->expand;
    how.residual_scale = (float)w->residual;
    how.qmax = w->qmax;
    how.clip_percentile = w->clip;
    how.threads = o->engine->threads;
    if (code == DONE)
        code = write_model(model, o->text, &how, o);
    carat_model_close(model);
    free(recipe);
    return code;
}
