#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check_forms.py: answers of models/tiny that have to fit random schemas, and calls of random tools, judged by
# jsonschema: at high temperatures, and with fewer and fewer tokens until there are too few. The first
# argument is the command, the second how many schemas, the third how many sets of tools, the fourth the seed.
import json
import random
import subprocess
import sys
import tempfile

from jsonschema import Draft202012Validator

CARAT, SCHEMAS, TOOLS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
KINDS = ["string", "pattern", "integer", "number", "boolean", "enum", "null", "array", "object", "object", "anyOf"]
VALUES = ["a", "bé", 3, None, True, {"x": 1}, [1, 2], 'long text "quoted"']


def limits():
    return {
        "string": [{}, {"maxLength": random.randint(0, 9)}, {"minLength": random.randint(1, 5)},
                   {"format": random.choice(["date", "email", "uuid", "ipv4", "time"])}],
        "integer": [{}, {"minimum": random.randint(-50, 5), "maximum": random.randint(6, 999)},
                    {"multipleOf": random.randint(2, 9)}],
        "number": [{}, {"minimum": -1.5, "maximum": 2.25}, {"exclusiveMinimum": 0}],
        "boolean": [{}],
    }


def members(names, depth):
    properties = {name: schema(depth + 1) for name in random.sample(names, random.randint(0, 4))}
    return {"type": "object", "properties": properties,
            "required": [name for name in properties if random.random() < 0.6]}


def schema(depth=0):
    kind = random.choice(KINDS if depth < 3 else KINDS[:6])
    if kind in limits():
        return {"type": kind, **random.choice(limits()[kind])}
    if kind == "null":
        return {"type": ["null", "string"]}
    if kind == "enum":
        return {"enum": random.sample(VALUES, 3)}
    if kind == "pattern":
        return {"type": "string", "pattern": random.choice(["^[a-f]{2,5}$", "x+y?", "^(ab|cd)*$", "[0-9]{3}-[0-9]{2}"])}
    if kind == "array":
        return {"type": "array", "items": schema(depth + 1), "minItems": random.randint(0, 2),
                "maxItems": random.randint(2, 5)}
    if kind == "anyOf":
        return {"anyOf": [schema(depth + 1), schema(depth + 1)]}
    made = members(["name", "age", "x y", "é", "tags", 'q"t'], depth)
    if random.random() < 0.5:
        made["additionalProperties"] = random.choice([False, schema(depth + 1)])
    return made


class Answers:
    def __init__(self):
        self.right = self.too_short = self.wrong = 0

    # What the command answers with at most `tokens` of them; None where these are too few.
    def ask(self, seed, tokens, *options):
        run = subprocess.run(
            [CARAT, "run", "tiny", "Hello", "--seed", str(seed), "--temp", random.choice(["1", "3"]), "--top-k", "0",
             "--top-p", "1", "-n", str(tokens), "--json", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if run.returncode == 2 and b"the shortest answer of this form" in run.stderr:
            self.too_short += 1
            return None
        if run.returncode != 0:
            self.say(f"exit code {run.returncode}: {run.stderr.decode()[-300:]}", options)
            return None
        answer = json.loads(run.stdout)
        if len(answer["ids"]) > tokens:
            self.say(f"{len(answer['ids'])} tokens, expected at most {tokens}", options)
        return answer

    def say(self, what, about):
        self.wrong += 1
        print(f"WRONG: {what}\n  {about}")

    def judge(self, value, form):
        fault = next(Draft202012Validator(form).iter_errors(value), None)
        if fault:
            self.say(fault.message, (value, form))
        else:
            self.right += 1


def check_schema(answers, i):
    form = schema()
    tokens = 500
    while tokens > 0:
        answer = answers.ask(i, tokens, "-j", json.dumps(form), "--json-ws", ["any", "dumps"][i % 2])
        if answer is None:
            return
        try:
            answers.judge(json.loads(answer["text"]), form)
        except ValueError:
            answers.say("the answer is no JSON", (answer["text"], form))
        tokens = len(answer["ids"]) // 2


def check_tools(answers, i, file):
    tools = [{"type": "function", "function": {
        "name": f"tool_{k}", "description": "d",
        "parameters": members(["name", "age", "x_y", "tags", "level"], 0)}} for k in range(random.randint(1, 3))]
    forms = {t["function"]["name"]: {**t["function"]["parameters"], "additionalProperties": False} for t in tools}
    file.seek(0)
    file.truncate()
    file.write(json.dumps(tools))
    file.flush()
    for tokens in (300, 60, 25):
        answer = answers.ask(i, tokens, "--tools", file.name, "--tool-choice", "required")
        if answer is None:
            return
        if not answer["calls"]:
            answers.say("no call", (answer, tools))
        for call in answer["calls"]:
            answers.judge(call["arguments"], forms[call["name"]])


def main():
    answers = Answers()
    for i in range(SCHEMAS):
        check_schema(answers, i)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        for i in range(TOOLS):
            check_tools(answers, i, file)
    print(f"answers that fit: {answers.right}, too few tokens: {answers.too_short}, wrong: {answers.wrong}")
    return answers.wrong > 0


sys.exit(main())
