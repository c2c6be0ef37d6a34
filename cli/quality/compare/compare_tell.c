/* SPDX-License-Identifier: Apache-2.0 */
/* compare_tell.c: what a comparison ends with: its summary as text or JSON, and the exit code of the
 * verdict. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "quality/compare/compare.h"
#include "quality/compare/dataset.h"
#include "quality/compare/summary.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/output.h"

int compare_tell(const struct compare *c, json_t *summary)
{
    const char *whole = NULL;
    int code = DONE;

    json_unpack(summary, "{s:{s:s}}", "verdict", "whole", &whole);
    const bool failed = whole && strcmp(whole, carat_health_name(CARAT_CONCERNING)) == 0;
    if (c->quiet) {
        code = DONE;
    } else if (c->o->json) {
        char *text = summary_text(summary);
        code = text ? DONE : fail_memory();
        if (text) {
            out_write(text, strlen(text));
            out_print("\n");
        }
        free(text);
    } else {
        code = summary_print(summary);
        if (code == DONE)
            code = bisect_print(json_object_get(summary, "bisect"));
    }
    return code == DONE && failed ? CHECK_FAILED : code;
}
