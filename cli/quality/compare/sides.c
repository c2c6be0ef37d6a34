/* SPDX-License-Identifier: Apache-2.0 */
/* sides.c: the two that are compared: opens models, sees that their ids mean the same and that both plans
 * fit into memory, creates engines, and says who they are. */
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "model/engine.h"
#include "model/head.h"
#include "model/model.h"
#include "model/stored.h"
#include "quality/compare/compare.h"
#include "quality/compare/compare_options.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/size.h"

/* ---- names ---- */

int sides_name(struct compare *c)
{
    const struct options *o = c->o;
    const char *first = o->model, *second = o->text;
    int code = DONE;

    if (c->recorded && (second || o->compare->hf_reference))
        return term_fail(
            USAGE,
            "compare: recorded logits are the reference, so there is one model, not '%.80s' and '%.80s'",
            first, second ? second : o->compare->hf_reference);
    if (o->compare->hf_reference && second)
        return term_fail(
            USAGE, "compare: --hf-reference names REF, so there is one other model, not '%.80s' and '%.80s'",
            first, second);
    if (o->compare->hf_reference) {
        second = first;
        first = o->compare->hf_reference;
    }
    for (int i = 0; i < SIDES; i++) {
        struct side *s = &c->side[i];
        if ((code = options_copy(&s->o, o)) != DONE)
            return code;
        s->path = s->o.model = i == TEST && second ? second : first;
        s->o.text = NULL;
        s->borrowed = i == REF && !second;
    }
    if (c->recorded && o->compare->ref_mode)
        return term_fail(USAGE, "compare: --ref is about a model, and the reference is recorded logits");
    if (c->recorded)
        c->side[REF].path = o->compare->ref_logits ? o->compare->ref_logits : o->compare->dataset;
    code = mode_read(&c->side[REF], "--ref", o->compare->ref_mode);
    if (code == DONE)
        code = mode_read(&c->side[TEST], "--test", o->compare->test_mode);
    if (code == DONE && !c->recorded && strcmp(c->side[REF].o.head->lm_head, "shortlist") == 0)
        code = term_fail(USAGE, "compare: the reference has all logits, so its head cannot be shortlist; "
                                "give that to the test alone, as in --test head=shortlist");
    return code;
}

/* ---- models ---- */

static int look_at_model(struct side *s)
{
    struct progress bar;
    carat_error err;

    s->info.size = sizeof s->info;
    if (carat_model_get_info(s->model, &s->info, &err) != CARAT_OK)
        return fail_status(&err);
    if (s->borrowed)
        return DONE;
    progress_begin(&bar, "reading", NULL);
    const carat_status status = carat_model_content(s->model, progress_update, &bar, s->content, &err);
    progress_end(&bar);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* <unused42>, or no piece at all: never trained. */
static bool is_unused(const char *piece, size_t n)
{
    return n == 0 || (n > 7 && strncmp(piece, "<unused", 7) == 0);
}

/* A blank is U+2581, or, in some pieces of GGUF, a space. */
static bool is_alike(const char *a, size_t n, const char *b, size_t m)
{
    static const char blank[] = "\xe2\x96\x81";
    size_t i = 0, k = 0;

    while (i < n && k < m) {
        const bool meta_a = n - i >= 3 && memcmp(a + i, blank, 3) == 0,
                   meta_b = m - k >= 3 && memcmp(b + k, blank, 3) == 0;
        if ((meta_a ? ' ' : a[i]) != (meta_b ? ' ' : b[k]))
            return false;
        i += meta_a ? 3 : 1;
        k += meta_b ? 3 : 1;
    }
    return i == n && k == m;
}

/* Ids must decode to the same text: else no number says anything. */
static int check_vocabularies(const struct compare *c)
{
    const struct side *a = &c->side[REF], *b = &c->side[TEST];
    int unused = 0;

    if (a->info.n_vocab != b->info.n_vocab || a->info.n_text_vocab != b->info.n_text_vocab)
        return fail_as(BAD_MODEL, CARAT_E_UNSUPPORTED,
                       "%s has %d ids, %d of text, and %s %d, %d of text: their logits cannot be compared",
                       a->path, a->info.n_vocab, a->info.n_text_vocab, b->path, b->info.n_vocab,
                       b->info.n_text_vocab);
    for (int32_t id = 0; a->info.has_tokenizer && b->info.has_tokenizer && id < a->info.n_text_vocab; id++) {
        size_t n, m;
        const char *of_a = carat_piece(a->model, id, &n), *of_b = carat_piece(b->model, id, &m);
        if (is_alike(of_a, n, of_b, m))
            continue;
        if (!is_unused(of_a, n) || !is_unused(of_b, m))
            return fail_as(BAD_MODEL, CARAT_E_UNSUPPORTED,
                           "id %d is '%.*s' in %s and '%.*s' in %s: their logits cannot be compared", (int)id,
                           (int)(n < 40 ? n : 40), n ? of_a : "", a->path, (int)(m < 40 ? m : 40),
                           m ? of_b : "", b->path);
        unused++;
    }
    if (unused)
        term_note("%d unused ids have other names in %s than in %s", unused, b->path, a->path);
    return DONE;
}

int sides_open(struct compare *c)
{
    struct side *ref = &c->side[REF], *test = &c->side[TEST];
    int code = open_packed(&test->model, &test->o);

    if (code == DONE && ref->borrowed)
        ref->model = test->model;
    else if (code == DONE)
        code = open_packed(&ref->model, &ref->o);
    for (int i = 0; i < SIDES && code == DONE; i++)
        code = phases_read(&c->side[i].phases, &c->side[i].o);
    for (int i = SIDES - 1; i >= 0 && code == DONE; i--)
        code = look_at_model(&c->side[i]);
    if (code == DONE && ref->borrowed)
        memcpy(ref->content, test->content, sizeof ref->content);
    return code == DONE && !ref->borrowed ? check_vocabularies(c) : code;
}

/* ---- engines ---- */

/* The options of a side's engine, to be read at once: those of the head are in one place for all. */
static carat_engine_options side_options(const struct side *s, int sessions, int context)
{
    carat_engine_options e;

    phases_options(&s->phases, &e);
    e.sessions = sessions;
    e.context = context;
    return e;
}

/* Plans what both sides need beside each other. */
static int plan_sides(const struct compare *c, carat_plan *plan, int sessions, int context)
{
    carat_error err;

    for (int i = 0; i < SIDES; i++) {
        carat_plan_default(&plan[i]);
        if (i == REF && c->recorded)
            continue;
        const carat_engine_options e = side_options(&c->side[i], sessions, context);
        if (carat_plan_engine(c->side[i].model, &e, &plan[i], &err) != CARAT_OK)
            return fail_status(&err);
    }
    return DONE;
}

static uint64_t sum_of(const carat_plan *plan)
{
    enum { ROWS = 64 << 20 }; /* rows of both sides, as carat_quality.h says */

    return (uint64_t)plan[REF].bytes + plan[TEST].bytes + ROWS;
}

/* Refuses two plans that memory has no room for together, and says which context would do. */
static int check_memory(const struct compare *c, int sessions, int context)
{
    carat_plan plan[SIDES], smaller[SIDES];
    carat_host_info host = {.size = sizeof host};
    char need[SIZE_TEXT], a[SIZE_TEXT], b[SIZE_TEXT], has[SIZE_TEXT], fits[64] = "no context would fit";
    carat_error err;

    TRY(plan_sides(c, plan, sessions, context));
    if (carat_get_host(&host, &err) != CARAT_OK)
        return fail_status(&err);
    uint64_t room = host.memory_total;
    if (host.memory_limit.value > 0 && host.memory_limit.value < (double)room)
        room = (uint64_t)host.memory_limit.value;
    if (!room || sum_of(plan) <= room)
        return DONE;
    for (int less = context / 2; less >= 32; less /= 2) {
        TRY(plan_sides(c, smaller, sessions, less));
        if (sum_of(smaller) > room)
            continue;
        snprintf(fits, sizeof fits, "-c %d would fit", less);
        break;
    }
    return term_fail(NO_MEMORY, "both models need %s (%s %s, %s %s), this process may use %s; %s",
                     size_text(need, (double)sum_of(plan)), c->side[REF].path,
                     size_text(a, (double)plan[REF].bytes), c->side[TEST].path,
                     size_text(b, (double)plan[TEST].bytes), size_text(has, (double)room), fits);
}

static int check_layers(const struct compare *c)
{
    for (int i = 0; i < SIDES; i++) {
        const struct side *s = &c->side[i];
        if (s->o.engine->max_layers > s->info.n_layer)
            return term_fail(USAGE, "--%s: layers is %d, expected 1 to %d, the layers of %s",
                             i == REF ? "ref" : "test", s->o.engine->max_layers, s->info.n_layer, s->path);
    }
    return DONE;
}

int sides_start(struct compare *c, int sessions, int context)
{
    int code = check_layers(c);

    if (code == DONE)
        code = check_memory(c, sessions, context);
    for (int i = 0; i < SIDES && code == DONE; i++) {
        struct side *s = &c->side[i];
        if (i == REF && c->recorded)
            continue;
        const carat_engine_options e = side_options(s, sessions, context);
        code = create_engine(&s->engine, s->model, &e);
    }
    return code;
}

void sides_close(struct compare *c)
{
    for (int i = 0; i < SIDES; i++) {
        carat_engine_close(c->side[i].engine);
        c->side[i].engine = NULL;
    }
    for (int i = 0; i < SIDES; i++)
        if (!c->side[i].borrowed)
            carat_model_close(c->side[i].model);
    for (int i = 0; i < SIDES; i++)
        options_free(&c->side[i].o);
    json_decref(c->run.options.at);
    free(c->command);
}

/* ---- what they are ---- */

/* "Q4_0 (126 tensors), F32 (109)" */
static void write_types(const carat_model *model, char *out, size_t capacity)
{
    struct type_counts types;

    count_types(&types, model, 0);
    *out = 0;
    for (int i = 0; i < types.n; i++) {
        size_t at = strlen(out);
        snprintf(out + at, capacity - at, "%s%s (%d%s)", i ? ", " : "", types.type[i].name, types.type[i].n,
                 i ? "" : " tensors");
    }
}

static struct run_side side_of(struct compare *c, int i)
{
    struct side *s = &c->side[i];

    if (i == REF && c->recorded)
        return (struct run_side){
            .name = words_of(model_name(s->path)), .recorded = true, .weight_bytes = -1, .n_parameter = -1};
    write_types(s->model, s->types, sizeof s->types);
    return (struct run_side){.name = words_of(model_name(s->path)),
                             .architecture = words_of(s->info.architecture),
                             .container = words_of(s->info.container),
                             .types = words_of(s->types),
                             .weight_bytes = (int64_t)s->info.weight_bytes,
                             .n_parameter = (int64_t)s->info.n_parameter,
                             .content = words_of(s->content),
                             .mode = words_of(*s->mode ? s->mode : "default")};
}

int next_length(const char **lengths)
{
    const long n = *lengths ? strtol(*lengths, NULL, 10) : 0;

    if (n > 0) {
        *lengths += strcspn(*lengths, ",");
        *lengths += **lengths == ',';
    }
    return (int)n;
}

int sides_run(struct compare *c)
{
    const struct compare_options *o = c->o->compare;
    const char *lengths = o->at;

    c->command = compare_command(c);
    c->run = (struct run){
        .there = true,
        .version = words_of(CARAT_VERSION),
        .numerics = CARAT_NUMERICS_VERSION,
        .driver = words_of(carat_driver_name(c->options.driver)),
        .options = {c->options.max_tokens, o->ignore_eos, c->options.top, c->options.near_tie, json_array()},
        .side = {side_of(c, REF), side_of(c, TEST)},
        .command = words_of(c->command)};
    for (int n; (n = next_length(&lengths)) > 0;)
        json_array_append_new(c->run.options.at, json_integer(n));
    return c->command ? DONE : fail_memory();
}
