#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record_clients.py CARAT: what the clients of PyPI send to `carat serve tiny`, and what they get. Each call
below goes through a port that keeps what passes. Its request becomes test/server/clients/NAME.request, byte for
byte but for what tells of the machine, and its reply NAME.reply, after the rules of neutral.sed beside it.
Those of test/fixtures/tiny4, which thinks before it calls, are in the folder tiny4 there.
test/cli/ask/test_serve_clients.sh sends the requests again, in the order of their names, which is that of this
run too: what is said of cached tokens depends on it. Whether the clients like what they get is for check_openai.py
and the like to find; here a call only must not fail.

Run it by hand when a client of a new version is to be recorded, or a reply is to change, and read the difference:

    cmake --build build/release --target carat
    python3 -m venv build/clients/record
    build/clients/record/bin/pip install openai==3.57.0 anthropic==2.14.0 ollama==0.6.3 google-genai==3.6.1
    build/clients/record/bin/python tools/record_clients.py build/release/carat"""
import importlib.metadata
import re
import sys

import anthropic
import ollama
import openai
import pydantic
from google import genai
from google.genai import types

from recording import PLACE, ROOT, serve

PROMPT = "Turn on the kitchen lights"
ASK = [{"role": "user", "content": PROMPT}]
SCHEMA = {"type": "object", "properties": {"room": {"type": "string", "enum": ["kitchen", "office"]}},
          "required": ["room"], "additionalProperties": False}
TOOL = {"name": "turn_on_lights", "description": "Turns on the lights in a room."}
PARAMETERS = {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]}
FUNCTION = {"type": "function", "function": {**TOOL, "parameters": PARAMETERS}}


class Lights(pydantic.BaseModel):
    on: bool


def anthropic_calls(url):
    messages = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0).messages
    ask = {"model": "tiny", "max_tokens": 40, "messages": ASK, "extra_body": {"temperature": 0}}

    def stream():
        with messages.stream(system="Be brief", **ask) as events:
            return list(events)

    return {
        "begun": lambda: messages.create(
            **{**ask, "messages": [*ASK, {"role": "assistant", "content": "The kitchen"}]}),
        "count": lambda: messages.count_tokens(model="tiny", messages=ASK),
        "message": lambda: messages.create(stop_sequences=["now"], **ask),
        "stream": stream,
        "tools": lambda: messages.create(tools=[{**TOOL, "input_schema": PARAMETERS}], **ask),
    }


def gemini_calls(url):
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))
    ask = {"model": "tiny", "contents": PROMPT}

    def config(**fields):
        return types.GenerateContentConfig(temperature=0, max_output_tokens=40, **fields)

    tool = types.Tool(function_declarations=[{**TOOL, "parameters_json_schema": PARAMETERS}])
    return {
        "count": lambda: client.models.count_tokens(**ask),
        "form": lambda: client.models.generate_content(
            config=config(response_mime_type="application/json", response_schema=Lights), **ask),
        "generate": lambda: client.models.generate_content(config=config(system_instruction="Be brief"), **ask),
        "stream": lambda: list(client.models.generate_content_stream(config=config(), **ask)),
        "tools": lambda: client.models.generate_content(config=config(tools=[tool]), **ask),
    }


def ollama_calls(url):
    client = ollama.Client(host=url)
    ask = {"model": "tiny", "options": {"temperature": 0, "num_predict": 40}}
    return {
        "chat": lambda: client.chat(messages=ASK, **ask),
        "chat_stream": lambda: list(client.chat(messages=ASK, stream=True, **ask)),
        "form": lambda: client.chat(messages=ASK, format=SCHEMA, **ask),
        "generate": lambda: client.generate(prompt=PROMPT, system="Be brief", **ask),
        "ps": client.ps,
        "show": lambda: client.show("tiny"),
        "tags": client.list,
        "tools": lambda: client.chat(messages=ASK, tools=[FUNCTION], **ask),
    }


def openai_calls(url):
    client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    chat, completions, responses = client.chat.completions, client.completions, client.responses
    cool = {"model": "tiny", "temperature": 0}
    ask = {"messages": ASK, "max_tokens": 40, **cool}
    called = {"id": "call_1", "type": "function",
              "function": {"name": "turn_on_lights", "arguments": '{"room":"kitchen"}'}}
    result = [{"role": "assistant", "content": None, "tool_calls": [called]},
              {"role": "tool", "tool_call_id": "call_1", "content": "done"}]
    usage = {"stream": True, "stream_options": {"include_usage": True}}
    form = {"type": "json_schema", "json_schema": {"name": "room", "schema": SCHEMA, "strict": True}}
    return {
        "chat": lambda: chat.create(**ask),
        "chat_form": lambda: chat.create(response_format=form, **ask),
        "chat_logprobs": lambda: chat.create(logprobs=True, top_logprobs=2, **{**ask, "max_tokens": 3}),
        "chat_other_script": lambda: chat.create(
            **{**ask, "messages": [{"role": "user", "content": "Küche 💡"}], "max_tokens": 8}),
        "chat_parse": lambda: chat.parse(response_format=Lights, **{**ask, "max_tokens": 100}),
        "chat_seeds": lambda: chat.create(**{**ask, "temperature": 2, "max_tokens": 8}, seed=7, n=2),
        "chat_stream": lambda: list(chat.create(**ask, **usage)),
        "chat_tool_result": lambda: chat.create(**{**ask, "messages": ASK + result}, tools=[FUNCTION]),
        "chat_tools": lambda: chat.create(tools=[FUNCTION], **ask),
        "chat_tools_form": lambda: chat.create(tools=[FUNCTION], response_format=form, **ask),
        "completion": lambda: completions.create(prompt="The kitchen", echo=True, logprobs=1, max_tokens=4, **cool),
        "completion_stream": lambda: list(
            completions.create(prompt="The kitchen", max_tokens=4, stream=True, **cool)),
        "models": client.models.list,
        "response": lambda: responses.create(input=PROMPT, max_output_tokens=40, **cool),
        "response_stream": lambda: list(
            responses.create(input=ASK, instructions="Be brief", max_output_tokens=3, stream=True, **cool)),
    }


def thinking_calls(url):
    """Of a model that thinks before it calls: the same on each surface, half of them in pieces."""
    required = {"type": "object", "properties": {"on": {"type": "boolean"}, "room": {"type": "string"}},
                "required": ["on", "room"]}
    tool = {"name": "set_lights", "description": "Switches lights."}
    function = {"type": "function", "function": {**tool, "parameters": required}}
    client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    messages = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0).messages
    gemini = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url))  # kept: its end closes it
    chat, cool = ollama.Client(host=url).chat, {"model": "tiny4", "temperature": 0}
    thinks = {"type": "enabled", "budget_tokens": 1024}
    contents = {"model": "tiny4", "contents": PROMPT, "config": types.GenerateContentConfig(
        temperature=0, thinking_config=types.ThinkingConfig(include_thoughts=True),
        tools=[types.Tool(function_declarations=[{**tool, "parameters_json_schema": required}])])}
    asked = {"messages": ASK, "max_tokens": 2000, "thinking": thinks, "model": "tiny4", "tool_choice": {"type": "auto"},
             "tools": [{**tool, "input_schema": required}], "extra_body": {"temperature": 0}}
    ask = {"model": "tiny4", "messages": ASK, "tools": [function], "think": True, "options": {"temperature": 0}}

    def stream():
        with messages.stream(**asked) as events:
            return list(events)

    return {
        "anthropic": lambda: messages.create(**asked),
        "anthropic_stream": stream,
        "gemini": lambda: gemini.models.generate_content(**contents),
        "gemini_stream": lambda: list(gemini.models.generate_content_stream(**contents)),
        "ollama": lambda: chat(**ask),
        "ollama_stream": lambda: list(chat(stream=True, **ask)),
        "openai_chat": lambda: client.chat.completions.create(
            messages=ASK, tools=[function], tool_choice="required", reasoning_effort="high", **cool),
        "openai_chat_stream": lambda: list(client.chat.completions.create(
            messages=ASK, tools=[function], reasoning_effort="high", stream=True, **cool)),
        "openai_response": lambda: client.responses.create(
            input=ASK, reasoning={"effort": "high"}, tool_choice="required",
            tools=[{"type": "function", **tool, "parameters": required, "strict": True}], **cool),
        "openai_response_stream": lambda: list(client.responses.create(
            input=ASK, reasoning={"effort": "high"}, stream=True,
            tools=[{"type": "function", **tool, "parameters": required, "strict": False}], **cool)),
    }


def record(port, server, calls):
    """Keeps what calls send and get, in the order of their names."""
    try:
        for name in sorted(calls):
            calls[name]()
            port.keep(name)
    finally:
        server.terminate()
    if server.wait():
        sys.exit("the server failed")


def main():
    for package, version in re.findall(r"([a-z-]+)==([0-9.]+)", __doc__):
        found = importlib.metadata.version(package)
        if found != version:
            sys.exit(f"{package} {found} is installed, {version} is to be recorded")
    for old in [*PLACE.glob("*.re*"), *PLACE.glob("tiny4/*.re*")]:
        if not old.name.startswith("webui_"):  # record_open_webui.py's
            old.unlink()
    server, port = serve(sys.argv[1])
    calls = {}
    for make in (anthropic_calls, gemini_calls, ollama_calls, openai_calls):
        prefix = make.__name__.removesuffix("calls")
        calls |= {prefix + name: call for name, call in make(port.url).items()}
    record(port, server, calls)
    server, port = serve(sys.argv[1], ROOT / "test/fixtures/tiny4", PLACE / "tiny4")
    port.place.mkdir(exist_ok=True)
    record(port, server, thinking_calls(port.url))


main()
