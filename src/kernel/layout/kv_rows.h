/* SPDX-License-Identifier: Apache-2.0 */
/* kv_rows.h: stored K and V of one position after another, as files hold them, whatever order kernels read.
 * */
#ifndef CT_KV_ROWS_H
#define CT_KV_ROWS_H

#include "kernel/kernel.h"

/* Positions [first, first + n) of a head, each ct_kv_bytes(type, 1, head_dim) bytes of K and as many of V,
 * `step` bytes apart. Values stand in the order of channels; of q8, each group of 32 as its scale and 32
 * bytes, those that the head lacks being 0. */
void ct_kv_get_rows(const struct ct_kv_head *kv, int first, int n, void *k, void *v, size_t step);
void ct_kv_put_rows(const struct ct_kv_head *kv, int first, int n, const void *k, const void *v, size_t step);

#endif
