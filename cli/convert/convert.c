/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: `carat convert`: writes a model into another file or directory. The library writes. */
#include "carat_convert.h"
#include "convert/writing.h"
#include "model/engine.h"
#include "model/model.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"

int verb_convert(const struct options *o)
{
    carat_convert_options how;
    carat_model *model = NULL;
    struct progress bar;
    carat_error err;

    interrupt_install();
    int code = open_source(&model, o);
    if (code != DONE)
        return code;
    progress_begin(&bar, "writing", "MB");
    bar.scale = KIB_IN_MB;
    carat_convert_options_default(&how);
    how.type = o->writing->type;
    how.recipe = o->writing->recipe;
    how.pure = o->writing->pure;
    how.allow_requantize = o->writing->again;
    how.container = o->writing->to;
    how.shard_bytes = o->writing->shard;
    how.threads = o->engine->threads;
    how.progress = progress_update;
    how.user = &bar;
    carat_status status = carat_convert(model, o->text, &how, &err);
    progress_end(&bar);
    carat_model_close(model);
    return status == CARAT_OK ? DONE : fail_status(&err);
}
