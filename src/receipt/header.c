/* SPDX-License-Identifier: Apache-2.0 */
/* header.c: see receipt.h. The fields of an object stand in the order of their names, which is that of the
 * canonical form.
 *
 * A header is written and read by one table. */
#include "receipt/receipt.h"

#include <math.h>

#include "engine/chain.h"
#include "model/head.h"
#include "quant/arithmetic.h"
#include "quant/kv_type.h"

enum kind {
    INTEGER, /* of 32 bits; without a sign where most says so */
    TRUTH,
    NUMBER,
    HASH,  /* of CT_RECEIPT_HEX digits; least 0: or none */
    SHA,   /* of CT_RECEIPT_SHA digits */
    SEED,  /* 64 bits as a string, since JSON's numbers have 53 */
    WORD,  /* the number of one of the words */
    WORDS, /* several numbers, each at most once, and how many there are behind */
    TEXT,  /* a string or null */
    TEXTS, /* strings, and how many there are behind */
    IDS,
    BIASES,
    GROUP, /* an object or null, with a flag */
};

/* What the values of a field are out of. */
enum list {
    NO_LIST,
    ARITHMETICS,
    KV_TYPES,
    ACTIVATIONS,
    QUANTS,
    STRATEGIES,
    FORMS,
    LINKS,
    OF_FORM,
    OF_DRY,
    OF_HEAD,
    OF_PENALTIES,
    OF_XTC
};

/* Without pointers, which take more room in a library than what they point to. */
struct field {
    char name[16]; /* "" behind the last */
    uint8_t kind, list;
    uint16_t at;
    double least, most; /* of a number; of a list the most elements */
};

#define AT(member) offsetof(struct ct_receipt_header, member)

static const char *const activations[] = {"f32", "f16", NULL};
static const char *const quants[] = {"native", "group", "channel", "tensor", NULL};
static const char *const forms[] = {"schema", "regex", "grammar", "tools", NULL};
/* Words that others know; NULL behind the last. */
static const char *kv_word(int i)
{
    return carat_kv_name((carat_kv)(i + 1));
}

static const char *strategy_word(int i)
{
    const char *name = carat_head_name((carat_head)i);

    return *name ? name : NULL;
}

static const char *link_word(int i)
{
    return i < CARAT_LINKS ? carat_link_name((carat_link)i) : NULL;
}

/* clang-format off */
static const struct field of_form[] = {
    {"form", WORD, FORMS, AT(form), 0, 0},
    {"json_dumps", TRUTH, NO_LIST, AT(json_dumps), 0, 0},
    {"one_call", TRUTH, NO_LIST, AT(one_call), 0, 0},
    {"sha256", SHA, NO_LIST, AT(form_sha256), 0, 0},
    {"tool_choice", TEXT, NO_LIST, AT(tool_choice), 0, 1024},
    {"", INTEGER, NO_LIST, 0, 0, 0},
};
static const struct field of_dry[] = {
    {"allowed_length", INTEGER, NO_LIST, AT(dry_allowed_length), 0, INT32_MAX},
    {"base", NUMBER, NO_LIST, AT(dry_base), 1, 1000},
    {"breakers", IDS, NO_LIST, AT(dry_breakers), 0, CARAT_MOST_BREAKERS},
    {"last_n", INTEGER, NO_LIST, AT(dry_penalty_last_n), -1, INT32_MAX},
    {"multiplier", NUMBER, NO_LIST, AT(dry_multiplier), 0, 1000},
    {"", INTEGER, NO_LIST, 0, 0, 0},
};
static const struct field of_head[] = {
    {"quant", WORD, QUANTS, AT(quant), 0, 0},
    {"strategy", WORD, STRATEGIES, AT(strategy), 0, 0},
    {"tile", INTEGER, NO_LIST, AT(tile), 0, INT32_MAX},
    {"tiles", INTEGER, NO_LIST, AT(tiles), 0, INT32_MAX},
    {"", INTEGER, NO_LIST, 0, 0, 0},
};
static const struct field of_penalties[] = {
    {"frequency", NUMBER, NO_LIST, AT(frequency_penalty), -1000, 1000},
    {"last_n", INTEGER, NO_LIST, AT(repeat_last_n), -1, INT32_MAX},
    {"presence", NUMBER, NO_LIST, AT(presence_penalty), -1000, 1000},
    {"repeat", NUMBER, NO_LIST, AT(repeat_penalty), 0.0009, 1000},
    {"", INTEGER, NO_LIST, 0, 0, 0},
};
static const struct field of_xtc[] = {
    {"probability", NUMBER, NO_LIST, AT(xtc_probability), 0, 1},
    {"threshold", NUMBER, NO_LIST, AT(xtc_threshold), 0, 1},
    {"", INTEGER, NO_LIST, 0, 0, 0},
};
static const struct field of_header[] = {
    {"activations", WORD, ACTIVATIONS, AT(activations_f16), 0, 0},
    {"arithmetic", WORD, ARITHMETICS, AT(arithmetic), 0, 0},
    {"banned", IDS, NO_LIST, AT(banned), 0, 1024},
    {"biases", BIASES, NO_LIST, AT(biases), 0, CARAT_MOST_BIASES},
    {"constraint", GROUP, OF_FORM, AT(has_form), 0, 0},
    {"content", HASH, NO_LIST, AT(content), 1, 0},
    {"context", INTEGER, NO_LIST, AT(context), 1, INT32_MAX},
    {"drawing", INTEGER, NO_LIST, AT(drawing), 1, INT32_MAX},
    {"dry", GROUP, OF_DRY, AT(has_dry), 0, 0},
    {"first_layer", INTEGER, NO_LIST, AT(first_layer), 0, 4096},
    {"head", GROUP, OF_HEAD, AT(has_head), 0, 0},
    {"in_thought", TRUTH, NO_LIST, AT(in_thought), 0, 0},
    {"kv", WORD, KV_TYPES, AT(kv), 0, 0},
    {"layers", INTEGER, NO_LIST, AT(layers), 1, 4096},
    {"links", WORDS, LINKS, AT(links), 0, CARAT_LINKS},
    {"loop_guard", INTEGER, NO_LIST, AT(loop_guard), 0, CARAT_MOST_LOOP},
    {"max_tokens", INTEGER, NO_LIST, AT(max_tokens), 0, INT32_MAX},
    {"min_p", NUMBER, NO_LIST, AT(min_p), 0, 1},
    {"number", INTEGER, NO_LIST, AT(number), 0, UINT32_MAX},
    {"numerics", INTEGER, NO_LIST, AT(numerics), 1, INT32_MAX},
    {"penalties", GROUP, OF_PENALTIES, AT(has_penalties), 0, 0},
    {"previous", HASH, NO_LIST, AT(previous), 0, 0},
    {"seed", SEED, NO_LIST, AT(seed), 0, 0},
    {"stop_ids", IDS, NO_LIST, AT(stop_ids), 0, CARAT_MOST_STOP_IDS},
    {"stops", TEXTS, NO_LIST, AT(stops), 0, CARAT_MOST_STOPS},
    {"temperature", NUMBER, NO_LIST, AT(temperature), 0, 100},
    {"thought_budget", INTEGER, NO_LIST, AT(thought_budget), -1, INT32_MAX},
    {"top_k", INTEGER, NO_LIST, AT(top_k), 0, INT32_MAX},
    {"top_p", NUMBER, NO_LIST, AT(top_p), 0, 1},
    {"typical_p", NUMBER, NO_LIST, AT(typical_p), 0, 1},
    {"version", INTEGER, NO_LIST, AT(version), 1, INT32_MAX},
    {"vocabulary", HASH, NO_LIST, AT(vocabulary), 0, 0},
    {"xtc", GROUP, OF_XTC, AT(has_xtc), 0, 0},
    {"", INTEGER, NO_LIST, 0, 0, 0},
};
/* clang-format on */

static const struct {
    const char *const *words;   /* NULL behind the last */
    const char *(*word)(int i); /* in place of them */
    const struct field *group;
} lists[] = {
    [ARITHMETICS] = {NULL, ct_kept_arithmetic_name, NULL},
    [KV_TYPES] = {NULL, kv_word, NULL},
    [ACTIVATIONS] = {activations, NULL, NULL},
    [QUANTS] = {quants, NULL, NULL},
    [STRATEGIES] = {NULL, strategy_word, NULL},
    [FORMS] = {forms, NULL, NULL},
    [LINKS] = {NULL, link_word, NULL},
    [OF_FORM] = {NULL, NULL, of_form},
    [OF_DRY] = {NULL, NULL, of_dry},
    [OF_HEAD] = {NULL, NULL, of_head},
    [OF_PENALTIES] = {NULL, NULL, of_penalties},
    [OF_XTC] = {NULL, NULL, of_xtc},
};

static const char *word(const struct field *f, int i)
{
    return lists[f->list].words ? lists[f->list].words[i] : lists[f->list].word(i);
}

/* ---- writing ---- */

static const void *member(const struct ct_receipt_header *h, size_t at)
{
    return (const char *)h + at;
}

static int integer_at(const struct ct_receipt_header *h, size_t at)
{
    int value;

    memcpy(&value, member(h, at), sizeof value);
    return value;
}

static void write_integer(struct ct_canonical *c, const struct ct_receipt_header *h, const struct field *f)
{
    const int value = integer_at(h, f->at);

    ct_canonical_integer(c, f->most > INT32_MAX ? (int64_t)(uint32_t)value : value);
}

static void write_biases(struct ct_canonical *c, const carat_bias *biases, int n)
{
    ct_canonical_put(c, "[");
    for (int i = 0; i < n; i++) {
        ct_canonical_next(c);
        ct_canonical_put(c, "[");
        ct_canonical_integer(c, biases[i].id);
        ct_canonical_next(c);
        if (biases[i].bias < -1e38f) /* minus infinity has no number in JSON */
            ct_canonical_put(c, "null");
        else
            ct_canonical_float(c, biases[i].bias);
        ct_canonical_put(c, "]");
    }
    ct_canonical_put(c, "]");
}

static void write_string(struct ct_canonical *c, const char *text)
{
    if (text)
        ct_canonical_string(c, ct_str_of(text));
    else
        ct_canonical_put(c, "null");
}

static void write_list(struct ct_canonical *c, const struct ct_receipt_header *h, const struct field *f)
{
    const int *numbers = member(h, f->at);
    const char *const *texts = member(h, f->at);
    const int n = f->kind == WORDS ? h->n_links : h->n_stops;

    ct_canonical_put(c, "[");
    for (int i = 0; i < n; i++) {
        ct_canonical_next(c);
        write_string(c, f->kind == WORDS ? word(f, numbers[i]) : texts[i]);
    }
    ct_canonical_put(c, "]");
}

static void write_fields(struct ct_canonical *c, const struct ct_receipt_header *h, const struct field *f);

static void write_value(struct ct_canonical *c, const struct ct_receipt_header *h, const struct field *f)
{
    const struct ct_id_list *ids = member(h, f->at);
    char seed[24];

    switch (f->kind) {
    case INTEGER:
        write_integer(c, h, f);
        break;
    case TRUTH:
        ct_canonical_put(c, integer_at(h, f->at) ? "true" : "false");
        break;
    case NUMBER:
        ct_canonical_float(c, *(const float *)member(h, f->at));
        break;
    case HASH:
    case SHA:
        write_string(c, member(h, f->at));
        break;
    case SEED:
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)h->seed);
        write_string(c, seed);
        break;
    case WORD:
        write_string(c, word(f, integer_at(h, f->at)));
        break;
    case TEXT:
        write_string(c, *(const char *const *)member(h, f->at));
        break;
    case WORDS:
    case TEXTS:
        write_list(c, h, f);
        break;
    case IDS:
        ct_canonical_ids(c, ids->ids, ids->n);
        break;
    case BIASES:
        write_biases(c, h->biases, h->n_biases);
        break;
    case GROUP:
        if (integer_at(h, f->at))
            write_fields(c, h, lists[f->list].group);
        else
            ct_canonical_put(c, "null");
        break;
    }
}

static void write_fields(struct ct_canonical *c, const struct ct_receipt_header *h, const struct field *f)
{
    ct_canonical_put(c, "{");
    for (; *f->name; f++) {
        ct_canonical_key(c, f->name);
        write_value(c, h, f);
    }
    ct_canonical_put(c, "}");
}

void ct_header_write(struct ct_canonical *c, const struct ct_receipt_header *h)
{
    write_fields(c, h, of_header);
}

/* ---- reading ---- */

/* A value under way, and how messages call it. */
struct place {
    const struct ct_receipt_source *source;
    const struct ct_json_value *v;
    const char *key;
    carat_error *err;
};

static carat_status header_refuse(const struct place *p, const char *expected)
{
    return ct_json_refuse(p->err, CARAT_E_FORMAT, p->source->name, p->source->text, p->v, p->key,
                          "expected %s", expected);
}

static carat_status no_memory(const struct place *p)
{
    return ct_no_memory(p->err, p->source->name);
}

carat_status ct_receipt_ids_read(const struct ct_receipt_source *s, const struct ct_json_value *v,
                                 const char *key, int most, struct ct_id_list *out, carat_error *err)
{
    const struct place at = {s, v, key, err};
    const size_t n = ct_json_count(v);
    char expected[48];

    snprintf(expected, sizeof expected, "a list of at most %d ids", most);
    if (!ct_json_is(v, CT_JSON_ARRAY) || n > (size_t)most)
        return header_refuse(&at, expected);
    int32_t *ids = ct_arena_push(s->arena, CT_MAX(n, 1), sizeof *ids);
    if (!ids)
        return no_memory(&at);
    *out = (struct ct_id_list){ids, 0};
    CT_JSON_EACH(one, v)
    {
        int64_t id;
        if (!ct_json_integer(one, &id) || id < 0 || id > INT32_MAX) {
            char name[128];
            snprintf(name, sizeof name, "%s[%d]", key, out->n);
            return header_refuse(&(struct place){s, one, name, err}, "an id from 0 to 2147483647");
        }
        ids[out->n++] = (int32_t)id;
    }
    return CARAT_OK;
}

carat_status ct_receipt_hex_read(const struct ct_receipt_source *s, const struct ct_json_value *v,
                                 const char *key, int digits, char *out, carat_error *err)
{
    const struct ct_str hex = ct_json_str(v);
    bool good = ct_json_is(v, CT_JSON_STRING) && hex.n == (size_t)digits;
    char expected[48];

    for (size_t i = 0; good && i < hex.n; i++)
        good = strchr("0123456789abcdef", hex.s[i]) != NULL;
    snprintf(expected, sizeof expected, "%d hexadecimal digits in lower case", digits);
    if (!good)
        return header_refuse(&(struct place){s, v, key, err}, expected);
    memcpy(out, hex.s, hex.n);
    out[hex.n] = 0;
    return CARAT_OK;
}

carat_status ct_receipt_names(const struct ct_receipt_source *s, const struct ct_json_value *object,
                              const char *key, const char *const *names, int n, carat_error *err)
{
    const struct place at = {s, object, key, err};

    if (!ct_json_is(object, CT_JSON_OBJECT))
        return header_refuse(&at, "an object");
    CT_JSON_EACH(member, object)
    {
        int i = 0;
        char name[160];
        while (i < n && !ct_str_is(ct_json_str(member), names[i]))
            i++;
        snprintf(name, sizeof name, "%s.%.*s", key, (int)CT_MIN(member->n, 64u), member->s);
        if (i == n)
            return header_refuse(&(struct place){s, ct_json_of_key(member), name, err},
                                 "no member of this name: none is known");
    }
    return CARAT_OK;
}

static carat_status read_integer(const struct place *p, const struct field *f, void *to)
{
    char expected[80];
    int64_t value;

    snprintf(expected, sizeof expected, "an integer from %.0f to %.0f", f->least, f->most);
    if (!ct_json_integer(p->v, &value) || (double)value < f->least || (double)value > f->most)
        return header_refuse(p, expected);
    memcpy(to, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
    return CARAT_OK;
}

static carat_status read_number(const struct place *p, const struct field *f, void *to)
{
    const double value = ct_json_double(p->v);
    const float narrow = (float)value;
    char expected[80];

    snprintf(expected, sizeof expected, "a number from %g to %g", f->least, f->most);
    if (!ct_json_is(p->v, CT_JSON_NUMBER) || !(value >= f->least && value <= f->most))
        return header_refuse(p, expected);
    memcpy(to, &narrow, sizeof narrow);
    return CARAT_OK;
}

static carat_status read_seed(const struct place *p, uint64_t *seed)
{
    const struct ct_str digits = ct_json_str(p->v);
    bool good = ct_json_is(p->v, CT_JSON_STRING) && digits.n > 0 && (digits.n == 1 || *digits.s != '0');

    *seed = 0;
    for (size_t i = 0; good && i < digits.n; i++) {
        const unsigned digit = (unsigned)(digits.s[i] - '0');
        good = digit < 10 && *seed <= (UINT64_MAX - digit) / 10;
        *seed = *seed * 10 + digit;
    }
    return good ? CARAT_OK : header_refuse(p, "a string with a decimal number of at most 64 bits");
}

/* The number of the value among words; -1: it is none of them. */
static int word_of(const struct ct_json_value *v, const struct field *f)
{
    int i = 0;

    while (word(f, i) && !ct_json_is_text(v, word(f, i)))
        i++;
    return word(f, i) ? i : -1;
}

static carat_status read_word(const struct place *p, const struct field *f, void *to)
{
    const int found = word_of(p->v, f);
    char expected[160] = "one of";

    for (int i = 0; word(f, i); i++)
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s %s", i ? "," : "",
                 word(f, i));
    if (found < 0)
        return header_refuse(p, expected);
    memcpy(to, &found, sizeof found);
    return CARAT_OK;
}

static carat_status read_links(const struct place *p, const struct field *f, struct ct_receipt_header *h)
{
    unsigned seen = 0;

    if (!ct_json_is(p->v, CT_JSON_ARRAY) || ct_json_count(p->v) > CARAT_LINKS)
        return header_refuse(p, "a list of the links of the chain");
    h->n_links = 0;
    CT_JSON_EACH(one, p->v)
    {
        const int link = word_of(one, f);
        if (link < 0 || seen & 1u << link)
            return header_refuse(&(struct place){p->source, one, p->key, p->err},
                                 "links of the chain, each once");
        seen |= 1u << link;
        h->links[h->n_links++] = link;
    }
    return CARAT_OK;
}

/* A terminated copy of a string that has no NUL. */
static carat_status copy_text(const struct place *p, size_t most, const char **to)
{
    const struct ct_str text = ct_json_str(p->v);
    char expected[64];

    snprintf(expected, sizeof expected, "a string of at most %zu bytes", most);
    if (!ct_json_is(p->v, CT_JSON_STRING) || text.n > most || memchr(text.s, 0, text.n))
        return header_refuse(p, expected);
    *to = ct_arena_str(p->source->arena, text.s, text.n);
    return *to ? CARAT_OK : no_memory(p);
}

static carat_status read_texts(const struct place *p, struct ct_receipt_header *h)
{
    if (!ct_json_is(p->v, CT_JSON_ARRAY) || ct_json_count(p->v) > CARAT_MOST_STOPS)
        return header_refuse(p, "a list of at most 16 strings");
    h->n_stops = 0;
    CT_JSON_EACH(one, p->v)
    CT_TRY(copy_text(&(struct place){p->source, one, p->key, p->err}, CARAT_MOST_STOP_BYTES,
                     &h->stops[h->n_stops++]));
    return CARAT_OK;
}

static carat_status read_bias(const struct place *p, carat_bias *bias)
{
    const struct ct_json_value *id = ct_json_first(p->v), *value = id ? ct_json_after(id) : NULL;
    const double number = ct_json_double(value);
    int64_t whole;

    if (!ct_json_is(p->v, CT_JSON_ARRAY) || ct_json_count(p->v) != 2 || !ct_json_integer(id, &whole) ||
        whole < 0 || whole > INT32_MAX ||
        !(ct_json_is(value, CT_JSON_NULL) ||
          (ct_json_is(value, CT_JSON_NUMBER) && number >= -1e38 && number <= 1e38)))
        return header_refuse(p, "pairs of an id and a number from -1e38 to 1e38, or null for minus infinity");
    *bias = (carat_bias){(int32_t)whole, ct_json_is(value, CT_JSON_NULL) ? -INFINITY : (float)number};
    return CARAT_OK;
}

static carat_status read_biases(const struct place *p, struct ct_receipt_header *h)
{
    if (!ct_json_is(p->v, CT_JSON_ARRAY) || ct_json_count(p->v) > CARAT_MOST_BIASES)
        return header_refuse(p, "a list of at most 1024 biases");
    carat_bias *biases = ct_arena_push(p->source->arena, CT_MAX(ct_json_count(p->v), 1), sizeof *biases);
    if (!biases)
        return no_memory(p);
    h->biases = biases;
    h->n_biases = 0;
    CT_JSON_EACH(one, p->v)
    CT_TRY(read_bias(&(struct place){p->source, one, p->key, p->err}, &biases[h->n_biases++]));
    return CARAT_OK;
}

static carat_status read_fields(struct ct_receipt_header *h, const struct place *object,
                                const struct field *fields);

static carat_status read_group(struct ct_receipt_header *h, const struct place *p, const struct field *f)
{
    const int has = !ct_json_is(p->v, CT_JSON_NULL);

    memcpy((char *)h + f->at, &has, sizeof has);
    return has ? read_fields(h, p, lists[f->list].group) : CARAT_OK;
}

static carat_status read_value(struct ct_receipt_header *h, const struct place *p, const struct field *f)
{
    void *to = (char *)h + f->at;

    switch (f->kind) {
    case INTEGER:
        return read_integer(p, f, to);
    case TRUTH:
        *(int *)to = ct_json_is(p->v, CT_JSON_TRUE);
        return ct_json_is_bool(p->v) ? CARAT_OK : header_refuse(p, "true or false");
    case NUMBER:
        return read_number(p, f, to);
    case HASH:
        if (f->least < 1 && ct_json_is_text(p->v, ""))
            return CARAT_OK;
        return ct_receipt_hex_read(p->source, p->v, p->key, CT_RECEIPT_HEX, to, p->err);
    case SHA:
        return ct_receipt_hex_read(p->source, p->v, p->key, CT_RECEIPT_SHA, to, p->err);
    case SEED:
        return read_seed(p, to);
    case WORD:
        return read_word(p, f, to);
    case WORDS:
        return read_links(p, f, h);
    case TEXT:
        return ct_json_is(p->v, CT_JSON_NULL) ? CARAT_OK : copy_text(p, (size_t)f->most, to);
    case TEXTS:
        return read_texts(p, h);
    case IDS:
        return ct_receipt_ids_read(p->source, p->v, p->key, (int)f->most, to, p->err);
    case BIASES:
        return read_biases(p, h);
    case GROUP:
        return read_group(h, p, f);
    }
    return CARAT_OK;
}

enum { MOST_FIELDS = 40 };

static carat_status read_fields(struct ct_receipt_header *h, const struct place *object,
                                const struct field *fields)
{
    const char *names[MOST_FIELDS] = {NULL};
    int n = 0;

    for (; *fields[n].name; n++)
        names[n] = fields[n].name;
    CT_TRY(ct_receipt_names(object->source, object->v, object->key, names, n, object->err));
    for (int i = 0; i < n; i++) {
        char key[96];
        snprintf(key, sizeof key, "%s.%s", object->key, names[i]);
        const struct place at = {object->source, ct_json_get(object->v, names[i]), key, object->err};
        CT_TRY(read_value(h, &at, &fields[i]));
    }
    return CARAT_OK;
}

carat_status ct_header_read(struct ct_receipt_header *h, const struct ct_receipt_source *s,
                            const struct ct_json_value *object, carat_error *err)
{
    *h = (struct ct_receipt_header){.version = 0};
    return read_fields(h, &(struct place){s, object, "predicate.header", err}, of_header);
}
