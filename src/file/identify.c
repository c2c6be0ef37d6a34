/* SPDX-License-Identifier: Apache-2.0 */
/* identify.c: says what a file is that cannot be opened as a model, and what to give instead. People name the
 * wrong file far more often than files are corrupt. Opening is open.c's. */
#include "file/reader.h"

#define PAGE   "is an HTML page, probably the error page of a failed download"
#define PICKLE "is a Python pickle: pickle is never loaded; convert the model to safetensors"
#define GGML   "file, older than GGUF: convert it to GGUF"
#define UNREAD ", which carat does not read: take the safetensors or a GGUF of "

/* Files that are known by the bytes at `at`, some of them together with the end of their name. */
static const struct kind {
    size_t at;
    const char *magic, *suffix;
    carat_status code;
    const char *what;
} kinds[] = {
    {0, "\x08", ".onnx", CARAT_E_UNSUPPORTED, "is an ONNX model" UNREAD "it"},
    {0, "PK\3\4", ".task", CARAT_E_UNSUPPORTED, "is a MediaPipe task bundle" UNREAD "the model"},
    {0, "PK\3\4", ".npz", CARAT_E_UNSUPPORTED, "is an archive of NumPy arrays" UNREAD "the model"},
    {0, "PK\3\4", ".keras", CARAT_E_UNSUPPORTED, "is a Keras model" UNREAD "the model"},
    {0, "version https://git-lfs", "", CARAT_E_FORMAT,
     "is a Git LFS pointer, not the file it points to: download the real file (git lfs pull)"},
    {0, "<!DOCTYPE", "", CARAT_E_FORMAT, PAGE},
    {0, "<!doctype", "", CARAT_E_FORMAT, PAGE},
    {0, "<html", "", CARAT_E_FORMAT, PAGE},
    {0, "PK\3\4", "", CARAT_E_UNSUPPORTED,
     "is a ZIP archive, as PyTorch .bin and .pt checkpoints are: pickle is never loaded; convert the model "
     "to safetensors"},
    {0, "\x80\2", "", CARAT_E_UNSUPPORTED, PICKLE},
    {0, "\x80\4\x95", "", CARAT_E_UNSUPPORTED, PICKLE},
    {0, "lmgg", "", CARAT_E_UNSUPPORTED, "is a GGML " GGML},
    {0, "GGML", "", CARAT_E_UNSUPPORTED, "is a GGML " GGML},
    {0, "fmgg", "", CARAT_E_UNSUPPORTED, "is a GGMF " GGML},
    {0, "tjgg", "", CARAT_E_UNSUPPORTED, "is a GGJT " GGML},
    {0, "GGJT", "", CARAT_E_UNSUPPORTED, "is a GGJT " GGML},
    {4, "TFL3", "", CARAT_E_UNSUPPORTED, "is a TensorFlow Lite model" UNREAD "it"},
    {0, "LITERTLM", "", CARAT_E_UNSUPPORTED, "is a LiteRT-LM model" UNREAD "it"},
    {0, "\x89HDF", "", CARAT_E_UNSUPPORTED,
     "is an HDF5 file, as Keras weights are, which carat does not read"},
    {0, "\x89PNG", "", CARAT_E_UNSUPPORTED, "is a PNG image, not a model"},
    {0, "\xff\xd8\xff", "", CARAT_E_UNSUPPORTED, "is a JPEG image, not a model"},
    {0, "%PDF", "", CARAT_E_UNSUPPORTED, "is a PDF document, not a model"},
    {0, "\177ELF", "", CARAT_E_UNSUPPORTED, "is an ELF program or library, not a model"},
    {0, "\x1f\x8b", "", CARAT_E_UNSUPPORTED, "is compressed with gzip: unpack it first"},
    {0, "\3757zXZ", "", CARAT_E_UNSUPPORTED, "is compressed with xz: unpack it first"},
    {0, "\x28\xb5\x2f\xfd", "", CARAT_E_UNSUPPORTED, "is compressed with zstd: unpack it first"},
    {0, "BZh", "", CARAT_E_UNSUPPORTED, "is compressed with bzip2: unpack it first"},
    {257, "ustar", "", CARAT_E_UNSUPPORTED, "is a tar archive: unpack it first"},
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

size_t ct_leading_space(struct ct_bytes b)
{
    size_t i = 0;
    while (i < b.size && (b.data[i] == ' ' || b.data[i] == '\n' || b.data[i] == '\r' || b.data[i] == '\t'))
        i++;
    return i;
}

/* A SentencePiece model begins with its first piece: field 1 of some bytes, in it field 1, the text. */
static bool is_sentencepiece(struct ct_bytes b)
{
    if (b.size < 4 || b.data[0] != 0x0a || b.data[2] != 0x0a || b.data[1] < b.data[3] + 2)
        return false;
    size_t score = 4 + (size_t)b.data[3]; /* field 2, four bytes, follows the text */
    return b.data[3] > 0 && b.data[1] < 0x80 && (b.size <= score || b.data[score] == 0x15);
}

carat_status ct_identify(const char *path, struct ct_bytes b, carat_error *err)
{
    if (b.size == 0)
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s is empty; a GGUF file or a Hugging Face model directory was expected", path);
    if (b.size < 4 && memcmp(b.data, "GGUF", b.size) == 0)
        return ct_bad_file(err, path, "the file ends at byte %zu inside the magic of GGUF", b.size);
    if (b.size < 8 && memcmp(b.data, CT_PACKED_MAGIC, b.size) == 0)
        return ct_bad_file(
            err, path, "the file ends at byte %zu inside the magic of a packed file: pack the model again",
            b.size);
    for (const struct kind *k = kinds; k < kinds + CT_COUNT(kinds); k++)
        if (b.size >= k->at + strlen(k->magic) && memcmp(b.data + k->at, k->magic, strlen(k->magic)) == 0 &&
            ends_with(path, k->suffix))
            return ct_fail(err, k->code, "%s %s", path, k->what);
    if (b.size > 8 && b.data[8] == '{' && ct_le64(b.data) <= CT_MAX_HEADER)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s is a safetensors file, which holds weights only: give the directory it lies in, "
                       "with its config.json and tokenizer",
                       path);
    size_t i = ct_leading_space(b);
    if (i < b.size && (b.data[i] == '{' || b.data[i] == '['))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s is a JSON document, not a model: give the Hugging Face directory it belongs to",
                       path);
    if (is_sentencepiece(b))
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s looks like a SentencePiece tokenizer, which has no weights: give the model directory", path);
    char hex[4 * 3 + 1] = "";
    for (size_t k = 0; k < CT_MIN(b.size, (size_t)4); k++)
        snprintf(hex + 3 * k, 4, " %02x", b.data[k]);
    return ct_fail(
        err, CARAT_E_UNSUPPORTED,
        "%s is not a model that carat knows: it begins with bytes%s; a GGUF file (47 47 55 46) or a "
        "Hugging Face model directory was expected",
        path, hex);
}
