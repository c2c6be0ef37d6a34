/* SPDX-License-Identifier: Apache-2.0 */
/* refusable.h: requests for memory that are counted, refused on demand, and balanced against what is given
 * back. A program that includes it is linked with `wrap(PROGRAM ${refusable})` (cmake/tests.cmake): the
 * linker puts these functions between the library and the C library, under sanitizers, too. What the C
 * library allocates for itself (qsort) is out of reach. Which requests a test refuses, and what has to hold
 * then, is the test's. */
#ifndef CT_TEST_REFUSABLE_H
#define CT_TEST_REFUSABLE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { NEVER = -1 };
static atomic_long requests, n_refused, live; /* live: what has not been given back */
static atomic_long refuse_at = NEVER;         /* number of the request that is refused, from 0 */
static atomic_bool refuse_later;              /* and all after it */
static atomic_size_t largest;                 /* bytes that the C library was asked for at once */

static bool refuse(void)
{
    long at = atomic_load(&refuse_at), n = atomic_fetch_add(&requests, 1);

    if (at == NEVER || n < at || (n > at && !atomic_load(&refuse_later)))
        return false;
    atomic_fetch_add(&n_refused, 1);
    errno = ENOMEM;
    return true;
}

static void note_size(size_t n)
{
    if (n > atomic_load(&largest))
        atomic_store(&largest, n);
}

static void *counted(void *p)
{
    if (p)
        atomic_fetch_add(&live, 1);
    return p;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void __real_free(void *p);
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);
void __wrap_free(void *p);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    note_size(n);
    return refuse() ? NULL : counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    note_size(n * size);
    return refuse() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    void *grown = refuse() ? NULL : __real_realloc(p, n);
    return p ? grown : counted(grown);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n)
{
    return refuse() ? NULL : counted(__real_aligned_alloc(alignment, n));
}

void __wrap_free(void *p)
{
    atomic_fetch_sub(&live, p != NULL);
    __real_free(p);
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    void *p = refuse() ? MAP_FAILED : __real_mmap(at, n, protection, flags, fd, offset);
    atomic_fetch_add(&live, p != MAP_FAILED);
    return p;
}

int __wrap_munmap(void *p, size_t n)
{
    atomic_fetch_sub(&live, 1);
    return __real_munmap(p, n);
}

#endif
