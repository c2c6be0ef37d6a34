/* SPDX-License-Identifier: Apache-2.0 */
/* receipts.c: the receipts of answers whose clients want them. What stands in one, and who checks it, is left
 * to carat_receipt.h. */
#include "receipts.h"

#include <stdlib.h>

#include "base/base.h"
#include "fields.h"
#include "json_write.h"

bool receipt_keep_form(struct request *request, const carat_constraint_options *form)
{
    const struct ct_str text = {form->text, form->n_text ? form->n_text : strlen(form->text)};

    if (!request->wants_receipt && !request->keeps_text)
        return true;
    receipt_free(request); /* of a form that this one takes the place of */
    request->form = *form;
    request->form.text = request->own_form.text = text_copy(text);
    request->form.n_text = text.n;
    if (form->tool_choice)
        request->form.tool_choice = request->own_form.choice = text_copy(ct_str_of(form->tool_choice));
    return request->own_form.text && (request->own_form.choice || !form->tool_choice);
}

carat_status receipt_begin(const struct request *request, struct choice *c, carat_error *err)
{
    carat_receipt_options options;

    carat_receipt_close(c->receipt); /* of an attempt for which there was no memory */
    c->receipt = NULL;
    if (!request->wants_receipt)
        return CARAT_OK;
    carat_receipt_options_default(&options);
    if (request->constraint)
        options.form = &request->form;
    return carat_receipt_begin(&c->receipt, c->generation, &options, err);
}

void receipt_end(struct choice *c)
{
    if (c->receipt && carat_receipt_finish(c->receipt, NULL) == CARAT_OK)
        (void)carat_receipt_write(c->receipt, &c->receipt_text, NULL, NULL);
}

void receipt_put(struct buffer *out, const struct request *request, const struct choice *c)
{
    if (request->wants_receipt)
        json_put(out, ",'receipt':%r", c->receipt_text ? c->receipt_text : "null");
}

void receipt_free(struct request *request)
{
    free(request->own_form.text);
    free(request->own_form.choice);
    request->own_form.text = request->own_form.choice = NULL;
}
