/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. The token comes this way, so that neither arguments nor environment have it. */
#define _GNU_SOURCE
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_tree.h"
#include "base/path.h"
#include "names.h"
#include "report.h"
#include "source.h"

enum { MOST_PLAN = 1 << 24 };

enum {
    LIST = 1 << TASK_LIST,
    CHECK = 1 << TASK_CHECK,
    KEEPS = 1 << TASK_GET | CHECK,
    GET = KEEPS | 1 << TASK_PARTS,
    SEARCH = 1 << TASK_SEARCH,
    PLACED = KEEPS | 1 << TASK_HASH, /* below root or out */
    FILES = PLACED | 1 << TASK_PARTS,
    NEVER = 0
};

static const char *const tasks[N_TASKS] = {
    [TASK_LIST] = "list",     [TASK_CHECK] = "check", [TASK_GET] = "get",
    [TASK_SEARCH] = "search", [TASK_HASH] = "hash",   [TASK_PARTS] = "parts"};

static const struct text_field {
    const char *key;
    size_t at, capacity;
    unsigned needed; /* for these tasks */
} fields[] = {
#define FIELD(name, needed)                                                                                  \
    {                                                                                                        \
#name, offsetof(struct plan, name), sizeof((struct plan *)0)->name, needed                           \
    }
    FIELD(endpoint, LIST | GET | SEARCH),
    FIELD(repository, LIST | GET),
    FIELD(revision, NEVER),
    FIELD(query, SEARCH),
    FIELD(user, NEVER),
    FIELD(token, NEVER),
    FIELD(root, NEVER),
    FIELD(out, NEVER),
    FIELD(commit, GET),
    FIELD(manifest, NEVER),
#undef FIELD
};

static const struct number_field {
    const char *key;
    size_t at;
    int64_t low, high, standard;
} numbers[] = {
    {"jobs", offsetof(struct plan, jobs), 1, 8, 4},
    {"rate", offsetof(struct plan, rate), 0, INT64_MAX, 0},
    {"limit", offsetof(struct plan, limit), 1, 1000, 10},
    {"force", offsetof(struct plan, force), 0, 1, 0},
    {"patience", offsetof(struct plan, patience), 1, 3600, 60},
};

static int take_numbers(struct plan *plan, const struct ct_json_value *root)
{
    for (size_t i = 0; i < CT_COUNT(numbers); i++) {
        const struct number_field *f = &numbers[i];
        const struct ct_json_value *v = ct_json_get(root, f->key);
        int64_t n = f->standard;
        if (v && (!ct_json_integer(v, &n) || n < f->low || n > f->high))
            return fetch_refuse(WRONG_PLAN, "plan: %s is no number from %lld to %lld", f->key,
                                (long long)f->low, (long long)f->high);
        memcpy((char *)plan + f->at, &n, sizeof n);
    }
    return DONE;
}

static int take_task(struct plan *plan, const struct ct_json_value *root)
{
    const struct ct_json_value *named = ct_json_get(root, "source");
    char name[32];

    plan->task = N_TASKS;
    for (int i = 0; i < N_TASKS; i++)
        if (ct_json_is_text(ct_json_get(root, "do"), tasks[i]))
            plan->task = (enum task)i;
    snprintf(name, sizeof name, "%.*s", (int)ct_json_str(named).n, ct_json_str(named).s);
    plan->source = source_named(named ? name : "hub");
    return plan->task < N_TASKS && plan->source
               ? DONE
               : fetch_refuse(WRONG_PLAN, "plan: its do or source is unknown");
}

static int take_texts(struct plan *plan, const struct ct_json_value *root)
{
    for (size_t i = 0; i < CT_COUNT(fields); i++) {
        const struct text_field *f = &fields[i];
        const struct ct_str s = ct_json_str(ct_json_get(root, f->key));
        const bool needed = f->needed & 1u << plan->task;
        if (s.n >= f->capacity || (s.n == 0 && needed) || (s.n && memchr(s.s, 0, s.n)))
            return fetch_refuse(WRONG_PLAN, "plan: %s has %zu bytes, expected %d to %zu", f->key, s.n, needed,
                                f->capacity - 1);
        memcpy((char *)plan + f->at, s.s, s.n);
    }
    return !(PLACED & 1u << plan->task) || *plan->root || *plan->out
               ? DONE
               : fetch_refuse(WRONG_PLAN, "plan: neither root nor out says where files go");
}

/* An end of a part, where the plan says it; false: it lies elsewhere. */
static bool take_end(const struct ct_json_value *file, const char *key, int64_t low, int64_t high,
                     int64_t *out)
{
    const struct ct_json_value *v = ct_json_get(file, key);

    return !v || (ct_json_integer(v, out) && *out >= low && *out <= high);
}

static int take_files(struct plan *plan, const struct ct_json_value *list)
{
    plan->file = calloc(ct_json_count(list) + 1, sizeof *plan->file);
    if (!plan->file)
        return fetch_refuse(NO_MEMORY, "out of memory for a plan of %zu files", ct_json_count(list));
    CT_JSON_EACH(v, list)
    {
        struct wanted *w = &plan->file[plan->n++];
        const struct ct_str name = ct_json_str(ct_json_get(v, "name")),
                            hash = ct_json_str(ct_json_get(v, "hash"));
        if (!ct_path_stays_inside(name) || name.n >= sizeof w->name || !is_any_hash(hash.s, hash.n) ||
            !ct_json_integer(ct_json_get(v, "bytes"), &w->bytes) || w->bytes < 0)
            return fetch_refuse(WRONG_PLAN, "plan: file %d has a name, size or hash that cannot be", plan->n);
        w->until = w->bytes;
        if (!take_end(v, "from", 0, w->bytes, &w->from) ||
            !take_end(v, "until", w->from, w->bytes, &w->until))
            return fetch_refuse(WRONG_PLAN, "plan: file %d has a part that cannot be", plan->n);
        memcpy(w->name, name.s, name.n);
        memcpy(w->hash, hash.s, hash.n);
    }
    return DONE;
}

int plan_read(struct plan *plan, int fd)
{
    struct ct_json_tree tree = {0};
    uint8_t *text = malloc(MOST_PLAN);
    size_t n = 0;
    ssize_t got = 1;
    carat_error err;
    int code = DONE;

    *plan = (struct plan){.task = N_TASKS};
    if (!text)
        return fetch_refuse(NO_MEMORY, "out of memory for the plan");
    while (n < MOST_PLAN && (got = read(fd, text + n, MOST_PLAN - n)) != 0 && (got > 0 || errno == EINTR))
        n += got > 0 ? (size_t)got : 0;
    if (got != 0)
        code = fetch_refuse(WRONG_PLAN, "plan: cannot be read, or has more than %d bytes", MOST_PLAN);
    else if (ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "plan", (struct ct_bytes){text, n}, &err) != CARAT_OK)
        code = fetch_refuse(WRONG_PLAN, "%s", err.message);
    if (code == DONE)
        code = take_task(plan, tree.value);
    if (code == DONE)
        code = take_texts(plan, tree.value);
    if (code == DONE)
        code = take_numbers(plan, tree.value);
    if (code == DONE && FILES & 1u << plan->task)
        code = take_files(plan, ct_json_get(tree.value, "files"));
    ct_json_tree_free(&tree);
    explicit_bzero(text, n); /* it has the token */
    free(text);
    return code;
}
