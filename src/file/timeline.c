/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c: see timeline.h. A file is trusted in nothing, whatever its hashes say: they show damage, not
 * malice. */
#include "file/timeline.h"

#include "base/hash.h"

_Static_assert(sizeof(struct ct_timeline_header) == 8 + 8 + 8 + 80 + 32 + 8, "there are no holes in it");

bool ct_timeline_divide(struct ct_timeline *t, struct ct_bytes file, size_t *size)
{
    const struct ct_timeline_facts *f = &t->facts;
    const uint64_t bytes[CT_TIMELINE_PARTS] = {(uint64_t)f->n * sizeof(int32_t), f->kv_size,
                                               (uint64_t)f->n_logits * sizeof(float), f->note_size};

    *size = sizeof(struct ct_timeline_header);
    for (int i = 0; i < CT_TIMELINE_PARTS; i++) {
        const size_t at = *size;
        if (bytes[i] > SIZE_MAX || !ct_add(at, (size_t)bytes[i], size) || *size > file.size)
            return false;
        t->part[i] = (struct ct_bytes){file.data ? file.data + at : NULL, (size_t)bytes[i]};
    }
    return true;
}

struct ct_timeline_header ct_timeline_head(const struct ct_timeline *t)
{
    struct ct_timeline_header h = {
        .magic = CT_TIMELINE_MAGIC, .layout = CT_TIMELINE_LAYOUT, .numerics = t->numerics};

    h.file_size = sizeof h;
    h.facts = t->facts;
    for (int i = 0; i < CT_TIMELINE_PARTS; i++) {
        h.file_size += t->part[i].size;
        h.hash[i] = ct_hash64(t->part[i].data, t->part[i].size);
    }
    h.header_hash = ct_hash64(&h, offsetof(struct ct_timeline_header, header_hash));
    return h;
}

static carat_status timeline_range(const char *path, const char *what, uint64_t found, uint64_t least,
                                   uint64_t most, carat_error *err)
{
    if (found >= least && found <= most)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_FORMAT,
                   "%s: in the header of the timeline file: %s is %llu, expected %llu to %llu", path, what,
                   (unsigned long long)found, (unsigned long long)least, (unsigned long long)most);
}

static carat_status check_facts(const char *path, const struct ct_timeline_facts *f, carat_error *err)
{
    for (size_t i = 0; i < sizeof f->content; i++)
        if (ct_hex_digit(f->content[i]) < 0)
            return ct_fail(err, CARAT_E_FORMAT,
                           "%s: in the header of the timeline file: byte %zu of the model's hash is no "
                           "hexadecimal digit",
                           path, i);
    CT_TRY(timeline_range(path, "exact", f->exact, 0, 1, err));
    CT_TRY(timeline_range(path, "the type of K and V", f->kv, CARAT_KV_BF16, CARAT_KV_Q8, err));
    CT_TRY(timeline_range(path, "the first layer", f->first_layer, 0, CT_TIMELINE_LAYERS, err));
    CT_TRY(timeline_range(path, "the number of layers", f->layers, 1, CT_TIMELINE_LAYERS, err));
    CT_TRY(timeline_range(path, "the vocabulary", f->n_vocab, 1, CT_TIMELINE_TOKENS, err));
    CT_TRY(timeline_range(path, "the number of tokens", f->n, 1, CT_TIMELINE_TOKENS, err));
    CT_TRY(timeline_range(path, "the lowest local position", f->lowest, 0, f->n, err));
    CT_TRY(timeline_range(path, "the number of logits", f->n_logits, f->n_logits ? f->n_vocab : 0, f->n_vocab,
                          err));
    return timeline_range(path, "the size of the note", f->note_size, 0, CT_TIMELINE_NOTE, err);
}

static carat_status check_ids(const char *path, const struct ct_timeline *t, carat_error *err)
{
    for (size_t i = 0; i < t->facts.n; i++) {
        uint32_t id = ct_le32(t->part[CT_TIMELINE_IDS].data + i * sizeof(int32_t));
        if (id >= t->facts.n_vocab)
            return ct_fail(err, CARAT_E_FORMAT,
                           "%s: token %zu is %u, expected less than the vocabulary of %u", path, i, id,
                           t->facts.n_vocab);
    }
    return CARAT_OK;
}

carat_status ct_timeline_read(struct ct_timeline *t, const char *path, struct ct_bytes bytes,
                              carat_error *err)
{
    static const char *const names[CT_TIMELINE_PARTS] = {"tokens", "K and V", "logits", "note"};
    struct ct_timeline_header h;
    size_t size;

    if (bytes.size < sizeof h)
        return ct_fail(err, CARAT_E_FORMAT, "%s: has %zu bytes, expected at least the %zu of a timeline file",
                       path, bytes.size, sizeof h);
    memcpy(&h, bytes.data, sizeof h);
    if (memcmp(h.magic, CT_TIMELINE_MAGIC, sizeof h.magic) != 0)
        return ct_fail(err, CARAT_E_FORMAT, "%s: is not a timeline file: it does not begin with %s", path,
                       CT_TIMELINE_MAGIC);
    if (h.layout != CT_TIMELINE_LAYOUT)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: is a timeline file of layout %u, expected %d", path,
                       h.layout, CT_TIMELINE_LAYOUT);
    if (h.header_hash != ct_hash64(&h, offsetof(struct ct_timeline_header, header_hash)))
        return ct_fail(err, CARAT_E_FORMAT, "%s: the header of the timeline file is damaged", path);
    CT_TRY(check_facts(path, &h.facts, err));
    t->numerics = h.numerics;
    t->facts = h.facts;
    if (!ct_timeline_divide(t, bytes, &size) || size != bytes.size || h.file_size != bytes.size)
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s: has %zu bytes, expected %llu: the timeline file is cut, or its header wrong",
                       path, bytes.size, (unsigned long long)h.file_size);
    for (int i = 0; i < CT_TIMELINE_PARTS; i++)
        if (h.hash[i] != ct_hash64(t->part[i].data, t->part[i].size))
            return ct_fail(err, CARAT_E_FORMAT, "%s: the %s of the timeline file are damaged", path,
                           names[i]);
    return check_ids(path, t, err);
}
