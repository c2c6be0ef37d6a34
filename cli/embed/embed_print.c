/* SPDX-License-Identifier: Apache-2.0 */
/* embed_print.c: vectors as lines, as JSON, as NPY, or as how near they are to each other. */
#include "embed/embed_print.h"

#include <math.h>

#include "io/npy.h"
#include "term/out_json.h"
#include "term/output.h"

static const float *vector_of(const struct embed_result *r, int i)
{
    return r->vector + (size_t)i * (size_t)r->dim;
}

static bool has_vector(const struct embed_result *r, int i)
{
    return isfinite(vector_of(r, i)[0]) != 0;
}

/* Both have length 1, so that their product is the cosine. */
static double similarity(const struct embed_result *r, int i, int k)
{
    const float *a = vector_of(r, i), *b = vector_of(r, k);
    double sum = 0;

    for (int j = 0; j < r->dim; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

static json_t *vector_json(const struct embed_result *r, int i)
{
    json_t *list = has_vector(r, i) ? json_array() : json_null();

    for (int k = 0; k < r->dim && has_vector(r, i); k++)
        json_array_append_new(list, json_real((double)vector_of(r, i)[k]));
    return list;
}

static json_t *similarities_json(const struct embed_result *r, int i)
{
    json_t *list = json_array();

    for (int k = 0; k < r->in->n; k++)
        json_array_append_new(list, json_number(similarity(r, i, k)));
    return list;
}

/* A list of what each text gives. */
static json_t *each_json(const struct embed_result *r, json_t *(*of)(const struct embed_result *r, int i))
{
    json_t *list = json_array();

    for (int i = 0; i < r->in->n; i++)
        json_array_append_new(list, of(r, i));
    return list;
}

static json_t *tokens_json(const struct embed_result *r, int i)
{
    return json_integer(r->in->text[i].n);
}

static json_t *stats_json(const struct embed_result *r)
{
    return json_pack("{s:I, s:f, s:o}", "tokens", (json_int_t)r->tokens, "seconds", r->seconds, "tok_s",
                     json_number((double)r->tokens / r->seconds));
}

static int print_all_json(const struct embed_result *r)
{
    const bool near = r->o->embed->similarity;
    json_t *all =
        json_pack("{s:i, s:o, s:o}", "dim", r->dim, "tokens", each_json(r, tokens_json),
                  near ? "similarity" : "vectors", each_json(r, near ? similarities_json : vector_json));

    if (all && r->o->embed->stats)
        json_object_set_new(all, "stats", stats_json(r));
    return out_json(all);
}

static int print_lines_json(const struct embed_result *r)
{
    for (int i = 0; i < r->in->n; i++)
        TRY(out_json(json_pack("{s:I, s:i, s:o}", "line", (json_int_t)r->in->text[i].line, "tokens",
                               r->in->text[i].n, "vector", vector_json(r, i))));
    return DONE;
}

static int print_vectors(const struct embed_result *r)
{
    for (int i = 0; i < r->in->n; i++) {
        for (int k = 0; k < r->dim && has_vector(r, i); k++)
            out_print("%s%.9g", k ? " " : "", (double)vector_of(r, i)[k]);
        out_print("\n");
    }
    return DONE;
}

static int print_similarities(const struct embed_result *r)
{
    for (int i = 0; i < r->in->n; i++)
        for (int k = 0; k < r->in->n; k++)
            out_print("%.6f%s", similarity(r, i, k), k + 1 < r->in->n ? "\t" : "\n");
    return DONE;
}

static int write_npy(const struct embed_result *r)
{
    struct save npy = {0};
    int code = npy_create(&npy, r->o->embed->out, (size_t)r->in->n, (size_t)r->dim);

    for (int i = 0; i < r->in->n && code == DONE; i++)
        code = npy_row(&npy, vector_of(r, i), (size_t)r->dim);
    if (code == DONE)
        code = save_close(&npy);
    save_abandon(&npy);
    return code;
}

int embed_print(const struct embed_result *r)
{
    const struct embed_options *e = r->o->embed;

    if (e->stats && !r->o->json)
        note("%d texts, %zu tokens in %.4f s: %.1f tok/s", r->in->n - r->in->failed, r->tokens, r->seconds,
             (double)r->tokens / r->seconds);
    if (e->out)
        TRY(write_npy(r));
    return r->o->json      ? print_all_json(r)
           : e->similarity ? print_similarities(r)
           : e->out        ? DONE
           : e->jsonl      ? print_lines_json(r)
                           : print_vectors(r);
}
