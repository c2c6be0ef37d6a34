/* SPDX-License-Identifier: Apache-2.0 */
/* render.c: `carat render`: the exact prompt that a conversation becomes, as text or ids. */
#include <string.h>

#include "ask/convert_options.h"
#include "model/model.h"
#include "prompt/conversation.h"
#include "prompt/prompt.h"
#include "term/output.h"

int verb_render(const struct options *o)
{
    struct conversation talk = {0};
    carat_model *model = NULL;
    carat_tokens ids = {0};
    char *text = NULL;
    int code;

    if (!o->prompt->messages)
        return term_fail(USAGE, "render needs --messages FILE");
    code = conversation_read(&talk, o);
    if (code == DONE)
        code = open_model(&model, o, true);
    if (code == DONE)
        code = conversation_render(&talk, model, NULL, o->convert->as_ids ? &ids : NULL,
                                   o->convert->as_ids ? NULL : &text);
    if (code == DONE && text)
        out_write(text, strlen(text));
    if (code == DONE && o->convert->as_ids) {
        for (int i = 0; i < ids.n; i++)
            out_print("%s%d", i ? " " : "", (int)ids.ids[i]);
        out_print("\n");
    }
    carat_free(text);
    carat_tokens_free(&ids);
    conversation_free(&talk);
    carat_model_close(model);
    return code;
}
