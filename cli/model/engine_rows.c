/* SPDX-License-Identifier: Apache-2.0 */
/* engine_rows.c: the options about engines. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "carat_tools.h"
#include "model/engine.h"

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
