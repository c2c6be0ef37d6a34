/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c: a list of the driver's calls, in the order in which they came first. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *call;
    int n;
} calls[64];

static int find(const char *call)
{
    int i = 0;

    while (calls[i].call && strcmp(calls[i].call, call) != 0)
        i++;
    return i;
}

void emu_note(const char *call)
{
    const int i = find(call);

    calls[i].call = call;
    calls[i].n++;
}

int emu_count(const char *call)
{
    return calls[find(call)].n;
}

bool emu_is_told(const char *variable, const char *call, int *count)
{
    const char *told = getenv(variable);
    const size_t n = strlen(call);

    return told && strncmp(told, call, n) == 0 && told[n] == ':' && ++*count == atoi(told + n + 1);
}
