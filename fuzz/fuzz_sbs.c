/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_sbs.c: any bytes as a gemma.cpp file in memory, up to the weights that a pass would read: every
 * byte of them is touched. Header and footer of a file are made to agree with its length, so that
 * mutations reach what lies behind. */
#include <stdlib.h>

#include "file/file.h"
#include "model/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads what kernels would read. */
static void touch(const struct ct_weight *w)
{
    volatile uint8_t sum = 0;
    const uint8_t *p = w->data;
    for (size_t i = 0; p && i < w->row_bytes * (size_t)w->rows; i++)
        sum = (uint8_t)(sum + p[i]);
    (void)sum;
}

static void bind(const struct ct_file *f)
{
    static struct ct_config c; /* large */
    struct ct_weights w;
    struct ct_arena arena = {0};
    carat_error err;
    if (ct_config_read(&c, f, &err) == CARAT_OK && ct_weights_bind(&w, &c, f, &arena, &err) == CARAT_OK) {
        touch(&w.embed);
        for (int i = 0; i < c.n_layer; i++) {
            const struct ct_layer *l = &w.layer[i];
            const struct ct_weight *all[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
            for (size_t k = 0; k < CT_COUNT(all); k++)
                touch(all[k]);
        }
    }
    ct_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (size >= 32 && memcmp(copy, "SBS\n", 4) == 0) {
        bool first = ct_le32(copy + 4) != 0;
        memcpy(copy + (first ? 8 : size - 8), &(uint64_t){size}, 8);
        if (!first)
            memcpy(copy + size - 16, "SBS\n", 4);
    }
    struct ct_part part = {"x.sbs", {copy, size}};
    struct ct_file *f;
    carat_error err;
    if (ct_file_open_memory(&f, &part, 1, &err) == CARAT_OK) {
        for (int i = 0; i < ct_file_tensor_count(f); i++) {
            const struct ct_tensor *t = ct_file_tensor(f, i);
            if (ct_file_find(f, t->name) != t || t->data < copy || t->size > size ||
                (size_t)(t->data - copy) > size - t->size)
                abort();
        }
        if (ct_file_kind(f) == CT_FILE_SBS)
            bind(f);
        ct_file_close(f);
    }
    free(copy);
    return 0;
}
