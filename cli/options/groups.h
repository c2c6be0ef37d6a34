/* SPDX-License-Identifier: Apache-2.0 */
/* groups.h: the list of groups of options. A group NAME is `struct NAME_options`, declared by those who obey
 * it, and `NAME_group`, the rows of it. */
#ifndef OPTIONS_GROUPS_H
#define OPTIONS_GROUPS_H

#define OPTION_GROUPS(DO)                                                                                    \
    DO(open)                                                                                                 \
    DO(engine)                                                                                               \
    DO(head)                                                                                                 \
    DO(draw)                                                                                                 \
    DO(lookup)                                                                                               \
    DO(insight)                                                                                              \
    DO(prompt)                                                                                               \
    DO(told)                                                                                                 \
    DO(answer)                                                                                               \
    DO(convert)                                                                                              \
    DO(show)                                                                                                 \
    DO(steps)                                                                                                \
    DO(bench)                                                                                                \
    DO(compare)                                                                                              \
    DO(score)

#endif
