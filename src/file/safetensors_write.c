/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_write.c: the headers of safetensors files, and the index of several (write.h). They are written
 * as the format's own library writes them: the widest type first, then by name, the text padded to 8 bytes.
 * safetensors.c and hf.c read them back. */
#include "file/write.h"

#include <stdlib.h>

/* By types, what the format calls them; and those with a higher rank come first. */
static const struct stored {
    const char *name;
    int rank;
} stored[CT_TYPE_COUNT] = {[CT_F16] = {"F16", 1}, [CT_BF16] = {"BF16", 2}, [CT_F32] = {"F32", 3}};

int ct_safetensors_spread(struct ct_new_tensor *tensor, int n, uint64_t most)
{
    uint64_t bytes = 0;
    int file = 0;

    for (int i = 0; i < n; i++) {
        if (bytes > 0 && (bytes > most || tensor[i].size > most - bytes)) {
            file++;
            bytes = 0;
        }
        tensor[i].file = file;
        bytes += tensor[i].size;
    }
    return file + 1;
}

void ct_safetensors_name(char name[CT_SHARD_NAME], int file, int files)
{
    if (files == 1)
        snprintf(name, CT_SHARD_NAME, "model.safetensors");
    else
        snprintf(name, CT_SHARD_NAME, "model-%05d-of-%05d.safetensors", file + 1, files);
}

/* Integers, which are copied, are called by their own name, and are as wide as any. */
static struct stored as_stored(const struct ct_new_tensor *t)
{
    return t->type == CT_TYPE_COUNT ? (struct stored){t->type_name, 4} : stored[t->type];
}

static int compare(const void *a, const void *b)
{
    const struct ct_new_tensor *x = *(struct ct_new_tensor *const *)a, *y = *(struct ct_new_tensor *const *)b;
    const int by_type = as_stored(y).rank - as_stored(x).rank;

    return by_type ? by_type : strcmp(x->name, y->name);
}

static void describe(struct ct_new_head *h, const struct ct_new_tensor *t)
{
    ct_new_head_text(h, ",");
    ct_new_head_json(h, ct_str_of(t->name));
    ct_new_head_text(h, ":{\"dtype\":\"%s\",\"shape\":[", as_stored(t).name);
    for (int k = 0; k < t->n_dim; k++)
        ct_new_head_text(h, "%s%lld", k ? "," : "", (long long)t->dim[k]);
    ct_new_head_text(h, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)t->at,
                     (unsigned long long)(t->at + t->size));
}

static carat_status lay_out(struct ct_new_head *h, struct ct_new_tensor **order, int n, uint64_t *bytes,
                            const char *path, carat_error *err)
{
    *bytes = 0;
    for (int i = 0; i < n; i++) {
        struct ct_new_tensor *t = order[i];
        if (!as_stored(t).name || t->size > (uint64_t)INT64_MAX / 2 - *bytes)
            return ct_fail(
                err, CARAT_E_UNSUPPORTED,
                "%s: tensor %s of type %s and %zu bytes cannot be written: safetensors hold F32, F16 "
                "and BF16, and 62 bits count their bytes",
                path, t->name, ct_type_info(t->type)->name, t->size);
        t->at = *bytes;
        *bytes += t->size;
        describe(h, t);
    }
    return CARAT_OK;
}

carat_status ct_safetensors_head(struct ct_new_head *h, struct ct_new_tensor *tensor, int n, int file,
                                 uint64_t *size, const char *path, carat_error *err)
{
    struct ct_new_tensor **order = malloc(((size_t)n + 1) * sizeof(struct ct_new_tensor *));
    int n_its = 0;
    uint64_t length = 0;

    if (!order)
        return ct_no_memory(err, path);
    for (int i = 0; i < n; i++)
        if (tensor[i].file == file)
            order[n_its++] = &tensor[i];
    qsort(order, (size_t)n_its, sizeof(struct ct_new_tensor *), compare);
    ct_new_head_put(h, &length, sizeof length); /* known at the end */
    ct_new_head_text(h, "{\"__metadata__\":{\"format\":\"pt\"}");
    carat_status status = lay_out(h, order, n_its, size, path, err);
    ct_new_head_text(h, "}");
    while (!h->failed && h->n % 8 != 0)
        ct_new_head_put(h, " ", 1);
    if (!status && h->failed)
        status = ct_no_memory(err, path);
    if (!status) {
        length = h->n - sizeof length;
        memcpy(h->data, &length, sizeof length);
        for (int i = 0; i < n_its; i++)
            order[i]->at += h->n;
        *size += h->n;
    }
    free(order);
    return status;
}

void ct_safetensors_index(struct ct_new_head *h, const struct ct_new_tensor *tensor, int n, int files)
{
    char name[CT_SHARD_NAME];
    uint64_t bytes = 0;

    for (int i = 0; i < n; i++)
        bytes += tensor[i].size;
    ct_new_head_text(h, "{\n  \"metadata\": {\n    \"total_size\": %llu\n  },\n  \"weight_map\": {",
                     (unsigned long long)bytes);
    for (int i = 0; i < n; i++) {
        ct_safetensors_name(name, tensor[i].file, files);
        ct_new_head_text(h, "%s\n    ", i ? "," : "");
        ct_new_head_json(h, ct_str_of(tensor[i].name));
        ct_new_head_text(h, ": \"%s\"", name);
    }
    ct_new_head_text(h, "\n  }\n}\n");
}
