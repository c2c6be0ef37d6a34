/* SPDX-License-Identifier: Apache-2.0 */
/* base.h: what every other file stands on: spans of bytes, errors, checked arithmetic, small conversions. It
 * knows nothing of models and of the system. */
#ifndef CT_BASE_H
#define CT_BASE_H

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "carat.h" /* carat_status and carat_error only */

/* A borrowed run of bytes; data == NULL means "absent". */
struct ct_bytes {
    const uint8_t *data;
    size_t size;
};

/* A borrowed string, not terminated. */
struct ct_str {
    const char *s;
    size_t n;
};

#define CT_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CT_MAX(a, b) ((a) > (b) ? (a) : (b))
#define CT_COUNT(a)  (sizeof(a) / sizeof((a)[0]))

/* ---- errors: built at the origin, passed upward untouched ---- */

/* Fills *err (when not NULL) with the code and one finished sentence, returns the code. */
carat_status ct_fail(carat_error *err, carat_status code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* E_MEMORY: "out of memory for <what>"; what is a path, or what was to be made. */
carat_status ct_no_memory(carat_error *err, const char *what);

/* In a variadic function: prints format and what follows it into the array text. */
#define CT_FORMAT(text, format)                                                                              \
    do {                                                                                                     \
        va_list ct_args_;                                                                                    \
        va_start(ct_args_, format);                                                                          \
        vsnprintf(text, sizeof(text), format, ct_args_);                                                     \
        va_end(ct_args_);                                                                                    \
    } while (0)

/* A size in a message: "12.34 MB". */
struct ct_size {
    char text[32];
};
struct ct_size ct_size(uint64_t bytes);

#define CT_TRY(call)                                                                                         \
    do {                                                                                                     \
        carat_status ct_try_ = (call);                                                                       \
        if (ct_try_ != CARAT_OK)                                                                             \
            return ct_try_;                                                                                  \
    } while (0)

/* ---- checked arithmetic: every size that comes from a file goes through these ---- */

/* True when the result fits; otherwise *out is not to be used. */
static inline bool ct_add(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool ct_mul(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline size_t ct_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* NULL gives a string of no bytes. */
static inline struct ct_str ct_str_of(const char *z)
{
    return (struct ct_str){z, z ? strlen(z) : 0};
}
static inline bool ct_str_same(struct ct_str a, struct ct_str b)
{
    return a.n == b.n && memcmp(a.s, b.s, a.n) == 0;
}
static inline bool ct_str_is(struct ct_str s, const char *z)
{
    return ct_str_same(s, ct_str_of(z));
}
static inline struct ct_bytes ct_str_bytes(struct ct_str s)
{
    return (struct ct_bytes){(const uint8_t *)s.s, s.n};
}

/* -1: c is no hexadecimal digit. */
static inline int ct_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Bit pattern <-> float, without aliasing tricks. */
static inline uint32_t ct_f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float ct_f32_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

/* Little-endian reads from unaligned storage; carat runs on little-endian machines only. */
static inline uint16_t ct_le16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
}
static inline uint32_t ct_le32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t ct_le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* f16 and bf16 conversions, round to nearest even; NaN stays NaN. */
static inline float ct_bf16_to_f32(uint16_t h)
{
    return ct_f32_from_bits((uint32_t)h << 16);
}
static inline uint16_t ct_f32_to_bf16(float f)
{
    uint32_t u = ct_f32_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((u >> 16) | 0x40);
    return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
static inline float ct_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
    if (rest >= 0x7c00u)
        return ct_f32_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest >= 0x0400u)
        return ct_f32_from_bits(sign | ((rest << 13) + 0x38000000u));
    float f = (float)rest * 0x1p-24f; /* subnormal or zero: exact */
    return ct_f32_from_bits(sign | ct_f32_bits(f));
}
uint16_t ct_f32_to_f16(float f);

#endif
