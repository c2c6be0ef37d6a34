/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c: see pace.h. The draw that ends the time to a first token is timed apart. */
#include "model/pace.h"

#include "model/engine.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/message.h"

void random_ids(int32_t *ids, int n, const carat_model_info *info, uint64_t seed)
{
    uint32_t range = (uint32_t)(info->n_text_vocab > 0 ? info->n_text_vocab : info->n_vocab);

    for (int i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        ids[i] = (int32_t)((seed >> 33) % range);
    }
}

void pace_end(struct pace *p)
{
    for (int i = 0; i < PACE_PARALLEL; i++) {
        carat_session_close(p->session[i]);
        p->session[i] = NULL;
    }
}

int pace_begin(struct pace *p, const struct stretch *s)
{
    carat_error err;

    pace_end(p);
    for (int i = 0; i < s->parallel; i++) {
        progress_begin(&p->evaluating, "depth", "tok");
        TRY(create_session(&p->session[i], p->engine, progress_update, &p->evaluating));
        if (s->depth > 0 && carat_sync(p->session[i], p->ids, s->depth, NULL, &err) != CARAT_OK)
            return fail_status(&err);
    }
    return DONE;
}

/* All sessions take the id that lies at `from`. */
static int step_all(struct pace *p, const struct stretch *s, int from)
{
    carat_row rows[PACE_PARALLEL];
    carat_error err;

    for (int i = 0; i < s->parallel; i++)
        rows[i] = (carat_row){.session = p->session[i], .tokens = p->ids + from, .n = 1};
    return carat_step(p->engine, rows, sizeof(carat_row), s->parallel, &err) == CARAT_OK ? DONE
                                                                                         : fail_status(&err);
}

static int run_prompt(struct pace *p, const struct stretch *s, struct paced *paced)
{
    carat_error err;
    double start;
    int32_t id;

    if (s->n_prompt == 0)
        return DONE;
    progress_begin(&p->evaluating, "pp", "tok");
    start = term_seconds();
    /* behind the depth that is held; one session: several generate only */
    if (carat_sync(p->session[0], p->ids, s->depth + s->n_prompt, NULL, &err) != CARAT_OK)
        return fail_status(&err);
    paced->prompt = term_seconds() - start;
    if (carat_sample(p->session[0], NULL, &id, &err) != CARAT_OK)
        return fail_status(&err);
    paced->first = term_seconds() - start;
    return DONE;
}

int pace_run(struct pace *p, const struct stretch *s, double *step, struct paced *paced)
{
    double start, before, now;

    *paced = (struct paced){0};
    TRY(run_prompt(p, s, paced));
    progress_end(&p->evaluating);
    progress_begin(&p->bar, "tg", "tok");
    p->bar.scale = s->parallel;
    start = before = term_seconds();
    for (int k = 0; k < s->n_gen; k++, before = now) {
        TRY(step_all(p, s, s->depth + s->n_prompt + k));
        now = term_seconds();
        if (step)
            step[k] = now - before;
        if (progress_update(&p->bar, (size_t)k + 1, (size_t)s->n_gen))
            return INTERRUPTED;
    }
    paced->steps = before - start;
    progress_end(&p->bar);
    return DONE;
}
