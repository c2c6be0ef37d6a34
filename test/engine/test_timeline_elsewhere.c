/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline_elsewhere.c: timeline files from one machine to another: every committed model in every mode
 * writes its files into the folder CARAT_TIMELINES; where they are already, from another processor, they must
 * be those that this one writes, and it goes on from them with its own bits. test/kernel/test_arm.sh takes
 * them from here to Arm; without that folder they come from level ref. */
#include "os/scratch.h"
#include "timeline_util.h"

static const char *folder, *isa;
static int found, written;

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static void expect_equal_files(const char *a, const char *b)
{
    size_t n_a, n_b;
    void *p = read_whole(a, &n_a), *q = read_whole(b, &n_b);
    if (n_a != n_b || memcmp(p, q, n_a) != 0)
        fail_msg("%s: a file of another machine differs", where);
    free(p);
    free(q);
}

/* In the default modes beyond a block, in all beyond twice the windows. */
static void one_model(carat_model *model, const carat_model_info *info)
{
    char name[PATH_SIZE], path[PATH_SIZE], own[PATH_SIZE];
    (void)info;
    for (size_t m = 0; m < N_MODE; m++) {
        const int n = m <= FAST ? 270 : 40;
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b = baseline_of(model, &modes[m], n + 3, 94);
        carat_engine_options o = options_of(&modes[m], 16, 2);
        o.isa = isa;
        struct rig r = rig_open(model, &o);
        carat_session *s = r.session[0];
        OK(carat_sync(s, b.ids.id, n, NULL, err));
        OK(carat_save(s, path_join(own, scratch, "own"), where, strlen(where), err));
        snprintf(name, sizeof name, "%d.%d", found + written, (int)m);
        path_join(path, folder, name);
        if (!is_there(path)) {
            assert_int_equal(rename(own, path), 0);
            written++;
        } else {
            expect_equal_files(path, own);
            OK(carat_rewind(s, 0, err));
            OK(carat_load(s, path, NULL, NULL, err));
            check_logits(s, &b, r.n_vocab, "from elsewhere");
            for (int k = n; k < n + 3; k++) {
                OK(carat_append(s, b.ids.id + k, 1, err));
                check_logits(s, &b, r.n_vocab, "on from elsewhere");
            }
            found++;
        }
        rig_close(&r);
        baseline_free(&b);
    }
}

static void files_are_those_of_another_machine(void **state)
{
    (void)state;
    folder = getenv("CARAT_TIMELINES");
    if (!folder) {
        folder = scratch;
        isa = "ref";
        for_every_model(one_model, 0);
        assert_int_equal(found, 0);
        isa = NULL;
        written = 0;
    }
    for_every_model(one_model, 0);
    assert_true(found == 0 || written == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_are_those_of_another_machine)};
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
