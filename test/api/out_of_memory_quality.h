/* SPDX-License-Identifier: Apache-2.0 */
/* out_of_memory_quality.h: the part of out_of_memory.h that is about carat_quality.h: two engines that are
 * compared and bisected. */
#ifndef OUT_OF_MEMORY_QUALITY_H
#define OUT_OF_MEMORY_QUALITY_H

struct measured {
    double kl[8];
    int n;
};

static int take_kl(void *user, void *prompt, const carat_position *p)
{
    struct measured *m = prompt;
    (void)user;
    m->kl[m->n++] = p->difference.kl;
    return 0;
}

/* Two engines over a prompt, and what they say together. */
static void act_compare(struct act *a)
{
    carat_engine *engine[2] = {NULL, NULL};
    static const int32_t prompt[] = {2, 90, 7, 71, 30, 11, 5, 20, 13, 44};
    static const int64_t counts[] = {3, 5};
    struct measured m = {.n = 0};
    carat_compare_prompt p = {.size = sizeof p, .prompt = prompt, .n_prompt = 2, .user = &m};
    carat_compare_options how = {.size = sizeof how, .driver = CARAT_DRIVER_TEXT, .on_position = take_kl};
    carat_summary summary = {.size = sizeof summary};
    carat_repetition repetition = {.size = sizeof repetition};
    carat_engine_options o;
    carat_engine_options_default(&o);
    p.text = prompt + 2;
    p.n_text = 8;
    o.context = 64;
    o.threads = 2;

    for (int i = 0; i < 2; i++) {
        o.exact = i;
        DO(carat_engine_create(&engine[i], a->model, &o, err));
    }
    DO((m.n = 0, carat_compare(engine[1], engine[0], &p, &how, err)));
    DO(carat_summarise(m.kl, counts, 2, &summary, err));
    DO(carat_repetition_of(prompt, 10, &repetition, err));
    mix(a, m.kl, sizeof m.kl);
    mix(a, &summary, sizeof summary);
    mix(a, &repetition, sizeof repetition);
close:
    carat_engine_close(engine[0]);
    carat_engine_close(engine[1]);
}

static int mix_operation(void *user, const carat_operation_error *e)
{
    mix(user, &e->own, sizeof e->own);
    mix(user, &e->carried, sizeof e->carried);
    return 0;
}

/* Two engines in step. */
static void act_bisect(struct act *a)
{
    carat_engine *engine[2] = {NULL, NULL};
    static const int32_t ids[] = {2, 90, 7, 71, 30, 11};
    uint64_t before = a->digest;
    carat_operation_error first = {.size = sizeof first};
    carat_bisect_options how = {.size = sizeof how, .on_operation = mix_operation, .user = a};
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.context = 64;
    o.threads = 1;
    DO(carat_engine_create(&engine[0], a->model, &o, err));
    o.exact = 1;
    DO(carat_engine_create(&engine[1], a->model, &o, err));
    DO((a->digest = before, carat_bisect(engine[0], engine[1], ids, 6, &how, &first, err)));
close:
    carat_engine_close(engine[0]);
    carat_engine_close(engine[1]);
}

#endif
