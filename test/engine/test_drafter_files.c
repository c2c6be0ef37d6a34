/* SPDX-License-Identifier: Apache-2.0 */
/* test_drafter_files.c: tiny4's drafter as GGUF, in the dialects of llama.cpp and of ik_llama.cpp, with and
 * without its groups of ids: the same drafts; and drafters that suit no model, or contradict themselves: they
 * are refused by name. */
#include "file/file_build.h"

#include <ftw.h>

#include "checkpoint/checkpoint.h"
#include "generate/draft.h"

#define TINY4     CT_TEST_DATA "/../fixtures/tiny4"
#define ASSISTANT TINY4 "-assistant"
enum { F_U32 = 4, F_F32 = 6, F_BOOL = 7, F_ARRAY = 9, F_STRING = 8, T_BF16 = 30, T_I32 = 26, T_F32 = 0 };
enum { ALIGNMENT = 32, DRAFT = 5 };

#define OK(call)                                                                                             \
    do {                                                                                                     \
        carat_error ok_err = {CARAT_OK, ""}, *err = &ok_err;                                                 \
        if ((call) != CARAT_OK)                                                                              \
            fail_msg("%s", err->message);                                                                    \
    } while (0)

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st;
    (void)flag;
    (void)at;
    return remove(path);
}

static void remove_all(char *dir)
{
    nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

/* What is written, and how it is wrong. */
struct form {
    const char *what;
    bool mtp, dense;
    int backbone, kv, window, vocab, places; /* in place of what is right; 0: that */
    int32_t id;                              /* at the last place of the ordering; -1: what belongs there */
    const char *without, *refused;
};

struct meta {
    struct buf b;
    const char *arch;
    int n;
};

static void key_of(struct meta *m, const char *name, uint32_t type)
{
    char key[96];

    snprintf(key, sizeof key, "%s.%s", m->arch, name);
    put_str(&m->b, key);
    put_u32(&m->b, type);
    m->n++;
}

static void add_u32(struct meta *m, const char *name, int v)
{
    key_of(m, name, F_U32);
    put_u32(&m->b, (uint32_t)v);
}

static void add_f32(struct meta *m, const char *name, double v)
{
    const float f = (float)v;
    key_of(m, name, F_F32);
    put(&m->b, &f, sizeof f);
}

static void write_meta(struct meta *m, const struct form *f, const struct ct_config *c)
{
    const struct ct_layer_config *local = &c->layer[0], *global = &c->layer[c->n_layer - 1];

    put_str(&m->b, "general.architecture");
    put_u32(&m->b, F_STRING);
    put_str(&m->b, m->arch);
    m->n = 1;
    add_u32(m, "block_count", c->n_layer);
    add_u32(m, "context_length", c->max_context);
    add_u32(m, "embedding_length", c->hidden);
    add_u32(m, "feed_forward_length", local->ffn);
    add_u32(m, "attention.head_count", local->n_head);
    add_u32(m, "attention.head_count_kv", f->kv ? f->kv : local->n_kv_head);
    add_u32(m, "attention.key_length", global->head_dim);
    add_u32(m, "attention.value_length", global->head_dim);
    add_u32(m, "attention.key_length_swa", local->head_dim);
    add_u32(m, "attention.value_length_swa", local->head_dim);
    add_u32(m, "attention.sliding_window", f->window ? f->window : c->attn[CT_LOCAL].window);
    add_u32(m, "attention.shared_kv_layers", c->n_layer);
    add_f32(m, "attention.layer_norm_rms_epsilon", 1e-6);
    add_f32(m, "rope.freq_base", c->attn[CT_GLOBAL].rope_base);
    add_f32(m, "rope.freq_base_swa", c->attn[CT_LOCAL].rope_base);
    key_of(m, "attention.sliding_window_pattern", F_ARRAY);
    put_u32(&m->b, F_BOOL);
    put_u64(&m->b, (uint64_t)c->n_layer);
    for (int i = 0; i < c->n_layer; i++)
        put(&m->b, &(uint8_t){c->layer[i].attn_type == CT_LOCAL}, 1);
    add_u32(m, f->mtp ? "backbone_embedding_length" : "embedding_length_out",
            f->backbone ? f->backbone : c->backbone);
    if (!f->dense) {
        add_u32(m, f->mtp ? "centroid_count" : "n_centroids", f->places ? f->places : c->n_centroid);
        add_u32(m, "centroid_top_k", c->n_near);
    }
}

/* Names of the directory, and of the two dialects; %d: of a layer. */
static const struct name {
    const char *hf, *name, *mtp;
} names[] = {
    {"model.embed_tokens.weight", "token_embd.weight", NULL},
    {"model.norm.weight", "output_norm.weight", NULL},
    {"pre_projection.weight", "nextn.pre_projection.weight", "mtp_pre_proj.weight"},
    {"post_projection.weight", "nextn.post_projection.weight", "mtp_post_proj.weight"},
    {"masked_embedding.centroids.weight", "masked_embd_centroids.weight", "mtp_centroids.weight"},
    {"masked_embedding.token_ordering", "masked_embd_ordering", "mtp_token_ordering.weight"},
    {"model.layers.%d.input_layernorm.weight", "blk.%d.attn_norm.weight", NULL},
    {"model.layers.%d.self_attn.q_proj.weight", "blk.%d.attn_q.weight", NULL},
    {"model.layers.%d.self_attn.q_norm.weight", "blk.%d.attn_q_norm.weight", NULL},
    {"model.layers.%d.self_attn.o_proj.weight", "blk.%d.attn_output.weight", NULL},
    {"model.layers.%d.post_attention_layernorm.weight", "blk.%d.post_attention_norm.weight", NULL},
    {"model.layers.%d.pre_feedforward_layernorm.weight", "blk.%d.ffn_norm.weight", NULL},
    {"model.layers.%d.mlp.gate_proj.weight", "blk.%d.ffn_gate.weight", NULL},
    {"model.layers.%d.mlp.up_proj.weight", "blk.%d.ffn_up.weight", NULL},
    {"model.layers.%d.mlp.down_proj.weight", "blk.%d.ffn_down.weight", NULL},
    {"model.layers.%d.post_feedforward_layernorm.weight", "blk.%d.post_ffw_norm.weight", NULL},
    {"model.layers.%d.layer_scalar", "blk.%d.layer_output_scale.weight", NULL},
};

/* The ordering as 32-bit numbers: the ids of each group, or the group of each id. */
static void put_ordering(struct buf *data, const struct form *f, const struct ct_config *c,
                         const struct ct_tensor *t)
{
    const int n = (int)t->dim[0], size = n / c->n_centroid;
    int32_t *out = calloc((size_t)n, sizeof *out);

    for (int i = 0; i < n; i++) {
        int64_t id;
        memcpy(&id, t->data + (size_t)i * sizeof id, sizeof id);
        if (f->mtp)
            out[id] = i / size;
        else
            out[i] = (int32_t)id;
    }
    if (f->id >= 0)
        out[n - 1] = f->id;
    put(data, out, (size_t)n * sizeof *out);
    free(out);
}

struct tensors {
    struct buf info, data;
    int n;
};

static void add_tensor(struct tensors *to, const struct form *f, const struct ct_config *c,
                       const struct ct_file *from, const struct name *name, int layer)
{
    char hf[96], gguf[96];

    snprintf(hf, sizeof hf, name->hf, layer);
    snprintf(gguf, sizeof gguf, f->mtp && name->mtp ? name->mtp : name->name, layer);
    const bool groups = strncmp(hf, "masked", 6) == 0, ids = strstr(hf, "ordering") != NULL;
    if ((f->dense && groups) || (f->without && strcmp(f->without, gguf) == 0))
        return;
    const struct ct_tensor *t = ct_file_find(from, hf);
    assert_non_null(t);
    uint64_t ne[2] = {(uint64_t)t->dim[t->n_dim - 1], (uint64_t)t->dim[0]};
    size_t size = t->size;
    if (f->vocab && name == &names[0]) {
        ne[1] = (uint64_t)f->vocab;
        size = size / (size_t)t->dim[0] * (size_t)f->vocab;
    }
    put_pad(&to->data, ALIGNMENT);
    put_info(&to->info, gguf, (uint32_t)t->n_dim, ne, ids ? T_I32 : T_BF16, to->data.n);
    if (ids)
        put_ordering(&to->data, f, c, t);
    else
        put(&to->data, t->data, size);
    to->n++;
}

static void write_gguf(const char *dir, const struct form *f)
{
    struct ct_file *from = NULL;
    struct ct_config c;
    struct meta m = {.arch = f->mtp ? "gemma4_mtp" : "gemma4-assistant"};
    struct tensors t = {.n = 0};
    struct buf b = {0};

    OK(ct_file_open(&from, ASSISTANT, false, err));
    OK(ct_config_read(&c, from, err));
    write_meta(&m, f, &c);
    for (size_t i = 0; i < CT_COUNT(names); i++)
        for (int l = 0; l < (strstr(names[i].hf, "%d") ? c.n_layer : 1); l++)
            add_tensor(&t, f, &c, from, &names[i], l);
    put_pad(&t.data, ALIGNMENT);
    put_header(&b, 3, (uint64_t)t.n, (uint64_t)m.n);
    put(&b, m.b.p, m.b.n);
    put(&b, t.info.p, t.info.n);
    put_pad(&b, ALIGNMENT);
    put(&b, t.data.p, t.data.n);
    write_file(dir, "drafter.gguf", b.p, b.n);
    buf_free(&b);
    buf_free(&m.b);
    buf_free(&t.info);
    buf_free(&t.data);
    ct_file_close(from);
}

/* ---- what they draft ---- */

static void draft_with(const char *drafter, const char *cache, int32_t draft[DRAFT], float *score)
{
    static const int32_t ids[] = {2, 105, 529, 107, 706, 678, 796, 514, 894, 106, 107, 105, 528, 107, 571};
    carat_model_options o;
    carat_model_options_default(&o);
    carat_engine_options eo;
    carat_engine_options_default(&eo);
    carat_model *m = NULL;
    carat_engine *e = NULL;
    carat_session *s = NULL;
    const int n = (int)CT_COUNT(ids);

    o.drafter = drafter;
    o.cache = cache;
    eo.threads = eo.exact = 1;
    eo.context = 64;
    OK(carat_model_open(&m, TINY4, &o, err));
    OK(carat_engine_create(&e, m, &eo, err));
    OK(carat_session_create(&s, e, NULL, err));
    OK(carat_sync(s, ids, n - 1, NULL, err));
    assert_int_equal(ct_draft_propose(s, ids, n, draft, DRAFT), DRAFT);
    *score = e->drafts.reader.scores.value[0];
    carat_session_close(s);
    carat_engine_close(e);
    carat_model_close(m);
}

static void dialects_are_one(void **unused)
{
    (void)unused;
    char *dir = temp_dir();
    int32_t expected[DRAFT], draft[DRAFT];
    float score, found;
    draft_with(ASSISTANT, NULL, expected, &score);
    for (int mtp = 0; mtp < 2; mtp++) {
        write_gguf(dir, &(struct form){.mtp = mtp != 0, .id = -1});
        draft_with(path_in(dir, "drafter.gguf"), NULL, draft, &found);
        assert_memory_equal(draft, expected, sizeof draft);
        if (!mtp) /* in the other dialect the ids of a group stand in another order */
            assert_memory_equal(&found, &score, sizeof found);
    }
    /* twice through the cache of packed models */
    for (int i = 0; i < 2; i++) {
        write_gguf(dir, &(struct form){.id = -1});
        draft_with(path_in(dir, "drafter.gguf"), path_in(dir, "cache"), draft, &found);
        assert_memory_equal(draft, expected, sizeof draft);
    }
    write_gguf(dir, &(struct form){.dense = true, .id = -1});
    draft_with(path_in(dir, "drafter.gguf"), NULL, draft, &found); /* all ids are scored: perhaps others */
    remove_all(dir);
}

static void the_odd_are_refused(void **unused)
{
    (void)unused;
    static const struct form forms[] = {
        {.what = "another width", .backbone = 120, .id = -1, .refused = "expected [64 x 240]"},
        {.what = "no width", .backbone = 1 << 20, .id = -1, .refused = "embedding_length_out"},
        {.what = "other heads", .kv = 2, .id = -1, .refused = "reads 2 KV heads of 32, expected 1 of 32"},
        {.what = "another window", .window = 11, .id = -1, .refused = "have window 11"},
        {.what = "a short ordering", .vocab = 512, .id = -1, .refused = "expected [512] of I64 or I32"},
        {.what = "a small vocabulary",
         .vocab = 512,
         .dense = true,
         .id = -1,
         .refused = "vocabulary of 512 ids"},
        {.what = "an id twice", .id = 3, .refused = "which is there twice: expected a permutation"},
        {.what = "no id", .id = 99999, .refused = "99999 at place"},
        {.what = "a group too many", .mtp = true, .id = 99, .refused = "expected a permutation"},
        {.what = "another number of groups", .places = 31, .id = -1, .refused = "centroids"},
        {.what = "no ordering",
         .without = "masked_embd_ordering",
         .id = -1,
         .refused = "masked_embd_ordering is missing"},
        {.what = "no projection",
         .without = "nextn.post_projection.weight",
         .id = -1,
         .refused = "1 tensor is missing: nextn.post_projection"},
    };
    char *dir = temp_dir();
    for (size_t i = 0; i < CT_COUNT(forms); i++) {
        carat_model_options o;
        carat_model_options_default(&o);
        carat_model *m = NULL;
        carat_error err = {CARAT_OK, ""};
        write_gguf(dir, &forms[i]);
        o.drafter = path_in(dir, "drafter.gguf");
        const carat_status status = carat_model_open(&m, TINY4, &o, &err);
        if ((status != CARAT_E_FORMAT && status != CARAT_E_UNSUPPORTED) ||
            !strstr(err.message, forms[i].refused) || !strstr(err.message, "drafter.gguf"))
            fail_msg("%s: %d, '%s' does not say '%s'", forms[i].what, (int)status, err.message,
                     forms[i].refused);
    }
    remove_all(dir);
}

/* ---- a drafter in the file of its model ---- */

/* Where the infos of tensors begin: at the first name of one. */
static size_t infos_of(const struct ct_file *f, const uint8_t *p, size_t n)
{
    size_t first = n;

    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        struct buf name = {0};
        put_str(&name, ct_file_tensor(f, i)->name);
        for (size_t at = 24; at + name.n < first; at++)
            if (memcmp(p + at, name.p, name.n) == 0)
                first = at;
        buf_free(&name);
    }
    return first;
}

static void add_all(struct tensors *to, const struct ct_file *f, const char *before)
{
    char name[128];

    for (int i = 0; i < ct_file_tensor_count(f); i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        uint64_t ne[4];
        const bool has = !*before || strncmp(t->name, before, strlen(before)) == 0;
        if (*before && strcmp(t->name, "rope_freqs.weight") == 0)
            continue; /* the model's are the same */
        assert_int_equal(t->type, CT_F32);
        for (int d = 0; d < t->n_dim; d++)
            ne[d] = (uint64_t)t->dim[t->n_dim - 1 - d];
        snprintf(name, sizeof name, "%s%s", has ? "" : before, t->name);
        put_pad(&to->data, ALIGNMENT);
        put_info(&to->info, name, (uint32_t)t->n_dim, ne, T_F32, to->data.n);
        put(&to->data, t->data, t->size);
        to->n++;
    }
}

static void write_both(const char *dir, const char *model, const char *drafter)
{
    struct ct_file *m = NULL, *d = NULL;
    struct tensors t = {.n = 0};
    struct buf b = {0}, whole = {0};
    uint64_t n_meta;
    int c;

    FILE *f = fopen(model, "rb");
    assert_non_null(f);
    while ((c = fgetc(f)) != EOF)
        put(&whole, &(uint8_t){(uint8_t)c}, 1);
    fclose(f);
    OK(ct_file_open(&m, model, false, err));
    add_all(&t, m, "");
    if (drafter) {
        OK(ct_file_open(&d, drafter, false, err));
        add_all(&t, d, "nextn.");
    }
    memcpy(&n_meta, whole.p + 16, sizeof n_meta);
    const size_t infos = infos_of(m, whole.p, whole.n);
    put_header(&b, 3, (uint64_t)t.n, n_meta);
    put(&b, whole.p + 24, infos - 24);
    put(&b, t.info.p, t.info.n);
    put_pad(&b, ALIGNMENT);
    put_pad(&t.data, ALIGNMENT);
    put(&b, t.data.p, t.data.n);
    write_file(dir, "both.gguf", b.p, b.n);
    ct_file_close(m);
    ct_file_close(d);
    buf_free(&b);
    buf_free(&whole);
    buf_free(&t.info);
    buf_free(&t.data);
}

static void count_line(void *user, const char *line)
{
    *(int *)user += strstr(line, "no part of the model") != NULL;
}

/* The scores of a step, when the model is opened with that drafter. */
static float score_of(const char *model, const char *drafter)
{
    static const int32_t ids[] = {2, 17, 99, 310, 5, 44, 278};
    carat_model_options o;
    carat_model_options_default(&o);
    carat_engine_options eo;
    carat_engine_options_default(&eo);
    carat_model *m = NULL;
    carat_engine *e = NULL;
    carat_session *s = NULL;
    int32_t draft[2];
    int unused = 0;
    float score = 0;

    o.drafter = drafter;
    o.log = count_line;
    o.user = &unused;
    eo.threads = eo.exact = 1;
    eo.context = 64;
    OK(carat_model_open(&m, model, &o, err));
    assert_int_equal(unused, 0);
    OK(carat_engine_create(&e, m, &eo, err));
    OK(carat_session_create(&s, e, NULL, err));
    OK(carat_sync(s, ids, 6, NULL, err));
    if (drafter) {
        assert_int_equal(ct_draft_propose(s, ids, 7, draft, 2), 2);
        score = e->drafts.reader.scores.value[draft[1]];
    } else {
        assert_false(ct_draft_exists(e));
    }
    carat_session_close(s);
    carat_engine_close(e);
    carat_model_close(m);
    return score;
}

static void the_model_has_one(void **unused)
{
    (void)unused;
    const char *shared = getenv("CARAT_SHARED");
    static const char *const names_of[] = {"g4-dense", "g4-e"};
    char model[1024], drafter[1024];
    if (!shared || !*shared)
        skip();
    for (int i = 0; i < 2; i++) {
        char *dir = temp_dir();
        const char *up = access(path_in(shared, "family"), F_OK) == 0 ? "" : "/..";
        snprintf(model, sizeof model, "%s%s/family/gguf/%s-f32.gguf", shared, up, names_of[i]);
        snprintf(drafter, sizeof drafter, "%s%s/family/gguf/%s-assistant-f32.gguf", shared, up, names_of[i]);
        write_both(dir, model, drafter);
        const float expected = score_of(model, drafter), found = score_of(path_in(dir, "both.gguf"), "self");
        assert_memory_equal(&found, &expected, sizeof found);
        score_of(path_in(dir, "both.gguf"), NULL); /* of which nobody hears */
        carat_model_options o;
        carat_model_options_default(&o);
        carat_model *m = NULL;
        carat_error err = {CARAT_OK, ""};
        o.drafter = "self";
        assert_int_equal(carat_model_open(&m, model, &o, &err), CARAT_E_NOT_FOUND);
        assert_non_null(strstr(err.message, "there is no drafter beside the model"));
        remove_all(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dialects_are_one),
                                       cmocka_unit_test(the_odd_are_refused),
                                       cmocka_unit_test(the_model_has_one)};
    return cmocka_run_group_tests_name("engine: files of drafters", tests, NULL, NULL);
}
