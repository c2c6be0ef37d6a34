/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_blocks.c: damaged blocks of the types of few bits, given to the command. A file opens without
 * reading its weights; a factor that is not finite ends run and logits with exit code 4, and one line that
 * names file, tensor, row, column and byte, once logits are not finite. A byte that no encoder makes has a
 * value, the reference's: run and logits go on with it, verify names it, and convert, which would hide it,
 * refuses it with 4. Verify ends both with 7, the code of checks that failed. Rows that end inside a block do
 * not open. The library's side is test/check/test_verify_blocks.c's. */
#define GGUF_WIDTH 256
#include "cli/model/bad_gguf.h"

#include "quant/quant.h"

#define NAME "blk.1.ffn_gate.weight"
enum { ROW = 5 };

static const uint32_t types[] = {T_IQ1_S, T_IQ1_M, T_IQ2_XXS, T_IQ2_XS, T_IQ2_S, T_IQ3_XXS,
                                 T_IQ3_S, T_TQ1_0, T_TQ2_0,   T_NVFP4,  T_Q1_0,  T_Q2_0};

/* What is done to block 0 of a row of a type. */
struct damage {
    uint32_t type;
    int factor; /* f16; -1: none */
    int at;     /* of a byte */
    uint8_t byte;
    const char *what; /* of the byte, by verify */
};

static void change(uint8_t *block, const struct damage *d)
{
    const struct gguf_form form = gguf_form(d->type);
    if (d->factor < 0)
        block[d->at] = d->byte;
    for (int i = 0; i < 4 && d->factor >= 0 && d->type == T_IQ1_M; i++) /* as gguf_block puts it there */
        block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (d->factor >> 4 * i & 15) << 4);
    if (d->factor >= 0 && d->type != T_IQ1_M)
        memcpy(block + form.at, &(uint16_t){(uint16_t)d->factor}, 2);
}

/* Writes a model; returns where the block lies, or the changed byte of it. NULL: a sound one. */
static size_t write_model(const char *dir, const struct damage *d, uint32_t type)
{
    struct gguf g;
    size_t at;
    gguf_init(&g);
    struct gguf_tensor *t = gguf_find(&g, NAME);
    gguf_fill(t, type, 12345);
    const size_t row = ROW * (t->data.n / FFN);
    if (d)
        change(t->data.p + row, d);
    struct buf b = gguf_bytes(&g, &at);
    for (int i = 0; &g.tensor[i] != t; i++)
        at = ct_round_up(at + g.tensor[i].data.n, g.alignment);
    assert_memory_equal(b.p + at, t->data.p, t->data.n);
    write_file(dir, "model.gguf", b.p, b.n);
    buf_free(&b);
    gguf_done(&g);
    return at + row + (d && d->factor < 0 ? (size_t)d->at : 0);
}

static struct bad_run command(const char *dir, const char *const args[8])
{
    char path[1024];
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    return bad_command(dir, path, args);
}

static void says(const char *type, const char *text, const char *where)
{
    if (!strstr(where, text))
        fail_msg("%s: '%s' is not said: %s", type, text, where);
}

static const char *const logits[8] = {"logits", "@", "--ids", "2,270,9", "--no-cache", "--top", "4"};
static const char *const plain[8] = {"logits", "@", "--ids", "2,270,9", "--isa", "ref", "--top", "4"};
static const char *const run[8] = {"run", "@", "hi", "-n", "1", "--no-cache"};
static const char *const verify[8] = {"verify", "@", "--no-cache"};
static const char *const show[8] = {"show", "@"};

static void factors_that_are_not_finite(void **state)
{
    static const int factors[] = {0x7c00, 0xfc00, 0x7e00, 0xffff};
    static const char *const *const commands[] = {logits, run, plain};
    enum { WHOLE = 4 }; /* of so many types one goes through every command */
    char *dir = temp_dir();
    (void)state;
    for (size_t i = 0; i < CT_COUNT(types); i++) {
        struct damage d = {.type = types[i], .factor = factors[i % CT_COUNT(factors)]};
        const struct gguf_form form = gguf_form(d.type);
        struct ct_ggml_type known;
        char text[256], message[16384], notes[16384];
        if (d.type == T_NVFP4) /* has none: see below */
            continue;
        assert_true(ct_ggml_type(d.type, &known));
        const size_t byte = write_model(dir, &d, d.type);
        const bool whole = i % WHOLE == 1;
        assert_true(!whole || command(dir, show).exit == 0);
        for (size_t k = 0; k < (whole ? CT_COUNT(commands) : 1); k++) {
            struct bad_run r = command(dir, commands[k]);
            assert_int_equal(r.exit, 4);
            assert_int_equal(r.n_out, 0);
            assert_int_equal(bad_lines(&r, message, notes), 1);
            says(known.name, "E_NUMERIC: ", message);
            says(known.name, "/model.gguf: tensor " NAME " has ", message);
            snprintf(text, sizeof text,
                     " in row %d, column 0, the block at byte %zu, expected a finite number", ROW, byte);
            says(known.name, text, message);
        }
        if (!whole)
            continue;
        struct bad_run r = command(dir, verify);
        assert_int_equal(r.exit, 7);
        says(known.name, "values      FAILED", r.out);
        snprintf(text, sizeof text,
                 "has %u that are NaN or infinite, the first in row %d, column 0 (block of " NAME
                 ", byte %zu of ",
                 form.block, ROW, byte);
        says(known.name, text, r.out);
    }
    remove_dir(dir, (const char *const[]){"model.gguf", "stdout", "stderr", NULL});
}

static void bytes_that_no_encoder_makes(void **state)
{
    static const struct damage odd[] = {
        {T_TQ1_0, -1, 0, 0x01, "of TQ1_0 makes"},  {T_TQ1_0, -1, 47, 0x01, "of TQ1_0 makes"},
        {T_TQ1_0, -1, 48, 0x02, "of TQ1_0 makes"}, {T_NVFP4, -1, 0, 0x7f, "of NVFP4 makes"},
        {T_NVFP4, -1, 3, 0xff, "of NVFP4 makes"},
    };
    char *dir = temp_dir(), path[1024];
    const char *const convert[8] = {"convert", "@", path, "--type", "q8_0", "--allow-requantize"};
    (void)state;
    snprintf(path, sizeof path, "%s/converted.gguf", dir);
    for (size_t i = 0; i < CT_COUNT(odd); i++) {
        const struct damage *d = &odd[i];
        char text[256];
        const size_t byte = write_model(dir, d, d->type);
        struct bad_run a = command(dir, logits), b = command(dir, plain);
        assert_int_equal(a.exit, 0);
        assert_string_equal(a.out, b.out); /* levels agree on what it stands for */
        assert_int_equal(command(dir, run).exit, 0);
        a = command(dir, verify);
        assert_int_equal(a.exit, 7);
        says(d->what, "has 1 block that no encoder ", a.out);
        says(d->what, d->what, a.out);
        snprintf(text, sizeof text, "(block of " NAME ", byte %zu of ", byte);
        says(d->what, text, a.out);
        snprintf(text, sizeof text, ": a byte is 0x%02x, expected ", d->byte);
        says(d->what, text, a.out);
        a = command(dir, convert);
        assert_int_equal(a.exit, 4);
        snprintf(text, sizeof text,
                 "/model.gguf: tensor " NAME " has a block with a byte of 0x%02x in row %d, "
                 "column 0; expected ",
                 d->byte, ROW);
        says(d->what, text, a.err);
        assert_int_equal(access(path, F_OK), -1);
    }
    /* a scale of NVFP4 that is none counts as 0 */
    struct bad_run none, zero;
    (void)write_model(dir, &(struct damage){T_NVFP4, -1, 2, 0x7f, NULL}, T_NVFP4);
    none = command(dir, logits);
    (void)write_model(dir, &(struct damage){T_NVFP4, -1, 2, 0x00, NULL}, T_NVFP4);
    zero = command(dir, logits);
    assert_int_equal(none.exit, 0);
    assert_string_equal(none.out, zero.out);
    (void)write_model(dir, NULL, T_NVFP4);
    none = command(dir, logits);
    assert_string_not_equal(none.out, zero.out); /* it is looked at */
    struct bad_run sound = command(dir, verify); /* which says of the vocabulary what it likes */
    says("NVFP4", "values      ok", sound.out);
    assert_int_equal(command(dir, convert).exit, 0);
    remove_dir(dir, (const char *const[]){"model.gguf", "converted.gguf", "stdout", "stderr", NULL});
}

static void rows_end_with_a_block(void **state)
{
    static const char down[] = "blk.0.ffn_down.weight"; /* rows of 96 */
    struct bad_place p = {0};
    char *dir = temp_dir();
    (void)state;
    snprintf(p.dir, sizeof p.dir, "%s", dir);
    for (size_t i = 0; i < CT_COUNT(types); i++) {
        struct gguf g;
        struct ct_ggml_type known;
        char text[256];
        assert_true(ct_ggml_type(types[i], &known));
        gguf_init(&g);
        gguf_find(&g, down)->type = types[i];
        gguf_write(&p, &g);
        struct bad_run r = command(dir, logits);
        assert_int_equal(r.exit, 4);
        snprintf(text, sizeof text, "multiple of %d", known.block);
        says(known.name, text, r.err);
        says(known.name, down, r.err);
        says(known.name, known.name, r.err);
        says(known.name, "96 elements", r.err);
    }
    remove_dir(dir, (const char *const[]){"model.gguf", "stdout", "stderr", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factors_that_are_not_finite),
                                       cmocka_unit_test(bytes_that_no_encoder_makes),
                                       cmocka_unit_test(rows_end_with_a_block)};
    return cmocka_run_group_tests_name("model: damaged blocks of few bits", tests, NULL, NULL);
}
