/* SPDX-License-Identifier: Apache-2.0 */
/* ls.c: `carat ls`: the models of this machine, in all stores that the library knows, by the names that other
 * verbs take. What a store holds is the library's to say. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "carat_tools.h"
#include "names/aliases.h"
#include "model/embed.h"
#include "names/hub_links.h"
#include "names/places.h"
#include "options/options.h"
#include "term/columns.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

/* ---- what a model is ---- */

/* By the first bytes of its file: nothing is opened as a model, so what is said is what the file says of
 * itself. Of a GGUF file the keys at its beginning are read as far as they are numbers and texts, of a
 * directory config.json. Whatever is not as expected ends the look. */

enum { GLANCE_TEXT = 32 };

struct glance {
    char kind[GLANCE_TEXT]; /* architecture, as "gemma3", or "" */
    char type[GLANCE_TEXT]; /* quantisation, as "Q4_K_M" or "BF16", or "" */
    int64_t used;           /* when it was read last, in seconds since 1970; 0: not known */
};

enum { HEAD = 4096, MOST_CONFIG = 64 << 10 };

/* A word that may stand in a list: printable, without spaces. */
static void put_word(char out[GLANCE_TEXT], const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && i + 1 < GLANCE_TEXT && isgraph((unsigned char)s[i]))
        i++;
    snprintf(out, GLANCE_TEXT, "%.*s", (int)(i == n ? n : 0), s);
}

/* Reads the bytes that a file begins with; a directory has none. */
static size_t read_head(const char *path, char *out, size_t capacity, struct glance *g, bool *directory)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st = {.st_mode = 0};
    size_t n = 0;
    ssize_t got = 1;

    if (fd < 0)
        return 0;
    (void)fstat(fd, &st);
    *directory = S_ISDIR(st.st_mode);
    if (S_ISREG(st.st_mode)) {
        g->used = st.st_atime;
        capacity = (uint64_t)st.st_size < capacity ? (size_t)st.st_size : capacity;
        while (n < capacity && (got = read(fd, out + n, capacity - n)) > 0)
            n += (size_t)got;
    }
    close(fd);
    return n;
}

/* llama.cpp's numbers of mixes, as "general.file_type" has them. */
static const char *const mixes[] = {
    [0] = "F32",     [1] = "F16",     [2] = "Q4_0",     [3] = "Q4_1",    [7] = "Q8_0",     [8] = "Q5_0",
    [9] = "Q5_1",    [10] = "Q2_K",   [11] = "Q3_K_S",  [12] = "Q3_K_M", [13] = "Q3_K_L",  [14] = "Q4_K_S",
    [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M",  [18] = "Q6_K",   [19] = "IQ2_XXS", [20] = "IQ2_XS",
    [21] = "Q2_K_S", [22] = "IQ3_XS", [23] = "IQ3_XXS", [24] = "IQ1_S",  [25] = "IQ4_NL",  [26] = "IQ3_S",
    [27] = "IQ3_M",  [28] = "IQ2_S",  [29] = "IQ2_M",   [30] = "IQ4_XS", [31] = "IQ1_M",   [32] = "BF16",
    [36] = "TQ1_0",  [37] = "TQ2_0",  [38] = "MXFP4",
};

/* The rest of the head, which is still to be read. */
struct rest {
    const char *at;
    size_t n;
};

/* A little-endian number of so many bytes; false: the head ends before it. */
static bool take(struct rest *r, int bytes, uint64_t *value)
{
    if (r->n < (size_t)bytes)
        return false;
    *value = 0;
    for (int i = bytes; i-- > 0;)
        *value = *value << 8 | (unsigned char)r->at[i];
    r->at += bytes;
    r->n -= (size_t)bytes;
    return true;
}

static bool take_string(struct rest *r, const char **s, uint64_t *n)
{
    if (!take(r, 8, n) || *n > r->n)
        return false;
    *s = r->at;
    r->at += *n;
    r->n -= *n;
    return true;
}

static bool is(const char *s, uint64_t n, const char *word)
{
    return n == strlen(word) && memcmp(s, word, n) == 0;
}

/* One key and its value. */
static bool take_key(struct rest *r, struct glance *g)
{
    static const int bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}; /* of the types; texts and lists: 0 */
    enum { STRING = 8, ARRAY = 9, N_TYPES = sizeof bytes / sizeof *bytes };
    const char *key, *text;
    uint64_t n, m, type, value = 0;

    if (!take_string(r, &key, &n) || !take(r, 4, &type) || type >= N_TYPES || type == ARRAY)
        return false;
    if (type == STRING) {
        if (!take_string(r, &text, &m))
            return false;
        if (is(key, n, "general.architecture"))
            put_word(g->kind, text, m);
        return true;
    }
    if (!take(r, bytes[type], &value))
        return false;
    if (is(key, n, "general.file_type") && value < sizeof mixes / sizeof *mixes && mixes[value])
        snprintf(g->type, GLANCE_TEXT, "%s", mixes[value]);
    return true;
}

static void look_at_gguf(struct glance *g, struct rest r)
{
    uint64_t magic, version, tensors, keys;

    if (!take(&r, 4, &magic) || magic != 0x46554747 || !take(&r, 4, &version) || !take(&r, 8, &tensors) ||
        !take(&r, 8, &keys))
        return;
    while (keys-- > 0 && take_key(&r, g))
        ;
}

/* "Q4_K_M" of "gemma-3-1b-it-Q4_K_M.gguf", also in front of the number of a part. */
static void type_of_name(char type[GLANCE_TEXT], const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *first;
    char word[256];

    snprintf(word, sizeof word, "%s", name);
    char *of = strstr(word, "-of-"), *dot = strrchr(word, '.');
    if (of && of - word > 6)
        of[-6] = 0; /* "-00001" */
    else if (dot)
        *dot = 0;
    for (first = word + strlen(word); first > word && first[-1] != '-' && first[-1] != '.';)
        first--;
    const size_t letters = strspn(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    if (letters > 0 && letters <= 5 && first[letters] >= '0' && first[letters] <= '9' &&
        strchr("QqIiFfBbTtMm", *first))
        put_word(type, first, strlen(first));
}

static void look_at_config(struct glance *g, const char *dir)
{
    static const struct {
        const char *stored, *shown;
    } types[] = {{"bfloat16", "BF16"}, {"float16", "F16"}, {"float32", "F32"}};
    static char text[MOST_CONFIG];
    char path[4096];
    bool directory;

    if (snprintf(path, sizeof path, "%s/config.json", dir) >= (int)sizeof path)
        return;
    const size_t n = read_head(path, text, sizeof text, g, &directory);
    json_t *config = json_loadb(text, n, 0, NULL);
    const char *kind = json_string_value(json_object_get(config, "model_type")),
               *type = json_string_value(json_object_get(config, "dtype")),
               *method = json_string_value(
                   json_object_get(json_object_get(config, "quantization_config"), "quant_method"));
    if (!type)
        type = json_string_value(json_object_get(config, "torch_dtype"));
    if (!type)
        type = json_string_value(json_object_get(json_object_get(config, "text_config"), "torch_dtype"));
    if (kind)
        put_word(g->kind, kind, strlen(kind));
    for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i].stored) == 0)
            snprintf(g->type, GLANCE_TEXT, "%s", types[i].shown);
    if (method)
        put_word(g->type, method, strlen(method));
    json_decref(config);
    struct stat st;
    if (snprintf(path, sizeof path, "%s/model.safetensors", dir) < (int)sizeof path && stat(path, &st) == 0)
        g->used = st.st_atime;
}

/* path: a GGUF file or a directory; anything else leaves it empty. */
static void glance_at(struct glance *g, const char *path)
{
    bool directory = false;
    char head[HEAD];

    *g = (struct glance){.used = 0};
    const size_t n = read_head(path, head, sizeof head, g, &directory);
    if (directory)
        look_at_config(g, path);
    else
        look_at_gguf(g, (struct rest){head, n});
    if (*g->kind && !*g->type)
        type_of_name(g->type, path);
}

/* ---- rows ---- */

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

/* Prints a row for which a line is too narrow: the name, and below it what there is to say. */
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
