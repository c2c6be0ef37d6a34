/* doctor.c: `carat doctor`: what this machine is and how carat would use it, for people, bug reports and programs. */
#include "cli.h"

int verb_doctor(const struct options *o)
{
    if (o->json)
        return out_json(
            json_pack("{s:s, s:i}", "version", carat_version(), "numerics", CARAT_NUMERICS_VERSION));
    out_print("```\ncarat %s, numerics %d\n```\n", carat_version(), CARAT_NUMERICS_VERSION);
    return DONE;
}
