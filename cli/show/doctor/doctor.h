/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h: what `carat doctor` found out (doctor.c), what it concludes (doctor_cache.c, doctor_speed.c,
 * doctor_advice.c) and the form for programs (doctor_json.c). */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <jansson.h>

#include "carat_device.h"
#include "carat_tools.h"
#include "model/cache_file.h"
#include "model/conditions.h"
#include "model/costs.h"

/* ---- machine.c ---- */

/* The most that this machine can do, measured in two seconds and remembered in the cache. */

struct machine {
    carat_limits limits;  /* by all threads of an engine with default options; read 0: not measured */
    double read_one;      /* bytes a second, by one thread alone */
    double others;        /* processors that others kept busy meanwhile; -1: not known */
    char measured_at[24]; /* "2026-11-21T22:11:25Z" */
    bool remembered;      /* these figures come from the file */
    char file[MOST_CACHE_PATH + 16]; /* that holds them now; "" when none does */
    char why_not[CACHE_FILE_WHY];    /* the reason for that, or for read 0 */
};

/* Takes what was measured on this same machine, with this version; false when there is no such thing, or
 * nothing that can be trusted. limits.isa lives as long as *host, as it does after measuring. */
bool machine_recall(struct machine *m, const carat_host_info *host, const struct cache_place *cache);
/* Measures, with a bar on a terminal; false after Ctrl-C. What cannot be measured has read 0, and why_not
 * says why. */
bool machine_measure(struct machine *m, const carat_host_info *host);
/* Has the next one recall it. Only in a directory that belongs to this user; file or why_not tells. */
void machine_keep(struct machine *m, const carat_host_info *host, const struct cache_place *cache);

/* Packed models and what their making left behind. */
enum { CACHE_STATES = CARAT_CACHE_USELESS + 1 };
struct cache_content {
    int n[CACHE_STATES]; /* of each carat_cache_state */
    double bytes[CACHE_STATES];
    int n_part; /* unfinished files of processes that are gone */
    double part_bytes;
};

/* The GPUs that NVIDIA's driver shows, or why there are none. */
enum { MOST_DEVICES = 16 };
struct devices {
    carat_device of[MOST_DEVICES];
    int n;
    char none[256]; /* why there is none; "" with some */
};

/* Keys of a model's config.json that nobody reads. */
enum { MOST_UNREAD = 16, UNREAD_TEXT = 256 };
struct unread {
    int n; /* also of those that there is no room for */
    struct unread_key {
        char key[160], class_name[40];
        int known; /* a class of transformers has it */
    } of[MOST_UNREAD];
};

enum { MOST_ADVICE = 24 };
struct advice {
    const char *id; /* for programs */
    char text[512]; /* the fact, a colon, what follows from it */
};

struct report {
    carat_host_info host;
    struct cache_place cache;
    struct cache_content content;
    double cap; /* bytes that packed models may take */
    struct conditions now;
    struct machine machine;
    struct devices devices;
    char kernels_why[320]; /* why no higher level of kernels is used */
    const char *model;     /* whose costs are asked for; NULL: none */
    struct costs costs;
    bool has_costs; /* they have a place */
    bool embeds;    /* the model does, and keeps none */
    struct unread unread;
    struct advice advice[MOST_ADVICE];
    int n_advice;
};

/* doctor_devices.c: looks for them; line i of what was found, in two parts, false after the last. */
void doctor_find_devices(struct devices *d);
enum { DEVICE_TEXT = 320 };
bool doctor_device(const struct devices *d, int i, const char **name, char text[DEVICE_TEXT]);
json_t *doctor_devices_json(const struct devices *d);

/* doctor_cache.c */
void doctor_look_into(struct cache_content *c, const char *directory);
/* The files from one state on. */
int doctor_cache_count(const struct cache_content *c, carat_cache_state from, double *bytes);

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

/* doctor_costs.c: what passes of a model cost, as runs measured it. An exit code. */
int doctor_find_costs(struct report *r, const struct options *o);
/* Line i of them, in two parts; false after the last. */
enum { COSTS_TEXT = 256 };
bool doctor_costs(const struct report *r, int i, char name[32], char text[COSTS_TEXT]);
json_t *doctor_costs_json(const struct report *r);

/* doctor_config.c: into u. An exit code. Line i of them; false after the last. */
int doctor_find_unread(struct unread *u, const carat_model *model);
bool doctor_unread(const struct unread *u, int i, char text[UNREAD_TEXT]);
json_t *doctor_unread_json(const struct unread *u);

/* doctor_json.c. An exit code. */
int doctor_print_json(const struct report *r);

#endif
