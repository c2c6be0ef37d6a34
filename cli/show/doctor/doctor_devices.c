/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_devices.c: the GPUs of this machine, as the library describes them, and whether this build has
 * kernels for them. */
#include <stdio.h>
#include <string.h>

#include "show/doctor/doctor.h"
#include "term/out_json.h"
#include "term/size.h"

void doctor_find_devices(struct devices *d)
{
    carat_error err = {CARAT_OK, ""};
    char name[24] = "cuda:0";

    for (d->n = 0; d->n < MOST_DEVICES; snprintf(name, sizeof name, "cuda:%d", ++d->n)) {
        d->of[d->n].size = sizeof d->of[d->n];
        if (carat_get_device(name, 0, &d->of[d->n], &err) != CARAT_OK)
            break;
    }
    snprintf(d->none, sizeof d->none, "%s", d->n ? "" : err.message);
}

bool doctor_device(const struct devices *d, int i, const char **name, char text[DEVICE_TEXT])
{
    const char *kernels = carat_gpu_kernels();
    char size[2][SIZE_TEXT];

    *name = i ? "" : "GPU";
    if (i < d->n) {
        const carat_device *g = &d->of[i];
        snprintf(text, DEVICE_TEXT, "cuda:%d %s, compute capability %d.%d, memory %s, free %s%s%s", g->number,
                 g->name, g->compute_major, g->compute_minor, size_text(size[0], (double)g->total_bytes),
                 size_text(size[1], (double)g->free_bytes), *g->why ? "; not usable: " : "", g->why);
        return true;
    }
    if (i == 0) {
        snprintf(text, DEVICE_TEXT, "none: %s", d->none);
        return true;
    }
    *name = "  kernels";
    snprintf(text, DEVICE_TEXT, "%s", kernels ? kernels : "none: built without clang");
    return i == (d->n ? d->n : 1);
}

json_t *doctor_devices_json(const struct devices *d)
{
    json_t *list = json_array();

    for (int i = 0; i < d->n; i++) {
        const carat_device *g = &d->of[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:o, s:i, s:i, s:f, s:f, s:b, s:s}", "backend", "cuda",
                                        "number", g->number, "name", json_text(g->name, strlen(g->name)),
                                        "compute_major", g->compute_major, "compute_minor", g->compute_minor,
                                        "free_mb", (double)g->free_bytes / 1e6, "total_mb",
                                        (double)g->total_bytes / 1e6, "usable", g->usable, "why", g->why));
    }
    return json_pack("{s:o, s:s, s:s?}", "devices", list, "why_none", d->none, "kernels",
                     carat_gpu_kernels());
}
