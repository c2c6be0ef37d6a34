/* SPDX-License-Identifier: Apache-2.0 */
/* converse_shift.c: --context-shift: where the context is full, the kept beginning and the later half of what
 * follows it become a timeline of their own, as if the rest had never been there. The answer goes on in
 * converse.c. */
#include <string.h>

#include "ask/converse.h"
#include "io/input.h"
#include "term/message.h"

enum { MOST_UNFINISHED = 3 }; /* bytes of a character, each its own id, that may lack a last one */

/* All tokens so far: those held, and the last id, which is not. */
static bool copy_tokens(const struct converse *c, carat_tokens *all)
{
    const int32_t *held;
    int n = carat_tokens_held(c->session, &held);
    bool good = true;

    for (int i = 0; i < n && good; i++)
        good = push_id(all, held[i]);
    return good && (c->generation.last < 0 || push_id(all, c->generation.last));
}

/* The number of tokens that stay at the beginning: as many of the prompt as --keep asks for, and its <bos>.
 * The last token stays, too, and at least one goes. */
static int kept_of(const struct converse *c, const carat_tokens *all)
{
    int bos = c->info.bos >= 0 && all->ids[0] == c->info.bos;
    int most = c->prompt_n < all->n - 2 ? c->prompt_n : all->n - 2;

    return c->o->answer->keep < 0 || c->o->answer->keep > most - bos ? most : c->o->answer->keep + bos;
}

/* A character goes on where its first bytes were told before. */
static void repeat_unfinished(struct converse *c)
{
    int n = c->unfinished < MOST_UNFINISHED ? c->unfinished : MOST_UNFINISHED;
    char piece[256];

    for (int i = c->ids.n - n; i < c->ids.n; i++)
        (void)carat_stream_text(c->session, c->ids.ids[i], piece, sizeof piece);
}

static int sync_half(struct converse *c, const carat_tokens *half)
{
    carat_session_stats stats;
    carat_error err;
    carat_status status = carat_sync(c->session, half->ids, half->n, NULL, &err);

    if (status == CARAT_E_CANCELLED) {
        c->stop = carat_reason_name(CARAT_REASON_CANCELLED);
        return DONE;
    }
    carat_session_stats_default(&stats);
    if (status != CARAT_OK || carat_session_get_stats(c->session, &stats, &err) != CARAT_OK)
        return fail_status(&err);
    c->shifts++;
    c->shifted += half->n - stats.kept + stats.reevaluated;
    repeat_unfinished(c);
    return DONE;
}

int converse_shift(struct converse *c)
{
    carat_tokens all = {0};
    int code;

    if (copy_tokens(c, &all)) {
        int kept = kept_of(c, &all), rest = all.n - kept, dropped = rest / 2;
        memmove(all.ids + kept, all.ids + kept + dropped, (size_t)(rest - dropped) * sizeof *all.ids);
        all.n -= dropped;
        code = sync_half(c, &all);
    } else {
        code = fail_memory();
    }
    carat_tokens_free(&all);
    return code;
}
