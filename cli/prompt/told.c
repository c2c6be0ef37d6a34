/* SPDX-License-Identifier: Apache-2.0 */
/* readout.c: see readout.h. How a stop string is found and a loop noticed is the library's. */
#define _POSIX_C_SOURCE 200809L
#include "prompt/told.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "carat_tools.h"
#include "io/input.h"
#include "prompt/prompt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/utf8.h"

/* The options about where an answer ends and what is told of its ids. */
#define AT(field) offsetof(struct told_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 230, {"--ignore-eos"}, FLAG, AT(ignore_eos), "/ " GENERATES, NULL, NULL,
     "never generate the ids that end generation", 0, 0},
    {ABOUT_GENERATION + 260, {"--stop-ids"}, TEXT, AT(stop_ids), "/ " GENERATES, "IDS", NULL,
     "ids that end generation, instead of the model's own; \"\" for none", 0, 0},
    {ABOUT_GENERATION + 270, {"--stop", "-r", "--reverse-prompt"}, TEXTS, AT(stop), GENERATES, "TEXT", NULL,
     "end the answer before TEXT, which is not printed; may be repeated up to {most} times", 0, CARAT_MOST_STOPS},
    {ABOUT_GENERATION + 280, {"--ban"}, TEXT, AT(ban), "/ " GENERATES, "IDS", NULL,
     "ids that are never generated, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {ABOUT_GENERATION + 290, {"--loop-guard"}, OFF_OR_INT, AT(loop_guard), GENERATES, "off|N", "96",
     "end an answer whose last N tokens only repeat themselves while the model is sure of them (default "
     "{default})", 1, CARAT_MOST_LOOP},
    {ABOUT_OUTPUT + 80, {"--logprobs"}, INT, AT(logprobs), "/ " DRAWS, "N", NULL,
     "print the log-probability of each token and the N most likely ones: with --json in OpenAI's form, "
     "else after the answer", 0, CARAT_MOST_LOGPROBS},
};
/* clang-format on */

const struct option_group told_group = OPTION_GROUP(rows, struct told_options, NULL);

int told_check(const struct options *o)
{
    for (int i = 0; i < o->told->stop.n; i++) {
        const char *text = o->told->stop.text[i];
        size_t n = strlen(text);
        if (n < 1 || n > CARAT_MOST_STOP_BYTES)
            return term_fail(USAGE, "option --stop: a text of %zu bytes, expected 1 to %d", n,
                             CARAT_MOST_STOP_BYTES);
        if (utf8_valid(text, n) != n)
            return term_fail(USAGE, "option --stop: byte %zu of '%.80s' is not UTF-8", utf8_valid(text, n),
                             text);
    }
    return DONE;
}

static int ban(struct told *t, const int32_t *ids, int n)
{
    for (int i = 0; i < n; i++)
        if (!push_id(&t->banned, ids[i]))
            return fail_memory();
    return DONE;
}

int told_open(struct told *t, const struct options *o, const carat_model *model, int n_vocab)
{
    const int32_t *stop;
    int code = DONE, n;

    t->o = o;
    t->model = model;
    if (o->told->ban)
        code = read_ids(o->told->ban, "--ban", &t->banned);
    for (int i = 0; i < t->banned.n && code == DONE; i++)
        if (t->banned.ids[i] < 0 || t->banned.ids[i] >= n_vocab)
            code =
                term_fail(USAGE, "option --ban: id %d, expected 0 to %d", (int)t->banned.ids[i], n_vocab - 1);
    if (code == DONE && o->told->ignore_eos) {
        n = carat_stop_ids(model, &stop);
        code = ban(t, stop, n);
    }
    return code;
}

int told_begin(struct told *t)
{
    json_decref(t->content);
    t->content = t->o->told->logprobs < 0 ? NULL : json_array();
    return t->o->told->logprobs < 0 || t->content ? DONE : fail_memory();
}

void told_options(const struct told *t, carat_generation_options *g)
{
    const struct options *o = t->o;

    g->stops = o->told->stop.n ? o->told->stop.text : NULL;
    g->n_stops = o->told->stop.n;
    g->loop_guard = o->told->loop_guard;
    g->logprobs = o->told->logprobs >= 0;
    g->top_logprobs = o->told->logprobs > 0 ? o->told->logprobs : 0;
}

/* ---- how likely tokens were ---- */

static json_t *token_json(const carat_model *model, int32_t id, float logprob)
{
    char bytes[CARAT_PIECE_BYTES];
    const size_t n = carat_piece_bytes(model, id, bytes);
    json_t *list = json_array();

    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_integer((unsigned char)bytes[i]));
    return json_pack("{s:o, s:o, s:o, s:i}", "token", json_text(bytes, n), "logprob",
                     json_real((double)logprob), "bytes", list, "id", (int)id);
}

int told_token(struct told *t, const carat_given *given)
{
    if (!t->content)
        return DONE;
    json_t *token = token_json(t->model, given->id, given->logprob), *top = json_array();
    for (int i = 0; i < given->n_top; i++)
        json_array_append_new(top, token_json(t->model, given->top[i].id, given->top[i].logprob));
    json_object_set_new(token, "top_logprobs", top);
    return json_array_append_new(t->content, token) == 0 ? DONE : fail_memory();
}

void told_json(const struct told *t, json_t *object)
{
    if (t->content && object)
        json_object_set_new(object, "logprobs", json_pack("{s:O}", "content", t->content));
}

/* " kitchen" 97.31 %, as JSON writes a string. */
static void print_likely(const json_t *token)
{
    char *text = json_dumps(json_object_get(token, "token"), JSON_ENCODE_ANY);
    double logprob = json_real_value(json_object_get(token, "logprob"));

    fprintf(stderr, "%s %.4g (%.4g %%)", text ? text : "", logprob, 100 * exp(logprob));
    free(text);
}

static void print_content(const struct told *t)
{
    const json_t *token, *other;
    size_t i, k;

    json_array_foreach(t->content, i, token)
    {
        fputs(dim_on(), stderr);
        print_likely(token);
        json_array_foreach(json_object_get(token, "top_logprobs"), k, other)
        {
            fputs(k ? ", " : ": ", stderr);
            print_likely(other);
        }
        fprintf(stderr, "%s\n", dim_off());
    }
}

/* ---- loops ---- */

static void note_loop(const struct told *t, const carat_generation_info *info, const carat_tokens *ids)
{
    const int32_t *last = ids->ids + ids->n - info->cycle;
    char list[96] = "", *text = NULL;
    size_t n_text = 0, n = 0;

    for (int i = 0; i < info->cycle && n < sizeof list - 16; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%d", i ? "," : "", (int)last[i]);
    if (n >= sizeof list - 16)
        snprintf(list + n, sizeof list - n, ",...");
    carat_detokenize(t->model, last, info->cycle, CARAT_SPECIAL, &text, &n_text, NULL);
    term_note(
        "%d token%s went round and round, which ended the answer: %s%.60s%s (%s); --loop-guard off lets it "
        "go "
        "on",
        info->cycle, info->cycle == 1 ? "" : "s", text ? "'" : "", text ? text : "", text ? "'" : "", list);
    carat_free(text);
}

void told_end(const struct told *t, const carat_generation_info *info, const carat_tokens *ids, bool prints)
{
    if (info->reason == CARAT_REASON_LOOP)
        note_loop(t, info, ids);
    if (prints && t->content)
        print_content(t);
}

void told_close(struct told *t)
{
    carat_tokens_free(&t->banned);
    json_decref(t->content);
}
