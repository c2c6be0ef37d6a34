/* SPDX-License-Identifier: Apache-2.0 */
/* books_vnni.c: one token times chunks of books, with dots of bytes and vectors of 512 bits: entries are
 * multiplied where they were looked up, and never stored. Many tokens have a panel looked up once for all of
 * them (books.c).
 *
 * An entry is a load that replaces a lane of a vector, which with the load of its number and all that
 * follows takes 0.48 to 0.70 ns on a Cascade Lake, however lanes are filled (masked, blended or inserted
 * loads; numbers loaded one by one or shifted out of eight). A gather takes 1.6 ns an entry there, though the
 * system says that gathers need no mitigation on it. */
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/book_rows.h"
#include "kernel/x86/plane_groups.h"

/* ---- entries ---- */

/* Number i of a run of rows: of those that book_rows.h notes, or bytes as they lie, four of a row. */
INLINE size_t number_at(const void *numbers, int i, const bool bytes)
{
    return bytes ? ((const uint8_t *)numbers)[4 * i] : ((const uint32_t *)numbers)[i];
}

INLINE int64_t eight_at(const uint8_t *book, size_t number)
{
    int64_t v;
    memcpy(&v, book + 8 * number, 8);
    return v;
}

INLINE int32_t four_at(const uint8_t *book, size_t number)
{
    int32_t v;
    memcpy(&v, book + 4 * number, 4);
    return v;
}

/* Entries of 8 weights of the rows from, from + 1, from + 4, from + 5, from + 8 and so on. */
INLINE ivec eight_rows(const uint8_t *book, const void *numbers, int from, const bool bytes)
{
    ivec v[2];

    UNROLL for (int i = 0; i < 2; i++, from += 8)
    {
        v[i] = _mm512_set1_epi64(eight_at(book, number_at(numbers, from, bytes)));
        v[i] = _mm512_mask_set1_epi64(v[i], 0x22, eight_at(book, number_at(numbers, from + 1, bytes)));
        v[i] = _mm512_mask_set1_epi64(v[i], 0x44, eight_at(book, number_at(numbers, from + 4, bytes)));
        v[i] = _mm512_mask_set1_epi64(v[i], 0x88, eight_at(book, number_at(numbers, from + 5, bytes)));
    }
    return _mm512_mask_mov_epi64(v[0], 0xf0, v[1]);
}

/* Entries of 4 weights of all rows. */
INLINE ivec sixteen_rows(const uint8_t *book, const void *numbers, const bool bytes)
{
    ivec v[4];

    UNROLL for (int i = 0; i < 4; i++)
    {
        v[i] = _mm512_set1_epi32(four_at(book, number_at(numbers, 4 * i, bytes)));
        v[i] = _mm512_mask_set1_epi32(v[i], 0x2222, four_at(book, number_at(numbers, 4 * i + 1, bytes)));
        v[i] = _mm512_mask_set1_epi32(v[i], 0x4444, four_at(book, number_at(numbers, 4 * i + 2, bytes)));
        v[i] = _mm512_mask_set1_epi32(v[i], 0x8888, four_at(book, number_at(numbers, 4 * i + 3, bytes)));
    }
    v[0] = _mm512_mask_mov_epi32(v[0], 0x00f0, v[1]);
    v[2] = _mm512_mask_mov_epi32(v[2], 0xf000, v[3]);
    return _mm512_mask_mov_epi32(v[0], 0xff00, v[2]);
}

/* v or, where one of the bits is set, 2 ZERO less it. */
INLINE ivec with_signs(ivec v, ivec signs, ivec bit)
{
    return _mm512_mask_sub_epi8(v, _mm512_test_epi8_mask(signs, bit), _mm512_setzero_si512(), v);
}

INLINE ivec eight_of(const int8_t *q)
{
    int64_t v;
    memcpy(&v, q, 8);
    return _mm512_set1_epi64(v);
}

/* ---- products ---- */

/* What differs between the types; all constant where it is used. */
struct look {
    read_rows *read;
    int header, stride; /* bytes before lines of a group, and of them */
    int size;           /* weights of an entry */
    bool bytes;         /* are numbers, in lines that come first */
    bool halves;        /* have scales of their own */
    bool eighth;
};

/* Numbers of entry e of a group. */
INLINE const void *numbers_of(const struct look look, const struct rows *rows, const uint8_t *lines, int e)
{
    return look.bytes ? (const void *)(lines + LINE * (e / 4) + e % 4) : (const void *)rows->number[e];
}

/* Sums of n entries of 8 weights from e on, whose signs are the lowest bits. Those of the first and of the
 * last four weights of an entry lie side by side until the end. */
INLINE ivec multiply_eights(const struct look look, const struct rows *rows, const uint8_t *lines,
                            const uint8_t *book, const int8_t *q, int e, const int n, ivec *signs,
                            int32_t first)
{
    const ivec bit = _mm512_set1_epi64((int64_t)0x8040201008040201u);
    const ivec even = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0404040404040404, 0));
    const ivec odd = _mm512_or_si512(even, _mm512_set1_epi8(8));
    ivec pairs[2];

    pairs[0] = pairs[1] = _mm512_set1_epi64((uint32_t)first);
#pragma GCC unroll 1
    for (const int end = e + n; e < end; e++) {
        const ivec x = eight_of(q + 8 * e);
        const void *numbers = numbers_of(look, rows, lines, e);
        UNROLL for (int i = 0; i < 2; i++)
        {
            const ivec w = eight_rows(book, numbers, 2 * i, look.bytes);
            const ivec s = _mm512_shuffle_epi8(*signs, i ? odd : even);
            pairs[i] = DOT_BYTES(pairs[i], look.eighth ? _mm512_add_epi8(w, s) : with_signs(w, s, bit), x);
        }
        *signs = _mm512_srli_epi32(*signs, 8);
    }
    const fvec a = as_floats(pairs[0]), b = as_floats(pairs[1]);
    return _mm512_add_epi32(as_bits(_mm512_shuffle_ps(a, b, 0x88)), as_bits(_mm512_shuffle_ps(a, b, 0xdd)));
}

/* The same of a group of entries of 4. */
INLINE ivec multiply_fours(const struct look look, const struct rows *rows, const uint8_t *lines,
                           const uint8_t *book, const int8_t *q, int32_t first)
{
    const ivec bit = _mm512_set1_epi32(0x08040201);
    const ivec each = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    ivec sum = _mm512_set1_epi32(first), signs = rows->signs;

#pragma GCC unroll 1
    for (int e = 0; e < WORDS; e++) {
        const ivec w = sixteen_rows(book, numbers_of(look, rows, lines, e), look.bytes);
        sum = DOT_BYTES(sum, with_signs(w, _mm512_shuffle_epi8(signs, each), bit), same(q + 4 * e));
        signs = _mm512_srli_epi32(signs, 4);
    }
    return sum;
}

/* ---- a chunk ---- */

INLINE fvec chunk_factors(enum ct_type type, const uint8_t *chunk)
{
    __m256i d = load_half(chunk);

    if (type == CT_IQ1_M) { /* its bits are the upper ones of four scales */
        d = _mm256_srli_epi16(d, 12);
        UNROLL for (int i = 1; i < 4; i++) d =
            _mm256_or_si256(d, _mm256_slli_epi16(_mm256_srli_epi16(load_half(chunk + 32 * i), 12), 4 * i));
    }
    return _mm512_mul_ps(_mm512_cvtph_ps(d), _mm512_set1_ps(ct_books[type].unit));
}

INLINE void groups_of(float *to, enum ct_type type, const struct look look, const uint8_t *chunk,
                      const struct tokens *x, int at, int groups)
{
    const uint8_t *book = ct_books[type].entries, *lines = chunk + look.header;
    const fvec ws = chunk_factors(type, chunk);
    fvec acc = fvec_load(to);

#pragma GCC unroll 1
    for (int g = 0; g < groups; g++, at++, lines += look.stride) {
        const int8_t *q = x->q + CT_GROUP * at;
        const int32_t low = (int16_t)x->pair[at], high = x->pair[at] >> 16;
        struct rows rows;
        fvec value;

        look.read(&rows, &(struct lines){chunk, lines, lines, lines, g, 0});
        ivec s = _mm512_add_epi16(_mm512_add_epi16(rows.scale, rows.scale), _mm512_set1_epi16(1));
        if (look.size == 4) {
            value = _mm512_cvtepi32_ps(multiply_fours(look, &rows, lines, book, q, -ZERO * (low + high)));
            value = _mm512_mul_ps(value, half_scale(s, 0));
        } else {
            const int n = look.halves ? 2 : 4;
            ivec signs = rows.signs;
            value = _mm512_setzero_ps();
#pragma GCC unroll 1
            for (int e = 0; e < 4; e += n) {
                const int32_t first = -ZERO * (n == 4 ? low + high : e ? high : low);
                const ivec sum = multiply_eights(look, &rows, lines, book, q, e, n, &signs, first);
                value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), half_scale(s, 0), value);
                s = _mm512_srli_epi32(s, 16);
            }
        }
        acc = _mm512_fmadd_ps(value, _mm512_mul_ps(ws, _mm512_set1_ps(x->scale[at])), acc);
    }
    fvec_store(to, acc);
}

void ct_book_multiply_vnni(float *to, enum ct_type type, const uint8_t *from, const struct tokens *x, int at,
                           int groups)
{
    switch (type) {
#define TYPE(type, ...)                                                                                      \
    case type:                                                                                               \
        groups_of(to, type, (struct look){__VA_ARGS__}, from, x, at, groups);                                \
        break;
        CT_TYPES_OF_ENTRIES(TYPE)
#undef TYPE
    default:
        break;
    }
}
