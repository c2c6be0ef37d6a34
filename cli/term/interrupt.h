/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h: Ctrl-C asks once, and kills the second time; a model that is cut short while it is mapped. */
#ifndef TERM_INTERRUPT_H
#define TERM_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

void interrupt_install(void); /* also anew, after one that was obeyed */
bool term_interrupted(void);
/* As read; a Ctrl-C ends it with EINTR, also one that came before. */
ssize_t read_unless_interrupted(int fd, void *data, size_t n);
/* A carat_progress for work without a bar. */
int stop_when_interrupted(void *user, size_t done, size_t total);
/* From now on a page that cannot be read any more (SIGBUS) ends the command with a message about path and
 * code 1. */
void interrupt_on_fault(const char *path);

/* Sets the text that a signal which ends the command writes to stderr before its message: it wipes a bar from
 * the line. The text must stay where it is; "" is nothing. */
void interrupt_wipes(const char *text);

#endif
