/* SPDX-License-Identifier: Apache-2.0 */
/* write.h: writing containers: the bytes before the tensors, and where each tensor lies behind them. Who
 * fills the tensors, and with what, is the caller's business; no model is known here. */
#ifndef CT_WRITE_H
#define CT_WRITE_H

#include "file/file.h"

/* A tensor of the new file. */
struct ct_new_tensor {
    const char *name;      /* borrowed */
    enum ct_type type;     /* CT_TYPE_COUNT: one that carat does not compute with: */
    const char *type_name; /* as GGUF calls that */
    bool bytes;            /* it has GGUF's I8 instead */
    int n_dim;
    int64_t dim[4]; /* as in struct ct_tensor: the outermost first */
    size_t size;    /* of its data */
    int file;       /* which of the new files has it */
    uint64_t at;    /* of it in that, once it is laid out */
};

/* The bytes of a header while they are put together. The first lack of memory is remembered; everything
 * after it does nothing. */
struct ct_new_head {
    uint8_t *data;
    size_t n, capacity;
    uint64_t entries;   /* of metadata */
    uint32_t alignment; /* of tensors; 0: 32, where no key says another */
    bool failed;
};

/* Appends n bytes; text as printf has it; s as a string of JSON, or, where it is no UTF-8, as one with U+FFFD
 * instead. */
void ct_new_head_put(struct ct_new_head *h, const void *data, size_t n);
void ct_new_head_text(struct ct_new_head *h, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
void ct_new_head_json(struct ct_new_head *h, struct ct_str s);
void ct_new_head_free(struct ct_new_head *h);

/* ---- GGUF ---- */

/* Begins a GGUF file of version 3. The keys are given one after another, in any order; strings are copied. */
void ct_gguf_begin(struct ct_new_head *h);
void ct_gguf_put_uint(struct ct_new_head *h, const char *key, uint32_t v);
void ct_gguf_put_float(struct ct_new_head *h, const char *key, float v);
void ct_gguf_put_bool(struct ct_new_head *h, const char *key, bool v);
void ct_gguf_put_string(struct ct_new_head *h, const char *key, struct ct_str v);
/* An array of n elements, of 4 bytes but for bools, which have 1. */
void ct_gguf_put_uints(struct ct_new_head *h, const char *key, const uint32_t *v, size_t n);
void ct_gguf_put_ints(struct ct_new_head *h, const char *key, const int32_t *v, size_t n);
void ct_gguf_put_floats(struct ct_new_head *h, const char *key, const float *v, size_t n);
void ct_gguf_put_bools(struct ct_new_head *h, const char *key, const bool *v, size_t n);
/* An entry as another file has it: key, type and value. */
void ct_gguf_put_pair(struct ct_new_head *h, struct ct_bytes pair);
/* Begins an array of n strings, which follow. */
void ct_gguf_put_strings(struct ct_new_head *h, const char *key, size_t n);
void ct_gguf_add_string(struct ct_new_head *h, struct ct_str s);
/* A pair of the head so far, found by its key: where it lies; type: GGUF's number. Of one that is not there
 * n is 0 and `at` the end, where it would be. */
struct ct_gguf_pair {
    size_t at, n;
    uint32_t type;
};
enum {
    CT_GGUF_I8 = 1,
    CT_GGUF_I16 = 3,
    CT_GGUF_U32,
    CT_GGUF_I32,
    CT_GGUF_F32,
    CT_GGUF_BOOL,
    CT_GGUF_STRING,
    CT_GGUF_ARRAY,
    CT_GGUF_I64 = 11,
    CT_GGUF_F64
};
bool ct_gguf_find(const struct ct_new_head *h, const char *key, struct ct_gguf_pair *pair);
/* Bytes of a value; 0: of a string or an array, which say it themselves. */
size_t ct_gguf_scalar_bytes(uint32_t type);
void ct_gguf_drop(struct ct_new_head *h, const struct ct_gguf_pair *pair);
/* In place of that pair: a scalar, or the n bytes of a string. */
void ct_gguf_replace(struct ct_new_head *h, const char *key, const struct ct_gguf_pair *pair, uint32_t type,
                     const void *value, size_t n);
/* Ends the header: lays the tensors out, one behind another at multiples of the alignment, and describes
 * them. *size: of the whole file. E_MEMORY, E_UNSUPPORTED (a name that GGUF cannot hold, or a size beyond 63
 * bits). */
carat_status ct_gguf_end(struct ct_new_head *h, struct ct_new_tensor *tensor, int n, uint64_t *size,
                         const char *path, carat_error *err);

/* ---- safetensors ---- */

enum { CT_SHARD_NAME = 48, CT_MOST_SHARDS = 512 };
/* Spreads tensors over files, in their order, each with at most that many bytes of them, but for a tensor
 * that has more alone. Returns how many files there are. */
int ct_safetensors_spread(struct ct_new_tensor *tensor, int n, uint64_t most);
/* "model.safetensors", or "model-00001-of-00002.safetensors" for file 0. */
void ct_safetensors_name(char name[CT_SHARD_NAME], int file, int files);
/* Lays the tensors of a file out, the widest type first, and describes them in front. *size: of the whole
 * file. E_MEMORY, E_UNSUPPORTED (a type or size that safetensors cannot hold). */
carat_status ct_safetensors_head(struct ct_new_head *h, struct ct_new_tensor *tensor, int n, int file,
                                 uint64_t *size, const char *path, carat_error *err);
/* The index of several files, a text of JSON. */
void ct_safetensors_index(struct ct_new_head *h, const struct ct_new_tensor *tensor, int n, int files);

#endif
