/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h: `carat verify`. */
#ifndef SHOW_VERIFY_H
#define SHOW_VERIFY_H

#include "options/options.h"

int verb_verify(const struct options *o);

#endif
