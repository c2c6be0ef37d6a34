/* SPDX-License-Identifier: Apache-2.0 */
/* weights_compressed.c: tensors of compressed-tensors' form "pack-quantized", as config_hf.c lets it through:
 * int4 around 8 in groups of 32, eight values to an int32, with bf16 scales in a tensor of their own. That is
 * Q4_0 in another order, so each becomes Q4_0, in the model's arena. A scale that f16 does not hold exactly
 * makes its tensor F32: no value is rounded. */
#include "model/weights_container.h"

enum { GROUP = 32, GROUP_BYTES = GROUP / 2, BLOCK_BYTES = 2 + GROUP_BYTES, ZERO = 0x88 };

const char *const ct_compressed_parts[] = {"_packed", "_scale", "_shape", NULL};

/* The tensors that stand for one, and its shape. */
struct compressed {
    const struct ct_tensor *packed, *scale, *shape;
    int64_t rows, cols;
};

static carat_status refuse_part(const struct ct_binding *b, const struct ct_tensor *t, carat_status code,
                                const char *expected)
{
    char shape[96] = "";

    for (int i = 0; i < t->n_dim; i++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", i ? " x " : "",
                 (long long)t->dim[i]);
    return ct_fail(b->err, code, "%s: tensor %s at byte %llu has shape [%s] and type %s, expected %s",
                   t->file, t->name, (unsigned long long)t->offset, shape, t->type_name, expected);
}

static bool has_form(const struct ct_tensor *t, const char *type, int64_t rows, int64_t cols)
{
    return strcmp(t->type_name, type) == 0 && t->n_dim == 2 && t->dim[0] == rows && t->dim[1] == cols;
}

/* The part of that ending. */
static const struct ct_tensor *find_part(struct ct_binding *b, const char *name, const char *part)
{
    char whole[CT_TENSOR_NAME + 16];

    snprintf(whole, sizeof whole, "%s%s", name, part);
    return ct_binding_take(b, whole);
}

static carat_status find_parts(struct compressed *c, struct ct_binding *b, const char *name)
{
    static const char *const others[] = {"_zero_point", "_g_idx", ""};
    char expected[96];
    int64_t shape[2];

    c->scale = find_part(b, name, "_scale");
    c->shape = find_part(b, name, "_shape");
    if (!c->scale || !c->shape)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: tensor %s%s is missing beside %s", ct_file_path(b->f),
                       name, c->scale ? "_shape" : "_scale", c->packed->name);
    for (size_t i = 0; i < CT_COUNT(others); i++) {
        const struct ct_tensor *t = find_part(b, name, others[i]);
        if (t)
            return ct_fail(
                b->err, CARAT_E_UNSUPPORTED,
                "%s: tensor %s at byte %llu stands beside %s; carat reads symmetric groups in the order "
                "of the columns, and one form of a tensor",
                t->file, t->name, (unsigned long long)t->offset, c->packed->name);
    }
    if (strcmp(c->shape->type_name, "I64") != 0 || c->shape->n_dim != 1 || c->shape->dim[0] != 2)
        return refuse_part(b, c->shape, CARAT_E_FORMAT, "[2] of type I64");
    for (int i = 0; i < 2; i++)
        shape[i] = (int64_t)ct_le64(c->shape->data + 8 * i);
    c->rows = shape[0];
    c->cols = shape[1];
    if (c->rows < 1 || c->cols < 1 || c->rows > INT32_MAX || c->cols > INT32_MAX || c->cols % GROUP)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu says [%lld x %lld], expected rows of whole groups of %d",
                       c->shape->file, c->shape->name, (unsigned long long)c->shape->offset,
                       (long long)c->rows, (long long)c->cols, GROUP);
    snprintf(expected, sizeof expected, "[%lld x %lld] of type I32, as %.8s says", (long long)c->rows,
             (long long)c->cols / 8, "_shape");
    if (!has_form(c->packed, "I32", c->rows, c->cols / 8))
        return refuse_part(b, c->packed, CARAT_E_FORMAT, expected);
    snprintf(expected, sizeof expected, "[%lld x %lld] of type BF16, one for each group of %d",
             (long long)c->rows, (long long)c->cols / GROUP, GROUP);
    if (!has_form(c->scale, "BF16", c->rows, c->cols / GROUP))
        return refuse_part(b, c->scale, CARAT_E_FORMAT, expected);
    return CARAT_OK;
}

/* True when 16 bits of bf16 are a value of f16; *half: which one. */
static bool exact_scale(uint16_t scale, uint16_t *half)
{
    const float v = ct_bf16_to_f32(scale);

    *half = ct_f32_to_f16(v);
    return ct_f16_to_f32(*half) == v;
}

static bool all_zero(const uint8_t *group)
{
    for (int i = 0; i < GROUP_BYTES; i++)
        if (group[i] != ZERO)
            return false;
    return true;
}

/* Groups become blocks: a byte of a group has two neighbours, of a block those 16 apart. False: a scale is
 * none of f16's, and its group is not all zero. */
static bool make_blocks(uint8_t *out, const struct compressed *c)
{
    const size_t n = (size_t)c->rows * (size_t)(c->cols / GROUP);
    const uint8_t *in = c->packed->data;

    for (size_t g = 0; g < n; g++, in += GROUP_BYTES, out += BLOCK_BYTES) {
        uint16_t half;
        if (!exact_scale(ct_le16(c->scale->data + 2 * g), &half)) {
            if (!all_zero(in))
                return false;
            half = 0;
        }
        memcpy(out, &half, sizeof half);
        for (int i = 0; i < GROUP_BYTES / 2; i++) {
            const uint8_t low = in[i], high = in[i + GROUP_BYTES / 2];
            out[2 + 2 * i] = (uint8_t)((low & 15) | (high & 15) << 4);
            out[3 + 2 * i] = (uint8_t)((low >> 4) | (high & 0xf0));
        }
    }
    return true;
}

static void make_floats(float *out, const struct compressed *c)
{
    const size_t n = (size_t)c->rows * (size_t)(c->cols / GROUP);

    for (size_t g = 0; g < n; g++) {
        const float scale = ct_bf16_to_f32(ct_le16(c->scale->data + 2 * g));
        for (int i = 0; i < GROUP; i++) {
            const int code = c->packed->data[g * GROUP_BYTES + (size_t)i / 2] >> 4 * (i % 2) & 15;
            out[g * GROUP + (size_t)i] = (float)(code - 8) * scale; /* 4 and 8 bits: exact */
        }
    }
}

/* No published model has experts in this form, and those who make it give them names of their own. */
static carat_status refuse_experts(struct ct_binding *b, const char *name)
{
    static const char *const others[] = {"gate_up_proj_packed",       "gate_up_proj.weight_packed",
                                         "0.gate_proj.weight_packed", "down_proj_packed",
                                         "down_proj.weight_packed",   "0.down_proj.weight_packed"};
    static const char of[] = "experts.";
    const char *at = strstr(name, of);
    char whole[CT_TENSOR_NAME + 32];

    for (size_t i = 0; at && i < CT_COUNT(others); i++) {
        snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - name), name, of, others[i]);
        const struct ct_tensor *t = ct_file_find(b->f, whole);
        if (t)
            return ct_fail(b->err, CARAT_E_UNSUPPORTED,
                           "%s: tensor %s at byte %llu shows experts in int4, and in safetensors carat reads "
                           "those of %s only; open the original or a GGUF of it",
                           t->file, t->name, (unsigned long long)t->offset, b->container->types);
    }
    return CARAT_OK;
}

carat_status ct_make_compressed(struct ct_tensor *t, struct ct_binding *b, const char *slot, int layer)
{
    struct compressed c = {0};
    char name[CT_TENSOR_NAME];

    b->container->name(name, b->w, b->c, slot, layer);
    if (strstr(name, ".experts."))
        return refuse_experts(b, name);
    c.packed = find_part(b, name, "_packed");
    if (!c.packed)
        return CARAT_OK;
    CT_TRY(find_parts(&c, b, name));
    const size_t groups = (size_t)c.rows * (size_t)(c.cols / GROUP); /* the file holds them: no overflow */
    enum ct_type type = CT_Q4_0;
    size_t size = groups * BLOCK_BYTES;
    uint8_t *data = ct_arena_push(b->arena, size, 1);
    if (data && !make_blocks(data, &c)) {
        type = CT_F32;
        size = groups * GROUP * sizeof(float);
        data = ct_arena_push(b->arena, groups * GROUP, sizeof(float));
        if (data)
            make_floats((float *)(void *)data, &c);
    }
    if (!data)
        return ct_no_memory(b->err, c.packed->file);
    ct_file_forget(b->f, c.packed->data, c.packed->size);
    *t = *c.packed;
    t->type = type;
    t->type_name = ct_type_info(type)->name;
    t->dim[0] = c.rows;
    t->dim[1] = c.cols;
    t->data = data;
    t->size = size;
    return CARAT_OK;
}
