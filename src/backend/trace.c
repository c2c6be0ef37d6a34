/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c: a backend around another backend: every verb runs on the inner one, then the hook sees what it was
 * given, its output and its time. Taps, profiles and cross-checks live on it without a line in the forward pass. */
#include "backend/backend.h"
#include "os/clock.h"

static struct ct_trace *self(struct ct_backend *b)
{
    return (struct ct_trace *)b; /* base is the first member */
}

/* Runs one verb of the inner table between two readings of the clock. `fields` are what the event has of it. */
#define FIELDS(...) __VA_ARGS__
#define TRACED(b, name, fields, ...)                                                                         \
    struct ct_trace *t = self(b);                                                                            \
    double start = ct_os_seconds();                                                                          \
    t->inner->verb.name(t->inner, __VA_ARGS__);                                                              \
    t->hook(t->user, t->inner,                                                                               \
            &(struct ct_event){.verb = #name,                                                                \
                               .seconds = ct_os_seconds() - start,                                           \
                               .rows = &t->rows,                                                             \
                               .picked = t->picked,                                                          \
                               .n_left = t->n_left,                                                          \
                               fields})

static ct_mat trace_alloc(struct ct_backend *b, int rows, int cols)
{
    return self(b)->inner->verb.alloc(self(b)->inner, rows, cols);
}
static struct ct_weight trace_place(struct ct_backend *b, struct ct_weight w)
{
    return self(b)->inner->verb.place(self(b)->inner, w);
}
static void trace_copy_out(struct ct_backend *b, float *to, ct_mat m, int row)
{
    self(b)->inner->verb.copy_out(self(b)->inner, to, m, row);
}
static void trace_begin(struct ct_backend *b, const struct ct_rows *rows)
{
    self(b)->rows = *rows;
    self(b)->picked = false;
    self(b)->n_left = rows->n;
    TRACED(b, begin, FIELDS(.n = 0), rows);
}
static void trace_embed(struct ct_backend *b, ct_mat x, const struct ct_weight *table, float scale)
{
    TRACED(b, embed, FIELDS(.out = x, .n = 1, .w = &table), x, table, scale);
}
static void trace_norm(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w)
{
    TRACED(b, norm, FIELDS(.out = y, .n = 1, .w = &w), y, x, w);
}
static void trace_head_norm(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    TRACED(b, head_norm, FIELDS(.out = x, .n = 1, .w = &w), x, w);
}
static void trace_project(struct ct_backend *b, ct_mat in, int n, const ct_mat *out,
                          const struct ct_weight *const *w)
{
    TRACED(b, project, FIELDS(.out = out[0], .n = n, .w = w), in, n, out, w);
}
static void trace_project_geglu(struct ct_backend *b, ct_mat out, ct_mat in, const struct ct_weight *gate,
                                const struct ct_weight *up)
{
    const struct ct_weight *const w[] = {gate, up};
    TRACED(b, project_geglu, FIELDS(.out = out, .n = 2, .w = w), out, in, gate, up);
}
static void trace_rope(struct ct_backend *b, ct_mat x, int kind)
{
    TRACED(b, rope, FIELDS(.out = x, .kind = kind), x, kind);
}
static void trace_store(struct ct_backend *b, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    TRACED(b, store, FIELDS(.out = k, .kv = kv), kv, k, v);
}
static void trace_pick(struct ct_backend *b, int n, const ct_mat *m)
{
    struct ct_trace *of = self(b);

    of->picked = true;
    for (int r = of->n_left = 0; r < of->rows.n; r++)
        of->n_left += of->rows.want[r] != 0;
    TRACED(b, pick, FIELDS(.out = m[0]), n, m);
}
static void trace_attend(struct ct_backend *b, ct_mat out, ct_mat q, const struct ct_kv *kv, int kind,
                         float scale, float cap)
{
    TRACED(b, attend, FIELDS(.out = out, .kv = kv, .kind = kind), out, q, kv, kind, scale, cap);
}
static void trace_add_norm(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w)
{
    TRACED(b, add_norm, FIELDS(.out = x, .n = 1, .w = &w), x, y, w);
}
static void trace_softcap(struct ct_backend *b, ct_mat x, float cap)
{
    TRACED(b, softcap, FIELDS(.out = x), x, cap);
}

void ct_trace_init(struct ct_trace *t, struct ct_backend *inner, ct_hook *hook, void *user)
{
    *t = (struct ct_trace){
        .base.verb = {.name = "trace",
                      .alloc = trace_alloc,
                      .place = trace_place,
                      .copy_out = trace_copy_out,
                      .begin = trace_begin,
                      .embed = trace_embed,
                      .norm = trace_norm,
                      .head_norm = trace_head_norm,
                      .project = trace_project,
                      .project_geglu = trace_project_geglu,
                      .rope = trace_rope,
                      .store = trace_store,
                      .pick = trace_pick,
                      .attend = trace_attend,
                      .add_norm = trace_add_norm,
                      .softcap = trace_softcap},
        .inner = inner,
        .hook = hook,
        .user = user,
    };
}
