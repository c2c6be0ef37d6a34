/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: puts the command together: its verbs and their options. What they do is in the verb's own file. */
#include "options/table.h"
#include "options/verb.h"
#include "prompt/settle.h"
#include "term/output.h"

static const struct verb_call calls[] = {
#define VERB(name) {#name, verb_##name},
    VERBS(VERB)
#undef VERB
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
    const struct verb_calls command = {calls, prompt_settle};

    output_start();
    table_assemble(groups);
    options_color(argc - 1, argv + 1);
    return out_finish(command_run(&command, argc - 1, argv + 1));
}
