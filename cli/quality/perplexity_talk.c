/* SPDX-License-Identifier: Apache-2.0 */
/* perplexity_talk.c: the model's turns of conversations. A turn is what the template adds to the prompt
 * when the model's message is there: the conversation is rendered up to it and once more with it, and the
 * ids are compared. It ends with the id that ends generation; what the template puts behind that, no model
 * writes. */
#include <stdlib.h>
#include <string.h>

#include "io/json_lines.h"
#include "io/members.h"
#include "model/engine.h"
#include "prompt/prompt.h"
#include "quality/perplexity.h"
#include "term/interrupt.h"

struct turn {
    carat_tokens ids; /* from the beginning of the conversation to the end of the turn */
    int from;         /* first id of the turn */
    size_t talk;
};

struct talks {
    struct perplexity *p;
    struct json_lines lines;
    struct turn *turn; /* [n_turns] */
    struct talk_of *talk;
    size_t n_turns, n_talks, turns_room, talks_room;
    int longest; /* turn, with what stands before it */
};

/* One more element behind an array of n; false when memory is out. */
static bool grow(void **array, size_t n, size_t *room, size_t size)
{
    if (n == *room) {
        size_t more = *room ? *room * 2 : 64;
        void *larger = realloc(*array, more * size);
        if (!larger)
            return false;
        *array = larger;
        *room = more;
    }
    memset((char *)*array + n * size, 0, size);
    return true;
}

/* ---- from lines to turns ---- */

/* The first n messages as ids; open: the model's turn begins behind them. */
static int render_first(struct talks *t, const json_t *messages, size_t n, const char *tools, bool open,
                        carat_tokens *ids)
{
    carat_render_options options;
    carat_render_options_default(&options);
    carat_error err;
    json_t *some = json_array();
    char *text;

    for (size_t i = 0; i < n; i++)
        json_array_append(some, json_array_get(messages, i));
    text = some ? json_dumps(some, JSON_COMPACT) : NULL;
    json_decref(some);
    if (!text)
        return fail_memory();
    options.tools = tools;
    options.chat_template = t->p->o->prompt->chat_template;
    options.no_generation_prompt = !open;
    options.progress = stop_when_interrupted;
    carat_status status = carat_render_json(t->p->model, text, &options, ids, NULL, &err);
    free(text);
    if (status == CARAT_E_ARGUMENT) /* what the library says of tools begins with that word */
        return json_lines_fail(
            &t->lines,
            json_lines_byte(&t->lines, strncmp(err.message, "tools", 5) ? "messages" : "tools", -1), "%.400s",
            err.message);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* The turn of message i. */
static int add_turn(struct talks *t, const json_t *messages, size_t i, const char *tools)
{
    carat_tokens before = {0};

    if (!grow((void **)&t->turn, t->n_turns, &t->turns_room, sizeof *t->turn))
        return fail_memory();
    struct turn *turn = &t->turn[t->n_turns++];
    turn->talk = t->n_talks;
    int code = render_first(t, messages, i, tools, true, &before);
    if (code == DONE)
        code = render_first(t, messages, i + 1, tools, false, &turn->ids);
    while (turn->from < before.n && turn->from < turn->ids.n &&
           before.ids[turn->from] == turn->ids.ids[turn->from])
        turn->from++;
    carat_tokens_free(&before);
    int end = turn->ids.n;
    while (end > turn->from && !carat_is_stop(t->p->model, turn->ids.ids[end - 1]))
        end--;
    turn->ids.n = end > turn->from ? end : turn->ids.n;
    if (code == DONE && (turn->from == 0 || turn->from == turn->ids.n))
        code = json_lines_fail(&t->lines, json_lines_byte(&t->lines, "messages", (int)i),
                               "message %zu is the model's, and the template writes nothing for it", i);
    t->longest = turn->ids.n > t->longest ? turn->ids.n : t->longest;
    return code;
}

/* Members that a line may have; a line without an object is the messages themselves. */
struct talk_line {
    json_t *id, *messages, *tools;
};
static const struct field line_fields[] = {
    {"id", FIELD_JSON, .at = offsetof(struct talk_line, id)},
    {"messages", FIELD_JSON, .at = offsetof(struct talk_line, messages)},
    {"tools", FIELD_JSON, .at = offsetof(struct talk_line, tools)},
    {0},
};

static bool is_models(struct words role)
{
    return words_are(role, "assistant") || words_are(role, "model");
}

/* Each turn of the model. */
static int add_turns(struct talks *t, struct talk_of *talk, const struct talk_line *l, const char *tools)
{
    static const struct field role[] = {{"role", FIELD_WORDS, .at = 0}, {0}};
    int code = DONE;

    for (size_t i = 0; i < json_array_size(l->messages) && code == DONE; i++) {
        struct words who;
        fields_read(role, &who, json_array_get(l->messages, i));
        if (is_models(who)) {
            code = add_turn(t, l->messages, i, tools);
            talk->turns++;
        }
    }
    if (code == DONE && talk->turns == 0)
        code = json_lines_fail(&t->lines, json_lines_byte(&t->lines, "messages", -1),
                               "no message is the model's, with the role \"assistant\"");
    return code;
}

static int add_talk(struct talks *t, json_t *line)
{
    struct talk_line l;
    char *declared = NULL;

    fields_read(line_fields, &l, line);
    if (json_is_array(line))
        l.messages = line;
    if (!json_is_array(l.messages))
        return json_lines_fail(&t->lines, json_lines_byte(&t->lines, "messages", -1),
                               "there is no list \"messages\"");
    if (!grow((void **)&t->talk, t->n_talks, &t->talks_room, sizeof *t->talk) ||
        (l.tools && !json_is_null(l.tools) &&
         !(declared = json_dumps(l.tools, JSON_COMPACT | JSON_ENCODE_ANY))))
        return fail_memory();
    struct talk_of *talk = &t->talk[t->n_talks];
    *talk = (struct talk_of){.id = json_incref(l.id), .line = t->lines.number, .first = t->n_turns};
    int code = add_turns(t, talk, &l, declared);
    free(declared);
    t->n_talks++;
    return code;
}

static int read_talks(struct talks *t)
{
    int code = json_lines_open(&t->lines, t->p->path);

    while (code == DONE && json_lines_next(&t->lines)) {
        json_t *value = json_lines_value(&t->lines, &code);
        if (code == DONE)
            code = add_talk(t, value);
        json_decref(value);
        if (code == DONE && term_interrupted())
            code = INTERRUPTED;
    }
    return code;
}

/* ---- scoring ---- */

static int score_talk(struct talks *t, struct talk_of *talk)
{
    const struct turn *turn = &t->turn[talk->first];
    struct perplexity *p = t->p;
    struct losses l = {0};

    for (int i = 0; i < talk->turns; i++)
        talk->tokens = turn[i].ids.n > talk->tokens ? turn[i].ids.n : talk->tokens;
    if (talk->tokens > p->context) {
        if (p->left++ == 0) {
            p->long_line = (long)talk->line;
            p->long_ids = talk->tokens;
        }
        return perplexity_print_talk(p, talk, NULL);
    }
    for (int i = 0; i < talk->turns; i++)
        TRY(perplexity_score(p, turn[i].ids.ids, turn[i].from, turn[i].ids.n, "line", (long)talk->line, &l));
    p->windows++;
    losses_add(&p->all, &l);
    return perplexity_print_talk(p, talk, &l);
}

static int score_talks(struct talks *t)
{
    struct perplexity *p = t->p;
    const int most =
        options_given(p->o, &p->o->engine->context) ? p->o->engine->context : p->info.max_context;
    int code;

    p->context = t->longest < most ? t->longest : most;
    for (size_t i = 0; i < t->n_turns; i++)
        p->total += (size_t)t->turn[i].ids.n;
    code = perplexity_begin(p, p->context, p->context);
    for (size_t i = 0; i < t->n_talks && code == DONE; i++)
        code = score_talk(t, &t->talk[i]);
    return code;
}

int perplexity_of_talks(struct perplexity *p)
{
    struct talks t = {.p = p};
    int code = read_talks(&t);

    if (code == DONE)
        code = score_talks(&t);
    for (size_t i = 0; i < t.n_turns; i++)
        carat_tokens_free(&t.turn[i].ids);
    for (size_t i = 0; i < t.n_talks; i++)
        json_decref(t.talk[i].id);
    free(t.turn);
    free(t.talk);
    json_lines_close(&t.lines);
    return code;
}
