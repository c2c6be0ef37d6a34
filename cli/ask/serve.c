/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c: `carat serve`: the model and the engine of the options, in the hands of the server. Without
 * CARAT_LIBUV there is no server in this command. */
#include <string.h>

#include "options/options.h"
#include "server.h"
#include "term/message.h"

/* The options of `carat serve`. */
struct serve_options {
    const char *host, *alias, *half_close;
    int port, parallel, default_tokens, drain_delay;
    uint64_t kv_memory; /* bytes of K and V of all answers; NO_SIZE: full contexts */
    bool strict, strict_model, ollama;
    struct server_limits most;
};

/* The options about serving. */
#define AT(field) offsetof(struct serve_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 80, {"-a", "--alias"}, TEXT, AT(alias), "serve", "NAME", NULL,
     "what the model is called in replies (default: as it was typed)", 0, 0},
    {ABOUT_INPUT + 300, {"--host"}, TEXT, AT(host), "serve", "ADDRESS", "127.0.0.1",
     "where to listen: 127.0.0.1, localhost or ::1 (default {default}); others have to wait until there are "
     "keys", 0, 0},
    {ABOUT_INPUT + 310, {"--port"}, INT, AT(port), "serve", "N", "8080",
     "the port; 0 is any that is free (default {default})", 0, 65535},
    {ABOUT_INPUT + 315, {"--ollama"}, FLAG, AT(ollama), "serve", NULL, NULL,
     "listen at port 11434 too, where Ollama's clients look when they are told nothing", 0, 0},
    {ABOUT_INPUT + 320, {"--strict"}, FLAG, AT(strict), "serve", NULL, NULL,
     "refuse fields of requests that nobody knows, instead of naming them in the reply", 0, 0},
    {ABOUT_INPUT + 322, {"--strict-model"}, FLAG, AT(strict_model), "serve", NULL, NULL,
     "refuse requests that name another model, instead of answering them by this one", 0, 0},
    {ABOUT_INPUT + 324, {"--default-max-tokens"}, INT, AT(default_tokens), "serve", "N", "0",
     "tokens of an answer whose request gives no number; 0 is to the end of the context, and at "
     "/v1/completions 16, as OpenAI has it (default {default})",
     0, INT32_MAX},
    {ABOUT_INPUT + 330, {"--half-close"}, CHOICE, AT(half_close), "/ serve", "cancel|keep", "cancel",
     "what becomes of an answer in one piece whose client has closed its side of the connection (default "
     "{default})", 0, 0},
    {ABOUT_INPUT + 332, {"--drain-delay"}, INT, AT(drain_delay), "/ serve", "SECONDS", "0",
     "how long after a signal requests are still taken, while /readyz says that the server ends (default "
     "{default})", 0, 3600},
    {ABOUT_INPUT + 340, {"--max-body"}, SIZE, AT(most.body), "/ serve", "SIZE", "8M",
     "bytes of a request (default {default}; at most {most})", 1024, 64 << 20},
    {ABOUT_INPUT + 341, {"--max-bodies"}, SIZE, AT(most.bodies), "/ serve", "SIZE", "64M",
     "bytes of requests that have come and not been looked at (default {default}); beyond them nothing is "
     "read, for up to 30 seconds", 1024, 0x1p40},
    {ABOUT_INPUT + 342, {"--max-messages"}, INT, AT(most.messages), "/ serve", "N", "4096",
     "messages of a request (default {default})", 1, 1 << 20},
    {ABOUT_INPUT + 344, {"--max-tools"}, INT, AT(most.tools), "/ serve", "N", "128",
     "tools of a request (default {default})", 0, 1 << 20},
    {ABOUT_INPUT + 346, {"--max-n"}, INT, AT(most.n), "/ serve", "N", "8",
     "answers to a request (default {default}; at most {most})", 1, 8},
    {ABOUT_INPUT + 348, {"--max-waiting"}, INT, AT(most.waiting), "/ serve", "N", "64",
     "requests that wait for a place (default {default}); others are told when to come again", 1, 4096},
    {ABOUT_INPUT + 349, {"--max-wait"}, INT, AT(most.wait), "/ serve", "SECONDS", "60",
     "how long a request may have to wait for a place, as far as that can be told (default {default})", 1,
     86400},
    {ABOUT_INPUT + 350, {"--max-connections"}, INT, AT(most.connections), "/ serve", "N", "1024",
     "connections (default {default}); for a further one the oldest that is idle is closed", 1, 65536},
    {ABOUT_COMPUTING + 15, {"-np", "--parallel"}, INT, AT(parallel), "serve", "N", "8",
     "answers at once (default {default}); further requests wait until one ends", 1, 256},
    {ABOUT_COMPUTING + 272, {"--kv-memory"}, SIZE, AT(kv_memory), "/ serve", "SIZE", NULL,
     "memory for K and V of all answers together (default: a full context for each)", 1, 0x1p60},
};
/* clang-format on */

const struct option_group serve_group = OPTION_GROUP(rows, struct serve_options, NULL);

#ifndef CARAT_LIBUV

int verb_serve(const struct options *o)
{
    (void)o;
    return term_fail(FAILED, "this command was built without libuv, and cannot serve (Debian: libuv1-dev)");
}

#else

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "carat_embed.h"
#include "carat_tools.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/phases.h"
#include "prompt/conversation.h"
#include "prompt/prompt.h"
#include "server.h"
#include "term/output.h"

struct serving {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    struct phases phases;
    bool embeds; /* the model gives vectors */
};

/* Tells what a person needs to begin with; the line with curl works as it stands. */
static void tell_address(void *user, const char *url, const char *ollama)
{
    const struct serving *s = user;
    carat_model_info info;

    out_print("OpenAI API  %s/v1\nAnthropic   %s\nGoogle      %s\nOllama      %s\n", url, url, url, ollama);
    carat_model_info_default(&info);
    (void)carat_model_get_info(s->model, &info, NULL);
    if (s->embeds)
        out_print("curl %s/v1/embeddings -d '{\"input\":\"red apples\"}'\n", url);
    else if (!info.has_chat_template && !s->o->prompt->chat_template)
        out_print("curl %s/v1/completions -d '{\"prompt\":\"The sky is\"}'\n", url);
    else
        out_print(
            "curl %s/v1/chat/completions -d '{\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}'\n", url,
            strcmp(s->o->model, "tiny") == 0 ? "Turn on the kitchen lights" : "Why is the sky blue?");
    out_flush();
}

static void tell_descriptors(void *user, int connections, long descriptors)
{
    const struct serving *s = user;

    term_note(
        "serve: this process may have %ld descriptors: at most %d connections, not %d (ulimit -n raises it)",
        descriptors, connections, s->o->serve->most.connections);
}

/* Places to go on from, for several conversations at once: as many as fit, and no fewer than one conversation
 * has. Where the user says how much memory there is, that is all. */
static int choose_prefixes(carat_engine_options *e, const struct serving *s)
{
    enum { OF_EACH = 4, MOST = 256 << 20 };
    carat_plan plan;
    carat_error err;

    TRY(choose_snapshots(e, s->model));
    carat_plan_default(&plan);
    if (s->o->engine->memory != NO_SIZE && s->o->engine->memory != 0)
        return DONE;
    if (carat_plan_engine(s->model, e, &plan, &err) != CARAT_OK)
        return fail_status(&err);
    const size_t wanted = plan.snapshot_least * (size_t)e->sessions * OF_EACH;
    const size_t bytes = wanted < MOST ? wanted : MOST;
    if (e->snapshot_bytes < bytes)
        e->snapshot_bytes = bytes;
    return DONE;
}

/* Makes the engine of an embedding model, for texts as long as it was made for, unless the user says how
 * long. */
static int open_embedding(struct serving *s, carat_engine_options *engine)
{
    carat_embedder about;
    carat_error err;

    carat_embedder_default(&about);
    if (carat_get_embedder(s->model, &about, &err) != CARAT_OK)
        return fail_status(&err);
    if (s->o->engine->context == 0)
        engine->context = about.max_tokens;
    return create_engine(&s->engine, s->model, engine);
}

static int open_engine(struct serving *s)
{
    const struct options *o = s->o;
    carat_model_info info = {.size = sizeof info};
    carat_engine_options engine;

    TRY(phases_engine(&s->phases, &engine, o));
    s->embeds = carat_model_get_info(s->model, &info, NULL) == CARAT_OK && info.kind == CARAT_EMBEDDER;
    if (s->embeds)
        return open_embedding(s, &engine);
    engine.sessions = o->serve->parallel;
    if (o->serve->kv_memory != NO_SIZE)
        engine.kv_bytes = (size_t)o->serve->kv_memory;
    TRY(fit_engine(&engine, s->model, o));
    TRY(choose_prefixes(&engine, s));
    return create_engine(&s->engine, s->model, &engine);
}

/* Checks that the vocabulary has what the template needs, so that an error is said at once, and not to each
 * client. */
static int check_talk(const struct serving *s)
{
    const carat_message hello = {"user", "Hello", NULL};
    carat_render_options options;
    carat_tokens ids = {0};
    carat_error err;

    if (!s->o->prompt->chat_template)
        return DONE;
    carat_render_options_default(&options);
    options.chat_template = s->o->prompt->chat_template;
    const carat_status status = carat_render(s->model, &hello, sizeof hello, 1, &options, &ids, NULL, &err);
    carat_tokens_free(&ids);
    return status == CARAT_OK ? DONE : conversation_fail(s->o, &err);
}

static int serve_model(struct serving *s)
{
    const struct options *o = s->o;
    struct server_options options = {.chat_template = o->prompt->chat_template,
                                     .host = o->serve->host,
                                     .port = o->serve->port,
                                     .parallel = o->serve->parallel,
                                     .strict = o->serve->strict,
                                     .ollama = o->serve->ollama,
                                     .strict_model = o->serve->strict_model,
                                     .keeps_half_closed = strcmp(o->serve->half_close, "keep") == 0,
                                     .default_tokens = o->serve->default_tokens,
                                     .drain_delay = o->serve->drain_delay,
                                     .most = o->serve->most,
                                     .name = o->serve->alias ? o->serve->alias : model_name(o->model),
                                     .listening = tell_address,
                                     .short_of = tell_descriptors,
                                     .user = s};
    char message[256];
    int signal;

    TRY(open_either(&s->model, o));
    TRY(check_talk(s));
    TRY(open_engine(s));
    options.model = s->model;
    options.engine = s->engine;
    switch (server_run(&options, &signal, message)) {
    case SERVER_ENDED:
        return DONE;
    case SERVER_CUT:
        return 128 + signal;
    case SERVER_NO_BIND:
        return term_fail(NO_CONNECTION, "%s%s", message,
                         options.ollama ? "" : "; --port takes another, or with 0 any that is free");
    default:
        return term_fail(FAILED, "%s", message);
    }
}

/* Makes memory that requests took go back to the system instead of staying with the thread that took it:
 * glibc keeps a heap for each thread, and puts what is large into it once as much was freed before. */
static void keep_no_memory(void)
{
#if defined(__GLIBC__)
    enum { LARGE = 256 << 10 };

    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, 4 * LARGE);
#endif
}

int verb_serve(const struct options *o)
{
    struct serving s = {.o = o};

    keep_no_memory();
    if (!server_takes_host(o->serve->host))
        return term_fail(USAGE,
                         "serve: --host is '%.80s', expected 127.0.0.1, localhost or ::1: there are no keys",
                         o->serve->host);
    if (o->serve->alias && !*o->serve->alias)
        return term_fail(USAGE, "serve: --alias is empty, expected a name for the model");
    const int code = serve_model(&s);
    carat_engine_close(s.engine);
    carat_model_close(s.model);
    return code;
}

#endif
