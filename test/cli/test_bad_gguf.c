/* test_bad_gguf.c: the rows G of the list of bad inputs: GGUF files that lie, given to the command. */
#include "cli/bad.h"

static void bytes(struct bad_place *p, const void *with)
{
    bad_write(p, "model.gguf", with, strlen(with));
}

static const struct bad_case beginnings[] = {
    {"G1", "an empty file", bytes, "", 4, {"is empty"}},
    {"G2",
     "a Git LFS pointer",
     bytes,
     "version https://git-lfs.github.com/spec/v1\n",
     4,
     {"Git LFS pointer"}},
};

static void begins_wrong(void **state)
{
    (void)state;
    BAD_RUN(beginnings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(begins_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
