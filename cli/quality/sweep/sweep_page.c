/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_page.c: the report of a sweep: one page that stands alone, with a picture of KL over size. It has no
 * script and loads nothing; what it says of a recipe in full lies in the folder of its name. Its tensors:
 * sweep_tensors.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/save.h"
#include "model/model.h"
#include "quality/compare/report_parts.h"
#include "quality/sweep/sweep.h"
#include "term/message.h"

enum { WIDTH = 960, HEIGHT = 480, KEYS = 810, LINE = 13, LABEL = 7 };
static const struct svg_field field = {.x = 62, .y = 26, .width = 720, .height = 400};
static const int colors[N_ADVICE] = {2, 0, 1, 3};

/* ---- the picture ---- */

struct axes {
    double from, most;  /* MB */
    int least, decades; /* of KL */
};

static double mb_of(const struct made *m)
{
    return (double)m->bytes / 1e6;
}

static double place_x(const struct axes *a, double mb)
{
    return field.x + field.width * (mb - a->from) / (a->most - a->from);
}

/* The height of a KL divergence in the picture. One that is too near to 0 to be drawn lies on the axis. */
static double place_y(const struct axes *a, double kl)
{
    const double share = kl > 0 ? (log10(kl) - a->least) / a->decades : 0;

    return field.y + field.height * (1 - fmin(1, fmax(0, share)));
}

static struct axes axes_of(const struct sweep *s)
{
    struct axes a = {.from = INFINITY, .least = 2};
    int top = -18;

    for (int i = 0; i < s->recipes.n; i++) {
        const struct made *m = &s->made[i];
        a.from = fmin(a.from, mb_of(m) * 0.9);
        a.most = fmax(a.most, mb_of(m) * 1.1);
        if (kl_of(m) > 0) {
            a.least = (int)fmin(a.least, floor(log10(kl_of(m))));
            top = (int)fmax(top, ceil(log10(kl_of(m))));
        }
    }
    a.least = a.least > top ? top - 1 : a.least < -18 ? -18 : a.least;
    a.decades = top > a.least ? top - a.least : 1;
    return a;
}

static int by_size(const void *a, const void *b)
{
    const struct made *p = *(const struct made *const *)a, *q = *(const struct made *const *)b;

    return p->bytes != q->bytes ? (p->bytes > q->bytes) - (p->bytes < q->bytes)
                                : (kl_of(p) > kl_of(q)) - (kl_of(p) < kl_of(q));
}

/* The best of each size, from the smallest to the largest, as steps. */
static void put_best(FILE *f, const struct axes *a, const struct made *const *sorted, int n)
{
    bool begun = false;

    fputs("<g class=\"s0\"><path class=\"line dash\" d=\"", f);
    for (int i = 0; i < n; i++)
        if (sorted[i]->best) {
            fprintf(f, begun ? "H%.1fV%.1f" : "M%.1f,%.1f", place_x(a, mb_of(sorted[i])),
                    place_y(a, kl_of(sorted[i])));
            begun = true;
        }
    fputs("\"/></g>\n", f);
}

/* Names stand where no other one does: each is as near as it can be to its mark, behind those before it. */
static void put_name(FILE *f, const struct made *m, double x, double y, double (*taken)[3], int n)
{
    const double width = LABEL * (double)strlen(m->name);
    const double wanted = m->best ? y - 6 : y + 4; /* the line begins at the best of a size */
    double at = wanted;

    for (int step = 0, i = 0; i < n && step < 60;) {
        if (fabs(taken[i][1] - at) < LINE - 1 && x < taken[i][0] + taken[i][2] && taken[i][0] < x + width) {
            step++;
            at = wanted + (step % 2 ? 1 : -1) * (step + 1) / 2 * 4;
            i = 0;
        } else {
            i++;
        }
    }
    taken[n][0] = x;
    taken[n][1] = at;
    taken[n][2] = width;
    fprintf(f, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", m->best ? "key" : "", x + 9, at);
    svg_text(f, m->name);
    fputs("</text>\n", f);
}

static void put_marks(FILE *f, const struct axes *a, const struct made *const *sorted, int n)
{
    double(*taken)[3] = calloc((size_t)n, sizeof *taken);

    for (int i = 0; i < n && taken; i++) {
        const struct made *m = sorted[i];
        const double x = place_x(a, mb_of(m)), y = place_y(a, kl_of(m));
        const carat_summary *kl = &m->summary->metric[KL];
        if (isnan(kl->mean))
            continue;
        fprintf(f, "<g class=\"s%d\">", colors[m->advice]);
        if (kl->low > 0 && kl->high > 0)
            fprintf(f, "<path class=\"whisker\" d=\"M%.1f,%.1fV%.1f\"/>", x, place_y(a, kl->low),
                    place_y(a, kl->high));
        svg_mark(f, colors[m->advice], x, y);
        fputs("</g>", f);
        put_name(f, m, x, y, taken, i);
    }
    free(taken);
}

static void put_keys(FILE *f)
{
    for (int i = 0; i < N_ADVICE; i++) {
        const double y = 40 + 46 * i;
        char word[64];
        fprintf(f, "<g class=\"s%d\">", colors[i]);
        svg_mark(f, colors[i], KEYS, y);
        snprintf(word, sizeof word, "%s", advice_words[i]);
        char *rest = strstr(word, " where ");
        if (rest)
            *rest = 0;
        fprintf(f, "</g><text class=\"key\" x=\"%d\" y=\"%.0f\">%s</text>", KEYS + 12, y + 4, word);
        if (rest)
            fprintf(f,
                    "<text x=\"%d\" y=\"%.0f\">where size is</text>"
                    "<text x=\"%d\" y=\"%.0f\">critical</text>",
                    KEYS + 12, y + 4 + LINE, KEYS + 12, y + 4 + 2 * LINE);
        fputs("\n", f);
    }
}

static void put_picture(FILE *f, const struct sweep *s)
{
    const struct axes a = axes_of(s);
    const struct made **sorted = malloc((size_t)s->recipes.n * sizeof *sorted);
    const double step = svg_step(a.most - a.from, 8);
    char label[NUMBER_TEXT];

    if (!sorted)
        return;
    for (int i = 0; i < s->recipes.n; i++)
        sorted[i] = &s->made[i];
    qsort(sorted, (size_t)s->recipes.n, sizeof *sorted, by_size);
    fputs("<section>\n<h2>KL over size</h2>\n<figure class=\"wide\">\n", f);
    svg_begin(f, WIDTH, HEIGHT, false, "KL over size");
    for (double at = ceil(a.from / step) * step; at <= a.most; at += step) {
        snprintf(label, sizeof label, "%g", at);
        svg_tick_x(f, &field, place_x(&a, at), label);
    }
    for (int e = 0; e <= a.decades; e++)
        svg_tick_y(f, &field, place_y(&a, pow(10, a.least + e)), power_text(label, a.least + e));
    svg_axes(f, &field, "size of all tensors, MB", "KL(ref‖test), nats", 46);
    put_best(f, &a, sorted, s->recipes.n);
    put_marks(f, &a, sorted, s->recipes.n);
    put_keys(f);
    svg_end(f);
    fputs("<figcaption>Each mark is a recipe; its bar is the 95 % interval of the mean KL. On the broken "
          "line lie the best of each size: nothing that is as small is as near to the model. Look for the "
          "place where the line begins to fall slowly.</figcaption>\n</figure>\n</section>\n",
          f);
    free(sorted);
}

/* ---- the table ---- */

static void put_fact(FILE *f, const char *label, const char *text)
{
    fprintf(f, "<td data-l=\"%s\">%s</td>", label, text);
}

static void put_speed(FILE *f, const char *label, double speed, double noise, bool loaded)
{
    char text[NUMBER_TEXT], more[NUMBER_TEXT];

    fprintf(f, "<td data-l=\"%s\">%s", label, number_text(text, speed, 3));
    if (noise > 0)
        fprintf(f, "<small>± %s</small>", number_text(more, noise, 2));
    if (loaded && !isnan(speed))
        fputs("<small>beside other work</small>", f);
    fputs("</td>", f);
}

static void put_compared(FILE *f, const struct made *m)
{
    const struct summary *of = m->summary;
    const carat_summary *kl = &of->metric[KL];
    char text[NUMBER_TEXT], low[NUMBER_TEXT], high[NUMBER_TEXT];

    fprintf(f, "<td data-l=\"KL\">%s", number_text(text, kl->mean, 3));
    if (kl->has_interval)
        fprintf(f, "<small>%s to %s</small>", number_text(low, kl->low, 2), number_text(high, kl->high, 2));
    fputs("</td>", f);
    put_fact(f, "correlation", near_one_text(text, of->metric[CORRELATION].mean));
    put_fact(f, "match", percent_text(text, of->metric[MATCH].mean));
    put_fact(f, "parts at", of->first.there ? count_text(text, of->first.index) : "–");
    fputs("<td data-l=\"verdict\">", f);
    report_health(f, of->verdict.whole);
    if (of->failed)
        fprintf(f, "<small>%s prompts failed</small>", count_text(text, of->failed));
    fputs("</td>", f);
    put_fact(f, "advice", advice_words[m->advice]);
}

static void put_row(FILE *f, const struct made *m)
{
    char text[NUMBER_TEXT];

    fputs("<tr><th>", f);
    if (m->summary)
        fprintf(f, "<a href=\"%s/report.html\">%s</a>", m->name, m->name); /* of harmless characters */
    else
        fputs("the model itself", f);
    if (m->text && *m->text) {
        fputs("<small><code>", f);
        report_text(f, m->text, strlen(m->text), 512, true);
        fputs("</code></small>", f);
    }
    fputs("</th>", f);
    put_fact(f, "MB", number_text(text, mb_of(m), 4));
    put_fact(f, "bits a weight", number_text(text, m->bits, 3));
    put_speed(f, "prompt, tok/s", m->prompt, m->prompt_noise, was_loaded(m));
    put_speed(f, "generation, tok/s", m->steps, m->steps_noise, was_loaded(m));
    if (m->summary)
        put_compared(f, m);
    else
        fputs("<td></td><td></td><td></td><td></td><td></td><td></td>", f);
    fputs("</tr>\n", f);
}

static void put_table(FILE *f, const struct sweep *s)
{
    static const char *const heads[] = {
        "recipe", "MB",       "bits a weight", "prompt, tok/s", "generation, tok/s", "KL", "correlation",
        "match",  "parts at", "verdict",       "advice"};

    fputs("<section>\n<h2>Recipes</h2>\n<table class=\"cards many\">\n<thead><tr>", f);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        fprintf(f, "<th>%s</th>", heads[i]);
    fputs("</tr></thead>\n<tbody>\n", f);
    put_row(f, &s->source);
    for (int i = 0; i < s->recipes.n; i++)
        put_row(f, &s->made[i]);
    fputs("</tbody>\n</table>\n</section>\n", f);
}

/* ---- the page ---- */

static void put_head(FILE *f, const struct sweep *s)
{
    const struct summary *summary = s->made[0].summary;
    const struct made *best = NULL;
    char text[NUMBER_TEXT];

    for (int i = 0; i < s->recipes.n; i++)
        if (s->made[i].advice == RECOMMENDED)
            best = &s->made[i];
    report_begin(f, "recipes", " of ", model_name(s->o->model));
    fputs("<header>\n<p class=\"who\">Recipes of <b>", f);
    report_text(f, model_name(s->o->model), strlen(model_name(s->o->model)), 256, true);
    fprintf(f, "</b></p>\n<h1>%s%s</h1>\n",
            best ? "Recommended: " : "None recommended: ", best ? best->name : sweep_why_none(s));
    if (s->chosen >= 0)
        fprintf(f, "<p class=\"reason\">The smallest with a KL of at most %s is %s.</p>\n",
                number_text(text, s->o->sweep->max_kl, 2), s->made[s->chosen].name);
    fprintf(f, "<p class=\"soft\">Measured over %s positions of ", count_text(text, summary->positions));
    fprintf(f, "%s prompts of ", count_text(text, summary->prompts));
    report_words(f, summary->run.data.name);
    fputs(".</p>\n</header>\n", f);
}

int sweep_page(const struct sweep *s, const char *path)
{
    struct save page = {0};

    TRY(save_open(&page, path));
    put_head(page.file, s);
    put_picture(page.file, s);
    put_table(page.file, s);
    sweep_tensors(page.file, s);
    fputs("</body>\n</html>\n", page.file);
    return save_close(&page);
}
