/* SPDX-License-Identifier: Apache-2.0 */
/* remote.c: opens models by heads, see fetcher.h. A file is memory of its whole size, of which only what was
 * fetched is written, so that the rest costs nothing; the library reads it as if it were the file. A file of
 * safetensors says how long its head is; that of a GGUF file is tried with ever more of it. */
#define _GNU_SOURCE
#include "names/fetcher.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "options/table.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/size.h"

#define FIRST_TRY  ((uint64_t)1 << 20) /* bytes of a head that does not say how many it has */
#define MOST_HEAD  ((uint64_t)16 << 20)
#define MOST_WHOLE ((uint64_t)64 << 20) /* of a file beside the weights */
enum { LENGTH = 8 };                    /* bytes that say it in a file of safetensors */

struct head {
    enum { WHOLE, TELLS, TRIED } kind;
    const char *name, *hash;
    uint8_t *data; /* [bytes] */
    uint64_t bytes, have, want;
    size_t mapped;
};

/* ---- the files ---- */

static bool has_ending(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);

    return n >= m && strcmp(name + n - m, ending) == 0;
}

static void size_up(struct head *f)
{
    f->kind = has_ending(f->name, ".safetensors") ? TELLS
              : has_ending(f->name, ".json") || has_ending(f->name, ".jinja") || has_ending(f->name, ".model")
                  ? WHOLE
                  : TRIED;
    const uint64_t most = f->kind == WHOLE ? f->bytes : f->kind == TELLS ? LENGTH : FIRST_TRY;
    f->want = most < f->bytes ? most : f->bytes;
}

/* Nothing of it is written yet, so that it may be larger than the memory of the machine. */
static int reserve(struct head *f)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char size[SIZE_TEXT];

    if (f->kind == WHOLE && f->bytes > MOST_WHOLE)
        return term_fail(BAD_MODEL, "%.200s has %s, more than a file beside weights may have", f->name,
                         size_text(size, (double)f->bytes));
    f->mapped = (size_t)(f->bytes / page + 1) * page;
    f->data = f->bytes > (uint64_t)INT64_MAX / 2
                  ? MAP_FAILED
                  : mmap(NULL, f->mapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (f->data != MAP_FAILED)
        return DONE;
    f->data = NULL;
    return term_fail(NO_MEMORY, "%.200s has %s, for which there are no addresses", f->name,
                     size_text(size, (double)f->bytes));
}

static int compare_heads(const void *a, const void *b)
{
    return strcmp(((const struct head *)a)->name, ((const struct head *)b)->name);
}

static int take_files(struct heads *h, json_t *files)
{
    size_t i;
    json_t *file;

    h->head = calloc(json_array_size(files) + 1, sizeof *h->head);
    h->buffer = calloc(json_array_size(files) + 1, sizeof *h->buffer);
    if (!h->head || !h->buffer)
        return fail_memory();
    json_array_foreach(files, i, file)
    {
        struct head *f = &h->head[h->n++];
        f->name = strdup(json_string_value(json_object_get(file, "name")));
        f->hash = strdup(json_string_value(json_object_get(file, "hash")));
        f->bytes = (uint64_t)json_integer_value(json_object_get(file, "bytes"));
        if (!f->name || !f->hash)
            return fail_memory();
        size_up(f);
        TRY(reserve(f));
        h->bytes += f->bytes;
    }
    qsort(h->head, (size_t)h->n, sizeof *h->head, compare_heads); /* a split model's first part is first */
    for (int k = 0; k < h->n; k++)
        h->buffer[k] = (carat_buffer){h->head[k].name, h->head[k].data, (size_t)h->head[k].bytes};
    return DONE;
}

void heads_free(struct heads *h)
{
    for (int i = 0; i < h->n; i++) {
        if (h->head[i].data)
            munmap(h->head[i].data, h->head[i].mapped);
        free((char *)(uintptr_t)h->head[i].name);
        free((char *)(uintptr_t)h->head[i].hash);
    }
    free(h->head);
    free(h->buffer);
    *h = (struct heads){.n = 0};
}

/* ---- their heads ---- */

static int hear_part(void *user, const char *event, json_t *line)
{
    struct heads *h = user;
    const json_t *bytes = json_object_get(line, "bytes");
    const char *name = json_string_value(json_object_get(line, "name"));
    const uint64_t at = (uint64_t)json_integer_value(json_object_get(line, "at")),
                   n = json_string_length(bytes);
    struct head *f = h->head;

    if (strcmp(event, "part") != 0)
        return DONE;
    while (name && f < h->head + h->n && strcmp(f->name, name) != 0)
        f++;
    if (!name || f == h->head + h->n || at != f->have || n > f->want - f->have)
        return term_fail(FAILED, "carat-fetch sends what was not asked for");
    memcpy(f->data + at, json_string_value(bytes), (size_t)n);
    f->have += n;
    h->fetched += n;
    return DONE;
}

/* Lists the parts of the files that are wanted and have not come. */
static int list_parts(struct heads *h, json_t *list)
{
    for (int i = 0; i < h->n; i++) {
        struct head *f = &h->head[i];
        if (f->have == f->want)
            continue;
        if (mprotect(f->data, (size_t)f->want, PROT_READ | PROT_WRITE) != 0 ||
            json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:I, s:I}", "name", f->name, "bytes",
                                                  (json_int_t)f->bytes, "hash", f->hash, "from",
                                                  (json_int_t)f->have, "until", (json_int_t)f->want)) != 0)
            return fail_memory();
    }
    return DONE;
}

static int fetch_wanted(struct heads *h, const struct origin *from)
{
    json_t *list = json_array();
    int code = list_parts(h, list);

    if (code == DONE && json_array_size(list) > 0)
        code = fetch_program(fetch_parts(from, list, h->commit), hear_part, h);
    json_decref(list);
    for (int i = 0; i < h->n && code == DONE; i++)
        if (h->head[i].have < h->head[i].want)
            code = term_fail(FAILED, "carat-fetch sends less of %.200s than was asked for", h->head[i].name);
    return code;
}

/* Takes from the first bytes of the files how long their heads are; a length that cannot be is the reader's
 * to refuse. */
static void read_lengths(struct heads *h)
{
    for (int i = 0; i < h->n; i++) {
        struct head *f = &h->head[i];
        uint64_t n = 0;
        for (int k = LENGTH; f->kind == TELLS && f->bytes > LENGTH && k-- > 0;)
            n = n << 8 | f->data[k];
        if (f->kind == TELLS && n <= MOST_HEAD && n <= f->bytes - LENGTH)
            f->want = LENGTH + n;
    }
}

/* Asks for more of a head; false: there is no more to try. Of a split model only the first part has such a
 * head, since the others have a list of tensors alone. */
static bool widen(struct heads *h)
{
    struct head *f = h->head;

    if (f->kind != TRIED || f->want == f->bytes || f->want >= MOST_HEAD)
        return false;
    f->want = 2 * f->want < f->bytes ? 2 * f->want : f->bytes;
    return true;
}

/* The reader has seen zeros behind what was fetched. */
static int refuse_head(const struct head *f, const carat_error *err)
{
    char size[SIZE_TEXT];

    if (err->code == CARAT_E_FORMAT && f->kind == TRIED && f->want < f->bytes)
        return fail_as(BAD_MODEL, err->code, "%s (its first %s were fetched, where a head ends)",
                       err->message, size_text(size, (double)f->want));
    return fail_open(err);
}

/* ---- opening ---- */

struct looking {
    carat_model **model;
    struct heads *heads;
    const carat_location *at;
    const char *tokenizer;
};

static int open_by(const struct looking *l, const struct origin *from)
{
    struct heads *h = l->heads;
    carat_model_options options;
    carat_error err;

    carat_model_options_default(&options);
    options.log = note_line;
    options.tokenizer = l->tokenizer;
    TRY(fetch_wanted(h, from));
    read_lengths(h);
    for (;;) {
        TRY(fetch_wanted(h, from));
        if (carat_model_open_memory(l->model, h->buffer, sizeof *h->buffer, h->n, &options, &err) == CARAT_OK)
            return DONE;
        if (err.code != CARAT_E_FORMAT || !widen(h))
            return refuse_head(h->head, &err);
    }
}

/* All files of a version come from Kaggle; which of them make the model is asked here. */
static int choose(json_t *files, const carat_location *at)
{
    const size_t n = json_array_size(files);
    const char **names = calloc(n + 1, sizeof *names);
    int *wanted = calloc(n + 1, sizeof *wanted), code = names && wanted ? DONE : fail_memory();
    carat_error err;

    for (size_t i = 0; i < n && code == DONE; i++)
        names[i] = json_string_value(json_object_get(json_array_get(files, i), "name"));
    if (code == DONE && carat_choose_files(at->handle, names, (int)n, "", wanted, &err) != CARAT_OK)
        code = fail_open(&err);
    for (size_t i = n; i-- > 0 && code == DONE;)
        if (!wanted[i])
            json_array_remove(files, i);
    free(names);
    free(wanted);
    return code;
}

static int look(void *user, const struct origin *from, json_t *files, const char *commit)
{
    const struct looking *l = user;

    snprintf(l->heads->commit, sizeof l->heads->commit, "%s", commit);
    if (l->at->named == CARAT_NAMED_KAGGLE)
        TRY(choose(files, l->at));
    TRY(take_files(l->heads, files));
    return open_by(l, from);
}

bool heads_can(const carat_location *at, const struct fetch_options *o)
{
    const bool asks =
        at->repository || at->named == CARAT_NAMED_KAGGLE || (at->named == CARAT_NAMED_ADDRESS && at->place);

    return asks && !at->path && !forbids_fetching(o->offline) && has_fetch_program();
}

int heads_open(carat_model **model, struct heads *h, const carat_location *at, const char *tokenizer,
               const struct fetch_options *o)
{
    struct looking l = {model, h, at, tokenizer};

    interrupt_install();
    return fetch_looks(at, o, look, &l);
}
