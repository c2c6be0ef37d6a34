/* SPDX-License-Identifier: Apache-2.0 */
/* carat_convert.h: libcarat, to write a model into another container or with other types. carat.h runs a
 * model and has the rules on threads, errors and sizes, which hold here too.
 *
 * A complete program, which writes a model with other types and says what that took from each tensor
 * (test/api/test_example.sh compiles and runs exactly this text):
 *
 * example-begin
 * #include <carat_convert.h>
 * #include <stdio.h>
 *
 * static void tell(void *user, const carat_converted *tensor)
 * {
 *     (void)user;
 *     if (tensor->measured && tensor->matrix)
 *         printf("%-28s %4s to %-4s %5.1f dB\n", tensor->name, tensor->from, tensor->to, tensor->snr);
 * }
 *
 * int main(int argc, char **argv)
 * {
 *     carat_error err;
 *     carat_model *model = NULL;
 *
 *     if (argc != 4) {
 *         fprintf(stderr, "usage: %s MODEL OUT.gguf TYPE\n", argv[0]);
 *         return 2;
 *     }
 *     carat_convert_options options;
 *     carat_convert_options_default(&options);
 *     options.type = argv[3];
 *     options.tensor = tell;
 *     int failed = carat_model_open(&model, argv[1], NULL, &err) != CARAT_OK ||
 *                  carat_convert(model, argv[2], &options, &err) != CARAT_OK;
 *     if (failed)
 *         fprintf(stderr, "%s\n", err.message);
 *     carat_model_close(model);
 *     return failed;
 * }
 * example-end
 */
#ifndef CARAT_CONVERT_H
#define CARAT_CONVERT_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of the new file. Strings live until the call returns. */
typedef struct carat_converted {
    size_t size;
    const char *name;      /* as the new file has it */
    const char *from, *to; /* its types */
    int n_dim;
    int64_t dim[4]; /* [n_dim], outermost first */
    uint64_t bytes_from, bytes;
    int matrix;     /* 1: a recipe may name it; 0: a vector, a router or what else keeps its type */
    int measured;   /* 1: it is written, and what follows is known */
    double seconds; /* of all threads together */
    double largest; /* |w| before */
    double least_scale, most_scale; /* of blocks; of a type without them 0 */
    double snr;                     /* in dB; infinity: every value is what it was */
    double correlation;             /* of values before and after */
    double mean_error, rms_error;   /* of what is after minus what was before */
    double largest_error;           /* |after - before| */
    /* Shares for Q4_0 where it was looked for (qat): of blocks that lie on a lattice, and of rows that lie on
     * one with one scale; of some rows where the tensor got the usual scales; -1: nobody looked. */
    double on_lattice, one_scale;
    /* Values that the type does not reach: of int8 schemes those more than half a step beyond the largest
     * integer, else those that `clamp` saturated; and the largest |value| of them before, or 0. */
    uint64_t clipped;
    double largest_clipped;
    uint64_t distinct; /* values after, those counting as one that F16 does not tell apart */
    uint64_t weights;  /* of the model, that it holds; of palettes 0, since indices stand for them */
    const char *asked; /* the type that was asked for, where its rows are no multiple of that one's block */
} carat_converted;
CARAT_DEFAULT(carat_converted)
typedef void (*carat_converted_visit)(void *user, const carat_converted *tensor);

/* The way in which blocks of Q4_0 get their scales. Weights trained for four bits lie on a lattice: steps
 * from -8 to 7 of some scale of F16, rounded to the source's type. ON looks for that scale, so that decoding
 * and rounding gives every value of such a block again, and gives other blocks the scale of least squared
 * error. OFF: as llama-quantize. AUTO: ON for tensors of F32, F16 or BF16 of which 99 % of a sample lie on
 * lattices, OFF for others. */
typedef enum { CARAT_QAT_AUTO, CARAT_QAT_ON, CARAT_QAT_OFF } carat_qat;

typedef struct carat_convert_options {
    size_t size;
    /* The type of the file, as llama-quantize calls it, in any case: "q8_0", "Q4_K_M", "bf16"; or a TYPE of
     * `recipe` below, for all matrices. Each matrix gets the type that it has in such a file, and a row that
     * is no multiple of a type's block the one that llama.cpp falls back to. Vectors and routers become F32;
     * what the quantiser leaves alone stays as it is. NULL: the type that each matrix has. */
    const char *type;
    int threads; /* 0: all processors. The bytes do not depend on it */
    /* Hears KiB of the new file that are filled and its size in KiB, and can end the call; NULL: nobody. */
    carat_progress progress;
    void *user;
    /* Matrices that get other types, or NULL: entries WHO=TYPE between commas, of which the last about a
     * matrix counts. WHO: all, embed, ple (the table of layer inputs), head, attn, ffn, experts, a part
     * (attn_q to ffn_down, ffn_gate_up_exps, ffn_down_exps, inp_gate, proj) or the name of a tensor with *
     * for any characters; behind it layers may stand, as in ffn_down[0-2,25]. TYPE: f32 to mxfp4, or keep.
     * Types that share more than a block: int8:tensor, int8:channel and int8:group=N are Q8_0 with one scale
     * for the tensor, a row, N values of it (a multiple of 32). lut4 has a palette of 2^4 entries in F16 for
     * the tensor, lut4g8 one for every 8 rows (2, 3, 4, 6 or 8 bits), by the best clustering there is. Only
     * carat reads these (MODEL.md); of experts, what they stand for is written. A head that is the embedding
     * becomes a tensor of its own where an entry for it says another type. */
    const char *recipe;
    int pure;             /* 1: type is that of every matrix, whatever such a file has elsewhere */
    int allow_requantize; /* 1: also what is quantised is quantised; else CARAT_E_UNSUPPORTED */
    /* "gguf", or "safetensors", which makes a Hugging Face directory: there type is F32, F16 or BF16, and
     * where it is NULL what is quantised becomes BF16. NULL: GGUF where path ends in ".gguf". */
    const char *container;
    uint64_t shard_bytes; /* the most bytes of tensors in a safetensors file, but for one; 0: 5 GB */
    /* A file of importance in one of llama.cpp's forms, or NULL: columns that matter more are kept better.
     * What it does not have is quantised without. CARAT_E_FORMAT: it is damaged, or another model's. */
    const char *importance;
    carat_converted_visit tensor; /* hears of every tensor, in the thread that calls; NULL: nobody */
    int dry_run;                  /* 1: nothing is written, and path may be NULL; tensors are told of */
    int expand; /* 1: what palettes stand for is written as F16, for programs without them */
    int qmax;   /* the largest integer of int8 schemes, 1 to 127; 0: 127 */
    /* The residual stream of the new model is so many times as large, and its logits stay but for
     * rounding: for hardware that computes in f16 (MODEL.md). A head that is the embedding becomes a
     * tensor of its own, but with `tied`. From 2^-20 to 2^20, exact where it is a power of two; 0: 1.
     * CARAT_E_UNSUPPORTED: the model has no norms before its sums (Gemma 1), or the path is a directory. */
    float residual_scale;
    double clip_percentile; /* of |value|, above which int8 schemes clip, at most 100; 0: 100, none */
    carat_log log;   /* gets what the new form cannot keep, with user as progress has it; may be NULL */
    int clamp;       /* 1: what F16 cannot hold becomes 65504 or -65504, instead of CARAT_E_NUMERIC */
    size_t *clamped; /* NULL, or gets how many values were saturated so */
    carat_qat qat;   /* where it is ON something must become Q4_0; importance does not count there */
    /* 1: with a residual_scale the table of the embedding stays as it is, and one with the head where it was;
     * the key carat.embedding_scale has the scale. Only carat reads that: other programs would compute
     * something else. */
    int tied;
    /* Keys of a GGUF file with other values, [n_set] of KEY=VALUE, where the value gets the type that the key
     * has (or looks like: true, 7, 0.5, else a text), or KEY:TYPE=VALUE with int, float, bool or str.
     * CARAT_E_ARGUMENT: there is no such type, the value is none, or the key is an array or says how the file
     * lies. What the file says then is read back before it gets its name: CARAT_E_FORMAT or
     * CARAT_E_UNSUPPORTED where it cannot be opened, or its tensors are others. */
    const char *const *set;
    int n_set;
    /* 1: path is a GGUF file or a directory that was made of this model: keys, vocabulary and template, or
     * config.json and the files about these, are written anew, but for what is about tensors, and its tensors
     * stay. Nothing else is asked for, but keys in `set`. Files of a directory are replaced one after the
     * other, when a model can be read of all of them. CARAT_E_NOT_FOUND: there is none; CARAT_E_FORMAT,
     * CARAT_E_UNSUPPORTED: it is another's. */
    int metadata_only;
} carat_convert_options;
CARAT_DEFAULT(carat_convert_options)

/* Writes the model to a GGUF file at path, which replaces an older one, or to a directory, which must be new
 * or empty. It appears under its name when it is complete: on every failure nothing has changed. Any thread;
 * the model is only read.
 * CARAT_E_ARGUMENT (also when the model was read from path, and for a type that carat does not write),
 * CARAT_E_UNSUPPORTED (a fact of the model that the container cannot say, or a packed model, whose origin
 * alone has what a directory needs), CARAT_E_NUMERIC (a weight is not finite, or F16 cannot hold it; the
 * message names it), CARAT_E_IO, CARAT_E_NOT_FOUND (what is new was removed while it was written),
 * CARAT_E_FORMAT (a side file is damaged), CARAT_E_MEMORY, CARAT_E_BUSY (another process writes the file),
 * CARAT_E_CANCELLED.
 * Of a GGUF file all keys and tensors stay, in their order, but for types that change and what says that it
 * is one of several parts. A packed file has no scores of pieces: those written are ranks. */
CARAT_API carat_status carat_convert(const carat_model *model, const char *path,
                                     const carat_convert_options *options, carat_error *err);

/* The mix of types that the model's file says it is, as llama-quantize calls it ("Q4_K_M"), or the type of
 * its embedding; "" where there are no weights, and for NULL. Lives as long as the program. */
CARAT_API const char *carat_model_mix(const carat_model *model);

/* Measures how much the columns of matrices matter, as an engine meets them: sums of squares of what each is
 * multiplied by, of an expert by the rows that took it. */
typedef struct carat_importance carat_importance;
/* From now on every pass of the engine is measured, and goes through all layers with all rows; logits stay
 * what they are. One measuring at a time; any thread. CARAT_E_ARGUMENT, CARAT_E_UNSUPPORTED (an
 * embedder), CARAT_E_MEMORY. */
CARAT_API carat_status carat_importance_begin(carat_importance **importance, carat_engine *engine,
                                              carat_error *err);
/* Writes what was measured so far in llama.cpp's form, for carat_convert_options.importance. The file appears
 * under its name when it is complete. dataset: what it was measured on, for those who read the file, or NULL;
 * chunk: tokens of a part of it. Not while the engine computes. CARAT_E_ARGUMENT (also when nothing was
 * evaluated), CARAT_E_IO, CARAT_E_MEMORY, CARAT_E_BUSY, CARAT_E_FORMAT, CARAT_E_UNSUPPORTED. */
CARAT_API carat_status carat_importance_write(const carat_importance *importance, const char *path,
                                              const char *dataset, int chunk, carat_error *err);
/* Before the engine is closed; NULL is allowed. */
CARAT_API void carat_importance_end(carat_importance *importance);

/* Measures how large the values of a model become, as an engine meets them: for hardware that computes in
 * f16, whose largest number is 65504. */
typedef struct carat_ranges carat_ranges;
/* A matrix that a pass makes, over all rows of all passes so far. Strings live until the call returns. */
typedef struct carat_range {
    size_t size;
    const char *operation; /* that makes it, as carat_tap has it */
    const char *weight;    /* that it takes, as GGUF names it in its layer; "": none */
    int layer;             /* of the model; -1: before or behind the layers */
    int residual;          /* 1: carat_convert_options.residual_scale multiplies it */
    float peak;            /* the largest |value| */
    int position, column;  /* where that was first: before so many tokens of its session; in its row */
} carat_range;
CARAT_DEFAULT(carat_range)
typedef void (*carat_range_visit)(void *user, const carat_range *range);
/* From now on every pass of the engine is measured, and goes through all layers with all rows; of logits
 * those are measured that somebody wants. Logits stay what they are, and what is measured depends neither on
 * threads nor on the chunk. One measuring at a time, of ranges or importance; any thread. CARAT_E_ARGUMENT,
 * CARAT_E_UNSUPPORTED (an embedder), CARAT_E_MEMORY. */
CARAT_API carat_status carat_ranges_begin(carat_ranges **ranges, carat_engine *engine, carat_error *err);
/* Tells of every matrix in the order of a pass, in the thread that calls. Not while the engine computes.
 * CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_ranges_visit(const carat_ranges *ranges, carat_range_visit visit, void *user,
                                          carat_error *err);
/* The largest power of two, at most 1, that as a residual_scale keeps all that it multiplies at or below
 * 50000: below 65504 with room for texts that were not measured. Not while the engine computes; NULL: 1. */
CARAT_API float carat_ranges_scale(const carat_ranges *ranges);
/* Before the engine is closed; NULL is allowed. */
CARAT_API void carat_ranges_end(carat_ranges *ranges);

#ifdef __cplusplus
}
#endif

#endif
