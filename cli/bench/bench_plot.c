/* SPDX-License-Identifier: Apache-2.0 */
/* bench_plot.c: speed over depth of context as an SVG that stands alone: a panel each for prompts, generation
 * and both in one, in it a curve of medians for each test, whiskers from the slowest to the fastest run, and
 * broken the speed that the machine's memory and arithmetic allow at most. Colours follow the reader's light
 * or dark scheme. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/bench_options.h"
#include "io/svg.h"

/* In pixels. TOP is where the panels begin, HEIGHT that of the field inside their axes. */
enum { WIDTH = 960, TOP = 84, HEIGHT = 280, LEFT = 74, RIGHT = 22, LINE = 18, FOOT = 48 };
enum { MOST_SERIES = 6, MOST_TICKS = 12 };

/* Tests that differ in depth alone. */
struct series {
    int n;
    const struct test *test[MOST_TESTS]; /* by depth */
};

struct panel {
    const char *title;
    struct svg_field in; /* the axes */
    int n;
    struct series series[MOST_SERIES];
    double most_depth, least_depth, most_speed;
};

/* ---- which curves there are ---- */

static bool same_series(const struct test *a, const struct test *b)
{
    return a->n_prompt == b->n_prompt && a->n_gen == b->n_gen && a->parallel == b->parallel;
}

static void insert(struct series *s, const struct test *t)
{
    int i = s->n++;

    for (; i > 0 && s->test[i - 1]->depth > t->depth; i--)
        s->test[i] = s->test[i - 1];
    s->test[i] = t;
}

static void add_test(struct panel *p, const struct test *t)
{
    int i = 0;

    while (i < p->n && !same_series(p->series[i].test[0], t))
        i++;
    if (i == MOST_SERIES) /* the table has those that find no place */
        return;
    if (i == p->n)
        p->series[p->n++].n = 0;
    insert(&p->series[i], t);
    p->most_depth = fmax(p->most_depth, t->depth);
    p->least_depth = fmin(p->least_depth, t->depth);
    p->most_speed = fmax(p->most_speed, fmax(t->ts.high, t->limit)); /* the limit may be NAN */
}

/* Panels with something in them. */
static int find_panels(const struct bench *b, struct panel *panels)
{
    static const char *const titles[] = {"prompt", "generation", "prompt and generation"};
    int n = 0;

    for (int kind = 0; kind < 3; kind++) {
        struct panel *p = &panels[n];
        *p = (struct panel){.title = titles[kind], .least_depth = INFINITY};
        for (int i = 0; i < b->n; i++) {
            const struct test *t = &b->test[i];
            if (kind == (t->n_gen == 0 ? 0 : t->n_prompt == 0 ? 1 : 2))
                add_test(p, t);
        }
        n += p->n > 0;
    }
    return n;
}

/* ---- scales ---- */

/* Depths are mostly powers of two, and their ticks then too. */
static double depth_step(const struct panel *p, int most)
{
    double step = 16;

    if (p->most_depth < 2 * step || fmod(p->most_depth, step) != 0)
        return fmax(1, svg_step(fmax(p->most_depth, 1), most));
    while (p->most_depth / step > most)
        step *= 2;
    return step;
}

static bool one_depth(const struct panel *p)
{
    return p->least_depth == p->most_depth;
}

/* From 0 on, so that no difference looks larger than it is; a depth alone stands in the middle. */
static double x_of(const struct panel *p, double depth)
{
    return p->in.x + p->in.width * (one_depth(p) ? 0.5 : depth / p->most_depth);
}

static double y_of(const struct panel *p, double speed)
{
    return p->in.y + p->in.height * (1 - speed / p->most_speed);
}

/* ---- drawing ---- */

static void put_axes(FILE *f, const struct panel *p)
{
    double step = svg_step(p->most_speed, 6), first = one_depth(p) ? p->most_depth : 0;
    double stride = depth_step(p, p->in.width > 500 ? 8 : 5);
    char label[32];

    for (double v = 0; v <= p->most_speed * (1 + 1e-9); v += step) {
        snprintf(label, sizeof label, "%.10g", v);
        svg_tick_y(f, &p->in, y_of(p, v), label);
    }
    for (double d = first; d <= p->most_depth; d += stride) {
        snprintf(label, sizeof label, "%.10g", d);
        svg_tick_x(f, &p->in, x_of(p, d), label);
    }
    svg_axes(f, &p->in, "tokens in the context before (depth)", "tokens per second", 56);
}

/* Draws the limit of a series. A series of one point gets a line through the whole panel. */
static void put_limit(FILE *f, const struct panel *p, const struct series *s)
{
    bool begun = false;

    for (int i = 0; i < s->n; i++) {
        double limit = s->test[i]->limit;
        if (isnan(limit))
            continue;
        if (s->n == 1)
            fprintf(f, "<path class=\"limit\" d=\"M%.1f,%.1fh%.1f", p->in.x, y_of(p, limit), p->in.width);
        else
            fprintf(f, "%s%.1f,%.1f", begun ? "L" : "<path class=\"limit\" d=\"M", x_of(p, s->test[i]->depth),
                    y_of(p, limit));
        begun = true;
    }
    if (begun)
        fputs("\"/>\n", f);
}

static void put_series(FILE *f, const struct panel *p, const struct series *s, int number)
{
    char name[64];

    fprintf(f, "<g class=\"s%d\">\n", number);
    put_limit(f, p, s);
    fputs("<path class=\"line\" d=\"", f);
    for (int i = 0; i < s->n; i++)
        fprintf(f, "%s%.1f,%.1f", i ? "L" : "M", x_of(p, s->test[i]->depth), y_of(p, s->test[i]->ts.median));
    fputs("\"/>\n", f);
    for (int i = 0; i < s->n; i++) {
        const struct test *t = s->test[i];
        double x = x_of(p, t->depth), low = y_of(p, t->ts.low), high = y_of(p, t->ts.high);
        fprintf(f, "<g><title>%s: %.2f tok/s, runs from %.2f to %.2f", test_name(name, sizeof name, t),
                t->ts.median, t->ts.low, t->ts.high);
        if (!isnan(t->limit))
            fprintf(f, ", limit %.2f", t->limit);
        fprintf(f, "</title><path class=\"whisker\" d=\"M%.1f,%.1fh8m-4,0V%.1fm-4,0h8\"/>", x - 4, low, high);
        svg_mark(f, number, x, y_of(p, t->ts.median));
        fputs("</g>\n", f);
    }
    fputs("</g>\n", f);
}

/* Which resource sets the limit of a series, where it is measured first. */
static const char *bound(const struct series *s)
{
    const struct work *w = &s->test[0]->work;

    return isnan(s->test[0]->limit) ? NULL : w->of_compute > w->of_read ? "arithmetic" : "memory";
}

/* "tg64 x4", whatever the depth. */
static const char *series_name(char *out, size_t capacity, const struct series *s)
{
    test_name(out, capacity, s->test[0]);
    out[strcspn(out, "@")] = 0;
    return out;
}

static void put_legend(FILE *f, const struct panel *p, double top)
{
    char name[64];
    double at = 0; /* of the second column, behind the longest name */

    for (int i = 0; i < p->n; i++)
        at = fmax(at, 45 + 7.5 * (double)strlen(series_name(name, sizeof name, &p->series[i])));
    for (int i = 0; i < p->n; i++) {
        double x = p->in.x, y = top + LINE * i;
        const char *by = bound(&p->series[i]);
        fprintf(f, "<g class=\"s%d\"><path class=\"line\" d=\"M%.1f,%.1fh24\"/>", i, x, y);
        svg_mark(f, i, x + 12, y);
        if (by)
            fprintf(f, "<path class=\"limit\" d=\"M%.1f,%.1fh30\"/>", x + at, y);
        fprintf(f, "</g><text class=\"key\" x=\"%.1f\" y=\"%.1f\">%s</text>", x + 31, y + 4,
                series_name(name, sizeof name, &p->series[i]));
        if (by)
            fprintf(f, "<text class=\"key\" x=\"%.1f\" y=\"%.1f\">at most, by %s</text>", x + at + 37, y + 4,
                    by);
        fputs("\n", f);
    }
}

static void put_panel(FILE *f, const struct panel *p)
{
    fprintf(f, "<text class=\"head\" x=\"%.1f\" y=\"%d\">%s</text>\n", p->in.x, TOP, p->title);
    put_legend(f, p, TOP + LINE);
    put_axes(f, p);
    for (int i = 0; i < p->n; i++)
        put_series(f, p, &p->series[i], i);
}

static void put_title(FILE *f, const struct bench *b)
{
    const carat_plan *plan = &b->setting[0].plan; /* the only one: bench.c sees to that */
    const char *arith = b->exact ? ", exact" : b->fast8 ? ", fast8" : b->tensor ? ", tensor" : "";

    fputs("<text class=\"title\" x=\"16\" y=\"30\">", f);
    svg_text(f, b->type);
    fprintf(f, " · %d %s, %s · ", plan->threads, plan->threads == 1 ? "thread" : "threads", plan->isa);
    svg_text(f, b->host.cpu);
    fprintf(f,
            "</text>\n<text x=\"16\" y=\"50\">%s, %.10s · medians of %d runs, whiskers from the slowest to "
            "the fastest",
            b->build, b->test[0].time, b->o->bench->repetitions);
    fprintf(f, " · KV %s%s · memory reads %.1f GB/s at most", plan->kv, arith,
            b->setting[0].limits.read / 1e9);
    fputs("</text>\n", f);
}

void bench_plot(const struct bench *b, FILE *f)
{
    struct panel *panels = calloc(4, sizeof *panels); /* the last is scratch */
    int n = panels ? find_panels(b, panels) : 0, legend = 1, width = n > 2 ? WIDTH / 2 * n : WIDTH;

    for (int i = 0; i < n; i++)
        legend = panels[i].n > legend ? panels[i].n : legend;
    int top = TOP + LINE * (legend + 1) + 4, bottom = top + HEIGHT;
    svg_begin(f, width, bottom + FOOT, true, "carat bench: speed over depth of context");
    put_title(f, b);
    for (int i = 0; i < n; i++) {
        struct panel *p = &panels[i];
        p->in.x = (double)width / n * i + LEFT;
        p->in.width = (double)width / n - LEFT - RIGHT;
        p->in.y = top;
        p->in.height = bottom - top;
        p->most_speed = ceil(p->most_speed / svg_step(p->most_speed, 6)) * svg_step(p->most_speed, 6);
        put_panel(f, p);
    }
    svg_end(f);
    free(panels);
}
