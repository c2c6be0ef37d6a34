/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: see convert.h. What the new file consists of: plan.c, who fills it: fill.c. Here it becomes a
 * file, under its name only when readers take from it what the model is. */
#include "convert/convert.h"

#include <stdlib.h>

#include "convert/fill.h"
#include "convert/hf.h"
#include "convert/read_back.h"
#include "os/files.h"
#include "os/new_file.h"

static carat_status write_file(struct ct_conversion *v, struct ct_os_new *file,
                               const carat_convert_options *o, carat_error *err)
{
    CT_TRY(ct_os_new_size(file, (size_t)v->size, err));
    memcpy(file->base, v->head.data, v->head.n);
    carat_status status = ct_fill(v, &file->base, o, err);
    ct_os_new_written(file);
    return status;
}

static carat_status write_gguf(struct ct_conversion *v, const carat_convert_options *o, carat_error *err)
{
    struct ct_os_new file = {.fd = -1};
    struct ct_os_id id;
    const size_t length = strlen(v->path);
    char *part = ct_arena_push(&v->arena, length + sizeof CT_CONVERT_PART, 1);

    if (!part)
        return ct_no_memory(err, v->path);
    strcat(strcpy(part, v->path), CT_CONVERT_PART);
    if (!ct_os_replaceable(v->path))
        return ct_fail(err, CARAT_E_IO, "%s is not a regular file, so it cannot be replaced", v->path);
    if (ct_model_reads(v->m, v->path))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is what the model is read from: name another file",
                       v->path);
    carat_status status = ct_os_new_begin(&file, part, 0666, err);
    if (!status)
        status = write_file(v, &file, o, err);
    if (!status)
        status = ct_read_back(v, part, err);
    if (!status)
        status = ct_os_new_finish(&file, v->path, &id, err);
    if (status)
        ct_os_new_abandon(&file);
    return status;
}

#define USUAL_SHARD 5000000000u

static carat_status container_named(const struct ct_new_container **c, const char *name, carat_error *err)
{
    *c = strcmp(name, "safetensors") == 0 ? &ct_new_hf : strcmp(name, "gguf") == 0 ? &ct_new_gguf : NULL;
    return *c ? CARAT_OK
              : ct_fail(err, CARAT_E_ARGUMENT, "container is \"%s\", expected gguf or safetensors", name);
}

static bool is_named_gguf(const char *path)
{
    const size_t n = strlen(path);

    return n >= 5 && memcmp(path + n - 5, ".gguf", 5) == 0;
}

static carat_status convert(struct ct_conversion *v, const carat_convert_options *o, carat_error *err)
{
    if (o->container)
        CT_TRY(container_named(&v->container, o->container, err));
    else if (*v->path && !is_named_gguf(v->path))
        v->container = &ct_new_hf;
    if (o->qmax < 0 || o->qmax > 127)
        return ct_fail(err, CARAT_E_ARGUMENT, "qmax is %d, expected 1 to 127, or 0 for 127", o->qmax);
    if (!(o->clip_percentile >= 0 && o->clip_percentile <= 100))
        return ct_fail(err, CARAT_E_ARGUMENT, "clip_percentile is %g, expected 0 to 100", o->clip_percentile);
    v->expand = o->expand;
    v->shard_bytes = o->shard_bytes ? o->shard_bytes : USUAL_SHARD;
    if (o->importance) {
        CT_TRY(ct_importance_read(&v->importance, o->importance, &v->arena, err));
        v->recipe.importance = &v->importance;
        v->importance_path = o->importance;
    }
    CT_TRY(ct_recipe_read(&v->recipe, o->type, err));
    CT_TRY(ct_plan_file(v, err));
    for (int i = 0; o->dry_run && o->tensor && i < v->n_tensor; i++)
        ct_plan_tell(v, i, NULL, o);
    if (o->dry_run)
        return CARAT_OK;
    return v->container == &ct_new_hf ? ct_hf_write(v, o, err) : write_gguf(v, o, err);
}

carat_status ct_convert(const struct carat_model *m, const char *path, const carat_convert_options *o,
                        carat_error *err)
{
    struct ct_conversion v = {.m = m, .container = &ct_new_gguf, .path = path ? path : "", .err = err};

    v.recipe = (struct ct_recipe){.words = o->recipe, .pure = o->pure, .again = o->allow_requantize};
    if (!m->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "the model has no weights");
    carat_status status = convert(&v, o, err);
    ct_new_head_free(&v.head);
    for (int i = 0; i < v.n_shard; i++)
        ct_new_head_free(&v.shard[i].head);
    ct_arena_free(&v.arena);
    return status;
}
