/* SPDX-License-Identifier: Apache-2.0 */
/* compare_line.c: one prompt that was compared, as a line of JSON: arrays with a number for each position,
 * both answers, where they part, whether they repeat in a cycle. QUALITY.md describes it. */
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "quality/compare/compare.h"
#include "term/interrupt.h"
#include "term/out_json.h"

enum { MOST_TEXT = 4096 /* bytes of a text in a line */ };

/* ---- what the library tells ---- */

int compared_position(void *user, void *prompt, const carat_position *position)
{
    struct compare *c = user;
    struct compared *p = prompt;

    if (p->n == p->capacity) {
        size_t more = p->capacity ? 2 * p->capacity : 64;
        carat_position *larger = realloc(p->position, more * sizeof *larger);
        if (!larger) {
            p->lost = true;
            return 1;
        }
        p->position = larger;
        p->capacity = more;
    }
    p->position[p->n++] = *position;
    c->told++;
    return interrupted();
}

static int32_t *copy_ids(const int32_t *ids, int n, bool *lost)
{
    int32_t *copy = malloc((size_t)(n + 1) * sizeof *copy);

    if (copy && n)
        memcpy(copy, ids, (size_t)n * sizeof *copy);
    *lost |= !copy;
    return copy;
}

void compared_end(void *user, void *prompt, const carat_compared *end)
{
    struct compared *p = prompt;
    (void)user;

    p->end = *end;
    snprintf(p->message, sizeof p->message, "%s", end->message);
    p->end.message = p->message;
    p->end.answer_ref = copy_ids(end->answer_ref, end->n_ref, &p->lost);
    p->end.answer_test = copy_ids(end->answer_test, end->n_test, &p->lost);
}

carat_compare_prompt compared_prompt(struct compared *p)
{
    return (carat_compare_prompt){.size = sizeof(carat_compare_prompt),
                                  .prompt = p->prompt.ids,
                                  .n_prompt = (int)p->prompt.n,
                                  .text = p->answer.n ? p->answer.ids : NULL,
                                  .n_text = (int)p->answer.n,
                                  .recorded = p->recorded,
                                  .n_recorded = p->n_recorded,
                                  .user = p,
                                  .whole = p->whole};
}

void compared_free(struct compared *p)
{
    json_decref(p->id);
    free(p->text);
    carat_tokens_free(&p->prompt);
    carat_tokens_free(&p->answer);
    free(p->position);
    free((int32_t *)p->end.answer_ref);
    free((int32_t *)p->end.answer_test);
    memset(p, 0, sizeof *p);
}

/* ---- arrays ---- */

#define METRIC(member) offsetof(carat_position, difference.member)
static const struct {
    const char *name;
    size_t place;
    enum { IS_INT, IS_ID, IS_REAL } kind;
} columns[] = {
    {"ids", offsetof(carat_position, next), IS_ID},
    {"top_ref", METRIC(top_ref), IS_ID},
    {"top_test", METRIC(top_test), IS_ID},
    {"match", METRIC(match), IS_INT},
    {"near_tie", METRIC(near_tie), IS_INT},
    {"kl", METRIC(kl), IS_REAL},
    {"kl_reverse", METRIC(kl_reverse), IS_REAL},
    {"correlation", METRIC(correlation), IS_REAL},
    {"cosine", METRIC(cosine), IS_REAL},
    {"entropy_ref", METRIC(entropy_ref), IS_REAL},
    {"entropy_test", METRIC(entropy_test), IS_REAL},
    {"margin_ref", METRIC(margin_ref), IS_REAL},
    {"margin_test", METRIC(margin_test), IS_REAL},
    {"overlap", METRIC(overlap), IS_INT},
    {"largest", METRIC(largest), IS_REAL},
    {"logprob_ref", METRIC(logprob_ref), IS_REAL},
    {"logprob_test", METRIC(logprob_test), IS_REAL},
    {"delta_p", METRIC(delta_p), IS_REAL},
    /* of prompts in which ids are left out */
    {"left_out", METRIC(left_out), IS_INT},
    {"outside", METRIC(outside), IS_REAL},
};
enum { N_COLUMNS = sizeof columns / sizeof columns[0], N_OF_WHOLE = N_COLUMNS - 2 };

static json_t *value_of(const carat_position *p, size_t column)
{
    const char *at = (const char *)p + columns[column].place;
    int32_t id;
    int i;
    double x;

    switch (columns[column].kind) {
    case IS_ID:
        memcpy(&id, at, sizeof id);
        return json_integer(id);
    case IS_INT:
        memcpy(&i, at, sizeof i);
        return json_integer(i);
    default:
        memcpy(&x, at, sizeof x);
        return json_number(x);
    }
}

static bool leaves_out(const struct compared *p)
{
    size_t i = 0;

    while (i < p->n && p->position[i].difference.left_out == 0)
        i++;
    return i < p->n;
}

/* Log-probabilities and their difference are those of the id that follows: where none does there are none. */
static bool needs_next(const char *name)
{
    return strncmp(name, "logprob", 7) == 0 || strcmp(name, "delta_p") == 0;
}

static void add_columns(json_t *line, const struct compared *p)
{
    const size_t n = leaves_out(p) ? N_COLUMNS : N_OF_WHOLE;

    for (size_t k = 0; k < n; k++) {
        json_t *list = json_array();
        for (size_t i = 0; i < p->n; i++)
            json_array_append_new(list, needs_next(columns[k].name) && p->position[i].next < 0
                                            ? json_null()
                                            : value_of(&p->position[i], k));
        json_object_set_new(line, columns[k].name, list);
    }
}

/* ---- texts ---- */

/* Text of at most MOST_TEXT bytes, whole characters. */
static json_t *short_text(const char *text, size_t n, bool *cut)
{
    *cut = n > MOST_TEXT;
    n = *cut ? MOST_TEXT : n;
    while (*cut && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return json_text(text, n);
}

static json_t *ids_text(const struct compare *c, const int32_t *ids, int n, bool *cut)
{
    char *text = NULL;
    size_t bytes = 0;

    *cut = false;
    if (n == 0 || !c->side[TEST].info.has_tokenizer ||
        carat_detokenize(c->side[TEST].model, ids, n, CARAT_SPECIAL, &text, &bytes, NULL) != CARAT_OK)
        return json_string("");
    json_t *result = short_text(text, bytes, cut);
    carat_free(text);
    return result;
}

static json_t *piece_text(const struct compare *c, int32_t id)
{
    size_t n = 0;
    const char *piece = carat_piece(c->side[TEST].model, id, &n);

    return json_text(piece ? piece : "", n);
}

/* ---- the line ---- */

/* The first position at which the highest ids differ; n: none. */
static size_t first_difference(const struct compared *p)
{
    size_t i = 0;

    while (i < p->n && !p->position[i].after_stop && p->position[i].difference.match)
        i++;
    return i < p->n && p->position[i].after_stop ? p->n : i;
}

static json_t *divergence_json(const struct compare *c, const struct compared *p)
{
    const size_t i = first_difference(p);

    if (i == p->n)
        return json_null();
    const carat_difference *d = &p->position[i].difference;
    return json_pack("{s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:b}", "index", (int)i, "id_ref", (int)d->top_ref,
                     "id_test", (int)d->top_test, "piece_ref", piece_text(c, d->top_ref), "piece_test",
                     piece_text(c, d->top_test), "margin_ref", json_number(d->margin_ref), "margin_test",
                     json_number(d->margin_test), "near_tie", d->near_tie);
}

static json_t *loop_json(const int32_t *ids, int n)
{
    carat_repetition r = {.size = sizeof r};

    if (carat_repetition_of(ids, n, &r, NULL) != CARAT_OK)
        return NULL;
    return json_pack("{s:i, s:i, s:i}", "repeated_4grams", r.repeated_4grams, "cycle", r.cycle, "cycle_start",
                     r.cycle_start);
}

static const char *status_word(carat_status status)
{
    return status == CARAT_OK          ? "ok"
           : status == CARAT_E_CONTEXT ? "context"
           : status == CARAT_E_NUMERIC ? "numeric"
                                       : "failed";
}

/* Ids of an answer, up to and with the one that ends it. Answers that have parted end each for itself. */
static int answer_length(const struct compare *c, const struct compared *p, const int32_t *ids, int n)
{
    int i = p->end.stop >= 0 ? p->end.stop : n;

    if (p->end.parted >= 0 && p->end.stop < 0)
        for (i = 0; i < n && !carat_is_stop(c->side[TEST].model, ids[i]); i++)
            continue;
    return i < n ? i + 1 : n;
}

static json_t *line_json(const struct compare *c, const struct compared *p, json_t *run)
{
    const carat_compared *e = &p->end;
    const int n_ref = answer_length(c, p, e->answer_ref, e->n_ref),
              n_test = answer_length(c, p, e->answer_test, e->n_test);
    const bool equal = n_ref == n_test && (n_ref == 0 || memcmp(e->answer_ref, e->answer_test,
                                                                (size_t)n_ref * sizeof *e->answer_ref) == 0);
    bool cut, unused;
    json_t *text = p->text ? short_text(p->text, strlen(p->text), &cut)
                           : ids_text(c, p->prompt.ids, (int)p->prompt.n, &cut);
    json_t *line =
        json_pack("{s:O, s:s, s:s, s:o, s:i}", "id", p->id, "status", status_word(e->status), "driver",
                  carat_driver_name(c->options.driver), "prompt", text, "n_prompt", (int)p->prompt.n);

    if (!line || p->lost) {
        json_decref(line);
        json_decref(run);
        return NULL;
    }
    if (cut)
        json_object_set_new(line, "prompt_cut", json_true());
    if (e->status)
        json_object_set_new(line, "message", json_text(p->message, strlen(p->message)));
    add_columns(line, p);
    json_object_set_new(line, "stop", e->stop >= 0 ? json_integer(e->stop) : json_null());
    json_object_set_new(line, "answer_ref", ids_text(c, e->answer_ref, n_ref, &unused));
    json_object_set_new(line, "answer_test", ids_text(c, e->answer_test, n_test, &unused));
    json_object_set_new(line, "answer_ref_ids", json_ids(e->answer_ref, n_ref));
    json_object_set_new(line, "answer_test_ids", json_ids(e->answer_test, n_test));
    json_object_set_new(line, "equal", json_boolean(equal));
    json_object_set_new(line, "first_divergence", divergence_json(c, p));
    json_object_set_new(line, "loop_ref", loop_json(e->answer_ref, n_ref));
    json_object_set_new(line, "loop_test", loop_json(e->answer_test, n_test));
    if (run)
        json_object_set_new(line, "run", run);
    return line;
}

char *compared_text(const struct compare *c, const struct compared *p, json_t *run)
{
    json_t *line = line_json(c, p, run);
    char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;

    json_decref(line);
    return text;
}
