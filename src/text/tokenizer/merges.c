/* SPDX-License-Identifier: Apache-2.0 */
/* merges.c: see merges.h. Reading the file is tokenizer_json.c's and tokenizer_gguf.c's. */
#include "text/tokenizer/merges.h"

#include "base/array.h"

size_t ct_merges_most(const struct ct_tokenizer *t)
{
    return CT_MIN((size_t)CT_MERGES_MAX, t->n_blob);
}

bool ct_merge_add(struct ct_merge *m, struct ct_str part)
{
    if (part.n > sizeof m->text - m->n)
        return false;
    memcpy(m->text + m->n, part.s, part.n);
    m->n += part.n;
    return true;
}

bool ct_merge_split(struct ct_str both, struct ct_str *left, struct ct_str *right)
{
    const char *space = both.n ? memchr(both.s, ' ', both.n) : NULL;
    if (!space)
        return false;
    *left = (struct ct_str){both.s, (size_t)(space - both.s)};
    *right = (struct ct_str){space + 1, both.n - left->n - 1};
    return !memchr(right->s, ' ', right->n);
}

static carat_status look_up(struct ct_merge_list *list, struct ct_tokenizer *t, const char *name,
                            struct ct_merge_missing *missing, carat_error *err)
{
    static const char *const parts[] = {"the left part", "the right part", "the whole"};
    struct ct_str text[CT_MERGE_BATCH * 3];
    size_t n = list->n_batch;
    if (!ct_array_grow(&list->triple, &list->capacity, (list->n + n) * 3, sizeof *list->triple))
        return ct_no_memory(err, name);
    for (size_t i = 0; i < n; i++) {
        const struct ct_merge *m = &list->batch[i];
        text[i * 3] = (struct ct_str){m->text, m->left};
        text[i * 3 + 1] = (struct ct_str){m->text + m->left, m->n - m->left};
        text[i * 3 + 2] = (struct ct_str){m->text, m->n};
    }
    ct_tokenizer_warm(t, text, n * 3);
    for (size_t i = 0; i < n * 3; i++) {
        CT_TRY(ct_tokenizer_look(t, err));
        int32_t id = ct_tokenizer_find(t, text[i]);
        if (id < 0) {
            *missing =
                (struct ct_merge_missing){list->n + i / 3, list->batch[i / 3].at, parts[i % 3], text[i]};
            return CARAT_E_FORMAT;
        }
        list->triple[list->n * 3 + i] = id;
    }
    list->n += n;
    list->n_batch = 0;
    return CARAT_OK;
}

carat_status ct_merges_push(struct ct_merge_list *list, struct ct_tokenizer *t, const char *name, size_t n,
                            struct ct_merge_missing *missing, carat_error *err)
{
    list->n_batch += n;
    bool due = n ? list->n_batch == CT_MERGE_BATCH : list->n_batch > 0;
    return due ? look_up(list, t, name, missing, err) : CARAT_OK;
}
