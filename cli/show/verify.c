/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c: `carat verify`: the library's checks of a model, for people and as JSON. Checks and verdicts are
 * carat_verify's; whether files of the hub's cache are the publisher's, rehash.c's. */
#include <stdio.h>
#include <string.h>

#include "carat.h"
#include "carat_tools.h"
#include "model/engine.h"
#include "names/located.h"
#include "model/model.h"
#include "names/fetch_program.h"
#include "options/options.h"
#include "term/clock.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/progress.h"

struct job {
    const struct options *o;
    struct progress bar;
    json_t *checks;     /* with --json */
    int passed, failed; /* besides the library's */
};

/* A detail may hold names out of a file: no byte of it may move the cursor or forge a line. */
static void print_detail(const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            out_print("\\x%02x", c);
        else
            out_write(text, 1);
    }
}

static int report(void *user, const carat_check *check)
{
    static const char *const text[] = {"-", "FAILED", "ok", "note"};
    static const char *const json[] = {"nothing to check", "failed", "passed", "otherwise"};
    struct job *j = user;

    if (j->o->json) {
        json_array_append_new(j->checks, json_pack("{s:s, s:s, s:o, s:f}", "name", check->name, "verdict",
                                                   json[check->verdict + 1], "detail",
                                                   json_text(check->detail, strlen(check->detail)), "seconds",
                                                   check->seconds));
    } else {
        out_fold(20);
        out_print("%-12s%-8s", check->name, text[check->verdict + 1]);
        print_detail(check->detail);
        out_print("\n");
        out_fold(0);
        if (!out_flush())
            return 1;
    }
    return term_interrupted();
}

static int progress(void *user, size_t done, size_t total)
{
    return progress_update(&((struct job *)user)->bar, done, total);
}

/* Compares the hashes of a model in the hub's cache, before it is opened, since what is damaged may be what
 * opening reads. */
static int compare_hashes(struct job *j)
{
    struct rehashed found = {.files = 0};
    carat_check check = {.size = sizeof check, .name = "publisher", .verdict = 2, .detail = found.text};
    carat_location at;
    const double start = term_seconds();

    if (!is_located(j->o->model))
        return DONE;
    TRY(look_for_model(&at, j->o->model));
    int code = at.path ? names_rehash(&found, at.path) : DONE;
    carat_location_free(&at);
    if (found.files > 0) {
        check.verdict = found.wrong == 0;
        j->passed += check.verdict;
        j->failed += !check.verdict;
    }
    check.seconds = term_seconds() - start;
    if (code == DONE && *found.text && report(j, &check))
        code = term_interrupted() ? INTERRUPTED : FAILED;
    return code;
}

static int verify(struct job *j, const carat_model *model)
{
    carat_verify_options options;
    carat_verify_options_default(&options);
    carat_verdict verdict = {.size = sizeof verdict};
    carat_error err;

    options.threads = j->o->engine->threads;
    options.isa = j->o->engine->isa;
    options.report = report;
    options.progress = progress;
    options.user = j;
    progress_begin(&j->bar, "verifying", NULL);
    carat_status status = carat_verify(model, &options, &verdict, &err);
    progress_end(&j->bar);
    if (status == CARAT_E_CANCELLED && !term_interrupted()) /* the reader of the output has gone */
        return FAILED;
    if (status != CARAT_OK)
        return fail_status(&err);
    int code = verdict.failed + j->failed ? CHECK_FAILED : DONE;
    if (!j->o->json)
        return code;
    int printed = out_json(json_pack("{s:b, s:i, s:i, s:s, s:O}", "ok", code == DONE, "passed",
                                     verdict.passed + j->passed, "failed", verdict.failed + j->failed,
                                     "content", verdict.content, "checks", j->checks));
    return printed == DONE ? code : printed;
}

int verb_verify(const struct options *o)
{
    struct job j = {.o = o};
    carat_model *model = NULL;

    interrupt_install();
    j.checks = o->json ? json_array() : NULL;
    int code = o->json && !j.checks ? fail_memory() : compare_hashes(&j);
    if (code == DONE)
        code = open_model(&model, o, false);
    if (code == DONE)
        code = verify(&j, model);
    json_decref(j.checks);
    carat_model_close(model);
    return code;
}
