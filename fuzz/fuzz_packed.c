/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_packed.c: any bytes as a packed file in memory: opens or is refused, an index that was read is written
 * again byte for byte, and what opened can be used to the end: side files, metadata, config, every byte of
 * the weights, unpacked rows, vocabulary, the choices about chat and sampling. Sizes and hashes of header and
 * index are made right first, so that mutations reach what lies behind them.
 *
 * The corpus is made by tools/pack_corpus.sh; test/file/test_packed.c fails when a new layout has made it
 * useless. */
#define _POSIX_C_SOURCE 200809L
#include "fuzz_text.h"

#include "file/packed.h"
#include "layout/panel.h"
#include "model/weights.h"
#include "text/chat/chat.h"
#include "text/generation_config.h"
#include "text/tokenizer/trie.h"
#include "file/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every byte of [p, p + n) can be read, and lies in the file. */
static void touch(struct ct_bytes file, const void *p, size_t n)
{
    const uint8_t *at = p;
    volatile uint8_t sum = 0;
    must(n == 0 || (at >= file.data && n <= file.size && (size_t)(at - file.data) <= file.size - n));
    for (size_t i = 0; i < n; i++)
        sum = (uint8_t)(sum + at[i]);
}

/* What is hashed: the header up to its own hash, and the index. */
static void mend(uint8_t *p, size_t size)
{
    struct ct_packed_header h;
    if (size < sizeof h)
        return;
    memcpy(&h, p, sizeof h);
    size_t at = (size_t)CT_MIN(h.index_at, (uint64_t)size);
    h = ct_packed_header(at, size - at, ct_packed_hash_block(p + at, size - at));
    memcpy(p, &h, sizeof h);
}

/* Also of a copy that leaves weights in its origin, which opens from a cache alone. */
static void write_again(struct ct_bytes file)
{
    struct ct_packed p;
    struct ct_packed_header h;
    struct ct_arena arena = {0};
    if (ct_packed_read(&p, "x.carat", file, &arena, NULL) == CARAT_OK) {
        size_t n = ct_packed_write_index(&p, NULL);
        uint8_t *index = malloc(n);
        memcpy(&h, file.data, sizeof h);
        must(index && n == h.index_size && ct_packed_write_index(&p, index) == n);
        must(memcmp(index, file.data + h.index_at, n) == 0);
        free(index);
        for (uint32_t i = 0; i < p.n_weight; i++) {
            const struct ct_packed_weight *w = &p.weight[i];
            const struct ct_source *s = w->source ? &p.source[w->source - 1] : NULL;
            must(w->source <= p.n_source);
            must(!s || (s->present && w->data.at <= s->id.size && w->data.size <= s->id.size - w->data.at));
        }
    }
    ct_arena_free(&arena);
}

static void read_file(const struct ct_file *f, struct ct_bytes file)
{
    const struct ct_packed *p = ct_file_packed(f);
    for (size_t i = 0; i < CT_COUNT(p->side); i++)
        touch(file, file.data + p->side[i].at, p->side[i].size);
    for (int i = 0; i < f->metas.index.n; i++) {
        const struct ct_meta *m = &f->metas.meta[i];
        must(ct_file_meta(f, "no such key") == NULL);
        touch(file, m->key.s, m->key.n);
        touch(file, m->s.s, m->s.n);
        touch(file, m->raw.data, m->raw.size);
        for (uint64_t k = 0; m->type == CT_META_ARRAY && m->elem != CT_META_STRING && k < m->count; k++)
            ct_meta_number(m, k);
    }
    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        must(ct_file_find(f, t->name) == t && !t->data && t->type_name && t->file);
    }
    for (uint32_t i = 0; i < p->n_weight; i++) {
        const struct ct_tensor *t = ct_file_weight(f, p->weight[i].name.s);
        must(t != NULL);
        touch(file, t->data, t->size);
    }
    for (uint32_t i = 0; i < p->n_made; i++) { /* which nobody believes */
        const struct ct_packed_weight *x = &p->made[i];
        struct ct_made m = {x->name.s, x->key, {.type = (enum ct_type)x->type, .rows = (int)x->rows}};
        touch(file, file.data + x->data.at, x->data.size);
        must(!ct_file_find_made(f, &m) && !m.w.data);
    }
}

struct visit {
    struct ct_bytes file;
    size_t bytes;
};

static carat_status read_weight(void *user, const char *place, const char *tensor, const struct ct_weight *w)
{
    struct visit *v = user;
    size_t row;
    must(place && tensor && w->rows > 0 && w->cols > 0 && ct_weight_bytes(w) > 0);
    if (w->rows == 1)
        return CARAT_OK; /* a norm, in the arena */
    touch(v->file, w->data, ct_weight_bytes(w));
    must(ct_type_row_bytes(w->type, (size_t)w->cols, &row));
    if (w->layout == CT_LAYOUT_PANELS) {
        uint8_t *stored = malloc(row);
        must(stored != NULL);
        ct_unpack(stored, w, 0);
        ct_unpack(stored, w, w->rows - 1);
        free(stored);
    }
    v->bytes += ct_weight_bytes(w);
    return CARAT_OK;
}

static void read_text(const struct ct_file *f)
{
    static const char text[] =
        "Hello, world! <start_of_turn>user\n\xff\xf0\x9f\x91\xa9<eos>  aaaaaaaaaaaaaaaa";
    struct ct_tokenizer *t = NULL;
    const struct ct_trie *trie;
    carat_error err;
    int32_t ids[64];
    int n;
    if (ct_tokenizer_open(&t, f, NULL, &err) != CARAT_OK)
        t = NULL;
    else
        exercise(t, (const uint8_t *)text, sizeof text - 1);
    if (t && ct_tokenizer_trie(&trie, t, &err) == CARAT_OK)
        must(trie->node[trie->n_nodes].first == trie->n_ids);
    ct_stop_ids(f, t, 106, CT_CHAT_GEMMA3, 262144, ids, CT_COUNT(ids), &n, &err);
    ct_banned_ids(f, t, 262144, ids, CT_COUNT(ids), &n, &err);
    ct_tokenizer_free(t);
}

static void read_model(const struct ct_file *f, struct ct_bytes file)
{
    static struct ct_config c; /* large */
    struct ct_weights w;
    struct ct_arena arena = {0};
    struct visit v = {file, 0};
    carat_sampling sampling;
    carat_error err;
    struct ct_chat_found chat;
    char note[CT_CHAT_NOTE];
    if (ct_config_read(&c, f, &err) == CARAT_OK && ct_weights_bind(&w, &c, f, &arena, &err) == CARAT_OK) {
        must(ct_weights_walk(&w, &c, f, read_weight, &v) == CARAT_OK);
        must(v.bytes <= file.size); /* no two are the same */
    }
    ct_arena_free(&arena);
    ct_chat_detect(f, "gemma3", &chat, note, &err);
    ct_sampling_defaults(&sampling, f, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    void *copy;
    struct ct_file *f;
    carat_error err;
    if (posix_memalign(&copy, CT_PACKED_ALIGN, size ? size : 1) != 0) /* as a mapping would lie */
        return 0;
    if (size)
        memcpy(copy, data, size);
    mend(copy, size);
    struct ct_part part = {"x.carat", {copy, size}};
    write_again(part.bytes);
    if (ct_file_open_memory(&f, &part, 1, &err) == CARAT_OK) {
        if (ct_file_is_packed(f)) {
            read_file(f, part.bytes);
            read_model(f, part.bytes);
            read_text(f);
        }
        ct_file_close(f);
    }
    free(copy);
    return 0;
}
