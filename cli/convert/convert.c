/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: `carat convert`: writes a model into another file or directory. The library writes. */
#include <stdlib.h>

#include "write/write_model.h"
#include "model/model.h"
#include "prompt/converting.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"

int verb_convert(const struct options *o)
{
    carat_convert_options how;
    carat_model *model = NULL;
    char *recipe = NULL;
    const struct writing_options *w = o->writing;
    const char *out = o->text ? o->text : w->output;

    if (!out)
        return term_fail(USAGE, "convert needs a model and OUT: carat convert MODEL OUT");
    if (o->text && w->output)
        return term_fail(USAGE, "convert: OUT is '%.80s' and, by --output, '%.80s'", o->text, w->output);
    if (w->spare || w->spare_check)
        term_note(
            "one file serves every context, batch and prefix, so that --context, --batch, --chunk, --prefix "
            "and "
            "--skip-check change nothing; --lm-tile 16384 of carat run computes the head in parts");
    interrupt_install();
    int code = convert_options(&how, &recipe, o); /* mistakes before a long load */
    if (code == DONE)
        code = open_source(&model, o);
    if (code == DONE && !w->dry_run && !w->metadata_only)
        code = write_over(model, out, o);
    if (code == DONE)
        code = convert_scale(&how.residual_scale, model, &how, o);
    if (code == DONE)
        code = write_model(model, out, &how, o, true);
    carat_model_close(model);
    free(recipe);
    return code;
}
