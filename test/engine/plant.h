/* SPDX-License-Identifier: Apache-2.0 */
/* plant.h: a bit that an operation of an engine gets wrong, for tests of the command's files, which cannot
 * include headers of the library beside the command's own. */
#ifndef CT_TEST_PLANT_H
#define CT_TEST_PLANT_H

#include <carat.h>

struct plant {
    const char *operation;   /* as carat_operation_hash has it */
    int layer;               /* -1: none */
    int (*asks)(void *user); /* at every event of a pass: whether a bit of this operation is wrong now */
    void *user;
    int done; /* so many were */
};

/* Until the engine is closed; one plant at a time. */
void plant_begin(struct plant *p, carat_engine *e);

#endif
