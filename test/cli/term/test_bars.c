/* SPDX-License-Identifier: Apache-2.0 */
/* test_bars.c: the lines of several bars fit into a terminal of any width, and lose what matters least
 * first. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "term/bars.c"

static double now;
static int columns_there;
static bool stands;

bool progress_stands(void)
{
    return stands;
}

void progress_hide(void)
{
    stands = false;
}

int isatty(int fd)
{
    (void)fd;
    return 1;
}

void progress_stands_as(const char *wipes)
{
    (void)wipes;
    stands = true;
}

double term_seconds(void)
{
    return now;
}

int terminal_columns(int fd)
{
    (void)fd;
    return columns_there;
}

const char *size_text(char out[SIZE_TEXT], double bytes)
{
    snprintf(out, SIZE_TEXT, "%.0f MB", bytes * 1e-6);
    return out;
}

static const struct bar bars[] = {{"model-00001-of-00002.safetensors", 500, 1000, NULL},
                                  {"model-00002-of-00002.safetensors", 1000, 1000, "checking"}};

static void lay_out(char text[BARS_TEXT], int columns)
{
    bars_lay_out(text, "fetching", 1500000000, 4000000000, bars, 2, 50e6, columns);
}

static void forty(void **state)
{
    char text[BARS_TEXT];

    (void)state;
    lay_out(text, 39);
    assert_string_equal(text, "...of-00002.safetensors  50 %\n...of-00002.safetensors 100 %  checking\n"
                              "fetching       38 %  50 MB/s  50 s left");
}

static void eighty(void **state)
{
    char text[BARS_TEXT];

    (void)state;
    lay_out(text, 79);
    assert_string_equal(text,
                        "model-00001-of-00002.safetensors [##############              ]  50 %\n"
                        "model-00002-of-00002.safetensors [############################] 100 %  checking\n"
                        "fetching                         [######            ]  38 %  50 MB/s  50 s left");
}

static void every_width_fits(void **state)
{
    char text[BARS_TEXT];

    (void)state;
    for (int columns = 39; columns < 240; columns++) {
        lay_out(text, columns);
        int lines = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
            if ((int)strlen(line) > columns)
                fail_msg("%d columns: '%s' has %zu", columns, line, strlen(line));
        assert_int_equal(lines, 3);
    }
}

/* A letter of two bytes takes one column, and is never cut. */
static void letters_count(void **state)
{
    char out[LINE];

    (void)state;
    put_shortened(out, "\xc3\xa4\xc3\xb6\xc3\xbc.gguf", 10);
    assert_string_equal(out, "\xc3\xa4\xc3\xb6\xc3\xbc.gguf  ");
    put_shortened(out, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f.gguf", 8);
    assert_string_equal(out, "....gguf");
    put_shortened(out, "0123\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f.gguf", 10);
    assert_string_equal(out, "...\xc3\xbc\xc3\x9f.gguf");
    put_shortened(out, "model.gguf", 3);
    assert_string_equal(out, "guf");
}

static void bar_needs_nine_columns(void **state)
{
    char text[LINE];

    (void)state;
    put_line(text, "model.gguf", 10, 18, 0.5, "  50 %");
    assert_string_equal(text, "model.gguf          50 %");
    put_line(text, "model.gguf", 10, 19, 0.5, "  50 %");
    assert_string_equal(text, "model.gguf [###   ]  50 %");
    assert_true(share_of(0, 0) == 0 && share_of(1, 4) == 0.25 && share_of(9, 4) == 1);
}

static void time_in_words(void **state)
{
    static const struct {
        double left;
        const char *words;
    } times[] = {{99, "  99 s left"}, {100, "  2 min left"}, {5940, "  99 min left"}, {6000, "  2 h left"}};
    char text[32];

    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        put_time(text, sizeof text, times[i].left);
        assert_string_equal(text, times[i].words);
    }
}

/* What stands there goes as a whole, also where the terminal became narrower. */
static void rows_that_go(void **state)
{
    (void)state;
    strcpy(drawn, "0123456789");
    note_rows(10);
    assert_string_equal(wipe, "\r\033[J");
    strcpy(drawn, "0123456789\n01234");
    note_rows(10);
    assert_string_equal(wipe, "\r\033[1A\033[J");
    strcpy(drawn, "0123456789012345678901234\n01234");
    note_rows(10);
    assert_string_equal(wipe, "\r\033[3A\033[J");
}

/* What lay there is no speed: the rate is that of the last seconds. */
static void rate_is_of_the_last_seconds(void **state)
{
    struct bars b = {.label = "fetching"};

    (void)state;
    assert_true(take_sample(&b, 0, 1000000) == 0);
    assert_true(take_sample(&b, 1, 1000100) == 100);
    for (int i = 2; i <= 20; i++)
        take_sample(&b, i, 1000000 + (i < 10 ? 100 * i : 1000 + 7 * (i - 10)));
    assert_true(take_sample(&b, 21, 1000000 + 1000 + 77) == 7);
}

/* What an update at that time writes. */
static const char *update(struct bars *b, double when, int64_t all)
{
    static char text[BARS_TEXT];
    FILE *out = tmpfile();
    const int kept = dup(STDERR_FILENO);

    assert_non_null(out);
    fflush(stderr);
    dup2(fileno(out), STDERR_FILENO);
    now = when;
    bars_update(b, 1500000000, all, bars, 2);
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    close(kept);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = 0;
    fclose(out);
    return text;
}

static void drawn_now_and_then(void **state)
{
    struct bars b = {.label = "fetching", .terminal = true};
    char wanted[BARS_TEXT];

    (void)state;
    columns_there = 42; /* without the last one, and two for ^C */
    bars_lay_out(wanted, "fetching", 1500000000, 4000000000, bars, 2, 0, 39);
    assert_string_equal(update(&b, 1, 0), "");
    assert_string_equal(update(&b, 1, 4000000000), wanted);
    assert_string_equal(update(&b, 1.05, 4000000000), "");
    columns_there = 1000;
    bars_lay_out(wanted, "fetching", 1500000000, 4000000000, bars, 2, 0, WIDEST - 3);
    assert_string_equal(update(&b, 1.2, 4000000000), wanted);
    assert_true(stands);
    bars_end(&b);
    assert_false(stands);
}

static void lines_where_no_terminal_is(void **state)
{
    struct bars b;

    (void)state;
    now = 0;
    setenv("TERM", "dumb", 1);
    bars_begin(&b, "fetching");
    assert_string_equal(update(&b, 9, 4000000000), "");
    assert_string_equal(update(&b, 11, 4000000000), "fetching: 38 % of 4000 MB  0 MB/s\n");
    setenv("TERM", "xterm", 1);
    bars_begin(&b, "fetching");
    assert_true(b.terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forty),
        cmocka_unit_test(eighty),
        cmocka_unit_test(every_width_fits),
        cmocka_unit_test(letters_count),
        cmocka_unit_test(bar_needs_nine_columns),
        cmocka_unit_test(time_in_words),
        cmocka_unit_test(rows_that_go),
        cmocka_unit_test(drawn_now_and_then),
        cmocka_unit_test(lines_where_no_terminal_is),
        cmocka_unit_test(rate_is_of_the_last_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
