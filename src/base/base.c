/* SPDX-License-Identifier: Apache-2.0 */
/* base.c: error construction and the one float conversion that is too long for a header. Names of status
 * codes and the version belong to src/api. */
#include "base/base.h"

carat_status ct_fail(carat_error *err, carat_status code, const char *format, ...)
{
    if (!err)
        return code;
    err->code = code;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    if (n < 0)
        err->message[0] = 0;

    /* Names out of files end up in messages: keep the promise of one line. */
    size_t length = strlen(err->message);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)err->message[i];
        if (c < 0x20 || c == 0x7f)
            err->message[i] = ' ';
    }
    /* A cut message must not end inside a UTF-8 sequence: drop an incomplete last character. */
    if (n >= (int)sizeof err->message) {
        size_t start = length;
        while (start > 0 && ((unsigned char)err->message[start - 1] & 0xc0) == 0x80)
            start--;
        if (start > 0) {
            unsigned char lead = (unsigned char)err->message[start - 1];
            size_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
            if (length - (start - 1) < want)
                err->message[start - 1] = 0;
        }
    }
    return code;
}

carat_status ct_no_memory(carat_error *err, const char *what)
{
    return ct_fail(err, CARAT_E_MEMORY, "out of memory for %s", what);
}

uint16_t ct_f32_to_f16(float f)
{
    uint32_t u = ct_f32_bits(f), rest = u & 0x7fffffffu;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000u);

    if (rest > 0x7f800000u) /* NaN: quiet, upper payload kept */
        return (uint16_t)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
    if (rest >= 0x477ff000u) /* 65520, halfway between the largest f16 and 2^16, rounds to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (rest >=
        0x38800000u) { /* normal, at least 2^-14: round away 13 bits; a carry moves into the exponent */
        rest += 0xfffu + (rest >> 13 & 1);
        return (uint16_t)(sign | (rest - 0x38000000u) >> 13);
    }
    if (rest <= 0x33000000u) /* at most 2^-25: a tie or less, goes to zero */
        return sign;
    /* Subnormal: the significand shifted to units of 2^-24, rounded by hand, so that the caller's
     * floating-point environment has no say. 14 <= shift <= 24. */
    uint32_t shift = 126 - (rest >> 23), m = (rest & 0x7fffffu) | 0x800000u;
    uint32_t half = 1u << (shift - 1), q = m >> shift, left = m & ((1u << shift) - 1);
    q += left > half || (left == half && (q & 1));
    return (uint16_t)(sign | q);
}

struct ct_size ct_size(uint64_t bytes)
{
    const double mb = (double)bytes / 1e6;
    struct ct_size s;

    snprintf(s.text, sizeof s.text, mb < 1e4 ? "%.2f MB" : "%.1f GB", mb < 1e4 ? mb : mb / 1e3);
    return s;
}
