/* SPDX-License-Identifier: Apache-2.0 */
/* receipts.c: the receipts of answers whose clients want them. What stands in one, and who checks it, is left
 * to carat_receipt.h. */
#include "receipts.h"

#include <stdlib.h>

#include "base/base.h"
#include "fields.h"
#include "json_write.h"

bool receipt_keep_form(struct ask *ask, const carat_constraint_options *form)
{
    const struct ct_str text = {form->text, form->n_text ? form->n_text : strlen(form->text)};

    if (!ask->wants_receipt && !ask->keeps_text)
        return true;
    receipt_free(ask); /* of a form that this one takes the place of */
    ask->form = *form;
    ask->form.text = ask->own_form.text = text_copy(text);
    ask->form.n_text = text.n;
    if (form->tool_choice)
        ask->form.tool_choice = ask->own_form.choice = text_copy(ct_str_of(form->tool_choice));
    return ask->own_form.text && (ask->own_form.choice || !form->tool_choice);
}

carat_status receipt_begin(const struct ask *ask, struct choice *c, carat_error *err)
{
    carat_receipt_options options;

    carat_receipt_close(c->receipt); /* of an attempt for which there was no memory */
    c->receipt = NULL;
    if (!ask->wants_receipt)
        return CARAT_OK;
    carat_receipt_options_default(&options);
    if (ask->constraint)
        options.form = &ask->form;
    return carat_receipt_begin(&c->receipt, c->generation, &options, err);
}

void receipt_end(struct choice *c)
{
    if (c->receipt && carat_receipt_finish(c->receipt, NULL) == CARAT_OK)
        (void)carat_receipt_write(c->receipt, &c->receipt_text, NULL, NULL);
}

void receipt_put(struct buffer *out, const struct ask *ask, const struct choice *c)
{
    if (ask->wants_receipt)
        json_put(out, ",'receipt':%r", c->receipt_text ? c->receipt_text : "null");
}

void receipt_free(struct ask *ask)
{
    free(ask->own_form.text);
    free(ask->own_form.choice);
    ask->own_form.text = ask->own_form.choice = NULL;
}
