/* SPDX-License-Identifier: Apache-2.0 */
/* tell.c: what chat says that is not the model's: to the person at the terminal, else to standard error. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ask/chat/chat.h"
#include "term/output.h"

void chat_tell(const struct chat *c, const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!c->by_hand || !out_is_terminal()) {
        fputs(text, stderr);
        return;
    }
    out_fold(20);
    out_text(text, strlen(text));
    out_fold(0);
    out_flush();
}
