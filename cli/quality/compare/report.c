/* SPDX-License-Identifier: Apache-2.0 */
/* report.c: the report of `carat compare`: one page that stands alone, in the order of a reader's questions:
 * is it the same model, by which numbers, which models were compared, where along the answers and in which
 * words do they differ, and where does it begin. It is a function of the results and their summary, without
 * the timings. It has no script and loads nothing. */
#include <stdlib.h>
#include <string.h>

#include "io/save.h"
#include "quality/compare/report_parts.h"
#include "term/exit.h"
#include "term/message.h"

void report_begin(FILE *f, const char *first, const char *between, const char *second)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; "
          "base-uri 'none'; form-action 'none'\"/>\n"
          "<meta name=\"referrer\" content=\"no-referrer\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          f);
    report_text(f, first, strlen(first), 256, false);
    fputs(between, f);
    report_text(f, second, strlen(second), 256, false);
    fprintf(f, "</title>\n<style>\n%s%s</style>\n</head>\n<body>\n", svg_style, report_style);
}

static void put_pictures(FILE *f, const struct summary *summary, const struct report_figures *g)
{
    if (g->columns == 0)
        return;
    fputs("<section>\n<h2>Along the answers</h2>\n<div class=\"plots\">\n", f);
    report_curves(f, summary, g);
    report_margins(f, summary, g);
    report_entropies(f, g);
    fputs("</div>\n</section>\n", f);
}

static void put_page(FILE *f, const struct summary *summary, const struct report_figures *g)
{
    const struct run_side *side = summary->run.side;

    report_begin(f, words_some(side[1].name).s, " against ", words_some(side[0].name).s);
    report_verdict(f, summary, g);
    report_metrics(f, summary);
    report_compared(f, summary);
    put_pictures(f, summary, g);
    report_cases(f, g, summary->failed);
    if (summary->bisect)
        report_bisection(f, summary->bisect);
    fputs("</body>\n</html>\n", f);
}

int report_write(const char *path, FILE *results, const struct summary *summary)
{
    struct report_figures *g = calloc(1, sizeof *g);
    struct save page = {0};
    int code = g ? DONE : fail_memory();

    if (code == DONE)
        code = report_gather(g, results, summary);
    if (code == DONE && (code = save_open(&page, path)) == DONE) {
        put_page(page.file, summary, g);
        code = save_close(&page);
    }
    if (g)
        report_forget(g);
    free(g);
    return code;
}
