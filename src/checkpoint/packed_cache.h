/* SPDX-License-Identifier: Apache-2.0 */
/* packed_cache.h: the directory of packed models: one copy in it (packed_cache.c), and all of them (evict.c).
 * Private to src/checkpoint. */
#ifndef CT_PACKED_CACHE_H
#define CT_PACKED_CACHE_H

#include "checkpoint/pack_file.h"
#include "os/files.h"
#include "os/lock.h"
#include "os/threads.h"

/* Files in the directory are named by digits and one of these endings. */
enum ct_cache_part { CT_CACHE_WHOLE, CT_CACHE_UNFINISHED, CT_CACHE_STAMP, CT_CACHE_PARTS };
extern const char *const ct_cache_suffix[CT_CACHE_PARTS];
enum { CT_CACHE_DIGITS = 16, CT_CACHE_NAME = CT_CACHE_DIGITS + sizeof ".carat" };

/* The packed copy of one model. */
struct ct_packed_copy {
    const carat_model_options *o; /* the caller's, and `kept` once the model is open */
    carat_model_options kept;
    struct ct_lock lock; /* around what engines ask for later */
    /* paths: the file, its name while it is made, the file whose time is that of the last use, and where
     * they are */
    char *packed, *part, *stamp, *dir;
    bool writable;
    bool made_dir, unused; /* the directory was not there before; opening failed */
    char line[1024];       /* for the log, when the model is open; "" when there is nothing to say */
    struct ct_os_id seen;  /* the file when it was last looked at; zeroes: there was none */
    uint64_t needs;        /* bytes, when the cap is too small for this model alone; else 0 */
    char full[192];        /* why it does not fit, in words */
    const char *why;       /* the fault of the file that is there, in words; NULL: none */
    struct ct_os_new made; /* claimed: fd >= 0 */
    ct_thread finisher, reader;
    bool finishing, reading;
    const struct ct_file *origin; /* that the reader reads ahead */
    _Atomic bool stop;            /* the reader */
};

/* False when the options name no cache, or one that carat may not use. */
bool ct_cache_begin(struct ct_packed_copy *c, const char *path, const carat_model_options *o);
/* Opens the copy of the model at path. *f stays NULL when there is none that can be used. E_CANCELLED. */
carat_status ct_cache_find(struct ct_packed_copy *c, const char *path, struct ct_file **f, carat_error *err);
/* The copy was found or made, but could not be used: removes it. */
void ct_cache_reject(struct ct_packed_copy *c);
/* Claims the right to make the copy. Waits for another process that makes it, which may end with a *f.
 * *claimed is false when the cache is left out. E_CANCELLED. */
carat_status ct_cache_claim(struct ct_packed_copy *c, const char *path, struct ct_file **f, bool *claimed,
                            carat_error *err);
/* Starts a thread that reads the origin ahead, if the copy is claimed: packing will read all of it. The
 * origin must stay open until ct_cache_stop_reading. */
void ct_cache_read_ahead(struct ct_packed_copy *c, const struct ct_file *origin);
void ct_cache_stop_reading(struct ct_packed_copy *c);
/* Packs the model into the claimed file and opens it. *f stays NULL when there is no room or no memory; the
 * log says so. E_CANCELLED. */
carat_status ct_cache_write(struct ct_packed_copy *c, const struct carat_model *m, const char *path,
                            struct ct_file **f, carat_error *err);
/* Gives the line to the log. */
void ct_cache_log(struct ct_packed_copy *c);
/* The model is open: what the caller passed is not looked at any more. */
void ct_cache_opened(struct ct_packed_copy *c);
/* Waits until a file that was made is on the disk, and frees what c holds. */
void ct_cache_end(struct ct_packed_copy *c);

/* ---- evict.c ---- */

/* Removes copies until `bytes` more fit under the cap and leave the disk its share: useless ones first,
 * then those used longest ago; none if even that would not be enough. Removes the copy of this model, too,
 * unless it stays until the new one has its name. NULL, or what there is too little of. */
const char *ct_cache_evict(struct ct_packed_copy *c, uint64_t bytes, bool stays);
/* True when the copy fits under the cap beside all others there are now: some may have come meanwhile. */
bool ct_cache_fits(const struct ct_packed_copy *c, uint64_t bytes);

#endif
