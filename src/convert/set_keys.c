/* SPDX-License-Identifier: Apache-2.0 */
/* set_keys.c: see keys.h. A value gets the type that its key has. Whether readers take it, reading the
 * file back says (read_back.c): here is refused what would make it unreadable whatever the value is. */
#include "convert/keys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"

/* A key that is asked for. */
struct asked {
    const char *text;
    char key[128];
    struct ct_str type; /* int, float, bool or str; empty: the key's own, or what the value looks like */
    const char *value;
    const char *expected; /* once the value was found to be no such thing */
};

static carat_status split(struct asked *a, const char *text, carat_error *err)
{
    static const char *const reserved[] = {"general.alignment", "carat.palette", "split."};
    const char *equals = strchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : 0;
    const char *colon = n ? memchr(text, ':', n) : NULL;
    const size_t n_key = colon ? (size_t)(colon - text) : n;

    if (n_key == 0 || n_key >= sizeof a->key || !ct_utf8_valid(text, strlen(text)))
        return ct_fail(err, CARAT_E_ARGUMENT, "set is \"%.80s\", expected KEY=VALUE or KEY:TYPE=VALUE", text);
    *a = (struct asked){.text = text, .value = equals + 1};
    memcpy(a->key, text, n_key);
    if (colon)
        a->type = (struct ct_str){colon + 1, n - n_key - 1};
    for (size_t i = 0; i < CT_COUNT(reserved); i++)
        if (strncmp(a->key, reserved[i], strlen(reserved[i])) == 0)
            return ct_fail(err, CARAT_E_ARGUMENT, "set: %s says how the file lies and cannot be changed",
                           a->key);
    return CARAT_OK;
}

/* A whole number of so many bits. */
static bool take_integer(struct asked *a, uint8_t out[8], int bits, bool is_signed)
{
    char *end;
    const long long most = (long long)(UINT64_MAX >> (64 - bits + (is_signed || bits == 64)));

    errno = 0;
    const long long v = strtoll(a->value, &end, 10);
    memcpy(out, &v, sizeof v);
    a->expected =
        is_signed ? "a whole number that its type holds" : "a whole number from 0 on that its type holds";
    return !errno && end != a->value && !*end && v <= most && v >= (is_signed ? -most - 1 : 0);
}

static bool take_real(struct asked *a, uint8_t out[8], bool wide)
{
    char *end;
    const double v = strtod(a->value, &end);
    const float f = (float)v;

    if (wide)
        memcpy(out, &v, sizeof v);
    else
        memcpy(out, &f, sizeof f);
    a->expected = "a number";
    return end != a->value && !*end && isfinite(wide ? v : (double)f);
}

static bool take_bool(struct asked *a, uint8_t out[8])
{
    out[0] = strcmp(a->value, "true") == 0;
    a->expected = "true or false";
    return out[0] || strcmp(a->value, "false") == 0;
}

/* The type of a value whose key is new, or whose type is named. */
static bool choose_type(struct asked *a, bool known, uint32_t *type)
{
    uint8_t v[8];

    if (ct_str_is(a->type, "str"))
        *type = CT_GGUF_STRING;
    else if (ct_str_is(a->type, "bool"))
        *type = CT_GGUF_BOOL;
    else if (ct_str_is(a->type, "float"))
        *type = CT_GGUF_F32;
    else if (ct_str_is(a->type, "int"))
        *type = known && ct_gguf_scalar_bytes(*type) && *type != CT_GGUF_BOOL && *type != CT_GGUF_F32 &&
                        *type != CT_GGUF_F64
                    ? *type
                : a->value[0] == '-' ? CT_GGUF_I32
                                     : CT_GGUF_U32;
    else if (a->type.n)
        return false;
    else if (!known)
        *type = take_bool(a, v)                 ? CT_GGUF_BOOL
                : take_integer(a, v, 32, false) ? CT_GGUF_U32
                : take_integer(a, v, 32, true)  ? CT_GGUF_I32
                : take_real(a, v, false)        ? CT_GGUF_F32
                                                : CT_GGUF_STRING;
    return true;
}

static bool take_scalar(struct asked *a, uint8_t out[8], uint32_t type)
{
    const int bits = 8 * (int)ct_gguf_scalar_bytes(type);

    switch (type) {
    case CT_GGUF_BOOL:
        return take_bool(a, out);
    case CT_GGUF_F32:
    case CT_GGUF_F64:
        return take_real(a, out, type == CT_GGUF_F64);
    default:
        return take_integer(a, out, bits,
                            type == CT_GGUF_I8 || type == CT_GGUF_I16 || type == CT_GGUF_I32 ||
                                type == CT_GGUF_I64);
    }
}

static carat_status set_key(struct ct_new_head *h, struct asked *a, carat_error *err)
{
    struct ct_gguf_pair old;
    const bool known = ct_gguf_find(h, a->key, &old);
    uint32_t type = old.type;
    uint8_t scalar[8];

    if (known && type == CT_GGUF_ARRAY)
        return ct_fail(err, CARAT_E_ARGUMENT, "set: %s is an array, and single values alone are set", a->key);
    if (!choose_type(a, known, &type))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "set: the type of %s is \"%.*s\", expected int, float, bool or str", a->key,
                       (int)CT_MIN(a->type.n, (size_t)40), a->type.s);
    if (type == CT_GGUF_STRING)
        ct_gguf_replace(h, a->key, &old, type, a->value, strlen(a->value));
    else if (take_scalar(a, scalar, type))
        ct_gguf_replace(h, a->key, &old, type, scalar, ct_gguf_scalar_bytes(type));
    else
        return ct_fail(err, CARAT_E_ARGUMENT, "set: %s is \"%.40s\", expected %s", a->key, a->value,
                       a->expected);
    return CARAT_OK;
}

carat_status ct_set_keys(struct ct_new_head *h, const carat_convert_options *o, carat_error *err)
{
    for (int i = 0; i < o->n_set; i++) {
        struct asked a;
        CT_TRY(split(&a, o->set[i], err));
        if (!h->failed) /* what is missing is said where the head ends */
            CT_TRY(set_key(h, &a, err));
    }
    return CARAT_OK;
}
