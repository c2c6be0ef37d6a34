/* SPDX-License-Identifier: Apache-2.0 */
/* sbs_fields.c: reads the structs that gemma.cpp serialises as 32-bit words: a count of words, then the
 * fields in order. Older writers leave out fields at the end, newer ones add some. Tables say what is where;
 * checks that compare fields with each other or with the tensors are left to sbs.c and model/config_sbs.c. */
#include "file/sbs_fields.h"

#include <math.h>

enum kind { U32, I32, F32, BOOL, ENUM, STRING, WORDS, STRINGS, STRUCT, STRUCTS };
enum { MAX_STRING = 64 }; /* words */
#define UNUSED SIZE_MAX

struct record;
struct field {
    const char *name;
    enum kind kind;
    size_t at;        /* in the struct, or UNUSED */
    uint32_t allowed; /* of an ENUM: bit i: value i */
    const struct record *record;
};
struct record {
    const char *name;
    const struct field *field;
    size_t n, size;
    const void *defaults;
};

#define AT(field) offsetof(struct ct_sbs_layer, field)
static const struct field layer_fields[] = {
    {"model_dim", U32, AT(model_dim), 0, NULL},
    {"unused_griffin_dim", U32, UNUSED, 0, NULL},
    {"ff_hidden_dim", U32, AT(ff_hidden_dim), 0, NULL},
    {"heads", U32, AT(heads), 0, NULL},
    {"kv_heads", U32, AT(kv_heads), 0, NULL},
    {"qkv_dim", U32, AT(qkv_dim), 0, NULL},
    {"unused_conv1d_width", U32, UNUSED, 0, NULL},
    {"ff_biases", BOOL, AT(ff_biases), 0, NULL},
    {"unused_biases", BOOL, UNUSED, 0, NULL},
    {"optimized_gating", BOOL, AT(optimized_gating), 0, NULL},
    {"post_norm", ENUM, AT(post_norm), 0x3, NULL},
    {"type", ENUM, AT(type), 0x3, NULL},
    {"activation", ENUM, AT(activation), 0x1, NULL},
    {"post_qk", ENUM, AT(post_qk), 0x3, NULL},
    {"use_qk_norm", BOOL, AT(use_qk_norm), 0, NULL},
};
#undef AT
static const struct ct_sbs_layer layer_defaults = {.optimized_gating = true};
static const struct record layer_record = {"LayerConfig", layer_fields, CT_COUNT(layer_fields),
                                           sizeof layer_defaults, &layer_defaults};

#define AT(field) offsetof(struct ct_sbs_vit, field)
static const struct field vit_fields[] = {
    {"model_dim", U32, UNUSED, 0, NULL},  {"seq_len", U32, UNUSED, 0, NULL},
    {"num_scales", U32, UNUSED, 0, NULL}, {"patch_width", U32, UNUSED, 0, NULL},
    {"image_size", U32, UNUSED, 0, NULL}, {"layer_configs", STRUCTS, AT(layer_configs), 0, &layer_record},
    {"pool_dim", U32, UNUSED, 0, NULL},
};
#undef AT
static const struct ct_sbs_vit vit_defaults = {{NULL, 0}};
static const struct record vit_record = {"VitConfig", vit_fields, CT_COUNT(vit_fields), sizeof vit_defaults,
                                         &vit_defaults};

/* Every number that has been a model, the obsolete ones too, so that they are refused by name
 * (model/config_sbs.c). */
#define MODELS 0x7ffffu
#define TYPES  0x1ffu

#define AT(field) offsetof(struct ct_sbs_config, field)
static const struct field config_fields[] = {
    {"model_family_version", U32, AT(model_family_version), 0, NULL},
    {"display_name", STRING, AT(display_name), 0, NULL},
    {"model", ENUM, AT(model), MODELS, NULL},
    {"wrapping", ENUM, AT(wrapping), 0xf, NULL},
    {"weight", ENUM, AT(weight), TYPES, NULL},
    {"num_layers", U32, AT(num_layers), 0, NULL},
    {"model_dim", U32, AT(model_dim), 0, NULL},
    {"vocab_size", U32, AT(vocab_size), 0, NULL},
    {"max_seq_len", U32, AT(max_seq_len), 0, NULL},
    {"unused_num_tensor_scales", U32, UNUSED, 0, NULL},
    {"att_cap", F32, AT(att_cap), 0, NULL},
    {"final_cap", F32, AT(final_cap), 0, NULL},
    {"absolute_pe", BOOL, AT(absolute_pe), 0, NULL},
    {"unused_use_local_attention", BOOL, UNUSED, 0, NULL},
    {"query_scale", ENUM, AT(query_scale), 0x3, NULL},
    {"layer_configs", STRUCTS, AT(layer_configs), 0, &layer_record},
    {"attention_window_sizes", WORDS, AT(attention_window_sizes), 0, NULL},
    {"norm_num_groups", U32, AT(norm_num_groups), 0, NULL},
    {"vit_config", STRUCT, AT(vit_config), 0, &vit_record},
    {"pool_dim", U32, UNUSED, 0, NULL},
    {"eos_id", I32, AT(eos_id), 0, NULL},
    {"secondary_eos_id", I32, AT(secondary_eos_id), 0, NULL},
    {"scale_base_names", STRINGS, UNUSED, 0, NULL},
};
#undef AT
static const struct ct_sbs_config config_defaults = {
    .display_name = "",
    .model_family_version = 1,
    .wrapping = CT_SBS_WRAP_PT,
    .norm_num_groups = 1,
    .eos_id = 1,
    .secondary_eos_id = 1,
};
static const struct record config_record = {"ModelConfig", config_fields, CT_COUNT(config_fields),
                                            sizeof config_defaults, &config_defaults};

#define AT(field) offsetof(struct ct_sbs_entry, field)
static const struct field entry_fields[] = {
    {"name", STRING, AT(name), 0, NULL},
    {"type", ENUM, AT(type), TYPES, NULL},
    {"element_bytes", U32, AT(element_bytes), 0, NULL},
    {"num_elements", U32, AT(num_elements), 0, NULL},
    {"rows", U32, AT(rows), 0, NULL},
    {"cols", U32, AT(cols), 0, NULL},
    {"scale", F32, AT(scale), 0, NULL},
    {"stride", U32, AT(stride), 0, NULL},
};
#undef AT
static const struct ct_sbs_entry entry_defaults = {.name = "", .scale = 1};
static const struct record entry_record = {"MatPtr", entry_fields, CT_COUNT(entry_fields),
                                           sizeof entry_defaults, &entry_defaults};

/* ---- words ---- */

/* The byte at which a message points: the word before the cursor, which has just been read. */
static unsigned long long byte_of(const struct ct_sbs_cursor *c, size_t word)
{
    return (unsigned long long)(c->offset + 4 * (uint64_t)word);
}

static uint32_t peek(const struct ct_sbs_cursor *c, size_t word)
{
    return ct_le32(c->bytes.data + 4 * word);
}

/* The word that belongs to a field; 0 after an error. */
static uint32_t next_word(struct ct_sbs_cursor *c, const struct record *r, const char *field)
{
    if (c->status)
        return 0;
    if (c->at < c->end)
        return peek(c, c->at++);
    c->status = ct_bad_file(c->err, c->path, "blob \"%s\" ends at byte %llu inside %s.%s", c->blob,
                            byte_of(c, c->end), r->name, field);
    return 0;
}

static void fail_field(struct ct_sbs_cursor *c, const struct record *r, const char *field, uint32_t found,
                       const char *expected)
{
    if (!c->status)
        c->status = ct_bad_file(
            c->err, c->path, "blob \"%s\": %s.%s at byte %llu is %u (0x%08x), expected %s", c->blob, r->name,
            field, byte_of(c, c->at - 1), (unsigned)found, (unsigned)found, expected);
}

/* A count of things of at least one word each: at most max, and not more than there are words left. */
static uint32_t read_count(struct ct_sbs_cursor *c, const struct record *r, const char *field, uint32_t max)
{
    char expected[96];
    uint32_t n = next_word(c, r, field);
    if (n <= max && n <= c->end - c->at)
        return c->status ? 0 : n;
    snprintf(expected, sizeof expected, "a count of at most %u that fits into the %zu words left",
             (unsigned)max, c->end - c->at);
    fail_field(c, r, field, n, expected);
    return 0;
}

static void *push_words(struct ct_sbs_cursor *c, size_t n, size_t size)
{
    void *p = c->status ? NULL : ct_arena_push(c->arena, n, size);
    if (!p && !c->status)
        c->status = ct_no_memory(c->err, c->path);
    return p;
}

/* ASCII in words of four bytes; only the last word may end in zeros. */
static const char *read_string(struct ct_sbs_cursor *c, const struct record *r, const char *field)
{
    uint32_t n = read_count(c, r, field, MAX_STRING);
    char *s = push_words(c, 4 * (size_t)n + 1, 1);
    size_t length = 0;
    for (uint32_t i = 0; i < n && !c->status; i++) {
        uint32_t w = next_word(c, r, field);
        for (int k = 0; k < 4; k++) {
            char ch = (char)(w >> 8 * k & 0xff);
            bool zero_tail = i + 1 == n && k > 0 && w >> 8 * k == 0;
            if ((ch < 0x20 || ch == 0x7f) && !zero_tail)
                fail_field(c, r, field, w, "four printable ASCII characters");
            else if (!zero_tail && s)
                s[length++] = ch;
        }
    }
    return c->status ? "" : s;
}

/* ---- structs ---- */

static void read_record(struct ct_sbs_cursor *c, const struct record *r, void *out);

static struct ct_sbs_vector read_vector(struct ct_sbs_cursor *c, const struct record *r,
                                        const struct field *f)
{
    struct ct_sbs_vector v = {NULL, read_count(c, r, f->name, CT_SBS_MAX_VECTOR)};
    size_t size = f->kind == WORDS ? sizeof(uint32_t) : f->record->size;
    v.element = push_words(c, v.n, size);
    for (uint32_t i = 0; i < v.n && !c->status; i++) {
        char *element = (char *)v.element + i * size;
        if (f->kind == WORDS) {
            uint32_t w = next_word(c, r, f->name);
            memcpy(element, &w, sizeof w);
        } else {
            read_record(c, f->record, element);
        }
    }
    if (c->status)
        v.n = 0;
    return v;
}

static void read_field(struct ct_sbs_cursor *c, const struct record *r, const struct field *f, void *to)
{
    uint32_t w;
    const char *expected = NULL;
    switch (f->kind) {
    case U32:
    case I32:
    case F32:
    case BOOL:
    case ENUM:
        w = next_word(c, r, f->name);
        if (f->kind == ENUM && (w > 31 || !(f->allowed >> w & 1)))
            expected = "a known number of this enumeration";
        else if (f->kind == BOOL && w > 1)
            expected = "0 or 1";
        else if (f->kind == F32 && !isfinite(ct_f32_from_bits(w)))
            expected = "a finite number";
        if (expected)
            fail_field(c, r, f->name, w, expected);
        else if (to)
            memcpy(to, f->kind == BOOL ? (const void *)&(bool){w == 1} : &w,
                   f->kind == BOOL ? sizeof(bool) : 4);
        break;
    case STRING:
        memcpy(to, &(const char *){read_string(c, r, f->name)}, sizeof(const char *));
        break;
    case STRINGS:
        w = read_count(c, r, f->name, CT_SBS_MAX_VECTOR);
        for (uint32_t i = 0; i < w && !c->status; i++)
            read_string(c, r, f->name);
        break;
    case WORDS:
    case STRUCTS:
        memcpy(to, &(struct ct_sbs_vector[]){read_vector(c, r, f)}, sizeof(struct ct_sbs_vector));
        break;
    case STRUCT:
        read_record(c, f->record, to);
        break;
    }
}

/* The depth is that of the tables: config, vit, layer. */
static void read_record(struct ct_sbs_cursor *c, const struct record *r, void *out)
{
    size_t outer = c->end;
    assert(c->at <= c->end && c->end <= c->bytes.size / 4);
    memcpy(out, r->defaults, r->size);
    uint32_t n = next_word(c, r, "size");
    if (!c->status && n > outer - c->at)
        c->status =
            ct_bad_file(c->err, c->path, "blob \"%s\": a %s at byte %llu has %u words, but only %zu are left",
                        c->blob, r->name, byte_of(c, c->at - 1), (unsigned)n, outer - c->at);
    if (c->status)
        return;
    c->end = c->at + n;
    for (size_t i = 0; i < r->n && c->at < c->end && !c->status; i++)
        read_field(c, r, &r->field[i], r->field[i].at == UNUSED ? NULL : (char *)out + r->field[i].at);
    c->at = c->end;
    c->end = outer;
}

carat_status ct_sbs_cursor_init(struct ct_sbs_cursor *c, const char *path, const char *blob,
                                struct ct_bytes bytes, uint64_t offset, struct ct_arena *arena,
                                carat_error *err)
{
    *c = (struct ct_sbs_cursor){.path = path, .blob = blob, .bytes = bytes, .offset = offset, .arena = arena};
    c->end = bytes.size / 4;
    c->err = err;
    if (bytes.size % 4 == 0)
        return CARAT_OK;
    return ct_bad_file(err, path, "blob \"%s\" at byte %llu has %zu bytes, expected a multiple of 4", blob,
                       (unsigned long long)offset, bytes.size);
}

carat_status ct_sbs_read_config(struct ct_sbs_cursor *c, struct ct_sbs_config *out)
{
    read_record(c, &config_record, out);
    return c->status;
}

carat_status ct_sbs_read_entry(struct ct_sbs_cursor *c, struct ct_sbs_entry *out, bool *more)
{
    *more = c->at < c->end && !c->status;
    if (!*more)
        return c->status;
    uint64_t offset = c->offset + 4 * (uint64_t)c->at;
    read_record(c, &entry_record, out);
    out->offset = offset;
    return c->status;
}
