/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_tensors.c: the last part of a sweep's page: what each recipe made of each tensor, as tensors.json in
 * the folder of its name has it (new_tensors.c). */
#include <stdbool.h>
#include <string.h>

#include "quality/compare/report_parts.h"
#include "quality/sweep/sweep.h"

enum { PLACE = 4096 };

static void put_number(FILE *f, const json_t *tensor, const char *label, const char *key, int digits)
{
    char text[NUMBER_TEXT];
    const json_t *value = json_object_get(tensor, key);

    fprintf(f, "<td data-l=\"%s\">%s</td>", label,
            json_is_number(value) ? number_text(text, json_number_value(value), digits) : "");
}

static void put_share(FILE *f, const json_t *tensor, const char *label, const char *key)
{
    char text[NUMBER_TEXT];
    const json_t *value = json_object_get(tensor, key);

    fprintf(f, "<td data-l=\"%s\">%s</td>", label,
            json_is_number(value) ? percent_text(text, json_number_value(value)) : "");
}

static void put_tensor(FILE *f, const json_t *tensor)
{
    char text[NUMBER_TEXT];
    const json_t *correlation = json_object_get(tensor, "correlation"),
                 *clipped = json_object_get(tensor, "clipped");

    fputs("<tr><th>", f);
    report_value(f, json_object_get(tensor, "name"));
    fputs("</th><td data-l=\"type\">", f);
    report_value(f, json_object_get(tensor, "to"));
    fputs("</td>", f);
    put_number(f, tensor, "bits a weight", "bits_per_weight", 3);
    put_number(f, tensor, "largest", "largest", 3);
    put_number(f, tensor, "SNR, dB", "snr_db", 3);
    fprintf(f, "<td data-l=\"correlation\">%s</td>",
            json_is_number(correlation) ? near_one_text(text, json_number_value(correlation)) : "");
    put_number(f, tensor, "RMS error", "rms_error", 3);
    fprintf(f, "<td data-l=\"clipped\">%s</td>",
            json_is_integer(clipped) ? count_text(text, json_integer_value(clipped)) : "");
    put_share(f, tensor, "on a lattice", "on_lattice");
    fputs("</tr>\n", f);
}

static bool keeps_values(const json_t *tensor)
{
    return json_number_value(json_object_get(tensor, "rms_error")) == 0;
}

static void put_made(FILE *f, const struct sweep *s, const struct made *m)
{
    static const char *const heads[] = {"tensor",      "type",      "bits a weight", "largest",     "SNR, dB",
                                        "correlation", "RMS error", "clipped",       "on a lattice"};
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
    fputs("<table class=\"cards\">\n<thead><tr>", f);
    for (i = 0; i < sizeof heads / sizeof *heads; i++)
        fprintf(f, "<th>%s</th>", heads[i]);
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
