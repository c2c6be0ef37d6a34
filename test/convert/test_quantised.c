/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantised.c: what is quantised in the source, converted: int4 directories (compressed-tensors) become
 * the Q4_0 blocks of the same codes and scales, or are refused by the scale that f16 does not hold; NVFP4
 * becomes the values that it stands for, with the factors of its tensors, and its own blocks where nothing is
 * asked. How they are read: test/model/test_int4.c, test/quant/test_dequantize.c. */
#include "model/int4_build.h"

#include <unistd.h>

#include "carat_convert.h"

static void put_file(const char *path, const void *a, size_t na, const void *b, size_t nb)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(a, 1, na, f), na);
    assert_int_equal(fwrite(b, 1, nb, f), nb);
    assert_int_equal(fclose(f), 0);
}

/* A directory of int4, and its values as a GGUF file. */
static void write_int4(struct i4_model *m, char *dir, const char *gguf)
{
    struct buf head = {0};
    char path[1024];

    i4_build(m);
    put_u64(&head, m->header.n);
    put(&head, m->header.p, m->header.n);
    snprintf(path, sizeof path, "%s", path_in(dir, "model.safetensors"));
    put_file(path, head.p, head.n, m->data.p, m->data.n);
    snprintf(path, sizeof path, "%s", path_in(dir, "config.json"));
    put_file(path, I4_CONFIG, strlen(I4_CONFIG), "", 0);
    struct buf b = i4_gguf(m);
    put_file(gguf, b.p, b.n, "", 0);
    buf_free(&head);
    buf_free(&b);
    i4_free(m);
}

static carat_status converted(const char *in, const char *out, const char *type, int again, carat_error *err)
{
    const carat_convert_options o = {
        .size = sizeof o, .type = type, .threads = 2, .allow_requantize = again, .pure = 1};
    carat_model *m = NULL;

    remove(out);
    carat_status status = carat_model_open(&m, in, NULL, err);
    if (!status)
        status = carat_convert(m, out, &o, err);
    carat_model_close(m);
    return status;
}

static void same_tensors(const char *a, const char *b)
{
    struct ct_file *x = NULL, *y = NULL;
    carat_error err;

    assert_int_equal(ct_file_open(&x, a, false, &err), CARAT_OK);
    assert_int_equal(ct_file_open(&y, b, false, &err), CARAT_OK);
    assert_int_equal(ct_file_tensor_count(x), ct_file_tensor_count(y));
    for (int i = 0; i < ct_file_tensor_count(x); i++) {
        const struct ct_tensor *s = ct_file_tensor(x, i), *t = ct_file_find(y, s->name);
        if (!t || t->type != s->type || t->size != s->size || memcmp(s->data, t->data, s->size) != 0)
            fail_msg("%s is not the same", s->name);
    }
    ct_file_close(x);
    ct_file_close(y);
}

struct place {
    char *dir, in[1024], wanted[1024], out[1024];
};

static void place_open(struct place *p)
{
    p->dir = temp_dir();
    snprintf(p->in, sizeof p->in, "%s", path_in(p->dir, "int4"));
    snprintf(p->wanted, sizeof p->wanted, "%s", path_in(p->dir, "wanted.gguf"));
    snprintf(p->out, sizeof p->out, "%s", path_in(p->dir, "out.gguf"));
    assert_int_equal(mkdir(p->in, 0700), 0);
}

static void place_close(struct place *p)
{
    char path[1100];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", p->in, i ? "config.json" : "model.safetensors");
        remove(path);
    }
    remove(p->wanted);
    remove(p->out);
    rmdir(p->in);
    rmdir(p->dir);
    free(p->dir);
}

static void int4_is_q4_0(void **state)
{
    struct i4_model m = {0};
    struct place p;
    carat_error err;

    (void)state;
    place_open(&p);
    write_int4(&m, p.in, p.wanted);
    if (converted(p.in, p.out, NULL, 0, &err))
        fail_msg("%s", err.message);
    same_tensors(p.wanted, p.out); /* the embedding stays BF16 */
    place_close(&p);
}

static void a_scale_outside_f16_is_named(void **state)
{
    struct i4_model m = {.scaled = "blk.1.ffn_up.weight", .scale = ct_f32_to_bf16(0x1.02p-20f)};
    struct place p;
    struct ct_file *f = NULL;
    carat_error err;

    (void)state;
    place_open(&p);
    write_int4(&m, p.in, p.wanted);
    assert_int_equal(converted(p.in, p.out, "q4_0", 1, &err), CARAT_E_UNSUPPORTED);
    if (!strstr(err.message, "model.layers.1.mlp.up_proj.weight_scale has the scale 9.6") ||
        !strstr(err.message, "cannot become Q4_0 without loss"))
        fail_msg("%s", err.message);
    assert_int_equal(access(p.out, F_OK), -1);
    if (converted(p.in, p.out, NULL, 0, &err) || ct_file_open(&f, p.out, false, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ct_file_find(f, "blk.1.ffn_up.weight")->type, CT_F32);
    assert_int_equal(ct_file_find(f, "blk.1.ffn_gate.weight")->type, CT_Q4_0);
    ct_file_close(f);
    place_close(&p);
}

static void check_values(const struct ct_file *from, const struct ct_file *to, const struct ct_tensor *s)
{
    const struct ct_tensor *t = ct_file_find(to, s->name);
    char name[256];
    float x[256], factor = 1;

    assert_true(t && t->type == CT_F32);
    snprintf(name, sizeof name, "%.*s.scale", (int)(strlen(s->name) - strlen(".weight")), s->name);
    const struct ct_tensor *scale = ct_file_find(from, name);
    if (scale)
        memcpy(&factor, scale->data, sizeof factor);
    assert_true(!ct_file_find(to, name)); /* it is in the values */
    const size_t n = s->size / (size_t)ct_type_info(CT_NVFP4)->bytes * (size_t)ct_type_info(CT_NVFP4)->block;
    for (size_t i = 0; i < n; i += 64) {
        ct_dequantize(CT_NVFP4, x, s->data + i / 64 * (size_t)ct_type_info(CT_NVFP4)->bytes, 64);
        for (size_t k = 0; k < 64; k++) {
            float got;
            memcpy(&got, t->data + (i + k) * sizeof got, sizeof got);
            if (got != x[k] * factor)
                fail_msg("%s, value %zu: %g, expected %g", s->name, i + k, (double)got,
                         (double)(x[k] * factor));
        }
    }
}

static void nvfp4_is_its_values(void **state)
{
    const char *in = CT_TEST_DATA "/vectors/gguf/nvfp4.gguf";
    struct ct_file *from = NULL, *to = NULL;
    struct place p;
    carat_error err;
    int n = 0;

    (void)state;
    place_open(&p);
    if (converted(in, p.out, NULL, 0, &err))
        fail_msg("%s", err.message);
    same_tensors(in, p.out);
    assert_int_equal(converted(in, p.out, "q8_0", 0, &err), CARAT_E_UNSUPPORTED);
    assert_non_null(strstr(err.message, " already, and Q8_0 of that"));
    if (converted(in, p.out, "q8_0", 1, &err) || converted(in, p.out, "f32", 0, &err) ||
        ct_file_open(&from, in, false, &err) || ct_file_open(&to, p.out, false, &err))
        fail_msg("%s", err.message);
    for (int i = 0; i < ct_file_tensor_count(from); i++)
        if (ct_file_tensor(from, i)->type == CT_NVFP4) {
            check_values(from, to, ct_file_tensor(from, i));
            n++;
        }
    assert_true(n > 0);
    ct_file_close(from);
    ct_file_close(to);
    place_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int4_is_q4_0),
        cmocka_unit_test(a_scale_outside_f16_is_named),
        cmocka_unit_test(nvfp4_is_its_values),
    };
    return cmocka_run_group_tests_name("convert: what is quantised", tests, NULL, NULL);
}
