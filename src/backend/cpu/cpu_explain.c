/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_explain.c: which kernels the CPU backend uses for what, and why not others, in words. It decides
 * nothing: the same conditions choose in cpu_backend.c, cpu_project.c and cpu_weights.c. */
#include "backend/cpu/cpu_backend.h"

#include "layout/pack_weight.h"
#include "kernel/level.h"

static const char *const form_names[CT_INPUT_COUNT] = {
    [CT_INPUT_F32] = "f32",
    [CT_INPUT_BF16] = "bf16",
    [CT_INPUT_Q8] = "int8",
    [CT_INPUT_LANES] = "int8 for panels",
    [CT_INPUT_BF16_LANES] = "bf16 for panels",
};

/* Names what a level needs of the processor. */
static const char *needs_of(const char *isa)
{
    int i = 0;

    while (carat_isa_name(i) && strcmp(carat_isa_name(i), isa) != 0)
        i++;
    return carat_isa_needs(i);
}

/* The level that a phase may have at most; NULL: any. */
static const char *asked_of(const struct ct_cpu_backend *b, bool decodes)
{
    return decodes && b->o.decode_isa ? b->o.decode_isa : b->o.isa;
}

/* The kernels of this processor without a limit. */
static struct ct_kernel best_kernels(void)
{
    struct ct_kernel best;
    struct ct_cpu cpu;

    ct_cpu_detect(&cpu);
    ct_kernel_choose(&best, &cpu, NULL);
    return best;
}

void ct_cpu_facts(const struct ct_backend *base, bool decodes, struct ct_backend_facts *f)
{
    const struct ct_cpu_backend *b = ct_cpu_const(base);
    const struct ct_kernel *k = &b->kernels[decodes];
    const struct ct_kernel best = best_kernels();

    *f = (struct ct_backend_facts){.name = "cpu",
                                   .asked = asked_of(b, decodes),
                                   .found = best.isa,
                                   .used = k->isa,
                                   .threads = b->thread_counts[decodes],
                                   .rows_few = k->rows_few,
                                   .rows_many = k->rows_many,
                                   .few = CT_LANES,
                                   .queries = k->queries,
                                   .keys = CT_KEY_BLOCK};
    if (!f->asked)
        snprintf(f->why, sizeof f->why, "the best one of this processor");
    else if (strcmp(f->asked, f->used) == 0)
        snprintf(f->why, sizeof f->why, "it was asked for");
    else
        snprintf(f->why, sizeof f->why, "%s was asked for and needs %s, which is not to be had here",
                 f->asked, needs_of(f->asked));
}

/* Why a weight is not read in panels by the kernels for them. */
static const char *why_rows(const struct ct_cpu_backend *b, const struct ct_weight *w)
{
    const struct ct_weight form = ct_packed_form(w);

    if (w->f32_input && ct_in_panels(&form))
        return "its inputs stay f32, which no panels of its type are read with";
    if (ct_in_panels(w))
        return "exact arithmetic unpacks its panels row by row";
    if (!ct_in_panels(&form))
        return "the type has no panels";
    return b->o.exact ? "exact arithmetic reads rows" : "kernels of this level read rows";
}

/* Why the entry is not of the processor's best level. */
static void explain_entry(struct ct_serving *s, const char *asked, size_t entry)
{
    const struct ct_kernel best = best_kernels();

    if (strcmp(s->level, ct_kernel_level_of(&best, entry)) != 0)
        snprintf(s->why_level, sizeof s->why_level, "at most %s was asked for", asked);
    else if (strcmp(s->level, best.isa) != 0)
        snprintf(s->why_level, sizeof s->why_level, "the levels above it have none of their own");
}

bool ct_cpu_serving(const struct ct_backend *base, bool decodes, const char *verb, const struct ct_weight *w,
                    enum ct_kv_type kv, struct ct_serving *s)
{
#define ENTRY(entry) #entry, offsetof(struct ct_kernel, entry)
    static const struct {
        const char *verb;
        bool q8; /* of K and V in q8 alone; such rows come last */
        const char *entry;
        size_t offset;
    } entries[] = {
        {"project_rows", false, ENTRY(project)},
        {"project_panels", false, ENTRY(project_panels)},
        {"begin_pass", false, ENTRY(rope_table)},
        {"embed", false, ENTRY(dequantize_row)},
        {"embed_add", false, ENTRY(dequantize_row)},
        {"altup_predict", false, ENTRY(altup_predict)},
        {"altup_correct", false, ENTRY(altup_correct)},
        {"norm", false, ENTRY(norm)},
        {"qk_norm", false, ENTRY(norm)},
        {"rope", false, ENTRY(rope)},
        {"kv_write", false, ENTRY(kv_write)},
        {"attend", false, ENTRY(attend_block)},
        {"residual_norm", false, ENTRY(norm)},
        {"draw", false, ENTRY(draw)},
        {"kv_write", true, ENTRY(kv_write_q8)},
        {"attend", true, ENTRY(attend_block_q8)},
    };
    const struct ct_cpu_backend *b = ct_cpu_const(base);
    const struct ct_kernel *k = &b->kernels[decodes];
    const bool product = strncmp(verb, "project", 7) == 0;

    *s = (struct ct_serving){.layout = "", .input = "", .why_form = "", .why_level = ""};
    if (w ? !w->data : product)
        return false;
    if (w)
        s->layout = ct_in_panels(w) ? "panels" : "rows";
    if (product) {
        const bool panels = ct_cpu_reads_panels(b, w);
        verb = panels ? "project_panels" : "project_rows";
        s->input = form_names[ct_input_form(w, b->o.exact)];
        if (!panels)
            s->why_form = why_rows(b, w);
    }
    size_t at = CT_COUNT(entries);
    while (at > 0 && (strcmp(entries[at - 1].verb, verb) != 0 || (entries[at - 1].q8 && kv != CT_KV_Q8)))
        at--;
    if (at == 0)
        return false;
    s->entry = entries[at - 1].entry;
    s->level = ct_kernel_level_of(k, entries[at - 1].offset);
    explain_entry(s, asked_of(b, decodes), entries[at - 1].offset);
    return true;
}
