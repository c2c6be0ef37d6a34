/* SPDX-License-Identifier: Apache-2.0 */
/* embed_print.c: vectors as lines, as JSON, as NPY, or as how near they are to each other. Lines and rows go
 * out one by one; a list and what compares all with all wait for the last. */
#include "embed/embed_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy.h"
#include "term/out_json.h"
#include "term/output.h"

/* ---- one by one ---- */

static json_t *vector_json(const float *vector, int dim)
{
    json_t *list = vector ? json_array() : json_null();

    for (int k = 0; k < dim && vector; k++)
        json_array_append_new(list, json_real((double)vector[k]));
    return list;
}

static int print_line_json(const struct embed_printer *p, const float *vector)
{
    const struct embed_text *text = &p->in->text[p->next];

    return out_json(json_pack("{s:I, s:i, s:o}", "line", (json_int_t)text->line, "tokens", text->n, "vector",
                              vector_json(vector, p->dim)));
}

static int print_vector(const struct embed_printer *p, const float *vector)
{
    for (int k = 0; k < p->dim && vector; k++)
        out_print("%s%.9g", k ? " " : "", (double)vector[k]);
    out_print("\n");
    return DONE;
}

/* A text without a vector has a row of NaN. */
static int write_row(struct embed_printer *p, const float *vector)
{
    int code = DONE;

    if (vector)
        return npy_row(&p->npy, vector, (size_t)p->dim);
    for (int k = 0; k < p->dim && code == DONE; k++)
        code = npy_row(&p->npy, &(const float){NAN}, 1);
    return code;
}

int embed_print_next(struct embed_printer *p, const float *vector)
{
    const struct embed_options *e = p->o->embed;
    const size_t n = (size_t)p->dim;
    int code = e->out ? write_row(p, vector) : DONE;

    if (p->all && vector)
        memcpy(p->all + (size_t)p->next * n, vector, n * sizeof *vector);
    else if (!p->all && !e->out && code == DONE)
        code = e->jsonl ? print_line_json(p, vector) : print_vector(p, vector);
    p->next++;
    return code;
}

/* ---- all of them ---- */

static const float *vector_of(const struct embed_printer *p, int i)
{
    return p->all + (size_t)i * (size_t)p->dim;
}

/* Both have length 1, so that their product is the cosine. */
static double similarity(const struct embed_printer *p, int i, int k)
{
    const float *a = vector_of(p, i), *b = vector_of(p, k);
    double sum = 0;

    for (int j = 0; j < p->dim; j++)
        sum += (double)a[j] * (double)b[j];
    return sum;
}

static json_t *own_vector_json(const struct embed_printer *p, int i)
{
    return vector_json(isfinite(*vector_of(p, i)) ? vector_of(p, i) : NULL, p->dim);
}

static json_t *similarities_json(const struct embed_printer *p, int i)
{
    json_t *list = json_array();

    for (int k = 0; k < p->in->n; k++)
        json_array_append_new(list, json_number(similarity(p, i, k)));
    return list;
}

/* A list of what each text gives. */
static json_t *each_json(const struct embed_printer *p, json_t *(*of)(const struct embed_printer *p, int i))
{
    json_t *list = json_array();

    for (int i = 0; i < p->in->n; i++)
        json_array_append_new(list, of(p, i));
    return list;
}

static json_t *tokens_json(const struct embed_printer *p, int i)
{
    return json_integer(p->in->text[i].n);
}

static int print_all_json(const struct embed_printer *p, size_t tokens, double seconds)
{
    const bool near = p->o->embed->similarity;
    json_t *all =
        json_pack("{s:i, s:o, s:o}", "dim", p->dim, "tokens", each_json(p, tokens_json),
                  near ? "similarity" : "vectors", each_json(p, near ? similarities_json : own_vector_json));

    if (all && p->o->embed->stats)
        json_object_set_new(all, "stats",
                            json_pack("{s:I, s:f, s:o}", "tokens", (json_int_t)tokens, "seconds", seconds,
                                      "tok_s", json_number((double)tokens / seconds)));
    return out_json(all);
}

static int print_similarities(const struct embed_printer *p)
{
    for (int i = 0; i < p->in->n; i++)
        for (int k = 0; k < p->in->n; k++)
            out_print("%.6f%s", similarity(p, i, k), k + 1 < p->in->n ? "\t" : "\n");
    return DONE;
}

/* ---- from the first to the last ---- */

int embed_print_begin(struct embed_printer *p, const struct options *o, const struct embed_inputs *in,
                      int dim)
{
    const struct embed_options *e = o->embed;
    const size_t n = (size_t)in->n, values = n * (size_t)dim;

    *p = (struct embed_printer){.o = o, .in = in, .dim = dim};
    if (o->json || e->similarity) {
        p->all = malloc((values + 1) * sizeof *p->all);
        if (!p->all)
            return fail_memory();
        for (size_t i = 0; i < values; i++)
            p->all[i] = NAN;
    }
    return e->out ? npy_create(&p->npy, e->out, n, (size_t)dim) : DONE;
}

int embed_print_end(struct embed_printer *p, size_t tokens, double seconds)
{
    const struct embed_options *e = p->o->embed;

    if (e->stats && !p->o->json)
        term_note("%d texts, %zu tokens in %.4f s: %.1f tok/s", p->in->n - p->in->failed, tokens, seconds,
                  (double)tokens / seconds);
    if (e->out)
        TRY(save_close(&p->npy));
    return p->o->json ? print_all_json(p, tokens, seconds) : e->similarity ? print_similarities(p) : DONE;
}

void embed_print_free(struct embed_printer *p)
{
    save_abandon(&p->npy);
    free(p->all);
}
