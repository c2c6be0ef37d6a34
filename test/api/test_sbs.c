/* SPDX-License-Identifier: Apache-2.0 */
/* test_sbs.c: gemma.cpp files through carat.h: the same weights give the same bits as a Hugging Face folder,
 * the facts are those of other files, the tokenizer is found inside, beside or not at all. Numbers of every
 * type and form against the reference implementation are test_reference.c's; broken files are
 * test/file/test_sbs.c's. */
#include "engine/vector_util.h"

#define DATA CT_TEST_DATA "/sbs/"

/* What the library logged while it opened. */
struct lines {
    char text[1024];
};

static void keep_line(void *user, const char *line)
{
    struct lines *l = user;
    size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof l->text - n, "%s\n", line);
}

static carat_model *open_model(const char *path, struct lines *lines)
{
    carat_model *model = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    *lines = (struct lines){""};
    o.log = keep_line;
    o.user = lines;
    OK(carat_model_open(&model, path, &o, err));
    return model;
}

static float *logits_of(carat_model *model, int exact)
{
    carat_engine_options o = small_engine();
    o.exact = exact;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(24, r.n_vocab, 5);
    float *logits = malloc((size_t)ids.n * (size_t)r.n_vocab * sizeof *logits);
    carat_row row = {.session = r.session[0], .tokens = ids.id, .n = ids.n, .logits = logits};
    OK(carat_step(r.engine, &row, sizeof(carat_row), 1, err));
    free(ids.id);
    rig_close(&r);
    return logits;
}

static void the_same_weights_give_the_same_bits(void **state)
{
    (void)state;
    struct lines lines;
    carat_model *sbs = open_model(DATA "g2-f32.sbs", &lines), *hf = open_model(DATA "hf", &lines);
    carat_model_info a = model_info(sbs), b = model_info(hf);
    for (int exact = 0; exact < 2; exact++) {
        float *x = logits_of(sbs, exact), *y = logits_of(hf, exact);
        assert_memory_equal(x, y, 24 * (size_t)a.n_vocab * sizeof *x);
        free(x);
        free(y);
    }
    assert_string_equal(a.container, "SBS");
    assert_string_equal(a.name, "Gemma2 tiny");
    a.container = b.container;
    a.name = b.name;
    a.chat_template = b.chat_template; /* the folder has no template */
    a.has_chat_template = b.has_chat_template;
    assert_string_equal(a.architecture, b.architecture);
    a.architecture = b.architecture;
    assert_string_equal(a.tokenizer, b.tokenizer);
    a.tokenizer = b.tokenizer;
    assert_true(a.file_bytes > 0 && b.file_bytes > 0);
    a.file_bytes = b.file_bytes;
    assert_memory_equal(&a, &b, sizeof a);
    carat_model_close(sbs);
    carat_model_close(hf);
}

static void facts_are_those_of_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *path, *architecture, *chat, *tokenizer, *log;
        int n_local, window, multimodal, stop[3]; /* ended by 0 */
        double factor;
    } rows[] = {
        {DATA "g1-sfp.sbs", "gemma", "", "", "tokenizer.spm", 0, 0, 0, {1, 107, 0}, 1},
        {DATA "g1-each.sbs", "gemma", "gemma", "", "tokenizer.spm", 0, 0, 0, {1, 107, 0}, 1},
        {DATA "v1/g2-bf16.sbs", "gemma2", "gemma", "tokenizer.model", "", 1, 4, 0, {1, 107, 106}, 1},
        {DATA "g3-sfp.sbs", "gemma3", "gemma3", "tokenizer.model", "", 2, 4, 0, {1, 106, 0}, 1},
        {DATA "g3-nuq.sbs", "gemma3", "gemma3", "", "only its text tower", 2, 4, 1, {1, 106, 0}, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lines lines;
        carat_model *model = open_model(rows[i].path, &lines);
        carat_model_info m = model_info(model);
        assert_string_equal(m.architecture, rows[i].architecture);
        assert_string_equal(m.chat_template, rows[i].chat);
        assert_string_equal(m.tokenizer, rows[i].tokenizer);
        assert_non_null(strstr(lines.text, rows[i].log));
        if (!*rows[i].log)
            assert_string_equal(lines.text, "");
        assert_int_equal(m.n_local, rows[i].n_local);
        assert_int_equal(m.sliding_window, rows[i].window);
        assert_int_equal(m.multimodal, rows[i].multimodal);
        assert_true(m.rope_factor == rows[i].factor && m.rope_base_local == 1e4);
        assert_true(m.rope_base == (strcmp(m.architecture, "gemma3") == 0 ? 1e6 : 1e4));
        assert_true(m.norm_eps == (double)1e-6f && m.tied && m.max_context == 2048);
        int n = 0;
        while (n < 3 && rows[i].stop[n])
            n++;
        assert_int_equal(carat_stop_ids(model, NULL), n);
        for (int k = 0; k < n; k++)
            assert_true(carat_is_stop(model, rows[i].stop[k]));
        carat_model_close(model);
    }
}

/* Tensors are listed as the file has them, whatever was made of them. */
static void tensors_keep_their_names_and_types(void **state)
{
    (void)state;
    struct lines lines;
    carat_model *model = open_model(DATA "g3-nuq.sbs", &lines);
    int fused = 0, vision = 0;
    for (int i = 0; i < carat_model_tensor_count(model); i++) {
        carat_tensor_info t = {.size = sizeof t};
        OK(carat_model_get_tensor(model, i, &t, err));
        if (strcmp(t.name, "qkv_ein_0") == 0) {
            fused++;
            assert_string_equal(t.type, "NUQ");
            assert_int_equal(t.dim[0], (6 + 2 * 3) * 12);
            assert_int_equal(t.dim[1], 36);
            assert_int_equal(t.bytes, (144 * 36 + 255) / 256 * 16 + 144 * 36 / 2);
        }
        vision += strcmp(t.name, "img_emb_kernel") == 0;
    }
    assert_int_equal(fused, 1);
    assert_int_equal(vision, 1);
    carat_model_close(model);
}

static void a_file_and_its_tokenizer_open_from_memory(void **state)
{
    (void)state;
    carat_buffer buffer[2] = {{.name = "x.sbs"}, {.name = "tokenizer.spm"}};
    void *file = read_whole(DATA "v1/g2-bf16.sbs", &buffer[0].size);
    void *tokenizer = read_whole(DATA "v1/tokenizer.spm", &buffer[1].size);
    buffer[0].data = file;
    buffer[1].data = tokenizer;
    for (int n = 1; n <= 2; n++) {
        carat_model *model = NULL;
        OK(carat_model_open_memory(&model, buffer, sizeof(carat_buffer), n, NULL, err));
        assert_int_equal(model_info(model).has_tokenizer, n == 2);
        carat_tokens ids = {0};
        if (n == 2) {
            OK(carat_tokenize(model, "hello", 5, CARAT_BOS, &ids, err));
            assert_true(ids.n > 1 && ids.ids[0] == 2);
        } else {
            FAILS(CARAT_E_NOT_FOUND, carat_tokenize(model, "hello", 5, CARAT_BOS, &ids, err));
        }
        carat_tokens_free(&ids);
        carat_model_close(model);
    }
    free(file);
    free(tokenizer);
}

/* A tokenizer that the caller names is used instead of the file's own, and must be one. */
static void the_caller_may_name_a_tokenizer(void **state)
{
    (void)state;
    carat_model *model = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    carat_tokens ids = {0};
    o.tokenizer = DATA "v1/tokenizer.spm";
    for (int only = 0; only < 2; only++) {
        o.tokenizer_only = only;
        OK(carat_model_open(&model, DATA "g1-sfp.sbs", &o, err));
        assert_string_equal(model_info(model).tokenizer, "tokenizer.model");
        OK(carat_tokenize(model, "hello", 5, 0, &ids, err));
        carat_model_close(model);
        o.tokenizer = CT_TEST_DATA "/text/tokenizer.json"; /* the same vocabulary */
        OK(carat_model_open(&model, DATA "g3-sfp.sbs", &o, err));
        assert_string_equal(model_info(model).tokenizer, "tokenizer.json");
        carat_model_close(model);
        o.tokenizer = DATA "g2-f32.sbs"; /* has none */
        FAILS(CARAT_E_NOT_FOUND, carat_model_open(&model, DATA "g3-sfp.sbs", &o, err));
        o.tokenizer = DATA "absent";
        FAILS(CARAT_E_NOT_FOUND, carat_model_open(&model, DATA "g3-sfp.sbs", &o, err));
        o.tokenizer = DATA "v1";
        FAILS(CARAT_E_NOT_FOUND, carat_model_open(&model, DATA "g3-sfp.sbs", &o, err));
        o.tokenizer = DATA "v1/tokenizer.spm";
    }
    assert_true(ids.n > 1);
    carat_tokens_free(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_weights_give_the_same_bits),
        cmocka_unit_test(facts_are_those_of_the_file),
        cmocka_unit_test(tensors_keep_their_names_and_types),
        cmocka_unit_test(a_file_and_its_tokenizer_open_from_memory),
        cmocka_unit_test(the_caller_may_name_a_tokenizer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
