/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_names.c: any text as the name of a model, where nothing is on the machine: it is a path, or of a form
 * whose parts can stand in paths and addresses; and as an address, whose place stays below its folder. */
#include <stdlib.h>

#include "base/path.h"
#include "checkpoint/checkpoint.h"
#include "names/stores.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void check_place(const char *name)
{
    struct ct_arena arena = {NULL};
    const char *path = ct_address_path("/place", name, &arena);

    must(!path || (strncmp(path, "/place/", 7) == 0 && ct_path_stays_inside(ct_str_of(path + 7))));
    ct_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[4096];
    const carat_places places = {.size = sizeof places, .own = "/nowhere"};
    carat_location at = {.size = sizeof at};
    carat_error err = {.message = ""};

    if (size >= sizeof name)
        return 0;
    memcpy(name, data, size);
    name[size] = 0;
    check_place(name);
    if (carat_locate(&at, name, &places, &err) != CARAT_OK) {
        must(err.message[0] && !at.memory);
        return 0;
    }
    must((at.named == CARAT_NAMED_PATH) == (at.path != NULL));
    must(!at.repository || (ct_hub_is_repository(ct_str_of(at.repository)) &&
                            ct_hub_is_revision(ct_str_of(at.revision)) && at.part));
    must(at.named != CARAT_NAMED_KAGGLE || ct_kaggle_is_handle(ct_str_of(at.handle)));
    struct ct_ollama_name n;
    must(at.named != CARAT_NAMED_OLLAMA || (ct_ollama_read_name(&n, ct_str_of(at.handle)) &&
                                            ct_path_stays_inside(n.owner) && ct_path_stays_inside(n.model)));
    carat_location_free(&at);
    return 0;
}
