/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_tensors.c: the last part of a sweep's page: what each recipe made of each tensor, as tensors.json in
 * the folder of its name has it (new_tensors.c). */
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

static const struct {
    const char *label, *key;
    const char *(*text)(char out[NUMBER_TEXT], double value); /* NULL: it is a word */
} columns[] = {{"type", "to", NULL},
               {"bits a weight", "bits_per_weight", three_digits},
               {"largest", "largest", three_digits},
               {"SNR, dB", "snr_db", three_digits},
               {"correlation", "correlation", near_one_text},
               {"RMS error", "rms_error", three_digits},
               {"clipped", "clipped", whole},
               {"on a lattice", "on_lattice", percent_text}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static void put_tensor(FILE *f, const json_t *tensor)
{
    char text[NUMBER_TEXT];

    fputs("<tr><th>", f);
    report_value(f, json_object_get(tensor, "name"));
    fputs("</th>", f);
    for (int i = 0; i < COLUMNS; i++) {
        const json_t *value = json_object_get(tensor, columns[i].key);
        fprintf(f, "<td data-l=\"%s\">", columns[i].label);
        if (!columns[i].text)
            report_value(f, value);
        else if (json_is_number(value))
            fputs(columns[i].text(text, json_number_value(value)), f);
        fputs("</td>", f);
    }
    fputs("</tr>\n", f);
}

/* ---- the tables ---- */

static bool keeps_values(const json_t *tensor)
{
    return json_number_value(json_object_get(tensor, "rms_error")) == 0;
}

static void put_made(FILE *f, const struct sweep *s, const struct made *m)
{
    char path[PLACE];
    size_t i, same = 0;
    json_t *list, *tensor;
    char text[NUMBER_TEXT];

    snprintf(path, sizeof path, "%s/%s/tensors.json", s->dir, m->name);
    list = json_load_file(path, 0, NULL);
    fprintf(f, "<details>\n<summary><b>%s</b></summary>\n", m->name); /* of harmless characters */
    if (!json_is_array(list)) {
        fputs("<p class=\"soft\">tensors.json is not there, or cannot be read.</p>\n</details>\n", f);
        json_decref(list);
        return;
    }
    fputs("<table class=\"cards\">\n<thead><tr><th>tensor</th>", f);
    for (i = 0; i < COLUMNS; i++)
        fprintf(f, "<th>%s</th>", columns[i].label);
    fputs("</tr></thead>\n<tbody>\n", f);
    json_array_foreach(list, i, tensor)
    {
        same += keeps_values(tensor);
        if (!keeps_values(tensor))
            put_tensor(f, tensor);
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
