/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_write_json.c: a vocabulary with merges as the tokenizer.json of the tokenizers library
 * (vocab_write.h). tokenizer_json.c reads it back. */
#include "text/tokenizer/vocab_write.h"

#include <stdlib.h>

#include "text/tokenizer/tokenizer_parts.h"

#define META "\xe2\x96\x81" /* U+2581 */

static void put_added(const struct ct_tokenizer *t, struct ct_new_head *h)
{
    int n = 0;

    ct_new_head_text(h, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[");
    for (int32_t id = 0; id < t->n; id++) {
        const unsigned kind = t->piece[id].kind;
        if (kind != CT_PIECE_CONTROL && kind != CT_PIECE_USER && kind != CT_PIECE_UNKNOWN)
            continue;
        ct_new_head_text(h, "%s\n{\"id\":%d,\"content\":", n++ ? "," : "", id);
        ct_new_head_json(h, ct_piece_text(t, id));
        ct_new_head_text(
            h,
            ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":%s}",
            kind == CT_PIECE_USER ? "false" : "true");
    }
    ct_new_head_text(
        h, "],\n\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" META
           "\"},\n\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\" \"},\"behavior\":"
           "\"MergedWithPrevious\",\"invert\":false},\n\"post_processor\":null,\n\"decoder\":{\"type\":"
           "\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"" META
           "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\n");
}

carat_status ct_tokenizer_put_json(const struct ct_tokenizer *t, struct ct_new_head *h, const char *path,
                                   carat_error *err)
{
    uint64_t *by_rank = malloc((t->n_rank + (size_t)1) * sizeof *by_rank);
    bool first = true;

    if (!by_rank)
        return ct_no_memory(err, path);
    ct_tokenizer_stored_merges(t, by_rank);
    put_added(t, h);
    ct_new_head_text(h, "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":");
    ct_new_head_json(h, ct_piece_text(t, t->unknown));
    ct_new_head_text(h,
                     ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":true,"
                     "\"byte_fallback\":%s,\"ignore_merges\":false,\n\"vocab\":{",
                     t->byte_fallback ? "true" : "false");
    for (int32_t id = 0; id < t->n; id++) {
        ct_new_head_text(h, "%s\n", id ? "," : "");
        ct_new_head_json(h, ct_piece_text(t, id));
        ct_new_head_text(h, ":%d", id);
    }
    ct_new_head_text(h, "},\n\"merges\":[");
    for (uint32_t r = 0; r < t->n_rank; r++) {
        if (by_rank[r] == CT_NO_MERGE)
            continue;
        ct_new_head_text(h, "%s\n[", first ? "" : ",");
        ct_new_head_json(h, ct_piece_text(t, (int32_t)(by_rank[r] >> CT_ID_BITS)));
        ct_new_head_text(h, ",");
        ct_new_head_json(h, ct_piece_text(t, (int32_t)(by_rank[r] & (CT_VOCAB_MAX - 1))));
        ct_new_head_text(h, "]");
        first = false;
    }
    ct_new_head_text(h, "]}}\n");
    free(by_rank);
    return CARAT_OK;
}
