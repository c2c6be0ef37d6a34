/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_packed.c: packed files that lie under right hashes, given to the command: header, sections, what
 * the index says of the whole, tables of the tokenizer. Each row changes one thing in a file that works.
 * Lists of the index are test_bad_packed_lists.c's; cuts at every length and changes of every byte are
 * test/file/test_packed.c's. */
#include "cli/model/bad_packed.h"

#include "text/tokenizer/tokenizer_parts.h"

/* ---- makers ---- */

/* As it is; with: enum base. */
static void good(struct bad_place *p, const void *with)
{
    struct packed k = made(with ? *(const enum base *)with : OF_GGUF);
    done(p, &k);
}

/* Only its first bytes, or more than all. */
static void length(struct bad_place *p, const void *with)
{
    int64_t n = *(const int64_t *)with;
    struct packed k = made(OF_GGUF);
    if (n > 0)
        k.file.n = (size_t)n;
    else
        put_zero(&k.file, (size_t)-n);
    done(p, &k);
}

/* A note of so many bytes. */
static void long_note(struct bad_place *p, const void *with)
{
    struct packed k = made(OF_GGUF);
    size_t n = *(const size_t *)with;
    char *text = malloc(n);
    assert_non_null(text);
    k.p.note = (struct ct_str){memset(text, 'a', n), n};
    packed_rewrite(&k);
    free(text);
    done(p, &k);
}

/* Terabytes of nothing between the sections and the index. */
static void holes(struct bad_place *p, const void *with)
{
    struct packed k = made(OF_GGUF);
    struct ct_packed_header h = packed_header(&k.file);
    const uint8_t *index = k.file.p + h.index_at;
    off_t at = (off_t)3 << 40;
    (void)with;
    struct ct_packed_header far = ct_packed_header((uint64_t)at, h.index_size, h.index_hash);
    memcpy(k.file.p, &far, sizeof far);
    bad_file(p, "x.carat", k.file.p, (size_t)h.index_at);
    FILE *f = fopen(p->path, "r+b");
    assert_non_null(f);
    if (truncate(p->path, at + (off_t)h.index_size) != 0 || fseeko(f, at, SEEK_SET) != 0)
        p->skip = true;
    else
        assert_int_equal(fwrite(index, 1, (size_t)h.index_size, f), h.index_size);
    fclose(f);
    packed_free(&k);
}

/* An index of the largest size and one byte more: of texts that say nothing. */
static void large_index(struct bad_place *p, const void *with)
{
    struct packed k = made(OF_GGUF);
    size_t whole = ct_packed_write_index(&k.p, NULL) + *(const size_t *)with, n = 0;
    struct ct_meta *meta = calloc(64, sizeof *meta);
    char *text = malloc(CT_PACKED_TEXT), key[64][24];
    assert_true(meta && text);
    memset(text, 'a', CT_PACKED_TEXT);
    memcpy(meta, k.p.meta, k.p.n_meta * sizeof *meta);
    k.p.meta = meta;
    while (whole < CT_PACKED_INDEX + *(const size_t *)with) {
        struct ct_meta *m = &meta[k.p.n_meta];
        snprintf(key[n], sizeof key[n], "%zu", 10 + n);
        *m = (struct ct_meta){.key = {key[n], 2}, .type = CT_META_STRING, .s = {text, 0}};
        size_t before = ct_packed_write_index(&k.p, NULL);
        k.p.n_meta++;
        size_t least = ct_packed_write_index(&k.p, NULL),
               left = CT_PACKED_INDEX + *(const size_t *)with - before;
        /* the last two share what is left, so that none is too small */
        m->s.n = CT_MIN(left <= CT_PACKED_TEXT ? left - (least - before) : (size_t)CT_PACKED_TEXT / 2,
                        (size_t)CT_PACKED_TEXT);
        whole = ct_packed_write_index(&k.p, NULL);
        n++;
    }
    packed_rewrite(&k);
    free(text);
    free(meta);
    done(p, &k);
}

/* ---- the rows ---- */

#define RUN                                                                                                  \
    {                                                                                                        \
        "run", "@", "a", "-n", "1", "--no-cache"                                                             \
    }
#define OTHERS &(const enum base)

static const struct bad_case base[] = {
    {"P0", "a packed GGUF file runs", good, NULL, 0, {0}, RUN},
    {"P0", "a packed directory runs", good, OTHERS{OF_HF}, 0, {0}, RUN},
    {"P0", "a packed file of gemma.cpp runs", good, OTHERS{OF_SBS}, 0, {0}, RUN},
    {"P0", "terabytes of holes", holes, NULL, 0},
    {"P0", "the largest index", large_index, &(const size_t){0}, 0},
};

static const struct bad_case headers[] = {
    {"P1", "8 bytes", length, I64_(8), 4, {"x.carat", "ends at byte 8"}},
    {"P1", "all but a byte of the header", length, I64_(55), 4, {"x.carat", "ends at byte 55"}},
    {"P1", "the header alone", length, I64_(56), 4, {"x.carat", "has 56 bytes", "expected"}},
    {"P1", "a page", length, I64_(4096), 4, {"x.carat", "has 4096 bytes", "expected"}},
    {"P1", "bytes behind it", length, I64_(-1), 4, {"x.carat", "expected"}},
    {"P2",
     "another layout",
     HEAD(layout, CT_PACKED_LAYOUT + 1),
     4,
     {"x.carat", "layout", "pack the model again"}},
    {"P2", "no layout", HEAD(layout, 0), 4, {"x.carat", "layout 0", "pack the model again"}},
    {"P2", "other numerics", HEAD(numerics, 77), 4, {"x.carat", "numerics 77", "pack the model again"}},
    {"P2", "a changed header", PATCH(HEADER, 20, 1, 1, true), 4, {"x.carat", "header", "damaged"}},
    {"P2", "a changed index", PATCH(FIRST, 70, 0xff, 1, true), 4, {"x.carat", "index", "damaged"}},
    {"P2", "another size", HEAD(file_size, 4096), 4, {"x.carat", "expected 4096"}},
    {"P2", "the index in the header", HEAD(index_at, 8), 4, {"x.carat", "from byte 8 on", "at the end"}},
    {"P2",
     "the index beyond the file",
     HEAD(index_at, UINT64_MAX),
     4,
     {"x.carat", "from byte 18446744073709551615"}},
    {"P2",
     "an index beyond all",
     HEAD(index_size, UINT64_MAX),
     4,
     {"x.carat", "has 18446744073709551615 bytes"}},
    {"P2", "no index", HEAD(index_size, 0), 4, {"x.carat", "has 0 bytes", "at the end"}},
    {"P2",
     "an index that is too large",
     large_index,
     &(const size_t){1},
     4,
     {"x.carat", "16777217", "at most 16777216"}},
};

static const struct bad_case fields[] = {
    {"P3",
     "a kind that there is not",
     SET_INDEX(kind, U32_(3)),
     4,
     {IN_IT, "the kind of the origin is 3", "0 to 2"}},
    {"P3", "a kind of many bits", SET_INDEX(kind, U32_(UINT32_MAX)), 4, {IN_IT, "4294967295"}},
    {"P3",
     "GGUF version 4",
     SET_INDEX(version, U32_(4)),
     4,
     {IN_IT, "the version of the origin is 4", "2 to 3"}},
    {"P3",
     "a directory with a version",
     SET_OF(OF_HF, INDEX, "", struct ct_packed, version, U32_(1)),
     4,
     {IN_IT, "0 to 0"}},
    {"P3",
     "a path without end",
     PATCH(FIRST, 8, UINT32_MAX, 4, false),
     4,
     {IN_IT, "path of the origin has 4294967295 bytes"}},
    {"P3",
     "a path that ends too soon",
     PATCH(FIRST, 8, 1, 4, false),
     4,
     {IN_IT, "path of the origin does not end in a 0"}},
    {"P3", "a path with a 0", SET_INDEX(origin, TEXT("a\0b")), 4, {IN_IT, "has a 0 among its 3 bytes"}},
    {"P3", "a note with a 0", SET_INDEX(note, TEXT("\0")), 4, {IN_IT, "the note has a 0"}},
    {"P3", "the longest note", long_note, &(const size_t){CT_PACKED_TEXT}, 0, {"aaaa"}},
    {"P3",
     "a note that is too long",
     long_note,
     &(const size_t){CT_PACKED_TEXT + 1},
     4,
     {IN_IT, "the note has 1048577 bytes", "at most 1048576"}},
    {"P3",
     "a note that moves the cursor",
     SET_INDEX(note, TEXT("so \x1b[31m it is")),
     0,
     {"so \\x1b[31m it is"}},
    {"P3",
     "weights of no size that there is",
     SET_INDEX(weight_bytes, U64_(UINT64_MAX)),
     4,
     {IN_IT, "size of the weights"}},
    {"P3",
     "weights that took too much",
     SET_INDEX(weight_bytes, U64_((uint64_t)1 << 40)),
     4,
     {"x.carat", "1099511627776 bytes", "parameters"}},
    {"P3",
     "too many unused tensors",
     SET_INDEX(n_unused, U32_(65537)),
     4,
     {IN_IT, "number of unused tensors is 65537"}},
    {"P3", "an unused tensor without a name", SET_INDEX(n_unused, U32_(1)), 4, {IN_IT, "unused tensor"}},
    {"P3", "no weights at all", SET_INDEX(n_weight, U32_(0)), 4, {"x.carat", "token_embd.weight is missing"}},
};

static const struct bad_case sections[] = {
    {"P9", "no data", SET_WEIGHT(Q_PROJ, data, NO_SECTION), 4, {"x.carat", Q_PROJ, "0 bytes"}},
    {"P9",
     "data in the header",
     SET_WEIGHT(Q_PROJ, data.at, U64_(0)),
     4,
     {IN_IT, "data of weight \"" Q_PROJ "\" begins at byte 0"}},
    {"P9",
     "data in another's",
     SET_WEIGHT(Q_PROJ, data.at, U64_(4096)),
     4,
     {IN_IT, "begins at byte 4096", "nothing else lies"}},
    {"P9",
     "data that reach into the next",
     SET_WEIGHT(Q_PROJ, data.size, U64_(1 << 17)),
     4,
     {IN_IT, "\"blk.0.attn_k.weight\" begins", "nothing else lies"}},
    {"P9",
     "data that reach into the index",
     SET_WEIGHT(Q_PROJ, data.size, U64_(1 << 26)),
     4,
     {IN_IT, "before the index"}},
    {"P9",
     "data of all bytes",
     SET_WEIGHT(Q_PROJ, data.size, U64_(UINT64_MAX)),
     4,
     {IN_IT, "18446744073709551615 bytes"}},
    {"P9",
     "data beyond the file",
     SET_WEIGHT(Q_PROJ, data.at, U64_((uint64_t)1 << 40)),
     4,
     {IN_IT, "before the index"}},
    {"P9",
     "data at the end of all",
     SET_WEIGHT(Q_PROJ, data.at, U64_(UINT64_MAX - 63)),
     4,
     {IN_IT, "before the index"}},
    {"P9",
     "data between two lines",
     SET_WEIGHT(NORM, data.at, U64_(4104)),
     4,
     {IN_IT, "expected a multiple of 64"}},
    {"P9",
     "bytes too few",
     SET_WEIGHT(Q_PROJ, data.size, U64_(64)),
     4,
     {"x.carat", Q_PROJ, "has 64 bytes, which is not 64 rows of 64 Q8_0"}},
    {"P9",
     "no bytes somewhere",
     SET_WEIGHT(Q_PROJ, data.size, U64_(0)),
     4,
     {IN_IT, "has no bytes, but begins"}},
    {"P9",
     "a side file in the header",
     SET_INDEX(side[0], &(const struct ct_section){0, 8, 0}),
     4,
     {IN_IT, "side file begins at byte 0"}},
    {"P9",
     "a side file that is too large",
     SET_INDEX(side[0], &(const struct ct_section){64, 17 << 20, 0}),
     4,
     {IN_IT, "at most 16777216"}},
    {"P9",
     "no config.json",
     SET_OF(OF_HF, INDEX, "", struct ct_packed, side[0], NO_SECTION),
     4,
     {"x.carat", "no config.json"}},
    {"P9",
     "no configuration of gemma.cpp",
     SET_OF(OF_SBS, INDEX, "", struct ct_packed, sbs, NO_SECTION),
     4,
     {"x.carat", "no blob \"config\""}},
    {"P9",
     "half a configuration of gemma.cpp",
     SET_OF(OF_SBS, INDEX, "", struct ct_packed, sbs.size, U64_(64)),
     4,
     {"x.carat", "\"config\""}},
    {"P9",
     "an odd configuration of gemma.cpp",
     SET_OF(OF_SBS, INDEX, "", struct ct_packed, sbs.size, U64_(63)),
     4,
     {"x.carat", "multiple of 4"}},
    {"P9",
     "a directory that is a GGUF file",
     SET_OF(OF_HF, INDEX, "", struct kinds, both, (&(const uint32_t[2]){CT_FILE_GGUF, 3})),
     4,
     {"x.carat", "general.architecture"}},
    {"P9", "a GGUF file that is one of gemma.cpp", SET_INDEX(kind, U32_(CT_FILE_SBS)), 4, {IN_IT, "version"}},
    {"P9",
     "a file of gemma.cpp that is GGUF",
     SET_OF(OF_SBS, INDEX, "", struct kinds, both, (&(const uint32_t[2]){CT_FILE_GGUF, 3})),
     4,
     {"x.carat", "no file of gemma.cpp"}},
    {"P9",
     "a GGUF file that is a directory",
     SET_OF(OF_GGUF, INDEX, "", struct kinds, both, (&(const uint32_t[2]){CT_FILE_HF, 0})),
     4,
     {"x.carat", "no config.json"}},
};

#define SCALAR(field, value, n)                                                                              \
    PATCH(TABLES, 64 + (int64_t)offsetof(struct ct_tokenizer, field), value, n, false)
#define TOKENS "x.carat", "tokenizer tables"
static const struct bad_case tables[] = {
    {"P10", "no tables", SET_INDEX(tables, NO_SECTION), 0, {"no tokenizer"}},
    {"P10",
     "tables beyond all",
     SET_INDEX(tables.size, U64_((uint64_t)1 << 40)),
     4,
     {IN_IT, "the tokenizer has 1099511627776 bytes"}},
    {"P10", "tables of 64 bytes", SET_INDEX(tables.size, U64_(64)), 4, {TOKENS, "64 bytes"}},
    {"P10", "tables that are cut", SET_INDEX(tables.size, U64_(4096)), 4, {TOKENS, "4096 bytes"}},
    {"P10", "no magic", PATCH(TABLES, 0, 'x', 1, false), 4, {TOKENS, "begin"}},
    {"P10", "another version", PATCH(TABLES, 8, 99, 4, false), 4, {TOKENS, "version 99"}},
    {"P10", "no source", SCALAR(source, UINT32_MAX, 4), 4, {TOKENS}},
    {"P10", "2^31 pieces", SCALAR(n, 1u << 31, 4), 4, {TOKENS}},
    {"P10", "a piece more", SCALAR(n, PIECES + 1, 4), 4, {TOKENS}},
    {"P10", "no piece", SCALAR(n, 0, 4), 4, {TOKENS}},
    {"P10", "texts without end", SCALAR(n_blob, UINT32_MAX, 4), 4, {TOKENS}},
    {"P10", "a mask with a hole", SCALAR(slot_mask, 0xfffb, 4), 4, {TOKENS}},
    {"P10", "all slots", SCALAR(slot_mask, UINT32_MAX, 4), 4, {TOKENS}},
    {"P10", "ranks beyond all", SCALAR(n_rank, UINT32_MAX, 4), 4, {TOKENS}},
    {"P10", "a bitmap of 2^60 bits", SCALAR(join_bits, 60, 4), 4, {TOKENS}},
    {"P10", "characters beyond Unicode", SCALAR(n_character, UINT32_MAX, 4), 4, {TOKENS}},
    {"P10", "no node", SCALAR(n_node, 0, 4), 4, {TOKENS}},
    {"P10", "nodes beyond the file", SCALAR(n_node, UINT32_MAX, 4), 4, {TOKENS}},
    {"P10", "an unknown piece beyond all", SCALAR(unknown, PIECES, 4), 4, {TOKENS}},
    {"P10", "a beginning beyond all", SCALAR(bos, 1u << 31, 4), 4, {TOKENS}},
    {"P10", "ends without end", SCALAR(n_end, 9, 4), 4, {TOKENS}},
    {"P10", "a byte that is no piece", SCALAR(byte_id[65], PIECES, 4), 4, {TOKENS}},
    {"P10", "a bool of 2", SCALAR(no_cut, 2, 1), 4, {TOKENS}},
};

/* ---- tests ---- */

static void base_works(void **state)
{
    (void)state;
    BAD_RUN(base);
}
static void headers_lie(void **state)
{
    (void)state;
    BAD_RUN(headers);
}
static void fields_lie(void **state)
{
    (void)state;
    BAD_RUN(fields);
}
static void sections_lie(void **state)
{
    (void)state;
    BAD_RUN(sections);
}
static void tables_lie(void **state)
{
    (void)state;
    BAD_RUN(tables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base_works),   cmocka_unit_test(headers_lie), cmocka_unit_test(fields_lie),
        cmocka_unit_test(sections_lie), cmocka_unit_test(tables_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
