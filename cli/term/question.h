/* SPDX-License-Identifier: Apache-2.0 */
/* question.h: asks who sits before the terminal. */
#ifndef TERM_QUESTION_H
#define TERM_QUESTION_H

#include <stdbool.h>

/* True: standard input and standard error are a terminal, so that somebody can be asked. */
bool somebody_is_there(void);
/* Prints the question, with "[y/N] " behind it, and reads a line. True for y and yes. */
bool term_agrees(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

#endif
