/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: the table of verbs. Everything else is in the verb's own file. */
#include "ask/chat/chat.h"
#include "ask/render.h"
#include "ask/run.h"
#include "ask/tokenize.h"
#include "bench/bench.h"
#include "options/command.h"
#include "options/completion.h"
#include "options/help.h"
#include "options/table.h"
#include "prompt/settle.h"
#include "quality/compare/compare.h"
#include "quality/eval.h"
#include "quality/perplexity.h"
#include "show/cache.h"
#include "show/doctor/doctor.h"
#include "show/pack.h"
#include "show/show.h"
#include "show/verify.h"
#include "steps/decode.h"
#include "steps/logits.h"
#include "term/output.h"

static const struct verb_call calls[] = {
    {"run", verb_run},
    {"chat", verb_chat},
    {"logits", verb_logits},
    {"decode", verb_decode},
    {"tokenize", verb_tokenize},
    {"detokenize", verb_detokenize},
    {"render", verb_render},
    {"bench", verb_bench},
    {"show", verb_show},
    {"compare", verb_compare},
    {"eval", verb_eval},
    {"perplexity", verb_perplexity},
    {"verify", verb_verify},
    {"pack", verb_pack},
    {"cache", verb_cache},
    {"doctor", verb_doctor},
    {"completion", verb_completion},
    {"version", verb_version},
    {"help", verb_help},
    {0},
};

#define GROUP(name) extern const struct option_group name##_group;
OPTION_GROUPS(GROUP)
#undef GROUP
static const struct option_group *const groups[N_GROUPS] = {
#define GROUP(name) &name##_group,
    OPTION_GROUPS(GROUP)
#undef GROUP
};

int main(int argc, char **argv)
{
    const struct command command = {calls, settle};

    output_start();
    table_assemble(groups);
    options_color(argc - 1, argv + 1);
    return out_finish(command_run(&command, argc - 1, argv + 1));
}
