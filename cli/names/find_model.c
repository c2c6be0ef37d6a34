/* SPDX-License-Identifier: Apache-2.0 */
/* find_model.c: see find_model.h. Where things lie is located.c's, fetching them fetcher.c's. */
#include "names/find_model.h"

#include <stdio.h>
#include <string.h>

#include "names/fetcher.h"
#include "names/hub_links.h"
#include "names/located.h"
#include "options/table.h"
#include "term/interrupt.h"
#include "term/message.h"

static bool is_wanted(const carat_location *at, const struct fetch_options *how)
{
    if (at->named == CARAT_NAMED_KAGGLE || (at->named == CARAT_NAMED_ADDRESS && at->place))
        return !at->path;
    if (at->named == CARAT_NAMED_OLLAMA)
        return !at->path && at->handle; /* behind the registry's host */
    /* a commit never moves */
    return at->repository && (!at->path || (how->refresh && !is_hub_hash(at->revision, 40)));
}

int settle_fetching(struct options *o)
{
    struct fetch_options *f = options_group(o, GROUP_OF_fetch);
    const char *slash = o->model ? strchr(o->model, '/') : NULL, *part = slash ? strchr(slash, ':') : NULL;

    if (f->token)
        term_note(
            "other users of this machine can see a token among a command's words; HF_TOKEN keeps it from "
            "them");
    if (!f->file)
        return DONE;
    if (!slash || strstr(o->model, "://"))
        return term_fail(USAGE, "%s: --hf-file names a file of OWNER/NAME, and MODEL is %.200s",
                         o->verb->name, o->model);
    if (snprintf(f->with_file, sizeof f->with_file, "%.*s:%s",
                 (int)(part ? part - o->model : (int)strlen(o->model)), o->model,
                 f->file) >= (int)sizeof f->with_file)
        return term_fail(USAGE, "%s: --hf-file is too long", o->verb->name);
    o->model = f->with_file;
    return DONE;
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
        term_note("what has come is kept: the same command goes on with it");
    TRY(code);
    return locate_model(at, typed);
}
