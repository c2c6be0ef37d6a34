/* fuzz_gguf.c: any bytes as a GGUF file in memory: opens or is refused, and what opened can be read to the last byte of
 * tensors and metadata. The corpus begins with the magic, so that mutations reach the parser. */
#include <stdlib.h>

#include "file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_meta(const struct ct_meta *m)
{
    volatile uint64_t sum = m->u + m->s.n;
    if (m->type != CT_META_ARRAY)
        return;
    if (m->elem == CT_META_STRING) {
        struct ct_str s;
        uint64_t n = 0;
        for (size_t at = 0; ct_meta_next_string(m, &at, &s); n++)
            sum += s.n ? (uint8_t)s.s[0] + (uint8_t)s.s[s.n - 1] : 0;
        if (n != m->count)
            abort();
    } else if (m->count > 0) {
        volatile double v = ct_meta_number(m, 0) + ct_meta_number(m, m->count - 1);
        (void)v;
    }
    (void)sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_part part = {"model.gguf", {data, size}};
    struct ct_file *f;
    carat_error err;
    if (ct_file_open_memory(&f, &part, 1, &err) != CARAT_OK)
        return 0;
    for (int i = 0; i < ct_file_meta_count(f); i++)
        read_meta(ct_file_meta_at(f, i));
    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        if (ct_file_find(f, t->name) != t || t->data < data || t->size > size ||
            (size_t)(t->data - data) > size - t->size)
            abort();
    }
    ct_file_close(f);
    return 0;
}
