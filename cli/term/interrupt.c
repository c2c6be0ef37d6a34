/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c: signals. The first Ctrl-C sets a flag that long work looks at; the handler then steps aside,
 * so that a second one ends the process at once. A mapped model whose file shrinks, or whose storage fails,
 * is met as SIGBUS: that ends with a message and an exit code, which is all that can be done about it. */
#define _POSIX_C_SOURCE 200809L
#include "term/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "term/exit.h"

static volatile sig_atomic_t pending;

/* Made ready beforehand: a handler may not format. */
static char fault[512];
static size_t fault_length;
static atomic_flag fault_told = ATOMIC_FLAG_INIT;
static const char *volatile wipe = "";

static void on_interrupt(int number)
{
    (void)number;
    pending = 1;
}

void interrupt_install(void)
{
    struct sigaction action;

    pending = 0;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    /* No SA_RESTART: a read that waits for a prompt has to end as well. */
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool term_interrupted(void)
{
    return pending != 0;
}

ssize_t read_unless_interrupted(int fd, void *data, size_t n)
{
    enum { LOOK_AGAIN = 50 }; /* milliseconds: a read that began just after the signal would wait for ever */
    struct pollfd in = {.fd = fd, .events = POLLIN};

    while (!term_interrupted()) {
        int ready = poll(&in, 1, LOOK_AGAIN);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            return read(fd, data, n);
    }
    errno = EINTR;
    return -1;
}

int stop_when_interrupted(void *user, size_t done, size_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return term_interrupted();
}

void interrupt_wipes(const char *text)
{
    wipe = text;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code == BUS_ADRERR ||
        info->si_code > BUS_OBJERR) { /* nothing behind the page, or broken memory */
        while (atomic_flag_test_and_set(&fault_told))
            pause(); /* another thread has met the same and is ending the process */
        (void)!write(STDERR_FILENO, wipe, strlen(wipe));
        (void)!write(STDERR_FILENO, fault, fault_length);
        _exit(FAILED);
    }
    signal(number,
           SIG_DFL); /* a fault of another kind comes again, a signal that somebody sent is sent again */
    if (info->si_code <= 0)
        raise(number);
}

void interrupt_on_fault(const char *path)
{
    struct sigaction action;
    int n = snprintf(fault, sizeof fault,
                     "error: E_IO: %.300s: the file was cut short or changed, or its storage failed, while "
                     "it was in use\n",
                     path);

    fault_length = (size_t)n;
    for (size_t i = 0; i + 1 < fault_length; i++) { /* the path may hold anything */
        if ((unsigned char)fault[i] < 0x20 || fault[i] == 0x7f)
            fault[i] = '?';
    }
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
