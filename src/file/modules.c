/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c: a directory of sentence-transformers: what modules.json says that follows the model, with the
 * configurations and the weights of these modules. What they mean is for those who ask. A generator's
 * directory may have the file too, in any form: so what is odd is no error until somebody wants to know.
 *
 * A folder that modules.json names never leads out of the directory. */
#include "file/reader.h"

enum { MAX_JSON = 1 << 20, MAX_FOLDER = 255 };

/* The modules that carat knows, in the order in which they may stand; a class is called by its last word. */
enum kind { TRANSFORMER, POOLING, DENSE, NORMALIZE, KINDS };
static const char *const kinds[KINDS] = {"Transformer", "Pooling", "Dense", "Normalize"};

static enum kind kind_of(struct ct_str type)
{
    int k = 0;

    for (size_t i = type.n; i-- > 0;)
        if (type.s[i] == '.') {
            type = (struct ct_str){type.s + i + 1, type.n - i - 1};
            break;
        }
    while (k < KINDS && !ct_str_is(type, kinds[k]))
        k++;
    return (enum kind)k;
}

static bool plain_folder(struct ct_str s)
{
    return ct_name_ok(s, MAX_FOLDER) && !memchr(s.s, '/', s.n) && !memchr(s.s, '\\', s.n) && s.s[0] != '.';
}

/* "folder/name" in the arena; NULL: no memory. */
static const char *name_in(struct ct_file *f, const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *p = ct_arena_push(&f->arena, size, 1);

    if (p)
        snprintf(p, size, "%s/%s", folder, name);
    return p;
}

/* A file of a module, which must be there. */
static carat_status take_file(struct ct_file *f, const char *folder, const char *name, const char *of,
                              struct ct_bytes *bytes, const char **path, carat_error *err)
{
    const char *whole = name_in(f, folder, name);

    if (!whole)
        return ct_no_memory(err, f->path);
    CT_TRY(ct_file_take(f, whole, bytes, path, err));
    return bytes->data ? CARAT_OK
                       : ct_fail(err, CARAT_E_FORMAT, "%s is missing: %s names its folder", *path, of);
}

static carat_status read_config(struct ct_file *f, struct ct_module *m, struct ct_str folder,
                                struct ct_json_tree *tree, const char *of, carat_error *err)
{
    m->folder = ct_arena_str(&f->arena, folder.s, folder.n);
    if (!m->folder)
        return ct_no_memory(err, f->path);
    CT_TRY(take_file(f, m->folder, "config.json", of, &m->text, &m->path, err));
    if (m->text.size > MAX_JSON)
        return ct_bad_file(err, m->path, "it has %zu bytes; the limit is %d", m->text.size, MAX_JSON);
    CT_TRY(ct_json_tree_read(tree, CARAT_E_FORMAT, m->path, m->text, err));
    m->config = tree->value;
    return ct_json_is(m->config, CT_JSON_OBJECT)
               ? CARAT_OK
               : ct_bad_file(err, m->path, "a list, expected a JSON object");
}

/* Its tensors are told apart by its number, as sentence-transformers calls folders. */
static carat_status read_weights(struct ct_file *f, struct ct_module *m, int number, const char *of,
                                 carat_error *err)
{
    const int from = f->n_tensor;
    char folder[32];
    const char *path;

    CT_TRY(take_file(f, m->folder, "model.safetensors", of, &m->weights, &path, err));
    CT_TRY(ct_safetensors_read(f, path, m->weights, err));
    snprintf(folder, sizeof folder, "%d_Dense", number);
    for (int i = from; i < f->n_tensor; i++)
        if (!(f->tensor[i].name = name_in(f, folder, f->tensor[i].name)))
            return ct_no_memory(err, f->path);
    return CARAT_OK;
}

/* One entry of the list, which is number i, behind one of kind *last. */
static carat_status read_module(struct ct_file *f, struct ct_modules *m, const struct ct_json_value *entry,
                                int i, enum kind *last, const char *path, struct ct_bytes text,
                                carat_error *err)
{
    const struct ct_json_value *type = ct_json_get(entry, "type"), *folder = ct_json_get(entry, "path");
    const enum kind kind = kind_of(ct_json_str(type));
    char key[32];

    snprintf(key, sizeof key, "[%d].type", i);
    if (kind == KINDS)
        return ct_json_refuse(err, CARAT_E_UNSUPPORTED, path, text, type, key,
                              "but carat knows Transformer, Pooling, Dense and Normalize only");
    if (i == 0 ? kind != TRANSFORMER
               : kind < *last || (kind == *last && kind != DENSE) || (kind > POOLING && *last == TRANSFORMER))
        return ct_json_refuse(
            err, CARAT_E_UNSUPPORTED, path, text, type, key,
            "expected Transformer, Pooling, Dense for each matrix, and Normalize, in this order");
    *last = kind;
    m->normalizes = kind == NORMALIZE;
    snprintf(key, sizeof key, "[%d].path", i);
    if (kind == TRANSFORMER && ct_json_str(folder).n > 0)
        return ct_json_refuse(err, CARAT_E_UNSUPPORTED, path, text, folder, key,
                              "expected \"\": the model beside modules.json");
    if (kind != POOLING && kind != DENSE)
        return CARAT_OK;
    if (!plain_folder(ct_json_str(folder)))
        return ct_json_refuse(err, CARAT_E_FORMAT, path, text, folder, key,
                              "expected the name of a folder beside modules.json");
    if (kind == DENSE && m->n_dense == CT_MOST_DENSE)
        return ct_json_refuse(err, CARAT_E_UNSUPPORTED, path, text, type, key,
                              "but carat runs %d dense modules at most", CT_MOST_DENSE);
    const int at = kind == POOLING ? 0 : 1 + m->n_dense;
    struct ct_module *const to = kind == POOLING ? &m->pooling : &m->dense[m->n_dense++];
    CT_TRY(read_config(f, to, ct_json_str(folder), &f->module_json[at], path, err));
    return kind == DENSE ? read_weights(f, to, 1 + at, path, err) : CARAT_OK;
}

static carat_status read_modules(struct ct_file *f, struct ct_modules *m, struct ct_bytes text,
                                 const char *path, carat_error *err)
{
    struct ct_json_tree tree = {0};
    enum kind last = TRANSFORMER;
    int i = 0;

    if (text.size > MAX_JSON)
        return ct_bad_file(err, path, "it has %zu bytes; the limit is %d", text.size, MAX_JSON);
    carat_status status = ct_json_tree_read(&tree, CARAT_E_FORMAT, path, text, err);
    if (!status && (!ct_json_is(tree.value, CT_JSON_ARRAY) || ct_json_count(tree.value) < 2))
        status = ct_bad_file(err, path, "expected a list of modules: Transformer, Pooling, ...");
    for (const struct ct_json_value *v = status ? NULL : ct_json_first(tree.value); v && !status;
         v = ct_json_after(v))
        status = read_module(f, m, v, i++, &last, path, text, err);
    ct_json_tree_free(&tree);
    return status;
}

carat_status ct_modules_open(struct ct_file *f, carat_error *err)
{
    const int n_tensor = f->n_tensor;
    struct ct_bytes text;
    const char *path;

    CT_TRY(ct_file_take(f, "modules.json", &text, &path, err));
    if (!text.data)
        return CARAT_OK;
    f->modules = ct_arena_push(&f->arena, 1, sizeof *f->modules);
    if (!f->modules)
        return ct_no_memory(err, f->path);
    f->modules->text = text;
    const carat_status status = read_modules(f, f->modules, text, path, &f->modules_error);
    if (status)
        f->n_tensor = n_tensor;
    return status == CARAT_E_MEMORY ? ct_fail(err, status, "%s", f->modules_error.message) : CARAT_OK;
}

carat_status ct_file_modules(const struct ct_file *f, const struct ct_modules **modules, carat_error *err)
{
    const carat_error *why = &f->modules_error;

    *modules = f->modules;
    return why->code ? ct_fail(err, why->code, "%s", why->message) : CARAT_OK;
}
