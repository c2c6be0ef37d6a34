/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: what carat-fetch says on standard output: a line of JSON for each event. Any thread. */
#ifndef FETCH_REPORT_H
#define FETCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its exit codes, which are those of the command. */
enum {
    DONE = 0,
    LOCAL = 1,       /* the disk */
    WRONG_PLAN = 2,  /* what was asked for */
    REMOTE = 3,      /* not found, gated, damaged */
    UNSUPPORTED = 4, /* carat does not run it */
    NO_MEMORY = 5,   /* out of memory */
    UNREACHABLE = 6, /* no connection */
};

/* A step of several: ends the caller with its code unless that is DONE. */
#define TRY(step)                                                                                            \
    do {                                                                                                     \
        const int try_ = (step);                                                                             \
        if (try_ != DONE)                                                                                    \
            return try_;                                                                                     \
    } while (0)

/* {"event": "error", "code": code, "message": ...}; returns the code. */
int fetch_refuse(int code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* {"event": "file", "name": ..., "bytes": n, "hash": ...} */
void report_file(const char *name, int64_t bytes, const char *hash);
/* {"event": "there", "name": ..., "bytes": n, "is": 0 or 1} */
void report_there(const char *name, int64_t bytes, bool is);
/* {"event": "part", "name": ..., "at": n, "raw": n}, and behind the line so many bytes as they are, at most
 * 1 MiB: those of the file from `at` on. */
void report_part(const char *name, int64_t at, const void *data, size_t n);
/* {"event": "found", "name": OWNER/NAME, "downloads": n, "tags": each between spaces} */
void report_found(const char *name, int64_t downloads, const char *tags);
/* {"event": "manifest", "text": ...}: for the plan that fetches these files */
void report_manifest(const char *text);
/* {"event": "listed", "commit": ...} */
void report_listed(const char *commit);
/* A file that is coming; its name lives until it is reported. */
struct report_running {
    const char *name;
    int64_t done, bytes;
    const char *state; /* "waiting" (for another process), "coming", "checking" */
};
/* {"event": "progress", "done": bytes that have come, "total": of those that were missing, "files": [{"name":
 * ..., "done": ..., "bytes": ..., "state": ...}, ...]} */
void report_progress(int64_t done, int64_t total, const struct report_running *file, int n);
/* {"event": "done", "path": the snapshot} */
void report_done(const char *path);

#endif
