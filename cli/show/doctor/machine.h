/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: what this machine can do at most, measured in two seconds and remembered in the cache. */
#ifndef MACHINE_H
#define MACHINE_H

#include "carat_tools.h"
#include "model/cache_file.h"

struct machine {
    carat_limits limits;  /* by all threads of an engine with default options; read 0: not measured */
    double read_one;      /* bytes a second, by one thread alone */
    double others;        /* processors that others kept busy meanwhile; -1: not known */
    char measured_at[24]; /* "2026-11-21T22:11:25Z" */
    bool remembered;      /* these figures come from the file */
    char file[MOST_CACHE_PATH + 16]; /* that holds them now; "" when none does */
    char why_not[CACHE_FILE_WHY];    /* the reason for that, or for read 0 */
};

/* Takes what was measured on this same machine, with this version; false when there is no such thing, or
 * nothing that can be trusted. limits.isa lives as long as *host, as it does after measuring. */
bool machine_recall(struct machine *m, const carat_host_info *host, const struct cache_place *cache);
/* Measures, with a bar on a terminal; false after Ctrl-C. What cannot be measured has read 0, and why_not
 * says why. */
bool machine_measure(struct machine *m, const carat_host_info *host);
/* Has the next one recall it. Only in a directory that belongs to this user; file or why_not tells. */
void machine_keep(struct machine *m, const carat_host_info *host, const struct cache_place *cache);

#endif
