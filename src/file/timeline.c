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

#define AT(member) offsetof(struct ct_timeline_header, member)

static uint64_t hash_of_header(const struct ct_timeline_header *h)
{
    return ct_hash64(h, AT(header_hash));
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
    h.header_hash = hash_of_header(&h);
    return h;
}

/* ---- what a header says ---- */

#define FIELD(member) AT(member), sizeof((struct ct_timeline_header *)NULL)->member
static const struct header_field {
    const char *name;
    size_t at, size;
} header_fields[] = {
    {"the version of numerics", FIELD(numerics)},
    {"the size of the file", FIELD(file_size)},
    {"the model's hash", FIELD(facts.content)},
    {"the arithmetic", FIELD(facts.arithmetic)},
    {"the type of K and V", FIELD(facts.kv)},
    {"the first layer", FIELD(facts.first_layer)},
    {"the number of layers", FIELD(facts.layers)},
    {"the vocabulary", FIELD(facts.n_vocab)},
    {"the number of tokens", FIELD(facts.n)},
    {"the lowest local position", FIELD(facts.lowest)},
    {"the number of logits", FIELD(facts.n_logits)},
    {"the size of K and V", FIELD(facts.kv_size)},
    {"the size of the note", FIELD(facts.note_size)},
    {"the hash of the tokens", FIELD(hash[CT_TIMELINE_IDS])},
    {"the hash of K and V", FIELD(hash[CT_TIMELINE_KV])},
    {"the hash of the logits", FIELD(hash[CT_TIMELINE_LOGITS])},
    {"the hash of the note", FIELD(hash[CT_TIMELINE_TEXT])},
    {"the hash of the header", FIELD(header_hash)},
};

/* The field that a byte from `numerics` on is of. */
static const struct header_field *field_at(size_t byte)
{
    const struct header_field *f = header_fields;

    while (byte >= f->at + f->size)
        f++;
    return f;
}

static uint64_t field_number(const struct ct_timeline_header *h, const struct header_field *f)
{
    const uint8_t *p = (const uint8_t *)h + f->at;

    return f->size == sizeof(uint32_t) ? ct_le32(p) : ct_le64(p);
}

static const char *show_field(char out[CT_QUOTE], const struct ct_timeline_header *h,
                              const struct header_field *f)
{
    if (f->at == AT(facts.content))
        return ct_quote(out, (struct ct_str){h->facts.content, sizeof h->facts.content});
    sprintf(out, f->at < AT(hash) ? "%llu" : "%016llx", (unsigned long long)field_number(h, f));
    return out;
}

static carat_status other_field(const char *path, const struct ct_timeline_header *found,
                                const struct ct_timeline_header *expected, size_t byte, carat_error *err)
{
    const struct header_field *f = field_at(byte);
    char is[CT_QUOTE], was[CT_QUOTE];

    return ct_bad_file(err, path, "in the header of the timeline file: %s is %s, expected %s (at byte %zu)",
                       f->name, show_field(is, found, f), show_field(was, expected, f), byte);
}

/* Names the byte that was changed where a single one was: only as it was does the header have its hash.
 * CARAT_OK: there is none such. */
static carat_status find_changed_byte(const char *path, const struct ct_timeline_header *h, carat_error *err)
{
    struct ct_timeline_header tried = *h;
    uint8_t *byte = (uint8_t *)&tried;

    for (size_t i = AT(numerics); i < AT(header_hash); i++) {
        const uint8_t found = byte[i];
        for (int value = 0; value <= UINT8_MAX; value++) {
            byte[i] = (uint8_t)value;
            if (hash_of_header(&tried) == h->header_hash)
                return other_field(path, h, &tried, i, err);
        }
        byte[i] = found;
    }
    return CARAT_OK;
}

static carat_status check_facts(const char *path, const struct ct_timeline_header *h, carat_error *err)
{
    const struct ct_timeline_facts *f = &h->facts;
    const struct {
        size_t at;
        uint64_t least, most;
    } range[] = {
        {AT(facts.arithmetic), CT_FAST, CT_FAST8},
        {AT(facts.kv), CARAT_KV_BF16, CARAT_KV_Q8},
        {AT(facts.first_layer), 0, CT_TIMELINE_LAYERS},
        {AT(facts.layers), 1, CT_TIMELINE_LAYERS},
        {AT(facts.n_vocab), 1, CT_TIMELINE_TOKENS},
        {AT(facts.n), 1, CT_TIMELINE_TOKENS},
        {AT(facts.lowest), 0, f->n},
        {AT(facts.n_logits), f->n_logits ? f->n_vocab : 0, f->n_vocab},
        {AT(facts.note_size), 0, CT_TIMELINE_NOTE},
    };
    for (size_t i = 0; i < sizeof f->content; i++)
        if (ct_hex_digit(f->content[i]) < 0)
            return ct_bad_file(err, path,
                               "in the header of the timeline file: byte %zu of the model's hash is 0x%02x, "
                               "expected a hexadecimal digit",
                               i, (unsigned char)f->content[i]);
    for (size_t i = 0; i < CT_COUNT(range); i++) {
        const struct header_field *field = field_at(range[i].at);
        const uint64_t found = field_number(h, field);
        if (found < range[i].least || found > range[i].most)
            return ct_bad_file(err, path,
                               "in the header of the timeline file: %s is %llu, expected %llu to %llu",
                               field->name, (unsigned long long)found, (unsigned long long)range[i].least,
                               (unsigned long long)range[i].most);
    }
    return CARAT_OK;
}

/* ---- the parts ---- */

static carat_status find_parts(struct ct_timeline *t, const char *path, struct ct_bytes bytes,
                               const struct ct_timeline_header *h, carat_error *err)
{
    const struct ct_timeline_facts *f = &h->facts;
    size_t size;

    if (h->file_size != bytes.size)
        return ct_bad_file(err, path, "has %zu bytes, expected the %llu that the timeline file says",
                           bytes.size, (unsigned long long)h->file_size);
    if (!ct_timeline_divide(t, bytes, &size) || size != bytes.size)
        return ct_bad_file(err, path,
                           "in the header of the timeline file: %u tokens, %llu bytes of K and V, %u logits "
                           "and a note of %llu bytes, expected the %zu bytes of the file",
                           f->n, (unsigned long long)f->kv_size, f->n_logits,
                           (unsigned long long)f->note_size, bytes.size);
    for (int i = 0; i < CT_TIMELINE_PARTS; i++) {
        const uint64_t found = ct_hash64(t->part[i].data, t->part[i].size);
        if (found != h->hash[i])
            return ct_bad_file(err, path, "%s is %016llx, expected %016llx: the timeline file is damaged",
                               field_at(AT(hash) + (size_t)i * sizeof h->hash[i])->name,
                               (unsigned long long)found, (unsigned long long)h->hash[i]);
    }
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

/* The hash of the header counts last: what else is wrong says more. */
carat_status ct_timeline_read(struct ct_timeline *t, const char *path, struct ct_bytes bytes,
                              carat_error *err)
{
    struct ct_timeline_header h;

    if (bytes.size < sizeof h)
        return ct_bad_file(err, path, "has %zu bytes, expected at least the %zu of a timeline file",
                           bytes.size, sizeof h);
    memcpy(&h, bytes.data, sizeof h);
    if (memcmp(h.magic, CT_TIMELINE_MAGIC, sizeof h.magic) != 0)
        return ct_bad_file(err, path, "is not a timeline file: it does not begin with %s", CT_TIMELINE_MAGIC);
    if (h.layout != CT_TIMELINE_LAYOUT)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: is a timeline file of layout %u, expected %d", path,
                       h.layout, CT_TIMELINE_LAYOUT);
    struct ct_timeline_header right = h;
    right.header_hash = hash_of_header(&h);
    if (h.header_hash != right.header_hash)
        CT_TRY(find_changed_byte(path, &h, err));
    CT_TRY(check_facts(path, &h, err));
    t->numerics = h.numerics;
    t->facts = h.facts;
    CT_TRY(find_parts(t, path, bytes, &h, err));
    if (h.header_hash != right.header_hash)
        return other_field(path, &h, &right, AT(header_hash), err);
    return timeline_check_ids(path, t, err);
}
