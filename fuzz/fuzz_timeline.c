/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_timeline.c: any bytes as a timeline file: it is read or refused, its parts lie in it, and its header
 * is what carat writes for them. Hashes are made right first, so that mutations reach what lies behind
 * them. */
#include <stdlib.h>

#include "file/timeline.h"
#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(what) ((what) ? (void)0 : abort())

/* The hash of the header, and those of the parts where these lie in the file. */
static void mend(uint8_t *p, size_t size)
{
    struct ct_timeline_header h;
    struct ct_timeline t;
    size_t all;

    if (size < sizeof h)
        return;
    memcpy(&h, p, sizeof h);
    t.facts = h.facts;
    if (ct_timeline_divide(&t, (struct ct_bytes){p, size}, &all) && all == size)
        memcpy(h.hash, ct_timeline_head(&t).hash, sizeof h.hash);
    h.header_hash = ct_hash64(&h, offsetof(struct ct_timeline_header, header_hash));
    memcpy(p, &h, sizeof h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct ct_timeline t;
    carat_error err;

    must(copy);
    if (size)
        memcpy(copy, data, size);
    mend(copy, size);
    if (ct_timeline_read(&t, "fuzz", (struct ct_bytes){copy, size}, &err) == CARAT_OK) {
        struct ct_timeline_header h = ct_timeline_head(&t);
        size_t sum = sizeof h;
        must(memcmp(copy, &h, sizeof h) == 0);
        for (int i = 0; i < CT_TIMELINE_PARTS; i++) {
            must(t.part[i].data == copy + sum);
            sum += t.part[i].size;
        }
        must(sum == size);
    }
    free(copy);
    return 0;
}
