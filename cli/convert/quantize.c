/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c: `carat quantize IN OUT TYPE [THREADS]`: `carat convert` as llama-quantize is typed. What its
 * options say becomes a recipe: of names that a regular expression finds, and of the head and the tables. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "write/write_model.h"
#include "model/engine.h"
#include "model/model.h"
#include "write/new_tensors.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"

/* Entries NAME=TYPE with commas between. */
struct recipe {
    char *text;
    size_t n;
    bool failed;
};

static void add(struct recipe *r, const char *name, const char *type)
{
    const size_t more = strlen(name) + strlen(type) + 3;
    char *grown = realloc(r->text, r->n + more);

    r->failed = r->failed || !grown;
    if (!grown)
        return;
    r->text = grown;
    r->n += (size_t)snprintf(r->text + r->n, more, "%s%s=%s", r->n ? "," : "", name, type);
}

static bool has(const struct written *w, const char *name)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->tensor[i].name, name) == 0)
            return true;
    return false;
}

static void add_named(struct recipe *r, const struct written *w, const char *name, const char *type)
{
    if (type && has(w, name))
        add(r, name, type);
}

/* The matrices that a regular expression finds. */
static int add_found(struct recipe *r, const struct written *w, const char *option)
{
    const char *equals = strrchr(option, '=');
    char pattern[256];
    regex_t found;

    if (!equals || equals == option || !equals[1] || (size_t)(equals - option) >= sizeof pattern)
        return term_fail(USAGE, "--tensor-type is NAME=TYPE, not '%.80s'", option);
    memcpy(pattern, option, (size_t)(equals - option));
    pattern[equals - option] = 0;
    if (regcomp(&found, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return term_fail(USAGE, "--tensor-type: '%s' is no regular expression", pattern);
    for (int i = 0; i < w->n; i++)
        if (w->tensor[i].matrix && regexec(&found, w->tensor[i].name, 0, NULL, 0) == 0)
            add(r, w->tensor[i].name, equals + 1);
    regfree(&found);
    return DONE;
}

/* The last entry about a tensor counts; of --tensor-type the first does. */
static int make_recipe(struct recipe *r, const struct written *w, const struct writing_options *o)
{
    static const char embedding[] = "token_embd.weight", inputs[] = "per_layer_token_embd.weight",
                      head[] = "output.weight";
    const bool tied = !has(w, head);

    if (tied && !o->pure) {
        add_named(r, w, embedding, o->output_type);
        add_named(r, w, inputs, o->output_type);
    }
    add_named(r, w, inputs, o->embedding_type);
    for (int i = o->tensor_types.n - 1; i >= 0; i--)
        TRY(add_found(r, w, o->tensor_types.text[i]));
    add_named(r, w, embedding, o->embedding_type);
    add_named(r, w, head, o->output_type);
    add_named(r, w, head, o->leave_output ? "keep" : NULL);
    return r->failed ? fail_memory() : DONE;
}

static int quantize(const carat_model *model, carat_convert_options *how, const struct options *o)
{
    carat_convert_options look = *how;
    struct written written = {0};
    struct recipe recipe = {0};
    carat_error err;
    int code = DONE;

    look.dry_run = 1;
    look.tensor = written_add;
    look.user = &written;
    if (carat_convert(model, NULL, &look, &err) != CARAT_OK)
        code = fail_status(&err);
    else if (written.failed)
        code = fail_memory();
    if (code == DONE)
        code = make_recipe(&recipe, &written, o->writing);
    how->recipe = recipe.text;
    if (code == DONE)
        code = write_model(model, o->text, how, o, true);
    free(recipe.text);
    written_free(&written);
    return code;
}

/* KEY=TYPE:VALUE as the library takes it, KEY:TYPE=VALUE, at `to`, as long. */
static int take_override(char *to, const char *text)
{
    const char *equals = strchr(text, '='), *colon = equals ? strchr(equals, ':') : NULL;

    if (!colon || equals == text)
        return term_fail(USAGE, "--override-kv is KEY=TYPE:VALUE, not '%.80s'", text);
    strcpy(to, text);
    to[equals - text] = ':';
    to[colon - text] = '=';
    return DONE;
}

static int take_overrides(char *set[MOST_TEXTS], const struct texts *overrides)
{
    int code = DONE;

    for (int i = 0; i < overrides->n && code == DONE; i++) {
        set[i] = malloc(strlen(overrides->text[i]) + 1);
        code = set[i] ? take_override(set[i], overrides->text[i]) : fail_memory();
    }
    return code;
}

int verb_quantize(const struct options *o)
{
    const char *threads = o->more.n > 1 ? o->more.text[1] : "0";
    char *set[MOST_TEXTS] = {NULL};
    carat_convert_options how;
    carat_model *model = NULL;

    writing_options(&how, o);
    how.type = o->more.text[0];
    if (!o->writing->qat)
        how.qat = CARAT_QAT_OFF;
    how.threads = options_given(o, &o->engine->threads) ? o->engine->threads : atoi(threads);
    if (!*threads || strspn(threads, "0123456789") != strlen(threads) || strlen(threads) > 4)
        return term_fail(USAGE, "quantize: '%.80s' is no number of threads", threads);
    interrupt_install();
    int code = take_overrides(set, &o->writing->overrides);
    how.set = (const char *const *)set;
    how.n_set = o->writing->overrides.n;
    if (code == DONE)
        code = open_source(&model, o);
    if (code == DONE && !o->writing->dry_run)
        code = write_over(model, o->text, o);
    if (code == DONE)
        code = quantize(model, &how, o);
    carat_model_close(model);
    for (int i = 0; i < MOST_TEXTS; i++)
        free(set[i]);
    return code;
}
