/* SPDX-License-Identifier: Apache-2.0 */
/* test_cgroup.c: threads, quotas, cpusets, cores and memory read from a made-up /proc and /sys, whole,
 * missing, wrong and far too large. */
#include "scratch.h"

#include "os/cgroup.h"

/* Writes a file below scratch/root, with the directories it needs. */
static void put(const char *root, const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/%s", scratch, root, name);
    write_file(path, text, strlen(text));
}

static struct ct_cpu_mask first(int n)
{
    struct ct_cpu_mask m = {{0}};
    for (int i = 0; i < n; i++)
        m.bits[i / 64] |= (uint64_t)1 << i % 64;
    return m;
}

#define V2  "sys/fs/cgroup/"
#define CPU "sys/devices/system/cpu/"

/* Each case is a list of files; of 64 processors that the mask allows, how many are used, and which count
 * says so. */
static void counts_threads(void **state)
{
    (void)state;
    static const char cgroup[] = "proc/self/cgroup", online[] = CPU "online";
    static const struct {
        const char *name;
        const char *file[5][2];
        int use;
        const char *by;
        const char *where; /* file of the quota */
    } cases[] = {
        {"nothing", {{"x", ""}}, 64, "affinity", ""},
        {"online", {{online, "0-63\n"}}, 64, "online", ""},
        {"mask", {{online, "0-95\n"}}, 64, "affinity", ""},
        {"offline", {{online, "0-7,16-23\n"}}, 16, "online", ""},
        {"online-wrong", {{online, "0-\n"}}, 64, "affinity", ""},
        {"v2", {{cgroup, "0::/\n"}, {V2 "cpu.max", "150000 100000\n"}}, 2, "quota", "/" V2 "cpu.max"},
        {"v2-exact", {{cgroup, "0::/\n"}, {V2 "cpu.max", "300000 100000\n"}}, 3, "quota", "/" V2 "cpu.max"},
        {"v2-little", {{cgroup, "0::/\n"}, {V2 "cpu.max", "1000 100000\n"}}, 1, "quota", "/" V2 "cpu.max"},
        {"v2-larger",
         {{cgroup, "0::/\n"}, {V2 "cpu.max", "6500000 100000\n"}},
         64,
         "affinity",
         "/" V2 "cpu.max"},
        {"v2-max", {{cgroup, "0::/\n"}, {V2 "cpu.max", "max 100000\n"}}, 64, "affinity", ""},
        {"v2-nested",
         {{cgroup, "0::/a/b\n"}, {V2 "a/b/cpu.max", "max 100000\n"}, {V2 "a/cpu.max", "400000 100000\n"}},
         4,
         "quota",
         "/" V2 "a/cpu.max"},
        {"v2-tightest",
         {{cgroup, "0::/a/b\n"}, {V2 "a/b/cpu.max", "200000 100000\n"}, {V2 "a/cpu.max", "400000 100000\n"}},
         2,
         "quota",
         "/" V2 "a/b/cpu.max"},
        {"v2-unseen",
         {{cgroup, "0::/docker/4711\n"}, {V2 "cpu.max", "500000 100000\n"}},
         5,
         "quota",
         "/" V2 "cpu.max"},
        {"v2-above",
         {{cgroup, "0::/../../x\n"}, {V2 "cpu.max", "500000 100000\n"}},
         5,
         "quota",
         "/" V2 "cpu.max"},
        {"v2-unified",
         {{cgroup, "1:name=systemd:/\n0::/a\n"}, {V2 "unified/a/cpu.max", "700000 100000\n"}},
         7,
         "quota",
         "/" V2 "unified/a/cpu.max"},
        {"v1",
         {{cgroup, "4:memory:/x\n3:cpu,cpuacct:/x\n"},
          {V2 "cpu/x/cpu.cfs_quota_us", "250000\n"},
          {V2 "cpu/x/cpu.cfs_period_us", "100000\n"}},
         3,
         "quota",
         "/" V2 "cpu/x/cpu.cfs_quota_us"},
        {"v1-shared",
         {{cgroup, "3:cpu,cpuacct:/x\n"},
          {V2 "cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n"},
          {V2 "cpu,cpuacct/x/cpu.cfs_period_us", "50000\n"}},
         5,
         "quota",
         "/" V2 "cpu,cpuacct/x/cpu.cfs_quota_us"},
        {"v1-none",
         {{cgroup, "3:cpuacct,cpu:/\n0::/\n"},
          {V2 "cpu/cpu.cfs_quota_us", "-1\n"},
          {V2 "cpu/cpu.cfs_period_us", "100000\n"}},
         64,
         "affinity",
         ""},
        {"v1-half", {{cgroup, "3:cpu:/\n"}, {V2 "cpu/cpu.cfs_quota_us", "100000\n"}}, 64, "affinity", ""},
        {"v1-other",
         {{cgroup, "3:cpuset:/\n"},
          {V2 "cpu/cpu.cfs_quota_us", "100000\n"},
          {V2 "cpu/cpu.cfs_period_us", "100000\n"}},
         64,
         "affinity",
         ""},
        {"v1-and-v2",
         {{cgroup, "3:cpu:/\n0::/\n"},
          {V2 "cpu/cpu.cfs_quota_us", "600000\n"},
          {V2 "cpu/cpu.cfs_period_us", "100000\n"},
          {V2 "cpu.max", "400000 100000\n"}},
         4,
         "quota",
         "/" V2 "cpu.max"},
        {"rubbish", {{cgroup, "\n:\n0\n::\n0::/\n"}, {V2 "cpu.max", "-5 0\n"}}, 64, "affinity", ""},
        {"zero", {{cgroup, "0::/\n"}, {V2 "cpu.max", "100000 0\n"}}, 64, "affinity", ""},
        {"no-period", {{cgroup, "0::/\n"}, {V2 "cpu.max", "100000\n"}}, 64, "affinity", ""},
        {"words", {{cgroup, "0::/\n"}, {V2 "cpu.max", "many of them\n"}}, 64, "affinity", ""},
        {"overflow",
         {{cgroup, "0::/\n"}, {V2 "cpu.max", "99999999999999999999999999 100000\n"}},
         64,
         "affinity",
         ""},
        {"empty", {{cgroup, "0::/\n"}, {V2 "cpu.max", ""}}, 64, "affinity", ""},
        {"cpuset-v2",
         {{online, "0-95\n"}, {cgroup, "0::/a\n"}, {V2 "a/cpuset.cpus.effective", "0-63\n"}},
         64,
         "cpuset",
         ""},
        {"cpuset-v1",
         {{online, "0-95\n"}, {cgroup, "5:cpuset:/\n"}, {V2 "cpuset/cpuset.cpus", "0-31,64-95\n"}},
         64,
         "cpuset",
         ""},
        {"cpuset-wider",
         {{online, "0-95\n"}, {cgroup, "5:cpuset:/\n"}, {V2 "cpuset/cpuset.cpus", "0-95\n"}},
         64,
         "affinity",
         ""},
        {"cpuset-rubbish",
         {{online, "0-95\n"}, {cgroup, "5:cpuset:/\n"}, {V2 "cpuset/cpuset.cpus", "1-99999999999\n"}},
         64,
         "affinity",
         ""},
    };
    struct ct_cpu_mask mask = first(64);
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        char root[300];
        struct ct_cpus c;
        snprintf(root, sizeof root, "%s/%s", scratch, cases[i].name);
        for (int k = 0; k < 5 && cases[i].file[k][0]; k++)
            put(cases[i].name, cases[i].file[k][0], cases[i].file[k][1]);
        ct_os_count_cpus(&c, root, &mask);
        if (c.use != cases[i].use || strcmp(c.by, cases[i].by) != 0)
            fail_msg("%s: %d by %s, expected %d by %s", cases[i].name, c.use, c.by, cases[i].use,
                     cases[i].by);
        if (strcmp(c.quota.file, cases[i].where) != 0)
            fail_msg("%s: the quota is of %s, expected %s", cases[i].name, c.quota.file, cases[i].where);
        assert_int_equal(c.allowed, 64);
    }
}

static void keeps_the_text_of_a_limit(void **state)
{
    (void)state;
    struct ct_cpus c;
    struct ct_cpu_mask two = first(2);
    char root[300];
    snprintf(root, sizeof root, "%s/text", scratch);
    put("text", "proc/self/cgroup", "3:cpu:/\n");
    put("text", V2 "cpu/cpu.cfs_quota_us", "150000\n");
    put("text", V2 "cpu/cpu.cfs_period_us", "100000\n");
    ct_os_count_cpus(&c, root, &two);
    assert_string_equal(c.quota.text, "150000 100000");
    assert_true(c.quota.value == 1.5);
    assert_int_equal(c.use, 2); /* rounded up, and then the mask is as tight */
    assert_string_equal(c.by, "affinity");
}

static void counts_cores(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *siblings[4]; /* of processors 0 to 3 */
        unsigned mask;
        int cores, use;
        const char *by;
    } cases[] = {
        {"pairs", {"0-1", "0-1", "2-3", "2-3"}, 0xf, 2, 2, "cores"},
        {"far-pairs", {"0,2", "1,3", "0,2", "1,3"}, 0xf, 2, 2, "cores"},
        {"one-of-each", {"0-1", "0-1", "2-3", "2-3"}, 0x5, 2, 2, "affinity"},
        {"second-of-each", {"0-1", "0-1", "2-3", "2-3"}, 0xa, 2, 2, "affinity"},
        {"one-pair", {"0-1", "0-1", "2-3", "2-3"}, 0xc, 1, 1, "cores"},
        {"no-smt", {"0", "1", "2", "3"}, 0xf, 4, 4, "affinity"},
        {"four-ways", {"0-3", "0-3", "0-3", "0-3"}, 0xf, 1, 1, "cores"},
        {"hybrid", {"0-1", "0-1", "2", "3"}, 0xf, 3, 3, "cores"},
        {"untold", {NULL, NULL, NULL, NULL}, 0xf, 0, 4, "affinity"},
        {"half-told", {"0-1", "0-1", NULL, NULL}, 0xf, 3, 3, "cores"},
        {"wrong", {"0-1", "pair", "2-3", "-"}, 0xf, 4, 4, "affinity"},
        {"strangers", {"7", "7", "7", "7"}, 0xf, 0, 4, "affinity"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        struct ct_cpu_mask mask = {{cases[i].mask}};
        struct ct_cpus c;
        char root[300], file[100];
        snprintf(root, sizeof root, "%s/%s", scratch, cases[i].name);
        for (int k = 0; k < 4; k++) {
            snprintf(file, sizeof file, CPU "cpu%d/topology/thread_siblings_list", k);
            if (cases[i].siblings[k])
                put(cases[i].name, file, cases[i].siblings[k]);
        }
        ct_os_count_cpus(&c, root, &mask);
        if (c.cores != cases[i].cores || c.use != cases[i].use || strcmp(c.by, cases[i].by) != 0)
            fail_msg("%s: %d cores, %d by %s, expected %d, %d by %s", cases[i].name, c.cores, c.use, c.by,
                     cases[i].cores, cases[i].use, cases[i].by);
    }
}

/* Quota below cores below the mask: the least of all holds. */
static void takes_the_least(void **state)
{
    (void)state;
    struct ct_cpu_mask mask = first(8);
    struct ct_cpus c;
    char root[300], file[100], pair[16];
    snprintf(root, sizeof root, "%s/least", scratch);
    for (int k = 0; k < 8; k++) {
        snprintf(file, sizeof file, CPU "cpu%d/topology/thread_siblings_list", k);
        snprintf(pair, sizeof pair, "%d,%d\n", k % 4, k % 4 + 4);
        put("least", file, pair);
    }
    put("least", CPU "online", "0-15\n");
    ct_os_count_cpus(&c, root, &mask);
    assert_int_equal(c.use, 4);
    assert_string_equal(c.by, "cores");
    put("least", "proc/self/cgroup", "0::/\n");
    put("least", V2 "cpu.max", "210000 100000");
    ct_os_count_cpus(&c, root, &mask);
    assert_int_equal(c.use, 3);
    assert_string_equal(c.by, "quota");
    put("least", V2 "cpu.max", "500000 100000");
    ct_os_count_cpus(&c, root, &mask);
    assert_int_equal(c.use, 4);
    assert_string_equal(c.by, "cores");
}

/* Far larger than any such file is: read in part or refused, never overrun. */
static void survives_huge_files(void **state)
{
    (void)state;
    enum { HUGE = 1 << 20 };
    static const char *const file[] = {"proc/self/cgroup",
                                       "proc/meminfo",
                                       V2 "cpu.max",
                                       V2 "memory.max",
                                       V2 "cpuset.cpus.effective",
                                       CPU "online",
                                       CPU "cpu0/topology/thread_siblings_list",
                                       "sys/kernel/mm/transparent_hugepage/enabled"};
    static const char fill[] = {'0', '9', '/', ':', '\n', ' ', '[', ',', 'x', '-'};
    char *text = malloc(HUGE + 1), root[300];
    assert_non_null(text);
    text[HUGE] = 0;
    snprintf(root, sizeof root, "%s/huge", scratch);
    for (size_t i = 0; i < sizeof fill; i++) {
        memset(text, fill[i], HUGE);
        for (size_t k = 0; k < CT_COUNT(file); k++)
            put("huge", file[k], text);
        for (int k = 0; k < 2; k++) { /* the second time the limits are looked for */
            struct ct_cpus c;
            struct ct_os_memory m;
            struct ct_cpu_mask mask = first(4);
            ct_os_count_cpus(&c, root, &mask);
            assert_in_range(c.use, 1, 4);
            ct_os_memory(&m, root);
            assert_true(m.limit.value == 0);
            put("huge", "proc/self/cgroup", "0::/\n3:cpu:/\n");
        }
    }
    /* a group so deep that its path is no path any more: the root is still looked at */
    memset(text, 'g', HUGE);
    memcpy(text, "0::/", 4);
    text[3000] = '\n';
    put("huge", "proc/self/cgroup", text);
    put("huge", V2 "cpu.max", "200000 100000\n");
    put("huge", CPU "online", "0-3\n");
    struct ct_cpus c;
    struct ct_cpu_mask mask = first(4);
    ct_os_count_cpus(&c, root, &mask);
    assert_int_equal(c.use, 2);
    /* and one whose line is cut off by the end of what is read */
    memset(text, 'g', HUGE);
    memcpy(text, "0::/", 4);
    put("huge", "proc/self/cgroup", text);
    ct_os_count_cpus(&c, root, &mask);
    assert_int_equal(c.use, 2);
    free(text);
}

static void writes_lists(void **state)
{
    (void)state;
    char out[128];
    struct ct_cpu_mask m = first(4);
    ct_os_list(&m, out, sizeof out);
    assert_string_equal(out, "0-3");
    m.bits[0] = 0x1 | 0x10 | 0x60 << 2;
    ct_os_list(&m, out, sizeof out);
    assert_string_equal(out, "0,4,7-8");
    m = (struct ct_cpu_mask){.bits = {[1] = 3, [2] = 4, [127] = (uint64_t)1 << 63}};
    ct_os_list(&m, out, sizeof out);
    assert_string_equal(out, "64-65,130,8191");
    m = first(8192);
    ct_os_list(&m, out, sizeof out);
    assert_string_equal(out, "0-8191");
    memset(&m, 0, sizeof m);
    ct_os_list(&m, out, sizeof out);
    assert_string_equal(out, "");
    memset(&m, 0x55, sizeof m);
    for (size_t capacity = 4; capacity <= sizeof out; capacity++) {
        memset(out, '#', sizeof out);
        ct_os_list(&m, out, capacity);
        assert_true(strlen(out) < capacity);
        assert_string_equal(out + strlen(out) - 3, "...");
    }
}

static void reads_memory(void **state)
{
    (void)state;
    struct ct_os_memory m;
    char root[300];
    snprintf(root, sizeof root, "%s/nothing-at-all", scratch);
    ct_os_memory(&m, root);
    assert_true(m.total > 0 && m.page > 0); /* the system's own word */
    assert_true(m.available == 0 && m.limit.value == 0);
    assert_string_equal(m.huge_pages, "");

    snprintf(root, sizeof root, "%s/memory", scratch);
    put("memory", "proc/meminfo", "MemTotal:  100 kB\nMemFree:    7 kB\nMemAvailable:   2048 kB\n");
    put("memory", "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    put("memory", "proc/self/cgroup", "0::/a/b\n4:memory:/c\n");
    put("memory", V2 "a/memory.max", "1073741824\n");
    put("memory", V2 "a/b/memory.max", "max\n");
    put("memory", V2 "memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory", V2 "memory/c/memory.limit_in_bytes", "2147483648\n");
    ct_os_memory(&m, root);
    assert_int_equal(m.available, 2048 << 10);
    assert_string_equal(m.huge_pages, "madvise");
    assert_true(m.limit.value == 0x1p30);
    assert_string_equal(m.limit.file, "/" V2 "a/memory.max");
    assert_string_equal(m.limit.text, "1073741824");
}

/* The real machine: whatever it is, the counts agree with each other. */
static void counts_this_machine(void **state)
{
    (void)state;
    struct ct_cpus c;
    struct ct_os_memory m;
    char kernel[128], libc[32];
    ct_os_count_cpus(&c, "", NULL);
    assert_in_range(c.use, 1, c.allowed);
    assert_true(c.online == 0 || c.allowed <= c.online);
    assert_in_range(c.cores, 0, c.allowed);
    assert_int_equal(ct_os_cpus(), c.use);
    ct_os_memory(&m, "");
    assert_true(m.total > (size_t)1 << 20 && m.available <= m.total);
    ct_os_names(kernel, sizeof kernel, libc, sizeof libc);
    assert_true(strlen(kernel) > 0 && strlen(libc) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_threads),      cmocka_unit_test(keeps_the_text_of_a_limit),
        cmocka_unit_test(counts_cores),        cmocka_unit_test(takes_the_least),
        cmocka_unit_test(survives_huge_files), cmocka_unit_test(writes_lists),
        cmocka_unit_test(reads_memory),        cmocka_unit_test(counts_this_machine),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
