/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.h: which tiles of a head are kept, and which a shortlist looks at, as numbers. What a tile is made
 * of and where it lies is head_tiles.c's business. */
#ifndef CT_TILES_H
#define CT_TILES_H

#include "base/base.h"

/* Tiles and the slots that hold them. Once the slots are full, all tiles but the one in the last slot stay:
 * a token reads every tile in order, so that with fewer slots than tiles the slot used longest ago would
 * always hold the tile that is needed next, and least-recently-used slots would never hit. */
struct ct_tiles {
    int n, capacity;  /* tiles; slots, at most n */
    int taken;        /* slots that hold a tile */
    int32_t *slot_of; /* [n] -1: the tile is in none */
    int32_t *tile_in; /* [capacity] */
    uint32_t *seen;   /* [n] number of the shortlist that has the tile */
    uint32_t lists;   /* shortlists so far */
    uint64_t hits, misses, evictions;
};

/* Bytes of such memory for ct_tiles_begin. */
size_t ct_tiles_bytes(int n, int capacity);
/* No slot holds a tile, nothing is counted. memory is aligned to 4; NULL: nothing is written yet. */
void ct_tiles_begin(struct ct_tiles *t, int n, int capacity, void *memory);

struct ct_tile_place {
    int slot;
    bool hit;    /* the tile is there; else it is to be made there */
    int evicted; /* the tile that it takes the place of; -1: none */
};
struct ct_tile_place ct_tiles_take(struct ct_tiles *t, int tile);

/* Forgets a tile that could not be made in the slot that it was given last. */
void ct_tiles_drop(struct ct_tiles *t, int tile);

/* Tokens one after another: held[n_held], then more[n_more]. */
struct ct_tile_text {
    const int32_t *held, *more;
    int n_held, n_more;
};

/* Chooses the tiles of a shortlist of at most `most` for the token behind a text that is not empty:
 * chosen[most], ascending; returns their number. First comes the tile of the last token, then those of the
 * tokens before, the latest first; at least an eighth of a list with more than one goes round all tiles.
 * The list is a function of the text alone: neighbours, rewinds and repetitions change nothing. rows: of a
 * tile. */
int ct_tiles_shortlist(struct ct_tiles *t, int rows, int most, const struct ct_tile_text *text,
                       int32_t *chosen);
enum { CT_SHORTLIST_LOOKS_BACK = 1024 }; /* tokens */

#endif
