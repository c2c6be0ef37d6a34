/* SPDX-License-Identifier: Apache-2.0 */
/* test_places.c: where models of other programs are looked for: each variable by itself and before those that
 * come behind it, LM Studio's pointer, and whose store models of ollama's registry go to. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "names/places.c"

static const char *const variables[] = {
    "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME",     "XDG_CACHE_HOME",
    "HOME",         "OLLAMA_MODELS",         "LLAMA_CACHE", "KAGGLEHUB_CACHE"};
enum { VARIABLES = sizeof variables / sizeof variables[0] };

static struct known_places known;
static char home[64];

/* Settings between spaces, as in "HOME=/h HF_HOME=/f"; all others are not there. */
static const carat_places *places_with(const char *settings)
{
    char text[512], *rest = text;

    for (int i = 0; i < VARIABLES; i++)
        unsetenv(variables[i]);
    snprintf(text, sizeof text, "%s", settings);
    for (char *one; (one = strtok_r(rest, " ", &rest));) {
        char *value = strchr(one, '=');
        *value = 0;
        setenv(one, value + 1, 1);
    }
    memset(&known, 0, sizeof known);
    find_places_of_models(&known);
    return &known.places;
}

static void variables_say_where(void **state)
{
    static const struct {
        const char *settings;
        size_t place;
        const char *path; /* NULL: nowhere */
    } table[] = {
#define AT(field) offsetof(carat_places, field)
        {"", AT(hub), NULL},
        {"HOME=/h", AT(hub), "/h/.cache/huggingface/hub"},
        {"HOME=/h XDG_CACHE_HOME=/x", AT(hub), "/x/huggingface/hub"},
        {"HOME=/h XDG_CACHE_HOME=/x HF_HOME=/f", AT(hub), "/f/hub"},
        {"HOME=/h HF_HOME=/f HUGGINGFACE_HUB_CACHE=/g", AT(hub), "/g"},
        {"HF_HOME=/f HUGGINGFACE_HUB_CACHE=/g HF_HUB_CACHE=/c", AT(hub), "/c"},
        {"HOME=/h HF_HUB_CACHE=", AT(hub), "/h/.cache/huggingface/hub"},
        {"", AT(ollama), NULL},
        {"HOME=/h", AT(ollama), "/h/.ollama/models"},
        {"HOME=/h OLLAMA_MODELS=/o", AT(ollama), "/o"},
        {"HOME=/h", AT(ollama_system), "/usr/share/ollama/.ollama/models"},
        {"HOME=/h OLLAMA_MODELS=", AT(ollama_system), "/usr/share/ollama/.ollama/models"},
        {"HOME=/h OLLAMA_MODELS=/o", AT(ollama_system), NULL},
        {"", AT(llama_cpp), NULL},
        {"HOME=/h", AT(llama_cpp), "/h/.cache/llama.cpp"},
        {"HOME=/h XDG_CACHE_HOME=/x", AT(llama_cpp), "/x/llama.cpp"},
        {"HOME=/h XDG_CACHE_HOME=/x LLAMA_CACHE=/l", AT(llama_cpp), "/l"},
        {"", AT(lm_studio), NULL},
        {"HOME=/h", AT(lm_studio), "/h/.lmstudio/models"},
        {"", AT(kaggle), NULL},
        {"HOME=/h", AT(kaggle), "/h/.cache/kagglehub"},
        {"HOME=/h KAGGLEHUB_CACHE=/k", AT(kaggle), "/k"},
        {"", AT(litert), NULL},
        {"HOME=/h", AT(litert), "/h/.litert-lm"},
        {"", AT(own), NULL},
        {"HOME=/h", AT(own), "/h/.cache/carat/models"},
        {"HOME=/h XDG_CACHE_HOME=/x", AT(own), "/x/carat/models"},
#undef AT
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *found = *(
            const char *const *)(const void *)((const char *)places_with(table[i].settings) + table[i].place);
        if (!found || !table[i].path ? found != table[i].path : strcmp(found, table[i].path) != 0)
            fail_msg("%s: %s, expected %s", table[i].settings, found, table[i].path);
    }
}

/* In a home of its own. */
static void write_pointer(const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/.lmstudio-home-pointer", home);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void a_pointer_moves_lm_studio(void **state)
{
    char settings[128], usual[128];

    (void)state;
    snprintf(settings, sizeof settings, "HOME=%s", home);
    snprintf(usual, sizeof usual, "%s/.lmstudio/models", home);
    write_pointer("/srv/studio\n");
    assert_string_equal(places_with(settings)->lm_studio, "/srv/studio/models");
    write_pointer("/srv/other\r\nmore");
    assert_string_equal(places_with(settings)->lm_studio, "/srv/other/models");
    write_pointer("srv/studio\n"); /* not from the root: nobody knows where that is */
    assert_string_equal(places_with(settings)->lm_studio, usual);
    write_pointer("");
    assert_string_equal(places_with(settings)->lm_studio, usual);
}

static void fetched_models_go_to_his_store_or_ours(void **state)
{
    char settings[256], path[256], his[128], ours[128];

    (void)state;
    snprintf(his, sizeof his, "%s/his", home);
    snprintf(ours, sizeof ours, "%s/cache/carat/models/ollama", home);
    snprintf(settings, sizeof settings, "OLLAMA_MODELS=%s XDG_CACHE_HOME=%s/cache", his, home);
    (void)places_with(settings);
    assert_true(find_ollama_store(path, sizeof path));
    assert_string_equal(path, ours); /* his is not there */
    assert_int_equal(mkdir(his, 0700), 0);
    assert_true(find_ollama_store(path, sizeof path));
    assert_string_equal(path, his);
    assert_false(find_ollama_store(path, 4));
    snprintf(path, sizeof path, "%s/blobs", his);
    FILE *f = fopen(path, "we"); /* where a directory belongs */
    assert_non_null(f);
    fclose(f);
    assert_int_equal(chmod(path, 0700), 0);
    assert_true(find_ollama_store(path, sizeof path));
    assert_string_equal(path, ours);
    (void)places_with("");
    assert_false(find_ollama_store(path, sizeof path));
}

static int make_home(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/carat-test-XXXXXX");
    return mkdtemp(home) ? 0 : -1;
}

static int remove_home(void **state)
{
    static const char *const made[] = {"/his/blobs", "/his", "/.lmstudio-home-pointer", ""};

    (void)state;
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", home, made[i]);
        remove(path);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_say_where),
        cmocka_unit_test(a_pointer_moves_lm_studio),
        cmocka_unit_test(fetched_models_go_to_his_store_or_ours),
    };
    return cmocka_run_group_tests(tests, make_home, remove_home);
}
