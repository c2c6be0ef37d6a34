/* SPDX-License-Identifier: Apache-2.0 */
/* test_keep_made.c: what heads make of a model and the cache keeps of it: the second engine makes nothing and
 * gives the same bits; what is damaged, of another head, or somebody else's is not used; a cache that takes
 * nothing costs a line at most; other processes go on. What the index may say is test_bad_packed_lists.c's,
 * kills and refusals are test_cache_faults.c's. */
#include "cache_util.h"

#include "engine/head_util.h"
#include "file/packed.h"

#include <sys/wait.h>

/* ---- heads ---- */

static const struct head {
    carat_head strategy;
    carat_head_quant quant;
    int matrices; /* that are kept */
} heads[] = {{CARAT_HEAD_EXACT_PRUNED, CARAT_QUANT_NATIVE, 2},
             {CARAT_HEAD_PRELOAD, CARAT_QUANT_GROUP, 1},
             {CARAT_HEAD_PRELOAD, CARAT_QUANT_CHANNEL, 1},
             {CARAT_HEAD_PRELOAD, CARAT_QUANT_TENSOR, 1}};
static const struct head *const pruned = &heads[0];
enum { HEADS = sizeof heads / sizeof *heads, STEPS = 12, TOP = 6 };

/* What an engine did. */
struct did {
    carat_status status;
    carat_candidate top[STEPS][TOP];
    carat_head_stats stats;
    char line[256];
};

static struct did engine_with(const carat_model *model, const struct head *h, carat_progress progress,
                              void *user)
{
    struct did d = {0};
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_head_options head = head_options(h->strategy, 0, 0);
    carat_engine_options o = small_engine();

    head.quant = h->quant;
    head.log = hear_line;
    head.user = d.line;
    o.head = &head;
    o.threads = 2;
    o.progress = progress;
    o.user = user;
    carat_error found;
    d.status = carat_engine_create(&engine, model, &o, &found);
    if (d.status) {
        snprintf(d.line, sizeof d.line, "%.255s", found.message);
        return d;
    }
    OK(carat_session_create(&session, engine, NULL, err));
    struct ids ids = scattered_ids(STEPS, model_info(model).n_vocab, 5);
    for (int i = 0; i < STEPS; i++) {
        OK(carat_append(session, &ids.id[i], 1, err));
        OK(carat_top(session, TOP, d.top[i], err));
    }
    d.stats = stats_of(engine);
    free(ids.id);
    carat_session_close(session);
    carat_engine_close(engine);
    return d;
}

static struct did plainly(const char *path, const struct head *h)
{
    struct opened m = open_with(path, NULL);
    struct did d = engine_with(m.model, h, NULL, NULL);
    if (d.status)
        fail_msg("%s: %s", path, d.line);
    close_opened(&m);
    return d;
}

/* The same bits, from the cache or not, and nothing else is said unless it is this line. */
static void same_did(const struct did *a, const struct did *expected, bool from_cache, const char *line)
{
    assert_int_equal(a->status, CARAT_OK);
    assert_memory_equal(a->top, expected->top, sizeof a->top);
    assert_int_equal(a->stats.from_cache, from_cache);
    if (from_cache)
        assert_int_equal(a->stats.made_bytes, 0);
    assert_int_equal(a->stats.sketch_bytes, expected->stats.sketch_bytes);
    assert_int_equal(a->stats.tile_bytes, expected->stats.tile_bytes);
    if (line)
        assert_non_null(strstr(a->line, line));
    else
        assert_string_equal(a->line, expected->line);
}

/* Opens, and makes an engine. */
static void head_does(const char *path, carat_model_options o, const struct head *h,
                      const struct did *expected, bool from_cache, const char *line)
{
    struct opened m = open_by(path, o);
    assert_int_equal(m.status, CARAT_OK);
    struct did d = engine_with(m.model, h, NULL, NULL);
    same_did(&d, expected, from_cache, line);
    close_opened(&m);
    assert_int_equal(count_files(".part", NULL), 0);
}

/* ---- the copy ---- */

static const char *copy_path(void)
{
    static char path[PATH_SIZE];
    assert_int_equal(count_files(".carat", path), 1);
    return path;
}

static off_t copy_size(void)
{
    return status_of(copy_path()).st_size;
}

/* The bytes of the copy, and its index. */
struct copy {
    char *bytes;
    size_t n;
    struct ct_arena arena;
    struct ct_packed p;
};
static struct copy copy_read(void)
{
    struct copy k = {0};
    k.bytes = read_whole(copy_path(), &k.n);
    OK(ct_packed_read(&k.p, "copy", (struct ct_bytes){(uint8_t *)k.bytes, k.n}, &k.arena, err));
    return k;
}
static void copy_free(struct copy *k)
{
    ct_arena_free(&k->arena);
    free(k->bytes);
}

/* Writes it to a path with the index that k->p now is, under right hashes. */
static void copy_write(struct copy *k, const char *path)
{
    char to[PATH_SIZE];
    struct ct_packed_header h;
    memcpy(&h, k->bytes, sizeof h);
    const size_t size = ct_packed_write_index(&k->p, NULL), at = (size_t)h.index_at;
    uint8_t *all = malloc(at + size);
    assert_non_null(all);
    memcpy(all, k->bytes, at);
    ct_packed_write_index(&k->p, all + at);
    h = ct_packed_header(at, size, ct_packed_hash_block(all + at, size));
    memcpy(all, &h, sizeof h);
    write_file(strcpy(to, path), (const char *)all, at + size);
    free(all);
}

static uint32_t matrices_kept(void)
{
    struct copy k = copy_read();
    uint32_t n = k.p.n_made;
    copy_free(&k);
    return n;
}

static void alter_copy(void (*alter)(struct copy *k))
{
    char path[PATH_SIZE];
    strcpy(path, copy_path());
    struct copy k = copy_read();
    alter(&k);
    copy_write(&k, path);
    copy_free(&k);
}

/* ---- tests ---- */

/* One after another, in one copy. */
static void what_is_made_is_made_once(void **state)
{
    const char *const paths[] = {model_folder(), CT_TEST_DATA "/vectors/gguf/q8_0.gguf",
                                 CT_TEST_DATA "/vectors/gguf/qat-f16.gguf"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        uint32_t n = 0;
        struct did d[HEADS];
        fresh_cache(NULL);
        for (int h = 0; h < HEADS; h++) {
            d[h] = plainly(paths[i], &heads[h]);
            head_does(paths[i], cached(), &heads[h], &d[h], false, NULL);
            n += (uint32_t)heads[h].matrices;
            assert_int_equal(matrices_kept(), n);
            off_t size = copy_size();
            head_does(paths[i], cached(), &heads[h], &d[h], true, NULL);
            assert_int_equal(copy_size(), size);
        }
        char stamp[PATH_SIZE];
        assert_int_equal(count_files(".used", stamp), 1);
        unlink(stamp); /* all hashes are looked at */
        for (int h = HEADS - 1; h >= 0; h--)
            head_does(paths[i], cached(), &heads[h], &d[h], true, NULL);
        opens(paths[i], MAPPED, NULL);
    }
}

/* Tiles of any size are the same bytes. */
static void tiles_are_kept_whatever_their_size(void **state)
{
    (void)state;
    const char *path = model_folder();
    struct opened m = open_with(path, cache_dir());
    engine_with(m.model, &heads[1], NULL, NULL);
    close_opened(&m);
    m = open_with(path, cache_dir());
    for (int tile = 0; tile < 256; tile += SMALL) {
        carat_engine_options o = small_engine();
        carat_head_options head = head_options(CARAT_HEAD_PRELOAD, tile, 0);
        carat_engine *engine = NULL;
        head.quant = CARAT_QUANT_GROUP;
        o.head = &head;
        OK(carat_engine_create(&engine, m.model, &o, err));
        assert_int_equal(stats_of(engine).from_cache, 1);
        carat_engine_close(engine);
    }
    close_opened(&m);
}

static void of_other_bytes(struct copy *k)
{
    for (uint32_t i = 0; i < k->p.n_made; i++)
        k->p.made[i].key ^= 1;
}
static void without_bounds(struct copy *k)
{
    k->p.n_made--;
}
static void of_fewer_rows(struct copy *k)
{
    k->p.made[0].rows--;
}
static void of_fewer_bytes(struct copy *k)
{
    struct ct_section *s = &k->p.made[0].data;
    s->size -= 64;
    s->hash = ct_packed_hash((uint8_t *)k->bytes + s->at, s->size);
}
static void of_another_form(struct copy *k)
{
    k->p.made[0].interleaved ^= 1;
}
static void of_another_type(struct copy *k)
{
    k->p.made[0].type = CT_Q5_0;
}

static void what_does_not_fit_is_made_anew(void **state)
{
    static void (*const alterations[])(struct copy *) = {of_other_bytes, without_bounds,  of_fewer_rows,
                                                         of_fewer_bytes, of_another_form, of_another_type};
    const char *path = model_folder();
    const struct did d = plainly(path, pruned);
    (void)state;
    head_does(path, cached(), pruned, &d, false, NULL);
    const off_t size = copy_size();
    for (size_t i = 0; i < sizeof alterations / sizeof *alterations; i++) {
        alter_copy(alterations[i]);
        head_does(path, cached(), pruned, &d, false, NULL);
        assert_int_equal(matrices_kept(), 2);
        assert_int_equal(copy_size(), size); /* in the place of what was there */
        head_does(path, cached(), pruned, &d, true, NULL);
    }
}

static void what_is_damaged_is_found(void **state)
{
    const char *path = model_folder();
    const struct did d = plainly(path, pruned);
    (void)state;
    head_does(path, cached(), pruned, &d, false, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        struct copy k = copy_read();
        const struct ct_section s = k.p.made[i].data;
        copy_free(&k);
        flip(copy_path(), (size_t)(s.at + s.size / 2), 3);
        opens(path, MADE, "; the copy there was damaged: ");
        head_does(path, cached(), pruned, &d, false, NULL);
        head_does(path, cached(), pruned, &d, true, NULL);
    }
}

/* Weights that change between opening and keeping are not signed anew. */
static void damaged_weights_are_not_kept(void **state)
{
    const char *path = model_folder();
    (void)state;
    opens(path, MADE, in);
    struct opened m = open_with(path, cache_dir());
    struct copy k = copy_read();
    const struct ct_section s = k.p.weight[k.p.n_weight - 1].data;
    copy_free(&k);
    flip(copy_path(), (size_t)s.at + 5, 0);
    struct did d = engine_with(m.model, pruned, NULL, NULL);
    assert_int_equal(d.status, CARAT_OK);
    assert_non_null(strstr(d.line, "not kept in the cache: the packed copy of the model is damaged"));
    close_opened(&m);
    assert_int_equal(matrices_kept(), 0);
    assert_int_equal(count_files(".part", NULL), 0);
    opens(path, MADE, "; the copy there was damaged: ");
}

/* Bounds of 0 would leave out everything. */
static void a_lie_from_elsewhere_is_not_believed(void **state)
{
    char elsewhere[PATH_SIZE];
    const char *path = model_folder();
    const struct did d = plainly(path, pruned);
    (void)state;
    head_does(path, cached(), pruned, &d, false, NULL);
    struct copy k = copy_read();
    for (uint32_t i = 0; i < k.p.n_made; i++) {
        struct ct_section *s = &k.p.made[i].data;
        memset(k.bytes + s->at, 0, s->size);
        s->hash = ct_packed_hash((uint8_t *)k.bytes + s->at, s->size);
    }
    copy_write(&k, path_join(elsewhere, scratch, "elsewhere.carat"));
    copy_free(&k);
    fresh_cache(NULL);
    for (int i = 0; i < 2; i++) {
        head_does(elsewhere, cached(), pruned, &d, false, NULL);
        assert_int_equal(count_files("", NULL), 0);
        carat_model *m = NULL;
        carat_buffer buffer = {"x.carat", NULL, 0};
        buffer.data = read_whole(elsewhere, &buffer.size);
        OK(carat_model_open_memory(&m, &buffer, sizeof buffer, 1, NULL, err));
        struct did again = engine_with(m, pruned, NULL, NULL);
        same_did(&again, &d, false, NULL);
        carat_model_close(m);
        free((void *)buffer.data);
    }
    unlink(elsewhere);
}

/* Whoever packs it gets what the origin has. */
static void what_is_made_is_not_packed(void **state)
{
    char a[PATH_SIZE], b[PATH_SIZE];
    const char *path = model_folder();
    const struct did d = plainly(path, pruned);
    (void)state;
    struct opened m = open_with(path, NULL);
    OK(carat_model_pack(m.model, path_join(a, scratch, "a"), NULL, NULL, err));
    close_opened(&m);
    head_does(path, cached(), pruned, &d, false, NULL);
    m = open_with(path, cache_dir());
    OK(carat_model_pack(m.model, path_join(b, scratch, "b"), NULL, NULL, err));
    close_opened(&m);
    size_t n[2];
    free(read_whole(a, &n[0]));
    free(read_whole(b, &n[1]));
    assert_int_equal(n[0], n[1]);
    unlink(a);
    unlink(b);
}

static void what_is_read_only_is_read(void **state)
{
    const char *path = model_folder();
    const struct did d = plainly(path, pruned);
    carat_model_options o = cached();
    (void)state;
    o.cache_read_only = 1;
    opens(path, MADE, in);
    const off_t size = copy_size();
    head_does(path, o, pruned, &d, false, NULL);
    assert_int_equal(copy_size(), size);
    head_does(path, cached(), pruned, &d, false, NULL);
    head_does(path, o, pruned, &d, true, NULL);
}

static void the_cap_is_kept(void **state)
{
    const char *path = model_folder(), *other = small(0);
    const struct did d = plainly(path, pruned);
    carat_model_options o = cached();
    (void)state;
    head_does(path, cached(), pruned, &d, false, NULL);
    const off_t grown = copy_size();
    fresh_cache(NULL);
    opens(path, MADE, in);
    const off_t size = copy_size();
    o.cache_bytes = (uint64_t)grown - 1;
    head_does(path, o, pruned, &d, false, "not kept in the cache: it takes ");
    assert_int_equal(copy_size(), size);
    opens(path, MAPPED, NULL);

    opens(other, MADE, in); /* has to leave */
    assert_int_equal(count_files(".carat", NULL), 2);
    o.cache_bytes = (uint64_t)grown;
    head_does(path, o, pruned, &d, false, NULL);
    assert_int_equal(copy_size(), grown);
    head_does(path, o, pruned, &d, true, NULL);
}

/* One that reads the old copy does so to its end, and writes nothing in the place of the new one. */
static void who_reads_goes_on(void **state)
{
    const char *path = model_folder();
    const struct did d[2] = {plainly(path, pruned), plainly(path, &heads[1])};
    (void)state;
    opens(path, MADE, in);
    struct opened old = open_with(path, cache_dir());
    head_does(path, cached(), pruned, &d[0], false, NULL);
    const struct stat st = status_of(copy_path());
    for (int i = 0; i < 4; i++) {
        struct did again = engine_with(old.model, &heads[i / 2], NULL, NULL);
        same_did(&again, &d[i / 2], false, NULL);
    }
    close_opened(&old);
    assert_int_equal(status_of(copy_path()).st_ino, st.st_ino);
    head_does(path, cached(), pruned, &d[0], true, NULL);
}

struct cancelling {
    int at, asked;
};
static int cancel_at(void *user, size_t done, size_t total)
{
    struct cancelling *c = user;
    (void)done;
    (void)total;
    return c->asked++ >= c->at;
}

static void cancelling_leaves_the_copy_alone(void **state)
{
    const char *path = model_folder();
    const struct did d = plainly(path, pruned);
    bool done = false;
    int cancelled = 0;
    (void)state;
    opens(path, MADE, in);
    for (int at = 0; !done; at++) {
        struct opened m = open_with(path, cache_dir());
        struct cancelling c = {at, 0};
        const off_t size = copy_size();
        struct did again = engine_with(m.model, pruned, cancel_at, &c);
        done = again.status == CARAT_OK;
        assert_true(done || again.status == CARAT_E_CANCELLED);
        close_opened(&m);
        assert_int_equal(count_files("", NULL), 2);
        assert_true(done || copy_size() == size);
        cancelled += !done;
    }
    assert_true(cancelled > 1);
    head_does(path, cached(), pruned, &d, true, NULL);
}

/* Processes that start together: one writes, and all compute. */
static void together_one_keeps(void **state)
{
    enum { MANY = 6 };
    const char *path = model_folder();
    const struct did d = plainly(path, pruned);
    (void)state;
    for (int round = 0; round < 4; round++) {
        pid_t pid[MANY];
        fresh_cache(NULL);
        if (round % 2)
            opens(path, MADE, in);
        fflush(NULL);
        for (int i = 0; i < MANY; i++) {
            pid[i] = fork();
            assert_true(pid[i] >= 0);
            if (pid[i] == 0) {
                struct opened m = open_by(path, cached());
                struct did mine = engine_with(m.model, pruned, NULL, NULL);
                close_opened(&m);
                _exit(mine.status || memcmp(mine.top, d.top, sizeof d.top) != 0);
            }
        }
        for (int i = 0; i < MANY; i++) {
            int status;
            assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
            assert_int_equal(status, 0);
        }
        assert_int_equal(count_files("", NULL), 2);
        head_does(path, cached(), pruned, &d, true, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_made_is_made_once, fresh_cache),
        cmocka_unit_test_setup(tiles_are_kept_whatever_their_size, fresh_cache),
        cmocka_unit_test_setup(what_does_not_fit_is_made_anew, fresh_cache),
        cmocka_unit_test_setup(what_is_damaged_is_found, fresh_cache),
        cmocka_unit_test_setup(damaged_weights_are_not_kept, fresh_cache),
        cmocka_unit_test_setup(a_lie_from_elsewhere_is_not_believed, fresh_cache),
        cmocka_unit_test_setup(what_is_made_is_not_packed, fresh_cache),
        cmocka_unit_test_setup(what_is_read_only_is_read, fresh_cache),
        cmocka_unit_test_setup(the_cap_is_kept, fresh_cache),
        cmocka_unit_test_setup(who_reads_goes_on, fresh_cache),
        cmocka_unit_test_setup(cancelling_leaves_the_copy_alone, fresh_cache),
        cmocka_unit_test_setup(together_one_keeps, fresh_cache),
    };
    return MAIN(tests);
}
