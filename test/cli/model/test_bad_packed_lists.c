/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_packed_lists.c: packed files whose lists lie under right hashes, given to the command: sources,
 * metadata, tensors of the origin, weights, what is made of them. Each row changes one thing in a file that
 * works; the rest of the index is test_bad_packed.c's. */
#include "cli/model/bad_packed.h"

#include <math.h>

/* ---- makers ---- */

/* A weight more, without data. */
static void one_more(struct bad_place *p, const void *with)
{
    struct packed k = made(OF_GGUF);
    struct ct_packed_weight *more = calloc(k.p.n_weight + 1, sizeof *more);
    assert_non_null(more);
    memcpy(more, k.p.weight, k.p.n_weight * sizeof *more);
    more[k.p.n_weight] = (struct ct_packed_weight){
        .name = *(const struct ct_str *)with, .type = CT_F32, .rows = 1, .cols = 1, .scale = 1};
    k.p.weight = more;
    k.p.n_weight++;
    packed_rewrite(&k);
    free(more);
    done(p, &k);
}

/* A byte behind all lists. */
static void one_byte_more(struct bad_place *p, const void *with)
{
    struct packed k = made(OF_GGUF);
    (void)with;
    put_zero(&k.file, 1);
    packed_mend(&k.file);
    done(p, &k);
}

/* n matrices that were made, all of them the same one, with so many bytes from so many behind the weights
 * on. */
struct of_made {
    uint32_t n;
    struct ct_packed_weight m;
};
#define BEHIND 4096
#define FAR    ((uint64_t)1 << 50)
static void with_made(struct bad_place *p, const void *with)
{
    const struct of_made *w = with;
    struct packed k = made(OF_GGUF);
    struct ct_packed_header h = packed_header(&k.file);
    struct buf old = {0};
    struct ct_packed_weight *all = calloc(w->n, sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < w->n; i++) {
        all[i] = w->m;
        if (w->m.data.size && w->m.data.at != FAR)
            all[i].data.at += h.index_at;
    }
    put(&old, k.file.p, (size_t)h.index_at); /* room before the index */
    put_zero(&old, BEHIND);
    buf_free(&k.file);
    k.file = old;
    h.index_at += BEHIND;
    memcpy(k.file.p, &h, sizeof h);
    k.p.made = all;
    k.p.n_made = w->n;
    packed_rewrite(&k);
    free(all);
    done(p, &k);
}
#define MADE_(n, ...)                                                                                        \
    with_made, &(const struct of_made)                                                                       \
    {                                                                                                        \
        n,                                                                                                   \
        {                                                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define MADE_NAME .name = {"head.sketch", 11}
#define MADE_FORM .type = CT_Q4_0, .interleaved = 1, .rows = 16, .cols = 32

/* As many entries of a list as there may be, and some more, as small as they can be. */
struct many {
    enum where where;
    uint32_t n;
};
static void many(struct bad_place *p, const void *with)
{
    const struct many *m = with;
    struct packed k = made(OF_GGUF);
    char *names = calloc(m->n, 8);
    struct ct_meta *meta = calloc(m->where == META ? m->n : 1, sizeof *meta);
    struct ct_tensor *tensor = calloc(m->where == TENSOR ? m->n : 1, sizeof *tensor);
    struct ct_packed_weight *weight = calloc(m->where == WEIGHT ? m->n : 1, sizeof *weight);
    assert_true(names && meta && tensor && weight);
    for (uint32_t i = 0; i < m->n; i++) {
        char *name = names + (size_t)i * 8;
        struct ct_str s = {name, (size_t)snprintf(name, 8, "%x", i * 40503u % 0x20000)};
        if (m->where == META)
            meta[i].key = s;
        else if (m->where == TENSOR)
            tensor[i] = (struct ct_tensor){
                .name = name, .type_name = "F32", .file = "", .n_dim = 1, .dim = {1}, .scale = 1};
        else
            weight[i] = (struct ct_packed_weight){.name = s, .rows = 1, .cols = 1, .scale = 1};
    }
    if (m->where == META)
        k.p.meta = meta, k.p.n_meta = m->n;
    else if (m->where == TENSOR)
        k.p.tensor = tensor, k.p.n_tensor = m->n;
    else
        k.p.weight = weight, k.p.n_weight = m->n;
    packed_rewrite(&k);
    free(names);
    free(meta);
    free(tensor);
    free(weight);
    done(p, &k);
}

/* ---- the rows ---- */

static const struct bad_case counts[] = {
    {"P4",
     "too many sources",
     PATCH(SOURCES, 0, UINT32_MAX, 4, false),
     4,
     {IN_IT, "number of sources is 4294967295"}},
    {"P4",
     "more sources than bytes",
     PATCH(SOURCES, 0, 1200, 4, false),
     4,
     {IN_IT, "number of sources is 1200", "bytes are left"}},
    {"P4",
     "too many keys",
     PATCH(METAS, 0, 65537, 4, false),
     4,
     {IN_IT, "number of metadata keys is 65537", "65536"}},
    {"P4",
     "more keys than bytes",
     PATCH(METAS, 0, 65536, 4, false),
     4,
     {IN_IT, "number of metadata keys is 65536", "bytes are left"}},
    {"P4",
     "too many tensors",
     PATCH(TENSORS, 0, 1u << 31, 4, false),
     4,
     {IN_IT, "number of tensors is 2147483648"}},
    {"P4",
     "more tensors than bytes",
     PATCH(TENSORS, 0, 65536, 4, false),
     4,
     {IN_IT, "number of tensors is 65536", "bytes are left"}},
    {"P4",
     "too many weights",
     PATCH(WEIGHTS, 0, UINT32_MAX, 4, false),
     4,
     {IN_IT, "number of weights is 4294967295"}},
    {"P4",
     "more weights than bytes",
     PATCH(WEIGHTS, 0, 65536, 4, false),
     4,
     {IN_IT, "number of weights is 65536", "bytes are left"}},
    {"P4", "bytes that nobody reads", one_byte_more, NULL, 4, {IN_IT, "the end has", "bytes behind it"}},
    {"P4",
     "too many made matrices",
     PATCH(MADE, 0, 65, 4, false),
     4,
     {IN_IT, "number of made matrices is 65", "64"}},
    {"P4",
     "more made matrices than bytes",
     PATCH(MADE, 0, 64, 4, false),
     4,
     {IN_IT, "number of made matrices is 64", "bytes are left"}},
    {"P4", "all made matrices that there may be", MADE_(64, MADE_NAME, MADE_FORM), 0},
    {"P4",
     "all keys that there may be",
     many,
     &(const struct many){META, 65536},
     4,
     {"x.carat", "general.architecture"}},
    {"P4", "all tensors that there may be", many, &(const struct many){TENSOR, 65536}, 0},
    {"P4",
     "all weights that there may be",
     many,
     &(const struct many){WEIGHT, 65536},
     4,
     {"x.carat", "token_embd.weight is missing"}},
    {"P5",
     "a source elsewhere",
     SET_SOURCE(name, TEXT("../a")),
     4,
     {IN_IT, "the name of source \"../a\" leads out"}},
    {"P5", "a source below", SET_SOURCE(name, TEXT("a/b")), 4, {IN_IT, "leads out"}},
    {"P5", "the directory above as a source", SET_SOURCE(name, TEXT("..")), 4, {IN_IT, "leads out"}},
    {"P5", "a source with a 0 in its name", SET_SOURCE(name, TEXT("a\0")), 4, {IN_IT, "has a 0"}},
    {"P5", "half a source", SET_SOURCE(present, U32_(2)), 4, {IN_IT, "the presence of source 0 is 2"}},
    {"P5",
     "a header larger than its file",
     SET_SOURCE(head, U64_(UINT64_MAX)),
     4,
     {IN_IT, "size of the header of source 0"}},
};

#define ARCH   "general.architecture"
#define BLOCKS "gemma3.block_count"
#define SCORES "tokenizer.ggml.scores"
static const struct bad_case metadata[] = {
    {"P6",
     "no architecture",
     SET_META(ARCH, key, TEXT("general.architect")),
     4,
     {"x.carat", "general.architecture", "missing"}},
    {"P6", "an empty key", SET_META(ARCH, key, TEXT("")), 4, {IN_IT, "the key of metadata key 0 is \"\""}},
    {"P6", "a key with a line end", SET_META(ARCH, key, TEXT("a\nb")), 4, {IN_IT, "a\\x0ab", "plain text"}},
    {"P6", "a key that is not UTF-8", SET_META(ARCH, key, TEXT("a\xff")), 4, {IN_IT, "a\\xff"}},
    {"P6",
     "a key twice",
     SET_META(BLOCKS, key, TEXT("general.name")),
     4,
     {"x.carat", "\"general.name\"", "twice"}},
    {"P6",
     "a type that there is not",
     SET_META(BLOCKS, type, U32_(6)),
     4,
     {IN_IT, "type of metadata key \"" BLOCKS "\" is 6"}},
    {"P6",
     "an array of no elements' type",
     SET_META(SCORES, elem, U32_(5)),
     4,
     {IN_IT, "type of elements", "is 5"}},
    {"P6", "a text for a number", SET_META(BLOCKS, type, U32_(CT_META_STRING)), 4, {"x.carat"}},
    {"P6",
     "elements of 3 bytes",
     SET_META(SCORES, elem_bytes, U32_(3)),
     4,
     {IN_IT, SCORES, "is 3, which no element"}},
    {"P6", "floats of 2 bytes", SET_META(SCORES, elem_bytes, U32_(2)), 4, {IN_IT, "is 2, which no element"}},
    {"P6",
     "floats of 2^31 bytes",
     SET_META(SCORES, elem_bytes, U32_(1u << 31)),
     4,
     {IN_IT, "which no element"}},
    {"P6", "texts of 4 bytes", SET_META(SCORES, elem, U32_(CT_META_STRING)), 4, {IN_IT, "which no element"}},
    {"P6",
     "more elements than there may be",
     SET_META(SCORES, count, U64_(UINT64_MAX)),
     4,
     {IN_IT, "number of elements"}},
    {"P6",
     "more elements than bytes",
     SET_META(SCORES, count, U64_(303)),
     4,
     {IN_IT, "the size of metadata key \"" SCORES "\"", "303 elements"}},
    {"P6", "two values in one", SET_META(BLOCKS, i, I64_(3)), 4, {IN_IT, BLOCKS, "is 3, expected that of 2"}},
    {"P6",
     "a bool of 2",
     SET_META(BLOCKS, type, U32_(CT_META_BOOL)),
     4,
     {IN_IT, "the value", "is 2, expected 0 to 1"}},
    {"P6",
     "more texts than there may be tokens",
     SET_META("tokenizer.ggml.tokens", count, U64_(1 << 24)),
     4,
     {"x.carat", "tokenizer.ggml.tokens"}},
};

static const struct bad_case tensors[] = {
    {"P7",
     "an empty name",
     SET_TENSOR(name, &(const char *const){""}),
     4,
     {IN_IT, "the name of tensor 2 is \"\""}},
    {"P7", "a name with a line end", SET_TENSOR(name, &(const char *const){"a\nb"}), 4, {IN_IT, "a\\x0ab"}},
    {"P7", "a name twice", SET_TENSOR(name, &(const char *const){NORM}), 4, {"\"" NORM "\"", "twice"}},
    {"P7",
     "a type with a line end",
     SET_TENSOR(type_name, &(const char *const){"F\n32"}),
     4,
     {IN_IT, "name of the type of tensor", "F\\x0a32"}},
    {"P7", "a type that there is not", SET_TENSOR(type, U32_(CT_TYPE_COUNT + 1)), 4, {IN_IT, Q_PROJ}},
    {"P7",
     "no dimension",
     SET_TENSOR(n_dim, U32_(0)),
     4,
     {IN_IT, "the rank of tensor \"" Q_PROJ "\" is 0", "1 to 4"}},
    {"P7", "five dimensions", SET_TENSOR(n_dim, U32_(5)), 4, {IN_IT, "is 5"}},
    {"P7", "a negative dimension", SET_TENSOR(dim[0], I64_(-1)), 4, {IN_IT, "the shape of tensor"}},
    {"P7", "too many elements", SET_TENSOR(dim[0], I64_(INT64_MAX)), 4, {IN_IT, "the shape of tensor"}},
    {"P7", "too many bytes", SET_TENSOR(size, U64_(UINT64_MAX)), 4, {IN_IT, "size of tensor"}},
    {"P7",
     "a factor of NaN",
     SET_TENSOR(scale, F32_(NAN)),
     4,
     {IN_IT, "factor of tensor \"" Q_PROJ "\" is", "positive"}},
};

static const struct bad_case weights[] = {
    {"P8", "an empty name", SET_WEIGHT(Q_PROJ, name, TEXT("")), 4, {IN_IT, "the name of weight 2 is \"\""}},
    {"P8", "a name with a line end", SET_WEIGHT(Q_PROJ, name, TEXT("a\nb")), 4, {IN_IT, "a\\x0ab"}},
    {"P8",
     "a name that is not of the model",
     SET_WEIGHT(Q_PROJ, name, TEXT("q")),
     4,
     {"x.carat", Q_PROJ, "missing"}},
    {"P8",
     "a name twice",
     SET_WEIGHT("blk.1.attn_q.weight", name, TEXT(Q_PROJ)),
     4,
     {"x.carat", "\"" Q_PROJ "\"", "twice"}},
    {"P8", "one too few", SET_INDEX(n_weight, U32_(27)), 4, {"x.carat", "output_norm.weight", "missing"}},
    {"P8", "one too many", one_more, TEXT("more"), 4, {"x.carat", "has 29 weights, expected 28"}},
    {"P8",
     "one of another layer",
     one_more,
     TEXT("blk.2.attn_norm.weight"),
     4,
     {"x.carat", "blk.2.attn_norm", "beyond"}},
    {"P8", "an untied head of no bytes", one_more, TEXT("output.weight"), 4, {"x.carat", "output.weight"}},
    {"P8",
     "a type that there is not",
     SET_WEIGHT(Q_PROJ, type, U32_(CT_TYPE_COUNT)),
     4,
     {IN_IT, "type of weight \"" Q_PROJ "\""}},
    {"P8", "a type of many bits", SET_WEIGHT(Q_PROJ, type, U32_(UINT32_MAX)), 4, {IN_IT, "is 4294967295"}},
    {"P8", "a type that is never a weight", SET_WEIGHT(Q_PROJ, type, U32_(CT_NUQ)), 4, {IN_IT, "NUQ"}},
    {"P8",
     "another type",
     SET_WEIGHT(Q_PROJ, type, U32_(CT_Q4_0)),
     4,
     {"x.carat", Q_PROJ, "bytes, which is not"}},
    {"P8", "a type of larger blocks", SET_WEIGHT(Q_PROJ, type, U32_(CT_Q4_K)), 4, {"x.carat", Q_PROJ}},
    {"P8",
     "a layout that there is not",
     SET_WEIGHT(Q_PROJ, interleaved, U32_(2)),
     4,
     {IN_IT, "layout", "is 2"}},
    {"P8",
     "rows instead of panels",
     SET_WEIGHT(Q_PROJ, interleaved, U32_(0)),
     4,
     {"x.carat", Q_PROJ, "lies in rows, expected panels"}},
    {"P8",
     "a vector in panels",
     SET_WEIGHT(NORM, interleaved, U32_(1)),
     4,
     {"x.carat", NORM, "lies in panels, expected rows"}},
    {"P8", "no rows", SET_WEIGHT(Q_PROJ, rows, U32_(0)), 4, {IN_IT, "number of rows", "is 0"}},
    {"P8",
     "2^31 rows",
     SET_WEIGHT(Q_PROJ, rows, U32_(1u << 31)),
     4,
     {IN_IT, "number of rows", "is 2147483648"}},
    {"P8",
     "a row more",
     SET_WEIGHT(Q_PROJ, rows, U32_(65)),
     4,
     {"x.carat", Q_PROJ, "[65 x 64], expected [64 x 64]"}},
    {"P8",
     "as many rows as there may be",
     SET_WEIGHT("token_embd.weight", rows, U32_(INT32_MAX)),
     4,
     {"x.carat", "token_embd.weight"}},
    {"P8",
     "2^31 columns",
     SET_WEIGHT(Q_PROJ, cols, U32_(1u << 31)),
     4,
     {IN_IT, "number of columns", "is 2147483648"}},
    {"P8", "a column more", SET_WEIGHT(Q_PROJ, cols, U32_(65)), 4, {"x.carat", Q_PROJ, "[64 x 65]"}},
    {"P8",
     "a factor of NaN",
     SET_WEIGHT(Q_PROJ, scale, F32_(NAN)),
     4,
     {IN_IT, "factor of weight \"" Q_PROJ "\"", "positive"}},
    {"P8",
     "an infinite factor",
     SET_WEIGHT(Q_PROJ, scale, F32_(INFINITY)),
     4,
     {IN_IT, "factor of weight", "is inf"}},
    {"P8", "a negative factor", SET_WEIGHT(Q_PROJ, scale, F32_(-1)), 4, {IN_IT, "is -1"}},
    {"P8", "a factor of 0", SET_WEIGHT(Q_PROJ, scale, F32_(0)), 4, {IN_IT, "is 0"}},
};

/* What nobody asks for does no harm. */
static const struct bad_case made_matrices[] = {
    {"P8", "a made matrix", MADE_(1, MADE_NAME, MADE_FORM, .data = {0, 288, 1}), 0},
    {"P8", "of no name", MADE_(1, MADE_FORM), 4, {IN_IT, "the name of made matrix 0 is \"\""}},
    {"P8", "of no type", MADE_(1, MADE_NAME, .type = 99, .rows = 1, .cols = 1), 4, {IN_IT, "type of made"}},
    {"P8", "NUQ", MADE_(1, MADE_NAME, .type = CT_NUQ, .rows = 1, .cols = 1), 4, {IN_IT, "NUQ"}},
    {"P8",
     "another layout",
     MADE_(1, MADE_NAME, .interleaved = 2, .rows = 1, .cols = 1),
     4,
     {IN_IT, "layout of made matrix \"head.sketch\" is 2"}},
    {"P8", "no rows", MADE_(1, MADE_NAME, .cols = 1), 4, {IN_IT, "number of rows of made"}},
    {"P8",
     "columns below 0",
     MADE_(1, MADE_NAME, .rows = 1, .cols = 1u << 31),
     4,
     {IN_IT, "columns of made"}},
    {"P9",
     "its data not on a line",
     MADE_(1, MADE_NAME, MADE_FORM, .data = {8, 288, 1}),
     4,
     {IN_IT, "data of made matrix \"head.sketch\"", "multiple of 64"}},
    {"P9",
     "its data into the index",
     MADE_(1, MADE_NAME, MADE_FORM, .data = {4032, 288, 1}),
     4,
     {IN_IT, "data of made", "before the index"}},
    {"P9",
     "its data far away",
     MADE_(1, MADE_NAME, MADE_FORM, .data = {FAR, 288, 1}),
     4,
     {IN_IT, "data of made", "before the index"}},
    {"P9",
     "two with the same data",
     MADE_(2, MADE_NAME, MADE_FORM, .data = {0, 288, 1}),
     4,
     {IN_IT, "data of made", "where nothing else lies"}},
    {"P9",
     "its data among the weights",
     MADE_(1, MADE_NAME, MADE_FORM, .data = {(uint64_t)-4096, 288, 1}),
     4,
     {IN_IT, "data of made", "where nothing else lies"}},
};

/* ---- tests ---- */

static void counts_lie(void **state)
{
    (void)state;
    BAD_RUN(counts);
}
static void metadata_lies(void **state)
{
    (void)state;
    BAD_RUN(metadata);
}
static void tensors_lie(void **state)
{
    (void)state;
    BAD_RUN(tensors);
}
static void weights_lie(void **state)
{
    (void)state;
    BAD_RUN(weights);
}
static void what_is_made_lies(void **state)
{
    (void)state;
    BAD_RUN(made_matrices);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_lie),  cmocka_unit_test(metadata_lies),     cmocka_unit_test(tensors_lie),
        cmocka_unit_test(weights_lie), cmocka_unit_test(what_is_made_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
