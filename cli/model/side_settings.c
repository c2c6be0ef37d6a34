/* SPDX-License-Identifier: Apache-2.0 */
/* side_settings.c: see side_settings.h. The texts are found by the library, with the model. */
#define _POSIX_C_SOURCE 200809L
#include "model/side_settings.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names/located.h"
#include "term/message.h"
#include "term/output.h"

/* Looks for the model. One that is not found has nothing beside it: opening says so. */
static int look(carat_location *at, const struct options *o)
{
    carat_location_default(at);
    return o->model && is_located(o->model) ? look_for_model(at, o->model) : DONE;
}

int side_settings_sampling(carat_sampling *s, const struct options *o)
{
    carat_location at;
    int code = look(&at, o);

    if (code == DONE && at.params) {
        json_error_t why;
        json_t *root = json_loads(at.params, JSON_REJECT_DUPLICATES, &why);
        const struct {
            const char *key;
            float *value;
        } numbers[] = {{"temperature", &s->temperature}, {"top_p", &s->top_p}, {"min_p", &s->min_p}};
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            const json_t *v = json_object_get(root, numbers[i].key);
            if (json_is_number(v))
                *numbers[i].value = (float)json_number_value(v);
        }
        const json_t *top_k = json_object_get(root, "top_k");
        if (json_is_integer(top_k) && json_integer_value(top_k) >= 0 &&
            json_integer_value(top_k) <= INT32_MAX)
            s->top_k = (int)json_integer_value(top_k);
        if (!json_is_object(root))
            code = fail_as(BAD_MODEL, CARAT_E_FORMAT, "%s: the params of its store are no object of JSON: %s",
                           o->model, root ? "another value" : why.text);
        json_decref(root);
    }
    carat_location_free(&at);
    return code;
}

int side_settings_system(char **system, const struct options *o)
{
    carat_location at;
    int code = look(&at, o);

    *system = NULL;
    if (code == DONE && at.system && *at.system && !(*system = strdup(at.system)))
        code = fail_memory();
    carat_location_free(&at);
    return code;
}

void side_settings_note(const carat_location *at)
{
    if (at->template_odd)
        term_note(
            "the template in the store of %s has text of its own, which is not used: prompts are rendered "
            "as the "
            "family's publisher does",
            at->store);
}

/* A text in one line. */
static void show_text(const char *label, const char *text)
{
    if (!text)
        return;
    out_print("  %-18s", label);
    out_name(text, 400);
    out_print("\n");
}

void side_settings_show(const carat_location *at)
{
    show_text("store's params", at->params);
    show_text("store's system", at->system);
    show_text("store's template", at->template_odd);
}
