/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_rules.c: the cache of packed models as carat.h promises it to callers: what options do, what
 * leaves, the walk, packing to a file of one's own, cancelling, models whose cache goes away while they are
 * in use, threads. Which directories are used is test_store_directory.c's. */
#include "cache_util.h"

#include <pthread.h>
#include <sys/file.h>

/* ---- options ---- */

static void what_is_read_only_is_not_written(void **state)
{
    (void)state;
    const char *path = small(0);
    carat_model_options o = cached();
    char packed[PATH_SIZE], stamp[PATH_SIZE];

    o.cache_read_only = 1;
    for (int i = 0; i < 2; i++) { /* neither the directory nor a file in it */
        struct opened m = open_by(path, o);
        assert_int_equal(m.setup.packed, 0);
        assert_string_equal(m.lines.text, "");
        close_opened(&m);
        assert_int_equal(exists(cache_dir()), i);
        mkdir(cache_dir(), 0700);
        assert_int_equal(count_files("", NULL), 0);
    }
    opens(path, MADE, in);
    count_files(".carat", packed);
    count_files(".used", stamp);
    for (int i = 0; i < 3; i++) { /* used, not counted as use; without a stamp; damaged */
        if (i == 1)
            unlink(stamp);
        if (i == 2)
            damage(packed);
        else if (!i)
            set_back(stamp, &(struct stat){.st_mtim = {.tv_sec = 7}});
        struct opened m = open_by(path, o);
        assert_int_equal(m.setup.packed, i < 2);
        assert_string_equal(m.lines.text, "");
        close_opened(&m);
        assert_int_equal(exists(stamp), i == 0);
        if (!i)
            assert_int_equal(status_of(stamp).st_mtim.tv_sec, 7);
        assert_int_equal(exists(packed), 1);
    }
    opens(path, MADE, "; the copy there was damaged: ");
}

static void another_tokenizer_is_not_packed(void **state)
{
    (void)state;
    const char *path = model_folder();
    carat_model_options o = cached();
    char packed[PATH_SIZE], file[PATH_SIZE];

    o.tokenizer = CT_TEST_DATA "/text/tokenizer.model";
    struct opened plain, m = open_by(path, o);
    assert_int_equal(m.setup.packed, 0);
    assert_string_equal(m.lines.text, "");
    assert_int_equal(count_files("", NULL), 0);
    char *facts = facts_of(m.model, ONE_ENGINE);
    close_opened(&m);
    opens(path, MADE, in);
    m = open_by(path, o);
    assert_int_equal(m.setup.packed && !m.setup.made, 1);
    check_facts(m.model, ONE_ENGINE, facts);
    close_opened(&m);

    /* a bad one is nobody else's fault */
    o.tokenizer = path_join(file, scratch, "bad.json");
    write_file(file, "{\"a\"", 4);
    carat_model_options without = o;
    without.cache = NULL;
    plain = open_by(path, without);
    m = open_by(path, o);
    assert_int_not_equal(m.status, CARAT_OK);
    assert_int_equal(m.status, plain.status);
    assert_string_equal(m.err.message, plain.err.message);
    opens(path, MAPPED, NULL);

    o.tokenizer = CT_TEST_DATA "/text/tokenizer.model"; /* what is not made anew has its line, too */
    count_files(".carat", packed);
    damage(packed);
    m = open_by(path, o);
    assert_int_equal(m.setup.packed, 0);
    cut_line(&m.lines, "the packed copy of the model is not used, because it is damaged: ");
    assert_string_equal(m.lines.text, "");
    check_facts(m.model, ONE_ENGINE, facts);
    close_opened(&m);
    free(facts);
}

static void a_tokenizer_alone_is_not_packed(void **state)
{
    (void)state;
    carat_model_options o = cached();

    o.tokenizer_only = 1;
    struct opened m = open_by(CT_TEST_DATA "/text/tokenizer.json", o);
    assert_int_equal(m.status, CARAT_OK);
    close_opened(&m);
    m = open_by(model_folder(), o);
    assert_int_equal(m.status, CARAT_OK);
    close_opened(&m);
    assert_int_equal(count_files("", NULL), 0);
}

/* What is no model leaves nothing behind, and fails as it does without a cache. */
static void failures_are_the_same(void **state)
{
    (void)state;
    char cut[PATH_SIZE];
    size_t n;
    void *bytes = read_whole(small(0), &n);
    write_file(strcpy(cut, path_join((char[PATH_SIZE]){0}, scratch, "cut.gguf")), bytes, n / 2);
    free(bytes);
    const char *const paths[] = {cut,     "/nowhere", "/dev/null", CT_TEST_DATA "/text/goldens.jsonl",
                                 scratch, ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        carat_model_options o;
        carat_model_options_default(&o);
        struct opened a = open_by(paths[i], o), b = open_by(paths[i], cached());
        assert_int_not_equal(a.status, CARAT_OK);
        assert_int_equal(a.status, b.status);
        assert_string_equal(a.err.message, b.err.message);
        assert_string_equal(b.lines.text, "");
        assert_int_equal(count_files("", NULL), 0);
    }
}

/* ---- what leaves ---- */

static void use(int i, uint64_t cap, enum how how)
{
    carat_model_options o = cached();
    o.cache_bytes = cap;
    struct opened m = open_by(small(i), o);
    assert_int_equal(m.status, CARAT_OK);
    assert_int_equal(m.setup.packed, how != PLAIN);
    assert_int_equal(m.setup.made, how == MADE);
    assert_int_equal(!*m.lines.text, how == MAPPED);
    close_opened(&m);
    wait_a_tick(); /* so that uses have an order */
}

static void those_used_longest_ago_leave(void **state)
{
    (void)state;
    char packed[PATH_SIZE];

    use(0, 0, MADE);
    count_files(".carat", packed);
    uint64_t one = (uint64_t)status_of(packed).st_size, cap = 3 * one + one / 2;
    use(1, cap, MADE);
    use(2, cap, MADE);
    use(0, cap, MAPPED); /* now 1 was used longest ago, though 0 is the oldest */
    use(3, cap, MADE);
    assert_int_equal(count_files(".carat", NULL), 3);
    assert_int_equal(count_files(".used", NULL), 3);
    use(0, cap, MAPPED);
    use(2, cap, MAPPED);
    use(1, cap, MADE); /* without 3 */
    use(0, one - 1, MAPPED);
    use(3, one - 1, PLAIN); /* too large, and nobody leaves for it */
    assert_int_equal(count_files(".carat", NULL), 3);
    use(3, one, MADE); /* all others */
    assert_int_equal(count_files(".carat", NULL), 1);
    use(3, one, MAPPED);

    /* what somebody is making counts and stays; what nobody is, leaves */
    char part[PATH_SIZE];
    write_file(strcpy(part, path_join((char[PATH_SIZE]){0}, cache_dir(), "0000000000000001.part")), "x", 1);
    int fd = open(part, O_RDWR);
    assert_int_equal(ftruncate(fd, (off_t)one), 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    use(0, one + one / 2, PLAIN);
    assert_int_equal(count_files(".carat", NULL), 1);
    use(0, 2 * one, MADE);
    assert_int_equal(count_files(".carat", NULL), 1);
    close(fd);
    use(1, 2 * one, MADE);
    assert_int_equal(exists(part), 0);
    assert_int_equal(count_files(".carat", NULL), 2);
}

/* Somebody else's file comes while this one is packed. */
static int crowd(void *user, size_t done, size_t total)
{
    char path[PATH_SIZE];
    (void)user;
    (void)done;
    path_join(path, cache_dir(), "00000000000000ff.carat");
    if (total > 8 && !exists(path)) { /* packing counts KiB */
        write_file(path, "x", 1);
        assert_int_equal(truncate(path, 1 << 20), 0);
    }
    return 0;
}

static void the_cap_is_looked_at_again(void **state)
{
    (void)state;
    carat_model_options o = cached();

    o.progress = crowd;
    o.cache_bytes = 1 << 20;
    struct opened m = open_by(small(0), o);
    assert_int_equal(m.status, CARAT_OK);
    assert_int_equal(m.setup.packed, 0);
    cut_line(&m.lines, "not kept packed: other models were packed meanwhile");
    assert_string_equal(m.lines.text, "");
    close_opened(&m);
    assert_int_equal(count_files("", NULL), 1);
    o.progress = NULL;
    m = open_by(small(0), o); /* it was used longest ago, for all that is known */
    assert_int_equal(m.setup.made, 1);
    close_opened(&m);
    assert_int_equal(count_files(".carat", NULL), 1);
}

/* ---- the walk ---- */

struct seen {
    int n, remove; /* -1: none, else the one of that number */
    carat_cache_entry entry[8];
    char name[8][PATH_SIZE], origin[8][PATH_SIZE];
};

static int see(void *user, const carat_cache_entry *e)
{
    struct seen *s = user;
    assert_int_equal(e->size, sizeof *e);
    assert_true(s->n < 8);
    s->entry[s->n] = *e;
    snprintf(s->name[s->n], PATH_SIZE, "%s", e->file);
    snprintf(s->origin[s->n], PATH_SIZE, "%s", e->origin);
    return s->n++ == s->remove;
}

static struct seen walk(int remove)
{
    struct seen s = {.remove = remove};
    OK(carat_cache_walk(cache_dir(), see, &s, err));
    return s;
}

static void the_walk_shows_everything(void **state)
{
    (void)state;
    char file[PATH_SIZE];
    struct seen s = walk(-1);

    assert_int_equal(s.n, 0);
    FAILS(CARAT_E_ARGUMENT, carat_cache_walk(NULL, see, &s, err));
    FAILS(CARAT_E_ARGUMENT, carat_cache_walk(cache_dir(), NULL, NULL, err));
    for (int i = 0; i < 3; i++)
        use(i, 0, MADE);
    use(0, 0, MAPPED);
    s = walk(-1);
    assert_int_equal(s.n, 3);
    for (int i = 0; i < 3; i++) {
        static const int order[] = {0, 2, 1};
        assert_string_equal(s.origin[i], small(order[i]));
        assert_int_equal(s.entry[i].state, CARAT_CACHE_CURRENT);
        assert_int_equal(s.entry[i].bytes, status_of(s.name[i]).st_size);
        assert_int_equal(s.entry[i].sum, s.entry[i].bytes + (i ? s.entry[i - 1].sum : 0));
        assert_true(llabs((long long)s.entry[i].used - (long long)time(NULL)) < 100);
    }
    assert_int_equal(utimensat(AT_FDCWD, small(0), NULL, 0), 0);
    assert_int_equal(unlink(small(1)), 0);
    s = walk(-1);
    assert_int_equal(s.entry[0].state, CARAT_CACHE_STALE);
    assert_int_equal(s.entry[1].state, CARAT_CACHE_CURRENT);
    assert_int_equal(s.entry[2].state, CARAT_CACHE_GONE);
    assert_true(s.entry[0].sum == 0 && s.entry[1].sum == s.entry[1].bytes &&
                s.entry[2].sum == s.entry[1].sum);
    assert_int_equal(truncate(s.name[1], 20), 0);

    /* left behind by others, or not of this house */
    static const char *const names[] = {
        "00000000000000aa.part",    "00000000000000bb.used",    "notes.txt",
        "00000000000000cc.carat.x", "0000000000000000dd.carat", "00000000000000EE.carat"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        write_file(strcpy(file, path_join((char[PATH_SIZE]){0}, cache_dir(), names[i])), "x", 1);
    path_join(file, cache_dir(), names[0]);
    int fd = open(file, O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(walk(-1).n, 4);
    close(fd);
    s = walk(-1);
    assert_int_equal(s.n, 5);
    int useless = 0;
    for (int i = 0; i < s.n; i++)
        useless += s.entry[i].state == CARAT_CACHE_USELESS && !*s.origin[i];
    assert_int_equal(useless, 3);
    for (int left = 5; left > 0; left--)
        assert_int_equal(walk(left - 1).n, left);
    assert_int_equal(walk(-1).n, 0);
    assert_int_equal(count_files("", NULL), 4);
}

/* ---- a file of one's own ---- */

static int cancel_at; /* the report that is answered with 1; -1: none */
static int reports;
static int cancel(void *user, size_t done, size_t total)
{
    (void)user;
    assert_true(done <= total);
    return reports++ == cancel_at;
}

static void packing_to_a_file_is_whole_or_not_at_all(void **state)
{
    (void)state;
    const char *path = small(0);
    char out[PATH_SIZE], other[PATH_SIZE];
    struct opened m = open_with(path, NULL);
    carat_model *tokenizer = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    size_t n;

    mkdir(cache_dir(), 0700);
    path_join(out, cache_dir(), "out");
    FAILS(CARAT_E_ARGUMENT, carat_model_pack(NULL, out, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_pack(m.model, NULL, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_pack(m.model, path, NULL, NULL, err));
    FAILS(CARAT_E_IO, carat_model_pack(m.model, path_join(other, cache_dir(), "a/b"), NULL, NULL, err));
    FAILS(CARAT_E_IO, carat_model_pack(m.model, cache_dir(), NULL, NULL, err));
    FAILS(CARAT_E_IO, carat_model_pack(m.model, "", NULL, NULL, err));
    o.tokenizer_only = 1;
    OK(carat_model_open(&tokenizer, CT_TEST_DATA "/text/tokenizer.model", &o, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_pack(tokenizer, out, NULL, NULL, err));
    carat_model_close(tokenizer);

    write_file(strcpy(other, out), "mine", 4);
    path_join(other, cache_dir(), "out.part");
    write_file(other, "mine, too", 9);
    cancel_at = 0;
    for (carat_status status = CARAT_E_CANCELLED; status; cancel_at++) {
        reports = 0;
        status = carat_model_pack(m.model, out, cancel, NULL, NULL);
        assert_int_equal(status, reports > cancel_at ? CARAT_E_CANCELLED : CARAT_OK);
        void *bytes = read_whole(out, &n);
        if (status)
            assert_memory_equal(bytes, "mine", 4);
        free(bytes);
        assert_int_equal(count_files("", NULL), 2);
    }
    assert_true(cancel_at > 10);
    free(read_whole(other, &n));
    assert_int_equal(n, 9);
    mode_t mask = umask(027);
    OK(carat_model_pack(m.model, out, NULL, NULL, err));
    OK(carat_model_pack(m.model, path_join(other, cache_dir(), "readable"), NULL, NULL, err));
    umask(mask);
    assert_int_equal(status_of(other).st_mode & 07777, 0640);

    /* a packed file packs again, but neither over itself nor over what it was made from */
    struct opened again = open_with(out, NULL);
    void *a = read_whole(out, &n);
    FAILS(CARAT_E_ARGUMENT, carat_model_pack(again.model, out, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_pack(again.model, path, NULL, NULL, err));
    OK(carat_model_pack(again.model, other, NULL, NULL, err));
    size_t k;
    void *b = read_whole(other, &k);
    assert_int_equal(n, k);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
    close_opened(&again);
    close_opened(&m);
}

static void the_files_of_a_model_are_known(void **state)
{
    (void)state;
    const char *path = model_folder(), *tokenizer = CT_TEST_DATA "/text/tokenizer.model";
    char copy[PATH_SIZE], link_path[PATH_SIZE], file[PATH_SIZE], packed[PATH_SIZE];
    carat_model_options o = cached();

    mkdir(cache_dir(), 0700);
    path_join(copy, scratch, "copied");
    path_join(link_path, scratch, "linked");
    for (int i = 0; i < 4; i++) { /* without a cache; filling it; out of it; with another tokenizer */
        struct opened m = i ? open_by(path, o) : open_with(path, NULL);
        char **names;
        int n = list_folder(path, &names), n_read = 0;
        off_t bytes = 0;
        for (int k = 0; k < n; k++) {
            bool reads = carat_model_reads(m.model, path_join(file, path, names[k]));
            n_read += reads;
            bytes += reads ? status_of(file).st_size : 0;
            copy_file(copy, file);
            assert_int_equal(carat_model_reads(m.model, copy), 0);
            assert_int_equal(link(file, link_path), 0);
            assert_int_equal(carat_model_reads(m.model, link_path), reads);
            unlink(link_path);
            assert_int_equal(symlink(file, link_path), 0);
            assert_int_equal(carat_model_reads(m.model, link_path), reads);
            unlink(link_path);
        }
        free_names(names, n);
        unlink(copy);
        assert_true(n_read >= 4);
        assert_int_equal(model_info(m.model).file_bytes, bytes);
        assert_true(carat_model_reads(m.model, path_join(file, path, "model.safetensors")));
        assert_true(carat_model_reads(m.model, path_join(file, path, "config.json")));
        assert_int_equal(carat_model_reads(m.model, tokenizer), i == 3);
        assert_int_equal(carat_model_reads(m.model, path_join(file, path, "none")), 0);
        assert_int_equal(carat_model_reads(m.model, NULL), 0);
        assert_int_equal(carat_model_reads(NULL, path), 0);
        /* a copy comes to its name when it is on the disk */
        for (int k = 0; i > 0 && k < 6000 && !count_files(".carat", NULL); k++)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        assert_int_equal(count_files(".carat", packed), i > 0);
        if (i == 1 || i == 2)
            assert_true(carat_model_reads(m.model, packed));
        if (i == 2)
            o.tokenizer = tokenizer;
        close_opened(&m);
    }
}

/* ---- cancelling ---- */

static void cancelling_leaves_nothing_behind(void **state)
{
    (void)state;
    const char *path = small(0);
    carat_model_options o = cached();

    o.progress = cancel;
    cancel_at = 0;
    for (carat_status status = CARAT_E_CANCELLED; status; cancel_at++) {
        reports = 0;
        struct opened m = open_by(path, o);
        status = m.status;
        assert_int_equal(status, reports > cancel_at ? CARAT_E_CANCELLED : CARAT_OK);
        close_opened(&m);
        if (status) {
            check_sentence(m.err.message);
            assert_string_equal(m.lines.text, "");
            assert_int_equal(count_files("", NULL), 0);
        }
    }
    assert_true(cancel_at > 15); /* while it was packed, too */
    opens(path, MAPPED, NULL);
}

/* ---- a cache that goes away ---- */

static int clear_all(void *user, const carat_cache_entry *e)
{
    (void)e;
    ++*(int *)user;
    return 1;
}

static void what_is_in_use_stays_until_it_is_closed(void **state)
{
    (void)state;
    const char *path = small(0);
    int n = 0;

    opens(path, MADE, in);
    struct opened plain = open_with(path, NULL), m = open_with(path, cache_dir());
    char *facts = facts_of(plain.model, ALL_ENGINES);
    OK(carat_cache_walk(cache_dir(), clear_all, &n, err));
    assert_int_equal(n, 1);
    assert_int_equal(count_files("", NULL), 0);
    check_facts(m.model, ALL_ENGINES, facts);
    close_opened(&m);
    m = open_with(path, cache_dir());
    assert_int_equal(m.setup.made, 1);
    fresh_cache(NULL); /* perhaps before the file has its name */
    check_facts(m.model, ALL_ENGINES, facts);
    close_opened(&m);
    fresh_cache(NULL);
    opens(path, MADE, in);
    free(facts);
    close_opened(&plain);
}

static int remove_what; /* 1: what the walk shows, 2: the directory, 3: the model */
static int removing(void *user, size_t done, size_t total)
{
    int n = 0;
    (void)user;
    (void)done;
    if (total <= 8 || reports++ != 3) /* packing counts KiB */
        return 0;
    if (remove_what == 1)
        OK(carat_cache_walk(cache_dir(), clear_all, &n, err));
    else if (remove_what == 2)
        nftw(cache_dir(), remove_one, 8, FTW_DEPTH | FTW_PHYS);
    else
        unlink(small(0));
    return 0;
}

static void packing_goes_on_while_things_are_removed(void **state)
{
    (void)state;
    const char *path = small(0);
    carat_model_options o = cached();

    o.progress = removing;
    for (remove_what = 1; remove_what <= 3; remove_what++) {
        struct opened plain = open_with(path, NULL);
        char *facts = facts_of(plain.model, ONE_ENGINE);
        reports = 0;
        struct opened m = open_by(path, o);
        assert_int_equal(m.status, CARAT_OK);
        assert_true(reports > 3);
        check_facts(m.model, ONE_ENGINE, facts);
        assert_int_equal(m.setup.packed, remove_what != 2);
        assert_non_null(strstr(m.lines.text, remove_what == 2 ? "not kept packed: " : in));
        close_opened(&m);
        close_opened(&plain);
        free(facts);
        path = small(0);
        opens(path, remove_what == 1 ? MAPPED : MADE, remove_what == 1 ? NULL : in);
        fresh_cache(NULL);
    }
}

/* ---- threads ---- */

struct opener {
    pthread_t thread;
    const carat_model_options *options;
    carat_model *model;
    carat_load_times setup;
    carat_status status;
};

/* Assertions belong to the main thread. */
static void *open_too(void *arg)
{
    struct opener *me = arg;
    me->setup.size = sizeof me->setup;
    me->status = carat_model_open(&me->model, CT_TEST_DATA "/sbs/g3-sfp.sbs", me->options, NULL);
    if (!me->status)
        me->status = carat_model_get_load_times(me->model, &me->setup, NULL);
    return NULL;
}

static void threads_that_open_together_pack_once(void **state)
{
    (void)state;
    carat_model_options o = cached();
    struct opener opener[4] = {{.model = NULL}};
    struct opened plain = open_with(CT_TEST_DATA "/sbs/g3-sfp.sbs", NULL);
    char *facts = facts_of(plain.model, ONE_ENGINE);
    int made = 0;

    for (int i = 0; i < 4; i++) {
        opener[i].options = &o;
        assert_int_equal(pthread_create(&opener[i].thread, NULL, open_too, &opener[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(opener[i].thread, NULL), 0);
        assert_int_equal(opener[i].status, CARAT_OK);
        assert_int_equal(opener[i].setup.packed, 1);
        made += opener[i].setup.made;
        check_facts(opener[i].model, ONE_ENGINE, facts);
    }
    assert_int_equal(made, 1);
    for (int i = 0; i < 4; i++)
        carat_model_close(opener[i].model);
    assert_int_equal(count_files("", NULL), 2);
    free(facts);
    close_opened(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_read_only_is_not_written, fresh_cache),
        cmocka_unit_test_setup(another_tokenizer_is_not_packed, fresh_cache),
        cmocka_unit_test_setup(a_tokenizer_alone_is_not_packed, fresh_cache),
        cmocka_unit_test_setup(failures_are_the_same, fresh_cache),
        cmocka_unit_test_setup(those_used_longest_ago_leave, fresh_cache),
        cmocka_unit_test_setup(the_cap_is_looked_at_again, fresh_cache),
        cmocka_unit_test_setup(the_walk_shows_everything, fresh_cache),
        cmocka_unit_test_setup(packing_to_a_file_is_whole_or_not_at_all, fresh_cache),
        cmocka_unit_test_setup(the_files_of_a_model_are_known, fresh_cache),
        cmocka_unit_test_setup(cancelling_leaves_nothing_behind, fresh_cache),
        cmocka_unit_test_setup(what_is_in_use_stays_until_it_is_closed, fresh_cache),
        cmocka_unit_test_setup(packing_goes_on_while_things_are_removed, fresh_cache),
        cmocka_unit_test_setup(threads_that_open_together_pack_once, fresh_cache),
    };
    return MAIN(tests);
}
