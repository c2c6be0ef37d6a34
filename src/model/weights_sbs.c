/* SPDX-License-Identifier: Apache-2.0 */
/* weights_sbs.c: gemma.cpp stores some tensors fused, others split, and two types in groups that do not care
 * for rows. Here each slot of a layer gets its rows: as a view of the mapping where they lie together, else
 * as a copy in the model's arena, byte for byte. Nothing is quantised anew: NUQ becomes SFP, which holds its
 * values exactly, and I8 whose rows are not whole groups becomes F32. Shapes of the result are checked in
 * weights.c. */
#include "model/weights_container.h"

/* Which rows of a tensor belong to a slot. */
enum cut {
    ALL,
    QUERY, /* the first heads * qkv rows */
    KEY,
    VALUE, /* behind `skip` rows, per KV head: its K rows, then its V rows */
    GATE,
    UP,     /* one half each */
    OUTPUT, /* [head][dim][qkv] to [dim][head][qkv] */
    EACH_QUERY,
    EACH_KEY,
    EACH_VALUE, /* per head: its q rows, its K rows, its V rows */
};

static const struct sbs_slot {
    const char *slot, *split, *fused;
    enum cut split_cut, fused_cut;
    /* of "qkv1_w" where there is no "qkv2_w", as with as many KV heads as heads; ALL: no such form */
    enum cut alone;
} sbs_slots[] = {
    {"attn_norm", "pre_att_ns", NULL, ALL, ALL, ALL},
    {"attn_q", "qkv1_w", "qkv_ein", ALL, QUERY, EACH_QUERY},
    {"attn_k", "qkv2_w", "qkv_ein", KEY, KEY, EACH_KEY},
    {"attn_v", "qkv2_w", "qkv_ein", VALUE, VALUE, EACH_VALUE},
    {"attn_output", "att_w", "att_ein", ALL, OUTPUT, ALL},
    {"attn_q_norm", "query_norm", NULL, ALL, ALL, ALL},
    {"attn_k_norm", "key_norm", NULL, ALL, ALL, ALL},
    {"post_attention_norm", "post_att_ns", NULL, ALL, ALL, ALL},
    {"ffn_norm", "pre_ff_ns", NULL, ALL, ALL, ALL},
    {"ffn_gate", "gating1_w", "gating_ein", ALL, GATE, ALL},
    {"ffn_up", "gating2_w", "gating_ein", ALL, UP, ALL},
    {"ffn_down", "linear_w", NULL, ALL, ALL, ALL},
    {"post_ffw_norm", "post_ff_ns", NULL, ALL, ALL, ALL},
};

/* Runs of n elements in the order of the result: i < outer, within it k < inner, each at first + i *
 * outer_step + k * inner_step. */
struct runs {
    size_t first, n, outer, outer_step, inner, inner_step;
};

/* n elements from element `first` on, into their new place. */
static void copy_run(uint8_t *out, enum ct_type type, const struct ct_tensor *t, size_t first, size_t n)
{
    const struct ct_type_info *stored = ct_type_info(t->type), *made = ct_type_info(type);
    size_t block = (size_t)stored->block, total = (size_t)t->dim[0] * (size_t)t->dim[1], bytes;

    if (t->type == type) {
        ct_type_row_bytes(type, first, &bytes);
        const uint8_t *from = t->data + bytes;
        ct_type_row_bytes(type, n, &bytes);
        memcpy(out, from, bytes);
        return;
    }
    for (size_t done = 0; done < n;) {
        size_t group = (first + done) / block, at = (first + done) % block;
        size_t here = CT_MIN(block, total - group * block); /* only the last group may be short */
        size_t take = CT_MIN(here - at, n - done);
        const uint8_t *from = t->data + group * (size_t)stored->bytes;
        union {
            uint8_t code[256];
            float value[256];
        } open;
        if (t->type == CT_NUQ) {
            ct_nuq_to_sfp(open.code, from, at + take);
        } else {
            uint8_t whole[256] = {0};
            memcpy(whole, from, (size_t)stored->bytes - (block - here));
            ct_dequantize(t->type, open.value, whole, block);
        }
        memcpy(out, (const uint8_t *)&open + at * (size_t)made->bytes, take * (size_t)made->bytes);
        out += take * (size_t)made->bytes;
        done += take;
    }
}

/* The result of rows x cols, made of the runs of t, in place of t. */
static carat_status arrange(struct ct_tensor *t, struct runs r, int64_t rows, int64_t cols,
                            struct ct_arena *arena, carat_error *err)
{
    enum ct_type type = t->type;
    size_t row_bytes = 0, first = 0, size = 0;

    if (type == CT_TYPE_COUNT) /* refused by name where it is bound */
        return CARAT_OK;
    if (type == CT_NUQ)
        type = CT_SFP;
    if (type == CT_I8 && (cols % ct_type_info(CT_I8)->block || r.n % (size_t)ct_type_info(CT_I8)->block))
        type = CT_F32;
    if (!ct_type_row_bytes(type, (size_t)cols, &row_bytes) || !ct_mul(row_bytes, (size_t)rows, &size))
        return ct_fail(err, CARAT_E_FORMAT, "%s: blob \"%s\": %lld x %lld values of type %s are too many",
                       t->file, t->name, (long long)rows, (long long)cols, t->type_name);
    if (type == t->type && r.outer * r.inner == 1) {
        ct_type_row_bytes(type, r.first, &first);
        t->data += first;
    } else {
        uint8_t *copy = ct_arena_push(arena, size, 1), *out = copy;
        if (!copy)
            return ct_no_memory(err, t->file);
        size_t run = r.n / (size_t)ct_type_info(type)->block * (size_t)ct_type_info(type)->bytes;
        for (size_t i = 0; i < r.outer; i++)
            for (size_t k = 0; k < r.inner; k++, out += run)
                copy_run(out, type, t, r.first + i * r.outer_step + k * r.inner_step, r.n);
        t->data = copy;
    }
    t->type = type;
    t->type_name = ct_type_info(type)->name;
    t->dim[0] = rows;
    t->dim[1] = cols;
    t->size = size;
    return CARAT_OK;
}

/* A tensor of its own, in *t: a view of the mapping, or a copy where its type has no rows. */
static carat_status take_whole(struct ct_tensor *t, struct ct_binding *b, const char *name)
{
    const struct ct_tensor *found = ct_file_find(b->f, name);
    if (!found)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: tensor %s is missing", ct_file_path(b->f), name);
    *t = *found;
    struct runs all = {0, (size_t)t->dim[0] * (size_t)t->dim[1], 1, 0, 1, 0};
    return arrange(t, all, t->dim[0], t->dim[1], b->arena, b->err);
}

/* A part of a layer, and its name; NULL: the file has none. */
static const struct ct_tensor *find_part(const struct ct_file *f, const char *part, int layer, char name[32])
{
    snprintf(name, 32, "%s_%d", part, layer);
    return ct_file_find(f, name);
}

/* Where the rows of a slot of a layer are. */
struct source {
    const struct ct_tensor *t;
    enum cut cut;
    bool fused; /* t is the fused form */
};

static carat_status find_source(struct source *source, const struct ct_binding *b, const struct sbs_slot *s,
                                int layer)
{
    const struct ct_layer_config *l = &b->c->layer[layer];
    const bool square = s->alone != ALL && l->n_head == l->n_kv_head;
    char split[32], fused[32];
    const bool alone = square && !find_part(b->f, "qkv2_w", layer, split);
    const struct ct_tensor *one = find_part(b->f, alone ? "qkv1_w" : s->split, layer, split);
    const struct ct_tensor *other = find_part(b->f, s->fused, layer, fused);

    if (square && other && !one)
        return ct_fail(
            b->err, CARAT_E_UNSUPPORTED,
            "%s: tensor %s at byte %llu holds as many KV heads as heads in one piece, whose order of "
            "rows is not known: writers of such files differ; files with qkv1_w are read",
            other->file, other->name, (unsigned long long)other->offset);
    if (!one == !other)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: %s of the tensors %s and %s %s; a layer has exactly one",
                       ct_file_path(b->f), one ? "both" : "neither", split, fused,
                       one ? "are there" : "is there");
    *source = (struct source){one ? one : other, alone ? s->alone : one ? s->split_cut : s->fused_cut, !one};
    return CARAT_OK;
}

/* The rows of the cut, in *t. */
static carat_status take_cut(struct ct_tensor *t, struct ct_binding *b, const struct source *source,
                             const struct ct_layer_config *l)
{
    const size_t width = (size_t)b->c->hidden, ffn = (size_t)l->ffn, head = (size_t)l->head_dim;
    const size_t heads = (size_t)l->n_head, kv = (size_t)l->n_kv_head, q = heads * head;
    const size_t skip = source->fused ? q : 0;
    /* behind `skip` rows, groups of rows: from each the slot has `taken`, from its row `at` on */
    const struct share {
        size_t skip, groups, rows, at, taken;
    } shares[] = {
        [QUERY] = {0, 1, q + 2 * kv * head, 0, q},
        [KEY] = {skip, kv, 2 * head, 0, head},
        [VALUE] = {skip, kv, 2 * head, head, head},
        [GATE] = {0, 1, 2 * ffn, 0, ffn},
        [UP] = {0, 1, 2 * ffn, ffn, ffn},
        [OUTPUT] = {0, heads, width, 0, width},
        [EACH_QUERY] = {0, heads, 3 * head, 0, head},
        [EACH_KEY] = {0, heads, 3 * head, head, head},
        [EACH_VALUE] = {0, heads, 3 * head, 2 * head, head},
    };
    const struct share *s = &shares[source->cut];
    const size_t rows = s->skip + s->groups * s->rows, cols = source->cut == OUTPUT ? head : width;

    *t = *source->t;
    if ((size_t)t->dim[0] != rows || (size_t)t->dim[1] != cols)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu has shape [%lld x %lld], expected [%zu x %zu] from the "
                       "configuration",
                       t->file, t->name, (unsigned long long)t->offset, (long long)t->dim[0],
                       (long long)t->dim[1], rows, cols);
    if (source->cut == OUTPUT)
        return arrange(t, (struct runs){0, head, width, head, heads, width * head}, (int64_t)width,
                       (int64_t)q, b->arena, b->err);
    const struct runs runs = {(s->skip + s->at) * width, s->taken * width, s->groups, s->rows * width, 1, 0};
    return arrange(t, runs, (int64_t)(s->groups * s->taken), (int64_t)width, b->arena, b->err);
}

static carat_status make_tensor(struct ct_tensor *t, struct ct_binding *b, const char *slot, int layer)
{
    const struct sbs_slot *s = sbs_slots;
    struct source source = {0};
    char name[32];

    if (layer < 0)
        return take_whole(t, b, strcmp(slot, "token_embd") == 0 ? "c_embedding" : "c_final_norm");
    for (; strcmp(s->slot, slot) != 0; s++)
        assert(s + 1 < sbs_slots + CT_COUNT(sbs_slots));
    snprintf(name, sizeof name, "%s_%d", s->split, layer);
    if (!s->fused)
        return take_whole(t, b, name);
    CT_TRY(find_source(&source, b, s, layer));
    return source.cut == ALL ? take_whole(t, b, name) : take_cut(t, b, &source, &b->c->layer[layer]);
}

/* Errors name the blobs; to others the tensors are called as in safetensors, which have one for each
 * slot. */
const struct ct_container ct_container_sbs = {
    .name = ct_hf_tensor_name,
    .make = make_tensor,
    .key = CT_HF_KEYS,
    .layers = "num_hidden_layers",
    .embed_scale = ct_embed_scale_bf16,
};
