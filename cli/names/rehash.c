/* SPDX-License-Identifier: Apache-2.0 */
/* rehash.c: see fetch_program.h. */
#include "names/fetch_program.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "names/hub_links.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/progress.h"
#include "term/size.h"

enum { REHASH_PATH = 4096 };

/* SHA-256 of a large file, git's SHA-1 of a small one; NULL: the blob has another name. */
static const char *hash_of(const struct hub_link *l)
{
    const char *name = l->wanted && l->blob ? strrchr(l->blob, '/') + 1 : "";

    return is_hub_hash(name, 64) || is_hub_hash(name, 40) ? name : NULL;
}

struct rehashing {
    struct rehashed *found;
    const struct hub_links *links;
    struct progress bar;
    double bytes;
};

/* A blob of ollama's is called so: "sha256-" and the hash. */
static const char ollama_front[] = "sha256-";

static const char *hash_in_name(const char *name)
{
    const char *slash = strrchr(name, '/'), *last = slash ? slash + 1 : name;

    return last + (strncmp(last, ollama_front, strlen(ollama_front)) == 0 ? strlen(ollama_front) : 0);
}

/* The name by which the user knows the file: its place in the snapshot. */
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
    const char *hash = name ? hash_in_name(name) : "";

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

/* The files, each blob once: links of one stand together. */
static json_t *list_blobs(const struct hub_links *l)
{
    json_t *files = json_array();
    const char *last = "";

    for (size_t i = 0; i < l->n; i++) {
        const char *hash = hash_of(&l->link[i]);
        char name[80];
        if (!hash || strcmp(last, hash) == 0)
            continue;
        snprintf(name, sizeof name, "blobs/%.64s", hash);
        json_array_append_new(files, json_pack("{s:s, s:I, s:s}", "name", name, "bytes",
                                               (json_int_t)l->link[i].bytes, "hash", hash));
        last = hash;
    }
    return files;
}

/* ROOT/blobs/sha256-HASH, of ollama's store or one that is laid so; NULL: it is none. */
static json_t *list_ollama(char root[REHASH_PATH], const char *path)
{
    static const char below[] = "/blobs/sha256-";
    const size_t n = strlen(path), tail = sizeof below - 1 + 64;
    struct stat st;

    if (n <= tail || n - tail >= REHASH_PATH)
        return NULL;
    const char *front = path + n - tail, *hash = front + sizeof below - 1;
    if (strncmp(front, below, sizeof below - 1) != 0 || !is_hub_hash(hash, 64) || stat(path, &st) != 0)
        return NULL;
    snprintf(root, REHASH_PATH, "%.*s", (int)(front - path), path);
    return json_pack("[{s:s, s:I, s:s}]", "name", front + 1, "bytes", (json_int_t)st.st_size, "hash", hash);
}

static int hash_blobs(struct rehashing *r, const char *root, json_t *files)
{
    char size[SIZE_TEXT];

    progress_begin(&r->bar, "hashing", NULL);
    int code = fetch_program(json_pack("{s:s, s:s, s:O}", "do", "hash", "root", root, "files", files),
                             hear_hashed, r);
    progress_end(&r->bar);
    if (code == DONE && !r->found->wrong) {
        size_text(size, r->bytes);
        snprintf(r->found->text, REHASHED_TEXT, "%d file%s, %s, with the publisher's hashes", r->found->files,
                 r->found->files == 1 ? "" : "s", size);
    }
    return code;
}

int names_rehash(struct rehashed *found, const char *path)
{
    struct hub_links l;
    struct rehashing r = {.found = found, .links = &l};
    char root[REHASH_PATH] = "";
    const bool in_hub = hub_links_read(&l, path);
    json_t *files = in_hub ? list_blobs(&l) : list_ollama(root, path);
    int code = l.failed ? fail_memory() : DONE;

    *found = (struct rehashed){.files = 0};
    if (json_array_size(files) > 0 && has_fetch_program())
        code = hash_blobs(&r, in_hub ? l.folder : root, files);
    else if (json_array_size(files) > 0)
        snprintf(found->text, sizeof found->text,
                 "carat-fetch, which hashes files, is not beside this command");
    json_decref(files);
    hub_links_free(&l);
    return code;
}
