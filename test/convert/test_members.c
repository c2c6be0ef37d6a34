/* SPDX-License-Identifier: Apache-2.0 */
/* test_members.c: newer members of the family, written as F32: names, shapes and bytes of tensors, and keys,
 * are those of the files that llama.cpp's own converter made of the same directories. Those lie in
 * CARAT_SHARED. */
#include "file/file_build.h"

#include "carat_convert.h"
#include "checkpoint/checkpoint.h"

#define OK(call)                                                                                             \
    do {                                                                                                     \
        carat_error ok_err = {CARAT_OK, ""}, *err = &ok_err;                                                 \
        if ((call) != CARAT_OK)                                                                              \
            fail_msg("%s", err->message);                                                                    \
    } while (0)

static const char *shared_path(const char *kind, const char *name, const char *ending)
{
    static char path[2][1024];
    static int turn;
    const char *shared = getenv("CARAT_SHARED");

    if (!shared || !*shared)
        skip();
    const char *up = access(path_in(shared, "family"), F_OK) == 0 ? "" : "/..";
    snprintf(path[turn ^= 1], sizeof path[0], "%s%s/family/%s/%s%s", shared, up, kind, name, ending);
    return path[turn];
}

static double number_of(const struct ct_meta *m, uint64_t i)
{
    return m->type == CT_META_ARRAY   ? ct_meta_number(m, i)
           : m->type == CT_META_FLOAT ? m->f
           : m->type == CT_META_INT   ? (double)m->i
                                      : (double)m->u;
}

static void compare_keys(const struct ct_file *theirs, const struct ct_file *ours, const char *architecture)
{
    static const char *const keys[] = {
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.head_count_kv",
        "rope.freq_base",
        "rope.freq_base_swa",
        "attention.layer_norm_rms_epsilon",
        "attention.key_length",
        "attention.value_length",
        "attention.key_length_swa",
        "attention.value_length_swa",
        "final_logit_softcapping",
        "attention.sliding_window",
        "altup.active_idx",
        "altup.num_inputs",
        "embedding_length_per_layer_input",
        "attention.shared_kv_layers",
        "activation_sparsity_scale",
        "attention.sliding_window_pattern",
        "rope.dimension_count",
        "rope.dimension_count_swa",
        "expert_count",
        "expert_used_count",
        "expert_feed_forward_length",
        "embedding_length_out",
        "nextn_predict_layers",
        "pooling_type",
    };
    char key[128];

    for (size_t k = 0; k < CT_COUNT(keys); k++) {
        snprintf(key, sizeof key, "%s.%s", architecture, keys[k]);
        const struct ct_meta *a = ct_file_meta(theirs, key), *b = ct_file_meta(ours, key);
        if (!a != !b)
            fail_msg("%s is %s", key, b ? "too many" : "missing");
        if (!a)
            continue;
        if ((a->type == CT_META_ARRAY) != (b->type == CT_META_ARRAY) || a->count != b->count)
            fail_msg("%s has another form", key);
        for (uint64_t i = 0; i < (a->type == CT_META_ARRAY ? a->count : 1); i++)
            if (number_of(a, i) != number_of(b, i))
                fail_msg("%s: %.9g, expected %.9g", key, number_of(b, i), number_of(a, i));
    }
}

static void compare_tensors(const struct ct_file *theirs, const struct ct_file *ours, int added)
{
    assert_int_equal(ct_file_tensor_count(ours), ct_file_tensor_count(theirs) + added);
    for (int i = 0; i < ct_file_tensor_count(theirs); i++) {
        const struct ct_tensor *a = ct_file_tensor(theirs, i), *b = ct_file_find(ours, a->name);
        if (!b)
            fail_msg("%s is missing", a->name);
        if (a->type != b->type || a->n_dim != b->n_dim || memcmp(a->dim, b->dim, sizeof a->dim) != 0)
            fail_msg("%s has another type or shape", a->name);
        if (a->size != b->size || memcmp(a->data, b->data, a->size) != 0)
            fail_msg("%s has other bytes", a->name);
    }
}

static const struct member {
    const char *name, *architecture;
    int added; /* tensors that the converter leaves out */
} members[] = {
    {"g3n", "gemma3n", 0},
    {"g4-e", "gemma4", 0},
    {"g4-dense", "gemma4", 0},
    {"g4-moe", "gemma4", 0},
    {"g4-dense-assistant", "gemma4-assistant", 0},
    {"g4-e-assistant", "gemma4-assistant", 2}, /* its groups of ids */
    {"embed1", "gemma-embedding", 2},          /* its modules */
};

static void members_are_the_converters(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < CT_COUNT(members); i++) {
        const struct member *p = &members[i];
        char *dir = temp_dir(), path[1024];
        carat_model *m = NULL;
        struct ct_file *theirs = NULL, *ours = NULL;
        snprintf(path, sizeof path, "%s", path_in(dir, "new.gguf"));
        const carat_convert_options o = {.size = sizeof o, .type = "f32", .threads = 2};
        const carat_model_options open = {.size = sizeof open, .drafter_alone = 1};
        OK(carat_model_open(&m, shared_path("models", p->name, ""), &open, err));
        OK(carat_convert(m, path, &o, err));
        OK(ct_file_open(&theirs, shared_path("gguf", p->name, "-f32.gguf"), false, err));
        OK(ct_file_open(&ours, path, false, err));
        compare_tensors(theirs, ours, p->added);
        compare_keys(theirs, ours, p->architecture);
        ct_file_close(theirs);
        ct_file_close(ours);
        carat_model_close(m);
        remove(path);
        rmdir(dir);
        free(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(members_are_the_converters)};
    return cmocka_run_group_tests_name("convert: newer members", tests, NULL, NULL);
}
