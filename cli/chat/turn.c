/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c: one answer of the model: the whole conversation is rendered, what is new of it evaluated, and the
 * answer drawn, printed and put behind it. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "chat/chat.h"

struct answer {
    struct chat *c;
    struct calls calls;
    carat_tokens prompt, ids;
    char last;        /* last byte that was printed */
    const char *stop; /* a name of carat_reason_name */
    bool context_full;
    int evaluated;
    int code; /* of what on_token did */
    double prompt_s, generation_s;
};

void turn_sampling(struct chat *c)
{
    carat_sampling *s = &c->sampling;

    carat_sampling_default(c->model, s);
    if (c->o.temp >= 0)
        s->temperature = (float)c->o.temp;
    if (c->o.top_k >= 0)
        s->top_k = c->o.top_k;
    if (c->o.top_p >= 0)
        s->top_p = (float)c->o.top_p;
    if (c->o.min_p >= 0)
        s->min_p = (float)c->o.min_p;
    if (c->o.seed < 0)
        c->o.seed = (int64_t)(uint32_t)time(NULL);
    s->seed = (uint64_t)c->o.seed;
    if (c->o.ignore_eos)
        s->n_banned = carat_stop_ids(c->model, &s->banned);
}

static void note_tools(void *user, const char *line)
{
    struct chat *c = user;

    if (!c->noted)
        note("%s: %s", c->o.tools ? input_name(c->o.tools) : "the tools", line);
}

int turn_render(struct chat *c, bool answers, carat_tokens *ids)
{
    char *messages = talk_json(&c->talk);
    carat_render_options options;
    carat_render_options_default(&options);
    carat_error err;
    int code = DONE;

    if (!messages)
        return fail_memory();
    options.tools = c->tools;
    options.chat_template = c->o.chat_template;
    options.no_generation_prompt = !answers;
    options.log = note_tools;
    options.progress = NULL;
    options.user = c;
    if (carat_render_json(c->model, messages, &options, ids, NULL, &err) != CARAT_OK)
        code = fail_status(&err);
    c->noted = true;
    free(messages);
    return code;
}

/* ---- text ---- */

static int answer_emit(void *user, const char *piece, size_t n)
{
    struct answer *a = user;

    if (n == 0)
        return DONE;
    a->last = piece[n - 1];
    out_text(piece, n);
    return out_flush() ? DONE : FAILED;
}

static int answer_calls(struct answer *a)
{
    int code = a->last && a->last != '\n' ? answer_emit(a, "\n", 1) : DONE;

    return code == DONE ? calls_finish(&a->calls, true, answer_emit, a) : code;
}

/* What the session's text has left: the bytes of a last incomplete character. */
static int answer_rest(struct answer *a)
{
    char rest[16];

    return answer_emit(a, rest, carat_stream_text(a->c->session, -1, rest, sizeof rest));
}

static int answer_given(struct answer *a, const carat_given *given)
{
    int code;

    if (!push_id(&a->ids, given->id))
        return fail_memory();
    if (!calls_take(&a->calls, given->id))
        return answer_emit(a, given->text, given->n_text);
    code = a->calls.held.n == 0 ? answer_rest(a) : DONE;
    if (code == DONE)
        code = calls_hold(&a->calls, given->id, a->ids.n - 1);
    return code == DONE && given->id == a->calls.end ? answer_calls(a) : code;
}

static int on_token(void *user, const carat_given *given)
{
    struct answer *a = user;

    a->code = answer_given(a, given);
    return a->code != DONE;
}

static int answer_draw(struct answer *a)
{
    static const int32_t none[1];
    struct chat *c = a->c;
    carat_generation *generation = NULL;
    carat_generation_info info;
    carat_generation_info_default(&info);
    carat_generation_options options;
    carat_generation_options_default(&options);
    carat_error err;

    options.sampling = &c->sampling;
    options.max_tokens = c->o.predict < 0 ? 0 : c->o.predict;
    options.stop_ids = c->o.ignore_eos ? none : NULL;
    options.on_token = on_token;
    options.user = a;
    a->stop = "length";
    if (c->o.predict == 0)
        return DONE;
    carat_status status = carat_generation_create(&generation, c->session, &options, &err);
    if (status == CARAT_OK)
        status = carat_generate(generation, &err);
    if (status == CARAT_E_CANCELLED)
        status = CARAT_OK;
    if (status == CARAT_OK)
        status = carat_generation_get_info(generation, &info, &err);
    carat_generation_close(generation);
    if (status != CARAT_OK)
        return fail_status(&err);
    a->stop = carat_reason_name(info.reason);
    a->context_full = info.context_full;
    return a->code == DONE ? answer_rest(a) : a->code;
}

static int too_long(const struct answer *a)
{
    int context = carat_engine_context(a->c->engine), most = a->c->info.max_context;
    int room = most - a->prompt.n < 256 ? most : a->prompt.n + 256;

    if (a->prompt.n >= most)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "the conversation has %d tokens, and the context of this model %d positions: /undo "
                       "takes messages back, /clear begins anew",
                       a->prompt.n, most);
    return fail_as(FAILED, CARAT_E_CONTEXT,
                   "the conversation has %d tokens and the context %d positions: /undo takes messages back, "
                   "/clear begins anew, -c %d would make room",
                   a->prompt.n, context, room);
}

static int answer_prompt(struct answer *a)
{
    struct chat *c = a->c;
    int reused = 0;
    carat_error err;
    double start = seconds();

    if (a->prompt.n >= carat_engine_context(c->engine))
        return too_long(a);
    progress_begin(&c->bar, "prompt", "tok");
    carat_status status = carat_sync(c->session, a->prompt.ids, a->prompt.n, &reused, &err);
    progress_end(&c->bar);
    a->prompt_s = seconds() - start;
    a->evaluated = a->prompt.n - reused;
    if (status == CARAT_E_CANCELLED) {
        a->stop = "cancelled";
        a->evaluated = carat_tokens_held(c->session, NULL);
        return DONE;
    }
    return status == CARAT_OK ? DONE : fail_status(&err);
}

static void tell_speed(const struct answer *a)
{
    fprintf(stderr, "%sprompt %d of %d tokens in %.2f s, generation %d tokens in %.2f s, stopped: %s%s\n",
            dim_on(), a->evaluated, a->prompt.n, a->prompt_s, a->ids.n, a->generation_s, a->stop, dim_off());
}

static int answer_all(struct answer *a)
{
    struct chat *c = a->c;
    int code = answer_prompt(a);

    if (code == DONE && !a->stop) {
        double start = seconds();
        code = answer_draw(a);
        if (code == DONE && a->calls.held.n > 0)
            code = answer_calls(a);
        a->generation_s = seconds() - start;
    }
    if (a->last != '\n' && (code == DONE || a->last)) {
        out_print("\n");
        out_flush();
    }
    if (code == DONE && a->ids.n == 0 && strcmp(a->stop, "cancelled") == 0) {
        talk_drop_unanswered(&c->talk);
        note("stopped before an answer began: the message is taken back, and what was evaluated of it kept");
    } else if (code == DONE) {
        code = talk_add_answer(&c->talk, c->model, &a->ids, a->calls.start >= 0, c->tools);
    }
    if (code == DONE && strcmp(a->stop, "cancelled") == 0 && !c->by_hand)
        code = INTERRUPTED;
    if (code != DONE)
        return code;
    if (a->context_full)
        note("the context of %d positions is full: /clear begins anew, /undo takes messages back",
             carat_engine_context(c->engine));
    if (c->o.verbose)
        tell_speed(a);
    return DONE;
}

int turn_answer(struct chat *c)
{
    struct answer a = {.c = c, .calls.start = -1};
    int code;

    interrupt_install();
    if (c->tools)
        calls_start(&a.calls, c->model, c->tools);
    code = turn_render(c, true, &a.prompt);
    if (code == DONE)
        code = answer_all(&a);
    if (code != DONE)
        talk_drop_unanswered(&c->talk);
    calls_free(&a.calls);
    carat_tokens_free(&a.prompt);
    carat_tokens_free(&a.ids);
    return code;
}
