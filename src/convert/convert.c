/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: see convert.h. What the new file consists of: plan.c, who fills it: fill.c. Here it becomes a
 * file, under its name only when readers take from it what the model is. */
#include "carat_convert.h"
#include "checkpoint/checkpoint.h"
#include "base/arguments.h"

#include "checkpoint/new_model.h"
#include "convert/fill.h"
#include "convert/hf.h"
#include "convert/read_back.h"
#include "names/names.h"

struct writing {
    struct ct_conversion *v;
    const carat_convert_options *o;
};

static carat_status write_gguf(void *writing, struct ct_os_new *file, carat_error *err)
{
    const struct writing *w = writing;

    CT_TRY(ct_os_new_size(file, (size_t)w->v->size, err));
    memcpy(file->base, w->v->head.data, w->v->head.n);
    CT_TRY(ct_fill(w->v, &file->base, w->o, err));
    ct_os_new_written(file);
    return ct_read_back(w->v, file->path, err);
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

/* Who asks for lattices has some type in mind. */
static carat_status check_lattices(const struct ct_conversion *v, carat_error *err)
{
    int i = 0;

    while (i < v->n_tensor && v->tensor[i].type != CT_Q4_0)
        i++;
    return i < v->n_tensor ? CARAT_OK
                           : ct_fail(err, CARAT_E_ARGUMENT,
                                     "qat is on, which is about blocks of Q4_0, and no tensor becomes Q4_0");
}

/* Tensors stay those of the file or directory that is there. */
static carat_status keep_tensors(struct ct_conversion *v, const carat_convert_options *o, carat_error *err)
{
    if (o->type || o->recipe || o->importance || v->residual != 1 || o->dry_run)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "metadata_only writes anew what a model says beside its tensors, and leaves them: "
                       "nothing else is asked for with it");
    if (v->container == &ct_new_hf)
        return ct_hf_keep(v, err);
    CT_TRY(ct_file_open(&v->kept, v->path, false, err));
    if (ct_file_kind(v->kept) != CT_FILE_GGUF || ct_file_is_packed(v->kept))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is no GGUF file, and metadata_only writes one anew",
                       v->path);
    return CARAT_OK;
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
    if (o->qat < CARAT_QAT_AUTO || o->qat > CARAT_QAT_OFF)
        return ct_fail(err, CARAT_E_ARGUMENT, "qat is %d, expected auto, on or off", (int)o->qat);
    v->recipe.lattices = o->qat == CARAT_QAT_ON;
    v->expand = o->expand;
    v->tied = o->tied;
    v->residual = o->residual_scale != 0 ? o->residual_scale : 1;
    if (o->n_set > 0 && v->container != &ct_new_gguf)
        return ct_fail(err, CARAT_E_ARGUMENT, "keys are set in GGUF files alone, and %s is to be a directory",
                       v->path);
    v->shard_bytes = o->shard_bytes ? o->shard_bytes : USUAL_SHARD;
    if (o->importance) {
        CT_TRY(ct_importance_read(&v->importance, o->importance, &v->arena, err));
        v->recipe.importance = &v->importance;
        v->importance_path = o->importance;
    }
    CT_TRY(ct_recipe_read(&v->recipe, o->type, err));
    if (o->metadata_only)
        CT_TRY(keep_tensors(v, o, err));
    CT_TRY(ct_plan_file(v, err));
    if (o->qat == CARAT_QAT_ON)
        CT_TRY(check_lattices(v, err));
    for (int i = 0; o->dry_run && o->tensor && i < v->n_tensor; i++)
        ct_plan_tell(v, i, NULL, o);
    if (o->dry_run)
        return CARAT_OK;
    if (v->kept_dir)
        return ct_hf_renew(v, o, err);
    return v->container == &ct_new_hf ? ct_hf_write(v, o, err)
                                      : ct_new_model(v->m, v->path, write_gguf, &(struct writing){v, o}, err);
}

static carat_status convert_model(const struct carat_model *m, const char *path,
                                  const carat_convert_options *o, carat_error *err)
{
    struct ct_conversion v = {
        .m = m, .container = &ct_new_gguf, .path = path ? path : "", .o = o, .err = err};

    v.recipe = (struct ct_recipe){.words = o->recipe, .pure = o->pure, .again = o->allow_requantize};
    if (!m->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "the model has no weights");
    carat_status status = convert(&v, o, err);
    ct_new_head_free(&v.head);
    for (int i = 0; i < v.n_shard; i++)
        ct_new_head_free(&v.shard[i].head);
    ct_arena_free(&v.arena);
    ct_file_close(v.kept);
    carat_model_close(v.kept_dir);
    return status;
}

carat_status carat_convert(const carat_model *model, const char *path, const carat_convert_options *options,
                           carat_error *err)
{
    carat_convert_options o = {.size = sizeof o};

    CT_GIVEN(model, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_convert_options", err));
    if (!o.dry_run)
        CT_GIVEN(path, err);
    CT_TRY(ct_check_range("threads", o.threads, 0, 1024, err));
    return convert_model(model, path, &o, err);
}

const char *carat_model_mix(const carat_model *m)
{
    if (!m || !m->has_weights)
        return "";
    const struct ct_meta *said = ct_file_meta(m->file, "general.file_type");
    const char *label = said && said->type == CT_META_UINT ? ct_mix_label(said->u) : NULL;
    return label ? label : ct_type_info(m->weights.embed.type)->name;
}
