/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: carat-fetch, which carat starts to fetch models: it reads a plan from standard input, does it, and
 * tells of it on standard output, a line of JSON for each event (report.h). It alone opens connections. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "download.h"
#include "report.h"
#include "search.h"
#include "source.h"
#include "store.h"

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
        fetch_refuse(WRONG_PLAN, "plan: the token is too long");
    else if (!(h = http_open(plan, line)))
        fetch_refuse(NO_MEMORY, "out of memory for a connection");
    explicit_bzero(line, sizeof line);
    return h;
}

/* ---- what this program cannot do any more ---- */

/* Once its plan is read. Where the system cannot, the program goes on without: names were checked. */

/* Before the token is read: no core has it, and no other process of the user looks into this one. */
static void confine_memory(void)
{
    const struct rlimit none = {0, 0};

    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &none);
}

#if defined(SYS_landlock_create_ruleset) && __has_include(<linux/landlock.h>)
#include <linux/landlock.h>

enum { WITH_RENAMES = 2, WITH_TRUNCATE = 3 }; /* versions of Landlock */

static void allow_below(int rules, const char *path, uint64_t rights)
{
    struct landlock_path_beneath_attr below = {.allowed_access = rights,
                                               .parent_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)};

    if (below.parent_fd < 0)
        return; /* it cannot be made: who writes there says so */
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    close(below.parent_fd);
}

/* Directories exist before they can be named. */
static void allow_folders(int rules, const struct plan *plan, uint64_t rights)
{
    char path[PLAN_PATH + 2], folder[FOLDER_PATH];
    struct store s;

    if (!*plan->out && !*plan->root)
        return;
    store_open(&s, plan);
    snprintf(path, sizeof path, "%s/", *plan->out ? plan->out : plan->root);
    if (make_path(folder, path))
        allow_below(rules, path, rights);
    allow_below(rules, s.folder, rights);
}

/* Writes, makes, removes and renames nothing but below the directories of the plan, where the system has
 * Landlock; the folder of the model may be a link to elsewhere. Before there are threads. */
static void confine_files(const struct plan *plan)
{
    const uint64_t truncate = 1 << 14;
    const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    struct landlock_ruleset_attr attr = {
        .handled_access_fs =
            LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
            LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER};

    if (version < WITH_RENAMES)
        return;
    if (version >= WITH_TRUNCATE)
        attr.handled_access_fs |= truncate;
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    if (rules < 0)
        return;
    if (plan->task == TASK_GET)
        allow_folders(rules, plan,
                      attr.handled_access_fs &
                          ~(uint64_t)(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                      LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                      LANDLOCK_ACCESS_FS_MAKE_BLOCK));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}
#else
static void confine_files(const struct plan *plan)
{
    (void)plan;
}
#endif

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
