/* SPDX-License-Identifier: Apache-2.0 */
/* test_cpu.c: what the processor says about itself, against what the kernel and the compiler make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "os/cpu.h"
#include "kernel/kernel.h"

static void has_a_name(void **state)
{
    (void)state;
    struct ct_cpu cpu;
    ct_cpu_detect(&cpu);
    assert_true(strlen(cpu.name) > 0);
    assert_true(cpu.name[0] != ' ' && cpu.name[strlen(cpu.name) - 1] != ' ');
    for (int i = 0; i < cpu.n_level; i++) {
        assert_in_range(strlen(cpu.level[i].name), 1, 23); /* the public struct holds 24 */
        assert_true(cpu.level[i].present || !cpu.level[i].usable);
    }
#if defined(__x86_64__)
    __builtin_cpu_init();
    assert_int_equal(ct_cpu_usable(&cpu, "avx2+fma+f16c"),
                     __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    assert_int_equal(strlen(cpu.vendor), 12);
    assert_true(cpu.family >= 6);
#endif
}

/* What the kernel calls the line of flags. */
#if defined(__x86_64__)
#define FLAGS "flags"
#else
#define FLAGS "Features"
#endif

/* Reads the line of /proc/cpuinfo that begins with `name`; false without one. */
static bool cpuinfo(const char *name, char *line, size_t capacity)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (f && !found && fgets(line, (int)capacity, f))
        found = strncmp(line, name, strlen(name)) == 0;
    if (f)
        fclose(f);
    line[strcspn(line, "\n")] = 0;
    return found;
}

/* The kernel lists a flag when the processor has it and the kernel saves what it needs: what is usable here.
 */
static void agrees_with_the_kernel(void **state)
{
    (void)state;
    static const struct {
        const char *level, *flags[5];
    } table[] = {
        {"sse2", {" sse2 "}},
        {"avx", {" avx "}},
        {"avx2+fma+f16c", {" avx2 ", " fma ", " f16c "}},
        {"avxvnni", {" avx_vnni "}},
        {"avx512f+bw+vl+dq", {" avx512f ", " avx512bw ", " avx512vl ", " avx512dq "}},
        {"avx512vnni", {" avx512_vnni "}},
        {"amx-tile+int8+bf16", {" amx_tile ", " amx_int8 ", " amx_bf16 "}},
        {"neon", {" asimd "}},
        {"dotprod", {" asimddp "}},
        {"i8mm", {" i8mm "}},
    };
    struct ct_cpu cpu;
    char line[8192];
    ct_cpu_detect(&cpu);
    if (!cpuinfo(FLAGS, line, sizeof line - 1))
        skip(); /* or an emulator that shows the host's */
    strcat(line, " ");
    for (int i = 0; i < cpu.n_level; i++) {
        size_t k = 0;
        while (k < CT_COUNT(table) && strcmp(table[k].level, cpu.level[i].name) != 0)
            k++;
        assert_true(k < CT_COUNT(table));
        bool all = true;
        for (int j = 0; table[k].flags[j]; j++)
            all = all && strstr(line, table[k].flags[j]) != NULL;
        if (all != cpu.level[i].usable)
            fail_msg("%s: usable is %d, the kernel says %d", cpu.level[i].name, cpu.level[i].usable, all);
    }
    assert_int_equal(ct_cpu_has_vbmi(), strstr(line, " avx512vbmi ") != NULL);
}

static void agrees_on_the_model(void **state)
{
    (void)state;
#if defined(__x86_64__)
    static const char *const name[] = {"cpu family", "model\t", "stepping"};
    struct ct_cpu cpu;
    char line[256];
    ct_cpu_detect(&cpu);
    const int value[] = {cpu.family, cpu.model, cpu.stepping};
    for (size_t i = 0; i < CT_COUNT(name); i++) {
        int wanted = 0;
        if (!cpuinfo(name[i], line, sizeof line) || !strchr(line, ':') ||
            sscanf(strchr(line, ':') + 1, "%d", &wanted) != 1)
            skip();
        assert_int_equal(value[i], wanted);
    }
#else
    skip(); /* other systems say less, and emulators what the host is */
#endif
}

/* A processor without AVX2, as an emulator or an old machine is: the plain kernels, whatever limit is asked
 * for. */
static void falls_back_to_ref(void **state)
{
    (void)state;
    struct ct_cpu cpu = {.n_level = 0};
    struct ct_kernel k;
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    assert_string_equal(k.isa, "ref");
#if defined(__x86_64__)
    assert_true(ct_kernel_choose(&k, &cpu, "avx2"));
    assert_string_equal(k.isa, "ref");
    cpu.level[cpu.n_level++] = (struct ct_cpu_level){"avx2+fma+f16c", true, true};
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    assert_string_equal(k.isa, "avx2");
#endif
    assert_true(ct_kernel_choose(&k, &cpu, "ref"));
    assert_string_equal(k.isa, "ref");
    assert_false(ct_kernel_choose(&k, &cpu, "mmx"));
}

/* What a processor has, with a limit, names the level; nothing of it is run. */
static const struct best {
    int n; /* of the levels below */
    const char *limit, *isa;
} best[] = {
#if defined(__x86_64__)
    {1, NULL, "avx2"},       {1, "vnni", "avx2"}, {2, NULL, "avxvnni"},      {2, "amx", "avxvnni"},
    {2, "avx2", "avx2"},     {3, NULL, "avx512"}, {3, "avxvnni", "avxvnni"}, {4, "vnni", "vnni"},
    {4, "avx512", "avx512"}, {4, NULL, "vnni"},   {5, "vnni", "vnni"},       {5, "ref", "ref"},
#elif defined(__aarch64__)
    {0, NULL, "ref"},          {1, NULL, "neon"},   {2, NULL, "dotprod"},
    {3, NULL, "i8mm"},         {3, "ref", "ref"},   {3, "neon", "neon"},
    {3, "dotprod", "dotprod"}, {1, "i8mm", "neon"}, {0, "neon", "ref"},
#endif
};

static void takes_the_best_level(void **state)
{
    (void)state;
    struct ct_cpu cpu = {
#if defined(__x86_64__)
        .level = {{"avx2+fma+f16c", true, true},
                  {"avxvnni", true, true},
                  {"avx512f+bw+vl+dq", true, true},
                  {"avx512vnni", true, true},
                  {"amx-tile+int8+bf16", true, true}},
#elif defined(__aarch64__)
        .level = {{"neon", true, true}, {"dotprod", true, true}, {"i8mm", true, true}},
#endif
    };
    struct ct_kernel k;
    for (size_t i = 0; i < CT_COUNT(best); i++) {
        cpu.n_level = best[i].n;
        assert_true(ct_kernel_choose(&k, &cpu, best[i].limit));
        assert_string_equal(k.isa, best[i].isa);
    }
#if defined(__x86_64__)
    cpu.n_level = 5; /* the system has the last word */
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    assert_true(strcmp(k.isa, "amx") == 0 || strcmp(k.isa, "vnni") == 0);
    assert_false(ct_cpu_usable(&cpu, "avx"));
    cpu.level[2].usable = false; /* VNNI is no use without the rest */
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    assert_string_equal(k.isa, "avxvnni");
#elif defined(__aarch64__)
    cpu.n_level = 3;
    cpu.level[1].usable = false; /* i8mm alone is no use: one token wants dots */
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    assert_string_equal(k.isa, "neon");
    assert_false(ct_kernel_choose(&k, &cpu, "avx2"));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_a_name),           cmocka_unit_test(agrees_with_the_kernel),
        cmocka_unit_test(agrees_on_the_model),  cmocka_unit_test(falls_back_to_ref),
        cmocka_unit_test(takes_the_best_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
