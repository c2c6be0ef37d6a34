/* SPDX-License-Identifier: Apache-2.0 */
/* replay_trace.c: see replay_trace.h. Hashes are the library's (carat_replay_options.on_operation), the file
 * is trace_file.c's. */
#include "ask/replay_trace.h"

#include <string.h>

#include "ask/receipt.h"
#include "term/message.h"
#include "term/output.h"

static int receipt_info(const carat_receipt *receipt, carat_receipt_info *info)
{
    carat_error err;

    carat_receipt_info_default(info);
    return carat_receipt_get_info(receipt, info, &err) == CARAT_OK ? DONE : fail_status(&err);
}

int replay_trace_open(struct replay_trace *t, const struct options *o, const carat_receipt *receipt)
{
    const struct receipt_options *how = o->receipt;
    carat_receipt_info info;

    t->against = how->against;
    t->runs = how->trace || how->against;
    t->differs = -1;
    if (how->trace && strcmp(how->trace, "-") == 0)
        return fail(USAGE, "replay: --trace - and the result cannot both go to standard output");
    TRY(receipt_info(receipt, &info));
    if (how->against)
        TRY(traced_read(&t->theirs, how->against, &info));
    return how->trace ? save_open(&t->save, how->trace) : DONE;
}

/* From the last position that is the same to the first that surely is not; of an answer that is confirmed,
 * its last ones. */
static void choose_positions(struct traced *t, const carat_replay *found, int n_prompt)
{
    int same = found->tokens - CARAT_RECEIPT_STEP, differ = found->tokens;

    if (found->states_differ >= 0) {
        same = found->states_same;
        differ = found->states_differ;
    } else if (found->differs >= 0) {
        same = found->differs;
        differ = found->differs < found->tokens ? found->differs + 1 : found->tokens;
    }
    t->first = n_prompt - 2 + (same > 0 ? same : 0);
    t->first = t->first > 0 ? t->first : 0;
    t->positions = n_prompt - 1 + differ - t->first;
}

static int hear_hash(void *user, const carat_operation_hash *hash)
{
    struct replay_trace *t = user;

    t->no_memory = !traced_add(&t->mine, hash);
    return t->no_memory;
}

static int show_progress(void *user, size_t done, size_t total)
{
    return progress_update(&((struct replay_trace *)user)->bar, done, total);
}

static void compare(struct replay_trace *t)
{
    for (int i = 0; i < t->mine.n && t->differs < 0; i++)
        if (strcmp(t->mine.hash[i], t->theirs.hash[i]) != 0)
            t->differs = i;
}

int replay_trace_run(struct replay_trace *t, const carat_receipt *receipt, carat_engine *engine,
                     carat_replay_options how, const carat_replay *found)
{
    carat_receipt_info info;
    carat_replay traced;
    carat_replay_default(&traced);
    carat_error err;

    TRY(receipt_info(receipt, &info));
    snprintf(t->mine.content, sizeof t->mine.content, "%s", info.content);
    snprintf(t->mine.digest, sizeof t->mine.digest, "%s", info.digest);
    choose_positions(&t->mine, found, info.n_prompt);
    if (t->against) {
        t->mine.first = t->theirs.first;
        t->mine.positions = t->theirs.positions;
    }
    how.on_operation = hear_hash;
    how.user = t;
    how.progress = show_progress;
    how.trace_first = t->mine.first;
    how.n_traced = t->mine.positions;
    progress_begin(&t->bar, "trace", "tok");
    const carat_status status = carat_receipt_replay(receipt, engine, &how, &traced, &err);
    progress_end(&t->bar);
    if (status != CARAT_OK)
        return t->no_memory ? fail_memory() : fail_status(&err);
    t->is_confirmed = traced.confirmed;
    if (t->against) {
        TRY(traced_check(&t->theirs, t->against, &t->mine));
        compare(t);
    }
    if (!t->save.file)
        return DONE;
    traced_write(&t->mine, t->save.file);
    return save_close(&t->save);
}

/* The first position that differs; *before: maybe one before it does. */
static int place_of(const struct replay_trace *t, bool *before)
{
    const int position = t->mine.first + t->differs / t->mine.n_operations;

    *before = position == t->mine.first && position > 0;
    return position;
}

void replay_trace_print(const struct replay_trace *t, const carat_replay *found)
{
    const int last = t->mine.first + t->mine.positions - 1;
    bool before;

    if (t->differs >= 0) {
        const int position = place_of(t, &before);
        out_print("the first operation that differs from %s: %s, at position %d%s\n", t->against,
                  t->mine.operation[t->differs % t->mine.n_operations], position, before ? " or before" : "");
    } else if (t->against) {
        out_print("no operation differs from %s at positions %d to %d\n", t->against, t->mine.first, last);
    } else {
        out_print("traced %d operations at positions %d to %d\n", t->mine.n_operations, t->mine.first, last);
    }
    if (t->is_confirmed && found->states_differ >= 0)
        out_print(
            "While they were traced, all numbers were the receipt's: the fault did not happen again.\n");
}

json_t *replay_trace_json(const struct replay_trace *t)
{
    json_t *o = json_pack("{s:i, s:i, s:i, s:b}", "first", t->mine.first, "positions", t->mine.positions,
                          "operations", t->mine.n_operations, "confirmed", t->is_confirmed);
    bool before;

    if (o && t->against)
        json_object_set_new(o, "against", json_string(t->against));
    if (o && t->differs >= 0) {
        const int position = place_of(t, &before);
        json_object_set_new(o, "differs",
                            json_pack("{s:s, s:i, s:b}", "operation",
                                      t->mine.operation[t->differs % t->mine.n_operations], "position",
                                      position, "or_before", before));
    }
    return o;
}

void replay_trace_close(struct replay_trace *t)
{
    traced_free(&t->theirs);
    traced_free(&t->mine);
    save_abandon(&t->save);
}
