/* SPDX-License-Identifier: Apache-2.0 */
/* sbs_fields.h: the serialised structs of gemma.cpp files: blobs "config" and "toc". Private to src/file. */
#ifndef CT_SBS_FIELDS_H
#define CT_SBS_FIELDS_H

#include "file/reader.h"
#include "file/sbs.h"

/* One entry of the table of contents. */
struct ct_sbs_entry {
    const char *name;
    uint32_t type, element_bytes, num_elements, rows, cols, stride;
    float scale;
    uint64_t offset; /* of the entry in the file, for messages */
};

/* A cursor over the words of one blob; the first error stays in status. */
struct ct_sbs_cursor {
    const char *path, *blob;
    struct ct_bytes bytes;
    uint64_t offset; /* of the blob in the file */
    size_t at, end;  /* in words; end of the struct that is being read */
    struct ct_arena *arena;
    carat_status status;
    carat_error *err;
};

/* E_FORMAT: the blob is no whole number of words. */
carat_status ct_sbs_cursor_init(struct ct_sbs_cursor *c, const char *path, const char *blob,
                                struct ct_bytes bytes, uint64_t offset, struct ct_arena *arena,
                                carat_error *err);
/* Missing fields at the end keep gemma.cpp's defaults, unknown ones are passed over. Strings and vectors are
 * in the arena. E_FORMAT names blob, field, byte, found and expected; E_MEMORY. */
carat_status ct_sbs_read_config(struct ct_sbs_cursor *c, struct ct_sbs_config *out);
/* The next entry; *more is false at the end of the blob. */
carat_status ct_sbs_read_entry(struct ct_sbs_cursor *c, struct ct_sbs_entry *out, bool *more);

#endif
