/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: a main for fuzz targets where libFuzzer is not linked: runs the target over the files it is given
 * and over every file of the directories it is given, in name order. It finds nothing new; it keeps what was
 * found from coming back. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) != 0) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    size_t size = (size_t)st.st_size;
    /* Exactly as large as the input, so that a sanitizer sees the first byte read beyond it. */
    uint8_t *data = malloc(size ? size : 1);
    if (!data || fread(data, 1, size, f) != size) {
        fprintf(stderr, "replay: cannot read %s\n", path);
        exit(1);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int run_directory(const char *path)
{
    struct dirent **entry;
    int n = scandir(path, &entry, NULL, alphasort), ran = 0;
    for (int i = 0; i < n; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.')
            ran += run_file(file);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
    return ran;
}

int main(int argc, char **argv)
{
    int ran = 0;
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
            ran += run_directory(argv[i]);
        else
            ran += run_file(argv[i]);
    }
    printf("%d inputs\n", ran);
    return ran > 0 ? 0 : 1;
}
