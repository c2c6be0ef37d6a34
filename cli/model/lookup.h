/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.h: drafts, as the options of verbs that generate ask for them. */
#ifndef LOOKUP_H
#define LOOKUP_H

#include <jansson.h>

#include "carat_generate.h"
#include "model/speed_note.h"
#include "options/options.h"

/* Drafts from the text itself: on, off, auto; llama.cpp's kinds. */
struct lookup_options {
    const char *lookup, *spec_type;
    int draft_max, draft_min; /* ids of a draft; draft_max 0: none */
};

/* Are --lookup, --spec-type, --model-draft, --draft-max, --draft-min and --naive of one mind? Notes what is
 * cut to what a pass can verify. Before a model is opened; an exit code. */
int check_lookup(const struct options *o);
/* Sets in g what these options ask for. */
void lookup_options(carat_generation_options *g, const struct options *o);
/* Is anything drafted? */
bool drafts_are_on(const carat_generation_options *g);
/* Into timings of an answer, if there were drafts: their ids, how many of them were right, milliseconds that
 * they saved, and those of a drafter. False when memory is out. */
bool add_drafts(json_t *timings, const carat_generation_info *info);
/* The name that people use for a source of drafts, and what became of the drafts that it made. */
const char *draft_source_name(carat_draft_source source);
const carat_draft_use *drafts_of(const carat_generation_info *info, carat_draft_source source);
/* Remarks what became of drafts, with each time that drafting was switched. */
void note_drafts(struct speed_notes *r, const carat_generation_info *info);
/* Ids that passes of an answer gave: the first one comes from the pass of the prompt. */
int from_passes(const carat_generation_info *info);

#endif
