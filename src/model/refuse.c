/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.c: names what looks like a model for carat and is not: relatives of Gemma, parts of models, and
 * quantised safetensors, each with what it is and what works instead. One table of names serves both
 * containers. src/file names files that are no checkpoint at all, src/quant stored types. */
#include "model/refuse.h"

#define RUNS "it runs Gemma 1, 2, 3, 3n, 4, FunctionGemma and EmbeddingGemma"

#define PLAIN                                                                                                \
    "carat reads plain safetensors (BF16, F16, F32) and quantised GGUF files: open the original or a GGUF "  \
    "of it"
#define MERGE "merge it into the base model and open the result"

#define DRAFTS "open the model that it drafts for, and this as its drafter"

static const char drafter[] = "a drafter for Gemma 4";

/* A name as config.json (model_type, class) or GGUF (architecture, general.type) spells it, in lower case
 * and without separators; it stands for every name that begins so. The first match counts. */
static const struct relative {
    const char *name, *what, *instead;
} relatives[] = {
    {"gemma3n", "another form of Gemma 3n", RUNS},
    {"gemma4assistant", drafter, DRAFTS},
    {"gemma4mtp", drafter, DRAFTS},
    {"gemma4unifiedassistant", drafter, DRAFTS},
    {"gemma4dspark", drafter, RUNS},
    {"dflash", "a drafter (DFlash or DSpark)", RUNS},
    {"gemma4", "another form of Gemma 4", RUNS},
    {"recurrentgemma", "a RecurrentGemma model", RUNS},
    {"paligemma", "a PaliGemma model", RUNS},
    {"shieldgemma2", "a ShieldGemma 2 model", RUNS},
    {"t5gemma", "a T5Gemma model", RUNS},
    {"diffusiongemma", "a DiffusionGemma model", RUNS},
    {"gemmaembedding", "another form of EmbeddingGemma", RUNS},
    {"embeddinggemma", "another form of EmbeddingGemma", RUNS},
    {"vaultgemma", "a VaultGemma model", RUNS},
    {"clip", "the image encoder of a multimodal model (an mmproj file)",
     "open the language model's own file"},
    {"mmproj", "the image encoder of a multimodal model (an mmproj file)",
     "open the language model's own file"},
    {"adapter", "a LoRA adapter without its base model", MERGE},
    {"imatrix", "an importance matrix (a by-product of quantising, without weights)",
     "open the model's own file"},
};

/* Endings of tensor names that only quantised or unmerged checkpoints have; the first that occurs counts. */
static const struct ending {
    const char *ending, *what, *instead;
    bool of_int4; /* of compressed-tensors, too */
} endings[] = {
    {".qweight", "is quantised with GPTQ or AWQ", PLAIN, false},
    {".weight_packed", "is quantised with compressed-tensors", PLAIN, true},
    {".weight_scale_inv", "is quantised to FP8", PLAIN, false},
    {".weight_scale", "is quantised to FP8 or INT8", PLAIN, true},
    {".absmax", "is quantised with bitsandbytes (4 bit)", PLAIN, false},
    {".SCB", "is quantised with bitsandbytes (8 bit)", PLAIN, false},
    {".scales", "is quantised with MLX", PLAIN, false},
    {".lora_A.weight", "holds a LoRA adapter that is not merged", MERGE, false},
    {".lora_A.default.weight", "holds a LoRA adapter that is not merged", MERGE, false},
};

/* True when `name`, its case and separators aside, begins with the folded name `row`. */
static bool name_begins(struct ct_str name, const char *row)
{
    for (size_t i = 0; i < name.n && *row; i++) {
        char c = name.s[i];
        if (c == '-' || c == '_')
            continue;
        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != *row)
            return false;
        row++;
    }
    return *row == 0;
}

static const struct relative *find_relative(struct ct_str name)
{
    for (size_t i = 0; i < CT_COUNT(relatives); i++)
        if (name_begins(name, relatives[i].name))
            return &relatives[i];
    return NULL;
}

bool ct_refuse_knows(struct ct_str name)
{
    return find_relative(name) != NULL;
}

bool ct_refuse_drafts(struct ct_str name)
{
    const struct relative *r = find_relative(name);
    return r && r->what == drafter;
}

carat_status ct_refuse_name(const char *path, const char *key, struct ct_str name, carat_error *err)
{
    const struct relative *r = find_relative(name);
    char shown[65]; /* the name comes from a file: its beginning, in plain ASCII */
    size_t n = CT_MIN(name.n, sizeof shown - 1);

    for (size_t i = 0; i < n; i++)
        shown[i] = name.s[i] >= 0x20 && name.s[i] < 0x7f ? name.s[i] : '?';
    shown[n] = 0;
    if (r)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: %s \"%s\" is %s, which carat does not run%s; %s", path,
                       key, shown, r->what, strcmp(r->instead, DRAFTS) ? "" : " by itself", r->instead);
    return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: %s \"%s\" is not a model that carat runs; " RUNS, path, key,
                   shown);
}

carat_status ct_refuse_bidirectional(const char *path, const char *key, carat_error *err)
{
    return ct_fail(err, CARAT_E_UNSUPPORTED,
                   "%s: %s says that this is an embedding model, as EmbeddingGemma is, which carat does not "
                   "run; " RUNS,
                   path, key);
}

carat_status ct_refuse_quantised(const char *path, const char *key, struct ct_str method,
                                 struct ct_str detail, carat_error *err)
{
    return ct_fail(err, CARAT_E_UNSUPPORTED,
                   "%s: %s says that the weights are quantised with %.*s%s%.*s%s; " PLAIN, path, key,
                   (int)CT_MIN(method.n, (size_t)64), method.s, detail.n ? " (" : "",
                   (int)CT_MIN(detail.n, (size_t)32), detail.n ? detail.s : "", detail.n ? ")" : "");
}

carat_status ct_refuse_tensors(const struct ct_file *f, bool int4, carat_error *err)
{
    for (size_t e = 0; e < CT_COUNT(endings); e++) {
        size_t k = strlen(endings[e].ending);
        if (int4 && endings[e].of_int4)
            continue;
        for (int i = 0; i < ct_file_tensor_count(f); i++) {
            const struct ct_tensor *t = ct_file_tensor(f, i);
            size_t n = strlen(t->name);
            if (n > k && memcmp(t->name + n - k, endings[e].ending, k) == 0)
                return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: tensor %.200s shows that the checkpoint %s; %s",
                               t->file, t->name, endings[e].what, endings[e].instead);
        }
    }
    return CARAT_OK;
}
