/* SPDX-License-Identifier: Apache-2.0 */
/* bench_fields.c: every field of a result, as one table: llama-bench's own, in its order and with its
 * meaning, then under "carat" what it lacks. CSV, JSON and JSON lines are all written from it. A figure that
 * is not known is null. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_options.h"
#include "bench/fields.h"
#include "io/members.h"
#include "term/out_json.h"
#include "term/output.h"

/* The type of a field, and how it is printed. */
enum kind {
    TRUTH,   /* int */
    WHOLE,   /* int */
    BYTES,   /* size_t */
    COUNT,   /* uint64_t */
    NUMBER,  /* double times scale */
    KNOWN,   /* the same, but 0 is not known */
    ROUNDED, /* the same as NUMBER, as a whole number */
    STRING,  /* const char * */
    CHARS,   /* char[] */
    NUMBERS, /* double *, one for each repetition, times scale */
    ROUNDEDS,
    PROFILE,
};

enum origin { IN_BENCH, IN_SETTING, IN_TEST, FIXED };

struct bench_field {
    const char *name; /* a dot leads into an object */
    enum kind kind;
    enum origin origin;
    size_t at;
    double scale;
    const char *fixed;
};

#define B(member)              IN_BENCH, offsetof(struct bench, member), 1, NULL
#define B_TIMES(member, scale) IN_BENCH, offsetof(struct bench, member), scale, NULL
#define S(member)              IN_SETTING, offsetof(struct setting, member), 1, NULL
#define S_TIMES(member, scale) IN_SETTING, offsetof(struct setting, member), scale, NULL
#define T(member)              IN_TEST, offsetof(struct test, member), 1, NULL
#define T_TIMES(member, scale) IN_TEST, offsetof(struct test, member), scale, NULL
#define ALWAYS(value)          FIXED, 0, 1, value
#define SPREAD(name, member)                                                                                 \
    {name ".mean", NUMBER, T(member.mean)}, {name ".p50", NUMBER, T(member.median)},                         \
    {                                                                                                        \
        name ".p90", NUMBER, T(member.p90)                                                                   \
    }

/* clang-format off */
static const struct bench_field fields[] = {
    /* as llama-bench has them; what a CPU build of it would not use is empty, 0 or "none" */
    {"build_commit", CHARS, B(build)},
    {"build_number", WHOLE, ALWAYS("0")},
    {"cpu_info", CHARS, B(host.cpu)},
    {"gpu_info", CHARS, S(device.name)},
    {"backends", STRING, S(backend)},
    {"model_filename", STRING, B(path)},
    {"model_type", CHARS, B(type)},
    {"model_size", BYTES, B(info.weight_bytes)},
    {"model_n_params", COUNT, B(info.n_parameter)},
    {"n_batch", WHOLE, S(plan.chunk)},
    {"n_ubatch", WHOLE, S(plan.chunk)},
    {"n_threads", WHOLE, S(plan.threads)},
    {"cpu_mask", STRING, ALWAYS("0x0")},
    {"cpu_strict", TRUTH, ALWAYS("0")},
    {"poll", WHOLE, ALWAYS("0")},
    {"type_k", STRING, S(plan.kv)},
    {"type_v", STRING, S(plan.kv)},
    {"n_gpu_layers", WHOLE, S(gpu_layers)},
    {"n_cpu_moe", WHOLE, ALWAYS("0")},
    {"split_mode", STRING, ALWAYS("none")},
    {"main_gpu", WHOLE, S(device.number)},
    {"no_kv_offload", TRUTH, ALWAYS("0")},
    {"flash_attn", WHOLE, S(flash)},
    {"devices", STRING, ALWAYS("none")},
    {"tensor_split", STRING, ALWAYS("0.00")},
    {"tensor_buft_overrides", STRING, ALWAYS("none")},
    {"load_mode", STRING, ALWAYS("mmap")},
    {"embeddings", TRUTH, ALWAYS("0")},
    {"no_op_offload", WHOLE, ALWAYS("0")},
    {"no_host", TRUTH, ALWAYS("0")},
    {"fit_target", WHOLE, ALWAYS("0")},
    {"fit_min_ctx", WHOLE, ALWAYS("0")},
    {"n_prompt", WHOLE, T(n_prompt)},
    {"n_gen", WHOLE, T(n_gen)},
    {"n_depth", WHOLE, T(depth)},
    {"test_time", CHARS, T(time)},
    {"avg_ns", ROUNDED, T(ns.mean)},
    {"stddev_ns", ROUNDED, T(ns.deviation)},
    {"avg_ts", NUMBER, T(ts.mean)},
    {"stddev_ts", NUMBER, T(ts.deviation)},
    {"samples_ns", ROUNDEDS, T_TIMES(spent, 1e9)},
    {"samples_ts", NUMBERS, T(speed)},
    /* what was measured, and how */
    {"carat.version", CHARS, B(host.version)},
    {"carat.numerics", WHOLE, B(host.numerics)},
    {"carat.isa", STRING, S(plan.isa)},
    {"carat.kv", STRING, S(plan.kv)},
    {"carat.chunk", WHOLE, S(plan.chunk)},
    {"carat.exact", TRUTH, B(exact)},
    {"carat.fast8", TRUTH, B(fast8)},
    {"carat.tensor", TRUTH, B(tensor)},
    {"carat.n_parallel", WHOLE, T(parallel)},
    {"carat.repetitions", WHOLE, T(ts.n)},
    {"carat.command", STRING, B(command)},
    /* speed */
    {"carat.median_ts", NUMBER, T(ts.median)},
    {"carat.p90_ts", NUMBER, T(ts.p90)},
    {"carat.min_ts", NUMBER, T(ts.low)},
    {"carat.max_ts", NUMBER, T(ts.high)},
    {"carat.noise", NUMBER, T(ts.noise)},
    SPREAD("carat.ttft_ms", first_ms),
    SPREAD("carat.decode_ms", step_ms),
    /* beside what the machine can do at most */
    {"carat.gb_s", NUMBER, T(work.gb_s)},
    {"carat.gop_s", NUMBER, T(work.gop_s)},
    {"carat.of_read", NUMBER, T(work.of_read)},
    {"carat.of_compute", NUMBER, T(work.of_compute)},
    {"carat.limit_ts", NUMBER, T(limit)},
    {"carat.limit_gb_s", NUMBER, S_TIMES(limits.read, 1e-9)},
    {"carat.limit_gop_s.f32", KNOWN, S_TIMES(limits.operations[CARAT_BY_F32], 1e-9)},
    {"carat.limit_gop_s.bf16", KNOWN, S_TIMES(limits.operations[CARAT_BY_BF16], 1e-9)},
    {"carat.limit_gop_s.int8", KNOWN, S_TIMES(limits.operations[CARAT_BY_INT8], 1e-9)},
    {"carat.limit_gop_s.int4", KNOWN, S_TIMES(limits.operations[CARAT_BY_INT4], 1e-9)},
    /* the GPU that computes; without one "" and zeros */
    {"carat.device.name", CHARS, S(device.name)},
    {"carat.device.compute_major", WHOLE, S(device.compute_major)},
    {"carat.device.compute_minor", WHOLE, S(device.compute_minor)},
    {"carat.device.free_mb", NUMBER, S(free_mb)},
    {"carat.device.total_mb", NUMBER, S(total_mb)},
    /* the start, once a run */
    {"carat.setup_ms.open", NUMBER, B_TIMES(setup.open, 1e3)},
    {"carat.setup_ms.map", NUMBER, B_TIMES(setup.map, 1e3)},
    {"carat.setup_ms.pack", NUMBER, B_TIMES(setup.pack, 1e3)},
    {"carat.setup_ms.tokenizer", NUMBER, B_TIMES(setup.tokenizer, 1e3)},
    {"carat.setup_ms.parse", NUMBER, B_TIMES(setup.parse, 1e3)},
    {"carat.setup_ms.engine", NUMBER, S_TIMES(engine_seconds, 1e3)},
    {"carat.setup_ms.total", NUMBER, B_TIMES(start_seconds, 1e3)},
    {"carat.packed", TRUTH, B(setup.packed)},
    {"carat.packed_now", TRUTH, B(setup.made)},
    /* memory, in bytes */
    {"carat.peak_rss", BYTES, T(peak_rss)},
    {"carat.kv_bytes", BYTES, S(plan.kv_bytes)},
    {"carat.work_bytes", BYTES, S(plan.work_bytes)},
    {"carat.weight_bytes", BYTES, S(plan.weight_bytes)},
    /* what else the machine did */
    {"carat.foreign_load", NUMBER, T(load.foreign)},
    {"carat.steal", NUMBER, T(load.steal)},
    {"carat.throttled", NUMBER, T(load.throttled)},
    {"carat.mhz", KNOWN, T(load.mhz)},
    {"carat.mhz_most", KNOWN, T(load.mhz_most)},
    {"carat.governor", CHARS, T(load.governor)},
    {"carat.notes", CHARS, T(notes)},
    /* beside an older result */
    {"carat.compare.old_ts", KNOWN, T(old.ts.median)},
    {"carat.compare.old_noise", KNOWN, T(old.ts.noise)},
    {"carat.compare.ratio", KNOWN, T(old.ratio)},
    {"carat.compare.allowed", KNOWN, T(old.allowed)},
    {"carat.compare.machine_lost", NUMBER, T(old.lost)},
    {"carat.compare.others_took", NUMBER, T(old.taken)},
    {"carat.compare.verdict", STRING, T(old.word)},
    {"carat.profile", PROFILE, T(profile)},
};
/* clang-format on */

enum { N_FIELD = sizeof fields / sizeof fields[0] };

/* ---- values ---- */

static json_t *rounded(double x)
{
    return isfinite(x) ? json_integer((json_int_t)llround(x)) : json_null();
}

static json_t *operation_json(const struct test *t, const carat_operation *o)
{
    struct work w = work_of(&t->with->limits, o, o->seconds);

    return json_pack("{s:s, s:I, s:f, s:I, s:I, s:o, s:o}", "name", o->name, "calls", (json_int_t)o->calls,
                     "seconds", o->seconds, "bytes", (json_int_t)w.bytes, "operations",
                     (json_int_t)w.operations, "of_read", json_number(w.of_read), "of_compute",
                     json_number(w.of_compute));
}

static json_t *profile_json(const struct bench *b, const struct test *t)
{
    json_t *list = json_array();

    if (!b->o->bench->profile) {
        json_decref(list);
        return json_null();
    }
    for (int i = 0; i < t->profile.n; i++)
        if (t->profile.operation[i].calls)
            json_array_append_new(list, operation_json(t, &t->profile.operation[i]));
    return json_pack("{s:f, s:I, s:o}", "seconds", t->seconds, "passes", (json_int_t)t->profile.passes,
                     "operations", list);
}

static json_t *samples_json(const double *sample, int n, double scale, bool whole)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, whole ? rounded(scale * sample[i]) : json_number(scale * sample[i]));
    return list;
}

static json_t *string(const char *s)
{
    return s ? json_text(s, strlen(s)) : json_null();
}

/* A new reference; NULL when memory is out. */
static json_t *field_value(const struct bench *b, const struct test *t, const struct bench_field *f)
{
    int fixed = f->fixed ? atoi(f->fixed) : 0;
    const void *at = f->origin == FIXED        ? (const void *)&fixed
                     : f->origin == IN_TEST    ? (const void *)((const char *)t + f->at)
                     : f->origin == IN_SETTING ? (const void *)((const char *)t->with + f->at)
                                               : (const void *)((const char *)b + f->at);

    switch (f->kind) {
    case TRUTH:
        return json_boolean(*(const int *)at);
    case WHOLE:
        return json_integer(*(const int *)at);
    case BYTES:
        return json_integer((json_int_t) * (const size_t *)at);
    case COUNT:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case NUMBER:
        return json_number(*(const double *)at * f->scale);
    case KNOWN:
        return *(const double *)at > 0 ? json_number(*(const double *)at * f->scale) : json_null();
    case ROUNDED:
        return rounded(*(const double *)at * f->scale);
    case STRING:
        return string(f->fixed ? f->fixed : *(const char *const *)at);
    case CHARS:
        return string(at);
    case NUMBERS:
    case ROUNDEDS:
        return samples_json(*(double *const *)at, b->o->bench->repetitions, f->scale, f->kind == ROUNDEDS);
    case PROFILE:
        return profile_json(b, t);
    }
    return NULL;
}

/* Puts a value under its name, through the objects that the dots lead into. Takes the reference; false when
 * memory is out. */
static bool put(json_t *object, const char *name, json_t *value)
{
    const char *dot;

    for (; (dot = strchr(name, '.')) != NULL; name = dot + 1) {
        char part[32];
        size_t n = (size_t)(dot - name);
        memcpy(part, name, n);
        part[n] = 0;
        json_t *inner = json_object_get(object, part);
        if (!inner) {
            inner = json_object();
            json_object_set_new(object, part, inner);
        }
        object = inner;
    }
    return json_object_set_new(object, name, value) == 0;
}

static json_t *test_json(const struct bench *b, const struct test *t)
{
    json_t *object = json_object();

    for (int i = 0; i < N_FIELD && object; i++)
        if (!put(object, fields[i].name, field_value(b, t, &fields[i]))) {
            json_decref(object);
            object = NULL;
        }
    return object;
}

/* ---- one field, here and in an older result ---- */

static json_t *value_named(const struct bench *b, const struct test *t, const char *name)
{
    for (int i = 0; i < N_FIELD; i++)
        if (strcmp(fields[i].name, name) == 0)
            return field_value(b, t, &fields[i]);
    return NULL;
}

bool bench_field_equal(const struct bench *b, const struct test *t, const char *name, const json_t *older)
{
    const json_t *then = field_find(older, name);
    json_t *now = value_named(b, t, name);
    bool equal = !then || json_equal(then, now);

    json_decref(now);
    return equal;
}

void bench_note_field(const struct bench *b, const struct test *t, const char *name, const json_t *older,
                      const char *file)
{
    json_t *now = value_named(b, t, name);
    char *then = json_dumps(field_find(older, name), JSON_ENCODE_ANY | JSON_COMPACT);
    char *is = now ? json_dumps(now, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    term_note("%s: %s was %.200s, is %.200s", file, name, then ? then : "?", is ? is : "?");
    free(then);
    free(is);
    json_decref(now);
}

/* ---- writing ---- */

static int dump(const char *buffer, size_t n, void *user)
{
    (void)user;
    out_write(buffer, n);
    return 0;
}

/* Six decimals, as llama-bench has. */
static bool write_value(const json_t *value, size_t flags)
{
    if (json_is_real(value)) {
        out_print("%.6f", json_real_value(value));
        return true;
    }
    return json_dump_callback(value, dump, NULL, flags | JSON_ENCODE_ANY | JSON_REAL_PRECISION(12)) == 0;
}

/* One member a line; those of "carat" too, deeper ones side by side. */
static bool write_object(json_t *object, int indent, bool deeper)
{
    const char *name;
    json_t *value;
    bool good = true, first = true;

    out_print("{");
    json_object_foreach(object, name, value)
    {
        out_print("%s\n%*s\"%s\": ", first ? "" : ",", indent + 2, "", name);
        good = good && (deeper && json_is_object(value) ? write_object(value, indent + 2, false)
                                                        : write_value(value, 0));
        first = false;
    }
    out_print("\n%*s}", indent, "");
    return good;
}

/* Samples and profiles have no place in a cell. */
static bool in_table(const struct bench_field *f)
{
    return f->kind < NUMBERS;
}

static bool write_cell(const json_t *value)
{
    if (!value)
        return false;
    out_print("\"");
    if (json_is_string(value)) {
        for (const char *s = json_string_value(value); *s; s++)
            out_print(*s == '"' ? "\"\"" : "%c", *s);
    } else if (!json_is_null(value) && !write_value(value, 0)) {
        return false;
    }
    out_print("\"");
    return true;
}

static bool write_csv(const struct bench *b, const struct test *t)
{
    bool good = true;

    for (int i = 0; i < N_FIELD && good; i++) {
        if (!in_table(&fields[i]))
            continue;
        json_t *value = field_value(b, t, &fields[i]);
        out_print("%s", i ? "," : "");
        good = write_cell(value);
        json_decref(value);
    }
    return good;
}

int bench_fields_begin(const char *format)
{
    if (strcmp(format, "json") == 0)
        out_print("[");
    if (strcmp(format, "csv") == 0) {
        for (int i = 0; i < N_FIELD; i++)
            if (in_table(&fields[i]))
                out_print("%s%s", i ? "," : "", fields[i].name);
        out_print("\n");
    }
    return out_flush() ? DONE : FAILED;
}

int bench_fields_test(const struct bench *b, int i, const char *format)
{
    const struct test *t = &b->test[i];
    bool json = strcmp(format, "json") == 0, good;

    if (strcmp(format, "csv") == 0) {
        good = write_csv(b, t);
    } else {
        json_t *object = test_json(b, t);
        if (json)
            out_print("%s\n  ", i ? "," : "");
        good = object && (json ? write_object(object, 2, true) : write_value(object, 0));
        json_decref(object);
    }
    if (!json)
        out_print("\n");
    if (!good)
        return fail_memory();
    return out_flush() ? DONE : FAILED;
}

/* Objects and lists have no place in a cell. */
static bool write_cells(json_t *object, bool titles)
{
    const char *name, *between = "";
    json_t *value;
    bool good = true;

    json_object_foreach(object, name, value)
    {
        if (json_is_array(value) || json_is_object(value))
            continue;
        out_print("%s%s", between, titles ? name : "");
        good = good && (titles || write_cell(value));
        between = ",";
    }
    out_print("\n");
    return good;
}

int bench_fields_object(json_t *object, int i, const char *format)
{
    bool json = strcmp(format, "json") == 0, good = object != NULL;

    if (good && strcmp(format, "csv") == 0) {
        good = (i > 0 || write_cells(object, true)) && write_cells(object, false);
    } else if (good) {
        out_print("%s", !json ? "" : i ? ",\n  " : "[\n  ");
        good = json ? write_object(object, 2, true) : write_value(object, 0);
        out_print("%s", json ? "" : "\n");
    }
    json_decref(object);
    if (!good)
        return fail_memory();
    return out_flush() ? DONE : FAILED;
}

int bench_fields_end(const char *format)
{
    if (strcmp(format, "json") == 0)
        out_print("\n]\n");
    return out_flush() ? DONE : FAILED;
}
