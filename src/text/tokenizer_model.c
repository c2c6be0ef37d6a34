/* tokenizer_model.c: reads tokenizer.model, a SentencePiece ModelProto in protobuf wire format, as far as Gemma
 * uses it: BPE, identity normalisation, spaces escaped and kept, no dummy prefix. Anything else is refused.
 * Nothing is nested deeper than model, piece or spec, so there is no recursion. */
#include <stdlib.h>

#include "text/vocab.h"

/* A cursor over one message. The first error is kept; after it, every field reads as the end. */
struct wire {
    const char *name;
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

static void fail(struct wire *w, const char *what)
{
    if (w->status == CARAT_OK)
        w->status =
            ct_fail(w->err, CARAT_E_FORMAT, "%s: at byte %zu: %s", w->name, (size_t)(w->p - w->begin), what);
    w->p = w->end;
}

static uint64_t varint(struct wire *w)
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
    fail(w, "expected a varint of at most 10 bytes");
    return 0;
}

/* The next field; false at the end of the message or after an error. */
static bool next_field(struct wire *w, struct field *f)
{
    if (w->status != CARAT_OK || w->p == w->end)
        return false;
    memset(f, 0, sizeof *f);
    uint64_t key = varint(w);
    f->number = key >> 3;
    f->type = (int)(key & 7);
    size_t left = (size_t)(w->end - w->p);
    if (w->status == CARAT_OK && (f->number == 0 || f->number > 0x1fffffff))
        fail(w, "expected a field number from 1 to 536870911");
    else if (f->type == 0)
        f->value = varint(w);
    else if (f->type == 2) {
        uint64_t n = varint(w);
        left = (size_t)(w->end - w->p);
        if (w->status == CARAT_OK && n > left)
            fail(w, "a field is longer than what holds it");
        if (w->status == CARAT_OK) {
            f->bytes = (struct ct_bytes){w->p, (size_t)n};
            w->p += n;
        }
    } else if (f->type == 1 || f->type == 5) {
        size_t n = f->type == 1 ? 8 : 4;
        if (left < n) {
            fail(w, "a number is cut off");
        } else {
            f->value = n == 8 ? ct_le64(w->p) : ct_le32(w->p);
            w->p += n;
        }
    } else {
        fail(w, "expected a wire type of proto2 without groups");
    }
    return w->status == CARAT_OK;
}

static struct wire inside(const struct wire *w, struct ct_bytes bytes)
{
    struct wire inner = *w;
    inner.p = bytes.data;
    inner.end = bytes.data + bytes.size;
    return inner;
}

struct settings {
    uint64_t model_type, byte_fallback, suffix;
    int64_t unknown, bos, eos;
    uint64_t dummy_prefix, remove_spaces, escape_spaces;
    size_t charsmap;
    struct ct_bytes surface;
};

static carat_status read_trainer(struct wire w, struct settings *s)
{
    struct field f;
    while (next_field(&w, &f)) {
        if (f.number == 44 && f.type == 2)
            s->surface = f.bytes;
        if (f.type != 0)
            continue;
        switch (f.number) {
        case 3:
            s->model_type = f.value;
            break;
        case 24:
            s->suffix = f.value;
            break;
        case 35:
            s->byte_fallback = f.value;
            break;
        case 40:
            s->unknown = (int32_t)f.value;
            break;
        case 41:
            s->bos = (int32_t)f.value;
            break;
        case 42:
            s->eos = (int32_t)f.value;
            break;
        default:
            break;
        }
    }
    return w.status;
}

static carat_status read_normalizer(struct wire w, struct settings *s)
{
    struct field f;
    while (next_field(&w, &f)) {
        if (f.number == 2 && f.type == 2)
            s->charsmap = f.bytes.size;
        else if (f.number == 3 && f.type == 0)
            s->dummy_prefix = f.value;
        else if (f.number == 4 && f.type == 0)
            s->remove_spaces = f.value;
        else if (f.number == 5 && f.type == 0)
            s->escape_spaces = f.value;
    }
    return w.status;
}

struct scores {
    float *score;
    size_t capacity;
};

static carat_status read_piece(struct ct_tokenizer *t, struct wire w, struct scores *s)
{
    struct field f;
    struct ct_str text = {"", 0};
    uint32_t score = 0;
    uint64_t kind = CT_PIECE_NORMAL;
    size_t offset = (size_t)(w.p - w.begin);
    int id = t->n;
    while (next_field(&w, &f)) {
        if (f.number == 1 && f.type == 2)
            text = (struct ct_str){(const char *)f.bytes.data, f.bytes.size};
        else if (f.number == 2 && f.type == 5)
            score = (uint32_t)f.value;
        else if (f.number == 3 && f.type == 0)
            kind = f.value;
    }
    if (w.status != CARAT_OK)
        return w.status;
    if (kind == CT_PIECE_UNUSED) /* Gemma has none; they would need the piece taken apart again */
        return ct_fail(w.err, CARAT_E_UNSUPPORTED, "%s: at byte %zu: piece %d is of type UNUSED", w.name,
                       offset, id);
    if (kind < CT_PIECE_NORMAL || kind > CT_PIECE_BYTE)
        return ct_fail(w.err, CARAT_E_FORMAT, "%s: at byte %zu: piece %d has type %llu, expected 1 to 6",
                       w.name, offset, id, (unsigned long long)kind);
    if (kind == CT_PIECE_BYTE && ct_vocab_byte(text) < 0)
        return ct_fail(w.err, CARAT_E_FORMAT,
                       "%s: at byte %zu: the byte piece %d is not spelled <0x00> to <0xFF>", w.name, offset,
                       id);
    if ((size_t)id == s->capacity) {
        size_t capacity = s->capacity ? s->capacity * 2 : 1024;
        float *grown = realloc(s->score, capacity * sizeof *grown);
        if (!grown)
            return ct_fail(w.err, CARAT_E_MEMORY, "%s: no memory for the tokenizer", w.name);
        s->score = grown;
        s->capacity = capacity;
    }
    s->score[id] = ct_f32_from_bits(score);
    return ct_vocab_add(t, w.name, id, text, (int)kind, false, w.err);
}

static carat_status check_settings(const struct settings *s, const char *name, carat_error *err)
{
    if (s->model_type != 2)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: model type %llu found, expected 2 (BPE)", name,
                       (unsigned long long)s->model_type);
    const char *what = s->charsmap        ? "a character map"
                       : s->dummy_prefix  ? "add_dummy_prefix"
                       : s->remove_spaces ? "remove_extra_whitespaces"
                       : s->suffix        ? "treat_whitespace_as_suffix"
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
        return ct_fail(err, CARAT_E_FORMAT, "%s: %d pieces are of type UNKNOWN, expected 1", name, unknowns);
    t->match_normalized = true;
    t->byte_fallback = s->byte_fallback != 0;
    t->fuse_unknown = true;
    if (s->bos >= t->n || s->eos >= t->n)
        return ct_fail(err, CARAT_E_FORMAT, "%s: bos id %lld or eos id %lld is beyond the last piece %d",
                       name, (long long)s->bos, (long long)s->eos, t->n - 1);
    t->bos = s->bos >= 0 ? (int32_t)s->bos : -1;
    if (s->eos >= 0)
        ct_vocab_add_end(t, (int32_t)s->eos);
    if (s->surface.size && s->surface.size < sizeof t->surface) {
        memcpy(t->surface, s->surface.data, s->surface.size);
        t->surface[s->surface.size] = 0;
    }
    return CARAT_OK;
}

static carat_status read_model(struct ct_tokenizer *t, struct wire *w, struct scores *scores)
{
    struct settings s = {.model_type = 1,
                         .unknown = 0,
                         .bos = 1,
                         .eos = 2,
                         .dummy_prefix = 1,
                         .remove_spaces = 1,
                         .escape_spaces = 1}; /* the defaults of the format */
    struct field f;
    while (next_field(w, &f)) {
        if (f.type != 2)
            continue;
        if (f.number == 1)
            CT_TRY(read_piece(t, inside(w, f.bytes), scores));
        else if (f.number == 2)
            CT_TRY(read_trainer(inside(w, f.bytes), &s));
        else if (f.number == 3)
            CT_TRY(read_normalizer(inside(w, f.bytes), &s));
    }
    CT_TRY(w->status);
    if (t->n == 0)
        return ct_fail(w->err, CARAT_E_FORMAT, "%s: no pieces found, expected a SentencePiece model",
                       w->name);
    CT_TRY(check_settings(&s, w->name, w->err));
    CT_TRY(apply_settings(t, &s, w->name, w->err));
    ct_vocab_name_controls(t);
    CT_TRY(ct_vocab_scores(t, w->name, scores->score, w->err));
    CT_TRY(ct_vocab_finish(t, w->name, w->err));
    for (int b = 0; b < 256 && t->byte_fallback; b++)
        if (t->byte_id[b] < 0 || t->piece[t->byte_id[b]].kind != CT_PIECE_BYTE)
            return ct_fail(w->err, CARAT_E_FORMAT,
                           "%s: the model has byte_fallback but no byte piece <0x%02X>", w->name,
                           (unsigned)b);
    return CARAT_OK;
}

carat_status ct_tokenizer_from_model(struct ct_tokenizer **out, const char *name, struct ct_bytes proto,
                                     carat_error *err)
{
    struct ct_tokenizer *t = NULL;
    struct scores scores = {NULL, 0};
    struct wire w = {name, proto.data, proto.data, proto.data, err, CARAT_OK};
    if (proto.size)
        w.end += proto.size;
    carat_status status = ct_vocab_create(&t, CT_SOURCE_MODEL, err);
    if (status == CARAT_OK)
        status = read_model(t, &w, &scores);
    free(scores.score);
    if (status != CARAT_OK)
        ct_tokenizer_free(t);
    else
        *out = t;
    return status;
}
