/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_endings.h: what every fuzz target for a form of answers does with its automaton: the shortest ending
 * becomes shorter with each symbol of it. */
#ifndef FUZZ_ENDINGS_H
#define FUZZ_ENDINGS_H

#include <stdlib.h>

#include "grammar/automaton.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Follows shortest endings, a hundred steps at most. */
static void check_ending(struct ct_automaton *a, int32_t state)
{
    for (int i = 0; i < 100 && !ct_automaton_accepts(a, state) && !a->full; i++) {
        const uint32_t least = ct_automaton_least(a, state);
        require(least > 0 && least < CT_NEVER);
        state = ct_automaton_symbol(a, state, ct_automaton_shortest(a, state));
        require(a->full || ct_automaton_least(a, state) == least - 1);
    }
}

#endif
