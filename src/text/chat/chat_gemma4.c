/* SPDX-License-Identifier: Apache-2.0 */
/* chat_gemma4.c: Gemma 4's template: one system turn, which also switches thinking on, then the messages as
 * they come, of any role in any order. It agrees byte for byte with the Jinja templates of the released
 * checkpoints wherever those give a prompt that says what they were given; what they would drop or garble
 * (null, a picture's address) is an error.
 *
 * What the model thought is no part of a finished conversation: spelled channels are taken out of past
 * answers. */
#include "text/chat/chat_parts.h"

#define THOUGHT "thought\n"

struct turns {
    struct ct_chat_writer *w;
    const struct ct_chat_options *o;
    carat_error *err;
};

/* The content of the leading system message: a list ends each text with a space. */
static carat_status write_system_text(struct turns *c, const struct ct_json_value *content)
{
    if (!ct_json_is(content, CT_JSON_ARRAY))
        return ct_chat_write_content(c->w, content, 0, 0, c->err);
    size_t k = 0;
    CT_JSON_EACH(item, content)
    {
        const struct ct_json_value *text = ct_json_get(item, "text");
        if (!ct_json_is(text, CT_JSON_STRING))
            return ct_fail(c->err, CARAT_E_ARGUMENT, "messages[0].content[%zu].text: expected a string", k);
        ct_chat_content(c->w, ct_chat_trim(ct_json_str(text)));
        ct_chat_literal(c->w, " ");
        k++;
    }
    return CARAT_OK;
}

/* The system turn; content NULL: no message is for it. */
static carat_status write_system(struct turns *c, bool has_text, const struct ct_json_value *content)
{
    if (!c->o->thinking && !has_text)
        return CARAT_OK;
    ct_chat_begin_turn(c->w, ct_role_name(CT_ROLE_SYSTEM));
    if (c->o->thinking) {
        ct_chat_control(c->w, CT_CONTROL_THINK);
        ct_chat_literal(c->w, "\n");
    }
    if (has_text)
        CT_TRY(write_system_text(c, content));
    ct_chat_end_turn(c->w);
    return CARAT_OK;
}

static carat_status write_message(struct turns *c, const struct ct_json_value *message, size_t i)
{
    enum ct_role role;
    CT_TRY(ct_chat_role(message, i, &role, c->err));
    ct_chat_begin_turn(c->w, ct_role_name(role));
    int how = role == CT_ROLE_MODEL ? CT_CONTENT_ANSWER : CT_CONTENT_MEDIA;
    CT_TRY(ct_chat_write_content(c->w, ct_json_get(message, "content"), how, i, c->err));
    ct_chat_end_turn(c->w);
    return CARAT_OK;
}

/* Begins the model's turn; a large model that is not to think is given an empty thought. */
static void write_generation_prompt(struct turns *c)
{
    ct_chat_begin_turn(c->w, ct_role_name(CT_ROLE_MODEL));
    if (c->o->thinking || c->o->chat == CT_CHAT_GEMMA4_SMALL)
        return;
    ct_chat_control(c->w, CT_CONTROL_CHANNEL);
    ct_chat_literal(c->w, THOUGHT);
    ct_chat_control(c->w, CT_CONTROL_CHANNEL_END);
}

carat_status ct_chat_render_gemma4(struct ct_chat_writer *w, const struct ct_chat_options *o,
                                   const struct ct_json_value *messages, carat_error *err)
{
    struct turns c = {w, o, err};
    const struct ct_json_value *message = ct_json_first(messages);
    enum ct_role role;
    size_t i = 0;
    CT_TRY(ct_chat_role(message, 0, &role, err));
    bool has_text = role == CT_ROLE_SYSTEM || role == CT_ROLE_DEVELOPER;
    CT_TRY(write_system(&c, has_text, ct_json_get(message, "content")));
    for (; message; message = ct_json_after(message), i++)
        if (i > 0 || !has_text)
            CT_TRY(write_message(&c, message, i));
    if (o->generation_prompt)
        write_generation_prompt(&c);
    return CARAT_OK;
}
