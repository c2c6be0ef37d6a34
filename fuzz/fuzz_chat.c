/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_chat.c: any messages and tools through every chat template, and any template to its hash. Input:
 * messages, then after a NUL byte the tools; the whole is also read as a template. Gemma 4's is rendered in
 * each of its published states. Checked besides memory:
 * white space around tags does not count, segments tile the text, the template begins it with one <bos>
 * and writes no other, each message begins in it, an answer that goes on ends it early, a failure leaves
 * nothing behind and begins with a place. Ids are not made: the tokenizer has a target of its own. */
#include <stdlib.h>

#include "text/chat/chat_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* A path, or what an option is called, without blanks. */
static void check_place(const char *message)
{
    static const char *const roots[] = {"messages", "tools", "thinking"};
    const char *end = strstr(message, ": ");
    bool known = false;
    require(end != NULL);
    for (size_t i = 0; i < CT_COUNT(roots); i++)
        known = known || strncmp(message, roots[i], strlen(roots[i])) == 0;
    require(known && !memchr(message, ' ', (size_t)(end - message)));
}

/* The same prompt, up to the end of its last message's content. */
static void go_on(const struct ct_chat_options *o, const char *messages, const struct ct_prompt *p)
{
    struct ct_chat_options begun = *o;
    struct ct_prompt cut;
    begun.continues = true;
    if (ct_chat_render(&begun, messages, &cut, NULL) != CARAT_OK)
        return;
    require(cut.n <= p->n && memcmp(cut.text, p->text, cut.n) == 0 && cut.n_message == p->n_message);
    require(cut.segment[cut.n_segment - 1].end == cut.n && cut.message[cut.n_message - 1] <= cut.n);
    ct_prompt_free(&cut);
}

static void render(const struct ct_chat_options *o, const char *messages)
{
    struct ct_prompt p;
    carat_error err = {0};
    if (ct_chat_render(o, messages, &p, &err) != CARAT_OK) {
        require(err.code != CARAT_OK && err.message[0] && !p.text && !p.segment && !p.message);
        if (err.code == CARAT_E_ARGUMENT)
            check_place(err.message);
        return;
    }
    struct ct_json_tree list = {0};
    require(ct_json_tree_read(&list, CARAT_E_ARGUMENT, "", ct_str_bytes(ct_str_of(messages)), NULL) ==
            CARAT_OK);
    require((size_t)p.n_message == ct_json_count(list.value));
    ct_json_tree_free(&list);
    for (int i = 0; i < p.n_message; i++)
        require(p.message[i] <= p.n && (i == 0 || p.message[i] >= p.message[i - 1]));
    go_on(o, messages, &p);
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
