/* SPDX-License-Identifier: Apache-2.0 */
/* lists.h: what the command is put together of; who adds a verb or a group of options adds its name here. A
 * verb NAME is a row of verb_table.c and a function `verb_NAME`. A group NAME is `struct NAME_options`,
 * declared by those who obey it, and `NAME_group`, the rows of it. */
#ifndef OPTIONS_LISTS_H
#define OPTIONS_LISTS_H

#define VERBS(DO)                                                                                            \
    DO(run)                                                                                                  \
    DO(chat)                                                                                                 \
    DO(logits)                                                                                               \
    DO(decode)                                                                                               \
    DO(tokenize)                                                                                             \
    DO(detokenize)                                                                                           \
    DO(render)                                                                                               \
    DO(embed)                                                                                                \
    DO(bench)                                                                                                \
    DO(show)                                                                                                 \
    DO(compare)                                                                                              \
    DO(sweep)                                                                                                \
    DO(perplexity)                                                                                           \
    DO(eval)                                                                                                 \
    DO(verify)                                                                                               \
    DO(replay)                                                                                               \
    DO(pull)                                                                                                 \
    DO(ls)                                                                                                   \
    DO(search)                                                                                               \
    DO(rm)                                                                                                   \
    DO(cp)                                                                                                   \
    DO(pack)                                                                                                 \
    DO(convert)                                                                                              \
    DO(quantize)                                                                                             \
    DO(imatrix)                                                                                              \
    DO(cache)                                                                                                \
    DO(grammar)                                                                                              \
    DO(doctor)                                                                                               \
    DO(serve)                                                                                                \
    DO(completion)                                                                                           \
    DO(version)                                                                                              \
    DO(help)

#define OPTION_GROUPS(DO)                                                                                    \
    DO(open)                                                                                                 \
    DO(search)                                                                                               \
    DO(fetch)                                                                                                \
    DO(engine)                                                                                               \
    DO(head)                                                                                                 \
    DO(draw)                                                                                                 \
    DO(lookup)                                                                                               \
    DO(form)                                                                                                 \
    DO(engine_report)                                                                                        \
    DO(prompt)                                                                                               \
    DO(reasoning)                                                                                            \
    DO(told)                                                                                                 \
    DO(answer)                                                                                               \
    DO(receipt)                                                                                              \
    DO(serve)                                                                                                \
    DO(convert)                                                                                              \
    DO(show)                                                                                                 \
    DO(grammar)                                                                                              \
    DO(writing)                                                                                              \
    DO(steps)                                                                                                \
    DO(embed)                                                                                                \
    DO(bench)                                                                                                \
    DO(compare)                                                                                              \
    DO(sweep)                                                                                                \
    DO(score)                                                                                                \
    DO(pull)

#endif
