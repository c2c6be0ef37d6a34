/* SPDX-License-Identifier: Apache-2.0 */
/* test_crowd.c: many clients at once, each of which does at random what clients do and what they must not:
 * streams and whole answers of every surface, bad requests, answers that fail, connections that end anywhere,
 * readers that pause. Whoever behaves gets what is his; in the end all is given back.
 * CROWD_SECONDS in the environment says for how long (else 2), CROWD_SEED what is done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server/fake_carat.h"
#include "server/talk.h"

enum { CLIENTS = 24, PLACES = 4, CONTEXT = 4000 };

static struct served served;
static carat_engine *engine;
static atomic_int wrong, answered, left;
static atomic_bool over;

struct client {
    pthread_t thread;
    uint64_t state;
};

static unsigned draw(struct client *c, unsigned below)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(c->state >> 33) % below;
}

/* Prompts, and what becomes of them: a text, or a word of the refusal. */
static const struct {
    const char *prompt, *text, *word;
} asks[] = {
    {"!plain", "Hello, world!", NULL},
    {"!slow", "xyz", NULL},
    {"!bad", "a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffdc\ufffd\ufffd\ufffd\ufffd", NULL},
    {"!nan", NULL, "model_output_invalid"},
    {"!error", NULL, "the disk is gone"},
    {"!flood", NULL, NULL}, /* as long as max_tokens says */
};
enum { FLOOD = CT_COUNT(asks) - 1, FLOODS = 300 };

static void note(bool is_right, const char *path, const char *prompt, const struct reply *r)
{
    if (is_right)
        return;
    atomic_fetch_add(&wrong, 1);
    fprintf(stderr, "%s, %s: %s...%s\n", path, prompt, r->head, r->body + (r->n > 400 ? r->n - 400 : 0));
}

/* Whether a reply is what it must be: also one that says that too many wait. */
static void check(int kind, size_t i, bool streams, const struct reply *r)
{
    struct told t;

    if (r->status == 429 || r->status == 503 || r->status == 529)
        return;
    const bool sound = r->whole && read_told(kind, r, streams, &t);
    bool right = sound && (streams ? r->status == 200 : r->status == (asks[i].word ? 500 : 200));
    if (right && asks[i].word)
        right = t.error && strstr(t.error, asks[i].word) && !t.done;
    else if (right)
        right =
            !t.error && (i == FLOOD ? t.n % FAKE_FLOOD == 0 && t.n > 0 : strcmp(t.text, asks[i].text) == 0);
    note(right, kinds[kind].path, asks[i].prompt, r);
    if (sound)
        told_free(&t);
    atomic_fetch_add(&answered, 1);
}

/* A request like others, whose client may leave before, within or behind the reply. */
static void request(struct client *c)
{
    const int kind = (int)draw(c, TOLD_KINDS);
    const size_t i = draw(c, CT_COUNT(asks));
    const bool streams = kind_streams(kind, draw(c, 2));
    char more[120];
    struct reply r;

    members_of(kind, streams, FLOODS, more);
    char *body = body_of(kind, asks[i].prompt, more);
    const int fd = draw(c, 4) ? dial(&served) : dial_small(&served);
    const unsigned how = draw(c, 8);
    for (unsigned k = 0, n = how < 5 ? 1 + draw(c, 3) : 0; k < n; k++) { /* some keep the connection */
        send_request(fd, "POST", kinds[kind].path, "", body);
        take_reply(fd, true, &r);
        check(kind, i, streams, &r);
        const bool ends = strstr(r.head, "Connection: close") || asks[i].word;
        reply_free(&r);
        if (ends)
            break;
    }
    if (how >= 5) {
        send_request(fd, "POST", kinds[kind].path, "", body);
        if (how == 5) {
            char some[300];
            sleep_ms((int)draw(c, 60));
            (void)!recv(fd, some, sizeof some, MSG_DONTWAIT);
        } else if (how == 6)
            shutdown(fd, SHUT_WR);
        atomic_fetch_add(&left, 1);
    }
    hang_up(fd, draw(c, 2));
    free(body);
}

/* What is no request, or no end of one. */
static void nonsense(struct client *c)
{
    static const char *const texts[] = {
        "GET",
        "GET / HTTP/1.1\r\n\r\n",
        "\x16\x03\x01",
        "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
        "POST /api/chat HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\nx",
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n[]",
        "POST /completion HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{\"prompt\":",
        "POST /v1beta/models/tiny:generateContent HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
    };
    const int fd = dial(&served);

    send_text(fd, texts[draw(c, CT_COUNT(texts))]);
    hang_up(fd, draw(c, 2));
}

static void *behave(void *user)
{
    struct client *c = user;

    while (!atomic_load(&over)) {
        const unsigned what = draw(c, 16);
        if (what == 0)
            nonsense(c);
        else if (what == 1 && !is_told(&served, "/health", "\"ok\""))
            atomic_fetch_add(&wrong, 1);
        else if (what > 1)
            request(c);
    }
    return NULL;
}

static bool is_idle(const struct served *s)
{
    return fake_sessions(engine) == 0 && is_told(s, "/health", "\"running\":0,\"waiting\":0");
}

static int from_environment(const char *name, int otherwise)
{
    const char *text = getenv(name);

    return text ? atoi(text) : otherwise;
}

static void crowd(void **state)
{
    static struct client clients[CLIENTS];
    const int seconds = from_environment("CROWD_SECONDS", 2),
              seed = from_environment("CROWD_SEED", (int)time(NULL));
    struct reply r;

    (void)state;
    print_message("CROWD_SEED=%d\n", seed);
    engine = fake_engine(PLACES, CONTEXT, PLACES * (CONTEXT + 256));
    served =
        (struct served){.options.model = fake_model(), .options.engine = engine, .options.parallel = PLACES};
    serve_begin(&served);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].state = (uint64_t)seed * 1000 + (uint64_t)i;
        assert_int_equal(pthread_create(&clients[i].thread, NULL, behave, &clients[i]), 0);
    }
    sleep_ms(seconds * 1000);
    atomic_store(&over, true);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    print_message("%d answered, %d left\n", answered, left);
    assert_int_equal(wrong, 0);
    assert_true(answered > 0 && soon(is_idle, &served));
    ask_kind(&served, CHAT, "!plain", "", &r);
    assert_non_null(strstr(r.body, "\"content\":\"Hello, world!\""));
    reply_free(&r);
    assert_int_equal(serve_end(&served), SERVER_ENDED);
    fake_engine_free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(crowd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
