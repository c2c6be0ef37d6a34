/* SPDX-License-Identifier: Apache-2.0 */
/* openai_fields.h: what the bodies of OpenAI's routes that draw have in common: fields of drawing and of
 * streams, and how a body becomes a request. */
#ifndef OPENAI_FIELDS_H
#define OPENAI_FIELDS_H

#include "request_values.h"
#include "openai/openai.h"

#define AT(field) offsetof(struct request_values, field)

/* clang-format off */
#define OPENAI_DRAWING                                                                                       \
    {"temperature", FIELD_REAL, AT(temperature), RANGE_TEMPERATURE, NULL, NULL},              \
    {"top_p", FIELD_REAL, AT(top_p), RANGE_SHARE, NULL, NULL},                                \
    {"frequency_penalty", FIELD_REAL, AT(frequency_penalty), RANGE_PENALTY, NULL, NULL},                             \
    {"presence_penalty", FIELD_REAL, AT(presence_penalty), RANGE_PENALTY, NULL, NULL},                               \
    {"stop", FIELD_VALUE, AT(stop), IS_TEXT | IS_LIST, 0, NULL, NULL},                                       \
    {"logit_bias", FIELD_VALUE, AT(logit_bias), IS_OBJECT, 0, NULL, NULL},                                   \
    {"stream", FIELD_FLAG, AT(stream), 0, 0, NULL, NULL},                                                    \
    {"stream_options", FIELD_VALUE, AT(stream_options), IS_OBJECT, 0, NULL, NULL}
/* clang-format on */

/* What the fields of a route say becomes a request. False: *d->r says why not. */
typedef bool (*openai_take)(struct document *d, struct job *job, struct request_values *a,
                            struct request *request);

/* Names what objects inside a body have that nobody knows (fields_inside). */
bool openai_inside(struct document *d);
/* A form as response_format has it, or, unless `nested`, as text.format has it. param: the field that it came
 * from. */
bool openai_form(struct document *d, struct server *s, struct request *request, const char *param,
                 const struct ct_json_value *format, bool nested);

/* Reads a body into the values of a table, and makes a request of them. *a may be the first member of
 * more; the rest of it is as the caller leaves it. False: *r says why not. */
bool openai_read(struct job *job, struct refusal *r, const struct writer *writer, const struct field *fields,
                 int n, openai_take take, struct request_values *a);

#endif
