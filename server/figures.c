/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c: see figures.h. */
#include "figures.h"

#include "json_write.h"

/* ---- times ---- */

static double per_second(int n, double ms)
{
    return ms > 0 ? n * 1e3 / ms : 0;
}

void figures_put_timings(struct buffer *out, const struct request *request)
{
    const double prompt = request->course.prompt_ms - request->course.begin_ms,
                 answer = request->course.end_ms - request->course.prompt_ms;
    int given = 0;

    for (int i = 0; i < request->n; i++)
        given += request->choice[i].given;
    json_put(out,
             "{'cache_n':%d,'prompt_n':%d,'prompt_ms':%f,'prompt_per_second':%f,'predicted_n':%d,"
             "'predicted_ms':%f,'predicted_per_second':%f}",
             request->course.cached, request->course.evaluated, prompt,
             per_second(request->course.evaluated, prompt), given, answer, per_second(given, answer));
}

void figures_put_progress(struct buffer *out, const struct request *request, int evaluated, int64_t ms)
{
    json_put(out, ",'prompt_progress':{'total':%d,'cache':%d,'processed':%d,'time_ms':%l}", request->prompt.n,
             request->course.cached, evaluated, ms);
}

/* ---- log-probabilities ---- */

void figures_put_token(struct buffer *out, const carat_model *model, const carat_logprob *l)
{
    char bytes[CARAT_PIECE_BYTES];
    const size_t n = carat_piece_bytes(model, l->id, bytes);

    json_put(out, "'token':%t,'logprob':%f,'bytes':[", bytes, n, (double)l->logprob);
    for (size_t i = 0; i < n; i++)
        json_put(out, i ? ",%d" : "%d", (unsigned char)bytes[i]);
    json_put(out, "]");
}

static void put_likely(struct buffer *out, const carat_model *model, const struct told_logprob *l)
{
    buffer_text(out, "{");
    figures_put_token(out, model, &l->of);
    json_put(out, ",'top_logprobs':[");
    for (int i = 0; i < l->n_top; i++) {
        buffer_text(out, i ? ",{" : "{");
        figures_put_token(out, model, &l->top[i]);
        buffer_text(out, "}");
    }
    json_put(out, "]}");
}

void figures_put_logprobs(struct buffer *out, const carat_model *model, const struct buffer *told,
                          size_t from, size_t until)
{
    const struct told_logprob *l = (const struct told_logprob *)(const void *)told->data;

    for (size_t i = from / sizeof *l; i < until / sizeof *l; i++) {
        json_put(out, i > from / sizeof *l ? "," : "");
        put_likely(out, model, &l[i]);
    }
}
