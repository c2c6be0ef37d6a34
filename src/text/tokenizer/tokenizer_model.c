/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_model.c: reads tokenizer.model, a SentencePiece ModelProto in protobuf wire format, as far as
 * Gemma uses it: BPE, identity normalisation, spaces escaped and kept, no dummy prefix. Anything else is
 * refused. Nothing is nested deeper than model, piece or spec, so there is no recursion. */
#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"
#include "text/tokenizer/tokenizer_parts.h"

/* A cursor over one message. The first error is kept; after it, every field reads as the end. */
struct wire {
    const char *name;
    uint64_t outer,
        number; /* the field this message is, 0 for the model, and the field read last; for messages */
    const uint8_t *begin; /* of the file, for offsets in messages */
    const uint8_t *p, *end;
    carat_error *err;
    carat_status status;
};

struct field {
    uint64_t number;
    int type;
    uint64_t value;        /* types 0, 1, 5 */
    struct ct_bytes bytes; /* type 2 */
};

/* "file: field 1.2: sentence (at byte 123)" */
static carat_status proto_refuse(const struct wire *w, carat_status code, size_t byte, const char *format,
                                 ...)
{
    char sentence[512], outer[24] = "", number[24] = "?";
    CT_FORMAT(sentence, format);
    if (w->outer)
        snprintf(outer, sizeof outer, "%llu.", (unsigned long long)w->outer);
    if (w->number)
        snprintf(number, sizeof number, "%llu", (unsigned long long)w->number);
    return ct_fail(w->err, code, "%s: field %s%s: %s (at byte %zu)", w->name, outer, number, sentence, byte);
}

static void proto_fail(struct wire *w, const char *what)
{
    if (w->status == CARAT_OK)
        w->status = proto_refuse(w, CARAT_E_FORMAT, (size_t)(w->p - w->begin), "%s", what);
    w->p = w->end;
}

static uint64_t proto_varint(struct wire *w)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (w->p == w->end)
            break;
        uint8_t b = *w->p++;
        if (shift == 63 && b > 1)
            break;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128)
            return v;
    }
    proto_fail(w, "expected a varint of at most 10 bytes");
    return 0;
}

/* The next field; false at the end of the message or after an error. */
static bool proto_next(struct wire *w, struct field *f)
{
    if (w->status != CARAT_OK || w->p == w->end)
        return false;
    memset(f, 0, sizeof *f);
    w->number = 0;
    uint64_t key = proto_varint(w);
    f->number = key >> 3;
    w->number = f->number;
    f->type = (int)(key & 7);
    size_t left = (size_t)(w->end - w->p);
    if (w->status == CARAT_OK && (f->number == 0 || f->number > 0x1fffffff))
        proto_fail(w, "expected a field number from 1 to 536870911");
    else if (f->type == 0)
        f->value = proto_varint(w);
    else if (f->type == 2) {
        uint64_t n = proto_varint(w);
        left = (size_t)(w->end - w->p);
        if (w->status == CARAT_OK && n > left)
            w->status = proto_refuse(w, CARAT_E_FORMAT, (size_t)(w->p - w->begin),
                                     "a length of %llu bytes found, expected at most the %zu that are left",
                                     (unsigned long long)n, left);
        if (w->status == CARAT_OK) {
            f->bytes = (struct ct_bytes){w->p, (size_t)n};
            w->p += n;
        }
    } else if (f->type == 1 || f->type == 5) {
        size_t n = f->type == 1 ? 8 : 4;
        if (left < n) {
            proto_fail(w, "a number is cut off");
        } else {
            f->value = n == 8 ? ct_le64(w->p) : ct_le32(w->p);
            w->p += n;
        }
    } else {
        proto_fail(w, "a wire type for groups, or none at all, found; expected 0, 1, 2 or 5");
    }
    return w->status == CARAT_OK;
}

static struct wire proto_inside(const struct wire *w, struct ct_bytes bytes)
{
    struct wire inner = *w;
    inner.outer = w->number;
    inner.number = 0;
    inner.p = bytes.data;
    inner.end = bytes.data + bytes.size;
    return inner;
}

/* What counts of the messages besides the pieces: the specs of the trainer, the normaliser and the
 * denormaliser, which is a second normaliser, for decoding. */
enum { PIECES = 1, TRAINER = 2, NORMALIZER = 3, DENORMALIZER = 5 };
struct settings {
    uint64_t model_type, byte_fallback, suffix;
    uint64_t bos, eos; /* int32_t; below 0: none */
    uint64_t dummy_prefix, remove_spaces, escape_spaces;
    struct ct_bytes charsmap, denormalizer, surface;
};
#define AT(member) offsetof(struct settings, member)
static const struct setting {
    uint64_t message, number;
    int type; /* of the field: 0 or 2 */
    size_t at;
} settings[] = {
    {TRAINER, 3, 0, AT(model_type)},
    {TRAINER, 24, 0, AT(suffix)},
    {TRAINER, 35, 0, AT(byte_fallback)},
    {TRAINER, 41, 0, AT(bos)},
    {TRAINER, 42, 0, AT(eos)},
    {TRAINER, 44, 2, AT(surface)},
    {NORMALIZER, 2, 2, AT(charsmap)},
    {NORMALIZER, 3, 0, AT(dummy_prefix)},
    {NORMALIZER, 4, 0, AT(remove_spaces)},
    {NORMALIZER, 5, 0, AT(escape_spaces)},
    {DENORMALIZER, 2, 2, AT(denormalizer)},
};
#undef AT

static carat_status proto_settings(struct wire w, struct settings *s)
{
    struct field f;
    while (proto_next(&w, &f))
        for (size_t i = 0; i < CT_COUNT(settings); i++) {
            const struct setting *to = &settings[i];
            if (to->message == w.outer && to->number == f.number && to->type == f.type)
                memcpy((char *)s + to->at, f.type ? (const void *)&f.bytes : &f.value,
                       f.type ? sizeof f.bytes : sizeof f.value);
        }
    return w.status;
}

/* Refuses too many pieces before any memory is spent on them. */
static bool too_many_pieces(struct wire w)
{
    struct field f;
    int n = 0;
    w.err = NULL; /* errors in the fields are reported when they are read */
    while (n <= CT_VOCAB_MAX && proto_next(&w, &f))
        n += f.number == PIECES && f.type == 2;
    return n > CT_VOCAB_MAX;
}

struct scores {
    float *score;
    size_t capacity;
};

static carat_status proto_piece(struct ct_tokenizer *t, struct wire w, struct scores *s)
{
    struct field f;
    struct ct_str text = {"", 0};
    uint32_t score = 0;
    uint64_t kind = CT_PIECE_NORMAL;
    size_t offset = (size_t)(w.p - w.begin);
    int id = t->n;
    while (proto_next(&w, &f)) {
        if (f.number == 1 && f.type == 2)
            text = (struct ct_str){(const char *)f.bytes.data, f.bytes.size};
        else if (f.number == 2 && f.type == 5)
            score = (uint32_t)f.value;
        else if (f.number == 3 && f.type == 0)
            kind = f.value;
    }
    if (w.status != CARAT_OK)
        return w.status;
    w.number = 3;
    if (kind == CT_PIECE_UNUSED) /* Gemma has none; encoding would have to split such a piece again */
        return proto_refuse(&w, CARAT_E_UNSUPPORTED, offset, "piece %d is of type UNUSED", id);
    if (kind < CT_PIECE_NORMAL || kind > CT_PIECE_BYTE)
        return proto_refuse(&w, CARAT_E_FORMAT, offset, "piece %d has type %llu, expected 1 to 6", id,
                            (unsigned long long)kind);
    w.number = 2;
    if (ct_f32_from_bits(score) != ct_f32_from_bits(score))
        return proto_refuse(&w, CARAT_E_FORMAT, offset, "the score of piece %d is not a number", id);
    w.number = 1;
    if (kind == CT_PIECE_BYTE && ct_piece_byte(text) < 0)
        return proto_refuse(&w, CARAT_E_FORMAT, offset, "the byte piece %d is not spelled <0x00> to <0xFF>",
                            id);
    if (!ct_array_grow(&s->score, &s->capacity, (size_t)id + 1, sizeof *s->score))
        return ct_no_memory(w.err, w.name);
    s->score[id] = ct_f32_from_bits(score);
    carat_error why;
    carat_status status = ct_tokenizer_add(t, w.name, id, text, (int)kind, false, &why);
    return status == CARAT_OK ? status
                              : ct_fail(w.err, status, "%s (field %llu.1, at byte %zu)", why.message,
                                        (unsigned long long)w.outer, offset);
}

static carat_status check_settings(const struct settings *s, const char *name, carat_error *err)
{
    if (s->model_type != 2)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: model type %llu found, expected 2 (BPE)", name,
                       (unsigned long long)s->model_type);
    const char *what = s->charsmap.size       ? "a character map"
                       : s->denormalizer.size ? "a denormaliser"
                       : s->dummy_prefix      ? "add_dummy_prefix"
                       : s->remove_spaces     ? "remove_extra_whitespaces"
                       : s->suffix            ? "treat_whitespace_as_suffix"
                                              : NULL;
    if (!what && !s->escape_spaces)
        what = "no escape_whitespaces";
    if (what)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the normaliser has %s, which Gemma's has not", name,
                       what);
    return CARAT_OK;
}

static carat_status apply_settings(struct ct_tokenizer *t, const struct settings *s, const char *name,
                                   carat_error *err)
{
    int unknowns = 0;
    for (int id = 0; id < t->n; id++)
        if (t->piece[id].kind == CT_PIECE_UNKNOWN) {
            t->unknown = id;
            unknowns++;
        }
    if (unknowns != 1)
        return ct_bad_file(err, name, "%d pieces are of type UNKNOWN, expected 1", unknowns);
    t->match_normalized = true;
    t->byte_fallback = s->byte_fallback != 0;
    t->fuse_unknown = true;
    int32_t bos = (int32_t)s->bos, eos = (int32_t)s->eos;
    if (bos >= t->n || eos >= t->n)
        return ct_bad_file(err, name, "bos id %d or eos id %d is beyond the last piece %d", bos, eos,
                           t->n - 1);
    t->bos = CT_MAX(bos, -1);
    ct_tokenizer_add_end(t, eos);
    if (s->surface.size && s->surface.size < sizeof t->surface &&
        ct_utf8_valid((const char *)s->surface.data, s->surface.size)) {
        memcpy(t->surface, s->surface.data, s->surface.size);
        t->surface[s->surface.size] = 0;
    }
    return CARAT_OK;
}

static carat_status proto_model(struct ct_tokenizer *t, struct wire *w, struct scores *scores)
{
    /* the defaults of the format */
    struct settings s = {
        .model_type = 1, .bos = 1, .eos = 2, .dummy_prefix = 1, .remove_spaces = 1, .escape_spaces = 1};
    struct field f;
    if (too_many_pieces(*w))
        return ct_fail(w->err, CARAT_E_UNSUPPORTED, "%s: field 1: more than %d pieces found", w->name,
                       CT_VOCAB_MAX);
    while (proto_next(w, &f))
        if (f.type == 2 && f.number == PIECES)
            CT_TRY(proto_piece(t, proto_inside(w, f.bytes), scores));
        else if (f.type == 2 && (f.number == TRAINER || f.number == NORMALIZER || f.number == DENORMALIZER))
            CT_TRY(proto_settings(proto_inside(w, f.bytes), &s));
    CT_TRY(w->status);
    if (t->n == 0)
        return ct_bad_file(w->err, w->name, "no pieces found, expected a SentencePiece model");
    CT_TRY(check_settings(&s, w->name, w->err));
    CT_TRY(apply_settings(t, &s, w->name, w->err));
    ct_tokenizer_name_controls(t);
    CT_TRY(ct_tokenizer_scores(t, w->name, scores->score, w->err));
    CT_TRY(ct_tokenizer_finish(t, w->name, w->err));
    for (int b = 0; b < 256 && t->byte_fallback; b++)
        if (t->byte_id[b] < 0 || t->piece[t->byte_id[b]].kind != CT_PIECE_BYTE)
            return ct_bad_file(w->err, w->name, "the model has byte_fallback but no byte piece <0x%02X>",
                               (unsigned)b);
    return CARAT_OK;
}

carat_status ct_tokenizer_from_model(struct ct_tokenizer **out, const char *name, struct ct_bytes proto,
                                     struct ct_listener *listener, carat_error *err)
{
    struct ct_tokenizer *t = NULL;
    struct scores scores = {NULL, 0};
    struct wire w = {name, 0, 0, proto.data, proto.data, proto.data, err, CARAT_OK};
    if (proto.size > CT_TOKENIZER_MAX)
        return ct_tokenizer_too_large(name, proto.size, err);
    if (proto.size)
        w.end += proto.size;
    carat_status status = ct_tokenizer_create(&t, CT_SOURCE_MODEL, listener, err);
    if (status == CARAT_OK)
        status = proto_model(t, &w, &scores);
    free(scores.score);
    return ct_tokenizer_give(out, t, status);
}
