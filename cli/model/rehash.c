/* SPDX-License-Identifier: Apache-2.0 */
/* rehash.c: see rehash.h. */
#include "model/rehash.h"

#include <stdio.h>
#include <string.h>

#include "model/fetch_program.h"
#include "model/hub_links.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/progress.h"
#include "term/size.h"

/* SHA-256 of a large file, git's SHA-1 of a small one; NULL: the blob has another name. */
static const char *hash_of(const struct hub_link *l)
{
    const char *name = l->wanted && l->blob ? strrchr(l->blob, '/') : NULL;
    const size_t n = name ? strlen(++name) : 0;

    return (n == 64 || n == 40) && strspn(name, "0123456789abcdef") == n ? name : NULL;
}

bool can_rehash(const char *path)
{
    struct hub_links l;
    const bool read = hub_links_read(&l, path);
    bool any = false;

    for (size_t i = 0; read && i < l.n && !any; i++)
        any = hash_of(&l.link[i]) != NULL;
    hub_links_free(&l);
    return any;
}

struct rehashing {
    struct rehashed *found;
    const struct hub_links *links;
    struct progress bar;
    double bytes;
};

/* What the user knows the file by: its place in the snapshot. */
static const char *hashed_file(const struct hub_links *l, const char *hash)
{
    for (size_t i = 0; i < l->n; i++)
        if (hash_of(&l->link[i]) && strcmp(hash_of(&l->link[i]), hash) == 0)
            return l->link[i].path + strlen(l->snapshot) + 1;
    return hash;
}

static void take_file(struct rehashing *r, json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "name")),
               *is = json_string_value(json_object_get(line, "hash"));
    const char *hash = name ? name + strlen("blobs/") : "";

    r->found->files++;
    r->bytes += (double)json_integer_value(json_object_get(line, "bytes"));
    if (!is || strcmp(is, hash) == 0)
        return;
    if (r->found->wrong++ == 0)
        snprintf(r->found->text, sizeof r->found->text,
                 *is ? "%.200s has hash %.64s, expected %.64s" : "%.200s%.0s cannot be read",
                 hashed_file(r->links, hash), is, hash);
}

static int hear_hashed(void *user, const char *event, json_t *line)
{
    struct rehashing *r = user;

    if (strcmp(event, "progress") == 0)
        progress_update(&r->bar, (size_t)json_integer_value(json_object_get(line, "done")),
                        (size_t)json_integer_value(json_object_get(line, "total")));
    else if (strcmp(event, "file") == 0)
        take_file(r, line);
    return DONE;
}

static json_t *plan_of(const struct hub_links *l)
{
    json_t *files = json_array();
    const char *last = NULL;

    for (size_t i = 0; i < l->n; i++) {
        const char *hash = hash_of(&l->link[i]);
        char name[80];
        if (!hash || (last && strcmp(last, hash) == 0)) /* links of one blob stand together */
            continue;
        snprintf(name, sizeof name, "blobs/%.64s", hash);
        json_array_append_new(files, json_pack("{s:s, s:I, s:s}", "name", name, "bytes",
                                               (json_int_t)l->link[i].bytes, "hash", hash));
        last = hash;
    }
    return json_pack("{s:s, s:s, s:o}", "do", "hash", "root", l->folder, "files", files);
}

int rehash(struct rehashed *found, const char *path)
{
    struct hub_links l;
    struct rehashing r = {.found = found, .links = &l};
    char size[SIZE_TEXT];
    int code = hub_links_read(&l, path) ? DONE : fail_memory();

    *found = (struct rehashed){.files = 0};
    if (code == DONE) {
        progress_begin(&r.bar, "hashing", NULL);
        code = fetch_program(plan_of(&l), hear_hashed, &r);
        progress_end(&r.bar);
    }
    if (code == DONE && !found->wrong) {
        size_text(size, r.bytes);
        snprintf(found->text, sizeof found->text, "%d file%s, %s, with the publisher's hashes", found->files,
                 found->files == 1 ? "" : "s", size);
    }
    hub_links_free(&l);
    return code;
}
