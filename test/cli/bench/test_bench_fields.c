/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench_fields.c: what `carat bench` prints for programs: every field of llama-bench in its order and
 * type, every one under "carat" with its type, the same in JSON, JSON lines and CSV, and figures that agree
 * with each other. None is judged by its size. */
#include "cli/bad.h"

#include <jansson.h>
#include <math.h>

/* b: true or false, i: whole number, f: real number, s: text, I and F: lists, n: any of them or null. */
struct expected {
    const char *name;
    char type;
};
/* clang-format off */
static const struct expected llama[] = {
    {"build_commit", 's'}, {"build_number", 'i'}, {"cpu_info", 's'}, {"gpu_info", 's'}, {"backends", 's'},
    {"model_filename", 's'}, {"model_type", 's'}, {"model_size", 'i'}, {"model_n_params", 'i'},
    {"n_batch", 'i'}, {"n_ubatch", 'i'}, {"n_threads", 'i'}, {"cpu_mask", 's'}, {"cpu_strict", 'b'},
    {"poll", 'i'}, {"type_k", 's'}, {"type_v", 's'}, {"n_gpu_layers", 'i'}, {"n_cpu_moe", 'i'},
    {"split_mode", 's'}, {"main_gpu", 'i'}, {"no_kv_offload", 'b'}, {"flash_attn", 'i'}, {"devices", 's'},
    {"tensor_split", 's'}, {"tensor_buft_overrides", 's'}, {"load_mode", 's'}, {"embeddings", 'b'},
    {"no_op_offload", 'i'}, {"no_host", 'b'}, {"fit_target", 'i'}, {"fit_min_ctx", 'i'}, {"n_prompt", 'i'},
    {"n_gen", 'i'}, {"n_depth", 'i'}, {"test_time", 's'}, {"avg_ns", 'i'}, {"stddev_ns", 'i'},
    {"avg_ts", 'f'}, {"stddev_ts", 'f'}, {"samples_ns", 'I'}, {"samples_ts", 'F'},
};
static const struct expected ours[] = {
    {"version", 's'}, {"numerics", 'i'}, {"isa", 's'}, {"kv", 's'}, {"chunk", 'i'}, {"exact", 'b'},
    {"n_parallel", 'i'}, {"repetitions", 'i'}, {"command", 's'}, {"median_ts", 'f'}, {"p90_ts", 'f'}, {"min_ts", 'f'},
    {"max_ts", 'f'}, {"noise", 'f'}, {"ttft_ms.mean", 'n'}, {"ttft_ms.p50", 'n'}, {"ttft_ms.p90", 'n'},
    {"decode_ms.mean", 'n'}, {"decode_ms.p50", 'n'}, {"decode_ms.p90", 'n'}, {"gb_s", 'f'}, {"gop_s", 'f'},
    {"of_read", 'f'}, {"of_compute", 'n'}, {"limit_ts", 'f'}, {"limit_gb_s", 'f'}, {"limit_gop_s.f32", 'n'},
    {"limit_gop_s.bf16", 'n'}, {"limit_gop_s.int8", 'n'}, {"limit_gop_s.int4", 'n'}, {"device.name", 's'}, {"device.compute_major", 'i'},
    {"device.compute_minor", 'i'}, {"device.free_mb", 'f'}, {"device.total_mb", 'f'}, {"setup_ms.open", 'f'},
    {"setup_ms.map", 'f'}, {"setup_ms.pack", 'f'}, {"packed", 'b'}, {"packed_now", 'b'},
    {"setup_ms.tokenizer", 'f'}, {"setup_ms.parse", 'f'}, {"setup_ms.engine", 'f'}, {"setup_ms.total", 'f'},
    {"peak_rss", 'i'}, {"kv_bytes", 'i'}, {"work_bytes", 'i'}, {"weight_bytes", 'i'}, {"foreign_load", 'n'},
    {"steal", 'n'}, {"throttled", 'n'}, {"mhz", 'n'}, {"mhz_most", 'n'}, {"governor", 's'}, {"notes", 's'},
    {"compare.old_ts", 'n'}, {"compare.verdict", 'n'}, {"profile", 'n'},
};
/* clang-format on */

enum { REPETITIONS = 3 };

/* All that it prints, terminated; free it. */
static char *bench(const char *arguments)
{
    char command[2048], part[4096];
    struct buf b = {0};
    snprintf(command, sizeof command,
             "'%s' bench tiny -p 8 -n 3 -pg 4,2 -d 2 -npl 2 -r 3 --no-cache %s </dev/null", CARAT_COMMAND,
             arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        put(&b, part, n);
    assert_int_equal(pclose(f), 0);
    put(&b, "", 1);
    return (char *)b.p;
}

/* Follows the dots. */
static const json_t *at(const json_t *object, const char *name)
{
    char part[64];
    const char *dot = strchr(name, '.');
    if (!dot)
        return json_object_get(object, name);
    snprintf(part, sizeof part, "%.*s", (int)(dot - name), name);
    return at(json_object_get(object, part), dot + 1);
}

static void check_type(const char *name, const json_t *value, char type)
{
    bool good = value != NULL;
    switch (type) {
    case 'b':
        good = json_is_boolean(value);
        break;
    case 'i':
        good = json_is_integer(value);
        break;
    case 'f':
        good = json_is_real(value) && json_real_value(value) >= 0;
        break;
    case 's':
        good = json_is_string(value);
        break;
    case 'I':
    case 'F':
        good = json_array_size(value) == REPETITIONS;
        for (size_t i = 0; good && i < REPETITIONS; i++)
            check_type(name, json_array_get(value, i), type == 'I' ? 'i' : 'f');
        break;
    default:
        break;
    }
    if (!good)
        fail_msg("%s is missing or of another type", name);
}

static void check_fields(const json_t *test)
{
    const char *key;
    json_t *value;
    size_t i = 0;
    json_object_foreach((json_t *)(uintptr_t)test, key, value)
    {
        if (i < CT_COUNT(llama)) {
            assert_string_equal(key, llama[i].name);
            check_type(key, value, llama[i].type);
        } else {
            assert_string_equal(key, "carat");
        }
        i++;
    }
    assert_int_equal(i, CT_COUNT(llama) + 1);
    for (i = 0; i < CT_COUNT(ours); i++)
        check_type(ours[i].name, at(json_object_get(test, "carat"), ours[i].name), ours[i].type);
}

static double number(const json_t *test, const char *name)
{
    const json_t *value = at(test, name);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void check_near(double x, double y)
{
    if (!(fabs(x - y) <= 1e-5 * fmax(fabs(x), fabs(y)) + 2))
        fail_msg("%.9g and %.9g do not agree", x, y);
}

/* The formulas of llama-bench, and what follows from the samples for the others. */
static void check_figures(const json_t *test)
{
    double tokens = number(test, "carat.n_parallel") * (number(test, "n_prompt") + number(test, "n_gen"));
    double ns[REPETITIONS], ts[REPETITIONS], sum_ns = 0, sum_ts = 0, squares = 0, low = INFINITY, high = 0;
    bool prompt = number(test, "n_prompt") > 0, gen = number(test, "n_gen") > 0;
    for (size_t i = 0; i < REPETITIONS; i++) {
        ns[i] = json_number_value(json_array_get(at(test, "samples_ns"), i));
        ts[i] = json_number_value(json_array_get(at(test, "samples_ts"), i));
        assert_true(ns[i] > 0);
        check_near(ts[i], 1e9 * tokens / ns[i]);
        sum_ns += ns[i];
        sum_ts += ts[i];
        low = fmin(low, ts[i]);
        high = fmax(high, ts[i]);
    }
    for (size_t i = 0; i < REPETITIONS; i++)
        squares += (ts[i] - sum_ts / REPETITIONS) * (ts[i] - sum_ts / REPETITIONS);
    check_near(number(test, "avg_ns"), sum_ns / REPETITIONS);
    check_near(number(test, "avg_ts"), sum_ts / REPETITIONS);
    check_near(number(test, "stddev_ts"), sqrt(squares / (REPETITIONS - 1)));
    check_near(number(test, "carat.min_ts"), low);
    check_near(number(test, "carat.max_ts"), high);
    check_near(number(test, "carat.median_ts"), sum_ts - low - high);
    assert_int_equal(json_is_null(at(test, "carat.ttft_ms.p50")), !prompt);
    assert_int_equal(json_is_null(at(test, "carat.decode_ms.p50")), !gen);
    if (gen && !prompt) /* the time of a run is that of its steps */
        check_near(number(test, "carat.decode_ms.mean") * 1e6 * number(test, "n_gen"), sum_ns / REPETITIONS);
    assert_true(number(test, "carat.peak_rss") > number(test, "carat.weight_bytes"));
    assert_true(number(test, "carat.setup_ms.total") >= number(test, "carat.setup_ms.engine"));
}

static void check_order(const json_t *list)
{
    static const int expected[][3] = {{8, 0, 1}, {0, 3, 2}, {4, 2, 1}}; /* n_prompt, n_gen, n_parallel */
    assert_int_equal(json_array_size(list), CT_COUNT(expected));
    for (size_t i = 0; i < CT_COUNT(expected); i++) {
        const json_t *test = json_array_get(list, i);
        assert_int_equal(number(test, "n_prompt"), expected[i][0]);
        assert_int_equal(number(test, "n_gen"), expected[i][1]);
        assert_int_equal(number(test, "carat.n_parallel"), expected[i][2]);
        assert_int_equal(number(test, "n_depth"), 2);
        check_fields(test);
        check_figures(test);
    }
}

static void json_array_of_tests(void **state)
{
    (void)state;
    char *text = bench("--json");
    json_error_t why;
    json_t *list = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    assert_non_null(list);
    check_order(list);
    const json_t *test = json_array_get(list, 0);
    assert_string_equal(json_string_value(at(test, "backends")), "CPU");
    assert_string_equal(json_string_value(at(test, "model_filename")), "tiny");
    assert_string_equal(json_string_value(at(test, "model_type")), "gemma3 2.63M BF16");
    assert_int_equal(number(test, "carat.repetitions"), REPETITIONS);
    /* one field a line, as llama-bench writes them */
    assert_memory_equal(text, "[\n  {\n    \"build_commit\": ", 25);
    assert_true(strstr(text, "\n    \"n_prompt\": 8,\n    \"n_gen\": 0,\n    \"n_depth\": 2,\n"));
    json_decref(list);
    free(text);
}

static void json_lines(void **state)
{
    (void)state;
    char *text = bench("-o jsonl --profile");
    json_t *list = json_array();
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_int_equal(json_array_append_new(list, json_loads(line, JSON_REJECT_DUPLICATES, NULL)), 0);
    check_order(list);
    assert_int_equal(number(json_array_get(list, 1), "carat.profile.passes"), 3);
    json_decref(list);
    free(text);
}

/* The cell at *p, which moves behind it. */
static char *cell(char **p)
{
    char *out = *p + 1, *to = out, *from = out;
    assert_int_equal(**p, '"');
    for (; *from && (from[0] != '"' || from[1] == '"'); from++) {
        from += from[0] == '"';
        *to++ = *from;
    }
    assert_int_equal(*from, '"');
    *p = from + 1 + (from[1] == ',');
    *to = 0;
    return out;
}

/* The model's name has what CSV must double and what a shell must quote. */
static void csv(void **state)
{
    (void)state;
    char *dir = temp_dir(), arguments[1200], link[1024];
    snprintf(link, sizeof link, "%s/a \"b\", it's", dir);
    assert_int_equal(symlink(CT_TEST_DATA "/../../models/tiny", link), 0);
    snprintf(arguments, sizeof arguments, "-o csv --no-cache -m \"$(echo '%s'/a*)\"", dir);
    char command[4096];
    snprintf(command, sizeof command, "'%s' bench -p 8 -n 0 -r 3 %s </dev/null", CARAT_COMMAND, arguments);
    struct buf b = {0};
    char part[4096];
    FILE *f = popen(command, "r");
    assert_non_null(f);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        put(&b, part, n);
    assert_int_equal(pclose(f), 0);
    put(&b, "", 1);
    char *header = (char *)b.p, *row = strchr(header, '\n');
    assert_non_null(row);
    *row++ = 0;
    size_t n = 0, n_llama = 0;
    for (char *name = strtok(header, ","); name; name = strtok(NULL, ","), n++) {
        char *value = cell(&row);
        while (n_llama < CT_COUNT(llama) && strchr("IF", llama[n_llama].type))
            n_llama++;
        if (n_llama < CT_COUNT(llama))
            assert_string_equal(name, llama[n_llama++].name);
        else
            assert_int_equal(strncmp(name, "carat.", 6), 0);
        if (strcmp(name, "model_filename") == 0)
            assert_string_equal(value, link);
        if (strcmp(name, "n_prompt") == 0)
            assert_string_equal(value, "8");
        if (strcmp(name, "cpu_strict") == 0)
            assert_string_equal(value, "false");
        if (strcmp(name, "carat.decode_ms.mean") == 0)
            assert_string_equal(value, "");
        if (strcmp(name, "carat.command") == 0)
            assert_non_null(strstr(value, "/a \"b\", it'\\''s' --no-cache -p 8 -n 0 "));
    }
    assert_string_equal(row, "\n");
    assert_true(n > CT_COUNT(llama) + 30);
    assert_int_equal(unlink(link), 0);
    remove_dir(dir, (const char *const[]){NULL});
    buf_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(json_array_of_tests), cmocka_unit_test(json_lines),
                                       cmocka_unit_test(csv)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
