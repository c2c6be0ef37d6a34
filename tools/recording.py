# SPDX-License-Identifier: Apache-2.0
"""recording.py: a server behind a port that keeps what clients send and get; for the programs that
record clients."""
import pathlib
import re
import socket
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "test/server/clients"
# What a request says of the machine and of Python.
NEUTRAL = [(rb"(?im)^(host:) [^\r]*", rb"\1 localhost"),
           (rb"(?im)^(x-stainless-(?:arch|os|runtime|runtime-version):) [^\r]*", rb"\1 unknown"),
           (rb"(?im)^(user-agent: [^\r]*) \([^)\r]*\)", rb"\1 (unknown)"),
           (rb"(?i)( (?:gl-)?python)/[0-9.]+", rb"\1/3")]


def read_message(stream):
    """The bytes of the next message and those of its head, and its body in one piece; None at the end."""
    head = body = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        head += line
    raw = head
    if re.search(rb"(?im)^transfer-encoding: chunked\r", head):
        size = 1
        while size:
            line = stream.readline()
            size = int(line, 16)
            piece = stream.read(size + 2)
            raw += line + piece
            body += piece[:-2]
    elif length := re.search(rb"(?im)^content-length: ([0-9]+)\r", head):
        body = stream.read(int(length[1]))
        raw += body
    return raw, head, body


class Port:
    """Carries messages between clients, which may keep a connection, and the server, and keeps them."""

    def __init__(self, server, place):
        self.server, self.place = server, place
        self.heard = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.carry, args=[self.listener.accept()[0]], daemon=True).start()

    def carry(self, client):
        with client, socket.create_connection(("127.0.0.1", self.server)) as server:
            requests, replies = client.makefile("rb"), server.makefile("rb")
            while request := read_message(requests):
                server.sendall(request[0])
                reply = read_message(replies)
                self.heard.append((request[0], reply[1] + reply[2]))
                client.sendall(reply[0])

    def keep(self, name, path=None):
        """What a call sent, which is one request; of one that sends others besides, that with a path."""
        (request, reply), = [one for one in self.heard if path is None or one[0].split()[1] == path.encode()]
        self.heard = []
        head, body = request.split(b"\r\n\r\n", 1)
        for pattern, neutral in NEUTRAL:
            head = re.sub(pattern, neutral, head + b"\r\n").removesuffix(b"\r\n")
        (self.place / (name + ".request")).write_bytes(head + b"\r\n\r\n" + body)
        rules = ["sed", "-E", "-f", str(PLACE / "neutral.sed")]
        (self.place / (name + ".reply")).write_bytes(
            subprocess.run(rules, input=reply, check=True, capture_output=True).stdout)


def serve(carat, model="tiny", place=PLACE):
    """The process of a server, and a port before it that puts what it hears into a folder."""
    server = subprocess.Popen([carat, "serve", model, "--port", "0"], stdout=subprocess.PIPE, text=True)
    return server, Port(int(re.search(r":(\d+)/", server.stdout.readline())[1]), place)
