/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_palette.c: any bytes as a GGUF file of a small Gemma 3 with palettes: it is refused, or every value of
 * a matrix of indices is a finite entry of its own palettes, by whichever way it is read: as a row, and out
 * of the panels that it is packed into. */
#include <stdlib.h>

#include "layout/pack_weight.h"
#include "model/weights.h"
#include "quant/palette.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 20 }; /* bytes of values that are worth the time */

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_row(const struct ct_weight *w, int r, const uint8_t *row)
{
    const struct ct_palettes *p = w->palettes;
    const uint16_t *entry = p->entry + ((size_t)(r / p->shared) << p->bits);

    for (int i = 0; i < w->cols; i++) {
        const uint16_t value = ct_le16(row + 2 * i);
        int at = 0;
        while (at < 1 << p->bits && entry[at] != value)
            at++;
        must(at < 1 << p->bits && (value & 0x7c00) != 0x7c00);
    }
}

static carat_status check_weight(void *user, const char *slot, const char *name, const struct ct_weight *w)
{
    const size_t bytes = (size_t)w->cols * 2;

    (void)user, (void)slot, (void)name;
    if (w->layout != CT_LAYOUT_PALETTE || bytes * (size_t)w->rows > MOST)
        return CARAT_OK;
    struct ct_weight form = ct_packed_form(w);
    uint8_t *row = malloc(bytes), *packed = malloc(ct_weight_bytes(&form)), *again = malloc(bytes);
    struct ct_packing p = {.from = w, .form = form, .to = packed};
    must(row && packed && again);
    for (int i = 0; i < ct_packing_items(&p); i++)
        ct_pack_item(&p, i, 0);
    form.data = packed;
    for (int r = 0; r < w->rows; r++) {
        ct_unpack(row, w, r);
        check_row(w, r, row);
        ct_unpack(again, &form, r);
        must(memcmp(row, again, bytes) == 0);
    }
    free(row);
    free(packed);
    free(again);
    return CARAT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ct_config c; /* large */
    const struct ct_part part = {"model.gguf", {data, size}};
    struct ct_weights w;
    struct ct_arena arena = {0};
    struct ct_file *f;
    carat_error err;

    if (ct_file_open_memory(&f, &part, 1, &err) != CARAT_OK)
        return 0;
    if (ct_config_read(&c, f, &err) == CARAT_OK && ct_weights_bind(&w, &c, f, &arena, &err) == CARAT_OK)
        must(ct_weights_walk(&w, &c, f, check_weight, NULL) == CARAT_OK);
    ct_arena_free(&arena);
    ct_file_close(f);
    return 0;
}
