/* SPDX-License-Identifier: Apache-2.0 */
/* pack_model.h: writing a model as a packed file, and checking one. For src/checkpoint and src/check. */
#ifndef CT_PACK_MODEL_H
#define CT_PACK_MODEL_H

#include "checkpoint/checkpoint.h"
#include "os/new_file.h"
#include "os/threads.h"
#include "file/packed.h"

struct ct_pack;

/* Decides where everything will lie; the model is borrowed until ct_pack_end. E_MEMORY, E_IO (the origin
 * cannot be read again). */
carat_status ct_pack_begin(struct ct_pack **pack, const struct carat_model *m, carat_error *err);
/* Bytes of the file. */
size_t ct_pack_size(const struct ct_pack *pack);
/* Takes the room and fills it; the file is still to be finished or abandoned. E_IO, E_MEMORY, E_CANCELLED. */
carat_status ct_pack_write(struct ct_pack *pack, struct ct_os_new *file, const carat_model_options *o,
                           carat_error *err);
/* Reads the whole packed file f, with a thread for each processor. E_FORMAT names the first section that
 * differs from its hash. progress, which may be NULL, counts KiB. E_MEMORY, E_CANCELLED. */
carat_status ct_pack_check(const struct ct_file *f, carat_progress progress, void *user, carat_error *err);
void ct_pack_end(struct ct_pack *pack); /* NULL is fine */

#endif
