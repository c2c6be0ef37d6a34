#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_identity.py CARAT [N]: whether an answer of `carat serve tiny` depends on nothing but its request. N requests
(10000 unless said), greedy and seeded, are drawn for every surface, and each is answered
  alone, by one thread, with nothing remembered of any prompt;
  among 32, beside clients that reset, send garbage or too much;
  once more, in another order, when everything is remembered;
  after it was cancelled at a random moment, when no less than a piece of what was evaluated may be missing;
  after a restart, by another number of threads.
Texts, thoughts, calls, reasons, log-probabilities with their bytes, and receipts, which have ids and digests of hidden
states, are to be the same bytes, whole and streamed. Standard library only."""
import concurrent.futures
import http.client
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

import tiny_talk

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
carat = os.path.abspath(sys.argv[1])
N = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
CONTEXT, PIECE, VOCABULARY, MOST_CHOICES = 512, 256, 960, 3
tools = json.load(open(os.path.join(root, "models/tiny/tools.json"), encoding="utf-8"))
schema = {"type": "object", "properties": {"room": {"enum": ["kitchen", "office"]}, "on": {"type": "boolean"}},
          "required": ["room", "on"], "additionalProperties": False}


class Server:
    """Leaves when it is left, and has to end well then."""

    def __init__(self, *options):
        self.process = subprocess.Popen([carat, "serve", "tiny", "--port", "0", *options], stdout=subprocess.PIPE,
                                        stdin=subprocess.DEVNULL, cwd=root, text=True)
        self.port = int(re.search(r":(\d+)/v1", self.process.stdout.readline())[1])
        self.here = threading.local()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0 or kind, "the server did not end well"

    def ask(self, path, body):
        """Status and bytes of a reply, over a connection that each thread keeps."""
        if not hasattr(self.here, "connection"):
            self.here.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        self.here.connection.request("POST", path, json.dumps(body))
        reply = self.here.connection.getresponse()
        return reply.status, reply.read()

    def open(self, path, body):
        """A socket with the request on it, for those who do not wait for the end."""
        s = socket.create_connection(("127.0.0.1", self.port))
        text = json.dumps(body).encode()
        s.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        return s


# ---------------------------------------------------------------- replies: what of each has to be the same

def events(data):
    """The values of a stream, of Server-Sent Events or of lines."""
    lines = (line.removeprefix(b"data: ") for line in data.split(b"\n") if not line.startswith((b"event:", b":")))
    return [json.loads(line, parse_float=str) for line in lines if line.strip() and line != b"[DONE]"]


def told(**parts):
    return {"text": "", "thought": "", "calls": [], "reason": None, "logs": [], "receipt": None, **parts}


def add(answer, text="", thought="", calls=(), logs=(), **others):
    answer["text"] += text or ""
    answer["thought"] += thought or ""
    answer["calls"] += calls or []
    answer["logs"] += logs or []
    answer.update({k: v for k, v in others.items() if v is not None})


def read_chat(values):
    answers = {}
    for choice in (c for v in values for c in v["choices"]):
        part = choice.get("delta") or choice.get("message") or {}
        add(answers.setdefault(choice["index"], told()), part.get("content"), part.get("reasoning_content"),
            [[c["function"]["name"], c["function"]["arguments"]] for c in part.get("tool_calls") or []],
            (choice["logprobs"] or {}).get("content"), reason=choice["finish_reason"], receipt=choice.get("receipt"))
    return answers


def read_text(values):
    answers = {}
    for choice in (c for v in values for c in v["choices"]):
        logs = choice["logprobs"]
        add(answers.setdefault(choice["index"], told()), choice["text"], reason=choice["finish_reason"],
            logs=logs and [list(x) for x in zip(*(logs[k] for k in sorted(logs)))], receipt=choice.get("receipt"))
    return answers


def read_responses(values):
    answer, whole = told(), values[-1].get("response", values[-1])
    for item in whole["output"]:
        for part in item.get("content") or []:
            thinks = part["type"] == "reasoning_text"
            add(answer, "" if thinks else part["text"], part["text"] if thinks else "", logs=part.get("logprobs"))
        if item["type"] == "function_call":
            add(answer, calls=[[item["name"], item["arguments"]]])
    add(answer, reason=whole["status"], receipt=whole.get("receipt"))
    deltas = "".join(v["delta"] for v in values if v["type"] == "response.output_text.delta") if len(values) > 1 else None
    assert deltas is None or deltas == answer["text"], (deltas, answer)
    return answer


def read_messages(values):
    answer, calls = told(), {}
    for v in values:
        for block in v.get("content", []):
            add(answer, block.get("text"), block.get("thinking"),
                [[block["name"], block["input"]]] if block["type"] == "tool_use" else [])
        if v["type"] == "content_block_start" and v["content_block"]["type"] == "tool_use":
            calls[v["index"]] = [v["content_block"]["name"], ""]
        if v["type"] == "content_block_delta":
            add(answer, v["delta"].get("text"), v["delta"].get("thinking"))
            if v["index"] in calls:
                calls[v["index"]][1] += v["delta"].get("partial_json", "")
        stop = v.get("delta", v)
        add(answer, reason=stop.get("stop_reason"), stop=stop.get("stop_sequence"), receipt=v.get("receipt"))
    add(answer, calls=[[name, json.loads(text)] for name, text in calls.values()])
    return answer


def read_ollama(values):
    answer = told()
    for v in values:
        part = v.get("message", v)
        add(answer, part.get("content", part.get("response")), part.get("thinking"),
            [[c["function"]["name"], c["function"]["arguments"]] for c in part.get("tool_calls") or []],
            v.get("logprobs"), reason=v.get("done_reason"), receipt=v.get("receipt"))
    return answer


def read_completion(values):
    answers = {}
    for v in values[0] if isinstance(values[0], list) else values:
        add(answers.setdefault(v["index"], told()), v["content"], logs=v.get("completion_probabilities"), calls=v["tokens"],
            reason=v.get("stop_type"), word=v.get("stopping_word"), receipt=v.get("receipt"))
    return answers


def read_gemini(values):
    answers = {}
    for c in (c for v in values for c in v["candidates"]):
        logs, answer = c.get("logprobsResult") or {}, answers.setdefault(c["index"], told())
        add(answer, logs=list(zip(logs.get("chosenCandidates", []), logs.get("topCandidates", []))),
            reason=c.get("finishReason"), receipt=c.get("receipt"))
        for part in c["content"]["parts"]:
            call = part.get("functionCall")
            add(answer, "" if part.get("thought") else part.get("text"), part.get("text") if part.get("thought") else "",
                [[call["name"], call["args"]]] if call else [])
    return answers


def cached_of(path, values):
    """Tokens of the prompt that were there; None: this surface does not say."""
    for v in [] if path.startswith("/api/") or path == "/completion" else values:
        usage = v.get("usage") or v.get("usageMetadata") or (v.get("response") or {}).get("usage") or {}
        for part in usage, usage.get("prompt_tokens_details"), usage.get("input_tokens_details"):
            for name in "cached_tokens", "cache_read_input_tokens", "cachedContentTokenCount":
                if part and name in part and not (path == "/v1/messages" and v["type"] == "message_start"):
                    return part[name]
    return None


# ---------------------------------------------------------------- requests

def talk(rng):
    """Messages of a conversation, which may share their beginning with others."""
    turns = rng.choice((1, 1, 1, 2, 3))
    texts = [tiny_talk.strange(rng, lambda key: False)[0] or "hi" for _ in range(turns)]
    out = []
    for i, text in enumerate(texts):
        out += [{"role": "user", "content": text}, {"role": "assistant", "content": f"That is number {i}."}]
    return out[:-1]


def drawing(rng, most=4.0):
    """How ids are drawn: a half of all requests is greedy."""
    if rng.random() < 0.5:
        return {"temperature": 0}
    some = {"temperature": rng.choice((0.5, 1, most)), "seed": rng.randrange(1 << 32)}
    if rng.random() < 0.5:
        some["top_k"] = rng.choice((0, 1, 5, 100))
    if rng.random() < 0.5:
        some["top_p"] = rng.choice((0.3, 0.9, 1))
    return some


def edits(rng):
    """What changes logits before a draw, and what ends a text."""
    some = {}
    if rng.random() < 0.2:
        some.update(presence_penalty=rng.choice((-1, 0.5, 2)), frequency_penalty=rng.choice((-0.5, 1)))
    if rng.random() < 0.2:
        some["logit_bias"] = {str(rng.randrange(VOCABULARY)): rng.choice((-100, -5, 5)) for _ in range(5)}
    if rng.random() < 0.2:
        some["stop"] = rng.choice((["."], ["e ", "the"], "light"))
    return some


def usual(rng, most=4.0):
    return {"model": "tiny", **drawing(rng, most), **({"receipt": True} if rng.random() < 0.3 else {})}


def chat(rng):
    body = {"messages": talk(rng), "max_tokens": rng.randint(1, 40), **usual(rng), **edits(rng)}
    if rng.random() < 0.5:
        body.update(logprobs=True, top_logprobs=rng.choice((0, 3, 20)))
    form = rng.random()
    if form < 0.1:
        body["tools"] = tools
    elif form < 0.2:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
    elif form < 0.4:
        body["n"] = rng.randint(2, MOST_CHOICES)
    return body


def text(rng):
    ids = [2] + [rng.randrange(300, VOCABULARY) for _ in range(rng.choice((2, 20, 300)))]
    words = talk(rng)[0]["content"]
    body = {"prompt": rng.choice((ids, words, [ids, ids[:2]], [words, "The kitchen"])), "max_tokens": rng.randint(1, 40),
            **usual(rng), **edits(rng)}
    if rng.random() < 0.5:
        body.update(logprobs=rng.choice((0, 5)), echo=rng.random() < 0.3)
    return body


def responses(rng):
    body = {"input": talk(rng), "max_output_tokens": rng.randint(16, 40), "store": False, **usual(rng)}
    if rng.random() < 0.5:
        body.update(include=["message.output_text.logprobs"], top_logprobs=rng.choice((0, 3)))
    if rng.random() < 0.1:
        body["tools"] = [{"type": "function", **t["function"]} for t in tools]
    return body


def messages(rng):
    body = {"messages": talk(rng), "max_tokens": rng.randint(1, 40), **usual(rng, 1.0)}
    if rng.random() < 0.2:
        body["stop_sequences"] = ["light", "."]
    if rng.random() < 0.1:
        body["tools"] = [{"name": t["function"]["name"], "description": t["function"]["description"],
                          "input_schema": t["function"]["parameters"]} for t in tools]
    return body


def ollama(rng, body):
    shared = usual(rng)
    options = {"num_predict": rng.randint(1, 40), **{k: v for k, v in shared.items() if k not in ("model", "receipt")}}
    body.update({k: v for k, v in shared.items() if k in ("model", "receipt")}, options=options)
    if rng.random() < 0.5:
        body.update(logprobs=True, top_logprobs=rng.choice((0, 3)))
    return body


def ollama_chat(rng):
    return ollama(rng, {"messages": talk(rng), **({"tools": tools} if rng.random() < 0.1 else {})})


def ollama_generate(rng):
    return ollama(rng, {"prompt": talk(rng)[0]["content"], **rng.choice(({}, {"raw": True}, {"format": schema}))})


def completion(rng):
    body = {"prompt": rng.choice((talk(rng)[0]["content"], [2, rng.randrange(300, VOCABULARY)])), "return_tokens": True,
            "n_predict": rng.randint(1, 40), "n_probs": rng.choice((0, 0, 4)), "n_cmpl": rng.choice((1, 1, MOST_CHOICES)),
            **usual(rng), **{k: v for k, v in edits(rng).items() if k != "stop"}}
    words = {"grammar": 'root ::= "the " [a-z ]+'}
    return {**body, **rng.choice(({}, {"repeat_penalty": 1.3}, {"dry_multiplier": 0.8}, words))}


def gemini(rng):
    some, names = drawing(rng), {"top_k": "topK", "top_p": "topP"}
    config = {"maxOutputTokens": rng.randint(1, 40), **{names.get(k, k): v for k, v in some.items()}}
    if rng.random() < 0.5:
        config.update(responseLogprobs=True, logprobs=rng.choice((0, 3)))
    if rng.random() < 0.2:
        config["candidateCount"] = rng.randint(2, MOST_CHOICES)
    body = {"contents": [{"role": {"assistant": "model"}.get(m["role"], "user"), "parts": [{"text": m["content"]}]}
                         for m in talk(rng)], "generationConfig": config}
    if rng.random() < 0.1:
        body["tools"] = [{"functionDeclarations": [t["function"] for t in tools]}]
    return {**body, **({"receipt": True} if rng.random() < 0.3 else {})}


GEMINI = "/v1beta/models/tiny:"
SURFACES = (("/v1/chat/completions", chat, read_chat), ("/v1/completions", text, read_text),
            ("/v1/responses", responses, read_responses), ("/v1/messages", messages, read_messages),
            ("/api/chat", ollama_chat, read_ollama), ("/api/generate", ollama_generate, read_ollama),
            ("/completion", completion, read_completion), (GEMINI + "generateContent", gemini, read_gemini))


class Request:
    def __init__(self, seed):
        rng = random.Random(seed)
        self.path, make, self.read = SURFACES[seed % len(SURFACES)]
        self.body, self.seed = make(rng), seed
        self.answer = None

    def form(self, streams):
        """Path and body."""
        if self.read == read_gemini:
            return GEMINI + "streamGenerateContent?alt=sse" if streams else self.path, self.body
        more = {"stream_options": {"include_usage": True}} if streams and self.read in (read_chat, read_text) else {}
        return self.path, {**self.body, "stream": streams, **more}

    def ask(self, server, streams):
        """The answer, and how many tokens of the prompt were there."""
        status, data = server.ask(*self.form(streams))
        if b"the shortest answer of this form" in data:
            server.here.connection.close()  # so does the server behind a stream
            return "refused", 0
        assert status == 200, (self.path, self.body, status, data)
        values = events(data)
        return self.read(values), cached_of(self.path, values)


def compare(request, answer, way):
    assert answer == request.answer, (f"{way}: request {request.seed} to {request.path} has another answer:\n"
                                      f"{json.dumps(request.body)}\n{answer}\n{request.answer}")


# ---------------------------------------------------------------- ways

def alone(server, requests):
    """Between two requests one that ends with its first id takes all memory, so that nothing is remembered."""
    all_memory = {"prompt": [3], "n": MOST_CHOICES, "max_tokens": CONTEXT, "temperature": 0, "logit_bias": {"1": 100}}
    for r in requests:
        assert server.ask("/v1/completions", all_memory)[0] == 200
        r.answer, cached = r.ask(server, False)
        assert (cached or 0) <= 1, (r.path, r.body, cached)  # the first id is what prompts of a list share


def disturb(server, rng, ended):
    """A client that none of the others may notice; no faster than those that left are noticed, or the queue is full."""
    while not ended.is_set():
        kind = rng.randrange(4)
        if kind == 0:
            reply = server.ask("/v1/completions", {"prompt": [2] * (CONTEXT + 1)})
            assert reply[0] == 400, reply
            continue
        if kind == 1:
            s = socket.create_connection(("127.0.0.1", server.port))
            s.sendall(rng.randbytes(rng.randrange(1, 300)))
        else:
            s = server.open("/v1/completions", {"prompt": [2] + [rng.randrange(300, 900)] * 9, "max_tokens": 400,
                                                "temperature": 4, "top_k": 0, "stream": kind == 2})
            ended.wait(rng.random() * 0.02)
            reset(s, rng.random() < 0.5)
        s.close()
        ended.wait(0.05)


def reset(s, hard):
    if hard:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def among(server, requests, at_once, way, rng):
    """All of them, so many at once. Returns those whose reply says that something was remembered."""
    order = rng.sample(requests, len(requests))
    streams = {r.seed: rng.random() < 0.5 for r in order}

    def one(r):
        answer, cached = r.ask(server, streams[r.seed])
        compare(r, answer, way)
        return bool(cached)

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return sum(pool.map(one, order))


def cancel(server, r, rng):
    """Leaves a stream at a random moment. Returns whether something of the answer was there by then."""
    s = server.open(*r.form(True))
    s.settimeout(rng.random() ** 3 * 0.3)
    most, got = rng.choice((1, 1000, 3000)), b""
    try:
        while len(got) < most and (data := s.recv(most)):
            got += data
    except TimeoutError:
        pass
    reset(s, rng.random() < 0.5)
    return bool(re.search(rb'"(content|text|delta|response)":"[^"]', got))


def cancelled(server, requests, at_once, rng):
    """Each is cancelled, and asked again. Returns how many were cancelled behind their prompts."""
    seeds = {r.seed: rng.random() for r in requests}

    def one(r):
        own = random.Random(seeds[r.seed])
        begun = cancel(server, r, own)
        answer, _ = r.ask(server, own.random() < 0.5)
        compare(r, answer, "cancelled and retried")
        return begun

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return sum(pool.map(one, requests))


def cut_prefills(rng, n):
    """Long prompts that are cancelled: what was evaluated is found again, less one piece at most. That all was is
    seen by the first id."""
    kept = 0
    with Server("-np", "2") as server:
        for _ in range(n):
            ids = [2] + [rng.randrange(300, VOCABULARY) for _ in range(rng.randrange(600, 1900))]
            body = {"prompt": ids, "max_tokens": 8, "temperature": 0, "logprobs": 3}
            s = server.open("/v1/completions", {**body, "stream": True})
            s.settimeout(rng.random() * 0.7)
            begun = False
            try:
                while not begun and (data := s.recv(4096)):
                    begun = b'"text":"' in data
            except TimeoutError:
                pass
            reset(s, True)
            again, once_more = (json.loads(server.ask("/v1/completions", body)[1]) for _ in range(2))
            cached = again["usage"]["prompt_tokens_details"]["cached_tokens"]
            assert again["choices"] == once_more["choices"], ids
            assert not begun or cached >= len(ids) - 1 - PIECE, (len(ids), cached)
            kept += cached > PIECE
    return kept


def main():
    rng = random.Random(1)
    requests = [Request(i) for i in range(N)]
    place = ("-c", str(CONTEXT))
    with Server(*place, "-np", str(MOST_CHOICES), "-t", "1") as server:
        alone(server, requests)
    with Server(*place, "-np", "32", "-t", "2") as server:
        ended = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            others = [pool.submit(disturb, server, random.Random(i), ended) for i in range(3)]
            try:
                found = among(server, requests, 32, "among 32", rng)
            finally:
                ended.set()
            for other in others:
                other.result()
        again = among(server, requests, 32, "remembered", rng)
        begun = cancelled(server, requests, 16, rng)
    with Server(*place, "-np", "8", "-t", "1") as server:
        among(server, requests, 8, "after a restart, one thread", rng)
    kept = cut_prefills(rng, max(N // 100, 10))
    print(f"{N} requests to {len(SURFACES)} surfaces, each in 5 ways: no byte differs. Of those that say so {found} found "
          f"something among 32, then {again}; {begun} were cancelled behind their prompts; {kept} of {max(N // 100, 10)} long "
          "prompts that were cancelled went on from what was evaluated.")


main()
