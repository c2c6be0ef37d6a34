/* SPDX-License-Identifier: Apache-2.0 */
/* test_packed_cache.c: packed models and the cache through carat.h: a packed form gives every fact and every
 * bit of its origin; whatever changes at the origin or in the cache, the answer stays right, and the log has
 * one line. What callers may ask for is test_store_rules.c's; other processes, kills and refusals of the
 * system are test_store_faults.c's. */
#include "cache_util.h"

#include "file/packed.h"
#include "os/files.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- the packed form is the model ---- */

static void check_tokenizer(const char *path)
{
    carat_model_options options;
    carat_model_options_default(&options);
    options.tokenizer_only = 1;
    struct opened a = open_by(path, options);
    options.cache = cache_dir();
    struct opened b = open_by(path, options);

    assert_string_equal(a.lines.text, b.lines.text);
    assert_int_equal(a.status, b.status);
    if (a.status) {
        assert_string_equal(a.err.message, b.err.message);
    } else {
        char *plain = facts_of(a.model, ONE_ENGINE);
        assert_int_equal(b.setup.packed, 0); /* no weights */
        check_facts(b.model, ONE_ENGINE, plain);
        free(plain);
    }
    close_opened(&a);
    close_opened(&b);
}

static void check_one(const char *path)
{
    char packed[PATH_SIZE];
    carat_buffer buffer = {.name = "whatever"};
    struct opened plain = open_with(path, NULL), o = open_with(path, cache_dir());
    char *facts = facts_of(plain.model, ALL_ENGINES);

    assert_int_equal(o.setup.packed && o.setup.made, 1);
    cut_line(&o.lines, "packed into the cache");
    assert_string_equal(o.lines.text, plain.lines.text);
    check_facts(o.model, ONE_ENGINE, facts);
    OK(carat_model_pack(o.model, path_join(packed, scratch, "kept.carat"), NULL, NULL, err));
    close_opened(&o);

    o = open_with(path, cache_dir());
    assert_int_equal(o.setup.packed && !o.setup.made, 1);
    assert_string_equal(o.lines.text, plain.lines.text);
    check_facts(o.model, ALL_ENGINES, facts);
    close_opened(&o);

    o = open_with(packed, NULL);
    assert_int_equal(o.setup.packed && !o.setup.made, 1);
    check_facts(o.model, ONE_ENGINE, facts);
    close_opened(&o);

    void *bytes = read_whole(packed, &buffer.size);
    buffer.data = bytes;
    OK(carat_model_open_memory(&o.model, &buffer, sizeof(carat_buffer), 1, NULL, err));
    check_facts(o.model, ONE_ENGINE, facts);
    close_opened(&o);
    free(bytes);
    free(facts);
    close_opened(&plain);
    check_tokenizer(path);
}

static void check_folder(const char *root, const char *sub)
{
    char dir[PATH_SIZE], path[PATH_SIZE], **names;
    int n = list_folder(path_join(dir, root, sub), &names);

    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        struct stat st;
        assert_int_equal(stat(path_join(path, dir, names[i]), &st), 0);
        if (S_ISDIR(st.st_mode) || strstr(names[i], ".gguf"))
            if (!strstr(names[i], "-00002-of-") && st.st_size < 8 << 20)
                check_one(path);
    }
    free_names(names, n);
}

static void a_packed_form_is_the_model(void **state)
{
    (void)state;
    static const char *const paths[] = {
        CT_TEST_DATA "/../../models/tiny",  CT_TEST_DATA "/sbs/hf",        CT_TEST_DATA "/sbs/g1-sfp.sbs",
        CT_TEST_DATA "/sbs/g2-f32.sbs",     CT_TEST_DATA "/sbs/g3-i8.sbs", CT_TEST_DATA "/sbs/g3-nuq.sbs",
        CT_TEST_DATA "/sbs/v1/g2-bf16.sbs",
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        check_one(paths[i]);
    check_folder(own_vectors(), "models");
    check_folder(own_vectors(), "gguf");
    char shared[PATH_SIZE];
    if (shared_vectors(shared)) {
        check_folder(shared, "models");
        check_folder(shared, "gguf");
    }
}

/* ---- a model that is another one ---- */

static void a_file_that_changes_is_packed_anew(void **state)
{
    (void)state;
    const char *path = model_file();
    char other[PATH_SIZE], beside[PATH_SIZE];
    struct stat st;
    size_t n;

    opens(path, MADE, in);
    opens(path, MAPPED, NULL);
    wait_a_tick();
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0); /* touched */
    opens(path, MADE, changed);
    wait_a_tick();
    assert_int_equal(chmod(path, 0640), 0);
    opens(path, MADE, changed);

    /* other weights of the same size, and a time of change set back */
    st = status_of(path);
    wait_a_tick();
    flip(path, (size_t)st.st_size - 100, 0);
    set_back(path, &st);
    opens(path, MADE, changed);
    opens(path, MAPPED, NULL);

    /* another file under the name, which has an inode of its own; the first one's copy stays until room is
     * wanted */
    void *bytes = read_whole(path_join(beside, CT_TEST_DATA, "vectors/gguf/q8_0.gguf"), &n);
    write_file(strcpy(other, path_join(beside, scratch, "new.gguf")), bytes, n);
    free(bytes);
    assert_int_equal(rename(other, path), 0);
    opens(path, MADE, in);
    assert_int_equal(count_files(".carat", NULL), 2);

    /* other names for the same file */
    path_join(other, scratch, "symbolic.gguf");
    assert_int_equal(symlink("model.gguf", other), 0);
    opens(other, MAPPED, NULL);
    path_join(other, scratch, "./folder/../model.gguf");
    mkdir(path_join(beside, scratch, "folder"), 0700);
    opens(other, MAPPED, NULL);
    path_join(other, scratch, "hard.gguf");
    assert_int_equal(link(path, other), 0); /* a change of the inode */
    opens(other, MADE, changed);
    opens(path, MAPPED, NULL);
    assert_int_equal(count_files(".carat", NULL), 2);
}

static void a_folder_that_changes_is_packed_anew(void **state)
{
    (void)state;
    const char *path = model_folder();
    char file[PATH_SIZE];
    static const char *const names[] = {"chat_template.jinja", "special_tokens_map.json",
                                        "added_tokens.json"};

    opens(path, MADE, in);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        write_file(path_join(file, path, names[i]) ? file : NULL, i ? "{}" : "{{ bos_token }}", i ? 2 : 15);
        opens(path, MADE, changed);
        opens(path, MAPPED, NULL);
        assert_int_equal(unlink(file), 0);
        opens(path, MADE, changed);
    }
    static const char other[] = "{\"eos_token_id\": [1, 5], \"top_k\": 7}";
    write_file(strcpy(file, path_join((char[PATH_SIZE]){0}, path, "generation_config.json")), other,
               sizeof other - 1);
    opens(path, MADE, changed);
    assert_int_equal(unlink(file), 0);
    opens(path, MADE, changed);
    opens(path, MAPPED, NULL);

    /* one that makes it a model that is not run, cached or not */
    carat_model *model = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    o.cache = cache_dir();
    path_join(file, path, "adapter_config.json");
    write_file(file, "{}", 2);
    FAILS(CARAT_E_UNSUPPORTED, carat_model_open(&model, path, &o, err));
    assert_int_equal(unlink(file), 0);
    opens(path, MAPPED, NULL);
    path_join(file, path, "config.json");
    assert_int_equal(unlink(file), 0);
    FAILS(CARAT_E_FORMAT, carat_model_open(&model, path, &o, err));
    assert_int_equal(count_files(".part", NULL), 0);
}

static void a_tokenizer_beside_a_file_counts(void **state)
{
    (void)state;
    char path[PATH_SIZE], tokenizer[PATH_SIZE];

    copy_file(path_join(path, scratch, "sbs/x.sbs"), CT_TEST_DATA "/sbs/v1/g2-bf16.sbs");
    opens(path, MADE, in);
    opens(path, MAPPED, NULL);
    copy_file(path_join(tokenizer, scratch, "sbs/tokenizer.spm"), CT_TEST_DATA "/sbs/v1/tokenizer.spm");
    opens(path, MADE, changed);
    opens(path, MAPPED, NULL);
    assert_int_equal(unlink(tokenizer), 0);
    opens(path, MADE, changed);
}

/* Times and size may be what they were: the header is looked at, too. */
static void a_header_is_compared(void **state)
{
    (void)state;
    const char *path = model_file();
    char packed[PATH_SIZE];
    struct ct_arena arena = {0};
    struct ct_packed p;
    struct ct_bytes file;

    opens(path, MADE, in);
    assert_int_equal(count_files(".carat", packed), 1);
    file.data = read_whole(packed, &file.size);
    OK(ct_packed_read(&p, packed, file, &arena, err));
    assert_true(ct_packed_current(&p, path));
    assert_int_equal(p.n_source, 1);
    wait_a_tick();
    flip(path, 300, 0); /* in the metadata */
    assert_false(ct_packed_current(&p, path));
    assert_true(ct_os_identify(&p.source[0].id, path)); /* as if nothing else told */
    assert_false(ct_packed_current(&p, path));
    flip(path, 300, 0);
    assert_true(ct_os_identify(&p.source[0].id, path));
    assert_true(ct_packed_current(&p, path));
    ct_arena_free(&arena);
    free((void *)file.data);
}

/* ---- a packed file that differs from what was written ---- */

struct kept {
    char path[PATH_SIZE], stamp[PATH_SIZE];
    uint8_t *bytes; /* of the whole one */
    size_t n;
    struct ct_arena arena;
    struct ct_packed p;
    struct ct_packed_header h;
};

static struct kept keep(const char *path)
{
    struct kept k = {.n = 0};
    opens(path, MADE, in);
    assert_int_equal(count_files(".carat", k.path), 1);
    assert_int_equal(count_files(".used", k.stamp), 1);
    k.bytes = read_whole(k.path, &k.n);
    memcpy(&k.h, k.bytes, sizeof k.h);
    OK(ct_packed_read(&k.p, k.path, (struct ct_bytes){k.bytes, k.n}, &k.arena, err));
    return k;
}

static void drop(struct kept *k)
{
    ct_arena_free(&k->arena);
    free(k->bytes);
}

/* The file is whole again, byte for byte; a tokenizer's tables begin with a random number. */
static void is_whole(const struct kept *k)
{
    size_t n;
    uint8_t *bytes = read_whole(k->path, &n);
    assert_int_equal(n, k->n);
    if (!k->p.tables.size)
        assert_memory_equal(bytes, k->bytes, n);
    free(bytes);
}

static void is_rebuilt(const char *path, const struct kept *k, const char *why)
{
    opens(path, MADE, why);
    is_whole(k);
    opens(path, MAPPED, NULL);
}

static const char damaged[] = "; the copy there was damaged: ";

static void a_file_cut_short_is_made_anew(void **state)
{
    (void)state;
    const char *path = model_file();
    struct kept k = keep(path);
    size_t last = k.p.weight[k.p.n_weight - 1].data.at;
    const size_t lengths[] = {
        0,      1,    8,        sizeof k.h - 1, sizeof k.h,       sizeof k.h + 1,
        4096,   last, last + 1, k.h.index_at,   k.h.index_at + 1, k.h.index_at + k.h.index_size / 2,
        k.n - 1};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        assert_int_equal(truncate(k.path, (off_t)lengths[i]), 0);
        is_rebuilt(path, &k, damaged);
    }
    assert_int_equal(truncate(k.path, (off_t)k.n + 1), 0);
    is_rebuilt(path, &k, damaged);
    drop(&k);
}

static bool inside(const struct ct_section *s, size_t at)
{
    return at >= s->at && at < s->at + s->size;
}

/* False for the bytes that are between the sections and mean nothing. */
static bool matters(const struct kept *k, size_t at)
{
    if (at < sizeof k->h || at >= k->h.index_at || inside(&k->p.sbs, at) || inside(&k->p.tables, at))
        return true;
    for (size_t i = 0; i < sizeof k->p.side / sizeof *k->p.side; i++)
        if (inside(&k->p.side[i], at))
            return true;
    for (uint32_t i = 0; i < k->p.n_weight; i++)
        if (inside(&k->p.weight[i].data, at))
            return true;
    return false;
}

static void flip_and_open(const char *path, const struct kept *k, size_t at, int bit, bool hidden)
{
    struct stat st = status_of(k->path);
    if (hidden)
        wait_a_tick();
    flip(k->path, at, bit);
    if (hidden)
        set_back(k->path, &st);
    if (!matters(k, at)) {
        opens(path, MAPPED, NULL);
        flip(k->path, at, bit);
    } else if (at >= offsetof(struct ct_packed_header, layout) &&
               at < offsetof(struct ct_packed_header, file_size)) {
        opens(path, MADE, "; the copy there was of another version: ");
    } else {
        opens(path, MADE, damaged);
    }
    is_whole(k);
}

static void flip_all_over(const char *path, int n)
{
    struct kept k = keep(path);
    uint32_t x = 1;

    for (size_t at = 0; at < sizeof k.h; at++)
        flip_and_open(path, &k, at, (int)at % 8, false);
    for (int i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        size_t at = (size_t)((double)x / 4294967296.0 * (double)k.n);
        flip_and_open(path, &k, at, i % 8, i % 8 == 0);
        at = k.h.index_at + (x >> 8) % k.h.index_size;
        flip_and_open(path, &k, at, i % 8, false);
        const struct ct_section *s = i < 9    ? &k.p.side[i]
                                     : i < 20 ? &k.p.tables
                                              : &k.p.weight[(x >> 8) % k.p.n_weight].data;
        if (s->size)
            flip_and_open(path, &k, s->at + (x >> 8) % s->size, i % 8, false);
    }
    drop(&k);
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    flip_all_over(model_file(), SANITIZED ? 12 : 24);
    fresh_cache(NULL);
    flip_all_over(CT_TEST_DATA "/sbs/g3-sfp.sbs", SANITIZED ? 12 : 24);
}

static void a_stamp_is_a_witness_only(void **state)
{
    (void)state;
    const char *path = model_file();
    struct kept k = keep(path);
    size_t n, m;
    uint8_t *stamp = read_whole(k.stamp, &n), *again;

    for (size_t i = 0; i < 2 * n + 2; i++) { /* lost, cut short, longer, flipped: nothing is said */
        char to[PATH_SIZE];
        strcpy(to, k.stamp);
        if (i >= n + 2)
            stamp[i - n - 2] ^= 1;
        if (i)
            write_file(to, (const char *)stamp, i < n + 2 ? i - 1 : n);
        else
            assert_int_equal(unlink(k.stamp), 0);
        if (i >= n + 2)
            stamp[i - n - 2] ^= 1;
        opens(path, MAPPED, NULL);
        again = read_whole(k.stamp, &m);
        assert_int_equal(m, n);
        assert_memory_equal(again, stamp, n);
        free(again);
    }
    is_whole(&k);
    for (int i = 0; i < 2; i++) { /* and it covers nothing up */
        wait_a_tick();
        flip(k.path, k.p.weight[3].data.at + 5, 3);
        set_back(k.path, &(struct stat){.st_mtim = {.tv_sec = 1}});
        if (i)
            assert_int_equal(unlink(k.stamp), 0);
        is_rebuilt(path, &k, damaged);
    }
    free(stamp);
    drop(&k);
}

static void other_versions_are_made_anew(void **state)
{
    (void)state;
    const char *path = model_file();
    struct kept k = keep(path);

    for (int i = 0; i < 4; i++) {
        struct ct_packed_header h = k.h;
        *(i % 2 ? &h.numerics : &h.layout) += i < 2 ? 1u : ~0u;
        h.header_hash = XXH3_64bits(&h, offsetof(struct ct_packed_header, header_hash));
        int fd = open(k.path, O_WRONLY);
        assert_int_equal(pwrite(fd, &h, sizeof h, 0), sizeof h);
        assert_int_equal(close(fd), 0);
        is_rebuilt(path, &k, "; the copy there was of another version: ");
    }
    drop(&k);
}

/* As one of another carat may be: every hash is right, and the tokenizer is of no use. */
static void a_sound_file_that_does_not_load_is_made_anew(void **state)
{
    (void)state;
    const char *path = small(0);
    struct kept k = keep(path);
    carat_model_options o = cached();

    assert_true(k.p.tables.size > 100);
    for (int i = 0; i < 3; i++) {
        uint8_t *bytes = malloc(k.n);
        memcpy(bytes, k.bytes, k.n);
        memcpy(bytes + k.p.tables.at, "another!", 8);
        k.p.tables.hash = ct_packed_hash(bytes + k.p.tables.at, k.p.tables.size);
        assert_int_equal(ct_packed_write_index(&k.p, bytes + k.h.index_at), k.h.index_size);
        struct ct_packed_header h = ct_packed_header(
            k.h.index_at, k.h.index_size, ct_packed_hash_block(bytes + k.h.index_at, (size_t)k.h.index_size));
        memcpy(bytes, &h, sizeof h);
        char to[PATH_SIZE];
        write_file(strcpy(to, k.path), (const char *)bytes, k.n);
        free(bytes);
        if (i == 0) {
            opens(path, MADE, damaged);
            opens(path, MAPPED, NULL);
            continue;
        }
        o.cache_read_only = i == 1;
        o.tokenizer_only = i == 2;
        struct opened plain, m = open_by(path, o);
        o.cache = NULL;
        plain = open_by(path, o);
        assert_int_equal(m.status, CARAT_OK);
        assert_int_equal(m.setup.packed, 0);
        if (i == 2)
            cut_line(&m.lines, "the packed copy of the model is not used, because it is damaged: ");
        assert_string_equal(m.lines.text, plain.lines.text);
        char *facts = facts_of(plain.model, ONE_ENGINE);
        check_facts(m.model, ONE_ENGINE, facts);
        free(facts);
        close_opened(&m);
        close_opened(&plain);
        assert_int_equal(exists(k.path), i == 1);
        o = cached();
    }
    opens(path, MADE, in);
    drop(&k);
}

static void links_and_strangers_are_not_followed(void **state)
{
    (void)state;
    const char *path = model_file();
    static const char alone[] = "; the copy there was open to other users: ";
    struct kept k = keep(path);
    char aside[PATH_SIZE];
    struct stat st;
    size_t n;

    path_join(aside, scratch, "aside.carat");
    assert_int_equal(rename(k.path, aside), 0);
    assert_int_equal(symlink(aside, k.path), 0);
    is_rebuilt(path, &k, alone);
    assert_int_equal(lstat(k.path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    free(read_whole(aside, &n));
    assert_int_equal(n, k.n); /* the other end was left alone */

    assert_int_equal(unlink(k.path), 0);
    assert_int_equal(symlink("nowhere", k.path), 0);
    opens(path, MADE, in);
    is_whole(&k);

    assert_int_equal(unlink(k.stamp), 0); /* a link in the place of the stamp */
    assert_int_equal(symlink(aside, k.stamp), 0);
    opens(path, MAPPED, NULL);
    assert_int_equal(lstat(k.stamp, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    free(read_whole(aside, &n));
    assert_int_equal(n, k.n);

    for (int i = 0; i < 2; i++) {
        assert_int_equal(chmod(k.path, i ? 0602 : 0620), 0);
        is_rebuilt(path, &k, alone);
        assert_int_equal(status_of(k.path).st_mode & 07777, 0600);
    }
    if (geteuid() == 0) {
        assert_int_equal(chown(k.path, 12345, 12345), 0);
        is_rebuilt(path, &k, alone);
        assert_int_equal(status_of(k.path).st_uid, 0);
    }

    assert_int_equal(unlink(k.path), 0); /* what cannot be replaced */
    assert_int_equal(mkdir(k.path, 0700), 0);
    opens(path, PLAIN, "not kept packed: the file at its place cannot be removed");
    assert_int_equal(rmdir(k.path), 0);
    opens(path, MADE, in);

    char part[PATH_SIZE]; /* a link in the place of the new file */
    snprintf(part, sizeof part, "%.*spart", (int)(strlen(k.path) - strlen("carat")), k.path);
    assert_int_equal(unlink(k.path), 0);
    assert_int_equal(symlink(aside, part), 0);
    struct opened o = open_with(path, cache_dir());
    cut_line(&o.lines, "not kept packed: ");
    assert_int_equal(o.setup.packed, 0);
    close_opened(&o);
    free(read_whole(aside, &n));
    assert_int_equal(n, k.n);
    drop(&k);
}

/* Rows of a table are read from the copy by place. It gets its name while the model is in use, and may be
 * removed. */
static void tables_outlive_names(void **state)
{
    static const int32_t ids[] = {2, 222, 270};
    char copy[PATH_SIZE];
    (void)state;
    struct opened o = open_with(CT_TEST_DATA "/vectors/models/gemma4-e", cache_dir());

    assert_int_equal(o.setup.packed && o.setup.made, 1);
    for (int i = 0; i < 1000 && (count_files(".part", NULL) > 0 || count_files(".carat", copy) == 0); i++)
        wait_a_tick();
    assert_int_equal(count_files(".part", NULL), 0);
    assert_int_equal(count_files(".carat", copy), 1);
    for (int removed = 0; removed <= 1; removed++) {
        carat_engine *engine = NULL;
        carat_session *session = NULL;
        carat_plan plan = {.size = sizeof plan};
        OK(carat_plan_engine(o.model, NULL, &plan, err));
        assert_int_equal(plan.disk_bytes, 600 * 64 * 2); /* it is not mapped instead */
        OK(carat_engine_create(&engine, o.model, NULL, err));
        OK(carat_session_create(&session, engine, NULL, err));
        OK(carat_append(session, ids, 3, err));
        carat_session_close(session);
        carat_engine_close(engine);
        if (!removed)
            assert_int_equal(remove(copy), 0);
    }
    close_opened(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tables_outlive_names, fresh_cache),
        cmocka_unit_test_setup(a_packed_form_is_the_model, fresh_cache),
        cmocka_unit_test_setup(a_file_that_changes_is_packed_anew, fresh_cache),
        cmocka_unit_test_setup(a_folder_that_changes_is_packed_anew, fresh_cache),
        cmocka_unit_test_setup(a_tokenizer_beside_a_file_counts, fresh_cache),
        cmocka_unit_test_setup(a_header_is_compared, fresh_cache),
        cmocka_unit_test_setup(a_file_cut_short_is_made_anew, fresh_cache),
        cmocka_unit_test_setup(every_flipped_bit_is_found, fresh_cache),
        cmocka_unit_test_setup(a_stamp_is_a_witness_only, fresh_cache),
        cmocka_unit_test_setup(other_versions_are_made_anew, fresh_cache),
        cmocka_unit_test_setup(a_sound_file_that_does_not_load_is_made_anew, fresh_cache),
        cmocka_unit_test_setup(links_and_strangers_are_not_followed, fresh_cache),
    };
    return MAIN(tests);
}
