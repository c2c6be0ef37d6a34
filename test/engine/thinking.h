/* SPDX-License-Identifier: Apache-2.0 */
/* thinking.h: models/tiny with the control tokens of Gemma 4, at Gemma 4's ids, in place of its own and of
 * unused ones: weights that know nothing of thoughts, and a vocabulary that does. */
#ifndef CT_TEST_THINKING_H
#define CT_TEST_THINKING_H

#include "told_util.h"

enum { TURN = 105, TURN_END = 106, CHANNEL = 100, CHANNEL_END = 101, THOUGHT = 6, LINE_BREAK = 107 };

static carat_model *model;
static carat_buffer files[3];
static carat_tokens prompt;

/* As they stand in tokenizer.json. */
static const char *const renamed[][2] = {
    {"<start_of_turn>", "<|turn>"},
    {"<end_of_turn>", "<turn|>"},
    {"<unused92>", "<|think|>"},
    {"<unused94>", "<|channel>"},
    {"<unused95>", "<channel|>"},
    {"<start_function_declaration>", "<|tool>"},
    {"<end_function_declaration>", "<tool|>"},
    {"<start_function_call>", "<|tool_call>"},
    {"<end_function_call>", "<tool_call|>"},
    {"<start_function_response>", "<|tool_response>"},
    {"<end_function_response>", "<tool_response|>"},
    {"<escape>", "<|\\\"|>"},
    {"<unused0>", "thought"},
};

static void rename_tokens(carat_buffer *b)
{
    const char *s = b->data, *end = s + b->size;
    char *text = malloc(b->size + 1), *to = text; /* no name grows */

    assert_non_null(text);
    while (s < end) {
        size_t i = 0, n = 0;
        while (i < CT_COUNT(renamed) &&
               ((n = strlen(renamed[i][0])) > (size_t)(end - s) || memcmp(s, renamed[i][0], n) != 0))
            i++;
        if (i == CT_COUNT(renamed)) {
            *to++ = *s++;
            continue;
        }
        memcpy(to, renamed[i][1], strlen(renamed[i][1]));
        to += strlen(renamed[i][1]);
        s += n;
    }
    free((void *)(uintptr_t)b->data);
    b->data = text;
    b->size = (size_t)(to - text);
}

/* The ids of a text in which control tokens count. */
UNUSED static carat_tokens ids_of(const char *text)
{
    carat_tokens ids = {0};

    OK(carat_tokenize(model, text, strlen(text), CARAT_SPECIAL, &ids, err));
    return ids;
}

UNUSED static int open_thinking(void **state)
{
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json"};
    char path[PATH_SIZE];

    (void)state;
    for (int i = 0; i < 3; i++) {
        files[i].name = names[i];
        files[i].data =
            read_whole(path_join(path, CT_TEST_DATA "/../../models/tiny", names[i]), &files[i].size);
    }
    rename_tokens(&files[2]);
    OK(carat_model_open_memory(&model, files, sizeof(carat_buffer), 3, NULL, err));
    prompt = ids_of("<bos><|turn>user\nTurn on the kitchen lights<turn|>\n<|turn>model\n");
    return 0;
}

UNUSED static int close_thinking(void **state)
{
    (void)state;
    carat_tokens_free(&prompt);
    carat_model_close(model);
    for (int i = 0; i < 3; i++)
        free((void *)(uintptr_t)files[i].data);
    return 0;
}

#endif
