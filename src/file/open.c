/* SPDX-License-Identifier: Apache-2.0 */
/* open.c: opening and closing a checkpoint, and the answers about an open one. It decides which reader is
 * asked; formats are the readers' (gguf.c, sbs.c, safetensors.c, hf.c, packed_file.c), what they share is in
 * reader.c. */
#include "file/reader.h"
#include "os/files.h"
#include "os/memory.h"

#include <stdlib.h>

/* ---- opening ---- */

static struct ct_file *new_file(const char *path)
{
    struct ct_file *f = calloc(1, sizeof *f);
    if (f)
        f->copy = -1;
    if (f && !(f->path = ct_arena_str(&f->arena, path, strlen(path)))) {
        ct_file_close(f);
        return NULL;
    }
    return f;
}

/* A tokenizer file by content: its standard name, or NULL. */
static const char *tokenizer_name(struct ct_bytes b)
{
    size_t i = ct_leading_space(b);
    if (i < b.size && b.data[i] == '{')
        return "tokenizer.json";
    /* a protobuf whose first field is number 1 with a length: the first piece */
    return b.size > 1 && b.data[0] == 0x0a ? "tokenizer.model" : NULL;
}

/* One file, whatever it is. name is its last path component. */
static carat_status open_single(struct ct_file *f, const char *name, struct ct_bytes bytes, bool tokenizer,
                                carat_error *err)
{
    if (bytes.size >= 4 && memcmp(bytes.data, "GGUF", 4) == 0)
        return ct_gguf_open(f, name, f->path, bytes, err);
    if (ct_sbs_is(bytes))
        return ct_sbs_open(f, f->path, bytes, err);
    if (bytes.size >= 8 && memcmp(bytes.data, CT_PACKED_MAGIC, 8) == 0)
        return ct_packed_file(f, f->path, f->n_map ? &f->map[0] : &(struct ct_map){.bytes = bytes}, err);
    const char *side = tokenizer ? tokenizer_name(bytes) : NULL;
    if (!side)
        return ct_identify(f->path, bytes, err);
    f->kind = CT_FILE_TOKENIZER;
    f->side[ct_side_at(side)] = bytes;
    return CARAT_OK;
}

static carat_status open_path(struct ct_file *f, carat_error *err)
{
    int kind;
    CT_TRY(ct_os_look(&kind, f->path, err));
    if (kind == 2) {
        f->dir = f->path;
        return ct_hf_open(f, err);
    }
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    f->dir = slash ? ct_arena_str(&f->arena, f->path, (size_t)(name - f->path)) : ".";
    if (!f->dir)
        return ct_no_memory(err, f->path);
    struct ct_bytes bytes;
    CT_TRY(ct_file_map(f, "", f->path, &bytes, err));
    return open_single(f, name, bytes, f->tokenizer_only, err);
}

/* The end of opening, wherever the bytes are from: the index of names over what the readers found. */
static carat_status finish_opening(struct ct_file **out, struct ct_file *f, carat_status status,
                                   carat_error *err)
{
    if (status == CARAT_OK)
        status = ct_file_index(f, f->tensor, f->n_tensor, &f->index, err);
    if (status != CARAT_OK)
        ct_file_close(f);
    else
        *out = f;
    return status;
}

carat_status ct_file_open(struct ct_file **out, const char *path, bool tokenizer_only, carat_error *err)
{
    struct ct_file *f = new_file(path);
    if (!f)
        return ct_no_memory(err, path);
    f->tokenizer_only = tokenizer_only;
    return finish_opening(out, f, open_path(f, err), err);
}

carat_status ct_packed_open(struct ct_file **out, const char *packed, const char *origin, bool tokenizer_only,
                            carat_error *err)
{
    struct ct_file *f = new_file(origin);
    struct ct_bytes bytes;
    if (!f)
        return ct_no_memory(err, origin);
    carat_status status = ct_file_map(f, "", packed, &bytes, err);
    f->trusted = true;
    f->tokenizer_only = tokenizer_only;
    if (!status && !(packed = ct_arena_str(&f->arena, packed, strlen(packed))))
        status = ct_no_memory(err, f->path);
    if (!status)
        f->copy = ct_place_mapped(packed, &f->map[0]);
    if (!status)
        status = ct_packed_file(f, packed, &f->map[0], err);
    return finish_opening(out, f, status, err);
}

static carat_status open_parts(struct ct_file *f, carat_error *err)
{
    for (int i = 0; i < f->n_part; i++)
        if (ct_file_part(f, f->part[i].name) != &f->part[i])
            return ct_fail(err, CARAT_E_ARGUMENT, "two of the buffers are named %s", f->part[i].name);
    const struct ct_part *first = &f->part[0];
    struct ct_bytes bytes = ct_part_bytes(first);
    if ((bytes.size >= 4 && memcmp(bytes.data, "GGUF", 4) == 0) || ct_sbs_is(bytes) ||
        (f->n_part == 1 && strcmp(first->name, "config.json") != 0))
        return open_single(f, first->name, bytes, true,
                           err); /* the caller sees by the kind that it is a tokenizer */
    return ct_hf_open(f, err);
}

carat_status ct_file_open_memory(struct ct_file **out, const struct ct_part *part, int n, carat_error *err)
{
    if (n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "No buffer was given; a model needs at least one");
    struct ct_file *f = new_file(part[0].name);
    if (!f)
        return ct_no_memory(err, part[0].name);
    f->part = part;
    f->n_part = n;
    return finish_opening(out, f, open_parts(f, err), err);
}

void ct_file_close(struct ct_file *f)
{
    if (!f)
        return;
    if (f->copy >= 0)
        ct_os_close_file(f->copy);
    for (int i = 0; i < f->n_map; i++)
        ct_os_unmap(&f->map[i]);
    for (int i = 0; i < CT_SIDES; i++)
        ct_json_tree_free(&f->json[i]);
    for (size_t i = 0; i < CT_COUNT(f->module_json); i++)
        ct_json_tree_free(&f->module_json[i]);
    free(f->map);
    free(f->source);
    free(f->tensor);
    ct_arena_free(&f->arena);
    free(f);
}

void ct_file_forget(const struct ct_file *f, const void *p, size_t bytes)
{
    for (int i = 0; i < f->n_map; i++) {
        const uint8_t *from = f->map[i].bytes.data, *at = p;
        if (at >= from && at < from + f->map[i].bytes.size)
            ct_os_discard(p, CT_MIN(bytes, (size_t)(from + f->map[i].bytes.size - at)));
    }
}

void ct_file_read_ahead(const struct ct_file *f, const _Atomic bool *stop)
{
    const size_t step = (size_t)2 << 20; /* small: ending this waits for one */

    for (int i = 0; i < f->n_map; i++)
        for (size_t at = 0; at < f->map[i].length && !*stop; at += step)
            ct_os_read_ahead((const uint8_t *)f->map[i].base + at, CT_MIN(step, f->map[i].length - at));
}

/* ---- answers ---- */

enum ct_file_kind ct_file_kind(const struct ct_file *f)
{
    return f->kind;
}

const char *ct_file_path(const struct ct_file *f)
{
    return f->path;
}

const char *ct_file_note(const struct ct_file *f)
{
    return f->note;
}

int ct_file_tensor_count(const struct ct_file *f)
{
    return f->n_tensor;
}

const struct ct_tensor *ct_file_tensor(const struct ct_file *f, int i)
{
    assert(i >= 0 && i < f->n_tensor);
    return &f->tensor[i];
}

const struct ct_tensor *ct_file_find(const struct ct_file *f, const char *name)
{
    int at = ct_index_find(&f->index, ct_str_of(name));
    return at < 0 ? NULL : &f->tensor[at];
}

const struct ct_tensor *ct_file_weight(const struct ct_file *f, const char *name)
{
    int at = ct_index_find(&f->weight_index, ct_str_of(name));
    return at < 0 ? NULL : &f->weight[at];
}

bool ct_file_is_packed(const struct ct_file *f)
{
    return f->packed != NULL;
}

const char *ct_file_packed_path(const struct ct_file *f)
{
    return f->packed_path;
}

struct ct_bytes ct_file_tables(const struct ct_file *f, bool *trusted)
{
    *trusted = f->trusted;
    return f->tables;
}

struct ct_bytes ct_file_side(const struct ct_file *f, const char *name)
{
    int at = ct_side_at(name);
    return at < 0 ? (struct ct_bytes){0} : f->side[at];
}

carat_status ct_file_json(const struct ct_file *f, const char *name, const char *path,
                          const struct ct_json_value **root, carat_error *err)
{
    int at = ct_side_at(name);
    struct ct_json_tree *tree = (struct ct_json_tree *)(uintptr_t)&f->json[at]; /* all that changes in f */
    *root = NULL;
    if (!f->side[at].data)
        return CARAT_OK;
    if (!tree->value) {
        carat_status status = ct_json_tree_read(tree, CARAT_E_FORMAT, path, f->side[at], err);
        if (!status && !ct_json_is(tree->value, CT_JSON_OBJECT))
            status = ct_bad_file(err, path, "a list, expected a JSON object");
        if (status) {
            ct_json_tree_free(tree);
            return status;
        }
    }
    *root = tree->value;
    return CARAT_OK;
}
