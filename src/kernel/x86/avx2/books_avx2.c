/* SPDX-License-Identifier: Apache-2.0 */
/* books_avx2.c: looking up with vectors of 256 bits, 8 rows at once. Entries are loads that are blended into
 * vectors, for gathers take several times as long on some processors (vnni/books_vnni.c). The tables are
 * those of books.c, and so are the bytes written. */
#include "kernel/x86/avx2/simd_avx2.h"

#include "kernel/x86/book_rows.h"

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

static const struct place {
    read_rows *read;
    int header, stride; /* bytes before lines of a group, and of them */
} places[CT_TYPE_COUNT] = {
#define TYPE(type, read, header, stride, ...) [type] = {read, header, stride},
    CT_TYPES_OF_ENTRIES(TYPE)
#undef TYPE
};

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
