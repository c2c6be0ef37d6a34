/* SPDX-License-Identifier: Apache-2.0 */
/* eval_print.c: counts what was right, with Wilson's interval, in all and by subject, and says so. */
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "quality/eval.h"
#include "quality/score_options.h"
#include "term/out_json.h"
#include "term/output.h"

static const char *const way_json[N_WAYS] = {"letter", "likelihood", "likelihood_per_byte"};
static const char *const way_text[N_WAYS] = {"letter", "likelihood", "per byte"};

/* ---- counting ---- */

/* The largest, the first of several. */
static int choose_largest(const double *value, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (value[i] > value[best])
            best = i;
    return best;
}

static struct subject *subject_of(struct eval *e, const char *name)
{
    int i = 0;

    while (i < e->n_subjects && strcmp(e->subject[i].name, name) != 0)
        i++;
    if (i == e->n_subjects)
        e->subject[e->n_subjects++].name = name;
    return &e->subject[i];
}

static void count_item(struct tally *t, const struct score *s, int answer)
{
    t->items++;
    for (int way = 0; way < N_WAYS; way++)
        t->right[way] += s->chosen[way] == answer;
}

/* Wilson's interval of 95 %. */
static void wilson(int right, int n, double *low, double *high)
{
    const double z = 1.959963984540054, p = (double)right / n, zz = z * z / n;
    const double middle = (p + zz / 2) / (1 + zz), half = z * sqrt(p * (1 - p) / n + zz / (4 * n)) / (1 + zz);

    *low = right ? middle - half : 0;
    *high = right < n ? middle + half : 1;
}

/* ---- a line for an item ---- */

static json_t *doubles_json(const double *value, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_number(value[i]));
    return list;
}

static int print_item(json_t *line, const struct question *q)
{
    json_t *id = json_object_get(q->value, "id");

    if (line && id)
        json_object_set(line, "id", id);
    int code = out_json(line);
    return code == DONE && !out_flush() ? FAILED : code;
}

int eval_count(struct eval *e, const struct question *q, struct score *s)
{
    const struct eval_item *item = &q->item;
    double per_byte[MOST_CHOICES];

    for (int i = 0; i < item->n; i++)
        per_byte[i] = s->logprob[BY_LIKELIHOOD][i] / (double)strlen(item->choice[i]);
    s->chosen[BY_LETTER] = choose_largest(s->logprob[BY_LETTER], item->n);
    s->chosen[BY_LIKELIHOOD] = choose_largest(s->logprob[BY_LIKELIHOOD], item->n);
    s->chosen[BY_BYTE] = choose_largest(per_byte, item->n);
    count_item(&e->all, s, item->answer);
    count_item(&subject_of(e, item->subject)->tally, s, item->answer);
    if (!e->o->lines)
        return DONE;
    json_t *line =
        json_pack("{s:I, s:s, s:i}", "line", (json_int_t)q->line, "status", "ok", "answer", item->answer);
    for (int way = 0; way < N_WAYS && line; way++) {
        const double *value = way == BY_BYTE ? per_byte : s->logprob[way];
        json_object_set_new(
            line, way_json[way],
            json_pack("{s:i, s:o}", "chosen", s->chosen[way], "logprobs", doubles_json(value, item->n)));
    }
    if (line && *item->subject)
        json_object_set_new(line, "subject", json_string(item->subject));
    return print_item(line, q);
}

int eval_print_too_long(const struct eval *e, const struct question *q, int tokens)
{
    if (!e->o->lines)
        return DONE;
    return print_item(
        json_pack("{s:I, s:s, s:i}", "line", (json_int_t)q->line, "status", "context", "tokens", tokens), q);
}

/* ---- the result ---- */

static json_t *tally_json(const struct tally *t)
{
    json_t *all = json_pack("{s:i}", "items", t->items);
    double low, high;

    for (int way = 0; way < N_WAYS && t->items; way++) {
        wilson(t->right[way], t->items, &low, &high);
        json_object_set_new(all, way_json[way],
                            json_pack("{s:i, s:f, s:[f, f]}", "right", t->right[way], "accuracy",
                                      (double)t->right[way] / t->items, "interval", low, high));
    }
    return all;
}

/* Whether there is anything to say by subject. */
static bool has_subjects(const struct eval *e)
{
    return e->n_subjects > 1 || (e->n_subjects == 1 && *e->subject[0].name);
}

static json_t *result_json(const struct eval *e)
{
    json_t *result = tally_json(&e->all), *subjects = json_array();

    for (int i = 0; i < e->n_subjects && has_subjects(e); i++) {
        json_t *one = tally_json(&e->subject[i].tally);
        json_object_set_new(one, "subject", json_string(e->subject[i].name));
        json_array_append_new(subjects, one);
    }
    json_object_update_new(
        result, json_pack("{s:s, s:s, s:b, s:i, s:i, s:o, s:{s:f}}", "model", model_name(e->o->model), "file",
                          e->name, "chat", e->o->score->in_chat, "too_long", e->too_long, "context",
                          e->context, "subjects", subjects, "timings", "seconds", e->seconds));
    return result;
}

static void print_tally(const char *name, const struct tally *t)
{
    double low, high;

    out_name(name, 60);
    out_print(": %d item%s\n", t->items, t->items == 1 ? "" : "s");
    for (int way = 0; way < N_WAYS && t->items; way++) {
        wilson(t->right[way], t->items, &low, &high);
        out_print("  %-12s%6d right  %5.1f %%  (95 %%: %.1f to %.1f)\n", way_text[way], t->right[way],
                  100.0 * t->right[way] / t->items, 100 * low, 100 * high);
    }
}

static int judge(const struct eval *e)
{
    const double accuracy = e->all.items ? (double)e->all.right[BY_LETTER] / e->all.items : 0;

    if (e->too_long)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "%s: %d of %d items are longer than the context of %d; line %ld has %d tokens",
                       e->name, e->too_long, e->n, e->context, e->longest_line, e->longest);
    if (e->o->score->least >= 0 && accuracy < e->o->score->least)
        return fail(CHECK_FAILED, "eval: the accuracy by letter is %.4f, below --min %g", accuracy,
                    e->o->score->least);
    return DONE;
}

int eval_print_result(const struct eval *e)
{
    int code = DONE;

    if (e->o->json) {
        code = out_json(result_json(e));
    } else if (e->o->lines) {
        code = out_json(json_pack("{s:o}", "result", result_json(e)));
    } else {
        out_fold(4);
        print_tally("all", &e->all);
        for (int i = 0; i < e->n_subjects && has_subjects(e); i++)
            print_tally(*e->subject[i].name ? e->subject[i].name : "without a subject", &e->subject[i].tally);
    }
    return code == DONE ? judge(e) : code;
}
