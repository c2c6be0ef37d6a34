#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_openai.py CARAT: the openai package against `carat serve tiny`: models, chat completions whole and
streamed, sync and async, completions, tools, parse, log-probabilities, several choices, and the exception of each status.
The texts are those of `carat run`."""
import asyncio
import json
import os
import re
import signal
import subprocess
import sys

import openai
from pydantic import BaseModel

carat = os.path.abspath(sys.argv[1])
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
messages = [{"role": "user", "content": "Turn on the kitchen lights"}]
tools = json.load(open(os.path.join(root, "models/tiny/tools.json")))
command = [carat, "serve", "tiny", "--port", "0", "-np", "4"]
server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
url = re.search(r"http://\S+", server.stdout.readline())[0]
client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
chat = client.chat.completions


def run(*options):
    out = subprocess.run([carat, "run", "tiny", "--json", *options, messages[0]["content"]], check=True,
                         stdin=subprocess.DEVNULL, capture_output=True)
    return json.loads(out.stdout)["text"]


def text(reply):
    return reply.choices[0].message.content


def joined(stream):
    chunks = list(stream)
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0
    assert [c.choices[0].finish_reason for c in chunks[:-1]][-1] in ("stop", "length")
    return "".join(c.choices[0].delta.content or "" for c in chunks[:-1])


def refused(kind, status, param, **fields):
    try:
        chat.create(**{"model": "any", "messages": messages, **fields})
    except openai.APIStatusError as e:
        assert type(e) is kind and e.status_code == status and e.param == param, (fields, e)
        return e
    raise AssertionError(fields)


def check():
    assert [m.id for m in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").id == "tiny"
    usage = {"stream": True, "stream_options": {"include_usage": True}}
    for options, fields in (([], {}), (["--temp", "0"], {"temperature": 0}),
                            (["--temp", "3", "-n", "40"], {"temperature": 3, "max_tokens": 40})):
        for seed in range(3):
            wanted = run("--seed", str(seed), *options)
            asked = {"model": "any", "messages": messages, "seed": seed, **fields}
            assert text(chat.create(**asked)) == wanted
            assert joined(chat.create(**asked, **usage)) == wanted
    fields = {"logprobs": True, "top_logprobs": 2, "max_tokens": 3}
    reply = chat.create(model="any", messages=messages, n=3, seed=5, **fields)
    assert [c.index for c in reply.choices] == [0, 1, 2]
    for choice in reply.choices:
        pieces = choice.logprobs.content
        assert "".join(p.token for p in pieces) == choice.message.content
        assert all(bytes(p.bytes).decode() == p.token and len(p.top_logprobs) == 2 for p in pieces)
    again = chat.create(model="any", messages=messages, temperature=0)
    assert again.usage.prompt_tokens_details.cached_tokens == again.usage.prompt_tokens - 1

    for more in ({}, {"tool_choice": "required"}, {"parallel_tool_calls": False}):
        reply = chat.create(model="any", messages=messages, temperature=0, tools=tools, **more)
        call = reply.choices[0].message.tool_calls[0].function
        assert (call.name, json.loads(call.arguments)) == ("turn_on_lights", {"room": "kitchen"})
        assert reply.choices[0].finish_reason == "tool_calls"
    chunks = list(chat.create(model="any", messages=messages, temperature=0, tools=tools, stream=True))
    assert [c.choices[0].delta.tool_calls[0].function.name for c in chunks if c.choices[0].delta.tool_calls]

    class Room(BaseModel):
        on: bool

    reply = chat.parse(model="any", messages=messages, response_format=Room, temperature=0, max_tokens=100)
    assert isinstance(reply.choices[0].message.parsed, Room)

    bad = openai.BadRequestError
    refused(bad, 400, "temperature", temperature=-1)
    refused(bad, 400, "n", n=9)
    refused(bad, 400, "stop", stop=["a"] * 17)
    refused(bad, 400, "temprature", extra_body={"temprature": 1})
    e = refused(bad, 400, "messages", messages=[{"role": "user", "content": "a " * 3000}])
    assert e.code == "context_length_exceeded" and e.body["n_ctx"] == 2048
    try:
        client.embeddings.create(model="any", input="a")
        raise AssertionError("embeddings")
    except openai.BadRequestError as e:
        assert e.status_code == 400 and e.param == "model"
    raw = chat.with_raw_response.create(model="any", messages=messages, user="x", extra_body={"bluetooth": 1})
    assert raw.headers["carat-ignored"] == "bluetooth" and raw.headers["carat-without-effect"] == "user"
    assert raw.headers["x-request-id"] and int(raw.headers["carat-seed"]) >= 0


def check_text():
    """Completions, and the likelihoods of prompts as lm-eval asks for them."""
    create = client.completions.create
    out = subprocess.run([carat, "run", "tiny", "--raw", "--json", "--seed", "4", "--temp", "2", "The kitchen"],
                         check=True, stdin=subprocess.DEVNULL, capture_output=True)
    alone = json.loads(out.stdout)
    drawn = {"model": "any", "seed": 4, "temperature": 2, "max_tokens": 500}
    for prompt in ("The kitchen", alone["prompt_ids"], [alone["prompt_ids"]]):
        assert create(prompt=prompt, **drawn).choices[0].text == alone["text"]
        pieces = list(create(prompt=prompt, stream=True, echo=True, **drawn))
        assert "".join(p.choices[0].text for p in pieces) == "The kitchen" + alone["text"]
    ids = alone["prompt_ids"] + alone["ids"]
    told = create(prompt=alone["prompt_ids"], logprobs=1, **drawn).choices[0].logprobs
    scored = create(model="any", prompt=[ids, ids[:4]], logprobs=1, echo=True, max_tokens=1, temperature=0, seed=1)
    for n, choice in zip((len(ids), 4), scored.choices):
        likely = choice.logprobs
        assert len(likely.tokens) == len(likely.top_logprobs) == len(likely.text_offset) >= n
        known = min(n - 3, len(told.token_logprobs))
        assert likely.token_logprobs[3:3 + known] == told.token_logprobs[:known]
        assert likely.token_logprobs[0] is None
        assert all(a <= max(b.values()) for a, b in zip(likely.token_logprobs[1:], likely.top_logprobs[1:]))
    for param, fields in (("suffix", {"suffix": "x"}), ("best_of", {"best_of": 2}), ("logprobs", {"logprobs": 21})):
        try:
            create(model="any", prompt="x", **fields)
            raise AssertionError(fields)
        except openai.BadRequestError as e:
            assert e.param == param


async def check_async():
    """Many at once: each has the text that it has alone."""
    many = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    fields = {"model": "any", "messages": messages, "temperature": 3, "max_tokens": 40}
    alone = [text(chat.create(**fields, seed=seed)) for seed in range(8)]
    replies = await asyncio.gather(*(many.chat.completions.create(**fields, seed=i % 8) for i in range(32)))
    assert [text(r) for r in replies] == alone * 4


check()
check_text()
asyncio.run(check_async())
client.close()
server.send_signal(signal.SIGTERM)
assert server.wait(20) == 0
print(f"openai {openai.__version__}: the same as carat run")
