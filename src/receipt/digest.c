/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c: the digest of a receipt (NUMERICS.md section 15): a chain of XXH3-128 from the header through the
 * ids of the prompt and every token that was drawn. */
#include "receipt/receipt.h"

/* What stands before a token's state in its hash; numbers in little-endian order, as they lie. */
struct front {
    ct_digest before;
    uint32_t number; /* of the position, or of the ids of a prompt */
    int32_t id;
};
static_assert(sizeof(struct front) == CT_DIGEST + 8, "no byte between them");

void ct_digest_start(ct_digest d, const struct ct_canonical *header)
{
    struct ct_hash h;

    ct_hash_begin(&h);
    ct_hash_add(&h, header->text, header->n);
    ct_hash_end128(&h, d);
}

void ct_digest_prompt(ct_digest d, const int32_t *ids, int n)
{
    struct ct_hash h;

    ct_hash_begin(&h);
    ct_hash_add(&h, d, CT_DIGEST);
    ct_hash_add(&h, &n, sizeof n);
    ct_hash_add(&h, ids, (size_t)n * sizeof *ids);
    ct_hash_end128(&h, d);
}

void ct_digest_token(ct_digest d, uint32_t position, int32_t id, const float *hidden, int n)
{
    struct front front = {.number = position, .id = id};
    struct ct_hash h;

    memcpy(front.before, d, CT_DIGEST);
    ct_hash_begin(&h);
    ct_hash_add(&h, &front, sizeof front);
    ct_hash_add(&h, hidden, (size_t)n * sizeof *hidden);
    ct_hash_end128(&h, d);
}

void ct_digests_add(struct ct_digests *s, const ct_digest d)
{
    memcpy(s->last, d, CT_DIGEST);
    s->n++;
    if (s->n % CARAT_RECEIPT_STEP == 0)
        memcpy(s->kept[s->n_kept++], d, CT_DIGEST);
}
