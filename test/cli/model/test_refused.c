/* SPDX-License-Identifier: Apache-2.0 */
/* test_refused.c: what looks like a model for carat and is not is refused by its name, with what works
 * instead. Each case is a minimal directory or file that says what the real one says. Broken files are in the
 * test_bad_*.c. */
#include "cli/bad.h"

/* ---- directories ---- */

struct hf {
    const char *config;  /* config.json; NULL: none */
    const char *header;  /* of model.safetensors, with 4 bytes of data; NULL: a plain one */
    const char *name[2]; /* further files, empty */
};

#define ENTRY(name) "{\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}"

static void directory(struct bad_place *p, const void *with)
{
    const struct hf *hf = with;
    struct buf b = {0};
    bad_model(p, "");
    put_safetensors(&b, hf->header ? hf->header : ENTRY("model.embed_tokens.weight"), 4);
    if (hf->config) {
        write_text(p->dir, "config.json", hf->config);
        if (!hf->name[0])
            bad_write(p, "model.safetensors", b.p, b.n);
    }
    buf_free(&b);
    for (size_t i = 0; i < CT_COUNT(hf->name) && hf->name[i]; i++)
        write_text(p->dir, hf->name[i], "");
}

/* With a tokenizer that carat cannot read, as relatives have: the model is named, not the tokenizer. */
static void odd_tokenizer(struct bad_place *p, const void *with)
{
    directory(p, with);
    write_text(p->dir, "tokenizer.json", "{\"model\":{\"type\":\"WordPiece\"}}");
}

#define CONFIG(text)   directory, &(const struct hf){.config = "{" text "}"}, 4
#define HEADER(header) directory, &(const struct hf){"{\"model_type\":\"gemma3_text\"}", header, {NULL}}, 4
#define FILES(...)     directory, &(const struct hf){"{\"model_type\":\"gemma2\"}", NULL, {__VA_ARGS__}}, 4
#define TYPE(name)     CONFIG("\"model_type\":\"" name "\"")
#define GEMMA3(more)   CONFIG("\"model_type\":\"gemma3_text\"," more)

#define WHERE "/config.json: "
#define RUNS  "which carat does not run; it runs Gemma 1, 2, 3, 3n, 4, FunctionGemma and EmbeddingGemma"
#define DRAFTS                                                                                               \
    "which carat does not run by itself; open the model that it drafts for, and this as its drafter"
#define PLAIN "open the original or a GGUF of it"

static const struct bad_case relatives[] = {
    {"refused", "a part of Gemma 3n", TYPE("gemma3n_audio"), {WHERE, "is another form of Gemma 3n, " RUNS}},
    {"refused",
     "a Gemma 4 that does not run, with an odd tokenizer",
     odd_tokenizer,
     &(const struct hf){.config = "{\"model_type\":\"gemma4_assistant\"}"},
     4,
     {WHERE, "is a drafter for Gemma 4, " DRAFTS}},
    {"refused", "a drafter", TYPE("gemma4_assistant"), {WHERE, "is a drafter for Gemma 4, " DRAFTS}},
    {"refused", "another", TYPE("gemma4_unified_assistant"), {WHERE, "is a drafter for Gemma 4, " DRAFTS}},
    {"refused", "a part of Gemma 4", TYPE("gemma4_vision"), {WHERE, "is another form of Gemma 4, " RUNS}},
    {"refused",
     "a drafter under the type of a model",
     CONFIG("\"model_type\":\"gemma4_text\",\"architectures\":[\"Gemma4DSparkModel\"]"),
     {WHERE "architectures \"Gemma4DSparkModel\" is a drafter for Gemma 4, " RUNS}},
    {"refused", "RecurrentGemma", TYPE("recurrent_gemma"), {WHERE, "is a RecurrentGemma model, " RUNS}},
    {"refused",
     "PaliGemma",
     CONFIG("\"model_type\":\"paligemma\",\"text_config\":{\"model_type\":\"gemma\"}"),
     {WHERE, "is a PaliGemma model, " RUNS}},
    {"refused",
     "PaliGemma 2",
     CONFIG("\"model_type\":\"paligemma\",\"text_config\":{\"model_type\":\"gemma2\"}"),
     {WHERE, "is a PaliGemma model, " RUNS}},
    {"refused", "T5Gemma", TYPE("t5gemma"), {WHERE, "is a T5Gemma model, " RUNS}},
    {"refused", "T5Gemma 2", TYPE("t5gemma2"), {WHERE, "is a T5Gemma model, " RUNS}},
    {"refused", "DiffusionGemma", TYPE("diffusion_gemma"), {WHERE, "is a DiffusionGemma model, " RUNS}},
    {"refused",
     "DiffusionGemma by its class",
     CONFIG("\"model_type\":\"odd\",\"architectures\":[\"DiffusionGemmaForBlockDiffusion\"]"),
     {WHERE "architectures", "is a DiffusionGemma model, " RUNS}},
    {"refused",
     "EmbeddingGemma 3",
     TYPE("embedding_gemma3"),
     {WHERE, "is another form of EmbeddingGemma, " RUNS}},
    {"refused", "VaultGemma", TYPE("vaultgemma"), {WHERE, "is a VaultGemma model, " RUNS}},
    {"refused", "ShieldGemma 2", TYPE("shieldgemma2"), {WHERE, "is a ShieldGemma 2 model, " RUNS}},
    {"refused",
     "an embedder out of Gemma 2",
     CONFIG("\"model_type\":\"gemma2\",\"use_bidirectional_attention\":true"),
     {WHERE "use_bidirectional_attention", "an embedding model", RUNS}},
    {"refused",
     "Llama",
     TYPE("llama"),
     {WHERE "model_type \"llama\" is not a model that carat runs; it runs"}},
    {"refused", "Gemma 9", TYPE("gemma9"), {WHERE "model_type \"gemma9\" is not a model that carat runs"}},
    {"refused",
     "a name that would colour the terminal",
     TYPE("\\u001b[31m\\u00e9\\u0007"),
     {WHERE "model_type \"?[31m???\" is not a model"}},
};

static const struct bad_case quantised[] = {
    {"refused",
     "GPTQ",
     GEMMA3("\"quantization_config\":{\"bits\":4,\"group_size\":128,\"quant_method\":\"gptq\"}"),
     {WHERE "quantization_config", "quantised with gptq (4 bits); ", PLAIN}},
    {"refused",
     "AWQ",
     GEMMA3("\"quantization_config\":{\"bits\":4,\"quant_method\":\"awq\",\"version\":\"gemm\"}"),
     {WHERE, "quantised with awq (4 bits); ", PLAIN}},
    {"refused",
     "bitsandbytes, 4 bit",
     GEMMA3("\"quantization_config\":{\"load_in_4bit\":true,\"quant_method\":\"bitsandbytes\"}"),
     {WHERE, "quantised with bitsandbytes (4 bits); ", PLAIN}},
    {"refused",
     "bitsandbytes, 8 bit",
     GEMMA3("\"quantization_config\":{\"load_in_4bit\":false,\"load_in_8bit\":true,"
            "\"quant_method\":\"bitsandbytes\"}"),
     {WHERE, "quantised with bitsandbytes (8 bits); ", PLAIN}},
    {"refused",
     "FP8",
     GEMMA3("\"quantization_config\":{\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]}"),
     {WHERE, "quantised with fp8; ", PLAIN}},
    {"refused",
     "compressed-tensors",
     GEMMA3(
         "\"quantization_config\":{\"format\":\"pack-quantized\",\"quant_method\":\"compressed-tensors\"}"),
     {WHERE, "quantised with compressed-tensors (pack-quantized); ", PLAIN}},
    {"refused",
     "a nested config",
     CONFIG("\"model_type\":\"gemma3\",\"text_config\":{\"quantization_config\":{\"quant_method\":\"hqq\"}}"),
     {WHERE, "quantised with hqq; ", PLAIN}},
    {"refused",
     "a method of tomorrow",
     GEMMA3("\"quantization_config\":{}"),
     {WHERE, "quantised with an unnamed method; ", PLAIN}},
    {"refused",
     "MLX",
     GEMMA3("\"quantization\":{\"group_size\":64,\"bits\":4}"),
     {WHERE "quantization says", "quantised with MLX (4 bits); ", PLAIN}},
    {"refused",
     "MLX, both keys",
     GEMMA3("\"quantization\":{\"group_size\":64,\"bits\":8},"
            "\"quantization_config\":{\"group_size\":64,\"bits\":8}"),
     {WHERE, "quantised with MLX (8 bits); ", PLAIN}},
    /* config.json says nothing */
    {"refused",
     "GPTQ by its tensors",
     HEADER(ENTRY("model.layers.0.mlp.up_proj.qweight")),
     {"/model.safetensors: tensor model.layers.0.mlp.up_proj.qweight", "quantised with GPTQ or AWQ", PLAIN}},
    {"refused",
     "compressed-tensors by its tensors",
     HEADER(ENTRY("model.layers.0.mlp.up_proj.weight_packed")),
     {"quantised with compressed-tensors", PLAIN}},
    {"refused",
     "FP8 by its tensors",
     HEADER(ENTRY("model.layers.0.mlp.up_proj.weight_scale_inv")),
     {"quantised to FP8", PLAIN}},
    {"refused",
     "bitsandbytes by its tensors",
     HEADER(ENTRY("model.layers.0.mlp.up_proj.weight.absmax")),
     {"quantised with bitsandbytes", PLAIN}},
    {"refused",
     "MLX by its tensors",
     HEADER(ENTRY("model.layers.0.mlp.up_proj.scales")),
     {"quantised with MLX", PLAIN}},
    {"refused",
     "LoRA by its tensors",
     HEADER(ENTRY("base_model.model.model.layers.0.mlp.up_proj.lora_A.weight")),
     {"LoRA adapter that is not merged; merge it into"}},
};

static const struct bad_case directories[] = {
    {"refused",
     "a LoRA adapter",
     directory,
     &(const struct hf){.name = {"adapter_config.json", "adapter_model.safetensors"}},
     4,
     {"holds a LoRA adapter (adapter_config.json)", "merge it into its base model"}},
    {"refused",
     "a LoRA adapter beside its base model",
     FILES("model.safetensors", "adapter_config.json"),
     {"holds a LoRA adapter (adapter_config.json)", "merge it into its base model"}},
    {"S12", "pickle", FILES("pytorch_model.bin"), {"pickle is never loaded; convert", "to safetensors"}},
    {"S12", "pickle in shards", FILES("pytorch_model.bin.index.json"), {"pickle is never loaded; convert"}},
    {"S12", "a checkpoint of Google's PyTorch code", FILES("model.ckpt"), {"pickle is never loaded"}},
    {"refused", "Flax", FILES("flax_model.msgpack"), {"the format of Flax", "convert the model to"}},
    {"refused", "Keras", FILES("model.weights.h5"), {"the format of Keras", "convert the model to"}},
    {"refused", "ONNX", FILES("model.onnx"), {"the format of ONNX", "convert the model to"}},
    {"refused",
     "CoreML",
     FILES("gemma.mlmodelc"),
     {"converted to CoreML (*.mlmodelc)", "checkpoint it came"}},
    {"refused", "CoreML, a package", FILES("meta.yaml", "lm_head.mlpackage"), {"CoreML (*.mlpackage)"}},
    {"refused",
     "CoreML without config.json",
     directory,
     &(const struct hf){.name = {"meta.yaml"}},
     4,
     {"converted to CoreML (meta.yaml), which carat does not read: give the checkpoint it came from"}},
    {"refused", "nothing", FILES("README.md"), {"has no weights", "model.safetensors.index.json was"}},
};

/* ---- files ---- */

struct one {
    const char *name, *bytes;
    size_t n;
};
static void single(struct bad_place *p, const void *with)
{
    const struct one *f = with;
    bad_file(p, f->name, f->bytes, f->n);
}
#define FILE_OF(name, bytes) single, &(const struct one){name, bytes, sizeof(bytes) - 1}, 4

static const struct bad_case files[] = {
    {"refused",
     "ONNX",
     FILE_OF("m.onnx", "\x08\7\x12\7pytorch"),
     {"/m.onnx is an ONNX model", "a GGUF of it"}},
    {"refused", "TensorFlow Lite", FILE_OF("m.tflite", "\x1c\0\0\0TFL3"), {"/m.tflite is a TensorFlow Lite"}},
    {"refused", "a task", FILE_OF("m.task", "PK\3\4......"), {"/m.task is a MediaPipe task bundle", "GGUF"}},
    {"refused", "LiteRT-LM", FILE_OF("m.litertlm", "LITERTLM\1\0\0\0"), {"is a LiteRT-LM model", "GGUF"}},
    {"S12", "pickle in a ZIP", FILE_OF("m.bin", "PK\3\4......"), {"pickle is never loaded; convert the"}},
    {"S12", "bare pickle", FILE_OF("m.bin", "\x80\2}q\0."), {"pickle is never loaded; convert the model"}},
    {"refused", "a Keras model", FILE_OF("m.keras", "PK\3\4......"), {"is a Keras model"}},
    {"refused", "NumPy", FILE_OF("gemma.npz", "PK\3\4......"), {"is an archive of NumPy arrays"}},
};

/* ---- GGUF ---- */

struct gguf {
    const char *type, *architecture;
    const char *flag;   /* a key that is false */
    const char *tensor; /* one of 4 numbers */
};
static void metadata(struct bad_place *p, const void *with)
{
    const struct gguf *g = with;
    struct buf b = {0};
    put_header(&b, 3, g->tensor != NULL,
               (uint64_t)(g->type != NULL) + (g->architecture != NULL) + (g->flag != NULL));
    const char *const keys[] = {"general.type", "general.architecture"}, *const values[] = {g->type,
                                                                                            g->architecture};
    for (int i = 0; i < 2; i++)
        if (values[i]) {
            put_str(&b, keys[i]);
            put_u32(&b, 8);
            put_str(&b, values[i]);
        }
    if (g->flag)
        put_meta(&b, g->flag, 7, "", 1);
    if (g->tensor) {
        put_info(&b, g->tensor, 1, (const uint64_t[]){4}, 0, 0);
        while (b.n % 32)
            put(&b, "", 1);
        put(&b, "\0\0\200\77\0\0\200\77\0\0\200\77\0\0\200\77................", 32);
    }
    bad_file(p, "model.gguf", b.p, b.n);
    buf_free(&b);
}
#define GGUF(...)  metadata, &(const struct gguf){__VA_ARGS__}, 4
#define ARCH(name) GGUF("model", name, NULL)

static const struct bad_case ggufs[] = {
    {"refused", "a drafter", ARCH("gemma4-assistant"), {"is a drafter for Gemma 4, " DRAFTS}},
    {"refused", "another drafter", ARCH("gemma4_mtp"), {"is a drafter for Gemma 4, " DRAFTS}},
    {"refused", "a third one", ARCH("dflash"), {"is a drafter (DFlash or DSpark), " RUNS}},
    {"refused", "EmbeddingGemma 3", ARCH("gemma-embedding3"), {"is another form of EmbeddingGemma, " RUNS}},
    {"refused",
     "an embedder under the name of Gemma 2",
     GGUF(NULL, "gemma2", "gemma2.attention.causal"),
     {"gemma2.attention.causal says that this is an embedding model", RUNS}},
    {"refused", "DiffusionGemma", ARCH("diffusion-gemma"), {"is a DiffusionGemma model, " RUNS}},
    {"refused",
     "mmproj",
     GGUF(NULL, "clip", NULL),
     {"(an mmproj file)", "open the language model's own file"}},
    {"refused", "mmproj", GGUF("mmproj", "clip", NULL), {"general.type \"mmproj\" is the image encoder"}},
    {"refused", "LoRA", GGUF("adapter", "gemma3", NULL), {"is a LoRA adapter without its base", "merge it"}},
    {"refused", "imatrix", GGUF("imatrix", NULL, NULL), {"is an importance matrix", "open the model's own"}},
    {"refused",
     "angles of one's own",
     GGUF(NULL, "gemma2", NULL, "rope_freqs.weight"),
     {"tensor rope_freqs.weight at byte ",
      "which carat does not apply to a model of architecture \"gemma2\""}},
    {"refused",
     "angles for long texts",
     GGUF(NULL, "gemma3", NULL, "rope_factors_long.weight"),
     {"tensor rope_factors_long.weight at byte "}},
    {"G21",
     "Llama",
     ARCH("llama"),
     {"general.architecture \"llama\" is not a model that carat runs; it runs"}},
    {"G21",
     "no name",
     ARCH(""),
     {"general.architecture \"\" is not a model that carat runs; it runs Gemma 1,"}},
};

/* ---- what only looks refusable ---- */

static void same_model_other_words(struct bad_place *p, const void *with)
{
    struct buf b = bad_read(CT_TEST_DATA "/vectors/models/gemma3-bf16/config.json");
    const char *from = "\"Gemma3ForCausalLM\"";
    char *text = (char *)b.p, *at;
    put(&b, "", 1);
    text = (char *)b.p;
    at = strstr(text, from);
    assert_non_null(at);
    struct buf c = {0};
    put(&c, text, (size_t)(at - text));
    put_text(&c, with);
    put_text(&c, at + strlen(from));
    bad_write(p, "config.json", c.p, c.n);
    buf_free(&b);
    buf_free(&c);
    b = bad_read(CT_TEST_DATA "/vectors/models/gemma3-bf16/model.safetensors");
    bad_write(p, "model.safetensors", b.p, b.n);
    buf_free(&b);
    bad_model(p, "");
}

static const struct bad_case runs[] = {
    {"runs", "another class", same_model_other_words, "\"Gemma3TextModel\"", 0},
    {"runs", "a class of one's own", same_model_other_words, "\"MyGemma\"", 0},
    {"runs", "keys that say nothing", same_model_other_words,
     "\"Gemma3ForCausalLM\"],\"quantization_config\":null,\"use_bidirectional_attention\":false,"
     "\"transformers_version\":[\"5\"",
     0},
};

static void relatives_by_name(void **state)
{
    (void)state;
    BAD_RUN(relatives);
}
static void quantised_by_name(void **state)
{
    (void)state;
    BAD_RUN(quantised);
}
static void directories_by_name(void **state)
{
    (void)state;
    BAD_RUN(directories);
}
static void files_by_name(void **state)
{
    (void)state;
    BAD_RUN(files);
}
static void ggufs_by_name(void **state)
{
    (void)state;
    BAD_RUN(ggufs);
}
static void others_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < CT_COUNT(runs); i++) {
        struct bad_case c = runs[i];
        static const char *const logits[8] = {"logits", "@", "--ids", "2,3"};
        memcpy(c.args, logits, sizeof logits);
        assert_true(bad_try(&c));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relatives_by_name),   cmocka_unit_test(quantised_by_name),
        cmocka_unit_test(directories_by_name), cmocka_unit_test(files_by_name),
        cmocka_unit_test(ggufs_by_name),       cmocka_unit_test(others_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
