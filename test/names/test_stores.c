/* SPDX-License-Identifier: Apache-2.0 */
/* test_stores.c: the stores of other programs, made here from their documented layouts: which names, paths
 * and missing files a walk tells of, and what is damaged or hostile. Looking by a name is
 * test/names/test_locate.c's. */
#include "os/scratch.h"

#include "base/path.h"
#include "names/stores.h"

#define COMMIT       "0123456789abcdef0123456789abcdef01234567"
#define HEX          "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
#define BLOB(last)   "sha256-" HEX last
#define DIGEST(last) "\"digest\":\"sha256:" HEX last "\""
#define LAYER(type, last, size)                                                                              \
    "{\"mediaType\":\"application/vnd.ollama.image." type "\"," DIGEST(last) ",\"size\":" size "}"

enum { NAME = 512, PATH = NAME + sizeof scratch, TOLD = 1 << 14 };

static carat_error error;

static const char *at(const char *name)
{
    static char path[4][PATH];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, PATH, "%s/%s", scratch, name);
    return p;
}

static void put(const char *name, const char *text)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    write_file(path, text, strlen(text));
}

static void take_away(const char *name)
{
    assert_int_equal(remove(at(name)), 0);
}

/* ---- walks, as text: a line "NAME|PATH|MISSING|TROUBLE|BYTES" for each model ---- */

static char told[TOLD];
static size_t n_told;
static int stop_after;

static int tell(void *user, const carat_stored *s)
{
    assert_ptr_equal(user, &n_told);
    assert_int_equal(s->size, sizeof *s);
    assert_string_equal(s->store, "store");
    assert_memory_equal(s->path, scratch, strlen(scratch));
    const char *in = s->trouble ? strstr(s->trouble, scratch) : NULL; /* the path begins it */
    n_told += (size_t)snprintf(told + n_told, TOLD - n_told, "%s|%s|%s|%s|%llu\n", s->name,
                               s->path + strlen(scratch) + 1, s->missing ? s->missing : "-",
                               in           ? in + strlen(scratch) + 1
                               : s->trouble ? s->trouble
                                            : "-",
                               (unsigned long long)s->bytes);
    assert_in_range(n_told, 1, TOLD - 1);
    return --stop_after == 0;
}

static void walks(ct_store_walk *walk, const char *dir, const char *expected)
{
    struct ct_walk w = {.store = "store", .visit = tell, .user = &n_told};
    n_told = 0;
    told[0] = 0;
    walk(&w, at(dir));
    ct_arena_free(&w.arena);
    assert_false(w.failed);
    assert_string_equal(told, expected);
}

static void walks_the_hub(void **state)
{
    (void)state;
#define IN(snapshot) "hub/models--u--m/snapshots/" snapshot
    walks(ct_hub_walk, "nowhere", "");
    put("hub/CACHEDIR.TAG", "x");
    put("hub/datasets--u--d/refs/main", COMMIT);
    put("hub/models--u/refs/main", COMMIT);
    put("hub/models--u--empty/refs/main", COMMIT);
    put("hub/models--u--begun/blobs/abc.incomplete", "12345");
    put("hub/models--..--x/snapshots/" COMMIT "/a.gguf", "1");
    put("hub/models--u--m/refs/main", COMMIT);
    put("hub/models--u--m/refs/v1", "1111");
    put(IN(COMMIT) "/config.json", "{}");
    put(IN(COMMIT) "/model.safetensors", "1234");
    put(IN(COMMIT) "/1_Pooling/config.json", "{}");
    put(IN("1111") "/model.safetensors", "1");
    put(IN("2222") "/x-00001-of-00002.gguf", "123");
    put(IN("2222") "/y.gguf", "1");
    put(IN("2222") "/mmproj-y.gguf", "1");
    put(IN("3333") "/config.json", "{}");
    put(IN("3333") "/model.safetensors.index.json", "{");
    walks(ct_hub_walk, "hub",
          "u/begun|hub/models--u--begun/blobs|the rest of what was begun|-|5\n"
          "u/m|" IN(COMMIT) "|-|-|8\n"
                            "u/m@v1|" IN(
                                "1111") "|config.json|-|1\n"
                                        "u/m@2222:x-00001-of-00002.gguf|" IN(
                                            "2222") "/x-00001-of-00002.gguf|x-00002-of-00002.gguf|-|3\n"
                                                    "u/m@2222:y.gguf|" IN(
                                                        "2222") "/y.gguf|-|-|1\n"
                                                                "u/m@3333|" IN("3333") "|-|" IN(
                                                                    "3333") "/model.safetensors.index.json: "
                                                                            "at byte 1: expected a key, "
                                                                            "found the end of the text|3\n");
#undef IN
    stop_after = 2;
    walks(ct_hub_walk, "hub",
          "u/begun|hub/models--u--begun/blobs|the rest of what was begun|-|5\n"
          "u/m|hub/models--u--m/snapshots/" COMMIT "|-|-|8\n");
}

/* ---- ollama ---- */

static void reads_names_of_ollama(void **state)
{
    (void)state;
    static const struct {
        const char *name, *host, *owner, *model, *tag;
    } good[] = {
        {"gemma3", CT_OLLAMA_HOST, "library", "gemma3", "latest"},
        {"gemma3:1b", CT_OLLAMA_HOST, "library", "gemma3", "1b"},
        {"me/gemma3:1b-it-q4_K_M", CT_OLLAMA_HOST, "me", "gemma3", "1b-it-q4_K_M"},
        {"hf.co/a/b-GGUF:Q8_0", "hf.co", "a", "b-GGUF", "Q8_0"},
        {"ollama.com/library/gemma3:1b", CT_OLLAMA_HOST, "library", "gemma3", "1b"},
        {"h:80/a/b", "h:80", "a", "b", "latest"},
    };
    static const char *const bad[] = {"",     ":1b",    "a:",     "a/b/c/d", "a//b", "a/b/", "../b",
                                      "a/..", "a:../b", "a:b/c:", "-a",      ".a",   "a b",  "a:b:c/d",
                                      "/a",   "a\x01",  "a:1b?x", "a\xff",   "a.b/c"};
    struct ct_ollama_name n;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(ct_ollama_read_name(&n, ct_str_of(good[i].name)));
        assert_true(ct_str_is(n.host, good[i].host) && ct_str_is(n.owner, good[i].owner) &&
                    ct_str_is(n.model, good[i].model) && ct_str_is(n.tag, good[i].tag));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (ct_ollama_read_name(&n, ct_str_of(bad[i])))
            fail_msg("'%s' is read", bad[i]);
}

static carat_status reads_manifest(struct ct_ollama_manifest *m, const char *text)
{
    return ct_ollama_read_manifest(m, "m", ct_str_bytes(ct_str_of(text)), &error);
}

static void reads_manifests(void **state)
{
    (void)state;
    struct ct_ollama_manifest m;
    assert_int_equal(reads_manifest(&m, "{\"layers\":[" LAYER("license", "9", "1") "," LAYER(
                                            "model", "1", "7") "," LAYER("params", "2", "8") "]}"),
                     CARAT_OK);
    assert_string_equal(m.refused, "");
    assert_string_equal(m.list.blob, "");
    assert_string_equal(m.layer[CT_OLLAMA_WEIGHTS].blob, BLOB("1"));
    assert_int_equal(m.layer[CT_OLLAMA_WEIGHTS].size, 7);
    assert_string_equal(m.layer[CT_OLLAMA_PARAMS].blob, BLOB("2"));
    assert_string_equal(m.layer[CT_OLLAMA_SYSTEM].blob, "");
    /* what follows a ; describes a layer further */
    assert_int_equal(reads_manifest(&m, "{\"config\":{" DIGEST("2") "},\"layers\":[" LAYER("model; name=x",
                                                                                           "1", "7") "]}"),
                     CARAT_OK);
    assert_string_equal(m.refused, "");
    assert_string_equal(m.layer[CT_OLLAMA_WEIGHTS].blob, BLOB("1"));
    assert_int_equal(m.n, 2);
    static const struct {
        const char *text, *why;
    } refused[] = {
        {"{\"layers\":[" LAYER("model", "1", "7") "," LAYER("projector", "2", "7") "]}", "projector"},
        {"{\"layers\":[" LAYER("adapter", "1", "7") "," LAYER("model", "2", "7") "]}", "adapter"},
        {"{\"layers\":[" LAYER("tensor", "1", "7") "]}", "each tensor"},
        {"{\"layers\":[" LAYER("model", "1", "7") "," LAYER("model", "2", "7") "]}", "several layers"},
        {"{\"layers\":[" LAYER("spell", "1", "7") "]}", "does not know"},
        {"{\"layers\":[]}", "no layer of weights"},
        {"{}", "no layer of weights"},
        {"{\"manifests\":[{" DIGEST("1") ",\"runner\":\"mlx\",\"format\":\"safetensors\"}]}", "GGUF"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(reads_manifest(&m, refused[i].text), CARAT_OK);
        if (!strstr(m.refused, refused[i].why))
            fail_msg("'%s' lacks '%s'", m.refused, refused[i].why);
    }
    /* of a list llama.cpp's GGUF, wherever it stands */
    assert_int_equal(
        reads_manifest(
            &m,
            "{\"manifests\":[{" DIGEST("1") ",\"runner\":\"ggml\",\"format\":\"gguf\"},{" DIGEST(
                "2") ",\"runner\":\"llamacpp\",\"format\":\"gguf\"},{" DIGEST("3") ",\"runner\":\"ggml\","
                                                                                   "\"format\":\"gguf\"}]}"),
        CARAT_OK);
    assert_string_equal(m.list.blob, BLOB("2"));
    assert_int_equal(reads_manifest(&m, "{\"manifests\":[{" DIGEST("4") ",\"format\":\"gguf\"},{" DIGEST(
                                            "5") ",\"format\":\"gguf\"}]}"),
                     CARAT_OK);
    assert_string_equal(m.list.blob, BLOB("4")); /* of equals the first */
    assert_int_equal(reads_manifest(&m, "{\"manifests\":[{" DIGEST("1") ",\"format\":\"safetensors\"}]}"),
                     CARAT_OK);
    assert_string_equal(m.list.blob, "");
    static const char *const damaged[] = {
        "",
        "{",
        "{\"layers\":[",
        "[1",
        "{\"layers\":[{}]}",
        "{\"layers\":[1]}",
        "{\"layers\":[{\"mediaType\":\""
        "application/vnd.ollama.image.model\",\"digest\":\"sha256:" HEX "\"}]}",
        "{\"layers\":[{\"digest\":\"sha256:../../../../../../../../../../../../../../../../../../../../../"
        "etc\"}]}",
        "{\"layers\":[{\"digest\":\"sha512:" HEX "1\"}]}",
        "{\"layers\":[{\"digest\":\"sha256:" HEX "g\"}]}",
        "{\"layers\":[{\"digest\":\"sha256:" HEX "11\"}]}",
        "{\"layers\":[{\"digest\":1}]}",
        "{\"layers\":[" LAYER("model", "1", "1") "]}{",
        "{\"layers\":[" LAYER("model", "1", "-1") "]}",
        "{\"layers\":[" LAYER("model", "1", "9223372036854775808") "]}",
        "{\"layers\":[" LAYER("model", "1", "1.5") "]}",
        "{\"manifests\":[{\"digest\":\"\"}]}",
    };
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
        if (reads_manifest(&m, damaged[i]) != CARAT_E_FORMAT || !error.message[0])
            fail_msg("'%s' is read", damaged[i]);
}

static struct ct_arena arena;
static struct ct_ollama_model found;

static carat_status finds(const char *name)
{
    struct ct_ollama_name n;
    ct_arena_free(&arena);
    arena = (struct ct_arena){NULL};
    assert_true(ct_ollama_read_name(&n, ct_str_of(name)));
    return ct_ollama_find(&found, at("ollama"), &n, &arena, &error);
}

static void lies(const char *name, const char *blob, const char *missing)
{
    assert_int_equal(finds(name), CARAT_OK);
    assert_string_equal(found.model.path ? strrchr(found.model.path, '/') + 1 : "-", blob);
    assert_string_equal(found.model.missing ? found.model.missing : "-", missing);
}

static void reads_the_store_of_ollama(void **state)
{
    (void)state;
#define OLD(name)   "ollama/manifests/registry.ollama.ai/library/" name
#define NEW(name)   "ollama/manifests-v2/ollama.com/library/" name
#define BLOBS(last) "ollama/blobs/" BLOB(last)
    lies("m", "-", "-");
    put(OLD("m/latest"), "{\"layers\":[" LAYER("model", "1", "3") "," LAYER("params", "2", "2") "," LAYER(
                             "system", "3", "2") "," LAYER("template", "4", "1") "]}");
    lies("m", "-", BLOB("1"));
    put("ollama/blobs/" BLOB("1") "-partial", "123"); /* no model yet */
    lies("m", "-", BLOB("1"));
    put(BLOBS("1"), "12");
    put(BLOBS("2"), "{}");
    put(BLOBS("3"), "be");
    put(BLOBS("4"), "t");
    lies("m", "-", BLOB("1")); /* too short */
    put(BLOBS("1"), "123");
    lies("m", BLOB("1"), "-");
    assert_string_equal(found.params, "{}");
    assert_string_equal(found.system, "be");
    assert_string_equal(found.template_text, "t");
    take_away(BLOBS("3"));
    lies("m", "-", BLOB("3"));
    put(BLOBS("3"), "b");
    lies("m", "-", BLOB("3"));
    write_file((char *)(uintptr_t)at(BLOBS("3")), "b\0", 2);
    assert_int_equal(finds("m"), CARAT_E_FORMAT);
    put(BLOBS("3"), "be");
    /* the newer tree is asked first, unless it leads nowhere or to nothing whole */
    put("ollama/manifests-v2/ollama.com/library/m/x", "");
    take_away("ollama/manifests-v2/ollama.com/library/m/x");
    assert_int_equal(symlink("../../../../blobs/" BLOB("a"), at(NEW("m/latest"))), 0);
    lies("m", BLOB("1"), "-");
    put(BLOBS("a"), "{\"manifests\":[{" DIGEST("b") ",\"format\":\"gguf\"}]}");
    lies("m", BLOB("1"), "-");
    put(BLOBS("b"), "{\"layers\":[" LAYER("model", "c", "1") "]}");
    lies("m", BLOB("1"), "-");
    put(BLOBS("c"), "1");
    lies("m", BLOB("c"), "-");
    assert_null(found.params);
    put(BLOBS("b"), "{\"manifests\":[{" DIGEST("b") "}]}"); /* a list in itself */
    assert_int_equal(finds("m"), CARAT_E_FORMAT);
    put(BLOBS("b"), "{\"layers\":[" LAYER("model", "c", "1") "]}");
    take_away(BLOBS("c"));
    put(OLD("m/latest"), "{\"layers\":[" LAYER("model", "d", "1") "]}");
    lies("m", "-", BLOB("c")); /* neither is whole: the newer tree's */
    take_away(OLD("m/latest"));
    lies("m", "-", BLOB("c"));
    put(BLOBS("c"), "1");
    /* a circle of links is nothing */
    put(OLD("n/loop"), "");
    take_away(OLD("n/loop"));
    assert_int_equal(symlink("loop", at(OLD("n/loop"))), 0);
    lies("n:loop", "-", "-");
    put(OLD("n/image"), "{\"layers\":[" LAYER("model", "c", "1") "," LAYER("projector", "1", "3") "]}");
    assert_int_equal(finds("n:image"), CARAT_E_UNSUPPORTED);
    assert_non_null(strstr(error.message, "a projector"));
    put(OLD("n/cut"), "{\"layers\":[");
    put(OLD("m/latest"), "{");
    put("ollama/manifests/hf.co/u/r/Q8_0", "{\"layers\":[" LAYER("model", "1", "3") "]}");
    put("ollama/manifests/registry.ollama.ai/me/r/.hidden", "{}");
    walks(ct_ollama_walk, "ollama",
          "m:latest|" BLOBS(
              "c") "|-|-|1\n"
                   "hf.co/u/r:Q8_0|" BLOBS(
                       "1") "|-|-|3\n"
                            "n:cut|" OLD("n/cut") "|-|" OLD(
                                "n/cut") ": at byte 11: expected a value, found the end of the text|11\n"
                                         "n:image|" OLD("n/image") "|-|" OLD(
                                             "n/image") ": the model has a projector "
                                                        "(application/vnd.ollama.image.projector), which "
                                                        "carat does not read|302\n");
    ct_arena_free(&arena);
}

/* ---- flat files, folders ---- */

static void walks_flat_files_and_folders(void **state)
{
    (void)state;
    put("flat/bartowski_google_gemma-3-1b-it-GGUF_google_gemma-3-1b-it-Q4_K_M.gguf", "123");
    put("flat/bartowski_google_gemma-3-1b-it-GGUF_google_gemma-3-1b-it-Q4_K_M.gguf.etag", "\"x\"");
    put("flat/ggml-org_g_a-00001-of-00002.gguf", "1");
    put("flat/ggml-org_g_a-00002-of-00002.gguf", "22");
    put("flat/ggml-org_g_b-00001-of-00002.gguf", "1");
    put("flat/ggml-org_g_mmproj-x.gguf", "1");
    put("flat/manifest=ggml-org=g=latest.json", "{}");
    put("flat/plain.gguf", "1");
    put("flat/u_r_x.gguf.downloadInProgress", "1");
    walks(ct_llama_cpp_walk, "flat",
          "bartowski/google_gemma-3-1b-it-GGUF:google_gemma-3-1b-it-Q4_K_M.gguf|"
          "flat/bartowski_google_gemma-3-1b-it-GGUF_google_gemma-3-1b-it-Q4_K_M.gguf|-|-|3\n"
          "ggml-org/g:a-00001-of-00002.gguf|flat/ggml-org_g_a-00001-of-00002.gguf|-|-|3\n"
          "ggml-org/g:b-00001-of-00002.gguf|flat/ggml-org_g_b-00001-of-00002.gguf|"
          "ggml-org_g_b-00002-of-00002.gguf|-|1\n"
          "|flat/plain.gguf|-|-|1\n"
          "|flat/u_r_x.gguf.downloadInProgress|the rest of what was begun|-|1\n");
    put("lms/u/r/a-Q8_0.gguf", "1");
    put("lms/u/r/b-Q4_0.gguf", "22");
    put("lms/u/one/c.gguf", "22");
    put("lms/u/.internal/c.gguf", "22");
    put("lms/u/file", "");
    walks(ct_lm_studio_walk, "lms",
          "u/one|lms/u/one/c.gguf|-|-|2\n"
          "u/r:a-Q8_0.gguf|lms/u/r/a-Q8_0.gguf|-|-|1\n"
          "u/r:b-Q4_0.gguf|lms/u/r/b-Q4_0.gguf|-|-|2\n");
    put("litert/models/gemma3/model.litertlm", "1");
    put("litert/models/gemma3/notes.txt", "1");
    walks(ct_litert_walk, "litert",
          "|litert/models/gemma3/model.litertlm|-|is LiteRT-LM's, whose files are not readable by carat|1\n");
    put("files/example.org/a/x.gguf", "1");
    put("files/example.org/a/y.gguf.carat.incomplete", "1");
    walks(ct_address_walk, "files", "https://example.org/a/x.gguf|files/example.org/a/x.gguf|-|-|1\n");
    /* a folder that leads to itself ends */
    assert_int_equal(symlink("..", at("files/example.org/a/up")), 0);
    struct ct_walk w = {.store = "store", .visit = tell, .user = &n_told};
    n_told = 0;
    ct_address_walk(&w, at("files"));
    ct_arena_free(&w.arena);
    assert_false(w.failed);
}

static void places_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *address, *path;
    } of[] = {
        {"https://example.org/a/x.gguf", "/d/example.org/a/x.gguf"},
        {"https://example.org:8443/x%20y.gguf?download=true#top", "/d/example.org:8443/x y.gguf"},
        {"https://h/a%", "/d/h/a%"},
        {"https://h/a%2", "/d/h/a%2"},
        {"https://h/a%zz", "/d/h/a%zz"},
        {"https://example.org", NULL},
        {"https://example.org/", NULL},
        {"https://example.org/a/", NULL},
        {"https:///x", NULL},
        {"https://h/../../x", NULL},
        {"https://h/%2e%2e/x", NULL},
        {"https://h/a%2f..%2f..%2fx", NULL},
        {"https://h/a%00b", NULL},
        {"https://h//x", NULL},
        {"https://me:secret@h/x", NULL},
        {"https://../x", NULL},
        {"x", NULL},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct ct_arena a = {NULL};
        const char *path = ct_address_path("/d", of[i].address, &a);
        if (!path != !of[i].path || (path && strcmp(path, of[i].path) != 0))
            fail_msg("%s lies at %s", of[i].address, path ? path : "-");
        ct_arena_free(&a);
    }
}

/* ---- Kaggle ---- */

static void finds_in_kaggle(const char *handle, const char *path, const char *missing, const char *version)
{
    struct ct_arena a = {NULL};
    struct ct_hub_model m;
    const char *v;
    assert_int_equal(ct_kaggle_find(&m, &v, at("kaggle"), handle, &a, &error), CARAT_OK);
    assert_string_equal(m.path ? m.path + strlen(scratch) + 1 : "-", path);
    assert_string_equal(m.missing ? m.missing : "-", missing);
    assert_string_equal(v ? v : "-", version);
    ct_arena_free(&a);
}

static void reads_the_cache_of_kaggle(void **state)
{
    (void)state;
#define K "kaggle/models/google/gemma-3/gguf/1b-it/"
    static const char *const good[] = {"google/gemma-3/gguf/1b-it", "google/gemma-3/gguf/1b-it/12",
                                       "A/b_c/d.e/f/999999999"};
    static const char *const bad[] = {
        "",           "google",      "a/b/c",    "a/b/c/",   "a/b/c/d/",           "a/b/c/d/0",
        "a/b/c/d/1x", "a/b/c/d/1/2", "a/../c/d", "/a/b/c/d", "a/b/c/d/9999999999", "a/b/c/d e",
        "a//c/d"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(ct_kaggle_is_handle(ct_str_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (ct_kaggle_is_handle(ct_str_of(bad[i])))
            fail_msg("'%s' is a handle", bad[i]);
    finds_in_kaggle("google/gemma-3/gguf/1b-it", "-", "-", "-");
    put(K "9/m.gguf", "1");
    finds_in_kaggle("google/gemma-3/gguf/1b-it", "-", "m.gguf", "9");
    put(K ".complete/9/m.gguf.complete", "");
    finds_in_kaggle("google/gemma-3/gguf/1b-it", K "9/m.gguf", "-", "9");
    put(K "9/notes.txt", "1"); /* begun, perhaps */
    finds_in_kaggle("google/gemma-3/gguf/1b-it", "-", "notes.txt", "9");
    put(K "9.complete", "");
    finds_in_kaggle("google/gemma-3/gguf/1b-it", K "9/m.gguf", "-", "9");
    put(K "10/m.gguf", "22"); /* newer, and not complete */
    finds_in_kaggle("google/gemma-3/gguf/1b-it", K "9/m.gguf", "-", "9");
    finds_in_kaggle("google/gemma-3/gguf/1b-it/10", "-", "m.gguf", "10");
    put(K "10.complete", "");
    finds_in_kaggle("google/gemma-3/gguf/1b-it", K "10/m.gguf", "-", "10");
    finds_in_kaggle("google/gemma-3/gguf/1b-it/9", K "9/m.gguf", "-", "9");
    finds_in_kaggle("google/gemma-3/gguf/1b-it/8", "-", "-", "-");
    put("kaggle/models/google/gemma/gemmaCpp/2b-it/3/2b-it.sbs", "1");
    put("kaggle/models/google/gemma/gemmaCpp/2b-it/3/tokenizer.spm", "1");
    put("kaggle/models/google/gemma/gemmaCpp/2b-it/3.complete", "");
    finds_in_kaggle("google/gemma/gemmaCpp/2b-it", "kaggle/models/google/gemma/gemmaCpp/2b-it/3/2b-it.sbs",
                    "-", "3");
    walks(
        ct_kaggle_walk, "kaggle",
        "kaggle://google/gemma/gemmaCpp/2b-it/3|kaggle/models/google/gemma/gemmaCpp/2b-it/3/2b-it.sbs|-|-|1\n"
        "kaggle://google/gemma-3/gguf/1b-it/10|" K "10/m.gguf|-|-|2\n"
        "kaggle://google/gemma-3/gguf/1b-it/9|" K "9/m.gguf|-|-|1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_the_hub),
        cmocka_unit_test(reads_names_of_ollama),
        cmocka_unit_test(reads_manifests),
        cmocka_unit_test(reads_the_store_of_ollama),
        cmocka_unit_test(walks_flat_files_and_folders),
        cmocka_unit_test(places_addresses),
        cmocka_unit_test(reads_the_cache_of_kaggle),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
