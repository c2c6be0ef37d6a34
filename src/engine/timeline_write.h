/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_write.h: timelines in files (file/timeline.h), to and from sessions that are claimed. */
#ifndef CT_TIMELINE_WRITE_H
#define CT_TIMELINE_WRITE_H

#include "engine/engine.h"
#include "file/timeline.h"

/* What a layer has in a file: all rows of K, then those of V, of positions from `lowest` on. */
struct ct_timeline_layer {
    const struct ct_kv *kv;
    int lowest;
    size_t row, half, bytes; /* of a position, of K, of both; 0: it keeps none of its own */
};
struct ct_timeline_layer ct_timeline_layer(const carat_engine *e, int i, int n);

/* What carat_generate.h says of carat_save, and of carat_load for a file that lies in bytes. */
carat_status ct_timeline_write(carat_session *s, const char *path, const void *note, size_t n_note,
                               carat_error *err);
carat_status ct_timeline_bind(carat_session *s, const char *path, struct ct_bytes bytes, char **note,
                              size_t *n_note, carat_error *err);

#endif
