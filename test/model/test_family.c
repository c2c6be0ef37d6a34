/* SPDX-License-Identifier: Apache-2.0 */
/* test_family.c: the tables of the family name every architecture and member once, and what is looked up
 * in them is found. That configurations go by them is in test_config*.c; that members have their published
 * numbers of parameters, in test/check/test_verify_shapes.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "file/sbs.h"
#include "model/family.h"

static struct ct_str str(const char *s)
{
    return (struct ct_str){s, strlen(s)};
}

static void architectures(void **state)
{
    (void)state;
    assert_int_equal(ct_architecture_count, 8);
    for (int i = 0; i < ct_architecture_count; i++) {
        const struct ct_architecture *a = &ct_architectures[i];
        const struct ct_architecture *named = ct_architecture_named(str(a->name)); /* the first of the name */
        assert_true(named <= a && strcmp(named->name, a->name) == 0);
        assert_true(named == a || named->out_scales);
        if (a->model_type)
            assert_ptr_equal(ct_architecture_of_type(str(a->model_type)), a);
        else
            assert_string_equal(a->name, "gemma-embedding");
        if (a->embeds_as)
            assert_true(ct_architecture_named(str(a->embeds_as))->embeds);
        assert_true(a->embeds == (a->most_tokens > 0));
        if (!a->v_norms && !a->embeds) /* what gemma.cpp's files tell apart */
            assert_ptr_equal(ct_architecture_with(a->post_norms, a->qk_norms), a);
        if (a->wrapper)
            assert_ptr_equal(ct_architecture_within(str(a->wrapper)), a);
        assert_true(a->rotated == (a->out_scales && !a->embeds ? 0.25 : 1));
        assert_true((a->window > 0) == (a->period > 1) && (a->hf.window > 0) == (a->window > 0));
    }
    assert_null(ct_architecture_named(str("gemma5")));
    assert_null(ct_architecture_named(str("gemma3_text")));
    assert_null(ct_architecture_of_type(str("gemma3")));
    assert_null(ct_architecture_of_type(str("gemma4")));
    assert_null(ct_architecture_within(str("gemma3_text")));
    assert_null(ct_architecture_within(str("gemma2")));
    assert_null(ct_architecture_with(false, true));
}

static void ends_of_turn(void **state)
{
    (void)state;
    assert_int_equal(ct_family_end_of_turn("gemma", 256000), 107);
    assert_int_equal(ct_family_end_of_turn("gemma2", 256000), 107);
    assert_int_equal(ct_family_end_of_turn("gemma3", 262144), 106);
    assert_int_equal(ct_family_end_of_turn("gemma3", 255999), -1); /* of a small model, which has other ids */
    assert_int_equal(ct_family_end_of_turn("", 262144), -1);
}

static void members(void **state)
{
    (void)state;
    for (int i = 0; i < ct_member_count; i++) {
        const struct ct_member *m = &ct_members[i];
        assert_ptr_equal(m->sbs ? ct_member_of_sbs(m->sbs) : m, m);
        bool by_width = m->n_layer == 62 || (m->n_layer == 46 && m->architecture == &ct_architectures[1]);
        assert_int_equal(ct_member_scales_by_width(m->architecture, m->n_layer), by_width);
        assert_true(m->query_scalar == (by_width                   ? (double)m->hidden / m->n_head
                                        : m->architecture->v_norms ? 1
                                                                   : 256));
        assert_int_equal(m->window > 0, m->architecture->window > 0);
    }
    assert_null(ct_member_of_sbs(0));
    assert_null(ct_member_of_sbs(15));
    assert_string_equal(ct_member_of_sbs(CT_SBS_GEMMA3_27B)->name, "Gemma 3 27B");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(architectures),
        cmocka_unit_test(ends_of_turn),
        cmocka_unit_test(members),
    };
    return cmocka_run_group_tests_name("model: the family", tests, NULL, NULL);
}
