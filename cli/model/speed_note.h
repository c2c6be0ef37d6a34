/* SPDX-License-Identifier: Apache-2.0 */
/* speed_note.h: the last words about an answer: dim lines on stderr, put together from pieces that the end
 * of a line does not break. */
#ifndef MODEL_SPEED_NOTE_H
#define MODEL_SPEED_NOTE_H

#include "term/message.h"

struct speed_notes {
    char line[80];
    int columns; /* at most 79 */
};

void speed_notes_begin(struct speed_notes *r);
void speed_note_tell(struct speed_notes *r, const char *format, ...) PRINTF(2, 3);
/* "prompt 14 tokens (350 tok/s)", where there was a pass; of is the whole of which n are a part. */
void note_speed(struct speed_notes *r, const char *what, int n, int of, double speed);
void speed_notes_flush(struct speed_notes *r);
/* Tokens a second; NAN where nothing was evaluated. */
double speed_of(int n, double s);

#endif
