/* SPDX-License-Identifier: Apache-2.0 */
/* weights_packed.c: the weights of a packed file: named as in GGUF, and as kernels read them. What counting
 * gave when the file was written is taken from it. The configuration is that of its origin. */
#include "model/weights_container.h"

enum { MOST_BYTES = 8 }; /* that any type takes for a value */

static carat_status take_counts(struct ct_binding *b)
{
    const struct ct_packed *p = ct_file_packed(b->f);

    if (b->n_found != p->n_weight)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: the packed file has %u weights, expected %u from the configuration",
                       ct_file_path(b->f), p->n_weight, b->n_found);
    if (p->weight_bytes > MOST_BYTES * b->w->n_parameter)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: the packed file says that its weights took %llu bytes, expected at most %d for "
                       "each of %llu parameters",
                       ct_file_path(b->f), (unsigned long long)p->weight_bytes, MOST_BYTES,
                       (unsigned long long)b->w->n_parameter);
    b->w->bytes = p->weight_bytes;
    b->w->n_unused = (int)p->n_unused;
    b->w->unused = p->unused.s;
    return CARAT_OK;
}

const struct ct_container ct_container_packed = {
    .name = ct_gguf_tensor_name,
    .find = ct_file_weight,
    .prepared = true,
    .finish = take_counts,
};
