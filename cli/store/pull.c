/* SPDX-License-Identifier: Apache-2.0 */
/* pull.c: `carat pull`: brings models into the hub's cache, and says where they lie. */
#include <string.h>

#include "model/fetcher.h"
#include "model/located.h"
#include "options/options.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"

/* {"name": ..., "path": ..., "repository": ..., "revision": ..., "commit": ...}, or the path alone. */
static int tell_place(const carat_location *at, const char *typed, bool json)
{
    if (!json) {
        out_print("%s\n", at->path);
        return DONE;
    }
    return out_json(json_pack("{s:o, s:o, s:s, s:s, s:s}", "name", json_text(typed, strlen(typed)), "path",
                              json_text(at->path, strlen(at->path)), "repository", at->repository, "revision",
                              at->revision, "commit", at->commit));
}

static int pull_one(const char *typed, const struct options *o)
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
        if (code == INTERRUPTED)
            note("what has come is kept: carat pull %.200s goes on with it", typed);
        TRY(code);
        TRY(locate_model(&at, typed));
    }
    if (code == DONE)
        code = tell_place(&at, typed, o->json);
    carat_location_free(&at);
    return code;
}

int verb_pull(const struct options *o)
{
    interrupt_install();
    TRY(pull_one(o->model, o));
    if (o->text)
        TRY(pull_one(o->text, o));
    for (int i = 0; i < o->more.n; i++)
        TRY(pull_one(o->more.text[i], o));
    return DONE;
}
