/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_copy.c: GGUF out of GGUF: every key with its width, and their order, every tensor with its bytes,
 * and their order, also those that no model uses; with another type, from parts and with another alignment,
 * too. */
#include "file/file_build.h"

#include "carat_convert.h"
#include "os/files.h"

#define TINY4 CT_TEST_DATA "/../fixtures/tiny4"
#define OK(call)                                                                                             \
    do {                                                                                                     \
        carat_error ok_err = {CARAT_OK, ""}, *err = &ok_err;                                                 \
        if ((call) != CARAT_OK)                                                                              \
            fail_msg("%s", err->message);                                                                    \
    } while (0)

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64, TYPES };
enum { T_F32 = 0, T_I32 = 26 };
static const uint8_t width[TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

static char *dir;

static void convert_file(const char *from, const char *to, const char *type)
{
    carat_model *m = NULL;
    const carat_convert_options o = {.size = sizeof o, .type = type, .threads = 2};

    OK(carat_model_open(&m, from, NULL, err));
    OK(carat_convert(m, to, &o, err));
    carat_model_close(m);
}

/* A value of every width, and an array of three of them; returns how many entries that are. */
static int put_widths(struct buf *b)
{
    static const uint8_t value[24] = {1, 0, 0, 64, 1, 0, 0, 0,  1, 0, 0, 64,
                                      2, 0, 0, 0,  1, 0, 0, 64, 3, 0, 0, 0};
    static const uint8_t bools[3] = {1, 0, 1};
    char key[32];
    int n = 0;

    for (uint32_t t = 0; t < TYPES; t++) {
        if (width[t] == 0)
            continue;
        snprintf(key, sizeof key, "own.scalar_%u", t);
        put_meta(b, key, t, t == BOOL ? bools : value, width[t]);
        snprintf(key, sizeof key, "own.array_%u", t);
        put_str(b, key);
        put_u32(b, ARRAY);
        put_u32(b, t);
        put_u64(b, 3);
        put(b, t == BOOL ? bools : value, 3 * (size_t)width[t]);
        n += 2;
    }
    put_str(b, "own.text");
    put_u32(b, STRING);
    put_str(b, "a text");
    return n + 1;
}

struct added {
    const char *name;
    uint32_t type;
    uint64_t ne[2];
};

/* K of the last layer of tiny4 is dead, the other one is no tensor of any model. */
static const struct added added[] = {{"own.rows", T_F32, {64, 8}}, {"own.ids", T_I32, {3, 1}}};

static size_t added_bytes(const struct added *a)
{
    return (size_t)(a->ne[0] * a->ne[1]) * 4;
}

static uint64_t aligned(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static void put_info_of(struct buf *b, const struct ct_tensor *t, uint64_t at)
{
    uint64_t ne[4];

    for (int d = 0; d < t->n_dim; d++)
        ne[d] = (uint64_t)t->dim[t->n_dim - 1 - d];
    put_info(b, t->name, (uint32_t)t->n_dim, ne, (uint32_t)ct_type_info(t->type)->ggml, at);
}

/* Tensors [first, last) of f, with the added ones behind the last, as a file or as a part of one. */
static void write_gguf(const char *name, const struct ct_file *f, int first, int last, uint32_t alignment,
                       int part, int parts)
{
    const int n = ct_file_tensor_count(f), more = last == n ? (int)CT_COUNT(added) : 0;
    struct buf metas = {0}, b = {0};
    const struct ct_meta *m;
    uint64_t n_meta = 0, at = 0;

    put_meta_u32(&metas, "general.alignment", alignment);
    n_meta++;
    if (part == 0) {
        n_meta += (uint64_t)put_widths(&metas);
        for (int i = 0; (m = ct_file_meta_at(f, i)); i++, n_meta++)
            put(&metas, m->pair.data, m->pair.size);
    }
    if (parts > 1) {
        const uint16_t no = (uint16_t)part, count = (uint16_t)parts;
        const int32_t total = n + (int)CT_COUNT(added);
        put_meta(&metas, "split.no", U16, &no, 2);
        put_meta(&metas, "split.count", U16, &count, 2);
        put_meta(&metas, "split.tensors.count", I32, &total, 4);
        n_meta += 3;
    }
    put_header(&b, 3, (uint64_t)(last - first + more), n_meta);
    put(&b, metas.p, metas.n);
    for (int i = first; i < last; i++) {
        put_info_of(&b, ct_file_tensor(f, i), at);
        at = aligned(at + ct_file_tensor(f, i)->size, alignment);
    }
    for (int i = 0; i < more; i++) {
        put_info(&b, added[i].name, added[i].ne[1] > 1 ? 2 : 1, added[i].ne, added[i].type, at);
        at = aligned(at + added_bytes(&added[i]), alignment);
    }
    put_pad(&b, alignment);
    for (int i = first; i < last; i++) {
        put(&b, ct_file_tensor(f, i)->data, ct_file_tensor(f, i)->size);
        put_pad(&b, alignment);
    }
    for (int i = 0; i < more; i++) {
        for (size_t k = 0; k < added_bytes(&added[i]) / 4; k++)
            put_u32(&b, (uint32_t)(k % 7));
        put_pad(&b, alignment);
    }
    write_file(dir, name, b.p, b.n);
    buf_free(&metas);
    buf_free(&b);
}

/* Whether the key may be another one, or be missing. */
static bool differs(const struct ct_meta *m, bool retyped)
{
    return (m->key.n > 6 && memcmp(m->key.s, "split.", 6) == 0) ||
           (retyped && ct_str_is(m->key, "general.file_type"));
}

static void compare_files(const char *a_name, const char *b_name, const char *retyped)
{
    struct ct_file *a = accept_path(path_in(dir, a_name), false),
                   *b = accept_path(path_in(dir, b_name), false);
    const struct ct_meta *x, *y;
    int at = 0, changed = 0;

    for (int i = 0; (x = ct_file_meta_at(a, i)); i++) {
        if (memcmp(x->key.s, "split.", 6) == 0)
            continue;
        y = ct_file_meta_at(b, at++);
        assert_non_null(y);
        if (!ct_str_same(x->key, y->key) ||
            (!differs(x, retyped) &&
             (x->pair.size != y->pair.size || memcmp(x->pair.data, y->pair.data, x->pair.size))))
            fail_msg("%.*s became %.*s", (int)x->key.n, x->key.s, (int)y->key.n, y->key.s);
    }
    if (retyped) /* which is said at the end */
        assert_true(ct_str_is(ct_file_meta_at(b, at++)->key, "carat.recipe"));
    assert_null(ct_file_meta_at(b, at));
    assert_int_equal(ct_file_tensor_count(a), ct_file_tensor_count(b));
    for (int i = 0; i < ct_file_tensor_count(a); i++) {
        const struct ct_tensor *s = ct_file_tensor(a, i), *t = ct_file_tensor(b, i);
        assert_string_equal(s->name, t->name);
        assert_int_equal(s->n_dim, t->n_dim);
        assert_memory_equal(s->dim, t->dim, sizeof s->dim);
        changed += strcmp(s->type_name, t->type_name) != 0;
        if (strcmp(s->type_name, t->type_name) == 0)
            assert_memory_equal(s->data, t->data, s->size);
        else if (s->n_dim == 1 || !retyped ||
                 (strcmp(t->type_name, retyped) != 0 && strcmp(t->type_name, "F16") != 0))
            fail_msg("%s became %s", s->name, t->type_name);
    }
    if (!changed != !retyped)
        fail_msg("%d tensors have another type", changed);
    ct_file_close(a);
    ct_file_close(b);
}

static void same_bytes(const char *a_name, const char *b_name)
{
    struct ct_map a, b;

    OK(ct_os_map(&a, path_in(dir, a_name), err));
    OK(ct_os_map(&b, path_in(dir, b_name), err));
    assert_int_equal(a.bytes.size, b.bytes.size);
    assert_memory_equal(a.bytes.data, b.bytes.data, a.bytes.size);
    ct_os_unmap(&a);
    ct_os_unmap(&b);
}

static void all_is_kept(void **unused)
{
    (void)unused;
    convert_file(TINY4, path_in(dir, "first.gguf"), NULL);
    struct ct_file *f = accept_path(path_in(dir, "first.gguf"), false);
    const int n = ct_file_tensor_count(f);
    write_gguf("odd.gguf", f, 0, n, 128, 0, 1);
    write_gguf("odd-00001-of-00002.gguf", f, 0, n / 2, 128, 0, 2);
    write_gguf("odd-00002-of-00002.gguf", f, n / 2, n, 64, 1, 2);
    ct_file_close(f);
    convert_file(path_in(dir, "odd.gguf"), path_in(dir, "again.gguf"), NULL);
    same_bytes("odd.gguf", "again.gguf");
    convert_file(path_in(dir, "odd-00001-of-00002.gguf"), path_in(dir, "one.gguf"), NULL);
    same_bytes("odd.gguf", "one.gguf");
    convert_file(path_in(dir, "odd.gguf"), path_in(dir, "q8.gguf"), "q8_0");
    compare_files("odd.gguf", "q8.gguf", "Q8_0");
    convert_file(path_in(dir, "q8.gguf"), path_in(dir, "again.gguf"), NULL);
    same_bytes("q8.gguf", "again.gguf");
}

/* A part of the source is what the model is read from. */
static void no_part_is_replaced(void **unused)
{
    (void)unused;
    const carat_convert_options o = {.size = sizeof o};
    carat_model *m = NULL;
    carat_error why;

    OK(carat_model_open(&m, path_in(dir, "odd-00001-of-00002.gguf"), NULL, err));
    for (int i = 1; i <= 2; i++) {
        char part[32];
        snprintf(part, sizeof part, "odd-0000%d-of-00002.gguf", i);
        assert_int_equal(carat_convert(m, path_in(dir, part), &o, &why), CARAT_E_ARGUMENT);
        assert_non_null(strstr(why.message, "is what the model is read from"));
    }
    carat_model_close(m);
}

int main(void)
{
    static const char *const files[] = {"first.gguf",
                                        "odd.gguf",
                                        "odd-00001-of-00002.gguf",
                                        "odd-00002-of-00002.gguf",
                                        "one.gguf",
                                        "again.gguf",
                                        "q8.gguf",
                                        NULL};
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_is_kept), cmocka_unit_test(no_part_is_replaced)};
    dir = temp_dir();
    const int failed = cmocka_run_group_tests_name("convert: GGUF out of GGUF", tests, NULL, NULL);
    remove_dir(dir, files);
    return failed;
}
