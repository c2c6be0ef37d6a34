/* SPDX-License-Identifier: Apache-2.0 */
/* show_memory.c: the part of `carat show` about memory: what an engine with these options would reserve, and
 * with --memory to the page, beside what other contexts and KV types would. */
#include "show/show_memory.h"

#include <stdio.h>

#include "carat.h"
#include "model/engine.h"
#include "options/options.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/output.h"
#include "term/size.h"

/* The contexts of the table, besides the model's largest and the one that is shown. */
static const int contexts[] = {2048, 8192, 32768};
enum { MOST_CONTEXTS = sizeof contexts / sizeof *contexts + 2 };

/* f16 needs what bf16 does. */
static const carat_kv types[] = {CARAT_KV_BF16, CARAT_KV_Q8, CARAT_KV_F32};
enum { N_TYPES = sizeof types / sizeof *types };

struct table {
    int n, context[MOST_CONTEXTS];        /* ascending */
    size_t bytes[MOST_CONTEXTS][N_TYPES]; /* of the whole plan */
};

/* Keeps the list ascending and each context once. */
static void add_context(struct table *t, int context)
{
    int at = t->n;

    while (at > 0 && t->context[at - 1] >= context)
        at--;
    if (at < t->n && t->context[at] == context)
        return;
    for (int i = t->n++; i > at; i--)
        t->context[i] = t->context[i - 1];
    t->context[at] = context;
}

/* False when memory is out, all else having been checked with the plan that is shown. */
static bool fill_table(struct table *t, const carat_model *model, const carat_engine_options *e,
                       const carat_plan *shown)
{
    carat_model_info info = {.size = sizeof info};
    carat_plan plan = {.size = sizeof plan};
    carat_engine_options options = *e;

    if (carat_model_get_info(model, &info, NULL) != CARAT_OK)
        return false;
    *t = (struct table){0};
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++)
        if (contexts[i] < info.max_context)
            add_context(t, contexts[i]);
    add_context(t, info.max_context);
    add_context(t, shown->context);
    for (int i = 0; i < t->n; i++)
        for (int k = 0; k < N_TYPES; k++) {
            options.context = t->context[i];
            options.kv = types[k];
            if (carat_plan_engine(model, &options, &plan, NULL) != CARAT_OK)
                return false;
            t->bytes[i][k] = plan.bytes;
        }
    return true;
}

/* One part of the plan; to the page when that was asked for. */
static void print_part(const char *name, size_t bytes, size_t page)
{
    char size[SIZE_TEXT];

    out_print("  %-18s%s", name, size_text(size, (double)bytes));
    if (page)
        out_print(", %zu bytes in %zu pages", bytes, bytes / page);
    out_print("\n");
}

/* What is where: in memory without K and V, on the disk, K and V. */
static void print_kinds(const carat_plan *p)
{
    const size_t bytes[] = {p->bytes - p->kv_bytes, p->disk_bytes, p->kv_bytes};
    char size[SIZE_TEXT];

    out_print("  %12s%12s%12s\n  ", "resident", "on disk", "K and V");
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        out_print("%12s", size_text(size, (double)bytes[i]));
    out_print("\n");
}

static void print_table(const struct table *t)
{
    char size[SIZE_TEXT];

    out_print("memory by context\n  %-10s", "context");
    for (int k = 0; k < N_TYPES; k++)
        out_print("%12s", carat_kv_name(types[k]));
    for (int i = 0; i < t->n; i++) {
        out_print("\n  %-10d", t->context[i]);
        for (int k = 0; k < N_TYPES; k++)
            out_print("%12s", size_text(size, (double)t->bytes[i][k]));
    }
    out_print("\n");
}

int show_memory(const carat_model *model, const carat_engine_options *e, const carat_plan *p,
                const struct options *o)
{
    bool whole = o->engine->memory != NO_SIZE;
    carat_host_info host = {.size = sizeof host};
    struct table table;

    if (whole && (carat_get_host(&host, NULL) != CARAT_OK || !fill_table(&table, model, e, p)))
        return fail_memory();
    out_print("memory for a context of %d, %s cache\n", p->context, p->kv);
    print_part(p->packed_bytes || !whole ? "weights" : "weights, mapped", p->weight_bytes, host.page);
    if (p->head_bytes)
        print_part("- for the head", p->head_bytes, 0);
    print_part("cache", p->kv_bytes, host.page);
    if (p->snapshot_bytes)
        print_part("- of snapshots", p->snapshot_bytes, host.page);
    else if (whole && p->snapshot_least)
        print_part("- a snapshot", p->snapshot_least, host.page);
    print_part("work", p->work_bytes, host.page);
    print_part("stacks", p->stack_bytes, host.page);
    print_part("sum", p->bytes, host.page);
    if (p->disk_bytes)
        print_part("on the disk", p->disk_bytes, host.page);
    if (whole) {
        print_kinds(p);
        print_table(&table);
    }
    out_print("computing\n  %-18s%d, %s kernels, up to %d tokens in one pass\n", "threads", p->threads,
              p->isa, p->chunk);
    carat_model_info info = {.size = sizeof info};
    if (carat_model_get_info(model, &info, NULL) == CARAT_OK && info.kind == CARAT_EMBEDDER)
        return DONE; /* it has no head */
    out_print("  %-18s%s", "head", p->head);
    if (p->head_tiles)
        out_print(", %d of %d tiles of %d rows kept", p->head_kept, p->head_tiles, p->head_tile);
    out_print("\n");
    return DONE;
}

static json_t *table_json(const struct table *t)
{
    json_t *list = json_array();

    for (int i = 0; i < t->n; i++) {
        json_t *row = json_pack("{s:i}", "context", t->context[i]);
        for (int k = 0; k < N_TYPES; k++)
            json_object_set_new(row, carat_kv_name(types[k]), json_integer((json_int_t)t->bytes[i][k]));
        json_array_append_new(list, row);
    }
    return list;
}

json_t *show_memory_json(const carat_model *model, const carat_engine_options *e, const carat_plan *p,
                         const struct options *o)
{
    struct table table;
    json_t *all = json_pack(
        "{s:i, s:i, s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "context", p->context,
        "chunk", p->chunk, "threads", p->threads, "kv", p->kv, "isa", p->isa, "weight_bytes",
        (json_int_t)p->weight_bytes, "packed_bytes", (json_int_t)p->packed_bytes, "kv_bytes",
        (json_int_t)p->kv_bytes, "snapshot_bytes", (json_int_t)p->snapshot_bytes, "snapshot_least",
        (json_int_t)p->snapshot_least, "work_bytes", (json_int_t)p->work_bytes, "stack_bytes",
        (json_int_t)p->stack_bytes, "disk_bytes", (json_int_t)p->disk_bytes, "bytes", (json_int_t)p->bytes);

    if (all && o->engine->memory != NO_SIZE &&
        (!fill_table(&table, model, e, p) || json_object_set_new(all, "contexts", table_json(&table)) != 0)) {
        json_decref(all);
        all = NULL;
    }
    if (all)
        json_object_update_new(all, json_pack("{s:s, s:I, s:i, s:i, s:i}", "head", p->head, "head_bytes",
                                              (json_int_t)p->head_bytes, "head_tiles", p->head_tiles,
                                              "head_tile", p->head_tile, "head_kept", p->head_kept));
    return all;
}
