/* SPDX-License-Identifier: Apache-2.0 */
/* logits.h: `carat logits`. */
#ifndef STEPS_LOGITS_H
#define STEPS_LOGITS_H

#include "options/options.h"

int verb_logits(const struct options *o);

#endif
