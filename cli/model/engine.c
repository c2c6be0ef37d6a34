/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: turns options into an engine, with a bar while it takes the weights, and evaluates ids in it. */
#include "model/engine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "model/head.h"
#include "term/message.h"
#include "term/progress.h"

/* The options about engines. */
#define AT(field) offsetof(struct engine_options, field)

/* clang-format off */
/* Words that the library knows, separated by |. */
static char isa_words[128], kv_words[32], cache_words[40];

static const struct option rows[] = {
    {ABOUT_COMPUTING + 10, {"-c", "--ctx-size"}, INT, AT(context), "/ compare", "N", "0",
     "context size in tokens (default: what the prompts need)", 0, INT_MAX},
    {ABOUT_COMPUTING + 20, {"-c", "--ctx-size"}, INT, AT(context), DRAWS " show", "N", "0",
     "context size in tokens (default {default}: 8192, or the model's maximum if that is less)", 0, INT_MAX},
    {ABOUT_COMPUTING + 25, {"-c", "--ctx-size"}, INT, AT(context), "serve", "N", "0",
     "context size of each answer in tokens (default {default}: 8192, or the model's maximum if that is less)", 0, INT_MAX},
    {ABOUT_COMPUTING + 30, {"-c", "--ctx-size"}, INT, AT(context), "perplexity imatrix", "N", "512",
     "ids in a window (default {default}); with --messages the context size in tokens (default: what is "
     "needed)", 4, INT_MAX},
    {ABOUT_COMPUTING + 40, {"-c", "--ctx-size"}, INT, AT(context), "eval", "N", NULL,
     "context size in tokens (default: what is needed)", 1, INT_MAX},
    {ABOUT_COMPUTING + 60, {"-t", "--threads"}, INT, AT(threads), DRAWS " " SCORES " logits serve embed show compare sweep verify replay convert quantize imatrix", "N", "0",
     "number of threads (default {default}: the CPUs this process may use)", 0, MOST_THREADS},
    {ABOUT_COMPUTING + 80, {"--chunk", "-ub", "--ubatch-size"}, INT, AT(chunk), "/ " DRAWS " " SCORES " logits serve show compare imatrix replay", "N", "0",
     "the most prompt tokens in one pass (default {default}: the library chooses)", 0, MOST_CHUNK},
    {ABOUT_COMPUTING + 90, {"--max-layers"}, INT, AT(max_layers), "logits decode bench / " GENERATES " " SCORES " compare", "N", NULL,
     "run the first N layers only, then the last norm and the head", 1, 256},
    {ABOUT_COMPUTING + 190, {"--naive"}, FLAG, AT(naive), "logits / " GENERATES, NULL, NULL,
     "recompute everything at every position, to check the cache", 0, 0},
    {ABOUT_COMPUTING + 200, {"--exact"}, FLAG, AT(exact), SCORES " logits decode embed bench imatrix / " GENERATES " serve show compare", NULL, NULL,
     "compute in float32, for comparisons", 0, 0},
    {ABOUT_COMPUTING + 202, {"--arith"}, CHOICE, AT(arith), "/ " SCORES " logits decode embed bench imatrix " GENERATES " serve show compare", "fast|exact|fast8|tensor", "fast",
     "how products are computed: fast; exact, which is --exact; fast8, with weights of BF16, F16 and F32 made Q8_0, "
     "which is another model; tensor, with --device cuda: prompts of BF16 and F16 by the units for matrices, which "
     "have no fixed bits (default {default})", 0, 0},
    {ABOUT_COMPUTING + 210, {"--kv"}, CHOICE, AT(kv), "/ " EVALUATES " embed show compare", kv_words, NULL,
     "type of the KV cache (default bf16, with --exact f32)", 0, 0},
    {ABOUT_COMPUTING + 220, {"-ctk", "--cache-type-k"}, CHOICE, AT(cache_k), "/ " EVALUATES " show", cache_words, NULL,
     "with -ctv of the same type: another spelling of --kv", 0, 0},
    {ABOUT_COMPUTING + 230, {"-ctv", "--cache-type-v"}, CHOICE, AT(cache_v), "/ " EVALUATES " show", cache_words, NULL,
     "with -ctk of the same type: another spelling of --kv", 0, 0},
    {ABOUT_COMPUTING + 270, {"--memory"}, SIZE, AT(memory), EVALUATES, "SIZE", NULL,
     "choose the largest context, and if needed a smaller KV type, that fit into SIZE with the weights, "
     "as in 2G", 1, 0x1p60},
    {ABOUT_COMPUTING + 205, {"--activations"}, CHOICE, AT(activations), "logits / run " SCORES " compare", "f32|f16", "f32",
     "what operations make: f32, or rounded to f16, to see what fp16 hardware would do", 0, 0},
    {ABOUT_COMPUTING + 275, {"--ple"}, CHOICE, AT(ple), "/ " EVALUATES " show compare", "auto|disk|resident", "auto",
     "where the per-layer inputs of Gemma 3n and 4 are: on the disk, or resident in memory, for slow disks; "
     "auto: on the disk, unless --memory has room for them beside the largest context (default {default})", 0, 0},
    {ABOUT_COMPUTING + 280, {"--snapshots"}, SIZE, AT(snapshots), "show", "SIZE", NULL,
     "memory for snapshots, with which a session goes back without evaluating again", 0, 0x1p60},
    {ABOUT_COMPUTING + 290, {"--memory"}, MAYBE_SIZE, AT(memory), "show", "SIZE", NULL,
     "print the memory of this context size and of others; with SIZE, what run --memory SIZE would "
     "choose", 0, 0x1p60},
    {ABOUT_COMPUTING + 300, {"-tb", "--threads-batch"}, INT, AT(threads_batch), "/ " GENERATES " serve", "N", "0",
     "number of threads for prompts (default {default}: as -t)", 0, MOST_THREADS},
    {ABOUT_COMPUTING + 310, {"--no-profile"}, FLAG, AT(no_profile), "/ " EVALUATES " -bench embed show compare", NULL, NULL,
     "ignore a file carat.json beside the weights, which has settings for prompts and for generation", 0, 0},
    {ABOUT_COMPUTING + 315, {"-dev", "--device"}, TEXT, AT(device), "/ " EVALUATES " embed", "DEVICE", "cpu",
     "what computes: cpu; cuda or cuda:N, an NVIDIA GPU, with the bits of the CPU; "
     "auto: each pass where it takes less time, or where cuda fails, cpu (default {default})", 0, 0},
    {ABOUT_COMPUTING + 317, {"-ngl", "--gpu-layers", "--n-gpu-layers"}, TEXT, AT(gpu_layers), "/ " EVALUATES, "N", NULL,
     "so many of the last layers, and the head, are on the GPU that --device names, or all; 0 is the CPU", 0, 0},
    {ABOUT_COMPUTING + 320, {"--isa"}, CHOICE, AT(isa), "/ " EVALUATES " embed show compare verify replay", isa_words, NULL,
     "use kernels of at most this level; the last three are for Arm", 0, 0},
};
/* clang-format on */

static void add_word(char *words, size_t capacity, const char *word)
{
    size_t n = strlen(words);
    snprintf(words + n, capacity - n, "%s%s", n ? "|" : "", word);
}

static void write_words(void)
{
    for (int i = 0; carat_isa_name(i); i++)
        add_word(isa_words, sizeof isa_words, carat_isa_name(i));
    for (int kv = 1; carat_kv_name((carat_kv)kv); kv++)
        add_word(kv_words, sizeof kv_words, carat_kv_name((carat_kv)kv));
    snprintf(cache_words, sizeof cache_words, "%s|q8_0", kv_words); /* llama.cpp's name for the last */
}

const struct option_group engine_group = OPTION_GROUP(rows, struct engine_options, write_words);

bool rounds_activations(const struct options *o)
{
    return strstr(o->engine->activations, "16") != NULL;
}

/* A device that fails says so in the log of the head. */
static void choose_device(carat_engine_options *e, const char *device)
{
    static carat_head_options logged; /* until an engine or a plan has read it */

    if (!device || strcmp(device, "cpu") == 0 || strcmp(device, "none") == 0) /* as llama.cpp spells it */
        return;
    e->device = device;
    if (e->head)
        return;
    carat_head_options_default(&logged);
    logged.log = note_line;
    e->head = &logged;
}

void engine_options(carat_engine_options *e, const struct options *o)
{
    carat_engine_options_default(e);
    e->threads = o->engine->threads;
    e->context = o->engine->context;
    e->chunk = o->engine->chunk;
    e->layers = o->engine->max_layers;
    e->snapshot_bytes = o->engine->snapshots;
    e->exact = o->engine->exact || strcmp(o->engine->arith, "exact") == 0;
    e->fast8 = strcmp(o->engine->arith, "fast8") == 0;
    e->tensor = strcmp(o->engine->arith, "tensor") == 0;
    e->isa = o->engine->isa;
    e->activations_f16 = rounds_activations(o);
    e->ple_resident = strcmp(o->engine->ple, "resident") == 0;
    e->head = head_asked(o);
    choose_device(e, o->engine->device);
    /* the option table allows names of types only */
    for (int kv = 1; o->engine->kv && carat_kv_name((carat_kv)kv); kv++)
        if (strcmp(o->engine->kv, carat_kv_name((carat_kv)kv)) == 0)
            e->kv = (carat_kv)kv;
}

int create_engine(carat_engine **engine, const carat_model *model, const carat_engine_options *options)
{
    carat_engine_options watched = *options;
    struct progress bar;
    carat_error err;

    progress_begin(&bar, "loading", "MB");
    bar.scale = KIB_IN_MB;
    watched.progress = progress_update;
    watched.user = &bar;
    carat_status status = carat_engine_create(engine, model, &watched, &err);
    progress_end(&bar);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

static int pass_over(void *user, int token, const float *logits)
{
    (void)user;
    (void)token;
    (void)logits;
    return 0;
}

int create_session(carat_session **session, carat_engine *engine, carat_progress watch, void *user)
{
    carat_session_options options;
    carat_error err;

    carat_session_options_default(&options);
    options.watch = watch;
    options.user = user;
    return carat_session_create(session, engine, &options, &err) == CARAT_OK ? DONE : fail_status(&err);
}

int evaluate_ids(carat_engine *engine, carat_session *session, const int32_t *ids, int n, bool logits)
{
    carat_row row = {.session = session,
                     .tokens = ids,
                     .n = n,
                     .wants = logits ? CARAT_WANTS_ALL : CARAT_WANTS_NONE,
                     .deliver = logits ? pass_over : NULL};
    carat_error err;

    return n == 0 || carat_step(engine, &row, sizeof row, 1, &err) == CARAT_OK ? DONE : fail_status(&err);
}

/* Keeps the table of layer inputs in memory where there is room for it. */
static void fit_table(carat_engine_options *e, const carat_model *model, const struct options *o)
{
    carat_engine_options resident = *e;
    carat_plan plan = {.size = sizeof plan};

    resident.ple_resident = 1;
    resident.max_bytes = (size_t)o->engine->memory;
    if (strcmp(o->engine->ple, "auto") == 0 && carat_plan_engine(model, &resident, &plan, NULL) == CARAT_OK)
        e->ple_resident = 1;
}

/* -ngl: the last layers are on the GPU. */
static int place_layers(carat_engine_options *e, int n_layer, const struct options *o)
{
    const char *asked = o->engine->gpu_layers, *words = " all auto -1 ";
    char *end, word[16];

    if (!asked)
        return DONE;
    snprintf(word, sizeof word, " %.12s ", asked);
    const long n = strstr(words, word) ? n_layer : strtol(asked, &end, 10);
    if (!strstr(words, word) && (end == asked || *end || n < 0))
        return term_fail(USAGE, "-ngl is \"%s\", expected a number of layers, or all", asked);
    if (!e->device) {
        term_note("ignored: -ngl, since --device is cpu");
    } else if (n > n_layer) {
        term_note("-ngl is %ld: all %d layers of the model are on the GPU", n, n_layer);
    } else if (n == 0) {
        e->device = NULL;
    } else if (n < n_layer) {
        e->gpu_layers = (int)n;
    }
    return DONE;
}

int fit_engine(carat_engine_options *e, const carat_model *model, const struct options *o)
{
    const carat_kv asked = e->kv;
    carat_model_info info = {.size = sizeof info};
    carat_error err;

    if (carat_model_get_info(model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    if (o->engine->max_layers > info.n_layer)
        return term_fail(USAGE, "--max-layers is %d, expected 1 to %d, the layers of the model",
                         o->engine->max_layers, info.n_layer);
    TRY(place_layers(e, e->layers ? e->layers : info.n_layer, o));
    if (e->fast8)
        term_note(
            "--arith fast8: weights of BF16, F16 and F32 become Q8_0, so this is another model than the "
            "file's");
    if (o->engine->memory == NO_SIZE || o->engine->memory == 0)
        return DONE;
    if (carat_fit_engine(model, e, (size_t)o->engine->memory, &err) != CARAT_OK)
        return fail_status(&err);
    fit_table(e, model, o);
    if (e->kv == CARAT_KV_Q8 && (o->verbose || asked == CARAT_KV_DEFAULT))
        term_note("--memory leaves room for a context of %d with a %s cache", e->context,
                  carat_kv_name(e->kv));
    else if (o->verbose)
        term_note("--memory leaves room for a context of %d", e->context);
    return DONE;
}

int choose_snapshots(carat_engine_options *e, const carat_model *model)
{
    enum { WANTED = 8, MOST = 64 << 20 };
    carat_plan plan;
    carat_plan_default(&plan);
    carat_error err;

    if (carat_plan_engine(model, e, &plan, &err) != CARAT_OK)
        return fail_status(&err);
    size_t n = plan.snapshot_least ? MOST / plan.snapshot_least : 0;
    e->snapshot_bytes = plan.snapshot_least * (n > WANTED ? WANTED : n < 1 ? 1 : n);
    return DONE;
}
