/* SPDX-License-Identifier: Apache-2.0 */
/* residual.c: see residual.h. The stream is what the embedding puts in and what layers add behind a norm:
 * both are scaled, the latter by the norm's gain. What reads the stream does so through a norm, which
 * undoes the scale, but for the gate of a layer's own input, which is divided by it. The head reads the
 * table as it was, a tensor of its own (plan.c). */
#include "convert/residual.h"

#define LEAST 0x1p-20f
#define MOST  0x1p20f

static const struct {
    const char *slot; /* its name, without the layer */
    bool altup;       /* in Gemma 3n alone */
    bool divides;
} scaled[] = {
    {"token_embd", false, false},      {"post_attention_norm", false, false}, {"post_ffw_norm", false, false},
    {"inp_gate", false, true},         {"post_norm", false, false},           {"attn_norm", true, false},
    {"laurel_post_norm", true, false},
};

float ct_residual_factor(const struct ct_config *c, const char *slot, float scale)
{
    const char *own = strncmp(slot, "blk.", 4) == 0 ? strchr(slot + 4, '.') + 1 : slot;

    for (size_t i = 0; i < CT_COUNT(scaled); i++)
        if (strcmp(own, scaled[i].slot) == 0 && (!scaled[i].altup || c->altup))
            return scaled[i].divides ? 1 / scale : scale;
    return 1;
}

carat_status ct_residual_check(const struct ct_config *c, float scale, const char *path, carat_error *err)
{
    if (!(scale >= LEAST && scale <= MOST))
        return ct_fail(err, CARAT_E_ARGUMENT, "residual_scale is %g, expected from 2^-20 to 2^20",
                       (double)scale);
    if (!c->post_norms || c->embeds || c->backbone)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: %s models have no residual scale: %s", path,
                       c->architecture,
                       c->post_norms ? "it is not their logits that count"
                                     : "their layers add to the stream without a norm");
    return CARAT_OK;
}
