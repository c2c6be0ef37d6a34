/* SPDX-License-Identifier: Apache-2.0 */
/* test_fold.c: what stands on screens of every width behind text that came in pieces of every length: no word
 * is broken that fits into a line, and no letter is lost. The screen is a small terminal of this file's. */
#define _POSIX_C_SOURCE 200809L
#include "../../../cli/term/fold.c"

#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <setjmp.h>

#include <cmocka.h>

enum { ROWS = 400, WIDEST = 120 };
static char screen[ROWS][WIDEST * 4 + 1]; /* a cell has up to four bytes; nothing behind the last one */
static int cells[ROWS][WIDEST];           /* bytes of each */
static int width, row, column;

static void clear_screen(int columns)
{
    memset(screen, 0, sizeof screen);
    memset(cells, 0, sizeof cells);
    width = columns;
    row = column = 0;
}

static size_t bytes_before(int at)
{
    size_t n = 0;

    for (int i = 0; i < at; i++)
        n += (size_t)cells[row][i];
    return n;
}

/* A terminal: newline, going back, wiping to the end of the line, and a line of its own when one is full. */
static void put_screen(const void *data, size_t n)
{
    const char *text = data;

    for (size_t i = 0; i < n;) {
        size_t bytes = 1;
        if (text[i] == '\n') {
            row++;
            column = 0;
        } else if (text[i] == '\033') {
            char *end;
            assert_int_equal(text[i + 1], '[');
            const long back = strtol(text + i + 2, &end, 10);
            assert_true(*end == 'D' && back > 0 && back <= column && strncmp(end + 1, "\033[K", 3) == 0);
            column -= (int)back;
            screen[row][bytes_before(column)] = 0;
            memset(&cells[row][column], 0, sizeof cells[row] - (size_t)column * sizeof cells[row][0]);
            bytes = (size_t)(end + 4 - (text + i));
        } else {
            const int wide = width_of(code_point(text + i, n - i, &bytes));
            if (column + wide > width) {
                row++;
                column = 0;
            }
            assert_true(row < ROWS);
            memcpy(screen[row] + bytes_before(column), text + i, bytes);
            cells[row][wide ? column : column - 1] += (int)bytes;
            column += wide;
        }
        i += bytes;
    }
}

static void say(int columns, const char *text, size_t piece)
{
    struct wrap w = {0};

    clear_screen(columns);
    for (size_t at = 0, n; at < strlen(text); at += n) {
        n = piece;
        if (at + n > strlen(text))
            n = strlen(text) - at;
        while ((text[at + n] & 0xc0) == 0x80) /* whole characters */
            n++;
        wrap_put(&w, columns, text + at, n, put_screen);
    }
}

static void words_stay_whole(void **unused)
{
    static const char text[] =
        "The quick brown fox, an extraordinarily well-travelled animal, jumps over the "
        "lazy dog.\nA second line  with two blanks; naïve Überläufer.\n\nEnd";

    (void)unused;
    for (int columns = 24; columns < WIDEST; columns++)
        for (size_t piece = 1; piece < 9; piece++) {
            char words[sizeof text + 1] = "", want[sizeof text + 1] = "";
            say(columns, text, piece);
            for (int r = 0; r <= row; r++)
                for (char *save = NULL, *word = strtok_r(screen[r], " ", &save); word;
                     word = strtok_r(NULL, " ", &save))
                    strcat(strcat(words, word), " ");
            char *copy = strdup(text), *save = NULL;
            for (char *word = strtok_r(copy, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
                strcat(strcat(want, word), " ");
            free(copy);
            assert_string_equal(words, want);
        }
}

static void expect(int columns, const char *text, int n, const char *const *lines)
{
    for (size_t piece = 1; piece < 6; piece++) {
        say(columns, text, piece);
        assert_int_equal(row, n - 1);
        for (int i = 0; i < n; i++)
            assert_string_equal(screen[i], lines[i]);
    }
}

#define LINES(...)                                                                                           \
    (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *)), (const char *[])                            \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

static void lines_break_where_people_would(void **unused)
{
    (void)unused;
    /* the last column stays free */
    expect(20, "nineteen characters and", LINES("nineteen characters", "and"));
    expect(20, "twenty characters xy and", LINES("twenty characters ", "xy and"));
    /* a word that fits into no line is the terminal's matter, from the beginning of a line on */
    expect(20, "see https://example.org/a/long/path?of=things now",
           LINES("see ", "https://example.org/", "a/long/path?of=thing", "s now"));
    /* ideographs are two columns wide, and any two may come apart */
    expect(20, "これは日本語の文章です", LINES("これは日本語の文章", "です"));
    expect(20, "twenty columns 日本語", LINES("twenty columns 日本", "語"));
    /* marks take no column */
    expect(20, "a\u0301bcdefghi jklmnopqr st", LINES("a\u0301bcdefghi jklmnopqr", "st"));
    expect(20, "a\tb\tc", LINES("a\tb\tc"));
    expect(20, "\n\nx", LINES("", "", "x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_stay_whole),
        cmocka_unit_test(lines_break_where_people_would),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
