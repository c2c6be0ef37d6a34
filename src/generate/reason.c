/* SPDX-License-Identifier: Apache-2.0 */
/* reason.c: the names of why a generation ended, for those too who only read them. */
#include "generate/generate.h"

static const char *const reason_names[] = {
    [CARAT_REASON_NONE] = "",
    [CARAT_REASON_STOP] = "stop",
    [CARAT_REASON_LENGTH] = "length",
    [CARAT_REASON_CANCELLED] = "cancelled",
    [CARAT_REASON_CALLBACK] = "callback",
    [CARAT_REASON_TOOL_CALLS] = "tool_calls",
    [CARAT_REASON_NUMERIC] = "numeric",
    [CARAT_REASON_STOP_STRING] = "stop_string",
    [CARAT_REASON_LOOP] = "loop",
    [CARAT_REASON_CONSTRAINT] = "constraint",
};

const char *carat_reason_name(carat_reason reason)
{
    return (unsigned)reason < CT_COUNT(reason_names) ? reason_names[reason] : "";
}
