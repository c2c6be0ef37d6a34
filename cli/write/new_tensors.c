/* SPDX-License-Identifier: Apache-2.0 */
/* new_tensors.c: see new_tensors.h. */
#include "write/new_tensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

void written_add(void *user, const carat_converted *tensor)
{
    struct written *w = user;

    if (w->n == w->capacity) {
        const int more = w->capacity ? 2 * w->capacity : 256;
        carat_converted *grown = realloc(w->tensor, (size_t)more * sizeof *grown);
        if (!grown) {
            w->failed = true;
            return;
        }
        w->tensor = grown;
        w->capacity = more;
    }
    carat_converted *t = &w->tensor[w->n];
    *t = *tensor;
    char *name = malloc(strlen(tensor->name) + 1); /* types are words of the library */
    t->name = name ? strcpy(name, tensor->name) : NULL;
    w->failed = w->failed || !name;
    w->n += name != NULL;
}

void written_free(struct written *w)
{
    for (int i = 0; i < w->n; i++)
        free((char *)(uintptr_t)w->tensor[i].name);
    free(w->tensor);
}

static void shape(const carat_converted *t, char text[64])
{
    int at = 0;

    *text = 0;
    for (int i = 0; i < t->n_dim && at < 60; i++)
        at += snprintf(text + at, 64 - (size_t)at, "%s%" PRId64, i ? " x " : "", t->dim[i]);
}

/* True: an earlier tensor has the type of tensor n; of the second function, the type that was asked for,
 * too. */
static bool told_before(const struct written *w, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(w->tensor[i].to, w->tensor[n].to) == 0)
            return true;
    return false;
}

static bool fell_back_before(const struct written *w, int n)
{
    for (int i = 0; i < n; i++)
        if (w->tensor[i].asked && strcmp(w->tensor[i].asked, w->tensor[n].asked) == 0 &&
            strcmp(w->tensor[i].to, w->tensor[n].to) == 0)
            return true;
    return false;
}

static void tell_fallbacks(const struct written *w)
{
    for (int i = 0; i < w->n; i++) {
        const carat_converted *t = &w->tensor[i];
        int n = 0;
        if (!t->asked || fell_back_before(w, i))
            continue;
        for (int k = i; k < w->n; k++)
            n += w->tensor[k].asked && strcmp(w->tensor[k].asked, t->asked) == 0 &&
                 strcmp(w->tensor[k].to, t->to) == 0;
        term_note("%d tensor%s, %s first, %s %s instead of %s, of whose blocks a row of %" PRId64
                  " values is no multiple",
                  n, n == 1 ? "" : "s", t->name, n == 1 ? "becomes" : "become", t->to, t->asked,
                  t->dim[t->n_dim - 1]);
    }
}

void written_close(const struct written *w)
{
    char types[256] = "", before[SIZE_TEXT], after[SIZE_TEXT];
    uint64_t from = 0, to = 0, weights = 0;
    size_t at = 0;

    tell_fallbacks(w);
    for (int i = 0; i < w->n; i++) {
        const carat_converted *t = &w->tensor[i];
        int n = 0;
        from += t->bytes_from;
        to += t->bytes;
        weights += t->weights;
        for (int k = i; k < w->n; k++)
            n += strcmp(w->tensor[k].to, t->to) == 0;
        if (!told_before(w, i) && at < sizeof types - 1)
            at += (size_t)snprintf(types + at, sizeof types - at, "%s%d %s", at ? ", " : "", n, t->to);
    }
    size_text(before, (double)from);
    size_text(after, (double)to);
    term_note("%d tensors: %s; %s -> %s, %.2f bits a weight", w->n, types, before, after,
              weights > 0 ? 8 * (double)to / (double)weights : 0);
}

void written_print(const struct written *w)
{
    uint64_t before = 0, after = 0;
    uint64_t weights = 0;
    char text[64];

    for (int i = 0; i < w->n; i++) {
        const carat_converted *t = &w->tensor[i];
        shape(t, text);
        out_print("%-36s %-22s %-7s -> %-7s %14" PRIu64 "\n", t->name, text, t->from, t->to, t->bytes);
        before += t->bytes_from;
        after += t->bytes;
        weights += t->weights;
    }
    out_print("%d tensors, %" PRIu64 " bytes -> %" PRIu64 " bytes, %.2f bits per weight\n", w->n, before,
              after, weights > 0 ? 8 * (double)after / (double)weights : 0);
}

static json_t *tensor_json(const carat_converted *t)
{
    json_t *dims = json_array();
    json_t *all = json_pack(
        "{s:s, s:s, s:s, s:o, s:I, s:I, s:o}", "name", t->name, "from", t->from, "to", t->to, "shape", dims,
        "bytes_from", (json_int_t)t->bytes_from, "bytes", (json_int_t)t->bytes, "bits_per_weight",
        t->weights ? json_number(8 * (double)t->bytes / (double)t->weights) : json_null());
    const struct {
        const char *name;
        double value;
    } measured[] = {{"largest", t->largest},         {"least_scale", t->least_scale},
                    {"most_scale", t->most_scale},   {"snr_db", t->snr},
                    {"correlation", t->correlation}, {"mean_error", t->mean_error},
                    {"rms_error", t->rms_error},     {"largest_error", t->largest_error},
                    {"seconds", t->seconds},         {"largest_clipped", t->largest_clipped},
                    {"on_lattice", t->on_lattice},   {"one_scale", t->one_scale}};
    const size_t n = sizeof measured / sizeof *measured - (t->on_lattice < 0 ? 2 : 0);

    for (int i = 0; all && i < t->n_dim; i++)
        if (json_array_append_new(dims, json_integer(t->dim[i])) != 0) {
            json_decref(all);
            return NULL;
        }
    if (all && t->measured &&
        (json_object_set_new(all, "clipped", json_integer((json_int_t)t->clipped)) != 0 ||
         json_object_set_new(all, "distinct", json_integer((json_int_t)t->distinct)) != 0)) {
        json_decref(all);
        return NULL;
    }
    for (size_t i = 0; all && t->measured && i < n; i++)
        if (json_object_set_new(all, measured[i].name, json_number(measured[i].value)) != 0) {
            json_decref(all);
            return NULL;
        }
    return all;
}

json_t *written_json(const struct written *w)
{
    json_t *list = json_array();

    for (int i = 0; list && i < w->n; i++)
        if (json_array_append_new(list, tensor_json(&w->tensor[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return w->failed ? (json_decref(list), NULL) : list;
}
