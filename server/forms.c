/* SPDX-License-Identifier: Apache-2.0 */
/* forms.c: see forms.h. A form whose memory would be reserved anew by each request costs pages that are
 * cleared each time, and its states and masks are worked out each time. */
#define _POSIX_C_SOURCE 200809L
#include "forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "fields.h"

enum {
    MOST_KEPT = 16,         /* forms that nobody has just now */
    MOST_BYTES = 64 << 20,  /* and what they hold together */
    FORM_BYTES = 256 << 10, /* of any form */
    NODE_BYTES = 128,       /* with its edges */
    STATE_BYTES = 2048,     /* without its mask */
    MASKS_BYTES = 64 << 20, /* masks of a form are never more */
};

/* Who waits for a form that is compiled. */
struct waiter {
    const atomic_bool *cancelled;
    struct waiter *next;
};

struct kept_form {
    struct forms *forms;
    struct kept_form *next;
    carat_constraint_options form;
    char *text, *choice, *tools; /* of it */
    carat_constraint *constraint;
    carat_error failed;
    bool compiled;          /* or failed */
    struct waiter *waiters; /* until then; the one who compiles is one of them */
    int64_t since_ns;       /* processor time of the thread that compiles, when it was asked first */
    bool is_late;           /* it has taken all that it may */
    int users;
    size_t bytes; /* that it holds at most, when it was given back last */
};

int forms_open(struct forms *f, const carat_model *model, int n_vocab)
{
    *f = (struct forms){.model = model, .mask_bytes = (size_t)n_vocab / 8};
    if (uv_mutex_init(&f->lock) != 0)
        return -1;
    if (uv_cond_init(&f->compiled) == 0)
        return 0;
    uv_mutex_destroy(&f->lock);
    return -1;
}

static void form_free(struct kept_form *kept)
{
    if (!kept)
        return;
    carat_constraint_close(kept->constraint);
    free(kept->text);
    free(kept->choice);
    free(kept->tools);
    free(kept);
}

void forms_close(struct forms *f)
{
    struct kept_form *next;

    for (struct kept_form *kept = f->first; kept; kept = next) {
        next = kept->next;
        form_free(kept);
    }
    uv_mutex_destroy(&f->lock);
    uv_cond_destroy(&f->compiled);
}

static struct ct_str form_text(const carat_constraint_options *form)
{
    return (struct ct_str){form->text, form->n_text ? form->n_text : strlen(form->text)};
}

static bool is_same(const struct kept_form *kept, const carat_constraint_options *form)
{
    const carat_constraint_options *own = &kept->form;
    const struct ct_str text = form_text(form);
    const char *choice = form->tool_choice ? form->tool_choice : "";

    return own->form == form->form && own->one_call == form->one_call &&
           own->json_dumps == form->json_dumps && own->n_text == text.n &&
           memcmp(own->text, text.s, text.n) == 0 &&
           strcmp(own->tool_choice ? own->tool_choice : "", choice) == 0 &&
           strcmp(own->tools ? own->tools : "", form->tools ? form->tools : "") == 0;
}

static int64_t thread_ns(void)
{
    struct timespec t;

    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (int64_t)t.tv_sec * 1000000000 + t.tv_nsec : 0;
}

static void unlink_form(struct forms *f, const struct kept_form *kept)
{
    struct kept_form **at = &f->first;

    while (*at && *at != kept)
        at = &(*at)->next;
    if (*at)
        *at = kept->next;
}

/* A carat_progress, of a form that is compiled. One that nobody waits for is given up, and whoever comes
 * with it from now on compiles it anew. */
static int goes_on(void *user, size_t done, size_t total)
{
    struct kept_form *kept = user;
    struct forms *f = kept->forms;
    bool waits = false;

    (void)done;
    (void)total;
    uv_mutex_lock(&f->lock);
    for (const struct waiter *w = kept->waiters; w && !waits; w = w->next)
        waits = !atomic_load(w->cancelled);
    if (!kept->since_ns) /* the vocabulary is ready */
        kept->since_ns = thread_ns();
    kept->is_late = waits && thread_ns() - kept->since_ns > (int64_t)FORM_MS * 1000000;
    if (!waits)
        unlink_form(f, kept);
    uv_mutex_unlock(&f->lock);
    return !waits || kept->is_late;
}

static struct kept_form *new_form(struct forms *f, const carat_constraint_options *form)
{
    struct kept_form *kept = calloc(1, sizeof *kept);
    const struct ct_str text = form_text(form);

    if (!kept)
        return NULL;
    kept->forms = f;
    kept->form = *form;
    kept->form.progress = goes_on;
    kept->form.user = kept;
    kept->form.text = kept->text = text_copy(text);
    kept->form.n_text = text.n;
    if (form->tool_choice)
        kept->form.tool_choice = kept->choice = text_copy(ct_str_of(form->tool_choice));
    if (form->tools)
        kept->form.tools = kept->tools = text_copy(ct_str_of(form->tools));
    if (kept->text && (kept->choice || !form->tool_choice) && (kept->tools || !form->tools))
        return kept;
    form_free(kept);
    return NULL;
}

static void put_first(struct forms *f, struct kept_form *kept)
{
    kept->next = f->first;
    f->first = kept;
}

/* The form itself, or one that is to be compiled by the caller: *own. */
static struct kept_form *find_form(struct forms *f, const carat_constraint_options *form, bool *own)
{
    struct kept_form *kept = f->first;

    while (kept && !is_same(kept, form))
        kept = kept->next;
    *own = !kept;
    if (kept)
        unlink_form(f, kept);
    else if (!(kept = new_form(f, form)))
        return NULL;
    put_first(f, kept);
    kept->users++;
    return kept;
}

/* Compiles it; the lock is held, but not meanwhile. */
static void compile(struct kept_form *kept)
{
    struct forms *f = kept->forms;
    carat_constraint *constraint = NULL;
    carat_error err = {CARAT_OK, ""};

    uv_mutex_unlock(&f->lock);
    const carat_status status = carat_constraint_create(&constraint, f->model, &kept->form, &err);
    uv_mutex_lock(&f->lock);
    if (kept->is_late) {
        err.code = CARAT_E_ARGUMENT;
        snprintf(err.message, sizeof err.message,
                 "compiling this form takes more than %d ms of processor time, expected a simpler one",
                 FORM_MS);
    }
    kept->constraint = constraint;
    kept->compiled = true;
    if (status != CARAT_OK) {
        kept->failed = err;
        unlink_form(f, kept); /* who comes later tries once more */
    }
    uv_cond_broadcast(&f->compiled);
}

carat_status forms_take(struct forms *f, const carat_constraint_options *form, const atomic_bool *cancelled,
                        struct kept_form **to, carat_error *err)
{
    struct waiter self = {cancelled, NULL};
    carat_status status = CARAT_OK;
    bool own;

    uv_mutex_lock(&f->lock);
    struct kept_form *kept = find_form(f, form, &own);
    if (kept && !kept->compiled) {
        self.next = kept->waiters;
        kept->waiters = &self;
    }
    if (kept && own)
        compile(kept);
    while (kept && !kept->compiled)
        uv_cond_wait(&f->compiled, &f->lock);
    if (kept && !kept->constraint) {
        *err = kept->failed;
        status = err->code;
    }
    uv_mutex_unlock(&f->lock);
    if (!kept) {
        *err = (carat_error){CARAT_E_MEMORY, "there is no memory for the form"};
        return err->code;
    }
    if (status == CARAT_OK)
        *to = kept;
    else
        forms_give(kept);
    return status;
}

carat_constraint *form_constraint(struct kept_form *kept)
{
    return kept->constraint;
}

static size_t bytes_of(const struct kept_form *kept)
{
    carat_constraint_info info;

    carat_constraint_info_default(&info);
    if (carat_constraint_get_info(kept->constraint, &info, NULL) != CARAT_OK)
        return FORM_BYTES;
    const size_t masks = (size_t)info.states * kept->forms->mask_bytes;
    return FORM_BYTES + (size_t)info.nodes * NODE_BYTES + (size_t)info.states * STATE_BYTES +
           CT_MIN(masks, (size_t)MASKS_BYTES);
}

/* The last of those that nobody has goes until the others are few and small enough. */
static void forget_some(struct forms *f)
{
    for (;;) {
        struct kept_form *last = NULL;
        size_t bytes = 0;
        int n = 0;
        for (struct kept_form *kept = f->first; kept; kept = kept->next)
            if (kept->users == 0) {
                last = kept;
                bytes += kept->bytes;
                n++;
            }
        if (n <= MOST_KEPT && bytes <= MOST_BYTES)
            return;
        unlink_form(f, last);
        form_free(last);
    }
}

void forms_give(struct kept_form *kept)
{
    if (!kept)
        return;
    struct forms *f = kept->forms;
    uv_mutex_lock(&f->lock);
    const bool last = --kept->users == 0;
    if (last && !kept->constraint)
        form_free(kept);
    else if (last) {
        kept->bytes = bytes_of(kept);
        forget_some(f);
    }
    uv_mutex_unlock(&f->lock);
}
