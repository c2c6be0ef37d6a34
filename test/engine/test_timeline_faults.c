/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline_faults.c: what befalls the file of a timeline while it is written: a kill, a directory that
 * takes no files, a link or a pipe in its place. An older file stands, and nothing gathers beside it. What is
 * refused for what it holds is test_timeline_file.c's, a full disk test/cli/ask/test_prompt_cache.sh's. */
#include "os/scratch.h"
#include "timeline_util.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { TOKENS = 60, NOTE = 1 << 20, OTHER_NOTE = 3 << 19, KILLS = 20, MOST_KILLS = 500 };

static carat_model *gemma;
static struct rig rig;
static char note[OTHER_NOTE];

static struct rig open_saver(carat_model *model)
{
    carat_engine_options o =
        options_of(&modes[FAST], 16, 1); /* no threads, which a fork would leave behind */
    o.context = 128;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(TOKENS, r.n_vocab, 95);
    OK(carat_sync(r.session[0], ids.id, TOKENS, NULL, err));
    free(ids.id);
    return r;
}

static int open_gemma(void **state)
{
    make_scratch(state);
    gemma = open_own("models/gemma3-bf16");
    rig = open_saver(gemma);
    for (size_t i = 0; i < sizeof note; i++)
        note[i] = (char)('a' + i % 26);
    return 0;
}

static int close_gemma(void **state)
{
    rig_close(&rig);
    carat_model_close(gemma);
    return drop_scratch(state);
}

static const char *in(char out[PATH_SIZE], const char *folder, const char *name)
{
    char path[PATH_SIZE];
    path_join(path, scratch, folder);
    return path_join(out, path, name);
}

static int files_in(const char *folder)
{
    char path[PATH_SIZE], **names;
    int n = list_folder(path_join(path, scratch, folder), &names);
    free_names(names, n);
    return n;
}

static void make_folder(const char *name)
{
    char path[PATH_SIZE];
    assert_int_equal(mkdir(path_join(path, scratch, name), 0755), 0);
}

/* ---- kill -9 ---- */

static _Noreturn void save_for_ever(carat_session *s, const char *path)
{
    for (size_t i = 0;; i++)
        if (carat_save(s, path, note, i % 2 ? NOTE : OTHER_NOTE, NULL) != CARAT_OK)
            _exit(1);
}

/* Whenever the process is killed, a whole file stands there, and at most the part of another, which the next
 * one writes over. */
static void killed_while_saving(void **state)
{
    char path[PATH_SIZE], part[PATH_SIZE];
    int parts = 0;
    (void)state;
    make_folder("killed");
    in(path, "killed", "file");
    in(part, "killed", "file.carat-part");
    for (int i = 0; i < KILLS || (parts == 0 && i < MOST_KILLS); i++) {
        OK(carat_save(rig.session[0], path, note, NOTE, err));
        assert_int_equal(files_in("killed"), 1);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            save_for_ever(rig.session[0], path);
        nanosleep(&(struct timespec){0, 2000000 + 377000 * (i % 50)}, NULL);
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_in_range(files_in("killed"), 1, 2);
        parts += access(part, F_OK) == 0;
        char *kept = NULL;
        size_t n = 0;
        OK(carat_load(rig.session[0], path, &kept, &n, err));
        assert_true(n == NOTE || n == OTHER_NOTE);
        assert_memory_equal(kept, note, n);
        carat_free(kept);
    }
    assert_true(parts > 0); /* else nothing was interrupted */
}

/* ---- what is in its place ---- */

/* A link is read through; where a file is saved it is replaced, and what it led to is left alone. */
static void a_link(void **state)
{
    char path[PATH_SIZE], link[PATH_SIZE], circle[PATH_SIZE];
    struct stat st;
    (void)state;
    make_folder("links");
    in(path, "links", "file");
    in(link, "links", "link");
    in(circle, "links", "circle");
    OK(carat_save(rig.session[0], path, "kept", 4, err));
    assert_int_equal(symlink("file", link), 0);
    assert_int_equal(symlink("circle", circle), 0);
    OK(carat_load(rig.session[0], link, NULL, NULL, err));
    FAILS(CARAT_E_IO, carat_load(rig.session[0], circle, NULL, NULL, err));
    OK(carat_save(rig.session[0], link, "other", 5, err));
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    char *kept = NULL;
    size_t n;
    OK(carat_load(rig.session[0], path, &kept, &n, err));
    assert_string_equal(kept, "kept");
    carat_free(kept);
}

static void refused(const char *path, const char *says)
{
    carat_error e = {CARAT_OK, ""};
    assert_int_equal(carat_save(rig.session[0], path, NULL, 0, &e), CARAT_E_IO);
    if (!strstr(e.message, says) || !strstr(e.message, path))
        fail_msg("%s: %s, not %s", path, e.message, says);
    check_sentence(e.message);
    assert_int_equal(carat_tokens_held(rig.session[0], NULL), TOKENS);
}

static void no_file(void **state)
{
    char path[PATH_SIZE];
    (void)state;
    make_folder("others");
    assert_int_equal(mkfifo(in(path, "others", "pipe"), 0600), 0);
    refused(path, "is not a regular file");
    assert_int_equal(mkdir(in(path, "others", "folder"), 0700), 0);
    refused(path, "is not a regular file");
    refused("/dev/full", "is not a regular file");
    /* what stands where the part would be */
    in(path, "others", "file");
    strcat(path, ".carat-part");
    assert_int_equal(symlink("elsewhere", path), 0);
    in(path, "others", "file");
    refused(path, "cannot be made");
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(files_in("others"), 3);
}

static void a_directory_that_takes_none(void **state)
{
    enum { NOBODY = 65534 };
    char path[PATH_SIZE], folder[PATH_SIZE];
    const bool root = geteuid() == 0;
    (void)state;
    make_folder("sealed");
    in(path, "sealed", "file");
    OK(carat_save(rig.session[0], path, "older", 5, err));
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(chmod(path_join(folder, scratch, "sealed"), 0555), 0);
    if (root && seteuid(NOBODY) != 0)
        skip(); /* root may write everywhere */
    refused(path, "cannot be made: Permission denied");
    carat_status loaded = carat_load(rig.session[0], path, NULL, NULL, NULL);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(loaded, CARAT_OK);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(files_in("sealed"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_while_saving),
        cmocka_unit_test(a_link),
        cmocka_unit_test(no_file),
        cmocka_unit_test(a_directory_that_takes_none),
    };
    return cmocka_run_group_tests(tests, open_gemma, close_gemma);
}
