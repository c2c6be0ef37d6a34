/* SPDX-License-Identifier: Apache-2.0 */
/* keep_made.h: a packed copy once more, with what engines made. Private to src/checkpoint. */
#ifndef CT_KEEP_MADE_H
#define CT_KEEP_MADE_H

#include "checkpoint/checkpoint.h"
#include "file/packed.h"
#include "os/new_file.h"

struct ct_keeping;

/* Decides where everything of the packed file f and made[n] will lie; what f has of these names is left out. All
 * is borrowed until ct_keep_end. E_MEMORY, E_UNSUPPORTED (too many). */
carat_status ct_keep_begin(struct ct_keeping **k, const struct ct_file *f, const struct ct_made *made, int n,
                           carat_error *err);
/* Bytes of the file. */
size_t ct_keep_size(const struct ct_keeping *k);
/* Takes the room and fills it; the file is still to be finished or abandoned. E_FORMAT: f is damaged; E_IO,
 * E_MEMORY, E_CANCELLED. */
carat_status ct_keep_write(struct ct_keeping *k, struct ct_os_new *file, const struct ct_listening *l,
                           carat_error *err);
void ct_keep_end(struct ct_keeping *k); /* NULL is fine */

#endif
