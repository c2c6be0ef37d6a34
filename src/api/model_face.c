/* SPDX-License-Identifier: Apache-2.0 */
/* model_face.c: the functions of carat.h and carat_tools.h on a model: arguments are checked here. Opening,
 * packing and the facts of what is open are checkpoint/'s, checking is check/'s. */
#include "base/arguments.h"
#include "check/verify.h"
#include "checkpoint/checkpoint.h"
#include "file/hub.h"
#include "model/names.h"

#include <stdlib.h>

const char *carat_version(void)
{
    return CARAT_VERSION;
}

const char *carat_status_name(carat_status status)
{
    static const char *const name[] = {
        "CARAT_OK",           "CARAT_E_ARGUMENT",    "CARAT_E_NOT_FOUND", "CARAT_E_IO",
        "CARAT_E_FORMAT",     "CARAT_E_UNSUPPORTED", "CARAT_E_MEMORY",    "CARAT_E_CONTEXT",
        "CARAT_E_REWIND",     "CARAT_E_NUMERIC",     "CARAT_E_CANCELLED", "CARAT_E_BUSY",
        "CARAT_E_CONSTRAINT",
    };
    return (size_t)status < CT_COUNT(name) ? name[status] : "unknown status";
}

carat_status carat_model_open(carat_model **model, const char *path, const carat_model_options *options,
                              carat_error *err)
{
    carat_model_options o = {.size = sizeof o};

    CT_GIVEN(model, err);
    CT_GIVEN(path, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_model_options", err));
    return ct_model_open(model, path, &o, err);
}

carat_status carat_model_open_memory(carat_model **model, const carat_buffer *buffers, size_t buffer_size,
                                     int n, const carat_model_options *options, carat_error *err)
{
    carat_model_options o = {.size = sizeof o};
    void *copy;

    if (!model || !buffers || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "model or buffers is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_model_options", err));
    CT_TRY(ct_take_array(&copy, buffers, buffer_size, n, sizeof *buffers, "carat_buffer", err));
    carat_status status = ct_model_open_memory(model, copy ? copy : buffers, n, &o, err);
    free(copy);
    return status;
}

carat_status carat_locate(carat_location *location, const char *name, const carat_places *places,
                          carat_error *err)
{
    carat_places p = {.size = sizeof p};
    carat_location full = {.size = sizeof full};

    CT_GIVEN(name, err);
    CT_TRY(ct_check_struct(location, sizeof full, "carat_location", err));
    CT_TRY(ct_take_struct(&p, sizeof p, places, "carat_places", err));
    CT_TRY(ct_locate(&full, name, &p, err));
    return ct_give_struct(location, &full, sizeof full, "carat_location", err);
}

void carat_location_free(carat_location *location)
{
    if (location)
        ct_location_free(location);
}

carat_status carat_list_models(const carat_places *places, carat_stored_visit visit, void *user,
                               carat_error *err)
{
    carat_places p = {.size = sizeof p};

    CT_GIVEN(visit, err);
    CT_TRY(ct_take_struct(&p, sizeof p, places, "carat_places", err));
    return ct_list_models(&p, visit, user, err);
}

carat_status carat_choose_files(const char *called, const char *const *names, int n, const char *part,
                                int *wanted, carat_error *err)
{
    CT_GIVEN(called, err);
    CT_GIVEN(names, err);
    CT_GIVEN(part, err);
    CT_GIVEN(wanted, err);
    return ct_hub_choose(called, names, n, part, wanted, err);
}

const char *carat_family_name(int i)
{
    return i >= 0 && i < ct_family_name_count ? ct_family_names[i].name : NULL;
}

void carat_model_close(carat_model *model)
{
    ct_model_close(model);
}

carat_status carat_model_pack(const carat_model *model, const char *path, carat_progress progress, void *user,
                              carat_error *err)
{
    return ct_model_pack(model, path, progress, user, err);
}

carat_status carat_cache_walk(const char *dir, carat_cache_visit visit, void *user, carat_error *err)
{
    return ct_cache_walk(dir, visit, user, err);
}

carat_status carat_cache_look(const char *dir, carat_cache_info *info, carat_error *err)
{
    carat_cache_info full;

    CT_TRY(ct_cache_look(dir, &full, err));
    return ct_give_struct(info, &full, sizeof full, "carat_cache_info", err);
}

carat_status carat_verify(const carat_model *model, const carat_verify_options *options,
                          carat_verdict *verdict, carat_error *err)
{
    carat_verify_options o = {.size = sizeof o};
    carat_verdict full;

    CT_GIVEN(model, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_verify_options", err));
    CT_TRY(ct_check_struct(verdict, sizeof full, "carat_verdict", err));
    CT_TRY(ct_verify(model, &o, &full, err));
    return ct_give_struct(verdict, &full, sizeof full, "carat_verdict", err);
}

carat_status carat_model_content(const carat_model *model, carat_progress progress, void *user,
                                 char content[33], carat_error *err)
{
    CT_GIVEN(model, err);
    CT_GIVEN(content, err);
    return ct_model_content(model, &(carat_verify_options){.progress = progress, .user = user}, content, err);
}

struct unread {
    carat_unread_visit visit;
    void *user;
};

static int visit_unread(void *user, const char *key, const char *class_name, bool known)
{
    const struct unread *u = user;
    const carat_unread_key full = {.size = sizeof full, .key = key, .class_name = class_name, .known = known};

    return u->visit(u->user, &full);
}

carat_status carat_model_unread(const carat_model *model, carat_unread_visit visit, void *user,
                                carat_error *err)
{
    struct unread u = {visit, user};

    CT_GIVEN(model, err);
    CT_GIVEN(visit, err);
    return ct_config_unread(model->file, visit_unread, &u, err);
}

carat_status carat_model_get_info(const carat_model *m, carat_model_info *info, carat_error *err)
{
    carat_model_info full;

    CT_GIVEN(m, err);
    ct_model_info(m, &full);
    return ct_give_struct(info, &full, sizeof full, "carat_model_info", err);
}

carat_status carat_model_get_load_times(const carat_model *m, carat_load_times *times, carat_error *err)
{
    CT_GIVEN(m, err);
    return ct_give_struct(times, &m->times, sizeof m->times, "carat_load_times", err);
}

int carat_model_reads(const carat_model *m, const char *path)
{
    return m && path && ct_model_reads(m, path);
}

int carat_model_tensor_count(const carat_model *model)
{
    return model ? ct_file_tensor_count(model->file) : 0;
}

carat_status carat_model_get_tensor(const carat_model *model, int i, carat_tensor_info *info,
                                    carat_error *err)
{
    if (!model || i < 0 || i >= ct_file_tensor_count(model->file))
        return ct_fail(err, CARAT_E_ARGUMENT, "model is NULL, or there is no tensor %d", i);
    const struct ct_tensor *t = ct_file_tensor(model->file, i);
    carat_tensor_info full = {sizeof full, t->name, t->type_name, t->n_dim, {0}, t->size};
    memcpy(full.dim, t->dim, sizeof full.dim);
    return ct_give_struct(info, &full, sizeof full, "carat_tensor_info", err);
}

int carat_is_stop(const carat_model *model, int32_t id)
{
    return model && ct_is_stop(model, id);
}

int carat_stop_ids(const carat_model *model, const int32_t **ids)
{
    if (ids)
        *ids = model ? model->stop : NULL;
    return model ? model->n_stop : 0;
}

void carat_get_sampling(const carat_model *model, carat_sampling *s)
{
    carat_sampling full = model ? model->sampling : ct_card_sampling();

    (void)ct_give_struct(s, &full, sizeof full, "carat_sampling", NULL);
}
