/* interrupt.c: the first Ctrl-C sets a flag that long work looks at; the handler then steps aside, so that a
 * second one ends the process at once. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>

#include "cli.h"

static volatile sig_atomic_t pending;

static void on_interrupt(int number)
{
    (void)number;
    pending = 1;
}

void interrupt_install(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    /* No SA_RESTART: a read that waits for a prompt has to end as well. */
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

bool interrupted(void)
{
    return pending != 0;
}
