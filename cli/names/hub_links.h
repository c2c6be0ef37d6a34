/* SPDX-License-Identifier: Apache-2.0 */
/* hub_links.h: what a model of the hub's cache takes there, and what would be free without it: links in
 * snapshots, and blobs that other links may need. */
#ifndef MODEL_HUB_LINKS_H
#define MODEL_HUB_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HUB_PATH = 4096 };

/* True: the text is a hash as the hub spells them: so many digits, 40 of a commit. */
bool is_hub_hash(const char *text, size_t digits);

struct hub_link {
    char *path; /* in a snapshot */
    char *blob; /* in the repository's blobs; NULL: the file itself lies in the snapshot */
    uint64_t bytes;
    bool wanted;    /* it belongs to the model that was asked for */
    bool elsewhere; /* the blob is itself a link, into the store that all repositories share */
    bool frees;     /* it is the last link of its blob, and nothing else needs that */
};
struct hub_links {
    char folder[HUB_PATH];   /* models--OWNER--NAME */
    char snapshot[HUB_PATH]; /* of the model */
    struct hub_link *link;   /* [n], of all snapshots; those of one blob stand together */
    size_t n, capacity;
    uint64_t freed, shared; /* bytes of the model: that nothing else needs, and the others */
    bool failed;            /* for want of memory */
};

/* path: a snapshot, or a file in one. False: it is no path of such a cache, or memory ran out. For
 * hub_links_free in any case. */
bool hub_links_read(struct hub_links *l, const char *path);
void hub_links_free(struct hub_links *l);

/* The snapshot of a repository's folder that has no weights yet, or a path that does not exist; false: it is
 * too long. */
bool hub_begun(char path[HUB_PATH], const char *folder);
/* Bytes of blobs that have not come as a whole; `removes`: these go. */
uint64_t hub_incomplete(const char *folder, bool removes);

/* Bytes of the model that others need too; 0 where nothing can be shared, which is seen at once. */
uint64_t hub_shared(const char *path);

#endif
