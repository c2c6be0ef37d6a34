/* SPDX-License-Identifier: Apache-2.0 */
/* size.h: bytes as people read them. */
#ifndef TERM_SIZE_H
#define TERM_SIZE_H

/* "236 MB", "1.05 GB": decimal units, three digits; returns out. */
enum { SIZE_TEXT = 32 };
const char *size_text(char out[SIZE_TEXT], double bytes);

#endif
