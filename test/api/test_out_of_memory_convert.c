/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_of_memory_convert.c: every request to the system refused once (out_of_memory.h) while a model is
 * written as GGUF and as a Hugging Face directory: beside the promises there, nothing is left of either. */
#include "api/out_of_memory.h"

#include "carat_convert.h"

static const char *at(char path[PATH_SIZE], const char *name)
{
    return path_join(path, scratch, name);
}

static void mix_size(struct act *a, const char *name)
{
    char path[PATH_SIZE];
    struct stat st;

    if (stat(at(path, name), &st) == 0)
        mix(a, &st.st_size, sizeof st.st_size);
}

static void act_convert(struct act *a)
{
    static const char *const files[] = {"config.json",      "generation_config.json", "tokenizer.json",
                                        "tokenizer.model",  "tokenizer_config.json",  "chat_template.jinja",
                                        "model.safetensors"};
    char path[PATH_SIZE], name[64];
    carat_convert_options o;

    carat_convert_options_default(&o);
    o.threads = 2;
    o.log = ignore;
    DO(carat_convert(a->model, at(path, "new.gguf"), &o, err));
    mix_size(a, "new.gguf");
    o.type = "f16";
    DO(carat_convert(a->model, at(path, "new"), &o, err));
close:
    assert_int_not_equal(access(at(path, "new.gguf.carat-part"), F_OK), 0);
    assert_int_not_equal(access(at(path, "new.carat-part"), F_OK), 0);
    assert_int_equal(access(at(path, "new"), F_OK), access(at(path, "new/config.json"), F_OK));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(name, sizeof name, "new/%s", files[i]);
        mix_size(a, name);
        unlink(at(path, name));
    }
    unlink(at(path, "new.gguf"));
    assert_true(rmdir(at(path, "new")) == 0 || errno == ENOENT);
}

static void every_refusal_is_clean(void **state)
{
    static const struct subject subjects[] = {
        {CT_TEST_DATA "/sbs/g3-sfp.sbs", 0, 0, NO_CACHE},
        {CT_TEST_DATA "/vectors/models/gemma3-mm", 0, 0, NO_CACHE},
        {CT_TEST_DATA "/vectors/gguf/mixed.gguf", 0, 0, NO_CACHE},
    };
    int breaches = 0;

    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        struct act a = {.subject = &subjects[i]};
        OK(open_subject(&a, &a.model, err));
        breaches += refuse_each(&a, "convert", act_convert);
        carat_model_close(a.model);
    }
    assert_int_equal(breaches, 0);
}

int main(void)
{
    json_set_alloc_funcs(malloc, free);
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_refusal_is_clean)};
    return MAIN(tests);
}
