/* SPDX-License-Identifier: Apache-2.0 */
/* heldout.h: what the tests of trained models share: the lines of a file that tools/train_tiny*.py wrote, and
 * greedy answers. What is expected of them is the tests'. */
#ifndef CT_TEST_HELDOUT_H
#define CT_TEST_HELDOUT_H

#include "engine/vector_util.h"

/* The next line, for the caller to free; NULL behind the last one. */
UNUSED static json_t *heldout_line(FILE *f, const char *path)
{
    json_error_t e;
    json_t *line = json_loadf(f, JSON_DISABLE_EOF_CHECK, &e);
    if (!line && !feof(f))
        fail_msg("%s: %s", path, e.text);
    return line;
}

/* Greedy ids up to a stop id; the stop id itself is the last one when there is one. */
UNUSED static int greedy_ids(struct rig *r, const struct ids *prompt, int32_t *out, int most)
{
    carat_sampling greedy;
    carat_sampling_default(NULL, &greedy);
    greedy.temperature = 0;
    int n = 0;
    OK(carat_sync(r->session[0], prompt->id, prompt->n, NULL, err));
    while (n < most) {
        OK(carat_sample(r->session[0], &greedy, &out[n], err));
        if (carat_is_stop(r->model, out[n++]))
            break;
        OK(carat_append(r->session[0], &out[n - 1], 1, err));
    }
    return n;
}

#endif
