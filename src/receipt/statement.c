/* SPDX-License-Identifier: Apache-2.0 */
/* statement.c: a receipt as a text: an in-toto Statement about the ids and the text of an answer, in the
 * canonical form of JSON; and back, from anybody. */
#include <stdlib.h>

#include "base/arguments.h"
#include "receipt/receipt.h"

#define STATEMENT "https://in-toto.io/Statement/v1"
#define PREDICATE "urn:carat:receipt:v1"

static const char *const subjects[] = {"answer.ids", "answer.txt"};

/* ---- writing ---- */

/* "ids" or "sha256" of a prompt or an answer; members before and behind are the caller's. */
static void write_ids(struct ct_canonical *c, const carat_receipt *r, const int32_t *ids, int n)
{
    if (!r->is_private) {
        ct_canonical_key(c, "ids");
        ct_canonical_ids(c, ids, n);
    }
    ct_canonical_key(c, "n");
    ct_canonical_integer(c, n);
}

static void write_sha(struct ct_canonical *c, const carat_receipt *r, const uint8_t *sha)
{
    if (!r->is_private)
        return;
    ct_canonical_key(c, "sha256");
    ct_canonical_hex(c, sha, CT_SHA256);
}

static void write_answer(struct ct_canonical *c, const carat_receipt *r)
{
    ct_canonical_put(c, "{");
    ct_canonical_key(c, "end");
    if (r->end_id < 0)
        ct_canonical_put(c, "null");
    else
        ct_canonical_integer(c, r->end_id);
    write_ids(c, r, r->ids ? r->ids + r->n_prompt : NULL, r->n_answer);
    ct_canonical_key(c, "reason");
    ct_canonical_string(c, ct_str_of(carat_reason_name(r->reason)));
    write_sha(c, r, r->answer_sha);
    ct_canonical_put(c, "}");
}

static void write_predicate(struct ct_canonical *c, const carat_receipt *r)
{
    ct_canonical_put(c, "{");
    ct_canonical_key(c, "answer");
    write_answer(c, r);
    ct_canonical_key(c, "digest");
    ct_canonical_hex(c, r->digests.last, CT_DIGEST);
    ct_canonical_key(c, "digests");
    ct_canonical_put(c, "[");
    for (int i = 0; i < r->digests.n_kept; i++) {
        ct_canonical_next(c);
        ct_canonical_hex(c, r->digests.kept[i], CT_DIGEST);
    }
    ct_canonical_put(c, "]");
    ct_canonical_key(c, "header");
    ct_header_write(c, &r->header);
    ct_canonical_key(c, "prompt");
    ct_canonical_put(c, "{");
    write_ids(c, r, r->ids, r->n_prompt);
    write_sha(c, r, r->prompt_sha);
    ct_canonical_put(c, "}");
    if (r->is_private) {
        ct_canonical_key(c, "salt");
        ct_canonical_hex(c, r->salt, CT_SALT);
    }
    ct_canonical_put(c, "}");
}

static void write_subject(struct ct_canonical *c, const char *name, const uint8_t *sha)
{
    ct_canonical_next(c);
    ct_canonical_put(c, "{");
    ct_canonical_key(c, "digest");
    ct_canonical_put(c, "{");
    ct_canonical_key(c, "sha256");
    ct_canonical_hex(c, sha, CT_SHA256);
    ct_canonical_put(c, "}");
    ct_canonical_key(c, "name");
    ct_canonical_string(c, ct_str_of(name));
    ct_canonical_put(c, "}");
}

carat_status carat_receipt_write(const carat_receipt *receipt, char **text, size_t *n, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(text, err);
    struct ct_canonical c = {0};

    if (!receipt->finished)
        return ct_fail(err, CARAT_E_ARGUMENT, "the receipt is not finished");
    ct_canonical_put(&c, "{");
    ct_canonical_key(&c, "_type");
    ct_canonical_string(&c, ct_str_of(STATEMENT));
    ct_canonical_key(&c, "predicate");
    write_predicate(&c, receipt);
    ct_canonical_key(&c, "predicateType");
    ct_canonical_string(&c, ct_str_of(PREDICATE));
    ct_canonical_key(&c, "subject");
    ct_canonical_put(&c, "[");
    write_subject(&c, subjects[0], receipt->answer_sha);
    write_subject(&c, subjects[1], receipt->text_sha);
    ct_canonical_put(&c, "]}");
    if (c.failed) {
        free(c.text);
        return ct_no_memory(err, "a receipt");
    }
    *text = c.text;
    if (n)
        *n = c.n;
    return CARAT_OK;
}

/* ---- reading ---- */

struct reading {
    struct ct_receipt_source source;
    carat_receipt *r;
    carat_error *err;
};

static carat_status statement_refuse(const struct reading *g, const struct ct_json_value *v, const char *key,
                                     carat_status code, const char *expected)
{
    return ct_json_refuse(g->err, code, g->source.name, g->source.text, v, key, "expected %s", expected);
}

static carat_status read_digest(const struct reading *g, const struct ct_json_value *v, const char *key,
                                int n, uint8_t *to)
{
    char hex[2 * CT_SHA256 + 1];

    CT_TRY(ct_receipt_hex_read(&g->source, v, key, 2 * n, hex, g->err));
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)(ct_hex_digit(hex[2 * i]) << 4 | ct_hex_digit(hex[2 * i + 1]));
    return CARAT_OK;
}

/* A number of ids, and the ids or their hash. *list.ids NULL: they are private. */
static carat_status read_counted(const struct reading *g, const struct ct_json_value *object, const char *key,
                                 struct ct_id_list *list, uint8_t *sha)
{
    char name[64], expected[64];
    int64_t n;

    snprintf(name, sizeof name, "%s.n", key);
    if (!ct_json_integer(ct_json_get(object, "n"), &n) || n < 0 || n > INT32_MAX)
        return statement_refuse(g, ct_json_get(object, "n"), name, CARAT_E_FORMAT, "a number of ids");
    list->n = (int)n;
    if (g->r->is_private) {
        snprintf(name, sizeof name, "%s.sha256", key);
        return read_digest(g, ct_json_get(object, "sha256"), name, CT_SHA256, sha);
    }
    snprintf(name, sizeof name, "%s.ids", key);
    CT_TRY(ct_receipt_ids_read(&g->source, ct_json_get(object, "ids"), name, INT32_MAX, list, g->err));
    snprintf(expected, sizeof expected, "%d ids, as %s.n says", (int)n, key);
    if (list->n != (int)n)
        return statement_refuse(g, ct_json_get(object, "ids"), name, CARAT_E_FORMAT, expected);
    return ct_ids_sha(sha, NULL, list->ids, list->n, g->err);
}

static carat_status read_reason(const struct reading *g, const struct ct_json_value *v)
{
    for (int i = 0; i <= CARAT_REASON_CONSTRAINT; i++)
        if (ct_json_is_text(v, carat_reason_name((carat_reason)i))) {
            g->r->reason = (carat_reason)i;
            return CARAT_OK;
        }
    return statement_refuse(g, v, "predicate.answer.reason", CARAT_E_FORMAT,
                            "why an answer ends, as \"stop\"");
}

/* True when the reason fits: an answer that ended so was ended by an id that was drawn and not given. */
static bool reason_fits(const carat_receipt *r)
{
    switch (r->reason) {
    case CARAT_REASON_STOP:
    case CARAT_REASON_TOOL_CALLS:
        return r->end_id >= 0;
    case CARAT_REASON_LENGTH:
        return true; /* a form that had to be ended, too */
    default:
        return r->end_id < 0;
    }
}

static carat_status read_answer(const struct reading *g, const struct ct_json_value *v,
                                struct ct_id_list *ids)
{
    static const char *const open_names[] = {"end", "ids", "n", "reason"};
    static const char *const private_names[] = {"end", "n", "reason", "sha256"};
    const struct ct_json_value *end = ct_json_get(v, "end");
    const char *const *names = g->r->is_private ? private_names : open_names;
    int64_t id = -1;

    CT_TRY(ct_receipt_names(&g->source, v, "predicate.answer", names, CT_COUNT(open_names), g->err));
    CT_TRY(read_counted(g, v, "predicate.answer", ids, g->r->answer_sha));
    CT_TRY(read_reason(g, ct_json_get(v, "reason")));
    if (!ct_json_is(end, CT_JSON_NULL) && (!ct_json_integer(end, &id) || id < 0 || id > INT32_MAX))
        return statement_refuse(g, end, "predicate.answer.end", CARAT_E_FORMAT, "an id or null");
    g->r->end_id = (int32_t)id;
    if (!reason_fits(g->r))
        return statement_refuse(g, end, "predicate.answer.end", CARAT_E_FORMAT,
                                id < 0 ? "the id that ended the answer" : "null: the reason is no stop id");
    if (ids->n + (id >= 0) < 1)
        return statement_refuse(g, ct_json_get(v, "n"), "predicate.answer.n", CARAT_E_FORMAT,
                                "at least one id");
    return CARAT_OK;
}

static carat_status read_prompt(const struct reading *g, const struct ct_json_value *v,
                                struct ct_id_list *ids)
{
    static const char *const open_names[] = {"ids", "n"}, *const private_names[] = {"n", "sha256"};

    CT_TRY(ct_receipt_names(&g->source, v, "predicate.prompt", g->r->is_private ? private_names : open_names,
                            CT_COUNT(open_names), g->err));
    CT_TRY(read_counted(g, v, "predicate.prompt", ids, g->r->prompt_sha));
    return ids->n < 1 ? statement_refuse(g, ct_json_get(v, "n"), "predicate.prompt.n", CARAT_E_FORMAT,
                                         "at least one id")
                      : CARAT_OK;
}

/* That both fit into the context which the header names, with room for what a position takes. */
static carat_status check_lengths(const struct reading *g, const struct ct_json_value *predicate, int64_t n)
{
    const struct ct_receipt_header *h = &g->r->header;
    const struct ct_json_value *count = ct_json_get(ct_json_get(predicate, "answer"), "n");
    char expected[96];

    snprintf(expected, sizeof expected, "with the prompt's at most the %d positions of header.context",
             h->context);
    if (n > h->context)
        return statement_refuse(g, count, "predicate.answer.n", CARAT_E_FORMAT, expected);
    snprintf(expected, sizeof expected, "at most the %d of header.max_tokens", h->max_tokens);
    if (h->max_tokens && g->r->n_answer > h->max_tokens)
        return statement_refuse(g, count, "predicate.answer.n", CARAT_E_FORMAT, expected);
    return CARAT_OK;
}

static carat_status read_digests(const struct reading *g, const struct ct_json_value *list)
{
    struct ct_digests *d = &g->r->digests;
    const int tokens = g->r->n_answer + (g->r->end_id >= 0), most = ct_digests_kept(tokens);
    char expected[64], key[48];

    snprintf(expected, sizeof expected, "a list of %d digests, for %d tokens", most, tokens);
    if (!ct_json_is(list, CT_JSON_ARRAY) || ct_json_count(list) != (size_t)most)
        return statement_refuse(g, list, "predicate.digests", CARAT_E_FORMAT, expected);
    d->n = tokens;
    d->kept = calloc((size_t)most + 1, sizeof *d->kept);
    if (!d->kept)
        return ct_no_memory(g->err, g->source.name);
    CT_JSON_EACH(one, list)
    {
        snprintf(key, sizeof key, "predicate.digests[%d]", d->n_kept);
        CT_TRY(read_digest(g, one, key, CT_DIGEST, d->kept[d->n_kept]));
        d->n_kept++;
    }
    return CARAT_OK;
}

static carat_status keep_ids(const struct reading *g, const struct ct_id_list *prompt,
                             const struct ct_id_list *answer)
{
    carat_receipt *r = g->r;

    r->n_prompt = prompt->n;
    r->n_answer = answer->n;
    if (r->is_private)
        return CARAT_OK;
    r->ids = malloc(((size_t)prompt->n + (size_t)answer->n) * sizeof *r->ids);
    if (!r->ids)
        return ct_no_memory(g->err, g->source.name);
    memcpy(r->ids, prompt->ids, (size_t)prompt->n * sizeof *r->ids);
    memcpy(r->ids + prompt->n, answer->ids, (size_t)answer->n * sizeof *r->ids);
    return CARAT_OK;
}

static carat_status read_predicate(const struct reading *g, const struct ct_json_value *v)
{
    static const char *const names[] = {"answer", "digest", "digests", "header", "prompt", "salt"};
    carat_receipt *r = g->r;
    struct ct_id_list prompt = {NULL, 0}, answer = {NULL, 0};
    const struct ct_json_value *salt = ct_json_get(v, "salt");

    CT_TRY(ct_receipt_names(&g->source, v, "predicate", names, CT_COUNT(names), g->err));
    r->is_private = salt != NULL;
    if (salt)
        CT_TRY(read_digest(g, salt, "predicate.salt", CT_SALT, r->salt));
    CT_TRY(ct_header_read(&r->header, &g->source, ct_json_get(v, "header"), g->err));
    CT_TRY(read_prompt(g, ct_json_get(v, "prompt"), &prompt));
    CT_TRY(read_answer(g, ct_json_get(v, "answer"), &answer));
    CT_TRY(keep_ids(g, &prompt, &answer));
    CT_TRY(check_lengths(g, v, (int64_t)prompt.n + answer.n));
    CT_TRY(read_digest(g, ct_json_get(v, "digest"), "predicate.digest", CT_DIGEST, r->digests.last));
    memcpy(r->digest, ct_json_str(ct_json_get(v, "digest")).s, CT_RECEIPT_HEX);
    return read_digests(g, ct_json_get(v, "digests"));
}

/* An answer's name and hash: those of the ids, which the receipt has, then those of the text. */
static carat_status read_subject(const struct reading *g, const struct ct_json_value *v, int i)
{
    static const char *const names[] = {"digest", "name"}, *const hashes[] = {"sha256"};
    const struct ct_json_value *digest = ct_json_get(v, "digest");
    uint8_t sha[CT_SHA256];
    char key[48], expected[64];

    snprintf(key, sizeof key, "subject[%d]", i);
    CT_TRY(ct_receipt_names(&g->source, v, key, names, CT_COUNT(names), g->err));
    snprintf(expected, sizeof expected, "\"%s\"", subjects[i]);
    snprintf(key, sizeof key, "subject[%d].name", i);
    if (!ct_json_is_text(ct_json_get(v, "name"), subjects[i]))
        return statement_refuse(g, ct_json_get(v, "name"), key, CARAT_E_FORMAT, expected);
    snprintf(key, sizeof key, "subject[%d].digest", i);
    CT_TRY(ct_receipt_names(&g->source, digest, key, hashes, CT_COUNT(hashes), g->err));
    snprintf(key, sizeof key, "subject[%d].digest.sha256", i);
    CT_TRY(read_digest(g, ct_json_get(digest, "sha256"), key, CT_SHA256, sha));
    if (i == 0 && memcmp(sha, g->r->answer_sha, sizeof sha) != 0)
        return statement_refuse(g, ct_json_get(digest, "sha256"), key, CARAT_E_FORMAT,
                                "the hash of predicate.answer");
    memcpy(g->r->text_sha, sha, sizeof sha);
    return CARAT_OK;
}

static carat_status read_statement(const struct reading *g, const struct ct_json_value *root)
{
    static const char *const names[] = {"_type", "predicate", "predicateType", "subject"};
    const struct ct_json_value *list = ct_json_get(root, "subject");
    int i = 0;

    if (!ct_json_is_text(ct_json_get(root, "_type"), STATEMENT))
        return statement_refuse(g, ct_json_get(root, "_type"), "_type", CARAT_E_FORMAT, "\"" STATEMENT "\"");
    if (!ct_json_is_text(ct_json_get(root, "predicateType"), PREDICATE))
        return statement_refuse(g, ct_json_get(root, "predicateType"), "predicateType", CARAT_E_UNSUPPORTED,
                                "\"" PREDICATE "\"");
    CT_TRY(ct_receipt_names(&g->source, root, "the statement", names, CT_COUNT(names), g->err));
    const struct ct_json_value *version =
        ct_json_get(ct_json_get(ct_json_get(root, "predicate"), "header"), "version");
    int64_t number;
    if (ct_json_integer(version, &number) && number != CT_RECEIPT_VERSION)
        return statement_refuse(g, version, "predicate.header.version", CARAT_E_UNSUPPORTED, "1");
    CT_TRY(read_predicate(g, ct_json_get(root, "predicate")));
    if (!ct_json_is(list, CT_JSON_ARRAY) || ct_json_count(list) != CT_COUNT(subjects))
        return statement_refuse(g, list, "subject", CARAT_E_FORMAT, "the ids and the text of the answer");
    CT_JSON_EACH(one, list)
    CT_TRY(read_subject(g, one, i++));
    return CARAT_OK;
}

carat_status ct_receipt_read(carat_receipt **receipt, const char *name, struct ct_str text, carat_error *err)
{
    struct ct_json_tree tree = {0};
    carat_receipt *r = calloc(1, sizeof *r);

    if (!r)
        return ct_no_memory(err, name);
    const struct reading g = {{name, ct_str_bytes(text), &r->arena}, r, err};
    r->name = ct_arena_str(&r->arena, name, strlen(name));
    carat_status status = r->name ? CARAT_OK : ct_no_memory(err, name);
    if (!status)
        status = ct_json_tree_read(&tree, CARAT_E_FORMAT, name, g.source.text, err);
    if (!status)
        status = read_statement(&g, tree.value);
    ct_json_tree_free(&tree);
    r->finished = true;
    if (status)
        carat_receipt_close(r);
    else
        *receipt = r;
    return status;
}

carat_status carat_receipt_read(carat_receipt **receipt, const char *name, const char *text, size_t n,
                                carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(name, err);
    CT_GIVEN(text, err);
    return ct_receipt_read(receipt, name, (struct ct_str){text, n}, err);
}
