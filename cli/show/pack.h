/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h: `carat pack`. */
#ifndef SHOW_PACK_H
#define SHOW_PACK_H

#include "options/options.h"

int verb_pack(const struct options *o);

#endif
