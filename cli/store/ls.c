/* SPDX-License-Identifier: Apache-2.0 */
/* ls.c: `carat ls`: the models of this machine, in all stores that the library knows, by the names that other
 * verbs take. What a store holds is the library's to say. */
#define _POSIX_C_SOURCE 200809L
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "carat_tools.h"
#include "model/aliases.h"
#include "model/embed.h"
#include "model/places.h"
#include "options/options.h"
#include "store/glance.h"
#include "model/hub_links.h"
#include "term/columns.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

enum { C_NAME, C_KIND, C_TYPE, C_SIZE, C_SHARED, C_STORE, C_USED, C_REMARK, N_CELLS };
static const char *const titles[N_CELLS] = {"name", "kind", "type", "size", "shared", "store", "used", ""};

struct row {
    char *cell[N_CELLS];
    char *path;
    uint64_t bytes, shared;
    int64_t used;
    bool complete;
};
struct list {
    struct row *row;
    size_t n, capacity;
    bool failed;
};

/* ---- rows ---- */

static struct row *new_row(struct list *l)
{
    if (l->n == l->capacity) {
        const size_t capacity = l->capacity ? 2 * l->capacity : 64;
        struct row *more = realloc(l->row, capacity * sizeof *more);
        if (!more) {
            l->failed = true;
            return NULL;
        }
        l->row = more;
        l->capacity = capacity;
    }
    l->row[l->n] = (struct row){.complete = true};
    return &l->row[l->n++];
}

static void set_cell(struct list *l, struct row *r, int cell, const char *text)
{
    r->cell[cell] = strdup(text);
    l->failed |= !r->cell[cell];
}

static void put_size(struct list *l, struct row *r, int cell, uint64_t bytes)
{
    char text[SIZE_TEXT];

    set_cell(l, r, cell, bytes ? size_text(text, (double)bytes) : "");
}

static int add_stored(void *user, const carat_stored *m)
{
    struct list *l = user;
    struct row *r = new_row(l);
    struct glance g;
    char day[32] = "", remark[512] = "";

    if (!r)
        return 1;
    glance_at(&g, m->path);
    *r = (struct row){.path = strdup(m->path),
                      .bytes = m->bytes,
                      .shared = hub_shared(m->path),
                      .used = g.used,
                      .complete = !m->missing && !m->trouble};
    l->failed |= !r->path;
    const time_t used = (time_t)g.used;
    struct tm t;
    if (g.used && localtime_r(&used, &t))
        strftime(day, sizeof day, "%Y-%m-%d", &t);
    if (m->missing)
        snprintf(remark, sizeof remark, "lacks %s", m->missing);
    else if (m->trouble)
        snprintf(remark, sizeof remark, "%s", m->trouble);
    set_cell(l, r, C_NAME, *m->name ? m->name : m->path);
    set_cell(l, r, C_KIND, g.kind);
    set_cell(l, r, C_TYPE, g.type);
    put_size(l, r, C_SIZE, r->bytes);
    put_size(l, r, C_SHARED, r->shared);
    set_cell(l, r, C_STORE, m->store);
    set_cell(l, r, C_USED, day);
    set_cell(l, r, C_REMARK, remark);
    return l->failed;
}

static void add_tiny(struct list *l)
{
    struct row *r = new_row(l);

    for (int i = 0; r && i < embedded_tiny_count; i++)
        r->bytes += (uint64_t)(embedded_tiny[i].end - embedded_tiny[i].begin);
    if (r) {
        set_cell(l, r, C_NAME, "tiny");
        set_cell(l, r, C_KIND, "gemma3_text");
        set_cell(l, r, C_TYPE, "BF16");
        put_size(l, r, C_SIZE, r->bytes);
        set_cell(l, r, C_STORE, "in carat");
    }
}

static void add_aliases(struct list *l)
{
    json_t *all = aliases_read(), *target;
    const char *name;
    char remark[MOST_TARGET + 16];

    json_object_foreach(all, name, target)
    {
        struct row *r = json_is_string(target) ? new_row(l) : NULL;
        if (!r)
            continue;
        snprintf(remark, sizeof remark, "is %s", json_string_value(target));
        set_cell(l, r, C_NAME, name);
        set_cell(l, r, C_STORE, "carat cp");
        set_cell(l, r, C_REMARK, remark);
    }
    json_decref(all);
}

static int by_name(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    const int order = strcasecmp(x->cell[C_NAME], y->cell[C_NAME]);

    return order ? order : strcmp(x->cell[C_NAME], y->cell[C_NAME]);
}

/* ---- what is printed ---- */

static const char *cell_of(const struct row *r, int cell)
{
    return r->cell[cell] ? r->cell[cell] : "";
}

static bool to_the_right(int cell)
{
    return cell == C_SIZE || cell == C_SHARED;
}

/* Columns as wide as their widest cell; those where all cells are empty are left out. */
static int measure_cells(const struct list *l, int width[N_CELLS])
{
    int sum = 0;

    for (int c = 0; c < N_CELLS; c++) {
        width[c] = 0;
        for (size_t i = 0; i < l->n; i++) {
            const int n = (int)strlen(cell_of(&l->row[i], c));
            width[c] = n > width[c] ? n : width[c];
        }
        if (width[c] > 0 && (int)strlen(titles[c]) > width[c])
            width[c] = (int)strlen(titles[c]);
        sum += width[c] > 0 ? width[c] + 2 : 0;
    }
    return sum - 2;
}

static void print_cell(const char *text, int width, bool right)
{
    const int n = (int)strlen(text);

    out_print("%*s", right && n < width ? width - n : 0, "");
    out_name(text, 4096);
    out_print("%*s", !right && n < width ? width - n : 0, "");
}

static void print_line(const struct row *r, const int width[N_CELLS])
{
    int last = 0;

    for (int c = 0; c < N_CELLS; c++)
        if (*(r ? cell_of(r, c) : titles[c]) && width[c])
            last = c;
    for (int c = 0; c <= last; c++) {
        if (!width[c])
            continue;
        print_cell(r ? cell_of(r, c) : titles[c], c == last && !to_the_right(c) ? 0 : width[c],
                   to_the_right(c));
        out_print(c == last ? "\n" : "  ");
    }
}

/* Where a line is too narrow for a row: the name, and below it what there is to say. */
static void print_record(const struct row *r)
{
    bool any = false;

    out_name(cell_of(r, C_NAME), 4096);
    out_print("\n");
    out_fold(4);
    for (int c = C_KIND; c < N_CELLS; c++) {
        if (!*cell_of(r, c))
            continue;
        out_print("%s%s%s", any ? ", " : "    ", c == C_SHARED ? "shared " : c == C_USED ? "used " : "", "");
        out_name(cell_of(r, c), 4096);
        any = true;
    }
    if (any)
        out_print("\n");
    out_fold(0);
}

static void print_list(const struct list *l)
{
    int width[N_CELLS];
    const int most =
        out_is_terminal() ? columns_of(STDOUT_FILENO, USUAL_COLUMNS) - 1 : columns_of(STDOUT_FILENO, INT_MAX);
    const bool table = measure_cells(l, width) <= most;

    if (table)
        print_line(NULL, width);
    for (size_t i = 0; i < l->n; i++) {
        if (table)
            print_line(&l->row[i], width);
        else
            print_record(&l->row[i]);
    }
}

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_text(text, strlen(text)) : json_null();
}

static int tell_as_json(const struct list *l)
{
    json_t *models = json_array();

    for (size_t i = 0; i < l->n; i++) {
        const struct row *r = &l->row[i];
        json_array_append_new(
            models, json_pack("{s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:b, s:o}", "name",
                              text_or_null(cell_of(r, C_NAME)), "kind", text_or_null(cell_of(r, C_KIND)),
                              "type", text_or_null(cell_of(r, C_TYPE)), "bytes", (json_int_t)r->bytes,
                              "shared_bytes", (json_int_t)r->shared, "store",
                              text_or_null(cell_of(r, C_STORE)), "path", text_or_null(r->path), "used",
                              r->used ? json_integer((json_int_t)r->used) : json_null(), "complete",
                              r->complete, "remark", text_or_null(cell_of(r, C_REMARK))));
    }
    return out_json(json_pack("{s:o}", "models", models));
}

int verb_ls(const struct options *o)
{
    static struct known_places known;
    struct list l = {.n = 0};
    carat_error err;
    int code = DONE;

    tzset();
    find_places_of_models(&known);
    if (carat_list_models(&known.places, add_stored, &l, &err) != CARAT_OK)
        code = fail_status(&err);
    add_aliases(&l);
    add_tiny(&l);
    if (code == DONE && l.failed)
        code = fail_memory();
    if (code == DONE) {
        qsort(l.row, l.n, sizeof *l.row, by_name);
        if (o->json)
            code = tell_as_json(&l);
        else
            print_list(&l);
    }
    for (size_t i = 0; i < l.n; i++) {
        for (int c = 0; c < N_CELLS; c++)
            free(l.row[i].cell[c]);
        free(l.row[i].path);
    }
    free(l.row);
    return code;
}
