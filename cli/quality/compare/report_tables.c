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
void report_health(FILE *f, const char *word)
{
    static const char *const words[][3] = {
        {"healthy", "healthy", "✓"}, {"watch", "watch", "!"}, {"concerning", "concerning", "✗"}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i][0]) == 0) {
            fprintf(f, "<span class=\"health %s\"><b>%s</b> %s</span>", words[i][1], words[i][2], word);
            return;
        }
    fputs("<span class=\"health none\">not judged</span>", f);
}

static void put_plural(FILE *f, int64_t n, const char *one, const char *many)
{
    char text[NUMBER_TEXT];

    fprintf(f, "%s %s", count_text(text, n), n == 1 ? one : many);
}

/* With its mode, since the two may be one model. */
static void put_name(FILE *f, const json_t *side)
{
    report_value(f, json_object_get(side, "name"));
    if (*report_word(side, "mode")) {
        fputs(" <span class=\"soft\">(", f);
        report_value(f, json_object_get(side, "mode"));
        fputs(")</span>", f);
    }
}

void report_verdict(FILE *f, const json_t *summary, const struct report_figures *g)
{
    const json_t *verdict = json_object_get(summary, "verdict"), *run = json_object_get(summary, "run");
    int64_t failed = report_count(summary, "failed");

    fputs("<header>\n<p class=\"who\">", f);
    put_name(f, json_object_get(run, "test"));
    fputs(" <span class=\"soft\">against</span> ", f);
    put_name(f, json_object_get(run, "ref"));
    fputs("</p>\n<h1>", f);
    report_health(f, report_word(verdict, "whole"));
    fputs("</h1>\n<p class=\"reason\">", f);
    report_value(f, json_object_get(verdict, "reason"));
    fputs("</p>\n<p class=\"soft\">Measured over ", f);
    put_plural(f, report_count(summary, "positions"), "position", "positions");
    fputs(" of ", f);
    put_plural(f, g->prompts, "prompt", "prompts");
    if (failed > 0) {
        fputs("; ", f);
        put_plural(f, failed, "prompt", "prompts");
        fputs(" could not be compared", f);
    }
    fputs(".</p>\n</header>\n", f);
}

/* ---- the metrics beside their limits ---- */

/* Else the last row of a table says nothing. */
static bool leaves_out(const json_t *summary)
{
    return report_count(summary, "left_out") > 0;
}

static void put_cell(FILE *f, const char *label, const char *text)
{
    fprintf(f, "<td data-l=\"%s\">%s</td>", label, text);
}

static void put_interval(FILE *f, const json_t *of, number_writer *write)
{
    const json_t *interval = json_object_get(of, "interval");
    char low[NUMBER_TEXT], high[NUMBER_TEXT];

    if (json_array_size(interval) == 2)
        fprintf(f, "<td data-l=\"95 %% interval\">%s to %s</td>",
                write(low, json_number_value(json_array_get(interval, 0))),
                write(high, json_number_value(json_array_get(interval, 1))));
    else
        put_cell(f, "95 % interval", "–");
}

/* As it was given. */
static const char *limit_text(char out[NUMBER_TEXT], const json_t *limit)
{
    snprintf(out, NUMBER_TEXT, json_is_number(limit) ? "%.10g" : "–", json_number_value(limit));
    return out;
}

struct judged {
    const char *key, *of, *name, *note, *sides[2];
    number_writer *write;
    bool percent; /* the limits are, and the value is a share */
};

static void put_judged(FILE *f, const json_t *summary, const struct judged *j)
{
    const json_t *of = json_object_get(summary, j->of);
    const json_t *limits = json_object_get(json_object_get(summary, "limits"), j->key);
    char text[NUMBER_TEXT];

    fprintf(f, "<tr><th scope=\"row\">%s<small>%s</small></th>", j->name, j->note);
    put_cell(f, "mean", j->write(text, report_number(of, "mean")));
    put_interval(f, of, j->write);
    for (int i = 0; i < 2; i++) {
        const json_t *limit = json_array_get(limits, (size_t)i);
        fprintf(f, "<td data-l=\"%s\">%s\u00a0%s%s</td>", i ? "concerning" : "healthy", j->sides[i],
                limit_text(text, limit), j->percent ? "\u00a0%" : "");
    }
    fputs("<td data-l=\"verdict\">", f);
    report_health(f, report_word(json_object_get(summary, "verdict"), j->key));
    fputs("</td></tr>\n", f);
}

static void put_loops(FILE *f, const json_t *summary)
{
    char ref[NUMBER_TEXT], test[NUMBER_TEXT];

    fprintf(f,
            "<tr><th scope=\"row\">Loops<small>answers that go round</small></th><td data-l=\"mean\">%s</td>"
            "<td data-l=\"95 %% interval\">–</td><td data-l=\"healthy\">as the reference: %s</td>"
            "<td data-l=\"concerning\">–</td><td data-l=\"verdict\">",
            count_text(test, report_count(summary, "loops_test")),
            count_text(ref, report_count(summary, "loops_ref")));
    report_health(f, report_word(json_object_get(summary, "verdict"), "loop"));
    fputs("</td></tr>\n", f);
}

static void put_limits(FILE *f, const json_t *summary)
{
    static const struct judged judged[] = {
        {"kl",
         "kl",
         "KL(ref‖test)",
         "nats, how much the predictions differ",
         {"below", "above"},
         plain_text,
         false},
        {"correlation",
         "correlation",
         "Correlation",
         "of the logits",
         {"above", "below"},
         near_one_text,
         false},
        {"match",
         "match_rate_clear",
         "Match",
         "positions with the same first choice, near-ties apart",
         {"above", "below"},
         percent_text,
         true},
        {"entropy",
         "entropy_test",
         "Entropy of the test",
         "nats, how open its predictions are",
         {"above", "below"},
         plain_text,
         false},
        {"outside",
         "outside",
         "Probability left out",
         "of ids that the test does not compute",
         {"below", "above"},
         plain_text,
         false},
    };

    fputs("<table class=\"cards limits\"><thead><tr><th>metric</th><th>mean</th><th>95 % interval</th>"
          "<th>healthy</th><th>concerning</th><th>verdict</th></tr></thead>\n<tbody>\n",
          f);
    for (size_t i = 0; i < sizeof judged / sizeof *judged - !leaves_out(summary); i++)
        put_judged(f, summary, &judged[i]);
    put_loops(f, summary);
    fputs("</tbody></table>\n", f);
}

struct measured {
    const char *key, *name;
    number_writer *write;
    bool mean_only; /* of values that are 0 or 1 no quantile says anything */
};

static void put_measured(FILE *f, const json_t *summary)
{
    static const struct measured measured[] = {
        {"kl", "KL(ref‖test), nats", plain_text, false},
        {"kl_reverse", "KL(test‖ref), nats", plain_text, false},
        {"correlation", "correlation", near_one_text, false},
        {"cosine", "cosine", near_one_text, false},
        {"entropy_ref", "entropy of the reference, nats", plain_text, false},
        {"entropy_test", "entropy of the test, nats", plain_text, false},
        {"match_rate", "match", percent_text, true},
        {"match_rate_clear", "match without near-ties", percent_text, true},
        {"overlap", "ids among the highest of both", plain_text, false},
        {"largest", "largest difference of a high logit", plain_text, false},
        {"margin_ref", "margin of the reference", plain_text, false},
        {"margin_test", "margin of the test", plain_text, false},
        {"outside", "probability of ids left out", plain_text, false},
    };
    static const char *const columns[] = {"median", "p90", "p99", "max"};
    char text[NUMBER_TEXT];

    fputs("<table class=\"cards all\"><thead><tr><th>all metrics</th><th>mean</th><th>95 % "
          "interval</th><th>median</th>"
          "<th>p90</th><th>p99</th><th>largest</th></tr></thead>\n<tbody>\n",
          f);
    for (size_t i = 0; i < sizeof measured / sizeof *measured - !leaves_out(summary); i++) {
        const struct measured *m = &measured[i];
        const json_t *of = json_object_get(summary, m->key);
        fprintf(f, "<tr><th scope=\"row\">%s</th>", m->name);
        put_cell(f, "mean", m->write(text, report_number(of, "mean")));
        put_interval(f, of, m->write);
        for (int c = 0; c < 4; c++)
            put_cell(f, c == 3 ? "largest" : columns[c],
                     m->mean_only ? "" : m->write(text, report_number(of, columns[c])));
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

static void put_first_divergence(FILE *f, const json_t *d)
{
    fact_begin(f, "earliest divergence");
    if (json_is_object(d)) {
        fprintf(f, "position %" PRId64 " of prompt ", report_count(d, "index"));
        report_value(f, json_object_get(d, "prompt"));
        fputs(": “", f);
        report_value(f, json_object_get(d, "piece_ref"));
        fputs("” became “", f);
        report_value(f, json_object_get(d, "piece_test"));
        fprintf(f, "”%s", json_is_true(json_object_get(d, "near_tie")) ? ", a near-tie" : "");
    } else {
        fputs("none", f);
    }
    fact_end(f);
}

static void put_after_stop(FILE *f, const json_t *after)
{
    char n[NUMBER_TEXT], kl[NUMBER_TEXT], match[NUMBER_TEXT];

    fact_begin(f, "after a stop id, counted apart");
    fprintf(f, "%s positions, KL %s, match %s", count_text(n, report_count(after, "positions")),
            number_text(kl, report_number(after, "kl"), 3),
            percent_text(match, report_number(after, "match_rate")));
    fact_end(f);
}

static void put_facts(FILE *f, const json_t *summary)
{
    char a[NUMBER_TEXT], b[NUMBER_TEXT];
    const json_t *after = json_object_get(summary, "after_stop");

    fputs("<dl class=\"facts\">\n", f);
    put_first_divergence(f, json_object_get(summary, "first_divergence"));
    put_fact(f, "prompts that diverge", count_text(a, report_count(summary, "diverged")));
    put_fact(f, "answers equal as a whole", percent_text(a, report_number(summary, "equal_answers")));
    put_fact(f, "near-ties of the reference", count_text(a, report_count(summary, "near_ties")));
    put_pair(f, "perplexity of the ids", number_text(a, report_number(summary, "perplexity_ref"), 6),
             number_text(b, report_number(summary, "perplexity_test"), 6));
    put_fact(f, "RMS of Δp", number_text(a, report_number(summary, "delta_p_rms"), 3));
    put_pair(f, "repeated 4-grams", count_text(a, report_count(summary, "repeated_4grams_ref")),
             count_text(b, report_count(summary, "repeated_4grams_test")));
    if (leaves_out(summary))
        put_fact(f, "logits left out", count_text(a, report_count(summary, "left_out")));
    if (json_is_object(after))
        put_after_stop(f, after);
    fputs("</dl>\n", f);
}

/* ---- lengths ---- */

static void put_lengths(FILE *f, const json_t *at)
{
    char n[NUMBER_TEXT], kl[NUMBER_TEXT], correlation[NUMBER_TEXT], match[NUMBER_TEXT];
    size_t i;
    const json_t *row;

    fputs("<table class=\"lengths\"><thead><tr><th>tokens</th><th>KL</th><th>correlation</th><th>match</th>"
          "<th>diverges at</th></tr></thead>\n<tbody>\n",
          f);
    json_array_foreach(at, i, row)
    {
        const json_t *first = json_object_get(row, "first_divergence");
        fprintf(f, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td><td>%s</td><td>",
                count_text(n, report_count(row, "tokens")), number_text(kl, report_number(row, "kl"), 3),
                near_one_text(correlation, report_number(row, "correlation")),
                percent_text(match, report_number(row, "match")));
        if (json_is_integer(first))
            fprintf(f, "%" JSON_INTEGER_FORMAT, json_integer_value(first));
        else
            fputs("–", f);
        fputs("</td></tr>\n", f);
    }
    fputs("</tbody></table>\n", f);
}

static void put_remarks(FILE *f, const json_t *summary)
{
    const char *entropy = report_word(json_object_get(summary, "verdict"), "entropy");

    fputs("<p class=\"soft\">", f);
    if (json_array_size(json_object_get(json_object_get(summary, "kl"), "interval")) == 2)
        fputs("The intervals are a bootstrap over prompts, since the tokens of one prompt depend on each "
              "other.",
              f);
    else
        fputs("There is no interval: it is a bootstrap over prompts and needs at least two.", f);
    if (strcmp(entropy, "not judged") == 0)
        fputs(" Entropy is judged only where the reference's own is healthy.", f);
    fputs(" Logarithms are natural; the margin is the first minus the second logit.</p>\n", f);
}

void report_metrics(FILE *f, const json_t *summary)
{
    const json_t *at = json_object_get(summary, "at");

    fputs("<section>\n<h2>Metrics</h2>\n", f);
    put_limits(f, summary);
    put_remarks(f, summary);
    put_measured(f, summary);
    put_facts(f, summary);
    if (json_array_size(at) > 0)
        put_lengths(f, at);
    fputs("</section>\n", f);
}

/* ---- the models compared ---- */

static void put_both(FILE *f, const char *name, const json_t *ref, const json_t *test, const char *key,
                     bool code)
{
    const json_t *side[2] = {json_object_get(ref, key), json_object_get(test, key)};

    if (!side[0] && !side[1])
        return;
    fprintf(f, "<tr><th scope=\"row\">%s</th>", name);
    for (int i = 0; i < 2; i++) {
        fprintf(f, "<td data-l=\"%s\">%s", i ? "test" : "reference", code ? "<code>" : "");
        if (side[i])
            report_value(f, side[i]);
        else
            fputs("–", f);
        fprintf(f, "%s</td>", code ? "</code>" : "");
    }
    fputs("</tr>\n", f);
}

static void put_amount(FILE *f, const char *name, const json_t *ref, const json_t *test, const char *key,
                       bool bytes)
{
    const json_t *side[2] = {json_object_get(ref, key), json_object_get(test, key)};
    char text[SIZE_TEXT + NUMBER_TEXT];

    if (!side[0] && !side[1])
        return;
    fprintf(f, "<tr><th scope=\"row\">%s</th>", name);
    for (int i = 0; i < 2; i++) {
        const char *label = i ? "test" : "reference";
        if (!json_is_integer(side[i]))
            put_cell(f, label, "–");
        else if (bytes)
            put_cell(f, label, size_text(text, json_number_value(side[i])));
        else
            put_cell(f, label, count_text(text, json_integer_value(side[i])));
    }
    fputs("</tr>\n", f);
}

static void put_options(FILE *f, const json_t *run)
{
    const json_t *options = json_object_get(run, "options"), *value;
    const char *key, *between = "";

    fact_begin(f, "options");
    for (void *at = json_object_iter((json_t *)options); at;
         at = json_object_iter_next((json_t *)options, at)) {
        key = json_object_iter_key(at);
        value = json_object_iter_value(at);
        if (json_is_array(value) && json_array_size(value) == 0)
            continue;
        fputs(between, f);
        report_text(f, key, strlen(key), 256, true);
        fputc(' ', f);
        report_value(f, value);
        between = ", ";
    }
    fact_end(f);
}

static void put_data(FILE *f, const json_t *data)
{
    fact_begin(f, "data");
    report_value(f, json_object_get(data, "name"));
    fputs(", ", f);
    put_plural(f, report_count(data, "prompts"), "prompt", "prompts");
    if (json_object_get(data, "hash")) {
        fputs(", <code>", f);
        report_value(f, json_object_get(data, "hash"));
        fputs("</code>", f);
    }
    fact_end(f);
}

/* Limits that are not the default. */
static void put_limit_words(FILE *f, const json_t *limits)
{
    static const char *const keys[] = {"kl", "correlation", "match", "entropy", "outside"};
    carat_quality_limits usual;
    const char *between = " --limits ";

    carat_quality_limits_default(&usual);
    const double *const defaults[] = {usual.kl, usual.correlation, usual.match, usual.entropy, usual.outside};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *limit = json_object_get(limits, keys[i]);
        double healthy = json_number_value(json_array_get(limit, 0));
        double concerning = json_number_value(json_array_get(limit, 1));
        if (json_array_size(limit) != 2 || (healthy == defaults[i][0] && concerning == defaults[i][1]))
            continue;
        fprintf(f, "%s%s=%.10g:%.10g", between, keys[i], healthy, concerning);
        between = ",";
    }
}

/* The results' command, which says nothing that they do not depend on. */
static void put_command(FILE *f, const json_t *summary)
{
    fputs("<p>The command that repeats it:</p>\n<pre class=\"text\"><code>", f);
    report_value(f, json_object_get(json_object_get(summary, "run"), "command"));
    if (json_object_get(summary, "bisect"))
        fputs(" --bisect", f);
    put_limit_words(f, json_object_get(summary, "limits"));
    fputs(" --out DIR</code></pre>\n", f);
}

void report_compared(FILE *f, const json_t *summary)
{
    const json_t *run = json_object_get(summary, "run");
    const json_t *ref = json_object_get(run, "ref"), *test = json_object_get(run, "test");

    fputs("<section>\n<h2>Who was compared</h2>\n<table class=\"cards "
          "both\"><thead><tr><th></th><th>reference</th>"
          "<th>test</th></tr></thead>\n<tbody>\n",
          f);
    put_both(f, "name", ref, test, "name", false);
    put_both(f, "path", ref, test, "path", true);
    put_both(f, "architecture", ref, test, "architecture", false);
    put_both(f, "container", ref, test, "container", false);
    put_both(f, "types", ref, test, "types", false);
    put_amount(f, "parameters", ref, test, "n_parameter", false);
    put_amount(f, "weights", ref, test, "weight_bytes", true);
    put_amount(f, "recorded rows", ref, test, "rows", false);
    put_both(f, "content hash", ref, test, "content", true);
    put_both(f, "mode", ref, test, "mode", false);
    fputs("</tbody></table>\n<dl class=\"facts\">\n", f);
    fact_begin(f, "driver");
    report_value(f, json_object_get(run, "driver"));
    fact_end(f);
    put_options(f, run);
    put_data(f, json_object_get(run, "data"));
    fact_begin(f, "carat");
    report_value(f, json_object_get(run, "version"));
    fputs(", numerics ", f);
    report_value(f, json_object_get(run, "numerics"));
    fputs("</dd></div>\n</dl>\n", f);
    put_command(f, summary);
    fputs("</section>\n", f);
}
