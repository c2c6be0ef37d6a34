/* SPDX-License-Identifier: Apache-2.0 */
/* show.c: `carat show`: what a model is, for people and as JSON. The memory it needs: show_memory.c. */
#include <stdio.h>
#include <string.h>

#include "model/engine.h"
#include "model/remote.h"
#include "model/located.h"
#include "model/model.h"
#include "model/writing.h"
#include "model/new_tensors.h"
#include "model/phases.h"
#include "model/sampling.h"
#include "model/stored.h"
#include "options/option.h"
#include "options/written.h"
#include "show/show_embedder.h"
#include "show/show_found.h"
#include "show/show_memory.h"
#include "show/show_options.h"
#include "show/show_ranges.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

/* The options about verbs that look. */
#define AT(field) offsetof(struct show_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 30, {"-o", "--out"}, WRITES, AT(out), "pack", "FILE", NULL,
     "write the packed form there, not into the cache", 0, 0},
    {ABOUT_OUTPUT + 100, {"--tensors"}, FLAG, AT(tensors), "show", NULL, NULL,
     "list every tensor", 0, 0},
    {ABOUT_OUTPUT + 101, {"--ranges"}, FLAG, AT(ranges), "show", NULL, NULL,
     "evaluate a text, -f or one that is built in, and list how large the values of every operation became", 0, 0},
    {ABOUT_MEASURING + 260, {"--measure"}, SWITCH, AT(measure), "doctor", "on|off|auto", "auto",
     "measure this machine; auto measures what no earlier run has (default {default})", 0, 0},
    {ABOUT_MEASURING + 270, {"--soak"}, REAL, AT(soak), "doctor", "SECONDS", NULL,
     "instead, compute an answer of MODEL, or of tiny, on every processor in turn; exit with 7 when an operation gives another bit", 0.001, 1e9},
};
/* clang-format on */

const struct option_group show_group = OPTION_GROUP(rows, struct show_options, NULL);

struct subject {
    const struct options *o;
    carat_location at;
    struct heads heads; /* of a model that is not on this machine */
    carat_model *model;
    carat_model_info info;
    carat_engine_options engine;
    carat_plan plan;
};

/* "Q4_0", "mostly Q4_K", "none, BF16". */
static void print_stored(const struct subject *s)
{
    bool only;
    const char *type = stored_type(s->model, &only);
    bool whole = *type == 'F' || *type == 'B'; /* F32, F16, BF16: nothing was rounded to fewer bits */
    char size[SIZE_TEXT];

    const bool named = !only && strcmp(carat_model_mix(s->model), type) != 0; /* Q4_K_M is mostly Q4_K */

    out_print("  %-18s%s%s%s%s%s\n", "quantisation", whole && only ? "none, " : "",
              named ? carat_model_mix(s->model) : "", named ? ", " : "", only ? "" : "mostly ", type);
    out_print("  %-18s%s\n", "file size", size_text(size, (double)s->info.file_bytes));
}

/* Layers, and what those of some members have of their own. */
static void print_layers(const carat_model_info *m)
{
    out_print(m->kind == CARAT_EMBEDDER ? "  %-18s%d, of them %d local (%d tokens on each side)"
                                        : "  %-18s%d, of them %d local (window %d)",
              "layers", m->n_layer, m->n_local, m->sliding_window);
    if (m->n_kv_shared)
        out_print("; the last %d read keys and values of earlier ones", m->n_kv_shared);
    out_print("\n  %-18s%d hidden, %d ffn", "width", m->hidden, m->ffn);
    if (m->n_kv_shared && m->ffn_shared != m->ffn)
        out_print(", %d in the last %d", m->ffn_shared, m->n_kv_shared);
    out_print("\n  %-18s%d, %d for keys and values, of %d", "heads", m->n_head, m->n_kv_head, m->head_dim);
    if (m->n_kv_head_global && (m->n_kv_head_global != m->n_kv_head || m->head_dim_global != m->head_dim))
        out_print("; global %d of %d", m->n_kv_head_global, m->head_dim_global);
    out_print("\n");
    if (m->n_expert)
        out_print("  %-18s%d, %d for each token, %d ffn\n", "experts", m->n_expert, m->n_expert_used,
                  m->expert_ffn);
    if (m->ple_width)
        out_print("  %-18s%d for each token and layer\n", "inputs of layers", m->ple_width);
}

static double root_of(double x)
{
    double root = x;

    for (int i = 0; i < 64; i++)
        root = (root + x / root) / 2;
    return root;
}

/* The embedding is multiplied by the root of its width, which what computes in BF16 has rounded. */
static bool is_rounded(const carat_model_info *m)
{
    const double apart = m->embedding_scale / root_of(m->hidden) - 1;

    return (apart > 1e-6 || apart < -1e-6) && apart < 0x1p-8 && apart > -0x1p-8;
}

static void print_scales(const carat_model_info *m)
{
    out_print("  %-18sattention %g, embedding %g\n", "scales", m->attention_scale, m->embedding_scale);
    if (is_rounded(m))
        out_print(
            "  %-18sthe latter is the root of %d in BF16, as the reference has it there; in float32 it has "
            "%.6g\n",
            "", m->hidden, root_of(m->hidden));
}

/* What a file says of activations, which carat quantises by their own values. */
static void print_input_scales(const struct subject *s)
{
    static const char ending[] = ".input_scale";
    int n = 0;

    for (int i = 0; i < carat_model_tensor_count(s->model); i++) {
        carat_tensor_info t = {.size = sizeof t};
        if (carat_model_get_tensor(s->model, i, &t, NULL) != CARAT_OK)
            continue;
        const size_t length = strlen(t.name);
        n += length >= sizeof ending && strcmp(t.name + length + 1 - sizeof ending, ending) == 0;
    }
    if (n > 0)
        out_print("  %-18s%d, not used\n", "input scales", n);
}

static void print_config(const struct subject *s)
{
    const carat_model_info *m = &s->info;

    out_print("model\n");
    show_found(s->o, &s->at, &s->heads);
    if (*m->name) {
        out_print("  %-18s", "name");
        out_name(m->name, 128);
        out_print("\n");
    }
    out_print("  %-18s%s, %s\n", "architecture", m->architecture, m->container);
    out_print("  %-18s%.2f M", "parameters", (double)m->n_parameter / 1e6);
    if (m->n_expert)
        out_print(", of which a token goes through %.2f M", (double)m->n_active / 1e6);
    out_print("\n");
    print_stored(s);
    print_layers(m);
    out_print("  %-18s%d, text below %d%s\n", "vocabulary", m->n_vocab, m->n_text_vocab,
              m->tied ? ", tied head" : "");
    out_print("  %-18s%d\n", "context", m->max_context);
    out_print("  %-18s%g global, %g local, factor %g\n", "rope", m->rope_base, m->rope_base_local,
              m->rope_factor);
    print_scales(m);
    if (m->attention_cap != 0 || m->logit_cap != 0)
        out_print("  %-18sattention %g, logits %g\n", "soft caps", m->attention_cap, m->logit_cap);
    out_print("  %-18s%s\n", "tokenizer", m->has_tokenizer ? m->tokenizer : "none");
    out_print("  %-18s%s%s%s\n", "chat template", m->has_chat_template ? m->chat_template : "none",
              m->template_altered || *m->template_origin ? ", " : "",
              m->template_altered ? "altered: the built-in one replaces the file's" : m->template_origin);
    print_input_scales(s);
    if (m->multimodal)
        out_print("  %-18sthere and not used\n", "vision tower");
}

/* The token as it is written, malloc'd by the library; NULL where the model has no tokenizer or no such
 * piece. */
static char *token_text(const struct subject *s, int32_t id)
{
    char *text = NULL;
    size_t n;

    if (!s->info.has_tokenizer ||
        carat_detokenize(s->model, &id, 1, CARAT_SPECIAL, &text, &n, NULL) != CARAT_OK)
        return NULL;
    return text;
}

static void print_sampling(const struct subject *s)
{
    char names[SAMPLING_TEXT];
    carat_sampling d;
    carat_sampling_default(s->model, &d);
    const int32_t *ids;
    int n = carat_stop_ids(s->model, &ids);

    out_print("generation\n  %-18stemperature %g, top-k %d, top-p %g, min-p %g\n  %-18s", "sampling",
              (double)d.temperature, d.top_k, (double)d.top_p, (double)d.min_p, "samplers");
    out_print("%s\n  %-18s", sampling_names(names, &d), "stops at");
    for (int i = 0; i < n; i++) {
        char *text = token_text(s, ids[i]);
        out_print("%s%d%s", i ? ", " : "", (int)ids[i], text && *text ? " " : "");
        out_name(text ? text : "", 64);
        carat_free(text);
    }
    out_print("%s\n", n ? "" : "nothing");
}

static int print_tensors(const struct subject *s)
{
    int n = carat_model_tensor_count(s->model);
    carat_error err;

    out_print("tensors\n");
    for (int i = 0; i < n; i++) {
        carat_tensor_info t = {.size = sizeof t};
        char dims[96] = "";
        size_t used = 0;
        if (carat_model_get_tensor(s->model, i, &t, &err) != CARAT_OK)
            return fail_status(&err);
        for (int d = 0; d < t.n_dim && d < 4; d++)
            used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%lld", d ? " x " : "",
                                     (long long)t.dim[d]);
        out_print("  %-56s %-6s %12zu  %s\n", t.name, t.type, t.bytes, dims);
    }
    return DONE;
}

static json_t *tensors_json(const struct subject *s)
{
    int n = carat_model_tensor_count(s->model);
    json_t *list = json_array();
    carat_error err;

    for (int i = 0; list && i < n; i++) {
        carat_tensor_info t = {.size = sizeof t};
        if (carat_model_get_tensor(s->model, i, &t, &err) != CARAT_OK)
            continue;
        json_t *shape = json_array();
        for (int d = 0; d < t.n_dim && d < 4; d++)
            json_array_append_new(shape, json_integer(t.dim[d]));
        json_array_append_new(list,
                              json_pack("{s:o, s:s, s:o, s:I}", "name", json_text(t.name, strlen(t.name)),
                                        "type", t.type, "shape", shape, "bytes", (json_int_t)t.bytes));
    }
    return list;
}

static json_t *stop_texts_json(const struct subject *s, const int32_t *ids, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++) {
        char *text = token_text(s, ids[i]);
        json_array_append_new(list, text ? json_text(text, strlen(text)) : json_null());
        carat_free(text);
    }
    return list;
}

static json_t *config_json(const struct subject *s)
{
    const carat_model_info *m = &s->info;
    bool only;
    const char *type = stored_type(s->model, &only);
    json_t *config = json_pack(
        "{s:s, s:s, s:o, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "architecture",
        m->architecture, "container", m->container, "name", json_text(m->name, strlen(m->name)), "n_layer",
        m->n_layer, "hidden", m->hidden, "ffn", m->ffn, "n_head", m->n_head, "n_kv_head", m->n_kv_head,
        "head_dim", m->head_dim, "n_vocab", m->n_vocab, "n_text_vocab", m->n_text_vocab, "max_context",
        m->max_context, "sliding_window", m->sliding_window, "n_local", m->n_local);
    json_t *rest = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:s, s:b, s:b, s:b, s:s, s:s, s:b, s:s, "
        "s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:s, s:b}",
        "rope_base", m->rope_base, "rope_base_local", m->rope_base_local, "rope_factor", m->rope_factor,
        "attention_scale", m->attention_scale, "embedding_scale", m->embedding_scale, "attention_cap",
        m->attention_cap, "logit_cap", m->logit_cap, "norm_eps", m->norm_eps, "n_parameter",
        (json_int_t)m->n_parameter, "weight_bytes", (json_int_t)m->weight_bytes, "file_bytes",
        (json_int_t)m->file_bytes, "type", type, "one_type", only, "tied", m->tied, "multimodal",
        m->multimodal, "tokenizer", m->tokenizer, "chat_template", m->chat_template, "template_altered",
        m->template_altered, "template_origin", m->template_origin, "bos", m->bos, "n_kv_head_global",
        m->n_kv_head_global, "head_dim_global", m->head_dim_global, "n_kv_shared", m->n_kv_shared,
        "ffn_shared", m->ffn_shared, "ple_width", m->ple_width, "n_expert", m->n_expert, "n_expert_used",
        m->n_expert_used, "expert_ffn", m->expert_ffn, "n_active", (json_int_t)m->n_active, "mix",
        carat_model_mix(s->model), "embedding_scale_rounded", is_rounded(m));

    if (!config || !rest || json_object_update(config, rest) != 0) {
        json_decref(config);
        config = NULL;
    }
    json_decref(rest);
    return config;
}

static int print_json(const struct subject *s)
{
    carat_sampling d;
    carat_sampling_default(s->model, &d);
    const int32_t *stops;
    int n_stop = carat_stop_ids(s->model, &stops);
    json_t *sampling = sampling_json(&d);
    json_t *all =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "model", config_json(s), "sampling", sampling, "stop_ids",
                  json_ids(stops, n_stop), "stop_texts", stop_texts_json(s, stops, n_stop), "memory",
                  show_memory_json(s->model, &s->engine, &s->plan, s->o), "found",
                  show_found_json(s->o, &s->at, &s->heads));

    if (all && s->info.kind == CARAT_EMBEDDER &&
        json_object_set_new(all, "vectors", show_embedder_json(s->model)) != 0) {
        json_decref(all);
        all = NULL;
    }
    if (all && s->o->show->tensors && json_object_set_new(all, "tensors", tensors_json(s)) != 0) {
        json_decref(all);
        all = NULL;
    }
    return out_json(all);
}

/* What convert would make of it. */
static int show_conversion(const carat_model *model, const struct options *o)
{
    struct written written = {0};
    carat_convert_options how;
    carat_error err;
    int code = DONE;

    writing_options(&how, o);
    how.dry_run = 1;
    how.tensor = written_add;
    how.user = &written;
    if (carat_convert(model, NULL, &how, &err) != CARAT_OK)
        code = fail_status(&err);
    else if (o->json)
        code = out_json(written_json(&written));
    else
        written_print(&written);
    written_free(&written);
    return code;
}

/* By its heads, where it is not on this machine and they can be fetched. */
static int open_subject(struct subject *s)
{
    const struct options *o = s->o;

    carat_location_default(&s->at);
    if (is_located(o->model))
        TRY(look_for_model(&s->at, o->model));
    if (o->show->ranges)
        return open_packed(&s->model, o);
    if (!heads_can(&s->at, o))
        return open_model(&s->model, o, false);
    TRY(check_named_files(o));
    return heads_open(&s->model, &s->heads, &s->at, o);
}

static int show_model(struct subject *s)
{
    const struct options *o = s->o;
    struct phases phases;
    carat_error err;

    TRY(phases_engine(&phases, &s->engine, o));
    if (s->heads.n && !s->engine.ple_resident)
        s->engine.ple_resident = -1; /* once it is fetched it lies on the disk */
    TRY(fit_engine(&s->engine, s->model, o));
    if (carat_model_get_info(s->model, &s->info, &err) != CARAT_OK ||
        carat_plan_engine(s->model, &s->engine, &s->plan, &err) != CARAT_OK)
        return fail_status(&err);
    if (o->json)
        return print_json(s);
    out_fold(20);
    print_config(s);
    if (s->info.kind == CARAT_EMBEDDER)
        show_embedder(s->model);
    else
        print_sampling(s);
    int code = show_memory(s->model, &s->engine, &s->plan, o);
    out_fold(0); /* a table */
    return code == DONE && o->show->tensors ? print_tensors(s) : code;
}

int verb_show(const struct options *o)
{
    struct subject s = {.o = o, .info.size = sizeof s.info, .plan.size = sizeof s.plan};
    int code = open_subject(&s);

    if (code == DONE)
        code = o->show->ranges ? show_ranges(s.model, o)
               : o->writing->type || o->writing->recipe || o->writing->importance
                   ? show_conversion(s.model, o)
                   : show_model(&s);
    carat_model_close(s.model);
    heads_free(&s.heads);
    carat_location_free(&s.at);
    return code;
}
