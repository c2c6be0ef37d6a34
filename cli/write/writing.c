/* SPDX-License-Identifier: Apache-2.0 */
/* writing.c: see writing.h. */
#include "write/writing.h"

#include <string.h>

#include "options/option.h"

/* The options about written models. */
#define AT(field) offsetof(struct writing_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 31, {"-o", "--out"}, WRITES, AT(out), "imatrix", "FILE", NULL,
     "write the importance there, as llama.cpp's GGUF files of it", 0, 0},
    {ABOUT_OUTPUT + 33, {"--force"}, FLAG, AT(force), "convert quantize pack imatrix", NULL, NULL,
     "replace a file that is there; without it a terminal is asked, as cp -i does, and nobody else is", 0, 0},
    {ABOUT_OUTPUT + 135, {"--type"}, TEXT, AT(type), "convert show", "TYPE", NULL,
     "the type of the new file, as llama-quantize calls it: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, "
     "q2_k_s, q3_k_s, q3_k_m, q3_k_l, q4_k_s, q4_k_m, q5_k_s, q5_k_m, q6_k, iq4_nl, iq4_xs or mxfp4_moe; and mxfp4, int8:tensor, int8:channel, int8:group=N, lut4, lut4g8 (bits, rows) "
     "(default: what each matrix has); in a directory f32, f16 or bf16, which is also what quantised matrices become there "
     "by default", 0, 0},
    {ABOUT_OUTPUT + 136, {"--recipe"}, TEXT, AT(recipe), "convert show", "RECIPE", NULL,
     "types of some matrices, WHO=TYPE between commas; the last about a matrix counts", 0, 0},
    {ABOUT_OUTPUT + 137, {"--pure"}, FLAG, AT(pure), "convert quantize show", NULL, NULL,
     "the type of --type for every matrix", 0, 0},
    {ABOUT_OUTPUT + 138, {"--allow-requantize"}, FLAG, AT(again), "convert quantize show", NULL, NULL,
     "quantise also what is quantised, though the original would give better", 0, 0},
    {ABOUT_OUTPUT + 139, {"--imatrix"}, PATH, AT(importance), "convert quantize show", "FILE", NULL,
     "how much each column matters, measured before: columns that matter more are kept better", 0, 0},
    {ABOUT_OUTPUT + 140, {"--dry-run"}, FLAG, AT(dry_run), "convert quantize", NULL, NULL,
     "write nothing, print what each tensor would become", 0, 0},
    {ABOUT_OUTPUT + 141, {"--report"}, WRITES, AT(report), "convert quantize", "FILE", NULL,
     "write what was measured of each tensor as JSON: errors, scales, times", 0, 0},
    {ABOUT_OUTPUT + 142, {"--output-tensor-type"}, TEXT, AT(output_type), "quantize", "TYPE", NULL,
     "the type of the head, also where it is the embedding", 0, 0},
    {ABOUT_OUTPUT + 143, {"--token-embedding-type"}, TEXT, AT(embedding_type), "quantize", "TYPE", NULL,
     "the type of the embedding and of the table of layer inputs", 0, 0},
    {ABOUT_OUTPUT + 144, {"--tensor-type"}, TEXTS, AT(tensor_types), "quantize", "NAME=TYPE", NULL,
     "the type of tensors whose names a regular expression finds; may be given again, the first counts", 0,
     MOST_TEXTS},
    {ABOUT_OUTPUT + 145, {"--leave-output-tensor"}, FLAG, AT(leave_output), "quantize", NULL, NULL,
     "leave a head that is a tensor of its own as it is", 0, 0},
    {ABOUT_OUTPUT + 146, {"--to"}, CHOICE, AT(to), "convert", "gguf|safetensors", NULL,
     "a GGUF file, or a Hugging Face directory (default: by the ending of OUT)", 0, 0},
    {ABOUT_OUTPUT + 147, {"--shard-size"}, SIZE, AT(shard), "convert", "SIZE", NULL,
     "the most bytes of tensors in one file of a directory (default: 5 GB)", 1, 0x1p60},
    {ABOUT_OUTPUT + 148, {"--lut1"}, TEXT, AT(lut[0]), "convert", "BITS,ROWS", NULL,
     "palettes for the embedding: 2, 3, 4, 6 or 8 bits, and how many rows share one: 8 unless said, 0 for all; or none",
     0, 0},
    {ABOUT_OUTPUT + 149, {"--lut2"}, TEXT, AT(lut[1]), "convert", "BITS,ROWS", NULL,
     "palettes for all matrices of the layers", 0, 0},
    {ABOUT_OUTPUT + 150, {"--lut3"}, TEXT, AT(lut[2]), "convert", "BITS,ROWS", NULL,
     "palettes for the head, which becomes a tensor of its own where it is the embedding", 0, 0},
    {ABOUT_OUTPUT + 151, {"--expand"}, FLAG, AT(expand), "convert", NULL, NULL,
     "write what palettes stand for as F16, for other programs: the same logits", 0, 0},
    {ABOUT_OUTPUT + 160, {"--residual-scale"}, TEXT, AT(residual), "convert", "X|auto", "1",
     "make the residual stream X times as large and keep the logits, for hardware that computes in f16; a power of "
     "two is exact. auto: the largest power of two, at most 1, that keeps it at or below 50000 over the text of -f, "
     "or one that is built in", 0, 0},
    {ABOUT_OUTPUT + 172, {"--set"}, TEXTS, AT(set), "convert", "KEY=VALUE", NULL,
     "give a key of the GGUF file another value; may be given again", 0, MOST_TEXTS},
    {ABOUT_OUTPUT + 173, {"--metadata-only"}, FLAG, AT(metadata_only), "convert", NULL, NULL,
     "OUT is of this model: write its keys, vocabulary and template anew, and leave its tensors", 0, 0},
    {ABOUT_OUTPUT + 174, {"--override-kv"}, TEXTS, AT(overrides), "quantize", "KEY=TYPE:VALUE", NULL,
     "give a key another value: int, float, bool or str; may be given again", 0, MOST_TEXTS},
    {ABOUT_OUTPUT + 32, {"--output"}, TEXT, AT(output), "/ convert", "OUT", NULL,
     "OUT, beside --model", 0, 0},
    {ABOUT_OUTPUT + 175, {"--context", "--batch", "--chunk", "--prefix"}, TEXT, AT(spare), "/ convert", "N", NULL,
     "taken, for those who know CoreML's converter; nothing depends on it", 0, 0},
    {ABOUT_OUTPUT + 176, {"--skip-check"}, FLAG, AT(spare_check), "/ convert", NULL, NULL,
     "likewise", 0, 0},
    {ABOUT_OUTPUT + 171, {"--tied"}, FLAG, AT(tied), "convert", NULL, NULL,
     "with --residual-scale leave the table of the embedding as it is, one with the head, for carat alone", 0, 0},
    {ABOUT_OUTPUT + 152, {"--qmax"}, INT, AT(qmax), "convert", "N", "127",
     "the largest integer of int8 types (default {default})", 1, 127},
    {ABOUT_OUTPUT + 153, {"--clip-percentile"}, REAL, AT(clip), "convert", "P", "100",
     "int8 types clip above the value that P % of all do not exceed (default {default}: none is clipped)", 1e-6, 100},
    {ABOUT_OUTPUT + 161, {"--qat"}, CHOICE, AT(qat), "convert quantize", "auto|on|off", NULL,
     "scales of Q4_0 for weights trained for four bits, by which rounding gives every value again: for all tensors, "
     "or for those of which 99 % of a sample lie on such a lattice (default: auto, and off for quantize, "
     "which writes what llama-quantize does)", 0, 0},
    {ABOUT_OUTPUT + 154, {"--clamp"}, FLAG, AT(clamp), "convert quantize", NULL, NULL,
     "saturate what F16 cannot hold, instead of refusing it, and say how many values those are", 0, 0},
};
/* clang-format on */

const struct option_group writing_group = OPTION_GROUP(rows, struct writing_options, NULL);

static carat_qat qat_of(const char *word)
{
    if (!word || strcmp(word, "auto") == 0)
        return CARAT_QAT_AUTO;
    return strcmp(word, "on") == 0 ? CARAT_QAT_ON : CARAT_QAT_OFF;
}

void writing_options(carat_convert_options *how, const struct options *o)
{
    const struct writing_options *w = o->writing;

    carat_convert_options_default(how);
    how->type = w->type;
    how->recipe = w->recipe;
    how->importance = w->importance;
    how->pure = w->pure;
    how->clamp = w->clamp;
    how->qat = qat_of(w->qat);
    how->allow_requantize = w->again;
    how->container = w->to;
    how->shard_bytes = w->shard;
    how->set = w->set.text;
    how->n_set = w->set.n;
}
