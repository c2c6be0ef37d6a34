#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_responses.py CARAT: the responses of the openai package against `carat serve tiny`: whole, streamed and
parsed, sync and async, tools there and back, conversations that the server remembers, what is deleted, and the
exception of each status; embeddings of a model of the tests, sync and async; then langchain-openai with a tool,
both ways. The texts are those of `carat run`, the vectors those of `carat embed`."""
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

carat = os.path.abspath(sys.argv[1])
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
question = "Turn on the kitchen lights"
tools = [{"type": "function", "strict": False, **t["function"]}
         for t in json.load(open(os.path.join(root, "models/tiny/tools.json")))]


def serve(model):
    command = [carat, "serve", model, "--port", "0", "-np", "4"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process, re.search(r"http://\S+", process.stdout.readline())[0]


def stop(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


server, url = serve("tiny")
client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)
create = client.responses.create


def run(*options):
    out = subprocess.run([carat, "run", "tiny", "--json", *options, question], check=True,
                         stdin=subprocess.DEVNULL, capture_output=True)
    return json.loads(out.stdout)["text"]


def refused(kind, status, param, ask, **fields):
    try:
        ask(**fields)
    except openai.APIStatusError as e:
        assert type(e) is kind and e.status_code == status and e.param == param, (fields, e)
        return e
    raise AssertionError(fields)


class Room(BaseModel):
    on: bool


def check_answers():
    for options, fields in (([], {}), (["--temp", "0"], {"temperature": 0}),
                            (["--temp", "2", "-n", "40"], {"temperature": 2, "max_output_tokens": 40})):
        for seed in range(3):
            wanted = run("--seed", str(seed), *options)
            asked = {"model": "any", "input": question, "extra_body": {"seed": seed}, **fields}
            whole = create(**asked)
            assert whole.output_text == wanted
            assert whole.status == ("completed" if whole.usage.output_tokens < 40 else "incomplete")
            with client.responses.stream(**asked) as stream:
                events = list(stream)
                assert [e.sequence_number for e in events] == list(range(len(events)))
                assert "".join(e.delta for e in events if e.type == "response.output_text.delta") == wanted
                assert [e.text for e in events if e.type == "response.output_text.done"] == [wanted]
                if whole.status == "completed":
                    assert stream.get_final_response().output_text == wanted
                else:
                    assert events[-1].response.incomplete_details.reason == "max_output_tokens"
    logs = {"include": ["message.output_text.logprobs"], "top_logprobs": 2, "temperature": 0}
    told = create(model="any", input=question, **logs).output[0].content[0]
    assert "".join(p.token for p in told.logprobs) == told.text
    assert all(bytes(p.bytes).decode() == p.token and len(p.top_logprobs) == 2 for p in told.logprobs)
    pieces = [p for e in create(model="any", input=question, stream=True, **logs)
              if e.type == "response.output_text.delta" for p in e.logprobs]
    assert [(p.token, p.logprob) for p in pieces] == [(p.token, p.logprob) for p in told.logprobs]
    again = create(model="any", input=question, temperature=0)
    assert again.usage.input_tokens_details.cached_tokens == again.usage.input_tokens - 1
    parsed = client.responses.parse(model="any", input=question, text_format=Room, temperature=0,
                                    max_output_tokens=100)
    assert isinstance(parsed.output_parsed, Room)
    with client.responses.stream(model="any", input=question, text_format=Room, temperature=0) as stream:
        assert isinstance(stream.get_final_response().output_parsed, Room)
    assert client.responses.input_tokens.count(model="any", input=question).input_tokens == 14


def check_tools():
    """A call, as it comes whole and as events, and an answer to its result; kept by the client, and here."""
    items = [{"role": "user", "content": question}]
    asked = {"model": "any", "tools": tools, "temperature": 0}
    for more in ({}, {"tool_choice": "required"}, {"parallel_tool_calls": False},
                 {"tool_choice": {"type": "function", "name": "turn_on_lights"}}):
        reply = create(input=items, **asked, **more)
        call = reply.output[0]
        assert (call.type, call.name, json.loads(call.arguments)) == \
            ("function_call", "turn_on_lights", {"room": "kitchen"})
    with client.responses.stream(input=items, **asked) as stream:
        reply = stream.get_final_response()
    call = reply.output[0]
    assert (call.name, json.loads(call.arguments)) == ("turn_on_lights", {"room": "kitchen"})
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "{\"ok\": true}"}
    whole = create(input=items + reply.output + [result], **asked)
    kept = create(input=[result], previous_response_id=reply.id, **asked)
    assert whole.output_text and kept.output_text == whole.output_text
    assert kept.usage.input_tokens == whole.usage.input_tokens
    assert kept.previous_response_id == reply.id


def check_store():
    first = create(model="any", input=question, instructions="Be brief", temperature=0, metadata={"a": "b"})
    assert client.responses.retrieve(first.id).output_text == first.output_text
    assert client.responses.retrieve(first.id).metadata == {"a": "b"}
    listed = list(client.responses.input_items.list(first.id))
    assert [(i.role, i.content[0].text) for i in listed] == [("user", question)]
    second = create(model="any", input="And the office?", previous_response_id=first.id, temperature=0)
    third = create(model="any", input="Thanks", previous_response_id=second.id, temperature=0)
    told = [{"role": "user", "content": question}, *first.output, {"role": "user", "content": "And the office?"},
            *second.output, {"role": "user", "content": "Thanks"}]
    alone = create(model="any", input=told, temperature=0, store=False)
    assert (third.output_text, third.usage.input_tokens) == (alone.output_text, alone.usage.input_tokens)
    gone = openai.NotFoundError
    refused(gone, 404, None, client.responses.retrieve, response_id=alone.id)
    assert client.responses.delete(first.id) is None
    refused(gone, 404, None, client.responses.retrieve, response_id=first.id)
    refused(gone, 404, None, client.responses.delete, response_id=first.id)
    refused(gone, 404, None, client.responses.input_items.list, response_id=first.id)
    assert create(model="any", input="Thanks", previous_response_id=second.id, temperature=0).output_text
    e = refused(openai.BadRequestError, 400, "previous_response_id", create, model="any", input="x",
                previous_response_id=first.id)
    assert e.code == "previous_response_not_found"


def check_refusals():
    bad = openai.BadRequestError
    asked = {"model": "any", "input": question}
    for param, fields in (("temperature", {"temperature": -1}), ("background", {"background": True}),
                          ("tools[0].type", {"tools": [{"type": "web_search"}]}),
                          ("text.verbosity", {"text": {"verbosity": "low"}}),
                          ("text.format.type", {"text": {"format": {"type": "yaml"}}}),
                          ("truncation", {"truncation": "auto"}), ("conversation", {"conversation": "x"}),
                          ("input[0].content[0]", {"input": [{"role": "user", "content": [
                              {"type": "input_image", "image_url": "data:,"}]}]}),
                          ("input[0].type", {"input": [{"type": "item_reference", "id": "x"}]})):
        refused(bad, 400, param, create, **{**asked, **fields})
    e = refused(bad, 400, "input", create, model="any", input="a " * 3000)
    assert e.code == "context_length_exceeded" and e.body["n_ctx"] == 2048


async def check_async():
    many = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
    fields = {"model": "any", "input": question, "temperature": 2, "max_output_tokens": 40}
    alone = [create(**fields, extra_body={"seed": seed}).output_text for seed in range(8)]
    replies = await asyncio.gather(*(many.responses.create(**fields, extra_body={"seed": i % 8}) for i in range(32)))
    assert [r.output_text for r in replies] == alone * 4
    async with many.responses.stream(model="any", input=question, temperature=0) as stream:
        assert (await stream.get_final_response()).output_text == run("--temp", "0")
    await many.responses.delete(replies[0].id)


def check_langchain():
    @tool
    def turn_on_lights(room: str) -> str:
        """Turn on the lights of a room"""
        return json.dumps({"ok": room == "kitchen"})

    for way in (False, True):
        model = ChatOpenAI(model="any", base_url=url, api_key="none", temperature=0, use_responses_api=way,
                           max_retries=0)
        assert model.invoke(question).text == run("--temp", "0")
        assert "".join(piece.text for piece in model.stream(question)) == run("--temp", "0")
        bound = model.bind_tools([turn_on_lights])
        told = [HumanMessage(question)]
        reply = bound.invoke(told)
        call = reply.tool_calls[0]
        assert (call["name"], call["args"]) == ("turn_on_lights", {"room": "kitchen"}), reply
        pieces = None
        for piece in bound.stream(told):
            pieces = piece if pieces is None else pieces + piece
        assert pieces.tool_calls[0]["args"] == {"room": "kitchen"}
        told += [reply, ToolMessage(turn_on_lights.invoke(call["args"]), tool_call_id=call["id"])]
        assert bound.invoke(told).text
        if way:
            assert model.with_structured_output(Room).invoke(question).on in (True, False)


def check_embeddings():
    with tempfile.TemporaryDirectory() as folder:
        for place in ("test/data/embed/models/embed1", "models/tiny/tokenizer.json"):
            place = os.path.abspath(os.path.join(root, place))
            for name in os.listdir(place) if os.path.isdir(place) else [""]:
                os.symlink(os.path.join(place, name).rstrip("/"), os.path.join(folder, name or os.path.basename(place)))
        texts = ["red apples", "green pears, and more of them", "old cars"]
        out = subprocess.run([carat, "embed", folder, "--no-prompt", "--json", *texts], check=True,
                             capture_output=True, stdin=subprocess.DEVNULL)
        wanted = json.loads(out.stdout)["vectors"]
        process, at = serve(folder)
        asks = openai.OpenAI(base_url=at, api_key="none", max_retries=0)
        for form in ({}, {"encoding_format": "float"}):
            reply = asks.embeddings.create(model="any", input=texts, **form)
            assert [e.index for e in reply.data] == [0, 1, 2] and reply.usage.total_tokens > 0
            for told, vector in zip(reply.data, wanted):
                assert [float("%.9g" % x) for x in told.embedding] == [float("%.9g" % x) for x in vector]
        assert len(asks.embeddings.create(model="any", input="a", dimensions=12).data[0].embedding) == 12
        refused(openai.BadRequestError, 400, "dimensions", asks.embeddings.create, model="any", input="a",
                dimensions=1000)
        refused(openai.BadRequestError, 400, "model", asks.chat.completions.create, model="any",
                messages=[{"role": "user", "content": "a"}])

        async def several():
            many = openai.AsyncOpenAI(base_url=at, api_key="none", max_retries=0)
            whole = [e.embedding for e in asks.embeddings.create(model="any", input=texts).data]
            replies = await asyncio.gather(*(many.embeddings.create(model="any", input=texts[i % 3:])
                                             for i in range(24)))
            assert all([e.embedding for e in r.data] == whole[i % 3:] for i, r in enumerate(replies))
        asyncio.run(several())
        chain = OpenAIEmbeddings(model="any", base_url=at, api_key="none", check_embedding_ctx_length=False)
        assert len(chain.embed_documents(texts)) == 3 and len(chain.embed_query(texts[0])) == len(wanted[0])
        asks.close()
        stop(process)


check_answers()
check_tools()
check_store()
check_refusals()
asyncio.run(check_async())
check_langchain()
check_embeddings()
client.close()
stop(server)
print(f"responses and embeddings of openai {openai.__version__}, and langchain-openai: the same as carat run")
