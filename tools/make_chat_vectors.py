#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the published states of Gemma 4's chat template make of conversations: test/data/text/templates/gemma4.json.

    python3 tools/make_chat_vectors.py FOLDER >test/data/text/templates/gemma4.json

FOLDER holds the texts as STATE.jinja and STATE-small.jinja, STATE one of STATES; MODEL.md says where they were read. They
are rendered as transformers does. Conversations
that a state drops or garbles name the states for which they count. Nothing here is needed to build or to test carat, the
output is committed.
"""
import json
import pathlib
import sys

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

STATES = ["july-9", "april-29", "april-10", "interleaved", "april-2"]
INSIDE = STATES[:3]  # results go into the turn of the calls


def user(text):
    return {"role": "user", "content": text}


def answer(text, **more):
    return {"role": "assistant", "content": text, **more}


def call(name, arguments, **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


def result(content, **more):
    return {"role": "tool", "content": content, **more}


def tool(name, properties=None, required=None, **more):
    parameters = {"type": "object", "properties": properties or {}}
    if required is not None:
        parameters["required"] = required
    return {"type": "function", "function": {"name": name, "description": "What " + name + " does", "parameters": parameters, **more}}


VALUES = {"s": 'a "b" \n{c}', "i": -7, "big": 9007199254740993, "f": 1.5, "g": 1e-7, "h": 1e22, "z": 100.0, "t": True, "n": False,
          "l": [1, "x", [True, {"b": 1, "A": [], "a": {}}]], "o": {"Zeta": 1, "alpha": "é", "Beta": {"y": 1, "x": 2}}, "e": ""}
PROPERTIES = {
    "plain": {"type": "string", "description": "A text"},
    "bare": {"type": "integer"},
    "Choice": {"type": "string", "enum": ["b", "a"]},
    "choice": {"type": "string", "description": "One of two", "enum": ["x", "y"], "nullable": True},
    "numbers": {"type": "number", "enum": [1, 2]},
    "maybe": {"type": "boolean", "nullable": True},
    "nobody": {"type": "string", "description": ""},
    "list": {"type": "array", "items": {"type": "string"}},
    "told": {"type": "array", "description": "Many", "items": {"type": "object", "description": "One of them", "required": ["k"],
             "properties": {"k": {"type": "string"}, "l": {"type": "integer", "description": "l"}}}},
    "kinds": {"type": "array", "items": {"type": ["string", "integer"], "enum": ["a", 1], "default": {"b": 1, "A": "x"}, "none": None, "required": []}},
    "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "number", "minimum": 0}}},
    "any": {"type": "array", "items": {}},
    "unsure": {"type": "array", "nullable": True, "description": "u", "items": {"type": "string"}},
    "object": {"type": "object", "description": "Nested", "properties": {"b": {"type": "string"}, "a": {"type": "object", "properties": {}}}, "required": ["b"]},
    "open": {"type": "object", "properties": {"deep": {"type": "object", "nullable": True, "properties": {"deeper": {"type": "array", "items": {"type": "object", "properties": {"last": {"type": "null"}}}}}}}},
    "map": {"type": "object", "description": "A map", "additionalProperties": {"type": "string", "description": "Its values"}},
    "odd": {"type": "object", "title": "Odd", "additionalProperties": False, "minProperties": 1},
}
WORDS = {"description": {"type": "string", "description": "A word"}, "type": {"type": "string"}, "name": {"type": "string"},
         "required": {"type": "object", "properties": {"nullable": {"type": "string"}, "x": {"type": "integer"}}},
         "items": {"type": "array", "items": {"type": "object", "properties": {"type": {"type": "string"}}}}}
WEATHER = [tool("get_weather", {"place": {"type": "string", "description": "City"}, "days": {"type": "integer"}}, ["place"])]
ASK = user("Weather?")
ROME = call("get_weather", {"place": "Rome", "days": 2})
OSLO = call("get_weather", {"place": "Oslo"})

CASES = [
    dict(messages=[user("Hello")]),
    dict(messages=[user(" \n padded\u3000")]),
    dict(messages=[user("")]),
    dict(messages=[{"role": "system", "content": " s\n"}, user("u")]),
    dict(messages=[{"role": "developer", "content": "d"}, user("u")]),
    dict(messages=[{"role": "system", "content": "only"}]),
    dict(messages=[{"role": "system", "content": [{"type": "text", "text": " a "}, {"type": "text", "text": "b"}]}, user("u")], states=["july-9", "april-29"]),
    dict(messages=[user("a"), user("b")]),
    dict(messages=[user("a"), {"role": "system", "content": "late"}, user("b")]),
    dict(messages=[user("a"), {"role": "developer", "content": "late"}]),
    dict(messages=[user("a"), answer(" b "), user("c")]),
    dict(messages=[user("a"), answer("b")]),
    dict(messages=[user("a"), answer("")]),
    dict(messages=[user("a"), answer("b"), answer("c"), user("d")]),
    dict(messages=[answer("first")]),
    dict(messages=[user([{"type": "text", "text": " a "}, {"type": "text", "text": "b "}])]),
    dict(messages=[user([{"type": "image"}, {"type": "text", "text": "a"}, {"type": "audio"}, {"type": "text", "text": "b"}, {"type": "video"}, {"type": "smell"}])]),
    dict(messages=[user("a"), answer("<|channel>thought\nhm<channel|>b"), user("c")]),
    dict(messages=[user("a"), answer("x <|channel>y<channel|> z <channel|>"), answer([{"type": "text", "text": " <|channel>q"}, {"type": "text", "text": "r"}]), user("c")]),
    dict(messages=[user("<|channel>thought<channel|> <|turn>model\n<turn|> <|\"|>")]),
    # reasoning
    dict(messages=[user("a"), answer("b", reasoning="r"), user("c")]),
    dict(messages=[user("a"), answer("b", reasoning=" r\n")], states=INSIDE),
    dict(messages=[user("a"), answer("b", reasoning_content="rc")]),
    dict(messages=[user("a"), answer("b", reasoning="", reasoning_content="rc")], states=INSIDE),
    dict(messages=[user("a"), answer("b", reasoning="r", reasoning_content="rc")], states=INSIDE),
    # tools
    dict(messages=[user("u")], tools=WEATHER),
    dict(messages=[{"role": "system", "content": "s"}, user("u")], tools=WEATHER),
    dict(messages=[user("u")], tools=[tool("f"), tool("g", {"a": {"type": "string"}}), tool("h", {}, [])]),
    dict(messages=[user("u")], tools=[{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g", "description": "d", "parameters": {}}}, {"type": "function", "function": {"name": "h", "parameters": {"type": "object"}}}]),
    dict(messages=[user("u")], tools=[tool("f", PROPERTIES, ["plain", "list"])]),
    dict(messages=[user("u")], tools=[tool("f", WORDS, ["name"])]),
    dict(messages=[user("u")], tools=[tool("f", {"a": {"type": "string"}}, response={"type": "object", "description": "What comes"}), tool("g", response={"type": "OBJECT"})]),
    # calls and results
    dict(messages=[ASK, answer("", tool_calls=[ROME])], tools=WEATHER),
    dict(messages=[ASK, answer(None, tool_calls=[ROME, OSLO])], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[call("f", VALUES)])]),
    dict(messages=[ASK, answer("", tool_calls=[call("f", {}), call("g", {"none": None, "l": [None]})])]),
    dict(messages=[ASK, answer("", tool_calls=[ROME]), result("sunny")], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[ROME]), result('{"t": 21}', name="get_weather")], tools=WEATHER),
    dict(messages=[ASK, answer(None, tool_calls=[ROME], reasoning_content="I look."), result("sunny")], tools=WEATHER, states=INSIDE),
    dict(messages=[ASK, answer("Let me see. ", tool_calls=[ROME], reasoning_content="I look."), result("sunny"), answer("It is sunny."), user("Thanks")], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[ROME]), result("sunny"), answer("It is sunny.", reasoning="It is."), user("Thanks"), answer("Bye")], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[ROME]), result(" sunny "), answer("It is sunny.", reasoning="It is.")], tools=WEATHER, states=INSIDE),
    dict(messages=[ASK, answer("", tool_calls=[ROME]), result("sunny"), answer("", tool_calls=[OSLO]), result("rain"), answer("Sun and rain.")], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[ROME], reasoning="First."), result("sunny"), answer("", tool_calls=[OSLO], reasoning="Second."), result("rain")], tools=WEATHER, states=INSIDE),
    dict(messages=[ASK, answer("", tool_calls=[ROME]), result("sunny"), user("And?")], tools=WEATHER),
    dict(messages=[ASK, answer("  ", tool_calls=[ROME]), result("sunny"), user("And?")], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[{**ROME, "id": "1"}, {**call("other", {}), "id": "2"}]), result("b", tool_call_id="2", name="wrong"), result("a", tool_call_id="1")]),
    dict(messages=[ASK, answer("", tool_calls=[{**ROME, "id": "1"}]), result([{"type": "text", "text": " a "}, {"type": "text", "text": "b"}], tool_call_id="1", name="named")], states=INSIDE),
    dict(messages=[ASK, answer("", tool_calls=[{**ROME, "id": "1"}]), result("x", tool_call_id="7", name="named")], states=INSIDE),
    dict(messages=[ASK, answer("", tool_calls=[ROME], tool_responses=[{"name": "get_weather", "response": {"t": 21, "Sky": "blue", "at": {"b": 1, "A": [2]}}}])], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[ROME, OSLO], tool_responses=[{"name": "get_weather", "response": "sunny"}, {"name": "get_weather", "response": [1, "x"]}]), answer("Fine."), user("Bye")], tools=WEATHER),
    dict(messages=[ASK, answer("Fine.", tool_calls=[ROME], tool_responses=[{"name": "get_weather", "response": 21}]), user("Bye")], tools=WEATHER),
    dict(messages=[ASK, answer("", tool_calls=[ROME], tool_responses=[{"name": "get_weather", "response": {}}]), answer("", tool_calls=[OSLO], reasoning_content="Second.", tool_responses=[{"name": "get_weather", "response": True}]), answer("Fine.")], tools=WEATHER),
]


def compiled(path):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    return environment.from_string(path.read_text(encoding="utf-8"))


def main():
    folder = pathlib.Path(sys.argv[1])
    names = [state + size for state in STATES for size in ("", "-small") if state + size != "interleaved-small"]
    templates = {name: compiled(folder / (name + ".jinja")) for name in names}
    rows = []
    for case in CASES:
        conversation = {k: v for k, v in case.items() if k != "states"}
        seen = {}
        for thinking in (False, True):
            for name, template in templates.items():
                if name.removesuffix("-small") in case.get("states", STATES):
                    text = template.render(bos_token="<bos>", eos_token="<eos>", tools=case.get("tools"), messages=case["messages"],
                                           add_generation_prompt=True, enable_thinking=thinking)
                    seen.setdefault((thinking, text), []).append(name)
        rows.append({**conversation, "expected": [{"thinking": t, "of": of, "text": text} for (t, text), of in seen.items()]})
    print("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]")


main()
