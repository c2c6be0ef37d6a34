/* SPDX-License-Identifier: Apache-2.0 */
/* hf.c: reads a Hugging Face directory, or the same files as buffers: which safetensors files make the
 * checkpoint, that index and shards agree, and the side files. The safetensors format is in safetensors.c;
 * what config.json and the tokenizer files say is read by those who need it.
 *
 * A name out of the index never leads out of the directory. The entries of the directory themselves may be
 * symbolic links to elsewhere, as in a hub cache, where they all point into blobs/: whoever made the
 * directory chose those. */
#include "file/reader.h"

#include "base/array.h"
#include "os/files.h"

#include <stdlib.h>

#define INDEX_NAME  "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"
enum { MAX_FILE_NAME = 255 };

static const char *what_is_open(const struct ct_file *f)
{
    return f->dir ? "directory" : "set of buffers";
}

/* ---- the index of a sharded checkpoint ---- */

struct mapped {
    const char *tensor, *file;
};
struct map {
    struct mapped *entry;
    int n;
    size_t capacity;
};

/* A file name that cannot lead out of the directory. */
static bool plain_file_name(struct ct_str s)
{
    return ct_name_ok(s, MAX_FILE_NAME) && !memchr(s.s, '/', s.n) && !memchr(s.s, '\\', s.n) &&
           !ct_str_is(s, ".") && !ct_str_is(s, "..");
}

/* What is wrong with the JSON stays in j. */
static carat_status read_weight_map(struct ct_file *f, struct ct_json *j, struct map *map, carat_error *err)
{
    char q[CT_QUOTE];
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return ct_json_fail(j, "weight_map must be an object");
    while (ct_json_next(j) == CT_JSON_KEY) {
        if (map->n == CT_MAX_TENSOR)
            return ct_json_fail(j, "more than %d tensors", CT_MAX_TENSOR);
        if (!ct_array_grow(&map->entry, &map->capacity, (size_t)map->n + 1, sizeof *map->entry))
            return ct_no_memory(err, f->path);
        struct mapped *m = &map->entry[map->n];
        m->tensor = ct_arena_str(&f->arena, j->string.s, j->string.n);
        if (ct_json_next(j) != CT_JSON_STRING)
            return ct_json_fail(j, "weight_map must hold file names");
        if (!plain_file_name(j->string))
            return ct_json_fail(j,
                                "%s is not a plain file name; a shard must lie in the directory of the index",
                                ct_quote(q, j->string));
        /* neighbours mostly share a file, and so the copy of its name */
        if (map->n > 0 && ct_str_is(j->string, m[-1].file))
            m->file = m[-1].file;
        else
            m->file = ct_arena_str(&f->arena, j->string.s, j->string.n);
        if (!m->tensor || !m->file)
            return ct_no_memory(err, f->path);
        map->n++;
    }
    return j->error.code;
}

static carat_status read_index(struct ct_file *f, struct ct_json *j, struct map *map, carat_error *err)
{
    bool seen = false;
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return ct_json_fail(j, "the index must be a JSON object");
    while (ct_json_next(j) == CT_JSON_KEY) {
        if (!ct_str_is(j->string, "weight_map")) {
            ct_json_skip(j);
            continue;
        }
        if (seen)
            return ct_json_fail(j, "weight_map is there twice");
        seen = true;
        CT_TRY(read_weight_map(f, j, map, err));
    }
    ct_json_next(j); /* refuses what follows the index */
    CT_TRY(j->error.code);
    return seen ? CARAT_OK : ct_bad_file(err, j->name, "the index has no weight_map");
}

static int compare_mapped(const void *a, const void *b)
{
    const struct mapped *x = a, *y = b;
    int c = strcmp(x->file, y->file);
    return c ? c : strcmp(x->tensor, y->tensor);
}

/* Opens one shard and keeps those of its tensors that the index gives to it. */
static carat_status read_shard(struct ct_file *f, const struct mapped *m, int n, const char *index_path,
                               carat_error *err)
{
    char q[CT_QUOTE];
    struct ct_bytes bytes;
    const char *path;
    CT_TRY(ct_file_take(f, m->file, &bytes, &path, err));
    if (!bytes.data)
        return ct_fail(err, CARAT_E_FORMAT, "%s is missing: %s puts tensor %s and %d more into it", path,
                       index_path, ct_quote(q, ct_str_of(m->tensor)), n - 1);
    int from = f->n_tensor;
    CT_TRY(ct_safetensors_read(f, path, bytes, err));

    struct ct_index ix = {0};
    struct ct_tensor *its = f->tensor + from;
    int n_its = f->n_tensor - from;
    CT_TRY(ct_file_index(f, its, n_its, &ix, err));
    bool *keep = ct_arena_push(&f->arena, (size_t)n_its, sizeof *keep);
    if (!keep)
        return ct_no_memory(err, f->path);
    for (int i = 0; i < n; i++) {
        struct ct_str name = ct_str_of(m[i].tensor);
        int at = ct_index_find(&ix, name);
        if (at < 0)
            return ct_fail(err, CARAT_E_FORMAT, "%s puts tensor %s into %s, which does not have it",
                           index_path, ct_quote(q, name), path);
        if (keep[at])
            return ct_fail(err, CARAT_E_FORMAT, "%s names tensor %s twice", index_path, ct_quote(q, name));
        keep[at] = true;
    }
    f->n_tensor = from;
    for (int i = 0; i < n_its; i++)
        if (keep[i])
            f->tensor[f->n_tensor++] = its[i];
    return CARAT_OK;
}

static carat_status read_shards(struct ct_file *f, struct map *map, const char *index_path, carat_error *err)
{
    int shards = 0;
    if (map->n > 0) /* grouped by file; a repeated tensor of a file side by side */
        qsort(map->entry, (size_t)map->n, sizeof *map->entry, compare_mapped);
    for (int i = 0; i < map->n; i++)
        shards += i == 0 || strcmp(map->entry[i].file, map->entry[i - 1].file) != 0;
    if (shards > CT_MAX_SHARD)
        return ct_fail(err, CARAT_E_FORMAT, "%s names %d files; the limit is %d", index_path, shards,
                       CT_MAX_SHARD);
    for (int i = 0, end; i < map->n; i = end) {
        for (end = i + 1; end < map->n && strcmp(map->entry[end].file, map->entry[i].file) == 0; end++)
            ;
        CT_TRY(read_shard(f, &map->entry[i], end - i, index_path, err));
    }
    return CARAT_OK;
}

/* Weights in one file beside an index that knows nothing of them are another model's. */
static carat_status refuse_second(struct ct_file *f, const struct map *map, const char *index_path,
                                  carat_error *err)
{
    if (!ct_file_has(f, SINGLE_NAME))
        return CARAT_OK;
    for (int i = 0; i < map->n; i++)
        if (strcmp(map->entry[i].file, SINGLE_NAME) == 0)
            return CARAT_OK;
    return ct_bad_file(err, index_path,
                       "found " SINGLE_NAME " beside it, which it does not name, expected "
                       "the weights of one model in the %s",
                       what_is_open(f));
}

static carat_status read_sharded(struct ct_file *f, struct ct_bytes bytes, const char *path, carat_error *err)
{
    struct ct_json j;
    struct map map = {0};
    if (bytes.size > CT_MAX_HEADER)
        return ct_fail(err, CARAT_E_FORMAT, "%s has %zu bytes; the limit is %d", path, bytes.size,
                       CT_MAX_HEADER);
    ct_json_init(&j, path, bytes);
    carat_status status = read_index(f, &j, &map, err);
    if (j.error.code && err)
        *err = j.error;
    ct_json_free(&j);
    if (status == CARAT_OK)
        status = refuse_second(f, &map, path, err);
    if (status == CARAT_OK)
        status = read_shards(f, &map, path, err);
    free(map.entry);
    return status;
}

/* ---- the directory ---- */

#define PICKLE  "a Python pickle: pickle is never loaded; convert the model to safetensors"
#define CONVERT "which carat does not read; convert the model to safetensors or GGUF"

/* Weights that other programs keep in a directory instead of safetensors. */
static const struct {
    const char *name, *what;
} foreign_weights[] = {
    {"pytorch_model.bin", PICKLE},
    {"pytorch_model.bin.index.json", PICKLE},
    {"consolidated.00.pth", PICKLE},
    {"model.ckpt", PICKLE},
    {"flax_model.msgpack", "the format of Flax, " CONVERT},
    {"tf_model.h5", "the format of TensorFlow, " CONVERT},
    {"model.weights.h5", "the format of Keras, " CONVERT},
    {"model.onnx", "the format of ONNX, " CONVERT},
    {"onnx", "the format of ONNX, " CONVERT},
    {"openvino_model.xml", "the format of OpenVINO, " CONVERT},
};

/* CoreML's parts of a converted model, and the description that a converter puts beside them. */
static void find_core_ml(void *user, const char *name)
{
    const char **found = user, *dot = strrchr(name, '.');
    if (dot && (strcmp(dot, ".mlmodelc") == 0 || strcmp(dot, ".mlpackage") == 0))
        *found = strcmp(dot, ".mlmodelc") == 0 ? "*.mlmodelc" : "*.mlpackage";
    else if (!*found && strcmp(name, "meta.yaml") == 0)
        *found = "meta.yaml";
}

static carat_status refuse_core_ml(struct ct_file *f, carat_error *err)
{
    const char *found = NULL;
    if (f->dir)
        ct_os_names_in(f->dir, find_core_ml, &found);
    return found ? ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s holds a model converted to CoreML (%s), which carat does not read: give the "
                           "checkpoint it came from, as safetensors or GGUF",
                           f->path, found)
                 : CARAT_OK;
}

/* Neither index nor model.safetensors: say what is there instead. */
static carat_status no_weights(struct ct_file *f, carat_error *err)
{
    CT_TRY(refuse_core_ml(f, err));
    for (size_t i = 0; i < CT_COUNT(foreign_weights); i++)
        if (ct_file_has(f, foreign_weights[i].name))
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s has its weights only in %s, %s", f->path,
                           foreign_weights[i].name, foreign_weights[i].what);
    return ct_bad_file(err, f->path, "the %s has no weights: %s or %s was expected in it", what_is_open(f),
                       SINGLE_NAME, INDEX_NAME);
}

static carat_status take_sides(struct ct_file *f, carat_error *err)
{
    const char *path;
    for (int i = 0; i < CT_SIDES; i++)
        CT_TRY(ct_file_take(f, ct_side_name[i], &f->side[i], &path, err));
    return CARAT_OK;
}

carat_status ct_hf_open(struct ct_file *f, carat_error *err)
{
    if (f->dir)
        CT_TRY(ct_os_enter(f->dir, err));
    bool has_weights = ct_file_has(f, INDEX_NAME) || ct_file_has(f, SINGLE_NAME);
    struct ct_bytes bytes;
    const char *path;
    CT_TRY(take_sides(f, err));
    bool has_tokenizer =
        f->side[ct_side_at("tokenizer.json")].data || f->side[ct_side_at("tokenizer.model")].data;

    if (f->tokenizer_only || (!f->dir && has_tokenizer && !has_weights)) {
        f->kind = CT_FILE_TOKENIZER;
        if (!has_tokenizer)
            return ct_fail(err, CARAT_E_NOT_FOUND,
                           "%s: the %s has neither tokenizer.json nor tokenizer.model", f->path,
                           what_is_open(f));
        return CARAT_OK;
    }
    f->kind = CT_FILE_HF;
    /* refused beside whole weights, too: they would run as if the adapter were not there */
    CT_TRY(ct_file_take(f, "adapter_config.json", &bytes, &path, err));
    if (bytes.data)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s holds a LoRA adapter (adapter_config.json), which carat does not apply: merge it "
                       "into its base model and open the result",
                       f->path);
    if (!f->side[ct_side_at("config.json")].data) {
        if (has_weights)
            return ct_bad_file(err, f->path, "the %s has weights but no config.json", what_is_open(f));
        CT_TRY(refuse_core_ml(f, err));
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%s is not a model %s: it has no config.json%s; name a Hugging Face directory, or a "
                       "GGUF file itself",
                       f->path, what_is_open(f), has_tokenizer ? ", only a tokenizer" : "");
    }
    CT_TRY(ct_file_take(f, INDEX_NAME, &bytes, &path, err));
    if (bytes.data) {
        CT_TRY(read_sharded(f, bytes, path, err));
        return ct_modules_open(f, err);
    }
    CT_TRY(ct_file_take(f, SINGLE_NAME, &bytes, &path, err));
    if (!bytes.data)
        return no_weights(f, err);
    CT_TRY(ct_safetensors_read(f, path, bytes, err));
    return ct_modules_open(f, err);
}
