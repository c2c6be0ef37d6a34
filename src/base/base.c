/* SPDX-License-Identifier: Apache-2.0 */
/* base.c: the version, statuses and errors, what a caller gives back, and the one float conversion that is
 * too long for a header. */
#include "base/base.h"

#include "base/utf8.h"

#include <stdlib.h>

carat_status ct_fail(carat_error *err, carat_status code, const char *format, ...)
{
    char text[sizeof err->message + 1] = ""; /* one more: a character that is cut shows */

    if (!err)
        return code;
    CT_FORMAT(text, format);
    const size_t n = ct_utf8_cut(text, strlen(text), sizeof err->message - 1);
    for (size_t i = 0; i < n; i++) { /* a message is one line, whatever a name out of a file holds */
        const unsigned char c = (unsigned char)text[i];
        err->message[i] = c < 0x20 || c == 0x7f ? ' ' : text[i];
    }
    err->message[n] = 0;
    err->code = code;
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
    if (rest >= 0x38800000u) { /* normal, at least 2^-14: 13 bits go; a carry moves into the exponent */
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

const char *carat_version(void)
{
    return CARAT_VERSION;
}

const char *carat_status_name(carat_status status)
{
    static const char *const name[] = {
        "CARAT_OK",           "CARAT_E_ARGUMENT",    "CARAT_E_NOT_FOUND", "CARAT_E_IO",
        "CARAT_E_FORMAT",     "CARAT_E_UNSUPPORTED", "CARAT_E_MEMORY",    "CARAT_E_CONTEXT",
        "CARAT_E_REWIND",     "CARAT_E_NUMERIC",     "CARAT_E_CANCELLED", "CARAT_E_BUSY",
        "CARAT_E_CONSTRAINT",
    };
    return (size_t)status < CT_COUNT(name) ? name[status] : "unknown status";
}

void carat_free(void *p)
{
    free(p);
}
