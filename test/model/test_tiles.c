/* SPDX-License-Identifier: Apache-2.0 */
/* test_tiles.c: slots and shortlists of tiles, over numbers alone. An independent model of the slots says
 * after each use what has to be there and what was counted; scans that are known in advance have exact
 * counts; and slots that are given to whoever was used longest ago never hit in the scan that a head makes
 * for each token, which is why those of the head are not given so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "model/tiles.h"

static struct ct_tiles *tiles_open(int n, int capacity)
{
    struct ct_tiles *t = malloc(sizeof *t + ct_tiles_bytes(n, capacity));
    assert_non_null(t);
    ct_tiles_begin(t, n, capacity, t + 1);
    return t;
}

/* ---- slots ---- */

enum { MOST_TILES = 200 };

/* The model: a set of tiles that stay, and at most one that passes through. */
struct slots {
    bool stays[MOST_TILES];
    int staying, passing; /* -1: none */
    int capacity;
    uint64_t hits, misses, evictions;
};

static bool slots_have(const struct slots *s, int tile)
{
    return s->stays[tile] || s->passing == tile;
}

static int slots_use(struct slots *s, int tile)
{
    int gone = -1;

    if (slots_have(s, tile)) {
        s->hits++;
    } else {
        s->misses++;
        if (s->staying < s->capacity - 1) {
            s->staying++;
            s->stays[tile] = true;
        } else {
            gone = s->passing;
            s->evictions += gone >= 0;
            s->passing = tile;
        }
    }
    return gone;
}

static void use_both(struct ct_tiles *t, struct slots *s, int tile)
{
    const bool there = slots_have(s, tile);
    const int gone = slots_use(s, tile);

    assert_int_equal(t->slot_of[tile] >= 0, there);
    const struct ct_tile_place p = ct_tiles_take(t, tile);
    assert_int_equal(p.hit, there);
    assert_int_equal(p.evicted, gone);
    assert_in_range(p.slot, 0, t->capacity - 1);
    assert_int_equal(t->tile_in[p.slot], tile);
    assert_true(t->hits == s->hits && t->misses == s->misses && t->evictions == s->evictions);
    for (int i = 0; i < t->n; i++)
        assert_int_equal(t->slot_of[i] >= 0, slots_have(s, i));
}

static void random_uses_are_those_of_the_model(void **unused)
{
    (void)unused;
    srand(17);
    for (int round = 0; round < 60; round++) {
        const int n = 1 + rand() % MOST_TILES, capacity = 1 + rand() % n, width = 1 + rand() % n;
        struct ct_tiles *t = tiles_open(n, capacity);
        struct slots s = {.passing = -1, .capacity = capacity};
        for (int i = 0; i < 400; i++)
            use_both(t, &s, (i / 50 * 7 + rand() % width) % n);
        free(t);
    }
}

/* The scan of a head: all tiles in order, for each token. */
static void scans_have_exact_counts(void **unused)
{
    (void)unused;
    for (int n = 1; n <= 100; n += n < 10 ? 1 : 13)
        for (int capacity = 1; capacity <= n; capacity++) {
            const int scans = 5, stay = capacity == n ? n : capacity - 1;
            struct ct_tiles *t = tiles_open(n, capacity);
            for (int i = 0; i < scans * n; i++)
                ct_tiles_take(t, i % n);
            const int misses = n + (scans - 1) * (n - stay);
            assert_int_equal(t->hits, (scans - 1) * stay);
            assert_int_equal(t->misses, misses);
            assert_int_equal(t->evictions, misses - capacity);
            free(t);
        }
}

static void the_same_tile_hits(void **unused)
{
    (void)unused;
    struct ct_tiles *t = tiles_open(10, 1);
    for (int tile = 0; tile < 10; tile++)
        for (int i = 0; i < 4; i++)
            assert_int_equal(ct_tiles_take(t, tile).evicted, i == 0 ? tile - 1 : -1);
    assert_int_equal(t->misses, 10);
    assert_int_equal(t->hits, 30);
    assert_int_equal(t->evictions, 9);
    free(t);
}

/* Hits of slots that are given to whoever was used longest ago, under the scan of a head. */
static int hits_of_the_usual_slots(int n, int capacity, int scans)
{
    int tile_in[MOST_TILES], used[MOST_TILES], hits = 0;

    for (int i = 0; i < capacity; i++)
        tile_in[i] = used[i] = -1;
    for (int i = 0; i < scans * n; i++) {
        int at = 0, oldest = 0;
        for (at = 0; at < capacity && tile_in[at] != i % n; at++)
            oldest = used[at] < used[oldest] ? at : oldest;
        hits += at < capacity;
        at = at < capacity ? at : oldest;
        tile_in[at] = i % n;
        used[at] = i;
    }
    return hits;
}

static void the_usual_slots_never_hit(void **unused)
{
    const int scans = 10;

    (void)unused;
    for (int n = 2; n <= 100; n += 7)
        for (int capacity = 1; capacity < n; capacity++) {
            struct ct_tiles *t = tiles_open(n, capacity);
            for (int i = 0; i < scans * n; i++)
                ct_tiles_take(t, i % n);
            assert_int_equal(hits_of_the_usual_slots(n, capacity, scans), 0);
            assert_int_equal(t->hits, (scans - 1) * (capacity - 1));
            free(t);
        }
    assert_int_equal(hits_of_the_usual_slots(100, 100, scans), 900); /* the model does hit where it can */
}

/* A tile that could not be made is gone, and what it took the place of stays gone. */
static void a_dropped_tile_is_taken_anew(void **unused)
{
    (void)unused;
    for (int capacity = 1; capacity <= 3; capacity++)
        for (int before = 0; before <= 5; before++) {
            struct ct_tiles *t = tiles_open(6, capacity);
            for (int i = 0; i <= before; i++)
                ct_tiles_take(t, i);
            ct_tiles_drop(t, before);
            for (int i = 0; i < 6; i++)
                assert_int_equal(t->slot_of[i] >= 0, i < before && i < capacity - 1);
            const struct ct_tile_place p = ct_tiles_take(t, before);
            assert_true(!p.hit && p.evicted == -1);
            assert_int_equal(p.slot, CT_MIN(before, capacity - 1));
            assert_int_equal(t->misses, before + 2);
            free(t);
        }
}

/* ---- shortlists ---- */

/* The shortlist of a text that is cut in two somewhere. */
static int shortlist_of(struct ct_tiles *t, int rows, int most, const int32_t *text, int n, int32_t *chosen)
{
    const int held = rand() % (n + 1);

    return ct_tiles_shortlist(t, rows, most, &(struct ct_tile_text){text, text + held, held, n - held},
                              chosen);
}

static bool listed(const int32_t *chosen, int n, int tile)
{
    for (int i = 0; i < n; i++)
        if (chosen[i] == tile)
            return true;
    return false;
}

/* Adds a tile to the end of list[n] unless it is there. */
static int listed_once(int32_t *list, int n, int tile)
{
    if (!listed(list, n, tile))
        list[n++] = tile;
    return n;
}

static int ascending(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static void shortlists_are_as_they_are_defined(void **unused)
{
    enum { TEXT = 3000 };
    static int32_t text[TEXT];

    (void)unused;
    srand(18);
    for (int round = 0; round < 400; round++) {
        const int n = 1 + rand() % MOST_TILES, rows = 64 * (1 + rand() % 3), most = 1 + rand() % n;
        const int n_held = 1 + (round % 2 ? rand() % TEXT : rand() % 20), spread = 1 + rand() % n;
        struct ct_tiles *t = tiles_open(n, 1);
        for (int i = 0; i < n_held; i++)
            text[i] = rand() % spread * rows + rand() % rows;

        int32_t expected[MOST_TILES], chosen[MOST_TILES];
        const int around = most == 1 ? 0 : most <= 8 ? 1 : (int)((most - 1) / 8) + 1;
        int m = 0;
        for (int i = n_held; i > 0 && i > n_held - 1024 && m < most - around; i--)
            m = listed_once(expected, m, text[i - 1] / rows);
        for (int i = 0; m < most; i++)
            m = listed_once(expected, m, ((n_held - 1) * around + i) % n);
        qsort(expected, (size_t)m, sizeof *expected, ascending);
        assert_int_equal(shortlist_of(t, rows, most, text, n_held, chosen), most);
        assert_memory_equal(chosen, expected, (size_t)most * sizeof *chosen);
        assert_true(listed(chosen, most, text[n_held - 1] / rows));
        /* what was listed before changes nothing, and no slot was touched */
        assert_int_equal(shortlist_of(t, rows, most, text, n_held, chosen), most);
        assert_memory_equal(chosen, expected, (size_t)most * sizeof *chosen);
        assert_int_equal(t->hits + t->misses, 0);
        free(t);
    }
}

/* A text that never leaves a tile: the others come by in turn. */
static void all_tiles_come_by(void **unused)
{
    enum { TILES = 100 };
    static int32_t text[TILES];
    int32_t chosen[16];
    int seen[TILES] = {0};
    struct ct_tiles *t = tiles_open(TILES, 1);

    (void)unused;
    for (int n = 1; n <= TILES; n++) {
        assert_int_equal(shortlist_of(t, 64, 16, text, n, chosen), 16);
        for (int i = 0; i < 16; i++)
            seen[chosen[i]]++;
    }
    for (int i = 0; i < TILES; i++)
        assert_true(seen[i] > 0);
    assert_int_equal(seen[0], TILES);
    free(t);
}

/* The numbers of lists begin again; tiles of the list before are not taken for those of this one. */
static void numbers_of_lists_begin_again(void **unused)
{
    const int32_t text[] = {0, 64, 128};
    int32_t first[4], chosen[4];
    struct ct_tiles *t = tiles_open(9, 1);

    (void)unused;
    assert_int_equal(shortlist_of(t, 64, 4, text, 3, first), 4);
    for (int i = 0; i < 9; i++)
        t->seen[i] = i % 2;
    t->lists = UINT32_MAX;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(shortlist_of(t, 64, 4, text, 3, chosen), 4);
        assert_memory_equal(chosen, first, sizeof first);
    }
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_uses_are_those_of_the_model),
        cmocka_unit_test(scans_have_exact_counts),
        cmocka_unit_test(the_same_tile_hits),
        cmocka_unit_test(the_usual_slots_never_hit),
        cmocka_unit_test(a_dropped_tile_is_taken_anew),
        cmocka_unit_test(shortlists_are_as_they_are_defined),
        cmocka_unit_test(all_tiles_come_by),
        cmocka_unit_test(numbers_of_lists_begin_again),
    };
    return cmocka_run_group_tests_name("model: tiles", tests, NULL, NULL);
}
