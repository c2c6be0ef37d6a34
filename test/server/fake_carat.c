/* SPDX-License-Identifier: Apache-2.0 */
/* fake_carat.c: see fake_carat.h. What callers must not do ends the program: a session that is closed under a
 * generation, an engine that is closed under a session. */
#include "fake_carat.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "text/chat/talk.h"
#include "carat_constrain.h"
#include "carat_embed.h"
#include "carat_generate.h"
#include "carat_quality.h"
#include "carat_receipt.h"
#include "carat_tools.h"

enum { BYTES = 256, BOS = BYTES, EOS, VOCAB, MOST_PIECES = 8, BLOCK = 256 };

/* ---- scripts ---- */

enum ending { STOPS, GOES_ON, GETS_NAN, GETS_ERROR };

static char flood[FAKE_FLOOD + 1]; /* a long piece */

/* What is given, an id a piece; then the ending, or the last piece again and again. */
static const struct script {
    const char *name, *piece[MOST_PIECES];
    enum ending ending;
    int thoughts;     /* of the first pieces */
    int sleep_ms;     /* before each */
    const char *rest; /* that is held back to the end */
} scripts[] = {
    {"plain", {"Hello", ", ", "world", "!"}, STOPS, 0, 0, ""},
    {"nothing", {NULL}, STOPS, 0, 0, ""},
    {"bad", {"a\xff", "\xe2\x82", "b\xc0\xaf", "\xed\xa0\x80", "c\xf4\x90", "\x80"}, STOPS, 0, 0, "\xe2\x82"},
    {"lines",
     {"data: x\n\n", "\n", "\r\n\r\n", "event: y\n", ": z\n\n", "\"\\\x01\x7f"},
     STOPS,
     0,
     0,
     "\n\n"},
    {"call", {" {\"name\"", ": \"f\", ", "\"parameters\": {}}"}, STOPS, 0, 0, ""},
    {"thought", {"hm", "\xff", "m", "yes"}, STOPS, 3, 0, ""},
    {"endless", {"x"}, GOES_ON, 0, 1, ""},
    {"slow", {"x", "y", "z"}, STOPS, 0, 30, ""},
    {"flood", {flood}, GOES_ON, 0, 0, ""},
    {"nan", {"a", "b"}, GETS_NAN, 0, 0, ""},
    {"nan_first", {NULL}, GETS_NAN, 0, 0, ""},
    {"error", {"a", "b"}, GETS_ERROR, 0, 0, ""},
    {"cramped", {"at", " last"}, STOPS, 0, 0, ""},
    {"starved", {NULL}, STOPS, 0, 0, ""},
};

/* The script that a text ends with. */
static const struct script *script_of(const int32_t *ids, int n)
{
    char name[16];
    int at = n;

    while (at > 0 && !(ids[at - 1] == '!' && (at == 1 || ids[at - 2] == '\n' || ids[at - 2] >= BYTES)))
        at--;
    for (size_t i = 0; at > 0 && i < CT_COUNT(scripts); i++) {
        int k = 0;
        while (k < (int)sizeof name - 1 && at + k < n &&
               (ids[at + k] == '_' || (ids[at + k] >= 'a' && ids[at + k] <= 'z'))) {
            name[k] = (char)ids[at + k];
            k++;
        }
        name[k] = 0;
        if (strcmp(name, scripts[i].name) == 0)
            return &scripts[i];
    }
    return &scripts[0];
}

/* Piece i of a script; NULL: it has ended. */
static const char *piece_of(const struct script *s, int i)
{
    int n = 0;

    while (n < MOST_PIECES && s->piece[n])
        n++;
    return i < n ? s->piece[i] : s->ending == GOES_ON ? s->piece[n - 1] : NULL;
}

/* ---- objects ---- */

struct carat_engine {
    pthread_mutex_t lock;
    pthread_cond_t may_pass;
    int most_sessions, context, blocks;
    atomic_int sessions, reserved, passes;
    int holds;
};

struct carat_session {
    carat_engine *engine;
    int32_t *ids;
    int n, reserved, generations; /* reserved: blocks */
};

struct carat_generation {
    carat_session *session;
    carat_generation_options options;
    int left, given;
    carat_reason reason;
};

struct carat_constraint {
    int forms;
};
struct carat_matcher {
    int places;
};
struct carat_receipt {
    int answers;
};

static void must(bool condition)
{
    if (!condition)
        abort();
}

static carat_status fail(carat_error *err, carat_status code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}

carat_engine *fake_engine(int sessions, int context, int positions)
{
    carat_engine *e = calloc(1, sizeof *e);

    must(e && pthread_mutex_init(&e->lock, NULL) == 0 && pthread_cond_init(&e->may_pass, NULL) == 0);
    e->most_sessions = sessions;
    e->context = context;
    e->blocks = positions / BLOCK;
    memset(flood, '~', FAKE_FLOOD);
    return e;
}

void fake_engine_free(carat_engine *e)
{
    must(e->sessions == 0 && e->reserved == 0);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->may_pass);
    free(e);
}

const carat_model *fake_model(void)
{
    static const char any;

    return (const carat_model *)(const void *)&any;
}

int fake_sessions(const carat_engine *e)
{
    return e->sessions;
}

int fake_passes(const carat_engine *e)
{
    return e->passes;
}

void fake_hold(carat_engine *e, int holds)
{
    pthread_mutex_lock(&e->lock);
    e->holds = holds;
    pthread_cond_broadcast(&e->may_pass);
    pthread_mutex_unlock(&e->lock);
}

/* ---- carat.h: model and text ---- */

void carat_tokens_free(carat_tokens *t)
{
    free(t->ids);
    *t = (carat_tokens){0};
}

int carat_stop_ids(const carat_model *model, const int32_t **ids)
{
    static const int32_t none;

    (void)model;
    *ids = &none;
    return 0;
}

carat_status carat_model_get_info(const carat_model *model, carat_model_info *info, carat_error *err)
{
    (void)model;
    (void)err;
    *info = (carat_model_info){.size = sizeof *info,
                               .architecture = "fake",
                               .container = "none",
                               .name = "fake",
                               .tokenizer = "bytes",
                               .chat_template = "fake",
                               .template_origin = "",
                               .packed_path = "",
                               .content = "",
                               .n_vocab = VOCAB,
                               .n_text_vocab = VOCAB,
                               .max_context = 1 << 20,
                               .has_tokenizer = 1,
                               .has_chat_template = 1,
                               .can_think = 1,
                               .bos = BOS};
    return CARAT_OK;
}

static void push(carat_tokens *t, int32_t id)
{
    if (t->n == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 64;
        t->ids = realloc(t->ids, (size_t)t->capacity * sizeof *t->ids);
        must(t->ids != NULL);
    }
    t->ids[t->n++] = id;
}

carat_status carat_tokenize(const carat_model *model, const char *text, size_t n, int flags,
                            carat_tokens *out, carat_error *err)
{
    (void)model;
    (void)err;
    if (flags & CARAT_BOS)
        push(out, BOS);
    for (size_t i = 0; i < n; i++)
        push(out, (unsigned char)text[i]);
    return CARAT_OK;
}

carat_status carat_detokenize(const carat_model *model, const int32_t *ids, int n_ids, int flags, char **text,
                              size_t *n, carat_error *err)
{
    int at = 0;

    (void)model;
    (void)flags;
    (void)err;
    must((*text = malloc((size_t)n_ids + 1)) != NULL);
    for (int i = 0; i < n_ids; i++)
        if (ids[i] < BYTES)
            (*text)[at++] = (char)ids[i];
    (*text)[at] = 0;
    *n = (size_t)at;
    return CARAT_OK;
}

const char *carat_piece(const carat_model *model, int32_t id, size_t *n)
{
    static const char letters[] = "a";

    (void)model;
    *n = id < BYTES;
    return letters;
}

size_t carat_piece_bytes(const carat_model *model, int32_t id, char out[CARAT_PIECE_BYTES])
{
    (void)model;
    out[0] = (char)id;
    return id < BYTES;
}

carat_status carat_model_get_template(const carat_model *model, char **text, carat_error *err)
{
    (void)model;
    (void)err;
    *text = NULL;
    return CARAT_OK;
}

static atomic_int renders;

int fake_renders(void)
{
    return atomic_load(&renders);
}

/* A line for each text of a message. */
carat_status carat_talk_render(const carat_model *model, carat_talk *talk,
                               const carat_render_options *options, carat_tokens *ids, char **text,
                               carat_error *err)
{
    carat_tokens line = {0};
    carat_status status = CARAT_OK;
    size_t n;
    int i = 0;

    atomic_fetch_add(&renders, 1);
    push(&line, BOS);
    CT_JSON_EACH(message, ct_talk_list(talk))
    {
        const struct ct_json_value *content = ct_json_get(message, "content");
        if (options->begins)
            push(options->begins, i ? line.n : 0);
        if (!ct_json_is(content, CT_JSON_STRING) && !ct_json_is(content, CT_JSON_ARRAY)) {
            status = fail(err, CARAT_E_ARGUMENT, "messages[%d].content: expected a text", i);
            break;
        }
        carat_tokenize(model, content->s, ct_json_is(content, CT_JSON_STRING) ? content->n : 0, 0, &line,
                       err);
        CT_JSON_EACH(part, content)
        {
            const struct ct_str s = ct_json_str(ct_json_get(part, "text"));
            carat_tokenize(model, s.s, s.n, 0, &line, err);
        }
        push(&line, '\n');
        i++;
    }
    for (int k = 0; status == CARAT_OK && ids && k < line.n; k++)
        push(ids, line.ids[k]);
    if (status == CARAT_OK && text)
        carat_detokenize(model, line.ids, line.n, 0, text, &n, err);
    carat_tokens_free(&line);
    return status;
}

/* ---- carat.h: engine and sessions ---- */

int carat_engine_context(const carat_engine *e)
{
    return e->context;
}

carat_status carat_engine_use(carat_engine *e, carat_use *use, carat_error *err)
{
    (void)err;
    use->blocks = e->blocks;
    use->held = e->reserved;
    use->free = e->blocks - e->reserved;
    use->shared = use->cached = 0;
    return CARAT_OK;
}

carat_status carat_session_create(carat_session **session, carat_engine *engine,
                                  const carat_session_options *options, carat_error *err)
{
    (void)options;
    if (atomic_fetch_add(&engine->sessions, 1) >= engine->most_sessions) {
        atomic_fetch_sub(&engine->sessions, 1);
        return fail(err, CARAT_E_MEMORY, "all sessions exist");
    }
    must((*session = calloc(1, sizeof **session)) != NULL);
    (*session)->engine = engine;
    return CARAT_OK;
}

void carat_session_close(carat_session *s)
{
    if (!s)
        return;
    must(s->generations == 0);
    atomic_fetch_sub(&s->engine->reserved, s->reserved);
    atomic_fetch_sub(&s->engine->sessions, 1);
    free(s->ids);
    free(s);
}

carat_status carat_reserve(carat_session *s, int positions, carat_error *err)
{
    carat_engine *e = s->engine;
    const int blocks = (positions + BLOCK - 1) / BLOCK, more = blocks - s->reserved;

    if (positions > e->context)
        return fail(err, CARAT_E_ARGUMENT, "%d positions are beyond the context", positions);
    if (atomic_fetch_add(&e->reserved, more) + more > e->blocks) {
        atomic_fetch_sub(&e->reserved, more);
        return fail(err, CARAT_E_MEMORY, "%d positions are more than are free", positions);
    }
    s->reserved = blocks;
    return CARAT_OK;
}

static void hold_ids(carat_session *s, const int32_t *ids, int n)
{
    must((s->ids = realloc(s->ids, (size_t)(s->n + n + 1) * sizeof *s->ids)) != NULL);
    memcpy(s->ids + s->n, ids, (size_t)n * sizeof *ids);
    s->n += n;
}

carat_status carat_fork(carat_session *from, int n, carat_session **session, carat_error *err)
{
    carat_status status = carat_session_create(session, from->engine, NULL, err);

    if (status == CARAT_OK)
        hold_ids(*session, from->ids, n);
    return status;
}

carat_status carat_append(carat_session *s, const int32_t *tokens, int n, carat_error *err)
{
    (void)err;
    hold_ids(s, tokens, n);
    return CARAT_OK;
}

carat_status carat_sync(carat_session *s, const int32_t *tokens, int n, int *reused, carat_error *err)
{
    s->n = 0;
    if (reused)
        *reused = 0;
    return carat_append(s, tokens, n, err);
}

int carat_tokens_held(const carat_session *s, const int32_t **tokens)
{
    if (tokens)
        *tokens = s->ids;
    return s->n;
}

void carat_get_sampling(const carat_model *model, carat_sampling *s)
{
    (void)model;
    *s = (carat_sampling){.size = sizeof *s, .temperature = 1, .top_k = 64, .top_p = 0.95f};
}

/* ---- carat_generate.h ---- */

const char *carat_link_name(carat_link link)
{
    (void)link;
    return "link";
}

carat_status carat_generation_create(carat_generation **generation, carat_session *session,
                                     const carat_generation_options *options, carat_error *err)
{
    (void)err;
    must(options->max_tokens > 0 && (*generation = calloc(1, sizeof **generation)) != NULL);
    (*generation)->session = session;
    (*generation)->options = *options;
    session->generations++;
    return CARAT_OK;
}

void carat_generation_close(carat_generation *g)
{
    if (!g)
        return;
    g->session->generations--;
    free(g);
}

carat_status carat_generation_prompt(carat_generation *g, const carat_prompt *prompt, int *reused,
                                     carat_error *err)
{
    must(prompt->n > 0 && prompt->n <= g->session->engine->context);
    g->left = prompt->n;
    return carat_sync(g->session, prompt->ids, prompt->n, reused, err);
}

static carat_status give(carat_generation *g, carat_error *err)
{
    const struct script *s = script_of(g->session->ids, g->session->n);
    const char *text = piece_of(s, g->given);
    const struct timespec pause = {s->sleep_ms / 1000, s->sleep_ms % 1000 * 1000000L};
    carat_logprob top[CARAT_MOST_LOGPROBS];

    if (s->sleep_ms)
        nanosleep(&pause, NULL);
    if (!text && s->ending == GETS_ERROR)
        return fail(err, CARAT_E_IO, "the disk is gone");
    if (!text) {
        g->reason = s->ending == GETS_NAN ? CARAT_REASON_NUMERIC : CARAT_REASON_STOP;
        return s->ending == GETS_NAN ? fail(err, CARAT_E_NUMERIC, "NaN") : CARAT_OK;
    }
    for (int i = 0; i < g->options.top_logprobs; i++)
        top[i] = (carat_logprob){'a' + i, -1.5f - (float)i};
    const carat_given given = {.id = (unsigned char)text[0],
                               .position = g->session->n + g->given,
                               .text = text,
                               .n_text = strlen(text),
                               .logprob = -1.5f,
                               .top = top,
                               .n_top = g->options.top_logprobs,
                               .thought = g->given < s->thoughts,
                               .of_thought = g->given < s->thoughts};
    g->given++;
    must(g->options.on_token(g->options.user, &given) == 0);
    if (g->given == g->options.max_tokens)
        g->reason = CARAT_REASON_LENGTH;
    return CARAT_OK;
}

/* Evaluates up to *room tokens of a prompt. "cramped" has no memory behind another prompt, "starved"
 * never. */
static carat_status read_prompt(carat_generation *g, int *room, bool is_first, carat_error *err)
{
    const char *name = script_of(g->session->ids, g->session->n)->name;
    const int n = CT_MIN(*room, g->left);

    if (n > 0 && (strcmp(name, "starved") == 0 || (strcmp(name, "cramped") == 0 && !is_first)))
        return fail(err, CARAT_E_MEMORY, "no block is free");
    g->left -= n;
    *room -= n;
    return CARAT_OK;
}

carat_status carat_generation_pass(carat_engine *e, carat_generation *const *generations, int n, int piece,
                                   carat_error *err)
{
    carat_status first = CARAT_OK;
    int room = piece, prompts = 0;

    atomic_fetch_add(&e->passes, 1);
    pthread_mutex_lock(&e->lock);
    while (e->holds)
        pthread_cond_wait(&e->may_pass, &e->lock);
    pthread_mutex_unlock(&e->lock);
    for (int i = 0; i < n; i++) {
        carat_generation *g = generations[i];
        carat_error failed;
        if (g->reason != CARAT_REASON_NONE)
            continue;
        carat_status status = g->left > 0 ? read_prompt(g, &room, prompts++ == 0, &failed) : CARAT_OK;
        if (status == CARAT_OK && g->left == 0)
            status = give(g, &failed);
        if (status != CARAT_OK && first == CARAT_OK)
            fail(err, first = status, "%s", failed.message);
    }
    return first;
}

size_t carat_generation_rest(carat_generation *g, char *out, size_t capacity)
{
    const struct script *s = script_of(g->session->ids, g->session->n);

    return (size_t)snprintf(out, capacity, "%s", g->reason == CARAT_REASON_STOP ? s->rest : "");
}

carat_status carat_generation_get_info(const carat_generation *g, carat_generation_info *info,
                                       carat_error *err)
{
    (void)err;
    info->reason = g->reason;
    info->given = g->given;
    info->prompt_left = g->left;
    info->stop = info->end = -1;
    return CARAT_OK;
}

/* ---- forms, calls, receipts, scores ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t may_go_on;
    int made, ended, holds;
} forms = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0};

static void wait_while_held(const char *text, const char *word)
{
    pthread_mutex_lock(&forms.lock);
    while (forms.holds && strstr(text, word))
        pthread_cond_wait(&forms.may_go_on, &forms.lock);
    pthread_mutex_unlock(&forms.lock);
}

carat_status carat_constraint_create(carat_constraint **constraint, const carat_model *model,
                                     const carat_constraint_options *options, carat_error *err)
{
    const struct timespec pause = {0, 1000000};

    (void)model;
    if (!options->text)
        return fail(err, CARAT_E_ARGUMENT, "there is no form");
    pthread_mutex_lock(&forms.lock);
    forms.made++;
    pthread_mutex_unlock(&forms.lock);
    wait_while_held(options->text, "held");
    if (strstr(options->text, "endless") || strstr(options->text, "asleep")) {
        while (options->progress(options->user, 0, 0) == 0)
            if (strstr(options->text, "asleep"))
                nanosleep(&pause, NULL);
        pthread_mutex_lock(&forms.lock);
        forms.ended++;
        pthread_mutex_unlock(&forms.lock);
        wait_while_held(options->text, "asleep");
        return fail(err, CARAT_E_CANCELLED, "it was cancelled");
    }
    if (strstr(options->text, "wrong"))
        return fail(err, CARAT_E_ARGUMENT, "this form is wrong");
    must((*constraint = calloc(1, sizeof **constraint)) != NULL);
    return CARAT_OK;
}

int fake_forms(void)
{
    pthread_mutex_lock(&forms.lock);
    const int made = forms.made;
    pthread_mutex_unlock(&forms.lock);
    return made;
}

int fake_ended_forms(void)
{
    pthread_mutex_lock(&forms.lock);
    const int ended = forms.ended;
    pthread_mutex_unlock(&forms.lock);
    return ended;
}

void fake_hold_forms(int holds)
{
    pthread_mutex_lock(&forms.lock);
    forms.holds = holds;
    pthread_cond_broadcast(&forms.may_go_on);
    pthread_mutex_unlock(&forms.lock);
}

void carat_constraint_close(carat_constraint *constraint)
{
    free(constraint);
}

carat_status carat_constraint_get_info(carat_constraint *constraint, carat_constraint_info *info,
                                       carat_error *err)
{
    (void)err;
    info->rules = constraint->forms;
    return CARAT_OK;
}

carat_status carat_matcher_create(carat_matcher **matcher, carat_constraint *constraint, carat_error *err)
{
    (void)constraint;
    (void)err;
    must((*matcher = calloc(1, sizeof **matcher)) != NULL);
    return CARAT_OK;
}

void carat_matcher_close(carat_matcher *matcher)
{
    free(matcher);
}

int carat_begins_calls(const carat_model *model, const char *text, size_t n)
{
    size_t i = 0;

    (void)model;
    while (i < n && text[i] == ' ')
        i++;
    return i == n ? -1 : text[i] == '{';
}

/* The whole answer is a call, or a text. */
carat_status carat_parse_calls(const carat_model *model, const int32_t *ids, int n, const char *tools,
                               carat_calls *calls, carat_error *err)
{
    (void)tools;
    (void)err;
    must((calls->part = calloc(1, sizeof *calls->part)) != NULL);
    calls->n = 1;
    calls->part->is_call = n > 0 && ids[0] == ' ';
    calls->part->text = "";
    calls->part->name = "f";
    calls->part->arguments = "{\"a\":\"b\"}";
    (void)model;
    return CARAT_OK;
}

void carat_calls_free(carat_calls *calls)
{
    free(calls->part);
    calls->part = NULL;
    calls->n = 0;
}

carat_status carat_receipt_begin(carat_receipt **receipt, carat_generation *generation,
                                 const carat_receipt_options *options, carat_error *err)
{
    (void)generation;
    (void)options;
    (void)err;
    must((*receipt = calloc(1, sizeof **receipt)) != NULL);
    return CARAT_OK;
}

carat_status carat_receipt_finish(carat_receipt *receipt, carat_error *err)
{
    (void)err;
    receipt->answers++;
    return CARAT_OK;
}

carat_status carat_receipt_write(const carat_receipt *receipt, char **text, size_t *n, carat_error *err)
{
    (void)n;
    (void)err;
    must((*text = malloc(24)) != NULL);
    snprintf(*text, 24, "{\"answers\":%d}", receipt->answers);
    return CARAT_OK;
}

void carat_receipt_close(carat_receipt *receipt)
{
    free(receipt);
}

carat_status carat_score_with(carat_session *session, const int32_t *ids, int n, double *logprob,
                              const carat_score_options *options, carat_error *err)
{
    (void)logprob;
    for (int i = 0; i < n; i++) {
        options->given[i] = -0.5f;
        for (int k = 0; k < options->n_top; k++)
            options->top[i * options->n_top + k] = (carat_logprob){'a' + k, -0.5f - (float)k};
    }
    return carat_append(session, ids, n - 1, err);
}

/* ---- vectors, which the model does not give ---- */

carat_status carat_get_embedder(const carat_model *model, carat_embedder *embedder, carat_error *err)
{
    (void)model;
    (void)embedder;
    return fail(err, CARAT_E_UNSUPPORTED, "no embedder");
}

const char *carat_task_name(carat_task task)
{
    return task == CARAT_TASK_NONE ? "" : NULL;
}

carat_status carat_embed_tokenize(const carat_model *model, carat_task task, const char *title,
                                  const char *text, size_t n, carat_tokens *out, carat_error *err)
{
    (void)task;
    (void)title;
    return carat_tokenize(model, text, n, CARAT_BOS, out, err);
}

carat_status carat_embed(carat_engine *e, carat_embed_input *inputs, size_t input_size, int n,
                         const carat_embed_options *options, carat_error *err)
{
    (void)e;
    (void)inputs;
    (void)input_size;
    (void)n;
    (void)options;
    return fail(err, CARAT_E_UNSUPPORTED, "no embedder");
}
