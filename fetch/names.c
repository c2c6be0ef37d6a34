/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: see names.h. */
#include "names.h"

static bool is_digits(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
        i++;
    return i == n;
}

bool is_hash(const char *s, size_t n)
{
    return (n == 40 || n == 64) && is_digits(s, n);
}

bool is_any_hash(const char *s, size_t n)
{
    return n == 0 || is_hash(s, n) || (n == 32 && is_digits(s, n));
}
