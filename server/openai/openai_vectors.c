/* SPDX-License-Identifier: Apache-2.0 */
/* openai_vectors.c: embeddings as OpenAI's clients ask for them, and get them. */
#include <stdio.h>

#include "request.h"
#include "request_values.h"
#include "base/utf8.h"
#include "json_write.h"
#include "openai/openai.h"
#include "state.h"
#include "vectors.h"

struct wanted {
    const struct ct_json_value *model, *input, *format, *task, *title;
    int64_t dimensions; /* 0: all */
};

#define AT(field) offsetof(struct wanted, field)

/* clang-format off */
static const struct field fields[] = {
    {"model", FIELD_VALUE, AT(model), IS_TEXT, 0, NULL, NULL},
    {"input", FIELD_VALUE, AT(input), IS_TEXT | IS_LIST, 0, NULL, NULL},
    {"encoding_format", FIELD_VALUE, AT(format), IS_TEXT, 0, NULL, NULL},
    {"dimensions", FIELD_WHOLE, AT(dimensions), 1, INT32_MAX, NULL, NULL},
    {"task", FIELD_VALUE, AT(task), IS_TEXT, 0, NULL, NULL}, /* not OpenAI's: what carat embed has */
    {"title", FIELD_VALUE, AT(title), IS_TEXT, 0, NULL, NULL},
    {"user", FIELD_IDLE, 0, 0, 0, NULL, NULL},
};
/* clang-format on */

/* ---- what is told ---- */

/* Three bytes at a time as four digits. */
static void put_base64(struct buffer *out, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        const size_t have = CT_MIN(n - i, (size_t)3);
        unsigned bits = 0;
        char four[4];
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < have ? bytes[i + k] : 0);
        for (size_t k = 0; k < 4; k++)
            four[k] = '=';
        for (size_t k = 0; k <= have; k++)
            four[k] = digits[bits >> (18 - 6 * k) & 63];
        buffer_put(out, four, sizeof four);
    }
}

static void put_floats(struct buffer *out, const float *vector, int dim, int i)
{
    json_put(out, "{'object':'embedding','index':%d,'embedding':[", i);
    for (int k = 0; k < dim; k++)
        json_put(out, k ? ",%f" : "%f", (double)vector[k]);
    buffer_text(out, "]}");
}

/* As bytes of floats, the least first, which is how they lie in memory. */
static void put_bytes(struct buffer *out, const float *vector, int dim, int i)
{
    json_put(out, "{'object':'embedding','index':%d,'embedding':'", i);
    put_base64(out, (const unsigned char *)vector, (size_t)dim * sizeof *vector);
    buffer_text(out, "\"}");
}

static void end_vectors(struct job *job)
{
    const struct vectors *v = job->request->vectors;

    json_put(&job->out, "{'object':'list','data':[");
    buffer_put(&job->out, v->told.data, v->told.n);
    json_put(&job->out, "],'model':%s,'usage':{'prompt_tokens':%d,'total_tokens':%d}}",
             job->server->options->name, v->ids.n, v->ids.n);
}

static const struct vector_writer floats = {put_floats, end_vectors}, bytes = {put_bytes, end_vectors};

/* ---- what is asked ---- */

/* The sentence that stands before each text: none, unless it is asked for. */
static bool take_task(struct document *d, const struct wanted *w, carat_task *task, char title[256])
{
    const char *name;

    *task = CARAT_TASK_NONE;
    if (w->task) {
        int i = CARAT_TASK_QUERY;
        while ((name = carat_task_name((carat_task)i)) && !ct_json_is_text(w->task, name))
            i++;
        if (!name)
            return field_refuse(d, "task", w->task, "expected one of those of carat embed --task");
        *task = (carat_task)i;
    }
    if (w->title && *task != CARAT_TASK_DOCUMENT)
        return server_refuse(d->r, 400, NULL, "title", "title needs task to be document");
    if (w->title && (w->title->n >= 256 || memchr(w->title->s, 0, w->title->n)))
        return field_refuse(d, "title", w->title, "expected a text of at most 255 bytes");
    if (w->title)
        snprintf(title, 256, "%.*s", (int)w->title->n, w->title->s);
    return true;
}

static bool take_texts(struct document *d, struct job *job, const struct wanted *w)
{
    const bool is_one =
        ct_json_is(w->input, CT_JSON_STRING) || ct_json_is(ct_json_first(w->input), CT_JSON_NUMBER);
    const bool of_texts = ct_json_is(ct_json_first(w->input), CT_JSON_STRING);
    const struct ct_json_value *one = is_one ? w->input : ct_json_first(w->input);
    char title[256], param[32] = "input";
    carat_task task;

    if (!take_task(d, w, &task, title))
        return false;
    for (int i = 0; one; one = is_one ? NULL : ct_json_after(one), i++) {
        if (!is_one)
            snprintf(param, sizeof param, "input[%d]", i);
        if (!is_one && ct_json_is(one, CT_JSON_STRING) != of_texts)
            return field_refuse(d, param, one, "expected all inputs to be strings, or all lists of ids");
        if (ct_json_is(one, CT_JSON_STRING)
                ? !vectors_add_text(d, job, param, ct_json_str(one), task, w->title ? title : NULL, false)
            : ct_json_is(one, CT_JSON_ARRAY)
                ? !vectors_add_ids(d, job, param, one)
                : !field_refuse(d, param, one, "expected a string or a list of ids"))
            return false;
    }
    vectors_end(job);
    return true;
}

static bool take_vectors(struct document *d, struct job *job, const struct wanted *w)
{
    const bool as_bytes = ct_json_is_text(w->format, "base64"), is_list = ct_json_is(w->input, CT_JSON_ARRAY);

    if (!values_model(d, job->server, w->model) ||
        !vectors_begin(d, job, as_bytes ? &bytes : &floats, is_list ? ct_json_count(w->input) : 1,
                       w->dimensions))
        return false;
    if (!w->input)
        return server_refuse(d->r, 400, "missing_required_parameter", "input", "input is missing");
    if (is_list && ct_json_count(w->input) == 0)
        return server_refuse(d->r, 400, NULL, "input", "input has 0 elements, expected 1 to %d", MOST_TEXTS);
    if (w->format && !as_bytes && !ct_json_is_text(w->format, "float"))
        return field_refuse(d, "encoding_format", w->format, "expected float or base64");
    return take_texts(d, job, w);
}

bool openai_vectors(struct job *job, struct refusal *r)
{
    struct document d = {.r = r, .strict = job->server->options->strict};
    struct wanted w = {0};
    bool good = false;

    if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        good =
            fields_take(&d, &d.tree.value[0], "", fields, CT_COUNT(fields), &w) && take_vectors(&d, job, &w);
    if (good)
        values_tell_fields(&d, job);
    document_free(&d);
    return good;
}
