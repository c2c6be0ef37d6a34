/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck.c: checks the kernels of every level that this CPU has against the definition, bit for bit, over
 * random and hard cases, and times them (--bench). The cases are those of
 * check/kernel_cases.h, what they are given is drawn in kcheck_{product,attend,vector}.c.
 * Every case follows from the seed, which is printed; a failing case names the seed that makes it the
 * first one. */
#define _DEFAULT_SOURCE
#include "kcheck.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: kcheck [--seed N] [--time SECONDS] [--type T] [--level L] [--entry E] [--room BYTES] [-v]\n"
    "       kcheck --bench [--type T] [--level L] [--tokens 1,4,8,512] [--shapes 270m|1b|4b] [-t THREADS]\n"
    "       kcheck --bench --entry E|all [--level L]\n";

/* What this CPU lacks may be in the build as an emulation (emulate.h), which adds to avx2 and the levels
 * between. */
typedef void init(struct ct_kernel *k);
#define EMULATED(room, level) extern init ct_##room##_init_emulated_##level __attribute__((weak))
EMULATED(panels, avxvnni);
EMULATED(panels, avx512);
EMULATED(prepare, avx512);
EMULATED(vector, avx512);
EMULATED(attend, avx512);
EMULATED(panels, vnni);
EMULATED(panels, amx);
EMULATED(attend, amx);
static const struct {
    const char *isa, *name;
    init *init[4]; /* NULL: no more */
} emulations[] = {
    /* weakest first */
    {"avxvnni", "emulated avxvnni", {ct_panels_init_emulated_avxvnni}},
    {"avx512",
     "emulated avx512",
     {ct_panels_init_emulated_avx512, ct_prepare_init_emulated_avx512, ct_vector_init_emulated_avx512,
      ct_attend_init_emulated_avx512}},
    {"vnni", "emulated vnni", {ct_panels_init_emulated_vnni}},
    {"amx", "emulated amx", {ct_panels_init_emulated_amx, ct_attend_init_emulated_amx}},
};

static struct kcheck state; /* the signal handler's only way to it */

/* ---- levels ---- */

/* Fills k with a level and says how it can run; "not ..." when it cannot. */
static const char *take_level(struct ct_kernel *k, const struct ct_cpu *cpu, const char *isa)
{
    bool built = ct_kernel_choose(k, cpu, isa);
    size_t level = 0;

    if (built && strcmp(k->isa, isa) == 0)
        return "runs";
    while (level < CT_COUNT(emulations) && strcmp(emulations[level].isa, isa) != 0)
        level++;
    if (level == CT_COUNT(emulations) || !emulations[level].init[0] || !ct_cpu_usable(cpu, "avx2+fma+f16c"))
        return built ? "not on this CPU" : "not in this build";
    ct_kernel_choose(k, cpu, "avx2");
    for (size_t i = 0; i <= level; i++)
        for (size_t e = 0; e < CT_COUNT(emulations[i].init) && emulations[i].init[e]; e++)
            emulations[i].init[e](k);
    k->isa = emulations[level].name;
    return "emulated";
}

/* Fills k with a level as processors of other vendors run it; false where that is the same. */
static bool take_other(struct ct_kernel *k, const struct ct_kernel *here, struct ct_cpu cpu)
{
    static const struct {
        const char *isa, *name;
    } others[] = {{"avx512", "other avx512"}, {"vnni", "other vnni"}};
    const char *vendor = strcmp(cpu.vendor, "AuthenticAMD") == 0 ? "GenuineIntel" : "AuthenticAMD";

    snprintf(cpu.vendor, sizeof cpu.vendor, "%s", vendor);
    for (size_t i = 0; i < CT_COUNT(others); i++)
        if (strcmp(here->isa, others[i].isa) == 0 && ct_kernel_choose(k, &cpu, here->isa)) {
            k->isa = others[i].name;
            return true;
        }
    return false;
}

/* Takes the levels that can run; with `only`, ref and that one. Timing an emulation says nothing. */
static bool find_levels(struct kcheck *c, const char *only, bool emulated)
{
    struct ct_cpu cpu;
    bool asked = only == NULL;
    const char *isa;

    ct_cpu_detect(&cpu);
    printf("kcheck: %s;", cpu.name);
    for (int i = 0; (isa = carat_isa_name(i)) != NULL; i++) {
        if (i > 0 && only && strcmp(only, isa) != 0)
            continue;
        const char *how = take_level(&c->level[c->n_level], &cpu, isa);
        bool runs = strcmp(how, "runs") == 0 || (emulated && strcmp(how, "emulated") == 0);
        printf(" %s: %s;", isa, how);
        c->n_level += runs;
        if (runs && take_other(&c->level[c->n_level], &c->level[c->n_level - 1], cpu))
            c->n_level++;
        asked |= runs && only && strcmp(only, isa) == 0;
    }
    printf(" seed %llu\n", (unsigned long long)c->seed);
    if (!asked)
        printf("kcheck: level %s cannot run here\n", only);
    return asked;
}

/* ---- faults ---- */

static void on_signal(int number)
{
    const struct kcheck *c = &state;
    char text[512];
    int n = snprintf(text, sizeof text,
                     "CRASHED with signal %d: %s of level %s, %s; again with --seed %llu --time 0\n", number,
                     c->entry ? c->entry : "?", c->n_level ? c->level[c->now].isa : "?", c->shape,
                     (unsigned long long)c->case_seed);

    if (write(STDOUT_FILENO, text, (size_t)n) < 0)
        _exit(3);
    _exit(1);
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    for (size_t i = 0; i < CT_COUNT(numbers); i++)
        signal(numbers[i], on_signal);
}

/* ---- cases ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What a case draws depends on its seed and on what it is about, not on which other cases run. */
static void begin_case(struct kcheck *c, int about)
{
    c->random = (c->case_seed << 8) + (uint64_t)about;
    kc_random(c);
    c->now = 0;
    c->entry = "preparing a case";
    c->shape[0] = 0;
}

static void one_round(struct kcheck *c)
{
    for (int type = 0; type < CT_TYPE_COUNT; type++) {
        if (type == CT_NUQ || (c->type >= 0 && type != c->type)) /* NUQ is never a weight */
            continue;
        if (c->only && strcmp(c->only, "project") != 0)
            continue;
        begin_case(c, type);
        kc_product_case(c, (enum ct_type)type);
    }
    for (int i = 0; i < kc_vector_case_count; i++) {
        if (c->type >= 0 || (c->only && strcmp(c->only, kc_vector_cases[i].name) != 0))
            continue;
        begin_case(c, 128 + i);
        kc_vector_cases[i].run(c);
        kc_release(c, 0);
    }
}

static int check(struct kcheck *c)
{
    double start = now();
    long rounds = 0, cases = 0;

    do {
        c->case_seed = c->seed + (uint64_t)rounds++;
        one_round(c);
    } while (!c->failures && now() - start < c->seconds);

    for (int l = 0; l < c->n_level; l++)
        for (int i = 0; i < KC_ENTRIES && c->done[i].name; i++) {
            cases += c->done[i].cases[l];
            if (c->verbose)
                printf("%-16s %-16s %ld cases\n", c->level[l].isa, c->done[i].name, c->done[i].cases[l]);
        }
    printf("kcheck: %ld rounds, %ld cases, %d levels, %d differences, %.1f s\n", rounds, cases, c->n_level,
           c->failures, now() - start);
    return cases == 0 || c->failures ? 1 : 0;
}

/* ---- options ---- */

static int find_type(const char *name)
{
    for (int t = 0; t < CT_TYPE_COUNT; t++)
        if (strcmp(ct_type_info((enum ct_type)t)->name, name) == 0)
            return t;
    fprintf(stderr, "kcheck: no type is named %s\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    struct kcheck *c = &state;
    struct kc_bench bench = {.type = -1, .tokens = "1,4,8,512", .shapes = "1b", .threads = 1};
    const char *level = NULL;
    bool benching = false;

    *c = (struct kcheck){.seed = 1, .seconds = 3, .type = -1};
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        const char *o = argv[i];
        if (strcmp(o, "-v") == 0) {
            c->verbose = true;
            continue;
        }
        if (strcmp(o, "--bench") == 0) {
            benching = true;
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : "";
        if (strcmp(o, "--seed") == 0)
            c->seed = strtoull(value, NULL, 0);
        else if (strcmp(o, "--time") == 0)
            c->seconds = strtod(value, NULL);
        else if (strcmp(o, "--type") == 0)
            bench.type = c->type = find_type(value);
        else if (strcmp(o, "--level") == 0)
            level = value;
        else if (strcmp(o, "--room") == 0)
            c->room = CT_MIN(strtoull(value, NULL, 0), 4096ull);
        else if (strcmp(o, "--entry") == 0)
            c->only = value;
        else if (strcmp(o, "--tokens") == 0)
            bench.tokens = value;
        else if (strcmp(o, "--shapes") == 0)
            bench.shapes = value;
        else if (strcmp(o, "-t") == 0)
            bench.threads = atoi(value);
        else {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (!find_levels(c, level, !benching))
        return 1;
    catch_signals();
    kc_host(c);
    if (benching)
        return c->only ? kc_bench_vector(c) : kc_bench(c, &bench);
    return check(c);
}
