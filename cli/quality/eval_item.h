/* SPDX-License-Identifier: Apache-2.0 */
/* eval_item.h: one question of multiple choice, as a line of a file has it. */
#ifndef EVAL_ITEM_H
#define EVAL_ITEM_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum { MOST_CHOICES = 26 };

/* Texts belong to the value that it was read from. */
struct eval_item {
    const char *question, *context, *subject; /* context and subject are "" when they are not there */
    const char *choice[MOST_CHOICES];         /* [n] */
    int n;
    int answer; /* index of the right one */
};

/* A fault of an item. */
struct item_fault {
    const char *member; /* of the object, in which; "": in the object itself */
    int element;        /* of that list; -1: all of it */
    char text[160];
};

/* Reads an object with question, choices, answer, and perhaps context and subject. False: see fault. */
bool eval_item_read(struct eval_item *item, json_t *value, struct item_fault *fault);

#endif
