/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c: see lookup.h. llama.cpp's names mean what carat's own do: of its kinds of drafts carat has those
 * that come from the text itself, and those of a model. */
#include "model/lookup.h"

#include <limits.h>
#include <string.h>

#include "model/engine.h"
#include "model/model.h"

/* The options about drafts. */
#define AT(field) offsetof(struct lookup_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 300, {"--lookup"}, CHOICE, AT(lookup), GENERATES " / bench", "on|off|auto", "auto",
     "guess next tokens from repetitions in the text: faster, and the same tokens; auto: only where it "
     "pays (default {default})", 0, 0},
    {ABOUT_GENERATION + 305, {"--lookup"}, CHOICE, AT(lookup), "decode", "on|off|auto", "off",
     "guess next tokens from repetitions in the ids: the same ids, of which a pass may give several; they "
     "share its time, and no highest logits are printed (default {default})", 0, 0},
    {ABOUT_GENERATION + 310, {"--draft-max", "--draft", "--draft-n", "--spec-draft-n-max"}, INT, AT(draft_max), "/ " DRAWS " bench", "N", "7",
     "the most ids guessed at once; 0 is none (default {default}, the most that a pass checks)", 0, INT_MAX},
    {ABOUT_GENERATION + 320, {"--draft-min", "--draft-n-min", "--spec-draft-n-min"}, INT, AT(draft_min), "/ " DRAWS " bench", "N", "1",
     "the fewest ids worth guessing (default {default})", 0, INT_MAX},
    {ABOUT_GENERATION + 330, {"--spec-type"}, CHOICE, AT(spec_type), "/ " DRAWS " bench", "none|draft-simple|draft-mtp|ngram-simple|ngram-map-k|ngram-map-k4v|ngram-mod|ngram-cache", NULL,
     "llama.cpp's option: none guesses nothing, those of ngram are --lookup on, those of draft are "
     "--model-draft whether it pays or not", 0, 0},
};
/* clang-format on */

const struct option_group lookup_group = OPTION_GROUP(rows, struct lookup_options, NULL);

static bool says(const char *option, const char *word)
{
    return option && strcmp(option, word) == 0;
}

/* Is --spec-type one of those that a model drafts for? */
static bool asks_for_model(const struct options *o)
{
    return o->lookup->spec_type && strncmp(o->lookup->spec_type, "draft-", strlen("draft-")) == 0;
}

/* The drafter of --model-draft, by --spec-type and a --draft-max of 0. */
static carat_lookup drafter_of(const struct options *o)
{
    if (!o->open->drafter || o->lookup->draft_max == 0 || (o->lookup->spec_type && !asks_for_model(o)))
        return CARAT_LOOKUP_OFF;
    return o->lookup->spec_type ? CARAT_LOOKUP_ON : CARAT_LOOKUP_AUTO;
}

/* The lookup that --lookup and --spec-type ask for; a --draft-max of 0 turns it off. */
static carat_lookup lookup_of(const struct options *o)
{
    if (o->lookup->draft_max == 0 || says(o->lookup->spec_type, "none") ||
        (asks_for_model(o) && !options_given(o, &o->lookup->lookup)))
        return CARAT_LOOKUP_OFF;
    if (says(o->lookup->lookup, "on") || (o->lookup->spec_type && !options_given(o, &o->lookup->lookup)))
        return CARAT_LOOKUP_ON;
    return says(o->lookup->lookup, "off") ? CARAT_LOOKUP_OFF : CARAT_LOOKUP_AUTO;
}

static int most_of(const struct options *o)
{
    return o->lookup->draft_max > CARAT_MOST_DRAFT ? CARAT_MOST_DRAFT : o->lookup->draft_max;
}

/* Ids of a draft that a pass verifies, beside the one before them. */
static int most_verified(const struct options *o)
{
    return o->engine->chunk > 0 && o->engine->chunk <= CARAT_MOST_DRAFT ? o->engine->chunk - 1
                                                                        : CARAT_MOST_DRAFT;
}

int check_lookup(const struct options *o)
{
    const char *verb = o->verb->name;
    bool off = lookup_of(o) == CARAT_LOOKUP_OFF && drafter_of(o) == CARAT_LOOKUP_OFF;
    const char *on = says(o->lookup->lookup, "on") ? "--lookup on"
                     : o->lookup->spec_type        ? "--spec-type"
                                                   : "--lookup on";

    if (o->engine->naive &&
        (says(o->lookup->lookup, "on") || (o->lookup->spec_type && !says(o->lookup->spec_type, "none"))))
        return term_fail(USAGE, "%s: --naive evaluates every token anew, and has no use for %s", verb, on);
    if (o->open->drafter && o->engine->max_layers > 0)
        return term_fail(USAGE, "%s: --model-draft needs all layers, and contradicts --max-layers", verb);
    if (asks_for_model(o) && !o->open->drafter)
        return term_fail(USAGE, "%s: --spec-type %s needs a drafter: --model-draft MODEL", verb,
                         o->lookup->spec_type);
    if (options_given(o, &o->lookup->lookup) && o->lookup->spec_type && !asks_for_model(o) &&
        says(o->lookup->lookup, "off") != says(o->lookup->spec_type, "none"))
        return term_fail(USAGE, "%s: --lookup %s and --spec-type %s contradict each other", verb,
                         o->lookup->lookup, o->lookup->spec_type);
    if (says(o->lookup->lookup, "on") && o->lookup->draft_max == 0)
        return term_fail(USAGE, "%s: --lookup on and --draft-max 0 contradict each other", verb);
    if (!off && o->lookup->draft_min > most_of(o))
        return term_fail(
            USAGE, "%s: --draft-min is %d, expected at most --draft-max, or the %d ids that a pass verifies",
            verb, o->lookup->draft_min, most_of(o));
    if (!off && options_given(o, &o->lookup->draft_max) && o->lookup->draft_max > most_verified(o))
        term_note("--draft-max %d: a pass verifies %d ids of a draft, so that is the most",
                  o->lookup->draft_max, most_verified(o));
    return DONE;
}

void lookup_options(carat_generation_options *g, const struct options *o)
{
    g->lookup = o->engine->naive ? CARAT_LOOKUP_OFF : lookup_of(o);
    g->drafter = o->engine->naive ? CARAT_LOOKUP_OFF : drafter_of(o);
    g->draft_max = most_of(o);
    g->draft_min = o->lookup->draft_min;
    if (g->lookup == CARAT_LOOKUP_OFF && g->drafter == CARAT_LOOKUP_OFF)
        g->draft_max = g->draft_min = 0;
}

bool drafts_are_on(const carat_generation_options *g)
{
    return g->lookup != CARAT_LOOKUP_OFF || g->drafter != CARAT_LOOKUP_OFF;
}

bool add_drafts(json_t *timings, const carat_generation_info *info)
{
    const carat_draft_use *model = &info->use[CARAT_FROM_DRAFTER];
    json_t *drafts = info->drafted
                         ? json_pack("{s:i, s:i, s:f}", "draft_n", info->drafted, "draft_n_accepted",
                                     info->accepted, "draft_gained_ms", info->gained_ms)
                         : json_object();
    json_t *of_model = model->drafted ? json_pack("{s:i, s:i, s:f}", "draft_model_n", model->drafted,
                                                  "draft_model_n_accepted", model->accepted,
                                                  "draft_model_gained_ms", model->gained_ms)
                                      : json_object();

    return drafts && of_model && json_object_update_new(timings, drafts) == 0 &&
           json_object_update_new(timings, of_model) == 0;
}

const char *draft_source_name(carat_draft_source source)
{
    static const char *const names[] = {
        [CARAT_FROM_TEXT] = "text", [CARAT_FROM_DRAFTER] = "drafter", [CARAT_FROM_FORM] = "form"};

    return names[source];
}

const carat_draft_use *drafts_of(const carat_generation_info *info, carat_draft_source source)
{
    return source == CARAT_FROM_FORM ? &info->use_of_form : &info->use[source];
}

/* The part of one source, where there are several. */
static void note_source(struct speed_notes *r, const carat_generation_info *info, carat_draft_source source)
{
    const carat_draft_use *use = drafts_of(info, source);

    if (use->drafted)
        speed_note_tell(r, "drafts of the %s %d of %d right, %.1f ms gained", draft_source_name(source),
                        use->accepted, use->drafted, use->gained_ms);
}

void note_drafts(struct speed_notes *r, const carat_generation_info *info)
{
    if (info->drafted) {
        speed_note_tell(r, "drafts %d of %d right", info->accepted, info->drafted);
        speed_note_tell(r, "%.1f ms gained", info->gained_ms);
    }
    if (info->use[CARAT_FROM_DRAFTER].drafted || info->use_of_form.drafted)
        for (int i = 0; i <= CARAT_FROM_FORM; i++)
            note_source(r, info, (carat_draft_source)i);
    for (int i = 0; i < info->switched && i < CARAT_MOST_SWITCHES; i++) {
        const carat_draft_switch *s = &info->switches[i];
        const carat_draft_source of = info->switched_source[i];
        const bool named = of != CARAT_FROM_TEXT;
        speed_note_tell(r, "drafting %s%s%s%s after %d: %s", named ? "by the " : "",
                        named ? draft_source_name(of) : "", named ? " " : "", s->on ? "on" : "off", s->given,
                        s->reason);
    }
}

int from_passes(const carat_generation_info *info)
{
    return info->passes + info->accepted;
}
