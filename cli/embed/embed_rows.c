/* SPDX-License-Identifier: Apache-2.0 */
/* embed_rows.c: the options about vectors of texts. */
#include "embed/embed_options.h"

#define AT(field) offsetof(struct embed_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 52, {"--ids"}, IDS, AT(ids), "embed", "IDS", NULL,
     "token ids instead of text, <bos> and <eos> included; @FILE reads them from FILE", 0, 0},
    {ABOUT_OUTPUT + 21, {"-o", "--out"}, WRITES, AT(out), "embed", "FILE", NULL,
     "write float32 NPY, [texts][dim] (- is standard output)", 0, 0},
    {ABOUT_OUTPUT + 22, {"--dim"}, INT, AT(dim), "embed", "N", NULL,
     "the first N values alone, at length 1: 512, 256 or 128 of 768", 1, 1 << 16},
    {ABOUT_COMPUTING + 205, {"--no-dense"}, FLAG, AT(no_dense), "embed", NULL, NULL,
     "the mean at length 1, without the matrices behind it", 0, 0},
};
/* clang-format on */

const struct option_group embed_group = OPTION_GROUP(rows, struct embed_options, NULL);
