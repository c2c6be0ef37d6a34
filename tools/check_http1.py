#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_http1.py EVENTS [COUNT [SEED]]: compares what is read of HTTP/1.1 requests with llhttp (httptools).

EVENTS is the driver build/release/test/events. COUNT messages are random requests, some behind each other,
most of them damaged in a few places. Whatever llhttp refuses, ours refuses; what ours takes means the same to
both: methods, targets, versions, fields that are kept, bodies, ends, and whether another request may follow."""
import random
import subprocess
import sys

import httptools

# Fields that are kept, and what the driver calls them.
KEPT = {b"host": b"host", b"content-type": b"type", b"content-encoding": b"encoding", b"authorization": b"auth",
        b"x-api-key": b"key", b"x-goog-api-key": b"goog", b"anthropic-version": b"version",
        b"x-request-id": b"request-id", b"origin": b"origin", b"user-agent": b"agent"}
METHODS = [b"GET", b"POST", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE"]
ODD_METHODS = [b"CONNECT", b"PRI", b"get", b"PROPFIND", b"M-SEARCH", b"FOO", b"", b"GE T"]
TARGETS = [b"/", b"/v1/chat/completions", b"/a?b=c", b"http://localhost/", b"HTTP://LOCALHOST?x", b"/%41%7e", b"/?",
           b"http://localhost:80/a?b"]
ODD_TARGETS = [b"*", b"a", b"", b"//", b"/a#b", b"/ b", b"http://", b"https://localhost/", b"localhost:80", b"/%4",
               b"/\xc3\xa4", b"/\\", b"http://me@localhost/", b"http:///", b"/\t", b"/[]|^`{}\"<>"]
VERSIONS = [b"HTTP/1.1"] * 12 + [b"HTTP/1.0"] * 3
ODD_VERSIONS = [b"HTTP/1.2", b"HTTP/2.0", b"HTTP/0.9", b"http/1.1", b"HTTP/1.10", b"HTTP/11", b"", b"HTTP/1.1 "]
FIELDS = [b"Content-Type: application/json", b"Accept: */*", b"User-Agent: a/1.0 (b)", b"Authorization: Bearer x",
          b"x-api-key: k", b"Connection: close", b"Connection: keep-alive", b"connection: a, close", b"Origin: null",
          b"Expect: 100-continue", b"X-A:", b"X-B: \t b \t", b"Cookie: a=b; c=\"d\"", b"X-Request-Id: \xc3\xa4\xff",
          b"anthropic-version: 2023-06-01", b"Content-Encoding: gzip", b"X-Goog-Api-Key: z", b"TE: trailers",
          b"Connection: Keep-Alive, x", b"x!#$%&'*+-.^_`|~9: y"]
ODD_FIELDS = [b"Host: other", b" fold", b"\tfold", b": empty", b"Space : x", b"No colon", b"Expect: 200-ok",
              b"Content-Length: 1", b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked",
              b"Transfer-Encoding: identity", b"Content-Length: -1", b"Content-Length: 5, 5", b"Content-Length: 0x1",
              b"Content-Length: 1 1", b"Transfer-Encoding: chunked, identity", b"X: a\x00b", b"X: \x7f", b"X\x80: a",
              b"X: a\rb", b"X: a\nb", b"Transfer-Encoding:", b"Content-Length:", b"Transfer-Encoding: xchunked",
              b"Content-Length: 18446744073709551616", b"Transfer-Encoding : chunked", b"Transfer-Encoding:\x0bchunked"]
EXTENSIONS = [b"", b"", b"", b"", b";a", b";a=b", b";a=\"b;\\\"c\"", b";a=b;c", b"; a", b";", b" ", b";a=", b";a b",
              b";=", b";a=\"b", b"\t", b";a=\"b\"c", b";\x00"]
SPECIAL = [b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b"\x00", b",", b";", b"=", b"0", b"1", b"a", b"F", b"\"", b"\\", b"/",
           b"\x7f", b"\x80", b"\xff", b"-", b"+", b"\x0b", b"%", b"#", b"[", b"\r\r\n", b"\n\r", b"chunked", b"close"]
random_of = random.Random()


def chance(share):
    return random_of.random() < share


def one_of(usual, odd, share=0.02):
    return random_of.choice(odd if chance(share) else usual)


def chunks(body):
    """A body in chunks, and perhaps fields behind it."""
    text = b""
    while body:
        n = random_of.randint(1, len(body))
        size = b"%x" % n if chance(0.7) else b"%0*X" % (random_of.randint(1, 17), n)
        text += size + random_of.choice(EXTENSIONS if chance(0.3) else [b""]) + b"\r\n" + body[:n] + b"\r\n"
        body = body[n:]
    text += b"0" * random_of.choice([1, 1, 1, 2, 16]) + random_of.choice(EXTENSIONS if chance(0.1) else [b""]) + b"\r\n"
    while chance(0.2):
        text += one_of(FIELDS, ODD_FIELDS, 0.1) + b"\r\n"
    return text + b"\r\n"


def request():
    line = one_of(METHODS, ODD_METHODS) + b" " + one_of(TARGETS, ODD_TARGETS, 0.04) + b" "
    version = one_of(VERSIONS, ODD_VERSIONS)
    fields = [] if chance(0.02) or version == b"HTTP/1.0" and chance(0.5) else [b"Host: localhost"]
    if b":80" in line:
        fields = [b"hOST:localhost:80\t"]
    while chance(0.5):
        fields.append(one_of(FIELDS, ODD_FIELDS, 0.05))
    body = bytes(random_of.choice(b"abc\r\n\x00\xff0GET ") for _ in range(random_of.choice([0, 0, 1, 5, 20])))
    if chance(0.4):
        fields.append(random_of.choice([b"Transfer-Encoding: chunked", b"transfer-encoding:CHUNKED "]))
        body = chunks(body)
    elif body or chance(0.1):
        fields.append(b"Content-Length: %d" % len(body))
    random_of.shuffle(fields)
    return line + version + b"\r\n" + b"".join(f + b"\r\n" for f in fields) + b"\r\n" + body


def damage(text):
    at = random_of.randint(0, len(text))
    kind = random_of.randrange(5)
    if kind == 0:
        return text[:at] + random_of.choice(SPECIAL) + text[at:]
    if kind == 1:
        return text[:at] + random_of.choice(SPECIAL) + text[at + 1:]
    if kind == 2:
        return text[:at] + text[at + random_of.randint(1, 3):]
    if kind == 3:
        return text[:at] + text[at - random_of.randint(0, at):]
    return text[:at]


def message():
    text = request()
    while chance(0.25):
        text += (b"\r\n" if chance(0.05) else b"") + request()
    while chance(0.45):
        text = damage(text)
    return text


class Theirs:
    """What llhttp says, as the driver writes it."""

    def __init__(self, text):
        self.told, self.error = [], None
        self.in_body = self.left = False
        self.parser = httptools.HttpRequestParser(self)
        try:
            self.parser.feed_data(text)
        except httptools.HttpParserUpgrade:
            self.left = True  # the protocol
        except httptools.HttpParserError as error:
            self.error = str(error)
        if self.in_body:
            self.told.append(b"\n")

    def on_message_begin(self):
        self.url, self.fields, self.headed, self.connection = b"", {}, False, []

    def on_url(self, url):
        self.url += url

    def on_header(self, name, value):
        if not self.headed:  # others stand behind a body
            self.fields[name.lower()] = value.strip(b" \t")
            if name.lower() == b"connection":
                self.connection += [word.strip(b" \t").lower() for word in value.split(b",")]

    def on_headers_complete(self):
        self.headed = True
        version = self.parser.get_http_version()
        path, fields = self.url, self.fields
        if path[:7].lower() == b"http://":
            end = min(path.find(c, 7) % (len(path) + 1) for c in (b"/", b"?"))
            fields[b"host"], path = path[7:end], path[end:]
            path = path if path[:1] == b"/" else b"/" + path
        length = int(fields.get(b"content-length", b"0"))
        chunked = fields.get(b"transfer-encoding", b"").lower() == b"chunked"
        expects = b"expect" in fields and version == "1.1" and (chunked or length)
        if version == "1.0" and b"close" in self.connection and b"keep-alive" in self.connection:
            self.left = True  # they stay, we close
        self.told.append(b"%s %s %s%s%s %s" % (
            self.parser.get_method(), path, version.encode(), b"" if self.parser.should_keep_alive() else b" last",
            b" expects" if expects else b"", b"chunked" if chunked else b"%d" % length))
        self.told.extend(b" %s=%s" % (told, fields[name]) for name, told in KEPT.items() if name in fields)
        self.told.append(b"\n")

    def on_body(self, body):
        if body:
            self.told.append((b"" if self.in_body else b"body ") + body.replace(b"\0", b"\\0"))
            self.in_body = True

    def on_message_complete(self):
        self.told.append(b"\nend\n" if self.in_body else b"end\n")
        self.in_body = False


def differ(text, ours):
    """What is wrong; None: nothing is. Also whether both take it."""
    theirs = Theirs(text)
    told = b"".join(theirs.told)
    at = ours.rfind(b"bad ", 0, len(ours)) if ours.endswith(b"\n") and not ours.endswith(b"end\n") else -1
    if at >= 0 and b" of the request: " in ours[at:]:
        complete = ours[:at].rfind(b"end\n") + 4 if b"end\n" in ours[:at] else 0
        if not theirs.left and told[:complete] != ours[:complete]:
            return "a request before the refused one is another one", False
        return None, False
    if theirs.left:
        return None, False
    if theirs.error and ours == told and b" last" in ours:  # behind the last one we pass over what comes
        return None, True
    if theirs.error and ours.endswith(b"inside\n") and ours[:-7] == told and (
            told.endswith(b"end\n") or not told):
        return None, False  # in a head, of which we say nothing before it is complete
    if theirs.error:
        return "they refuse it: " + theirs.error, False
    if ours.removesuffix(b"inside\n") != told:
        return "other events", True
    return None, True


def main():
    driver, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    random_of.seed(seed)
    taken = wrong = 0
    for start in range(0, count, 10000):
        texts = [message() for _ in range(min(10000, count - start))]
        given = b"".join(b"%d\n%s" % (len(text), text) for text in texts)
        told = subprocess.run([driver], input=given, stdout=subprocess.PIPE, check=True).stdout
        for text in texts:
            size, _, told = told.partition(b"\n")
            ours, told = told[:int(size)], told[int(size):]
            why, both = differ(text, ours)
            taken += both
            if why:
                wrong += 1
                print("%s:\n  %r\n  ours   %r\n  theirs %r" % (why, text, ours, b"".join(Theirs(text).told)))
                if wrong == 20:
                    sys.exit(1)
    print("http1: %d messages, seed %d: %d taken alike, %d refused, %d wrong" % (
        count, seed, taken, count - taken - wrong, wrong))
    sys.exit(1 if wrong or taken < count / 5 else 0)


if __name__ == "__main__":
    main()
