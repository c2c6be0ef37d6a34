/* SPDX-License-Identifier: Apache-2.0 */
/* test_verify_shapes.c: the table of the family's published members against their parameter counts, and what
 * carat_verify says of a model that is a member, almost one, or none. */
#include "verify_util.h"

#include <math.h>

static void config_of(struct ct_config *c, const struct ct_member *m)
{
    const struct ct_architecture *a = m->architecture;
    *c = (struct ct_config){.architecture = a->name,
                            .n_layer = m->n_layer,
                            .hidden = m->hidden,
                            .n_vocab = m->n_vocab,
                            .norm_eps = 1e-6f,
                            .ple_width = m->newer.ple_width,
                            .logit_cap = CT_MAX(a->logit_cap, a->gguf_logit_cap)};
    const int wide = m->newer.head_dim ? m->newer.head_dim : m->head_dim;
    c->attn[CT_GLOBAL] =
        (struct ct_attn){0, wide, (int)(a->rotated * wide / 2), a->rope_base, m->rope_factor};
    c->attn[CT_LOCAL] = (struct ct_attn){m->window, m->head_dim, m->head_dim / 2, a->rope_base_local, 1};
    for (int i = 0; i < m->n_layer; i++)
        c->layer[i] = ct_member_layer(m, i);
}

/* What Gemma 3n has beside Gemma 4. */
static uint64_t more_of_3n(const struct ct_member *m, uint64_t hidden)
{
    const uint64_t n = (uint64_t)m->n_layer, rank = (uint64_t)m->architecture->hf.laurel_rank,
                   streams = CT_STREAMS;
    const uint64_t altup = hidden * (streams + 2) + streams * streams * (streams + 1);

    return m->architecture->altup
               ? 2 * (streams - 1) * hidden * hidden + n * (altup + rank * hidden * 2 + hidden)
               : 0;
}

static uint64_t parameters_of_layer(const struct ct_member *m, int i, uint64_t hidden)
{
    const struct ct_architecture *a = m->architecture;
    const struct ct_layer_config l = ct_member_layer(m, i);
    const uint64_t head = (uint64_t)l.head_dim, q = (uint64_t)l.n_head * head,
                   kv = (uint64_t)l.n_kv_head * head, ple = (uint64_t)m->newer.ple_width,
                   experts = (uint64_t)l.n_expert;
    const bool owns = l.kv_layer == i;
    uint64_t n = hidden * (2 * q + 3 * (uint64_t)l.ffn + (a->post_norms ? 4 : 2));

    n += a->qk_norms ? head * (owns ? 2 : 1) : 0;
    n += owns ? hidden * kv * (l.v_is_k ? 1 : 2) : 0;
    n += ple ? 2 * ple * hidden + hidden : 0;
    n += experts ? experts * (hidden + 1 + 3 * (uint64_t)l.expert_ffn * hidden) + 4 * hidden : 0;
    return n + a->out_scales;
}

/* Parameters that a model of these shapes has, its head tied. */
static uint64_t parameters_of(const struct ct_member *m)
{
    const uint64_t hidden = (uint64_t)m->hidden, ple = (uint64_t)m->newer.ple_width,
                   all = ple * (uint64_t)m->n_layer;
    uint64_t n = (uint64_t)m->n_vocab * hidden + hidden + more_of_3n(m, hidden);

    for (int i = 0; i < m->n_layer; i++)
        n += parameters_of_layer(m, i, hidden);
    n +=
        strcmp(m->architecture->name, "gemma-embedding") == 0 ? 2 * hidden * 3072 : 0; /* the dense modules */
    n += (uint64_t)m->architecture->vector * hidden;
    return n + (ple ? (uint64_t)m->architecture->hf.ple_rows * all + all * hidden + ple : 0);
}

static void members_have_their_published_counts(void **state)
{
    (void)state;
    static struct ct_config c; /* large */
    char text[256];
    assert_int_equal(ct_member_count, 19);
    for (int i = 0; i < ct_member_count; i++) {
        const struct ct_member *m = &ct_members[i];
        if (parameters_of(m) != m->n_parameter)
            fail_msg("%s: the shapes make %llu parameters, published are %llu", m->name,
                     (unsigned long long)parameters_of(m), (unsigned long long)m->n_parameter);
        config_of(&c, m);
        assert_ptr_equal(ct_member_find(&c), m);
        assert_false(ct_member_differs(m, &c, text, sizeof text));
        c.n_layer--;
        assert_null(ct_member_find(&c));
    }
}

static void a_number_that_differs_is_named(void **state)
{
    (void)state;
    static struct ct_config c;
    const struct ct_member *m = &ct_members[8];
    char text[256];
    assert_string_equal(m->name, "Gemma 3 12B");
#define DIFFERS(change, words)                                                                               \
    do {                                                                                                     \
        config_of(&c, m);                                                                                    \
        change;                                                                                              \
        assert_ptr_equal(ct_member_find(&c), m);                                                             \
        assert_true(ct_member_differs(m, &c, text, sizeof text));                                            \
        holds(text, words);                                                                                  \
    } while (0)
    DIFFERS(c.layer[40].ffn = 15361,
            "in layer 40 intermediate_size (feed_forward_length) is 15361, expected 15360");
    DIFFERS(c.layer[0].n_head = 32, "num_attention_heads (attention.head_count) is 32, expected 16");
    DIFFERS(c.layer[47].n_kv_head = 1, "num_key_value_heads (attention.head_count_kv) is 1, expected 8");
    DIFFERS(c.layer[1].head_dim = 128, "head_dim (attention.key_length) is 128, expected 256");
    DIFFERS(c.layer[1].attn_scale = 1, "the attention scale (query_pre_attn_scalar) is 1, expected 0.0625");
    DIFFERS(c.layer[1].attn_cap = 50, "attn_logit_softcapping is 50, expected 0");
    DIFFERS(c.layer[5].attn_type = CT_LOCAL, "in layer 5 whether the layer is local is 1, expected 0");
    DIFFERS(c.attn[CT_GLOBAL].rope_factor = 1, "rope_scaling.factor (rope.scaling.factor) is 1, expected 8");
    DIFFERS(c.attn[CT_GLOBAL].rope_base = 1e4, "rope_theta (rope.freq_base) is 10000, expected 1e+06");
    DIFFERS(c.attn[CT_LOCAL].rope_base = 1e6,
            "rope_local_base_freq (rope.freq_base_swa) is 1e+06, expected 10000");
    DIFFERS(c.attn[CT_LOCAL].rope_factor = 8, "the factor of local rope is 8, expected 1");
    DIFFERS(c.attn[CT_LOCAL].window = 512, "sliding_window (attention.sliding_window) is 512, expected 1024");
    DIFFERS(c.norm_eps = 1e-5f, "rms_norm_eps");
    DIFFERS(c.logit_cap = 30, "final_logit_softcapping is 30, expected 0");
    m = ct_members + 12;
    assert_string_equal(m->name, "Gemma 4 E2B");
    DIFFERS(c.layer[14].kv_layer = 9, "in layer 14 whether K and V are another layer's is 1, expected 0");
    DIFFERS(c.layer[15].ffn = 6144,
            "in layer 15 intermediate_size (feed_forward_length) is 6144, expected 12288");
    DIFFERS(c.layer[4].head_dim = 256, "in layer 4 head_dim (attention.key_length) is 256, expected 512");
    DIFFERS(c.attn[CT_GLOBAL].rotated = 256, "how many pairs of a global head turn is 256, expected 64");
    DIFFERS(c.ple_width = 0,
            "hidden_size_per_layer_input (embedding_length_per_layer_input) is 0, expected 256");
    m = ct_members + 15;
    assert_string_equal(m->name, "Gemma 4 26B-A4B");
    DIFFERS(c.layer[29].v_is_k = false, "in layer 29 whether V is K is 0, expected 1");
    DIFFERS(c.layer[5].n_kv_head = 8, "num_key_value_heads (attention.head_count_kv) is 8, expected 2");
    DIFFERS(c.layer[7].n_used = 4, "in layer 7 top_k_experts (expert_used_count) is 4, expected 8");
    DIFFERS(c.layer[7].n_expert = 64, "in layer 7 num_experts (expert_count) is 64, expected 128");
    DIFFERS(c.layer[7].expert_ffn = 512,
            "moe_intermediate_size (expert_feed_forward_length) is 512, expected 704");
#undef DIFFERS
}

/* The verdict of check shapes on a config alone. */
static int shapes_of(const struct ct_config *c, uint64_t n_parameter, bool tied, char text[CT_DETAIL])
{
    struct carat_model *m = calloc(1, sizeof *m);
    struct ct_verify *v = calloc(1, sizeof *v);
    int verdict = CT_NOTHING;
    m->config = *c;
    m->weights.n_parameter = n_parameter;
    m->weights.tied = tied;
    v->model = m;
    OK(ct_verify_shapes(v, &verdict, err));
    memcpy(text, v->detail, CT_DETAIL);
    free(v);
    free(m);
    return verdict;
}

static void the_vocabulary_may_be_cut_or_grow(void **state)
{
    (void)state;
    static struct ct_config c;
    const struct ct_member *m = &ct_members[7];
    uint64_t n = m->n_parameter, row = (uint64_t)m->hidden;
    char text[CT_DETAIL];
    config_of(&c, m);
    assert_int_equal(shapes_of(&c, n, true, text), CT_PASSED);
    assert_string_equal(text, "Gemma 3 4B: 3880263168 parameters");
    assert_int_equal(shapes_of(&c, n - 1, true, text), CT_FAILED);
    holds(text, "3880263167 parameters, expected 3880263168");
    assert_int_equal(shapes_of(&c, n + (uint64_t)m->n_vocab * row, false, text), CT_PASSED);
    holds(text, "; the head is apart from the embedding");
    c.n_vocab = 262144;
    assert_int_equal(shapes_of(&c, n - 64 * row, true, text), CT_PASSED);
    holds(text, "; 3880263168 were published, with 262208 rows of vocabulary instead of 262144");
    c.layer[3].ffn++;
    assert_int_equal(shapes_of(&c, n - 64 * row, true, text), CT_FAILED);
    holds(text, "the model has the depth and width of Gemma 3 4B, but in layer 3 intermediate_size");
    c.hidden++;
    assert_int_equal(shapes_of(&c, n, true, text), CT_NOTHING);
    holds(text, "no published gemma3 model has 34 layers of width 2561");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_have_their_published_counts),
        cmocka_unit_test(a_number_that_differs_is_named),
        cmocka_unit_test(the_vocabulary_may_be_cut_or_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
