/* doctor.h: what `carat doctor` found out (doctor.c), what it concludes (doctor_advice.c, doctor_speed.c) and how it is
 * told to programs (doctor_json.c). */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "cli.h"
#include "conditions.h"
#include "machine.h"

enum { MOST_ADVICE = 24 };
struct advice {
    const char *id; /* for programs */
    char text[512]; /* the fact, a colon, what follows from it */
};

struct report {
    carat_host_info host;
    struct cache_place cache;
    struct conditions now;
    struct machine machine;
    char kernels_why[320]; /* why no higher level of kernels is used */
    struct advice advice[MOST_ADVICE];
    int n_advice;
};

/* doctor_advice.c: from facts to sentences: kernels_why and advice. */
void doctor_judge(struct report *r);

/* doctor_speed.c: what the limits allow at most, for well-known models. */
struct speed {
    const char *model, *type;
    double bytes;              /* of weights, all of which a token needs */
    double prompt, generation; /* tokens a second; 0: not known */
};
/* Model and type i in turn; false after the last. */
bool doctor_speed(struct speed *s, int i, const carat_limits *limits);

/* doctor_json.c. An exit code. */
int doctor_print_json(const struct report *r);

#endif
