/* SPDX-License-Identifier: Apache-2.0 */
/* bad.h: what the test_bad_*.c programs share: a table of bad inputs, each made in a directory of its own,
 * given to the real command, and judged by what every refusal promises: the exit code, one line that says
 * what and where, within two seconds, little memory, nothing on stdout, nothing leaked. How the bytes become
 * bad is left to each program.
 *
 * A program fills an array of struct bad_case and calls bad_run; see test_bad_gguf.c. It must include this
 * header before any other. */
#ifndef BAD_H
#define BAD_H

#define _DEFAULT_SOURCE /* wait4 */
#include "file/file_build.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define BAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define BAD_SANITIZED 1
#endif
#endif
#ifndef BAD_SANITIZED
#define BAD_SANITIZED 0
#endif

/* ---- a case ---- */

/* A row of a table ends where it has no more to say. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Where a maker puts its files. */
struct bad_place {
    char dir[512]; /* new and empty; removed with all that is in it */
    char
        path[1024]; /* what "@" in the arguments stands for; dir/model.gguf unless the maker says otherwise */
    bool skip;      /* set by a maker that cannot make its file here (no sparse files, ...) */
};

struct bad_case {
    const char *id;   /* the row in the list of bad inputs: "G4" */
    const char *what; /* the variant, in words */
    void (*make)(struct bad_place *p, const void *with);
    const void *with; /* for make */
    int exit;
    const char *says[6]; /* all of these are in the message and its hint; in the notes when exit is 0 */
    const char *args[8]; /* of the command; "@" is the path. None: show @ */
};

/* ---- for makers ---- */

static inline void bad_write(struct bad_place *p, const char *name, const void *data, size_t n)
{
    write_file(p->dir, name, data, n);
}
/* The model is this file of the directory, "" for the directory itself. */
static inline void bad_model(struct bad_place *p, const char *name)
{
    snprintf(p->path, sizeof p->path, "%s%s%s", p->dir, *name ? "/" : "", name);
}
/* Writes it and names it as the model. */
static inline void bad_file(struct bad_place *p, const char *name, const void *data, size_t n)
{
    bad_write(p, name, data, n);
    bad_model(p, name);
}
/* A whole file, for a maker to damage; free with buf_free. */
static inline struct buf bad_read(const char *path)
{
    struct buf b = {0};
    char part[65536];
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be read", path);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        put(&b, part, n);
    fclose(f);
    return b;
}
/* The files of models/tiny, a model that works; the model is the directory. A maker then replaces some of
 * them. */
static inline void bad_tiny(struct bad_place *p)
{
    static const char *const names[] = {
        "config.json",     "generation_config.json", "model.safetensors",    "tokenizer.json",
        "tokenizer.model", "chat_template.jinja",    "tokenizer_config.json"};
    for (size_t i = 0; i < CT_COUNT(names); i++) {
        struct buf b = bad_read(path_in(CT_TEST_DATA "/../../models/tiny", names[i]));
        bad_write(p, names[i], b.p, b.n);
        buf_free(&b);
    }
    bad_model(p, "");
}
static inline void bad_remove(struct bad_place *p, const char *name)
{
    assert_int_equal(unlink(path_in(p->dir, name)), 0);
}

/* ---- running the command ---- */

/* What one run of the command did. */
struct bad_run {
    int exit; /* 128 + signal when it was killed; -1 when it ran past every limit */
    double seconds;
    long peak_kib;
    char out[4096], err[16384]; /* terminated; the first bytes of each */
    size_t n_out, n_err;        /* what was printed in all */
};

/* In seconds: what a refusal may take, and when it is given up. */
enum { BAD_SLOWER = BAD_SANITIZED ? 8 : 1, BAD_MOST = 2 * BAD_SLOWER, BAD_PATIENCE = 30 * BAD_SLOWER };

static inline size_t bad_head(const char *path, char *text, size_t capacity)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    ssize_t n = read(fd, text, capacity - 1);
    assert_true(n >= 0);
    text[n] = 0;
    close(fd);
    return (size_t)st.st_size;
}

static inline double bad_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* In the child: no way back. */
static inline void bad_exec(char **argv, const char *out, const char *err)
{
    int o = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), e = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int i = open("/dev/null", O_RDONLY);
    if (i < 0 || o < 0 || e < 0 || dup2(i, 0) < 0 || dup2(o, 1) < 0 || dup2(e, 2) < 0)
        _exit(126);
    /* a report must show in the exit code, whatever the caller's environment says */
    setenv("ASAN_OPTIONS", "exitcode=99:detect_leaks=1", 1);
    setenv("UBSAN_OPTIONS", "exitcode=99:halt_on_error=1", 1);
    setenv("TSAN_OPTIONS", "exitcode=99", 1);
    execv(argv[0], argv);
    _exit(127);
}

/* args: at most 8, shorter when NULL ends it; "@" becomes path. The outputs are kept in scratch, an existing
 * directory. */
static inline struct bad_run bad_command(const char *scratch, const char *path, const char *const args[8])
{
    struct bad_run r = {.exit = -1};
    char out[1100], err[1100], *argv[10] = {(char *)(uintptr_t)CARAT_COMMAND};
    for (int i = 0; i < 8 && args[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)(strcmp(args[i], "@") == 0 ? path : args[i]);
    snprintf(out, sizeof out, "%s/stdout", scratch);
    snprintf(err, sizeof err, "%s/stderr", scratch);
    double start = bad_clock();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        bad_exec(argv, out, err);
    struct rusage used;
    int status = 0;
    while (wait4(child, &status, WNOHANG, &used) == 0) {
        if (bad_clock() - start > BAD_PATIENCE) {
            kill(child, SIGKILL);
            wait4(child, &status, 0, &used);
            status = -1;
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    r.exit = status == -1 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    r.seconds = bad_clock() - start;
    r.peak_kib = used.ru_maxrss; /* holds what this process had at the fork, so makers free what they use */
    r.n_out = bad_head(out, r.out, sizeof r.out);
    r.n_err = bad_head(err, r.err, sizeof r.err);
    return r;
}

/* Peak memory of a command that looks at no file. */
static inline long bad_baseline(void)
{
    static long kib;
    if (!kib) {
        char *dir = temp_dir();
        struct bad_run r = bad_command(dir, "", (const char *const[8]){"version"});
        assert_int_equal(r.exit, 0);
        kib = r.peak_kib;
        remove_dir(dir, (const char *const[]){"stdout", "stderr", NULL});
    }
    return kib;
}

/* ---- judging it ---- */

/* Sorts the lines of stderr: notes into notes, the message and its hint (where nothing failed, what else a
 * verb has to say) into message; returns how many of the latter. */
static inline int bad_lines(const struct bad_run *r, char message[16384], char notes[16384])
{
    int n = 0;
    message[0] = notes[0] = 0;
    for (const char *line = r->err; *line;) {
        size_t length = strcspn(line, "\n");
        bool is_note = strncmp(line, "note", 4) == 0 || strncmp(line, "carat: note", 11) == 0;
        strncat(is_note ? notes : message, line, length);
        strcat(is_note ? notes : message, "\n");
        n += !is_note;
        line += length + (line[length] == '\n');
    }
    return n;
}

/* NULL, or what is wrong with the run. */
static inline const char *bad_judge(const struct bad_case *c, const struct bad_run *r)
{
    static char why[2048];
    char message[16384], notes[16384];
    int lines = bad_lines(r, message, notes);
    if (r->exit != c->exit) {
        snprintf(why, sizeof why, "exit code %d%s", r->exit,
                 r->exit == 99    ? " (a sanitizer's report)"
                 : r->exit == -1  ? " (it did not end)"
                 : r->exit == 127 ? " (the command cannot be started)"
                                  : "");
        return why;
    }
    if (c->exit != 0 && lines != 1 && lines != 2)
        return "not one line on stderr and at most one hint";
    if (r->n_err >= sizeof r->err)
        return "too much on stderr";
    for (size_t i = 0; i < r->n_err; i++)
        if (((unsigned char)r->err[i] < 0x20 && r->err[i] != '\n') || r->err[i] == 0x7f)
            return "a control character on stderr";
    if (c->exit != 0 && r->n_out)
        return "something on stdout";
    for (const char *p = r->out; !c->args[0] && *p; p++) /* of show; a model may say what it likes */
        if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f)
            return "a control character on stdout";
    for (size_t i = 0; i < CT_COUNT(c->says) && c->says[i]; i++)
        if (!strstr(c->exit ? message : notes, c->says[i])) {
            snprintf(why, sizeof why, "'%s' is not said", c->says[i]);
            return why;
        }
    if (r->seconds > BAD_MOST) {
        snprintf(why, sizeof why, "it took %.1f seconds", r->seconds);
        return why;
    }
    long more = r->peak_kib - bad_baseline();
    if (!BAD_SANITIZED && more > 64 << 10) { /* the shadow of a sanitizer would drown the number */
        snprintf(why, sizeof why, "it took %ld MiB more than the command without a model", more >> 10);
        return why;
    }
    return NULL;
}

static inline int bad_unlink(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}

/* Other programs on the machine must not make a test fail: a run that took long is tried again, and the
 * shortest counts. What sleeps is as slow every time. */
static inline void bad_time(struct bad_run *r, const char *scratch, const char *path,
                            const char *const args[8])
{
    for (int i = 0; i < 4 && r->exit >= 0 && r->seconds > BAD_MOST; i++)
        r->seconds = CT_MIN(r->seconds, bad_command(scratch, path, args).seconds);
}

/* Makes the case, runs the command, says what is wrong. False when something is. */
static inline bool bad_try(const struct bad_case *c)
{
    static const char *const show[8] = {"show", "@"};
    char *dir = temp_dir(), *scratch = temp_dir();
    struct bad_place p = {0};
    bool good = true;
    snprintf(p.dir, sizeof p.dir, "%s", dir);
    bad_model(&p, "model.gguf");
    c->make(&p, c->with);
    if (p.skip) {
        print_message("%s, %s: skipped\n", c->id, c->what);
    } else {
        const char *const *args = c->args[0] ? c->args : show;
        struct bad_run r = bad_command(scratch, p.path, args);
        bad_time(&r, scratch, p.path, args);
        const char *why = bad_judge(c, &r);
        good = !why;
        if (why)
            print_error("%s, %s: %s; expected exit code %d\n  stderr: %s", c->id, c->what, why, c->exit,
                        r.n_err ? r.err : "(nothing)\n");
        else if (getenv("BAD_VERBOSE")) /* to read all messages one after another */
            print_message("%s, %s: %s", c->id, c->what, r.n_err ? r.err : "(nothing)\n");
    }
    nftw(dir, bad_unlink, 16, FTW_DEPTH | FTW_PHYS);
    nftw(scratch, bad_unlink, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
    free(scratch);
    return good;
}

/* Every case is tried before the test fails, so that one run shows all there is to repair. */
static inline void bad_run(const struct bad_case *cases, size_t n)
{
    size_t failed = 0;
    for (size_t i = 0; i < n; i++)
        failed += !bad_try(&cases[i]);
    if (failed)
        fail_msg("%zu of %zu bad inputs", failed, n);
}
#define BAD_RUN(cases) bad_run(cases, CT_COUNT(cases))

#endif
