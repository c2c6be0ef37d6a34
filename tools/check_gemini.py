#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_gemini.py CARAT: the packages google-genai and langchain-ollama against `carat serve tiny`: answers
whole and in pieces, sync and async, functions, those that the client calls itself, schemas and typed objects,
candidates, log-probabilities, counts, models, and the exception of each status. The texts are those of
`carat run`."""
import asyncio
import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
from typing import Literal

import pydantic
from google import genai
from google.genai import errors, types
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_ollama import ChatOllama

carat = os.path.abspath(sys.argv[1])
prompt = "Turn on the kitchen lights"


class Room(pydantic.BaseModel):
    room: Literal["kitchen", "office"]
    degrees: int | None


def run(*options):
    out = subprocess.run([carat, "run", "tiny", "--json", *options, prompt], check=True,
                         stdin=subprocess.DEVNULL, capture_output=True)
    return json.loads(out.stdout)["text"]


def turn_on_lights(room: str) -> dict:
    """Turns on the lights in a room.

    Args:
        room: The room.
    """
    return {"ok": True, "room": room}


def config(**fields):
    return types.GenerateContentConfig(**fields)


def check_answers(client):
    models = client.models
    for options, fields in (([], {}), (["--temp", "0"], {"temperature": 0}),
                            (["--temp", "3", "--top-k", "40"], {"temperature": 3, "top_k": 40})):
        for seed in range(3):
            wanted = run("--seed", str(seed), "-n", "100", *options)
            ask = {"model": "any", "contents": prompt,
                   "config": config(seed=seed, max_output_tokens=100, **fields)}
            reply = models.generate_content(**ask)
            assert reply.text == wanted, (reply.text, wanted)
            pieces = list(models.generate_content_stream(**ask))
            assert "".join(p.text for p in pieces) == wanted
            assert pieces[-1].usage_metadata.total_token_count == reply.usage_metadata.total_token_count
            assert pieces[-1].candidates[0].finish_reason == reply.candidates[0].finish_reason
    greedy = config(temperature=0)
    reply = models.generate_content(model="any", contents=prompt, config=greedy)
    assert reply.candidates[0].finish_reason == types.FinishReason.STOP and reply.model_version == "tiny"
    use = reply.usage_metadata
    assert (use.prompt_token_count, use.cached_content_token_count, use.candidates_token_count) == (14, 13, 7), use
    odd = config(temperature=0, http_options=types.HttpOptions(extra_body={"odd": 1}))
    warned = models.generate_content(model="any", contents=prompt, config=odd)
    assert warned.text == reply.text and warned.sdk_http_response.headers["carat-ignored"] == "odd"
    pieces = models.generate_content_stream(model="any", contents=prompt, config=odd)
    assert "".join(p.text for p in pieces) == reply.text
    cut = models.generate_content(model="any", contents=prompt, config=config(temperature=0, max_output_tokens=3))
    assert cut.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
    several = models.generate_content(model="any", contents=prompt,
                                      config=config(seed=1, temperature=3, candidate_count=3, max_output_tokens=9))
    assert [c.index or 0 for c in several.candidates] == [0, 1, 2]
    likely = models.generate_content(model="any", contents=prompt,
                                     config=config(temperature=0, response_logprobs=True, logprobs=2))
    result = likely.candidates[0].logprobs_result
    assert [c.token for c in result.chosen_candidates] == [t.candidates[0].token for t in result.top_candidates]
    assert abs(likely.candidates[0].avg_logprobs - sum(c.log_probability for c in result.chosen_candidates)
               / len(result.chosen_candidates)) < 1e-6
    chat = client.chats.create(model="any", config=greedy)
    assert chat.send_message(prompt).text == reply.text
    assert chat.send_message("Where is the bed?").usage_metadata.prompt_token_count > 14
    assert models.count_tokens(model="any", contents=prompt).total_tokens == 14
    assert [m.name for m in models.list()] == ["models/tiny"]
    model = models.get(model="tiny")
    assert model.input_token_limit == 2048 and "countTokens" in model.supported_actions, model
    return reply.text


def check_functions(client):
    models = client.models
    ask = {"model": "any", "contents": prompt}
    by_hand = types.AutomaticFunctionCallingConfig(disable=True)
    for mode in ("AUTO", "ANY", "VALIDATED"):
        calling = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode=mode))
        fields = config(temperature=0, tools=[turn_on_lights], tool_config=calling,
                        automatic_function_calling=by_hand)
        replies = [models.generate_content(**ask, config=fields),
                   list(models.generate_content_stream(**ask, config=fields))[-1]]
        for reply in replies:
            assert [(c.name, c.args) for c in reply.function_calls] == [("turn_on_lights", {"room": "kitchen"})], reply
    call = reply.function_calls[0]
    result = types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"ok": True}))
    turns = [types.Content(role="user", parts=[types.Part(text=prompt)]), reply.candidates[0].content,
             types.Content(role="user", parts=[result])]
    fields = config(temperature=0, tools=[turn_on_lights], automatic_function_calling=by_hand)
    assert models.generate_content(model="any", contents=turns, config=fields).text
    whole = models.generate_content(**ask, config=config(temperature=0, tools=[turn_on_lights]))
    calls = [p for c in whole.automatic_function_calling_history or [] for p in c.parts if p.function_call]
    assert calls and whole.text, whole


def check_schemas(client):
    models = client.models
    for schema in ({"response_schema": Room}, {"response_json_schema": Room.model_json_schema()}):
        fields = config(temperature=0, max_output_tokens=100, response_mime_type="application/json", **schema)
        reply = models.generate_content(model="any", contents=prompt, config=fields)
        assert Room.model_validate_json(reply.text), reply.text
        if "response_schema" in schema:
            assert isinstance(reply.parsed, Room)


def refused(kind, status, says, ask, **fields):
    try:
        list(ask(**fields))
    except errors.APIError as e:
        assert type(e) is kind and e.code == status and says in str(e), e
        return
    raise AssertionError(fields)


def check_refusals(client):
    models = client.models
    image = types.Part.from_bytes(data=b"x", mime_type="image/png")
    for ask in (models.generate_content, models.generate_content_stream):
        for fields, says in (({"contents": [image]}, "contents[0].parts[0].inlineData"),
                             ({"config": config(candidate_count=9)}, "generationConfig.candidateCount"),
                             ({"config": config(cached_content="cachedContents/x")}, "cachedContent"),
                             ({"contents": "a " * 2048}, "the context 2048 positions")):
            refused(errors.ClientError, 400, says, ask, **{"model": "any", "contents": prompt, **fields})
    refused(errors.ClientError, 404, "NOT_FOUND", models.get, model="other")


def check_several(client, wanted):
    async def several():
        ask = {"model": "any", "contents": prompt, "config": config(temperature=0)}
        replies = await asyncio.gather(*[client.aio.models.generate_content(**ask) for _ in range(8)])
        assert {r.text for r in replies} == {wanted}
        pieces = [p.text async for p in await client.aio.models.generate_content_stream(**ask)]
        assert "".join(pieces) == wanted
        assert (await client.aio.models.count_tokens(model="any", contents=prompt)).total_tokens == 14
    asyncio.run(several())


@tool
def turn_on(room: str) -> str:
    """Turns on the lights in a room."""
    return json.dumps({"ok": True, "room": room})


def check_langchain(url):
    model = ChatOllama(model="tiny", base_url=url, temperature=0, num_predict=60)
    assert model.invoke(prompt).content == run("--temp", "0", "-n", "60")
    assert "".join(p.content for p in model.stream(prompt)) == run("--temp", "0", "-n", "60")
    turn_on.name = "turn_on_lights"
    tools = model.bind_tools([turn_on])
    asked = tools.invoke(prompt)
    assert [(c["name"], c["args"]) for c in asked.tool_calls] == [("turn_on_lights", {"room": "kitchen"})], asked
    result = ToolMessage(content=turn_on.invoke({"room": "kitchen"}), tool_call_id=asked.tool_calls[0]["id"],
                         name="turn_on_lights")
    assert tools.invoke([HumanMessage(prompt), asked, result]).content
    room = model.with_structured_output(Room, method="json_schema").invoke(prompt)
    assert isinstance(room, Room)


def main():
    command = [carat, "serve", "tiny", "--port", "0", "-np", "4"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = re.search(r"http://[^/\s]+", server.stdout.readline())[0]
        for version in ("v1", "v1beta"):
            client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=url, api_version=version))
            wanted = check_answers(client)
            check_functions(client)
            check_schemas(client)
            check_refusals(client)
            check_several(client, wanted)
        check_langchain(url)
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(30)
    print("gemini: google-genai %s and langchain-ollama %s are answered, exit code %d"
          % (genai.__version__, importlib.metadata.version("langchain-ollama"), code))
    sys.exit(code)


if __name__ == "__main__":
    main()
