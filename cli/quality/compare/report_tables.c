/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.c: the parts of the report that are words and tables: the verdict, the metrics beside
 * their limits, who was compared. The judgements are the summary's. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "carat_quality.h"
#include "quality/compare/report_parts.h"
#include "term/size.h"

typedef const char *number_writer(char out[NUMBER_TEXT], double value);

static const char *plain_text(char out[NUMBER_TEXT], double value)
{
    return number_text(out, value, 3);
}

/* ---- the verdict ---- */

/* A word with a sign, so that colours are not needed; the class is one of the four that the style knows. */
void report_health(FILE *f, carat_health health)
{
    static const char *const signs[] = {[CARAT_HEALTHY] = "✓", [CARAT_WATCH] = "!", [CARAT_CONCERNING] = "✗"};
    const char *word = carat_health_name(health);

    if (health == CARAT_NOT_JUDGED)
        fputs("<span class=\"health none\">not judged</span>", f);
    else
        fprintf(f, "<span class=\"health %s\"><b>%s</b> %s</span>", word, signs[health], word);
}

static void put_plural(FILE *f, int64_t n, const char *one, const char *many)
{
    char text[NUMBER_TEXT];

    fprintf(f, "%s %s", count_text(text, n), n == 1 ? one : many);
}

/* With its mode, since the two may be one model. */
static void put_name(FILE *f, const struct run_side *side)
{
    report_words(f, side->name);
    if (side->mode.n) {
        fputs(" <span class=\"soft\">(", f);
        report_words(f, side->mode);
        fputs(")</span>", f);
    }
}

void report_verdict(FILE *f, const struct summary *s, const struct report_figures *g)
{
    fputs("<header>\n<p class=\"who\">", f);
    put_name(f, &s->run.side[1]);
    fputs(" <span class=\"soft\">against</span> ", f);
    put_name(f, &s->run.side[0]);
    fputs("</p>\n<h1>", f);
    report_health(f, s->verdict.whole);
    fputs("</h1>\n<p class=\"reason\">", f);
    report_words(f, words_of(s->verdict.reason));
    fputs("</p>\n<p class=\"soft\">Measured over ", f);
    put_plural(f, s->positions, "position", "positions");
    fputs(" of ", f);
    put_plural(f, g->prompts, "prompt", "prompts");
    if (s->failed > 0) {
        fputs("; ", f);
        put_plural(f, s->failed, "prompt", "prompts");
        fputs(" could not be compared", f);
    }
    fputs(".</p>\n</header>\n", f);
}

/* ---- the metrics beside their limits ---- */

static void put_cell(FILE *f, const char *label, const char *text)
{
    fprintf(f, "<td data-l=\"%s\">%s</td>", label, text);
}

static void put_interval(FILE *f, const carat_summary *of, number_writer *write)
{
    char low[NUMBER_TEXT], high[NUMBER_TEXT];

    if (of->has_interval)
        fprintf(f, "<td data-l=\"95 %% interval\">%s to %s</td>", write(low, of->low), write(high, of->high));
    else
        put_cell(f, "95 % interval", "–");
}

struct judged {
    enum metric metric;
    size_t limits, health; /* where they are in carat_quality_limits and carat_judgement */
    const char *name, *note, *sides[2];
    number_writer *write;
    bool percent; /* the limits are, and the value is a share */
};

static void put_judged(FILE *f, const struct summary *s, const struct judged *j)
{
    const carat_summary *of = &s->metric[j->metric];
    const double *limits = (const void *)((const char *)&s->limits + j->limits);
    const carat_health *health = (const void *)((const char *)&s->verdict + j->health);
    char text[NUMBER_TEXT];

    fprintf(f, "<tr><th scope=\"row\">%s<small>%s</small></th>", j->name, j->note);
    put_cell(f, "mean", j->write(text, of->mean));
    put_interval(f, of, j->write);
    for (int i = 0; i < 2; i++) /* as they were given */
        fprintf(f, "<td data-l=\"%s\">%s\u00a0%.10g%s</td>", i ? "concerning" : "healthy", j->sides[i],
                limits[i], j->percent ? "\u00a0%" : "");
    fputs("<td data-l=\"verdict\">", f);
    report_health(f, *health);
    fputs("</td></tr>\n", f);
}

static void put_loops(FILE *f, const struct summary *s)
{
    char ref[NUMBER_TEXT], test[NUMBER_TEXT];

    fprintf(f,
            "<tr><th scope=\"row\">Loops<small>answers that go round</small></th><td data-l=\"mean\">%s</td>"
            "<td data-l=\"95 %% interval\">–</td><td data-l=\"healthy\">as the reference: %s</td>"
            "<td data-l=\"concerning\">–</td><td data-l=\"verdict\">",
            count_text(test, s->loops[1]), count_text(ref, s->loops[0]));
    report_health(f, s->verdict.loop);
    fputs("</td></tr>\n", f);
}

#define JUDGED(metric, member)                                                                               \
    metric, offsetof(carat_quality_limits, member), offsetof(carat_judgement, member)

static void put_limits(FILE *f, const struct summary *s)
{
    static const struct judged judged[] = {
        {JUDGED(KL, kl),
         "KL(ref‖test)",
         "nats, how much the predictions differ",
         {"below", "above"},
         plain_text,
         false},
        {JUDGED(CORRELATION, correlation),
         "Correlation",
         "of the logits",
         {"above", "below"},
         near_one_text,
         false},
        {JUDGED(MATCH_CLEAR, match),
         "Match",
         "positions with the same first choice, near-ties apart",
         {"above", "below"},
         percent_text,
         true},
        {JUDGED(ENTROPY_TEST, entropy),
         "Entropy of the test",
         "nats, how open its predictions are",
         {"above", "below"},
         plain_text,
         false},
        {JUDGED(OUTSIDE, outside),
         "Probability left out",
         "of ids that the test does not compute",
         {"below", "above"},
         plain_text,
         false},
    };

    fputs("<table class=\"cards limits\"><thead><tr><th>metric</th><th>mean</th><th>95 % interval</th>"
          "<th>healthy</th><th>concerning</th><th>verdict</th></tr></thead>\n<tbody>\n",
          f);
    for (size_t i = 0; i < sizeof judged / sizeof *judged - !s->left_out; i++)
        put_judged(f, s, &judged[i]);
    put_loops(f, s);
    fputs("</tbody></table>\n", f);
}

struct measured {
    enum metric metric;
    const char *name;
    number_writer *write;
    bool mean_only; /* of values that are 0 or 1 no quantile says anything */
};

static void put_measured(FILE *f, const struct summary *s)
{
    static const struct measured measured[] = {
        {KL, "KL(ref‖test), nats", plain_text, false},
        {KL_REVERSE, "KL(test‖ref), nats", plain_text, false},
        {CORRELATION, "correlation", near_one_text, false},
        {COSINE, "cosine", near_one_text, false},
        {ENTROPY_REF, "entropy of the reference, nats", plain_text, false},
        {ENTROPY_TEST, "entropy of the test, nats", plain_text, false},
        {MATCH, "match", percent_text, true},
        {MATCH_CLEAR, "match without near-ties", percent_text, true},
        {OVERLAP, "ids among the highest of both", plain_text, false},
        {LARGEST, "largest difference of a high logit", plain_text, false},
        {MARGIN_REF, "margin of the reference", plain_text, false},
        {MARGIN_TEST, "margin of the test", plain_text, false},
        {OUTSIDE, "probability of ids left out", plain_text, false},
    };
    static const char *const columns[] = {"median", "p90", "p99", "largest"};
    char text[NUMBER_TEXT];

    fputs("<table class=\"cards all\"><thead><tr><th>all metrics</th><th>mean</th><th>95 % "
          "interval</th><th>median</th>"
          "<th>p90</th><th>p99</th><th>largest</th></tr></thead>\n<tbody>\n",
          f);
    for (size_t i = 0; i < sizeof measured / sizeof *measured - !s->left_out; i++) {
        const struct measured *m = &measured[i];
        const carat_summary *of = &s->metric[m->metric];
        const double values[] = {of->median, of->p90, of->p99, of->max};
        fprintf(f, "<tr><th scope=\"row\">%s</th>", m->name);
        put_cell(f, "mean", m->write(text, of->mean));
        put_interval(f, of, m->write);
        for (int c = 0; c < 4; c++)
            put_cell(f, columns[c], m->mean_only ? "" : m->write(text, values[c]));
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table>\n", f);
}

/* ---- what one number each says ---- */

static void fact_begin(FILE *f, const char *name)
{
    fprintf(f, "<div><dt>%s</dt><dd>", name);
}

static void fact_end(FILE *f)
{
    fputs("</dd></div>\n", f);
}

static void put_fact(FILE *f, const char *name, const char *text)
{
    fact_begin(f, name);
    fputs(text, f);
    fact_end(f);
}

static void put_pair(FILE *f, const char *name, const char *ref, const char *test)
{
    fact_begin(f, name);
    fprintf(f, "%s <span class=\"soft\">reference</span>, %s <span class=\"soft\">test</span>", ref, test);
    fact_end(f);
}

static void put_first_divergence(FILE *f, const struct divergence *d)
{
    fact_begin(f, "earliest divergence");
    if (d->there) {
        fprintf(f, "position %" PRId64 " of prompt ", d->index);
        report_value(f, d->prompt);
        fputs(": “", f);
        report_words(f, d->piece_ref);
        fputs("” became “", f);
        report_words(f, d->piece_test);
        fprintf(f, "”%s", d->near_tie ? ", a near-tie" : "");
    } else {
        fputs("none", f);
    }
    fact_end(f);
}

static void put_after_stop(FILE *f, const struct part *after)
{
    char n[NUMBER_TEXT], kl[NUMBER_TEXT], match[NUMBER_TEXT];

    fact_begin(f, "after a stop id, counted apart");
    fprintf(f, "%s positions, KL %s, match %s", count_text(n, after->positions),
            number_text(kl, after->kl, 3), percent_text(match, after->match));
    fact_end(f);
}

static void put_facts(FILE *f, const struct summary *s)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];

    fputs("<dl class=\"facts\">\n", f);
    put_first_divergence(f, &s->first);
    put_fact(f, "prompts that diverge", count_text(a, s->diverged));
    put_fact(f, "answers equal as a whole", percent_text(a, s->equal_answers));
    put_fact(f, "near-ties of the reference", count_text(a, s->near_ties));
    put_pair(f, "perplexity of the ids", number_text(a, s->perplexity[0], 6),
             number_text(b, s->perplexity[1], 6));
    put_fact(f, "RMS of Δp", number_text(a, s->delta_p_rms, 3));
    put_pair(f, "repeated 4-grams", count_text(a, s->repeated_4grams[0]),
             count_text(b, s->repeated_4grams[1]));
    if (s->left_out)
        put_fact(f, "logits left out", count_text(a, s->left_out));
    if (s->after_stop.there)
        put_after_stop(f, &s->after_stop);
    fputs("</dl>\n", f);
}

/* ---- lengths ---- */

static void put_lengths(FILE *f, const struct summary *s)
{
    char n[NUMBER_TEXT], kl[NUMBER_TEXT], correlation[NUMBER_TEXT], match[NUMBER_TEXT];

    fputs("<table class=\"lengths\"><thead><tr><th>tokens</th><th>KL</th><th>correlation</th><th>match</th>"
          "<th>diverges at</th></tr></thead>\n<tbody>\n",
          f);
    for (const struct part *at = s->at; at < s->at + s->n_at; at++) {
        fprintf(f, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td><td>",
                count_text(n, at->tokens), number_text(kl, at->kl, 3),
                near_one_text(correlation, at->correlation), percent_text(match, at->match));
        if (at->first_divergence >= 0)
            fprintf(f, "%" PRId64, at->first_divergence);
        else
            fputs("–", f);
        fputs("</td></tr>\n", f);
    }
    fputs("</tbody></table>\n", f);
}

static void put_remarks(FILE *f, const struct summary *s)
{
    fputs("<p class=\"soft\">", f);
    if (s->metric[KL].has_interval)
        fputs("The intervals are a bootstrap over prompts, since the tokens of one prompt depend on each "
              "other.",
              f);
    else
        fputs("There is no interval: it is a bootstrap over prompts and needs at least two.", f);
    if (s->verdict.entropy == CARAT_NOT_JUDGED)
        fputs(" Entropy is judged only where the reference's own is healthy.", f);
    fputs(" Logarithms are natural; the margin is the first minus the second logit.</p>\n", f);
}

void report_metrics(FILE *f, const struct summary *s)
{
    fputs("<section>\n<h2>Metrics</h2>\n", f);
    put_limits(f, s);
    put_remarks(f, s);
    put_measured(f, s);
    put_facts(f, s);
    if (s->n_at > 0)
        put_lengths(f, s);
    fputs("</section>\n", f);
}

/* ---- the models compared ---- */

static void put_both(FILE *f, const char *name, struct words ref, struct words test, bool code)
{
    const struct words side[2] = {ref, test};

    if (!ref.s && !test.s)
        return;
    fprintf(f, "<tr><th scope=\"row\">%s</th>", name);
    for (int i = 0; i < 2; i++) {
        fprintf(f, "<td data-l=\"%s\">%s", i ? "test" : "reference", code ? "<code>" : "");
        if (side[i].s)
            report_words(f, side[i]);
        else
            fputs("–", f);
        fprintf(f, "%s</td>", code ? "</code>" : "");
    }
    fputs("</tr>\n", f);
}

static void put_amount(FILE *f, const char *name, int64_t ref, int64_t test, bool bytes)
{
    const int64_t side[2] = {ref, test};
    char text[SIZE_TEXT + NUMBER_TEXT];

    if (ref < 0 && test < 0)
        return;
    fprintf(f, "<tr><th scope=\"row\">%s</th>", name);
    for (int i = 0; i < 2; i++)
        put_cell(f, i ? "test" : "reference",
                 side[i] < 0 ? "–"
                 : bytes     ? size_text(text, (double)side[i])
                             : count_text(text, side[i]));
    fputs("</tr>\n", f);
}

static void put_options(FILE *f, const struct run *run)
{
    fact_begin(f, "options");
    fprintf(
        f, "max_tokens <bdi>%d</bdi>, ignore_eos <bdi>%s</bdi>, top <bdi>%d</bdi>, near_tie <bdi>%.10g</bdi>",
        run->options.max_tokens, run->options.ignore_eos ? "yes" : "no", run->options.top,
        run->options.near_tie);
    if (json_array_size(run->options.at) > 0) {
        fputs(", at ", f);
        report_value(f, run->options.at);
    }
    fact_end(f);
}

static void put_data(FILE *f, const struct run_data *data)
{
    fact_begin(f, "data");
    report_words(f, data->name);
    fputs(", ", f);
    put_plural(f, data->prompts, "prompt", "prompts");
    if (data->hash.s) {
        fputs(", <code>", f);
        report_words(f, data->hash);
        fputs("</code>", f);
    }
    fact_end(f);
}

/* Limits that are not the default. */
static void put_limit_words(FILE *f, const carat_quality_limits *limits)
{
    carat_quality_limits usual;
    const char *between = " --limits ";

    carat_quality_limits_default(&usual);
    for (const struct field *l = limits_fields; l->name; l++) {
        const double *is = (const void *)((const char *)limits + l->at),
                     *was = (const void *)((const char *)&usual + l->at);
        if (is[0] == was[0] && is[1] == was[1])
            continue;
        fprintf(f, "%s%s=%.10g:%.10g", between, l->name, is[0], is[1]);
        between = ",";
    }
}

/* The results' command, which says nothing that they do not depend on. */
static void put_command(FILE *f, const struct summary *s)
{
    fputs("<p>The command that repeats it:</p>\n<pre class=\"text\"><code>", f);
    report_words(f, s->run.command);
    if (s->bisect)
        fputs(" --bisect", f);
    put_limit_words(f, &s->limits);
    fputs(" --out DIR</code></pre>\n", f);
}

void report_compared(FILE *f, const struct summary *s)
{
    const struct run *run = &s->run;
    const struct run_side *ref = &run->side[0], *test = &run->side[1];

    fputs("<section>\n<h2>Who was compared</h2>\n<table class=\"cards "
          "both\"><thead><tr><th></th><th>reference</th>"
          "<th>test</th></tr></thead>\n<tbody>\n",
          f);
    put_both(f, "name", ref->name, test->name, false);
    put_both(f, "architecture", ref->architecture, test->architecture, false);
    put_both(f, "container", ref->container, test->container, false);
    put_both(f, "types", ref->types, test->types, false);
    put_amount(f, "parameters", ref->n_parameter, test->n_parameter, false);
    put_amount(f, "weights", ref->weight_bytes, test->weight_bytes, true);
    put_both(f, "content hash", ref->content, test->content, true);
    put_both(f, "mode", ref->mode, test->mode, false);
    fputs("</tbody></table>\n<dl class=\"facts\">\n", f);
    fact_begin(f, "driver");
    report_words(f, run->driver);
    fact_end(f);
    put_options(f, run);
    put_data(f, &run->data);
    fact_begin(f, "carat");
    report_words(f, run->version);
    fprintf(f, ", numerics <bdi>%d</bdi></dd></div>\n</dl>\n", run->numerics);
    put_command(f, s);
    fputs("</section>\n", f);
}
