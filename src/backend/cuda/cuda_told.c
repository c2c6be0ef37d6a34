/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_told.c: the verbs beside a pass. Logits are in memory of the host, so draws and what is told of them
 * are the CPU's; rows of matrices come from the device. */
#include "backend/cuda/cuda_backend.h"

#include "backend/cpu/cpu_backend.h"

static int32_t cuda_draw(struct ct_backend *b, const struct ct_logits *l, const struct ct_draw *d)
{
    return ct_cuda(b)->host->verb.draw(ct_cuda(b)->host, l, d);
}

static void cuda_top(struct ct_backend *b, const struct ct_logits *l, int k, carat_candidate *out)
{
    ct_cuda(b)->host->verb.top(ct_cuda(b)->host, l, k, out);
}

static int cuda_select(struct ct_backend *b, int32_t *place, const struct ct_logits *l, int k,
                       const int32_t *excluded, int n_excluded)
{
    return ct_cuda(b)->host->verb.select(ct_cuda(b)->host, place, l, k, excluded, n_excluded);
}

static float cuda_entropy(struct ct_backend *b, const struct ct_logits *l, int k, const int32_t *excluded,
                          int n_excluded)
{
    return ct_cuda(b)->host->verb.entropy(ct_cuda(b)->host, l, k, excluded, n_excluded);
}

static float cuda_logprob(struct ct_backend *b, const struct ct_logits *l, int32_t id, carat_logprob *top,
                          int k)
{
    return ct_cuda(b)->host->verb.logprob(ct_cuda(b)->host, l, id, top, k);
}

static void cuda_copy_out(struct ct_backend *base, float *to, ct_mat m, int row)
{
    struct ct_cuda_backend *b = ct_cuda(base);
    const size_t bytes = (size_t)m.cols * sizeof *to;
    const ct_cu_address at = ct_cuda_row(m, row);

    if (at >= b->here.at && at + bytes <= b->here.at + b->here.bytes) {
        memcpy(to, b->here.of_host + (at - b->here.at), bytes);
        return;
    }
    ct_cuda_enter(b);
    ct_cuda_get(b, to, at, bytes);
    ct_cuda_leave(b);
}

static void cuda_copy_in(struct ct_backend *base, ct_mat m, int row, const float *from)
{
    struct ct_cuda_backend *b = ct_cuda(base);

    ct_cuda_enter(b);
    ct_cuda_put(b, ct_cuda_row(m, row), from, (size_t)m.cols * sizeof *from);
    ct_cuda_leave(b);
}

static struct ct_cost cuda_cost(const struct ct_backend *base, const struct ct_event *event)
{
    const struct ct_cuda_backend *b = (const struct ct_cuda_backend *)base;

    struct ct_rows rows = b->rows;

    rows.n = CT_MAX(rows.n - b->copies, 0);
    return ct_cost_of_rows(&rows, event, false);
}

static void cuda_facts(const struct ct_backend *base, bool decodes, struct ct_backend_facts *f)
{
    const struct ct_cuda_backend *b = (const struct ct_cuda_backend *)base;

    (void)decodes;
    *f = (struct ct_backend_facts){.name = "cuda",
                                   .found = base->isa,
                                   .used = base->isa,
                                   .threads = base->threads,
                                   .rows_few = CT_GPU_ROWS,
                                   .rows_many = CT_GPU_ROWS,
                                   .few = 1,
                                   .queries = 1,
                                   .keys = CT_KEY_BLOCK};
    snprintf(f->why, sizeof f->why, "kernels in CUDA for %s", b->device.name);
}

static bool cuda_serving(const struct ct_backend *b, bool decodes, const char *verb,
                         const struct ct_weight *w, enum ct_kv_type kv, struct ct_serving *s)
{
    const struct ct_cuda_backend *cuda = (const struct ct_cuda_backend *)b;
    static const struct {
        const char *verb, *entry; /* NULL: a product */
    } entries[] = {
        {"project", NULL},
        {"project_geglu", NULL},
        {"project_logits", NULL},
        {"project_some", NULL},
        {"embed", "embed"},
        {"norm", "norm"},
        {"qk_norm", "norm"},
        {"residual_norm", "norm"},
        {"rope", "rope"},
        {"scale", "scale"},
        {"attend", "attend"},
        {"kv_write", "kv_write"},
        {"embed_add", "add_rows"},
        {"gelu_times", "geglu"},
        {"altup_predict", "altup"},
        {"altup_correct", "altup"},
        {"altup_match", "altup_match"},
        {"cutoff", "cutoff"},
        {"experts", "add_experts"},
    };
    static const char *const inputs[CT_INPUT_COUNT] = {
        [CT_INPUT_F32] = "f32", [CT_INPUT_BF16] = "bf16", [CT_INPUT_Q8] = "int8"};

    (void)kv;
    if (w && !w->data)
        return false;
    const int rows = decodes                               ? 1
                     : strcmp(verb, "project_logits") == 0 ? CT_CUDA_LOGITS_ROWS
                                                           : CT_MAX(cuda->extent.rows, 1);
    for (size_t i = 0; i < CT_COUNT(entries); i++) {
        if (strcmp(entries[i].verb, verb) != 0)
            continue;
        *s = (struct ct_serving){.layout = w ? "panels" : "",
                                 .input = entries[i].entry ? "" : inputs[ct_cuda_input(cuda, w)],
                                 .entry = entries[i].entry
                                              ? entries[i].entry
                                              : ct_cuda_kernel_names[ct_cuda_product(cuda, rows, w)],
                                 .level = b->isa,
                                 .why_form = "",
                                 .why_level = ""};
        return true;
    }
    return false;
}

void ct_cuda_told_verbs(struct ct_verbs *v)
{
    v->draw = cuda_draw;
    v->top = cuda_top;
    v->select = cuda_select;
    v->entropy = cuda_entropy;
    v->logprob = cuda_logprob;
    v->copy_out = cuda_copy_out;
    v->copy_in = cuda_copy_in;
    v->cost = cuda_cost;
    v->facts = cuda_facts;
    v->serving = cuda_serving;
}
