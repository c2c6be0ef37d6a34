/* SPDX-License-Identifier: Apache-2.0 */
/* perplexity_print.c: what `carat perplexity` says: a line for a window or conversation with --jsonl, and the
 * result. */
#include <math.h>

#include "io/members.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "quality/perplexity.h"
#include "quality/score_options.h"
#include "term/out_json.h"
#include "term/output.h"

/* clang-format off */

/* Number of ids, their mean loss, and what follows from it. */
struct figures {
    int64_t scored;
    double loss, loss_error, perplexity, perplexity_error; /* NAN: there is none */
};
#define F(member) .at = offsetof(struct figures, member)
static const struct field figures_fields[] = {
    {"scored", FIELD_LONG, F(scored)},
    {"loss", FIELD_REAL, F(loss)},
    {"loss_error", FIELD_REAL, F(loss_error)},
    {"perplexity", FIELD_REAL, F(perplexity)},
    {"perplexity_error", FIELD_REAL, F(perplexity_error)},
    {0},
};

/* A window of the text, or a conversation. */
struct scored {
    const struct figures *figures; /* NULL: it did not fit */
    int window, first;
    const struct talk_of *talk;
};
#define S(member) .at = offsetof(struct scored, member)
static const struct field window_fields[] = {
    {"window", FIELD_INT, S(window)},
    {"first", FIELD_INT, S(first)},
    {"", FIELD_AT, S(figures), .of = figures_fields},
    {0},
};

#define T(member) .at = offsetof(struct talk_of, member)
static const struct field talk_fields[] = {
    {"line", FIELD_LONG, T(line)},
    {"turns", FIELD_INT, T(turns)},
    {"tokens", FIELD_INT, T(tokens)},
    {"status", FIELD_STRING, T(status)},
    {"id", FIELD_JSON | FIELD_OPTIONAL, T(id)},
    {0},
};
static const struct field scored_talk_fields[] = {
    {"", FIELD_AT, S(talk), .of = talk_fields},
    {"", FIELD_AT, S(figures), .of = figures_fields},
    {0},
};

/* The result as it is printed. A value below 0 does not belong to what was scored. */
struct result {
    struct figures figures;
    const char *model, *file;
    int64_t conversations, windows, context, too_long, left_over, stride;
    double seconds, tokens_per_second;
};
#define R(member) .at = offsetof(struct result, member)
static const struct field result_fields[] = {
    {"", FIELD_PART, R(figures), .of = figures_fields},
    {"model", FIELD_STRING, R(model)},
    {"file", FIELD_STRING, R(file)},
    {"conversations", FIELD_COUNT | FIELD_OPTIONAL, R(conversations)},
    {"windows", FIELD_COUNT | FIELD_OPTIONAL, R(windows)},
    {"context", FIELD_LONG, R(context)},
    {"too_long", FIELD_COUNT | FIELD_OPTIONAL, R(too_long)},
    {"left_over", FIELD_COUNT | FIELD_OPTIONAL, R(left_over)},
    {"stride", FIELD_COUNT | FIELD_OPTIONAL, R(stride)},
    {"timings.seconds", FIELD_REAL, R(seconds)},
    {"timings.tokens_per_second", FIELD_REAL, R(tokens_per_second)},
    {0},
};
static const struct field last_line_fields[] = {{"result", FIELD_PART, .at = 0, .of = result_fields}, {0}};
/* clang-format on */

static struct figures figures_of(const struct losses *l)
{
    const double mean = losses_mean(l), error = losses_error(l);

    return (struct figures){l->n, mean, error, exp(mean), error * exp(mean)};
}

/* A line for --jsonl. */
static int print_line(const struct perplexity *p, const struct field *table, const struct scored *of)
{
    if (!p->o->lines)
        return DONE;
    TRY(out_json(fields_json(table, of)));
    return out_flush() ? DONE : FAILED;
}

int perplexity_print_window(const struct perplexity *p, int number, int first, const struct losses *l)
{
    const struct figures figures = figures_of(l);

    return print_line(p, window_fields, &(struct scored){&figures, number, first, NULL});
}

int perplexity_print_talk(const struct perplexity *p, struct talk_of *t, const struct losses *l)
{
    struct figures figures;

    t->status = l ? "ok" : "context";
    if (l)
        figures = figures_of(l);
    return print_line(p, scored_talk_fields, &(struct scored){l ? &figures : NULL, 0, 0, t});
}

static struct result result_of(const struct perplexity *p)
{
    const bool talks = p->o->prompt->messages;

    return (struct result){
        .figures = figures_of(&p->all),
        .model = model_name(p->o->model),
        .file = p->name,
        .conversations = talks ? p->windows : -1,
        .windows = talks ? -1 : p->windows,
        .context = p->context,
        .too_long = talks ? p->left : -1,
        .left_over = talks ? -1 : p->left,
        .stride = p->o->score->stride ? p->o->score->stride : -1,
        .seconds = p->seconds,
        .tokens_per_second = p->seconds > 0 ? (double)p->before / p->seconds : NAN,
    };
}

static void print_text(const struct perplexity *p, struct figures f)
{
    out_fold(12);
    out_print("perplexity  %.4f", f.perplexity);
    if (!isnan(f.loss_error))
        out_print(" +/- %.4f", f.perplexity_error);
    out_print("\nloss        %.6f", f.loss);
    if (!isnan(f.loss_error))
        out_print(" +/- %.6f", f.loss_error);
    out_print(" nats an id\nscored      %lld ids in %d ", (long long)f.scored, p->windows);
    if (p->o->prompt->messages)
        out_print("conversation%s\n", p->windows == 1 ? "" : "s");
    else
        out_print("window%s of %d\n", p->windows == 1 ? "" : "s", p->context);
    if (p->left && !p->o->prompt->messages)
        out_print("left over   %d ids\n", p->left);
}

int perplexity_print_result(const struct perplexity *p)
{
    const struct result result = result_of(p);
    int code = DONE;

    if (p->o->json)
        code = out_json(fields_json(result_fields, &result));
    else if (p->o->lines)
        code = out_json(fields_json(last_line_fields, &result));
    else if (p->all.n)
        print_text(p, result.figures);
    if (code == DONE && p->left && p->o->prompt->messages)
        code = fail_as(FAILED, CARAT_E_CONTEXT,
                       "%s: %d of %d conversations are longer than the context of %d; line %ld has %d tokens",
                       p->name, p->left, p->left + p->windows, p->context, p->long_line, p->long_ids);
    return code;
}
