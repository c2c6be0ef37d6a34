/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c: what the options of a command line mean together, in the order in which that is asked. What one
 * option says is checked where it is parsed; what needs a model is the verbs' business. */
#include "prompt/settle.h"

#include <string.h>

#include "carat_tools.h"
#include "model/engine.h"
#include "names/find_model.h"
#include "model/head.h"
#include "options/store.h"
#include "options/written.h"
#include "prompt/prompt.h"
#include "term/message.h"

/* -ctk and -ctv together say what --kv says. */
static int settle_cache_types(struct options *o)
{
    struct engine_options *e = options_group(o, GROUP_OF_engine);
    const char *k = e->cache_k, *v = e->cache_v;

    if (!k && !v)
        return DONE;
    if (!k || !v || strcmp(k, v) != 0)
        return term_fail(
            USAGE,
            "%s: -ctk and -ctv have to be given together and equal: carat keeps keys and values in "
            "one type",
            o->verb->name);
    if (strcmp(k, "q8_0") == 0) /* the same idea: int8, and one f16 for 32 */
        k = carat_kv_name(CARAT_KV_Q8);
    if (e->kv && strcmp(e->kv, k) != 0)
        return term_fail(USAGE, "%s: --kv %s and -ctk %s contradict each other", o->verb->name, e->kv, k);
    e->kv = k;
    return DONE;
}

/* The use of standard input for a verb whose options say nothing of it: what "reads" of its row says, NULL
 * when it is not read. */
static const char *read_unasked(const struct options *o)
{
    const struct prompt_options *p = o->prompt;
    static const char *const sources[] = {"--jsonl", "--file", "--ids"};

    if (p->talks || verb_belongs("chat", o->verb))
        return "the messages";
    if (o->text)
        return strcmp(o->text, "-") == 0 && verb_belongs("run", o->verb) ? o->verb->reads : NULL;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const struct option_row *r = option_named(o->verb, sources[i]);
        if (r && (r->option->kind == READS || r->option->kind == IDS) && *(const char **)option_field(o, r))
            return NULL;
    }
    return p->prompt || p->file || p->messages || p->ids ? NULL : o->verb->reads;
}

/* Standard input can be read once: names the two that want it. */
static int check_stdin(struct options *o)
{
    const char *reader[2] = {NULL, NULL}, *unasked = read_unasked(o);
    int n = 0;

    for (const struct option_row *r = table_rows(); r->option && n < 2; r++) {
        const struct option *option = r->option;
        if ((option->kind != READS && option->kind != MODEL && option->kind != IDS) ||
            !verb_belongs(option->verbs, o->verb))
            continue;
        const char *value = *(const char **)option_field(o, r);
        if (value && strcmp(value, "-") == 0)
            reader[n++] = option->kind == MODEL ? "MODEL" : option->names[0];
    }
    o->appends_stdin = verb_belongs("run", o->verb) && o->appends_stdin && o->text && !unasked && n == 0;
    if (n == 1 && unasked)
        reader[n++] = unasked;
    if (n == 2)
        return term_fail(USAGE, "%s: %s and %s cannot both be standard input", o->verb->name, reader[0],
                         reader[1]);
    return DONE;
}

int prompt_settle(struct options *o)
{
    TRY(settle_fetching(o));
    TRY(settle_cache_types(o));
    TRY(settle_head(o));
    TRY(check_stdin(o));
    return check_written(o);
}
