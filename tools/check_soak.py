#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_soak.py CARAT [N [MODEL...]]: whether `carat serve` keeps memory that requests took. 8 clients at once send
N requests (2760 unless said) of each kind to models/tiny and to test/fixtures/tiny4: chats, chats with one schema,
with another schema each time, with a call that must come, embeddings, which these models refuse, wrong requests, and
streams that are left. Resident memory after them is compared with that after the first WARM of the kind.

It may grow by 5 %, which is 250 to 600 bytes for each of 2760 requests: a request with its reply takes more, so one
that stays is found. 2.6 % were seen at most. K and V have all the memory that they may before anything is measured,
and forms that are kept are of one size; both grow to a limit, and would hide what has none. Standard library only."""
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

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
carat = os.path.abspath(sys.argv[1])
N = int(sys.argv[2]) if len(sys.argv) > 2 else 2760
models = sys.argv[3:] or ["models/tiny", "test/fixtures/tiny4"]
AT_ONCE, WARM, MOST_GROWTH = 8, 100, 0.05
tools = json.load(open(os.path.join(root, "models/tiny/tools.json"), encoding="utf-8"))


class Server:
    """Leaves when it is left, and has to end well then."""

    def __init__(self, model):
        self.process = subprocess.Popen([carat, "serve", model, "-c", "512", "--port", "0"], stdout=subprocess.PIPE,
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
        self.here.connection.request("POST", path, body if isinstance(body, bytes) else json.dumps(body))
        reply = self.here.connection.getresponse()
        return reply.status, reply.read()

    def send(self, data):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=300)
        s.sendall(data)
        return s

    def resident(self):
        """VmRSS, in kB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1])


# ---------------------------------------------------------------- kinds of requests: each sends one

CHAT = "/v1/chat/completions"


def body_of(rng, **more):
    room, number = rng.choice(("kitchen", "office", "hall")), rng.randrange(1000)
    return {"messages": [{"role": "user", "content": f"Turn on the {room} lights, number {number}"}],
            "max_tokens": 24, "temperature": 1, "seed": rng.randrange(1 << 32), **more}


def formed(schema):
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}}


def expect(reply, status, *words):
    assert reply[0] == status and all(w in reply[1] for w in words), reply


def chat(server, rng):
    expect(server.ask(CHAT, body_of(rng)), 200, b'"finish_reason"')


def one_schema(server, rng):
    schema = {"type": "object", "properties": {"room": {"enum": ["kitchen", "office"]}, "on": {"type": "boolean"}},
              "required": ["room", "on"], "additionalProperties": False}
    expect(server.ask(CHAT, body_of(rng, **formed(schema))), 200, b'"finish_reason"')


def another_schema(server, rng):
    """All of one size, since a few are kept."""
    number = rng.randrange(100, 1000)
    kinds = ({"type": "boolean"}, {"type": "integer", "minimum": number}, {"enum": ["on", f"off {number}"]},
             {"type": "string", "pattern": "^[a-z]{1,16}$"})
    schema = {"type": "object", "properties": {f"part_{rng.randrange(10 ** 12):012}": kind for kind in kinds},
              "additionalProperties": False}
    expect(server.ask(CHAT, body_of(rng, **formed(schema))), 200, b'"finish_reason"')


def required_call(server, rng):
    expect(server.ask(CHAT, body_of(rng, tools=tools, tool_choice="required", max_tokens=96)), 200, b'"tool_calls":[')


def embeddings(server, rng):
    texts = [f"text {rng.random()}" for _ in range(rng.randint(1, 8))]
    expect(server.ask("/v1/embeddings", {"input": texts}), 400, b'"error"')


def wrong(server, rng):
    """Refused by readers of HTTP, of JSON, of fields and of forms, and by the routes."""
    text = json.dumps(body_of(rng)).encode()
    cut = text[:rng.randrange(len(text))]
    way = rng.randrange(7)
    if way == 0:
        expect(server.ask(CHAT, cut), 400, b'"error"')
    elif way == 1:
        expect(server.ask(CHAT, body_of(rng, temperature="warm" * rng.randrange(1, 500))), 400, b'"error"')
    elif way == 2:
        expect(server.ask(CHAT, body_of(rng, **formed({"type": f"odd {rng.random()}"}))), 400, b'"error"')
    elif way == 3:
        expect(server.ask(CHAT, body_of(rng, messages=[{"role": "user", "content": "word " * 9000}])), 400, b'"error"')
    elif way == 4:
        expect(server.ask(f"/v1/nothing/{rng.random()}", text), 404, b'"error"')
    else:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n".encode()
        with server.send(b"\x01 odd bytes\r\n\r\n" if way == 5 else head + b"\r\n" + cut) as s:
            s.shutdown(socket.SHUT_WR)
            while s.recv(4096):
                pass


def left_stream(server, rng):
    """Before the first id, within the answer, or behind its end; half of them by an RST."""
    text = json.dumps(body_of(rng, stream=True, max_tokens=200, **rng.choice(({}, {"tools": tools})))).encode()
    head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n\r\n".encode()
    most = rng.choice((0, 1, 1000, 5000))
    with server.send(head + text) as s:
        while most > 0 and (data := s.recv(4096)):
            most -= len(data)
            if b"[DONE]" in data:
                break
        if rng.random() < 0.5:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def whole_context(server, rng):
    """Chats that fill the context, so that K and V have all the memory that they may."""
    text = " ".join(f"{rng.randrange(1000)}" for _ in range(80))
    expect(server.ask(CHAT, body_of(rng, messages=[{"role": "user", "content": text}], max_tokens=400)), 200,
           b'"finish_reason"')


KINDS = (chat, one_schema, another_schema, required_call, embeddings, wrong, left_stream)


# ---------------------------------------------------------------- the soak

def send_all(server, kind, n, seed):
    """n requests of a kind, so many at once; then one after which nothing is under way."""
    seeds = iter([f"{kind.__name__} {seed} {i}" for i in range(n)])
    lock = threading.Lock()

    def client(_):
        while True:
            with lock:
                one = next(seeds, None)
            if one is None:
                return
            kind(server, random.Random(one))

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(client, range(AT_ONCE)))
    while b'"running":0,"waiting":0' not in get(server, "/health"):
        pass


def get(server, path):
    with server.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()) as s:
        return b"".join(iter(lambda: s.recv(4096), b""))


def soak(model):
    """True: its memory stayed."""
    stayed = True
    with Server(model) as server:
        send_all(server, whole_context, WARM, "warm")
        for kind in KINDS:
            send_all(server, kind, WARM, "warm")
            before = server.resident()
            send_all(server, kind, N, "soak")
            behind = server.resident()
            good = behind <= before * (1 + MOST_GROWTH)
            stayed = stayed and good
            print(f"{model}, {kind.__name__}: {before} kB resident after {WARM} requests, {behind} after {N} more"
                  f"{'' if good else f': beyond {MOST_GROWTH:.0%}'}", flush=True)
    return stayed


def main():
    sys.exit(0 if all([soak(model) for model in models]) else 1)


main()
