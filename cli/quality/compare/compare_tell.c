/* SPDX-License-Identifier: Apache-2.0 */
/* compare_tell.c: what a comparison ends with: its summary as text or JSON, and the exit code of the
 * verdict. */
#include <stdlib.h>
#include <string.h>

#include "quality/compare/compare.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/output.h"

int compare_tell(const struct compare *c, const struct summary *summary)
{
    int code = DONE;

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
        if (code == DONE && summary->bisect)
            code = bisect_print(summary->bisect);
    }
    return code == DONE && summary->verdict.whole == CARAT_CONCERNING ? CHECK_FAILED : code;
}
