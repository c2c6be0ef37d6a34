#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_apis.py CARAT: the packages anthropic and ollama against `carat serve tiny`: answers whole and in
pieces, sync and async, tools, forms, an answer that was begun, counts, what is said of the model, and the
exception of each status. The texts are those of `carat run`."""
import asyncio
import json
import os
import re
import signal
import subprocess
import sys

import anthropic
import ollama

carat = os.path.abspath(sys.argv[1])
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
messages = [{"role": "user", "content": "Turn on the kitchen lights"}]
tools = json.load(open(os.path.join(root, "models/tiny/tools.json")))
schema = {"type": "object", "properties": {"room": {"type": "string", "enum": ["kitchen", "office"]}},
          "required": ["room"], "additionalProperties": False}


def run(*options):
    out = subprocess.run([carat, "run", "tiny", "--json", *options, messages[0]["content"]], check=True,
                         stdin=subprocess.DEVNULL, capture_output=True)
    return json.loads(out.stdout)["text"]


def refused(kind, status, says, ask, *given, **fields):
    try:
        answer = ask(*given, **fields)
        list(answer)
    except (anthropic.APIStatusError, ollama.ResponseError) as e:
        assert type(e) is kind and e.status_code == status and says in str(e), (fields, e)
        return
    raise AssertionError((given, fields))


def check_anthropic(url):
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    ask = {"model": "any", "max_tokens": 200, "messages": messages}
    for options, fields in (([], {}), (["--temp", "0"], {"temperature": 0}), (["--temp", "1"], {"temperature": 1})):
        for seed in range(3):
            wanted = run("--seed", str(seed), "-n", "200", *options)
            fields["seed"] = seed
            assert client.messages.create(**ask, extra_body=fields).content[0].text == wanted
            with client.messages.stream(**ask, extra_body=fields) as stream:
                assert "".join(stream.text_stream) == wanted
                assert stream.get_final_message().stop_reason == "end_turn"
    ask["extra_body"] = {"temperature": 0}
    whole = client.messages.create(**ask)
    assert (whole.usage.input_tokens, whole.usage.cache_read_input_tokens) == (1, 13), whole.usage
    assert client.messages.count_tokens(model="any", messages=messages).input_tokens == 14
    cut = client.messages.create(**{**ask, "max_tokens": 3})
    assert cut.stop_reason == "max_tokens" and cut.usage.output_tokens == 3
    stopped = client.messages.create(**ask, stop_sequences=["lights"])
    assert (stopped.stop_reason, stopped.stop_sequence) == ("stop_sequence", "lights")
    begun = [*messages, {"role": "assistant", "content": "The kitchen"}]
    assert client.messages.create(**{**ask, "messages": begun}).content[0].text == " lights are now on."
    formed = client.messages.create(**ask, output_config={"format": {"type": "json_schema", "schema": schema}})
    assert json.loads(formed.content[0].text)["room"] in ("kitchen", "office")

    own = [{"name": f["name"], "description": f.get("description", ""), "input_schema": f["parameters"]}
           for f in (t["function"] for t in tools)]
    with client.messages.stream(**ask, tools=own, tool_choice={"type": "any"}) as stream:
        reply = stream.get_final_message()
    for reply in (reply, client.messages.create(**ask, tools=own)):
        call = [b for b in reply.content if b.type == "tool_use"][0]
        assert (reply.stop_reason, call.name, call.input) == ("tool_use", "turn_on_lights", {"room": "kitchen"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": [{"type": "text", "text": "{\"ok\":true}"}]}
    more = [*messages, {"role": "assistant", "content": reply.content}, {"role": "user", "content": [result]}]
    assert client.messages.create(**{**ask, "messages": more}, tools=own).content[0].text

    assert [m.id for m in client.models.list()] == ["tiny"] and client.models.retrieve("tiny").type == "model"
    refused(anthropic.NotFoundError, 404, "tiny", client.models.retrieve, "other")
    bad = anthropic.BadRequestError
    for fields, says in (({"messages": []}, "messages has 0"), ({"max_tokens": 0}, "max_tokens"),
                         ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0]"),
                         ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "tools[0]"),
                         ({"extra_body": {"max_token": 1}}, "did you mean max_tokens?")):
        refused(bad, 400, says, client.messages.create, **{**ask, **fields})

    async def several():
        both = anthropic.AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
        replies = await asyncio.gather(*[both.messages.create(**ask) for _ in range(8)])
        assert {r.content[0].text for r in replies} == {whole.content[0].text}
    asyncio.run(several())


def check_ollama(url):
    client = ollama.Client(host=url)
    for options, fields in (([], {}), (["--temp", "0"], {"temperature": 0}), (["--temp", "3"], {"temperature": 3})):
        for seed in range(3):
            wanted = run("--seed", str(seed), "-n", "40", *options)
            ask = {"model": "tiny", "options": {**fields, "seed": seed, "num_predict": 40}}
            assert client.chat(messages=messages, **ask).message.content == wanted
            pieces = client.chat(messages=messages, stream=True, **ask)
            assert "".join(p.message.content for p in pieces) == wanted
            assert client.generate(prompt=messages[0]["content"], **ask).response == wanted
            pieces = list(client.generate(prompt=messages[0]["content"], stream=True, **ask))
            assert "".join(p.response for p in pieces) == wanted and pieces[-1].eval_count > 0
    ask = {"model": "tiny", "messages": messages, "options": {"temperature": 0, "num_predict": 100}}
    for stream in (False, True):
        replies = client.chat(**ask, tools=tools, stream=stream)
        calls = [c for r in (replies if stream else [replies]) for c in r.message.tool_calls or []]
        assert [(c.function.name, c.function.arguments) for c in calls] == [("turn_on_lights", {"room": "kitchen"})]
    called = [*messages, {"role": "assistant", "tool_calls": calls},
              {"role": "tool", "tool_name": "turn_on_lights", "content": "{\"ok\":true}"}]
    assert client.chat(**{**ask, "messages": called}, tools=tools).message.content
    assert json.loads(client.chat(**ask, format=schema).message.content)["room"] in ("kitchen", "office")
    assert client.generate(model="tiny").done_reason == "load"
    assert client.list().models[0].model == client.ps().models[0].model == "tiny"
    assert "tools" in client.show("tiny").capabilities
    for ask_of, status, says in ((lambda: client.chat(**ask, think=True), 400, "does not support thinking"),
                                 (lambda: client.embed(model="tiny", input="a"), 400, "carat embed"),
                                 (lambda: client.pull("tiny"), 501, "carat pull"),
                                 (lambda: client.chat(model="tiny", messages=messages, stream=True,
                                                      options={"temperature": -1}), 400, "options.temperature")):
        refused(ollama.ResponseError, status, says, ask_of)

    async def several():
        both = ollama.AsyncClient(host=url)
        replies = await asyncio.gather(*[both.chat(**ask) for _ in range(8)])
        assert {r.message.content for r in replies} == {client.chat(**ask).message.content}
    asyncio.run(several())


def main():
    command = [carat, "serve", "tiny", "--port", "0", "-np", "4"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://[^/\s]+", server.stdout.readline())[0]
        check_anthropic(url)
        check_ollama(url)
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(30)
    print("apis: anthropic %s and ollama 0.6.3 are answered, exit code %d" % (anthropic.__version__, code))
    sys.exit(code)


if __name__ == "__main__":
    main()
