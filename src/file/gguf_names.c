/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_names.c: what the name of a GGUF file says: a model, a part of one, or something else. What is in the
 * file is gguf.c's. */
#include "file/reader.h"

#include <stdlib.h>

/* Its number and how many there are; 0: the name is not that of a part, -00002-of-00003.gguf at its end. */
static unsigned part_of(const char *name, unsigned *count)
{
    size_t n = strlen(name);
    unsigned index;
    char end;

    if (n <= 20 || sscanf(name + n - 20, "-%5u-of-%5u.ggu%c", &index, count, &end) != 3)
        return 0;
    return index;
}

unsigned ct_gguf_parts(const char *name)
{
    unsigned count = 0;

    return part_of(name, &count) == 1 ? count : 0;
}

bool ct_gguf_is_model(const char *name)
{
    size_t n = strlen(name);
    unsigned count;

    return n > 5 && strcmp(name + n - 5, ".gguf") == 0 && strncmp(name, "mmproj", 6) != 0 &&
           part_of(name, &count) <= 1;
}

static int compare_gguf_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

carat_status ct_gguf_fail_several(const char *dir, const char **name, int n, carat_error *err)
{
    char list[320] = "", one[CT_QUOTE];
    int shown = 0, kept = CT_MIN(n, CT_SHOWN_NAMES);
    qsort(name, (size_t)kept, sizeof *name, compare_gguf_names);
    for (size_t used = 0; shown < kept; shown++) {
        ct_quote(one, ct_str_of(name[shown]));
        if (used + strlen(one) + 3 > sizeof list)
            break;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", shown ? ", " : "", one);
    }
    char more[32] = "";
    if (shown < n)
        snprintf(more, sizeof more, " and %d more", n - shown);
    return ct_fail(err, CARAT_E_NOT_FOUND, "%.120s holds %d GGUF models: name one of %s%s", dir, n, list,
                   more);
}
