/* SPDX-License-Identifier: Apache-2.0 */
/* glance.c: see glance.h. Of a GGUF file the keys at its beginning are read as far as they are numbers and
 * texts, of a directory config.json. Whatever is not as expected ends the look. */
#define _POSIX_C_SOURCE 200809L
#include "store/glance.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

enum { HEAD = 4096, MOST_CONFIG = 64 << 10 };

/* A word that may stand in a list: printable, without spaces. */
static void put_word(char out[GLANCE_TEXT], const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && i + 1 < GLANCE_TEXT && isgraph((unsigned char)s[i]))
        i++;
    snprintf(out, GLANCE_TEXT, "%.*s", (int)(i == n ? n : 0), s);
}

/* What a file begins with; a directory has nothing. */
static size_t read_head(const char *path, char *out, size_t capacity, struct glance *g, bool *directory)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st = {.st_mode = 0};
    size_t n = 0;
    ssize_t got = 1;

    if (fd < 0)
        return 0;
    (void)fstat(fd, &st);
    *directory = S_ISDIR(st.st_mode);
    if (S_ISREG(st.st_mode)) {
        g->used = st.st_atime;
        capacity = (uint64_t)st.st_size < capacity ? (size_t)st.st_size : capacity;
        while (n < capacity && (got = read(fd, out + n, capacity - n)) > 0)
            n += (size_t)got;
    }
    close(fd);
    return n;
}

/* ---- GGUF ---- */

/* llama.cpp's numbers of mixes, as "general.file_type" has them. */
static const char *const mixes[] = {
    [0] = "F32",     [1] = "F16",     [2] = "Q4_0",     [3] = "Q4_1",    [7] = "Q8_0",     [8] = "Q5_0",
    [9] = "Q5_1",    [10] = "Q2_K",   [11] = "Q3_K_S",  [12] = "Q3_K_M", [13] = "Q3_K_L",  [14] = "Q4_K_S",
    [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M",  [18] = "Q6_K",   [19] = "IQ2_XXS", [20] = "IQ2_XS",
    [21] = "Q2_K_S", [22] = "IQ3_XS", [23] = "IQ3_XXS", [24] = "IQ1_S",  [25] = "IQ4_NL",  [26] = "IQ3_S",
    [27] = "IQ3_M",  [28] = "IQ2_S",  [29] = "IQ2_M",   [30] = "IQ4_XS", [31] = "IQ1_M",   [32] = "BF16",
    [36] = "TQ1_0",  [37] = "TQ2_0",  [38] = "MXFP4",
};

/* What is left of the head. */
struct rest {
    const char *at;
    size_t n;
};

/* A little-endian number of so many bytes; false: the head ends before it. */
static bool take(struct rest *r, int bytes, uint64_t *value)
{
    if (r->n < (size_t)bytes)
        return false;
    *value = 0;
    for (int i = bytes; i-- > 0;)
        *value = *value << 8 | (unsigned char)r->at[i];
    r->at += bytes;
    r->n -= (size_t)bytes;
    return true;
}

static bool take_string(struct rest *r, const char **s, uint64_t *n)
{
    if (!take(r, 8, n) || *n > r->n)
        return false;
    *s = r->at;
    r->at += *n;
    r->n -= *n;
    return true;
}

static bool is(const char *s, uint64_t n, const char *word)
{
    return n == strlen(word) && memcmp(s, word, n) == 0;
}

/* One key and its value. */
static bool take_key(struct rest *r, struct glance *g)
{
    static const int bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}; /* of the types; texts and lists: 0 */
    enum { STRING = 8, ARRAY = 9, N_TYPES = sizeof bytes / sizeof *bytes };
    const char *key, *text;
    uint64_t n, m, type, value = 0;

    if (!take_string(r, &key, &n) || !take(r, 4, &type) || type >= N_TYPES || type == ARRAY)
        return false;
    if (type == STRING) {
        if (!take_string(r, &text, &m))
            return false;
        if (is(key, n, "general.architecture"))
            put_word(g->kind, text, m);
        return true;
    }
    if (!take(r, bytes[type], &value))
        return false;
    if (is(key, n, "general.file_type") && value < sizeof mixes / sizeof *mixes && mixes[value])
        snprintf(g->type, GLANCE_TEXT, "%s", mixes[value]);
    return true;
}

static void look_at_gguf(struct glance *g, struct rest r)
{
    uint64_t magic, version, tensors, keys;

    if (!take(&r, 4, &magic) || magic != 0x46554747 || !take(&r, 4, &version) || !take(&r, 8, &tensors) ||
        !take(&r, 8, &keys))
        return;
    while (keys-- > 0 && take_key(&r, g))
        ;
}

/* "Q4_K_M" of "gemma-3-1b-it-Q4_K_M.gguf", also in front of the number of a part. */
static void type_of_name(char type[GLANCE_TEXT], const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path, *first;
    char word[256];

    snprintf(word, sizeof word, "%s", name);
    char *of = strstr(word, "-of-"), *dot = strrchr(word, '.');
    if (of && of - word > 6)
        of[-6] = 0; /* "-00001" */
    else if (dot)
        *dot = 0;
    for (first = word + strlen(word); first > word && first[-1] != '-' && first[-1] != '.';)
        first--;
    const size_t letters = strspn(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    if (letters > 0 && letters <= 5 && first[letters] >= '0' && first[letters] <= '9' &&
        strchr("QqIiFfBbTtMm", *first))
        put_word(type, first, strlen(first));
}

/* ---- directories ---- */

static void look_at_config(struct glance *g, const char *dir)
{
    static const struct {
        const char *stored, *shown;
    } types[] = {{"bfloat16", "BF16"}, {"float16", "F16"}, {"float32", "F32"}};
    static char text[MOST_CONFIG];
    char path[4096];
    bool directory;

    if (snprintf(path, sizeof path, "%s/config.json", dir) >= (int)sizeof path)
        return;
    const size_t n = read_head(path, text, sizeof text, g, &directory);
    json_t *config = json_loadb(text, n, 0, NULL);
    const char *kind = json_string_value(json_object_get(config, "model_type")),
               *type = json_string_value(json_object_get(config, "dtype")),
               *method = json_string_value(
                   json_object_get(json_object_get(config, "quantization_config"), "quant_method"));
    if (!type)
        type = json_string_value(json_object_get(config, "torch_dtype"));
    if (!type)
        type = json_string_value(json_object_get(json_object_get(config, "text_config"), "torch_dtype"));
    if (kind)
        put_word(g->kind, kind, strlen(kind));
    for (size_t i = 0; type && i < sizeof types / sizeof types[0]; i++)
        if (strcmp(type, types[i].stored) == 0)
            snprintf(g->type, GLANCE_TEXT, "%s", types[i].shown);
    if (method)
        put_word(g->type, method, strlen(method));
    json_decref(config);
    struct stat st;
    if (snprintf(path, sizeof path, "%s/model.safetensors", dir) < (int)sizeof path && stat(path, &st) == 0)
        g->used = st.st_atime;
}

void glance_at(struct glance *g, const char *path)
{
    bool directory = false;
    char head[HEAD];

    *g = (struct glance){.used = 0};
    const size_t n = read_head(path, head, sizeof head, g, &directory);
    if (directory)
        look_at_config(g, path);
    else
        look_at_gguf(g, (struct rest){head, n});
    if (*g->kind && !*g->type)
        type_of_name(g->type, path);
}
