/* SPDX-License-Identifier: Apache-2.0 */
/* ple.h: the rows of the table of layer inputs (PLE, MODEL.md) that the tokens of a pass ask for. The table
 * is gigabytes and a token reads kilobytes of it, so it stays on the disk: rows are read by place into a
 * cache. It computes nothing: forward.c says what is done with rows. */
#ifndef CT_PLE_H
#define CT_PLE_H

#include "model/weights.h"

#define CT_PLE_CACHE ((size_t)32 << 20) /* bytes of rows that are kept */

struct ct_ple {
    struct ct_weight table; /* in whose rows they are found; absent: the model has none */
    int32_t *row;           /* [max_rows] which of them, for each row of the pass */
    int n_row;              /* of the whole table */

    /* of a table on the disk; n_slot 0: it lies in memory */
    int n_slot;
    uint8_t *slot;      /* [n_slot][bytes of a row] */
    int32_t *slot_of;   /* [rows of the table] 1 + its slot; 0: it is in none */
    int32_t *row_in;    /* [n_slot] 1 + the row that a slot has; 0: none */
    uint32_t *asked_in; /* [n_slot] the last pass that asked for it */
    int32_t *missing;   /* [max_rows] rows that the pass under way reads, in ascending order */
    int n_missing, next;
    uint32_t pass;
    struct ct_place place; /* of row 0 in the file */
    bool opened;
    carat_error error; /* of the pass under way */
};

/* Rows of a table on the disk that are kept in memory for an engine with passes of max_rows rows. */
int ct_ple_slots(const struct ct_weight *table, int max_rows);
/* Takes memory from the backend. */
void ct_ple_init(struct ct_ple *p, struct ct_backend *b, const struct ct_weight *table, int max_rows,
                 int n_slot);
/* Opens the file that the table lies in, once memory is there. E_IO. */
carat_status ct_ple_open(struct ct_ple *p, const struct ct_file *f, const struct ct_weight *table,
                         carat_error *err);
void ct_ple_close(struct ct_ple *p);

/* Says which rows the tokens of a pass need; the disk may begin. An id beyond the table has row 0. */
void ct_ple_ask(struct ct_ple *p, const struct ct_rows *rows);
/* Waits until they are there. After a failure rows are zeros, and p->error says why. */
void ct_ple_await(struct ct_ple *p);

#endif
