/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c: the page of `carat compare` out of results and summaries that are written here: what stands
 * in it and in which order, that strangers' text stays text, that it stays small. CARAT_PAGES names a
 * directory in which the pages are kept, for test_report_pages.sh, which opens them in a browser. */
#define _GNU_SOURCE
#include "quality/compare/report_parts.h" /* before cmocka, which takes the name fail */
#include "term/exit.h"

#include "cli/quality/report_page.h"
#include "cli/quality/report_results.h"
#include "refusable.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

/* ---- what the command has elsewhere ---- */

double term_seconds(void)
{
    return 0;
}

int terminal_columns(int fd)
{
    (void)fd;
    return 80;
}

/* ---- making pages ---- */

static char dir[] = "/tmp/carat-report-XXXXXX", page_path[256];

/* The page of results, which are closed; judged, and kept under the name where that is wished. Free it. */
static char *write_page(FILE *results, struct summary *summary, const char *name, size_t *size)
{
    const char *keep = getenv("CARAT_PAGES");
    size_t n;

    snprintf(page_path, sizeof page_path, "%s/%s.html", keep ? keep : dir, name);
    assert_int_equal(report_write(page_path, results, summary), DONE);
    fclose(results);
    free(summary);
    char *page = page_read(page_path, &n);
    page_check(page, n);
    if (size)
        *size = n;
    return page;
}

static int count(const char *page, const char *what)
{
    int n = 0;

    for (const char *c = page; (c = strstr(c, what)); c++)
        n++;
    return n;
}

#define HAS(page, what)                                                                                      \
    do {                                                                                                     \
        if (!strstr(page, what))                                                                             \
            fail_msg("not in the page: %s", what);                                                           \
    } while (0)

/* ---- tests ---- */

static void one_prompt(void **state)
{
    static const char *const order[] = {
        "class=\"reason\"", "<h2>Metrics</h2>",     "KL(ref‖test)", "<h2>Who was compared</h2>",
        "<h2>Along the",    "KL over the position", "Match so far", "Margins at matches",
        "Entropy of one",   "<h2>The prompt and"};
    (void)state;
    FILE *f = tmpfile();
    put_line(f, "7", 32, 1, -1, TALK);
    char *page = write_page(f, make_summary(CARAT_WATCH, NAN, NAN), "one", NULL);
    const char *at = page;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const char *next = strstr(page, order[i]);
        if (!next || next < at)
            fail_msg("not there, or not in its place: %s", order[i]);
        at = next;
    }
    HAS(page, "<title>two.gguf against one.gguf</title>");
    HAS(page, "<h1><span class=\"health watch\"><b>!</b> watch</span></h1>");
    HAS(page, "the reason &amp; more");
    HAS(page, "There is no interval");
    HAS(page, ">0.0213<");
    HAS(page, ">1.00×10⁻⁷<");
    HAS(page, ">1\u00a0−\u00a03.0×10⁻⁸<");
    HAS(page, ">99.9996\u00a0%<");
    HAS(page, ">below\u00a00.01<");
    HAS(page, "not judged");
    HAS(page, "22cc33dd");
    HAS(page, "carat compare one two</bdi> --out DIR<");
    HAS(page, "It is<mark> in</mark> the room.");
    HAS(page, "It is<mark> on</mark> the roof.");
    HAS(page, "a near-tie");
    HAS(page, "The reference wrote its answer");
    assert_null(strstr(page, "98765"));
    assert_null(strstr(page, "Where it begins"));
    assert_int_equal(count(page, "<svg"), 4);
    assert_int_equal(count(page, "<figcaption>"), 4);
    assert_int_equal(count(page, "nan"), 0);
    free(page);
}

static void is_a_function_of_both(void **state)
{
    char *page[2];
    (void)state;

    for (int i = 0; i < 2; i++) {
        FILE *f = tmpfile();
        struct summary *summary = make_summary(CARAT_HEALTHY, 0.02, 0.03);
        const struct timings timings = {i, i, i, i};
        put_line(f, "1", 20, 1, -1, TALK);
        put_line(f, "2", 30, 2, -1, TALK);
        summary->timings = &timings;
        page[i] = write_page(f, summary, i ? "two" : "again", NULL);
    }
    HAS(page[0], "0.0200 to 0.0300");
    HAS(page[0], "bootstrap over prompts, since");
    HAS(page[0], "90th percentile");
    assert_string_equal(page[0], page[1]);
    free(page[0]);
    free(page[1]);
}

static void strangers_text_stays_text(void **state)
{
    static const char evil[] =
        "<script>alert('1')</script>\\\" onload=\\\"x\\\" ]]> &amp; </pre></svg><img "
        "src=http:x>\\u0000 \\u001b[31m \\u007f"
        " \\u0085 \\u202e back \\u2066 \\u200f \\ufeff \\ufffe \\uffff \\udb40\\udc41 \\ud83f\\udffe "
        "\\u0301\\u0301 \\r\\n\\ttab";
    char *members = NULL;
    (void)state;

    assert_true(
        asprintf(&members,
                 ",\"prompt\":\"%s\",\"answer_ref\":\"%s a\",\"answer_test\":\"%s b\",\"first_divergence\":"
                 "{\"index\":2,\"piece_ref\":\"%s\",\"piece_test\":\"%s\",\"near_tie\":false}",
                 evil, evil, evil, evil, evil) > 0);
    FILE *f = tmpfile();
    put_line(f, "\"<i>\\u202e\"", 9, 1, -1, members);
    fprintf(f, "{\"id\":\"%s\",\"status\":\"numeric\",\"message\":\"%s\"}\n", evil, evil);
    fprintf(f, "{\"id\":3,\"status\":\"context\"}\n");
    char *quoted = NULL;
    assert_true(asprintf(&quoted, "[\"%s\"]", evil) > 0);
    json_t *text = json_loads(quoted, JSON_ALLOW_NUL, NULL), *id = json_array_get(text, 0);
    assert_non_null(id);
    const struct words bad = {json_string_value(id), json_string_length(id)};
    struct summary *summary = make_summary(CARAT_CONCERNING, NAN, NAN);
    carat_operation_error operation = {.layer = 3,
                                       .operation = bad.s,
                                       .own = 0.1,
                                       .carried = 0.2,
                                       .channel = 17,
                                       .channel_error = 2,
                                       .flagged = 1,
                                       .reason = bad.s};
    snprintf(operation.tensor, sizeof operation.tensor, "%.200s", bad.s);
    snprintf(summary->verdict.reason, sizeof summary->verdict.reason, "%.200s", bad.s);
    const struct bisection bisect = {
        .tokens = 2, .n_rows = 1, .flagged = &operation, .table = &operation, .n = 1};
    summary->failed = 2;
    summary->first = (struct divergence){.there = true, .prompt = id, .index = 1, .piece_ref = bad};
    summary->bisect = &bisect;
    summary->run.command = summary->run.side[1].name = summary->run.side[0].types = summary->run.data.name =
        bad;
    summary->run.options.at = text;
    char *page = write_page(f, summary, "evil", NULL);
    HAS(page, "<i class=\"odd\">\\x00</i>");
    HAS(page, "<i class=\"odd\">\\x1b</i>[31m");
    HAS(page, "<i class=\"odd\">U+202E</i>");
    HAS(page, "<i class=\"odd\">U+FFFE</i>");
    HAS(page, "<i class=\"odd\">U+E0041</i>");
    HAS(page, "<i class=\"odd\">U+1FFFE</i>");
    HAS(page, "&lt;script&gt;");
    HAS(page, "<h2>Not compared</h2>");
    HAS(page, "<bdi>context</bdi>");
    free(page);
    json_decref(text);
    free(members);
    free(quoted);
}

/* 1 MiB of prompt, and one that becomes ten times as long. */
static void long_texts_are_cut(void **state)
{
    enum { N = 1 << 20 };
    char *members = malloc(12 * N);
    size_t n;
    (void)state;

    for (int kind = 0; kind < 2; kind++) {
        char *at = members + sprintf(members, ",\"prompt\":\"");
        for (int i = 0; i < (kind ? N / 8 : N); i++)
            at += sprintf(at, "%s", kind ? "\\u0001" : "A");
        at += sprintf(at, "\",\"answer_ref\":\"");
        for (int i = 0; i < 3000; i++)
            at += sprintf(at, "%s", i == 2000 ? "X" : "é");
        sprintf(at, "\",\"answer_test\":\"short\",\"first_divergence\":{\"index\":1}");
        FILE *f = tmpfile();
        char *id = malloc(N + 3);
        memset(id, '8', N + 2);
        id[0] = id[N + 1] = '"';
        id[N + 2] = 0;
        for (int i = 0; i < 12; i++)
            put_line(f, id, 9, 1, -1, members);
        free(id);
        char *page = write_page(f, make_summary(CARAT_WATCH, NAN, NAN), kind ? "controls" : "long", &n);
        assert_in_range(n, 1000, 512 << 10);
        HAS(page, "bytes are not shown");
        HAS(page, "88…</bdi>");
        free(page);
    }
    free(members);
}

static void a_thousand_prompts(void **state)
{
    size_t n;
    (void)state;
    FILE *f = tmpfile();
    char id[16];

    for (int i = 0; i < 1000; i++) {
        snprintf(id, sizeof id, "%d", i);
        put_line(f, id, 256, (unsigned)i, -1, TALK);
    }
    char *page = write_page(f, make_summary(CARAT_CONCERNING, 0.02, 0.03), "thousand", &n);
    assert_in_range(n, 20000, 2 << 20);
    assert_int_equal(count(page, "<article"), 10);
    free(page);
}

/* The worst first, those that are alike in their order, and no more than ten. */
static void the_worst_are_kept(void **state)
{
    struct report_figures *g = calloc(1, sizeof *g);
    struct summary *summary = make_summary(CARAT_WATCH, NAN, NAN);
    FILE *f = tmpfile();
    char id[16];
    (void)state;

    for (int i = 0; i < 30; i++) {
        snprintf(id, sizeof id, "%d", i);
        if (i % 3 == 2)
            fprintf(f, "{\"id\":%d,\"status\":\"context\"}\n", i);
        else
            put_line(f, id, 3, 1, i % 10 == 7 ? 1 : i % 10 * 0.001, "");
    }
    assert_int_equal(report_gather(g, f, summary), DONE);
    static const int expected[] = {7, 27, 9, 19, 18, 28, 6, 16, 15, 25};
    assert_int_equal(g->n_worst, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(json_integer_value(g->worst[i].line.id), expected[i]);
    assert_int_equal(g->n_failed, 10);
    assert_int_equal(json_integer_value(g->failed[9].id), 29);
    assert_int_equal(g->prompts, 20);
    report_forget(g);
    fclose(f);
    free(summary);
    free(g);
}

/* Thinning loses no position, no least and no largest; what follows a stop id is not counted. */
static void curves_are_thinned(void **state)
{
    struct report_figures *g = calloc(1, sizeof *g);
    struct summary *summary = make_summary(CARAT_WATCH, NAN, NAN);
    FILE *f = tmpfile();
    double sum = 0;
    int64_t n = 0, parted = 0, margins = 0, cells = 0;
    (void)state;

    fputs("{\"id\":1,\"status\":\"ok\",\"kl\":[", f);
    for (int i = 0; i < 1500; i++)
        fprintf(f, "%s%s", i ? "," : "", i == 777 ? "5" : i == 778 ? "0" : i == 779 ? "null" : "0.001");
    fputs("],\"stop\":1299,\"match\":[", f);
    for (int i = 0; i < 1500; i++)
        fprintf(f, "%s%d", i ? "," : "", i < 600 || i % 2);
    fputs("],\"margin_ref\":[0,1e9,0.0011],\"entropy_ref\":[0,99,1],\"entropy_test\":[0,99,null]}\n", f);
    put_line(f, "2", 700, 1, 0.001, ",\"stop\":null");
    assert_int_equal(report_gather(g, f, summary), DONE);
    assert_int_equal(g->group, 8);
    assert_int_equal(g->columns, (1300 + 7) / 8);
    assert_int_equal(g->longest, 1300);
    for (int i = 0; i < g->columns; i++) {
        n += g->column[i].n;
        sum += g->column[i].sum;
        parted += g->column[i].parted;
    }
    assert_int_equal(n, 2000);
    assert_int_equal(parted, 2);
    assert_true(g->column[75].parted == 1);
    assert_true(fabs(sum - (5 + 1997 * 0.001)) < 1e-9);
    const struct report_column *c = &g->column[777 / 8];
    assert_true(c->low == 0 && c->high == 5);
    assert_int_equal(c->n_kl, 7);
    assert_true(report_quantile(c, 0) == 0 && fabs(report_quantile(c, 1) / 5 - 1) < 0.07);
    assert_true(fabs(report_quantile(c, 0.5) / 0.001 - 1) < 0.07);
    for (int i = 0; i < MARGIN_BINS; i++)
        margins += g->margins[0][i] + g->margins[1][i];
    for (int y = 0; y < REPORT_CELLS; y++)
        for (int x = 0; x < REPORT_CELLS; x++)
            cells += g->cells[y][x];
    assert_int_equal(margins, 703);
    assert_int_equal(cells, 702);
    assert_true(g->margins[1][0] >= 2 && g->margins[1][MARGIN_BINS - 1] == 1);
    report_forget(g);
    fclose(f);
    free(summary);
    free(g);
}

static void a_bisection(void **state)
{
    static const char *const operations[] = {"q", "k", "down"};
    const carat_operation_error first = {.layer = 3,
                                         .operation = "down",
                                         .tensor = "blk.3",
                                         .channel = 17,
                                         .own = 0.144,
                                         .channel_error = 2,
                                         .reason = "a channel is off"};
    carat_operation_error table[1 + 18 * 3];
    struct bisection bisect = {.tokens = 9, .row = {0, 4}, .n_rows = 2, .flagged = &first, .table = table};
    (void)state;

    for (int layer = -1; layer < 18; layer++)
        for (int i = 0; i < (layer < 0 ? 1 : 3); i++) {
            const bool bad = layer == 3 && i == 2;
            table[bisect.n++] = (carat_operation_error){.layer = layer,
                                                        .operation = layer < 0 ? "embed" : operations[i],
                                                        .tensor = "t",
                                                        .own = bad ? 0.144 : 1e-7,
                                                        .carried = 0.5,
                                                        .channel = 4,
                                                        .channel_error = bad ? 2.0 : 1e-7,
                                                        .flagged = bad,
                                                        .reason = ""};
        }
    FILE *f = tmpfile();
    put_line(f, "1", 20, 1, -1, TALK);
    struct summary *summary = make_summary(CARAT_CONCERNING, NAN, NAN);
    summary->bisect = &bisect;
    summary->limits.kl[0] = 0.02;
    summary->limits.kl[1] = 0.2;
    summary->limits.match[0] = 97.5;
    char *page = write_page(f, summary, "bisect", NULL);
    const char *part = strstr(page, "<h2>Where it begins</h2>");
    assert_non_null(part);
    assert_true(part > strstr(page, "<article"));
    HAS(page, "one two</bdi> --bisect --limits kl=0.02:0.2,match=97.5:90 --out DIR<");
    HAS(part, "layer 3, <bdi>down</bdi>, channel 17: <bdi>a channel is off</bdi>.");
    assert_int_equal(count(part, "class=\"hit\""), 2);
    assert_int_equal(count(part, "down, layer 3: own error 0.144, channel 4 2.00</title>"), 2);
    assert_int_equal(count(part, "fill-opacity=\"1.00\" d=\"M"), 3); /* the cell, and both keys */
    free(page);
}

static void nothing_to_compare(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    fputs("{\"id\":1,\"status\":\"numeric\",\"message\":\"NaN\"}\n", f);
    struct summary *summary = make_summary(CARAT_CONCERNING, NAN, NAN);
    summary->metric[KL] = summary->metric[ENTROPY_REF] = summary->metric[ENTROPY_TEST] =
        (carat_summary){.mean = NAN, .median = NAN, .p90 = NAN, .p99 = NAN, .max = NAN};
    char *page = write_page(f, summary, "nothing", NULL);
    assert_int_equal(count(page, "<svg"), 0);
    HAS(page, "<h2>Not compared</h2>");
    free(page);
    page = write_page(tmpfile(), calloc(1, sizeof(struct summary)), "empty", NULL); /* not even a summary */
    free(page);
}

/* Where the last point of a curve lies, in pixels from above. */
static double end_of_curve(const char *page, const char *begins)
{
    const char *end = strstr(page, begins);

    if (!end)
        fail_msg("no curve %s", begins);
    end = strchr(end + strlen(begins), '"');
    while (end[-1] != ',')
        end--;
    return atof(end);
}

/* Of two prompts one parts: half of the answers are whole at the end, and the axis of match begins at 0. */
static void curves_end_where_they_should(void **state)
{
    static const char whole[] = "<g class=\"s3\"><path class=\"line dash\" d=\"";
    static const char positions[] = "<g class=\"s2\"><path class=\"line\" d=\"";
    (void)state;

    for (int parts = 0; parts < 2; parts++) {
        FILE *f = tmpfile();
        for (int i = 0; i < 2; i++) {
            fprintf(f, "{\"id\":%d,\"status\":\"ok\",\"kl\":[1e-3,1e-3,1e-3,1e-3],\"match\":[1,1,", i);
            fputs(parts && i ? "0,0]}\n" : "1,1]}\n", f);
        }
        char *page = write_page(f, make_summary(CARAT_HEALTHY, 0, 1), "curves", NULL);
        double top = 30, height = 212;
        assert_true(fabs(end_of_curve(page, whole) - (parts ? top + height / 2 : top)) < 0.06);
        assert_true(fabs(end_of_curve(page, positions) - (parts ? top + height / 4 : top)) < 0.06);
        /* decades from 1e-3 to 1e-1 */
        assert_true(fabs(end_of_curve(page, "<path class=\"line\" d=\"") - (top + height)) < 0.06);
        free(page);
    }
}

static void equal_models(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    put_line(f, "1", 1, 1, 0,
             ",\"prompt\":\"p\",\"answer_ref\":\"a\",\"answer_test\":\"a\",\"first_divergence\":null");
    char *page = write_page(f, make_summary(CARAT_HEALTHY, NAN, NAN), "equal", NULL);
    HAS(page, "They never part");
    assert_int_equal(count(page, "<mark>"), 0);
    free(page);
}

static void what_cannot_be_written(void **state)
{
    char path[300];
    (void)state;
    FILE *f = tmpfile();
    struct summary *summary = make_summary(CARAT_HEALTHY, NAN, NAN);

    put_line(f, "1", 5, 1, -1, TALK);
    snprintf(path, sizeof path, "%s/none/report.html", dir);
    assert_int_equal(report_write(path, f, summary), FAILED);
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(report_write("/dev/full", f, summary), FAILED);
    fputs("{\"id\":\"\xff\"}\n", f); /* no text of JSON is anything but UTF-8 */
    snprintf(path, sizeof path, "%s/torn.html", dir);
    assert_int_equal(report_write(path, f, summary), FAILED);
    assert_int_not_equal(access(path, F_OK), 0);
    fclose(f);
    free(summary);
}

/* Refused memory is code 5 and no page, or the same page. */
static void refused_memory(void **state)
{
    char path[300], *page;
    size_t n, n_page;
    int refused = 0;
    (void)state;
    FILE *f = tmpfile();
    struct summary *summary = make_summary(CARAT_HEALTHY, NAN, NAN);

    put_line(f, "1", 5, 1, -1, TALK);
    snprintf(path, sizeof path, "%s/memory.html", dir);
    assert_int_equal(report_write(path, f, summary), DONE);
    char *whole = page_read(path, &n);
    for (long at = 0;; at++) {
        unlink(path);
        requests = 0;
        refuse_at = at;
        int code = report_write(path, f, summary);
        refuse_at = NEVER;
        if (code == DONE) {
            page = page_read(path, &n_page);
            assert_true(n_page == n && memcmp(page, whole, n) == 0);
            free(page);
            if (requests <= at)
                break;
        } else {
            assert_int_equal(code, NO_MEMORY);
            assert_int_not_equal(access(path, F_OK), 0);
            refused++;
        }
    }
    assert_int_equal(refused, 2);
    free(whole);
    fclose(f);
    free(summary);
}

static void numbers(void **state)
{
    static const struct {
        double value;
        int digits;
        const char *text;
    } plain[] = {{0, 3, "0"},
                 {0.0213, 3, "0.0213"},
                 {-1.5, 3, "−1.50"},
                 {9.996, 3, "10.0"},
                 {999.96, 3, "1000"},
                 {123456, 3, "123456"},
                 {1234567, 3, "1.23×10⁶"},
                 {0.0009996, 3, "0.00100"},
                 {2e-7, 2, "2.0×10⁻⁷"},
                 {-3e-21, 2, "−3.0×10⁻²¹"},
                 {NAN, 3, "–"},
                 {INFINITY, 3, "–"}};
    static const struct {
        double value;
        const char *text;
    } percents[] = {{1, "100\u00a0%"},
                    {0, "0\u00a0%"},
                    {0.5, "50.0\u00a0%"},
                    {0.99949, "99.95\u00a0%"},
                    {0.9996, "99.96\u00a0%"},
                    {0.9999996, "99.99996\u00a0%"},
                    {1 - 1e-9, "99.9999999\u00a0%"},
                    {NAN, "–"}};
    char out[NUMBER_TEXT];
    (void)state;

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_string_equal(number_text(out, plain[i].value, plain[i].digits), plain[i].text);
    for (size_t i = 0; i < sizeof percents / sizeof *percents; i++)
        assert_string_equal(percent_text(out, percents[i].value), percents[i].text);
    assert_string_equal(near_one_text(out, 0.9987), "0.9987");
    assert_string_equal(near_one_text(out, 1), "1.000");
    assert_string_equal(near_one_text(out, 1 - 1e-5), "1\u00a0−\u00a01.0×10⁻⁵");
    assert_string_equal(count_text(out, 1234), "1234");
    assert_string_equal(count_text(out, 12345), "12\u202f345");
    assert_string_equal(count_text(out, 1234567), "1\u202f234\u202f567");
    assert_string_equal(power_text(out, -13), "10⁻¹³");
}

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(one_prompt),
        cmocka_unit_test(is_a_function_of_both),
        cmocka_unit_test(strangers_text_stays_text),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(a_thousand_prompts),
        cmocka_unit_test(the_worst_are_kept),
        cmocka_unit_test(curves_are_thinned),
        cmocka_unit_test(a_bisection),
        cmocka_unit_test(nothing_to_compare),
        cmocka_unit_test(curves_end_where_they_should),
        cmocka_unit_test(equal_models),
        cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(refused_memory),
    };
    json_set_alloc_funcs(__real_malloc, free); /* the command ends when JSON finds no memory */
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
