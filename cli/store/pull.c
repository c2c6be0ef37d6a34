/* SPDX-License-Identifier: Apache-2.0 */
/* pull.c: `carat pull`: brings models into the hub's cache, and says where they lie. */
#include <string.h>

#include "model/fetcher.h"
#include "model/located.h"
#include "options/options.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/output.h"

static int pull_one(const char *typed)
{
    carat_location at;

    if (strcmp(typed, "tiny") == 0) {
        note("tiny is inside this command");
        return DONE;
    }
    TRY(look_for_model(&at, typed));
    int code =
        at.repository ? DONE : fail(USAGE, "pull: %.200s is no name of a repository or of the family", typed);
    if (code == DONE && !at.path) {
        code = fetch_model(&at);
        carat_location_free(&at);
        if (code == DONE)
            code = locate_model(&at, typed);
        if (code != DONE)
            return code;
    }
    if (code == DONE)
        out_print("%s\n", at.path);
    carat_location_free(&at);
    return code;
}

int verb_pull(const struct options *o)
{
    interrupt_install();
    TRY(pull_one(o->model));
    if (o->text)
        TRY(pull_one(o->text));
    for (int i = 0; i < o->more.n; i++)
        TRY(pull_one(o->more.text[i]));
    return DONE;
}
