/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_vectors.c: vectors as Ollama's clients ask for them, and get them: of several texts, or of one. */
#include <stdio.h>

#include "request.h"
#include "request_values.h"
#include "base/utf8.h"
#include "json_write.h"
#include "ollama/ollama.h"
#include "state.h"
#include "vectors.h"

struct wanted {
    const struct ct_json_value *model, *input, *prompt;
    int64_t dimensions; /* 0: all */
    bool truncates;
};

#define AT(field) offsetof(struct wanted, field)

/* clang-format off */
static const struct field embed_fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"input", FIELD_VALUE, AT(input), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"truncate", FIELD_FLAG, AT(truncates), 0, 0, NULL, NULL},
    {"dimensions", FIELD_WHOLE, AT(dimensions), 0, INT32_MAX, NULL, NULL},
    {"options", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"keep_alive", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
static const struct field one_fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"prompt", FIELD_VALUE, AT(prompt), IS_TEXT, 0, NULL, NULL},
    {"options", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    {"keep_alive", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
/* clang-format on */

/* ---- what is told ---- */

static void put_vector(struct buffer *out, const float *vector, int dim, int i)
{
    (void)i;
    for (int k = 0; k < dim; k++)
        json_put(out, k ? ",%f" : "[%f", (double)vector[k]);
    buffer_text(out, "]");
}

static void end_embed(struct job *job)
{
    const struct vectors *v = job->request->vectors;

    json_put(&job->out, "{'model':%s,'embeddings':[", job->server->options->name);
    buffer_put(&job->out, v->told.data, v->told.n);
    json_put(&job->out, "],'total_duration':%l,'load_duration':0,'prompt_eval_count':%d}",
             (int64_t)((v->end_ms - v->begin_ms) * 1e6), v->ids.n);
}

static void end_one(struct job *job)
{
    const struct vectors *v = job->request->vectors;

    json_put(&job->out, "{'embedding':");
    buffer_put(&job->out, v->n ? v->told.data : "[]", v->n ? v->told.n : 2);
    buffer_text(&job->out, "}");
}

static const struct vector_writer embed_writer = {put_vector, end_embed}, one_writer = {put_vector, end_one};

/* ---- what is asked ---- */

static bool take_embed(struct document *d, struct job *job, struct wanted *w)
{
    const bool is_list = ct_json_is(w->input, CT_JSON_ARRAY);
    const struct ct_json_value *one = is_list ? ct_json_first(w->input) : w->input;
    char param[32] = "input";

    if (!vectors_begin(d, job, &embed_writer, is_list ? ct_json_count(w->input) : 1, w->dimensions))
        return false;
    for (int i = 0; one; one = is_list ? ct_json_after(one) : NULL, i++) {
        if (is_list)
            snprintf(param, sizeof param, "input[%d]", i);
        if (!ct_json_is(one, CT_JSON_STRING))
            return field_refuse(d, param, one, "expected a string");
        if (!vectors_add_text(d, job, param, ct_json_str(one), CARAT_TASK_NONE, NULL, w->truncates))
            return false;
    }
    return true;
}

static bool take_one(struct document *d, struct job *job, struct wanted *w)
{
    if (!vectors_begin(d, job, &one_writer, 1, 0))
        return false;
    return !w->prompt || w->prompt->n == 0 || /* the model is to be loaded, which it is */
           vectors_add_text(d, job, "prompt", ct_json_str(w->prompt), CARAT_TASK_NONE, NULL, true);
}

static bool take(struct job *job, struct refusal *r, const struct field *fields, int n,
                 bool (*take_texts)(struct document *d, struct job *job, struct wanted *w))
{
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct wanted w = {.truncates = true};
    bool good = false;

    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good = fields_take(&d, &d.tree.value[0], "", fields, n, &w) &&
               ollama_is_served(&d, job->server, w.model) && take_texts(&d, job, &w);
    if (good) {
        vectors_end(job);
        values_tell_fields(&d, job);
    }
    document_free(&d);
    return good;
}

bool ollama_embed(struct job *job, struct refusal *r)
{
    return take(job, r, embed_fields, CT_COUNT(embed_fields), take_embed);
}

bool ollama_embeddings(struct job *job, struct refusal *r)
{
    return take(job, r, one_fields, CT_COUNT(one_fields), take_one);
}
