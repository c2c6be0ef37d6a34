/* SPDX-License-Identifier: Apache-2.0 */
/* head_strategy.h: what a strategy of the head is, and what strategies share. Private to src/model.
 *
 * A strategy is a table: what it plans, lays out, makes and runs. auto becomes one of the others when the
 * engine is planned. */
#ifndef CT_HEAD_STRATEGY_H
#define CT_HEAD_STRATEGY_H

#include "model/head.h"

/* A strategy: how it is planned, laid out, loaded and run. Any but rows may be NULL. */
struct ct_head_strategy {
    /* Settles its options, which are in range, and counts the weights that it makes (plan_made). E_ARGUMENT,
     * E_MEMORY. */
    carat_status (*plan)(struct ct_head *h, carat_error *err);
    /* Takes memory of the host for passes with up to so many rows of logits at a time. */
    void (*lay_out)(struct ct_head *h, int rows);
    /* Makes what it keeps, once the head is packed. Counts in stats. E_MEMORY. */
    carat_status (*load)(struct ct_head *h, carat_error *err);
    void (*end)(struct ct_head *h);
    /* As ct_head_rows; counts in stats, tokens, seconds and what dense would read excepted. */
    void (*rows)(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row);
    /* What the last rows took, for strategies that go by it. */
    void (*took)(struct ct_head *h, int n, double seconds);
    /* The mean recall of audits is below what was asked for; approximate ones. */
    void (*give_up)(struct ct_head *h);
    bool tiles; /* its weights are cut into tiles, which may be int8 */
};

/* head_pruned.c: the logits of dense for draws that begin with top-k, read from little more than a sketch.
 * Why nothing is lost: NUMERICS.md section 12. */
extern const struct ct_head_strategy ct_strategy_pruned;
/* Why a head cannot be pruned, a clause; NULL: it can. */
const char *ct_not_pruned(const struct ct_weight *head);

/* head_tiles.c: the head in tiles, which are its own rows or int8 copies. They are made beforehand, or when
 * they are first needed; few may be kept, and few may be looked at. Which ones: tiles.h. */
extern const struct ct_head_strategy ct_strategy_tiles;

/* ---- head_strategy.c ---- */

/* Of n rows the first, at most a slice, get all logits, to to[i]; returns how many these are. */
enum { CT_HEAD_SLICE = 64 };
int ct_head_all(const struct ct_head *h, struct ct_head_row *row, int n, float **to);
/* All logits of rows, whatever the strategy; for strategies that go back to it. */
void ct_head_dense(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row);

/* What a strategy makes of the head, in this form, by a rule with this number; a rule that would give other
 * bytes needs another number. The weight has data where the packed copy of the model has it; without a key
 * it cannot be kept. name: lives for ever. */
struct ct_made ct_head_made(const struct ct_head *h, const char *name, int rule,
                            const struct ct_weight *form);
/* A weight in panels, without data. */
struct ct_weight ct_head_made_panels(enum ct_type type, int rows, int cols);
/* It was made, and lies at `data` as long as the engine: it is to be kept. */
void ct_head_keep(struct ct_head *h, const struct ct_made *m, const void *data);

/* head_audit.c: every so many tokens, compares what the strategy gave for rows [first, first + n) of the
 * pass with the whole head, and counts it in stats. */
void ct_head_audit_rows(struct ct_head *h, const struct ct_pass *p, int first, int n,
                        const struct ct_head_row *row);

#endif
