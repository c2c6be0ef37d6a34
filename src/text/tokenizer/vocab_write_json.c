/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_write_json.c: a vocabulary as the tokenizer.json of the tokenizers library (vocab_write.h). Where it
 * has scores instead of merges, each way to make a piece of two others is a merge, in the order of scores, as
 * the converter of transformers has them. tokenizer_json.c reads it back. */
#include "text/tokenizer/vocab_write.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"
#include "text/tokenizer/tokenizer_parts.h"

#define META "\xe2\x96\x81" /* U+2581 */

/* True when a merge by text makes it. */
static bool can_be_made(const struct ct_tokenizer *t, int32_t id)
{
    return t->piece[id].rank != CT_NO_RANK;
}

static bool has_meta(struct ct_str s)
{
    for (size_t i = 0; i + 3 <= s.n; i++)
        if (memcmp(s.s + i, META, 3) == 0)
            return true;
    return false;
}

/* ---- merges out of scores ---- */

struct made {
    int32_t left, right;
    int32_t made;             /* the piece, by which those of equal rank and lengths stay apart */
    uint32_t rank;            /* of the piece; those that are always matched come first */
    uint16_t n_left, n_right; /* characters */
};

struct made_list {
    struct made *m;
    size_t n, capacity;
};

static int by_rank_and_length(const void *a, const void *b)
{
    const struct made *x = a, *y = b;
    const int64_t order = x->rank != y->rank         ? (int64_t)x->rank - y->rank
                          : x->n_left != y->n_left   ? (int64_t)y->n_left - x->n_left
                          : x->n_right != y->n_right ? (int64_t)y->n_right - x->n_right
                          : x->made != y->made       ? (int64_t)x->made - y->made
                          : x->left != y->left       ? (int64_t)x->left - y->left
                                                     : (int64_t)x->right - y->right;
    return (order > 0) - (order < 0);
}

/* The piece of a spelled text that merges can make or begin with; -1: there is none. */
static int32_t piece_of(const struct ct_tokenizer *t, struct ct_str text)
{
    char own[CT_PIECE_MAX];
    int32_t id = ct_tokenizer_find(t, text);

    if (id < 0 && text.n <= sizeof own) { /* a user-defined one of GGUF */
        const size_t n = ct_piece_put(own, text);
        id = n < text.n ? ct_tokenizer_find(t, (struct ct_str){own, n}) : -1;
        if (id >= 0 && t->piece[id].kind != CT_PIECE_USER)
            return -1;
    }
    return id >= 0 && can_be_made(t, id) ? id : -1;
}

static size_t characters(struct ct_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += ((uint8_t)s.s[i] & 0xc0) != 0x80;
    return n;
}

static bool add_made(const struct ct_tokenizer *t, int32_t id, struct made_list *list)
{
    char text[CT_SPELLED_PIECE];
    const struct ct_str s = ct_tokenizer_spelled(t, id, text);
    const size_t n = characters(s);
    uint16_t n_left = 0;

    for (size_t cut = 1; cut < s.n; cut++) {
        if (((uint8_t)s.s[cut] & 0xc0) == 0x80)
            continue;
        n_left++;
        const int32_t left = piece_of(t, (struct ct_str){s.s, cut}),
                      right = left < 0 ? -1 : piece_of(t, (struct ct_str){s.s + cut, s.n - cut});
        if (right < 0)
            continue;
        if (!ct_array_grow(&list->m, &list->capacity, list->n + 1, sizeof *list->m))
            return false;
        list->m[list->n++] =
            (struct made){.left = left,
                          .right = right,
                          .made = id,
                          .rank = t->piece[id].kind == CT_PIECE_USER ? 0 : t->piece[id].rank + 1u,
                          .n_left = n_left,
                          .n_right = (uint16_t)(n - n_left)};
    }
    return true;
}

static void put_merge(const struct ct_tokenizer *t, struct ct_new_head *h, bool first, int32_t left,
                      int32_t right)
{
    char text[CT_SPELLED_PIECE];

    ct_new_head_text(h, "%s\n[", first ? "" : ",");
    ct_new_head_json(h, ct_tokenizer_spelled(t, left, text));
    ct_new_head_text(h, ",");
    ct_new_head_json(h, ct_tokenizer_spelled(t, right, text));
    ct_new_head_text(h, "]");
}

static bool put_made(const struct ct_tokenizer *t, struct ct_new_head *h)
{
    struct made_list list = {.m = NULL};
    bool good = true;

    for (int32_t id = 0; id < t->n && good; id++)
        if (can_be_made(t, id))
            good = add_made(t, id, &list);
    if (list.n)
        qsort(list.m, list.n, sizeof *list.m, by_rank_and_length);
    for (size_t i = 0; i < list.n && good; i++)
        put_merge(t, h, i == 0, list.m[i].left, list.m[i].right);
    free(list.m);
    return good;
}

/* True when merges there can begin with each character of a text: by texts a piece is made out of characters
 * that are no pieces, too. */
static bool is_of_pieces(const struct ct_tokenizer *t, struct ct_str s)
{
    for (size_t i = 0, width; i < s.n; i += width) {
        width = ct_utf8_length((const uint8_t *)s.s + i, s.n - i);
        const int32_t id = ct_tokenizer_find(t, (struct ct_str){s.s + i, width});
        if (!width || id < 0 || !can_be_made(t, id))
            return false;
    }
    return true;
}

/* True when a piece means there what it means here. */
static bool fits(const struct ct_tokenizer *t, int32_t id)
{
    char text[CT_SPELLED_PIECE];
    const struct ct_str s = ct_piece_text(t, id), as = ct_tokenizer_spelled(t, id, text);
    const unsigned kind = t->piece[id].kind;

    if (s.n == 0 || as.n > CT_PIECE_MAX || ct_tokenizer_find(t, s) != id)
        return false;
    if (as.s != s.s && (has_meta(s) || ct_tokenizer_find(t, as) >= 0))
        return false; /* two are the same text in that spelling */
    if ((ct_piece_byte(s) >= 0) != (kind == CT_PIECE_BYTE))
        return false;
    if (kind == CT_PIECE_UNUSED && characters(s) == 1)
        return false; /* there a character is what its piece says */
    return kind != CT_PIECE_NORMAL || characters(s) == 1 || is_of_pieces(t, s);
}

bool ct_tokenizer_fits_json(const struct ct_tokenizer *t)
{
    for (int32_t id = 0; id < t->n; id++)
        if (!fits(t, id))
            return false;
    return !t->space_prefix;
}

/* ---- the file ---- */

static void put_special(const struct ct_tokenizer *t, struct ct_new_head *h, int32_t id, int type)
{
    ct_new_head_text(h, "{\"SpecialToken\":{\"id\":");
    ct_new_head_json(h, ct_piece_text(t, id));
    ct_new_head_text(h, ",\"type_id\":%d}}", type);
}

/* A text, or the second of two, with what stands around it. */
static void put_sequence(const struct ct_tokenizer *t, struct ct_new_head *h, int32_t eos, int type)
{
    if (t->bos >= 0) {
        put_special(t, h, t->bos, type);
        ct_new_head_text(h, ",");
    }
    ct_new_head_text(h, "{\"Sequence\":{\"id\":\"%c\",\"type_id\":%d}}", 'A' + type, type);
    if (eos >= 0) {
        ct_new_head_text(h, ",");
        put_special(t, h, eos, type);
    }
}

static void put_template(const struct ct_tokenizer *t, struct ct_new_head *h, bool ends)
{
    const int32_t eos = ends ? ct_tokenizer_control(t, CT_CONTROL_EOS) : -1, around[] = {t->bos, eos};
    int n = 0;

    ct_new_head_text(h, "{\"type\":\"TemplateProcessing\",\"single\":[");
    put_sequence(t, h, eos, 0);
    ct_new_head_text(h, "],\"pair\":[");
    put_sequence(t, h, eos, 0);
    ct_new_head_text(h, ",");
    put_sequence(t, h, eos, 1);
    ct_new_head_text(h, "],\"special_tokens\":{");
    for (size_t i = 0; i < CT_COUNT(around); i++) {
        if (around[i] < 0)
            continue;
        const struct ct_str s = ct_piece_text(t, around[i]);
        ct_new_head_text(h, "%s", n++ ? "," : "");
        ct_new_head_json(h, s);
        ct_new_head_text(h, ":{\"id\":");
        ct_new_head_json(h, s);
        ct_new_head_text(h, ",\"ids\":[%d],\"tokens\":[", around[i]);
        ct_new_head_json(h, s);
        ct_new_head_text(h, "]}");
    }
    ct_new_head_text(h, "}}");
}

static bool is_added(const struct ct_tokenizer *t, int32_t id)
{
    return ct_piece_is_control(t, id) || t->piece[id].kind == CT_PIECE_USER;
}

/* What is said of it behind its id. */
static void put_added(const struct ct_tokenizer *t, struct ct_new_head *h, int32_t id)
{
    char text[CT_SPELLED_PIECE];

    ct_new_head_text(h, "\"content\":");
    ct_new_head_json(h, ct_tokenizer_spelled(t, id, text));
    ct_new_head_text(
        h, ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":%s}",
        ct_piece_is_control(t, id) ? "true" : "false");
}

static void put_added_list(const struct ct_tokenizer *t, struct ct_new_head *h)
{
    int n = 0;

    for (int32_t id = 0; id < t->n; id++)
        if (is_added(t, id)) {
            ct_new_head_text(h, "%s\n{\"id\":%d,", n++ ? "," : "", id);
            put_added(t, h, id);
        }
}

void ct_tokenizer_put_added(const struct ct_tokenizer *t, struct ct_new_head *h)
{
    int n = 0;

    for (int32_t id = 0; id < t->n; id++)
        if (is_added(t, id)) {
            ct_new_head_text(h, "%s\n    \"%d\": {", n++ ? "," : "", id);
            put_added(t, h, id);
        }
}

/* What is done to a text and to pieces. */
static void put_steps(const struct ct_tokenizer *t, struct ct_new_head *h, bool ends)
{
    ct_new_head_text(
        h, "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" META
           "\"},\n\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":"
           "\"MergedWithPrevious\",\"invert\":false},\n\"post_processor\":");
    put_template(t, h, ends);
    ct_new_head_text(h, ",\n\"decoder\":{\"type\":"
                        "\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"" META
                        "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\n");
}

/* Those of a tokenizer that has some, by rank. */
static void put_stored(const struct ct_tokenizer *t, struct ct_new_head *h, uint64_t *by_rank)
{
    bool first = true;

    ct_tokenizer_stored_merges(t, by_rank);
    for (uint32_t r = 0; r < t->n_rank; r++) {
        if (by_rank[r] == CT_NO_MERGE)
            continue;
        put_merge(t, h, first, (int32_t)(by_rank[r] >> CT_ID_BITS),
                  (int32_t)(by_rank[r] & (CT_VOCAB_MAX - 1)));
        first = false;
    }
}

carat_status ct_tokenizer_put_json(const struct ct_tokenizer *t, struct ct_new_head *h, bool ends,
                                   const char *path, carat_error *err)
{
    uint64_t *by_rank = malloc((t->n_rank + (size_t)1) * sizeof *by_rank);
    char text[CT_SPELLED_PIECE];
    bool good = by_rank != NULL;

    ct_new_head_text(h, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[");
    put_added_list(t, h);
    ct_new_head_text(h, "],\n");
    put_steps(t, h, ends);
    ct_new_head_text(h, "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":");
    ct_new_head_json(h, ct_piece_text(t, t->unknown));
    ct_new_head_text(h,
                     ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":%s,"
                     "\"byte_fallback\":%s,\"ignore_merges\":false,\n\"vocab\":{",
                     t->byte_fallback || t->fuse_unknown ? "true" : "false",
                     t->byte_fallback ? "true" : "false");
    for (int32_t id = 0; id < t->n; id++) {
        ct_new_head_text(h, "%s\n", id ? "," : "");
        ct_new_head_json(h, ct_tokenizer_spelled(t, id, text));
        ct_new_head_text(h, ":%d", id);
    }
    ct_new_head_text(h, "},\n\"merges\":[");
    if (ct_tokenizer_by_text(t))
        good = good && put_made(t, h);
    else if (good)
        put_stored(t, h, by_rank);
    ct_new_head_text(h, "]}}\n");
    free(by_rank);
    return good ? CARAT_OK : ct_no_memory(err, path);
}
