/* SPDX-License-Identifier: Apache-2.0 */
/* ple.c: see ple.h. Slots are taken in turn, but none that the pass under way has asked for: there are more
 * slots than rows of a pass. */
#include "model/ple.h"

int ct_ple_slots(const struct ct_weight *table, int max_rows)
{
    const size_t fit = CT_PLE_CACHE / table->row_bytes;
    return (int)CT_MIN(CT_MAX(fit, (size_t)max_rows + 1), (size_t)table->rows + 1);
}

void ct_ple_init(struct ct_ple *p, struct ct_backend *b, const struct ct_weight *table, int max_rows,
                 int n_slot)
{
    const size_t rows = (size_t)max_rows, slots = (size_t)n_slot;

    *p = (struct ct_ple){.table = *table, .n_row = table->rows, .n_slot = n_slot};
    if (!table->data)
        return;
    p->table.layout = CT_LAYOUT_ROWS;
    p->row = b->verb.alloc_host(b, rows * sizeof *p->row);
    if (n_slot == 0)
        return;
    p->slot = b->verb.alloc_host(b, slots * table->row_bytes);
    p->slot_of = b->verb.alloc_host(b, (size_t)table->rows * sizeof *p->slot_of);
    p->row_in = b->verb.alloc_host(b, slots * sizeof *p->row_in);
    p->asked_in = b->verb.alloc_host(b, slots * sizeof *p->asked_in);
    p->missing = b->verb.alloc_host(b, rows * sizeof *p->missing);
    p->table.rows = n_slot;
    p->table.data = p->slot;
}

carat_status ct_ple_open(struct ct_ple *p, const struct ct_file *f, const struct ct_weight *table,
                         carat_error *err)
{
    if (p->n_slot == 0)
        return CARAT_OK;
    CT_TRY(ct_place_open(&p->place, f, table->data, err));
    p->opened = p->place.fd >= 0;
    return p->opened ? CARAT_OK : ct_fail(err, CARAT_E_IO, "%s: is not a file any more", ct_file_path(f));
}

void ct_ple_close(struct ct_ple *p)
{
    if (p->opened)
        ct_place_close(&p->place);
    p->opened = false;
}

/* A slot that no token of this pass has asked for. */
static int free_slot(struct ct_ple *p)
{
    while (p->asked_in[p->next] == p->pass)
        p->next = (p->next + 1) % p->n_slot;
    const int slot = p->next;
    p->next = (p->next + 1) % p->n_slot;
    return slot;
}

/* The slot of a row, which may still have to be read. */
static int slot_for(struct ct_ple *p, int32_t row)
{
    int slot = p->slot_of[row] - 1;

    if (slot < 0) {
        slot = free_slot(p);
        if (p->row_in[slot])
            p->slot_of[p->row_in[slot] - 1] = 0;
        p->row_in[slot] = row + 1;
        p->slot_of[row] = slot + 1;
        p->missing[p->n_missing++] = row;
    }
    p->asked_in[slot] = p->pass;
    return slot;
}

/* Where a row begins in the table. */
static uint64_t offset_of(const struct ct_ple *p, int32_t row)
{
    return (uint64_t)row * p->table.row_bytes;
}

/* Moves row[at] down until no row below it in the heap is larger. */
static void sift(int32_t *row, int n, int at)
{
    const int32_t x = row[at];

    for (int child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && row[child + 1] > row[child];
        if (row[child] <= x)
            break;
        row[at] = row[child];
    }
    row[at] = x;
}

/* A pass takes no memory, and qsort may. */
static void sort_rows(int32_t *row, int n)
{
    for (int i = n / 2; i-- > 0;)
        sift(row, n, i);
    for (int i = n - 1; i > 0; i--) {
        const int32_t largest = row[0];
        row[0] = row[i];
        row[i] = largest;
        sift(row, i, 0);
    }
}

void ct_ple_ask(struct ct_ple *p, const struct ct_rows *rows)
{
    if (!p->table.data)
        return;
    p->n_missing = 0;
    p->error = (carat_error){CARAT_OK, ""};
    if (p->n_slot && ++p->pass == 0) { /* after 2^32 passes: 0 is that of slots nobody has asked for */
        memset(p->asked_in, 0, (size_t)p->n_slot * sizeof *p->asked_in);
        p->pass = 1;
    }
    for (int i = 0; i < rows->n; i++) {
        const int32_t row = rows->token[i] < p->n_row ? rows->token[i] : 0;
        p->row[i] = p->n_slot ? slot_for(p, row) : row;
    }
    sort_rows(p->missing, p->n_missing); /* a disk likes to go one way */
    for (int i = 0; i < p->n_missing; i++)
        ct_place_ask(&p->place, p->table.row_bytes, offset_of(p, p->missing[i]));
}

void ct_ple_await(struct ct_ple *p)
{
    for (int i = 0; i < p->n_missing; i++) {
        const int32_t row = p->missing[i];
        const int slot = p->slot_of[row] - 1;
        uint8_t *to = p->slot + (size_t)slot * p->table.row_bytes;
        const char *why = ct_place_read(&p->place, to, p->table.row_bytes, offset_of(p, row));
        if (!why)
            continue;
        if (!p->error.code)
            (void)ct_fail(&p->error, CARAT_E_IO,
                          "%s: row %d of the table of layer inputs, at byte %llu, cannot be read: %s",
                          p->place.path, (int)row, (unsigned long long)(p->place.at + offset_of(p, row)),
                          why);
        memset(to, 0, p->table.row_bytes);
        p->slot_of[row] = 0; /* it is asked for again */
        p->row_in[slot] = 0;
    }
    p->n_missing = 0;
}
