#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check_answers.py: answers of models/tiny that have to fit random schemas, sets of tools and expressions,
# judged by others. The first argument is the program of test/grammar/answer.c, the second the model, the
# third how many schemas, the fourth how many sets of tools, the fifth where seeds begin.
#
# Each answer is drawn at temperature 2, with the ids that the shortest one takes and some more, without
# drafts, with some, and with drafts of one id: jsonschema finds it valid, the three are the same, and it
# parts from what the model writes freely only where the form has to. Some of the free answers become forms
# themselves: such an answer comes out whole. Values of hypothesis-jsonschema are taken however their text is
# cut into ids.
import json
import random
import re
import subprocess
import sys
import warnings

from jsonschema import Draft202012Validator

from check_schemas import in_order, instances
from random_schemas import Maker, in_draft_7, in_older_spelling

warnings.filterwarnings("ignore")
MORE = [0, 0, 1, 2, 3, 5, 8, 13, 30, 60, 120]  # ids beyond those of the shortest answer


class Answerer:
    def __init__(self, program, model):
        self.process = subprocess.Popen([program, model], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *words):
        line = " ".join(word.replace("\\", "\\\\").replace("\n", "\\n") for word in words)
        self.process.stdin.write((line + "\n").encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode(errors="surrogateescape").rstrip("\n")
        if not answer and self.process.poll() is not None:
            sys.exit(f"the program ended with {self.process.returncode}: {line[:2000]}")
        return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], answer)


class Sums:
    def __init__(self):
        self.n = dict.fromkeys(["refused", "valid", "calls", "ended by the budget", "free ids kept",
                                "whole free answers", "texts in ten cuts", "wrong"], 0)

    def say(self, number, what, about):
        self.n["wrong"] += 1
        print(f"WRONG, seed {number}: {what}\n  {about}", flush=True)

    def answer(self, number, reply, about):
        """The text of an answer; None where there is none."""
        if reply.startswith("error"):
            if reply != "error too long":
                self.say(number, reply, about)
            return None
        reason, _, free, text = reply.split(" ", 3)
        self.n["ended by the budget"] += reason == "2"
        self.n["free ids kept"] += int(free.rstrip("*"))
        self.n["whole free answers"] += free.endswith("*")
        return text


def validator_of(schema):
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


def fault_of(validator, text):
    try:
        fault = next(validator.iter_errors(json.loads(text)), None)
    except ValueError as e:
        return f"no JSON: {e}"
    return fault and fault.message[:300]


def check_schema(program, sums, number):
    maker = Maker(number)
    schema = maker.root()
    validator = validator_of(schema)
    spelled = json.dumps(in_older_spelling(schema) if number % 5 == 0 else schema)
    if not program.ask("sd"[number % 2], spelled).startswith("ok"):
        sums.n["refused"] += 1
        return False
    text = sums.answer(number, program.ask("a", f"{number} 2 {random.Random(number).choice(MORE)}"), spelled)
    if text is not None:
        fault = fault_of(validator, text)
        if fault:
            sums.say(number, fault, (text, spelled))
        else:
            sums.n["valid"] += 1
    if number % 20 == 0:
        check_values(program, sums, number, schema, validator, maker.names)
    return text is not None


def check_values(program, sums, number, schema, validator, names):
    try:
        values = instances(in_draft_7(schema), number, 6)
    except Exception:  # the other one's limits
        return
    for k, value in enumerate(v for v in values if validator.is_valid(v)):
        text = json.dumps(in_order(value, names), indent=None if number % 40 else (None, 2, 4)[k % 3],
                          ensure_ascii=k % 2 == 0)
        if number % 2 and "\n" in text or re.search(r"\n {21}", text):
            continue  # another white space; 20 blanks in a row are the most
        reply = program.ask("i", f"{number} {text}")
        if reply == "ok":
            sums.n["texts in ten cuts"] += 1
        else:
            sums.say(number, reply, (text, json.dumps(schema)))


def check_tools(program, sums, number):
    tools, forms = Maker(number).tools()
    spelled = json.dumps(tools)
    if not program.ask("t", spelled).startswith("ok"):
        sums.n["refused"] += 1
        return False
    text = sums.answer(number, program.ask("a", f"{number} 2 {random.Random(number).choice(MORE)}"), spelled)
    if text is None:
        return False
    calls = json.loads(text)
    if not calls:
        sums.say(number, "no call", spelled)
    for call in calls:
        if isinstance(call, str):
            sums.say(number, call, (text, spelled))
            continue
        fault = next(validator_of(forms[call["name"]]).iter_errors(call["arguments"]), None)
        if fault:
            sums.say(number, fault.message[:300], (text, spelled))
        else:
            sums.n["calls"] += 1
    return True


def check_free(program, sums, number):
    """A form that the free answer has, among others."""
    reason, _, text = program.ask("p", f"{number} {number % 3}").split(" ", 2)
    if reason != "1" or "\ufffd" in text or not text:
        return False
    literal = re.sub(r"([\\^$.|?*+()\[\]{}/])", r"\\\1", text)
    form = [literal, literal + "|no", f"[A-Z]?{literal}[a-z]*", r"(?:.|\n)*"][number // 3 % 4]
    if not program.ask("r", form).startswith("ok"):
        sums.n["refused"] += 1
        return False
    before = sums.n["whole free answers"]
    own = sums.answer(number, program.ask("f", f"{number} {number % 3} 200"), form)
    if own != text or sums.n["whole free answers"] == before:
        sums.say(number, "the free answer was changed", (own, text))
    return True


def repeat(check, program, sums, count, number):
    done = 0
    while done < count:
        done += check(program, sums, number)
        number += 1
    return number


def main():
    program, sums = Answerer(sys.argv[1], sys.argv[2]), Sums()
    first = int(sys.argv[5]) if len(sys.argv) > 5 else 0
    schemas, sets = int(sys.argv[3]), int(sys.argv[4])
    last = repeat(check_schema, program, sums, schemas, first)
    print(f"{schemas} schemas, seeds {first} to {last - 1}: {sums.n}", flush=True)
    last = repeat(check_tools, program, sums, sets, first)
    print(f"{sets} sets of tools, seeds {first} to {last - 1}: {sums.n}", flush=True)
    last = repeat(check_free, program, sums, sets // 10, first)
    print(f"{sets // 10} free answers, seeds {first} to {last - 1}: {sums.n}", flush=True)
    sys.exit(sums.n["wrong"] > 0)


if __name__ == "__main__":
    main()
