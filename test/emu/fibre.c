/* SPDX-License-Identifier: Apache-2.0 */
/* fibre.c: fibres that switch stacks: in a few instructions on x86-64, elsewhere through the C
 * library, which asks the system for a mask of signals each time. */
#include "fibre.h"

#include <string.h>

#include "unit.h"

enum {
    STACK = 32768 + 64 * 9
}; /* never a multiple of a page: tops of stacks would share a set of the cache */

struct fibre fibre;
enum fibre_order fibre_order;

static _Alignas(64) unsigned char stacks[FIBRE_MOST][STACK];

static struct {
    int order[FIBRE_MOST], at, left; /* who takes turns, whose turn it is, and how many are not done */
    uint32_t passed[2][FIBRE_MOST];  /* by turns, so that who is behind reads what was before */
    struct warp {
        int8_t a[16][32], b[8][32];
        int32_t made[2][16][8];
        float fa[16][16], fb[8][16], sum[2][16][8];
    } warp[FIBRE_MOST / FIBRE_WARP];
    bool done[FIBRE_MOST];
    void (*thread)(const void *args);
    const void *args;
} run;

static void body(void);

/* ---- switching: place FIBRE_MOST is the caller's ---- */

#if defined(__x86_64__)
/* Keeps what a callee keeps on the stack, and the stack's place in *from; goes on at `to`. */
void fibre_switch(void **from, void *to);
__asm__(".text\n"
        "fibre_switch:\n"
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n mov %rsi, %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
        "ret\n");
static void *place[FIBRE_MOST + 1];

static void prepare(int t)
{
    void **top = (void **)(void *)(stacks[t] + STACK - 64);

    *--top = NULL; /* where body would return to */
    *--top = (void *)(uintptr_t)body;
    place[t] = top - 6;
}
static void change(int from, int to)
{
    fibre_switch(&place[from], place[to]);
}
#else
#include <ucontext.h>
static ucontext_t place[FIBRE_MOST + 1];

static void prepare(int t)
{
    getcontext(&place[t]);
    place[t].uc_stack.ss_sp = stacks[t];
    place[t].uc_stack.ss_size = STACK;
    place[t].uc_link = &place[FIBRE_MOST];
    makecontext(&place[t], body, 0);
}
static void change(int from, int to)
{
    swapcontext(&place[from], &place[to]);
}
#endif

/* ---- taking turns ---- */

/* Lets the next one go on that is not done; when all are, the caller. */
static void give_way(int t)
{
    int next = FIBRE_MOST;

    while (run.left > 0 && (next = run.order[run.at = (run.at + 1) % FIBRE_MOST], run.done[next]))
        ;
    if (next != t) {
        fibre.tid = next;
        change(t, next);
        fibre.tid = t;
    }
}

static void body(void)
{
    const int tid = fibre.tid;

    run.thread(run.args);
    run.done[tid] = true;
    run.left--;
    give_way(tid);
}

void fibre_wait(struct fibre_barrier *b)
{
    const int turn = b->turn, tid = fibre.tid;

    if (++b->waiting == b->size) {
        b->waiting = 0;
        b->turn++;
        return;
    }
    while (b->turn == turn)
        give_way(tid);
}

uint32_t fibre_read(uint32_t v, int from)
{
    struct fibre_barrier *warp = &fibre.warp[fibre.tid / FIBRE_WARP];
    uint32_t *passed = run.passed[warp->turn % 2];

    passed[fibre.tid] = v;
    fibre_wait(warp);
    return passed[from];
}

const bool fibre_multiplies = true;

/* The matrices of a warp, whole. */
static void multiply(struct warp *w, int turn)
{
    for (int r = 0; r < 16; r++)
        for (int c = 0; c < 8; c++) {
            int32_t sum = 0;
            for (int k = 0; k < 32; k++)
                sum += (int16_t)w->a[r][k] * (int16_t)w->b[c][k];
            w->made[turn][r][c] = sum;
        }
}

void fibre_multiply(int32_t d[4], const uint32_t a[4], const uint32_t b[2])
{
    struct fibre_barrier *barrier = &fibre.warp[fibre.tid / FIBRE_WARP];
    struct warp *w = &run.warp[fibre.tid / FIBRE_WARP];
    const int q = fibre.tid % FIBRE_WARP / 4, c = fibre.tid % 4, turn = barrier->turn % 2;

    for (int i = 0; i < 4; i++)
        memcpy(&w->a[q + i % 2 * 8][c * 4 + i / 2 * 16], &a[i], sizeof a[i]);
    for (int i = 0; i < 2; i++)
        memcpy(&w->b[q][c * 4 + i * 16], &b[i], sizeof b[i]);
    if (barrier->waiting == barrier->size - 1)
        multiply(w, turn);
    fibre_wait(barrier);
    for (int i = 0; i < 4; i++)
        d[i] += w->made[turn][q + i / 2 * 8][2 * c + i % 2];
}

void fibre_multiply_floats(float d[4], const uint32_t a[4], const uint32_t b[2], bool bf16)
{
    struct fibre_barrier *barrier = &fibre.warp[fibre.tid / FIBRE_WARP];
    struct warp *w = &run.warp[fibre.tid / FIBRE_WARP];
    const int q = fibre.tid % FIBRE_WARP / 4, c = fibre.tid % 4, turn = barrier->turn % 2;

    for (int i = 0; i < 8; i++)
        w->fa[q + i / 2 % 2 * 8][2 * c + i % 2 + i / 4 * 8] =
            unit_value(a[i / 2] >> i % 2 * 16 & 0xffff, bf16);
    for (int i = 0; i < 4; i++)
        w->fb[q][2 * c + i % 2 + i / 2 * 8] = unit_value(b[i / 2] >> i % 2 * 16 & 0xffff, bf16);
    for (int i = 0; i < 4; i++)
        w->sum[turn][q + i / 2 * 8][2 * c + i % 2] = d[i];
    if (barrier->waiting == barrier->size - 1)
        for (int i = 0; i < 16 * 8; i++)
            unit_add(&w->sum[turn][i / 8][i % 8], w->fa[i / 8], w->fb[i % 8]);
    fibre_wait(barrier);
    for (int i = 0; i < 4; i++)
        d[i] = w->sum[turn][q + i / 2 * 8][2 * c + i % 2];
}

static int nth(int i)
{
    return fibre_order == FIBRE_UP     ? i
           : fibre_order == FIBRE_DOWN ? FIBRE_MOST - 1 - i
                                       : (i * 37 + 11) % FIBRE_MOST;
}

static int nth_block(int i, int n)
{
    return fibre_order == FIBRE_UP ? i : fibre_order == FIBRE_DOWN ? n - 1 - i : (i + n / 2) % n;
}

static void run_block(void)
{
    fibre.block = (struct fibre_barrier){.size = FIBRE_MOST};
    for (int w = 0; w < FIBRE_MOST / FIBRE_WARP; w++)
        fibre.warp[w] = (struct fibre_barrier){.size = FIBRE_WARP};
    memset(run.done, 0, sizeof run.done);
    for (int t = 0; t < FIBRE_MOST; t++)
        prepare(t);
    run.left = FIBRE_MOST;
    run.at = FIBRE_MOST - 1;
    give_way(FIBRE_MOST);
}

void fibre_run(void (*thread)(const void *args), const void *args, int blocks, int rows)
{
    run.thread = thread;
    run.args = args;
    for (int i = 0; i < FIBRE_MOST; i++)
        run.order[i] = nth(i);
    for (int i = 0; i < blocks * rows; i++) {
        const int block = nth_block(i, blocks * rows);
        fibre.x = block % blocks;
        fibre.y = block / blocks;
        run_block();
    }
}
