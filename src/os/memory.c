/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c: address space and its pages. */
#define _GNU_SOURCE
#include "os/memory.h"

#include <sys/mman.h>
#include <unistd.h>

void *ct_os_reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void ct_os_release(void *p, size_t size)
{
    if (p)
        munmap(p, size);
}

enum { BEFORE = 64 /* bytes before a table, which say how long it is; a line of the cache */ };

void *ct_os_alloc(size_t size)
{
    char *p = size <= SIZE_MAX - BEFORE ? ct_os_reserve(size + BEFORE) : NULL;

    if (!p)
        return NULL;
    *(size_t *)(void *)p = size + BEFORE;
    return p + BEFORE;
}

void ct_os_free(void *p)
{
    char *begin = p ? (char *)p - BEFORE : NULL;

    if (begin)
        ct_os_release(begin, *(size_t *)(void *)begin);
}

size_t ct_os_page(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* The pages that bytes [p, p + size) touch, and advice for them. */
static int advise(const void *p, size_t size, int advice)
{
    uintptr_t page = ct_os_page(), begin = (uintptr_t)p & ~(page - 1);
    return madvise((void *)begin, (uintptr_t)p + size - begin, advice);
}

void ct_os_huge(const void *p, size_t size)
{
    advise(p, size, MADV_HUGEPAGE);
}

void ct_os_fetch(const void *p)
{
#ifndef MADV_POPULATE_READ
    enum { MADV_POPULATE_READ = 22 }; /* Linux 5.14 */
#endif
    advise(p, 1, MADV_POPULATE_READ);
}

size_t ct_os_cache(void)
{
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return (size_t)CT_MAX(bytes, 0);
}

void ct_os_discard(const void *p, size_t size)
{
    uintptr_t page = ct_os_page();
    uintptr_t begin = ((uintptr_t)p + page - 1) & ~(page - 1), end = ((uintptr_t)p + size) & ~(page - 1);
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void ct_os_read_ahead(const void *p, size_t size)
{
    madvise((void *)(uintptr_t)p, size, MADV_WILLNEED);
}
