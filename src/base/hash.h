/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h: XXH3, the one hash of the library: of files, vocabularies, templates and weights. xxHash is
 * compiled in one place, for speed; what is hashed, and why, is the caller's. */
#ifndef CT_HASH_H
#define CT_HASH_H

#include "base/base.h"

/* A hash under way over pieces; of 64 and 128 bits alike until the end. */
struct ct_hash {
    _Alignas(64) uint8_t state[576];
};
void ct_hash_begin(struct ct_hash *h);
void ct_hash_add(struct ct_hash *h, const void *p, size_t n);
uint64_t ct_hash_end64(const struct ct_hash *h);
/* The canonical, big-endian form. */
void ct_hash_end128(const struct ct_hash *h, uint8_t digest[16]);
uint64_t ct_hash64(const void *p, size_t n);
/* The bytes of a digest in hexadecimal digits, terminated; hex: [2 * n + 1]. */
void ct_hex(char *hex, const uint8_t *bytes, int n);

#endif
