/* kernel.c: chooses a kernel table; the tables themselves are filled by ref.c, once per ISA level. */
#include "kernel/kernel.h"

extern const struct ct_kernel ct_kernel_ref;
#if defined(__x86_64__)
extern const struct ct_kernel ct_kernel_avx2;
#endif

const struct ct_kernel *ct_kernel_choose(const struct ct_cpu *cpu, const char *limit)
{
    const struct {
        const char *isa;
        const struct ct_kernel *table; /* NULL: known, but not for this CPU */
    } level[] = {
        /* ascending: the best usable one up to the limit wins */
        {"ref", &ct_kernel_ref},
#if defined(__x86_64__)
        {"avx2", cpu->avx2_fma ? &ct_kernel_avx2 : NULL},
#endif
    };
    const struct ct_kernel *best = NULL;

    (void)cpu;
    for (size_t i = 0; i < CT_COUNT(level); i++) {
        if (level[i].table)
            best = level[i].table;
        if (limit && strcmp(limit, level[i].isa) == 0)
            return best;
    }
    return limit ? NULL : best;
}

size_t ct_kv_bytes(enum ct_kv_type type, int capacity, int head_dim)
{
    return (size_t)capacity * (size_t)head_dim * (type == CT_KV_F32 ? 4 : 2);
}
