/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c: `carat pack`: writes the packed form of a model, to a file or into the cache. The library packs. */
#include <string.h>

#include "carat.h"
#include "carat_tools.h"
#include "model/model.h"
#include "write/write_model.h"
#include "options/options.h"
#include "show/show_options.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"

static int pack_to(const carat_model *model, const struct options *o)
{
    struct progress bar;
    carat_error err;

    progress_begin(&bar, "packing", "MB");
    bar.scale = KIB_IN_MB;
    carat_status status = carat_model_pack(model, o->show->out, progress_update, &bar, &err);
    progress_end(&bar);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* Opening with the cache packs; what is left is to say that it is so. */
static int pack_cached(const carat_model *model)
{
    carat_load_times times;
    carat_error err;

    carat_load_times_default(&times);
    if (carat_model_get_load_times(model, &times, &err) != CARAT_OK)
        return fail_status(&err);
    if (!times.packed)
        return term_fail(FAILED, "the model is not in the cache");
    if (!times.made)
        term_note("the model is in the cache already, or a packed file itself");
    return DONE;
}

int verb_pack(const struct options *o)
{
    carat_model *model = NULL;
    int code;

    if (strcmp(o->model, "tiny") == 0 && !o->show->out)
        return term_fail(USAGE,
                         "pack: the model inside the command needs no cache; with -o it can be written");
    if (o->show->out && strcmp(o->show->out, "-") == 0)
        return term_fail(USAGE, "pack: a packed file cannot be written to standard output");
    if (!o->show->out && o->open->no_cache)
        return term_fail(USAGE, "pack: with --no-cache it needs -o FILE");
    if (!o->show->out && o->open->tokenizer)
        return term_fail(USAGE, "pack: with --tokenizer it needs -o FILE");
    interrupt_install();
    code = o->show->out ? open_model(&model, o, false) : open_either(&model, o);
    if (code == DONE && o->show->out)
        code = write_over(model, o->show->out, o);
    if (code == DONE)
        code = o->show->out ? pack_to(model, o) : pack_cached(model);
    carat_model_close(model);
    return code;
}
