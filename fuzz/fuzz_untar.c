/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_untar.c: any bytes as a tar.gz, and the same as the tar alone, which is packed here: refused with a
 * reason, or every file has a name that stays in its folder and exactly the bytes that it was said to have.
 * The size of the pieces that it comes in changes nothing. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/path.h"
#include "untar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
    int64_t left; /* of a file; -1: none is open */
    uint64_t all; /* what was told, in one number */
    int files;
};

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void mix(struct heard *h, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h->all = (h->all ^ ((const uint8_t *)data)[i]) * UINT64_C(1099511628211);
}

static bool begin(void *user, const char *name, int64_t bytes)
{
    struct heard *h = user;

    must(h->left == -1 && bytes >= 0 && strlen(name) < 1024 && ct_path_stays_inside(ct_str_of(name)));
    mix(h, name, strlen(name) + 1);
    mix(h, &bytes, sizeof bytes);
    h->left = bytes;
    return ++h->files < 1000;
}

static bool put(void *user, const void *bytes, size_t n)
{
    struct heard *h = user;

    must(n > 0 && h->left >= (int64_t)n);
    mix(h, bytes, n);
    h->left -= (int64_t)n;
    return true;
}

static bool end(void *user)
{
    struct heard *h = user;

    must(h->left == 0);
    h->left = -1;
    return true;
}

static bool unpack(struct heard *h, const uint8_t *data, size_t size, size_t piece)
{
    const struct untar_listener listener = {begin, put, end, h};
    struct untar *u = untar_open(&listener, 1 << 22);
    bool good = u != NULL;

    *h = (struct heard){.left = -1};
    for (size_t at = 0; good && at < size; at += piece)
        good = untar_take(u, data + at, size - at < piece ? size - at : piece);
    good = good && untar_end(u);
    must(good ? h->left == -1 : !u || *untar_why(u) != 0 || h->files == 1000);
    untar_close(u);
    return good;
}

static void unpack_twice(const uint8_t *data, size_t size)
{
    struct heard a, b;
    const bool good = unpack(&a, data, size, size + 1);

    must(unpack(&b, data, size, 7) == good && (!good || a.all == b.all));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t packed[1 << 20];
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)data,
                  .avail_in = (unsigned)size,
                  .next_out = packed,
                  .avail_out = sizeof packed};

    unpack_twice(data, size);
    if (size > sizeof packed / 2 || deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_FIXED) != Z_OK)
        return 0;
    must(deflate(&z, Z_FINISH) == Z_STREAM_END);
    unpack_twice(packed, sizeof packed - z.avail_out);
    deflateEnd(&z);
    return 0;
}
