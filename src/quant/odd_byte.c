/* SPDX-License-Identifier: Apache-2.0 */
/* odd_byte.c: which bytes of blocks have a value, though no encoder makes them. */
#include "quant/blocks.h"
#include "quant/quant.h"

/* TQ1_0 keeps a number below 3^5 as 256 / 3^5 of it, rounded up. */
static bool is_five_digits(uint8_t b)
{
    return (b * 243 / 256 * 256 + 242) / 243 == b;
}

/* The last of them is 0. */
static bool is_four_digits(uint8_t b)
{
    return is_five_digits(b) && b * 243 / 256 % 3 == 0;
}

static bool is_unsigned_e4m3(uint8_t b)
{
    return b < 0x7f;
}

static const struct byte_rule {
    enum ct_type type;
    int first, end; /* of the bytes that it is for */
    bool (*holds)(uint8_t b);
    const char *expected;
} byte_rules[] = {
    {CT_TQ1_0, 0, offsetof(struct ct_block_tq1_0, high), is_five_digits, "five digits of base 3"},
    {CT_TQ1_0, offsetof(struct ct_block_tq1_0, high), offsetof(struct ct_block_tq1_0, d), is_four_digits,
     "four digits of base 3"},
    {CT_NVFP4, 0, offsetof(struct ct_block_nvfp4, q), is_unsigned_e4m3, "a scale from 0 to 0x7e"},
};

const char *ct_odd_byte(enum ct_type type, const uint8_t *block, int *at)
{
    for (const struct byte_rule *r = byte_rules; r < byte_rules + CT_COUNT(byte_rules); r++)
        for (*at = r->first; r->type == type && *at < r->end; ++*at)
            if (!r->holds(block[*at]))
                return r->expected;
    return NULL;
}
