/* SPDX-License-Identifier: Apache-2.0 */
/* generation_config.c: reads sampling parameters, stop ids and banned ids out of a checkpoint's files.
 * Unknown keys are passed over; a known key of a wrong type or range is an error that names file and key.
 * null counts as absent. */
#include "text/generation_config.h"

#include <limits.h>

#include "file/sbs.h"

/* ---- reading one key ---- */

struct source {
    const struct ct_file *f;
    const char *side; /* name of the JSON file */
    carat_error *err;
    char path[4096]; /* of it, for messages */
};

/* bytes of a side file; those of released checkpoints are far smaller */
enum { SIDE_MAX = 1 << 20 };

/* The side file as a tree; *root stays NULL when there is none. */
static carat_status open_side(struct source *s, const struct ct_json_value **root)
{
    struct ct_bytes text = ct_file_side(s->f, s->side);
    snprintf(s->path, sizeof s->path, "%s: %s", ct_file_path(s->f), s->side);
    if (text.size > SIDE_MAX)
        return ct_bad_file(s->err, s->path, "%zu bytes found, expected at most %d", text.size, SIDE_MAX);
    return ct_file_json(s->f, s->side, s->path, root, s->err);
}

/* value: what was found under key. */
static carat_status wrong_key(const struct source *s, const struct ct_json_value *value, const char *key,
                              const char *expected)
{
    return ct_json_refuse(s->err, CARAT_E_FORMAT, s->path, ct_file_side(s->f, s->side), value, key,
                          "expected %s", expected);
}

static carat_status read_float(const struct source *s, const struct ct_json_value *object, const char *key,
                               float *out)
{
    const struct ct_json_value *value = ct_json_given(object, key);
    if (!value)
        return CARAT_OK;
    if (!ct_json_is(value, CT_JSON_NUMBER))
        return wrong_key(s, value, key, "a number");
    *out = (float)ct_json_double(value);
    return CARAT_OK;
}

/* ---- parameters ---- */

/* The first parameter out of its range, or NULL. The conditions are written so that NaN fails them. */
static const char *out_of_range(const carat_sampling *s, double *value, const char **range)
{
    const struct {
        const char *name, *range;
        double value;
        bool good;
    } check[] = {
        {"temperature", "0 or 0.000001 to 100", s->temperature,
         s->temperature == 0 ||
             (s->temperature >= CARAT_TEMPERATURE_MIN && s->temperature <= CARAT_TEMPERATURE_MAX)},
        {"top_k", "0 (all) or more", s->top_k, s->top_k >= 0},
        {"top_p", "0.000001 to 1", s->top_p, s->top_p >= CARAT_TOP_P_MIN && s->top_p <= 1},
        {"min_p", "0 to 1", s->min_p, s->min_p >= 0 && s->min_p <= 1},
    };
    for (size_t i = 0; i < CT_COUNT(check); i++)
        if (!check[i].good) {
            *value = check[i].value;
            *range = check[i].range;
            return check[i].name;
        }
    return NULL;
}

carat_status ct_sampling_check(const carat_sampling *s, int n_vocab, carat_error *err)
{
    const char *range;
    double value;
    const char *name = out_of_range(s, &value, &range);
    if (name)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is %g, expected %s", name, value, range);
    if (s->n_banned < 0 || (s->n_banned && !s->banned))
        return ct_fail(err, CARAT_E_ARGUMENT, "n_banned is %d and banned %s, expected a list of that length",
                       s->n_banned, s->banned ? "is not NULL" : "is NULL");
    for (int i = 0; i < s->n_banned; i++)
        if (s->banned[i] < 0 || s->banned[i] >= n_vocab)
            return ct_fail(err, CARAT_E_ARGUMENT, "banned[%d] is %d, expected an id from 0 to %d", i,
                           (int)s->banned[i], n_vocab - 1);
    return CARAT_OK;
}

static carat_status read_generation_config(carat_sampling *out, const struct source *s,
                                           const struct ct_json_value *root)
{
    CT_TRY(read_float(s, root, "temperature", &out->temperature));
    CT_TRY(read_float(s, root, "top_p", &out->top_p));
    CT_TRY(read_float(s, root, "min_p", &out->min_p));
    const struct ct_json_value *top_k = ct_json_given(root, "top_k"),
                               *sample = ct_json_given(root, "do_sample");
    int64_t k = out->top_k;
    if (top_k && (!ct_json_integer(top_k, &k) || k < 0 || k > INT_MAX))
        return wrong_key(s, top_k, "top_k", "an integer from 0 to 2147483647");
    out->top_k = (int)k;
    if (sample && !ct_json_is_bool(sample))
        return wrong_key(s, sample, "do_sample", "true or false");
    double value;
    const char *range, *name = out_of_range(out, &value, &range);
    if (name)
        return wrong_key(s, ct_json_given(root, name), name, range);
    if (ct_json_is(sample, CT_JSON_FALSE))
        out->temperature = 0;
    return CARAT_OK;
}

static carat_status read_gguf_sampling(carat_sampling *out, const struct ct_file *f, carat_error *err)
{
    const struct {
        const char *key;
        float *to;
    } numbers[] = {{"general.sampling.temp", &out->temperature},
                   {"general.sampling.top_p", &out->top_p},
                   {"general.sampling.min_p", &out->min_p}};
    for (size_t i = 0; i < CT_COUNT(numbers); i++) {
        double number = *numbers[i].to;
        CT_TRY(ct_file_meta_float(f, numbers[i].key, &number, err));
        *numbers[i].to = (float)number;
    }
    int64_t top_k = out->top_k;
    CT_TRY(ct_file_meta_int(f, "general.sampling.top_k", 0, INT_MAX, &top_k, err));
    out->top_k = (int)top_k;
    double value;
    const char *range, *name = out_of_range(out, &value, &range);
    if (name)
        return ct_bad_file(err, ct_file_path(f), "key general.sampling.%s: found %g, expected %s",
                           strcmp(name, "temperature") == 0 ? "temp" : name, value, range);
    return CARAT_OK;
}

carat_sampling ct_card_sampling(void)
{
    return (carat_sampling){.size = sizeof(carat_sampling), .temperature = 1.0f, .top_k = 64, .top_p = 0.95f};
}

carat_status ct_sampling_defaults(carat_sampling *out, const struct ct_file *f, carat_error *err)
{
    carat_sampling read = ct_card_sampling();
    struct source s = {.f = f, .side = "generation_config.json", .err = err};
    carat_status status = CARAT_OK;
    const struct ct_json_value *root;
    if (ct_file_kind(f) == CT_FILE_GGUF) {
        status = read_gguf_sampling(&read, f, err);
    } else {
        CT_TRY(open_side(&s, &root));
        if (root)
            status = read_generation_config(&read, &s, root);
    }
    if (status == CARAT_OK)
        *out = read;
    return status;
}

/* ---- sets of ids ---- */

struct id_set {
    const struct ct_file *f;
    int32_t *ids;
    int n, cap, n_vocab;
    carat_error *err;
};

/* Ids beyond the vocabulary are dropped: released checkpoints name tokens their matrix has no row for. what
 * names the ids in the message about a full set. */
static carat_status add_id(struct id_set *set, int64_t id, const char *what)
{
    if (id < 0 || id >= set->n_vocab)
        return CARAT_OK;
    for (int i = 0; i < set->n; i++)
        if (set->ids[i] == id)
            return CARAT_OK;
    if (set->n == set->cap)
        return ct_bad_file(set->err, ct_file_path(set->f), "%s: more than %d different ids", what, set->cap);
    set->ids[set->n++] = (int32_t)id;
    return CARAT_OK;
}

static carat_status add_control(struct id_set *set, const struct ct_tokenizer *t, enum ct_control c)
{
    return t ? add_id(set, ct_tokenizer_control(t, c), ct_controls[c].text) : CARAT_OK;
}

/* An id or a list of ids under key, of an object that `within` leads to. */
static carat_status add_key(struct id_set *set, const struct source *s, const struct ct_json_value *object,
                            const char *within, const char *key)
{
    const struct ct_json_value *value = ct_json_given(object, key);
    bool list = ct_json_is(value, CT_JSON_ARRAY);
    const struct ct_json_value *id = list ? ct_json_first(value) : value;
    for (int i = 0; id; i++, id = list ? ct_json_after(id) : NULL) {
        char path[128], index[16] = "";
        int64_t v;
        if (!ct_json_integer(id, &v) || v < 0 || v > INT32_MAX) {
            if (list)
                snprintf(index, sizeof index, "[%d]", i);
            snprintf(path, sizeof path, "%s%s%s", within, key, index);
            return wrong_key(s, id, path, "a token id or a list of token ids, from 0 to 2147483647");
        }
        CT_TRY(add_id(set, v, key));
    }
    return CARAT_OK;
}

/* The keys of one side file, and with text_config those of that member too. */
static carat_status add_side(struct id_set *set, const char *side, bool text_config, const char *const *key,
                             size_t n)
{
    struct source s = {.f = set->f, .side = side, .err = set->err};
    const struct ct_json_value *root;
    CT_TRY(open_side(&s, &root));
    const struct ct_json_value *text = text_config ? ct_json_given(root, "text_config") : NULL;
    if (text && !ct_json_is(text, CT_JSON_OBJECT))
        return wrong_key(&s, text, "text_config", "an object");
    for (size_t i = 0; i < n; i++) {
        CT_TRY(add_key(set, &s, root, "", key[i]));
        CT_TRY(add_key(set, &s, text, "text_config.", key[i]));
    }
    return CARAT_OK;
}

/* The ids of an array in GGUF. */
static carat_status add_array(struct id_set *set, const char *key)
{
    const struct ct_meta *m = ct_file_meta(set->f, key);
    if (!m)
        return CARAT_OK;
    if (m->type != CT_META_ARRAY || (m->elem != CT_META_INT && m->elem != CT_META_UINT))
        return ct_bad_file(set->err, ct_file_path(set->f),
                           "metadata key \"%s\" at byte %llu: expected an array of token ids", key,
                           (unsigned long long)m->offset);
    for (uint64_t i = 0; i < m->count; i++) {
        double id = ct_meta_number(m, i);
        if (id < set->n_vocab)
            CT_TRY(add_id(set, (int64_t)id, key));
    }
    return CARAT_OK;
}

static carat_status add_meta(struct id_set *set)
{
    static const char *const keys[] = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                       "tokenizer.ggml.eom_token_id"};
    for (size_t i = 0; i < CT_COUNT(keys); i++) {
        int64_t id = -1;
        CT_TRY(ct_file_meta_int(set->f, keys[i], 0, INT32_MAX, &id, set->err));
        CT_TRY(add_id(set, id, keys[i]));
    }
    return add_array(set, "tokenizer.ggml.eos_token_ids"); /* ollama writes them */
}

carat_status ct_stop_ids(const struct ct_file *f, const struct ct_tokenizer *t, int32_t end_of_turn,
                         enum ct_chat chat, int n_vocab, int32_t *ids, int cap, int *n, carat_error *err)
{
    static const char *const key[] = {"eos_token_id"};
    struct id_set set = {f, ids, 0, cap, n_vocab, err};
    int32_t own[16];

    if (ct_file_sbs(f)) {
        CT_TRY(add_id(&set, ct_file_sbs(f)->eos_id, "eos_id"));
        CT_TRY(add_id(&set, ct_file_sbs(f)->secondary_eos_id, "eos_id"));
    } else if (ct_file_kind(f) == CT_FILE_GGUF) {
        CT_TRY(add_meta(&set));
    } else {
        CT_TRY(add_side(&set, "config.json", true, key, CT_COUNT(key)));
        CT_TRY(add_side(&set, "generation_config.json", false, key, CT_COUNT(key)));
    }
    int n_own = t ? ct_tokenizer_end_ids(t, own, (int)CT_COUNT(own)) : 0;
    for (int i = 0; i < n_own; i++)
        CT_TRY(add_id(&set, own[i], "stop ids"));
    /* Configurations of Gemma 1 and 2 name <eos> only, though their instruction-tuned models end a turn. The
     * keys of GGUF have no name for the token behind Gemma 4's calls. */
    CT_TRY(add_control(&set, t, CT_CONTROL_END_OF_TURN));
    CT_TRY(add_control(&set, t, CT_CONTROL_TURN_END));
    CT_TRY(add_control(&set, t, CT_CONTROL_TOOL_RESPONSE));
    if (chat == CT_CHAT_FUNCTIONGEMMA)
        CT_TRY(add_control(&set, t, CT_CONTROL_START_RESPONSE));
    if (!t)
        CT_TRY(add_id(&set, end_of_turn, "stop ids"));
    *n = set.n;
    return CARAT_OK;
}

carat_status ct_banned_ids(const struct ct_file *f, const struct ct_tokenizer *t, int n_vocab, int32_t *ids,
                           int cap, int *n, carat_error *err)
{
    static const char *const keys[] = {"image_token_index", "image_token_id",  "boi_token_index",
                                       "boi_token_id",      "eoi_token_index", "eoi_token_id",
                                       "audio_token_id",    "boa_token_id",    "eoa_token_id",
                                       "eoa_token_index",   "video_token_id"};
    static const char *const suppressed[] = {"suppress_tokens"};
    struct id_set set = {f, ids, 0, cap, n_vocab, err};
    for (int c = 0; c < CT_CONTROLS; c++)
        if (ct_controls[c].use == CT_CONTROL_OF_IMAGE || ct_controls[c].use == CT_CONTROL_OF_AUDIO)
            CT_TRY(add_control(&set, t, (enum ct_control)c));
    if (ct_file_kind(f) == CT_FILE_GGUF) {
        CT_TRY(add_array(&set, "tokenizer.ggml.suppress_tokens"));
    } else {
        CT_TRY(add_side(&set, "config.json", false, keys, CT_COUNT(keys)));
        CT_TRY(add_side(&set, "generation_config.json", false, suppressed, CT_COUNT(suppressed)));
    }
    *n = set.n;
    return CARAT_OK;
}
