/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_gguf.c: rows G1 to G17, G22 and G25 of the list of bad inputs: GGUF files whose bytes lie about
 * the file, given to the command. Files that are well formed and make no sense as a model are in
 * test_bad_gguf_model.c. Exact offsets in messages are the business of test/file/test_gguf.c. */
#include "cli/model/bad_gguf.h"

/* ---- makers ---- */

struct bytes {
    const char *p;
    size_t n;
};
/* Nothing but these bytes. */
static void bytes(struct bad_place *p, const void *with)
{
    const struct bytes *b = with;
    bad_file(p, "model.gguf", b->p, b->n);
}

struct patch {
    size_t at;
    const char *p;
    size_t n;
};
/* The good file with some bytes of its header replaced: magic 0, version 4, tensors 8, entries 16, length of
 * the first key 24, key 32, type of its value 52, length of its string 56. */
static void patch(struct bad_place *p, const void *with)
{
    const struct patch *c = with;
    struct gguf g;
    gguf_init(&g);
    struct buf b = gguf_bytes(&g, NULL);
    memcpy(b.p + c->at, c->p, c->n);
    bad_file(p, "model.gguf", b.p, b.n);
    buf_free(&b);
    gguf_done(&g);
}

/* The good file without its last bytes, in header and data as said: 0 of the end, 1 of the header. */
struct cut {
    bool header;
    size_t n;
};
static void cut(struct bad_place *p, const void *with)
{
    const struct cut *c = with;
    struct gguf g;
    size_t data;
    gguf_init(&g);
    struct buf b = gguf_bytes(&g, &data);
    bad_file(p, "model.gguf", b.p, (c->header ? data : b.n) - c->n);
    buf_free(&b);
    gguf_done(&g);
}

/* The good file with bytes behind it. */
static void trailing(struct bad_place *p, const void *with)
{
    const struct bytes *c = with;
    struct gguf g;
    gguf_init(&g);
    struct buf b = gguf_bytes(&g, NULL);
    put_pad(&b, 32); /* as writers pad the last tensor, too */
    put(&b, c->p, c->n);
    bad_file(p, "model.gguf", b.p, b.n);
    buf_free(&b);
    gguf_done(&g);
}

struct info {
    const char *name; /* of the tensor to change; it takes the place of the good one */
    const char *as;   /* its new name */
    uint32_t n_dim;   /* with dim, when not 0 */
    uint64_t dim[4];
    uint32_t type; /* when not 0 */
    int64_t shift; /* of its offset */
};
static void info(struct bad_place *p, const void *with)
{
    const struct info *c = with;
    struct gguf g;
    gguf_init(&g);
    struct gguf_tensor *t = gguf_find(&g, c->name);
    if (c->as)
        t->name = c->as;
    if (c->n_dim) {
        t->n_dim = c->n_dim;
        memcpy(t->dim, c->dim, sizeof c->dim);
    }
    if (c->type)
        t->type = c->type;
    t->shift = c->shift;
    gguf_write(p, &g);
}

/* A file of that size that is nearly all hole. Skips the case where the file system has no holes of that
 * size. */
static void sparse(struct bad_place *p, const char *name, struct buf *b, uint64_t size)
{
    bad_file(p, name, b->p, b->n);
    buf_free(b);
    if (truncate(p->path, (off_t)size) != 0)
        p->skip = true;
}

/* An array of so many empty strings, all there. */
static void strings(struct bad_place *p, const void *with)
{
    uint64_t n = *(const uint64_t *)with;
    struct buf b = {0};
    put_header(&b, 3, 1, 2);
    put_str(&b, "a");
    put_u32(&b, ARRAY), put_u32(&b, STRING), put_u64(&b, n);
    sparse(p, "model.gguf", &b, b.n + 8 * n + 64);
}

static void many_keys(struct bad_place *p, const void *with)
{
    struct gguf g;
    gguf_init(&g);
    struct buf b = gguf_bytes(&g, NULL), many = {0};
    int n = 65536 + *(const int *)with;
    put_header(&many, 3, (uint64_t)g.n_tensor, (uint64_t)n);
    for (int i = g.n_meta; i < n; i++) {
        char key[96];
        snprintf(key, sizeof key, "the.same.long.prefix.for.every.key.of.the.file.%06u",
                 (unsigned)i * 40503u % 65536);
        put_meta_u32(&many, key, (uint32_t)i);
    }
    put(&many, b.p + 24,
        b.n - 24); /* its alignment may be off: nothing looks at the data before the metadata */
    bad_file(p, "model.gguf", many.p, many.n);
    buf_free(&many);
    buf_free(&b);
    gguf_done(&g);
}

static void twice(struct bad_place *p, const void *with)
{
    struct gguf g;
    gguf_init(&g);
    if (with) {
        gguf_find(&g, "blk.1.attn_q.weight")->name = "blk.0.attn_q.weight";
    } else {
        gguf_set_u32(&g, "general.nam2", 7);
        strcpy(gguf_key(&g, "general.nam2")->key, "general.name");
    }
    gguf_write(p, &g);
}

/* Two parts of a split model. */
struct split {
    uint16_t no[2], count[2];
    int32_t total[2];
    const char *open;  /* which part to open: its name */
    const char *omit;  /* a part that is not written */
    size_t cut;        /* bytes missing at the end of part 2 */
    bool other;        /* part 2 is of a model of another width */
    const char *again; /* a tensor of part 1 that part 2 has, too, instead of its first one */
};
#define FIRST  "small-00001-of-00002.gguf"
#define SECOND "small-00002-of-00002.gguf"
static void split(struct bad_place *p, const void *with)
{
    static const char *const names[] = {FIRST, SECOND};
    const struct split *c = with;
    for (int i = 0; i < 2; i++) {
        struct gguf g;
        gguf_init(&g);
        int half = 10, n = g.n_tensor, from = i ? half : 0, to = i ? n : half;
        while (i && g.n_meta > 0)
            gguf_drop(&g, g.meta[0].key);
        gguf_set(&g, "split.no", U16, &c->no[i], 2);
        gguf_set(&g, "split.count", U16, &c->count[i], 2);
        gguf_set(&g, "split.tensors.count", I32, &(int32_t){c->total[i] ? c->total[i] : n}, 4);
        struct gguf part = g;
        part.n_tensor = to - from;
        memmove(part.tensor, g.tensor + from, (size_t)part.n_tensor * sizeof *part.tensor);
        if (i && c->again)
            part.tensor[0].name = c->again;
        for (int k = 0; i && c->other && k < part.n_tensor; k++)
            part.tensor[k].dim[0] /= 2, part.tensor[k].data.n /= 2;
        struct buf b = gguf_bytes(&part, NULL);
        if (!c->omit || strcmp(c->omit, names[i]) != 0)
            bad_write(p, names[i], b.p, b.n - (i ? c->cut : 0));
        buf_free(&b);
        gguf_done(&g);
    }
    bad_model(p, c->open);
}
/* A part under a name that does not say where the others are. */
static void renamed(struct bad_place *p, const void *with)
{
    split(p, with);
    assert_int_equal(rename(p->path, path_in(p->dir, "small.gguf")), 0);
    bad_model(p, "small.gguf");
}

/* Three terabytes, all of them weights that the header describes truthfully. */
static void huge(struct bad_place *p, const void *with)
{
    struct gguf g;
    uint64_t size = 0, ffn = 1 << 20, hidden = 1 << 17;
    (void)with;
    gguf_init(&g);
    gguf_set_u32(&g, "gemma3.embedding_length", (uint32_t)hidden);
    gguf_set_u32(&g, "gemma3.feed_forward_length", (uint32_t)ffn);
    for (int i = 0; i < g.n_tensor; i++) {
        struct gguf_tensor *t = &g.tensor[i];
        for (uint32_t k = 0; k < t->n_dim; k++)
            t->dim[k] = strstr(t->name, "q_norm") || strstr(t->name, "k_norm") ? HEAD
                        : t->dim[k] == FFN                                     ? ffn
                        : t->dim[k] == HIDDEN && !(k == 1 && strstr(t->name, "attn_q")) &&
                                !(k == 0 && strstr(t->name, "attn_output"))
                            ? hidden
                            : t->dim[k];
        t->data.n = 0; /* the offsets come below, when the sizes are known */
        uint64_t n = t->dim[0] * (t->n_dim > 1 ? t->dim[1] : 1);
        t->shift = (int64_t)size;
        size = ct_round_up(size + (t->type == T_Q8_0 ? n / 32 * 34 : 4 * n), 32);
    }
    struct buf b = gguf_bytes(&g, NULL);
    size += b.n;
    sparse(p, "model.gguf", &b, size);
    if (size < (uint64_t)1 << 41) /* 2 layers of 3 matrices of 2^37 floats */
        fail_msg("the large file has %llu bytes only", (unsigned long long)size);
    gguf_done(&g);
}

/* ---- rows ---- */

static const struct bad_case base[] = {
    {"G0", "the file that the others damage", gguf_make_good, NULL, 0},
    {"G0", "its logits", gguf_make_good, NULL, 0, {NULL}, {"run", "@", "hi", "-n", "1"}},
    {"G0", "in two parts", split, &(struct split){{0, 1}, {2, 2}, {0, 0}, FIRST}, 0},
};

#define IS(s)                                                                                                \
    bytes, &(const struct bytes)                                                                             \
    {                                                                                                        \
        BYTES(s)                                                                                             \
    }
static const struct bad_case beginnings[] = {
    {"G1", "an empty file", IS(""), 4, {"model.gguf is empty"}},
    {"G2", "GGML", IS("GGML\1\0\0\0"), 4, {"GGML", "convert it to GGUF"}},
    {"G2", "GGML as little-endian number", IS("lmgg\1\0\0\0"), 4, {"GGML"}},
    {"G2", "GGJT", IS("GGJT\3\0\0\0"), 4, {"GGJT", "convert"}},
    {"G2", "a ZIP archive", IS("PK\3\4\24\0\0\0"), 4, {"ZIP", "pickle is never loaded"}},
    {"G2",
     "a program",
     IS("\x7f"
        "ELF\2\1\1\0"),
     4,
     {"ELF"}},
    {"G2", "gzip", IS("\x1f\x8b\x08\0\0\0\0\0"), 4, {"gzip", "unpack"}},
    {"G2", "an HTML page", IS("<!DOCTYPE html>\n<html>"), 4, {"HTML", "download"}},
    {"G2", "an HTML page without type", IS("<html><head>"), 4, {"HTML", "download"}},
    {"G2",
     "a Git LFS pointer",
     IS("version https://git-lfs.github.com/spec/v1\noid sha256:00\n"),
     4,
     {"Git LFS pointer", "download the real file"}},
    {"G2", "noise", IS("\x01\x02\x03\x1b[2J"), 4, {"01 02 03 1b"}},
#define PATCH(at, s)                                                                                         \
    patch, &(const struct patch)                                                                             \
    {                                                                                                        \
        at, BYTES(s)                                                                                         \
    }
    {"G3", "version 0", PATCH(4, "\0\0\0\0"), 4, {"version 0"}},
    {"G3", "version 1", PATCH(4, "\1\0\0\0"), 4, {"version 1"}},
    {"G3", "version 4", PATCH(4, "\4\0\0\0"), 4, {"version 4"}},
    {"G3", "version 2^31", PATCH(4, "\0\0\0\x80"), 4, {"version 2147483648"}},
    {"G3", "version 3 in the other byte order", PATCH(4, "\0\0\0\3"), 4, {"big-endian"}},
#define LIMIT                                                                                                \
    {                                                                                                        \
        "at byte", "limit is 65536"                                                                          \
    }
    {"G4",
     "2^16 + 1 tensors",
     PATCH(8, "\1\0\1\0\0\0\0\0"),
     4,
     {"number of tensors is 65537", "limit is 65536"}},
    {"G4", "2^32 tensors", PATCH(8, "\0\0\0\0\1\0\0\0"), 4, LIMIT},
    {"G4", "2^63 tensors", PATCH(8, "\0\0\0\0\0\0\0\x80"), 4, LIMIT},
    {"G4", "2^64 - 1 tensors", PATCH(8, "\xff\xff\xff\xff\xff\xff\xff\xff"), 4, LIMIT},
    {"G4",
     "2^16 tensors in few bytes",
     PATCH(8, "\0\0\1\0\0\0\0\0"),
     4,
     {"65536", "more than there is room for"}},
    {"G4",
     "2^16 + 1 entries",
     PATCH(16, "\1\0\1\0\0\0\0\0"),
     4,
     {"metadata entries is 65537", "limit is 65536"}},
    {"G4", "2^32 entries", PATCH(16, "\0\0\0\0\1\0\0\0"), 4, LIMIT},
    {"G4", "2^63 entries", PATCH(16, "\0\0\0\0\0\0\0\x80"), 4, LIMIT},
    {"G4", "2^64 - 1 entries", PATCH(16, "\xff\xff\xff\xff\xff\xff\xff\xff"), 4, LIMIT},
#define KEY                                                                                                  \
    {                                                                                                        \
        "metadata entry 0", "at byte 24"                                                                     \
    }
    {"G5", "a key of no bytes", PATCH(24, "\0\0\0\0\0\0\0\0"), 4, KEY},
    {"G5", "a key of 65536 bytes", PATCH(24, "\0\0\1\0\0\0\0\0"), 4, KEY},
    {"G5", "a key of 2^64 - 1 bytes", PATCH(24, "\xff\xff\xff\xff\xff\xff\xff\xff"), 4, KEY},
    {"G5", "a key that is not UTF-8", PATCH(34, "\xff"), 4, {"metadata entry 0", "at byte 24", "ge\\xff"}},
    {"G5", "a key with NUL", PATCH(34, "\0"), 4, {"metadata entry 0", "at byte 24", "ge\\x00"}},
    {"G6",
     "a string of 2^64 - 1 bytes",
     PATCH(56, "\xff\xff\xff\xff\xff\xff\xff\xff"),
     4,
     {"general.architecture", "at byte 56", "18446744073709551615"}},
    {"G6",
     "a string of 2^24 bytes",
     PATCH(56, "\0\0\0\1\0\0\0\0"),
     4,
     {"general.architecture", "ends at byte"}},
};

#define SET(...)                                                                                             \
    gguf_make_set, &(const struct gguf_value)                                                                \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define ONE   "\1\0\0\0\0\0\0\0"
#define LARGE "\0\0\0\0\0\0\0\x20" /* 2^61 */
static const struct bad_case metadata[] = {
    {"G7",
     "an array of arrays",
     SET("odd", ARRAY, BYTES("\x09\0\0\0" ONE)),
     4,
     {"\"odd\"", "array of arrays"}},
    {"G7", "an array of type 13", SET("odd", ARRAY, BYTES("\x0d\0\0\0" ONE)), 4, {"\"odd\"", "type 13"}},
    {"G7", "an array of type 255", SET("odd", ARRAY, BYTES("\xff\0\0\0" ONE)), 4, {"\"odd\"", "type 255"}},
    {"G7", "a bool of 2", SET("odd", BOOL, BYTES("\2")), 4, {"\"odd\"", "bool of 2"}},
    {"G7",
     "a bool of 2 in an array",
     SET("odd", ARRAY, BYTES("\7\0\0\0" ONE "\2")),
     4,
     {"\"odd\"", "bool of 2"}},
    {"G7",
     "a size that wraps",
     SET("odd", ARRAY, BYTES("\x0a\0\0\0" LARGE)),
     4,
     {"\"odd\"", "2305843009213693952"}},
    {"G7", "a value of type 13", SET("odd", 13, BYTES("\0\0\0\0")), 4, {"\"odd\"", "type 13"}},
    {"G8",
     "2^30 empty strings",
     strings,
     &(uint64_t){1 << 30},
     4,
     {"\"a\"", "1073741824", "limit is 16777216"}},
    {"G8", "2^24 empty strings", strings, &(uint64_t){1 << 24}, 4, {"metadata entry 1"}},
    {"G9", "a key twice", twice, NULL, 4, {"\"general.name\" is there twice", "and at byte"}},
    {"G9", "a tensor twice", twice, "", 4, {"\"blk.0.attn_q.weight\" is there twice", "at byte"}},
    {"G9", "65536 keys that begin alike", many_keys, &(int){0}, 4, {"tensor"}},
    {"G9", "a key more", many_keys, &(int){1}, 4, {"65537"}},
#define ALIGN(what, s)                                                                                       \
    {                                                                                                        \
        "G10", what, SET("general.alignment", U32, BYTES(s)), 4,                                             \
        {                                                                                                    \
            "general.alignment", "power of two", "byte"                                                      \
        }                                                                                                    \
    }
    ALIGN("alignment 0", "\0\0\0\0"),
    ALIGN("alignment 3", "\3\0\0\0"),
    ALIGN("alignment 7", "\7\0\0\0"),
    ALIGN("alignment 2^31", "\0\0\0\x80"),
    {"G10",
     "alignment as text",
     SET("general.alignment", STRING, BYTES("32")),
     4,
     {"general.alignment", "a string"}},
    {"G10",
     "alignment as float",
     SET("general.alignment", F32, BYTES("\0\0\0\x42")),
     4,
     {"general.alignment", "a float"}},
};

#define Q "blk.0.attn_q.weight"
#define INFO(...)                                                                                            \
    info, &(const struct info)                                                                               \
    {                                                                                                        \
        .name = Q, __VA_ARGS__                                                                               \
    }
#define DIMS(n, ...) INFO(.n_dim = n, .dim = {__VA_ARGS__})
static const struct bad_case tensors[] = {
    {"G11", "5 dimensions", DIMS(5, 32, 1, 1, 1), 4, {Q, "5 dimensions"}},
    {"G11", "2^32 - 1 dimensions", DIMS(UINT32_MAX, 32, 1, 1, 1), 4, {Q, "4294967295 dimensions"}},
    {"G11", "an extent of 0", DIMS(2, 64, 0), 4, {Q, "dimension of 0"}},
    {"G11", "an extent of 2^63", DIMS(2, 64, (uint64_t)1 << 63), 4, {Q, "-9223372036854775808"}},
    {"G11", "elements that wrap", DIMS(2, (uint64_t)1 << 32, (uint64_t)1 << 32), 4, {Q, "elements"}},
    {"G11",
     "bytes beyond the file",
     DIMS(1, (uint64_t)1 << 62),
     4,
     {Q, "4899916394579099648 bytes", "beyond the file"}},
    {"G11",
     "bytes that wrap",
     info,
     &(const struct info){.name = "output_norm.weight", .n_dim = 1, .dim = {(uint64_t)1 << 62}},
     4,
     {"output_norm.weight", "more bytes than 64 bits"}},
    {"G12",
     "a name of 64 bytes",
     INFO(.as = "0123456789012345678901234567890123456789012345678901234567890123"),
     4,
     {"tensor 2", "64 bytes", "limit is 63"}},
    {"G12", "an empty name", INFO(.as = ""), 4, {"tensor 2", "\"\""}},
    {"G12", "control characters in a name", INFO(.as = "\x1b[31m\n"), 4, {"\"\\x1b[31m\\x0a\""}},
    {"G13", "type -1", INFO(.type = UINT32_MAX), 4, {Q, "-1", "Q8_0"}},
    {"G13", "type 4, which was removed", INFO(.type = 4), 4, {Q, "Q4_2 (number 4 ", "take the Q4_0 file"}},
    {"G13", "rearranged", INFO(.type = 33), 4, {Q, "Q4_0_8_8 (number 33 ", "removed: take the Q4_0"}},
    {"G13", "the same of IQ4_NL", INFO(.type = 36), 4, {Q, "IQ4_NL_4_4", "take the IQ4_NL file"}},
    {"G13", "the first unknown type", INFO(.type = 43), 4, {Q, "number 43", "Q8_0"}},
    {"G13", "type 2^31", INFO(.type = 0x80000000u), 4, {Q, "-2147483648"}},
    {"G13",
     "a type that carat does not read",
     INFO(.type = 24, .n_dim = 2, .dim = {64, 68}),
     4,
     {Q, "I8", "Q8_0"}},
    {"G14", "rows that end inside a block", DIMS(2, 48, 64), 4, {Q, "48 elements", "multiple of 32"}},
    {"G14", "of IQ2_XXS", INFO(.type = T_IQ2_XXS), 4, {Q, "64 elements", "multiple of 256"}},
    {"G14", "of IQ1_M", INFO(.type = T_IQ1_M), 4, {Q, "64 elements", "multiple of 256"}},
    {"G14", "of TQ1_0", INFO(.type = T_TQ1_0), 4, {Q, "64 elements", "multiple of 256"}},
    {"G14", "of Q1_0", INFO(.type = T_Q1_0), 4, {Q, "64 elements", "multiple of 128"}},
    {"G14", "of NVFP4", INFO(.type = T_NVFP4, .n_dim = 2, .dim = {32, 64}), 4, {Q, "32 elements", "of 64"}},
    {"G15", "an unaligned offset", INFO(.shift = 8), 4, {Q, "alignment 32", "bytes", "file"}},
    {"G15", "overlap", INFO(.shift = -32), 4, {Q, "overlaps", "bytes", "file"}},
    {"G15", "a gap", INFO(.shift = 32), 4, {Q, "gap", "bytes", "file"}},
    {"G15", "far outside", INFO(.shift = INT64_MAX - 31), 4, {Q, "gap", "file"}},
    {"G15", "order", INFO(.shift = -77568), 4, {Q, "overlaps", "file"}},
    {"G16",
     "a byte missing, which is an end one too far",
     cut,
     &(struct cut){false, 1},
     4,
     {"output_norm.weight", ": 1 byte is missing", "ownload it again"}},
    {"G16",
     "a page missing",
     cut,
     &(struct cut){false, 4096},
     4,
     {" 4096 bytes are missing", "ownload it again"}},
    {"G16",
     "half of the data missing",
     cut,
     &(struct cut){false, 100000},
     4,
     {" 100000 bytes are missing", "ownload it again"}},
    {"G16", "all data missing", cut, &(struct cut){true, 0}, 4, {"bytes are missing", "ownload it again"}},
    {"G17", "a byte too much", trailing, &(struct bytes){BYTES("x")}, 0, {"1 byte ", "model.gguf"}},
    {"G17",
     "a ZIP archive behind it",
     trailing,
     &(struct bytes){BYTES("PK\3\4" LARGE LARGE)},
     0,
     {"20 bytes "}},
};

#define SPLIT(...) split, &(const struct split)__VA_ARGS__
static const struct bad_case parts[] = {
    {"G22",
     "part 2 alone",
     SPLIT({{0, 1}, {2, 2}, .open = SECOND, .omit = FIRST}),
     4,
     {SECOND, "part 2 of 2", "part 1"}},
    {"G22", "part 2 named", SPLIT({{0, 1}, {2, 2}, .open = SECOND}), 4, {SECOND, "part 2 of 2", "part 1"}},
    {"G22",
     "part 2 missing",
     SPLIT({{0, 1}, {2, 2}, .open = FIRST, .omit = SECOND}),
     4,
     {SECOND, "missing", "part 2"}},
    {"G22", "no parts", SPLIT({{0, 1}, {0, 2}, .open = FIRST}), 4, {FIRST, "split.count", "0"}},
    {"G22",
     "65535 parts",
     SPLIT({{0, 1}, {65535, 2}, .open = FIRST}),
     4,
     {FIRST, "split.count", "65535", "1024"}},
    {"G22",
     "3 parts, named as 2",
     SPLIT({{0, 1}, {3, 3}, .open = FIRST}),
     4,
     {FIRST, "3 parts", "-00001-of-00003.gguf"}},
    {"G22",
     "part 2 of another count",
     SPLIT({{0, 1}, {2, 3}, .open = FIRST}),
     4,
     {SECOND, "part 2 of 3", "different models"}},
    {"G22",
     "part 1 twice",
     SPLIT({{0, 0}, {2, 2}, .open = FIRST}),
     4,
     {SECOND, "part 1 of 2", "different models"}},
    {"G22", "part 3 of 2", SPLIT({{0, 2}, {2, 2}, .open = FIRST}), 4, {SECOND, "split.no"}},
    {"G22",
     "another number of tensors",
     SPLIT({{0, 1}, {2, 2}, {0, 9}, .open = FIRST}),
     4,
     {SECOND, "different models"}},
    {"G22",
     "tensors missing in all",
     SPLIT({{0, 1}, {2, 2}, {99, 99}, .open = FIRST}),
     4,
     {"28 tensors", "99"}},
    {"G22",
     "a part of a narrower model",
     SPLIT({{0, 1}, {2, 2}, .open = FIRST, .other = true}),
     4,
     {SECOND, "shape"}},
    {"G22",
     "a tensor in both",
     SPLIT({{0, 1}, {2, 2}, .open = FIRST, .again = "blk.0.attn_q.weight"}),
     4,
     {FIRST, SECOND, "twice"}},
    {"G22",
     "part 2 cut",
     SPLIT({{0, 1}, {2, 2}, .open = FIRST, .cut = 5}),
     4,
     {SECOND, " 5 bytes are missing"}},
    {"G22",
     "a renamed part 1",
     renamed,
     &(struct split){{0, 1}, {2, 2}, .open = FIRST},
     4,
     {"small.gguf", "-00001-of-00002.gguf"}},
};

static const struct bad_case large[] = {
    {"G25", "3 TB of zeros: the header", huge, NULL, 0},
    {"G25", "3 TB of zeros: running it", huge, NULL, 5, {"GB", "weights"}, {"run", "@", "hi", "-n", "1"}},
};

/* ---- tests ---- */

static void base_works(void **state)
{
    (void)state;
    BAD_RUN(base);
}

/* Every prefix up to the first value, then one in a while to the end of the header. */
static void prefixes(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t n = 4; n < 9000; n += n < 72 ? 1 : 211) {
        char end[32], what[32];
        snprintf(what, sizeof what, "%zu bytes of a file", n);
        snprintf(end, sizeof end, "ends at byte %zu", n);
        struct gguf g;
        size_t data;
        gguf_init(&g);
        struct buf b = gguf_bytes(&g, &data);
        assert_true(n < data);
        struct bytes head = {(const char *)b.p, n};
        struct bad_case c = {"G1", what, bytes, &head, 4, {"model.gguf"}};
        if (n < 24) /* later a count may speak first: it does not fit into what is left */
            c.says[1] = end;
        failed += !bad_try(&c);
        buf_free(&b);
        gguf_done(&g);
    }
    assert_int_equal(failed, 0);
}

static void begins_wrong(void **state)
{
    (void)state;
    BAD_RUN(beginnings);
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
static void parts_disagree(void **state)
{
    (void)state;
    BAD_RUN(parts);
}
static void does_not_fit(void **state)
{
    (void)state;
    BAD_RUN(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_works),    cmocka_unit_test(prefixes),    cmocka_unit_test(begins_wrong),
        cmocka_unit_test(metadata_lies), cmocka_unit_test(tensors_lie), cmocka_unit_test(parts_disagree),
        cmocka_unit_test(does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
