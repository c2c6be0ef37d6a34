/* SPDX-License-Identifier: Apache-2.0 */
/* test_packed_origin.c: what a packed file keeps of the container that it was made from, and that every way
 * in which that can change afterwards is seen. What opens again is test_packed.c's, the cache
 * test/cli/show/test_cache.sh's. */
#define _DEFAULT_SOURCE /* utimensat */
#include "file/packed_build.h"

#include <fcntl.h>
#include <time.h>

/* ---- what of a container is kept ---- */

/* What ct_file_describe says of the file at path. */
static struct ct_packed describe(const char *path, struct ct_bytes side[9], struct ct_bytes *sbs,
                                 struct ct_arena *arena, struct ct_file **f)
{
    struct ct_packed p;
    carat_error err;
    *f = accept_path(path, false);
    if (ct_file_describe(*f, &p, side, sbs, arena, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    return p;
}

static void containers_are_described(void **state)
{
    (void)state;
    for (size_t i = 0; i < CT_COUNT(origins); i++) {
        const struct origin *o = &origins[i];
        struct ct_arena arena = {0};
        struct ct_bytes side[9], sbs;
        struct ct_file *f;
        struct ct_packed p = describe(o->path, side, &sbs, &arena, &f);
        assert_true(p.kind == o->kind && p.version == (uint32_t)o->version);
        assert_true(p.origin.s[0] == '/');
        assert_int_equal(p.n_tensor, ct_file_tensor_count(f));
        assert_int_equal(p.n_meta > 0, o->kind == CT_FILE_GGUF);
        assert_int_equal(sbs.size > 0, o->kind == CT_FILE_SBS);
        assert_int_equal(side[0].size > 0, o->kind == CT_FILE_HF); /* config.json */
        assert_true(side[2].size == 0 && side[3].size == 0);       /* the tokenizer's */
        /* a file of its own comes first and has no name; a directory's have theirs, those looked for in vain
         * too */
        bool absent = false;
        for (uint32_t k = 0; k < p.n_source; k++) {
            const struct ct_source *s = &p.source[k];
            assert_int_equal(s->name.n == 0, k == 0 && o->kind != CT_FILE_HF);
            assert_true(s->head <= s->id.size && (s->present || s->head == 0));
            assert_true(s->present == (s->id.inode != 0) && (s->head > 0) == (s->hash != 0));
            absent = absent || !s->present;
        }
        assert_true(p.n_source >= 1 && (absent || o->kind == CT_FILE_GGUF || o->tokenizer));
        assert_true(ct_packed_current(&p, o->path));
        ct_file_close(f);
        ct_arena_free(&arena);
    }
}

static void long_arrays_and_strings_of_metadata_are_left_out(void **state)
{
    (void)state;
    enum { LONG = 20000 };
    struct buf b = {0};
    char *dir = temp_dir();
    put_header(&b, 3, 0, 4);
    put_str(&b, "few"), put_u32(&b, 9), put_u32(&b, 4), put_u64(&b, 3), put_zero(&b, 12);
    put_str(&b, "many"), put_u32(&b, 9), put_u32(&b, 4), put_u64(&b, LONG), put_zero(&b, 4 * LONG);
    put_str(&b, "texts"), put_u32(&b, 9), put_u32(&b, 8), put_u64(&b, 2), put_str(&b, "a"), put_str(&b, "b");
    put_str(&b, "text"), put_u32(&b, 8), put_str(&b, "c");
    write_file(dir, "x.gguf", b.p, b.n);
    struct ct_arena arena = {0};
    struct ct_bytes side[9], sbs;
    struct ct_file *f;
    struct ct_packed p = describe(path_in(dir, "x.gguf"), side, &sbs, &arena, &f);
    assert_int_equal(p.n_meta, 3);
    assert_true(ct_str_is(p.meta[0].key, "few") && p.meta[0].raw.size == 12 && p.meta[0].count == 3);
    assert_true(ct_str_is(p.meta[1].key, "texts") && p.meta[1].raw.size == 0 && p.meta[1].count == 2);
    assert_true(ct_str_is(p.meta[2].s, "c"));
    ct_file_close(f);
    ct_arena_free(&arena);
    buf_free(&b);
    remove_dir(dir, (const char *const[]){"x.gguf", NULL});
}

/* What a packed file may not hold is refused when it is made, not when it is read. */
static void refuse_to_keep(const char *path, const char *text)
{
    struct ct_arena arena = {0};
    struct ct_bytes side[9], sbs;
    struct ct_packed p;
    struct ct_file *f = accept_path(path, false);
    carat_error err;
    carat_status status = ct_file_describe(f, &p, side, &sbs, &arena, &err);
    expect_error(status, &err, CARAT_E_UNSUPPORTED, text);
    assert_non_null(strstr(err.message, path));
    ct_file_close(f);
    ct_arena_free(&arena);
}

static void what_is_too_large_is_not_kept(void **state)
{
    (void)state;
    static const uint8_t zeros[1 << 16];
    struct buf b = {0};
    char *dir = temp_dir();
    put_header(&b, 3, 0, 1); /* a text of 1 MiB and a byte */
    put_str(&b, "text"), put_u32(&b, 8), put_u64(&b, CT_PACKED_TEXT + 1);
    for (size_t n = 0; n <= CT_PACKED_TEXT; n += sizeof zeros)
        put(&b, zeros, sizeof zeros);
    write_file(dir, "x.gguf", b.p, 24 + 12 + 4 + 8 + CT_PACKED_TEXT + 1);
    refuse_to_keep(path_in(dir, "x.gguf"), "key text has 1048577 bytes, and at most 1048576");
    buf_free(&b);

    put_text(&b, "{"); /* a tensor too many */
    for (int i = 0; i <= CT_PACKED_TENSORS; i++) {
        char entry[96];
        snprintf(entry, sizeof entry, "%s\"%d\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                 i ? "," : "", i);
        put_text(&b, entry);
    }
    put(&b, "}", 2);
    struct buf st = {0};
    put_safetensors(&st, (const char *)b.p, 0);
    write_file(dir, "model.safetensors", st.p, st.n);
    write_text(dir, "config.json", "{}");
    refuse_to_keep(dir, "has 65537 tensors, and at most 65536");
    buf_free(&b);

    st.n = 0; /* a side file that is too large */
    put_safetensors(&st, "{}", 0);
    write_file(dir, "model.safetensors", st.p, st.n);
    assert_int_equal(truncate(path_in(dir, "config.json"), CT_PACKED_SIDE + 1), 0);
    refuse_to_keep(dir, "a side file has 16777217 bytes, and at most 16777216");
    buf_free(&st);
    remove_dir(dir, (const char *const[]){"x.gguf", "model.safetensors", "config.json", NULL});
}

/* ---- has the origin changed? ---- */

/* Room for a later time: file systems count them in ticks. */
static void wait_a_tick(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
}

static void set_times(const char *path, const struct stat *st)
{
    assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){st->st_atim, st->st_mtim}, 0), 0);
}

static void write_in_place(const char *dir, const char *name)
{
    struct stat st;
    FILE *f = fopen(path_in(dir, name), "r+b");
    assert_non_null(f);
    assert_int_equal(stat(path_in(dir, name), &st), 0);
    wait_a_tick();
    assert_int_equal(fputc(' ', f), ' ');
    assert_int_equal(fclose(f), 0);
    set_times(path_in(dir, name), &st); /* as cp -p or tar would */
}
static void put_another_there(const char *dir, const char *name)
{
    struct stat st;
    char old[2048];
    snprintf(old, sizeof old, "%s", path_in(dir, name));
    assert_int_equal(stat(old, &st), 0);
    struct buf b = {0};
    put_zero(&b, (size_t)st.st_size);
    write_file(dir, "other", b.p, b.n);
    buf_free(&b);
    set_times(path_in(dir, "other"), &st);
    assert_int_equal(rename(path_in(dir, "other"), old), 0);
}
static void make_longer(const char *dir, const char *name)
{
    struct stat st;
    assert_int_equal(stat(path_in(dir, name), &st), 0);
    assert_int_equal(truncate(path_in(dir, name), st.st_size + 1), 0);
}
static void make_shorter(const char *dir, const char *name)
{
    struct stat st;
    assert_int_equal(stat(path_in(dir, name), &st), 0);
    assert_int_equal(truncate(path_in(dir, name), st.st_size - 1), 0);
}
static void touch_it(const char *dir, const char *name)
{
    const struct stat past = {.st_mtim = {.tv_sec = 1}};
    set_times(path_in(dir, name), &past);
}
static void remove_it(const char *dir, const char *name)
{
    assert_int_equal(unlink(path_in(dir, name)), 0);
}
static void make_it(const char *dir, const char *name)
{
    write_text(dir, name, "{}");
}

static void every_change_of_an_origin_is_seen(void **state)
{
    (void)state;
    static const struct {
        const char *model; /* in the directory; "": itself */
        void (*change)(const char *dir, const char *name);
        const char *name;
        bool current;
    } rows[] = {
        {"", NULL, NULL, true},
        {"", make_it, "README.md", true}, /* nobody asked for it */
        {"", write_in_place, "config.json", false},
        {"", put_another_there, "config.json", false},
        {"", make_longer, "config.json", false},
        {"", make_shorter, "model.safetensors", false},
        {"", touch_it, "model.safetensors", false},
        {"", remove_it, "config.json", false},
        {"", make_it, "generation_config.json", false},
        {"", make_it, "chat_template.jinja", false},
        {"", make_it, "tokenizer.json", false},
        {"", make_it, "adapter_config.json", false},
        {"", make_it, "model.safetensors.index.json", false},
        {"x.sbs", NULL, NULL, true},
        {"x.sbs", make_it, "config.json", true},
        {"x.sbs", write_in_place, "x.sbs", false},
        {"x.sbs", put_another_there, "x.sbs", false},
        {"x.sbs", remove_it, "x.sbs", false},
        {"x.sbs", make_it, "tokenizer.spm", false},
        {"x.sbs", make_it, "tokenizer.model", false},
    };
    struct packed sbs = {.file = {NULL, 0, 0}};
    FILE *file = fopen(FUZZ "sbs/gemma1-sfp-v1", "rb");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        put(&sbs.file, &(uint8_t){(uint8_t)c}, 1);
    fclose(file);
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        char *dir = temp_dir(), path[1024];
        struct buf st = {0};
        put_safetensors(&st, "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8);
        write_file(dir, "model.safetensors", st.p, st.n);
        write_text(dir, "config.json", "{}");
        write_file(dir, "x.sbs", sbs.file.p, sbs.file.n);
        buf_free(&st);
        if (strcmp(rows[i].model, "x.sbs") == 0)
            remove_it(dir, "config.json");
        snprintf(path, sizeof path, "%s%s%s", dir, *rows[i].model ? "/" : "", rows[i].model);
        struct ct_arena arena = {0};
        struct ct_bytes side[9], blob;
        struct ct_file *f;
        struct ct_packed p = describe(path, side, &blob, &arena, &f);
        assert_true(ct_packed_current(&p, path));
        if (rows[i].change)
            rows[i].change(dir, rows[i].name);
        if (ct_packed_current(&p, path) != rows[i].current)
            fail_msg("row %zu: %s is %scurrent", i, rows[i].name ? rows[i].name : "-",
                     rows[i].current ? "no longer " : "");
        ct_file_close(f); /* names of sources are its */
        ct_arena_free(&arena);
        static const char *const all[] = {"model.safetensors",
                                          "config.json",
                                          "x.sbs",
                                          "README.md",
                                          "other",
                                          "generation_config.json",
                                          "chat_template.jinja",
                                          "tokenizer.json",
                                          "adapter_config.json",
                                          "tokenizer.spm",
                                          "tokenizer.model",
                                          "model.safetensors.index.json",
                                          NULL};
        remove_dir(dir, all);
    }
    packed_free(&sbs);
}

/* A file system that gives one identity to two states, and what no path can say. */
static void the_header_is_read_again(void **state)
{
    (void)state;
    struct ct_arena arena = {0};
    struct ct_bytes side[9], sbs;
    struct ct_file *f;
    const char *path = origins[0].path;
    struct ct_packed p = describe(path, side, &sbs, &arena, &f);
    struct ct_source *s = &p.source[0];
    assert_true(p.n_source == 1 && s->head > 0 && s->head < s->id.size);
    s->hash ^= 1;
    assert_false(ct_packed_current(&p, path));
    s->hash ^= 1;
    s->head++;
    assert_false(ct_packed_current(&p, path));
    s->head--;
    assert_true(ct_packed_current(&p, path));
    assert_false(ct_packed_current(&p, VECTORS));
    assert_false(ct_packed_current(&p, "no such file"));
    assert_false(ct_packed_current(&p, ""));
    p.n_source = 0; /* from memory: there is nothing to compare with */
    assert_false(ct_packed_current(&p, path));
    ct_file_close(f);
    ct_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_are_described),
        cmocka_unit_test(long_arrays_and_strings_of_metadata_are_left_out),
        cmocka_unit_test(what_is_too_large_is_not_kept),
        cmocka_unit_test(every_change_of_an_origin_is_seen),
        cmocka_unit_test(the_header_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
