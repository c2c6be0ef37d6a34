/* SPDX-License-Identifier: Apache-2.0 */
/* test_outcomes.c: what is computed with a converted file in exact arithmetic is what its source gives, bit
 * for bit: logits, drafts, vectors; and the content hash is the same. From directories, and from packed
 * files, which have lost what is not computed with. */
#include "file/file_build.h"

#include "carat_convert.h"
#include "carat_embed.h"
#include "checkpoint/content.h"
#include "generate/draft.h"

#define TINY4     CT_TEST_DATA "/../fixtures/tiny4"
#define ASSISTANT TINY4 "-assistant"
#define OK(call)                                                                                             \
    do {                                                                                                     \
        carat_error ok_err = {CARAT_OK, ""}, *err = &ok_err;                                                 \
        if ((call) != CARAT_OK)                                                                              \
            fail_msg("%s", err->message);                                                                    \
    } while (0)

static const int32_t ids[] = {2, 105, 529, 107, 506, 478, 396, 514, 594, 106, 107, 105, 528, 107, 571};
enum { IDS = CT_COUNT(ids), DRAFT = 4, MOST = 4096 };
static char *dir;

/* A directory of CARAT_SHARED; NULL: there is none. */
static const char *shared_model(const char *name)
{
    static char path[1024];
    const char *shared = getenv("CARAT_SHARED");

    if (!shared || !*shared)
        return NULL;
    const char *up = access(path_in(shared, "family"), F_OK) == 0 ? "" : "/..";
    snprintf(path, sizeof path, "%s%s/family/models/%s", shared, up, name);
    return path;
}

static carat_model *open_alone(const char *path)
{
    const carat_model_options o = {.size = sizeof o, .drafter_alone = 1};
    carat_model *m = NULL;

    OK(carat_model_open(&m, path, &o, err));
    return m;
}

static void content_of(const char *path, char hex[CT_CONTENT_HEX])
{
    carat_model *m = open_alone(path);
    struct ct_content content;

    OK(ct_content_begin(&content, m, err));
    OK(ct_content_list(&content, 1, err));
    for (int i = 0; i < content.n_chunk; i++)
        ct_content_read(&content, i, 0, NULL, NULL);
    ct_content_end(&content, hex);
    ct_content_free(&content);
    carat_model_close(m);
}

/* The source, and through a packed file: each as a GGUF file, which has the same content. */
static void convert_both(const char *source)
{
    const char *const packed = path_in(dir, "packed");
    const carat_convert_options o = {.size = sizeof o, .threads = 2};
    char expected[CT_CONTENT_HEX], found[CT_CONTENT_HEX];
    carat_model *m = open_alone(source);

    content_of(source, expected);
    OK(carat_convert(m, path_in(dir, "direct.gguf"), &o, err));
    OK(carat_model_pack(m, packed, NULL, NULL, err));
    carat_model_close(m);
    m = open_alone(packed);
    OK(carat_convert(m, path_in(dir, "through.gguf"), &o, err));
    carat_model_close(m);
    content_of(path_in(dir, "direct.gguf"), found);
    assert_string_equal(found, expected);
    content_of(path_in(dir, "through.gguf"), found);
    assert_string_equal(found, expected);
}

static carat_engine *exact_engine(const carat_model *m)
{
    carat_engine_options o;
    carat_engine *e = NULL;

    carat_engine_options_default(&o);
    o.threads = o.exact = 1;
    o.context = 64;
    OK(carat_engine_create(&e, m, &o, err));
    return e;
}

/* Logits behind the ids, and drafts with a drafter. */
static void run(const char *model, const char *drafter, float *logits, int32_t draft[DRAFT])
{
    const carat_model_options o = {.size = sizeof o, .drafter = drafter};
    carat_model *m = NULL;
    carat_session *s = NULL;

    OK(carat_model_open(&m, model, &o, err));
    carat_engine *e = exact_engine(m);
    OK(carat_session_create(&s, e, NULL, err));
    OK(carat_sync(s, ids, IDS, NULL, err));
    const float *found = carat_logits(s);
    assert_non_null(found);
    assert_true(m->config.n_vocab <= MOST);
    memset(logits, 0, MOST * sizeof *logits);
    memcpy(logits, found, (size_t)m->config.n_vocab * sizeof *logits);
    if (drafter)
        assert_int_equal(ct_draft_propose(s, ids, IDS, draft, DRAFT), DRAFT);
    carat_session_close(s);
    carat_engine_close(e);
    carat_model_close(m);
}

static void generators_give_their_logits(void **unused)
{
    (void)unused;
    static const char *const names[] = {"g3n", "g4-e", "g4-dense", "g4-moe", "g4-unified"};
    static float expected[MOST], found[MOST];

    for (size_t i = 0; i <= CT_COUNT(names); i++) {
        const char *source = i == 0 ? TINY4 : shared_model(names[i - 1]);
        if (!source)
            break;
        convert_both(source);
        run(source, NULL, expected, NULL);
        run(path_in(dir, "direct.gguf"), NULL, found, NULL);
        assert_memory_equal(found, expected, sizeof expected);
        run(path_in(dir, "through.gguf"), NULL, found, NULL);
        assert_memory_equal(found, expected, sizeof expected);
    }
}

static void drafters_draft_the_same(void **unused)
{
    (void)unused;
    static const char *const names[] = {"g4-e", "g4-dense"};
    static float logits[MOST];
    int32_t expected[DRAFT], draft[DRAFT];
    char model[1024], drafter[2 * 1024];

    for (size_t i = 0; i <= CT_COUNT(names); i++) {
        if (i && !shared_model(""))
            break;
        snprintf(model, sizeof model, "%s", i ? shared_model(names[i - 1]) : TINY4);
        snprintf(drafter, sizeof drafter, "%s-assistant", model);
        convert_both(drafter);
        run(model, drafter, logits, expected);
        run(model, path_in(dir, "direct.gguf"), logits, draft);
        assert_memory_equal(draft, expected, sizeof draft);
        run(model, path_in(dir, "through.gguf"), logits, draft);
        assert_memory_equal(draft, expected, sizeof draft);
    }
}

static void vector_of(const char *path, float *vector)
{
    carat_model *m = NULL;

    OK(carat_model_open(&m, path, NULL, err));
    carat_engine *e = exact_engine(m);
    carat_embed_input input = {.tokens = ids, .n = IDS, .vector = vector};
    memset(vector, 0, MOST * sizeof *vector);
    OK(carat_embed(e, &input, sizeof input, 1, NULL, err));
    carat_engine_close(e);
    carat_model_close(m);
}

static void embedders_give_their_vectors(void **unused)
{
    (void)unused;
    static const char *const names[] = {"embed1", "embed2", "embed2-other"};
    static float expected[MOST], found[MOST];

    for (size_t i = 0; i < CT_COUNT(names); i++) {
        const char *source = shared_model(names[i]);
        if (!source)
            skip();
        convert_both(source);
        vector_of(source, expected);
        vector_of(path_in(dir, "direct.gguf"), found);
        assert_memory_equal(found, expected, sizeof expected);
        vector_of(path_in(dir, "through.gguf"), found);
        assert_memory_equal(found, expected, sizeof expected);
    }
}

static void a_drafter_alone_runs_nothing(void **unused)
{
    (void)unused;
    carat_model *m = open_alone(ASSISTANT);
    carat_engine *e = NULL;
    carat_error err;

    assert_int_equal(carat_engine_create(&e, m, NULL, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "is a drafter, which runs beside its model only"));
    assert_null(e);
    carat_model_close(m);
}

int main(void)
{
    static const char *const files[] = {"direct.gguf", "through.gguf", "packed", NULL};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generators_give_their_logits),
        cmocka_unit_test(drafters_draft_the_same),
        cmocka_unit_test(embedders_give_their_vectors),
        cmocka_unit_test(a_drafter_alone_runs_nothing),
    };
    dir = temp_dir();
    const int failed = cmocka_run_group_tests_name("convert: outcomes", tests, NULL, NULL);
    remove_dir(dir, files);
    return failed;
}
