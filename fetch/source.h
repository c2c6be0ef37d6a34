/* SPDX-License-Identifier: Apache-2.0 */
/* source.h: where models come from, as a table. A source is one file, fetch/NAME.c, with a `const struct
 * source NAME_source` and a row in source.c; "source": NAME of a plan asks for it ("hub" where none is
 * named). What it does not say is the same for all: the loop over files and tries (download.c), requests
 * (http.c), pages of JSON (page.c), and files that get their names when they are whole (store.c).
 *
 * list:      tells every file with report_file, then what they are pinned to with report_listed. A file's
 *            hash is SHA-256 (64 digits), git's SHA-1 of a blob (40), MD5 (32), or "" where it is not known.
 * address:   where a file of the plan is got from; false: that is too long.
 * question:  the body of JSON that is posted there; false: that is too long. NULL: it is got without.
 * look:      what an answer says of itself, before its first byte is taken: DONE, or refuses. May write
 *            w->hash where it is "", once. NULL: nothing.
 * refuse:    says why an answer is none: missing, gated, private. `what` is for the message.
 * accept:    a header line that the endpoint gets too, or NULL.
 * authorize: the header line that the plan's endpoint alone gets. NULL: "Authorization: Bearer TOKEN".
 * search:    tells of models that plan->query finds, with report_found. NULL: as the hub does (search.h).
 * get:       does the whole of "get" in another way (archive.h). NULL: download.c.
 * layout:    where files lie (layout.h), unless the plan's "out" names a folder: then at their own names. */
#ifndef FETCH_SOURCE_H
#define FETCH_SOURCE_H

#include "http.h"
#include "plan.h"

struct source {
    const char *name;
    int (*list)(struct http *h, const struct plan *plan);
    bool (*address)(char *url, size_t capacity, const struct plan *plan, const struct wanted *w);
    bool (*question)(char *body, size_t capacity, const struct plan *plan, const struct wanted *w);
    int (*look)(const struct plan *plan, struct wanted *w, const struct http_reply *reply);
    int (*refuse)(const struct plan *plan, const struct http_reply *reply, const char *what);
    bool (*authorize)(char *line, size_t capacity, const struct plan *plan);
    int (*search)(struct http *h, const struct plan *plan);
    int (*get)(struct http *h, struct plan *plan);
    const char *accept;
    const struct layout *layout;
};

/* A hub as huggingface.co; one file at the plan's endpoint, an address of its own. */
extern const struct source hub_source, plain_source;
/* Models of ollama's registry. repository: OWNER/MODEL; revision: a tag. */
extern const struct source ollama_source;
/* Models of Kaggle. repository: OWNER/MODEL/FRAMEWORK/VARIATION; revision: a version, or "" for the
 * newest. */
extern const struct source kaggle_source;

/* NULL: there is none. */
const struct source *source_named(const char *name);

#endif
