/* SPDX-License-Identifier: Apache-2.0 */
/* importance.c: see importance.h. The older form is a row of records; the newer one is GGUF, with two tensors
 * for each matrix. */
#include "convert/importance.h"

#include <math.h>

#include "file/file.h"
#include "os/files.h"

enum { MOST_NAME = 255 };

static carat_status check_values(const struct ct_importance_of *of, const char *path, carat_error *err)
{
    for (size_t k = 0; k < of->n; k++)
        if (!isfinite(of->value[k]) || of->value[k] < 0)
            return ct_bad_file(err, path,
                               "the importance of column %zu of %s is %g; expected a number of at least 0", k,
                               of->name, (double)of->value[k]);
    return CARAT_OK;
}

/* ---- the older form: n; of each: length, name, calls, n, values; the last chunk, a path ---- */

struct reader {
    const char *path;
    struct ct_bytes bytes;
    size_t at;
    carat_error *err;
};

static carat_status take_number(struct reader *r, const char *what, int64_t least, int64_t most, int32_t *v)
{
    *v = 0;
    if (r->bytes.size - r->at < sizeof *v)
        return ct_bad_file(r->err, r->path, "it ends at byte %zu, where %s should be", r->at, what);
    *v = (int32_t)ct_le32(r->bytes.data + r->at);
    if (*v < least || *v > most)
        return ct_bad_file(r->err, r->path, "%s at byte %zu is %d; expected %lld to %lld", what, r->at, *v,
                           (long long)least, (long long)most);
    r->at += sizeof *v;
    return CARAT_OK;
}

static carat_status take_text(struct reader *r, const char *what, char **text, struct ct_arena *arena)
{
    int32_t n;

    CT_TRY(take_number(r, what, 1, MOST_NAME, &n));
    if (r->bytes.size - r->at < (size_t)n)
        return ct_bad_file(r->err, r->path, "%s at byte %zu has %d bytes, but the file ends", what, r->at, n);
    *text = ct_arena_str(arena, (const char *)r->bytes.data + r->at, (size_t)n);
    r->at += (size_t)n;
    return *text ? CARAT_OK : ct_no_memory(r->err, r->path);
}

static carat_status take_record(struct ct_importance_of *of, struct reader *r, struct ct_arena *arena)
{
    int32_t calls, n;
    char *name;
    float *v;

    CT_TRY(take_text(r, "the length of a name", &name, arena));
    CT_TRY(take_number(r, "a number of calls", 1, INT32_MAX, &calls));
    CT_TRY(take_number(r, "a number of values", 1, INT32_MAX, &n));
    if ((r->bytes.size - r->at) / sizeof *v < (size_t)n)
        return ct_bad_file(r->err, r->path, "%s has %d values at byte %zu, but the file ends before", name, n,
                           r->at);
    v = ct_arena_push(arena, (size_t)n, sizeof *v);
    if (!v)
        return ct_no_memory(r->err, r->path);
    memcpy(v, r->bytes.data + r->at, (size_t)n * sizeof *v);
    r->at += (size_t)n * sizeof *v;
    for (int32_t k = 0; k < n; k++)
        v[k] /= (float)calls;
    *of = (struct ct_importance_of){name, v, (size_t)n, 1};
    return check_values(of, r->path, r->err);
}

static carat_status parse_records(struct ct_importance *i, struct reader *r, struct ct_arena *arena)
{
    char *dataset;
    int32_t n, chunks;

    /* a record has at least 17 bytes */
    CT_TRY(take_number(r, "a number of entries", 1, (int64_t)(r->bytes.size / 17), &n));
    i->of = ct_arena_push(arena, (size_t)n, sizeof *i->of);
    if (!i->of)
        return ct_no_memory(r->err, r->path);
    for (; i->n < n; i->n++)
        CT_TRY(take_record(&i->of[i->n], r, arena));
    if (r->at == r->bytes.size) /* the oldest end here */
        return CARAT_OK;
    CT_TRY(take_number(r, "a number of chunks", 0, INT32_MAX, &chunks));
    i->chunks = (uint32_t)chunks;
    if (r->at == r->bytes.size)
        return CARAT_OK;
    CT_TRY(take_text(r, "the length of a path", &dataset, arena));
    i->dataset = dataset;
    return CARAT_OK;
}

/* ---- GGUF: NAME.in_sum2, sums of squares of columns, and NAME.counts, how many rows they are of ---- */

static const char sums_end[] = ".in_sum2", counts_end[] = ".counts";

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name), m = strlen(end);

    return n > m && strcmp(name + n - m, end) == 0;
}

static carat_status read_sums(struct ct_importance_of *of, const struct ct_file *f, const struct ct_tensor *t,
                              struct ct_arena *arena, carat_error *err)
{
    const char *path = ct_file_path(f);
    char *name = ct_arena_str(arena, t->name, strlen(t->name)); /* the other ending is shorter */
    float *v = ct_arena_push(arena, t->size / sizeof *v + 1, sizeof *v);
    const size_t n = t->size / sizeof *v;
    bool any = false;

    if (!name || !v)
        return ct_no_memory(err, path);
    name[strlen(t->name) - strlen(sums_end)] = 0;
    const struct ct_tensor *counts = ct_file_find(f, strcat(name, counts_end));
    const size_t rows = counts ? counts->size / sizeof *v : 0;
    name[strlen(name) - strlen(counts_end)] = 0;
    if (!counts || t->type != CT_F32 || counts->type != CT_F32 || rows == 0 || n == 0 || n % rows != 0)
        return ct_bad_file(err, path,
                           "%s has %zu sums and %zu counts; expected F32, and as many sums for every count",
                           name, n, rows);
    memcpy(v, t->data, n * sizeof *v);
    for (size_t k = 0; k < rows; k++) {
        float count;
        memcpy(&count, (const uint8_t *)counts->data + k * sizeof count, sizeof count);
        if (!isfinite(count) || count < 0)
            return ct_bad_file(err, path, "count %zu of %s is %g; expected a number of at least 0", k, name,
                               (double)count);
        any = any || count > 0;
        for (size_t c = k * (n / rows); c < (k + 1) * (n / rows); c++)
            v[c] = count > 0 ? v[c] / count : 1; /* an expert that no row took */
    }
    if (!any)
        return ct_bad_file(err, path, "%s has a count of 0: nothing was measured", name);
    *of = (struct ct_importance_of){name, v, n, rows};
    return check_values(of, path, err);
}

static carat_status read_gguf(struct ct_importance *i, const struct ct_file *f, struct ct_arena *arena,
                              carat_error *err)
{
    const struct ct_meta *sets = ct_file_meta(f, "imatrix.datasets");
    int64_t chunks = 0;
    struct ct_str set;
    size_t at = 0;

    CT_TRY(ct_file_meta_int(f, "imatrix.chunk_count", 0, UINT32_MAX, &chunks, err));
    i->chunks = (uint32_t)chunks;
    if (sets && sets->type == CT_META_ARRAY && sets->elem == CT_META_STRING &&
        ct_meta_next_string(sets, &at, &set) && !(i->dataset = ct_arena_str(arena, set.s, set.n)))
        return ct_no_memory(err, ct_file_path(f));
    i->of = ct_arena_push(arena, (size_t)ct_file_tensor_count(f) + 1, sizeof *i->of);
    if (!i->of)
        return ct_no_memory(err, ct_file_path(f));
    for (int k = 0; k < ct_file_tensor_count(f); k++)
        if (ends_in(ct_file_tensor(f, k)->name, sums_end))
            CT_TRY(read_sums(&i->of[i->n++], f, ct_file_tensor(f, k), arena, err));
    return i->n > 0 ? CARAT_OK : ct_bad_file(err, ct_file_path(f), "it has no tensor NAME%s", sums_end);
}

carat_status ct_importance_parse(struct ct_importance *i, const char *path, struct ct_bytes bytes,
                                 struct ct_arena *arena, carat_error *err)
{
    struct reader r = {path, bytes, 0, err};
    const struct ct_part part = {path, bytes};
    struct ct_file *f = NULL;

    *i = (struct ct_importance){0};
    if (bytes.size < 4 || memcmp(bytes.data, "GGUF", 4) != 0)
        return parse_records(i, &r, arena);
    CT_TRY(ct_file_open_memory(&f, &part, 1, err));
    carat_status status = read_gguf(i, f, arena, err);
    ct_file_close(f);
    return status;
}

carat_status ct_importance_read(struct ct_importance *i, const char *path, struct ct_arena *arena,
                                carat_error *err)
{
    struct ct_map map;

    CT_TRY(ct_os_map(&map, path, err));
    carat_status status = ct_importance_parse(i, path, map.bytes, arena, err);
    ct_os_unmap(&map);
    return status;
}

const struct ct_importance_of *ct_importance_find(const struct ct_importance *i, const char *name)
{
    for (int k = 0; k < i->n; k++)
        if (strcmp(i->of[k].name, name) == 0)
            return &i->of[k];
    return NULL;
}
