/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: `carat convert`: writes a model into another file or directory. The library writes. */
#include "convert/write_model.h"
#include "model/engine.h"
#include "model/model.h"
#include "term/exit.h"
#include "term/interrupt.h"

int verb_convert(const struct options *o)
{
    carat_convert_options how;
    carat_model *model = NULL;

    interrupt_install();
    int code = open_source(&model, o);
    if (code != DONE)
        return code;
    writing_options(&how, o);
    how.threads = o->engine->threads;
    code = write_model(model, o->text, &how, o);
    carat_model_close(model);
    return code;
}
