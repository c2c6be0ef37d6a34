/* SPDX-License-Identifier: Apache-2.0 */
/* test_read_once.c: opening a model reads each of its JSON files once: the linker puts a count between the
 * library and its reader of JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

void __real_ct_json_init(struct ct_json *j, const char *name, struct ct_bytes text);
void __wrap_ct_json_init(struct ct_json *j, const char *name, struct ct_bytes text);

static struct ct_bytes started[64];
static int n_started;

void __wrap_ct_json_init(struct ct_json *j, const char *name, struct ct_bytes text)
{
    if (n_started < 64)
        started[n_started] = text;
    n_started++;
    __real_ct_json_init(j, name, text);
}

/* A header of tensors, config.json, generation_config.json and tokenizer.json. The chat template is a file of
 * its own, which is not JSON, so nothing of tokenizer_config.json is asked for. */
static void tiny_in_four_reads(void **state)
{
    carat_model *model = NULL;
    carat_error err;
    (void)state;
    n_started = 0;
    if (carat_model_open(&model, CT_TEST_DATA "/../../models/tiny", NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    carat_model_close(model);
    assert_in_range(n_started, 1, 4);
    for (int i = 0; i < n_started; i++)
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(started[i].data, started[k].data);
}

/* Messages that are no JSON are not made JSON. */
static void messages_unread(void **state)
{
    static const carat_message messages[] = {{.role = "user", .content = "Turn \"on\" the lights\n"},
                                             {.role = "assistant", .content = "Done."},
                                             {.role = "user", .content = "Off"}};
    carat_model *model = NULL;
    carat_error err;
    char *text = NULL;
    (void)state;
    if (carat_model_open(&model, CT_TEST_DATA "/../../models/tiny", NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    n_started = 0;
    if (carat_render(model, messages, sizeof(carat_message), 3, NULL, NULL, &text, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(n_started, 0);
    assert_non_null(strstr(text, "Turn \"on\" the lights"));
    carat_free(text);
    carat_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_in_four_reads),
        cmocka_unit_test(messages_unread),
    };
    return cmocka_run_group_tests_name("checkpoint: each file is read once", tests, NULL, NULL);
}
