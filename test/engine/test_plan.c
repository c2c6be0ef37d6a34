/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c: the plan of an engine is the memory it takes: mappings of the process before and after
 * creation, pages behind them before and after a full context; what a limit refuses and offers; what a budget
 * chooses. */
#include "os/scratch.h"
#include "vector_util.h"

#include "backend/cpu/cpu_backend.h"
#include "engine/engine.h"
#include "os/cgroup.h"
#include "os/memory.h"
#include "os/threads.h"

#define TINY CT_TEST_DATA "/../../models/tiny"
#define Q4_0 CT_TEST_DATA "/vectors/gguf/q4_0.gguf"
#define MOST 2048 /* positions of both models */

static carat_model *tiny, *q4_0;

static int open_models(void **unused)
{
    make_scratch(unused);
    OK(carat_model_open(&tiny, TINY, NULL, err));
    OK(carat_model_open(&q4_0, Q4_0, NULL, err));
    return 0;
}

static int close_models(void **unused)
{
    carat_model_close(tiny);
    carat_model_close(q4_0);
    return drop_scratch(unused);
}

static carat_engine_options options(int threads, int context, carat_kv kv)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = threads;
    o.context = context;
    o.kv = kv;
    return o;
}

static carat_plan plan_of(const carat_model *model, const carat_engine_options *o)
{
    carat_plan plan = {.size = sizeof plan};
    OK(carat_plan_engine(model, o, &plan, err));
    return plan;
}

static size_t bytes_of(const carat_model *model, int context, carat_kv kv)
{
    carat_engine_options o = options(1, context, kv);
    return plan_of(model, &o).bytes;
}

/* ---- what the system says ---- */

/* Bytes of the writable mappings that have no name: reservations and stacks. */
static size_t mapped(void)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    size_t kib, sum = 0;
    bool counts = false;

    if (!f)
        skip();
    while (fgets(line, sizeof line, f)) {
        unsigned long begin, end, inode;
        char access[5], name[2] = "";
        if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x %lu %1s", &begin, &end, access, &inode, name) >= 4)
            counts = strcmp(access, "rw-p") == 0 && inode == 0 && !*name;
        else if (counts && sscanf(line, "Size: %zu kB", &kib) == 1)
            sum += kib << 10;
    }
    fclose(f);
    return sum;
}

/* Whether huge pages were asked for behind p. */
static bool wants_huge_pages(const void *p)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    bool within = false, wanted = false;

    if (!f)
        skip();
    while (fgets(line, sizeof line, f)) {
        unsigned long begin, end;
        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2)
            within = (uintptr_t)p >= begin && (uintptr_t)p < end;
        else if (within && strncmp(line, "VmFlags:", 8) == 0)
            wanted = strstr(line, " hg") != NULL;
    }
    fclose(f);
    return wanted;
}

/* Pages of [p, p + bytes) that have memory behind them. */
static size_t resident_pages(const void *p, size_t bytes)
{
    FILE *f = fopen("/proc/self/pagemap", "rb");
    size_t page = ct_os_page(), n = bytes / page, resident = 0;
    uint64_t *entry = malloc(n * sizeof *entry + 1);

    assert_non_null(entry);
    if (!f || fseek(f, (long)((uintptr_t)p / page * sizeof *entry), SEEK_SET) != 0 ||
        fread(entry, sizeof *entry, n, f) != n)
        skip();
    for (size_t i = 0; i < n; i++)
        resident += entry[i] >> 63;
    free(entry);
    fclose(f);
    return resident;
}

/* ---- mappings ---- */

static void sum_is_the_sum(const carat_plan *p)
{
    size_t page = ct_os_page();
    const size_t parts[] = {p->weight_bytes, p->packed_bytes, p->kv_bytes, p->work_bytes, p->stack_bytes};

    for (size_t i = 0; i < CT_COUNT(parts); i++)
        assert_int_equal(parts[i] % page, 0);
    assert_true(p->packed_bytes <= p->weight_bytes);
    assert_int_equal(p->stack_bytes, (size_t)(p->threads - 1) * CT_OS_STACK);
    assert_int_equal(p->bytes, p->weight_bytes + p->kv_bytes + p->work_bytes + p->stack_bytes);
}

static void check_mappings(const carat_model *model, const carat_engine_options *o)
{
    carat_plan plan = plan_of(model, o);
    carat_engine *engine = NULL;

    sum_is_the_sum(&plan);
    size_t before = mapped();
    OK(carat_engine_create(&engine, model, o, err));
    size_t taken = mapped() - before;
    assert_int_equal(taken, plan.packed_bytes + plan.kv_bytes + plan.work_bytes + plan.stack_bytes);
    carat_engine_close(engine);
    if (plan.threads == 1) /* the C library keeps stacks for the next threads */
        assert_int_equal(mapped(), before);
}

/* Comes first: later threads would get the stacks of these. */
static void stacks_are_as_planned(void **unused)
{
    carat_engine_options o = options(5, 700, CARAT_KV_BF16);
    o.snapshot_bytes = (size_t)4 << 20;
    (void)unused;
    if (SANITIZED)
        skip(); /* it maps memory for its own ends */
    check_mappings(tiny, &o);
}

static void mappings_are_as_planned(void **unused)
{
    (void)unused;
    if (SANITIZED)
        skip();
    for (int kv = CARAT_KV_BF16; kv <= CARAT_KV_Q8; kv++)
        for (int exact = 0; exact <= 1; exact++)
            for (int m = 0; m < 2; m++) {
                carat_engine_options o = options(1, 300 + 437 * kv, (carat_kv)kv);
                o.sessions = 1 + kv % 3;
                o.exact = exact;
                o.isa = kv == CARAT_KV_F16 ? "ref" : NULL;
                check_mappings(m ? q4_0 : tiny, &o);
            }
}

/* Tiles of the head are copies, which are planned, or stay in the file, which is then not read at the
 * start. */
static void tiles_are_as_planned(void **unused)
{
    (void)unused;
    if (SANITIZED)
        skip();
    for (int strategy = CARAT_HEAD_PRELOAD; strategy <= CARAT_HEAD_SHORTLIST; strategy++)
        for (int quant = CARAT_QUANT_NATIVE; quant <= CARAT_QUANT_TENSOR; quant++)
            for (int capacity = 0; capacity <= 5; capacity += 5) {
                carat_head_options h = {.size = sizeof h, .strategy = (carat_head)strategy, .tile = 64};
                carat_engine_options o = options(1, 300, CARAT_KV_BF16);
                h.quant = (carat_head_quant)quant;
                h.capacity = capacity;
                o.head = &h;
                o.isa = quant == CARAT_QUANT_CHANNEL ? "ref" : NULL;
                check_mappings(tiny, &o);
            }
}

/* ---- weights that stay in the file ---- */

struct pages {
    uintptr_t page[4096]; /* numbers of pages that hold a matrix, some twice */
    size_t n;
};

static carat_status add_pages(void *user, const char *place, const char *tensor, const struct ct_weight *w)
{
    struct pages *p = user;
    uintptr_t begin = (uintptr_t)w->data, page = ct_os_page();
    (void)place;
    (void)tensor;
    for (uintptr_t at = begin / page; w->rows > 1 && at <= (begin + ct_weight_bytes(w) - 1) / page; at++) {
        assert_true(p->n < CT_COUNT(p->page));
        p->page[p->n++] = at;
    }
    return CARAT_OK;
}

static int ascending(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static void check_mapped(const carat_model *model, const char *isa)
{
    carat_engine_options o = options(1, 256, CARAT_KV_BF16);
    carat_engine *engine = NULL;
    struct pages *p = calloc(1, sizeof *p);
    size_t page = ct_os_page(), n = 0;

    o.isa = isa;
    carat_plan plan = plan_of(model, &o);
    ct_weights_walk(&model->weights, &model->config, model->file, add_pages, p);
    qsort(p->page, p->n, sizeof *p->page, ascending);
    for (size_t i = 0; i < p->n; i++)
        n += i == 0 || p->page[i] != p->page[i - 1];
    assert_int_equal(plan.packed_bytes, 0);
    assert_int_equal(plan.weight_bytes, n * page);
    check_mappings(model, &o);
    OK(carat_engine_create(&engine, model, &o, err));
    const struct ct_cpu_backend *b = ct_cpu_const(engine->backend);
    assert_true(b->n_mapped > 0);
    for (int i = 0; i < b->n_mapped; i++)
        assert_int_equal(resident_pages(b->mapped[i].begin, page), 1);
    carat_engine_close(engine);
    free(p);
}

/* Of rows as they lie in the file, and of panels in a packed file. */
static void mapped_weights_count_in_pages(void **unused)
{
    char path[sizeof scratch + 16];
    carat_model *packed = NULL;

    (void)unused;
    if (SANITIZED)
        skip();
    snprintf(path, sizeof path, "%s/packed.carat", scratch);
    check_mapped(tiny, "ref");
    check_mapped(q4_0, "ref");
    OK(carat_model_pack(tiny, path, NULL, NULL, err));
    OK(carat_model_open(&packed, path, NULL, err));
    check_mapped(packed, NULL);
    check_mapped(packed, "ref");
    carat_model_close(packed);
}

/* ---- memory behind them ---- */

static void check_pages(const carat_model *model, carat_kv kv, int threads)
{
    carat_engine_options o = options(threads, MOST, kv);
    size_t page = ct_os_page();
    o.sessions = 2;
    struct rig r = rig_open((carat_model *)model, &o);
    const carat_plan *p = &r.engine->plan;
    const struct ct_cpu_backend *b = ct_cpu_const(r.engine->backend);
    struct ids ids = scattered_ids(MOST, r.n_vocab, 7);
    size_t work = p->work_bytes / page;

    assert_int_equal(resident_pages(b->kv.base, p->kv_bytes), 0);
    assert_true(resident_pages(b->work.base, p->work_bytes) <= work / 8); /* tables of the layout */
    OK(carat_sync(r.session[0], ids.id, 1000, NULL, err));
    for (int full = 0; full <= 1; full++) {
        /* the blocks that the first session used are there, at last all of its half, and none of the others
         * */
        for (int i = 0; i < CT_ATTN_TYPES; i++) {
            const struct ct_kv_pool *pool = &r.engine->cache.group[i].pool;
            const uint8_t *blocks = b->kv.base + pool->at;
            int held = CT_MIN(full ? MOST / CT_KEY_BLOCK : 4, pool->length);
            size_t used = (size_t)held * pool->block_bytes, all = (size_t)pool->n_blocks * pool->block_bytes;
            assert_int_equal(resident_pages(blocks, used), used / page);
            if (!full) /* then huge pages may reach into the others */
                assert_int_equal(resident_pages(blocks + used, all - used), 0);
        }
        OK(carat_sync(r.session[0], ids.id, MOST, NULL, err));
    }
    assert_true(resident_pages(b->work.base, p->work_bytes) >= work * 3 / 4); /* no pass needs less */
    if (p->packed_bytes)
        assert_int_equal(resident_pages(b->packed.base, p->packed_bytes), p->packed_bytes / page);
    OK(carat_rewind(r.session[0], 0, err));
    for (int i = 0; i < CT_ATTN_TYPES; i++) { /* given back; where huge pages reached is not the session's */
        const struct ct_kv_pool *pool = &r.engine->cache.group[i].pool;
        size_t used = (size_t)CT_MIN(MOST / CT_KEY_BLOCK, pool->length) * pool->block_bytes;
        assert_int_equal(resident_pages(b->kv.base + pool->at, used), 0);
    }
    free(ids.id);
    rig_close(&r);
}

static void a_full_context_fills_the_cache(void **unused)
{
    (void)unused;
    check_pages(tiny, CARAT_KV_BF16, 1);
    check_pages(tiny, CARAT_KV_Q8, 2);
    check_pages(q4_0, CARAT_KV_F32, 1);
}

/* A long context is worth huge pages; a short one is not. */
static void long_contexts_want_huge_pages(void **unused)
{
    carat_engine_options o = options(1, MOST, CARAT_KV_BF16);
    struct ct_os_memory m;

    (void)unused;
    ct_os_memory(&m, "");
    if (!*m.huge_pages)
        skip(); /* a kernel without them */
    o.sessions = 2;
    struct rig r = rig_open(tiny, &o);
    struct ids ids = scattered_ids(1100, r.n_vocab, 7);
    const struct ct_cpu_backend *b = ct_cpu_const(r.engine->backend);
    const struct ct_kv_cache *cache = &r.engine->cache;

    OK(carat_sync(r.session[0], ids.id, 1000, NULL, err));
    assert_false(wants_huge_pages(b->kv.base));
    OK(carat_append(r.session[0], ids.id, 24, err)); /* reaches 1024 */
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        assert_true(wants_huge_pages(b->kv.base + cache->group[i].pool.at));
    free(ids.id);
    rig_close(&r);
}

/* ---- limits ---- */

/* The number behind `lead` in the message. */
static int offered(const char *message, const char *lead)
{
    const char *at = strstr(message, lead);
    if (!at)
        fail_msg("'%s' is not in: %s", lead, message);
    return atoi(at + strlen(lead));
}

static void assert_says(const carat_error *err, const char *part)
{
    if (!strstr(err->message, part))
        fail_msg("'%s' is not in: %s", part, err->message);
}

static void more_context_never_needs_less(void **unused)
{
    (void)unused;
    for (int kv = CARAT_KV_BF16; kv <= CARAT_KV_Q8; kv++) {
        size_t before = 0;
        for (int context = 1; context <= MOST; context += context < 600 ? 1 : 13) {
            size_t bytes = bytes_of(tiny, context, (carat_kv)kv);
            assert_true(bytes >= before);
            before = bytes;
        }
    }
}

static void limit_offers_what_fits(void **unused)
{
    carat_engine_options o = options(1, MOST, CARAT_KV_BF16);
    carat_plan plan = {.size = sizeof plan};
    carat_engine *engine = NULL;
    carat_error e;

    (void)unused;
    o.max_bytes = bytes_of(tiny, MOST, CARAT_KV_BF16);
    OK(carat_plan_engine(tiny, &o, &plan, err));
    o.max_bytes--;
    FAILS(CARAT_E_MEMORY, carat_plan_engine(tiny, &o, &plan, err));
    FAILS(CARAT_E_MEMORY, carat_engine_create(&engine, tiny, &o, err));
    assert_null(engine);

    o.max_bytes = bytes_of(tiny, 700, CARAT_KV_Q8);
    carat_plan_engine(tiny, &o, &plan, &e);
    int bf16 = offered(e.message, "a context of 2048 needs ") ? offered(e.message, "; a context of ") : 0;
    int q8 = offered(e.message, "with a q8 cache one of ");
    assert_true(bf16 >= 256 && q8 >= 700 && q8 > bf16 && q8 < MOST);
    assert_true(bytes_of(tiny, bf16, CARAT_KV_BF16) <= o.max_bytes);
    assert_true(bytes_of(tiny, bf16 + 1, CARAT_KV_BF16) > o.max_bytes);
    assert_true(bytes_of(tiny, q8, CARAT_KV_Q8) <= o.max_bytes);
    assert_true(bytes_of(tiny, q8 + 1, CARAT_KV_Q8) > o.max_bytes);

    o.max_bytes = bytes_of(tiny, 256, CARAT_KV_BF16) - 1; /* room for q8 alone */
    carat_plan_engine(tiny, &o, &plan, &e);
    q8 = offered(e.message, "; a context of ");
    assert_says(&e, " fits with a q8 cache");
    assert_true(bytes_of(tiny, q8, CARAT_KV_Q8) <= o.max_bytes);

    o.max_bytes = bytes_of(tiny, 256, CARAT_KV_Q8) - 1;
    carat_plan_engine(tiny, &o, &plan, &e);
    assert_says(&e, "even a context of 256 with a q8 cache needs");

    o.max_bytes = 1 << 20; /* the weights are 5 MiB */
    o.sessions = 3;
    carat_plan_engine(tiny, &o, &plan, &e);
    assert_says(&e, "a context of 2048 for each of 3 sessions needs");
    assert_says(&e, "not even the weights fit");
}

/* Weights count wherever they lie. */
static void limit_counts_mapped_weights(void **unused)
{
    carat_engine_options o = options(1, 256, CARAT_KV_BF16);
    (void)unused;
    o.isa = "ref";
    carat_plan rows = plan_of(tiny, &o);
    assert_int_equal(rows.packed_bytes, 0);
    assert_true(rows.weight_bytes >= model_info(tiny).weight_bytes);
    o.max_bytes = rows.bytes - 1;
    FAILS(CARAT_E_MEMORY, carat_plan_engine(tiny, &o, &rows, err));
}

static void machine_is_a_limit(void **unused)
{
    carat_engine_options o = options(1, 256, CARAT_KV_BF16);
    struct carat_engine *e = calloc(1, sizeof *e);
    carat_error error;

    (void)unused;
    OK(ct_plan(e, tiny, &o, err));
    OK(ct_plan_fits_machine(e, &o, err));
    e->plan.bytes = (size_t)1 << 60;
    assert_int_equal(ct_plan_fits_machine(e, &o, &error), CARAT_E_MEMORY);
    assert_says(&error, "of memory that this process may use; a context of 2048 fits");
    carat_engine_close(e);
}

/* ---- budgets ---- */

static carat_engine_options fitted(const carat_model *model, carat_engine_options o, size_t bytes)
{
    OK(carat_fit_engine(model, &o, bytes, err));
    assert_true(plan_of(model, &o).bytes <= bytes);
    return o;
}

static void budget_chooses(void **unused)
{
    const carat_engine_options open = options(1, 0, CARAT_KV_DEFAULT);
    size_t all = bytes_of(tiny, MOST, CARAT_KV_BF16), some = bytes_of(tiny, 700, CARAT_KV_Q8);
    size_t brief = bytes_of(tiny, 256, CARAT_KV_BF16);
    carat_engine_options o;

    (void)unused;
    o = fitted(tiny, open, all); /* to the byte */
    assert_int_equal(o.context, MOST);
    assert_int_equal(o.kv, CARAT_KV_BF16);
    o = fitted(tiny, open, all - 1); /* below the default context, where q8 gives more */
    assert_int_equal(o.context, MOST);
    assert_int_equal(o.kv, CARAT_KV_Q8);
    o = fitted(tiny, open, some);
    assert_int_equal(o.kv, CARAT_KV_Q8);
    assert_true(o.context >= 700 && bytes_of(tiny, o.context + 1, CARAT_KV_Q8) > some);

    /* what is given stays */
    o = fitted(tiny, options(1, 0, CARAT_KV_BF16), some);
    assert_int_equal(o.kv, CARAT_KV_BF16);
    assert_true(o.context >= 256 && bytes_of(tiny, o.context + 1, CARAT_KV_BF16) > some);
    o = fitted(tiny, options(1, 256, CARAT_KV_DEFAULT), brief);
    assert_int_equal(o.context, 256);
    assert_int_equal(o.kv, CARAT_KV_BF16);
    o = fitted(tiny, options(1, 256, CARAT_KV_DEFAULT), brief - 1);
    assert_int_equal(o.context, 256);
    assert_int_equal(o.kv, CARAT_KV_Q8);
    o = fitted(tiny, options(1, 500, CARAT_KV_F32), 2 * all);
    assert_int_equal(o.kv, CARAT_KV_F32);

    /* exact arithmetic keeps f32 */
    o = open;
    o.exact = 1;
    o = fitted(tiny, o, all);
    assert_int_equal(o.kv, CARAT_KV_F32);
    assert_true(o.context < MOST);
    /* several sessions share it */
    o = open;
    o.sessions = 4;
    assert_true(fitted(tiny, o, all).context < MOST);
}

static void budget_keeps_bf16_at_a_default_context(void **unused)
{
    const int most = tiny->config.max_context;

    (void)unused;
    tiny->config.max_context = 32768; /* the test's own model */
    size_t room = bytes_of(tiny, 9000, CARAT_KV_BF16), less = bytes_of(tiny, 8000, CARAT_KV_BF16) - 1;
    carat_engine_options o = fitted(tiny, options(1, 0, CARAT_KV_DEFAULT), room);
    assert_int_equal(o.kv, CARAT_KV_BF16);
    assert_true(o.context >= 9000 && o.context < 32768);
    o = fitted(tiny, options(1, 0, CARAT_KV_DEFAULT), less);
    assert_int_equal(o.kv, CARAT_KV_Q8);
    assert_true(o.context > 8000);
    tiny->config.max_context = most;
}

static void budget_refuses(void **unused)
{
    carat_engine_options o = options(1, 500, CARAT_KV_DEFAULT);
    size_t least = bytes_of(tiny, 256, CARAT_KV_Q8);
    carat_error e;

    (void)unused;
    FAILS(CARAT_E_MEMORY, carat_fit_engine(tiny, &o, bytes_of(tiny, 500, CARAT_KV_Q8) - 1, err));
    assert_int_equal(o.context, 500); /* unchanged */
    assert_int_equal(o.kv, CARAT_KV_DEFAULT);
    o.context = 0;
    assert_true(fitted(tiny, o, least).context >= 256);
    assert_int_equal(carat_fit_engine(tiny, &o, least - 1, &e), CARAT_E_MEMORY);
    assert_says(&e, "a context of 256 needs");
    assert_says(&e, "of the budget; the weights leave too little room");
    o.kv = CARAT_KV_BF16;
    assert_int_equal(carat_fit_engine(tiny, &o, least, &e), CARAT_E_MEMORY);
    assert_says(&e, "with a q8 cache");
    assert_int_equal(carat_fit_engine(tiny, &o, 1, &e), CARAT_E_MEMORY);
    assert_says(&e, "not even the weights fit");

    FAILS(CARAT_E_ARGUMENT, carat_fit_engine(tiny, NULL, least, err));
    FAILS(CARAT_E_ARGUMENT, carat_fit_engine(NULL, &o, least, err));
    o.context = -1;
    FAILS(CARAT_E_ARGUMENT, carat_fit_engine(tiny, &o, least, err));
    o.size = 1;
    FAILS(CARAT_E_ARGUMENT, carat_fit_engine(tiny, &o, least, err));
}

/* ---- a model in memory ---- */

/* Its table of layer inputs is there, unless the plan is for the day when it lies on a disk. */
static void a_plan_may_count_a_table_as_on_the_disk(void **state)
{
    static const char *const names[] = {"config.json", "model.safetensors"};
    static const char fixture[] = CT_TEST_DATA "/vectors/models/gemma4-e";
    carat_buffer files[CT_COUNT(names)];
    carat_engine_options o = options(1, 64, CARAT_KV_DEFAULT);
    carat_model *on_disk, *m;
    carat_engine *e = NULL;
    char path[PATH_SIZE];
    (void)state;

    for (size_t i = 0; i < CT_COUNT(names); i++) {
        files[i].name = names[i];
        files[i].data = read_whole(path_join(path, fixture, names[i]), &files[i].size);
    }
    OK(carat_model_open(&on_disk, fixture, NULL, err));
    OK(carat_model_open_memory(&m, files, sizeof *files, (int)CT_COUNT(names), NULL, err));
    const carat_plan wanted = plan_of(on_disk, &o), in_memory = plan_of(m, &o);
    assert_true(wanted.disk_bytes > 0);
    assert_int_equal(in_memory.disk_bytes, 0);
    o.ple_resident = -1;
    const carat_plan plan = plan_of(m, &o);
    assert_int_equal(plan.disk_bytes, wanted.disk_bytes);
    assert_int_equal(plan.weight_bytes, wanted.weight_bytes);
    assert_int_equal(plan.work_bytes, wanted.work_bytes);
    assert_int_equal(plan.bytes, wanted.bytes);
    FAILS(CARAT_E_IO, carat_engine_create(&e, m, &o, err));
    carat_model_close(m);
    carat_model_close(on_disk);
    for (size_t i = 0; i < CT_COUNT(names); i++)
        free((void *)(uintptr_t)files[i].data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_may_count_a_table_as_on_the_disk),
        cmocka_unit_test(stacks_are_as_planned),
        cmocka_unit_test(mappings_are_as_planned),
        cmocka_unit_test(tiles_are_as_planned),
        cmocka_unit_test(mapped_weights_count_in_pages),
        cmocka_unit_test(a_full_context_fills_the_cache),
        cmocka_unit_test(long_contexts_want_huge_pages),
        cmocka_unit_test(more_context_never_needs_less),
        cmocka_unit_test(limit_offers_what_fits),
        cmocka_unit_test(limit_counts_mapped_weights),
        cmocka_unit_test(machine_is_a_limit),
        cmocka_unit_test(budget_chooses),
        cmocka_unit_test(budget_keeps_bf16_at_a_default_context),
        cmocka_unit_test(budget_refuses),
    };
    return cmocka_run_group_tests_name("api: plan", tests, open_models, close_models);
}
