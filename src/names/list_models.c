/* SPDX-License-Identifier: Apache-2.0 */
/* list_models.c: what all stores of a machine hold. How each is laid is stores.h's. */
#include "base/arguments.h"
#include "base/path.h"
#include "names/stores.h"

static const struct store {
    size_t place;      /* in carat_places */
    const char *below; /* "": the place itself */
    const char *name;
    ct_store_walk *walk;
} stores[] = {
    {offsetof(carat_places, hub), "", "Hugging Face", ct_hub_walk},
    {offsetof(carat_places, ollama), "", "ollama", ct_ollama_walk},
    {offsetof(carat_places, ollama_system), "", "ollama", ct_ollama_walk},
    {offsetof(carat_places, llama_cpp), "", "llama.cpp", ct_llama_cpp_walk},
    {offsetof(carat_places, lm_studio), "", "LM Studio", ct_lm_studio_walk},
    {offsetof(carat_places, kaggle), "", "Kaggle", ct_kaggle_walk},
    {offsetof(carat_places, litert), "", "LiteRT-LM", ct_litert_walk},
    {offsetof(carat_places, own), "ollama", "carat", ct_ollama_walk},
    {offsetof(carat_places, own), "files", "carat", ct_address_walk},
};

carat_status carat_list_models(const carat_places *places, carat_stored_visit visit, void *user,
                               carat_error *err)
{
    struct ct_walk w = {.visit = visit, .user = user};
    carat_places p = {.size = sizeof p};

    CT_GIVEN(visit, err);
    CT_TRY(ct_take_struct(&p, sizeof p, places, "carat_places", err));
    for (size_t i = 0; i < CT_COUNT(stores) && !w.ended && !w.failed; i++) {
        const struct store *s = &stores[i];
        struct ct_arena names = {NULL};
        const char *dir;
        memcpy(&dir, (const char *)&p + s->place, sizeof dir);
        if (dir && *s->below)
            dir = ct_path_join(&names, dir, s->below);
        w.store = s->name;
        if (dir)
            s->walk(&w, dir);
        ct_arena_free(&names);
        ct_arena_free(&w.arena);
    }
    return w.failed ? ct_no_memory(err, "the list of models") : CARAT_OK;
}
