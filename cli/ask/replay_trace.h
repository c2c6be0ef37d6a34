/* SPDX-License-Identifier: Apache-2.0 */
/* replay_trace.h: --trace and --against of `carat replay`: what each operation gives around the first
 * difference, for another machine, and in which operation this one differs from that. */
#ifndef ASK_REPLAY_TRACE_H
#define ASK_REPLAY_TRACE_H

#include <jansson.h>

#include "ask/trace_file.h"
#include "io/save.h"
#include "options/options.h"
#include "term/progress.h"

/* Starts from {0}. */
struct replay_trace {
    const char *against; /* file; NULL: nothing is compared */
    bool runs;
    struct traced theirs, mine;
    struct save save;
    struct progress bar;
    bool no_memory;    /* for what was heard */
    int differs;       /* the first hash that does; -1: none */
    bool is_confirmed; /* while it was traced */
};

/* Everything that can be wrong before a model is opened. Exit codes. */
int replay_trace_open(struct replay_trace *t, const struct options *o, const carat_receipt *receipt);
/* Replays once more, as `how` says, around what was found, or where the file was traced. */
int replay_trace_run(struct replay_trace *t, const carat_receipt *receipt, carat_engine *engine,
                     carat_replay_options how, const carat_replay *found);
/* Two lines for people, and a member for programs. */
void replay_trace_print(const struct replay_trace *t, const carat_replay *found);
json_t *replay_trace_json(const struct replay_trace *t);
void replay_trace_close(struct replay_trace *t);

#endif
