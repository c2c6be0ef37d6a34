/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c: the only file that includes xxHash, so that its code is compiled once. */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

_Static_assert(sizeof(XXH3_state_t) <= sizeof(struct ct_hash), "the state has room");

static XXH3_state_t *state(struct ct_hash *h)
{
    return (XXH3_state_t *)(void *)h->state;
}

void ct_hash_begin(struct ct_hash *h)
{
    XXH3_128bits_reset(state(h));
}

void ct_hash_add(struct ct_hash *h, const void *p, size_t n)
{
    XXH3_128bits_update(state(h), p, n);
}

uint64_t ct_hash_end64(const struct ct_hash *h)
{
    return XXH3_64bits_digest((const XXH3_state_t *)(const void *)h->state);
}

void ct_hash_end128(const struct ct_hash *h, uint8_t digest[16])
{
    XXH128_canonical_t bytes;

    XXH128_canonicalFromHash(&bytes, XXH3_128bits_digest((const XXH3_state_t *)(const void *)h->state));
    memcpy(digest, bytes.digest, sizeof bytes.digest);
}

uint64_t ct_hash64(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

void ct_hex(char *hex, const uint8_t *bytes, int n)
{
    for (int i = 0; i < n; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", bytes[i]);
}
