/* SPDX-License-Identifier: Apache-2.0 */
/* verify_packed.c: the check of a packed file: that it is what was written, and that packing its origin again
 * gives the same. How a packed file is read is pack_file.c's. */
#include "checkpoint/pack_file.h"
#include "check/verify.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "layout/pack_weight.h"

enum { ROWS_PER_ITEM = 16 }; /* or panels */

/* One weight of the origin beside its packed form. */
struct pair {
    const struct ct_weight *w;
    const struct ct_tensor *packed;
    const struct ct_file *file, *origin;
    struct ct_weight form;
    size_t row_bytes; /* of the packed form: of a row or panel */
    uint8_t *scratch; /* [thread][row_bytes] */
    atomic_bool differs;
};

struct comparison {
    struct ct_verify *v;
    const struct carat_model *origin;
    int done, total;
    char differs[96]; /* name of the first weight that does, or "" */
    carat_error *err;
};

static void compare_item(void *arg, int item, int thread)
{
    struct pair *p = arg;
    size_t first = (size_t)item * ROWS_PER_ITEM,
           last = CT_MIN(first + ROWS_PER_ITEM, p->packed->size / p->row_bytes);
    size_t rows = p->packed->interleaved ? CT_PANEL_ROWS : 1; /* of the origin */
    const uint8_t *stored = (const uint8_t *)p->w->data;
    uint8_t *scratch = p->scratch + (size_t)thread * p->row_bytes;
    const struct ct_packing packing = {.from = p->w, .form = p->form};

    for (size_t i = first; i < last; i++) {
        const uint8_t *made = stored + i * p->w->row_bytes;
        if (p->packed->interleaved) {
            ct_pack_pieces(&packing, (int)i, (int)i + 1, scratch);
            made = scratch;
        }
        if (memcmp(made, p->packed->data + i * p->row_bytes, p->row_bytes) != 0)
            p->differs = true;
    }
    ct_file_forget(p->file, p->packed->data + first * p->row_bytes, (last - first) * p->row_bytes);
    ct_file_forget(p->origin, stored + first * rows * p->w->row_bytes,
                   (last - first) * rows * p->w->row_bytes);
}

static carat_status compare_weight(void *user, const char *slot, const char *tensor,
                                   const struct ct_weight *w)
{
    struct comparison *c = user;
    struct pair p = {.w = w, .file = c->v->model->file, .origin = c->origin->file};
    char name[96];

    (void)tensor;
    snprintf(name, sizeof name, "%s.weight", slot);
    p.packed = ct_file_weight(p.file, name);
    if (*c->differs || !p.packed || p.packed->type != w->type || p.packed->dim[0] != w->rows ||
        p.packed->dim[1] != w->cols || p.packed->scale != w->scale ||
        p.packed->nibbles != (ct_packed_form(w).layout == CT_LAYOUT_NIBBLES)) {
        if (!*c->differs)
            memcpy(c->differs, name, sizeof name);
        return CARAT_OK;
    }
    p.form = ct_packed_form(w);
    p.row_bytes = p.packed->interleaved ? p.form.row_bytes : w->row_bytes;
    p.scratch = malloc((size_t)ct_pool_threads(c->v->pool) * p.row_bytes);
    if (!p.scratch)
        return ct_no_memory(c->err, name);
    ct_verify_run(c->v, (int)((p.packed->size / p.row_bytes + ROWS_PER_ITEM - 1) / ROWS_PER_ITEM),
                  compare_item, &p);
    free(p.scratch);
    if (p.differs)
        memcpy(c->differs, name, sizeof name);
    c->done++;
    return ct_verify_step(c->v, (size_t)(c->total + c->done), 2 * (size_t)c->total, c->err);
}

/* Reading the file is the first half of the check. */
struct half {
    struct ct_verify *v;
    carat_error *err; /* of a cancelled call */
};

static int report_half(void *user, size_t done, size_t total)
{
    const struct half *h = user;
    return ct_verify_step(h->v, done, 2 * total, h->err) != CARAT_OK;
}

/* While the origin is opened, which reports other units. */
static int report_opening(void *user, size_t done, size_t total)
{
    (void)done;
    (void)total;
    return report_half(user, 1, 1);
}

/* Reports the error that ended the check before it could decide; OK: there was none. */
static carat_status cut_short(carat_status status, const carat_error *found, carat_error *err)
{
    if (status == CARAT_E_MEMORY)
        return ct_fail(err, status, "%s", found->message);
    return status == CARAT_E_CANCELLED ? status : CARAT_OK;
}

carat_status ct_verify_packed(struct ct_verify *v, int *verdict, carat_error *err)
{
    const struct carat_model *m = v->model;
    carat_model *origin = NULL;
    carat_error found;

    const char *packed = ct_file_packed_path(m->file);
    *verdict = CT_FAILED;
    struct half half = {v, err};
    carat_status status = ct_pack_check(m->file, &(struct ct_listening){report_half, &half}, &found);
    CT_TRY(cut_short(status, &found, err));
    if (status) {
        ct_verify_say(v, "%s", found.message);
        return CARAT_OK;
    }
    *verdict = CT_PASSED;
    ct_verify_say(v, "every byte of %s has its checksum", packed);
    if (strcmp(packed, ct_file_path(m->file)) == 0) /* its origin need not be here */
        return CARAT_OK;
    carat_model_options quiet = {.size = sizeof quiet};
    quiet.progress = report_opening;
    quiet.user = &half;
    status = ct_model_open(&origin, ct_file_path(m->file), &quiet, &found);
    CT_TRY(cut_short(status, &found, err));
    if (status) {
        ct_verify_say(v, "; the model itself cannot be opened: %s", found.message);
        *verdict = CT_FAILED;
        return CARAT_OK;
    }
    struct comparison c = {
        .v = v, .origin = origin, .err = err, .total = (int)ct_file_packed(m->file)->n_weight};
    status = ct_weights_walk(&origin->weights, &origin->config, origin->file, compare_weight, &c);
    if (*c.differs) {
        ct_verify_say(v, "; but packing %s again gives another %s", ct_file_path(m->file), c.differs);
        *verdict = CT_FAILED;
    } else {
        ct_verify_say(v, ", and packing the model again gives the same");
    }
    carat_model_close(origin);
    return status;
}
