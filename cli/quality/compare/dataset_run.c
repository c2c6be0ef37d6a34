/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_run.c: compares over a data set: several prompts at once, refilled as they end, and their lines
 * in the order of the data. A line that is made before its turn waits in an unlinked file, so that memory
 * does not grow with the number of prompts. Which line goes on where a run was stopped is results.c's. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/save.h"
#include "model/engine.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "quality/compare/compare_options.h"
#include "quality/compare/dataset.h"
#include "quality/compare/report.h"
#include "quality/compare/summary.h"
#include "term/clock.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"

/* A prompt under way. Its first member is what the library gives back. */
struct flight {
    struct dataset_prompt p;
    json_int_t place; /* in the data, from 0 */
    bool used;
};

/* A line that waits for its turn: where it is in the file, and its bytes; none: it is not made yet. */
struct waiting {
    off_t at;
    size_t n;
};

struct dataset_run {
    struct compare *c;
    struct dataset data;
    struct results results;
    char hash[17]; /* of the data */
    struct flight *flight;
    int n_flights;
    json_int_t next; /* place of the prompt that is given next */
    struct waiting
        *waiting; /* [capacity] line `place` at place % capacity; those behind the last written one */
    size_t capacity;
    FILE *early;
    json_int_t left;         /* prompts that this run has to do */
    json_int_t done, tokens; /* prompts and positions of it so far */
    char label[64];
    struct progress bar;
    int code; /* of the first failure, which ends the run */
};

/* ---- lines in order ---- */

/* Room for a line that waits at `place`. */
static bool waiting_grow(struct dataset_run *r, json_int_t place)
{
    size_t need = (size_t)(place - r->results.lines) + 1, capacity = r->capacity ? r->capacity : 16;
    struct waiting *larger;

    while (capacity < need)
        capacity *= 2;
    if (capacity == r->capacity)
        return true;
    larger = calloc(capacity, sizeof *larger);
    if (!larger)
        return false;
    for (size_t i = 0; i < r->capacity; i++) {
        size_t of = (size_t)r->results.lines + i;
        larger[of % capacity] = r->waiting[of % r->capacity];
    }
    free(r->waiting);
    r->waiting = larger;
    r->capacity = capacity;
    return true;
}

static int waiting_failed(void)
{
    return term_fail(FAILED, "a temporary file cannot be written: %s", strerror(errno));
}

/* Keeps a line until those before it are there. */
static int waiting_add(struct dataset_run *r, json_int_t place, const char *line, size_t n)
{
    TRY(r->early ? DONE : spill_file(&r->early));
    if (!waiting_grow(r, place))
        return fail_memory();
    if (fseeko(r->early, 0, SEEK_END) != 0)
        return waiting_failed();
    r->waiting[(size_t)place % r->capacity] = (struct waiting){ftello(r->early), n};
    return fwrite(line, 1, n, r->early) == n ? DONE : waiting_failed();
}

/* Writes those whose turn has come. */
static int waiting_flush(struct dataset_run *r)
{
    int code = DONE;

    while (code == DONE && r->capacity) {
        struct waiting *w = &r->waiting[(size_t)r->results.lines % r->capacity];
        size_t n = w->n;
        char *line = n ? malloc(n) : NULL;
        if (!n)
            break;
        if (!line)
            return fail_memory();
        if (fseeko(r->early, w->at, SEEK_SET) != 0 || fread(line, 1, n, r->early) != n)
            code = waiting_failed();
        w->n = 0;
        if (code == DONE)
            code = results_add(&r->results, line, n);
        free(line);
    }
    return code;
}

static int add_line(struct dataset_run *r, json_int_t place, const char *line, size_t n)
{
    if (place != r->results.lines)
        return waiting_add(r, place, line, n);
    TRY(results_add(&r->results, line, n));
    return waiting_flush(r);
}

static int add_prompt(struct dataset_run *r, const struct flight *f)
{
    char *text = compared_text(r->c, &f->p.c, f->place == 0);
    int code;

    if (!text)
        return fail_memory();
    size_t n = strlen(text);
    text[n] = '\n'; /* in place of its end: the length is known */
    code = add_line(r, f->place, text, n + 1);
    free(text);
    return code;
}

/* ---- what the library calls ---- */

/* Fills a place; 0: there are no more prompts, or the run ends. */
static int run_next(void *user, carat_compare_prompt *prompt)
{
    struct dataset_run *r = user;
    struct flight *f = r->flight;

    while (f->used)
        f++;
    if (r->code != DONE || term_interrupted())
        return 0;
    r->code = dataset_next(&r->data, &f->p);
    if (r->code != DONE || !f->p.c.id)
        return 0;
    f->used = true;
    f->place = r->next++;
    *prompt = compared_prompt(&f->p.c);
    return 1;
}

static int run_position(void *user, void *prompt, const carat_position *position)
{
    struct dataset_run *r = user;

    r->tokens++;
    return compared_position(r->c, prompt, position) || r->code != DONE;
}

static void run_ended(void *user, void *prompt, const carat_compared *end)
{
    struct dataset_run *r = user;
    struct flight *f = prompt;

    compared_end(r->c, prompt, end);
    r->done++;
    if (r->code == DONE &&
        !term_interrupted()) /* which ends a prompt early: it has no line, and comes again */
        r->code = add_prompt(r, f);
    dataset_prompt_free(&f->p);
    f->used = false;
}

/* Prompts make the bar, tokens its rate. */
static int run_watch(void *user, size_t done, size_t total)
{
    struct dataset_run *r = user;
    (void)done;
    (void)total;

    snprintf(r->label, sizeof r->label, "prompt %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
             r->results.lines, r->data.prompts);
    r->bar.scale = r->done ? (double)r->tokens / (double)r->done : 0;
    progress_update(&r->bar, (size_t)r->done, (size_t)r->left);
    return r->code != DONE || term_interrupted();
}

/* ---- the run ---- */

/* Everything that makes ids of the lines. */
static struct run_data data_of(struct dataset_run *r)
{
    const struct dataset *d = &r->data;

    snprintf(r->hash, sizeof r->hash, "%016llx", (unsigned long long)d->hash);
    return (struct run_data){true,       words_of(model_name(d->path)),
                             d->prompts, words_of(r->hash),
                             d->raw,     d->chat_template ? words_of(d->chat_template) : (struct words){0}};
}

/* Positions that every prompt has room in, as far as the models were made for so many. */
static int run_context(const struct dataset_run *r)
{
    const struct compare *c = r->c;
    int64_t need = r->data.longest;

    if (c->o->engine->context)
        return c->o->engine->context;
    if (c->options.driver != CARAT_DRIVER_TEXT)
        need += c->options.max_tokens;
    for (int i = 0; i < SIDES; i++) {
        int most = c->side[i].info.max_context;
        if (most > 0 && need > most)
            need = most;
    }
    return (int)need;
}

/* Compares what is left. */
static int run_rest(struct dataset_run *r)
{
    struct compare *c = r->c;
    carat_compare_options o = c->options;
    carat_compare_prompt first;
    carat_error err;
    carat_status status;
    int code;

    r->left = r->data.prompts - r->results.lines;
    r->n_flights = r->left < o.parallel ? (int)r->left : o.parallel;
    r->flight = calloc((size_t)r->n_flights, sizeof *r->flight);
    if (!r->flight)
        return fail_memory();
    code = sides_start(c, r->n_flights, run_context(r));
    if (code == DONE && c->o->compare->bisect)
        code = bisect_check(c);
    if (code == DONE)
        code = dataset_skip(&r->data, r->results.lines);
    if (code != DONE)
        return code;
    r->next = r->results.lines;
    o.parallel = r->n_flights;
    o.next = run_next;
    o.on_position = run_position;
    o.on_compared = run_ended;
    o.watch = run_watch;
    o.user = r;
    progress_begin(&r->bar, r->label, "tok");
    carat_compare_prompt_default(&first);
    if (!run_next(r, &first))
        return r->code != DONE ? r->code : INTERRUPTED;
    status = carat_compare(c->side[REF].engine, c->side[TEST].engine, &first, &o, &err);
    progress_end(&r->bar);
    if (term_interrupted())
        return INTERRUPTED;
    if (r->code != DONE)
        return r->code;
    /* the fate of a prompt is in its line */
    return r->results.lines == r->data.prompts ? DONE : status != CARAT_OK ? fail_status(&err) : FAILED;
}

static int write_summary(const struct dataset_run *r, const struct summary *summary)
{
    size_t n = strlen(r->results.dir) + sizeof "/summary.json";
    char *path = malloc(n), *text = summary_text(summary);
    struct save file = {0};
    int code = path && text ? DONE : fail_memory();

    if (code == DONE) {
        snprintf(path, n, "%s/summary.json", r->results.dir);
        code = save_open(&file, path);
    }
    if (code == DONE) {
        code = fprintf(file.file, "%s\n", text) < 0 ? save_failed(&file) : DONE;
        code = code == DONE ? save_close(&file) : code;
    }
    save_abandon(&file);
    free(text);
    free(path);
    return code;
}

static int write_report(const struct dataset_run *r, const struct summary *summary)
{
    size_t n = strlen(r->results.dir) + sizeof "/report.html";
    char *path = malloc(n);
    int code;

    if (!path)
        return fail_memory();
    snprintf(path, n, "%s/report.html", r->results.dir);
    code = report_write(path, r->results.file, summary);
    free(path);
    return code;
}

/* Reports the first prompt that failed; the run is complete all the same. */
static int tell_failed(const struct dataset_run *r, const struct summary *summary)
{
    const struct result *first = summary->failure;

    if (!summary->failed)
        return DONE;
    char *id = json_dumps(first->id, JSON_ENCODE_ANY);
    int code = fail_as(FAILED, words_are(first->status, "context") ? CARAT_E_CONTEXT : CARAT_E_NUMERIC,
                       "%s: prompt %.80s: %s%s", r->data.path, id ? id : "", words_some(first->message).s,
                       summary->failed > 1 ? "; others failed, too" : "");
    free(id);
    return code;
}

static int tell_summary(struct dataset_run *r, const struct summary *summary)
{
    int code, failed = DONE;

    TRY(write_summary(r, summary));
    TRY(write_report(r, summary));
    code = compare_tell(r->c, summary);
    if (code == DONE || code == CHECK_FAILED)
        failed = tell_failed(r, summary);
    return code == DONE ? failed : code;
}

static int tell(struct dataset_run *r, double took)
{
    const struct timings timings = {took, (double)r->tokens / took, r->done, r->tokens};
    const bool bisect = r->c->o->compare->bisect;
    struct summary summary = {0};
    struct bisection bisection = {0};
    int code = summary_make(r->results.file, &r->c->limits, &summary);

    if (code == DONE && bisect)
        code = bisect_dataset(r->c, &r->data, run_context(r), &bisection);
    summary.bisect = bisect ? &bisection : NULL;
    summary.timings = &timings;
    if (code == DONE)
        code = tell_summary(r, &summary);
    bisect_free(&bisection);
    summary_free(&summary);
    return code;
}

static void run_close(struct dataset_run *r)
{
    for (int i = 0; r->flight && i < r->n_flights; i++) {
        if (r->flight[i].used)
            dataset_prompt_free(&r->flight[i].p);
    }
    free(r->flight);
    free(r->waiting);
    if (r->early)
        fclose(r->early);
    results_close(&r->results);
    dataset_close(&r->data);
}

int dataset_compare(struct compare *c)
{
    const struct options *o = c->o;
    struct dataset_run r = {.c = c,
                            .data = {.path = o->compare->dataset,
                                     .side = &c->side[TEST],
                                     .chat_template = o->prompt->chat_template,
                                     .raw = o->prompt->raw,
                                     .follows = c->options.driver == CARAT_DRIVER_TEXT,
                                     .recorded = c->recorded}};
    double start = 0;
    int code = sides_open(c);

    if (code == DONE)
        code = dataset_check(&r.data);
    if (code == DONE)
        code = sides_run(c);
    c->run.data = data_of(&r);
    if (code == DONE)
        code =
            results_open(&r.results, o->compare->out_dir, o->compare->dataset, &c->run, o->compare->restart);
    start = term_seconds();
    if (code == DONE && r.results.lines > r.data.prompts)
        code =
            term_fail(FAILED, "%s: has more lines than %s has prompts", r.results.path, o->compare->dataset);
    if (code == DONE && r.results.lines < r.data.prompts)
        code = run_rest(&r);
    if (code == DONE)
        code = tell(&r, term_seconds() - start);
    run_close(&r);
    return code;
}
