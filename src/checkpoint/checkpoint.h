/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.h: what an open checkpoint holds. It is filled by open_model.c and never changes afterwards. */
#ifndef CT_CHECKPOINT_H
#define CT_CHECKPOINT_H

#include "base/arena.h"
#include "carat_embed.h"
#include "carat_tools.h"
#include "model/weights.h"
#include "text/chat/chat.h"
#include "text/generation_config.h"

#define CT_MAX_STOP   64
#define CT_MAX_BANNED 256 /* of the model itself */

struct carat_model {
    struct ct_file *file;
    struct ct_arena arena;
    struct ct_tokenizer *tokenizer; /* NULL: by ids only */
    struct ct_file *tokenizer_file; /* where it is from, when the caller named one apart; else NULL */
    enum ct_chat chat;
    enum ct_gemma4 chat_state;
    bool chat_altered;       /* the checkpoint's own template is another one */
    const char *chat_origin; /* who published it and when, or "" */
    const char *name;        /* from the file's metadata, or NULL */
    bool has_weights;
    struct ct_config config;
    struct ct_weights weights;
    carat_sampling sampling; /* the model's defaults */
    uint64_t file_bytes;     /* of all its files */
    carat_load_times times;  /* of opening */
    struct ct_packed_copy
        *cache; /* the copy in the cache, perhaps on its way to the disk; NULL: opened from memory */
    int32_t stop[CT_MAX_STOP], banned[CT_MAX_BANNED];
    int n_stop, n_banned;
    bool drafts;                      /* it is opened as a drafter: without a tokenizer */
    struct carat_model *drafter;      /* that proposes what it will say; NULL: none */
    const struct carat_model *beside; /* of a drafter that lies in the file of its model: that; else NULL */
};

/* True when generation ends at this id. */
static inline bool ct_is_stop(const struct carat_model *m, int32_t id)
{
    int i = 0;

    while (i < m->n_stop && m->stop[i] != id)
        i++;
    return i < m->n_stop;
}

/* Who hears of progress; NULL: nobody. */
struct ct_listening {
    carat_progress progress;
    void *user;
};

/* Does what carat.h and carat_tools.h say of carat_model_open and so on; options are complete. */
carat_status ct_model_open(carat_model **model, const char *path, const carat_model_options *o,
                           carat_error *err);
/* Keeps what an engine made of the weights in the packed copy of the model, where later openings find it
 * (ct_file_find_made): n matrices, whose names live for ever. Does nothing without a copy, when none may be
 * written, or while another process writes it. note: a line for the log, or "". Any thread. E_CANCELLED
 * only. */
enum { CT_KEEP_NOTE = 1100 };
carat_status ct_cache_keep(const struct carat_model *m, const struct ct_made *made, int n,
                           const struct ct_listening *l, char note[CT_KEEP_NOTE], carat_error *err);

#endif
