/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_speed.c: the most tokens a second that memory and arithmetic of this machine allow for models that
 * many run: no token is generated without reading every weight once, no token of a prompt is read without two
 * operations for each weight of the layers. Attention, which grows with the context, comes on top. */
#include "show/doctor/doctor.h"

/* Weights of the text tower. The head is also the embedding; llama.cpp's recipe for Q4_0 stores it as Q6_K,
 * or as Q8_0 where rows are no multiple of 256. */
static const struct {
    const char *name;
    double all, rows, hidden;
    double head_bits;
} models[] = {
    {"Gemma 3 270M", 268098176, 262144, 640, 8.5},
    {"Gemma 3 1B", 999885952, 262144, 1152, 8.5},
    {"Gemma 3 4B", 3880263168, 262208, 2560, 6.5625},
};

/* Bits of a weight with its share of the factors; what it is multiplied by. */
static const struct {
    const char *name;
    double bits;
    carat_arithmetic by;
} types[] = {
    {"Q4_0", 4.5, CARAT_BY_INT4},
    {"Q8_0", 8.5, CARAT_BY_INT8},
};

bool doctor_speed(struct speed *s, int i, const carat_limits *limits)
{
    int n_type = sizeof types / sizeof *types, m = i / n_type, t = i % n_type;

    if (m >= (int)(sizeof models / sizeof *models))
        return false;
    double head = models[m].rows * models[m].hidden, layers = models[m].all - head;
    double head_bits = models[m].head_bits > types[t].bits ? models[m].head_bits : types[t].bits;
    *s = (struct speed){.model = models[m].name,
                        .type = types[t].name,
                        .bytes = (layers * types[t].bits + head * head_bits) / 8};
    s->generation = limits->read / s->bytes;
    s->prompt = limits->operations[types[t].by] / (2 * layers);
    return true;
}
