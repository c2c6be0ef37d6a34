/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: what was meant by the name of a model that does not exist. */
#ifndef OPTIONS_NAMES_H
#define OPTIONS_NAMES_H

/* When nothing is at the path `model` and it reads like a name or an address, says what to type
 * instead and returns an exit code; else DONE. */
int explain_missing(const char *model);

#endif
