#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_patterns.py MATCH [COUNT [SEED]]: compares patterns and grammars of the library with Python's re.

MATCH is the driver build/release/test/match. Each of COUNT random patterns is written twice, as carat reads
it and as re does where the two differ (\\s, \\d, a dot, $), and tried whole and sought on texts that are
made from it, damaged, or random. Grammars without recursion are written as a pattern, too. What re refuses
and what it takes to be something else are not asked: they are rows of test/grammar/test_regex.c."""
import random
import re
import signal
import subprocess
import sys
import warnings

LETTERS = "abcABC012_- .\n\r\t\u00e9\u20ac\U0001f600\u2028\u00a0\u0660\"\\[]"
SPACE = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
# named classes: as carat writes them, as re does inside of brackets, some characters of them and some others
NAMED = {
    "d": ("0-9", "0719"),
    "w": ("A-Za-z0-9_", "aZ_5"),
    "s": (SPACE, " \n\t\u00a0"),
}
random_of = random.Random()


def escape(c):
    """A character in one of the ways in which both write it."""
    if random_of.random() < 0.15:
        n = ord(c)
        if n > 0xffff:
            n -= 0x10000
            return "\\u%04x\\u%04x" % (0xd800 + (n >> 10), 0xdc00 + (n & 0x3ff)), re.escape(c)
        return random_of.choice(["\\u%04X" % n, "\\u{%x}" % n]), re.escape(c)
    return (c if c.isalnum() or ord(c) > 127 or c in "_ -\n\r\t\"" else "\\" + c), re.escape(c)


class Part:
    """A pattern twice, and texts that fit it: sample() makes one."""

    def __init__(self, ours, theirs, sample):
        self.ours, self.theirs, self.sample = ours, theirs, sample


def named(inside):
    letter = random_of.choice("dws")
    members, some = NAMED[letter]
    if random_of.random() < 0.6:
        return "\\" + letter, members if inside else "[" + members + "]", lambda: random_of.choice(some)
    if inside:  # a class of others cannot be written inside of brackets by its members
        return "\\" + letter, members, lambda: random_of.choice(some)
    return "\\" + letter.upper(), "[^" + members + "]", lambda: random_of.choice("-\u20ac\u00e9")


def char_class():
    ours, theirs, samples = "", "", []
    for _ in range(random_of.randint(1, 4)):
        kind = random_of.random()
        if kind < 0.2:
            a, b, sample = named(True)
            samples.append(sample)
        elif kind < 0.5:
            low, high = sorted(random_of.choice(LETTERS) for _ in range(2))
            a, b = (x + "-" + y for x, y in zip(escape_in_class(low), escape_in_class(high)))
            samples.append(lambda low=low: low)
        else:
            c = random_of.choice(LETTERS)
            a, b = escape_in_class(c)
            samples.append(lambda c=c: c)
        ours, theirs = ours + a, theirs + b
    if random_of.random() < 0.3:
        return Part("[^" + ours + "]", "[^" + theirs + "]", lambda: random_of.choice(LETTERS))
    return Part("[" + ours + "]", "[" + theirs + "]", lambda: random_of.choice(samples)())


def escape_in_class(c):
    a, b = escape(c)
    return ("\\" + a if c in "-^" and not a.startswith("\\") else a), b


def atom(depth):
    kind = random_of.random()
    if kind < 0.45:
        c = random_of.choice(LETTERS)
        return Part(*escape(c), lambda: c)
    if kind < 0.55:
        return Part(*named(False))
    if kind < 0.7:
        return char_class()
    if kind < 0.75:
        return Part(".", "[^\n\r\u2028\u2029]", lambda: random_of.choice("ab0\u20ac"))
    if depth == 0:
        return Part("b", "b", lambda: "b")
    inner = alternatives(depth - 1)
    opening = random_of.choice(["(", "(?:"])
    return Part(opening + inner.ours + ")", "(?:" + inner.theirs + ")", inner.sample)


def repeated(part):
    if random_of.random() < 0.6:
        return part
    low = random_of.choice([0, 0, 1, 2, 3])
    high = random_of.choice([None, low, low + 1, low + 2])
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    sign = "{%d}" % low if high == low else "{%d,%s}" % (low, "" if high is None else high)
    sign = signs.get((low, high), sign) if random_of.random() < 0.8 else sign
    lazy = "?" if random_of.random() < 0.2 else ""
    times = low + 2 if high is None else high
    return Part(part.ours + sign + lazy, part.theirs + sign + lazy,
                lambda: "".join(part.sample() for _ in range(random_of.randint(low, times))))


def sequence(depth):
    parts = [repeated(atom(depth)) for _ in range(random_of.randint(0, 4))]
    if random_of.random() < 0.15:
        parts.insert(random_of.choice([0, 0, 0, len(parts) // 2]), Part("^", "\\A", lambda: ""))
    if random_of.random() < 0.15:
        parts.insert(random_of.choice([len(parts)] * 3 + [len(parts) // 2]), Part("$", "\\Z", lambda: ""))
    return Part("".join(p.ours for p in parts), "".join(p.theirs for p in parts),
                lambda: "".join(p.sample() for p in parts))


def alternatives(depth):
    parts = [sequence(depth) for _ in range(random_of.choice([1, 1, 2, 3]))]
    return Part("|".join(p.ours for p in parts), "|".join(p.theirs for p in parts),
                lambda: random_of.choice(parts).sample())


# ---- grammars ----


def gbnf_escape(c):
    if random_of.random() < 0.3 or c in "\n\r\t":
        n = ord(c)
        return "\\U%08x" % n if n > 0xffff else "\\u%04x" % n if n > 0xff else "\\x%02X" % n
    return "\\" + c if c in "\"\\[]" else c


def gbnf_item(names, depth):
    kind = random_of.random()
    if kind < 0.4:
        text = "".join(random_of.choice(LETTERS) for _ in range(random_of.randint(0, 3)))
        spelled = "".join(gbnf_escape(c) for c in text)
        return Part('"' + spelled + '"', "(?:" + re.escape(text) + ")", lambda: text)
    if kind < 0.55:
        low, high = sorted(random_of.choice(LETTERS) for _ in range(2))
        spelled = "".join("\\-" if c == "-" else "\\x5e" if c == "^" else gbnf_escape(c) for c in low)
        inverts = random_of.choice(["", "", "^"])
        last = "\\-" if high == "-" else gbnf_escape(high)
        return Part("[" + inverts + spelled + "-" + last + "]",
                    "[" + inverts + re.escape(low) + "-" + re.escape(high) + "]",
                    lambda: random_of.choice(LETTERS) if inverts else low)
    if kind < 0.6:
        return Part(".", "[\\s\\S]", lambda: random_of.choice(LETTERS))
    if kind < 0.8 and names:
        name = random_of.choice(list(names))
        return Part(name, "(?:" + names[name].theirs + ")", lambda: names[name].sample())
    if depth == 0:
        return Part('"b"', "b", lambda: "b")
    inner = gbnf_alternatives(names, depth - 1)
    return Part("(" + inner.ours + random_of.choice(["", "\n", " # )\n"]) + ")", "(?:" + inner.theirs + ")",
                inner.sample)


def gbnf_alternatives(names, depth):
    parts = []
    for _ in range(random_of.choice([1, 1, 2, 3])):
        items = []
        for _ in range(random_of.randint(1, 3)):  # none, and the next line would be read as one
            item = gbnf_item(names, depth)
            item = repeated(item)
            if item.ours.endswith(("*?", "+?", "}?", "??")):  # there is no lazy one
                item.ours = item.ours.removesuffix("?")
            items.append(item)
        parts.append(items)
    return Part(" | ".join(" ".join(i.ours for i in p) for p in parts),
                "|".join("".join(i.theirs for i in p) for p in parts),
                lambda: "".join(i.sample() for i in random_of.choice(parts)))


def grammar():
    names, lines = {}, []
    for name in ["last", "a-third", "second", "root"]:
        body = gbnf_alternatives(names, 2)
        lines.insert(random_of.randint(0, len(lines)), name + " ::= " + body.ours)
        names[name] = body
    return Part("\n".join(lines), names["root"].theirs, names["root"].sample)


# ---- both sides ----


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, kind, text):
        data = text.encode()
        self.process.stdin.write(b"%s %d\n" % (kind.encode(), len(data)) + data + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().rstrip("\n")


def texts_for(part):
    for _ in range(4):
        text = part.sample()[:40]
        yield text
        at = random_of.randint(0, len(text))
        yield text[:at] + random_of.choice(LETTERS) + text[at:]
        yield text[:at] + text[at + 1:]
    yield "".join(random_of.choice(LETTERS) for _ in range(random_of.randint(0, 6)))


def too_late(*_):
    raise TimeoutError


def main():
    signal.signal(signal.SIGALRM, too_late)
    warnings.simplefilter("ignore")  # re warns of brackets in classes
    driver = Driver(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    random_of.seed(seed)
    asked = {True: 0, False: 0}
    wrong = late = 0
    for i in range(count):
        part = grammar() if i % 3 == 2 else alternatives(3)
        theirs = re.compile(part.theirs)
        kinds = ["gbnf"] if i % 3 == 2 else ["regex", "search"]
        for kind in kinds:
            reply = driver.ask(kind, part.ours)
            for text in texts_for(part):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.2)
                    expected = bool((theirs.search if kind == "search" else theirs.fullmatch)(text))
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except TimeoutError:  # re goes back and forth
                    late += 1
                    continue
                if reply == "ok":
                    found = driver.ask("text", text) == "yes"
                else:
                    found = None if expected or "no text fits" not in reply else False
                asked[expected] += 1
                if found != expected:
                    wrong += 1
                    if wrong <= 20:
                        print(f"{kind} {part.ours!r} {part.theirs!r}: {text!r} {found}, not {expected}: {reply}")
    print(f"{count} patterns: {asked[True]} texts fit, {asked[False]} do not, re had no time for {late}; "
          f"{wrong} wrong")
    return wrong != 0


sys.exit(main())
