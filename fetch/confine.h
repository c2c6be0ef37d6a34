/* SPDX-License-Identifier: Apache-2.0 */
/* confine.h: what this program cannot do any more, once its plan is read. */
#ifndef FETCH_CONFINE_H
#define FETCH_CONFINE_H

#include "plan.h"

/* Before the token is read: no core has it, and no other process of the user looks into this one. */
void confine_memory(void);
/* Writes, makes, removes and renames nothing but below the directories of the plan, where the system has
 * Landlock; the folder of the model may be a link to elsewhere. Before there are threads. */
void confine_files(const struct plan *plan);

#endif
