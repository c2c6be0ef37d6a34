#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_conversations.py CARAT LIBRARY...: the same conversation by each client library that is named, against
`carat serve` of models/tiny and of test/fixtures/tiny4, which thinks: an answer whole and in pieces, a call of
a function that is required, whole and in pieces, an answer to its result, one of a pydantic model, and what the
library has of counts, models and embeddings. The texts are those of `carat run`. Ends with a line for each
library and model; the exit code is 1 when a step failed."""
import asyncio
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from typing import Literal

import pydantic

CARAT = os.path.abspath(sys.argv[1])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
QUESTION = "What colour is the horse?"  # that is answered
REQUEST = "Turn on the kitchen lights"  # that is done


class Room(pydantic.BaseModel):
    """A room of the house"""
    room: Literal["kitchen", "office"]
    degrees: int | None = None


def serve(place):
    server = subprocess.Popen([CARAT, "serve", place, "--port", "0", "-np", "4"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    return server, re.search(r"http://[^/\s]+", server.stdout.readline())[0]


class House:
    """What is asked of a model, and what it has to say."""

    def __init__(self, model, function, arguments):
        self.model, self.function, self.arguments = model, function, arguments
        self.ends = model == "tiny"  # behind a result tiny4 calls again where it cannot say what it has learnt
        place = model if model == "tiny" else os.path.join(ROOT, "test/fixtures", model)
        words = [CARAT, "run", place, "--json", "--temp", "0", QUESTION]
        self.text = json.loads(subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)
                               .stdout)["text"]
        self.server, self.url = serve(place)
        kinds = {"room": "string", "on": "boolean"}
        self.parameters = {"type": "object", "properties": {name: {"type": kinds[name]} for name in arguments},
                           "required": list(arguments), "additionalProperties": False}
        self.declared = {"name": function, "description": "Switches the lights of a room."}

    def python(self):
        """The function as Python has it."""
        def turn_on_lights(room: str) -> dict:
            """Switches the lights of a room."""
            return {"ok": True}

        def set_lights(on: bool, room: str) -> dict:
            """Switches the lights of a room."""
            return {"ok": True}
        return {"turn_on_lights": turn_on_lights, "set_lights": set_lights}[self.function]

    def is_called(self, name, arguments):
        arguments = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
        assert (name, arguments) == (self.function, self.arguments), (name, arguments)
        return True

    def close(self):
        self.server.send_signal(signal.SIGTERM)
        assert self.server.wait(30) == 0


def joined(pieces):
    return "".join(p or "" for p in pieces)


# ---- openai ----

def openai_chat(house):
    import openai
    client = openai.OpenAI(base_url=house.url + "/v1", api_key="none", max_retries=0)
    chat, ask = client.chat.completions, {"model": "any", "temperature": 0}
    told, order = [[{"role": "user", "content": text}] for text in (QUESTION, REQUEST)]
    assert chat.create(messages=told, **ask).choices[0].message.content == house.text
    assert joined(c.choices[0].delta.content for c in chat.create(messages=told, stream=True, **ask)) == house.text
    tools = [{"type": "function", "function": {**house.declared, "parameters": house.parameters, "strict": True}}]
    for effort in ({}, {"reasoning_effort": "high"}) if house.model == "tiny4" else ({},):
        asked = {"messages": order, "tools": tools, "tool_choice": "required", **effort, **ask}
        message = chat.create(**asked).choices[0].message
        call = message.tool_calls[0]
        assert house.is_called(call.function.name, call.function.arguments)
        with chat.stream(**asked) as events:
            final = events.get_final_completion().choices[0]
        assert final.finish_reason == "tool_calls"
        streamed = final.message.tool_calls[0].function
        assert house.is_called(streamed.name, streamed.arguments)
    result = {"role": "tool", "tool_call_id": call.id, "content": '{"ok":true}'}
    assert chat.create(messages=[*order, message, result], tools=tools, **ask).choices[0].message.content
    assert isinstance(chat.parse(messages=told, response_format=Room, **ask).choices[0].message.parsed, Room)
    # a form is that of a text: calls may still come, and behind their results it holds
    asked = {"tools": tools, "response_format": Room, **ask}
    message = chat.parse(messages=order, **asked).choices[0].message
    assert house.is_called(message.tool_calls[0].function.name, message.tool_calls[0].function.arguments)
    result["tool_call_id"] = message.tool_calls[0].id
    last = chat.parse(messages=[*order, message.to_dict(), result], **asked).choices[0].message
    assert isinstance(last.parsed, Room) if house.ends else last.parsed or last.tool_calls
    with chat.stream(messages=told, response_format=Room, **ask) as events:
        assert isinstance(events.get_final_completion().choices[0].message.parsed, Room)
    assert [m.id for m in client.models.list()] == [house.model]


def openai_responses(house):
    import openai
    client = openai.OpenAI(base_url=house.url + "/v1", api_key="none", max_retries=0)
    responses, ask = client.responses, {"model": "any", "temperature": 0}
    assert responses.create(input=QUESTION, **ask).output_text == house.text
    with responses.stream(input=QUESTION, **ask) as events:
        assert events.get_final_response().output_text == house.text
    tools = [{"type": "function", **house.declared, "parameters": house.parameters, "strict": True}]
    for effort in ({}, {"reasoning": {"effort": "high"}}) if house.model == "tiny4" else ({},):
        asked = {"input": [{"role": "user", "content": REQUEST}], "tools": tools, "tool_choice": "required", **effort}
        whole = responses.create(**asked, **ask)
        with responses.stream(**asked, **ask) as events:
            pieces = events.get_final_response()
        for reply in (whole, pieces):
            assert reply.status == "completed"
            call, = [o for o in reply.output if o.type == "function_call"]
            assert house.is_called(call.name, call.arguments)
    result = {"type": "function_call_output", "call_id": call.call_id, "output": '{"ok":true}'}
    assert responses.create(input=[*asked["input"], *pieces.output, result], tools=tools, **ask).output_text
    assert responses.create(input=[result], previous_response_id=pieces.id, tools=tools, **ask).output_text
    assert isinstance(responses.parse(input=QUESTION, text_format=Room, **ask).output_parsed, Room)
    reply = responses.parse(input=REQUEST, tools=tools, text_format=Room, **ask)
    call, = [o for o in reply.output if o.type == "function_call"]
    assert house.is_called(call.name, call.arguments)
    result = {"type": "function_call_output", "call_id": call.call_id, "output": '{"ok":true}'}
    reply = responses.parse(input=[result], previous_response_id=reply.id, tools=tools, text_format=Room, **ask)
    assert isinstance(reply.output_parsed, Room) if house.ends else reply.output[-1].type == "function_call"
    assert responses.input_tokens.count(model="any", input=QUESTION).input_tokens > 4


# ---- anthropic ----

def anthropic_messages(house):
    import anthropic
    messages = anthropic.Anthropic(base_url=house.url, api_key="none", max_retries=0).messages
    told, order = [[{"role": "user", "content": text}] for text in (QUESTION, REQUEST)]
    ask = {"model": "any", "max_tokens": 2000, "extra_body": {"temperature": 0}}
    assert messages.create(messages=told, **ask).content[0].text == house.text
    with messages.stream(messages=told, **ask) as events:
        assert joined(events.text_stream) == house.text
    tools = [{**house.declared, "input_schema": house.parameters, "strict": True}]
    thinks = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    for effort in ({}, thinks) if house.model == "tiny4" else ({},):
        asked = {"messages": order, "tools": tools, "tool_choice": {"type": "any"}, **effort, **ask}
        whole = messages.create(**asked)
        with messages.stream(**asked) as events:
            pieces = events.get_final_message()
        for reply in (whole, pieces):
            assert reply.stop_reason == "tool_use"
            call, = [b for b in reply.content if b.type == "tool_use"]
            assert house.is_called(call.name, call.input)
            assert not effort or reply.content[0].type == "thinking"
        result = {"type": "tool_result", "tool_use_id": call.id, "content": '{"ok":true}'}
        turns = [*order, {"role": "assistant", "content": pieces.content}, {"role": "user", "content": [result]}]
        assert messages.create(messages=turns, tools=tools, **ask).content[-1].text
    assert isinstance(messages.parse(messages=told, output_format=Room, **ask).parsed_output, Room)
    assert messages.count_tokens(model="any", messages=told, tools=tools).input_tokens > 20
    client = anthropic.Anthropic(base_url=house.url, api_key="none", max_retries=0)
    assert [m.id for m in client.models.list()] == [house.model]

    @anthropic.beta_tool
    def turn_on_lights(room: str) -> str:
        """Switches the lights of a room."""
        return '{"ok":true}'

    @anthropic.beta_tool
    def set_lights(on: bool, room: str) -> str:
        """Switches the lights of a room."""
        return '{"ok":true}'
    tool = {"turn_on_lights": turn_on_lights, "set_lights": set_lights}[house.function]
    last = client.beta.messages.tool_runner(messages=order, tools=[tool], **ask).until_done()
    assert last.content[-1].text
    if house.ends:
        last = client.beta.messages.tool_runner(messages=order, tools=[tool], output_format=Room, **ask).until_done()
        assert isinstance(last.parsed_output, Room)


# ---- ollama ----

def ollama_chat(house):
    import ollama
    client = ollama.Client(host=house.url)
    ask = {"model": house.model, "options": {"temperature": 0}}
    told, order = [[{"role": "user", "content": text}] for text in (QUESTION, REQUEST)]
    assert client.chat(messages=told, **ask).message.content == house.text
    assert joined(p.message.content for p in client.chat(messages=told, stream=True, **ask)) == house.text
    for think in ({}, {"think": True}) if house.model == "tiny4" else ({},):
        asked = {"messages": order, "tools": [house.python()], **think, **ask}
        whole = client.chat(**asked)
        pieces = list(client.chat(stream=True, **asked))
        for replies in ([whole], pieces):
            calls = [c for r in replies for c in r.message.tool_calls or []]
            assert len(calls) == 1 and house.is_called(calls[0].function.name, calls[0].function.arguments)
            assert bool(joined(r.message.thinking for r in replies)) == bool(think)
        result = {"role": "tool", "tool_name": house.function, "content": '{"ok":true}'}
        assert client.chat(messages=[*order, whole.message, result], tools=[house.python()], **ask).message.content
    asked = {"tools": [house.python()], "format": Room.model_json_schema(), **ask}
    whole = client.chat(messages=order, **asked).message
    assert house.is_called(whole.tool_calls[0].function.name, whole.tool_calls[0].function.arguments)
    last = client.chat(messages=[*order, whole, result], **asked).message
    assert last.tool_calls and not house.ends or Room.model_validate_json(last.content)
    Room.model_validate_json(client.chat(messages=told, format=Room.model_json_schema(), **ask).message.content)
    assert client.list().models[0].model == house.model and client.show(house.model).capabilities
    assert client.generate(prompt=QUESTION, **ask).response == house.text


# ---- google-genai ----

def gemini_contents(house):
    from google import genai
    from google.genai import types
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=house.url))
    models = client.models

    def config(**fields):
        return types.GenerateContentConfig(temperature=0, **fields)

    ask, order = [{"model": "any", "contents": text} for text in (QUESTION, REQUEST)]
    assert models.generate_content(config=config(), **ask).text == house.text
    assert joined(p.text for p in models.generate_content_stream(config=config(), **ask)) == house.text
    by_hand = types.AutomaticFunctionCallingConfig(disable=True)
    any_of = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY"))
    thinks = {"thinking_config": types.ThinkingConfig(include_thoughts=True)}
    for effort in ({}, thinks) if house.model == "tiny4" else ({},):
        fields = config(tools=[house.python()], tool_config=any_of, automatic_function_calling=by_hand, **effort)
        whole = models.generate_content(config=fields, **order)
        pieces = list(models.generate_content_stream(config=fields, **order))
        for replies in ([whole], pieces):
            call, = [c for r in replies for c in r.function_calls or []]
            assert house.is_called(call.name, call.args)
            assert replies[-1].candidates[0].finish_reason == types.FinishReason.STOP
        result = types.Part.from_function_response(name=call.name, response={"ok": True})
        turns = [types.Content(role="user", parts=[types.Part(text=REQUEST)]), whole.candidates[0].content,
                 types.Content(role="user", parts=[result])]
        assert models.generate_content(model="any", contents=turns, config=config(tools=[house.python()])).text
    assert client.chats.create(model="any", config=config(tools=[house.python()])).send_message(REQUEST).text
    for schema in ({"response_schema": Room}, {"response_json_schema": Room.model_json_schema()}):
        reply = models.generate_content(config=config(response_mime_type="application/json", **schema), **ask)
        assert Room.model_validate_json(reply.text)
    fields = config(tools=[house.python()], response_mime_type="application/json", response_schema=Room,
                    automatic_function_calling=by_hand)
    call, = models.generate_content(config=fields, **order).function_calls
    assert house.is_called(call.name, call.args)
    assert isinstance(models.generate_content(model="any", contents=turns, config=fields).parsed, Room)
    assert models.count_tokens(**ask).total_tokens > 4
    assert [m.name for m in models.list()] == ["models/" + house.model]


# ---- langchain ----

def langchain_models(house):
    from langchain_anthropic import ChatAnthropic
    from langchain_google_genai import ChatGoogleGenerativeAI
    from langchain_ollama import ChatOllama
    from langchain_openai import ChatOpenAI
    own = {"model": "any", "temperature": 0, "max_retries": 0}
    return {
        "ChatOpenAI": ChatOpenAI(base_url=house.url + "/v1", api_key="none", **own),
        "ChatOpenAI of responses": ChatOpenAI(base_url=house.url + "/v1", api_key="none", use_responses_api=True,
                                              **own),
        "ChatAnthropic": ChatAnthropic(base_url=house.url, api_key="none", max_tokens=2000, **own),
        "ChatOllama": ChatOllama(model=house.model, base_url=house.url, temperature=0),
        "ChatGoogleGenerativeAI": ChatGoogleGenerativeAI(base_url=house.url, google_api_key="none",
                                                         **{**own, "max_retries": 1}),
    }


def langchain_chats(house):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    function = tool(house.python())
    for name, model in langchain_models(house).items():
        told, order = [HumanMessage(QUESTION)], [HumanMessage(REQUEST)]
        try:
            assert model.invoke(told).text == house.text
            assert joined(p.text for p in model.stream(told)) == house.text
            bound = model.bind_tools([function]) if name == "ChatOllama" else \
                model.bind_tools([function], tool_choice="any")
            whole, pieces = bound.invoke(order), None
            for piece in bound.stream(order):
                pieces = piece if pieces is None else pieces + piece
            for reply in (whole, pieces):
                call, = reply.tool_calls
                assert house.is_called(call["name"], call["args"])
            for reply in (whole, pieces):
                result = ToolMessage('{"ok":true}', tool_call_id=reply.tool_calls[0]["id"])
                assert model.bind_tools([function]).invoke([*order, reply, result]).text
            asked = {"tools": [function], "response_format": Room}
            if name.startswith("ChatOpenAI"):
                reply = model.bind_tools(**asked, strict=True).invoke(order)
                assert house.is_called(reply.tool_calls[0]["name"], reply.tool_calls[0]["args"])
            # Ollama has no word for a call that must come
            for method in ("json_schema",) if name == "ChatOllama" else ("json_schema", "function_calling"):
                assert isinstance(model.with_structured_output(Room, method=method).invoke(told), Room), method
        except Exception as e:
            e.add_note(name)
            raise


# ---- pydantic-ai ----

def pydantic_models(house):
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.models.ollama import OllamaModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.ollama import OllamaProvider
    from pydantic_ai.providers.openai import OpenAIProvider
    openai = OpenAIProvider(base_url=house.url + "/v1", api_key="none")
    return {
        "OpenAIChatModel": OpenAIChatModel("any", provider=openai),
        "OpenAIResponsesModel": OpenAIResponsesModel("any", provider=openai),
        "OllamaModel": OllamaModel(house.model, provider=OllamaProvider(base_url=house.url + "/v1")),
        "AnthropicModel": AnthropicModel("claude-sonnet-4-5",  # whose forms pydantic-ai knows
                                         provider=AnthropicProvider(base_url=house.url, api_key="none")),
        "GoogleModel": GoogleModel("any", provider=GoogleProvider(base_url=house.url, api_key="none")),
    }


def pydantic_agents(house):
    from pydantic_ai import Agent, NativeOutput, ToolOutput
    settings = {"temperature": 0, "max_tokens": 500}

    async def converse(model):
        plain = Agent(model, model_settings=settings)
        assert (await plain.run(QUESTION)).output == house.text
        async with plain.run_stream(QUESTION) as stream:
            assert joined([p async for p in stream.stream_text(delta=True)]) == house.text
        called = []

        def record(**arguments):
            called.append(arguments)
            return {"ok": True}
        bound = Agent(model, model_settings=settings)
        function = house.python()

        def call(*words, **arguments):
            return record(**arguments)
        call.__name__, call.__doc__ = function.__name__, function.__doc__
        call.__annotations__ = function.__annotations__
        import inspect
        call.__signature__ = inspect.signature(function)
        bound.tool_plain(call)
        result = await bound.run(REQUEST)
        assert result.output and called == [house.arguments], called
        assert (await bound.run("Thanks", message_history=result.all_messages())).output
        for form in (ToolOutput(Room), NativeOutput(Room)):
            made = await Agent(model, output_type=form, model_settings=settings).run(QUESTION)
            assert isinstance(made.output, Room), form
        if house.ends and model.system != "google":  # of which pydantic-ai does not ask both
            called.clear()
            both = Agent(model, output_type=NativeOutput(Room), model_settings=settings)
            both.tool_plain(call)
            assert isinstance((await both.run(REQUEST)).output, Room) and called == [house.arguments], called

    for name, model in pydantic_models(house).items():
        try:
            asyncio.run(converse(model))
        except Exception as e:
            e.add_note(name)
            raise


# ---- instructor ----

def instructor_objects(house):
    import anthropic
    import instructor
    import openai
    from google import genai
    chat = openai.OpenAI(base_url=house.url + "/v1", api_key="none", max_retries=0)
    claude = anthropic.Anthropic(base_url=house.url, api_key="none", max_retries=0)
    gemini = genai.Client(api_key="none", http_options={"base_url": house.url})
    ask = {"model": "any", "response_model": Room, "max_retries": 0,
           "messages": [{"role": "user", "content": QUESTION}]}
    mode = instructor.Mode
    for kind in (mode.TOOLS, mode.TOOLS_STRICT, mode.JSON_SCHEMA):
        made = instructor.from_openai(chat, mode=kind)
        assert isinstance(made.create(temperature=0, **ask), Room), kind
        last = list(made.create_partial(temperature=0, **ask))[-1]
        assert last.room in ("kitchen", "office"), kind
    for kind in (mode.RESPONSES_TOOLS,):
        made = instructor.from_openai(chat, mode=kind)
        assert isinstance(made.create(temperature=0, **ask), Room), kind
    made = instructor.from_anthropic(claude, mode=mode.ANTHROPIC_TOOLS)
    assert isinstance(made.create(max_tokens=500, **ask), Room)
    for kind in (mode.GENAI_TOOLS, mode.GENAI_STRUCTURED_OUTPUTS):
        made = instructor.from_genai(gemini, mode=kind)
        assert isinstance(made.create(**ask), Room), kind


# ---- vectors ----

def vectors_of(library, url):
    """Of two texts, by each class of the library that asks where vectors are given, which Gemini's routes do not."""
    texts = ["red apples", "green pears, and more of them"]
    if library == "openai":
        import openai
        client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        return [[e.embedding for e in client.embeddings.create(model="any", input=texts).data]]
    if library == "ollama":
        import ollama
        return [ollama.Client(host=url).embed(model="embedder", input=texts).embeddings]
    if library == "langchain-core":
        from langchain_ollama import OllamaEmbeddings
        from langchain_openai import OpenAIEmbeddings
        return [of.embed_documents(texts) for of in (
            OpenAIEmbeddings(model="any", base_url=url + "/v1", api_key="none", check_embedding_ctx_length=False),
            OllamaEmbeddings(model="embedder", base_url=url))]
    return []


def check_vectors(libraries):
    """An embedder of the tests, with a vocabulary; each library gets vectors that are alike."""
    with tempfile.TemporaryDirectory() as above:
        place = os.path.join(above, "embedder")
        shutil.copytree(os.path.join(ROOT, "test/data/embed/models/embed1"), place)
        shutil.copy(os.path.join(ROOT, "models/tiny/tokenizer.json"), place)
        server, url = serve(place)
        try:
            for library in libraries:
                for vectors in vectors_of(library, url):
                    assert len(vectors) == 2 and len(vectors[0]) == len(vectors[1]) > 8 and vectors[0] != vectors[1]
                    assert abs(sum(x * x for x in vectors[0]) - 1) < 1e-3, vectors
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(30) == 0


LIBRARIES = {
    "openai": (openai_chat, openai_responses),
    "anthropic": (anthropic_messages,),
    "ollama": (ollama_chat,),
    "google-genai": (gemini_contents,),
    "langchain-core": (langchain_chats,),
    "pydantic-ai-slim": (pydantic_agents,),
    "instructor": (instructor_objects,),
}


def main():
    failed = False
    houses = [House("tiny", "turn_on_lights", {"room": "kitchen"}),
              House("tiny4", "set_lights", {"on": True, "room": "kitchen"})]
    for house in houses:
        for library in sys.argv[2:]:
            for converse in LIBRARIES[library]:
                try:
                    converse(house)
                    how = "as carat run"
                except Exception:
                    traceback.print_exc()
                    failed, how = True, "FAILED"
                version = importlib.metadata.version(library)
                print(f"{house.model}: {converse.__name__} of {library} {version}: {how}", flush=True)
        house.close()
    check_vectors(sys.argv[2:])
    sys.exit(failed)


main()
