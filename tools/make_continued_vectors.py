#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What transformers makes of conversations whose last answer goes on: test/data/text/templates/continued.json.

    python3 tools/make_continued_vectors.py NAME=FILE... >test/data/text/templates/continued.json

FILE is a chat template or a tokenizer_config.json with one, NAME what the test calls it: a template of carat_render_options,
or a state of Gemma 4's as tools/make_chat_vectors.py names them. apply_chat_template(continue_final_message=True) of
transformers 5.23 renders. Nothing here is needed to build or to test carat, the output is committed.
"""
import json
import pathlib
import sys

from transformers.utils.chat_template_utils import render_jinja_template


def user(text):
    return {"role": "user", "content": text}


def answer(text, **more):
    return {"role": "assistant", "content": text, **more}


CALL = {"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
TOOLS = [{"type": "function", "function": {"name": "f", "description": "d",
                                           "parameters": {"type": "object", "properties": {"a": {"type": "integer", "description": "x"}}}}}]
EVERY = ["gemma", "gemma3", "functiongemma", "gemma4"]
CASES = [
    (EVERY, dict(messages=[user("Count."), answer("One, two,")])),
    (EVERY, dict(messages=[user("Count."), answer("\n One, two, \n")])),
    (EVERY, dict(messages=[user("a"), answer("b"), user("c"), answer("<b>")])),
    (EVERY, dict(messages=[user("b b"), answer("b")])),
    (["gemma3", "gemma4"], dict(messages=[user("a"), answer([{"type": "text", "text": " x "}, {"type": "text", "text": " y\n"}])])),
    (["gemma3", "functiongemma", "gemma4"], dict(messages=[{"role": "system", "content": "s"}, user("a"), answer("b")])),
    (["gemma4"], dict(messages=[user("a"), answer("one"), answer("two")])),
    (["gemma4"], dict(messages=[user("a"), answer("So", reasoning_content="hm")])),
    (["functiongemma", "gemma4"], dict(messages=[user("a"), answer("So")], tools=TOOLS)),
    (["gemma4"], dict(messages=[user("a"), answer("", tool_calls=[CALL]), {"role": "tool", "name": "f", "content": "r"}, answer("So")], tools=TOOLS)),
    (["functiongemma"], dict(messages=[user("a"), answer("", tool_calls=[CALL]), {"role": "tool", "content": {"name": "f", "response": {"b": 1}}},
                                       answer("So")], tools=TOOLS)),
]


def main():
    rows = []
    for argument in sys.argv[1:]:
        name, file = argument.split("=", 1)
        text = pathlib.Path(file).read_text(encoding="utf-8")
        template = json.loads(text)["chat_template"] if file.endswith(".json") else text
        kind = name if name in EVERY else "gemma4"
        for kinds, case in CASES:
            for thinking in (False, True) if kind == "gemma4" else (False,):
                if kind not in kinds:
                    continue
                rendered, _ = render_jinja_template([case["messages"]], tools=case.get("tools"), chat_template=template, bos_token="<bos>",
                                                    eos_token="<eos>", continue_final_message=True, enable_thinking=thinking)
                rows.append({"of": name, "thinking": thinking, **case, "expected": rendered[0]})
    print("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]")


main()
