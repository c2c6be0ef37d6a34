/* SPDX-License-Identifier: Apache-2.0 */
/* test_verify_blocks.c: carat_verify on blocks of GGUF's smallest types: a factor that is not finite, and
 * bytes that have a value, though no encoder makes them, are named with tensor and byte. Damage of other
 * types and containers is test_verify.c's. */
#include "verify_util.h"

struct damage {
    const char *file, *tensor;
    int row, at; /* the first byte to change, from the beginning of the row */
    uint8_t byte[2];
    int n;
    int col;                 /* what must be said */
    const char *what, *more; /* of the values, and behind the place */
};

#define INFINITE(n) " has " #n " that are NaN or infinite, the first", ""
#define ODD(t, b, e)                                                                                         \
    " has 1 block that no encoder of " t " makes, the first", ": a byte is " b ", expected " e
#define SCALE "a scale from 0 to 0x7e"

static const struct damage rows[] = {
    {"iq2", "blk.0.attn_q.weight", 2, 0, {0x00, 0x7c}, 2, 0, INFINITE(256)},
    {"iq3", "token_embd.weight", 9, 0, {0x00, 0xfe}, 2, 0, INFINITE(256)},
    {"tq", "blk.0.attn_q.weight", 1, 52, {0x00, 0x7e}, 2, 0, INFINITE(256)},
    {"tq", "blk.0.attn_q.weight", 3, 47, {0x01}, 1, 0, ODD("TQ1_0", "0x01", "five digits of base 3")},
    {"tq", "output.weight", 3, 51, {0x02}, 1, 0, ODD("TQ1_0", "0x02", "four digits of base 3")},
    {"nvfp4", "output.weight", 2, 3, {0x7f}, 1, 0, ODD("NVFP4", "0x7f", SCALE)},
    {"nvfp4", "output.weight", 5, 36, {0xff}, 1, 64, ODD("NVFP4", "0xff", SCALE)},
};

static void check(const struct damage *d)
{
    char path[PATH_SIZE], text[256];
    size_t size;
    carat_model *model = NULL;
    snprintf(path, sizeof path, CT_TEST_DATA "/vectors/gguf/%s.gguf", d->file);
    uint8_t *data = read_whole(path, &size);
    const carat_buffer buffer = {"model.gguf", data, size};
    OK(carat_model_open_memory(&model, &buffer, sizeof buffer, 1, NULL, err));
    const struct ct_tensor *t = ct_file_find(model->file, d->tensor);
    assert_non_null(t);
    const uint64_t at = t->offset + (uint64_t)d->row * (t->size / (size_t)t->dim[0]) + (uint64_t)d->at,
                   block = (uint64_t)ct_type_info(t->type)->bytes;
    struct report *r = verify(model, 2);
    detail_of(r, "values", 1);
    free(r);
    memcpy(data + at, d->byte, (size_t)d->n);
    r = verify(model, 2);
    const char *detail = detail_of(r, "values", 0);
    snprintf(text, sizeof text, "%s in row %d, column %d", d->what, d->row, d->col);
    holds(detail, text);
    snprintf(text, sizeof text, "(block of %s, byte %llu of model.gguf)%s", d->tensor,
             (unsigned long long)(*d->more ? at : t->offset + (at - t->offset) / block * block), d->more);
    holds(detail, text);
    detail_of(r, "kernels", 1);
    free(r);
    carat_model_close(model);
    free(data);
}

static void damage_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(damage_is_named)};
    return cmocka_run_group_tests_name("verify: blocks of the smallest types", tests, NULL, NULL);
}
