/* SPDX-License-Identifier: Apache-2.0 */
/* show.c: `carat show`: what a model is, for people and as JSON: where it lies, what is in it,
 * what memory it needs, what it gives, and with --ranges how large its values become, which the library
 * measures. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "carat.h"
#include "carat_embed.h"
#include "carat_tools.h"
#include "names/aliases.h"
#include "model/side_settings.h"
#include "model/engine.h"
#include "names/fetcher.h"
#include "names/located.h"
#include "model/model.h"
#include "write/new_tensors.h"
#include "model/phases.h"
#include "model/sampling.h"
#include "model/stored.h"
#include "write/writing.h"
#include "options/option.h"
#include "options/options.h"
#include "options/written.h"
#include "prompt/prompt.h"
#include "prompt/ranges.h"
#include "show/show_options.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

/* The options about verbs that look. */
#define AT(field) offsetof(struct show_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 30, {"-o", "--out"}, WRITES, AT(out), "pack", "FILE", NULL,
     "write the packed form there, not into the cache", 0, 0},
    {ABOUT_OUTPUT + 100, {"--tensors"}, FLAG, AT(tensors), "show", NULL, NULL,
     "list every tensor", 0, 0},
    {ABOUT_OUTPUT + 101, {"--ranges"}, FLAG, AT(ranges), "show", NULL, NULL,
     "evaluate a text, -f or one that is built in, and list how large the values of every operation became", 0, 0},
    {ABOUT_MEASURING + 260, {"--measure"}, SWITCH, AT(measure), "doctor", "on|off|auto", "auto",
     "measure this machine; auto measures what no earlier run has (default {default})", 0, 0},
    {ABOUT_MEASURING + 270, {"--soak"}, REAL, AT(soak), "doctor", "SECONDS", NULL,
     "instead, compute an answer of MODEL, or of tiny, on every processor in turn; exit with 7 when an operation gives another bit", 0.001, 1e9},
};
/* clang-format on */

const struct option_group show_group = OPTION_GROUP(rows, struct show_options, NULL);

/* ---- where it lies ---- */

/* This part of `carat show` tells of a name: which rule it goes by, what that found and where it lies, or
 * what there is to fetch. */

static const char *const rules[] = {
    [CARAT_NAMED_PATH] = "path",
    [CARAT_NAMED_REPOSITORY] = "repository of the hub",
    [CARAT_NAMED_FAMILY] = "name of the family",
    [CARAT_NAMED_ADDRESS] = "address of a file",
    [CARAT_NAMED_OLLAMA] = "name of ollama",
    [CARAT_NAMED_KAGGLE] = "handle of Kaggle",
};

/* given: by the user, for what the rule is about; or "". */
static const char *rule_of(const struct options *o, const carat_location *at, char given[MOST_TARGET])
{
    if (!is_located(o->model))
        return strcmp(o->model, "-") == 0 ? "standard input" : "model inside this command";
    if (access(o->model, F_OK) == 0 || !alias_target(given, o->model))
        *given = 0;
    return rules[at->named];
}

static bool is_remote(const struct heads *heads)
{
    return heads->n > 0;
}

/* Tells of a model that is not here: "gemma3:1b is google/gemma-3-1b-it, commit 0123456789ab of main". */
static void print_remote(const struct options *o, const carat_location *at, const struct heads *heads)
{
    const bool one = heads->n == 1;
    char size[SIZE_TEXT];

    out_print("  %-18s", "found");
    if (at->repository && strcmp(at->repository, o->model) != 0)
        out_print("%s is ", o->model);
    out_print("%s", at->repository ? at->repository : o->model);
    if (at->repository)
        out_print(", commit %.12s of %s", heads->commit, at->revision);
    else if (at->named == CARAT_NAMED_KAGGLE)
        out_print(", version %s", heads->commit);
    out_print("\n  %-18s", "path");
    if (at->missing)
        out_print("none: of what is on this machine, %s\n", at->missing);
    else
        out_print("none: nothing of it is on this machine\n");
    out_print("  %-18s", "to fetch");
    if (one)
        out_name(heads->buffer[0].name, 256);
    else
        out_print("%d files", heads->n);
    out_print(", %s: carat pull %s\n", size_text(size, (double)heads->bytes), o->model);
}

/* heads: of a model that is not on this machine; else n is 0. */
static void show_found(const struct options *o, const carat_location *at, const struct heads *heads)
{
    char text[LOCATED_TEXT], given[MOST_TARGET] = "";
    const char *rule = rule_of(o, at, given);

    out_print("  %-18s%s%s%s\n", "rule", rule, *given ? ", by the name that carat cp gave to " : "", given);
    if (is_remote(heads)) {
        print_remote(o, at, heads);
    } else if (is_located(o->model)) {
        if (located_text(text, at, o->model))
            out_print("  %-18s%s\n", "found", text);
        out_print("  %-18s%s\n", "path", at->path);
        side_settings_show(at);
    }
}

/* NULL: out of memory. */
static json_t *show_found_json(const struct options *o, const carat_location *at, const struct heads *heads)
{
    char given[MOST_TARGET] = "";
    const char *rule = rule_of(o, at, given);
    json_t *found =
        json_pack("{s:o, s:s, s:o?}", "name", json_text(o->model, strlen(o->model)), "rule", rule, "path",
                  at->path && !is_remote(heads) ? json_text(at->path, strlen(at->path)) : NULL);

    if (found && *given)
        json_object_set_new(found, "given_to", json_text(given, strlen(given)));
    if (found && at->repository)
        json_object_update_new(found, json_pack("{s:s, s:s, s:s?}", "repository", at->repository, "revision",
                                                at->revision, "commit",
                                                is_remote(heads) ? heads->commit : at->commit));
    if (found && is_remote(heads)) {
        json_t *files = json_array();
        for (int i = 0; i < heads->n; i++)
            json_array_append_new(files,
                                  json_pack("{s:o, s:I}", "name",
                                            json_text(heads->buffer[i].name, strlen(heads->buffer[i].name)),
                                            "bytes", (json_int_t)heads->buffer[i].size));
        json_object_update_new(found, json_pack("{s:I, s:I, s:o}", "missing_bytes", (json_int_t)heads->bytes,
                                                "fetched_bytes", (json_int_t)heads->fetched, "files", files));
    }
    return found;
}

/* ---- memory ---- */

/* This part tells what an engine with these options would reserve, and with --memory to the page, beside what
 * other contexts and KV types would. */

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

/* Prints how much is where: in memory without K and V, on the disk, K and V. */
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

/* e is what the plan was made of. */
static int show_memory(const carat_model *model, const carat_engine_options *e, const carat_plan *p,
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

static json_t *show_memory_json(const carat_model *model, const carat_engine_options *e, const carat_plan *p,
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

/* ---- vectors ---- */

/* This part tells of a model that gives vectors: what it gives, and what for. */

static carat_embedder about(const carat_model *model)
{
    carat_embedder e;

    carat_embedder_default(&e);
    (void)carat_get_embedder(model, &e, NULL); /* it is one */
    return e;
}

static void show_embedder(const carat_model *model)
{
    const carat_embedder e = about(model);

    out_print("vectors\n  %-18s", "gives");
    if (e.n_dense)
        out_print("%d values for a text of up to %d tokens", e.width, e.max_tokens);
    else
        out_print("the raw mean of %d values alone (embed --no-dense): its dense heads are missing",
                  e.raw_width);
    for (int i = 0; i < e.n_cut && e.n_dense; i++)
        out_print("%s%d", i == 0 ? "; also its first " : i + 1 < e.n_cut ? ", " : " or ", e.cut[i]);
    out_print("\n  %-18s", "tasks");
    for (int i = CARAT_TASK_QUERY; carat_task_name((carat_task)i); i++)
        out_print("%s%s", i > CARAT_TASK_QUERY ? ", " : "", carat_task_name((carat_task)i));
    out_print("\n");
}

/* NULL: no memory */
static json_t *show_embedder_json(const carat_model *model)
{
    const carat_embedder e = about(model);
    json_t *cuts = json_array(), *tasks = json_array();

    for (int i = 0; i < e.n_cut; i++)
        json_array_append_new(cuts, json_integer(e.cut[i]));
    for (int i = CARAT_TASK_QUERY; carat_task_name((carat_task)i); i++)
        json_array_append_new(tasks, json_string(carat_task_name((carat_task)i)));
    return json_pack("{s:i, s:i, s:i, s:i, s:o, s:o}", "width", e.width, "raw_width", e.raw_width, "n_dense",
                     e.n_dense, "max_tokens", e.max_tokens, "cuts", cuts, "tasks", tasks);
}

/* ---- --ranges ---- */

#define MOST_F16 65504.0

static void print_range(void *user, const carat_range *r)
{
    char layer[16] = "-";

    (void)user;
    if (r->layer >= 0)
        snprintf(layer, sizeof layer, "%d", r->layer);
    out_print("%5s  %-14s %-20s %c %10.6g %6d %6d %9.4g\n", layer, r->operation, r->weight,
              r->residual ? '*' : ' ', (double)r->peak, r->position, r->column,
              r->peak > 0 ? MOST_F16 / (double)r->peak : 0);
}

/* Behind the table: the stream, its scale, and what else F16 cannot hold. */
static void print_scale(const struct ranges *r)
{
    struct peak stream, other;
    char text[PEAK_TEXT];

    ranges_peak(&stream, r, true);
    ranges_peak(&other, r, false);
    if (stream.peak > 0)
        out_print("residual stream: at most %g, by %s at id %d\nresidual scale: %g\n", (double)stream.peak,
                  peak_text(text, &stream), stream.position, (double)carat_ranges_scale(r->ranges));
    if ((double)other.peak > MOST_F16)
        out_print("no residual scale changes %s: %g, more than f16 holds\n", peak_text(text, &other),
                  (double)other.peak);
}

static void add_range(void *user, const carat_range *r)
{
    json_array_append_new(
        user, json_pack("{s:s, s:s, s:o, s:b, s:o, s:i, s:i, s:o}", "operation", r->operation, "weight",
                        r->weight, "layer", r->layer >= 0 ? json_integer(r->layer) : json_null(), "residual",
                        r->residual, "peak", json_number((double)r->peak), "position", r->position, "column",
                        r->column, "room", json_number(MOST_F16 / (double)r->peak)));
}

static int ranges_json(const struct ranges *r)
{
    json_t *list = json_array();

    carat_ranges_visit(r->ranges, add_range, list, NULL);
    return out_json(json_pack("{s:i, s:f, s:f, s:o}", "ids", r->n, "limit", MOST_F16, "residual_scale",
                              (double)carat_ranges_scale(r->ranges), "ranges", list));
}

/* Evaluates a text and prints how large the values of each operation became. An exit code. */
static int show_ranges(const carat_model *model, const struct options *o)
{
    struct ranges r = {.n = 0};
    int code = ranges_measure(&r, model, o);

    if (code == DONE && o->json) {
        code = ranges_json(&r);
    } else if (code == DONE) {
        out_print("largest values over %d ids%s; room: times up to %g,\n"
                  "the largest number of f16; *: a residual scale multiplies it\n",
                  r.n, o->prompt->file ? "" : " of a built-in text", MOST_F16);
        out_print("%5s  %-14s %-20s   %10s %6s %6s %9s\n", "layer", "operation", "weight", "peak", "at id",
                  "column", "room");
        carat_ranges_visit(r.ranges, print_range, NULL, NULL);
        print_scale(&r);
    }
    ranges_end(&r);
    return code;
}

/* ---- a model ---- */

struct subject {
    const struct options *o;
    carat_location at;
    struct heads heads; /* of a model that is not on this machine */
    carat_model *model;
    carat_model_info info;
    carat_engine_options engine;
    carat_plan plan;
};

/* "Q4_0", "mostly Q4_K", "none, BF16". */
static void print_stored(const struct subject *s)
{
    bool only;
    const char *type = stored_type(s->model, &only);
    bool whole = *type == 'F' || *type == 'B'; /* F32, F16, BF16: nothing was rounded to fewer bits */
    char size[SIZE_TEXT];

    const bool named = !only && strcmp(carat_model_mix(s->model), type) != 0; /* Q4_K_M is mostly Q4_K */

    out_print("  %-18s%s%s%s%s%s\n", "quantisation", whole && only ? "none, " : "",
              named ? carat_model_mix(s->model) : "", named ? ", " : "", only ? "" : "mostly ", type);
    out_print("  %-18s%s\n", "file size", size_text(size, (double)s->info.file_bytes));
}

/* Layers, and what those of some members have of their own. */
static void print_layers(const carat_model_info *m)
{
    out_print(m->kind == CARAT_EMBEDDER ? "  %-18s%d, of them %d local (%d tokens on each side)"
                                        : "  %-18s%d, of them %d local (window %d)",
              "layers", m->n_layer, m->n_local, m->sliding_window);
    if (m->n_kv_shared)
        out_print("; the last %d read keys and values of earlier ones", m->n_kv_shared);
    out_print("\n  %-18s%d hidden, %d ffn", "width", m->hidden, m->ffn);
    if (m->n_kv_shared && m->ffn_shared != m->ffn)
        out_print(", %d in the last %d", m->ffn_shared, m->n_kv_shared);
    out_print("\n  %-18s%d, %d for keys and values, of %d", "heads", m->n_head, m->n_kv_head, m->head_dim);
    if (m->n_kv_head_global && (m->n_kv_head_global != m->n_kv_head || m->head_dim_global != m->head_dim))
        out_print("; global %d of %d", m->n_kv_head_global, m->head_dim_global);
    out_print("\n");
    if (m->n_expert)
        out_print("  %-18s%d, %d for each token, %d ffn\n", "experts", m->n_expert, m->n_expert_used,
                  m->expert_ffn);
    if (m->ple_width)
        out_print("  %-18s%d for each token and layer\n", "inputs of layers", m->ple_width);
}

static double root_of(double x)
{
    double root = x;

    for (int i = 0; i < 64; i++)
        root = (root + x / root) / 2;
    return root;
}

/* The embedding is multiplied by the root of its width, which what computes in BF16 has rounded. */
static bool is_rounded(const carat_model_info *m)
{
    const double apart = m->embedding_scale / root_of(m->hidden) - 1;

    return (apart > 1e-6 || apart < -1e-6) && apart < 0x1p-8 && apart > -0x1p-8;
}

static void print_scales(const carat_model_info *m)
{
    out_print("  %-18sattention %g, embedding %g\n", "scales", m->attention_scale, m->embedding_scale);
    if (is_rounded(m))
        out_print(
            "  %-18sthe latter is the root of %d in BF16, as the reference has it there; in float32 it has "
            "%.6g\n",
            "", m->hidden, root_of(m->hidden));
}

/* Tells what a file says of activations, which carat quantises by their own values. */
static void print_input_scales(const struct subject *s)
{
    static const char ending[] = ".input_scale";
    int n = 0;

    for (int i = 0; i < carat_model_tensor_count(s->model); i++) {
        carat_tensor_info t = {.size = sizeof t};
        if (carat_model_get_tensor(s->model, i, &t, NULL) != CARAT_OK)
            continue;
        const size_t length = strlen(t.name);
        n += length >= sizeof ending && strcmp(t.name + length + 1 - sizeof ending, ending) == 0;
    }
    if (n > 0)
        out_print("  %-18s%d, not used\n", "input scales", n);
}

static void print_config(const struct subject *s)
{
    const carat_model_info *m = &s->info;

    out_print("model\n");
    show_found(s->o, &s->at, &s->heads);
    if (*m->name) {
        out_print("  %-18s", "name");
        out_name(m->name, 128);
        out_print("\n");
    }
    out_print("  %-18s%s, %s\n", "architecture", m->architecture, m->container);
    out_print("  %-18s%.2f M", "parameters", (double)m->n_parameter / 1e6);
    if (m->n_expert)
        out_print(", of which a token goes through %.2f M", (double)m->n_active / 1e6);
    out_print("\n");
    print_stored(s);
    print_layers(m);
    out_print("  %-18s%d, text below %d%s\n", "vocabulary", m->n_vocab, m->n_text_vocab,
              m->tied ? ", tied head" : "");
    out_print("  %-18s%d\n", "context", m->max_context);
    out_print("  %-18s%g global, %g local, factor %g\n", "rope", m->rope_base, m->rope_base_local,
              m->rope_factor);
    print_scales(m);
    if (m->attention_cap != 0 || m->logit_cap != 0)
        out_print("  %-18sattention %g, logits %g\n", "soft caps", m->attention_cap, m->logit_cap);
    out_print("  %-18s%s\n", "tokenizer", m->has_tokenizer ? m->tokenizer : "none");
    out_print("  %-18s%s%s%s\n", "chat template", m->has_chat_template ? m->chat_template : "none",
              m->template_altered || *m->template_origin ? ", " : "",
              m->template_altered ? "altered: the built-in one replaces the file's" : m->template_origin);
    print_input_scales(s);
    if (m->multimodal)
        out_print("  %-18sthere and not used\n", "vision tower");
}

/* The token as it is written, malloc'd by the library; NULL where the model has no tokenizer or no such
 * piece. */
static char *token_text(const struct subject *s, int32_t id)
{
    char *text = NULL;
    size_t n;

    if (!s->info.has_tokenizer ||
        carat_detokenize(s->model, &id, 1, CARAT_SPECIAL, &text, &n, NULL) != CARAT_OK)
        return NULL;
    return text;
}

static void print_sampling(const struct subject *s)
{
    char names[SAMPLING_TEXT];
    carat_sampling d;
    carat_sampling_default(s->model, &d);
    const int32_t *ids;
    int n = carat_stop_ids(s->model, &ids);

    out_print("generation\n  %-18stemperature %g, top-k %d, top-p %g, min-p %g\n  %-18s", "sampling",
              (double)d.temperature, d.top_k, (double)d.top_p, (double)d.min_p, "samplers");
    out_print("%s\n  %-18s", sampling_names(names, &d), "stops at");
    for (int i = 0; i < n; i++) {
        char *text = token_text(s, ids[i]);
        out_print("%s%d%s", i ? ", " : "", (int)ids[i], text && *text ? " " : "");
        out_name(text ? text : "", 64);
        carat_free(text);
    }
    out_print("%s\n", n ? "" : "nothing");
}

static int print_tensors(const struct subject *s)
{
    int n = carat_model_tensor_count(s->model);
    carat_error err;

    out_print("tensors\n");
    for (int i = 0; i < n; i++) {
        carat_tensor_info t = {.size = sizeof t};
        char dims[96] = "";
        size_t used = 0;
        if (carat_model_get_tensor(s->model, i, &t, &err) != CARAT_OK)
            return fail_status(&err);
        for (int d = 0; d < t.n_dim && d < 4; d++)
            used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%lld", d ? " x " : "",
                                     (long long)t.dim[d]);
        out_print("  %-56s %-6s %12zu  %s\n", t.name, t.type, t.bytes, dims);
    }
    return DONE;
}

static json_t *tensors_json(const struct subject *s)
{
    int n = carat_model_tensor_count(s->model);
    json_t *list = json_array();
    carat_error err;

    for (int i = 0; list && i < n; i++) {
        carat_tensor_info t = {.size = sizeof t};
        if (carat_model_get_tensor(s->model, i, &t, &err) != CARAT_OK)
            continue;
        json_t *shape = json_array();
        for (int d = 0; d < t.n_dim && d < 4; d++)
            json_array_append_new(shape, json_integer(t.dim[d]));
        json_array_append_new(list,
                              json_pack("{s:o, s:s, s:o, s:I}", "name", json_text(t.name, strlen(t.name)),
                                        "type", t.type, "shape", shape, "bytes", (json_int_t)t.bytes));
    }
    return list;
}

static json_t *stop_texts_json(const struct subject *s, const int32_t *ids, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++) {
        char *text = token_text(s, ids[i]);
        json_array_append_new(list, text ? json_text(text, strlen(text)) : json_null());
        carat_free(text);
    }
    return list;
}

static json_t *config_json(const struct subject *s)
{
    const carat_model_info *m = &s->info;
    bool only;
    const char *type = stored_type(s->model, &only);
    json_t *config = json_pack(
        "{s:s, s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "architecture",
        m->architecture, "container", m->container, "name", json_text(m->name, strlen(m->name)), "n_layer",
        m->n_layer, "hidden", m->hidden, "ffn", m->ffn, "n_head", m->n_head, "n_kv_head", m->n_kv_head,
        "head_dim", m->head_dim, "n_vocab", m->n_vocab, "n_text_vocab", m->n_text_vocab, "max_context",
        m->max_context, "sliding_window", m->sliding_window, "n_local", m->n_local);
    json_t *rest = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:s, s:b, s:b, s:b, s:s, s:s, s:b, s:s, "
        "s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:s, s:b}",
        "rope_base", m->rope_base, "rope_base_local", m->rope_base_local, "rope_factor", m->rope_factor,
        "attention_scale", m->attention_scale, "embedding_scale", m->embedding_scale, "attention_cap",
        m->attention_cap, "logit_cap", m->logit_cap, "norm_eps", m->norm_eps, "n_parameter",
        (json_int_t)m->n_parameter, "weight_bytes", (json_int_t)m->weight_bytes, "file_bytes",
        (json_int_t)m->file_bytes, "type", type, "one_type", only, "tied", m->tied, "multimodal",
        m->multimodal, "tokenizer", m->tokenizer, "chat_template", m->chat_template, "template_altered",
        m->template_altered, "template_origin", m->template_origin, "bos", m->bos, "n_kv_head_global",
        m->n_kv_head_global, "head_dim_global", m->head_dim_global, "n_kv_shared", m->n_kv_shared,
        "ffn_shared", m->ffn_shared, "ple_width", m->ple_width, "n_expert", m->n_expert, "n_expert_used",
        m->n_expert_used, "expert_ffn", m->expert_ffn, "n_active", (json_int_t)m->n_active, "mix",
        carat_model_mix(s->model), "embedding_scale_rounded", is_rounded(m));

    if (!config || !rest || json_object_update(config, rest) != 0) {
        json_decref(config);
        config = NULL;
    }
    json_decref(rest);
    return config;
}

static int print_json(const struct subject *s)
{
    carat_sampling d;
    carat_sampling_default(s->model, &d);
    const int32_t *stops;
    int n_stop = carat_stop_ids(s->model, &stops);
    json_t *sampling = sampling_json(&d);
    json_t *all =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "model", config_json(s), "sampling", sampling, "stop_ids",
                  json_ids(stops, n_stop), "stop_texts", stop_texts_json(s, stops, n_stop), "memory",
                  show_memory_json(s->model, &s->engine, &s->plan, s->o), "found",
                  show_found_json(s->o, &s->at, &s->heads));

    if (all && s->info.kind == CARAT_EMBEDDER &&
        json_object_set_new(all, "vectors", show_embedder_json(s->model)) != 0) {
        json_decref(all);
        all = NULL;
    }
    if (all && s->o->show->tensors && json_object_set_new(all, "tensors", tensors_json(s)) != 0) {
        json_decref(all);
        all = NULL;
    }
    return out_json(all);
}

/* Tells what convert would make of the model. */
static int show_conversion(const carat_model *model, const struct options *o)
{
    struct written written = {0};
    carat_convert_options how;
    carat_error err;
    int code = DONE;

    writing_options(&how, o);
    how.dry_run = 1;
    how.tensor = written_add;
    how.user = &written;
    if (carat_convert(model, NULL, &how, &err) != CARAT_OK)
        code = fail_status(&err);
    else if (o->json)
        code = out_json(written_json(&written));
    else
        written_print(&written);
    written_free(&written);
    return code;
}

/* By its heads, where it is not on this machine and they can be fetched. */
static int open_subject(struct subject *s)
{
    const struct options *o = s->o;

    carat_location_default(&s->at);
    if (is_located(o->model))
        TRY(look_for_model(&s->at, o->model));
    if (o->show->ranges)
        return open_packed(&s->model, o);
    if (o->open->drafter || !heads_can(&s->at, o->fetch))
        return open_model(&s->model, o, false);
    TRY(check_named_files(o));
    return heads_open(&s->model, &s->heads, &s->at, o->open->tokenizer, o->fetch);
}

static int show_model(struct subject *s)
{
    const struct options *o = s->o;
    struct phases phases;
    carat_error err;

    TRY(phases_engine(&phases, &s->engine, o));
    if (s->heads.n && !s->engine.ple_resident)
        s->engine.ple_resident = -1; /* once it is fetched it lies on the disk */
    TRY(fit_engine(&s->engine, s->model, o));
    if (carat_model_get_info(s->model, &s->info, &err) != CARAT_OK ||
        carat_plan_engine(s->model, &s->engine, &s->plan, &err) != CARAT_OK)
        return fail_status(&err);
    if (o->json)
        return print_json(s);
    out_fold(20);
    print_config(s);
    if (s->info.kind == CARAT_EMBEDDER)
        show_embedder(s->model);
    else
        print_sampling(s);
    int code = show_memory(s->model, &s->engine, &s->plan, o);
    out_fold(0); /* a table */
    return code == DONE && o->show->tensors ? print_tensors(s) : code;
}

int verb_show(const struct options *o)
{
    struct subject s = {.o = o, .info.size = sizeof s.info, .plan.size = sizeof s.plan};
    int code = open_subject(&s);

    if (code == DONE)
        code = o->show->ranges ? show_ranges(s.model, o)
               : o->writing->type || o->writing->recipe || o->writing->importance
                   ? show_conversion(s.model, o)
                   : show_model(&s);
    carat_model_close(s.model);
    heads_free(&s.heads);
    carat_location_free(&s.at);
    return code;
}
