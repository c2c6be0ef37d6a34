/* SPDX-License-Identifier: Apache-2.0 */
/* test_weights.c: a weight of a type that carat does not read is refused with its place, its type by name,
 * what is read, and what works instead. Which types run, and missing or misshapen tensors, are left to
 * test_reference.c and test/cli/model/test_bad_gguf_model.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "carat.h"
#include "quant/quant.h"

/* A GGUF whose own head, stored as Q3_K, claims IQ3_S: the same 110 bytes a block. */
static void an_unread_type_is_refused_by_name(void **state)
{
    (void)state;
    static const char name[] = "\x0d\0\0\0\0\0\0\0output.weight";
    char *data = malloc(1 << 20);
    assert_non_null(data);
    FILE *f = fopen(CT_TEST_DATA "/vectors/gguf/q2_k.gguf", "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, 1 << 20, f), at = 0;
    fclose(f);
    while (memcmp(data + at, name, sizeof name - 1) != 0)
        at++;
    at += sizeof name - 1 + 4 + 2 * 8; /* number and values of its dimensions */
    assert_int_equal(ct_le32(data + at), 11);
    data[at] = 21;

    carat_buffer b = {"model.gguf", data, size};
    carat_model *model = NULL;
    carat_error e = {CARAT_OK, ""};
    assert_int_equal(carat_model_open_memory(&model, &b, sizeof(carat_buffer), 1, NULL, &e),
                     CARAT_E_UNSUPPORTED);
    assert_null(model);
    static const char *const said[] = {"model.gguf", "output.weight", "IQ3_S", "Q4_0, Q4_K_M or Q8_0"};
    for (size_t i = 0; i < CT_COUNT(said); i++)
        assert_non_null(strstr(e.message, said[i]));
    for (int i = 0; i < CT_TYPE_COUNT; i++) /* the list is the table's */
        if (ct_type_info((enum ct_type)i)->ggml >= 0)
            assert_non_null(strstr(e.message, ct_type_info((enum ct_type)i)->name));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_unread_type_is_refused_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
