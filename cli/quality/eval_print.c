/* SPDX-License-Identifier: Apache-2.0 */
/* eval_print.c: counts what was right, with Wilson's interval, in all and by subject, and says so. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/members.h"
#include "model/model.h"
#include "quality/eval.h"
#include "quality/score_options.h"
#include "term/out_json.h"
#include "term/output.h"

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

/* clang-format off */
struct scored {
    bool there;
    int chosen, n;
    double logprob[MOST_CHOICES]; /* [n] */
};
#define S(member) .at = offsetof(struct scored, member)
static const struct field scored_fields[] = {
    {"chosen", FIELD_INT, S(chosen)},
    {"logprobs", FIELD_REALS, S(logprob), .n_at = offsetof(struct scored, n)},
    {0},
};

struct item_line {
    int64_t line, answer, tokens; /* answer or tokens; the other is -1 */
    const char *status, *subject;
    struct scored way[N_WAYS];
    json_t *id;
};
#define I(member) .at = offsetof(struct item_line, member)
static const struct field item_fields[] = {
    {"line", FIELD_LONG, I(line)},
    {"status", FIELD_STRING, I(status)},
    {"answer", FIELD_COUNT | FIELD_OPTIONAL, I(answer)},
    {"tokens", FIELD_COUNT | FIELD_OPTIONAL, I(tokens)},
    {"letter", FIELD_SOME | FIELD_OPTIONAL, I(way[BY_LETTER]), .of = scored_fields},
    {"likelihood", FIELD_SOME | FIELD_OPTIONAL, I(way[BY_LIKELIHOOD]), .of = scored_fields},
    {"likelihood_per_byte", FIELD_SOME | FIELD_OPTIONAL, I(way[BY_BYTE]), .of = scored_fields},
    {"subject", FIELD_STRING | FIELD_OPTIONAL, I(subject)},
    {"id", FIELD_JSON | FIELD_OPTIONAL, I(id)},
    {0},
};
/* clang-format on */

static int print_item(const struct eval *e, const struct item_line *line)
{
    if (!e->o->lines)
        return DONE;
    TRY(out_json(fields_json(item_fields, line)));
    return out_flush() ? DONE : FAILED;
}

int eval_count(struct eval *e, const struct question *q, struct score *s)
{
    const struct eval_item *item = &q->item;
    struct item_line line = {q->line,    item->answer, -1, "ok", *item->subject ? item->subject : NULL,
                             .id = q->id};

    for (int way = 0; way < N_WAYS; way++) {
        struct scored *to = &line.way[way];
        *to = (struct scored){.there = true, .n = item->n};
        for (int i = 0; i < item->n; i++)
            to->logprob[i] = way == BY_BYTE ? s->logprob[BY_LIKELIHOOD][i] / (double)strlen(item->choice[i])
                                            : s->logprob[way][i];
        to->chosen = s->chosen[way] = choose_largest(to->logprob, item->n);
    }
    count_item(&e->all, s, item->answer);
    count_item(&subject_of(e, item->subject)->tally, s, item->answer);
    return print_item(e, &line);
}

int eval_print_too_long(const struct eval *e, const struct question *q, int tokens)
{
    const struct item_line line = {q->line, -1, tokens, "context", .id = q->id};

    return print_item(e, &line);
}

/* ---- the result ---- */

/* clang-format off */
struct share {
    bool there;
    int right;
    double accuracy, interval[2];
};
#define H(member) .at = offsetof(struct share, member)
static const struct field share_fields[] = {
    {"right", FIELD_INT, H(right)},
    {"accuracy", FIELD_REAL, H(accuracy)},
    {"interval", FIELD_PAIR, H(interval)},
    {0},
};

/* Figures of all items, or of those of a subject. */
struct figures {
    int items;
    struct share way[N_WAYS];
    const char *subject;
};
#define F(member) .at = offsetof(struct figures, member)
static const struct field figures_fields[] = {
    {"items", FIELD_INT, F(items)},
    {"letter", FIELD_SOME | FIELD_OPTIONAL, F(way[BY_LETTER]), .of = share_fields},
    {"likelihood", FIELD_SOME | FIELD_OPTIONAL, F(way[BY_LIKELIHOOD]), .of = share_fields},
    {"likelihood_per_byte", FIELD_SOME | FIELD_OPTIONAL, F(way[BY_BYTE]), .of = share_fields},
    {"subject", FIELD_STRING | FIELD_OPTIONAL, F(subject)},
    {0},
};

struct result {
    struct figures all, *subjects; /* [n] */
    int n, chat, too_long, context;
    const char *model, *file;
    double seconds;
};
#define R(member) .at = offsetof(struct result, member)
static const struct field result_fields[] = {
    {"", FIELD_PART, R(all), .of = figures_fields},
    {"model", FIELD_STRING, R(model)},
    {"file", FIELD_STRING, R(file)},
    {"chat", FIELD_TRUTH, R(chat)},
    {"too_long", FIELD_INT, R(too_long)},
    {"context", FIELD_INT, R(context)},
    {"subjects", FIELD_LIST, R(subjects), .of = figures_fields, .size = sizeof(struct figures), .n_at = offsetof(struct result, n)},
    {"timings.seconds", FIELD_REAL, R(seconds)},
    {0},
};
static const struct field last_line_fields[] = {{"result", FIELD_PART, .at = 0, .of = result_fields}, {0}};
/* clang-format on */

static struct figures figures_of(const struct tally *t, const char *subject)
{
    struct figures f = {.items = t->items, .subject = subject};

    for (int way = 0; way < N_WAYS && t->items; way++) {
        struct share *share = &f.way[way];
        *share = (struct share){.there = true, .right = t->right[way]};
        share->accuracy = (double)t->right[way] / t->items;
        wilson(t->right[way], t->items, &share->interval[0], &share->interval[1]);
    }
    return f;
}

static void print_figures(const char *name, const struct figures *f)
{
    out_name(name, 60);
    out_print(": %d item%s\n", f->items, f->items == 1 ? "" : "s");
    for (int way = 0; way < N_WAYS && f->items; way++) {
        const struct share *s = &f->way[way];
        out_print("  %-12s%6d right  %5.1f %%  (95 %%: %.1f to %.1f)\n", way_text[way], s->right,
                  100.0 * s->right / f->items, 100 * s->interval[0], 100 * s->interval[1]);
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
        return term_fail(CHECK_FAILED, "eval: the accuracy by letter is %.4f, below --min %g", accuracy,
                         e->o->score->least);
    return DONE;
}

int eval_print_result(const struct eval *e)
{
    struct result r = {.all = figures_of(&e->all, NULL),
                       .subjects = calloc((size_t)e->n_subjects + 1, sizeof *r.subjects),
                       .chat = e->o->score->in_chat,
                       .too_long = e->too_long,
                       .context = e->context,
                       .model = model_name(e->o->model),
                       .file = e->name,
                       .seconds = e->seconds};
    int code = r.subjects ? DONE : fail_memory();

    /* items of one subject that has no name say nothing by subject */
    if (e->n_subjects > 1 || (e->n_subjects == 1 && *e->subject[0].name))
        for (; code == DONE && r.n < e->n_subjects; r.n++)
            r.subjects[r.n] = figures_of(&e->subject[r.n].tally, e->subject[r.n].name);
    if (code == DONE && e->o->json) {
        code = out_json(fields_json(result_fields, &r));
    } else if (code == DONE && e->o->lines) {
        code = out_json(fields_json(last_line_fields, &r));
    } else if (code == DONE) {
        out_fold(4);
        print_figures("all", &r.all);
        for (int i = 0; i < r.n; i++)
            print_figures(*r.subjects[i].subject ? r.subjects[i].subject : "without a subject",
                          &r.subjects[i]);
    }
    free(r.subjects);
    return code == DONE ? judge(e) : code;
}
