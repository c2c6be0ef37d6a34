/* SPDX-License-Identifier: Apache-2.0 */
/* imatrix.c: `carat imatrix`: evaluates windows of a text, or conversations, and writes how much each column
 * of the matrices mattered. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "carat_convert.h"
#include "carat_tools.h"
#include "io/input.h"
#include "io/json_lines.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/phases.h"
#include "write/write_model.h"
#include "prompt/prompt.h"
#include "prompt/windows.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/size.h"

struct measuring {
    const struct options *o;
    const char *path; /* of the text, or of the conversations; ids have none */
    carat_tokens ids; /* of --ids */
    carat_model *model;
    carat_importance *importance;
    struct windows windows;
    carat_tokens *part; /* [n_part] each evaluated by itself */
    int n_part, longest;
};

/* The part becomes the caller's ids, which it takes over. */
static int add_part(struct measuring *m, carat_tokens *ids)
{
    carat_tokens *grown = realloc(m->part, (size_t)(m->n_part + 1) * sizeof *grown);

    if (!grown)
        return fail_memory();
    m->part = grown;
    m->part[m->n_part++] = *ids;
    m->longest = ids->n > m->longest ? ids->n : m->longest;
    *ids = (carat_tokens){0};
    return DONE;
}

static int read_parts_of_text(struct measuring *m)
{
    carat_tokens ids = {0};
    int code = windows_read(m->model, m->o, m->path, &ids);

    if (code == DONE)
        code = add_part(m, &ids);
    carat_tokens_free(&ids);
    return code;
}

static int add_talk(struct measuring *m, const struct json_lines *l, const json_t *line)
{
    const json_t *messages = json_is_array(line) ? line : json_object_get(line, "messages");
    carat_tokens ids = {0};
    carat_error err;
    int code = DONE;

    if (!json_is_array(messages))
        return json_lines_fail(l, json_lines_byte(l, "messages", -1), "there is no list \"messages\"");
    char *text = json_dumps(messages, JSON_COMPACT);
    if (!text)
        return fail_memory();
    if (carat_render_json(m->model, text, NULL, &ids, NULL, &err) != CARAT_OK)
        code = json_lines_fail(l, 0, "%s", err.message);
    if (code == DONE)
        code = add_part(m, &ids);
    carat_tokens_free(&ids);
    free(text);
    return code;
}

static int read_talks(struct measuring *m)
{
    struct json_lines l = {0};
    int code = json_lines_open(&l, m->path);

    while (code == DONE && json_lines_next(&l)) {
        json_t *line = json_lines_value(&l, &code);
        if (code == DONE)
            code = add_talk(m, &l, line);
        json_decref(line);
    }
    json_lines_close(&l);
    return code;
}

static int measure_parts(struct measuring *m)
{
    carat_engine_options options;
    struct windows *w = &m->windows;
    struct phases phases;
    carat_error err;
    int code;

    TRY(m->o->prompt->ids        ? add_part(m, &m->ids)
        : m->o->prompt->messages ? read_talks(m)
                                 : read_parts_of_text(m));
    TRY(phases_engine(&phases, &options, m->o));
    const int context = m->o->engine->context < m->longest ? m->o->engine->context : m->longest;
    TRY(windows_begin(w, m->model, &options, context));
    if (carat_importance_begin(&m->importance, w->engine, &err) != CARAT_OK)
        return fail_status(&err);
    for (int i = 0; i < m->n_part; i++)
        w->total += windows_count(&m->part[i], context, m->o->prompt->messages != NULL);
    progress_begin(&w->bar, "measuring", "tok");
    code = DONE;
    for (int i = 0; i < m->n_part && code == DONE; i++) /* a conversation is one window, as far as it fits */
        code = windows_evaluate(w, &m->part[i], context, m->o->prompt->messages != NULL);
    progress_end(&w->bar);
    const char *name = strrchr(m->path, '/'), *out = m->o->writing->out;
    char size[SIZE_TEXT];
    struct stat status;
    if (code == DONE &&
        carat_importance_write(m->importance, out, name ? name + 1 : m->path, context, &err) != CARAT_OK)
        code = fail_status(&err);
    if (code == DONE && stat(out, &status) == 0)
        term_note("%s: F32, %s, how much columns matter over %zu tokens", out,
                  size_text(size, (double)status.st_size), w->total);
    return code;
}

static int check(struct measuring *m)
{
    const struct options *o = m->o;

    if ((o->prompt->file != NULL) + (o->prompt->messages != NULL) + (o->prompt->ids != NULL) != 1)
        return term_fail(USAGE, "imatrix needs one text: -f FILE, --messages FILE.jsonl, or --ids");
    if (!o->writing->out)
        return term_fail(USAGE, "imatrix: -o FILE.gguf says where the importance goes");
    m->path = "ids";
    if (o->prompt->ids)
        return read_ids(o->prompt->ids, "--ids", &m->ids);
    m->path = o->prompt->file ? o->prompt->file : o->prompt->messages;
    return strcmp(m->path, "-") == 0 ? DONE : check_readable("imatrix", m->path, false);
}

int verb_imatrix(const struct options *o)
{
    struct measuring m = {.o = o};
    int code = check(&m);

    interrupt_install();
    if (code == DONE)
        code = open_packed(&m.model, o);
    if (code == DONE)
        code = write_over(m.model, o->writing->out, o);
    if (code == DONE)
        code = measure_parts(&m);
    for (int i = 0; i < m.n_part; i++)
        carat_tokens_free(&m.part[i]);
    free(m.part);
    carat_tokens_free(&m.ids);
    carat_importance_end(m.importance);
    carat_session_close(m.windows.session);
    carat_engine_close(m.windows.engine);
    carat_model_close(m.model);
    return code;
}
