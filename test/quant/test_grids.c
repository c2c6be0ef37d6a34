/* SPDX-License-Identifier: Apache-2.0 */
/* test_grids.c: the codebooks are those of the format: every entry equals that of PyPI's gguf where python3
 * has it, and a hash of gguf's own tables is known for those who lack it; sums of their products stay below
 * 2^24. What blocks make of them is test_dequantize.c's. */
#define _XOPEN_SOURCE 700 /* popen */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "quant/grids.h"

#include <cmocka.h>

enum { MOST = 16384 };

static const int8_t levels_iq1[4] = {-1, 0, 1, 0};

static const struct grid {
    const char *name; /* of gguf's class */
    const uint16_t *entry;
    const int8_t *levels;
    int n, width, bits;
    uint64_t hash; /* XXH3-64 of gguf's levels, as bytes */
    int factor;    /* the largest of a half */
    int times;     /* a weight is so many times an entry, */
    int plus;      /* and at most that more */
    int most;      /* sum of 32 products with 127 */
} grids[] = {
    {"IQ2_XXS", ct_grid_iq2_xxs, ct_levels_iq2, 256, 8, 2, 0x3de7d625dc4b1f07u, 31, 1, 0, 3196844},
    {"IQ2_XS", ct_grid_iq2_xs, ct_levels_iq2, 512, 8, 2, 0x79a31619c2aa4027u, 31, 1, 0, 5417312},
    {"IQ2_S", ct_grid_iq2_s, ct_levels_iq2, 1024, 8, 2, 0xc5212534caf3b5bfu, 31, 1, 0, 5417312},
    {"IQ3_XXS", ct_grid_iq3_xxs, ct_levels_iq3_xxs, 256, 4, 3, 0xcb32234e3a15f5a7u, 31, 1, 0, 5102352},
    {"IQ3_S", ct_grid_iq3_s, ct_levels_iq3_s, 512, 4, 3, 0xcd5ca92a3ff62aa6u, 31, 1, 0, 1322832},
    {"IQ1_S", ct_grid_iq1, levels_iq1, 2048, 8, 2, 0x273c860b28bbb277u, 15, 8, 1, 548640},
};

/* Its levels, entry after entry. */
static size_t expand(const struct grid *g, int8_t out[MOST])
{
    size_t n = 0;
    for (int i = 0; i < g->n; i++)
        for (int k = 0; k < g->width; k++)
            out[n++] = g->levels[g->entry[i] >> g->bits * k & ((1 << g->bits) - 1)];
    return n;
}

static void tables_have_the_known_hash(void **state)
{
    int8_t levels[MOST];
    (void)state;
    for (size_t i = 0; i < CT_COUNT(grids); i++) {
        const size_t n = expand(&grids[i], levels);
        if (ct_hash64(levels, n) != grids[i].hash)
            fail_msg("%s is not gguf's", grids[i].name);
    }
}

static void tables_are_those_of_gguf(void **state)
{
    static const char script[] =
        "python3 -c \"\nimport sys\ntry:\n import numpy, gguf.quants as q\nexcept ImportError:\n "
        "sys.exit(77)\n"
        "c = getattr(q, "
        "'%s')\nc.init_grid()\nsys.stdout.buffer.write(c.grid.astype(numpy.int8).tobytes())\n\" "
        "2> /dev/null";
    (void)state;
    for (size_t i = 0; i < CT_COUNT(grids); i++) {
        int8_t levels[MOST], theirs[MOST + 1];
        char command[1024];
        snprintf(command, sizeof command, script, grids[i].name);
        FILE *f = popen(command, "r");
        assert_non_null(f);
        const size_t n = expand(&grids[i], levels), got = fread(theirs, 1, sizeof theirs, f);
        const int status = pclose(f), code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (code == 77 || code == 127)
            skip();
        assert_int_equal(code, 0);
        assert_int_equal(got, n);
        for (size_t k = 0; k < n; k++)
            if (levels[k] != theirs[k])
                fail_msg("%s: weight %zu of entry %zu is %d, gguf has %d", grids[i].name,
                         k % (size_t)grids[i].width, k / (size_t)grids[i].width, levels[k], theirs[k]);
    }
}

/* Whether section 4 has a number, with its commas. */
static bool numerics_says(int n)
{
    char line[256], text[32];
    bool found = false;
    FILE *f = fopen(CT_TEST_DATA "/../../NUMERICS.md", "r");
    assert_non_null(f);
    if (n < 1000000)
        snprintf(text, sizeof text, "%d,%03d", n / 1000, n % 1000);
    else
        snprintf(text, sizeof text, "%d,%03d,%03d", n / 1000000, n / 1000 % 1000, n % 1000);
    while (fgets(line, sizeof line, f))
        found |= strstr(line, text) != NULL;
    fclose(f);
    return found;
}

/* The most of all entries, four or eight times, with the largest factor: NUMERICS.md section 4. */
static void sums_stay_below_2_24(void **state)
{
    int8_t levels[MOST];
    (void)state;
    for (size_t i = 0; i < CT_COUNT(grids); i++) {
        const struct grid *g = &grids[i];
        int most = 0;
        expand(g, levels);
        for (int k = 0; k < g->n; k++) {
            int sum = 0;
            for (int j = 0; j < g->width; j++)
                sum += g->times * abs(levels[k * g->width + j]) + g->plus;
            most = CT_MAX(most, sum);
        }
        most *= 32 / g->width * g->factor * 127;
        assert_int_equal(most, g->most);
        assert_true(most < 1 << 24);
        assert_true(numerics_says(most));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_have_the_known_hash),
                                       cmocka_unit_test(tables_are_those_of_gguf),
                                       cmocka_unit_test(sums_stay_below_2_24)};
    return cmocka_run_group_tests_name("codebooks", tests, NULL, NULL);
}
