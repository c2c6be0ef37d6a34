/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_keys.c: carat chat on a terminal of its own: keys, characters that are wide, Ctrl-C, history,
 * text that is pasted, windows of other sizes, bytes that are shown and not obeyed. What a line has become is
 * asked of the command itself: /set system takes it, /show prints it. The screen as people see it is
 * test_chat.sh's. */
#define _XOPEN_SOURCE   700
#define _DEFAULT_SOURCE /* struct winsize */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE = 120, MOST = 4 << 20 }; /* seconds; bytes that a terminal shows */

static char folder[] = "/tmp/carat-chat-XXXXXX";
static struct {
    int fd;
    pid_t pid;
    char *text; /* [n] that was shown, terminated */
    size_t n, seen;
} terminal;

static void resize(int columns)
{
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
    assert_int_equal(ioctl(terminal.fd, TIOCSWINSZ, &size), 0);
}

/* Starts the command with these arguments behind `carat chat tiny`. */
static void start(int columns, char **words)
{
    char *argv[16] = {CARAT_COMMAND, "chat", "tiny"};
    for (int i = 0; words && words[i]; i++)
        argv[3 + i] = words[i];
    terminal.fd = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal.fd >= 0 && grantpt(terminal.fd) == 0 && unlockpt(terminal.fd) == 0);
    resize(columns);
    terminal.n = terminal.seen = 0;
    terminal.text[0] = 0;
    terminal.pid = fork();
    if (terminal.pid == 0) {
        setsid();
        int slave = open(ptsname(terminal.fd), O_RDWR);
        ioctl(slave, TIOCSCTTY, 0);
        for (int fd = 0; fd < 3; fd++)
            dup2(slave, fd);
        if (slave > 2)
            close(slave);
        close(terminal.fd);
        execv(CARAT_COMMAND, argv);
        _exit(99);
    }
    assert_true(terminal.pid > 0);
}

/* Reads what comes within a moment; false at the end. */
static bool look(void)
{
    struct pollfd in = {.fd = terminal.fd, .events = POLLIN};
    if (poll(&in, 1, 100) <= 0)
        return true;
    ssize_t got = read(terminal.fd, terminal.text + terminal.n, MOST - terminal.n - 1);
    if (got <= 0)
        return errno == EINTR;
    terminal.n += (size_t)got;
    terminal.text[terminal.n] = 0;
    return true;
}

/* Waits for a text behind the last one that was waited for. */
static void sees(const char *text)
{
    for (time_t end = time(NULL) + PATIENCE;;) {
        const char *at = strstr(terminal.text + terminal.seen, text);
        if (at) {
            terminal.seen = (size_t)(at - terminal.text) + strlen(text);
            return;
        }
        if (time(NULL) > end || !look())
            fail_msg("'%s' does not come; there is '%s'", text, terminal.text + terminal.seen);
    }
}

static void types(const char *keys)
{
    for (size_t n = strlen(keys); n > 0;) {
        ssize_t put = write(terminal.fd, keys, n);
        assert_true(put > 0);
        keys += put;
        n -= (size_t)put;
    }
}

/* Its exit code, or 128 and the signal. */
static int ends(void)
{
    int status;
    time_t limit = time(NULL) + PATIENCE;
    while (look())
        if (time(NULL) > limit) {
            kill(terminal.pid, SIGKILL);
            fail_msg("it does not end; there is '%s'", terminal.text + terminal.seen);
        }
    close(terminal.fd);
    assert_int_equal(waitpid(terminal.pid, &status, 0), terminal.pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void leave(void)
{
    sees(">>> ");
    types("\004");
    assert_int_equal(ends(), 0);
}

/* What these keys make of a line. */
static void line_is(const char *keys, const char *line)
{
    char shown[512];
    snprintf(shown, sizeof shown, "system: %s\r\n", line);
    sees(">>> ");
    types("/set system ");
    types(keys);
    types("\r");
    sees(">>> ");
    types("/show\r");
    sees(shown);
}

/* Without libedit nothing is edited, and a terminal is read as a pipe is. */
static void begin(int columns, char **words)
{
    start(columns, words);
    while (!strstr(terminal.text, ">>> ") && look())
        ;
    if (!strstr(terminal.text, "/help lists the commands")) {
        kill(terminal.pid, SIGKILL);
        ends();
        skip();
    }
}

#define LEFT   "\033[D"
#define HOME   "\033[H"
#define UP     "\033[A"
#define DELETE "\033[3~"

static void keys_edit(void **state)
{
    (void)state;
    begin(80, NULL);
    line_is("plain", "plain");
    line_is("ax\177b", "ab");
    line_is("ac" LEFT "b", "abc");
    line_is("abX" LEFT DELETE "c", "abc");
    line_is("one two\027three", "one three");
    line_is("Gr\xc3\xbc\xc3\x9f"
            "ex\177!",
            "Gr\xc3\xbc\xc3\x9f"
            "e!");
    line_is("\xe6\xbc\xa2\xe5\xad\x97\xe3\x81\x8b" LEFT "\177x",
            "\xe6\xbc\xa2x\xe3\x81\x8b"); /* two columns each */
    line_is("\xf0\x9f\x99\x82"
            "a" LEFT LEFT "b",
            "b\xf0\x9f\x99\x82"
            "a");
    line_is("a\xc3(b\xff"
            "c\xa4",
            "a(bc"); /* what is not UTF-8 is no key */
    sees(">>> ");
    types("set system x" HOME "/\r"); /* the whole line */
    sees(">>> ");
    types("/sh\t\r"); /* completed */
    sees("system: x\r\n");
    leave();
}

static void narrow_windows(void **state)
{
    (void)state;
    char line[200], keys[210];
    begin(20, NULL);
    memset(line, 'y', sizeof line);
    line[150] = 0;
    snprintf(keys, sizeof keys, "%s%s", line, "z\177");
    sees(">>> ");
    types("/set system ");
    types(keys);
    sees("z"); /* all of it is drawn */
    resize(30);
    types("\xe6\xbc\xa2");
    sees("\xe6\xbc\xa2"); /* drawn anew, or at the end */
    resize(3);
    types("\177");
    resize(60);
    types("\r");
    sees(">>> ");
    resize(250);
    types("/show\r");
    strcat(line, "\r\n");
    sees("system: ");
    sees(line);
    leave();
}

static void ctrl_c(void **state)
{
    (void)state;
    char *slow[] = {"--naive", "--ignore-eos", "-v", NULL};
    begin(80, NULL);
    sees(">>> ");
    types("a line");
    sees("line");
    types("\003"); /* is forgotten */
    line_is("x", "x");
    sees(">>> ");
    types("\003");
    assert_int_equal(ends(), 0);

    begin(80, slow);
    sees(">>> ");
    types("hello\r");
    sees("hello\r\n");
    sees(" ");
    types("\003");
    sees("stopped: cancelled");
    sees(">>> ");
    types("/show\r");
    sees("2 messages"); /* what was said of the answer stays */
    sees(">>> ");
    types("\003");
    assert_int_equal(ends(), 0);

    begin(80, slow);
    sees(">>> ");
    types("hello\r");
    sees("hello\r\n");
    sees(" ");
    for (time_t limit = time(NULL) + PATIENCE; time(NULL) < limit && look();) /* two at once would be one */
        (void)!write(terminal.fd, "\003", 1);
    int code = ends();
    assert_true(code == 0 || code == 128 + SIGINT);
}

static void lines_are_remembered(void **state)
{
    (void)state;
    char path[128];
    struct stat s;
    begin(80, NULL);
    line_is("first \\n", "first \\n");
    leave();
    snprintf(path, sizeof path, "%s/carat/history", folder);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    assert_int_equal(chmod(path, 0644), 0);
    begin(80, NULL);
    sees(">>> ");
    types(UP UP "\177\177 and more\r");
    sees(">>> ");
    types("/show\r");
    sees("system: first  and more\r\n");
    leave();
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 07777, 0600);
    /* what is no file of ours is left alone */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("elsewhere", path), 0);
    begin(80, (char *[]){"-v", NULL});
    assert_non_null(strstr(terminal.text, "lines are not remembered"));
    line_is("x", "x");
    leave();
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    begin(80, NULL);
    line_is("x", "x");
    leave();
    assert_int_equal(unlink(path), 0);
}

static void pasted_text_is_one_message(void **state)
{
    (void)state;
    begin(80, NULL);
    line_is("a \033[200~b\tc\033[201~ d", "a b c d");
    sees(">>> ");
    types("/set system \033[200~one\rtwo\033[201~\r");
    sees(">>> ");
    types("/show\r");
    sees("system: one\r\ntwo\r\n");
    /* a message that is changed */
    sees(">>> ");
    types("Turn on the kitchen light\r");
    sees(">>> ");
    types("/edit\r");
    sees("kitchen light");
    types("s\r");
    sees("The kitchen lights are now on.");
    sees(">>> ");
    types("/show\r");
    sees("2 messages");
    leave();
}

/* A line that is longer than anybody types costs its rest, and a note. */
static void endless_lines(void **state)
{
    (void)state;
    char part[1001];
    memset(part, 'a', 1000);
    part[1000] = 0;
    begin(80, NULL);
    sees(">>> ");
    types("/help ");
    for (int i = 0; i < 20; i++) {
        types(part);
        (void)look();
    }
    types("\r");
    sees("characters of the line are left out; /read FILE takes a longer text");
    sees("/help takes no more words");
    leave();
}

static void bytes_are_shown(void **state)
{
    (void)state;
    char path[128], *words[] = {"-sysf", path, NULL},
                    *wild[] = {"--ignore-eos", "--temp", "100", "--top-k", "0", "--top-p", "1",
                               "--seed",       "1",      "-n",  "1500",    NULL};
    snprintf(path, sizeof path, "%s/system", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs("a\033]0;b\007c\xc2\x9bz\x7f", f);
    fclose(f);
    begin(80, words);
    sees(">>> ");
    types("/show\r");
    sees("system: a\\x1b]0;b\\x07c\\xc2\\x9bz\\x7f\r\n");
    leave();

    /* what a model may write, every byte among it */
    begin(80, wild);
    sees(">>> ");
    types("hello\r");
    sees("hello\r\n");
    size_t from = terminal.seen;
    sees(">>> ");
    bool shown = false;
    const char *text = terminal.text, *end = strstr(text + from, "\033[?2004h");
    assert_non_null(end);
    for (const char *p = text + from; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        bool obeyed =
            (c < 0x20 && !strchr("\r\n\t", c)) || c == 0x7f || (c == 0xc2 && (unsigned char)p[1] < 0xa0);
        /* what carat itself says to the terminal: a word that reached the end of a line is wiped there */
        const size_t back = strncmp(p, "\033[", 2) == 0 ? strspn(p + 2, "0123456789") : 0;
        const bool own = strncmp(p, "\033[?2004l", 8) == 0 || strncmp(p, "\033[K", 3) == 0 ||
                         (back && strncmp(p + 2 + back, "D\033[K", 4) == 0);
        if (obeyed && !own)
            fail_msg("byte %02x is obeyed", c);
        shown = shown || strncmp(p, "\\x", 2) == 0;
    }
    assert_true(shown);
    types("\004");
    assert_int_equal(ends(), 0);
}

static void the_terminal_goes_away(void **state)
{
    (void)state;
    int status;
    begin(80, NULL);
    sees(">>> ");
    types("half a line");
    close(terminal.fd);
    assert_int_equal(waitpid(terminal.pid, &status, 0), terminal.pid);

    /* a signal that ends it leaves the terminal as it was found */
    struct termios before, after;
    begin(80, NULL);
    sees(">>> ");
    assert_int_equal(tcgetattr(terminal.fd, &before), 0);
    assert_true(!(before.c_lflag & ICANON));
    int slave = open(ptsname(terminal.fd), O_RDWR | O_NOCTTY);
    kill(terminal.pid, SIGTERM);
    assert_int_equal(waitpid(terminal.pid, &status, 0), terminal.pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(tcgetattr(slave, &after), 0);
    assert_true(after.c_lflag & ICANON);
    close(slave);
    close(terminal.fd);
}

static int setup(void **state)
{
    (void)state;
    terminal.text = malloc(MOST);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C", 1); /* text is UTF-8 whatever the locale */
    setenv("NO_COLOR", "1", 1);
    unsetenv("COLUMNS");
    signal(SIGPIPE, SIG_IGN);
    return !terminal.text || !mkdtemp(folder) || setenv("XDG_STATE_HOME", folder, 1) != 0 ||
           setenv("HOME", folder, 1) != 0;
}

static int teardown(void **state)
{
    (void)state;
    char path[128];
    static const char *const made[] = {"carat/history", "carat", "system"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, made[i]);
        (void)remove(path);
    }
    free(terminal.text);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_edit),
        cmocka_unit_test(narrow_windows),
        cmocka_unit_test(ctrl_c),
        cmocka_unit_test(lines_are_remembered),
        cmocka_unit_test(pasted_text_is_one_message),
        cmocka_unit_test(endless_lines),
        cmocka_unit_test(bytes_are_shown),
        cmocka_unit_test(the_terminal_goes_away),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
