/* SPDX-License-Identifier: Apache-2.0 */
/* test_hashes.c: the committed XXH3-64 of logits, so that no change of the code changes a number unnoticed.
 * Each hash is recomputed at every kernel level of this machine, with one to three threads and several
 * chunkings, of tiny with some of them. An emulator is slow: CARAT_EMULATED in the environment takes a sample
 * (worth_emulating). What the numbers should be is left to test_reference.c.
 *
 * After a change of NUMERICS.md, or of models/tiny, rewrite test/data/hashes.txt and commit it with the
 * reason:
 *
 *     CARAT_WRITE_HASHES=1 build/.../test/test_engine_hashes
 *
 * A line of the file is: model, arithmetic, KV type, hash. The logits hashed are those after each token of a
 * fixed sequence (scattered_ids), as little-endian float32 in order. */
#include "tier.h"
#include "vector_util.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HASHES    CT_TEST_DATA "/hashes.txt"
#define MAX_LINES 256

struct line {
    char model[64], arithmetic[8], kv[8];
    unsigned long long hash;
};

struct list {
    struct line line[MAX_LINES];
    int n, n_model;
};

static const struct arithmetic {
    const char *name, *kv_name;
    int exact;
    carat_kv kv;
} arithmetics[] = {
    {"exact", "f32", 1, CARAT_KV_F32}, {"exact", "q8", 1, CARAT_KV_Q8}, {"fast", "bf16", 0, CARAT_KV_BF16},
    {"fast", "f16", 0, CARAT_KV_F16},  {"fast", "q8", 0, CARAT_KV_Q8},
};
#define N_ARITHMETIC (sizeof arithmetics / sizeof *arithmetics)

/* How one engine runs; none of it may show in the hash. */
static const struct variant {
    const char *isa;
    int threads, chunk;
} variants[] = {
#if defined(__aarch64__) /* few, for they run emulated: kcheck compares all levels */
    {"ref", 1, 256},
    {NULL, 2, 7},
#else
    {"ref", 1, 256},    {"ref", 3, 3},    {"avx2", 1, 256}, {"avx2", 2, 7}, {"avx2", 3, 1},
    {"avxvnni", 1, 16}, {"avx512", 2, 7}, {"vnni", 1, 16},  {NULL, 2, 64},
#endif
};
#define N_VARIANT (sizeof variants / sizeof *variants)

static unsigned long long hash_of(carat_model *model, const struct arithmetic *a, const struct variant *v)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.exact = a->exact;
    o.kv = a->kv;
    o.isa = v->isa;
    o.threads = v->threads;
    o.chunk = v->chunk;
    o.context = 128;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(42, model_info(model).n_text_vocab, 2025);
    size_t size = (size_t)ids.n * (size_t)r.n_vocab * sizeof(float);
    float *logits = malloc(size);
    carat_row row = {.session = r.session[0], .tokens = ids.id, .n = ids.n, .logits = logits};
    OK(carat_step(r.engine, &row, sizeof(carat_row), 1, err));
    unsigned long long hash = XXH3_64bits(logits, size);
    free(logits);
    free(ids.id);
    rig_close(&r);
    return hash;
}

/* CARAT_EMULATED is 0, 1 or 2, else -1. */
static int emulated(void)
{
    const char *turn = getenv("CARAT_EMULATED");
    return turn ? atoi(turn) : -1;
}

/* Whether the variant can run here; in an emulator at turns 0 and 1 the best level alone, at turn 2 ref. */
static bool runs(const carat_model *model, const struct variant *v)
{
    if (emulated() >= 0 && (emulated() == 2) != (v->isa != NULL))
        return false;
    return !v->isa || has_isa(model, v->isa);
}

/* Whether an emulator computes the n-th model in an arithmetic: in one at each turn, first an exact one and
 * then a fast one, or the other way round. Half of its time would go into tiny, the largest, which has turn
 * 1. */
static bool worth_emulating(const char *model, int n, int a)
{
    const int turn = emulated();
    if (turn < 0)
        return true;
    if (strcmp(model, "tiny") == 0)
        return turn == 1 && a == 2;
    return a == ((n + turn) % 2 ? 2 + n / 2 % 3 : n / 2 % 2);
}

/* A sanitizer looks for other mistakes: it has each model, and so each type of weights, in one arithmetic. */
static bool worth_instrumenting(int n, int a)
{
    return !SANITIZED || (unsigned)a == ((unsigned)n + tier_turn()) % N_ARITHMETIC;
}

/* Computes one model's lines into list; every variant must give the same. */
static void add_model(struct list *list, const char *path, const char *name)
{
    carat_model *model = NULL;
    OK(carat_model_open(&model, path, NULL, err));
    const struct variant *variant[N_VARIANT];
    int n_variant = 0;
    for (size_t v = 0; v < N_VARIANT; v++)
        if (runs(model, &variants[v]))
            variant[n_variant++] = &variants[v];
    assert_true(n_variant > 0);
    /* A sample has one of them, another one after each commit; of all tiny, the largest, has a third. */
    const int step = SANITIZED || !tier_is_deep() ? n_variant : strcmp(name, "tiny") == 0 ? 3 : 1;
    const int turn = (int)(tier_turn() % (unsigned)n_variant);
    for (int a = 0; a < (int)N_ARITHMETIC; a++) {
        if (!worth_emulating(name, list->n_model, a) || !worth_instrumenting(list->n_model, a))
            continue;
        assert_true(list->n < MAX_LINES);
        struct line *line = &list->line[list->n++];
        snprintf(line->model, sizeof line->model, "%s", name);
        snprintf(line->arithmetic, sizeof line->arithmetic, "%s", arithmetics[a].name);
        snprintf(line->kv, sizeof line->kv, "%s", arithmetics[a].kv_name);
        for (int first = (list->n_model + a + turn) % n_variant % step, i = first; i < n_variant; i += step) {
            const struct variant *v = variant[i];
            unsigned long long hash = hash_of(model, &arithmetics[a], v);
            if (i == first)
                line->hash = hash;
            else if (hash != line->hash)
                fail_msg("%s %s %s: isa %s, threads %d, chunk %d: %016llx, but isa %s: %016llx", name,
                         line->arithmetic, line->kv, v->isa ? v->isa : "best", v->threads, v->chunk, hash,
                         variant[first]->isa ? variant[first]->isa : "best", line->hash);
        }
    }
    list->n_model++;
    carat_model_close(model);
}

static void compute(struct list *list)
{
    static const struct {
        const char *root, *name, *ending; /* of the models in root/name */
    } folders[] = {{CT_TEST_DATA "/vectors", "models", ""},
                   {CT_TEST_DATA "/vectors", "gguf", ""},
                   {CT_TEST_DATA, "sbs", ".sbs"}};
    char folder[PATH_SIZE], path[PATH_SIZE], name[64], **names;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
        int n = list_folder(path_join(folder, folders[f].root, folders[f].name), &names);
        for (int i = 0; i < n; i++) {
            size_t length = strlen(names[i]), ending = strlen(folders[f].ending);
            if (length < ending || strcmp(names[i] + length - ending, folders[f].ending) != 0)
                continue;
            snprintf(name, sizeof name, "%s/%s", folders[f].name, names[i]);
            add_model(list, path_join(path, folder, names[i]), name);
        }
        free_names(names, n);
    }
    const char *tiny = CT_TEST_DATA "/../../models/tiny";
    FILE *f = fopen(path_join(path, tiny, "model.safetensors"), "rb");
    if (f) {
        fclose(f);
        add_model(list, tiny, "tiny");
    }
}

static void read_list(struct list *list)
{
    char text[256];
    FILE *f = fopen(HASHES, "r");
    if (!f)
        fail_msg("%s: cannot open", HASHES);
    while (fgets(text, sizeof text, f)) {
        if (text[0] == '#' || text[0] == '\n')
            continue;
        struct line *line = &list->line[list->n];
        assert_true(list->n < MAX_LINES);
        if (sscanf(text, "%63s %7s %7s %16llx", line->model, line->arithmetic, line->kv, &line->hash) != 4)
            fail_msg("%s: not a line of four fields: %s", HASHES, text);
        list->n++;
    }
    fclose(f);
}

static void write_list(const struct list *list)
{
    FILE *f = fopen(HASHES, "w");
    if (!f)
        fail_msg("%s: cannot write", HASHES);
    fprintf(f,
            "# XXH3-64 of logits, numerics version %d; "
            "test/engine/test_hashes.c says how to rewrite this file.\n",
            CARAT_NUMERICS_VERSION);
    for (int i = 0; i < list->n; i++) {
        const struct line *l = &list->line[i];
        fprintf(f, "%-28s %-5s %-4s %016llx\n", l->model, l->arithmetic, l->kv, l->hash);
    }
    assert_int_equal(fclose(f), 0);
    print_message("wrote %d hashes to %s\n", list->n, HASHES);
}

static const struct line *find(const struct list *list, const struct line *key)
{
    for (int i = 0; i < list->n; i++) {
        const struct line *l = &list->line[i];
        if (strcmp(l->model, key->model) == 0 && strcmp(l->arithmetic, key->arithmetic) == 0 &&
            strcmp(l->kv, key->kv) == 0)
            return l;
    }
    return NULL;
}

static void logits_have_the_committed_hashes(void **state)
{
    (void)state;
    static struct list computed, committed;
    int wrong = 0;
    compute(&computed);
    const int each = emulated() < 0 && !SANITIZED ? (int)N_ARITHMETIC : 1;
    assert_true(computed.n_model >= 25 && computed.n >= 24 * each);
    if (getenv("CARAT_WRITE_HASHES")) {
        write_list(&computed);
        return;
    }
    read_list(&committed);
    for (int i = 0; i < computed.n; i++) {
        const struct line *c = &computed.line[i], *l = find(&committed, c);
        if (l && l->hash == c->hash)
            continue;
        wrong++;
        print_error("%s %s %s: %016llx, %s\n", c->model, c->arithmetic, c->kv, c->hash,
                    l ? "not the committed hash" : "not in the list");
    }
    for (int i = 0; i < committed.n && emulated() < 0 && !SANITIZED; i++) {
        const struct line *l = &committed.line[i];
        if (!find(&computed, l)) {
            wrong++;
            print_error("%s %s %s: in the list, but not computed\n", l->model, l->arithmetic, l->kv);
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(logits_have_the_committed_hashes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
