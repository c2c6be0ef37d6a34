/* SPDX-License-Identifier: Apache-2.0 */
/* edit.c: a line typed at a terminal, with libedit: keys, history, completion. libedit asks for one character
 * after the other; what happens in between is here: Ctrl-C, a window of another size, a process that was
 * stopped and goes on, text that is pasted. Without CARAT_LIBEDIT nothing is edited. */
#define _GNU_SOURCE /* wcwidth, SIGWINCH */
#include "ask/chat/line.h"

#ifndef CARAT_LIBEDIT

struct edit *edit_open(edit_word words, bool verbose)
{
    (void)words;
    (void)verbose;
    return 0;
}

enum line_end edit_read(struct edit *e, const char *prompt, const char *fill, char **text, size_t *n,
                        int *code)
{
    (void)e;
    (void)prompt;
    (void)fill;
    (void)text;
    (void)n;
    (void)code;
    return LINE_OVER;
}

void edit_remember(struct edit *e, const char *text)
{
    (void)e;
    (void)text;
}

void edit_close(struct edit *e)
{
    (void)e;
}

#else

#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "term/clock.h"
#include "term/columns.h"
#include "term/interrupt.h"
#include "term/message.h"

/* A longer line takes libedit longer than anybody waits: it draws all of it again. */
enum { MOST_TYPED = 1 << 14, MOST_PASTED = 1 << 16 };
static const char paste_on[] = "\033[?2004h", paste_off[] = "\033[?2004l";
static const char paste_begins[] = "\033[200~", paste_ends[] = "\033[201~";

struct edit {
    EditLine *line;
    History *history;
    edit_word words;
    const char *prompt, *fill;
    sigset_t outside; /* signals that are blocked except while waiting for a key */
    char keys[4096];  /* [at] to [n] were read and not used */
    size_t at, n, typed, left_out;
    enum line_end end; /* why there is no key */
    double interrupted_at;
};

enum { SHOW_KEY = 0x1f }; /* a key that draws what has been inserted */

/* Signals leave their news here for the next look. */
static volatile sig_atomic_t resized, stopped, continued;
static struct termios cooked;

static void on_signal(int number)
{
    if (number == SIGWINCH)
        resized = 1;
    else if (number == SIGTSTP)
        stopped = 1;
    else
        continued = 1;
}

/* The process ends: the terminal is left as it was found. */
static void on_end(int number)
{
    tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
    (void)!write(STDOUT_FILENO, paste_off, sizeof paste_off - 1);
    signal(number, SIG_DFL);
    raise(number);
}

static const int watched[] = {SIGWINCH, SIGTSTP, SIGCONT, SIGTERM, SIGHUP, SIGQUIT};
enum { N_WATCHED = sizeof watched / sizeof watched[0], N_ENDING = 3 };

static void watch_signals(struct edit *e, struct sigaction old[N_WATCHED])
{
    struct sigaction action;
    sigset_t inside;

    sigemptyset(&inside);
    sigaddset(&inside, SIGINT);
    resized = stopped = continued = 0;
    for (int i = 0; i < N_WATCHED; i++) {
        memset(&action, 0, sizeof action);
        action.sa_handler = i < N_WATCHED - N_ENDING ? on_signal : on_end;
        sigemptyset(&action.sa_mask);
        sigaction(watched[i], &action, &old[i]);
        if (i < N_WATCHED - N_ENDING)
            sigaddset(&inside, watched[i]);
    }
    sigprocmask(SIG_BLOCK, &inside, &e->outside);
}

static void forget_signals(struct edit *e, const struct sigaction old[N_WATCHED])
{
    for (int i = 0; i < N_WATCHED; i++)
        sigaction(watched[i], &old[i], NULL);
    sigprocmask(SIG_SETMASK, &e->outside, NULL);
}

static void show_pasting(bool on)
{
    const char *text = on ? paste_on : paste_off;

    fputs(text, stdout);
    fflush(stdout);
}

/* Ctrl-Z: the shell finds the terminal in order, and so do we when we are back. */
static void stop_here(struct edit *e)
{
    struct sigaction own;
    sigset_t stop, blocked;

    el_set(e->line, EL_PREP_TERM, 0);
    show_pasting(false);
    sigaction(SIGTSTP, NULL, &own);
    signal(SIGTSTP, SIG_DFL);
    raise(SIGTSTP);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &blocked); /* here it stands still */
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    sigaction(SIGTSTP, &own, NULL);
    stopped = 0;
}

/* The number of terminal rows above the row of the cursor, at the terminal's present width: terminals break
 * lines anew when they change. */
static int rows_above(struct edit *e)
{
    const LineInfoW *info = el_wline(e->line);
    int columns = terminal_columns(STDOUT_FILENO), row = 0, column = (int)strlen(e->prompt);

    for (const wchar_t *p = info->buffer; columns > 0 && p < info->cursor; p++) {
        int width = wcwidth(*p) < 0 ? 2 : wcwidth(*p);
        column += width;
        if (*p == L'\n' || column > columns) {
            row++;
            column = *p == L'\n' ? 0 : width;
        }
    }
    return row + (columns > 0 && column == columns);
}

static void draw_again(struct edit *e)
{
    int up = rows_above(e);

    printf("\r");
    if (up > 0)
        printf("\033[%dA", up);
    printf("\033[J");
    el_set(e->line, EL_REFRESH);
}

/* False: the line is over, e->end says how. */
static bool obey_signals(struct edit *e)
{
    if (term_interrupted()) {
        const LineInfo *info = el_line(e->line);
        bool twice = term_seconds() - e->interrupted_at < 1, empty = info->lastchar == info->buffer;

        e->end = twice || empty ? LINE_LEFT : LINE_DROPPED;
        e->interrupted_at = term_seconds();
        interrupt_install();
        return false;
    }
    if (stopped)
        stop_here(e);
    if (continued) {
        el_set(e->line, EL_PREP_TERM, 1);
        show_pasting(true);
        draw_again(e);
        continued = 0;
    }
    if (resized) {
        resized = 0;
        el_resize(e->line);
        draw_again(e);
    }
    return true;
}

/* More keys behind those that are there, or after `ms` (-1: for ever) none. False: the line is over. */
static bool fill_keys(struct edit *e, int ms)
{
    struct timespec limit = {ms / 1000, ms % 1000 * 1000000L};
    fd_set in;

    memmove(e->keys, e->keys + e->at, e->n - e->at);
    e->n -= e->at;
    e->at = 0;
    for (;;) {
        sigset_t inside;
        sigprocmask(SIG_SETMASK, &e->outside, &inside); /* what came meanwhile */
        sigprocmask(SIG_SETMASK, &inside, NULL);
        if (!obey_signals(e))
            return false;
        FD_ZERO(&in);
        FD_SET(STDIN_FILENO, &in);
        int ready = pselect(STDIN_FILENO + 1, &in, NULL, NULL, ms < 0 ? NULL : &limit, &e->outside);
        if (ready == 0)
            return true;
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t got = ready < 0 ? -1 : read(STDIN_FILENO, e->keys + e->n, sizeof e->keys - e->n);
        if (got > 0) {
            e->n += (size_t)got;
            return true;
        }
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        e->end = LINE_OVER; /* the terminal is gone */
        return false;
    }
}

/* The bytes of the character that p begins, 1 for what begins none. */
static size_t length_of(unsigned char c)
{
    return c >= 0xf0 && c < 0xf8 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xc2 && c < 0xe0 ? 2 : 1;
}

/* Takes one character; false when the bytes are none. */
static bool take_character(struct edit *e, wchar_t *c)
{
    mbstate_t state;
    size_t n;

    memset(&state, 0, sizeof state);
    n = mbrtowc(c, e->keys + e->at, e->n - e->at, &state);
    if (n == 0 || n > e->n - e->at) { /* a NUL, or no UTF-8 */
        e->at++;
        return false;
    }
    e->at += n;
    return true;
}

/* Is the text next? Waits for the rest of what begins so. *over: the line is over. */
static bool next_is(struct edit *e, const char *text, bool *over)
{
    enum { REST = 50 }; /* milliseconds: a terminal writes such a word at once */
    size_t n = strlen(text);

    for (;;) {
        size_t have = e->n - e->at, common = have < n ? have : n, before = e->n;
        if (memcmp(e->keys + e->at, text, common) != 0)
            return false;
        if (have >= n)
            return true;
        before -= e->at;
        if (!fill_keys(e, REST)) {
            *over = true;
            return false;
        }
        if (e->n - e->at == before) /* only a part of it */
            return false;
    }
}

/* Reads pasted text, which a terminal puts between two marks: all of it is text, newlines included, and none
 * of it is a key. */
static bool take_paste(struct edit *e)
{
    wchar_t *text = malloc((MOST_PASTED + 1) * sizeof *text), c;
    size_t n = 0, left_out = 0;
    bool over = false;

    if (!text)
        return false;
    e->at += strlen(paste_begins);
    while (!over && !next_is(e, paste_ends, &over) && !over) {
        if (e->n - e->at < length_of((unsigned char)e->keys[e->at]) || e->n == e->at) {
            size_t before = e->n - e->at;
            over = !fill_keys(e, before ? 50 : -1);
            if (over || (before && e->n - e->at == before))
                e->at += !over;
            continue;
        }
        if (!take_character(e, &c))
            continue;
        c = c == L'\r' ? L'\n' : c == L'\t' ? L' ' : c;
        if (n < MOST_PASTED)
            text[n++] = c;
        else
            left_out++;
    }
    if (!over) {
        e->at += strlen(paste_ends);
        text[n] = 0;
        el_winsertstr(e->line, text);
        e->left_out += left_out;
    }
    free(text);
    return !over;
}

/* The text that is there to be changed. */
static void insert_fill(struct edit *e)
{
    size_t n = strlen(e->fill);
    wchar_t *text = malloc((n + 1) * sizeof *text);

    if (text && mbstowcs(text, e->fill, n + 1) != (size_t)-1) {
        el_winsertstr(e->line, text);
    }
    free(text);
    e->fill = NULL;
}

/* libedit's next key: 1, or -1 when the line is over. */
static int next_key(EditLine *line, wchar_t *c)
{
    struct edit *e;
    bool over = false;

    el_get(line, EL_CLIENTDATA, &e);
    if (e->fill) {
        insert_fill(e);
        *c = SHOW_KEY;
        return 1;
    }
    for (;;) {
        if (e->at == e->n && !fill_keys(e, -1))
            return -1;
        if (!obey_signals(e))
            return -1;
        if (e->keys[e->at] == '\033') {
            if (next_is(e, paste_begins, &over)) {
                if (!take_paste(e))
                    return -1;
                *c = SHOW_KEY;
                return 1;
            }
            if (over)
                return -1;
        }
        if (e->n - e->at < length_of((unsigned char)e->keys[e->at])) {
            size_t before = e->n - e->at;
            if (!fill_keys(e, 50))
                return -1;
            if (e->n - e->at > before)
                continue;
        }
        if (!take_character(e, c))
            continue;
        if (++e->typed < MOST_TYPED || *c < L' ' || *c == 0x7f)
            return 1;
        e->left_out++;
    }
}

static unsigned char show_inserted(EditLine *line, int key)
{
    (void)line;
    (void)key;
    return CC_REFRESH;
}

/* ---- completion ---- */

static unsigned char complete(EditLine *line, int key)
{
    const LineInfo *info = el_line(line);
    size_t n = (size_t)(info->cursor - info->buffer), common = 0;
    const char *first = NULL, *word;
    struct edit *e;
    int found = 0;

    (void)key;
    el_get(line, EL_CLIENTDATA, &e);
    if (n == 0 || info->buffer[0] != '/' || memchr(info->buffer, ' ', n) || info->cursor != info->lastchar)
        return CC_ERROR;
    for (int i = 0; (word = e->words(i)) != NULL; i++) {
        if (strncmp(word, info->buffer, n) != 0)
            continue;
        if (found++ == 0) {
            first = word;
            common = strlen(word);
        }
        while (strncmp(word, first, common) != 0)
            common--;
    }
    if (!first || (found > 1 && common == n))
        return CC_ERROR;
    char rest[32];
    snprintf(rest, sizeof rest, "%.*s%s", (int)(common - n), first + n, found == 1 ? " " : "");
    return el_insertstr(line, rest) == 0 ? CC_REFRESH : CC_ERROR;
}

/* ---- lines ---- */

static char *prompt_of(EditLine *line)
{
    struct edit *e;

    el_get(line, EL_CLIENTDATA, &e);
    return (char *)(uintptr_t)e->prompt;
}

static void take_kept(void *user, const char *line)
{
    struct edit *e = user;
    HistEvent event;

    history(e->history, &event, H_ENTER, line);
}

/* Sets a locale in which characters are as wide as on the terminal, which shows UTF-8. False: there is
 * none. */
static bool set_characters(void)
{
    return (setlocale(LC_CTYPE, "C.UTF-8") || setlocale(LC_CTYPE, "")) &&
           strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

struct edit *edit_open(edit_word words, bool verbose)
{
    const char *term = getenv("TERM");
    char why[256];
    HistEvent event;
    struct edit *e;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0 ||
        !set_characters() || !(e = calloc(1, sizeof *e)))
        return NULL;
    e->words = words;
    e->line = el_init("carat", stdin, stdout, stderr);
    e->history = history_init();
    if (!e->line || !e->history) {
        edit_close(e);
        return NULL;
    }
    tcgetattr(STDIN_FILENO, &cooked);
    history(e->history, &event, H_SETSIZE, HISTORY_LINES);
    history(e->history, &event, H_SETUNIQUE, 1);
    history_read(take_kept, e, why, sizeof why);
    if (*why && verbose)
        term_note("%s", why);
    el_set(e->line, EL_CLIENTDATA, e);
    el_set(e->line, EL_PROMPT, prompt_of);
    el_set(e->line, EL_HIST, history, e->history);
    el_set(e->line, EL_EDITOR, "emacs");
    el_set(e->line, EL_GETCFN, next_key);
    el_wset(e->line, EL_ADDFN, L"carat-complete", L"complete a command", complete);
    el_wset(e->line, EL_ADDFN, L"carat-show", L"draw the line", show_inserted);
    static const char *const binds[][2] = {
        {"^_", "carat-show"},          {"^I", "carat-complete"},           {"^R", "em-inc-search-prev"},
        {"^W", "ed-delete-prev-word"}, {"\033[3~", "ed-delete-next-char"}, {"\033[1~", "ed-move-to-beg"},
        {"\033[4~", "ed-move-to-end"}, {"\033[H", "ed-move-to-beg"},       {"\033[F", "ed-move-to-end"},
        {"\033[1;5D", "ed-prev-word"}, {"\033[1;5C", "em-next-word"},
    };
    for (size_t i = 0; i < sizeof binds / sizeof binds[0]; i++)
        el_set(e->line, EL_BIND, binds[i][0], binds[i][1], NULL);
    el_source(e->line, NULL); /* ~/.editrc */
    return e;
}

enum line_end edit_read(struct edit *e, const char *prompt, const char *fill, char **text, size_t *n,
                        int *code)
{
    struct sigaction old[N_WATCHED];
    const char *line;
    int length;

    e->prompt = prompt;
    e->fill = fill;
    e->typed = e->left_out = 0;
    e->end = LINE_OVER;
    watch_signals(e, old);
    el_set(e->line, EL_PREP_TERM, 1); /* before the user sees a prompt and types */
    show_pasting(true);
    line = el_gets(e->line, &length);
    show_pasting(false);
    forget_signals(e, old);
    if (!line || length <= 0) {
        printf("\n");
        fflush(stdout);
        return e->end;
    }
    *text = strdup(line);
    if (!*text) {
        *code = fail_memory();
        return LINE_FAILED;
    }
    *n = strlen(*text);
    if (*n > 0 && (*text)[*n - 1] == '\n')
        (*text)[--*n] = 0;
    if (e->left_out)
        term_note("%zu characters of the line are left out; /read FILE takes a longer text", e->left_out);
    return LINE_READ;
}

void edit_remember(struct edit *e, const char *text)
{
    HistEvent event;

    if (!e || !*text)
        return;
    history(e->history, &event, H_ENTER, text);
    history_keep(text);
}

void edit_close(struct edit *e)
{
    if (!e)
        return;
    if (e->line)
        el_end(e->line);
    if (e->history)
        history_end(e->history);
    free(e);
}

#endif
