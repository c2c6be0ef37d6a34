/* store.h: the directory of packed models, from the view of opening one. Private to src/api. */
#ifndef CT_STORE_H
#define CT_STORE_H

#include "api/pack.h"

/* One model's place in the cache. */
struct ct_store {
    const carat_model_options *o;
    char *packed, *part, *stamp; /* paths: the file, what it is called while it is made, and when it was last used */
    bool writable;
    char line[1024]; /* for the log, when the model is open: what became of the cache; "" when nothing did */
    const char *why;      /* there is one that is of no use: what is wrong with it; else NULL */
    struct ct_os_new made; /* claimed: fd >= 0 */
    ct_thread finisher;
    bool finishing;
};

/* False when the options name no cache, or it is none that carat may use. */
bool ct_store_begin(struct ct_store *c, const char *path, const carat_model_options *o);
/* The packed form of what is at path, when it is there and what it should be. */
bool ct_store_find(struct ct_store *c, const char *path, struct ct_file **f);
/* What was found proved bad later. */
void ct_store_reject(struct ct_store *c);
/* Claims the place, so that nobody else makes the file: waits for one who does, which may end with a *f. False: the cache is
 * left out. E_CANCELLED. */
carat_status ct_store_claim(struct ct_store *c, const char *path, struct ct_file **f, bool *claimed, carat_error *err);
/* Packs the model into the claimed place and opens what was made. E_CANCELLED; *f stays NULL when the cache is left out, with a
 * line in the log. */
carat_status ct_store_keep(struct ct_store *c, const struct carat_model *m, const char *path, struct ct_file **f,
                            carat_error *err);
/* Gives the line to the log. */
void ct_store_say(struct ct_store *c);
/* Ends what is under way: waits until a file that was made is on the disk. */
void ct_store_end(struct ct_store *c);

#endif
