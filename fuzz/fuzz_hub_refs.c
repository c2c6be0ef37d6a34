/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_hub_refs.c: any bytes as a file below refs/, and, divided by NUL, as a link of the hub's cache and
 * what it holds: a commit is one part of a path, and a link that may be followed stays in the cache. */
#include <stdlib.h>

#include "base/path.h"
#include "names/hub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char commit[CT_HUB_REVISION + 1], out[CT_HUB_LINK], link[4096], target[4096];
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;

    if (ct_hub_parse_ref(commit, (struct ct_bytes){data, size})) {
        const struct ct_str s = ct_str_of(commit);
        must(s.n >= 1 && s.n <= CT_HUB_REVISION && !strchr(commit, '/') && *commit != '.' && s.n <= size);
    }
    if (!nul || size >= sizeof link)
        return 0;
    snprintf(link, sizeof link, "%s", (const char *)data);
    const size_t rest = size - (size_t)(nul - data) - 1;
    memcpy(target, nul + 1, rest);
    target[rest] = 0;
    if (!ct_path_stays_inside(ct_str_of(link)) || !ct_hub_follows(out, "/hub", link, target))
        return 0;
    const size_t folder = strcspn(link, "/");
    must(strlen(out) < sizeof out && *out != '/' && !strstr(out, "/../") && strncmp(out, "../", 3) != 0);
    must(strncmp(out, "blobs/", 6) == 0 ||
         (strncmp(out, link, folder) == 0 && strncmp(out + folder, "/blobs/", 7) == 0));
    return 0;
}
