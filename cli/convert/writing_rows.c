/* SPDX-License-Identifier: Apache-2.0 */
/* writing_rows.c: the options about written models. */
#include "convert/writing.h"
#include "options/option.h"

#define AT(field) offsetof(struct writing_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 35, {"--type"}, TEXT, AT(type), "convert", "TYPE", NULL,
     "the type of matrices in the new file: f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, q5_k, "
     "q6_k, iq4_nl, iq4_xs or mxfp4 (default: the one that each has)", 0, 0},
};
/* clang-format on */

const struct option_group writing_group = OPTION_GROUP(rows, struct writing_options, NULL);
