/* SPDX-License-Identifier: Apache-2.0 */
/* fake_carat.h: what the server uses of the public headers, without a model: ids are bytes, and what a prompt
 * is answered with is a script. Tests of the server link this in place of the library, so that an answer can
 * be slow, endless, broken or stuck when a test wants it.
 *
 * The last line of a prompt that begins with "!" names the script: "!plain", "!endless". A prompt without one
 * is answered by "!plain". Passes have pieces of prompts, in the order of the list. */
#ifndef TEST_SERVER_FAKE_CARAT_H
#define TEST_SERVER_FAKE_CARAT_H

#include "carat.h"

enum { FAKE_FLOOD = 2048 /* bytes of each piece of "!flood" */ };

/* An engine for so many sessions, whose reservations are at most so many positions together, in whole blocks
 * of 256. */
carat_engine *fake_engine(int sessions, int context, int positions);
void fake_engine_free(carat_engine *engine); /* every session must be closed */
const carat_model *fake_model(void);

/* Places that are held now. */
int fake_sessions(const carat_engine *engine);
/* Passes that began so far. */
int fake_passes(const carat_engine *engine);
/* Conversations that were rendered so far. */
int fake_renders(void);
/* Passes wait before they do anything, until they may go on. */
void fake_hold(carat_engine *engine, int holds);

/* Forms that were compiled so far, or begun. */
int fake_forms(void);
/* Those that were told to end. */
int fake_ended_forms(void);
/* Those whose text has "held" wait, until they may go on, those with "asleep" when they were told to end;
 * those with "wrong" are refused. */
void fake_hold_forms(int holds);

#endif
