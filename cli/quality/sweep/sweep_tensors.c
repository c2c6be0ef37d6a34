/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_tensors.c: the last part of a sweep's page: what each recipe made of each tensor, as tensors.json in
 * the folder of its name has it (new_tensors.c). */
#include <math.h>
#include <stdbool.h>

#include "quality/compare/report_parts.h"
#include "quality/sweep/sweep.h"

enum { PLACE = 4096 };

/* ---- the columns behind the name ---- */

static const char *three_digits(char out[NUMBER_TEXT], double value)
{
    return number_text(out, value, 3);
}

static const char *whole(char out[NUMBER_TEXT], double value)
{
    return count_text(out, (int64_t)value);
}

/* A row of tensors.json. */
struct tensor {
    struct words name, type;
    double bits, largest, snr, correlation, rms_error, clipped, on_lattice; /* NAN: it has none */
};

/* clang-format off */
#define T(member) .at = offsetof(struct tensor, member)
static const struct field tensor_fields[] = {
    {"name", FIELD_WORDS, T(name)},
    {"to", FIELD_WORDS, T(type)},
    {"bits_per_weight", FIELD_REAL, T(bits)},
    {"largest", FIELD_REAL, T(largest)},
    {"snr_db", FIELD_REAL, T(snr)},
    {"correlation", FIELD_REAL, T(correlation)},
    {"rms_error", FIELD_REAL, T(rms_error)},
    {"clipped", FIELD_REAL, T(clipped)},
    {"on_lattice", FIELD_REAL, T(on_lattice)},
    {0},
};
/* clang-format on */

static const struct {
    const char *label;
    size_t at;
    const char *(*text)(char out[NUMBER_TEXT], double value);
} columns[] = {{"bits a weight", offsetof(struct tensor, bits), three_digits},
               {"largest", offsetof(struct tensor, largest), three_digits},
               {"SNR, dB", offsetof(struct tensor, snr), three_digits},
               {"correlation", offsetof(struct tensor, correlation), near_one_text},
               {"RMS error", offsetof(struct tensor, rms_error), three_digits},
               {"clipped", offsetof(struct tensor, clipped), whole},
               {"on a lattice", offsetof(struct tensor, on_lattice), percent_text}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_tensor(FILE *f, const struct tensor *t)
{
    char text[NUMBER_TEXT];

    fputs("<tr><th>", f);
    report_words(f, t->name);
    fputs("</th><td data-l=\"type\">", f);
    report_words(f, t->type);
    fputs("</td>", f);
    for (int i = 0; i < COLUMNS; i++) {
        const double value = *(const double *)(const void *)((const char *)t + columns[i].at);
        fprintf(f, "<td data-l=\"%s\">%s</td>", columns[i].label,
                isnan(value) ? "" : columns[i].text(text, value));
    }
    fputs("</tr>\n", f);
}

/* ---- the tables ---- */

static void put_made(FILE *f, const struct sweep *s, const struct made *m)
{
    char path[PLACE], text[NUMBER_TEXT];
    size_t i, same = 0;
    json_t *list, *row;

    snprintf(path, sizeof path, "%s/%s/tensors.json", s->dir, m->name);
    list = json_load_file(path, 0, NULL);
    fprintf(f, "<details>\n<summary><b>%s</b></summary>\n", m->name); /* of harmless characters */
    if (!json_is_array(list)) {
        fputs("<p class=\"soft\">tensors.json is not there, or cannot be read.</p>\n</details>\n", f);
        json_decref(list);
        return;
    }
    fputs("<table class=\"cards\">\n<thead><tr><th>tensor</th><th>type</th>", f);
    for (i = 0; i < COLUMNS; i++)
        fprintf(f, "<th>%s</th>", columns[i].label);
    fputs("</tr></thead>\n<tbody>\n", f);
    json_array_foreach(list, i, row)
    {
        struct tensor tensor;
        fields_read(tensor_fields, &tensor, row);
        const bool keeps_values = !(fabs(tensor.rms_error) > 0);
        same += keeps_values;
        if (!keeps_values)
            put_tensor(f, &tensor);
    }
    fprintf(
        f,
        "</tbody>\n</table>\n<p class=\"soft\">The other tensors, %s, keep their values.</p>\n</details>\n",
        count_text(text, (int64_t)same));
    json_decref(list);
}

void sweep_tensors(FILE *f, const struct sweep *s)
{
    fputs(
        "<section>\n<h2>Tensors</h2>\n<p class=\"soft\">What each recipe made of each tensor. The errors are "
        "those of single weights; tensors.json in the folder of a recipe has more of them.</p>\n",
        f);
    for (int i = 0; i < s->recipes.n; i++)
        put_made(f, s, &s->made[i]);
    fputs("</section>\n", f);
}
