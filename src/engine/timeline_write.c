/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_write.c: a session's timeline written to a file, and a file bound to a session: that it is of this
 * model, arithmetic, KV type and layers, then its tokens, K and V. What may be in a file is
 * file/timeline.c's.
 *
 * The file is renamed without being synced: if it is lost, its tokens are evaluated again. */
#include "engine/row_logits.h"
#include "engine/session.h"

#include <stdlib.h>

#include "checkpoint/content.h"
#include "file/timeline.h"
#include "os/files.h"
#include "os/new_file.h"

#define PART ".carat-part"

carat_status ct_engine_content(carat_engine *e, carat_error *err)
{
    const char *kept = ct_content_kept(e->model);
    struct ct_content c = {0};

    if (!*e->content && kept && strlen(kept) < sizeof e->content)
        strcpy(e->content, kept);
    if (*e->content) /* others read it meanwhile, who hold no lock */
        return CARAT_OK;
    carat_status status = ct_content_begin(&c, e->model, err);
    if (!status)
        status = ct_content_list(&c, 1, err);
    for (int i = 0; !status && i < c.n_chunk; i++)
        ct_content_read(&c, i, 0, NULL, NULL);
    if (!status)
        ct_content_end(&c, e->content);
    ct_content_free(&c);
    return status;
}

/* The rows that a layer has in a file: all of K, then those of V, of positions from `lowest` on. */
struct stored_layer {
    const struct ct_kv *kv;
    int lowest;
    size_t row, half, bytes; /* of a position, of K, of both; 0: it keeps none of its own */
};

static struct stored_layer stored_layer(const carat_engine *e, int i, int n)
{
    const struct ct_kv *kv = &e->cache.layer[i];
    struct stored_layer l = {.kv = kv};

    if (e->config.layer[i].kv_layer != i)
        return l;
    const bool local = kv->pool == &e->cache.group[CT_LOCAL].pool;
    l.lowest = local ? ct_first_seen(e->config.attn[CT_LOCAL].window, n) : 0;
    l.row = (size_t)kv->n_kv_head * ct_kv_bytes(kv->type, 1, kv->head_dim);
    l.half = (size_t)(n - l.lowest) * l.row;
    l.bytes = 2 * l.half;
    return l;
}

/* The facts that a file of n tokens of this engine says of itself. */
static struct ct_timeline_facts facts_of(const carat_engine *e, int n)
{
    struct ct_timeline_facts f = {.arithmetic = (uint32_t)ct_engine_arithmetic(e),
                                  .kv = (uint32_t)ct_kv_info(e->kv_type)->kv,
                                  .first_layer = (uint32_t)e->first_layer,
                                  .layers = (uint32_t)e->config.n_layer,
                                  .n_vocab = (uint32_t)e->config.n_vocab,
                                  .n = (uint32_t)n,
                                  .lowest = (uint32_t)ct_first_seen(e->config.attn[CT_LOCAL].window, n)};

    memcpy(f.content, e->content, sizeof f.content);
    for (int i = 0; i < e->config.n_layer; i++)
        f.kv_size += stored_layer(e, i, n).bytes;
    return f;
}

/* Moves positions [from, to) of all layers between the blocks of a session and the kv part of a file of n
 * tokens. */
static void move_kv(const carat_session *s, uint8_t *part, int n, int from, int to, bool put)
{
    const carat_engine *e = s->engine;
    struct ct_backend *b = e->backend;

    for (int i = 0; i < e->config.n_layer; i++) {
        const struct stored_layer l = stored_layer(e, i, n);
        for (int p = CT_MAX(from, l.lowest), end; l.bytes && p < to; p = end) {
            const struct ct_kv_pool *pool = l.kv->pool;
            int number = p / CT_KEY_BLOCK, first = p % CT_KEY_BLOCK;
            int block = pool->table[s->slot * pool->length + number % pool->length];
            uint8_t *k = part + (size_t)(p - l.lowest) * l.row, *v = k + l.half;
            end = CT_MIN(to, (number + 1) * CT_KEY_BLOCK);
            if (put)
                b->verb.kv_put(b, l.kv, block, first, end - p, k, v);
            else
                b->verb.kv_get(b, l.kv, block, first, end - p, k, v);
        }
        part += l.bytes;
    }
}

/* ---- writing ---- */

static void fill_timeline(const carat_session *s, const struct ct_timeline *t, uint8_t *base,
                          const struct ct_logits *logits, const void *note)
{
    uint8_t *part[CT_TIMELINE_PARTS];

    for (int i = 0; i < CT_TIMELINE_PARTS; i++)
        part[i] = base + (t->part[i].data - base);
    memcpy(part[CT_TIMELINE_IDS], ct_held_tokens(s), t->part[CT_TIMELINE_IDS].size);
    move_kv(s, part[CT_TIMELINE_KV], s->n, 0, s->n, false);
    if (logits->value)
        memcpy(part[CT_TIMELINE_LOGITS], logits->value, t->part[CT_TIMELINE_LOGITS].size);
    if (t->facts.note_size)
        memcpy(part[CT_TIMELINE_TEXT], note, t->part[CT_TIMELINE_TEXT].size);
    struct ct_timeline_header h = ct_timeline_head(t);
    memcpy(base, &h, sizeof h);
}

static carat_status write_file(const carat_session *s, struct ct_os_new *file, const void *note,
                               size_t n_note, carat_error *err)
{
    struct ct_timeline t = {.numerics = CARAT_NUMERICS_VERSION, .facts = facts_of(s->engine, s->n)};
    const struct ct_backend *b = s->engine->backend;
    struct ct_logits logits = {0};
    size_t size;

    if (s->logits >= 0) {
        ct_lock_enter(&s->engine->lock);
        carat_status status = ct_session_read(s, NULL, &logits, err);
        ct_lock_leave(&s->engine->lock);
        CT_TRY(status);
    }
    t.facts.n_logits = logits.value ? t.facts.n_vocab : 0;
    t.facts.note_size = n_note;
    if (!ct_timeline_divide(&t, (struct ct_bytes){NULL, SIZE_MAX}, &size))
        return ct_fail(err, CARAT_E_MEMORY, "%s: its size exceeds the address space", file->path);
    CT_TRY(ct_os_new_size(file, size, err));
    ct_timeline_divide(&t, (struct ct_bytes){file->base, size}, &size);
    if (b->apart) /* a device does one thing at a time */
        ct_lock_enter(&s->engine->lock);
    fill_timeline(s, &t, file->base, &logits, note);
    if (b->apart)
        ct_lock_leave(&s->engine->lock);
    return b->failure.code ? ct_fail(err, b->failure.code, "%s", b->failure.message) : CARAT_OK;
}

static carat_status save(carat_session *s, const char *path, const void *note, size_t n_note,
                         carat_error *err)
{
    carat_engine *e = s->engine;
    struct ct_os_new file = {.fd = -1};

    if (e->tensor)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s: a timeline has bits that every device gives, and those of tensor arithmetic are not", path);
    if (s->n == 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "the session holds no tokens to be saved");
    if (n_note > CT_TIMELINE_NOTE)
        return ct_fail(err, CARAT_E_ARGUMENT, "a note of %zu bytes, at most %d are saved", n_note,
                       CT_TIMELINE_NOTE);
    if (carat_model_reads(e->model, path)) /* it would be overwritten */
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is what the model is read from: name another file", path);
    if (!ct_os_replaceable(path))
        return ct_fail(err, CARAT_E_IO, "%s is not a regular file, so it cannot be replaced", path);
    CT_TRY(ct_evaluate(&(struct ct_row){.row = {.session = s, .tokens = ct_held_tokens(s)}}, true, err));
    ct_lock_enter(&e->lock);
    carat_status status = ct_engine_content(e, err);
    ct_lock_leave(&e->lock);
    char *part = status ? NULL : malloc(strlen(path) + sizeof PART);
    if (!status && !part)
        status = ct_no_memory(err, path);
    if (!status) {
        strcat(strcpy(part, path), PART);
        status = ct_os_new_begin(&file, part, 0600, err);
    }
    if (!status)
        status = write_file(s, &file, note, n_note, err);
    if (!status)
        status = ct_os_new_rename(&file, path, err);
    if (status)
        ct_os_new_abandon(&file);
    free(part);
    return status;
}

carat_status carat_save(carat_session *session, const char *path, const void *note, size_t n_note,
                        carat_error *err)
{
    if (!path || (n_note && !note))
        return ct_fail(err, CARAT_E_ARGUMENT, "path is NULL, or a note of %zu bytes", n_note);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, save(session, path, note, n_note, err));
}

/* ---- reading ---- */

/* That a session of this engine would have written it. */
static carat_status bind_timeline(const carat_engine *e, const char *path, const struct ct_timeline *t,
                                  carat_error *err)
{
    const struct ct_timeline_facts *f = &t->facts, own = facts_of(e, (int)f->n);
    const struct {
        const char *what;
        uint64_t found, expected;
    } number[] = {
        {"numerics version", t->numerics, CARAT_NUMERICS_VERSION},
        {"first layer", f->first_layer, own.first_layer},
        {"number of layers", f->layers, own.layers},
        {"a vocabulary of", f->n_vocab, own.n_vocab},
        {"lowest local position", f->lowest, own.lowest},
        {"bytes of K and V", f->kv_size, own.kv_size},
    };

    if (memcmp(f->content, own.content, sizeof own.content) != 0)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: is a timeline of the model with content hash %.32s, expected %.32s", path,
                       f->content, own.content);
    if (f->arithmetic != own.arithmetic)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: is a timeline of %s arithmetic, expected %s", path,
                       ct_arithmetic_name((int)f->arithmetic), ct_arithmetic_name((int)own.arithmetic));
    if (f->kv != own.kv)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: is a timeline with K and V of type %s, expected %s",
                       path, carat_kv_name((carat_kv)f->kv), carat_kv_name((carat_kv)own.kv));
    for (size_t i = 0; i < CT_COUNT(number); i++)
        if (number[i].found != number[i].expected)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: is a timeline with %s %llu, expected %llu", path,
                           number[i].what, (unsigned long long)number[i].found,
                           (unsigned long long)number[i].expected);
    if (f->n > (uint32_t)e->plan.context)
        return ct_fail(err, CARAT_E_CONTEXT, "%s: has %u tokens, which do not fit in a context of %d", path,
                       f->n, e->plan.context);
    return CARAT_OK;
}

/* True when no lane of the words at p has all bits of mask, those of an exponent. Above them a lane has its
 * sign, whose bit is in `top`: it stays where 1 to mask is taken away from it. */
static bool lanes_are_finite(const uint8_t *p, size_t bytes, uint64_t mask, uint64_t top)
{
    uint8_t last[8] = {0};
    uint64_t found = 0;
    size_t i = 0;

    for (; i + sizeof last <= bytes; i += sizeof last)
        found |= top - ((ct_le64(p + i) & mask) ^ mask);
    memcpy(last, p + i, bytes - i);
    found |= top - ((ct_le64(last) & mask) ^ mask);
    return (found & top) == 0;
}

/* True when all values that are stored so are finite. */
static bool stored_are_finite(enum ct_kv_type type, const uint8_t *p, size_t bytes)
{
    bool finite = true;

    if (type == CT_KV_F32)
        return lanes_are_finite(p, bytes, 0x7f8000007f800000, 0x8000000080000000);
    if (type == CT_KV_BF16)
        return lanes_are_finite(p, bytes, 0x7f807f807f807f80, 0x8000800080008000);
    if (type == CT_KV_F16)
        return lanes_are_finite(p, bytes, 0x7c007c007c007c00, 0x8000800080008000);
    for (size_t i = 0; i < bytes; i += ct_kv_info(CT_KV_Q8)->bytes) /* the scales of groups */
        finite &= (ct_le16(p + i) & 0x7c00u) != 0x7c00u;
    return finite;
}

static carat_status check_numbers(const carat_engine *e, const char *path, const struct ct_timeline *t,
                                  carat_error *err)
{
    const struct ct_bytes *kv = &t->part[CT_TIMELINE_KV], *logits = &t->part[CT_TIMELINE_LOGITS];

    if (!stored_are_finite(e->kv_type, kv->data, kv->size))
        return ct_fail(err, CARAT_E_NUMERIC, "%s: its K and V hold NaN or infinity", path);
    if (!stored_are_finite(CT_KV_F32, logits->data, logits->size))
        return ct_fail(err, CARAT_E_NUMERIC, "%s: its logits hold NaN or infinity", path);
    return CARAT_OK;
}

/* Makes a session hold what is in a checked file. The engine's lock is held. */
static carat_status fill_session(carat_session *s, const char *path, const struct ct_timeline *t,
                                 carat_error *err)
{
    carat_engine *e = s->engine;
    const int n = (int)t->facts.n;

    ct_session_leave(s);
    ct_session_empty(s, false);
    ct_session_grows(s, n);
    for (int from = 0, to; from < n; from = to) {
        to = CT_MIN(n, from + ct_kv_span(&e->cache, from));
        if (!ct_kv_extend(&e->cache, s->slot, to)) {
            ct_session_empty(s, false);
            return ct_fail(
                err, CARAT_E_MEMORY,
                "%s: no block of K and V is free for position %d; close or rewind a session, or give "
                "the engine more kv_bytes",
                path, from);
        }
        move_kv(s, (uint8_t *)(uintptr_t)t->part[CT_TIMELINE_KV].data, n, from, to, true);
    }
    ct_kv_begins(&e->cache, s->slot, (int)t->facts.lowest);
    memcpy(ct_held_tokens(s), t->part[CT_TIMELINE_IDS].data, t->part[CT_TIMELINE_IDS].size);
    s->n = n;
    if (t->facts.n_logits) {
        s->logits = ct_row_logits_take(e);
        float *logits = ct_row_logits_memory(e, s->logits);
        memcpy(logits, t->part[CT_TIMELINE_LOGITS].data, t->part[CT_TIMELINE_LOGITS].size);
        e->kept.row[s->logits].logits = (struct ct_logits){logits, NULL, e->config.n_vocab};
    }
    if (s->owner)
        ct_snapshot_take(&e->snapshots, s->slot, true);
    e->stats.restored += (uint64_t)n;
    ct_session_kept(s);
    return CARAT_OK;
}

static carat_status read_locked(carat_session *s, const char *path, const struct ct_timeline *t,
                                carat_error *err)
{
    carat_engine *e = s->engine;

    CT_TRY(ct_engine_content(e, err));
    CT_TRY(bind_timeline(e, path, t, err));
    CT_TRY(check_numbers(e, path, t, err));
    return fill_session(s, path, t, err);
}

/* Opens a file, with the caller's part of it as a text of its own. */
static carat_status open_file(struct ct_map *map, struct ct_timeline *t, char **text, const char *path,
                              carat_error *err)
{
    const struct ct_bytes *of_caller = &t->part[CT_TIMELINE_TEXT];

    CT_TRY(ct_os_map(map, path, err));
    carat_status status = ct_timeline_read(t, path, map->bytes, err);
    if (!status && !(*text = calloc(1, of_caller->size + 1)))
        status = ct_no_memory(err, path);
    if (!status)
        memcpy(*text, of_caller->data, of_caller->size);
    else
        ct_os_unmap(map);
    return status;
}

/* Closes it, and gives the caller's part where that is wanted. */
static carat_status close_file(struct ct_map *map, char *text, size_t n_text, carat_status status,
                               char **note, size_t *n_note)
{
    ct_os_unmap(map);
    if (!status && n_note)
        *n_note = n_text;
    if (!status && note)
        *note = text;
    else
        free(text);
    return status;
}

static carat_status load(carat_session *s, const char *path, char **note, size_t *n_note, carat_error *err)
{
    struct ct_timeline t;
    struct ct_map map;
    char *text;

    CT_TRY(open_file(&map, &t, &text, path, err));
    ct_lock_enter(&s->engine->lock);
    carat_status status = read_locked(s, path, &t, err);
    ct_lock_leave(&s->engine->lock);
    return close_file(&map, text, t.part[CT_TIMELINE_TEXT].size, status, note, n_note);
}

carat_status carat_load(carat_session *session, const char *path, char **note, size_t *n_note,
                        carat_error *err)
{
    CT_GIVEN(path, err);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, load(session, path, note, n_note, err));
}

carat_status carat_load_note(const char *path, char **note, size_t *n_note, carat_error *err)
{
    CT_GIVEN(path, err);
    CT_GIVEN(note, err);
    struct ct_timeline t;
    struct ct_map map;
    char *text;

    CT_TRY(open_file(&map, &t, &text, path, err));
    return close_file(&map, text, t.part[CT_TIMELINE_TEXT].size, CARAT_OK, note, n_note);
}
