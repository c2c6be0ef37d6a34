# SPDX-License-Identifier: Apache-2.0
"""The world of test/fixtures/tiny4: tiny_world's facts, a thought before an answer, and four functions of a house.

`draw(rng, kind, held)` writes an Example of one of KINDS; held=True gives only examples whose last request was never
seen in training (tiny_world.held_out judges it).  Layouts are the chat template's: an Example says what it is rendered
with, `answer` is what the model writes next, control tokens included.
Standard library only.
"""
import re
from dataclasses import dataclass, field

import tiny_world as world
from tiny_world import ANIMALS, THINGS, held_out, message

KINDS = ("plain", "thinking", "call", "result")
NO_NUMBERS = {"numbers": 0.0}                      # tiny_world's mix for its questions: facts and small talk alone
THOUGHT, THOUGHT_END, CALLED, TURN_END = "<|channel>thought\n", "\n<channel|>", "<|tool_response>", "<turn|>"


@dataclass
class Example:
    kind: str
    messages: list                   # the conversation, a user or tool message last
    answer: str                      # what the model writes next, without the token that ends it
    keys: list                       # the requests this example rests on, for the split
    thinking: bool = False
    tools: list = field(default_factory=list)
    stop: str = TURN_END


# ---------------------------------------------------------------- questions
def question(rng):
    """(user text, answer, key or None, subject or None)"""
    text, answer, _, key, subject = world.question(rng, NO_NUMBERS)
    return text, answer.replace("Gemma 3 that ships with", "Gemma 4 that tests"), key, subject


def thought_of(answer, subject):
    """what goes before an answer: the fact that a yes or no follows from, or what the question is about"""
    said = re.fullmatch(r"(?:Yes|No), (.*)", answer)
    if said:
        return said[1][0].upper() + said[1][1:]
    return f"The question is about the {subject}." if subject else "This is small talk."


LEGS = {"two": 2, "three": 3, "four": 4, "six": 6, "eight": 8}
MORE_Q = ["Does the {} have more legs than the {}?", "Has the {} more legs than the {}?",
          "Are the legs of the {} more than those of the {}?", "Tell me if the {} has more legs than the {}."]
SAME_Q = ["Do the {} and the {} have the same colour?", "Have the {} and the {} the same colour?",
          "Is the colour of the {} that of the {}?", "Tell me if the {} is as the {} in colour."]
COLOURS = {name: facts[0] for name, facts in (ANIMALS | THINGS).items()}


def comparison(rng):
    """(question, thought, answer): two facts looked up in the thought, and what follows from them"""
    if rng.random() < 0.5:
        a, b = rng.sample(list(ANIMALS), 2)
        if ANIMALS[a][3] == ANIMALS[b][3] and rng.random() < 0.5:
            a = rng.choice([n for n in ANIMALS if ANIMALS[n][3] != ANIMALS[b][3]])
        q, (m, n) = rng.choice(MORE_Q), (ANIMALS[a][3], ANIMALS[b][3])
        answer = f"Yes, the {a} has more legs." if LEGS[m] > LEGS[n] else f"No, the {a} does not have more legs."
        return q.format(a, b), f"The {a} has {m} legs. The {b} has {n} legs.", answer
    a, b = rng.sample(list(COLOURS), 2)
    if rng.random() < 0.4:
        b = rng.choice([n for n in COLOURS if n != a and COLOURS[n] == COLOURS[a]] or [b])
    m, n = COLOURS[a], COLOURS[b]
    answer = f"Yes, both are {m}." if m == n else f"No, the {a} is {m} and the {b} is {n}."
    return rng.choice(SAME_Q).format(a, b), f"The {a} is {m}. The {b} is {n}.", answer


def system(rng):
    return [message("system", rng.choice(world.SYSTEMS))] if rng.random() < 0.15 else []


def thinks(thought, answer):
    return THOUGHT + thought + THOUGHT_END + answer


def talk(rng, kind, thinking):
    """a question without functions, at times after another one"""
    messages, keys = system(rng), []
    thought = None
    if thinking and rng.random() < 0.5:
        text, thought, answer = comparison(rng)
        keys.append(text)
        text = world.user_text(rng, text, False)
    else:
        text, answer, key, subject = question(rng)
        keys.append(key)
        if rng.random() < 0.25:
            messages += [message("user", text), message("assistant", answer)]
            if subject and rng.random() < 0.7:
                text, answer = world.follow_up(rng, subject)
                keys.append(f"{key} | {text}")
            else:
                text, answer, key, subject = question(rng)
                keys.append(key)
        if thinking:
            thought = thought_of(answer, subject)
    messages.append(message("user", text))
    return Example(kind, messages, thinks(thought, answer) if thinking else answer, keys, thinking)


# ---------------------------------------------------------------- the house
STRING, INTEGER, BOOLEAN = "string", "integer", "boolean"
FUNCTIONS = {
    "set_lights": ("Switches lights.", {"on": BOOLEAN, "room": STRING}),
    "set_timer": ("Sets a timer.", {"minutes": INTEGER}),
    "play_music": ("Plays music.", {"genre": STRING}),
    "get_temperature": ("Measures a room.", {"room": STRING}),
}
WARM_Q = ["how warm is the {}?", "what is the temperature in the {}?", "how cold is it in the {}?", "tell me how warm the {} is."]


def request(rng, name):
    """(request, arguments, result when it went well, what to say then)"""
    if name == "get_temperature":
        room, n = rng.choice(world.ROOMS), rng.randint(15, 28)
        q = rng.choice(WARM_Q).format(room)
        return q, {"room": room}, f"{n} degrees", f"It is {n} degrees in the {room}."
    intent = {"set_lights": rng.choice(["lights_on", "lights_off"]), "set_timer": "timer", "play_music": "music"}[name]
    _, q, arguments, said = world.request(rng, intent)
    if name == "set_lights":
        arguments = {"on": intent == "lights_on", **arguments}
    return q, arguments, "ok", said


def declare(rng, name):
    description, args = FUNCTIONS[name]
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {
        "type": "object", "properties": {a: {"type": t} for a, t in args.items()}, "required": sorted(args)}}}


def value(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    return f'<|"|>{v}<|"|>' if isinstance(v, str) else str(v)


def call_text(name, arguments):
    return "<|tool_call>call:" + name + "{" + ",".join(f"{k}:{value(arguments[k])}" for k in sorted(arguments)) + "}<tool_call|>"


def with_functions(rng, kind):
    """one to three functions declared: a call, or what to say behind its result"""
    names = rng.sample(list(FUNCTIONS), rng.choice([1, 1, 2, 2, 3]))
    tools, messages, thinking = [declare(rng, n) for n in names], system(rng), rng.random() < 0.5
    if kind == "call" and rng.random() < 0.12:         # no function is needed
        text, answer, key, subject = question(rng)
        answer = thinks(thought_of(answer, subject), answer) if thinking else answer
        return Example(kind, messages + [message("user", text)], answer, [key], thinking, tools)
    absent = [n for n in FUNCTIONS if n not in names]
    name = rng.choice(absent if kind == "call" and rng.random() < 0.2 else names)
    q, arguments, result, said = request(rng, name)
    messages.append(message("user", world.user_text(rng, q, name != "get_temperature")))
    if name in absent:
        answer = thinks("No function does this.", world.NO_FUNCTION) if thinking else world.NO_FUNCTION
        return Example(kind, messages, answer, [q], thinking, tools)
    thought, call = f"I can call {name}.", call_text(name, arguments)
    if kind == "call":
        return Example(kind, messages, thinks(thought, call) if thinking else call, [q], thinking, tools, CALLED)
    good = rng.random() < 0.8
    asked = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}]}
    if thinking:
        asked["reasoning"] = thought
    messages += [asked, {"role": "tool", "tool_call_id": "1", "content": result if good else "error"}]
    answer = said if good else "Sorry, that did not work."
    if thinking:                                       # the template has begun the thought
        answer = ("It worked." if good else "It failed.") + THOUGHT_END + answer
    return Example(kind, messages, answer, [q], thinking, tools)


def draw(rng, kind, held=False):
    """an example of a kind; training examples rest on no held-out request, held-out ones end in one"""
    while True:
        e = talk(rng, kind, kind == "thinking") if kind in ("plain", "thinking") else with_functions(rng, kind)
        keys = [k for k in e.keys if k]
        if held and e.keys[-1] and held_out(e.keys[-1]) or not held and not any(map(held_out, keys)):
            return e
