/* SPDX-License-Identifier: Apache-2.0 */
/* self_check_print.c: a self-check from the options to what it says, for people and for programs. */
#include <jansson.h>

#include "model/engine.h"
#include "model/model.h"
#include "model/self_check.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/progress.h"

struct shown {
    struct progress bar;
    json_t *wrong; /* NULL: for people */
};

/* Ends a check that nobody would hear the end of. */
static int show_share(void *user, double share)
{
    return !out_is_read() || progress_update(&((struct shown *)user)->bar, (size_t)(1000 * share), 1000);
}

/* At once: a check may take days. */
static void show_fault(void *user, const struct self_check_fault *f)
{
    struct shown *s = user;
    char layer[32] = "";

    if (s->wrong) {
        json_array_append_new(s->wrong, json_pack("{s:i, s:s, s:i, s:I, s:f}", "processor", f->processor,
                                                  "operation", f->operation, "layer", f->layer, "run",
                                                  (json_int_t)f->run, "seconds", f->seconds));
        return;
    }
    if (f->layer >= 0)
        snprintf(layer, sizeof layer, " of layer %d", f->layer);
    progress_hide();
    out_print("processor %d: %s%s gave other bits, in run %ld, %.1f s from the start\n", f->processor,
              f->operation, layer, f->run, f->seconds);
    out_flush();
}

static int print_check(const struct self_check *c, const struct shown *s)
{
    if (s->wrong) {
        json_t *processors = json_array();
        for (int i = 0; i < c->n_processors && i < c->runs; i++)
            json_array_append_new(processors, json_integer(c->processor[i]));
        return out_json(json_pack("{s:b, s:I, s:o, s:f, s:O, s:b}", "ok", c->wrong == 0, "runs",
                                  (json_int_t)c->runs, "processors", processors, "seconds", c->seconds,
                                  "wrong", s->wrong, "undecided", c->undecided));
    }
    out_print("%ld runs on %d processor%s in %.1f s: ", c->runs, c->n_processors,
              c->n_processors == 1 ? "" : "s", c->seconds);
    out_print(c->wrong ? "%ld differed\n" : "every operation gave the same bits\n", c->wrong);
    if (c->undecided)
        out_print(
            "Only processor %d gave what the others are compared with, and what differed was always the "
            "same: it is wrong or the others are, and two processors cannot say which.\n",
            c->right.of_run.processor);
    return DONE;
}

int self_check(const struct options *o, long rounds, double limit, bool json)
{
    struct shown s = {.wrong = json ? json_array() : NULL};
    struct self_check c = {
        .rounds = rounds, .limit = limit, .watch = show_share, .tell = show_fault, .user = &s};
    carat_model *model = NULL;

    interrupt_install();
    int code = open_packed(&model, o);
    if (code == DONE)
        code = self_check_open(&c, model, o->engine->isa);
    if (code == DONE) {
        progress_begin(&s.bar, "self-check", NULL);
        code = self_check_run(&c);
        progress_end(&s.bar);
    }
    if (code == DONE)
        code = print_check(&c, &s);
    if (code == DONE && c.wrong)
        code = CHECK_FAILED;
    self_check_close(&c);
    carat_model_close(model);
    json_decref(s.wrong);
    return code;
}
