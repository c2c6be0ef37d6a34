/* SPDX-License-Identifier: Apache-2.0 */
/* config_gguf.c: GGUF metadata of the architectures that carat runs. Several facts are not stored in such
 * files and come from the family: attention scale, local rope base, the pattern of local layers; or from the
 * tensors that are there: what V is made of, the rows of a table, which pairs of a head turn. */
#include "model/config_drafter.h"
#include "model/family.h"
#include "model/refuse.h"

#include <math.h>

enum { MOST_ASKED = 64 };

struct reader {
    const struct ct_file *f;
    const struct ct_architecture *arch;
    const char *prefix;                      /* of its keys: the architecture that the file states */
    const struct ct_meta *asked[MOST_ASKED]; /* of those keys, the ones that are there; some twice */
    int n_asked;
    carat_status status;
    carat_error *err;
};

static const char *gguf_key(struct reader *r, const char *name, char key[128])
{
    snprintf(key, 128, "%s.%s", r->prefix, name);
    const struct ct_meta *m = ct_file_meta(r->f, key);
    if (m && r->n_asked < MOST_ASKED)
        r->asked[r->n_asked++] = m;
    return key;
}

/* required: fallback < 0 */
static int gguf_integer(struct reader *r, const char *name, int fallback, int lo, int hi)
{
    char key[128];
    int64_t v = fallback;

    if (r->status)
        return lo;
    gguf_key(r, name, key);
    if (!ct_file_meta(r->f, key) && fallback < 0)
        r->status = ct_fail(r->err, CARAT_E_FORMAT,
                            "%s: metadata key \"%s\" is missing; an integer from %d to %d was expected",
                            ct_file_path(r->f), key, lo, hi);
    else
        r->status = ct_file_meta_int(r->f, key, lo, hi, &v, r->err);
    return r->status ? lo : (int)v;
}

static int gguf_count(struct reader *r, const char *name, int fallback, int hi)
{
    return gguf_integer(r, name, fallback, 1, hi);
}

/* The array under a key that has a value for each layer; NULL: there is none, or it is refused. */
static const struct ct_meta *gguf_layer_array(struct reader *r, const char *name, int n_layer,
                                              const char *of_what)
{
    char key[128];
    const struct ct_meta *m = ct_file_meta(r->f, gguf_key(r, name, key));

    if (!m || m->type != CT_META_ARRAY || r->status)
        return NULL;
    if (m->count == (uint64_t)n_layer && m->elem != CT_META_STRING && m->elem != CT_META_ARRAY)
        return m;
    r->status = ct_fail(
        r->err, CARAT_E_FORMAT,
        "%s: metadata key \"%s\" at byte %llu has %llu entries, expected one %s for each of %d layers",
        ct_file_path(r->f), key, (unsigned long long)m->offset, (unsigned long long)m->count, of_what,
        n_layer);
    return NULL;
}

/* One count for all layers, or an array with one for each, into the field of ct_layer_config at `at`. */
static void gguf_layer_counts(struct reader *r, struct ct_config *c, const char *name, size_t at,
                              int fallback, int hi)
{
    const struct ct_meta *list = gguf_layer_array(r, name, c->n_layer, "integer");
    const int all = list ? 1 : gguf_count(r, name, fallback, hi);

    for (int i = 0; i < c->n_layer; i++) {
        const double v = list ? ct_meta_number(list, (uint64_t)i) : all;
        int *field = (int *)((uintptr_t)&c->layer[i] + at);
        *field = v >= 1 && v <= hi && v == (int)v ? (int)v : 1;
        if (*field != v && !r->status)
            r->status =
                ct_fail(r->err, CARAT_E_FORMAT,
                        "%s: metadata key \"%s.%s\" at byte %llu has %.15g for layer %d, expected "
                        "an integer from 1 to %d",
                        ct_file_path(r->f), r->prefix, name, (unsigned long long)list->offset, v, i, hi);
    }
}
#define LAYER_FIELD(field) offsetof(struct ct_layer_config, field)

static double gguf_number_at(struct reader *r, const char *key, double fallback, double lo, double hi)
{
    double v = fallback;

    if (!r->status)
        r->status = ct_file_meta_float(r->f, key, &v, r->err);
    if (!r->status && ct_file_meta(r->f, key) && !(v >= lo && v <= hi))
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT,
                    "%s: metadata key \"%s\" is %.9g at byte %llu, but must be from %.15g to %.15g",
                    ct_file_path(r->f), key, v, (unsigned long long)ct_file_meta(r->f, key)->offset, lo, hi);
    return r->status ? fallback : v;
}

static double gguf_number(struct reader *r, const char *name, double fallback, double lo, double hi)
{
    char key[128];
    return gguf_number_at(r, gguf_key(r, name, key), fallback, lo, hi);
}

/* A bool array (true = local), a period, or the architecture's own period when the key is absent. */
static void gguf_pattern(struct reader *r, struct ct_config *c)
{
    int period = r->arch->period;
    char key[128];
    const char *const name = "attention.sliding_window_pattern";
    const struct ct_meta *m = ct_file_meta(r->f, gguf_key(r, name, key)),
                         *list = gguf_layer_array(r, name, c->n_layer, "bool");

    if (m && m->type != CT_META_ARRAY)
        period = gguf_count(r, name, period, 1 << 16);
    for (int i = 0; i < c->n_layer; i++)
        c->layer[i].attn_type =
            (list ? ct_meta_number(list, (uint64_t)i) == 0 : (i + 1) % period == 0) ? CT_GLOBAL : CT_LOCAL;
}

/* The architecture that the file states, when carat runs it. */
static carat_status gguf_architecture(const struct ct_file *f, const struct ct_architecture **known,
                                      bool *embeds, carat_error *err)
{
    const char *path = ct_file_path(f);
    const struct ct_meta *arch = ct_file_meta(f, "general.architecture");
    const struct ct_meta *type = ct_file_meta(f, "general.type"); /* "model", or a part of one */
    char key[64];

    if (type && type->type == CT_META_STRING && ct_refuse_knows(type->s))
        return ct_refuse_name(path, "general.type", type->s, err);
    if (!arch || arch->type != CT_META_STRING)
        return ct_fail(err, CARAT_E_FORMAT, "%s: metadata key \"general.architecture\" is %s", path,
                       arch ? "not a string" : "missing");
    *known = ct_architecture_named(ct_drafter_named(arch->s) ? ct_str_of("gemma4") : arch->s);
    if (!*known)
        return ct_refuse_name(path, "general.architecture", arch->s, err);
    snprintf(key, sizeof key, "%s.attention.causal", (*known)->name);
    const struct ct_meta *causal = ct_file_meta(f, key);
    const bool both = causal && causal->type == CT_META_BOOL && !causal->u;
    *embeds = (*known)->embeds || both;
    if (both && !(*known)->embeds && !(*known)->embeds_as)
        return ct_refuse_bidirectional(path, key, err);
    return CARAT_OK;
}

/* Tensors that change the angles of the rotary embedding pair by pair. */
static carat_status gguf_refuse_angles(const struct ct_file *f, const struct ct_architecture *a,
                                       carat_error *err)
{
    static const char *const names[] = {"rope_factors_long.weight", "rope_factors_short.weight",
                                        CT_ROPE_FREQS};
    for (size_t i = 0; i < CT_COUNT(names) - (a->rotated < 1); i++) {
        const struct ct_tensor *t = ct_file_find(f, names[i]);
        if (t)
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s: tensor %s at byte %llu gives each angle of the rotary embedding a factor of "
                           "its own, which carat does not apply to a model of architecture \"%s\"",
                           t->file, t->name, (unsigned long long)t->offset, a->name);
    }
    return CARAT_OK;
}

/* Pairs of a global head that turn: the first ones, which rope_freqs divides by 1; the others it divides by
 * so much that they stand still. In a packed file the number stands for the tensor. */
static int gguf_turning_pairs(struct reader *r, int pairs)
{
    const struct ct_tensor *t = ct_file_find(r->f, CT_ROPE_FREQS);
    const double still = 1e20;
    int64_t n = (int64_t)(r->arch->rotated * pairs);

    if (r->status || !t)
        return (int)n;
    if (ct_file_is_packed(r->f)) {
        r->status = ct_file_meta_int(r->f, CT_ROPE_PAIRS_KEY, 0, pairs, &n, r->err);
        return (int)n;
    }
    if (t->type != CT_F32 || t->n_dim != 1 || t->dim[0] != pairs) {
        r->status = ct_fail(r->err, CARAT_E_FORMAT,
                            "%s: tensor %s at byte %llu has %lld values of type %s, expected %d of type F32, "
                            "one for each pair of a global head",
                            t->file, t->name, (unsigned long long)t->offset, (long long)t->dim[0],
                            t->type_name, pairs);
        return 0;
    }
    n = 0;
    for (int i = 0; i < pairs && !r->status; i++) {
        float v;
        memcpy(&v, t->data + (size_t)i * sizeof v, sizeof v);
        if (v == 1 && n == i)
            n++;
        else if (!((double)v >= still))
            r->status = ct_fail(r->err, CARAT_E_UNSUPPORTED,
                                "%s: tensor %s at byte %llu divides the angle of pair %d by %.9g; carat runs "
                                "models whose first pairs have 1 and all others at least 1e20",
                                t->file, t->name, (unsigned long long)t->offset, i, (double)v);
    }
    return (int)n;
}

/* Widths of heads, which are those of K and of V, by the kind of the layer. */
static void gguf_heads(struct reader *r, struct ct_config *c)
{
    static const struct {
        const char *key, *value;
    } names[CT_ATTN_TYPES] = {[CT_GLOBAL] = {"attention.key_length", "attention.value_length"},
                              [CT_LOCAL] = {"attention.key_length_swa", "attention.value_length_swa"}};
    const int own = r->arch->global_head_dim;
    int head_dim = own ? own : CT_MAX(1, c->hidden / c->layer[0].n_head);

    for (int kind = 0; kind < CT_ATTN_TYPES; kind++) {
        if (kind == CT_LOCAL && own)
            head_dim = r->arch->hf.head_dim;
        if (kind == CT_GLOBAL || own)
            head_dim = gguf_count(r, names[kind].key, head_dim, 1 << 16);
        int value_length =
            kind == CT_GLOBAL || own ? gguf_count(r, names[kind].value, head_dim, 1 << 16) : head_dim;
        if (!r->status && value_length != head_dim)
            r->status =
                ct_fail(r->err, CARAT_E_UNSUPPORTED, "%s: metadata key \"%s.%s\" is %d, expected %s = %d",
                        ct_file_path(r->f), r->prefix, names[kind].value, value_length,
                        names[kind].key + strlen("attention."), head_dim);
        for (int i = 0; i < c->n_layer; i++)
            if (c->layer[i].attn_type == kind)
                c->layer[i].head_dim = head_dim;
        c->attn[kind].head_dim = head_dim;
    }
}

/* What a layer is made of. */
static void gguf_layers(struct reader *r, struct ct_config *c)
{
    const struct ct_architecture *a = r->arch;
    const bool by_width = ct_member_scales_by_width(a, c->n_layer);
    const float cap = (float)gguf_number(r, "attn_logit_softcapping", (double)a->attn_cap, 0, 1e6);

    gguf_layer_counts(r, c, "feed_forward_length", LAYER_FIELD(ffn), -1, 1 << 20);
    gguf_layer_counts(r, c, "attention.head_count", LAYER_FIELD(n_head), -1, 1024);
    gguf_layer_counts(r, c, "attention.head_count_kv", LAYER_FIELD(n_kv_head), c->layer[0].n_head, 1024);
    gguf_heads(r, c);
    for (int i = 0; i < c->n_layer; i++) {
        struct ct_layer_config *l = &c->layer[i];
        const double scalar = a->hf.query_scalar == 1 ? 1
                              : by_width              ? (double)c->hidden / l->n_head
                                                      : l->head_dim;
        l->kv_layer = i;
        l->attn_cap = cap;
        l->attn_scale = (float)(1 / __builtin_sqrt(scalar));
    }
}

/* Whose K and V a layer reads, and whether a weight of its own makes V. */
static void gguf_kv(struct reader *r, struct ct_config *c)
{
    const char *const name = "attention.shared_kv_layers";
    char of_v[128];
    bool v_is_k = r->arch->global_head_dim > 0;

    if (c->backbone) { /* whatever the key says, which only has to be known */
        ct_drafter_shares_all(c);
        gguf_key(r, name, of_v);
    }
    if (!r->arch->v_norms || c->backbone)
        return;
    const int n = gguf_integer(r, name, r->arch->altup ? -1 : 0, 0, c->n_layer - 1);
    const int without = r->status ? -1 : ct_family_share_kv(c, n);
    if (without >= 0)
        r->status = ct_fail(r->err, CARAT_E_FORMAT,
                            "%s: metadata key \"%s.%s\" is %d, but layer %d then finds no %s layer before "
                            "layer %d to share with",
                            ct_file_path(r->f), r->prefix, name, n, without,
                            c->layer[without].attn_type == CT_GLOBAL ? "global" : "local", c->n_layer - n);
    for (int i = 0; i < c->n_layer; i++) {
        snprintf(of_v, sizeof of_v, "blk.%d.attn_v.weight", i);
        if (c->layer[i].attn_type == CT_GLOBAL && c->layer[i].kv_layer == i && ct_file_find(r->f, of_v))
            v_is_k = false; /* a model has one for all of these layers, or for none */
    }
    for (int i = 0; i < c->n_layer; i++)
        c->layer[i].v_is_k = v_is_k && c->layer[i].attn_type == CT_GLOBAL;
}

static bool gguf_row_is_zero(const struct ct_tensor *t, int64_t row, size_t row_bytes)
{
    const struct ct_type_info *type = ct_type_info(t->type);
    const uint8_t *from = t->data + (size_t)row * row_bytes;
    float v[256];

    for (int64_t at = 0; at < t->dim[1]; at += (int64_t)CT_COUNT(v)) {
        const size_t n = CT_MIN(CT_COUNT(v), (size_t)(t->dim[1] - at));
        ct_dequantize(t->type, v, from + (size_t)at / (size_t)type->block * (size_t)type->bytes, n);
        for (size_t i = 0; i < n; i++)
            if (v[i] != 0)
                return false;
    }
    return true;
}

/* Rows of the table of inputs that ids take. The converter of Gemma 3n adds zeros behind them, for pictures
 * and sounds, which the reference has no rows for. A packed file says how many rows are left. */
static int gguf_table_rows(struct reader *r, const struct ct_tensor *t)
{
    enum { MOST_ADDED = 1024 };
    const int n = (int)t->dim[0], known = r->arch->n_text_vocab;
    int64_t rows = CT_MIN(n, known);
    size_t row_bytes;

    if (!r->arch->altup)
        return n;
    if (ct_file_is_packed(r->f)) {
        r->status = ct_file_meta_int(r->f, CT_PLE_ROWS_KEY, 1, n, &rows, r->err);
        return (int)rows;
    }
    if (n < known && t->n_dim == 2 && ct_type_row_bytes(t->type, (size_t)t->dim[1], &row_bytes))
        while (rows > 1 && n - rows < MOST_ADDED && gguf_row_is_zero(t, rows - 1, row_bytes))
            rows--;
    return (int)rows;
}

/* Its first extent is how many tokens there are. */
static const struct ct_tensor *gguf_embedding(const struct reader *r)
{
    const struct ct_tensor *t = ct_file_find(r->f, "token_embd.weight");

    return t ? t : ct_file_find(r->f, "token_embd.index"); /* of a palette */
}

/* The input of each layer. A table says how many rows it has, and the key alone how wide they are. */
static void gguf_layer_inputs(struct reader *r, struct ct_config *c)
{
    const char *const name = "embedding_length_per_layer_input";
    const bool needed = r->arch->altup;
    const struct ct_tensor *table = ct_file_find(r->f, "per_layer_token_embd.weight"),
                           *embed = gguf_embedding(r);
    const int64_t least = embed && !needed ? embed->dim[0] : 1;

    if (!r->arch->v_norms)
        return;
    c->ple_width = gguf_integer(r, name, needed ? -1 : 0, needed, 1 << 16);
    c->ple_layers = c->ple_width ? c->n_layer : 0;
    c->ple_rows = r->arch->hf.ple_rows > 0;
    if (!table || r->status)
        return;
    if (!c->ple_width)
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT,
                    "%s: tensor %s at byte %llu is there, but metadata key \"%s.%s\" says that layers "
                    "have no input of their own",
                    table->file, table->name, (unsigned long long)table->offset, r->prefix, name);
    else if (table->dim[0] < least || table->dim[0] > 1 << 24)
        r->status = ct_fail(r->err, CARAT_E_FORMAT,
                            "%s: tensor %s at byte %llu has %lld rows, expected at least %lld, one for each "
                            "row of token_embd.weight",
                            table->file, table->name, (unsigned long long)table->offset,
                            (long long)table->dim[0], (long long)least);
    else
        c->ple_rows = gguf_table_rows(r, table);
    if (needed) /* ids beyond the table stand for pictures and sounds */
        c->n_text_vocab = CT_MIN(c->n_text_vocab ? c->n_text_vocab : c->ple_rows, c->ple_rows);
}

/* What Gemma 3n alone has. */
static void gguf_altup(struct reader *r, struct ct_config *c)
{
    const struct ct_architecture *a = r->arch;
    const struct ct_tensor *laurel = ct_file_find(r->f, "blk.0.laurel_l.weight");
    const char *const key = "activation_sparsity_scale";
    char whole[128];

    c->altup = a->altup;
    if (!a->altup)
        return;
    c->altup_scales = true;
    c->laurel_rank =
        laurel && laurel->dim[0] >= 1 && laurel->dim[0] <= 1 << 16 ? (int)laurel->dim[0] : a->hf.laurel_rank;
    const int streams = gguf_count(r, "altup.num_inputs", CT_STREAMS, 1 << 20),
              active = gguf_integer(r, "altup.active_idx", 0, 0, 1 << 20);
    if (!r->status && (streams != CT_STREAMS || active != 0))
        r->status =
            ct_fail(r->err, CARAT_E_UNSUPPORTED,
                    "%s: metadata keys \"%s.altup.num_inputs\" and \"%s.altup.active_idx\" are %d and "
                    "%d, but carat runs models with 4 and 0 only",
                    ct_file_path(r->f), a->name, a->name, streams, active);
    const struct ct_meta *given = ct_file_meta(r->f, gguf_key(r, key, whole)),
                         *list = gguf_layer_array(r, key, c->n_layer, "number");
    if (given && !list && !r->status)
        r->status =
            ct_fail(r->err, CARAT_E_FORMAT,
                    "%s: metadata key \"%s\" at byte %llu is no array, expected a number for each of %d "
                    "layers",
                    ct_file_path(r->f), whole, (unsigned long long)given->offset, c->n_layer);
    ct_family_cut_off(c);
    for (int i = 0; list && i < c->n_layer; i++) {
        const double v = ct_meta_number(list, (uint64_t)i);
        const bool none = v == -(double)INFINITY;
        if (!none && (float)v != CT_CUTOFF && !r->status)
            r->status =
                ct_fail(r->err, CARAT_E_UNSUPPORTED,
                        "%s: metadata key \"%s\" at byte %llu has %.9g for layer %d, but carat runs "
                        "%.9g and -inf only",
                        ct_file_path(r->f), whole, (unsigned long long)list->offset, v, i, (double)CT_CUTOFF);
        c->layer[i].cutoff = none ? 0 : CT_CUTOFF;
    }
}

/* Feed-forwards beside that of a layer, of which a router chooses some for each row. */
static void gguf_experts(struct reader *r, struct ct_config *c)
{
    if (!r->arch->v_norms)
        return;
    const int n = gguf_integer(r, "expert_count", 0, 0, CT_MOST_EXPERTS);
    if (n == 0 || r->status)
        return;
    const int used = gguf_count(r, "expert_used_count", -1, n);
    const int ffn = gguf_count(r, "expert_feed_forward_length", -1, 1 << 20);
    ct_family_give_experts(c, n, used, ffn);
}

/* Of each kind all pairs turn, or those that rope_freqs says: a shorter dimension would mean others. Widths
 * of local heads are told apart by some writers though there is one for all. */
static void gguf_whole_heads(struct reader *r, const struct ct_config *c)
{
    static const struct {
        const char *name;
        int kind;
    } all[] = {{"rope.dimension_count", CT_GLOBAL},
               {"rope.dimension_count_swa", CT_LOCAL},
               {"attention.key_length_swa", CT_LOCAL},
               {"attention.value_length_swa", CT_LOCAL}};
    for (size_t i = 0; i < CT_COUNT(all); i++) {
        const int head_dim = c->attn[all[i].kind].head_dim, n = gguf_count(r, all[i].name, head_dim, 1 << 16);
        if (n != head_dim && !r->status)
            r->status = ct_fail(r->err, CARAT_E_UNSUPPORTED,
                                "%s: metadata key \"%s.%s\" is %d, expected the %d values of a head",
                                ct_file_path(r->f), r->prefix, all[i].name, n, head_dim);
    }
}

/* By what positions are divided before they turn, as the text about GGUF says: a factor without a type is
 * linear, and older files have it under another name. It holds for local layers where they turn as the others
 * do. */
static void gguf_rope_factor(struct reader *r, struct ct_attn *global, struct ct_attn *local)
{
    char key[128];
    const struct ct_meta *type = ct_file_meta(r->f, gguf_key(r, "rope.scaling.type", key));
    const bool text = type && type->type == CT_META_STRING;
    const double older = gguf_number(r, "rope.scale_linear", 1, 1e-3, 1e5),
                 factor = gguf_number(r, "rope.scaling.factor", older, 1e-3, 1e5);

    global->rope_factor = local->rope_factor = 1;
    if (type && !(text && (ct_str_is(type->s, "linear") || ct_str_is(type->s, "none"))) && !r->status)
        r->status = ct_fail(r->err, CARAT_E_UNSUPPORTED,
                            "%s: metadata key \"%s\" at byte %llu is not \"linear\" or \"none\"",
                            ct_file_path(r->f), key, (unsigned long long)type->offset);
    if (r->status || (text && ct_str_is(type->s, "none")))
        return;
    global->rope_factor = factor;
    if (!r->arch->qk_norms)
        local->rope_factor = factor;
}

/* Window and rotary embedding of local and of global layers. */
static void gguf_kinds(struct reader *r, struct ct_config *c)
{
    const double least_base = 1.0001;
    const struct ct_architecture *a = r->arch;
    /* of local layers, in the spellings of several writers; the last one counts */
    static const char *const local_names[] = {"rope.local.freq_base", "rope.freq_base_local"};
    struct ct_attn *global = &c->attn[CT_GLOBAL], *local = &c->attn[CT_LOCAL];

    local->window = a->window ? gguf_count(r, "attention.sliding_window", a->window, 1 << 24) : 0;
    if (c->embeds) /* keys on one side; the file says how many on both */
        local->window = 1 + local->window / 2;
    global->rope_base =
        gguf_number(r, "rope.global.freq_base", a->rope_base, least_base, 1e12); /* ollama's */
    global->rope_base = gguf_number(r, "rope.freq_base", global->rope_base, least_base, 1e12);
    local->rope_base = a->qk_norms ? a->rope_base_local : global->rope_base;
    for (size_t i = 0; i < CT_COUNT(local_names) && a->qk_norms; i++)
        local->rope_base = gguf_number(r, local_names[i], local->rope_base, least_base, 1e12);
    local->rope_base = gguf_number(r, "rope.freq_base_swa", local->rope_base, least_base, 1e12);
    gguf_rope_factor(r, global, local);
    local->rotated = local->head_dim / 2;
    global->rotated = gguf_turning_pairs(r, global->head_dim / 2);
    gguf_whole_heads(r, c);
}

/* Every token needs a row: its id comes from the tokenizer and is not looked at again. */
static void gguf_vocabulary(struct reader *r, struct ct_config *c)
{
    const struct ct_meta *tokens = ct_file_meta(r->f, "tokenizer.ggml.tokens");
    const struct ct_tensor *embed = gguf_embedding(r);

    if (!tokens || tokens->type != CT_META_ARRAY)
        return;
    if (!r->status && embed && tokens->count > (uint64_t)embed->dim[0])
        r->status = ct_fail(r->err, CARAT_E_FORMAT,
                            "%s: tensor %s at byte %llu has %lld rows, expected at least %llu, one for "
                            "each entry of metadata key \"tokenizer.ggml.tokens\"",
                            ct_file_path(r->f), embed->name, (unsigned long long)embed->offset,
                            (long long)embed->dim[0], (unsigned long long)tokens->count);
    if (tokens->count < 1 << 24)
        c->n_text_vocab = (int)tokens->count;
    if (r->arch->n_text_vocab) /* older files of 4B and up keep 64 rows of padding */
        c->n_text_vocab = CT_MIN(c->n_text_vocab, r->arch->n_text_vocab);
}

/* True when a key that nobody asked for says what is so anyway. */
static bool gguf_is_no_news(const struct ct_meta *m, const char *name, const struct ct_config *c)
{
    static const struct {
        const char *name;
        double value;
    } neutral[] = {
        {"attention.shared_kv_layers", 0}, {"attention.clamp_kqv", 0}, {"attention.max_alibi_bias", 0},
        {"rope.scaling.attn_factor", 1},   {"logit_scale", 1},         {"residual_scale", 1},
        {"expert_weights_scale", 1},
    };
    const bool number = m->type != CT_META_STRING && m->type != CT_META_ARRAY;
    const double v = m->type == CT_META_FLOAT ? m->f : m->type == CT_META_INT ? (double)m->i : (double)m->u;
    bool same = number && strcmp(name, "attention.scale") == 0;

    for (size_t i = 0; number && i < CT_COUNT(neutral); i++)
        if (strcmp(name, neutral[i].name) == 0)
            return v == neutral[i].value;
    for (int i = 0; i < c->n_layer; i++)
        same = same && (float)v == c->layer[i].attn_scale;
    return same || strcmp(name, "rope.scaling.original_context_length") == 0 || /* these tell of training */
           strcmp(name, "rope.scaling.finetuned") == 0 ||
           (strcmp(name, "attention.causal") == 0 && (c->embeds || v == 1));
}

/* What changes numbers and is not read would be another model in silence. */
static carat_status gguf_refuse_unread(const struct reader *r, const struct ct_config *c, carat_error *err)
{
    static const char *const kinds[] = {"rope.",          "attention.",      "logit_scale",
                                        "residual_scale", "embedding_scale", "expert_weights_scale"};
    const size_t n = strlen(r->prefix);
    const struct ct_meta *m;
    char name[128];

    for (int i = 0; (m = ct_file_meta_at(r->f, i)); i++) {
        bool counts = false;
        if (m->key.n <= n + 1 || m->key.n - n - 1 >= sizeof name || memcmp(m->key.s, r->prefix, n) != 0 ||
            m->key.s[n] != '.')
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(m->key.n - n - 1), m->key.s + n + 1);
        for (size_t k = 0; k < CT_COUNT(kinds); k++)
            counts = counts || strncmp(name, kinds[k], strlen(kinds[k])) == 0;
        for (int k = 0; k < r->n_asked; k++)
            counts = counts && r->asked[k] != m;
        if (counts && !gguf_is_no_news(m, name, c))
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s: metadata key \"%s.%s\" at byte %llu is of a kind that changes numbers, and "
                           "carat does not know it for this architecture; convert the original without it",
                           ct_file_path(r->f), r->prefix, name, (unsigned long long)m->offset);
    }
    return CARAT_OK;
}

carat_status ct_config_read_gguf(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    struct reader r = {.f = f, .err = err};

    CT_TRY(gguf_architecture(f, &r.arch, &c->embeds, err));
    CT_TRY(gguf_refuse_angles(f, r.arch, err));
    const struct ct_str stated = ct_file_meta(f, "general.architecture")->s;
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%.*s", (int)stated.n, stated.s);
    r.prefix = prefix;
    if (ct_drafter_named(stated))
        CT_TRY(ct_drafter_config_gguf(c, f, err));
    c->architecture = c->embeds && !r.arch->embeds ? r.arch->embeds_as : r.arch->name;
    c->post_norms = r.arch->post_norms;
    c->qk_norms = r.arch->qk_norms;
    c->v_norms = r.arch->v_norms;
    c->out_scales = r.arch->out_scales;
    c->tied = 1;
    const float cap = CT_MAX(r.arch->logit_cap, r.arch->gguf_logit_cap);
    c->n_layer = gguf_count(&r, "block_count", -1, CT_MAX_LAYERS);
    c->hidden = gguf_count(&r, "embedding_length", -1, 1 << 17);
    c->max_context = gguf_count(&r, "context_length", 8192, 1 << 24);
    c->norm_eps = (float)gguf_number(&r, "attention.layer_norm_rms_epsilon", CT_NORM_EPS, 0, 1);
    c->logit_cap = (float)gguf_number(&r, "final_logit_softcapping", (double)cap, 0, 1e6);
    gguf_pattern(&r, c);
    gguf_layers(&r, c);
    gguf_kv(&r, c);
    gguf_experts(&r, c);
    gguf_kinds(&r, c);
    c->embed_scale_override = gguf_number_at(&r, "carat.embedding_scale", 0, 0, 0x1p40);
    c->residual_scale = (float)gguf_number_at(&r, "carat.residual_scale", 1, 0x1p-60, 0x1p60);
    gguf_vocabulary(&r, c);
    gguf_layer_inputs(&r, c);
    gguf_altup(&r, c);
    if (!r.status)
        r.status = gguf_refuse_unread(&r, c, err);
    if (c->embeds && !r.status)
        return ct_config_embed_gguf(c, f, r.arch->name, err);
    return r.status || !c->backbone ? r.status : ct_drafter_config_check(c, ct_file_path(f), err);
}
