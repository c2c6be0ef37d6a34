/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h: SHA-256 (FIPS 180-4), for what others sign and compare. Whatever this library alone reads is
 * hashed by hash.h, which is fifty times as fast. */
#ifndef CT_SHA256_H
#define CT_SHA256_H

#include "base/base.h"

enum { CT_SHA256 = 32, CT_SHA256_BLOCK = 64 };

struct ct_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[CT_SHA256_BLOCK]; /* the last bytes that fill none */
};
void ct_sha256_begin(struct ct_sha256 *s);
void ct_sha256_add(struct ct_sha256 *s, const void *p, size_t n);
void ct_sha256_end(struct ct_sha256 *s, uint8_t digest[CT_SHA256]);

#endif
