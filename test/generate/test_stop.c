/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop.c: stop strings against a search in the whole text: in pieces of the vocabulary of models/tiny,
 * in texts of two letters, cut at every byte; what is held back at every moment; what is refused. That
 * generations end by them is test_generate_stop.c's. */
#include <carat_tools.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above it. */
#include <cmocka.h>

#include "base/utf8.h"
#include "generate/stop.h"

enum { MOST_TEXT = 4096 };

static carat_error errors, *err = &errors;
static uint64_t state = 5;

static int random_below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((uint32_t)(state >> 33) % (uint32_t)n);
}

/* ---- the search ---- */

struct found {
    int stop;          /* -1: none is complete */
    size_t begin, end; /* of it */
};

/* The string that is complete first, of several the longest. */
static struct found search(const char *text, size_t n, const char *const *stops, int n_stops)
{
    for (size_t end = 1; end <= n; end++) {
        struct found f = {.stop = -1};
        for (int i = 0; i < n_stops; i++) {
            size_t length = strlen(stops[i]);
            bool here = length <= end && memcmp(text + end - length, stops[i], length) == 0;
            if (here && (f.stop < 0 || length > f.end - f.begin))
                f = (struct found){i, end - length, end};
        }
        if (f.stop >= 0)
            return f;
    }
    return (struct found){.stop = -1};
}

/* The bytes at the end of text that a stop string begins with. */
static size_t may_become(const char *text, size_t n, const char *const *stops, int n_stops)
{
    size_t most = 0;

    for (int i = 0; i < n_stops; i++)
        for (size_t length = 1; length < strlen(stops[i]) && length <= n; length++)
            if (length > most && memcmp(text + n - length, stops[i], length) == 0)
                most = length;
    return most;
}

/* ---- both over one text ---- */

/* cut[i]: pieces end there, ascending, the last one at the end of the text. */
static void check_text(const char *text, const size_t *cut, int n_cuts, const char *const *stops, int n_stops)
{
    struct ct_stops s;
    char out[MOST_TEXT + CT_STOP_HELD];
    size_t given = 0, n_out, from = 0;
    int complete = -1;

    assert_int_equal(ct_stops_open(&s, stops, n_stops, err), CARAT_OK);
    for (int i = 0; i < n_cuts && complete < 0; from = cut[i++]) {
        struct found f = search(text, cut[i], stops, n_stops);
        complete = ct_stops_push(&s, text + from, cut[i] - from, out, &n_out);
        assert_int_equal(complete, f.stop);
        assert_memory_equal(out, text + given, n_out);
        given += n_out;
        assert_int_equal(given, f.stop < 0 ? cut[i] - may_become(text, cut[i], stops, n_stops) : f.begin);
    }
    n_out = ct_stops_rest(&s, out);
    assert_memory_equal(out, text + given, n_out);
    assert_true(complete < 0 ? given + n_out == cut[n_cuts - 1] : n_out == 0);
    assert_int_equal(ct_stops_rest(&s, out), 0);
    ct_stops_close(&s);
}

/* The same in whole, byte by byte, and cut in two at each byte. */
static void check_cuts(const char *text, const char *const *stops, int n_stops)
{
    size_t n = strlen(text), bytes[MOST_TEXT] = {0};

    for (size_t i = 0; i < n; i++)
        bytes[i] = i + 1;
    check_text(text, bytes, (int)n, stops, n_stops);
    for (size_t i = 0; i < n; i++)
        check_text(text, (size_t[]){i, n}, 2, stops, n_stops);
}

/* ---- texts of two letters: everything begins everything ---- */

static void two_letters(void **unused)
{
    (void)unused;
    for (int round = 0; round < 3000; round++) {
        char text[41], word[CARAT_MOST_STOPS][12];
        const char *stops[CARAT_MOST_STOPS];
        int n = 1 + random_below(CARAT_MOST_STOPS), longest = 2 + random_below(10);
        for (int i = 0; i < n; i++) {
            int length = longest - random_below(2);
            for (int k = 0; k < length; k++)
                word[i][k] = "ab"[random_below(2)];
            word[i][length] = 0;
            stops[i] = word[i];
        }
        for (int k = 0; k < 40; k++)
            text[k] = "ab"[random_below(2)];
        text[40] = 0;
        check_cuts(text, stops, n);
    }
}

static void known_places(void **unused)
{
    (void)unused;
    check_cuts("aaaaaab", (const char *[]){"aab"}, 1);
    check_cuts("xabcd", (const char *[]){"bc", "abcd"}, 2);    /* what is complete first */
    check_cuts("xabc", (const char *[]){"c", "abc", "bc"}, 3); /* of several the longest */
    check_cuts("ab", (const char *[]){"ab", "ab"}, 2);
    check_cuts("whole", (const char *[]){"whole"}, 1);
    check_cuts("\xe2\x82\xac\xe2\x82\xad", (const char *[]){"\xe2\x82\xad"}, 1);
    check_cuts("User: and User:User:", (const char *[]){"\nUser:", "User:User"}, 2);
}

/* The longest string, which begins again in itself: all of it is held back. */
static void long_strings(void **unused)
{
    static char stop[CARAT_MOST_STOP_BYTES + 1], text[3 * CARAT_MOST_STOP_BYTES];
    const char *stops[CARAT_MOST_STOPS];
    size_t cut[sizeof text];
    int n_cuts = 0;

    (void)unused;
    memset(stop, 'a', sizeof stop - 2);
    stop[sizeof stop - 2] = 'b';
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 100] = 'b';
    for (size_t at = 0; at < sizeof text - 1; at += 7)
        cut[n_cuts++] = at;
    for (int i = 0; i < CARAT_MOST_STOPS; i++)
        stops[i] = stop + i;
    check_text(text, cut, n_cuts, stops, 1);
    check_text(text, cut, n_cuts, stops, CARAT_MOST_STOPS);
    text[sizeof text - 100] = 'c';
    check_text(text, cut, n_cuts, stops, CARAT_MOST_STOPS);
}

/* ---- pieces of a vocabulary ---- */

struct pieces {
    char *text[2048];
    int n;
};

static void copy_pieces(struct pieces *p)
{
    carat_model *model;
    const char *piece;
    size_t n;

    assert_int_equal(carat_model_open(&model, CT_TEST_DATA "/../../models/tiny", NULL, err), CARAT_OK);
    while ((piece = carat_piece(model, p->n, &n))) {
        assert_true(p->n < (int)CT_COUNT(p->text));
        p->text[p->n] = calloc(n + 1, 1);
        memcpy(p->text[p->n++], piece, n);
    }
    carat_model_close(model);
    assert_true(p->n > 1000);
}

/* Four pieces around a cut: where the string begins or ends in the middle one. */
static void check_piece_cut(const struct pieces *p, int id, size_t cut, bool begins)
{
    char text[MOST_TEXT], stop[MOST_TEXT], near[MOST_TEXT + 1];
    size_t ends[4], at = 0, begin, end;

    for (int i = 0; i < 4; i++) {
        const char *piece = p->text[i == 1 ? id : random_below(p->n)];
        at += strlen(strcpy(text + at, piece));
        ends[i] = at;
    }
    begin = begins ? ends[0] + cut : (size_t)random_below((int)ends[0] + 1);
    end = begins ? ends[1] + (size_t)random_below((int)(at - ends[1]) + 1) : ends[0] + cut;
    if (begin >= end || end - begin > CARAT_MOST_STOP_BYTES)
        return;
    sprintf(stop, "%.*s", (int)(end - begin), text + begin);
    sprintf(near, "%s!", stop); /* it goes on otherwise */
    if (!ct_utf8_valid(stop, end - begin))
        return;
    check_text(text, ends, 4, (const char *[]){stop}, 1);
    check_text(text, ends, 4, (const char *[]){near, stop + strlen(stop) - 1}, end - begin > 1 ? 1 : 2);
    check_text(text, ends, 4, (const char *[]){near}, 1);
}

static void cut_at_every_byte_of_every_piece(void **unused)
{
    struct pieces p = {.n = 0};

    (void)unused;
    copy_pieces(&p);
    for (int id = 0; id < p.n; id++)
        for (size_t cut = 0; cut <= strlen(p.text[id]); cut++)
            for (int begins = 0; begins < 2; begins++)
                check_piece_cut(&p, id, cut, begins != 0);
    for (int id = 0; id < p.n; id++)
        free(p.text[id]);
}

/* ---- what is refused ---- */

static void check_refused(const char *const *stops, int n, const char *says)
{
    struct ct_stops s;

    assert_int_equal(ct_stops_open(&s, stops, n, err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err->message, says));
}

static void refused(void **unused)
{
    static char megabyte[(1 << 20) + 1], most[CARAT_MOST_STOP_BYTES + 2];
    const char *many[CARAT_MOST_STOPS + 1];
    struct ct_stops s;

    (void)unused;
    memset(megabyte, 'x', sizeof megabyte - 1);
    memset(most, 'x', sizeof most - 1);
    for (size_t i = 0; i < CT_COUNT(many); i++)
        many[i] = "x";
    check_refused((const char *[]){"a", ""}, 2, "stop string 1 is empty");
    check_refused((const char *[]){NULL}, 1, "stop string 0 is NULL");
    check_refused((const char *[]){megabyte}, 1, "longer than 1024 bytes");
    check_refused((const char *[]){most}, 1, "longer than 1024 bytes");
    check_refused((const char *[]){"a\xe2\x82"}, 1, "not UTF-8");
    check_refused((const char *[]){"\xff"}, 1, "not UTF-8");
    check_refused((const char *[]){"\xed\xa0\x80"}, 1, "not UTF-8");
    check_refused(many, CARAT_MOST_STOPS + 1, "n_stops is 17, expected 0 to 16");
    check_refused(many, -1, "n_stops is -1");
    check_refused(NULL, 1, "n_stops is 1, expected 0 to 0");
    assert_int_equal(ct_stops_open(&s, many, CARAT_MOST_STOPS, err), CARAT_OK);
    ct_stops_close(&s);
    assert_int_equal(ct_stops_open(&s, (const char *[]){most + 1}, 1, err), CARAT_OK);
    ct_stops_close(&s);
    assert_int_equal(ct_stops_open(&s, NULL, 0, err), CARAT_OK);
    ct_stops_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_letters),  cmocka_unit_test(known_places),
        cmocka_unit_test(long_strings), cmocka_unit_test(cut_at_every_byte_of_every_piece),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("stop strings", tests, NULL, NULL);
}
