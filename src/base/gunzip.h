/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.h: what the build compressed with gzip, as it was: kernels that the library carries as text. Files
 * of others are not read with it. */
#ifndef CT_GUNZIP_H
#define CT_GUNZIP_H

#include "base/base.h"

/* The bytes of one gzip member without a name (RFC 1952), with a 0 behind them, to be freed. NULL: there is
 * no memory, or n bytes are no such member; its check sum is not looked at. */
char *ct_gunzip(const uint8_t *bytes, size_t n);

#endif
