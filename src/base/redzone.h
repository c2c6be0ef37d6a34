/* SPDX-License-Identifier: Apache-2.0 */
/* redzone.h: forbidden bytes behind an allocation that shares its memory with others. Under AddressSanitizer
 * a read or write beyond its end is reported instead of reaching the next one; other builds have none.
 *
 * They are 128: behind arenas, an engine's buffers, K and V of a layer. */
#ifndef CT_REDZONE_H
#define CT_REDZONE_H

#include "base/base.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CT_HAS_REDZONES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define CT_HAS_REDZONES 1
#endif

#ifdef CT_HAS_REDZONES
#include <sanitizer/asan_interface.h>
enum { CT_REDZONE = 128 }; /* bytes: as much as a kernel may be wrong by when it takes a row too many */
#define CT_FORBID(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define CT_ALLOW(p, n)  ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
enum { CT_REDZONE = 0 };
#define CT_FORBID(p, n) ((void)(p), (void)(n))
#define CT_ALLOW(p, n)  ((void)(p), (void)(n))
#endif

#endif
