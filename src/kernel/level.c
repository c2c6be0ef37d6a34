/* SPDX-License-Identifier: Apache-2.0 */
/* level.c: fills a kernel table for a CPU: the definition first (ref.c, once per ISA level), then what a level does
 * better. */
#include "kernel/kernel.h"

/* A file of kernels writes its entries over those of the levels below it. */
typedef void init(struct ct_kernel *k);
init ct_kernel_init_ref;
#if defined(__x86_64__)
init ct_kernel_init_avx2, ct_attend_init_avx2, ct_attend_q8_init_avx2, ct_vector_init_avx2,
    ct_panels_init_avx2, ct_panels_init_avxvnni, ct_vector_init_avx512, ct_attend_init_avx512,
    ct_panels_init_avx512, ct_panels_init_vnni, ct_attend_init_amx, ct_panels_init_amx;
#elif defined(__aarch64__)
init ct_attend_init_neon, ct_vector_init_neon, ct_panels_init_neon, ct_panels_init_dotprod,
    ct_panels_init_i8mm;
#endif

bool ct_kernel_choose(struct ct_kernel *k, const struct ct_cpu *cpu, const char *limit)
{
#if defined(__x86_64__)
    bool avx2 = cpu->avx2_fma, avx512 = avx2 && ct_cpu_usable(cpu, "avx512f+bw+vl+dq");
    bool vnni = avx512 && ct_cpu_usable(cpu, "avx512vnni");
    /* The system is asked for tiles last, only where they may be used. */
    bool amx = vnni && ct_cpu_usable(cpu, "amx-tile+int8+bf16") && (!limit || strcmp(limit, "amx") == 0) &&
               ct_cpu_allow_tiles();
#elif defined(__aarch64__)
    bool neon = ct_cpu_usable(cpu, "neon"), dotprod = neon && ct_cpu_usable(cpu, "dotprod");
    bool i8mm = dotprod && ct_cpu_usable(cpu, "i8mm");
#endif
    const struct {
        const char *isa;
        bool usable;
        init *init;
    } step[] = {
        /* ascending; every usable one up to the limit */
        {"ref", true, ct_kernel_init_ref},
#if defined(__x86_64__)
        {"avx2", avx2, ct_kernel_init_avx2},
        {"avx2", avx2, ct_attend_init_avx2},
        {"avx2", avx2, ct_attend_q8_init_avx2},
        {"avx2", avx2, ct_vector_init_avx2},
        {"avx2", avx2, ct_panels_init_avx2},
        {"avxvnni", avx2 && ct_cpu_usable(cpu, "avxvnni"), ct_panels_init_avxvnni},
        {"avx512", avx512, ct_vector_init_avx512},
        {"avx512", avx512, ct_attend_init_avx512},
        {"avx512", avx512, ct_panels_init_avx512},
        {"vnni", vnni, ct_panels_init_vnni},
        {"amx", amx, ct_attend_init_amx},
        {"amx", amx, ct_panels_init_amx},
#elif defined(__aarch64__)
        {"neon", neon, ct_attend_init_neon},
        {"neon", neon, ct_vector_init_neon},
        {"neon", neon, ct_panels_init_neon},
        {"dotprod", dotprod, ct_panels_init_dotprod},
        {"i8mm", i8mm, ct_panels_init_i8mm},
#endif
    };
    bool found = !limit;

    (void)cpu;
    for (size_t i = 0; i < CT_COUNT(step); i++) {
        bool named = limit && strcmp(limit, step[i].isa) == 0;
        if (limit && found && !named)
            break;
        found |= named;
        if (step[i].usable) {
            step[i].init(k);
            k->isa = step[i].isa;
        }
    }
    return found;
}

size_t ct_kv_bytes(enum ct_kv_type type, int capacity, int head_dim)
{
    if (type == CT_KV_Q8) /* a block and its scales are as many bytes for each of its keys */
        return (size_t)capacity * (size_t)(ct_pad_group(head_dim) / CT_GROUP) *
               (sizeof(struct ct_kv_q8) / CT_KEY_PANEL);
    return (size_t)capacity * (size_t)head_dim * (type == CT_KV_F32 ? 4 : 2);
}
