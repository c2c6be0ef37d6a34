/* SPDX-License-Identifier: Apache-2.0 */
/* render.h: `carat render`. */
#ifndef ASK_RENDER_H
#define ASK_RENDER_H

#include "options/options.h"

int verb_render(const struct options *o);

#endif
