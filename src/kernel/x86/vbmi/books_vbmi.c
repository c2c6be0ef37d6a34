/* SPDX-License-Identifier: Apache-2.0 */
/* books_vbmi.c: looking up with permutations of bytes (AVX-512 VBMI), 64 entries at once, from codebooks as
 * packed as grids.h has them. The bytes written are those of books.c. A word is 4 weights of 16 rows; weights
 * are bits that a shift of its own brings to each byte, their sign's bit above them, and together they are a
 * place in a table of 64 bytes. */
#include "kernel/books.h"
#include "kernel/x86/avx512/simd_avx512.h"
#include "quant/grids.h"

enum { ZERO = 128, LINE = 64, WORDS = CT_GROUP / 4 };

/* ---- tables ---- */

/* The lower and the upper bytes of entries: four bits are a weight, or weights j and j + 4, two bits each. */
static _Alignas(LINE) struct {
    uint8_t iq2_xxs[2][256], iq2_xs[2][512], iq2_s[2][1024], iq1[2][2048];
    uint8_t iq3_xxs[2][256], iq3_s[2][512];
    uint8_t of_iq2[LINE], of_iq3_xxs[LINE], of_iq3_s[LINE], of_iq1[LINE]; /* what bits stand for */
} table;

/* Runs once: small, and not fast. */
#define ONCE __attribute__((cold))

static ONCE void pack_entries(uint8_t *to, const uint16_t *grid, int n, int size)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 4; j++) {
            const unsigned v = grid[i];
            const unsigned bits = size == 8 ? (v >> 2 * j & 3) | (v >> (8 + 2 * j) & 3) << 2 : v >> 3 * j & 7;
            to[n * (j / 2) + i] |= (uint8_t)(bits << j % 2 * 4);
        }
}

ONCE void ct_book_init_vbmi(void)
{
    pack_entries(table.iq2_xxs[0], ct_grid_iq2_xxs, 256, 8);
    pack_entries(table.iq2_xs[0], ct_grid_iq2_xs, 512, 8);
    pack_entries(table.iq2_s[0], ct_grid_iq2_s, 1024, 8);
    pack_entries(table.iq1[0], ct_grid_iq1, 2048, 8);
    pack_entries(table.iq3_xxs[0], ct_grid_iq3_xxs, 256, 4);
    pack_entries(table.iq3_s[0], ct_grid_iq3_s, 512, 4);
    for (int i = 0; i < LINE; i++) {
        const int sign2 = i & 4 ? -1 : 1, sign3 = i & 8 ? -1 : 1;
        table.of_iq2[i] = (uint8_t)(ZERO + sign2 * ct_levels_iq2[i & 3]);
        table.of_iq1[i] = (uint8_t)(ZERO + 8 * ((i & 3) - 1) + sign2);
        table.of_iq3_xxs[i] = (uint8_t)(ZERO + sign3 * ct_levels_iq3_xxs[i & 7]);
        table.of_iq3_s[i] = (uint8_t)(ZERO + sign3 * ct_levels_iq3_s[i & 7]);
    }
}

/* ---- bits ---- */

/* Byte j of the four of each row: 8 bits of what the row has from bit `from` + `step` * j on; bits before its
 * first and after its last are of no use. */
INLINE __m512i bits_from(const int from, const int step)
{
    const uint64_t first = 0x0101010101010101u * ((uint64_t)(from + 64) & 63);

    return _mm512_set1_epi64((int64_t)(first + 0x2020202000000000u + (uint64_t)step * 0x0302010003020100u));
}

INLINE __m512i bits_of(__m512i rows, const int from, const int step)
{
    return _mm512_multishift_epi64_epi8(bits_from(from, step), rows);
}

/* A byte, or 16 bits, of each row. */
INLINE __m512i row_bytes(const uint8_t *p)
{
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p));
}

INLINE __m512i row_shorts(const uint8_t *p)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p));
}

/* Seven bits of each byte, and an eighth that makes their number even. */
INLINE __m512i even_signs(__m512i v)
{
    const __m512i odd = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -128, -128, 0, -128, 0, 0, -128, -128, 0, 0, -128, 0, -128, -128, 0));
    const __m512i s = _mm512_and_si512(v, _mm512_set1_epi8(127));
    const __m512i nibble =
        _mm512_and_si512(_mm512_xor_si512(s, _mm512_srli_epi16(s, 4)), _mm512_set1_epi8(15));

    return _mm512_or_si512(s, _mm512_shuffle_epi8(odd, nibble));
}

/* ---- what a group has ---- */

struct group {
    __m512i low[2], high[2]; /* of its 64 numbers, or twice 64, 8 bits, and all from the eighth on */
    __m512i signs;           /* 32 bits of a row in which they are */
    __m256i scale;           /* s of both halves of a row, a byte each */
};

/* Of numbers all bits from the eighth on; v has the n above the eighth, from bit 1 of each byte on. */
INLINE __m512i high_bits(__m512i low, __m512i v, const int n)
{
    const __m512i eighth = _mm512_and_si512(_mm512_srli_epi16(low, 7), _mm512_set1_epi8(1));

    return _mm512_or_si512(eighth, _mm512_and_si512(v, _mm512_set1_epi8((char)(((1 << n) - 1) << 1))));
}

/* A number of each row as two bytes; two nibbles of a byte. */
INLINE __m256i twice(__m512i s)
{
    const __m256i v = _mm512_cvtepi32_epi16(s);
    return _mm256_or_si256(v, _mm256_slli_epi16(v, 8));
}

INLINE __m256i nibbles(const uint8_t *p)
{
    const __m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)p));
    return _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi16(v, 4)), _mm256_set1_epi16(0x0f0f));
}

/* Byte j of each row from bit `from` + 16 j of 64, half of which lie in a line and half in the next. */
INLINE __m512i bits_of_two(const uint8_t *lines, const int from)
{
    return _mm512_mask_mov_epi8(bits_of(ivec_load(lines), from, 16), 0xccccccccccccccccu,
                                bits_of(ivec_load(lines + LINE), from - 32, 16));
}

/* lines: of the group. */
INLINE struct group read_group(enum ct_type type, const uint8_t *chunk, const uint8_t *lines, int g,
                               const int size)
{
    struct group of = {.low = {ivec_load(lines), ivec_load(lines + (size == 4 ? LINE : 0))}};
    __m512i v;

    if (type == CT_IQ2_XXS || type == CT_IQ3_XXS) {
        v = ivec_load(lines + (size == 8 ? LINE : 2 * LINE));
        of.signs = even_signs(bits_of(v, 0, 7));
        of.scale = twice(_mm512_srli_epi32(v, 28));
        UNROLL for (int i = 0; i < 8 / size; i++) of.high[i] = high_bits(of.low[i], of.low[i], 0);
    } else if (size == 4) { /* IQ3_S */
        v = row_bytes(lines + 3 * LINE);
        of.high[0] = high_bits(of.low[0], bits_of(v, -1, 1), 1);
        of.high[1] = high_bits(of.low[1], bits_of(v, 3, 1), 1);
        of.signs = ivec_load(lines + 2 * LINE);
        v = _mm512_srli_epi32(row_bytes(chunk + LINE + CT_PANEL_ROWS * (g / 2)), (unsigned)(4 * (g % 2)));
        of.scale = twice(_mm512_and_si512(v, _mm512_set1_epi32(15)));
    } else if (type == CT_IQ2_XS) {
        of.low[0] = bits_of_two(lines, 0);
        of.high[0] = high_bits(of.low[0], bits_of_two(lines, 7), 1);
        of.signs = even_signs(bits_of_two(lines, 9));
        of.scale = nibbles(lines + 2 * LINE);
    } else if (type == CT_IQ2_S) {
        of.high[0] = high_bits(of.low[0], bits_of(row_bytes(lines + 2 * LINE), -1, 2), 2);
        of.signs = ivec_load(lines + LINE);
        of.scale = nibbles(lines + 2 * LINE + CT_PANEL_ROWS);
    } else if (type == CT_IQ1_S) {
        of.signs = row_shorts(lines + LINE);
        of.high[0] = high_bits(of.low[0], bits_of(of.signs, -1, 3), 3);
        of.scale = twice(_mm512_and_si512(_mm512_srli_epi32(of.signs, 12), _mm512_set1_epi32(7)));
    } else { /* IQ1_M */
        of.signs = row_shorts(lines + LINE);
        of.high[0] = high_bits(of.low[0], bits_of(of.signs, -1, 4), 3);
        v = _mm512_srli_epi32(row_shorts(chunk + 32 * (g / 2)), (unsigned)(6 * (g % 2)));
        v = _mm512_and_si512(v, _mm512_set1_epi32(0x3f));
        v = _mm512_or_si512(v, _mm512_slli_epi32(v, 5));
        of.scale = _mm256_and_si256(_mm512_cvtepi32_epi16(v), _mm256_set1_epi16(0x0707));
    }
    return of;
}

/* ---- entries ---- */

/* The entries of 64 numbers: of each row first the bits of two, then those of the two after them. */
INLINE void look_up_64(__m512i to[2], const uint8_t *book, int n, __m512i low, __m512i high)
{
    const uint8_t *upper = book + n;
    __m512i lower_byte = low, upper_byte = low;

#pragma GCC unroll 2
    for (int i = 0; i < n / 128; i++, book += 128, upper += 128) {
        const __mmask64 here = _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8((char)i));
        const __m512i a = _mm512_permutex2var_epi8(ivec_load(book), low, ivec_load(book + LINE));
        const __m512i b = _mm512_permutex2var_epi8(ivec_load(upper), low, ivec_load(upper + LINE));
        lower_byte = _mm512_mask_mov_epi8(lower_byte, here, a);
        upper_byte = _mm512_mask_mov_epi8(upper_byte, here, b);
    }
    const __m512 first = (__m512)_mm512_unpacklo_epi8(lower_byte, upper_byte);
    const __m512 second = (__m512)_mm512_unpackhi_epi8(lower_byte, upper_byte);
    to[0] = (__m512i)_mm512_shuffle_ps(first, second, 0x88);
    to[1] = (__m512i)_mm512_shuffle_ps(first, second, 0xdd);
}

static const struct book {
    const uint8_t *entries, *values;
    int n;              /* entries */
    int header, stride; /* bytes before lines of a group, and of them */
    int sign, each;     /* the bit of a row that is the first sign, and bits to that of 8 weights after it */
    bool single;        /* these have one in common */
    float unit;
} books[CT_TYPE_COUNT] = {
    [CT_IQ2_XXS] = {table.iq2_xxs[0], table.of_iq2, 256, 64, 128, 0, 8, false, 0.125f},
    [CT_IQ2_XS] = {table.iq2_xs[0], table.of_iq2, 512, 64, 144, 0, 8, false, 0.125f},
    [CT_IQ2_S] = {table.iq2_s[0], table.of_iq2, 1024, 64, 160, 0, 8, false, 0.125f},
    [CT_IQ3_XXS] = {table.iq3_xxs[0], table.of_iq3_xxs, 256, 64, 192, 0, 8, false, 0.25f},
    [CT_IQ3_S] = {table.iq3_s[0], table.of_iq3_s, 512, 128, 208, 0, 8, false, 1},
    [CT_IQ1_S] = {table.iq1[0], table.of_iq1, 2048, 64, 96, 15, 0, true, 0.125f},
    [CT_IQ1_M] = {table.iq1[0], table.of_iq1, 2048, 128, 96, 3, 4, true, 0.125f},
};

/* All groups of a chunk, whose entries are of `size` weights. */
INLINE void look_up_groups(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk, const int size)
{
    const struct book *b = &books[type];
    const int bits = size == 8 ? 2 : 3, lines = 8 / size;
    const __m512i low_bits = _mm512_set1_epi8((char)((1 << bits) - 1)), values = ivec_load(b->values);
    __m512i sign[WORDS / 2]; /* which bits are signs of 8 weights */

    for (int i = 0; i < WORDS / 2; i++)
        sign[i] = bits_from(b->sign + b->each * i - bits, b->single ? 0 : 1);
#pragma GCC unroll 1
    for (int g = 0; g < CT_BOOK_GROUPS; g++) {
        const struct group of = read_group(type, chunk, chunk + b->header + b->stride * g, g, size);
        __m512i two[4]; /* entries of each row */

        _mm256_storeu_si256((void *)to->scale[g],
                            _mm256_add_epi8(_mm256_add_epi8(of.scale, of.scale), _mm256_set1_epi8(1)));
        UNROLL for (int i = 0; i < lines; i++)
            look_up_64(two + 2 * i, b->entries, b->n, of.low[i], of.high[i]);
        UNROLL for (int i = 0; i < WORDS; i += 2)
        {
            const int entry = 4 * i / size;
            __m512i w = bits_of(two[entry / 2], entry % 2 * 16, 4);
            __m512i s = _mm512_multishift_epi64_epi8(sign[i / 2], of.signs);
            UNROLL for (int j = 0; j < 2; j++)
            {
                const __m512i v = _mm512_ternarylogic_epi32(w, s, low_bits, 0xe4);
                _mm512_storeu_si512((void *)to->word[g][i + j], _mm512_permutexvar_epi8(v, values));
                w = size == 8 ? _mm512_srli_epi16(w, 2) : bits_of(two[entry / 2], 16, 4);
                s = b->single ? s : _mm512_srli_epi16(s, 4);
            }
        }
    }
}

static void look_up_factors(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk)
{
    __m256i d = load_half(chunk);

    if (type == CT_IQ1_M) { /* its bits are the upper ones of four scales */
        const __m256i top = _mm256_set1_epi16((short)0xf000);
        d = _mm256_srli_epi16(d, 12);
        d = _mm256_or_si256(d, _mm256_srli_epi16(_mm256_and_si256(load_half(chunk + 32), top), 8));
        d = _mm256_or_si256(d, _mm256_srli_epi16(_mm256_and_si256(load_half(chunk + 64), top), 4));
        d = _mm256_or_si256(d, _mm256_and_si256(load_half(chunk + 96), top));
    }
    _mm512_store_ps(to->ws, _mm512_mul_ps(_mm512_cvtph_ps(d), _mm512_set1_ps(books[type].unit)));
}

/* ---- digits ---- */

/* Each of n digits of a line to where the group of its weights is, `apart` bytes from one to the next. */
INLINE void write_digits(uint8_t *to, const uint8_t *line, const int n, size_t apart)
{
    const __m512i one = _mm512_set1_epi8(1), least = _mm512_set1_epi8(ZERO - 1);
    __m512i x = ivec_load(line);

    UNROLL for (int i = 0; i < n; i++, to += apart)
    {
        __m512i digit = least; /* and 3 x / 256 */
        digit = _mm512_mask_add_epi8(digit, _mm512_cmpgt_epu8_mask(x, _mm512_set1_epi8(85)), digit, one);
        digit =
            _mm512_mask_add_epi8(digit, _mm512_cmpgt_epu8_mask(x, _mm512_set1_epi8((char)170)), digit, one);
        _mm512_storeu_si512((void *)to, digit);
        x = _mm512_add_epi8(_mm512_add_epi8(x, x), x);
    }
}

static void look_up_digits(struct ct_looked_up *to, const uint8_t *chunk)
{
    const size_t half = sizeof to->word[0] / 2;
    const uint8_t *lines = chunk + LINE;
    uint8_t *at = to->word[0][0][0];

    _mm512_store_ps(to->ws, halves(chunk));
    memset(to->scale, 1, sizeof to->scale);
#pragma GCC unroll 1
    for (size_t i = 0; i < 8; i++) /* groups 0 to 4 */
        write_digits(at + LINE * i, lines + LINE * i, 5, 2 * half);
#pragma GCC unroll 1
    for (size_t i = 0; i < 4; i++) /* five halves from group 5 on */
        write_digits(at + 10 * half + LINE * i, lines + LINE * (8 + i), 5, half);
    write_digits(at + 15 * half, lines + LINE * 12, 4, LINE); /* four words are the last half */
}

void ct_look_up_vbmi(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk)
{
    if (type == CT_TQ1_0) {
        look_up_digits(to, chunk);
        return;
    }
    look_up_factors(to, type, chunk);
    if (type == CT_IQ3_XXS || type == CT_IQ3_S)
        look_up_groups(to, type, chunk, 4);
    else
        look_up_groups(to, type, chunk, 8);
}
