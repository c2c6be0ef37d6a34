/* SPDX-License-Identifier: Apache-2.0 */
/* write_model.c: see write_model.h. The library writes. */
#include "write/write_model.h"

#include <string.h>

#include "carat_tools.h"
#include "io/save.h"
#include "model/model.h"
#include "write/new_tensors.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/progress.h"

struct writing {
    struct progress bar; /* first: the library gives its address to both */
    struct written written;
};

static void add(void *user, const carat_converted *tensor)
{
    written_add(&((struct writing *)user)->written, tensor);
}

static int report(const struct written *w, struct save *file)
{
    json_t *list = written_json(w);

    if (!list)
        return fail_memory();
    const bool written = json_dumpf(list, file->file, JSON_INDENT(1)) == 0 && fputc('\n', file->file) != EOF;
    json_decref(list);
    return written ? save_close(file) : save_failed(file);
}

static int check_report(const carat_model *model, const char *path, struct save *file)
{
    if (strcmp(path, "-") != 0 && carat_model_reads(model, path))
        return term_fail(USAGE, "--report: %s is what the model is read from", path);
    return save_open(file, path);
}

int write_over(const carat_model *model, const char *path, const struct options *o)
{
    if (carat_model_reads(model, path))
        return fail_as(FAILED, CARAT_E_ARGUMENT, "%s is what the model is read from: name another file",
                       path);
    return save_over(path, o->writing->force);
}

/* Finds what the file will consist of, for the line at the end. */
static int look_ahead(const carat_model *model, const char *path, const carat_convert_options *how,
                      struct written *w)
{
    carat_convert_options look = *how;
    carat_error err;

    look.dry_run = 1;
    look.log = NULL;
    look.progress = NULL;
    look.clamped = NULL;
    look.tensor = written_add;
    look.user = w;
    if (carat_convert(model, path, &look, &err) != CARAT_OK)
        return fail_status(&err);
    return w->failed ? fail_memory() : DONE;
}

int write_model(const carat_model *model, const char *path, carat_convert_options *how,
                const struct options *o, bool sums)
{
    const char *report_path = o->writing->report;
    struct writing v = {.written = {0}};
    struct written ahead = {0};
    struct save file = {0};
    carat_load_times times = {.size = sizeof times};
    size_t clamped = 0;
    carat_error err;
    int code = report_path ? check_report(model, report_path, &file) : DONE;

    if (code == DONE && sums && !how->metadata_only)
        code = look_ahead(model, path, how, &ahead);
    if (code != DONE) {
        save_abandon(&file);
        written_free(&ahead);
        return code;
    }
    if (carat_model_get_load_times(model, &times, NULL) == CARAT_OK && times.packed && !o->open->tokenizer)
        term_note("a packed file has no scores of pieces: those written are ranks, which give the same ids");
    progress_begin(&v.bar, "writing", "MB");
    v.bar.scale = KIB_IN_MB;
    how->log = note_line;
    how->progress = progress_update;
    how->user = &v;
    how->clamped = &clamped;
    how->dry_run = o->writing->dry_run;
    how->tensor = report_path || how->dry_run ? add : NULL;
    if (carat_convert(model, path, how, &err) != CARAT_OK)
        code = fail_status(&err);
    progress_end(&v.bar);
    if (clamped)
        term_note("%zu %s saturated to what F16 holds", clamped, clamped == 1 ? "value was" : "values were");
    if (code == DONE && ahead.n)
        written_close(&ahead);
    if (code == DONE && report_path)
        code = report(&v.written, &file);
    if (code == DONE && how->dry_run && o->json)
        code = out_json(written_json(&v.written));
    else if (code == DONE && how->dry_run)
        written_print(&v.written);
    save_abandon(&file);
    written_free(&ahead);
    written_free(&v.written);
    return code;
}
