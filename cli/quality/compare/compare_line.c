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
    return term_interrupted();
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

enum value { IS_INT, IS_REAL, IS_OF_NEXT /* real, of the id that follows: where none does there is none */ };
_Static_assert(sizeof(int) == sizeof(int32_t), "an id is read as an int");
#define PLACE(which, name, member, is) [which] = {offsetof(carat_position, member), is},
static const struct {
    size_t place;
    enum value is;
} columns[N_COLUMNS] = {RESULT_COLUMNS(PLACE)};

static bool leaves_out(const struct compared *p)
{
    size_t i = 0;

    while (i < p->n && p->position[i].difference.left_out == 0)
        i++;
    return i < p->n;
}

static void add_columns(struct result *line, const struct compared *p)
{
    const int n = leaves_out(p) ? N_COLUMNS : OF_LEFT_OUT;

    for (int k = 0; k < n; k++) {
        line->column[k] = json_array();
        json_array_append_new(line->value, line->column[k]);
        for (size_t i = 0; i < p->n; i++) {
            const void *at = (const char *)&p->position[i] + columns[k].place;
            const bool none = columns[k].is == IS_OF_NEXT && p->position[i].next < 0;
            json_array_append_new(line->column[k], columns[k].is == IS_INT ? json_integer(*(const int *)at)
                                                   : none                  ? json_null()
                                                          : json_number(*(const double *)at));
        }
    }
}

/* ---- texts ---- */

/* At most MOST_TEXT bytes of a text, whole characters. */
static struct words short_text(const char *text, size_t n, bool *cut)
{
    *cut = n > MOST_TEXT;
    n = *cut ? MOST_TEXT : n;
    while (*cut && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    return (struct words){text, n};
}

/* *text is for carat_free. */
static struct words ids_text(const struct compare *c, const int32_t *ids, int n, char **text, bool *cut)
{
    size_t bytes = 0;

    *cut = false;
    if (n == 0 || !c->side[TEST].info.has_tokenizer ||
        carat_detokenize(c->side[TEST].model, ids, n, CARAT_SPECIAL, text, &bytes, NULL) != CARAT_OK)
        return words_of("");
    return short_text(*text, bytes, cut);
}

static struct words piece_text(const struct compare *c, int32_t id)
{
    size_t n = 0;
    const char *piece = carat_piece(c->side[TEST].model, id, &n);

    return (struct words){piece ? piece : "", n};
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

static struct divergence divergence_of(const struct compare *c, const struct compared *p)
{
    const size_t i = first_difference(p);

    if (i == p->n)
        return (struct divergence){0};
    const carat_difference *d = &p->position[i].difference;
    return (struct divergence){.there = true,
                               .index = (int64_t)i,
                               .id_ref = d->top_ref,
                               .id_test = d->top_test,
                               .piece_ref = piece_text(c, d->top_ref),
                               .piece_test = piece_text(c, d->top_test),
                               .margin_ref = d->margin_ref,
                               .margin_test = d->margin_test,
                               .near_tie = d->near_tie};
}

static struct loop loop_of(const int32_t *ids, int n)
{
    carat_repetition r = {.size = sizeof r};

    if (carat_repetition_of(ids, n, &r, NULL) != CARAT_OK)
        return (struct loop){0};
    return (struct loop){true, r.repeated_4grams, r.cycle, r.cycle_start};
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

char *compared_text(const struct compare *c, const struct compared *p, bool first)
{
    const carat_compared *e = &p->end;
    const int32_t *const ids[SIDES] = {e->answer_ref, e->answer_test};
    const int n_ids[SIDES] = {e->n_ref, e->n_test};
    char *texts[SIDES + 1] = {NULL}, *text = NULL;
    int n[SIDES];
    bool unused;
    struct result line = {.id = p->id,
                          .status = words_of(status_word(e->status)),
                          .driver = words_of(carat_driver_name(c->options.driver)),
                          .n_prompt = (int)p->prompt.n,
                          .stop = e->stop,
                          .first = divergence_of(c, p)};

    if (p->lost)
        return NULL;
    line.value = json_array();
    line.prompt = p->text ? short_text(p->text, strlen(p->text), &line.prompt_cut)
                          : ids_text(c, p->prompt.ids, (int)p->prompt.n, &texts[SIDES], &line.prompt_cut);
    if (e->status)
        line.message = words_of(p->message);
    add_columns(&line, p);
    for (int i = 0; i < SIDES; i++) {
        n[i] = answer_length(c, p, ids[i], n_ids[i]);
        line.answer[i] = ids_text(c, ids[i], n[i], &texts[i], &unused);
        line.answer_ids[i] = json_ids(ids[i], n[i]);
        json_array_append_new(line.value, line.answer_ids[i]);
        line.loop[i] = loop_of(ids[i], n[i]);
    }
    line.equal = n[REF] == n[TEST] &&
                 (n[REF] == 0 || memcmp(ids[REF], ids[TEST], (size_t)n[REF] * sizeof *ids[REF]) == 0);
    if (first)
        line.run = c->run;
    text = fields_text(result_fields, &line, JSON_COMPACT | JSON_REAL_PRECISION(17));
    result_free(&line);
    for (int i = 0; i <= SIDES; i++)
        carat_free(texts[i]);
    return text;
}
