#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check_schemas.py: JSON Schema as carat reads it, judged by others. Schemas are made at random, with fixed
# seeds (random_schemas.py), every fifth in the spelling of draft 4. hypothesis-jsonschema makes values that
# fit them: each, as json.dumps prints it, must be taken. Texts that walk through the automaton at random must
# be JSON that jsonschema finds valid. The first argument is the program of test/grammar/walk.c, the second
# how many schemas, the third where seeds begin.
import json
import re
import subprocess
import sys
import warnings

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis_jsonschema import from_schema
from jsonschema import Draft202012Validator

from random_schemas import Maker, in_draft_7, in_older_spelling

warnings.filterwarnings("ignore")


class Walk:
    def __init__(self, program, *options):
        self.process = subprocess.Popen(
            [program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, letter, text):
        escaped = text.replace("\\", "\\\\").replace("\n", "\\n")
        self.process.stdin.write(f"{letter} {escaped}\n".encode())
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode().rstrip("\n")
        if not answer and self.process.poll() is not None:
            sys.exit(f"the program ended: {self.process.returncode}")
        return answer


def in_order(value, names):
    if isinstance(value, list):
        return [in_order(v, names) for v in value]
    if isinstance(value, dict):
        keys = sorted(value, key=lambda k: names.get(k, len(names)))
        return {k: in_order(value[k], names) for k in keys}
    return value


def instances(schema, number, n):
    found = []

    @seed(number)
    @settings(max_examples=n, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))
    @given(from_schema(schema))
    def collect(value):
        found.append(value)

    collect()
    return found


def judge(schema, validator, walks, number, names, count):
    """Lists what is wrong."""
    wrong = []
    free, dumps = walks
    for walk in walks:
        for i in range(count):
            text = re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1],
                          walk.ask("w", str(1000 * number + i)))
            try:
                errors = [e.message for e in validator.iter_errors(json.loads(text))]
            except ValueError as e:
                errors = [str(e)]
            if errors:
                wrong.append(f"unsound: {text!r}: {errors[0][:300]}")
    try:
        values = instances(in_draft_7(schema), number, count)
    except Exception:  # the other one's limits
        return wrong, 0
    taken = 0
    for value in values:
        if next(validator.iter_errors(value), None):
            continue
        value = in_order(value, names)
        taken += 1
        for walk, indent in ((free, None), (free, 2), (free, 4), (dumps, None)):
            for ascii_only in (True, False):
                text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
                if re.search(r"\n {21}", text):
                    continue  # 20 blanks in a row are the most
                answer = walk.ask("t", text)
                if answer != "yes":
                    wrong.append(f"incomplete: {text!r}: {answer}")
    return wrong, taken


def main():
    program, n, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
    walks = [Walk(program), Walk(program, "dumps")]
    failed = refused = texts = values = 0
    reasons = {}
    for number in range(first, first + n):
        maker = Maker(number)
        schema = maker.root()
        validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        spelled = in_older_spelling(schema) if number % 5 == 0 else schema
        answers = [walk.ask("s", json.dumps(spelled)) for walk in walks]
        if not answers[0].startswith("ok"):
            refused += 1
            reason = answers[0].split(": ")[-1]
            reasons[reason] = reasons.get(reason, 0) + 1
            if "no JSON fits" in answers[0]:
                try:
                    fitting = [v for v in instances(in_draft_7(schema), number, 5) if validator.is_valid(v)]
                except Exception:
                    fitting = []
                if fitting:
                    failed += 1
                    print(f"seed {number}: {json.dumps(schema)}\n    {answers[0]}")
                    print(f"    but {fitting[0]!r} fits")
            continue
        wrong, taken = judge(schema, validator, walks, number, maker.names, 20)
        values += taken
        texts += 40
        if wrong:
            failed += 1
            print(f"seed {number}: {json.dumps(schema)}")
            for line in wrong[:3]:
                print("    " + line)
    print(f"{n} schemas, {refused} refused, {texts} texts valid, {values} values taken, "
          f"{failed} schemas wrong")
    for reason, count in sorted(reasons.items(), key=lambda r: -r[1])[:12]:
        print(f"    {count} {reason}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
