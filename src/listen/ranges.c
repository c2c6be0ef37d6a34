/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.c: the largest value of every matrix that a pass makes, and where it was: a listener, as tap.c. A
 * pass makes the same matrices in the same order as the one before it, some of them twice, so each is looked
 * for behind the one that was heard last. From them comes the scale of the residual stream, which
 * convert/residual.c writes. */
#include "carat_convert.h"

#include <math.h>
#include <stdlib.h>

#include "listen/listener.h"
#include "quant/encode.h"

/* The most matrices that a layer makes; and what is made beside layers. */
enum { OF_LAYER = 48, BESIDE = 32 };

/* Published scales leave so much room below 65504, for texts that nobody measured. */
#define MOST_SCALED 50000.0f

struct made {
    const char *verb;
    const struct ct_weight *w; /* the one that makes it; NULL: none */
    void *handle;              /* the matrix; NULL: logits */
    int layer;                 /* that runs; -1: beside them */
    bool residual;
    float peak;
    int position, column;
};

struct carat_ranges {
    carat_engine *engine;
    struct ct_pass_listener listener;
    int n;             /* rows of the pass */
    int32_t *position; /* [chunk] of them */
    float *row;        /* [widest] */
    struct made *made; /* [capacity] */
    int n_made, capacity;
    int next; /* the first that was not heard of in the pass */
};

/* ---- what a residual scale multiplies (convert/residual.c) ---- */

/* What Gemma 3n makes of the stream before the next norm that undoes the scale, beside the streams. */
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
#define BUFFER(mat)   offsetof(struct ct_pass, mat)
enum { ANY = -1 };
static const struct {
    const char *verb;
    int place;
    size_t buffer;
} scaled_3n[] = {
    {"norm", PLACE(attn_norm), BUFFER(h)},
    {"project", PLACE(q), BUFFER(q)},
    {"project", PLACE(q), BUFFER(k)},
    {"project", PLACE(q), BUFFER(v)},
    {"project", PLACE(laurel_left), BUFFER(narrow)},
    {"project", PLACE(laurel_right), BUFFER(side)},
    {"residual_norm", PLACE(laurel_norm), BUFFER(h)},
    {"project", CT_NO_LAYER, BUFFER(h)},
    {"altup_match", ANY, BUFFER(h)},
};

static bool is_residual(const carat_engine *e, const struct ct_event *event, const ct_mat *m)
{
    const struct ct_pass *p = &e->pass;
    const int place = event->n ? ct_weight_place(e, event->w[0]) : ANY;

    if (!e->config.post_norms)
        return false;
    if (m->handle == p->x.handle)
        return true;
    if (m->handle == p->inputs.handle) /* until they are normed */
        return strcmp(event->verb, "project") == 0 || strcmp(event->verb, "scale") == 0;
    for (int i = 0; i < CT_STREAMS && e->config.altup; i++)
        if (m->handle == p->stream[i].handle)
            return true;
    for (size_t i = 0; i < CT_COUNT(scaled_3n) && e->config.altup; i++) {
        ct_mat at;
        memcpy(&at, (const char *)p + scaled_3n[i].buffer, sizeof at);
        if (place == scaled_3n[i].place && m->handle == at.handle &&
            strcmp(event->verb, scaled_3n[i].verb) == 0)
            return true;
    }
    return false;
}

/* ---- listening ---- */

static int layer_of(const carat_engine *e, const struct ct_event *event)
{
    const bool beside =
        event->n ? ct_weight_place(e, event->w[0]) == CT_NO_LAYER : strcmp(event->verb, "altup_match") == 0;

    return beside ? -1 : e->pass.layer;
}

static bool is_same(const struct made *a, const struct made *b)
{
    return a->w == b->w && a->handle == b->handle && a->layer == b->layer && strcmp(a->verb, b->verb) == 0;
}

/* The entry of that matrix, a new one where it is heard of for the first time; NULL: there is no room. */
static struct made *find_made(carat_ranges *r, const struct made *what)
{
    while (r->next < r->n_made && !is_same(&r->made[r->next], what))
        r->next++;
    if (r->next == r->capacity)
        return NULL;
    if (r->next == r->n_made)
        r->made[r->n_made++] = *what;
    return &r->made[r->next++];
}

/* Row `row` of the pass may hold the largest value so far. */
static void look_at(struct made *made, const carat_ranges *r, int row, const float *x, int n)
{
    const float largest = ct_largest(x, (size_t)n);

    if (!(largest > made->peak) && made->column >= 0)
        return;
    made->peak = largest;
    made->position = r->position[row];
    made->column = 0;
    while (made->column < n - 1 && fabsf(x[made->column]) != largest)
        made->column++;
}

static void measure_all(void *user, struct ct_backend *b, const struct ct_event *event)
{
    carat_ranges *r = user;
    const carat_engine *e = r->engine;
    struct made what = {.verb = event->verb, .column = -1};
    struct made *made;

    if (strcmp(event->verb, "begin_pass") == 0) {
        r->n = b->verb.cost(b, event).rows;
        r->next = 0;
        memcpy(r->position, e->rows.position, (size_t)r->n * sizeof *r->position);
    }
    what.layer = layer_of(e, event);
    for (int i = 0; i < event->n_out; i++) {
        const ct_mat *m = &event->out[i];
        what.w = event->n == event->n_out ? event->w[i] : event->n ? event->w[0] : NULL;
        what.handle = m->handle;
        what.residual = m->handle && is_residual(e, event, m);
        made = m->handle ? find_made(r, &what) : NULL;
        for (int row = 0; row < r->n && made; row++) {
            b->verb.copy_out(b, r->row, *m, row);
            look_at(made, r, row, r->row, m->cols);
        }
    }
    what = (struct made){.verb = event->verb, .layer = -1, .column = -1};
    made = event->n_logits ? find_made(r, &what) : NULL;
    for (int i = 0; i < event->n_logits && made; i++)
        look_at(made, r, event->first + i, event->logits[i], e->config.n_vocab);
    if (!ct_listen_selects(&r->listener, b, event))
        return;
    const int all = r->n;
    r->n = 0;
    for (int row = 0; row < all; row++)
        if (e->rows.wanted[row])
            r->position[r->n++] = r->position[row];
}

carat_status carat_ranges_begin(carat_ranges **ranges, carat_engine *engine, carat_error *err)
{
    CT_GIVEN(ranges, err);
    CT_GIVEN(engine, err);
    const size_t chunk = (size_t)engine->plan.chunk, widest = (size_t)ct_widest_output(engine);
    const int capacity = OF_LAYER * engine->config.n_layer + BESIDE;
    carat_ranges *r;

    *ranges = NULL;
    if (engine->config.embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "ranges of values are not measured for %s models",
                       engine->config.architecture);
    r = calloc(1, sizeof *r);
    if (!r)
        return ct_no_memory(err, "ranges of values");
    *r = (carat_ranges){.engine = engine,
                        .position = calloc(chunk, sizeof *r->position),
                        .row = calloc(widest, sizeof *r->row),
                        .made = calloc((size_t)capacity, sizeof *r->made),
                        .capacity = capacity};
    if (!r->position || !r->row || !r->made) {
        carat_ranges_end(r);
        return ct_no_memory(err, "ranges of values");
    }
    ct_listen(&r->listener, engine, (struct ct_trace){.hook = measure_all, .user = r, .reads = true}, true);
    *ranges = r;
    return CARAT_OK;
}

void carat_ranges_end(carat_ranges *ranges)
{
    if (!ranges)
        return;
    (void)ct_listen_end(&ranges->listener);
    free(ranges->position);
    free(ranges->row);
    free(ranges->made);
    free(ranges);
}

/* ---- what was found ---- */

struct naming {
    const struct ct_weight *w;
    char *name; /* [32] */
};

static carat_status name_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    const struct naming *n = user;

    (void)tensor;
    if (w == n->w)
        snprintf(n->name, 32, "%s", strncmp(slot, "blk.", 4) == 0 ? strchr(slot + 4, '.') + 1 : slot);
    return CARAT_OK;
}

carat_status carat_ranges_visit(const carat_ranges *ranges, carat_range_visit visit, void *user,
                                carat_error *err)
{
    CT_GIVEN(ranges, err);
    CT_GIVEN(visit, err);
    const carat_engine *e = ranges->engine;

    for (const struct made *m = ranges->made; m < ranges->made + ranges->n_made; m++) {
        char name[32] = "";
        if (m->w)
            ct_weights_walk(&e->weights, &e->config, e->model->file, name_weight,
                            &(struct naming){m->w, name});
        visit(user, &(carat_range){.size = sizeof(carat_range),
                                   .operation = m->verb,
                                   .weight = name,
                                   .layer = m->layer < 0 ? -1 : e->first_layer + m->layer,
                                   .residual = m->residual,
                                   .peak = m->peak,
                                   .position = m->position,
                                   .column = m->column});
    }
    return CARAT_OK;
}

float carat_ranges_scale(const carat_ranges *ranges)
{
    float peak = 0, scale = 1;

    for (int i = 0; ranges && i < ranges->n_made; i++)
        if (ranges->made[i].residual)
            peak = CT_MAX(peak, ranges->made[i].peak);
    while (scale > 0x1p-20f && peak * scale > MOST_SCALED)
        scale /= 2;
    return scale;
}
