/* SPDX-License-Identifier: Apache-2.0 */
/* bench_alone.c: what the benches share that go their own way (bench_timeline.c, bench_draft.c, head.c):
 * refusing options that only bench.c knows; and ids for all of them. */
#include <string.h>

#include "bench/bench.h"

static const struct bench_refusal *first_given(const struct bench_refusal *list)
{
    while (list->name && !list->given)
        list++;
    return list->name ? list : NULL;
}

int bench_check_alone(const struct options *o, const struct bench_refusal *own, const char *who,
                      const char *takes, const char *gives)
{
    const struct bench_refusal all[] = {{"-pg", o->n_pair != NULL},
                                        {"-fa", o->flash != NULL},
                                        {"--prompt", o->prompt != NULL},
                                        {"--max-tokens", o->predict > 0},
                                        {"--bench-iters", o->iterations > 0},
                                        {"--bench-warmup", o->warmup >= 0},
                                        {"--bench-json", o->bench_json != NULL},
                                        {"--plot", o->plot != NULL},
                                        {"--compare", gives && o->compare},
                                        {"--profile", o->profile},
                                        {"--ids", gives && o->ids},
                                        {"--steps", gives && o->steps},
                                        {"--prefill-logits", gives && o->prefill_logits},
                                        {"--spectrum", gives && o->spectrum},
                                        {"list for -t", o->thread_list && strchr(o->thread_list, ',')},
                                        {"list for -ub", o->chunk_list && strchr(o->chunk_list, ',')},
                                        {NULL, false}};
    const struct bench_refusal *found = first_given(own);

    if (!found)
        found = first_given(all);
    if (found)
        return fail(USAGE, "%s: %s %s", who, takes, found->name);
    if (gives && o->output && strcmp(o->output, "md") != 0 && strcmp(o->output, "json") != 0)
        return fail(USAGE, "%s: %s one object, so -o must be md or json", who, gives);
    if (o->json && o->output && strcmp(o->output, "json") != 0)
        return fail(USAGE, "%s: --json and -o %s contradict each other", who, o->output);
    return DONE;
}

void bench_fill_ids(int32_t *ids, int n, const carat_model_info *info, uint64_t seed)
{
    uint32_t range = (uint32_t)(info->n_text_vocab > 0 ? info->n_text_vocab : info->n_vocab);

    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ids[i] = (int32_t)((seed >> 33) % range);
    }
}
