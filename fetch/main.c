/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: carat-fetch, which carat starts to fetch models: it reads a plan from standard input, does it, and
 * tells of it on standard output, a line of JSON for each event (report.h). It alone opens connections. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "download.h"
#include "hub.h"
#include "report.h"

int main(void)
{
    static struct plan plan;
    struct http *h = NULL;

    signal(SIGPIPE, SIG_DFL); /* who listens has gone */
    int code = plan_read(&plan, STDIN_FILENO);
    if (code == DONE && !(h = http_open(plan.endpoint, plan.token)))
        code = refuse(NO_MEMORY, "out of memory for a connection");
    if (code == DONE)
        code = plan.lists ? hub_list(h, &plan) : download_all(h, &plan);
    http_close(h);
    free(plan.file);
    return code;
}
