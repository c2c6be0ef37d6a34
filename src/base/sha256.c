/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.c: see sha256.h. Names are those of FIPS 180-4. */
#include "base/sha256.h"

/* The first 32 bits of the fractions of the cube roots of the first 64 primes; section 4.2.2. */
static const uint32_t constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Section 6.2.2, for one block. */
static void take_block(struct ct_sha256 *s, const uint8_t *block)
{
    uint32_t w[64], v[8]; /* v: a to h */

    for (int t = 0; t < 16; t++)
        w[t] = big_endian(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        const uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = (rotr(y, 17) ^ rotr(y, 19) ^ y >> 10) + w[t - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ x >> 3) +
               w[t - 16];
    }
    memcpy(v, s->state, sizeof v);
    for (int t = 0; t < 64; t++) {
        const uint32_t a = v[0], e = v[4];
        const uint32_t choice = (e & v[5]) ^ (~e & v[6]), majority = (a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]);
        const uint32_t t1 = v[7] + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choice + constant[t] + w[t];
        const uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority;
        memmove(v + 1, v, 7 * sizeof *v);
        v[0] = t1 + t2;
        v[4] += t1;
    }
    for (int i = 0; i < 8; i++)
        s->state[i] += v[i];
}

void ct_sha256_begin(struct ct_sha256 *s)
{
    *s = (struct ct_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19}};
}

void ct_sha256_add(struct ct_sha256 *s, const void *p, size_t n)
{
    const uint8_t *bytes = p;

    while (n > 0) {
        const size_t at = s->bytes % CT_SHA256_BLOCK, more = CT_MIN(n, CT_SHA256_BLOCK - at);
        memcpy(s->block + at, bytes, more);
        s->bytes += more;
        bytes += more;
        n -= more;
        if (at + more == CT_SHA256_BLOCK)
            take_block(s, s->block);
    }
}

void ct_sha256_end(struct ct_sha256 *s, uint8_t digest[CT_SHA256])
{
    static const uint8_t pad[CT_SHA256_BLOCK] = {0x80};
    const uint64_t bits = s->bytes * 8;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    ct_sha256_add(s, pad,
                  1 + (CT_SHA256_BLOCK + 55 - (size_t)(s->bytes % CT_SHA256_BLOCK)) % CT_SHA256_BLOCK);
    ct_sha256_add(s, length, sizeof length);
    for (int i = 0; i < CT_SHA256; i++)
        digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}
