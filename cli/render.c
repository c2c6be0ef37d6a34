/* render.c: `carat render`: the exact prompt that a conversation becomes, as text or ids. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int verb_render(const struct options *o)
{
    carat_render_options options = CARAT_RENDER_OPTIONS;
    carat_model *model = NULL;
    carat_tokens ids = {0};
    carat_error err;
    char *messages = NULL, *tools = NULL, *text = NULL;
    int code;

    if (!o->messages)
        return fail(USAGE, "render needs --messages");
    if (o->tools && strcmp(o->messages, "-") == 0 && strcmp(o->tools, "-") == 0)
        return fail(USAGE, "render: --messages and --tools cannot both be standard input");
    code = read_json_text(o->messages, &messages);
    if (code == DONE && o->tools)
        code = read_json_text(o->tools, &tools);
    if (code == DONE)
        code = open_model(&model, o, true);
    if (code == DONE) {
        options.tools = tools;
        options.chat_template = o->chat_template;
        options.no_generation_prompt = o->no_generation_prompt;
        options.special_in_content = o->special;
        if (carat_render_json(model, messages, &options, o->as_ids ? &ids : NULL, o->as_ids ? NULL : &text,
                              &err) != CARAT_OK)
            code = fail_status(&err);
    }
    if (code == DONE && text)
        out_write(text, strlen(text));
    if (code == DONE && o->as_ids) {
        for (int i = 0; i < ids.n; i++)
            out_print("%s%d", i ? " " : "", (int)ids.ids[i]);
        out_print("\n");
    }
    carat_free(text);
    carat_tokens_free(&ids);
    free(messages);
    free(tools);
    carat_model_close(model);
    return code;
}
