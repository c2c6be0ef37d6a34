/* SPDX-License-Identifier: Apache-2.0 */
/* show_embedder.c: what a model that gives vectors gives, and what for. */
#include "show/show_embedder.h"

#include "carat_embed.h"
#include "term/output.h"

static carat_embedder about(const carat_model *model)
{
    carat_embedder e;

    carat_embedder_default(&e);
    (void)carat_get_embedder(model, &e, NULL); /* it is one */
    return e;
}

void show_embedder(const carat_model *model)
{
    const carat_embedder e = about(model);

    out_print("vectors\n  %-18s", "gives");
    if (e.n_dense)
        out_print("%d values for a text of up to %d tokens", e.width, e.max_tokens);
    else
        out_print("the raw mean of %d values alone (embed --no-dense): its dense heads are missing",
                  e.raw_width);
    for (int i = 0; i < e.n_cut && e.n_dense; i++)
        out_print("%s%d", i == 0 ? "; also its first " : i + 1 < e.n_cut ? ", " : " or ", e.cut[i]);
    out_print("\n  %-18s", "tasks");
    for (int i = CARAT_TASK_QUERY; carat_task_name((carat_task)i); i++)
        out_print("%s%s", i > CARAT_TASK_QUERY ? ", " : "", carat_task_name((carat_task)i));
    out_print("\n");
}

json_t *show_embedder_json(const carat_model *model)
{
    const carat_embedder e = about(model);
    json_t *cuts = json_array(), *tasks = json_array();

    for (int i = 0; i < e.n_cut; i++)
        json_array_append_new(cuts, json_integer(e.cut[i]));
    for (int i = CARAT_TASK_QUERY; carat_task_name((carat_task)i); i++)
        json_array_append_new(tasks, json_string(carat_task_name((carat_task)i)));
    return json_pack("{s:i, s:i, s:i, s:i, s:o, s:o}", "width", e.width, "raw_width", e.raw_width, "n_dense",
                     e.n_dense, "max_tokens", e.max_tokens, "cuts", cuts, "tasks", tasks);
}
