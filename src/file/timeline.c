/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c: reads and checks timeline files (timeline.h). Hashes show damage, not malice: every field is
 * checked, whatever they say. */
#include "file/timeline.h"

#include "base/hash.h"
#include "file/file.h"

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

static carat_status check_facts(const char *path, const struct ct_timeline_facts *f, carat_error *err)
{
    const struct {
        const char *what;
        uint64_t found, least, most;
    } range[] = {
        {"exact", f->exact, 0, 1},
        {"the type of K and V", f->kv, CARAT_KV_BF16, CARAT_KV_Q8},
        {"the first layer", f->first_layer, 0, CT_TIMELINE_LAYERS},
        {"the number of layers", f->layers, 1, CT_TIMELINE_LAYERS},
        {"the vocabulary", f->n_vocab, 1, CT_TIMELINE_TOKENS},
        {"the number of tokens", f->n, 1, CT_TIMELINE_TOKENS},
        {"the lowest local position", f->lowest, 0, f->n},
        {"the number of logits", f->n_logits, f->n_logits ? f->n_vocab : 0, f->n_vocab},
        {"the size of the note", f->note_size, 0, CT_TIMELINE_NOTE},
    };
    for (size_t i = 0; i < sizeof f->content; i++)
        if (ct_hex_digit(f->content[i]) < 0)
            return ct_bad_file(err, path,
                               "in the header of the timeline file: byte %zu of the model's hash is no "
                               "hexadecimal digit",
                               i);
    for (size_t i = 0; i < CT_COUNT(range); i++)
        if (range[i].found < range[i].least || range[i].found > range[i].most)
            return ct_bad_file(err, path,
                               "in the header of the timeline file: %s is %llu, expected %llu to %llu",
                               range[i].what, (unsigned long long)range[i].found,
                               (unsigned long long)range[i].least, (unsigned long long)range[i].most);
    return CARAT_OK;
}

static carat_status timeline_check_ids(const char *path, const struct ct_timeline *t, carat_error *err)
{
    for (size_t i = 0; i < t->facts.n; i++) {
        uint32_t id = ct_le32(t->part[CT_TIMELINE_IDS].data + i * sizeof(int32_t));
        if (id >= t->facts.n_vocab)
            return ct_bad_file(err, path, "token %zu is %u, expected less than the vocabulary of %u", i, id,
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
        return ct_bad_file(err, path, "has %zu bytes, expected at least the %zu of a timeline file",
                           bytes.size, sizeof h);
    memcpy(&h, bytes.data, sizeof h);
    if (memcmp(h.magic, CT_TIMELINE_MAGIC, sizeof h.magic) != 0)
        return ct_bad_file(err, path, "is not a timeline file: it does not begin with %s", CT_TIMELINE_MAGIC);
    if (h.layout != CT_TIMELINE_LAYOUT)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: is a timeline file of layout %u, expected %d", path,
                       h.layout, CT_TIMELINE_LAYOUT);
    if (h.header_hash != ct_hash64(&h, offsetof(struct ct_timeline_header, header_hash)))
        return ct_bad_file(err, path, "the header of the timeline file is damaged");
    CT_TRY(check_facts(path, &h.facts, err));
    t->numerics = h.numerics;
    t->facts = h.facts;
    if (!ct_timeline_divide(t, bytes, &size) || size != bytes.size || h.file_size != bytes.size)
        return ct_bad_file(err, path,
                           "has %zu bytes, expected %llu: the timeline file is cut, or its header wrong",
                           bytes.size, (unsigned long long)h.file_size);
    for (int i = 0; i < CT_TIMELINE_PARTS; i++)
        if (h.hash[i] != ct_hash64(t->part[i].data, t->part[i].size))
            return ct_bad_file(err, path, "the %s of the timeline file are damaged", names[i]);
    return timeline_check_ids(path, t, err);
}
