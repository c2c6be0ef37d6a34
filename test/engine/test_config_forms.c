/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_forms.c: forms of config.json (test/data/config_forms.jsonl, tools/make_config_forms.py) of the
 * committed models: what transformers 5.24 runs has its logits within 1e-4 of the largest, and what it
 * refuses is refused; converted, a model of such a form has the same bits, or GGUF cannot say it. Where
 * CARAT_SHARED names them, sixteen more. The keys by themselves: test/model/test_config_keys.c. */
#define _DEFAULT_SOURCE /* mkdtemp, strdup */
#include "carat_convert.h"
#include "vector_util.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOLERANCE 1e-4
enum { IDS = 40, MOST_VALUES = 64, MOST_FILES = 4 };

/* The files of a model, of which config.json is another one in each form. */
static struct files {
    char name[PATH_SIZE];
    carat_buffer of[MOST_FILES];
    int n;
} base;

static void drop_files(struct files *f)
{
    for (int i = 0; i < f->n; i++) {
        free((void *)f->of[i].name);
        free((void *)f->of[i].data);
    }
    *f = (struct files){.n = 0};
}

/* [0] is config.json. */
static void take_files(struct files *f, const char *dir)
{
    char path[PATH_SIZE], **names;
    if (strcmp(f->name, dir) == 0)
        return;
    drop_files(f);
    snprintf(f->name, sizeof f->name, "%s", dir);
    f->of[f->n++].name = strdup("config.json");
    const int n = list_folder(dir, &names);
    for (int i = 0; i < n; i++) {
        if (!strstr(names[i], "safetensors"))
            continue;
        assert_true(f->n < MOST_FILES);
        f->of[f->n].name = strdup(names[i]);
        f->of[f->n].data = read_whole(path_join(path, dir, names[i]), &f->of[f->n].size);
        f->n++;
    }
    free_names(names, n);
}

static void set_config(struct files *f, const json_t *config)
{
    free((void *)f->of[0].data);
    char *text = json_dumps(config, 0);
    f->of[0].data = text;
    f->of[0].size = strlen(text);
}

/* Logits of the last of these ids; false: the model is refused, and *e says why. */
static bool logits_of(const struct files *f, const char *path, const int32_t *ids, float **logits, int *n,
                      carat_error *e)
{
    carat_model *model = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    carat_status status = f ? carat_model_open_memory(&model, f->of, sizeof *f->of, f->n, &o, e)
                            : carat_model_open(&model, path, &o, e);
    *logits = NULL;
    if (status != CARAT_OK)
        return false;
    carat_engine_options options;
    carat_engine_options_default(&options);
    options.exact = 1;
    options.context = 64;
    options.threads = 1;
    struct rig r = rig_open(model, &options);
    OK(carat_sync(r.session[0], ids, IDS, NULL, err));
    *n = r.n_vocab;
    *logits = malloc((size_t)r.n_vocab * sizeof **logits);
    memcpy(*logits, carat_logits(r.session[0]), (size_t)r.n_vocab * sizeof **logits);
    rig_close(&r);
    carat_model_close(model);
    return true;
}

/* The object with the layers. */
static json_t *text_of(json_t *config)
{
    json_t *text = json_object_get(config, "text_config");
    return text ? text : config;
}

static json_t *config_of_form(const json_t *form, const char *dir)
{
    json_t *config = read_json(dir, "config.json"), *key;
    size_t i;
    json_array_foreach(json_object_get(form, "drop"), i, key)
    {
        json_object_del(text_of(config), json_string_value(key));
    }
    json_object_update(text_of(config), json_object_get(form, "set"));
    json_object_update(config, json_object_get(form, "around"));
    return config;
}

static void some_ids(int32_t *ids, json_t *config)
{
    const int n = (int)json_integer_value(json_object_get(text_of(config), "vocab_size"));
    ids[0] = 2;
    for (int i = 1; i < IDS; i++)
        ids[i] = 3 + i * 37 % ((n < 130 ? n : 130) - 4);
}

static void compare(const json_t *form, const float *logits, int n, const char *what)
{
    const double largest = json_number_value(json_object_get(form, "largest"));
    const int step = n / 24 > 1 ? n / 24 : 1;
    size_t i;
    json_t *v;
    assert_int_equal(json_array_size(json_object_get(form, "logits")), (n + step - 1) / step);
    json_array_foreach(json_object_get(form, "logits"), i, v)
    {
        const double d = fabs(json_number_value(v) - (double)logits[i * (size_t)step]);
        if (!(d <= TOLERANCE * largest))
            fail_msg("%s: logit %zu is %.6g, expected %.6g", what, i * (size_t)step,
                     (double)logits[i * (size_t)step], json_number_value(v));
    }
}

/* Converted in both ways: the same bits, or GGUF cannot say it. */
static int convert_form(const struct files *f, const int32_t *ids, const float *logits, int n,
                        const char *what)
{
    char dir[] = "/tmp/carat-test-XXXXXX", to[2][PATH_SIZE], command[PATH_SIZE];
    int converted = 0;
    assert_non_null(mkdtemp(dir));
    path_join(to[0], dir, "m.gguf");
    path_join(to[1], dir, "hf");
    for (int i = 0; i < 2; i++) {
        carat_model *model = NULL;
        carat_convert_options o;
        carat_error e;
        float *again = NULL;
        int m = 0;
        carat_convert_options_default(&o);
        o.threads = 1;
        OK(carat_model_open_memory(&model, f->of, sizeof *f->of, f->n, NULL, err));
        const carat_status status = carat_convert(model, to[i], &o, &e);
        carat_model_close(model);
        if (status == CARAT_E_UNSUPPORTED && i == 0)
            continue;
        if (status != CARAT_OK || !logits_of(NULL, to[i], ids, &again, &m, &e))
            fail_msg("%s, %s: %s", what, to[i], e.message);
        if (m != n || memcmp(again, logits, (size_t)n * sizeof *logits) != 0)
            fail_msg("%s: %s gives other logits", what, i ? "safetensors" : "GGUF");
        free(again);
        converted++;
    }
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    return converted;
}

/* Whether a form says something that conversions have to say again. */
static bool is_converted(const json_t *form)
{
    static const char *const keys[] = {"rope_scaling", "rope_parameters", "tie_word_embeddings",
                                       "per_layer_config"};
    const json_t *set = json_object_get(form, "set");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_object_get(set, keys[i]))
            return true;
    return false;
}

static void forms(void **state)
{
    FILE *f = fopen(CT_TEST_DATA "/config_forms.jsonl", "r");
    int runs = 0, refused = 0, converted = 0;
    (void)state;
    assert_non_null(f);
    for (json_t *form; (form = json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL));) {
        char dir[PATH_SIZE], what[512];
        int32_t ids[IDS];
        float *logits;
        int n;
        carat_error e;
        snprintf(dir, sizeof dir, "%s/models/%s", own_vectors(),
                 json_string_value(json_object_get(form, "base")));
        take_files(&base, dir);
        json_t *config = config_of_form(form, dir), *set = json_object_get(form, "set");
        char *said = json_dumps(set, JSON_COMPACT);
        snprintf(what, sizeof what, "%s with %.400s", json_string_value(json_object_get(form, "base")), said);
        some_ids(ids, config);
        set_config(&base, config);
        const bool ran = logits_of(&base, NULL, ids, &logits, &n, &e);
        if (ran != (json_object_get(form, "logits") != NULL))
            fail_msg("%s: %s", what, ran ? "runs, but the reference refuses it" : e.message);
        if (!ran && e.code != CARAT_E_FORMAT && e.code != CARAT_E_UNSUPPORTED)
            fail_msg("%s: %s", what, e.message);
        if (ran) {
            compare(form, logits, n, what);
            if (is_converted(form) && runs % 5 == 0)
                converted += convert_form(&base, ids, logits, n, what);
        }
        runs += ran;
        refused += !ran;
        free(said);
        free(logits);
        json_decref(config);
        json_decref(form);
    }
    fclose(f);
    drop_files(&base);
    print_message("%d forms run, %d are refused, %d were converted\n", runs, refused, converted);
    assert_true(runs > 250 && refused > 250 && converted > 40);
}

/* The larger set: a whole config.json each, and sometimes the weights. */
static void shared_forms(void **state)
{
    char vectors[PATH_SIZE], root[PATH_SIZE], **names;
    (void)state;
    if (!shared_vectors(vectors))
        skip();
    const int n = list_folder(path_join(root, vectors, "../models2/forms"), &names);
    assert_int_equal(n, 16);
    for (int i = 0; i < n; i++) {
        char dir[PATH_SIZE], model[PATH_SIZE], path[PATH_SIZE];
        struct files f = {.n = 0};
        float *logits;
        int n_vocab;
        carat_error e;
        path_join(dir, root, names[i]);
        json_t *form = read_json(dir, "case.json"), *config = read_json(dir, "config.json");
        const char *of = json_string_value(json_object_get(form, "base"));
        const bool own = access(path_join(path, dir, "model.safetensors"), F_OK) == 0;
        path_join(model, path_join(path, vectors, ".."), of ? of : "");
        take_files(&f, own ? dir : model);
        set_config(&f, config);
        struct ids ids = json_ids(json_object_get(form, "ids"));
        assert_int_equal(ids.n, IDS);
        const bool ran = logits_of(&f, NULL, ids.id, &logits, &n_vocab, &e),
                   runs = strcmp(json_string_value(json_object_get(form, "expect")), "logits") == 0;
        if (ran != runs)
            fail_msg("%s: %s", names[i], ran ? "runs" : e.message);
        if (runs) {
            struct array expected = read_npy(dir, "logits.npy");
            const double largest = json_number_value(json_object_get(form, "max_abs_logit"));
            assert_int_equal(expected.cols, n_vocab);
            for (int k = 0; k < n_vocab; k++)
                if (!(fabs((double)logits[k] - (double)expected.v[k]) <= TOLERANCE * largest))
                    fail_msg("%s: logit %d is %.6g, expected %.6g", names[i], k, (double)logits[k],
                             (double)expected.v[k]);
            free(expected.v);
        }
        free(logits);
        free(ids.id);
        json_decref(form);
        json_decref(config);
        drop_files(&f);
    }
    free_names(names, n);
}

/* The weights of a model with a head: a copy of its embedding, of which `other` changes one value. */
static void add_head(carat_buffer *file, bool other)
{
    uint8_t *from = (uint8_t *)file->data, *to;
    size_t head = 0;
    json_t *begin, *end;
    for (int i = 7; i >= 0; i--)
        head = head << 8 | from[i];
    json_t *tensors = json_loadb((const char *)from + 8, head, 0, NULL),
           *embed = json_deep_copy(json_object_get(tensors, "model.embed_tokens.weight")),
           *offsets = json_object_get(embed, "data_offsets");
    begin = json_incref(json_array_get(offsets, 0));
    end = json_incref(json_array_get(offsets, 1));
    const size_t at = (size_t)json_integer_value(begin), n = (size_t)json_integer_value(end) - at,
                 before = file->size - 8 - head;
    json_array_set_new(offsets, 0, json_integer((json_int_t)before));
    json_array_set_new(offsets, 1, json_integer((json_int_t)(before + n)));
    json_object_set_new(tensors, "lm_head.weight", embed);
    char *text = json_dumps(tensors, JSON_COMPACT);
    const size_t length = strlen(text), padded = (length + 7) / 8 * 8;
    to = malloc(8 + padded + before + n);
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(padded >> 8 * i);
    memset(to + 8, ' ', padded);
    memcpy(to + 8, text, length);
    memcpy(to + 8 + padded, from + 8 + head, before);
    memcpy(to + 8 + padded + before, from + 8 + head + at, n);
    to[8 + padded + before + n - 2] ^= other ? 0x40 : 0;
    free(text);
    free(from);
    json_decref(begin);
    json_decref(end);
    json_decref(tensors);
    file->data = to;
    file->size = 8 + padded + before + n;
}

/* A head in the file is the head, also where it is said to be the embedding; a copy of that is kept once. */
static void heads(void **state)
{
    char dir[PATH_SIZE];
    int32_t ids[IDS];
    float *tied, *logits;
    int n;
    carat_error e;
    (void)state;
    snprintf(dir, sizeof dir, "%s/models/gemma1-f32", own_vectors());
    for (int i = 0; i < 4; i++) {
        const bool other = i & 1, said = i & 2;
        struct files f = {.n = 0};
        json_t *config = read_json(dir, "config.json");
        some_ids(ids, config);
        json_object_set_new(config, "tie_word_embeddings", json_true());
        take_files(&f, dir);
        set_config(&f, config);
        assert_true(logits_of(&f, NULL, ids, &tied, &n, &e));
        json_object_set_new(config, "tie_word_embeddings", json_boolean(said));
        set_config(&f, config);
        add_head(&f.of[1], other);
        assert_true(logits_of(&f, NULL, ids, &logits, &n, &e));
        assert_int_equal(memcmp(tied, logits, (size_t)n * sizeof *logits) != 0, other);
        carat_model *model = NULL;
        OK(carat_model_open_memory(&model, f.of, sizeof *f.of, f.n, NULL, err));
        assert_int_equal(model_info(model).tied, said && !other);
        carat_model_close(model);
        if (other)
            assert_int_equal(convert_form(&f, ids, logits, n, "a head that is said to be none"), 2);
        free(tied);
        free(logits);
        json_decref(config);
        drop_files(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(shared_forms),
        cmocka_unit_test(heads),
    };
    return cmocka_run_group_tests_name("engine: forms of config.json", tests, NULL, NULL);
}
