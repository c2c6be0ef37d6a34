/* SPDX-License-Identifier: Apache-2.0 */
/* test_left_in_origin.c: a copy in the cache leaves the table of layer inputs in the model's own file: it
 * holds all else, gives the same bits and hash, and is no use without that file; a packed file that stands
 * alone has the table. An index that says something impossible of a table is refused. */
#include "cache_util.h"

#include "file/packed.h"

#define TABLE "per_layer_token_embd.weight"

/* ---- models that have a table ---- */

enum { MODELS = 3 };
static const struct {
    const char *from, *to, *file; /* where the table lies in it; "": it is that file */
    uint64_t bytes;               /* of the table */
} models[MODELS] = {
    {CT_TEST_DATA "/vectors/models/gemma4-e", "gemma4-e", "model.safetensors", 600 * 64 * 2},
    {CT_TEST_DATA "/vectors/models/gemma3n", "gemma3n", "model.safetensors", 600 * 80 * 2},
    {CT_TEST_DATA "/../../fuzz/corpus/gguf/gemma4_inputs", "inputs.gguf", "", 0},
};

/* A copy of a model, which may be changed. */
static const char *model_at(int i)
{
    static char path[PATH_SIZE];
    path_join(path, scratch, models[i].to);
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (*models[i].file)
        copy_folder(path, models[i].from);
    else
        copy_file(path, models[i].from);
    return path;
}

static const char *file_of(int i)
{
    static char path[PATH_SIZE];
    path_join(path, scratch, models[i].to);
    if (*models[i].file) {
        strcat(path, "/");
        strcat(path, models[i].file);
    }
    return path;
}

static char *table_name(const json_t *header)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)header, name,
                        value) if (strstr(name, "embed_tokens_per_layer")) return strdup(name);
    fail_msg("no table");
    return NULL;
}

/* Puts the table at the end of a safetensors file, behind a megabyte that no model needs. */
static void move_table(const char *file)
{
    enum { HOLE = 1 << 20 };
    size_t n;
    char *bytes = read_whole(file, &n), path[PATH_SIZE];
    uint64_t head, first, end;
    json_error_t e;
    memcpy(&head, bytes, 8);
    json_t *header = json_loadb(bytes + 8, head, 0, &e);
    assert_non_null(header);
    char *name = table_name(header);
    json_t *old = json_object_get(header, name), *at = json_object_get(old, "data_offsets");
    first = (uint64_t)json_integer_value(json_array_get(at, 0));
    end = (uint64_t)json_integer_value(json_array_get(at, 1));
    const uint64_t data = n - 8 - head, size = end - first;
    json_t *now = json_deep_copy(old);
    json_object_set_new(now, "data_offsets",
                        json_pack("[I, I]", (json_int_t)(data + HOLE), (json_int_t)(data + HOLE + size)));
    json_object_set(header, "old", old);
    json_object_set_new(header, name, now);
    json_object_set_new(header, "hole",
                        json_pack("{s: s, s: [i], s: [I, I]}", "dtype", "U8", "shape", HOLE, "data_offsets",
                                  (json_int_t)data, (json_int_t)(data + HOLE)));
    char *text = json_dumps(header, JSON_COMPACT);
    const uint64_t length = strlen(text), all = 8 + length + data + HOLE + size;
    char *to = calloc(1, all);
    memcpy(to, &length, 8);
    memcpy(to + 8, text, length);
    memcpy(to + 8 + length, bytes + 8 + head, data);
    memcpy(to + 8 + length + data + HOLE, bytes + 8 + head + first, size);
    write_file(strcpy(path, file), to, all);
    json_decref(header);
    free(name);
    free(text);
    free(to);
    free(bytes);
}

/* ---- the copy ---- */

struct copy {
    char path[PATH_SIZE];
    char *bytes;
    size_t n;
    struct ct_arena arena;
    struct ct_packed p;
    struct ct_packed_weight *table;
};

static struct copy copy_at(const char *path)
{
    struct copy k = {.n = 0};
    snprintf(k.path, sizeof k.path, "%s", path);
    k.bytes = read_whole(k.path, &k.n);
    OK(ct_packed_read(&k.p, "copy", (struct ct_bytes){(uint8_t *)k.bytes, k.n}, &k.arena, err));
    for (uint32_t i = 0; i < k.p.n_weight; i++)
        if (ct_str_is(k.p.weight[i].name, TABLE))
            k.table = &k.p.weight[i];
    assert_non_null(k.table);
    return k;
}

static struct copy copy_in_cache(void)
{
    char path[PATH_SIZE];
    assert_int_equal(count_files(".carat", path), 1);
    return copy_at(path);
}

static void copy_free(struct copy *k)
{
    ct_arena_free(&k->arena);
    free(k->bytes);
}

static void content_of(const carat_model *m, char hex[33])
{
    OK(carat_model_content(m, NULL, NULL, hex, err));
}

static carat_plan plan_of(const carat_model *m, int resident)
{
    carat_plan plan = {.size = sizeof plan};
    carat_engine_options o = small_engine();
    o.ple_resident = resident;
    OK(carat_plan_engine(m, &o, &plan, err));
    return plan;
}

static float *logits_of(const carat_model *m, int resident)
{
    carat_engine_options o = small_engine();
    o.ple_resident = resident;
    carat_model_info info = model_info(m);
    struct rig r = {.model = NULL, .n_session = 1};
    float *logits = malloc((size_t)info.n_vocab * sizeof *logits);
    struct ids ids = scattered_ids(9, info.n_vocab, 3);
    OK(carat_engine_create(&r.engine, m, &o, err));
    OK(carat_session_create(&r.session[0], r.engine, NULL, err));
    OK(carat_sync(r.session[0], ids.id, ids.n, NULL, err));
    memcpy(logits, carat_logits(r.session[0]), (size_t)info.n_vocab * sizeof *logits);
    rig_close(&r);
    free(ids.id);
    return logits;
}

static void all_is_right(const carat_model *m, const char *content)
{
    carat_verify_options o;
    carat_verdict verdict = {.size = sizeof verdict};
    carat_verify_options_default(&o);
    OK(carat_verify(m, &o, &verdict, err));
    assert_int_equal(verdict.failed, 0);
    assert_string_equal(verdict.content, content);
}

static void same_file(const char *a, const char *b)
{
    size_t n, m;
    char *x = read_whole(a, &n), *y = read_whole(b, &m);
    assert_int_equal(n, m);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* Everything but the table is in the copy; every fact, bit and hash is that of the model. */
static void a_copy_is_the_model_without_the_table(void **state)
{
    char content[33], found[33], alone[PATH_SIZE], again[PATH_SIZE];
    (void)state;

    for (int i = 0; i < MODELS; i++) {
        fresh_cache(NULL);
        const char *path = model_at(i);
        struct opened plain = open_with(path, NULL),
                      o[2] = {open_with(path, cache_dir()), open_with(path, cache_dir())};
        char *facts = facts_of(plain.model, ONE_ENGINE);
        float *logits = logits_of(plain.model, 1);
        const size_t disk = plan_of(plain.model, 0).disk_bytes;

        assert_true(disk > 0 && (!models[i].bytes || disk == models[i].bytes));
        assert_true(o[0].setup.made && o[1].setup.packed && !o[1].setup.made);
        content_of(plain.model, content);
        OK(carat_model_pack(plain.model, path_join(alone, scratch, "alone.carat"), NULL, NULL, err));
        for (int k = 0; k < 2; k++) {
            check_facts(o[k].model, ONE_ENGINE, facts);
            content_of(o[k].model, found);
            assert_string_equal(found, content);
            all_is_right(o[k].model, content);
            assert_int_equal(plan_of(o[k].model, 0).disk_bytes, disk);
            assert_int_equal(plan_of(o[k].model, 1).disk_bytes, 0);
            assert_true(plan_of(o[k].model, 1).weight_bytes + 2 * CT_PACKED_PAGE >=
                        plan_of(o[k].model, 0).weight_bytes + disk);
            float *with = logits_of(o[k].model, 1);
            assert_memory_equal(with, logits, (size_t)model_info(plain.model).n_vocab * sizeof *with);
            free(with);
            OK(carat_model_pack(o[k].model, path_join(again, scratch, "again.carat"), NULL, NULL, err));
            if (!model_info(plain.model).has_tokenizer) /* its tables begin with a random number */
                same_file(again, alone);
            close_opened(&o[k]);
        }
        struct copy copy = copy_in_cache(), whole = copy_at(alone);
        assert_int_equal(copy.p.n_weight, whole.p.n_weight);
        for (uint32_t w = 0; w < copy.p.n_weight; w++)
            assert_int_equal(copy.p.weight[w].source != 0, &copy.p.weight[w] == copy.table);
        assert_true(ct_str_is(copy.p.source[copy.table->source - 1].name, models[i].file));
        assert_int_equal(copy.table->data.size, disk);
        assert_true(whole.table->source == 0 && whole.table->data.size == disk);
        assert_true(copy.n + disk / CT_PACKED_PAGE * CT_PACKED_PAGE <= whole.n);
        size_t n;
        char *file = read_whole(file_of(i), &n);
        assert_true(copy.table->data.at <= n - disk);
        assert_memory_equal(file + copy.table->data.at, whole.bytes + whole.table->data.at, disk);
        free(file);

        /* the file alone needs no model */
        nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        struct opened a = open_with(alone, NULL);
        check_facts(a.model, ONE_ENGINE, facts);
        all_is_right(a.model, content);
        close_opened(&a);
        copy_free(&copy);
        copy_free(&whole);
        close_opened(&plain);
        free(logits);
        free(facts);
    }
}

/* One byte of the table is another model, and another copy. */
static void the_table_counts(void **state)
{
    char content[33], found[33];
    (void)state;

    const char *path = model_at(0);
    struct opened o = open_with(path, cache_dir());
    content_of(o.model, content);
    close_opened(&o);
    struct copy k = copy_in_cache();
    wait_a_tick();
    flip(file_of(0), k.table->data.at + 77, 0);
    copy_free(&k);
    opens(path, MADE, changed);
    o = open_with(path, cache_dir());
    content_of(o.model, found);
    assert_string_not_equal(found, content);
    all_is_right(o.model, found);
    close_opened(&o);
    assert_int_equal(remove(file_of(0)), 0);
    const carat_model_options options = cached();
    FAILS(CARAT_E_FORMAT, carat_model_open(&o.model, path, &options, err));
}

static void a_file_that_changes_while_it_is_open_is_told(void **state)
{
    char other[PATH_SIZE], words[128];
    (void)state;

    const char *path = model_at(0);
    struct opened o = open_with(path, cache_dir());
    close_opened(&o);
    o = open_with(path, cache_dir());
    carat_engine_options options = small_engine();
    struct rig r = rig_open(o.model, &options);
    OK(carat_append(r.session[0], (const int32_t[]){2, 5}, 2, err));
    struct copy k = copy_in_cache();
    const uint64_t row = k.table->data.at + 300 * k.table->data.size / k.table->rows;
    assert_int_equal(truncate(file_of(0), (off_t)row + 3), 0);
    snprintf(
        words, sizeof words,
        "gemma4-e/model.safetensors: row 300 of the table of layer inputs, at byte %llu, cannot be read: "
        "the file ends before it",
        (unsigned long long)row);
    FAILS_WITH(carat_append(r.session[0], (const int32_t[]){5, 300, 9}, 3, err), CARAT_E_IO, words);
    OK(carat_append(r.session[0], (const int32_t[]){5}, 1, err)); /* which is kept */
    rig_close(&r);
    copy_free(&k);
    close_opened(&o);

    path = model_at(0);
    o = open_with(path, cache_dir());
    copy_file(path_join(other, scratch, "other"), file_of(0));
    assert_int_equal(rename(other, file_of(0)), 0);
    FAILS_WITH(carat_engine_create(&r.engine, o.model, &options, err), CARAT_E_IO,
               "another file has taken its name since the model was opened");
    close_opened(&o);
}

/* Between the look at the file and its mapping. */
static void a_file_that_changes_while_it_is_opened_is_seen(void **state)
{
    (void)state;
    const char *path = model_at(0);
    opens(path, MADE, in);
    struct copy k = copy_in_cache();
    struct ct_file *f;
    OK(ct_packed_open(&f, k.path, path, false, err));
    wait_a_tick();
    flip(file_of(0), k.table->data.at, 0);
    FAILS_WITH(ct_packed_map_origin(f, err), CARAT_E_IO,
               "gemma4-e/model.safetensors has changed since the model was packed");
    ct_file_close(f);
    copy_free(&k);
}

/* ---- an index that lies ---- */

static void beyond(struct copy *k)
{
    k->table->data.at = k->p.source[k->table->source - 1].id.size - k->table->data.size + 1;
}
static void far_beyond(struct copy *k)
{
    k->table->data.at = UINT64_MAX - 7;
}
static void of_all_bytes(struct copy *k)
{
    k->table->data.size = UINT64_MAX - k->table->data.at + 1;
}
static void in_no_source(struct copy *k)
{
    k->table->source = k->p.n_source + 1;
}
static void in_an_absent_source(struct copy *k)
{
    struct ct_source *s = &k->p.source[k->table->source - 1];
    k->table->data.size = 0;
    k->table->data.at = 0;
    *s = (struct ct_source){.name = s->name};
}
static void in_panels(struct copy *k)
{
    k->table->interleaved = 1;
}
static void with_a_hash(struct copy *k)
{
    k->table->data.hash = 1;
}

/* The copy under right hashes, with its index as it now is. */
static void write_copy(const struct copy *k)
{
    struct ct_packed_header h;
    char path[PATH_SIZE];
    const size_t n = ct_packed_write_index(&k->p, NULL);
    memcpy(&h, k->bytes, sizeof h);
    char *bytes = malloc((size_t)h.index_at + n);
    memcpy(bytes, k->bytes, (size_t)h.index_at);
    ct_packed_write_index(&k->p, (uint8_t *)bytes + h.index_at);
    h = ct_packed_header(h.index_at, n, ct_packed_hash_block((uint8_t *)bytes + h.index_at, n));
    memcpy(bytes, &h, sizeof h);
    write_file(strcpy(path, k->path), bytes, (size_t)h.index_at + n);
    free(bytes);
}

static void what_leads_out_of_the_source_is_refused(void **state)
{
    static const struct {
        void (*alter)(struct copy *k);
        const char *words;
    } rows[] = {
        {beyond, "bytes from byte"},
        {far_beyond,
         "bytes from byte 18446744073709551608 of source \"model.safetensors\" on, expected them to end "
         "before byte 587456"},
        {of_all_bytes, "of source \"model.safetensors\" on, expected them to end before byte 587456"},
        {in_no_source, "the source of weight \"" TABLE "\" is"},
        {in_an_absent_source, "in a source that was not, expected plain rows of a source that was there"},
        {in_panels, "in a source, and in panels"},
        {with_a_hash, "in a source, and have a hash"},
    };
    (void)state;

    const char *path = model_at(0);
    opens(path, MADE, in);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct copy k = copy_in_cache();
        size_t n;
        struct ct_arena arena = {0};
        struct ct_packed p;
        rows[i].alter(&k);
        write_copy(&k);
        char *bytes = read_whole(k.path, &n);
        FAILS_WITH(ct_packed_read(&p, "copy", (struct ct_bytes){(uint8_t *)bytes, n}, &arena, err),
                   CARAT_E_FORMAT, rows[i].words);
        opens(path, MADE, "; the copy there was damaged: ");
        ct_arena_free(&arena);
        free(bytes);
        copy_free(&k);
    }
}

/* What fits into the file, and is no table. */
static void what_has_other_rows_is_made_anew(void **state)
{
    (void)state;
    const char *path = model_at(0);
    opens(path, MADE, in);
    struct copy k = copy_in_cache();
    k.table->data.size -= 2;
    write_copy(&k);
    struct opened o = open_with(path, cache_dir());
    cut_line(&o.lines, "; the copy there was damaged: ");
    assert_int_equal(o.setup.made, 1);
    close_opened(&o);
    opens(path, MAPPED, NULL);
    copy_free(&k);
}

/* ---- the other duties of a cache ---- */

static void the_cap_counts_what_is_there(void **state)
{
    (void)state;
    const char *path = model_at(0);
    carat_model_options o = cached();
    opens(path, MADE, in);
    char copy[PATH_SIZE];
    assert_int_equal(count_files(".carat", copy), 1);
    const uint64_t bytes = (uint64_t)status_of(copy).st_size;
    fresh_cache(NULL);
    o.cache_bytes = bytes + CT_PACKED_PAGE; /* the stamp counts, too */
    assert_true(models[0].bytes > CT_PACKED_PAGE);
    struct opened m = open_by(path, o);
    assert_int_equal(m.status, CARAT_OK);
    assert_true(m.setup.made);
    close_opened(&m);
    fresh_cache(NULL);
    o.cache_bytes = bytes - 1;
    m = open_by(path, o);
    assert_false(m.setup.packed);
    assert_true(m.setup.cache_needs >= bytes && m.setup.cache_needs < bytes + CT_PACKED_PAGE);
    close_opened(&m);
}

/* A copy that is written once more still leaves the table where it is. */
static void what_a_head_makes_is_added(void **state)
{
    (void)state;
    const char *path = model_at(1);
    move_table(file_of(1));
    struct opened o = open_with(path, cache_dir());
    assert_int_equal(pruned_engine(o.model, NULL), 0);
    close_opened(&o);
    o = open_with(path, cache_dir());
    assert_int_equal(pruned_engine(o.model, NULL), 1);
    char content[33];
    content_of(o.model, content);
    all_is_right(o.model, content);
    close_opened(&o);
    struct copy k = copy_in_cache();
    assert_true(k.p.n_made > 0 && k.table->source > 0);
    assert_true(k.table->data.at > k.n); /* and makes no hole in the copy */
    copy_free(&k);
    char stamp[PATH_SIZE];
    assert_int_equal(count_files(".used", stamp), 1);
    assert_int_equal(remove(stamp), 0); /* it is read as a whole */
    opens(path, MAPPED, NULL);
}

/* A timeline that a session over one opening saved goes on over the other. */
static void timelines_go_from_one_to_the_other(void **state)
{
    char line[2][PATH_SIZE];
    (void)state;

    const char *path = model_at(1);
    carat_engine_options options = small_engine();
    struct opened o[2] = {open_with(path, NULL), open_with(path, cache_dir())};
    struct rig r[2];
    struct ids ids = scattered_ids(20, 600, 8);
    for (int i = 0; i < 2; i++) {
        r[i] = rig_open(o[i].model, &options);
        OK(carat_append(r[i].session[0], ids.id, 15, err));
        OK(carat_save(r[i].session[0], path_join(line[i], scratch, i ? "b.line" : "a.line"), NULL, 0, err));
    }
    same_file(line[0], line[1]);
    for (int i = 0; i < 2; i++) {
        OK(carat_load(r[i].session[0], line[!i], NULL, NULL, err));
        OK(carat_append(r[i].session[0], ids.id + 15, 5, err));
    }
    assert_memory_equal(carat_logits(r[0].session[0]), carat_logits(r[1].session[0]), 600 * sizeof(float));
    for (int i = 0; i < 2; i++) {
        rig_close(&r[i]);
        close_opened(&o[i]);
    }
    free(ids.id);
}

static size_t last_done, last_total;
static int keep_progress(void *user, size_t done, size_t total)
{
    (void)user;
    last_done = done;
    last_total = total;
    return done > total;
}

static void a_table_is_read_while_it_is_packed(void **state)
{
    (void)state;
    carat_model_options o = cached();
    carat_model *m;
    o.progress = keep_progress;
    OK(carat_model_open(&m, model_at(0), &o, err));
    carat_model_close(m);
    struct copy k = copy_in_cache();
    assert_true(last_total >= (k.table->data.size + (k.n >> 2)) >> 10);
    assert_true(last_done <= last_total);
    copy_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_copy_is_the_model_without_the_table, fresh_cache),
        cmocka_unit_test_setup(the_table_counts, fresh_cache),
        cmocka_unit_test_setup(a_file_that_changes_while_it_is_open_is_told, fresh_cache),
        cmocka_unit_test_setup(a_file_that_changes_while_it_is_opened_is_seen, fresh_cache),
        cmocka_unit_test_setup(what_leads_out_of_the_source_is_refused, fresh_cache),
        cmocka_unit_test_setup(what_has_other_rows_is_made_anew, fresh_cache),
        cmocka_unit_test_setup(the_cap_counts_what_is_there, fresh_cache),
        cmocka_unit_test_setup(what_a_head_makes_is_added, fresh_cache),
        cmocka_unit_test_setup(timelines_go_from_one_to_the_other, fresh_cache),
        cmocka_unit_test_setup(a_table_is_read_while_it_is_packed, fresh_cache),
    };
    return MAIN(tests);
}
