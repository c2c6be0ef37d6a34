/* SPDX-License-Identifier: Apache-2.0 */
/* kv_rows.h: stored K and V of one position after another, as files hold them, whatever order kernels read.
 * */
#ifndef CT_KV_ROWS_H
#define CT_KV_ROWS_H

#include "kernel/kernel.h"

/* One position of a head: ct_kv_bytes(type, 1, head_dim) bytes of K and as many of V. Values stand in the
 * order of channels; of q8, each group of 32 as its scale and 32 bytes, those that the head lacks being 0. */
void ct_kv_get_row(const struct ct_kv_head *kv, int slot, void *k, void *v);
void ct_kv_put_row(const struct ct_kv_head *kv, int slot, const void *k, const void *v);

#endif
