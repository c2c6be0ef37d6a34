/* SPDX-License-Identifier: Apache-2.0 */
/* embed_face.c: the functions of carat_embed.h: NULL is refused here; engine/embed_pass.c makes vectors,
 * text/task.c ids. */
#include "engine/engine.h"
#include "model/family.h"
#include "text/task.h"

#include <stdlib.h>

const char *carat_task_name(carat_task task)
{
    return ct_task_name(task);
}

carat_status carat_get_embedder(const carat_model *model, carat_embedder *embedder, carat_error *err)
{
    CT_GIVEN(model, err);
    return ct_model_embedder(model, embedder, err);
}

carat_status carat_embed_tokenize(const carat_model *model, carat_task task, const char *title,
                                  const char *text, size_t n, carat_tokens *out, carat_error *err)
{
    CT_GIVEN(model, err);
    if ((!text && n) || !out)
        return ct_fail(err, CARAT_E_ARGUMENT, "text or out is NULL");
    if (!model->tokenizer)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: the model has no tokenizer", ct_file_path(model->file));
    return ct_task_encode(model->tokenizer, task, title, text, n, out, err);
}

carat_status carat_embed(carat_engine *engine, carat_embed_input *inputs, size_t input_size, int n,
                         const carat_embed_options *options, carat_error *err)
{
    void *copy;

    if (!engine || !inputs || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine or inputs is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_array(&copy, inputs, input_size, n, sizeof *inputs, "carat_embed_input", err));
    carat_status status = ct_embed(engine, copy ? copy : inputs, n, options, err);
    free(copy);
    return status;
}
