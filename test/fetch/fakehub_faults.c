/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub_faults.c: how the fake hub can misbehave, by name. */
#include <string.h>

#include "fakehub.h"

static const struct {
    const char *name;
    enum fault fault;
} faults[] = {{"none", NONE},
              {"range-ignored", RANGE_IGNORED},
              {"range-wrong", RANGE_WRONG},
              {"range-absent", RANGE_ABSENT},
              {"etag-changes", ETAG_CHANGES},
              {"body-changes", BODY_CHANGES},
              {"416", FULL_416},
              {"429", BUSY_429},
              {"429-date", BUSY_DATE},
              {"429-plain", BUSY_PLAIN},
              {"500", BUSY_500},
              {"busy-list", BUSY_LIST},
              {"loop", LOOP},
              {"foreign", FOREIGN},
              {"downgrade", DOWNGRADE},
              {"relative", RELATIVE},
              {"expires", EXPIRES},
              {"reset", RESET},
              {"resets", RESETS},
              {"short", SHORT_BODY},
              {"drip", DRIP},
              {"link", LINK},
              {"silent", SILENT},
              {"long", LONG_BODY},
              {"flip", FLIP},
              {"html", HTML},
              {"gzip", GZIP},
              {"pointer", POINTER},
              {"endless", ENDLESS},
              {"pages", PAGES},
              {"pages-on", PAGES_ON},
              {"page-away", PAGE_AWAY},
              {"bad-name", BAD_NAME},
              {"root-name", ROOT_NAME},
              {"zero-name", ZERO_NAME},
              {"deep", DEEP},
              {"huge-size", HUGE_SIZE},
              {"large-size", LARGE_SIZE},
              {"bad-hash", BAD_HASH},
              {"many", MANY},
              {"gated", GATED},
              {"missing", ALL_MISSING},
              {"xet-only", XET_ONLY}};

enum fault fault;
long long number;

bool find_fault(const char *name)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(name, faults[i].name) != 0)
            continue;
        fault = faults[i].fault;
        return true;
    }
    return false;
}
