/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_gguf.c: any bytes as a GGUF file in memory: opens or is refused, what opened can be read to the
 * last byte of tensors and metadata, and so can what the rest of carat makes of it: config, weights
 * (of which one block each is decoded), vocabulary, the choices about chat and sampling. The corpus begins
 * with the magic, so that mutations reach the parser. */
#include <stdlib.h>

#include "file/reader.h"
#include "model/weights.h"
#include "text/chat/chat.h"
#include "text/generation_config.h"
#include "text/tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every byte of [p, p + n) can be read. */
static void touch(const void *p, size_t n)
{
    volatile uint8_t sum = 0;
    for (size_t i = 0; i < n; i += 64)
        sum = (uint8_t)(sum + ((const uint8_t *)p)[i]);
    if (n)
        sum = (uint8_t)(sum + ((const uint8_t *)p)[n - 1]);
}

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

static void read_file(const struct ct_file *f, const uint8_t *data, size_t size)
{
    for (int i = 0; i < f->metas.index.n; i++)
        read_meta(&f->metas.meta[i]);
    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        if (ct_file_find(f, t->name) != t || t->data < data || t->size > size ||
            (size_t)(t->data - data) > size - t->size)
            abort();
    }
}

/* Values of the last block, whose codes may be any, and what is said of its bytes. */
static void decode(const struct ct_weight *w)
{
    const struct ct_type_info *t = ct_type_info(w->type);
    const uint8_t *end = (const uint8_t *)w->data + (size_t)w->rows * w->row_bytes;
    float values[256];
    int at;
    ct_dequantize(w->type, values, end - t->bytes, (size_t)t->block);
    touch(values, (size_t)t->block * sizeof *values);
    if (ct_odd_byte(w->type, end - t->bytes, &at) && (at < 0 || at >= t->bytes))
        abort();
}

static carat_status read_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    (void)user, (void)slot, (void)tensor;
    if (w->data && w->rows > 0 && w->row_bytes > 0) {
        touch(w->data, (size_t)w->rows * w->row_bytes);
        decode(w);
    }
    return CARAT_OK;
}

static void read_model(const struct ct_file *f)
{
    static struct ct_config c;
    struct ct_weights w;
    struct ct_arena arena = {0};
    carat_error err;
    if (ct_config_read(&c, f, &err) == CARAT_OK && ct_weights_bind(&w, &c, f, &arena, &err) == CARAT_OK &&
        ct_weights_walk(&w, &c, f, read_weight, NULL) != CARAT_OK)
        abort();
    ct_arena_free(&arena);
}

static void check_named(const struct ct_tokenizer *t, const int32_t *ids, int n)
{
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= ct_tokenizer_size(t))
            abort();
}

static void read_text(const struct ct_file *f, const uint8_t *data, size_t size)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_tokenizer_from_gguf(&t, f, NULL, &err) != CARAT_OK)
        return;
    carat_tokens ids = {0};
    if (ct_tokenizer_encode(t, (const char *)data, CT_MIN(size, (size_t)256), CARAT_SPECIAL, NULL, &ids,
                            NULL) != CARAT_OK)
        abort();
    for (int i = 0; i < ids.n; i++)
        if (ids.ids[i] < 0 || ids.ids[i] >= ct_tokenizer_size(t))
            abort();
    free(ids.ids);
    int32_t named[64];
    int n = 0;
    if (ct_stop_ids(f, t, -1, CT_CHAT_NONE, ct_tokenizer_size(t), named, 64, &n, &err) == CARAT_OK)
        check_named(t, named, n);
    if (ct_banned_ids(f, t, ct_tokenizer_size(t), named, 64, &n, &err) == CARAT_OK)
        check_named(t, named, n);
    ct_tokenizer_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ct_part part = {"model.gguf", {data, size}};
    struct ct_file *f;
    carat_error err;
    if (ct_file_open_memory(&f, &part, 1, &err) != CARAT_OK)
        return 0;
    if (ct_file_kind(f) == CT_FILE_GGUF) {
        struct ct_chat_found chat;
        carat_sampling sampling;
        char note[CT_CHAT_NOTE];
        read_file(f, data, size);
        read_model(f);
        read_text(f, data, size);
        ct_chat_detect(f, "gemma3", &chat, note, &err);
        ct_sampling_defaults(&sampling, f, &err);
    }
    ct_file_close(f);
    return 0;
}
