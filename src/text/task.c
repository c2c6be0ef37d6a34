/* SPDX-License-Identifier: Apache-2.0 */
/* task.c: the sentences that EmbeddingGemma 1 and 2 were trained with, one for each task. A checkpoint's
 * config_sentence_transformers.json has the same ones under more names. */
#include "text/task.h"

#include <stdlib.h>

/* Between the halves of a document's stands its title. */
static const struct {
    const char *name, *before, *behind_title;
} tasks[] = {
    [CARAT_TASK_NONE] = {"", "", NULL},
    [CARAT_TASK_QUERY] = {"query", "task: search result | query: ", NULL},
    [CARAT_TASK_DOCUMENT] = {"document", "title: ", " | text: "},
    [CARAT_TASK_QA] = {"qa", "task: question answering | query: ", NULL},
    [CARAT_TASK_FACT] = {"fact", "task: fact checking | query: ", NULL},
    [CARAT_TASK_CLASSIFY] = {"classify", "task: classification | query: ", NULL},
    [CARAT_TASK_CLUSTER] = {"cluster", "task: clustering | query: ", NULL},
    [CARAT_TASK_SIMILARITY] = {"similarity", "task: sentence similarity | query: ", NULL},
    [CARAT_TASK_CODE] = {"code", "task: code retrieval | query: ", NULL},
};

static bool is_task(carat_task task)
{
    return (int)task >= 0 && (size_t)task < CT_COUNT(tasks);
}

const char *carat_task_name(carat_task task)
{
    return is_task(task) ? tasks[task].name : NULL;
}

/* What the model reads, in a string for free; *n gets its length. */
static char *whole_text(carat_task task, const char *title, const char *text, size_t *n)
{
    const char *const behind = tasks[task].behind_title;
    const char *const parts[] = {tasks[task].before, behind ? (title && *title ? title : "none") : "",
                                 behind ? behind : ""};
    const size_t length = *n;
    size_t at = 0;

    *n = length;
    for (size_t i = 0; i < CT_COUNT(parts); i++)
        *n += strlen(parts[i]);
    char *whole = malloc(*n + 1);
    for (size_t i = 0; whole && i < CT_COUNT(parts); at += strlen(parts[i++]))
        memcpy(whole + at, parts[i], strlen(parts[i]));
    if (whole && length)
        memcpy(whole + at, text, length);
    return whole;
}

carat_status ct_task_encode(const struct ct_tokenizer *t, carat_task task, const char *title,
                            const char *text, size_t n, carat_tokens *out, carat_error *err)
{
    struct ct_listener nobody = {0};
    const int held = out->n;
    const int32_t bos = ct_tokenizer_bos(t), eos = ct_tokenizer_control(t, CT_CONTROL_EOS);

    if (!is_task(task) || (title && !tasks[task].behind_title))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       is_task(task) ? "task \"%s\" takes no title" : "there is no task %s",
                       is_task(task) ? tasks[task].name : "of this number");
    if (n == 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "the text has no tokens, expected at least 1");
    if (bos < 0 || eos < 0)
        return ct_fail(err, CARAT_E_NOT_FOUND, "the tokenizer has no %s or no %s, expected both",
                       ct_controls[CT_CONTROL_BOS].text, ct_controls[CT_CONTROL_EOS].text);
    char *whole = whole_text(task, title, text, &n);
    if (!whole)
        return ct_no_memory(err, "a text");
    carat_status status = ct_tokens_push(out, bos, err);
    if (!status)
        status = ct_tokenizer_encode(t, whole, n, 0, &nobody, out, err);
    if (!status)
        status = ct_tokens_push(out, eos, err);
    if (status)
        out->n = held;
    free(whole);
    return status;
}
