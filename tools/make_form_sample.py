#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# make_form_sample.py: makes test/data/grammar/sample.txt anew, for test/grammar/test_form_sample.c: 500 small
# schemas of random_schemas.py, JSON that fits each (of hypothesis-jsonschema), and JSON that nearly fits
# (changed in one place), both as jsonschema judges it. Keys are in the order of the schema. It needs what
# check_clients.sh installs; the argument is the program of test/grammar/walk.c, which says what is refused.
import copy
import json
import random
import sys

from jsonschema import Draft202012Validator

from check_schemas import Walk, in_order, instances
from random_schemas import Maker, in_draft_7, in_older_spelling

SCHEMAS, BYTES, TEXT = 500, 500, 80
OTHERS = [None, True, 0, -1, 7.5, 10**13, "", "a", "éx", "2024-02-30", [], [None], {}, {"x": 1}]


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(value, r):
    """The value with another one somewhere, or with one item less or more."""
    made = [copy.deepcopy(value)]
    path = r.choice(list(places(value)))
    at, key = made, 0
    for step in path:
        at, key = at[key], step
    old = at[key]
    if isinstance(old, dict) and old and r.random() < 0.5:
        del old[r.choice(list(old))]
    elif isinstance(old, (dict, list)) and r.random() < 0.5:
        old.update({"zz": r.choice(OTHERS)}) if isinstance(old, dict) else old.append(r.choice(OTHERS))
    elif isinstance(old, str) and old and r.random() < 0.5:
        cut = r.randrange(len(old))
        at[key] = old[:cut] + r.choice(["", "a", "Z", "9"]) + old[cut + 1:]
    elif isinstance(old, (int, float)) and not isinstance(old, bool) and r.random() < 0.7:
        at[key] = r.choice([old + 1, old - 1, -old, old + 0.5, old * 1000])
    else:
        at[key] = r.choice(OTHERS)
    return made[0]


def texts(schema, maker, number):
    """Up to three that fit and three that do not."""
    r, validator = random.Random(number), Draft202012Validator(
        schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    fit, not_fit = [], []
    try:
        values = [v for v in instances(in_draft_7(schema), number, 12) if validator.is_valid(v)]
    except Exception:  # the other one's limits
        values = []
    for value in values:
        text = json.dumps(in_order(value, maker.names), ensure_ascii=r.random() < 0.5)
        if len(text) <= TEXT and text not in fit and len(fit) < 3:
            fit.append(text)
    for _ in range(60 if values else 0):
        value = changed(r.choice(values), r)
        text = json.dumps(in_order(value, maker.names), ensure_ascii=False)
        if len(text) <= TEXT and not validator.is_valid(value) and text not in not_fit and len(not_fit) < 3:
            not_fit.append(text)
    return fit, not_fit


def main():
    walk, n, number = Walk(sys.argv[1]), 0, 0
    lines = ["# Made by tools/make_form_sample.py: s a schema, + JSON that fits it, - JSON that does not."]
    while n < SCHEMAS:
        number += 1
        maker = Maker(number)
        schema = maker.root()
        spelled = json.dumps(in_older_spelling(schema) if number % 5 == 0 else schema, ensure_ascii=False)
        if len(spelled) < 100 and number % 8:
            continue  # few of those that say little
        if len(spelled) > BYTES or not walk.ask("s", spelled).startswith("ok"):
            continue
        fit, not_fit = texts(schema, maker, number)
        if not fit or not not_fit:
            continue
        lines += ["s " + spelled, *("+ " + t for t in fit), *("- " + t for t in not_fit)]
        n += 1
    with open("test/data/grammar/sample.txt", "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    print(f"{n} of {number} schemas, {sum(x[0] == '+' for x in lines)} texts fit, "
          f"{sum(x[0] == '-' for x in lines)} do not")


if __name__ == "__main__":
    main()
