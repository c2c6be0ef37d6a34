/* SPDX-License-Identifier: Apache-2.0 */
/* test_store_paths.c: the paths of stores are those that their programs have, and names are read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/store_paths.h"

static struct ct_store_names names_of(const char *root)
{
    struct ct_store_names n = {.root = root,
                               .host = ct_str_of("registry.ollama.ai"),
                               .version = ct_str_of("0a1b"),
                               .file = ct_str_of("part/x.gguf"),
                               .hash = "00ff"};

    ct_store_split(&n, "google/gemma-3--1b");
    return n;
}

static void paths(void **state)
{
    static const struct {
        enum ct_store_path path;
        const char *right;
    } rows[] = {
        {CT_AT_HUB_FOLDER, "/r/models--google--gemma-3--1b"},
        {CT_AT_HUB_LOCK, "/r/.locks/models--google--gemma-3--1b/00ff.lock"},
        {CT_AT_HUB_REF, "/r/refs/0a1b"},
        {CT_AT_HUB_FILE, "/r/snapshots/0a1b/part/x.gguf"},
        {CT_AT_HUB_BLOB, "/r/blobs/00ff"},
        {CT_AT_HUB_TREE, "/r/trees/0a1b.json"},
        {CT_AT_OLLAMA_MANIFEST, "/r/manifests/registry.ollama.ai/google/gemma-3--1b/0a1b"},
        {CT_AT_OLLAMA_BLOB, "/r/blobs/sha256-00ff"},
        {CT_AT_KAGGLE_MARK, "/r/.complete/0a1b/part/x.gguf.complete"},
        {CT_AT_KAGGLE_ALL, "/r/0a1b.complete"},
        {CT_AT_LLAMA_CPP_FILE, "/r/google_gemma-3--1b_part/x.gguf"},
        {CT_AT_LM_STUDIO_FOLDER, "/r/google/gemma-3--1b"},
    };
    struct ct_store_names n = names_of("/r");
    char path[128];

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        assert_int_equal(ct_store_path(path, sizeof path, rows[i].path, &n), strlen(rows[i].right));
        assert_string_equal(path, rows[i].right);
        for (size_t room = 0; room <= strlen(rows[i].right); room++) { /* the length says what was needed */
            memset(path, '!', sizeof path);
            assert_int_equal(ct_store_path(path, room, rows[i].path, &n), strlen(rows[i].right));
            assert_true(room == 0 || path[room - 1] == 0);
            assert_true(path[room] == '!');
        }
    }
    n.root = NULL;
    ct_store_path(path, sizeof path, CT_AT_HUB_BLOB, &n);
    assert_string_equal(path, "blobs/00ff");
}

static void reading_back(void **state)
{
    static const char *const strangers[] = {
        "",           "models--",     "models--google", "models--google--", "models----gemma", "model--a--b",
        "models-a-b", "xmodels--a--b"};
    struct ct_store_names n;

    (void)state;
    assert_true(ct_store_names(&n, CT_AT_HUB_FOLDER, ct_str_of("models--google--gemma-3--1b")));
    assert_true(ct_str_is(n.owner, "google") && ct_str_is(n.name, "gemma-3--1b"));
    assert_true(ct_store_names(&n, CT_AT_HUB_TREE, ct_str_of("trees/0a1b.json")));
    assert_true(ct_str_is(n.version, "0a1b"));
    assert_false(ct_store_names(&n, CT_AT_HUB_TREE, ct_str_of("trees/0a1b.json5")));
    for (size_t i = 0; i < CT_COUNT(strangers); i++)
        if (ct_store_names(&n, CT_AT_HUB_FOLDER, ct_str_of(strangers[i])))
            fail_msg("'%s' is taken for a folder of the hub's cache", strangers[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths), cmocka_unit_test(reading_back)};
    return cmocka_run_group_tests_name("base: paths of stores", tests, NULL, NULL);
}
