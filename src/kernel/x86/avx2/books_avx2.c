/* SPDX-License-Identifier: Apache-2.0 */
/* books_avx2.c: looking up with vectors of 256 bits, 8 rows at once: a lane is a row. Entries are loads that
 * are blended into vectors, for gathers take several times as long on some processors. The tables are those
 * of books.c, and so are the bytes written. */
#include "kernel/books.h"
#include "kernel/x86/avx2/simd_avx2.h"

enum { ZERO = 128, LINE = 64, WORDS = CT_GROUP / 4 };

/* ---- what 8 rows of a group have ---- */

struct rows {
    uint32_t number[WORDS][VEC]; /* of entries */
    ivec signs;                  /* of 8 weights a byte; or 1 more or less, for an eighth */
    ivec scale;                  /* s of both halves, 16 bits each */
};

/* Where they lie: the lines of the group, at the 8 rows where lines have 4, 2 and 1 bytes of a row. */
struct lines {
    const uint8_t *chunk, *four, *two, *one;
    int g, row;
};

INLINE ivec bits(ivec v, int from, int n)
{
    return BITS(and)(V(srli_epi32)(v, from), V(set1_epi32)((1 << n) - 1));
}

INLINE void note(struct rows *to, int e, ivec number)
{
    BITS(storeu)((void *)to->number[e], number);
}

INLINE ivec both(ivec first, ivec second)
{
    return BITS(or)(first, V(slli_epi32)(second, 16));
}

INLINE ivec nibbles(const uint8_t *p)
{
    const ivec v = bytes_unsigned(p);
    return both(bits(v, 0, 4), bits(v, 4, 4));
}

/* Four times seven bits as bytes, the eighth bit of which makes their number even. */
INLINE ivec four_signs(ivec v)
{
    static const int8_t odd[16] = {0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0};
    ivec s = BITS(and)(v, V(set1_epi32)(0x7f));

    UNROLL for (int i = 1; i < 4; i++) s =
        BITS(or)(s, BITS(and)(V(slli_epi32)(v, i), V(set1_epi32)(0x7f << 8 * i)));
    const ivec nibble = BITS(and)(BITS(xor)(s, V(srli_epi32)(s, 4)), V(set1_epi8)(15));
    return BITS(or)(s, V(shuffle_epi8)(sixteen(odd), nibble));
}

/* n numbers, whose lower eight bits lie in lines of four; bit 8 and those above it are n_high bits of `high`,
 * `apart` from one number to the next. */
INLINE void numbers(struct rows *to, const uint8_t *lines, const int n, ivec high, int n_high, int apart)
{
    UNROLL for (int i = 0; i < n; i += 4)
    {
        const ivec v = ivec_load(lines + LINE * (i / 4));
        UNROLL for (int e = i; e < i + 4; e++)
            note(to, e, BITS(or)(bits(v, 8 * (e - i), 8), V(slli_epi32)(bits(high, apart * e, n_high), 8)));
    }
}

typedef void read_rows(struct rows *to, const struct lines *at);

static void read_iq2_xxs(struct rows *to, const struct lines *at)
{
    const ivec v = ivec_load(at->four + LINE), s = V(srli_epi32)(v, 28);

    numbers(to, at->four, 4, v, 0, 0);
    to->signs = four_signs(v);
    to->scale = both(s, s);
}

static void read_iq2_xs(struct rows *to, const struct lines *at)
{
    const ivec v = ivec_load(at->four), w = ivec_load(at->four + LINE);

    note(to, 0, bits(v, 0, 9));
    note(to, 1, bits(v, 16, 9));
    note(to, 2, bits(w, 0, 9));
    note(to, 3, bits(w, 16, 9));
    to->signs =
        four_signs(BITS(or)(BITS(or)(bits(v, 9, 7), V(slli_epi32)(bits(v, 25, 7), 7)),
                            BITS(or)(V(slli_epi32)(bits(w, 9, 7), 14), V(slli_epi32)(bits(w, 25, 7), 21))));
    to->scale = nibbles(at->one + 2 * LINE);
}

static void read_iq2_s(struct rows *to, const struct lines *at)
{
    numbers(to, at->four, 4, bytes_unsigned(at->one + 2 * LINE), 2, 2);
    to->signs = ivec_load(at->four + LINE);
    to->scale = nibbles(at->one + 2 * LINE + CT_PANEL_ROWS);
}

static void read_iq3_xxs(struct rows *to, const struct lines *at)
{
    const ivec v = ivec_load(at->four + 2 * LINE), s = V(srli_epi32)(v, 28);

    numbers(to, at->four, 8, v, 0, 0);
    to->signs = four_signs(v);
    to->scale = both(s, s);
}

static void read_iq3_s(struct rows *to, const struct lines *at)
{
    const uint8_t *scales = at->chunk + LINE + CT_PANEL_ROWS * (at->g / 2) + at->row;
    const ivec s = bits(bytes_unsigned(scales), 4 * (at->g % 2), 4);

    numbers(to, at->four, 8, bytes_unsigned(at->one + 3 * LINE), 1, 1);
    to->signs = ivec_load(at->four + 2 * LINE);
    to->scale = both(s, s);
}

/* Bytes of one bit: 1 more where it is clear, 1 less where it is set. */
INLINE ivec eighths(ivec set)
{
    return V(sub_epi8)(V(set1_epi8)(1), V(add_epi8)(set, set));
}

static void read_iq1_s(struct rows *to, const struct lines *at)
{
    const ivec v = words_unsigned(at->two + LINE), s = bits(v, 12, 3);

    numbers(to, at->four, 4, v, 3, 3);
    to->signs = eighths(V(mullo_epi32)(bits(v, 15, 1), V(set1_epi32)(0x01010101)));
    to->scale = both(s, s);
}

static void read_iq1_m(struct rows *to, const struct lines *at)
{
    const ivec v = words_unsigned(at->two + LINE);
    const ivec s = words_unsigned(at->chunk + 32 * (at->g / 2) + 2 * at->row);
    const int from = 6 * (at->g % 2);
    ivec set = bits(v, 3, 1);

    numbers(to, at->four, 4, v, 3, 4);
    UNROLL for (int e = 1; e < 4; e++) set = BITS(or)(set, V(slli_epi32)(bits(v, 4 * e + 3, 1), 8 * e));
    to->signs = eighths(set);
    to->scale = both(bits(s, from, 3), bits(s, from + 3, 3));
}

static const struct place {
    read_rows *read;
    int header, stride; /* bytes before lines of a group, and of them */
} places[CT_TYPE_COUNT] = {
    [CT_IQ2_XXS] = {read_iq2_xxs, 64, 128}, [CT_IQ2_XS] = {read_iq2_xs, 64, 144},
    [CT_IQ2_S] = {read_iq2_s, 64, 160},     [CT_IQ3_XXS] = {read_iq3_xxs, 64, 192},
    [CT_IQ3_S] = {read_iq3_s, 128, 208},    [CT_IQ1_S] = {read_iq1_s, 64, 96},
    [CT_IQ1_M] = {read_iq1_m, 128, 96},
};

/* ---- entries ---- */

INLINE __m256i eight_bytes(const uint8_t *book, uint64_t number)
{
    int64_t v;
    memcpy(&v, book + 8 * number, 8);
    return _mm256_set1_epi64x(v);
}

INLINE __m256i four_bytes(const uint8_t *book, uint64_t number)
{
    return same(book + 4 * number);
}

/* Entries of 8 bytes of the rows n[0], n[1], n[4], n[5]. */
INLINE __m256i four_rows(const uint8_t *book, const uint32_t *n)
{
    __m256i v = eight_bytes(book, n[0]);

    v = _mm256_blend_epi32(v, eight_bytes(book, n[1]), 0x0c);
    v = _mm256_blend_epi32(v, eight_bytes(book, n[4]), 0x30);
    return _mm256_blend_epi32(v, eight_bytes(book, n[5]), 0xc0);
}

/* Entries of 4 bytes of 8 rows. */
INLINE __m256i eight_rows(const uint8_t *book, const uint32_t *n)
{
    __m256i v = four_bytes(book, n[0]);

#define ROW(i) v = _mm256_blend_epi32(v, four_bytes(book, n[i]), 1 << i)
    ROW(1);
    ROW(2);
    ROW(3);
    ROW(4);
    ROW(5);
    ROW(6);
    ROW(7);
#undef ROW
    return v;
}

/* Byte e of each lane four times. */
INLINE ivec four_times(ivec v, const int e)
{
    const ivec first =
        V(setr_epi32)(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404, 0x08080808, 0x0c0c0c0c);
    return V(shuffle_epi8)(v, V(add_epi8)(first, V(set1_epi8)((char)e)));
}

/* v or, where one of the bits is set, 2 ZERO less it. */
INLINE ivec with_signs(ivec v, ivec signs, int upper)
{
    const ivec bit = V(set1_epi32)((int)(upper ? 0x80402010 : 0x08040201));
    const ivec minus = V(cmpeq_epi8)(BITS(and)(signs, bit), bit);
    return V(sub_epi8)(BITS(xor)(v, minus), minus);
}

INLINE void write_eights(uint8_t (*to)[CT_PANEL_ROWS][4], const struct rows *rows, const uint8_t *book,
                         const bool eighth)
{
    UNROLL for (int e = 0; e < WORDS / 2; e++)
    {
        const fvec a = (fvec)four_rows(book, rows->number[e]), b = (fvec)four_rows(book, rows->number[e] + 2);
        const ivec low = (ivec)V(shuffle_ps)(a, b, 0x88), high = (ivec)V(shuffle_ps)(a, b, 0xdd);
        const ivec signs = four_times(rows->signs, e);
        BITS(storeu)((void *)to[2 * e], eighth ? V(add_epi8)(low, signs) : with_signs(low, signs, 0));
        BITS(storeu)((void *)to[2 * e + 1], eighth ? V(add_epi8)(high, signs) : with_signs(high, signs, 1));
    }
}

INLINE void write_fours(uint8_t (*to)[CT_PANEL_ROWS][4], const struct rows *rows, const uint8_t *book)
{
    UNROLL for (int e = 0; e < WORDS; e++) BITS(storeu)(
        (void *)to[e], with_signs(eight_rows(book, rows->number[e]), four_times(rows->signs, e / 2), e % 2));
}

/* ---- digits ---- */

/* Each of n digits of half a line to where the group of its weights is, `apart` bytes from one to the
 * next. */
INLINE void put_digits(uint8_t *to, const uint8_t *line, int n, size_t apart)
{
    ivec x = ivec_load(line);

    for (int i = 0; i < n; i++, to += apart) { /* a digit is 3 x / 256 */
        const ivec one = V(cmpeq_epi8)(V(max_epu8)(x, V(set1_epi8)(86)), x);
        const ivec two = V(cmpeq_epi8)(V(max_epu8)(x, V(set1_epi8)((char)171)), x);
        BITS(storeu)((void *)to, V(sub_epi8)(V(sub_epi8)(V(set1_epi8)(ZERO - 1), one), two));
        x = V(add_epi8)(V(add_epi8)(x, x), x);
    }
}

static void books_digits(struct ct_looked_up *to, const uint8_t *chunk)
{
    const size_t half = sizeof to->word[0] / 2;
    const uint8_t *lines = chunk + LINE;
    uint8_t *at = to->word[0][0][0];

    memset(to->scale, 1, sizeof to->scale);
    for (size_t i = 0; i < 8 * LINE; i += sizeof(ivec)) /* groups 0 to 4 */
        put_digits(at + i, lines + i, 5, 2 * half);
    for (size_t i = 0; i < 4 * LINE; i += sizeof(ivec)) /* five halves from group 5 on */
        put_digits(at + 10 * half + i, lines + 8 * LINE + i, 5, half);
    for (size_t i = 0; i < LINE; i += sizeof(ivec)) /* four words are the last half */
        put_digits(at + 15 * half + i, lines + 12 * LINE + i, 4, LINE);
}

/* ---- a chunk ---- */

static const struct ct_book *books;

void ct_book_init_avx2(const struct ct_book *of)
{
    books = of;
}

static void books_factors(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk)
{
    __m256i d = _mm256_loadu_si256((const void *)chunk);

    if (type == CT_IQ1_M) { /* its bits are the upper ones of four scales */
        d = _mm256_srli_epi16(d, 12);
        for (int i = 1; i < 4; i++) {
            const __m256i top = _mm256_srli_epi16(_mm256_loadu_si256((const void *)(chunk + 32 * i)), 12);
            d = _mm256_or_si256(d, _mm256_slli_epi16(top, 4 * i));
        }
    }
    const fvec unit = V(set1_ps)(books[type].unit);
    fvec_store(to->ws, V(cvtph_ps)(_mm256_castsi256_si128(d)) * unit);
    fvec_store(to->ws + VEC, V(cvtph_ps)(_mm256_extracti128_si256(d, 1)) * unit);
}

void ct_look_up_avx2(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk)
{
    const struct ct_book *b = &books[type];
    const struct place *p = &places[type];
    struct rows rows;

    books_factors(to, type, chunk);
    if (type == CT_TQ1_0) {
        books_digits(to, chunk);
        return;
    }
    for (int i = 0; i < PARTS * CT_BOOK_GROUPS; i++) {
        const int g = i / PARTS, row = i % PARTS * VEC;
        const uint8_t *lines = chunk + p->header + p->stride * g;
        uint8_t(*words)[CT_PANEL_ROWS][4] = (void *)to->word[g][0][row];
        p->read(&rows, &(struct lines){chunk, lines + 4 * row, lines + 2 * row, lines + row, g, row});
        const ivec s = V(add_epi16)(V(add_epi16)(rows.scale, rows.scale), V(set1_epi16)(1));
        _mm_storeu_si128((void *)to->scale[g][row],
                         _mm256_castsi256_si128(_mm256_permute4x64_epi64(V(packus_epi16)(s, s), 0x08)));
        if (b->size == 4)
            write_fours(words, &rows, b->entries);
        else if (b->eighth)
            write_eights(words, &rows, b->entries, true);
        else
            write_eights(words, &rows, b->entries, false);
    }
}
