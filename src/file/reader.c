/* SPDX-License-Identifier: Apache-2.0 */
/* reader.c: what the readers of this room share: sorted names, the list of tensors, and further files beside
 * the opened one, each remembered as a source. It calls no reader. */
#include "file/reader.h"

#include "base/array.h"
#include "base/utf8.h"
#include "os/files.h"

#include <stdlib.h>

/* ---- names ---- */

static int compare_str(struct ct_str a, struct ct_str b)
{
    int c = memcmp(a.s, b.s, CT_MIN(a.n, b.n));
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare_name(const void *a, const void *b)
{
    const struct ct_name *x = a, *y = b;
    int c = compare_str(x->s, y->s);
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

carat_status ct_index_reserve(struct ct_file *f, struct ct_index *ix, size_t n, carat_error *err)
{
    ix->name = ct_arena_push(&f->arena, n, sizeof *ix->name);
    return ix->name ? CARAT_OK : ct_no_memory(err, f->path);
}

carat_status ct_index_sort(struct ct_index *ix, const char *what, carat_error *err)
{
    char q[CT_QUOTE];
    if (ix->n > 1)
        qsort(ix->name, (size_t)ix->n, sizeof *ix->name, compare_name);
    for (int i = 1; i < ix->n; i++) {
        const struct ct_name *a = &ix->name[i - 1], *b = &ix->name[i];
        if (compare_str(a->s, b->s) == 0)
            return ct_bad_file(err, a->file, "%s %s is there twice: at byte %llu, and at byte %llu of %s",
                               what, ct_quote(q, a->s), (unsigned long long)a->offset,
                               (unsigned long long)b->offset, b->file);
    }
    return CARAT_OK;
}

int ct_index_find(const struct ct_index *ix, struct ct_str s)
{
    int lo = 0, hi = ix->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2, c = compare_str(ix->name[mid].s, s);
        if (c == 0)
            return ix->name[mid].at;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return -1;
}

carat_status ct_bad_file(carat_error *err, const char *path, const char *format, ...)
{
    char sentence[sizeof err->message];
    CT_FORMAT(sentence, format);
    return ct_fail(err, CARAT_E_FORMAT, "%s: %s", path, sentence);
}

const char *ct_quote(char out[CT_QUOTE], struct ct_str s)
{
    char *p = out;
    *p++ = '"';
    for (size_t i = 0; i < CT_MIN(s.n, (size_t)128); i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
            *p++ = (char)c;
        else
            p += sprintf(p, "\\x%02x", c);
    }
    strcpy(p, s.n > 128 ? "...\"" : "\"");
    return out;
}

const char *ct_file_types(char out[CT_TYPE_LIST])
{
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < CT_TYPE_COUNT; i++) {
        const struct ct_type_info *t = ct_type_info((enum ct_type)i);
        if (t->ggml >= 0 && n < CT_TYPE_LIST)
            n += (size_t)snprintf(out + n, CT_TYPE_LIST - n, "%s%s", n ? ", " : "", t->name);
    }
    return out;
}

bool ct_name_ok(struct ct_str s, size_t max)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.s[i] < 0x20 || s.s[i] == 0x7f)
            return false;
    return s.n >= 1 && s.n <= max && ct_utf8_valid(s.s, s.n);
}

/* ---- tensors ---- */

carat_status ct_file_set_note(struct ct_file *f, carat_error *err, const char *format, ...)
{
    char text[1024];
    if (f->note)
        return CARAT_OK;
    CT_FORMAT(text, format);
    f->note = ct_arena_str(&f->arena, text, strlen(text));
    return f->note ? CARAT_OK : ct_no_memory(err, f->path);
}

carat_status ct_file_add(struct ct_file *f, struct ct_tensor **t, carat_error *err)
{
    if (f->n_tensor == CT_MAX_TENSOR)
        return ct_bad_file(err, f->path, "more than %d tensors", CT_MAX_TENSOR);
    if (!ct_array_grow(&f->tensor, &f->capacity, (size_t)f->n_tensor + 1, sizeof *f->tensor))
        return ct_no_memory(err, f->path);
    *t = memset(&f->tensor[f->n_tensor++], 0, sizeof **t);
    (*t)->scale = 1;
    return CARAT_OK;
}

carat_status ct_file_index(struct ct_file *f, const struct ct_tensor *tensor, int n, struct ct_index *ix,
                           carat_error *err)
{
    CT_TRY(ct_index_reserve(f, ix, (size_t)n, err));
    for (int i = 0; i < n; i++)
        ct_index_add(ix, ct_str_of(tensor[i].name), tensor[i].file, tensor[i].offset);
    return ct_index_sort(ix, "tensor", err);
}

/* ---- where bytes come from ---- */

/* Remembers that this file was asked for; m: what was found. */
static carat_status note_source(struct ct_file *f, const char *name, const char *path, const struct ct_map *m,
                                carat_error *err)
{
    if (!ct_array_grow(&f->source, &f->source_capacity, (size_t)f->n_source + 1, sizeof *f->source))
        return ct_no_memory(err, f->path);
    struct ct_source *s = &f->source[f->n_source++];
    *s = (struct ct_source){.name = ct_str_of(name), .path = path};
    if (m) {
        s->present = 1;
        s->data = m->bytes.data;
        s->id = m->id;
        s->head = CT_MIN(m->bytes.size, (size_t)CT_PACKED_HEAD);
    }
    return CARAT_OK;
}

void ct_file_header(struct ct_file *f, const uint8_t *p, size_t head)
{
    for (int i = 0; i < f->n_source; i++)
        if (f->source[i].data == p)
            f->source[i].head = head;
}

/* "dir/name" in the arena, as messages and tensors call it; NULL when memory runs out. */
static const char *join_name(struct ct_file *f, const char *name)
{
    const char *dir = f->dir ? f->dir : "";
    size_t d = strlen(dir), size = d + strlen(name) + 2;
    char *p = ct_arena_push(&f->arena, size, 1);
    if (p)
        snprintf(p, size, "%s%s%s", dir, d && dir[d - 1] != '/' ? "/" : "", name);
    return p;
}

carat_status ct_file_map(struct ct_file *f, const char *name, const char *path, struct ct_bytes *bytes,
                         carat_error *err)
{
    if (!ct_array_grow(&f->map, &f->map_capacity, (size_t)f->n_map + 1, sizeof *f->map))
        return ct_no_memory(err, f->path);
    CT_TRY(ct_os_map(&f->map[f->n_map], path, err));
    *bytes = f->map[f->n_map++].bytes;
    return note_source(f, name, path, &f->map[f->n_map - 1], err);
}

struct ct_bytes ct_part_bytes(const struct ct_part *p)
{
    return p->bytes.data ? p->bytes : (struct ct_bytes){(const uint8_t *)"", 0};
}

const struct ct_part *ct_file_part(const struct ct_file *f, const char *name)
{
    for (int i = 0; i < f->n_part; i++)
        if (strcmp(f->part[i].name, name) == 0)
            return &f->part[i];
    return NULL;
}

bool ct_exists_in(const char *dir, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && n < (int)sizeof path && ct_os_kind(path) != 0;
}

bool ct_file_has(struct ct_file *f, const char *name)
{
    return f->dir ? ct_exists_in(f->dir, name) : ct_file_part(f, name) != NULL;
}

carat_status ct_file_take(struct ct_file *f, const char *name, struct ct_bytes *bytes, const char **path,
                          carat_error *err)
{
    *bytes = (struct ct_bytes){0};
    *path = join_name(f, name);
    if (!*path)
        return ct_no_memory(err, f->path);
    if (!f->dir) {
        const struct ct_part *p = ct_file_part(f, name);
        if (p)
            *bytes = ct_part_bytes(p);
        return CARAT_OK;
    }
    int kind;
    CT_TRY(ct_os_look(&kind, *path, err));
    if (kind == 0)
        return note_source(f, *path + strlen(*path) - strlen(name), *path, NULL, err);
    if (kind == 2)
        return ct_fail(err, CARAT_E_FORMAT, "%s is a directory; a file was expected there", *path);
    return ct_file_map(f, *path + strlen(*path) - strlen(name), *path, bytes, err);
}

/* ---- side files ---- */

const char *const ct_side_name[CT_SIDES] = {
    "config.json",        "generation_config.json",  "tokenizer.json",
    "tokenizer.model",    "tokenizer_config.json",   "chat_template.jinja",
    "chat_template.json", "special_tokens_map.json", "added_tokens.json",
};

int ct_side_at(const char *name)
{
    for (int i = 0; i < CT_SIDES; i++)
        if (strcmp(name, ct_side_name[i]) == 0)
            return i;
    return -1;
}
