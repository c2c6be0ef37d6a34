/* SPDX-License-Identifier: Apache-2.0 */
/* write.h: writing containers: the bytes before the tensors, and where each tensor lies behind them. Who
 * fills the tensors, and with what, is the caller's business; no model is known here. */
#ifndef CT_WRITE_H
#define CT_WRITE_H

#include "file/file.h"

/* A tensor of the new file. */
struct ct_new_tensor {
    const char *name; /* borrowed */
    enum ct_type type;
    int n_dim;
    int64_t dim[4]; /* as in struct ct_tensor: the outermost first */
    size_t size;    /* of its data */
    uint64_t at;    /* of it in the file, once that is laid out */
};

/* The bytes of a header while they are put together. The first lack of memory is remembered; everything
 * after it does nothing. */
struct ct_new_head {
    uint8_t *data;
    size_t n, capacity;
    uint64_t entries; /* of metadata */
    bool failed;
};

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
/* Begins an array of n strings, which follow. */
void ct_gguf_put_strings(struct ct_new_head *h, const char *key, size_t n);
void ct_gguf_add_string(struct ct_new_head *h, struct ct_str s);
/* Ends the header: lays the tensors out, one behind another at multiples of 32, and describes them. *size: of
 * the whole file. E_MEMORY, E_UNSUPPORTED (a name that GGUF cannot hold, or a size beyond 63 bits). */
carat_status ct_gguf_end(struct ct_new_head *h, struct ct_new_tensor *tensor, int n, uint64_t *size,
                         const char *path, carat_error *err);
void ct_new_head_free(struct ct_new_head *h);

#endif
