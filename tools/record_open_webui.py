#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record_open_webui.py CARAT OPEN_WEBUI: what the backend of Open WebUI sends to `carat serve tiny`, by OpenAI's
routes and by Ollama's, for a chat and for the titles, tags and searches that it has made of one:
test/server/clients/webui_*, beside what record_clients.py keeps there. It runs without a browser, and without
a network. It is none of what check_clients.sh installs: its packages have more than a gigabyte. By hand:

    python3 -m venv build/clients/webui
    build/clients/webui/bin/pip install open-webui==0.12.4
    python3 tools/record_open_webui.py build/release/carat build/clients/webui/bin/open-webui"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from recording import PLACE, read_message, serve

ASK = [{"role": "user", "content": "Turn on the kitchen lights"}]
CHAT = [*ASK, {"role": "assistant", "content": "The kitchen lights are now on."}]
COOL = {"model": "tiny", "messages": ASK, "temperature": 0, "max_tokens": 40}
USAGE = {"stream": True, "stream_options": {"include_usage": True}}
TASK = {"model": "tiny", "messages": CHAT, "chat_id": "1"}
# What its pages ask of the backend, by the name of the record.
CALLS = {
    "chat": ("/api/chat/completions", {**COOL, "stream": False}),
    "chat_stream": ("/api/chat/completions", {**COOL, **USAGE}),
    "models": ("/api/models?refresh=true", None),
    "queries": ("/api/v1/tasks/queries/completions", {**TASK, "type": "web_search"}),
    "tags": ("/api/v1/tasks/tags/completions", TASK),
    "title": ("/api/v1/tasks/title/completions", TASK),
}


class Backend:
    """Open WebUI before a server, and one who is signed in."""

    def __init__(self, program, server, folder):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        alone = {"DATA_DIR": folder, "WEBUI_AUTH": "False", "WEBUI_SECRET_KEY": "none", "OFFLINE_MODE": "True",
                 "RAG_EMBEDDING_ENGINE": "openai", "AUDIO_STT_ENGINE": "openai", "OPENAI_API_KEY": "none",
                 "OPENAI_API_BASE_URL": server + "/v1", "OLLAMA_BASE_URL": server, "ENABLE_OLLAMA_API": "False"}
        command = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
        self.process = subprocess.Popen(command, env=os.environ | alone, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.url, self.token, self.server = f"http://127.0.0.1:{port}", "", server
        while True:
            try:
                self.token = json.loads(self.call("/api/v1/auths/signin", {"email": "", "password": ""}))["token"]
                break
            except OSError:
                time.sleep(1)

    def call(self, path, body):
        head = {"Content-Type": "application/json", "Authorization": "Bearer " + self.token}
        request = urllib.request.Request(self.url + path, body and json.dumps(body).encode(), head)
        with urllib.request.urlopen(request, timeout=120) as reply:
            return reply.read()

    def use_ollama(self, on):
        self.call("/ollama/config/update", {"ENABLE_OLLAMA_API": on, "OLLAMA_BASE_URLS": [self.server],
                                            "OLLAMA_API_CONFIGS": {}})
        self.call("/openai/config/update", {"ENABLE_OPENAI_API": not on, "OPENAI_API_BASE_URLS": [self.server + "/v1"],
                                            "OPENAI_API_KEYS": ["none"], "OPENAI_API_CONFIGS": {}})
        self.call("/api/models?refresh=true", None)


def send_again(port):
    """What other clients sent, so that as much is kept of prompts as when all of it is sent."""
    with socket.create_connection(("127.0.0.1", port.server)) as server:
        replies = server.makefile("rb")
        for request in sorted(PLACE.glob("*.request")):
            server.sendall(request.read_bytes())
            read_message(replies)


def main():
    for old in PLACE.glob("webui_*"):
        old.unlink()
    server, port = serve(sys.argv[1])
    send_again(port)
    with tempfile.TemporaryDirectory() as folder:
        backend = Backend(sys.argv[2], port.url, folder)
        try:
            for ollama, prefix, chat, models in ((False, "webui_", "/v1/chat/completions", "/v1/models"),
                                                 (True, "webui_with_ollama_", "/api/chat", "/api/tags")):
                backend.use_ollama(ollama)
                for name, (path, body) in sorted(CALLS.items()):
                    port.heard = []
                    backend.call(path, body)
                    port.keep(prefix + name, models if name == "models" else chat)
        finally:
            backend.process.terminate()
            backend.process.wait()
            server.terminate()
    sys.exit(server.wait())


main()
