/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tools.c: any tools through the templates that have some, with a conversation that calls one and gets
 * its result. Checked besides memory: what is refused names the tools and leaves nothing behind; what is
 * rendered holds no more control tokens of the template's own than the tools ask for, whatever their names
 * and descriptions spell. The messages have a target of their own. */
#include <stdlib.h>

#include "text/chat/chat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char messages[] =
    "[{\"role\":\"developer\",\"content\":\"d\"},{\"role\":\"user\",\"content\":\"u\"},{\"role\":"
    "\"assistant\","
    "\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"x\":1}}}]},"
    "{\"role\":\"tool\",\"content\":\"r\"},{\"role\":\"assistant\",\"content\":\"a\"},"
    "{\"role\":\"user\",\"content\":\"v\"}]";

static void require(bool condition)
{
    if (!condition)
        abort();
}

static size_t count(const struct ct_prompt *p, const char *token)
{
    size_t n = 0, length = strlen(token);
    for (int i = 0; i < p->n_segment; i++)
        for (size_t k = p->segment[i].begin; !p->segment[i].content && k + length <= p->segment[i].end; k++)
            n += memcmp(p->text + k, token, length) == 0;
    return n;
}

static void render(const struct ct_chat_options *o, int turns, const char *turn, const char *turn_end,
                   const char *declaration, const char *declaration_end, const char *quote)
{
    struct ct_prompt p;
    carat_error err = {0};
    carat_status status = ct_chat_render(o, messages, &p, &err);
    if (status == CARAT_OK) {
        size_t at = 0;
        for (int i = 0; i < p.n_segment; i++) {
            require(p.segment[i].begin == at && p.segment[i].end > at);
            at = p.segment[i].end;
        }
        require(at == p.n && p.text[p.n] == 0);
        require(count(&p, "<bos>") == 1 && count(&p, turn) == (size_t)turns &&
                count(&p, turn_end) == (size_t)turns - 1);
        require(count(&p, declaration) == count(&p, declaration_end));
        require(count(&p, quote) % 2 == 0);
        ct_prompt_free(&p);
    } else {
        require(status == CARAT_E_ARGUMENT && strncmp(err.message, "tools", 5) == 0);
        require(!p.text && !p.segment);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *tools = malloc(size + 1);
    if (!tools)
        return 0;
    memcpy(tools, data, size);
    tools[size] = 0;
    struct ct_chat_options o = {.chat = CT_CHAT_FUNCTIONGEMMA, .tools = tools, .generation_prompt = true};
    render(&o, 5, "<start_of_turn>", "<end_of_turn>", "<start_function_declaration>",
           "<end_function_declaration>", "<escape>");
    o.chat = CT_CHAT_GEMMA3; /* the result is a turn */
    render(&o, 6, "<start_of_turn>", "<end_of_turn>", "<bos>", "<bos>", "<escape>");
    o.chat = CT_CHAT_GEMMA4;
    for (int state = 0; state < CT_GEMMA4_STATES; state++) {
        const bool inside = state <= CT_GEMMA4_APRIL_10; /* else the result is a turn, and the answer too */
        o.state = (enum ct_gemma4)state;
        render(&o, inside ? 5 : 7, "<|turn>", "<turn|>", "<|tool>", "<tool|>", "<|\"|>");
    }
    free(tools);
    return 0;
}
