/* SPDX-License-Identifier: Apache-2.0 */
/* test_bar.c: the bar of progress.c on terminals of every width, by a clock of its own: that it stays on its
 * line, never runs backwards, ends, and makes room for messages. What draws it in earnest is
 * test_progress.sh's. */
#define _DEFAULT_SOURCE
#include <unistd.h>
#define isatty(fd) ((fd) == 2)
#include "../../../cli/term/fold.c"
#include "../../../cli/term/message.c"
#include "../../../cli/term/progress.c"
#include "../../../cli/term/utf8.c"
#undef isatty

#include <setjmp.h>

#include <cmocka.h>

static double clock_now;
static int width;

double term_seconds(void)
{
    return clock_now;
}

bool term_interrupted(void)
{
    return false;
}

static const char *wiped_by_signal = "";

void interrupt_wipes(const char *text)
{
    wiped_by_signal = text;
}

int terminal_columns(int fd)
{
    (void)fd;
    return width;
}

static int saved_stderr;
static FILE *screen;

static int catch_stderr(void **state)
{
    (void)state;
    fflush(stderr);
    saved_stderr = dup(2);
    screen = tmpfile();
    assert_non_null(screen);
    dup2(fileno(screen), 2);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", "1", 1);
    width = 80;
    return 0;
}

static int give_stderr_back(void **state)
{
    (void)state;
    dup2(saved_stderr, 2);
    close(saved_stderr);
    fclose(screen);
    return 0;
}

/* What was written since the last call. */
static const char *written(void)
{
    static char text[4096];
    fflush(stderr);
    ssize_t n = pread(fileno(screen), text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    assert_int_equal(ftruncate(fileno(screen), 0), 0);
    lseek(fileno(screen), 0, SEEK_SET);
    return text;
}

/* The drawn line alone. */
static const char *bar_in(const char *text)
{
    static char line[512];
    size_t n = strlen(text);
    assert_true(n > 4 && n < sizeof line && text[0] == '\r' && strcmp(text + n - 3, "\033[K") == 0);
    memcpy(line, text + 1, n - 4);
    line[n - 4] = 0;
    return line;
}

static const char *update(struct progress *p, double after, size_t done, size_t total)
{
    clock_now += after;
    assert_int_equal(progress_update(p, done, total), 0);
    return written();
}

static void it_says_share_rate_and_time(void **state)
{
    (void)state;
    struct progress p;
    progress_begin(&p, "prompt", "tok");
    assert_string_equal(update(&p, 0.4, 10, 100), "");
    assert_string_equal(bar_in(update(&p, 0.6, 25, 100)),
                        "prompt [######                  ]  25 %  25.0 tok/s  3 s left");
    assert_string_equal(update(&p, 0.01, 30, 100), "");
    assert_string_equal(bar_in(update(&p, 0.99, 10, 100)),
                        "prompt [#######                 ]  30 %  15.0 tok/s  5 s left");
    progress_end(&p);
    assert_string_equal(written(), "\r\033[K");
    /* a bar has an end */
    assert_string_equal(update(&p, 1, 90, 100), "");
    progress_end(&p);
    assert_string_equal(written(), "");
    progress_begin(&p, "packing", "MB");
    p.scale = 1024 / 1e6;
    assert_string_equal(bar_in(update(&p, 2, 500000, 1000000)),
                        "packing [############            ]  50 %  256 MB/s  2 s left");
    progress_end(&p);
    (void)written();
}

static void opening_never_runs_backwards(void **state)
{
    (void)state;
    struct progress p;
    progress_begin(&p, "loading", NULL);
    for (size_t step = 0; step <= 5; step++) {
        clock_now += 1;
        assert_int_equal(progress_opening(&p, step, 5), 0);
        assert_string_equal(bar_in(written()), "loading");
    }
    for (size_t kib = 0; kib <= 1000000; kib += 250000) {
        clock_now += 1;
        assert_int_equal(progress_opening(&p, kib, 1000000), 0);
        const char *text = written();
        if (kib == 0)
            assert_string_equal(text, "\r\033[K"); /* the word before it */
        if (kib == 250000)
            assert_string_equal(bar_in(text), "packing [######                  ]  25 %  256 MB/s  3 s left");
    }
    progress_end(&p);
    (void)written();
    progress_begin(&p, "loading", NULL);
    clock_now += 1;
    assert_int_equal(progress_opening(&p, 0, 1), 0);
    assert_string_equal(bar_in(written()), "waiting for the process that packs this model");
    progress_end(&p);
    (void)written();
}

static void it_stays_on_its_line(void **state)
{
    (void)state;
    struct progress p;
    for (width = 2; width < 300; width++) {
        progress_begin(&p, "measuring this machine", "tok");
        for (size_t done = 0; done <= 1000; done += 125) {
            const char *line = bar_in(update(&p, done == 500 ? 70000 : 1, done, 1000));
            assert_true((int)strlen(line) < width);
            if (width > 29)
                assert_non_null(strstr(line, " %"));
        }
        progress_end(&p);
        assert_string_equal(written(), "\r\033[K");
    }
    width = 0; /* not known */
    progress_begin(&p, "prompt", NULL);
    assert_true(strlen(bar_in(update(&p, 1, 1, 2))) < 80);
    progress_end(&p);
    (void)written();
    progress_begin(&p, "prompt", "tok");
    width = 44;
    assert_string_equal(bar_in(update(&p, 2, 90, 100)), "prompt [##### ]  90 %  45.0 tok/s  0 s left");
    width = 40;
    assert_string_equal(bar_in(update(&p, 2, 95, 100)), "prompt  95 %  23.8 tok/s  0 s left");
    width = 30;
    assert_string_equal(bar_in(update(&p, 2, 96, 100)), "prompt  96 %  16.0 tok/s");
    progress_end(&p);
    (void)written();
}

static void a_note_finds_the_line_empty(void **state)
{
    (void)state;
    struct progress p;
    progress_begin(&p, "prompt", "tok");
    (void)update(&p, 1, 1, 2);
    term_note("something");
    assert_string_equal(written(), "\r\033[Knote: something\n");
    term_note("more");
    assert_string_equal(written(), "note: more\n");
    (void)bar_in(update(&p, 1, 1, 2));
    fail_memory();
    assert_string_equal(written(), "\r\033[Kerror: E_MEMORY: out of memory\n");
    progress_end(&p);
    assert_string_equal(written(), "");
}

/* From its drawing on until it is gone, whichever way it goes. */
static void a_signal_wipes_what_stands(void **state)
{
    (void)state;
    struct progress p;
    for (int way = 0; way < 4; way++) {
        progress_begin(&p, "prompt", "tok");
        assert_false(progress_stands());
        assert_string_equal(wiped_by_signal, "");
        (void)bar_in(update(&p, 1, 1, 2));
        assert_true(progress_stands());
        assert_string_equal(wiped_by_signal, "\r\033[K");
        if (way == 1)
            term_note("something");
        else if (way == 2)
            progress_begin(&p, "packing", "MB");
        else if (way == 3)
            progress_hide();
        else
            progress_end(&p);
        assert_false(progress_stands());
        assert_string_equal(wiped_by_signal, "");
        assert_int_equal(strncmp(written(), "\r\033[K", 4), 0);
        progress_end(&p); /* once more, of what is gone */
        assert_string_equal(written(), "");
    }
}

static void a_dumb_terminal_gets_lines(void **state)
{
    (void)state;
    struct progress p;
    setenv("TERM", "dumb", 1);
    progress_begin(&p, "prompt", "tok");
    assert_string_equal(update(&p, 1, 1, 100), "");
    assert_string_equal(update(&p, 1, 10, 100),
                        "prompt [##                      ]  10 %  5.0 tok/s  18 s left\n");
    assert_string_equal(update(&p, 1, 15, 100), "");
    assert_string_equal(update(&p, 4, 35, 100),
                        "prompt [########                ]  35 %  5.0 tok/s  13 s left\n");
    term_note("something");
    assert_string_equal(written(), "note: something\n");
    progress_end(&p);
    assert_string_equal(written(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_says_share_rate_and_time, catch_stderr, give_stderr_back),
        cmocka_unit_test_setup_teardown(opening_never_runs_backwards, catch_stderr, give_stderr_back),
        cmocka_unit_test_setup_teardown(it_stays_on_its_line, catch_stderr, give_stderr_back),
        cmocka_unit_test_setup_teardown(a_note_finds_the_line_empty, catch_stderr, give_stderr_back),
        cmocka_unit_test_setup_teardown(a_signal_wipes_what_stands, catch_stderr, give_stderr_back),
        cmocka_unit_test_setup_teardown(a_dumb_terminal_gets_lines, catch_stderr, give_stderr_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
