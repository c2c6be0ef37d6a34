/* SPDX-License-Identifier: Apache-2.0 */
/* packed_cache.h: the directory of packed models, from the view of opening one: packed_cache.c, and of all of them evict.c. Private to
 * src/checkpoint. */
#ifndef CT_PACKED_CACHE_H
#define CT_PACKED_CACHE_H

#include "checkpoint/pack_model.h"
#include "os/files.h"
#include "os/new_file.h"
#include "os/threads.h"

/* What lies in the directory: digits, and one of these endings. */
enum ct_store_part { CT_STORE_WHOLE, CT_STORE_UNFINISHED, CT_STORE_STAMP, CT_STORE_PARTS };
extern const char *const ct_store_suffix[CT_STORE_PARTS];
enum { CT_STORE_DIGITS = 16, CT_STORE_NAME = CT_STORE_DIGITS + sizeof ".carat" };

/* One model's place in the cache. */
struct ct_store {
    const carat_model_options *o;
    char *packed, *part, *stamp; /* paths: the file, what it is called while it is made, and when it was last used */
    bool writable;
    bool cancelled; /* while what is there was read to be checked */
    char line[1024]; /* for the log, when the model is open: what became of the cache; "" when nothing did */
    struct ct_os_id seen; /* what was there when it was last looked at; zeroes: nothing */
    uint64_t needs;       /* bytes, when the cap is too small for the model alone; else 0 */
    char full[192];       /* why there is no room, in words */
    const char *why;      /* there is one that is of no use: what is wrong with it; else NULL */
    struct ct_os_new made; /* claimed: fd >= 0 */
    ct_thread finisher, reader;
    bool finishing, reading;
    const struct ct_file *origin; /* that the reader reads ahead */
    _Atomic bool stop;
};

/* False when the options name no cache, or it is none that carat may use. */
bool ct_store_begin(struct ct_store *c, const char *path, const carat_model_options *o);
/* The packed form of what is at path, when it is there and what it should be. */
bool ct_store_find(struct ct_store *c, const char *path, struct ct_file **f);
/* E_CANCELLED: the caller did not want to wait until it was checked. */
carat_status ct_store_go_on(const struct ct_store *c, const char *path, carat_error *err);
/* What was found, or made, proved bad later. */
void ct_store_reject(struct ct_store *c);
/* Claims the place, so that nobody else makes the file: waits for one who does, which may end with a *f. False: the cache is
 * left out. E_CANCELLED. */
carat_status ct_store_claim(struct ct_store *c, const char *path, struct ct_file **f, bool *claimed, carat_error *err);
/* A thread reads the origin ahead, if the place is claimed, since packing reads all of it; and it ends. The file stays open that
 * long. */
void ct_store_read_ahead(struct ct_store *c, const struct ct_file *origin);
void ct_store_read_no_more(struct ct_store *c);
/* Packs the model into the claimed place and opens what was made. E_CANCELLED; *f stays NULL when the cache is left out, with a
 * line in the log. */
carat_status ct_store_keep(struct ct_store *c, const struct carat_model *m, const char *path, struct ct_file **f,
                            carat_error *err);
/* Gives the line to the log. */
void ct_store_say(struct ct_store *c);
/* Ends what is under way: waits until a file that was made is on the disk. */
void ct_store_end(struct ct_store *c);

/* Sees to it that `bytes` more fit under the cap and leave the disk its share: what is of no use leaves, then those used longest
 * ago, these only if that is enough. NULL, or what is too small. */
const char *ct_store_make_room(struct ct_store *c, uint64_t bytes);
/* Whether the model's bytes fit under the cap beside everything else there now: others may have come meanwhile. */
bool ct_store_fits(const struct ct_store *c, uint64_t bytes);

#endif
