/* SPDX-License-Identifier: Apache-2.0 */
/* tool_command.h: --tool-command: a program of the user's that answers calls of functions. */
#ifndef TOOL_COMMAND_H
#define TOOL_COMMAND_H

#include "prompt/talk.h"

enum { TOOL_SECONDS = 30, TOOL_BYTES = 64 << 10 };

/* Starts the words of command as a program, without a shell, writes call, a JSON object, and a newline to its
 * standard input, and puts what it writes to standard output into *result (malloc'd, terminated), without
 * newlines at the end. A program that fails, takes longer than TOOL_SECONDS or writes more than TOOL_BYTES is
 * ended with all that it has started. An exit code; Ctrl-C is INTERRUPTED. */
int tool_command(const char *command, const char *call, char **result);
/* Has it answer all calls of the last message. An exit code. */
int tool_answer_calls(const char *command, struct talk *talk);

#endif
