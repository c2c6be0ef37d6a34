/* SPDX-License-Identifier: Apache-2.0 */
/* timed.c: `timed COMMAND...` runs a test and says on a last line how much processor time it took, with all
 * that it started and waited for; CTest knows only the time by the clock. It ends as the test does. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    struct rusage took;
    int status;
    const pid_t child = argc > 1 ? fork() : -1;

    if (child < 0) {
        fprintf(stderr, "usage: %s COMMAND...\n", argv[0]);
        return 127;
    }
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    if (wait4(child, &status, 0, &took) != child)
        return 127;
    printf("\nprocessor time: %.2f s\n", seconds(took.ru_utime) + seconds(took.ru_stime));
    fflush(stdout);
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}
