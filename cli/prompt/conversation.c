/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.c: messages, tools and the system message, from their files to a rendered prompt. What is
 * wrong in a file is said with its name. Where a single prompt comes from is decided in prompt.c. */
#define _POSIX_C_SOURCE 200809L
#include "prompt/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "model/side_settings.h"
#include "prompt/prompt.h"
#include "prompt/reasoning.h"
#include "term/interrupt.h"
#include "term/message.h"

int conversation_read(struct conversation *c, const struct options *o)
{
    size_t n;
    int code = DONE;

    c->o = o;
    if (o->prompt->messages)
        code = read_json_text(o->prompt->messages, &c->messages);
    if (code == DONE && o->prompt->tools)
        code = read_json_text(o->prompt->tools, &c->tools);
    if (code == DONE && o->prompt->system_file)
        code = read_json_text(o->prompt->system_file, &c->system);
    if (code == DONE && o->prompt->system && !(c->system = strdup(o->prompt->system)))
        code = fail_memory();
    if (code == DONE && !c->system && !c->messages)
        code = side_settings_system(&c->system, o);
    if (code == DONE && c->system) {
        n = strlen(c->system);
        code = settle_utf8(o->prompt->system_file ? input_name(o->prompt->system_file) : "the system message",
                           &c->system, &n, o->prompt->lossy);
    }
    return code;
}

int conversation_fail(const struct options *o, const carat_error *err)
{
    static const char *const options[][2] = {{"thinking: ", "--reasoning on"},
                                             {"chat_template: ", "--chat-template"}};
    for (int i = 0; i < 2; i++)
        if (strncmp(err->message, options[i][0], strlen(options[i][0])) == 0)
            return fail_as(USAGE, err->code, "%s: %s", options[i][1], err->message + strlen(options[i][0]));
    const char *file = strncmp(err->message, "messages", 8) == 0 ? o->prompt->messages
                       : strncmp(err->message, "tools", 5) == 0  ? o->prompt->tools
                                                                 : NULL;

    if (!file || err->code != CARAT_E_ARGUMENT)
        return fail_status(err);
    return fail_as(USAGE, err->code, "%s: %s", input_name(file), err->message);
}

/* A line of the library about the tools, behind their file. */
static void note_tools(void *user, const char *line)
{
    const struct options *o = user;

    term_note("%s: %s", input_name(o->prompt->tools), line);
}

int conversation_render(const struct conversation *c, const carat_model *model, const char *user,
                        carat_tokens *ids, char **text)
{
    const struct options *o = c->o;
    carat_render_options options;
    carat_render_options_default(&options);
    carat_message message[2];
    carat_error err;
    carat_status status;
    int n = 0;

    options.tools = c->tools;
    options.chat_template = o->prompt->chat_template;
    options.no_generation_prompt = o->prompt->no_generation_prompt;
    options.special_in_content = o->prompt->special;
    options.thinking = reasoning_on(o);
    options.log = note_tools;
    options.progress = stop_when_interrupted;
    options.user = (void *)o;
    if (c->messages) {
        status = carat_render_json(model, c->messages, &options, ids, text, &err);
    } else {
        if (c->system)
            message[n++] = (carat_message){.role = "system", .content = c->system};
        message[n++] = (carat_message){.role = "user", .content = user};
        status = carat_render(model, message, sizeof(carat_message), n, &options, ids, text, &err);
    }
    return status == CARAT_OK ? DONE : conversation_fail(o, &err);
}

int conversation_check(const struct options *o, const carat_model *model)
{
    const carat_message message = {.role = "user", .content = "?"};
    carat_render_options options;
    carat_render_options_default(&options);
    carat_error err;
    char *text = NULL;

    if (!reasoning_on(o))
        return DONE;
    options.chat_template = o->prompt->chat_template;
    options.thinking = 1;
    if (carat_render(model, &message, sizeof message, 1, &options, NULL, &text, &err) != CARAT_OK)
        return conversation_fail(o, &err);
    carat_free(text);
    return DONE;
}

int conversation_talk(const struct conversation *c, struct talk *t)
{
    int code = talk_open(t);

    if (code == DONE && c->messages && !talk_read(t, c->messages, strlen(c->messages)))
        return term_fail(USAGE, "%s: expected messages of the roles system, user, assistant and tool",
                         input_name(c->o->prompt->messages));
    if (code == DONE && c->system)
        code = talk_set_system(t, c->system);
    return code == DONE && c->user ? talk_add_user(t, c->user) : code;
}

void conversation_free(struct conversation *c)
{
    free(c->user);
    free(c->messages);
    free(c->tools);
    free(c->system);
}
