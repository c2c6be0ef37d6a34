/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_chat.c: any messages and tools through every chat template, and any template to its hash. Input:
 * messages, then after a NUL byte the tools; the whole is also read as a template. Gemma 4's is rendered in
 * each of its published states. Checked besides memory:
 * white space around tags does not count, segments tile the text, the template begins it with one <bos>
 * and writes no other, and a failure leaves nothing behind. Ids are not made: the tokenizer has a target
 * of its own. */
#include <stdlib.h>

#include "text/chat/chat_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void render(const struct ct_chat_options *o, const char *messages)
{
    struct ct_prompt p;
    carat_error err = {0};
    if (ct_chat_render(o, messages, &p, &err) != CARAT_OK) {
        require(err.code != CARAT_OK && err.message[0] && !p.text && !p.segment);
        return;
    }
    size_t at = 0, starts = 0;
    for (int i = 0; i < p.n_segment; i++) {
        require(p.segment[i].begin == at && p.segment[i].end > at);
        at = p.segment[i].end;
        for (size_t k = p.segment[i].begin; !p.segment[i].content && k + 5 <= at; k++)
            starts += memcmp(p.text + k, "<bos>", 5) == 0;
    }
    require(at == p.n && p.text[p.n] == 0 && starts == 1);
    ct_prompt_free(&p);
}

/* A tag of its own with white space that it takes away hashes as without. */
static void hash(const uint8_t *data, size_t size)
{
    static const char before[] = "{%- x -%} \n\t", tight[] = "{%-x-%}";
    char *text = malloc(size + sizeof before);
    if (!text)
        return;
    memcpy(text, before, sizeof before - 1);
    memcpy(text + sizeof before - 1, data, size);
    uint64_t wide = ct_chat_hash((struct ct_str){text, size + sizeof before - 1});
    memcpy(text, tight, sizeof tight - 1);
    memcpy(text + sizeof tight - 1, data, size);
    require(ct_chat_hash((struct ct_str){text, size + sizeof tight - 1}) == wide);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hash(data, size);
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    size_t n = strlen(text);
    const char *tools = n < size ? text + n + 1 : NULL;
    struct ct_chat_options o = {.tools = tools, .generation_prompt = true};
    for (int chat = CT_CHAT_GEMMA; chat < CT_CHATS; chat++)
        for (int state = 0; state < (ct_chat_can_think((enum ct_chat)chat) ? CT_GEMMA4_STATES : 1); state++) {
            o.chat = (enum ct_chat)chat;
            o.state = (enum ct_gemma4)state;
            o.thinking = ct_chat_can_think(o.chat) && state % 2;
            render(&o, text);
        }
    free(text);
    return 0;
}
