#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check_schemas.py: JSON Schema as carat reads it, judged by others. Schemas are made at random, with fixed
# seeds. hypothesis-jsonschema makes values that fit them: each, as json.dumps prints it, must be taken.
# Texts that walk through the automaton at random must be JSON that jsonschema finds valid. The first argument
# is the program of test/grammar/walk.c, the second how many schemas, the third where seeds begin.
import json
import random
import re
import subprocess
import sys
import warnings

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis_jsonschema import from_schema
from jsonschema import Draft202012Validator

warnings.filterwarnings("ignore")
FORMATS = ["date", "time", "date-time", "uuid", "email", "ipv4", "ipv6", "uri"]
PATTERNS = ["^a+b?$", "^[a-z]{2,4}$", "x", "[0-9]+$", "^(foo|bar|é+)-", "^[a-z_]+ [^a]*$", "^.{3}$"]


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


class Maker:
    """Makes a schema. Names of keys ascend, so that sorting them gives the order of the schema."""

    def __init__(self, number):
        self.r = random.Random(number)
        self.names = {}
        self.defs = {}

    def name(self):
        name = f"{self.r.choice(['k', 'a b', 'é', 'q/'])}{len(self.names):03d}"
        self.names[name] = len(self.names)
        return name

    def maybe(self, p=0.5):
        return self.r.random() < p

    def integer(self):
        s = {"type": "integer"}
        base = self.r.choice([0, 5, 10, 100, 12345, 10**12])
        if self.maybe():
            s[self.r.choice(["minimum", "exclusiveMinimum"])] = self.r.randint(-base, base)
        if self.maybe():
            s[self.r.choice(["maximum", "exclusiveMaximum"])] = self.r.randint(base, 3 * base + 20)
        if self.maybe(0.3):
            s["multipleOf"] = self.r.choice([1, 2, 3, 7, 10, 48])
        return s

    def number(self):
        s = {"type": "number"}
        base = self.r.choice([0, 0.5, 1e-9, 3.75, 1e17, 2.5e-3])
        if self.maybe():
            s[self.r.choice(["minimum", "exclusiveMinimum"])] = -self.r.random() * base
        if self.maybe():
            s[self.r.choice(["maximum", "exclusiveMaximum"])] = self.r.choice([base, base + 1, 2 * base + 7])
        return s

    def string(self):
        s = {"type": "string"}
        kind = self.r.randrange(5)
        if kind == 0:
            s["pattern"] = self.r.choice(PATTERNS)
        elif kind == 1:
            s["format"] = self.r.choice(FORMATS)
        elif kind == 2:
            s["minLength"] = self.r.randrange(3)
            s["maxLength"] = self.r.randrange(3, 9)
        elif kind == 3:
            s["maxLength"] = self.r.randrange(4)
        return s

    def value(self, depth=1):
        kind = self.r.randrange(7 if depth else 5)
        if kind == 5:
            return [self.value(0) for _ in range(self.r.randrange(3))]
        if kind == 6:
            return {self.name(): self.value(0) for _ in range(self.r.randrange(3))}
        text = "t\n" + "é" * self.r.randrange(3)
        return [None, True, self.r.randint(-9, 99), round(self.r.random(), 3), text][kind]

    def array(self, depth):
        s = {"type": "array"}
        if self.maybe(0.4):
            s["prefixItems"] = [self.schema(depth - 1) for _ in range(self.r.randint(1, 3))]
        if self.maybe(0.7):
            s["items"] = self.r.choice([False, self.schema(depth - 1), self.schema(depth - 1)])
        if self.maybe(0.4):
            s["minItems"] = self.r.randrange(3)
        if self.maybe(0.4):
            s["maxItems"] = self.r.randrange(2, 6)
        return s

    def object(self, depth):
        s = {"type": "object"}
        if self.maybe(0.85):
            s["properties"] = {self.name(): self.schema(depth - 1) for _ in range(self.r.randrange(4))}
            s["required"] = [k for k in s["properties"] if self.maybe()]
            if self.maybe(0.1):
                s["required"].append(self.name())
        if self.maybe(0.3):
            s["patternProperties"] = {"^x": self.schema(0)}
            if self.maybe():
                s["patternProperties"]["y$"] = self.schema(0)
        if self.maybe(0.6):
            s["additionalProperties"] = self.r.choice([False, False, self.schema(depth - 1)])
        if self.maybe(0.15):
            s["maxProperties"] = self.r.randint(1, 5)
        if self.maybe(0.15):
            s["minProperties"] = self.r.randint(1, 2)
        return s

    def schema(self, depth):
        if depth <= 0 or self.maybe(0.3):
            return self.r.choice([
                self.integer, self.number, self.string, lambda: {"type": "null"}, lambda: {"type": "boolean"},
                lambda: {"const": self.value()},
                lambda: {"enum": [self.value() for _ in range(self.r.randint(1, 4))]},
                lambda: {"type": ["string", "null"], "maxLength": 4},
                lambda: {"type": ["integer", "array", "boolean"], "maxItems": 1}])()
        kind = self.r.randrange(12)
        if kind < 5:
            return self.object(depth)
        if kind < 8:
            return self.array(depth)
        if kind == 8:
            return {"anyOf": [self.schema(depth - 1) for _ in range(self.r.randint(1, 3))]}
        if kind == 9:
            return {"oneOf": [self.object(depth - 1), self.array(depth - 1), self.string(), {"type": "null"}][
                :self.r.randint(1, 4)]}
        if kind == 10:
            return {"allOf": [self.object(depth - 1) for _ in range(2)]}
        name = f"d{len(self.defs)}"
        self.defs[name] = self.schema(0)
        self.defs[name] = {"type": "object", "properties": {
            self.name(): self.schema(depth - 1), self.name(): {"$ref": f"#/$defs/{name}"}},
            "additionalProperties": False}
        return {"$ref": f"#/$defs/{name}"}

    def root(self):
        s = self.schema(3)
        if self.defs:
            s = {**s, "$defs": self.defs}
        return s


def in_order(value, names):
    if isinstance(value, list):
        return [in_order(v, names) for v in value]
    if isinstance(value, dict):
        keys = sorted(value, key=lambda k: names.get(k, len(names)))
        return {k: in_order(value[k], names) for k in keys}
    return value


def in_draft_7(schema):
    """The same in the spelling that hypothesis-jsonschema knows."""
    if isinstance(schema, list):
        return [in_draft_7(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    s = {k: v if k in ("const", "enum") else in_draft_7(v) for k, v in schema.items()}
    if isinstance(s.get("prefixItems"), list):
        s = {**s, "items": s["prefixItems"], "additionalItems": s.get("items", True)}
        del s["prefixItems"]
    return s


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
        answers = [walk.ask("s", json.dumps(schema)) for walk in walks]
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
