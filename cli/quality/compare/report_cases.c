/* SPDX-License-Identifier: Apache-2.0 */
/* report_cases.c: the ten prompts whose answers differ most, with the texts and where they part, and
 * before them those that could not be compared. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "quality/compare/report_parts.h"

/* Bytes of a prompt and of an answer that are shown, and of XML that a text may become. */
enum { PROMPT_HEAD = 1000, PROMPT_TAIL = 300, BEFORE = 500, AFTER = 700, MOST_XML = 16384, MOST_PIECE = 256 };

/* The nearest place at or before `at` where a character begins. */
static size_t character_at(const struct words *w, size_t at)
{
    if (at >= w->n)
        return w->n;
    while (at > 0 && ((unsigned char)w->s[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void put_left_out(FILE *f, size_t n)
{
    char text[NUMBER_TEXT];

    if (n > 0)
        fprintf(f, "<i class=\"cut\">%s bytes are not shown</i>", count_text(text, (int64_t)n));
}

/* From here to there; what becomes too long is cut, and said. */
static void put_part(FILE *f, const struct words *w, size_t from, size_t to)
{
    size_t taken = report_text(f, w->s + from, to - from, MOST_XML, true);

    put_left_out(f, to - from - taken);
}

static void put_prompt(FILE *f, const struct result *line)
{
    struct words w = words_some(line->prompt);
    size_t head = w.n, tail = w.n;

    if (w.n > PROMPT_HEAD + PROMPT_TAIL + 100) {
        head = character_at(&w, PROMPT_HEAD);
        tail = character_at(&w, w.n - PROMPT_TAIL);
    }
    fputs("<p class=\"label\">prompt</p>\n<pre class=\"text\" dir=\"auto\">", f);
    put_part(f, &w, 0, head);
    put_left_out(f, tail - head);
    put_part(f, &w, tail, w.n);
    if (line->prompt_cut)
        fputs("<i class=\"cut\">the prompt goes on</i>", f);
    fputs("</pre>\n", f);
}

/* ---- where two answers part ---- */

static size_t common_bytes(const struct words *a, const struct words *b)
{
    size_t n = 0;

    while (n < a->n && n < b->n && a->s[n] == b->s[n])
        n++;
    return n;
}

static bool stands_at(const struct words *text, size_t at, const struct words *piece)
{
    return piece->n <= text->n - at && memcmp(text->s + at, piece->s, piece->n) == 0;
}

/* A piece as it stands in a text: vocabularies write a space as U+2581. */
static struct words piece_of(struct words w, char out[MOST_PIECE])
{
    size_t n = 0;

    for (size_t i = 0; i < w.n && n < MOST_PIECE; n++) {
        bool space = w.n - i >= 3 && memcmp(w.s + i, "\xe2\x96\x81", 3) == 0;
        out[n] = space ? ' ' : w.s[i];
        i += space ? 3 : 1;
    }
    return (struct words){out, n};
}

/* The texts part within a piece: that of both begins at the last place where both pieces stand. What is
 * marked where no place has them is the first character that differs. */
static size_t place_of_pieces(const struct words answer[2], const struct words piece[2])
{
    size_t common = common_bytes(&answer[0], &answer[1]);
    size_t most = piece[0].n > piece[1].n ? piece[0].n : piece[1].n;

    for (size_t back = 0; back <= most && back <= common; back++) {
        size_t at = common - back;
        if (stands_at(&answer[0], at, &piece[0]) && stands_at(&answer[1], at, &piece[1]))
            return at;
    }
    return character_at(&answer[0], common);
}

/* One answer around the place, with the piece marked. */
static void put_answer(FILE *f, const char *label, const struct words *w, size_t at, size_t n_mark)
{
    size_t from = at > BEFORE ? character_at(w, at - BEFORE) : 0;
    size_t marked = character_at(w, at + n_mark), to = character_at(w, marked + AFTER);

    fprintf(f, "<div><p class=\"label\">%s</p>\n<pre class=\"text\" dir=\"auto\">", label);
    put_left_out(f, from);
    put_part(f, w, from, at);
    if (marked > at) {
        fputs("<mark>", f);
        put_part(f, w, at, marked);
        fputs("</mark>", f);
    }
    put_part(f, w, marked, to);
    put_left_out(f, w->n - to);
    if (w->n == 0)
        fputs("<i class=\"cut\">nothing</i>", f);
    fputs("</pre></div>\n", f);
}

/* Bytes of the character at a place. */
static size_t character_bytes(const struct words *w, size_t at)
{
    uint32_t code;

    return at < w->n ? (size_t)svg_decode(w->s + at, w->n - at, &code) : 0;
}

static void put_answers(FILE *f, const struct result *line)
{
    const struct divergence *d = &line->first;
    const struct words answer[2] = {words_some(line->answer[0]), words_some(line->answer[1])};
    char space[2][MOST_PIECE];
    struct words piece[2] = {piece_of(d->piece_ref, space[0]), piece_of(d->piece_test, space[1])};
    size_t at[2] = {answer[0].n, answer[1].n}, n[2] = {0, 0};

    if (d->there) {
        size_t place = place_of_pieces(answer, piece);
        for (int i = 0; i < 2; i++) {
            at[i] = character_at(&answer[i], place);
            n[i] = at[i] < answer[i].n && piece[i].n > 0 && stands_at(&answer[i], at[i], &piece[i])
                       ? piece[i].n
                       : character_bytes(&answer[i], at[i]);
        }
    }
    fputs("<div class=\"answers\">\n", f);
    put_answer(f, "answer of the reference", &answer[0], at[0], n[0]);
    put_answer(f, "answer of the test", &answer[1], at[1], n[1]);
    fputs("</div>\n", f);
}

/* ---- a case ---- */

static void put_side(FILE *f, const char *who, struct words piece, int id, double margin)
{
    char text[NUMBER_TEXT];

    fprintf(f, "%s “", who);
    report_words(f, piece);
    fprintf(f, "” (id %d, margin %s)", id, number_text(text, margin, 3));
}

static void put_divergence(FILE *f, const struct divergence *d)
{
    fputs("<p class=\"soft\">", f);
    if (d->there) {
        fprintf(f, "They part at position %" PRId64 ": ", d->index);
        put_side(f, "the reference says", d->piece_ref, d->id_ref, d->margin_ref);
        put_side(f, ", the test", d->piece_test, d->id_test, d->margin_test);
        fputs(d->near_tie ? ": a near-tie." : ".", f);
    } else {
        fputs("They never part: both choose the same ids up to the end of the answer.", f);
    }
    fputs("</p>\n", f);
}

static void put_case(FILE *f, const struct report_case *c)
{
    char kl[NUMBER_TEXT], match[NUMBER_TEXT], n[NUMBER_TEXT];
    const struct result *line = &c->line;

    fputs("<article class=\"case\">\n<h3>Prompt ", f);
    report_value(f, line->id);
    fprintf(f, "</h3>\n<p class=\"soft\">mean KL %s · match %s · %s %s", number_text(kl, c->mean, 3),
            percent_text(match, (double)c->matches / (double)c->positions), count_text(n, c->positions),
            c->positions == 1 ? "position" : "positions");
    if (line->loop[1].cycle > 0)
        fprintf(f, " · the test ends in a loop of %d ids", line->loop[1].cycle);
    fputs("</p>\n", f);
    put_prompt(f, line);
    put_answers(f, line);
    put_divergence(f, &line->first);
    fputs("</article>\n", f);
}

static void put_failed(FILE *f, const struct report_figures *g, int64_t failed)
{
    char text[NUMBER_TEXT];

    fprintf(f, "<h2>Not compared</h2>\n<ul>\n");
    for (int i = 0; i < g->n_failed; i++) {
        fputs("<li>prompt ", f);
        report_value(f, g->failed[i].id);
        fputs(": ", f);
        report_words(f, g->failed[i].message.s ? g->failed[i].message : g->failed[i].status);
        fputs("</li>\n", f);
    }
    if (failed > g->n_failed)
        fprintf(f, "<li>and %s more</li>\n", count_text(text, failed - g->n_failed));
    fputs("</ul>\n", f);
}

/* Says what the two answers of a line are. */
static const char *answers_of(struct words driver)
{
    static const char *const drivers[][2] = {
        {"ref",
         "The reference wrote its answer; that of the test is what it would choose behind the same words."},
        {"test",
         "The test wrote its answer; that of the reference is what it would choose behind the same words."},
        {"text", "The text was given; the answers are what each would choose behind the same words."},
        {"free", "Each went its own way until they parted."},
    };

    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
        if (words_are(driver, drivers[i][0]))
            return drivers[i][1];
    return "";
}

void report_cases(FILE *f, const struct report_figures *g, int64_t failed)
{
    if (g->n_failed > 0) {
        fputs("<section>\n", f);
        put_failed(f, g, failed);
        fputs("</section>\n", f);
    }
    if (g->n_worst == 0)
        return;
    fputs("<section>\n", f);
    if (g->prompts == 1)
        fputs("<h2>The prompt and its answers</h2>\n", f);
    else
        fputs("<h2>The prompts that differ most</h2>\n", f);
    fprintf(f, "<p class=\"soft\">%s Where the answers first part, what each chose is marked.</p>\n",
            answers_of(g->worst[0].line.driver));
    for (int i = 0; i < g->n_worst; i++)
        put_case(f, &g->worst[i]);
    fputs("</section>\n", f);
}
