/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: carat-fetch, which carat starts to fetch models: it reads a plan from standard input, does it, and
 * tells of it on standard output, a line of JSON for each event (report.h). It alone opens connections. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine.h"
#include "download.h"
#include "parts.h"
#include "rehash.h"
#include "report.h"
#include "search.h"
#include "source.h"

static int list(struct http *h, struct plan *plan)
{
    return plan->source->list(h, plan);
}

static int get(struct http *h, struct plan *plan)
{
    return plan->source->get ? plan->source->get(h, plan) : download_all(h, plan);
}

static int check(struct http *h, struct plan *plan)
{
    (void)h;
    return download_check(plan);
}

static int search(struct http *h, struct plan *plan)
{
    return plan->source->search ? plan->source->search(h, plan) : search_all(h, plan);
}

static int hash(struct http *h, struct plan *plan)
{
    (void)h;
    return rehash_all(plan);
}

static const struct {
    int (*run)(struct http *h, struct plan *plan);
    bool connects;
} tasks[N_TASKS] = {
    [TASK_LIST] = {list, true},     [TASK_CHECK] = {check, false}, [TASK_GET] = {get, true},
    [TASK_SEARCH] = {search, true}, [TASK_HASH] = {hash, false},   [TASK_PARTS] = {parts_tell, true}};

static struct http *connect_to(const struct plan *plan)
{
    char line[sizeof plan->token + 64] = "";
    struct http *h = NULL;

    if (plan->source->authorize ? !plan->source->authorize(line, sizeof line, plan)
                                : *plan->token && snprintf(line, sizeof line, "Authorization: Bearer %s",
                                                           plan->token) >= (int)sizeof line)
        refuse(WRONG_PLAN, "plan: the token is too long");
    else if (!(h = http_open(plan, line)))
        refuse(NO_MEMORY, "out of memory for a connection");
    explicit_bzero(line, sizeof line);
    return h;
}

int main(void)
{
    static struct plan plan;
    struct http *h = NULL;

    signal(SIGPIPE, SIG_DFL); /* who listens has gone */
    confine_memory();
    int code = plan_read(&plan, STDIN_FILENO);
    if (code == DONE)
        confine_files(&plan);
    if (code == DONE && tasks[plan.task].connects && !(h = connect_to(&plan)))
        code = NO_MEMORY;
    if (code == DONE)
        code = tasks[plan.task].run(h, &plan);
    http_close(h);
    free(plan.file);
    explicit_bzero(plan.token, sizeof plan.token);
    return code;
}
