/* SPDX-License-Identifier: Apache-2.0 */
/* asked_form.c: the form that an answer must keep: a constraint out of it, or why it cannot be one. */
#include "asked.h"
#include "receipts.h"
#include "state.h"

static bool refuse_form(struct document *d, const char *param, const carat_error *err)
{
    const char *says = refusal_says(err);
    const bool told = strncmp(says, param, strlen(param)) == 0;
    char place[sizeof err->message];

    snprintf(place, sizeof place, "%.*s", (int)strcspn(says, ": "), says);
    return refuse(d->r, err->code == CARAT_E_MEMORY ? 503 : 400, NULL, told ? place : param, "%s%s%s",
                  told ? "" : param, told ? "" : ": ", says);
}

bool asked_form(struct document *d, struct server *s, struct ask *ask, const char *param,
                const carat_constraint_options *form)
{
    carat_error err;

    if (!receipt_keep_form(ask, form))
        return refuse(d->r, 503, NULL, NULL, "there is no memory for the receipt");
    return carat_constraint_create(&ask->constraint, s->options->model, form, &err) == CARAT_OK ||
           refuse_form(d, param, &err);
}

bool asked_form_sound(struct document *d, struct server *s, const char *param,
                      const carat_constraint_options *form)
{
    carat_constraint *constraint = NULL;
    carat_error err;
    const carat_status status = carat_constraint_create(&constraint, s->options->model, form, &err);

    carat_constraint_close(constraint);
    return status == CARAT_OK || status == CARAT_E_UNSUPPORTED || refuse_form(d, param, &err);
}
