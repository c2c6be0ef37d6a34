/* SPDX-License-Identifier: Apache-2.0 */
/* meta.c: answers about GGUF metadata that has been read: lookup, scalars with a type check, array elements.
 * Reading it is in gguf.c. */
#include "file/reader.h"

#include <math.h>

static const char *const type_name[] = {
    [CT_META_UINT] = "an unsigned integer",
    [CT_META_INT] = "a signed integer",
    [CT_META_FLOAT] = "a float",
    [CT_META_BOOL] = "a bool",
    [CT_META_STRING] = "a string",
    [CT_META_ARRAY] = "an array",
};

const struct ct_meta *ct_metas_find(const struct ct_metas *m, const char *key)
{
    int at = ct_index_find(&m->index, ct_str_of(key));
    return at < 0 ? NULL : &m->meta[at];
}

const struct ct_meta *ct_file_meta(const struct ct_file *f, const char *key)
{
    return ct_metas_find(&f->metas, key);
}

const struct ct_meta *ct_file_meta_at(const struct ct_file *f, int i)
{
    return i < f->metas.index.n ? &f->metas.meta[i] : NULL;
}

carat_status ct_metas_int(const struct ct_metas *metas, const char *path, const char *key, int64_t lo,
                          int64_t hi, int64_t *out, carat_error *err)
{
    const struct ct_meta *m = ct_metas_find(metas, key);
    if (!m)
        return CARAT_OK;
    if (m->type != CT_META_UINT && m->type != CT_META_INT)
        return ct_bad_file(err, path, "metadata key \"%s\" is %s at byte %llu, but an integer was expected",
                           key, type_name[m->type], (unsigned long long)m->offset);
    bool minus = m->type == CT_META_INT && m->i < 0, large = !minus && m->u > INT64_MAX;
    if (large || m->i < lo || m->i > hi)
        return ct_bad_file(err, path,
                           "metadata key \"%s\" is %s%llu at byte %llu, but must be from %lld to %lld", key,
                           minus ? "-" : "", (unsigned long long)(minus ? -m->u : m->u),
                           (unsigned long long)m->offset, (long long)lo, (long long)hi);
    *out = m->i;
    return CARAT_OK;
}

carat_status ct_file_meta_int(const struct ct_file *f, const char *key, int64_t lo, int64_t hi, int64_t *out,
                              carat_error *err)
{
    return ct_metas_int(&f->metas, f->path, key, lo, hi, out, err);
}

void ct_meta_decode(struct ct_meta *m, const uint8_t *p, int n)
{
    m->u = n == 1 ? *p : n == 2 ? ct_le16(p) : n == 4 ? ct_le32(p) : ct_le64(p);
    if (m->type == CT_META_INT) {
        uint64_t sign = (uint64_t)1 << (8 * n - 1);
        m->u = (m->u ^ sign) - sign;
    } else if (m->type == CT_META_FLOAT && n == 4) {
        m->f = ct_f32_from_bits((uint32_t)m->u);
    } else if (m->type == CT_META_FLOAT) {
        memcpy(&m->f, p, 8);
    }
    memcpy(&m->i, &m->u, 8);
}

static double scalar_number(const struct ct_meta *m)
{
    return m->type == CT_META_FLOAT ? m->f : m->type == CT_META_INT ? (double)m->i : (double)m->u;
}

carat_status ct_file_meta_float(const struct ct_file *f, const char *key, double *out, carat_error *err)
{
    const struct ct_meta *m = ct_file_meta(f, key);
    if (!m)
        return CARAT_OK;
    /* writers disagree on the type of round numbers such as 10000 */
    double v = scalar_number(m);
    if (m->type != CT_META_FLOAT && m->type != CT_META_INT && m->type != CT_META_UINT)
        return ct_bad_file(err, f->path, "metadata key \"%s\" is %s at byte %llu, but a number was expected",
                           key, type_name[m->type], (unsigned long long)m->offset);
    if (!isfinite(v))
        return ct_bad_file(err, f->path,
                           "metadata key \"%s\" is %f at byte %llu, but a finite number was expected", key, v,
                           (unsigned long long)m->offset);
    *out = v;
    return CARAT_OK;
}

double ct_meta_number(const struct ct_meta *m, uint64_t i)
{
    assert(m->type == CT_META_ARRAY && m->elem_bytes > 0 && i < m->count);
    struct ct_meta one = {.type = m->elem};
    ct_meta_decode(&one, m->raw.data + (size_t)i * (size_t)m->elem_bytes, m->elem_bytes);
    return scalar_number(&one);
}

bool ct_meta_next_string(const struct ct_meta *m, size_t *at, struct ct_str *s)
{
    assert(m->type == CT_META_ARRAY && m->elem == CT_META_STRING);
    /* lengths were checked when the file was opened; compare again, for a mapped file can change */
    if (*at >= m->raw.size || m->raw.size - *at < 8)
        return false;
    uint64_t n = ct_le64(m->raw.data + *at);
    if (n > m->raw.size - *at - 8)
        return false;
    *s = (struct ct_str){(const char *)m->raw.data + *at + 8, (size_t)n};
    *at += 8 + (size_t)n;
    return true;
}
