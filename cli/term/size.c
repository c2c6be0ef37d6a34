/* SPDX-License-Identifier: Apache-2.0 */
/* size.c: sizes for people: decimal units and three digits, in all verbs alike. Where a program reads, sizes
 * are bytes. */
#include "term/size.h"

#include <stddef.h>
#include <stdio.h>

const char *size_text(char out[SIZE_TEXT], double bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    size_t unit = 0;

    if (bytes < 1000) {
        snprintf(out, SIZE_TEXT, "%.0f byte%s", bytes, bytes == 1 ? "" : "s");
        return out;
    }
    /* 999.5 would be printed as 1000 */
    for (bytes /= 1e3; bytes >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1e3;
    snprintf(out, SIZE_TEXT, "%.*f %s", bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0, bytes, units[unit]);
    return out;
}
