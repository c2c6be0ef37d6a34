/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h: address space of this process, and advice to the system about its pages.
 *
 * Huge pages are asked for behind packed weights, in memory and in a packed file: when it is written, so that
 * the page cache has them, and when it is mapped, before a byte of it is read and as one mapping, for pieces
 * would not be aligned. So they are behind K and V of a session from 1024 positions on. Activations do
 * without: they would become resident as a whole. */
#ifndef CT_MEMORY_H
#define CT_MEMORY_H

#include "base/base.h"

/* Zeroed address space of size bytes, page-aligned, backed by memory only where it is touched; NULL when
 * the system refuses. */
void *ct_os_reserve(size_t size);
void ct_os_release(void *p, size_t size);
/* The same for a table of which little may be used, for ct_os_free: size + a few bytes. The C library can
 * lay such a table where it has given out smaller pieces before: then zeros have to be written, and what was
 * there stays in memory as long as the table does. */
void *ct_os_alloc(size_t size);
void ct_os_free(void *p); /* NULL is allowed */
/* Bytes of a page. */
size_t ct_os_page(void);
/* Asks for huge pages behind the pages of [p, p + size), of a reservation or a mapped file that will be
 * filled or read whole; nothing happens where there are none. */
void ct_os_huge(const void *p, size_t size);
/* Brings the page of a mapped file at p into memory, and its neighbours as the system likes, if it can. */
void ct_os_fetch(const void *p);
/* Bytes of the largest cache; 0: not known. */
size_t ct_os_cache(void);
/* Gives the pages that lie wholly inside [p, p+size) back. Those of a reservation read as zeros afterwards,
 * those of a mapped file as the file. */
void ct_os_discard(const void *p, size_t size);

/* Asks the system to read [p, p+size) of a ct_os_map in advance; may wait for the disk. */
void ct_os_read_ahead(const void *p, size_t size);

#endif
