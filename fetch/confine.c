/* SPDX-License-Identifier: Apache-2.0 */
/* confine.c: see confine.h. Where the system cannot, the program goes on without: names were checked. */
#define _GNU_SOURCE
#include "confine.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store.h"

void confine_memory(void)
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

void confine_files(const struct plan *plan)
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
void confine_files(const struct plan *plan)
{
    (void)plan;
}
#endif
