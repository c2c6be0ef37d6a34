/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c: what check_answers.py asks a model for: answers that have a form. The argument is the model's
 * path. Standard input is lines:
 *
 *     s TEXT      a schema becomes the form; d: with the white space of json.dumps; t: tools, `required`;
 *                 r: a regular expression -> "ok SHORTEST" or "error MESSAGE"
 *     p SEED T    an answer without a form, at temperature T -> "REASON IDS TEXT"; "0 0 " where a token in it
 *                 has no text
 *     a SEED T N  one that has the form within N ids more than the shortest takes, drawn without drafts, with
 *                 some and with drafts of one id, and beside it the free one -> "REASON IDS FREE TEXT", or
 *                 "error MESSAGE" where these differ. FREE: how many ids the free answer has in common with
 *                 it, with a star where it is the whole answer. TEXT of tools is a list of the calls in JSON.
 *                 f: likewise, from the ids that the model is usually drawn from, not from all
 *     i SEED TEXT cuts the text into ids in ten ways at random: whether each id may come, and the end behind
 *                 the last one -> "ok" or "error MESSAGE"
 *
 * Texts stand with \n and \\ for line breaks and backslashes. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_constrain.h"
#include "carat_tools.h"
#include "checkpoint/checkpoint.h"
#include "text/tokenizer/speller.h"

enum { MOST = 600, FEW = 1 };

static carat_model *model;
static carat_engine *engine;
static carat_session *session;
static carat_tokens prompt;
static carat_constraint *constraint;
static carat_matcher *matcher;
static char *tools; /* NULL: the form is none of calls */
static carat_error err;

static void need(carat_status status)
{
    if (status == CARAT_OK)
        return;
    fprintf(stderr, "%s\n", err.message);
    exit(1);
}

static void forget(void)
{
    carat_matcher_close(matcher);
    carat_constraint_close(constraint);
    free(tools);
    matcher = NULL;
    constraint = NULL;
    tools = NULL;
}

static void read_form(char kind, const char *text)
{
    carat_constraint_options o;

    forget();
    carat_constraint_options_default(&o);
    o.form = kind == 't' ? CARAT_FORM_TOOLS : kind == 'r' ? CARAT_FORM_REGEX : CARAT_FORM_SCHEMA;
    o.json_dumps = kind == 'd';
    o.text = text;
    o.tool_choice = "required";
    if (carat_constraint_create(&constraint, model, &o, &err)) {
        printf("error %s\n", err.message);
        return;
    }
    need(carat_matcher_create(&matcher, constraint, &err));
    tools = kind == 't' ? strdup(text) : NULL;
    printf("ok %d\n", carat_matcher_shortest(matcher));
}

/* ---- answers ---- */

struct answer {
    int32_t id[MOST];
    int n;
    carat_generation_info info;
};

static int take(void *user, const carat_given *given)
{
    struct answer *a = user;

    a->id[a->n++] = given->id;
    return 0;
}

static bool generate(struct answer *a, carat_sampling *s, int most, carat_lookup lookup, int draft_max)
{
    carat_generation_options o;
    carat_generation *g;

    a->n = 0;
    carat_generation_options_default(&o);
    o.sampling = s;
    o.max_tokens = most;
    o.on_token = take;
    o.user = a;
    o.lookup = lookup;
    o.draft_max = draft_max;
    need(carat_sync(session, prompt.ids, prompt.n, NULL, &err));
    need(carat_generation_create(&g, session, &o, &err));
    const carat_status status = carat_generate(g, &err);
    carat_generation_info_default(&a->info);
    if (!status)
        need(carat_generation_get_info(g, &a->info, &err));
    carat_generation_close(g);
    return status == CARAT_OK;
}

static void put_escaped(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n' || text[i] == '\\')
            printf(text[i] == '\n' ? "\\n" : "\\\\");
        else
            putchar(text[i]);
}

static void put_calls(const struct answer *a)
{
    carat_calls calls = {.size = sizeof(carat_part)};

    need(carat_parse_calls(model, a->id, a->n, tools, &calls, &err));
    printf("[");
    for (int i = 0; i < calls.n; i++) {
        const carat_part *p = &calls.part[i];
        printf("%s", i ? ", " : "");
        if (p->is_call && !p->error) {
            printf("{\"name\": \"%s\", \"arguments\": ", p->name);
            put_escaped(p->arguments, strlen(p->arguments));
            printf("}");
        } else {
            putchar('"');
            for (const char *c = p->error ? p->error : "a text"; *c; c++)
                putchar(*c == '"' || *c == '\\' ? '\'' : *c);
            putchar('"');
        }
    }
    printf("]");
    carat_calls_free(&calls);
}

static void put_answer(const struct answer *a, bool calls)
{
    char *text = NULL;
    size_t n = 0;

    if (calls) {
        put_calls(a);
    } else {
        need(carat_detokenize(model, a->id, a->n, 0, &text, &n, &err));
        put_escaped(text, n);
        carat_free(text);
    }
    printf("\n");
}

static bool same(const struct answer *a, const struct answer *b)
{
    return a->n == b->n && memcmp(a->id, b->id, (size_t)a->n * sizeof *a->id) == 0 &&
           a->info.reason == b->info.reason && a->info.forced == b->info.forced;
}

/* How far the free answer and the other one go together, and that they part where the form has to; *whole
 * where they never do. -1: they part without a need. */
static int compare_free(const struct answer *one, const struct answer *other, int most, bool *whole)
{
    carat_matcher *at;
    int n = 0;

    need(carat_matcher_copy(&at, matcher, &err));
    while (n < one->n && n < other->n && one->id[n] == other->id[n])
        need(carat_matcher_accept(at, one->id[n++], &err));
    const bool complete = carat_matcher_complete(at), ended = n == other->n;
    *whole = ended && n == one->n && complete;
    bool right;
    if (!ended)
        right = !carat_matcher_allows(at, other->id[n], most - n);
    else /* the free one ended by itself, or had no more ids */
        right = other->info.reason == CARAT_REASON_LENGTH || !complete || n == one->n;
    carat_matcher_close(at);
    return right ? n : -1;
}

/* wide: from all ids, else from those that the model is usually drawn from. */
static void answer(uint64_t seed, float temperature, int more, bool wide)
{
    static struct answer plain, drafted, by_one, unbound;
    carat_sampling s;
    const int most = carat_matcher_shortest(matcher) + more;
    bool whole = false;

    if (most > MOST) {
        printf("error too long\n");
        return;
    }
    carat_sampling_default(model, &s);
    s.temperature = temperature;
    s.top_k = wide ? 0 : s.top_k;
    s.top_p = wide ? 1 : s.top_p;
    s.seed = seed;
    const bool ok = generate(&unbound, &s, most, CARAT_LOOKUP_OFF, 0);
    s.matcher = matcher;
    if (!ok || !generate(&plain, &s, most, CARAT_LOOKUP_OFF, 0) ||
        !generate(&drafted, &s, most, CARAT_LOOKUP_ON, 0) ||
        !generate(&by_one, &s, most, CARAT_LOOKUP_ON, FEW)) {
        printf("error %s\n", err.message);
        return;
    }
    const int common = compare_free(&plain, &unbound, most, &whole);
    if (!same(&plain, &drafted) || !same(&plain, &by_one))
        printf("error drafts change the answer\n");
    else if (common < 0)
        printf("error what the form allows was changed\n");
    else if (plain.n > most)
        printf("error %d ids, expected at most %d\n", plain.n, most);
    else if (!plain.info.complete)
        printf("error the answer is not complete\n");
    else {
        printf("%d %d %d%s ", (int)plain.info.reason, plain.n, common, whole ? "*" : "");
        put_answer(&plain, tools != NULL);
    }
}

static void free_answer(uint64_t seed, float temperature)
{
    static struct answer a;
    carat_sampling s;

    carat_sampling_default(model, &s);
    s.temperature = temperature;
    s.seed = seed;
    (void)generate(&a, &s, 200, CARAT_LOOKUP_OFF, 0);
    for (int i = 0; i < a.n; i++) {
        char bytes[CT_TOKEN_BYTES];
        if (ct_tokenizer_bytes(model->tokenizer, a.id[i], bytes) == 0) {
            printf("0 0 \n");
            return;
        }
    }
    printf("%d %d ", (int)a.info.reason, a.n);
    put_answer(&a, false);
}

/* ---- texts in ids of any spelling ---- */

static uint64_t state;
static uint32_t draw(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

/* One more way to cut a text: at each place one of the ids whose bytes stand there. */
static int cut(const char *text, size_t n, int32_t *ids)
{
    char bytes[CT_TOKEN_BYTES];
    int count = 0;

    for (size_t at = 0; at < n;) {
        int32_t chosen = -1;
        size_t length = 0;
        uint32_t fitting = 0;
        for (int32_t id = 0; id < ct_tokenizer_size(model->tokenizer); id++) {
            const size_t k = ct_tokenizer_bytes(model->tokenizer, id, bytes);
            if (k == 0 || k > n - at || memcmp(bytes, text + at, k) != 0 || draw() % ++fitting != 0)
                continue;
            chosen = id;
            length = k;
        }
        if (chosen < 0)
            return -1;
        ids[count++] = chosen;
        at += length;
    }
    return count;
}

/* How many of the ids fit, each within the number of those that remain or more; *complete: behind the last
 * one the answer may end. */
static int count_fitting(const int32_t *ids, int n, bool *complete)
{
    carat_matcher *at;
    int i = 0;

    need(carat_matcher_copy(&at, matcher, &err));
    while (i < n && carat_matcher_allows(at, ids[i], 0)) {
        if (i % 16 == 0 && !(carat_matcher_mask(at, 0)[ids[i] / 64] >> ids[i] % 64 & 1))
            break;
        need(carat_matcher_accept(at, ids[i++], &err));
    }
    *complete = carat_matcher_complete(at);
    carat_matcher_close(at);
    return i;
}

static void take_ids(const char *text, size_t n)
{
    int32_t *ids = malloc((n + 1) * sizeof *ids);
    char *back;
    size_t n_back;
    bool complete = false;

    for (int way = 0; way < 10; way++) {
        const int count = cut(text, n, ids), fit = count_fitting(ids, count, &complete);
        if (fit < count || !complete) {
            printf("error way %d: %d of %d ids fit%s\n", way, fit, count, complete ? "" : ", not complete");
            free(ids);
            return;
        }
        need(carat_detokenize(model, ids, count, 0, &back, &n_back, &err));
        if (n_back != n || memcmp(back, text, n) != 0) {
            fprintf(stderr, "the ids have another text\n");
            exit(1);
        }
        carat_free(back);
    }
    free(ids);
    printf("ok\n");
}

/* In place; returns the length. */
static size_t unescape(char *text)
{
    char *to = text;

    for (const char *c = text; *c; c++)
        *to++ = *c == '\\' ? (*++c == 'n' ? '\n' : *c) : *c;
    *to = 0;
    return (size_t)(to - text);
}

static void obey(char *line)
{
    char *rest = line + 2;

    if (strchr("sdtr", line[0])) {
        (void)unescape(rest);
        read_form(line[0], rest);
        return;
    }
    state = strtoull(rest, &rest, 10);
    if (line[0] == 'i') {
        const size_t n = unescape(++rest);
        take_ids(rest, n);
        return;
    }
    const float temperature = strtof(rest, &rest);
    if (line[0] == 'p')
        free_answer(state, temperature);
    else
        answer(state, temperature, (int)strtol(rest, NULL, 10), line[0] == 'a');
}

int main(int argc, char **argv)
{
    const carat_message message = {.role = "user", .content = "Hello"};
    carat_engine_options o;
    char *line = NULL;
    size_t room = 0;

    if (argc != 2)
        return 2;
    need(carat_model_open(&model, argv[1], NULL, &err));
    carat_engine_options_default(&o);
    o.threads = 1;
    o.context = 1024;
    need(carat_engine_create(&engine, model, &o, &err));
    need(carat_session_create(&session, engine, NULL, &err));
    need(carat_render(model, &message, sizeof message, 1, NULL, &prompt, NULL, &err));
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 1;) {
        line[n - 1] = 0;
        obey(line);
        fflush(stdout);
    }
    free(line);
    forget();
    carat_tokens_free(&prompt);
    carat_session_close(session);
    carat_engine_close(engine);
    carat_model_close(model);
    return 0;
}
