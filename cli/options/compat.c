/* SPDX-License-Identifier: Apache-2.0 */
/* compat.c: options of llama.cpp and of other runners of Gemma that carat does not have. Those that cannot
 * change the text are accepted, so that commands that people have written keep working; those that would
 * change it are refused by name, never ignored. Options that mean the same in both programs are
 * rows of the table. */
#include "options/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term/message.h"

enum takes {
    NOTHING,
    A_VALUE,
    ON_OFF, /* on, off, auto, 1 or 0, or nothing */
};

struct foreign {
    const char *names; /* spellings between spaces, one at each end */
    enum takes takes;
    const char *refusal; /* what carat does instead, NULL: accepted whatever the value */
    const char *neutral; /* a number, or words between |, that is accepted all the same, or NULL */
};

#define HARMLESS NULL, NULL

static const char no_sampler[] = "carat's samplers are those that --samplers names";
static const char no_image[] = "carat runs the text part of a model only";
static const char no_adapter[] = "merge the adapter into the model first";
static const char no_rope[] = "carat takes the positions as the model file describes them";
static const char no_docker[] = "carat fetches from the hub; carat pull OWNER/NAME gets a model";
static const char no_conversation[] = "carat chat MODEL is a conversation, by the model's own template";
static const char no_server[] = "carat serve MODEL is the server";
static const char for_bench[] = "it belongs to carat bench";
static const char no_template[] = "carat knows Gemma's templates by name (--chat-template)";

/* clang-format off */
static const struct foreign table[] = {
    /* where and how it is computed: the same bits everywhere */
    {" -ngl --gpu-layers --n-gpu-layers ", A_VALUE, HARMLESS},
    {" -dev --device ", A_VALUE, "this verb computes on the CPU only", "cpu|none"},
    {" -sm --split-mode ", A_VALUE, HARMLESS},
    {" -ts --tensor-split ", A_VALUE, HARMLESS},
    {" -mg --main-gpu ", A_VALUE, HARMLESS},
    {" -ot --override-tensor ", A_VALUE, HARMLESS},
    {" -ncmoe --n-cpu-moe ", A_VALUE, HARMLESS},
    {" -cmoe --cpu-moe -nkvo --no-kv-offload -kvo --kv-offload --op-offload --no-op-offload --no-host ",
     NOTHING, HARMLESS},
    {" -mmp -nopo --delay ", A_VALUE, HARMLESS}, /* of llama-bench */
    {" --progress --no-think ", NOTHING, HARMLESS},
    {" --repack -nr --no-repack --mlock --mmap --no-mmap -dio --direct-io ", NOTHING, HARMLESS},
    {" -fa --flash-attn ", ON_OFF, HARMLESS},
    {" -fit --fit ", ON_OFF, HARMLESS},
    {" -b --batch-size ", A_VALUE, HARMLESS},
    {" -tb --threads-batch ", A_VALUE, HARMLESS},
    {" --numa ", A_VALUE, HARMLESS},
    {" --prio --prio-batch --poll --poll-batch ", A_VALUE, HARMLESS},
    {" -C --cpu-mask -Cb --cpu-mask-batch -Cr --cpu-range -Crb --cpu-range-batch ", A_VALUE, HARMLESS},
    {" --cpu-strict --cpu-strict-batch ", A_VALUE, HARMLESS},
    {" -np --parallel ", A_VALUE, HARMLESS},
    {" -cb --cont-batching -nocb --no-cont-batching -kvu --kv-unified ", NOTHING, HARMLESS},
    {" --warmup --no-warmup --swa-full --no-context-shift ", NOTHING, HARMLESS},
    {" --cache-reuse -cram --cache-ram --ctx-checkpoints ", A_VALUE, HARMLESS},
    {" --cache-prompt --no-cache-prompt ", NOTHING, HARMLESS},
    {" --draft-p-min ", A_VALUE, HARMLESS},
    {" --spec-default -bs --backend-sampling --no-mmproj --no-mmproj-auto ", NOTHING, HARMLESS},
    {" -dt --defrag-thold ", A_VALUE, HARMLESS},
    {" --keep ", A_VALUE, HARMLESS},
    /* how it looks: carat prints the text alone */
    {" --stream --jinja --no-jinja --no-escape ", NOTHING, HARMLESS},
    {" --no-display-prompt --simple-io --show-timings --perf --verbose-prompt --log-disable ",
     NOTHING, HARMLESS},
    {" --log-prefix --log-timestamps --no-log-prefix --no-log-timestamps ", NOTHING, HARMLESS},
    {" --log-file -lv --verbosity --log-verbosity ", A_VALUE, HARMLESS},
    {" --log-colors ", ON_OFF, HARMLESS},
    {" -ptc --print-token-count -a --alias ", A_VALUE, HARMLESS},
    {" -rea --reasoning --reasoning-format --reasoning-budget ", A_VALUE, HARMLESS}, /* where nothing is said */
    /* what belongs to a sampler that is off */
    {" --dynatemp-exp --mirostat-lr --mirostat-ent ", A_VALUE, HARMLESS},
    /* what would change the text */
    {" --dynatemp-range --mirostat ", A_VALUE, no_sampler, "0"},
    {" --top-nsigma --top-n-sigma --adaptive-target ", A_VALUE, no_sampler, "-1"},
    {" --image --audio --video -mm --mmproj -mmu --mmproj-url ", A_VALUE, no_image, NULL},
    {" --lora --lora-scaled --control-vector --control-vector-scaled ", A_VALUE, no_adapter, NULL},
    {" --rope-scaling --rope-scale --rope-freq-base --rope-freq-scale -gan --grp-attn-n -gaw --grp-attn-w ",
     A_VALUE, no_rope, NULL},
    {" --yarn-ext-factor --yarn-attn-factor --yarn-beta-slow --yarn-beta-fast --yarn-orig-ctx ",
     A_VALUE, no_rope, NULL},
    {" --override-kv ", A_VALUE, "carat takes the model file as it is", NULL},
    {" -dr --docker-repo ", A_VALUE, no_docker, NULL},
    {" -hfv -hfrv --hf-repo-v -hffv --hf-file-v ", A_VALUE, "carat makes no speech", NULL},
    {" --chat-template-file --chat-template-kwargs ", A_VALUE, no_template, NULL},
    {" --chat -i --interactive -if --interactive-first -mli --multiline-input ",
     NOTHING, no_conversation, NULL},
    {" --in-prefix --in-suffix ", A_VALUE, no_conversation, NULL},
    {" --raw -no-cnv --no-conversation ", NOTHING,
     "a conversation goes by the model's template; carat run MODEL --raw PROMPT continues a text", NULL},
    {" --host --port ", A_VALUE, no_server, NULL},
    {" --encode ", A_VALUE, "carat tokenize MODEL TEXT does that", NULL},
    {" --decode ", A_VALUE, "carat detokenize MODEL IDS does that", NULL},
    {" --print-config --print-backend ", NOTHING, "carat show MODEL does that", NULL},
    {" --bench ", NOTHING, "carat bench MODEL does that", NULL},
    {" --bench-iters --bench-warmup --bench-json ", A_VALUE, for_bench, NULL},
    {" --license ", NOTHING, "carat's own is the file LICENSE of its source, a model's comes with it", NULL},
    {" --list-devices ", NOTHING, "carat doctor describes the processor; --device cuda is an NVIDIA GPU", NULL},
    {" --context-shift ", NOTHING, "only carat run goes on where the context ends", NULL},
    {" -e --escape ",
     NOTHING, "carat takes the prompt as it is; the shell writes escapes, as in $'a\\nb'", NULL},
    {" -bf --binary-file ", A_VALUE, "-f FILE with --raw reads any bytes", NULL},
    {" -sp --special ", NOTHING, "carat run prints no control tokens", NULL},
    {" --check-tensors ", NOTHING, "carat checks the layout of a file, not every number in it", NULL},
    {" --embedding --embeddings ", NOTHING, "carat embed MODEL TEXT gives vectors of texts", NULL},
};
/* clang-format on */

const struct foreign *foreign_find(const char *word, size_t n)
{
    char padded[64];

    if (n + 3 > sizeof padded || memchr(word, ' ', n))
        return NULL;
    snprintf(padded, sizeof padded, " %.*s ", (int)n, word);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strstr(table[i].names, padded))
            return &table[i];
    }
    return NULL;
}

/* A word that begins with a dash is the next option, unless it is a negative number. */
static bool is_value(const char *word)
{
    return word && (word[0] != '-' || word[1] == 0 || strspn(word + 1, ".0123456789") > 0);
}

static bool same_number(const char *text, const char *number)
{
    char *end, *number_end;
    double value = strtod(text, &end), wanted = strtod(number, &number_end);

    return end != text && *end == 0 && number_end != number && value == wanted;
}

int foreign_take(const struct foreign *f, const char *verb, const char *name, const char *attached,
                 const char *next, bool *took_next)
{
    const char *value = attached;

    if (f->takes == NOTHING && attached)
        return term_fail(USAGE, "option %s takes no value", name);
    if (!value &&
        (f->takes == A_VALUE || (f->takes == ON_OFF && next && is_choice("on|off|auto|1|0", next)))) {
        if (!is_value(next))
            return term_fail(USAGE, "option %s needs a value", name);
        value = next;
        *took_next = true;
    }
    bool neutral = f->neutral && value && (is_choice(f->neutral, value) || same_number(value, f->neutral));
    if (f->refusal && !neutral)
        return term_fail(USAGE, "%s: %s%s%.40s is not supported: %s", verb, name, f->neutral ? " " : "",
                         f->neutral ? value : "", f->refusal);
    return DONE;
}
