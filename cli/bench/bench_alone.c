/* SPDX-License-Identifier: Apache-2.0 */
/* bench_alone.c: what the benches share that go their own way (bench_timeline.c, bench_draft.c,
 * bench_head.c): refusing options that only bench.c knows; and ids for all of them. */
#include <string.h>

#include "bench/alone.h"
#include "bench/bench.h"
#include "bench/bench_options.h"
#include "options/table.h"
#include "prompt/prompt.h"

static const struct bench_refusal *first_given(const struct bench_refusal *list)
{
    while (list->name && !list->given)
        list++;
    return list->name ? list : NULL;
}

int bench_check_alone(const struct options *o, const struct bench_refusal *own, const char *who,
                      const char *takes, const char *gives)
{
    const struct bench_options *b = o->bench;
    const struct bench_refusal all[] = {{"-pg", b->n_pair != NULL},
                                        {"-fa", b->flash != NULL},
                                        {"--prompt", b->prompt != NULL},
                                        {"--max-tokens", options_given(o, &b->predict)},
                                        {"--bench-iters", options_given(o, &b->iterations)},
                                        {"--bench-warmup", options_given(o, &b->warmup)},
                                        {"--bench-json", b->bench_json != NULL},
                                        {"--plot", b->plot != NULL},
                                        {"--compare", gives && b->compare},
                                        {"--profile", b->profile},
                                        {"--ids", gives && o->prompt->ids},
                                        {"--steps", gives && options_given(o, &b->steps)},
                                        {"--prefill-logits", gives && b->prefill_logits},
                                        {"--spectrum", gives && b->spectrum},
                                        {"list for -t", strchr(b->thread_list, ',') != NULL},
                                        {"list for -ub", strchr(b->chunk_list, ',') != NULL},
                                        {NULL, false}};
    const struct bench_refusal *found = first_given(own);

    if (!found)
        found = first_given(all);
    if (found)
        return term_fail(USAGE, "%s: %s %s", who, takes, found->name);
    if (gives && !is_choice("md|json", b->output))
        return term_fail(USAGE, "%s: %s one object, so -o must be md or json", who, gives);
    if (o->json && options_given(o, &o->bench->output) && strcmp(o->bench->output, "json") != 0)
        return term_fail(USAGE, "%s: --json and -o %s contradict each other", who, o->bench->output);
    return DONE;
}
