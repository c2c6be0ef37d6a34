/* SPDX-License-Identifier: Apache-2.0 */
/* find_model.c: see find_model.h. Where things lie is located.c's, fetching them fetcher.c's. */
#include "model/find_model.h"

#include <string.h>

#include "model/fetcher.h"
#include "model/located.h"
#include "options/table.h"
#include "term/interrupt.h"
#include "term/message.h"

/* 40 digits of a commit; it never moves. */
static bool is_commit(const char *revision)
{
    return strlen(revision) == 40 && strspn(revision, "0123456789abcdef") == 40;
}

static bool is_wanted(const carat_location *at, const struct fetch_options *how)
{
    return at->repository && (!at->path || (how->refresh && !is_commit(at->revision)));
}

int find_model(carat_location *at, const char *typed, const struct options *o)
{
    if (!verb_belongs(FETCHES, o->verb))
        return locate_model(at, typed);
    int code = look_for_model(at, typed);

    TRY(code);
    if (!is_wanted(at, o->fetch)) {
        if (at->path && !at->word)
            return DONE;
        carat_location_free(at);
        return locate_model(at, typed); /* it says what is wrong with the name */
    }
    if (!at->path && forbids_fetching(o->fetch->offline)) {
        code = explain_missing(at, typed, forbids_fetching(o->fetch->offline));
        carat_location_free(at);
        return code;
    }
    interrupt_install();
    code = fetch_model(at, o->fetch);
    carat_location_free(at);
    if (code == INTERRUPTED)
        note("what has come is kept: the same command goes on with it");
    TRY(code);
    return locate_model(at, typed);
}
