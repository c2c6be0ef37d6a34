/* SPDX-License-Identifier: Apache-2.0 */
/* embed_rows.c: the options about vectors of texts. */
#include "embed/embed_options.h"

#define AT(field) offsetof(struct embed_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 52, {"--ids"}, IDS, AT(ids), "embed", "IDS", NULL,
     "token ids instead of text, <bos> and <eos> included; @FILE reads them from FILE", 0, 0},
    {ABOUT_INPUT + 54, {"--task"}, CHOICE, AT(task), "embed",
     "query|document|qa|fact|classify|cluster|similarity|code", NULL,
     "what the vectors are for: the model was trained with a sentence before the text that says so "
     "(default query, with --title document)", 0, 0},
    {ABOUT_INPUT + 56, {"--title"}, TEXT, AT(title), "embed", "TITLE", NULL,
     "the title of a document", 0, 0},
    {ABOUT_INPUT + 58, {"--no-prompt"}, FLAG, AT(no_prompt), "embed", NULL, NULL,
     "leave out that sentence", 0, 0},
    {ABOUT_INPUT + 172, {"--truncate"}, FLAG, AT(truncate), "embed", NULL, NULL,
     "cut longer texts to the tokens that the model was made for, instead of refusing them", 0, 0},
    {ABOUT_INPUT + 205, {"--jsonl"}, READS, AT(jsonl), "embed", "FILE", NULL,
     "read a text a line, {\"text\": ...} with \"task\" and \"title\" of its own, or {\"ids\": ...}; print one "
     "{\"line\", \"tokens\", \"vector\"} a line", 0, 0},
    {ABOUT_OUTPUT + 21, {"-o", "--out"}, WRITES, AT(out), "embed", "FILE", NULL,
     "write float32 NPY, [texts][dim] (- is standard output); a text that failed has a row of NaN", 0, 0},
    {ABOUT_OUTPUT + 22, {"--dim"}, INT, AT(dim), "embed", "N", NULL,
     "the first N values alone, at length 1: 512, 256 or 128 of 768", 1, 1 << 16},
    {ABOUT_OUTPUT + 24, {"--similarity"}, FLAG, AT(similarity), "embed", NULL, NULL,
     "print how near each text is to each, from -1 to 1, instead of vectors", 0, 0},
    {ABOUT_OUTPUT + 26, {"--progress"}, FLAG, AT(progress), "embed", NULL, NULL,
     "say how far it is also where standard error is no terminal: a line now and then, and one at the end",
     0, 0},
    {ABOUT_MEASURING + 75, {"--rounds"}, INT, AT(rounds), "embed", "N", "1",
     "make the vectors N times, for --stats, which tells the fastest (default {default})", 1, 1000},
    {ABOUT_MEASURING + 87, {"--stats"}, FLAG, AT(stats), "embed", NULL, NULL,
     "say how long it took", 0, 0},
    {ABOUT_COMPUTING + 207, {"--no-dense"}, FLAG, AT(no_dense), "embed", NULL, NULL,
     "the mean at length 1, without the matrices behind it", 0, 0},
};
/* clang-format on */

const struct option_group embed_group = OPTION_GROUP(rows, struct embed_options, NULL);
