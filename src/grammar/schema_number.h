/* SPDX-License-Identifier: Apache-2.0 */
/* schema_number.h: what the files about numbers share: decimal numbers, and languages of their texts. */
#ifndef CT_SCHEMA_NUMBER_H
#define CT_SCHEMA_NUMBER_H

#include "grammar/schema_parts.h"

enum {
    DOUBLE_DIGITS = 308, /* so many before the point a double holds, whatever they are */
    DECIMAL_DIGITS = 320
};

/* ±d.ddd times ten to the power of the exponent; zero has no digits. */
struct decimal {
    bool negative;
    int n, exponent;
    char digit[DECIMAL_DIGITS]; /* values; neither the first nor the last is 0 */
};

struct limits {
    bool has_low, has_high;
    struct decimal low, high; /* both inclusive */
};

/* False: a double cannot hold it. */
bool ct_decimal_read(const struct ct_json_value *v, struct decimal *d);
void ct_decimal_spelled(struct ct_str spelled, struct decimal *d);
bool ct_decimal_whole(const struct decimal *d);
/* The nearest limit on its inner side (step 1: above) that is not excluded; whole: of whole numbers. */
void ct_decimal_inward(struct decimal *d, int step, bool excluded, bool whole);
int ct_decimal_compare(const struct decimal *a, const struct decimal *b);

/* The texts of all numbers, or of whole ones, within the limits. */
carat_status ct_number_language(const struct limits *r, bool fractions, struct ct_language *out,
                                carat_error *err);
/* Adds -?digits whose number is a multiple of n. */
void ct_multiples_language(struct ct_language *l, int n);

#endif
