/* SPDX-License-Identifier: Apache-2.0 */
/* settle.h: what options mean together. */
#ifndef PROMPT_SETTLE_H
#define PROMPT_SETTLE_H

#include "options/options.h"

/* Makes one spelling of several, and refuses options that contradict each other, before a verb sees them and
 * before a model is opened. An exit code. */
int prompt_settle(struct options *o);

#endif
