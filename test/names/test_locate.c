/* SPDX-License-Identifier: Apache-2.0 */
/* test_locate.c: what names stand for, and which files of the hub's cache are found by them. The files here
 * are empty but for their names: opening models is not this test's. */
#include "os/scratch.h"

#include <assert.h>
#include <carat_tools.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

enum { NAME = 512, PATH = NAME + sizeof scratch };

static void put(const char *name, const char *text)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    write_file(path, text, strlen(text));
}

static void take_away(const char *name)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    assert_int_equal(remove(path), 0);
}

/* A file of a snapshot, as the hub's programs lay it: a link to a blob. */
static void put_linked(const char *repository, const char *commit, const char *name, bool there)
{
    char name_of_link[NAME], path[PATH], target[PATH];
    snprintf(name_of_link, sizeof name_of_link, "%s/snapshots/%s/%s", repository, commit, name);
    put(name_of_link, "");
    take_away(name_of_link);
    snprintf(path, sizeof path, "%s/%s", scratch, name_of_link);
    snprintf(target, sizeof target, "%s/%s/blobs/%s", scratch, repository, there ? "blob" : "gone");
    assert_int_equal(symlink(target, path), 0);
    snprintf(name_of_link, sizeof name_of_link, "%s/blobs/blob", repository);
    put(name_of_link, "");
}

static carat_error error;
static carat_location at;

static carat_places places; /* the hub's alone, unless a test says more */

static carat_status locate(const char *name)
{
    places.hub = scratch;
    carat_location_default(&at);
    error.message[0] = 0;
    return carat_locate(&at, name, &places, &error);
}

/* Text or "-" for NULL. */
static void is(const char *found, const char *wanted)
{
    assert_string_equal(found ? found : "-", wanted);
}

static void names(const char *name, carat_named named, const char *repository, const char *revision,
                  const char *part)
{
    assert_int_equal(locate(name), CARAT_OK);
    assert_int_equal(at.named, named);
    is(at.repository, repository);
    is(at.revision, revision);
    is(at.part, part);
    carat_location_free(&at);
    assert_null(at.memory);
    assert_int_equal(at.size, sizeof at);
}

static void is_path(const char *name)
{
    assert_int_equal(locate(name), CARAT_OK);
    assert_int_equal(at.named, CARAT_NAMED_PATH);
    is(at.path, name);
    is(at.repository, "-");
    /* a word is what has no form of a path and does not exist */
    assert_int_equal(at.word, access(name, F_OK) != 0 && !strchr(name, '/') && !strstr(name, ".gguf"));
    carat_location_free(&at);
}

static void fails(carat_status status, const char *name, const char *words)
{
    assert_int_equal(locate(name), status);
    if (!strstr(error.message, words))
        fail_msg("%s: '%s' lacks '%s'", name, error.message, words);
    assert_null(at.memory);
}

static void reads_names(void **state)
{
    (void)state;
    static const char *const of_1b[] = {"gemma3:1b", "gemma-3-1b-it", "Gemma3_1B", "GEMMA3:1B-it",
                                        "gemma3:1b-it:latest"};
    for (size_t i = 0; i < sizeof of_1b / sizeof *of_1b; i++)
        names(of_1b[i], CARAT_NAMED_FAMILY, "google/gemma-3-1b-it", "main", "");
    names("gemma3:4b-it-qat", CARAT_NAMED_FAMILY, "google/gemma-3-4b-it-qat-q4_0-gguf", "main", "");
    names("gemma", CARAT_NAMED_FAMILY, "google/gemma-7b-it", "main", "");
    static const char *const of_hub[] = {"a/b",
                                         "hf.co/a/b",
                                         "huggingface.co/a/b",
                                         "www.huggingface.co/a/b",
                                         "https://huggingface.co/a/b",
                                         "http://hf.co/a/b",
                                         "https://hf.co/a/b?download=true",
                                         "https://hf.co/a/b#readme"};
    for (size_t i = 0; i < sizeof of_hub / sizeof *of_hub; i++)
        names(of_hub[i], CARAT_NAMED_REPOSITORY, "a/b", "main", "");
    names("a/b:Q4_K_M", CARAT_NAMED_REPOSITORY, "a/b", "main", "Q4_K_M");
    names("a/b@v1:x.gguf", CARAT_NAMED_REPOSITORY, "a/b", "v1", "x.gguf");
    names("a/b@refs/pr/1", CARAT_NAMED_REPOSITORY, "a/b", "refs/pr/1", "");
    names("https://huggingface.co/a/b/tree/dev", CARAT_NAMED_REPOSITORY, "a/b", "dev", "");
    names("https://huggingface.co/a/b/resolve/main/f/x.gguf?download=true", CARAT_NAMED_REPOSITORY, "a/b",
          "main", "f/x.gguf");
    names("https://huggingface.co/a/b/blob/v2/x.gguf", CARAT_NAMED_REPOSITORY, "a/b", "v2", "x.gguf");
    names("hf.co/a/b.gguf", CARAT_NAMED_REPOSITORY, "a/b.gguf", "main", "");
    names("https://example.org/a/b", CARAT_NAMED_ADDRESS, "-", "-", "");
    names("ftp://example.org/a.gguf", CARAT_NAMED_ADDRESS, "-", "-", "");
}

static void tells_the_drafter(void **state)
{
    (void)state;
    assert_int_equal(locate("gemma4:e2b"), CARAT_OK);
    is(at.drafter, "google/gemma-4-E2B-it-assistant");
    carat_location_free(&at);
    assert_int_equal(locate("gemma3:1b"), CARAT_OK);
    is(at.drafter, "-");
    carat_location_free(&at);
}

static void leaves_paths(void **state)
{
    (void)state;
    static const char *const paths[] = {"x",      "a/b.gguf",    "./gemma3:1b", "/google/gemma-3-1b-it",
                                        "../a/b", "a/b/c",       "a/",          "/",
                                        "a/.b",   "gemma3.gguf", "gemma3:99b",  "gemma3:1b-base",
                                        "a/b@",   "a/b@../c",    "a/b@x/../y",  "a/b@.",
                                        "a b/c",  "gemma"};
    char here[4096], long_name[600];

    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(scratch), 0);
    put("gemma", ""); /* a file of that name */
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        is_path(paths[i]);
    take_away("gemma");
    put("a/x", ""); /* a folder that is there, so this is a path in it */
    is_path("a/b");
    take_away("a/x");
    take_away("a");
    assert_int_equal(chdir(here), 0);
    memset(long_name, 'a', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    long_name[2] = '/';
    is_path(long_name);
}

static void refuses_other_families(void **state)
{
    (void)state;
    fails(CARAT_E_NOT_FOUND, "paligemma", "does not run");
    fails(CARAT_E_NOT_FOUND, "paligemma:latest", "does not run");
    fails(CARAT_E_NOT_FOUND, "google/t5gemma-2b",
          "google/t5gemma-2b is the name of a model that carat does not run");
    fails(CARAT_E_NOT_FOUND, "hf.co/a", "names no repository");
    fails(CARAT_E_NOT_FOUND, "https://huggingface.co/", "names no repository");
}

static void ends(const char *name, const char *path, const char *missing)
{
    assert_int_equal(locate(name), CARAT_OK);
    if (at.path && strncmp(at.path, scratch, strlen(scratch)) == 0)
        is(at.path + strlen(scratch) + 1, path);
    else
        is(at.path, path);
    is(at.missing, missing);
    carat_location_free(&at);
}

static void finds_snapshots(void **state)
{
    (void)state;
    const char *folder = "models--google--gemma-3-1b-it";
    char file[NAME], snapshot[NAME / 2];

    snprintf(snapshot, sizeof snapshot, "%s/snapshots/%s", folder, COMMIT);
    ends("gemma3:1b", "-", "-"); /* nothing is there */
    snprintf(file, sizeof file, "%s/refs/main", folder);
    put(file, COMMIT "\n");
    ends("gemma3:1b", "-", "-"); /* a ref without its snapshot */
    put_linked(folder, COMMIT, "config.json", false);
    ends("gemma3:1b", "-", "config.json"); /* a link that leads nowhere */
    put_linked(folder, COMMIT, "model.safetensors", true);
    ends("gemma3:1b", "-", "config.json");
    snprintf(file, sizeof file, "%s/config.json", snapshot);
    take_away(file);
    put_linked(folder, COMMIT, "config.json", true);
    ends("gemma3:1b", snapshot, "-");
    ends("google/gemma-3-1b-it@" COMMIT, snapshot, "-");
    ends("google/gemma-3-1b-it@dev", "-", "-");
    snprintf(file, sizeof file, "%s/refs/refs/pr/1", folder);
    put(file, COMMIT);
    ends("google/gemma-3-1b-it@refs/pr/1", snapshot, "-");
    assert_int_equal(locate("gemma3:1b"), CARAT_OK);
    is(at.commit, COMMIT);
    carat_location_free(&at);
    /* shards by their index */
    snprintf(file, sizeof file, "%s/model.safetensors.index.json", snapshot);
    put(file, "{\"weight_map\": {\"a\": \"m-1.safetensors\", \"b\": \"m-1.safetensors\", \"c\": "
              "\"m-2.safetensors\"}}");
    ends("gemma3:1b", "-", "m-1.safetensors");
    put_linked(folder, COMMIT, "m-1.safetensors", true);
    ends("gemma3:1b", "-", "m-2.safetensors");
    put_linked(folder, COMMIT, "m-2.safetensors", true);
    ends("gemma3:1b", snapshot, "-");
    put(file, "{\"weight_map\": {\"a\": \"../m\"}}");
    fails(CARAT_E_FORMAT, "gemma3:1b", "a shard has no name of a file beside it");
    put(file, "{\"weight_map\": ");
    fails(CARAT_E_FORMAT, "gemma3:1b", "model.safetensors.index.json");
    /* refs that name no commit */
    snprintf(file, sizeof file, "%s/refs/main", folder);
    static const char *const bad[] = {"", "\n", "../x", "a/b", ".", "a\x01"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put(file, bad[i]);
        fails(CARAT_E_FORMAT, "gemma3:1b", "expected a commit's hash");
    }
    take_away(file);
}

static void chooses_ggufs(void **state)
{
    (void)state;
    static const char *const files[] = {"x-BF16.gguf",
                                        "x-Q8_0.gguf",
                                        "x-qat-Q4_0.gguf",
                                        "x-Q4_0.gguf",
                                        "mmproj-x.gguf",
                                        "x-draft-Q2_K.gguf",
                                        "more/x-Q6_K-00001-of-00002.gguf",
                                        "x-UD-Q4_K_XL.gguf",
                                        "README.md"};
    const char *folder = "models--u--g";
    put("models--u--g/refs/main", COMMIT);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        put_linked(folder, COMMIT, files[i], true);
#define IN "models--u--g/snapshots/" COMMIT "/"
    ends("u/g", IN "x-qat-Q4_0.gguf", "-");
    ends("u/g:q8_0", IN "x-Q8_0.gguf", "-");
    ends("u/g:Q4_K_XL", IN "x-UD-Q4_K_XL.gguf", "-");
    ends("u/g:UD-Q4_K_XL", IN "x-UD-Q4_K_XL.gguf", "-");
    ends("u/g:x-BF16.gguf", IN "x-BF16.gguf", "-");
    ends("u/g:Q6_K", "-", "more/x-Q6_K-00002-of-00002.gguf");
    put_linked(folder, COMMIT, "more/x-Q6_K-00002-of-00002.gguf", true);
    ends("u/g:Q6_K", IN "more/x-Q6_K-00001-of-00002.gguf", "-");
    ends("u/g:Q5_K_M", "-", "*Q5_K_M.gguf");
    ends("u/g:y.gguf", "-", "y.gguf");
    ends("u/g:8_0", "-", "*8_0.gguf"); /* no word of its own */
    fails(CARAT_E_NOT_FOUND, "u/g:Q4_0",
          "u/g holds 2 GGUF models: name one of \"x-Q4_0.gguf\", \"x-qat-Q4_0.gguf\"");
    put_linked(folder, COMMIT, "x-UD-Q4_K_M.gguf", true);
    ends("u/g", IN "x-qat-Q4_0.gguf", "-");
    put_linked(folder, COMMIT, "x.Q4_K_M.gguf", true);
    ends("u/g", IN "x.Q4_K_M.gguf", "-");
    ends("u/g:Q4_K_M", IN "x.Q4_K_M.gguf", "-");
    /* one that has nothing that is preferred, and one of drafters alone */
    put("models--u--h/refs/main", COMMIT);
    put_linked("models--u--h", COMMIT, "b-Q8_0.gguf", true);
    put_linked("models--u--h", COMMIT, "a-Q6_K.gguf", true);
    ends("u/h", "models--u--h/snapshots/" COMMIT "/a-Q6_K.gguf", "-");
    put("models--u--d/refs/main", COMMIT);
    put_linked("models--u--d", COMMIT, "g-assistant-Q8_0.gguf", true);
    ends("u/d", "models--u--d/snapshots/" COMMIT "/g-assistant-Q8_0.gguf", "-");
    /* nothing that is a model */
    put("models--u--n/refs/main", COMMIT);
    put_linked("models--u--n", COMMIT, "README.md", true);
    ends("u/n", "-", "config.json");
}

/* wanted: a digit for each name. */
static void chooses(const char *const *files, int n, const char *part, const char *wanted)
{
    int found[16];
    assert_int_equal(carat_choose_files("u/g", files, n, part, found, &error), CARAT_OK);
    for (int i = 0; i < n; i++)
        if (found[i] != wanted[i] - '0')
            fail_msg("'%s': %s is %d", part, files[i], found[i]);
}

static void chooses_what_is_fetched(void **state)
{
    (void)state;
    static const char *const directory[] = {"config.json",
                                            "model-00001-of-00002.safetensors",
                                            "tokenizer.json",
                                            "model.safetensors.index.json",
                                            "pytorch_model.bin",
                                            "1_Pooling/config.json",
                                            "original/config.json",
                                            "README.md",
                                            "chat_template.jinja",
                                            "2_Dense/model.safetensors",
                                            "onnx/model.safetensors",
                                            "x-Q8_0.gguf"};
    static const char *const ggufs[] = {"b/a-Q8_0-00001-of-00002.gguf",
                                        "b/a-Q8_0-00002-of-00002.gguf",
                                        "b/a-Q8_0-00001-of-00003.gguf",
                                        "a-Q4_0.gguf",
                                        "mmproj-a.gguf",
                                        "config.json"};
    static const char *const neither[] = {"README.md", "config.json"};
    static const char *const no_config[] = {"model.safetensors"};
    int found[16];

    chooses(directory, 12, "", "111101001100");
    chooses(directory, 12, "Q8_0", "000000000001");
    chooses(ggufs, 6, "", "000100");
    chooses(ggufs, 6, "a-Q4_0.gguf", "000100");
    chooses(ggufs, 2, "q8_0", "11");
    assert_int_equal(carat_choose_files("u/g", ggufs, 6, "Q8_0", found, &error),
                     CARAT_E_NOT_FOUND); /* of 2 and of 3 */
    assert_int_equal(carat_choose_files("u/g", ggufs, 6, "Q5_1", found, &error), CARAT_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "u/g has no Q5_1 among its 6 files"));
    assert_int_equal(carat_choose_files("u/g", neither, 2, "", found, &error), CARAT_E_NOT_FOUND);
    assert_int_equal(carat_choose_files("u/g", no_config, 1, "", found, &error), CARAT_E_NOT_FOUND);
    assert_int_equal(carat_choose_files("u/g", NULL, 1, "", found, &error), CARAT_E_ARGUMENT);
}

static void takes_no_hub(void **state)
{
    (void)state;
    carat_location_default(&at);
    assert_int_equal(carat_locate(&at, "gemma3:1b", NULL, &error), CARAT_OK);
    is(at.path, "-");
    is(at.store, "-");
    is(at.repository, "google/gemma-3-1b-it");
    carat_location_free(&at);
    carat_location_free(&at);
    carat_location_free(NULL);
    assert_int_equal(carat_locate(&at, NULL, NULL, &error), CARAT_E_ARGUMENT);
    assert_int_equal(carat_locate(NULL, "x", NULL, &error), CARAT_E_ARGUMENT);
}

static void lists_the_family(void **state)
{
    (void)state;
    int n = 0;
    for (; carat_family_name(n); n++) {
        carat_status status = locate(carat_family_name(n));
        assert_true(status == CARAT_OK || status == CARAT_E_NOT_FOUND);
        if (status == CARAT_OK)
            assert_int_equal(at.named, CARAT_NAMED_FAMILY);
        carat_location_free(&at);
    }
    assert_in_range(n, 30, 100);
    assert_null(carat_family_name(-1));
}

/* ---- other stores ---- */

#define HEX  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
#define BLOB "ollama/blobs/sha256-" HEX

static void put_in_ollama(const char *name, const char *extra)
{
    char file[NAME], text[2 * NAME];
    snprintf(file, sizeof file, "ollama/manifests/%s", name);
    snprintf(text, sizeof text,
             "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"sha256:" HEX
             "1\"}%s]}",
             extra);
    put(file, text);
    put(BLOB "1", "GGUF");
}

/* A layer of a type, whose text is put into the store. */
static const char *layer(const char *type, const char *last, const char *text)
{
    static char one[NAME];
    char file[NAME];
    snprintf(file, sizeof file, BLOB "%s", last);
    put(file, text);
    snprintf(one, sizeof one,
             ",{\"mediaType\":\"application/vnd.ollama.image.%s\",\"digest\":\"sha256:" HEX "%s\"}", type,
             last);
    return one;
}

static void lies_in(const char *name, carat_named named, const char *store, const char *path)
{
    assert_int_equal(locate(name), CARAT_OK);
    assert_int_equal(at.named, named);
    is(at.store, store);
    assert_true(at.path || strcmp(path, "-") == 0);
    is(at.path ? at.path + strlen(scratch) + 1 : NULL, path);
    carat_location_free(&at);
}

static void looks_into_ollama(void **state)
{
    (void)state;
    char dir[PATH];
    snprintf(dir, sizeof dir, "%s/ollama", scratch);
    is_path("mine");
    put_in_ollama("registry.ollama.ai/library/mine/latest", "");
    put_in_ollama("registry.ollama.ai/library/gemma3/1b", "");
    put_in_ollama("registry.ollama.ai/library/gemma3/1b-it-q8_0", "");
    put_in_ollama("registry.ollama.ai/me/own/v2", "");
    put_in_ollama("hf.co/u/quants/Q8_0", "");
    for (int i = 0; i < 2; i++) {
        places.ollama = i == 0 ? dir : NULL;
        places.ollama_system = i == 1 ? dir : NULL;
        lies_in("mine", CARAT_NAMED_OLLAMA, "ollama", BLOB "1");
        lies_in("mine:latest", CARAT_NAMED_OLLAMA, "ollama", BLOB "1");
        lies_in("gemma3:1b", CARAT_NAMED_FAMILY, "ollama", BLOB "1");
        lies_in("Gemma-3-1b-it", CARAT_NAMED_FAMILY, "ollama", BLOB "1");
        lies_in("gemma3:1b-it-q8_0", CARAT_NAMED_OLLAMA, "ollama", BLOB "1"); /* the table has it not */
        lies_in("me/own:v2", CARAT_NAMED_REPOSITORY, "ollama", BLOB "1");
        lies_in("hf.co/u/quants:Q8_0", CARAT_NAMED_REPOSITORY, "ollama", BLOB "1");
        lies_in("ollama.com/library/mine", CARAT_NAMED_OLLAMA, "ollama", BLOB "1");
        lies_in("https://ollama.com/me/own:v2", CARAT_NAMED_OLLAMA, "ollama", BLOB "1");
        lies_in("ollama://me/own:v2", CARAT_NAMED_OLLAMA, "ollama", BLOB "1");
    }
    places.ollama_system = NULL;
    lies_in("gemma3:1b", CARAT_NAMED_FAMILY, "-", "-");
    places.ollama = dir;
    static const char *const handles[][2] = {{"mine", "registry.ollama.ai/library/mine:latest"},
                                             {"Gemma-3-1b-it", "registry.ollama.ai/library/gemma3:1b"},
                                             {"hf.co/u/quants:Q8_0", "hf.co/u/quants:Q8_0"}};
    for (size_t i = 0; i < sizeof handles / sizeof *handles; i++) {
        assert_int_equal(locate(handles[i][0]), CARAT_OK);
        is(at.handle, handles[i][1]);
        carat_location_free(&at);
    }
    assert_int_equal(locate("registry.ollama.ai/library/gemma3:270m"), CARAT_OK);
    assert_int_equal(at.named, CARAT_NAMED_OLLAMA);
    is(at.handle, "registry.ollama.ai/library/gemma3:270m");
    is(at.path, "-");
    is(at.repository, "-");
    carat_location_free(&at);
    fails(CARAT_E_NOT_FOUND, "ollama.com/a/b/c", "names no model of ollama's");
    fails(CARAT_E_NOT_FOUND, "ollama.com/", "names no model of ollama's");
    fails(CARAT_E_NOT_FOUND, "ollama.com/a?b", "names no model of ollama's");
    /* what it has beside the weights */
    put_in_ollama("registry.ollama.ai/library/mine/p", layer("params", "2", "{\"top_k\":3}"));
    put_in_ollama("registry.ollama.ai/library/mine/s", layer("system", "3", "Be brief."));
    put_in_ollama("registry.ollama.ai/library/mine/t",
                  layer("template", "4",
                        "{{ range .Messages }}<start_of_turn>user\n{{ .Content }}<end_of_turn>\n"
                        "<start_of_turn>model\n{{ end }}"));
    put_in_ollama("registry.ollama.ai/library/mine/o",
                  layer("template", "5", "[INST] {{ .Prompt }} [/INST]"));
    put_in_ollama("registry.ollama.ai/library/mine/u", layer("template", "6", "{{ .Prompt"));
    assert_int_equal(locate("mine:p"), CARAT_OK);
    is(at.params, "{\"top_k\":3}");
    is(at.system, "-");
    carat_location_free(&at);
    assert_int_equal(locate("mine:s"), CARAT_OK);
    is(at.system, "Be brief.");
    is(at.template_odd, "-");
    carat_location_free(&at);
    assert_int_equal(locate("mine:t"), CARAT_OK);
    is(at.template_odd, "-");
    carat_location_free(&at);
    assert_int_equal(locate("mine:o"), CARAT_OK);
    is(at.template_odd, "[INST] {{ .Prompt }} [/INST]");
    carat_location_free(&at);
    assert_int_equal(locate("mine:u"), CARAT_OK);
    is(at.template_odd, "{{ .Prompt");
    carat_location_free(&at);
    /* what it cannot give stands in nobody's way who can */
    put_in_ollama("registry.ollama.ai/library/gemma3/270m", layer("projector", "2", "x"));
    fails(CARAT_E_UNSUPPORTED, "gemma3:270m", "a projector");
    fails(CARAT_E_UNSUPPORTED, "gemma3:270m", "google/gemma-3-270m-it is the publisher's");
    put("models--google--gemma-3-270m-it/refs/main", COMMIT);
    put_linked("models--google--gemma-3-270m-it", COMMIT, "config.json", true);
    put_linked("models--google--gemma-3-270m-it", COMMIT, "model.safetensors", true);
    lies_in("gemma3:270m", CARAT_NAMED_FAMILY, "Hugging Face",
            "models--google--gemma-3-270m-it/snapshots/" COMMIT);
    /* nor does what it has begun say anything of the publisher's */
    put("ollama/manifests/registry.ollama.ai/library/gemma3/12b",
        "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"sha256:" HEX
        "f\"}]}");
    assert_int_equal(locate("gemma3:12b"), CARAT_OK);
    is(at.missing, "-");
    is(at.store, "-");
    carat_location_free(&at);
    put("ollama/manifests/registry.ollama.ai/library/mine/x", "{");
    fails(CARAT_E_FORMAT, "mine:x", "library/mine/x: at byte 1");
    carat_places_default(&places);
}

static void looks_into_borrowed_stores(void **state)
{
    (void)state;
    char flat[PATH], studio[PATH], kaggle[PATH], own[PATH];
    snprintf(flat, sizeof flat, "%s/flat", scratch);
    snprintf(studio, sizeof studio, "%s/lms", scratch);
    snprintf(kaggle, sizeof kaggle, "%s/kaggle", scratch);
    snprintf(own, sizeof own, "%s/own", scratch);
    put("flat/b_repo_x-Q8_0.gguf", "1");
    put("flat/b_repo_x-Q4_0.gguf", "1");
    put("flat/b_repo_mmproj-x.gguf", "1");
    put("flat/b_repo_y-Q6_K-00001-of-00002.gguf", "1");
    put("flat/c_repo_x-Q8_0.gguf.downloadInProgress", "1");
    put("lms/b/repo/x-Q5_K_M.gguf", "1");
    put("lms/b/other/x-Q5_K_M.gguf", "1");
    lies_in("b/repo", CARAT_NAMED_REPOSITORY, "-", "-");
    places.llama_cpp = flat;
    places.lm_studio = studio;
    lies_in("b/repo", CARAT_NAMED_REPOSITORY, "llama.cpp", "flat/b_repo_x-Q4_0.gguf");
    lies_in("b/repo:q8_0", CARAT_NAMED_REPOSITORY, "llama.cpp", "flat/b_repo_x-Q8_0.gguf");
    lies_in("b/repo:x-Q8_0.gguf", CARAT_NAMED_REPOSITORY, "llama.cpp", "flat/b_repo_x-Q8_0.gguf");
    lies_in("b/repo:Q6_K", CARAT_NAMED_REPOSITORY, "llama.cpp", "-");
    lies_in("b/repo:Q5_K_M", CARAT_NAMED_REPOSITORY, "LM Studio", "lms/b/repo/x-Q5_K_M.gguf");
    lies_in("b/other", CARAT_NAMED_REPOSITORY, "LM Studio", "lms/b/other/x-Q5_K_M.gguf");
    lies_in("b/repo@v1", CARAT_NAMED_REPOSITORY, "-", "-"); /* whose revision nobody knows */
    lies_in("c/repo", CARAT_NAMED_REPOSITORY, "-", "-");
    lies_in("b/re", CARAT_NAMED_REPOSITORY, "-", "-");
    put("flat/b_repo_y-Q6_K-00002-of-00002.gguf", "1");
    lies_in("b/repo:Q6_K", CARAT_NAMED_REPOSITORY, "llama.cpp", "flat/b_repo_y-Q6_K-00001-of-00002.gguf");
    /* the hub's cache goes first, where it is complete */
    put("models--b--repo/refs/main", COMMIT);
    put_linked("models--b--repo", COMMIT, "x-Q8_0.gguf", false);
    lies_in("b/repo:Q8_0", CARAT_NAMED_REPOSITORY, "llama.cpp", "flat/b_repo_x-Q8_0.gguf");
    take_away("models--b--repo/snapshots/" COMMIT "/x-Q8_0.gguf");
    put_linked("models--b--repo", COMMIT, "x-Q8_0.gguf", true);
    lies_in("b/repo:Q8_0", CARAT_NAMED_REPOSITORY, "Hugging Face",
            "models--b--repo/snapshots/" COMMIT "/x-Q8_0.gguf");
    /* Kaggle */
    put("kaggle/models/google/gemma-3/gguf/1b/2/m.gguf", "1");
    lies_in("kaggle://google/gemma-3/gguf/1b", CARAT_NAMED_KAGGLE, "-", "-");
    places.kaggle = kaggle;
    lies_in("kaggle://google/gemma-3/gguf/1b", CARAT_NAMED_KAGGLE, "Kaggle", "-");
    put("kaggle/models/google/gemma-3/gguf/1b/2.complete", "");
    lies_in("kaggle://google/gemma-3/gguf/1b", CARAT_NAMED_KAGGLE, "Kaggle",
            "kaggle/models/google/gemma-3/gguf/1b/2/m.gguf");
    assert_int_equal(locate("kaggle://google/gemma-3/gguf/1b"), CARAT_OK);
    is(at.handle, "google/gemma-3/gguf/1b");
    is(at.commit, "2");
    is(at.repository, "-");
    carat_location_free(&at);
    fails(CARAT_E_NOT_FOUND, "kaggle://google/gemma-3", "expected OWNER/MODEL/FRAMEWORK/VARIATION");
    fails(CARAT_E_NOT_FOUND, "kaggle://google/../gguf/1b", "expected OWNER/MODEL/FRAMEWORK/VARIATION");
    /* addresses, and what was fetched from them */
    places.own = own;
    lies_in("https://example.org/a/x.gguf", CARAT_NAMED_ADDRESS, "-", "-");
    put("own/files/example.org/a/x.gguf", "1");
    lies_in("https://example.org/a/x.gguf?download=true", CARAT_NAMED_ADDRESS, "carat",
            "own/files/example.org/a/x.gguf");
    assert_int_equal(locate("https://example.org/b.gguf"), CARAT_OK);
    is(at.place + strlen(scratch), "/own/files/example.org/b.gguf");
    carat_location_free(&at);
    assert_int_equal(locate("https://example.org/../b.gguf"), CARAT_OK);
    is(at.place, "-");
    carat_location_free(&at);
    put("own/ollama/manifests/registry.ollama.ai/library/k/1",
        "{\"layers\":[{\"mediaType\":\"application/vnd.ollama.image.model\",\"digest\":\"sha256:" HEX
        "1\"}]}");
    put("own/" BLOB "1", "1");
    lies_in("k:1", CARAT_NAMED_OLLAMA, "carat", "own/" BLOB "1");
    carat_places_default(&places);
}

static int n_listed;

static int count_store(void *user, const carat_stored *s)
{
    strcat(user, s->store);
    strcat(user, s->missing || s->trouble ? "! " : " ");
    return ++n_listed == 100;
}

static void lists_all_stores(void **state)
{
    (void)state;
    char at_hub[PATH], flat[PATH], ollama[PATH], own[PATH], text[4096] = "";
    snprintf(at_hub, sizeof at_hub, "%s/none", scratch);
    snprintf(flat, sizeof flat, "%s/flat", scratch);
    snprintf(ollama, sizeof ollama, "%s/list", scratch);
    snprintf(own, sizeof own, "%s/own", scratch);
    put("list/manifests/registry.ollama.ai/library/x/1", "{");
    places =
        (carat_places){.size = sizeof places, .hub = at_hub, .llama_cpp = flat, .ollama = ollama, .own = own};
    assert_int_equal(carat_list_models(&places, count_store, text, &error), CARAT_OK);
    assert_string_equal(text, "ollama! llama.cpp llama.cpp llama.cpp llama.cpp! carat carat ");
    text[0] = 0;
    n_listed = 98; /* the visitor has enough after two */
    assert_int_equal(carat_list_models(&places, count_store, text, &error), CARAT_OK);
    assert_string_equal(text, "ollama! llama.cpp ");
    text[0] = 0;
    assert_int_equal(carat_list_models(NULL, count_store, text, &error), CARAT_OK);
    assert_string_equal(text, "");
    assert_int_equal(carat_list_models(&places, NULL, NULL, &error), CARAT_E_ARGUMENT);
    carat_places_default(&places);
}

static void link_to(const char *name, const char *target)
{
    char path[PATH];
    put(name, "");
    take_away(name);
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    assert_int_equal(symlink(target, path), 0);
}

static void follows_links_into_blobs_alone(void **state)
{
    (void)state;
#define FILE_OF_IT "models--l--m/snapshots/" COMMIT "/x.gguf"
#define SHA        "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
    static const char *const away[] = {
        "../../../models--l--n/blobs/1",
        "/etc/passwd",
        "../../../../etc/passwd",
        "../../../models--l--other/blobs/1",
        "../../blobs/../refs/main",
        "../../blobs/sub/1",
        "../../blobs",
        "../../blobs/",
        "y.gguf",
        ("../../../blobs/ab/" SHA),
        "x/../../../blobs/../x",
        "../../../../../../../../../../../../../../../../../../../../../../x",
    };
    put("models--l--m/refs/main", COMMIT);
    put("models--l--m/blobs/1", "GGUF");
    put("models--l--m/blobs/sub/1", "GGUF");
    put("models--l--other/blobs/1", "GGUF");
    put("models--l--n/blobs/1", "GGUF");
    put("models--l--m/snapshots/" COMMIT "/y.gguf", "GGUF");
    put("blobs/ab/" SHA, "GGUF");
    put("blobs/cd/" SHA, "GGUF");
    take_away("models--l--m/snapshots/" COMMIT "/y.gguf");
    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        link_to(FILE_OF_IT, away[i]);
        assert_int_equal(locate("l/m:x.gguf"), CARAT_E_FORMAT);
        if (!strstr(error.message, "expected one into blobs of its repository"))
            fail_msg("%s: %s", away[i], error.message);
        take_away(FILE_OF_IT);
    }
    link_to(FILE_OF_IT, "../../blobs/1");
    ends("l/m:x.gguf", FILE_OF_IT, "-");
    link_to("models--l--m/snapshots/" COMMIT "/config.json", "/etc/hostname"); /* of another file beside it */
    fails(CARAT_E_FORMAT, "l/m:x.gguf", "expected one into blobs");
    take_away("models--l--m/snapshots/" COMMIT "/config.json");
    link_to("models--l--m/snapshots/" COMMIT "/1_Pooling/config.json", "../../../blobs/1");
    ends("l/m:x.gguf", FILE_OF_IT, "-");
    /* on into what repositories share, by its first digits, and no further */
    take_away("models--l--m/blobs/1");
    link_to("models--l--m/blobs/1", "../../blobs/ab/" SHA);
    ends("l/m:x.gguf", FILE_OF_IT, "-");
    static const char *const shared[] = {
        ("../../blobs/cd/" SHA), "../../blobs/ab", "../../models--l--other/blobs/1",
        "/etc/passwd",           "sub/1",          "1"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        take_away("models--l--m/blobs/1");
        link_to("models--l--m/blobs/1", shared[i]);
        assert_int_equal(locate("l/m:x.gguf"), CARAT_E_FORMAT);
    }
    take_away("models--l--m/blobs/1");
    link_to("models--l--m/blobs/1", "../../blobs/ab/" SHA);
    take_away("blobs/ab/" SHA);
    link_to("blobs/ab/" SHA, "../cd/" SHA);
    fails(CARAT_E_FORMAT, "l/m:x.gguf", "expected one into blobs");
    take_away("blobs/ab/" SHA);
    put("blobs/ab/ab1", "GGUF");
    link_to("blobs/ab/" SHA, "ab1");
    fails(CARAT_E_FORMAT, "l/m:x.gguf", "expected one into blobs");
}

int main(void)
{
    carat_places_default(&places);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_names),
        cmocka_unit_test(tells_the_drafter),
        cmocka_unit_test(leaves_paths),
        cmocka_unit_test(refuses_other_families),
        cmocka_unit_test(finds_snapshots),
        cmocka_unit_test(chooses_ggufs),
        cmocka_unit_test(chooses_what_is_fetched),
        cmocka_unit_test(takes_no_hub),
        cmocka_unit_test(lists_the_family),
        cmocka_unit_test(looks_into_ollama),
        cmocka_unit_test(looks_into_borrowed_stores),
        cmocka_unit_test(lists_all_stores),
        cmocka_unit_test(follows_links_into_blobs_alone),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
