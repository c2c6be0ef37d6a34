/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c: runs a command on a terminal of its own and prints what its screen would show in the end,
 * without a terminal program: the tests of the command build it themselves.
 *   terminal [-2] COLUMNS RAW COMMAND [ARGUMENT...]
 * Standard output and standard error are the terminal, with -2 standard error alone; standard input is the
 * caller's. RAW gets the bytes as the command wrote them. Ends with the command's exit code, or 99 when the
 * terminal is at fault: only newline, return, tab (a space), erasing to the end of the line and colours are
 * known to it. */
#define _XOPEN_SOURCE   700
#define _DEFAULT_SOURCE /* struct winsize */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { LINES = 4096, COLUMNS = 256, FAULT = 99 };

static char screen[LINES][COLUMNS + 1];
static int columns, line, column;
static char escape[16]; /* the sequence under way */
static size_t n_escape;

static int fault(const char *what)
{
    fprintf(stderr, "terminal: %s: %s\n", what, strerror(errno));
    return FAULT;
}

static void next_line(void)
{
    if (line < LINES - 1)
        line++;
}

/* A sequence is ESC [ numbers letter. False: not one that is known. */
static int obey(void)
{
    char last = escape[n_escape - 1];

    if (n_escape == 2 && last == '[')
        return 1;
    if (n_escape > 2 && ((last >= '0' && last <= '9') || last == ';'))
        return 1;
    if (last == 'K' && n_escape == 3)
        memset(screen[line] + column, 0, (size_t)(COLUMNS - column));
    else if (last == 'D' && atoi(escape + 2) <= column)
        column -= atoi(escape + 2);
    else if (last != 'm' || n_escape < 3)
        return 0;
    n_escape = 0;
    return 1;
}

static int show(char c)
{
    if (n_escape > 0) {
        escape[n_escape++] = c;
        return n_escape < sizeof escape && obey();
    }
    if (c == '\033') {
        escape[n_escape++] = c;
    } else if (c == '\r') {
        column = 0;
    } else if (c == '\t') {
        return show(' ');
    } else if (c == '\n') {
        next_line();
        column = 0;
    } else if ((unsigned char)c < 0x20 || c == 0x7f) {
        return 0;
    } else {
        if (column == columns) { /* the cursor waits in the last column until something follows */
            next_line();
            column = 0;
        }
        for (int i = 0; i < column; i++)
            if (!screen[line][i])
                screen[line][i] = ' ';
        screen[line][column++] = c;
    }
    return 1;
}

static int open_terminal(int *slave)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    struct termios mode;
    int master = posix_openpt(O_RDWR | O_NOCTTY);

    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return -1;
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (*slave < 0 || ioctl(master, TIOCSWINSZ, &size) != 0 || tcgetattr(*slave, &mode) != 0)
        return -1;
    mode.c_oflag &= ~(tcflag_t)OPOST; /* no return before a newline that the command did not write */
    return tcsetattr(*slave, TCSANOW, &mode) == 0 ? master : -1;
}

static int watch(int master, FILE *raw)
{
    char part[4096];
    ssize_t n;

    while ((n = read(master, part, sizeof part)) > 0 || (n < 0 && errno == EINTR)) {
        for (ssize_t i = 0; i < n; i++) {
            putc(part[i], raw);
            if (!show(part[i])) {
                errno = EILSEQ;
                return fault("a control byte that it does not know");
            }
        }
    }
    return 0; /* Linux ends with EIO when nobody has the other side open */
}

int main(int argc, char **argv)
{
    int only_errors = argc > 1 && strcmp(argv[1], "-2") == 0, slave, master, status, failed;
    FILE *raw;

    argv += only_errors;
    if (argc - only_errors < 4)
        return fault("usage");
    columns = atoi(argv[1]);
    columns = columns < 1 ? 1 : columns > COLUMNS ? COLUMNS : columns;
    if (!(raw = fopen(argv[2], "wb")) || (master = open_terminal(&slave)) < 0)
        return fault("cannot open a terminal");
    pid_t child = fork();
    if (child == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        if (!only_errors)
            dup2(slave, STDOUT_FILENO);
        dup2(slave, STDERR_FILENO);
        close(slave);
        close(master);
        execvp(argv[3], argv + 3);
        _exit(fault(argv[3]));
    }
    close(slave);
    failed = child < 0 ? fault("cannot fork") : watch(master, raw);
    fclose(raw);
    close(master); /* a command that is still there is hung up */
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    for (int i = 0; i <= line && (i < line || screen[i][0]); i++)
        printf("%s\n", screen[i]);
    return failed ? failed : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
