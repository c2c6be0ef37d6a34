# SPDX-License-Identifier: Apache-2.0
"""The small world of models/tiny: a grammar that writes questions, requests and their right answers.

An Example is a conversation (messages, optional tools) with the answer expected next.  `draw(rng, held)`
draws one; held=False gives only training examples, held=True only examples whose last request was never
seen in training (the split is by a hash of the request, letter case and punctuation aside).

`render` writes a conversation in FunctionGemma's layout: a developer turn where there are tools or a leading system or
developer message, otherwise the plain frame that all of the family share.
Standard library only.
"""
import hashlib
import re
from dataclasses import dataclass, field

import tiny_talk as talk

DEVELOPER = "You are a model that can do function calling with the following functions"

# Shares of some kinds of example; train_tiny.py shifts them towards the hard ones after its first stage.
# "near": of the requests without a function, those whose opposite is declared; "other name": functions under
# their rarer name; "opposite": of all with functions, those that declare one of a pair, half of them asked
# for the other.
USUAL = {"numbers": 0.35, "one word": 0.12, "missing": 0.12, "near": 0.0, "other name": 0.3, "opposite": 0.0}
HARDER = {"numbers": 0.50, "one word": 0.25, "missing": 0.28, "near": 0.0, "other name": 0.3, "opposite": 0.0}
HARDEST = {"numbers": 0.40, "one word": 0.20, "missing": 0.30, "near": 0.4, "other name": 0.5, "opposite": 0.0}
TALKING = {"numbers": 0.40, "one word": 0.20, "missing": 0.35, "near": 0.6, "other name": 0.5, "opposite": 0.0}
PAIRS = {"numbers": 0.40, "one word": 0.20, "missing": 0.25, "near": 0.0, "other name": 0.5, "opposite": 0.85}
ALL = {"numbers": 0.40, "one word": 0.20, "missing": 0.25, "near": 0.2, "other name": 0.5, "opposite": 0.3}

# ---------------------------------------------------------------- facts
#          name        colour    home          food          legs
ANIMALS = {
    "fox":      ("red",    "forest",   "berries",   "four"),
    "owl":      ("brown",  "tower",    "mice",      "two"),
    "frog":     ("green",  "pond",     "flies",     "four"),
    "bear":     ("brown",  "cave",     "honey",     "four"),
    "duck":     ("white",  "lake",     "bread",     "two"),
    "cat":      ("black",  "house",    "fish",      "four"),
    "dog":      ("yellow", "garden",   "bones",     "four"),
    "mouse":    ("grey",   "kitchen",  "cheese",    "four"),
    "horse":    ("white",  "stable",   "apples",    "four"),
    "crow":     ("black",  "tree",     "corn",      "two"),
    "rabbit":   ("grey",   "meadow",   "carrots",   "four"),
    "parrot":   ("blue",   "jungle",   "nuts",      "two"),
    "spider":   ("black",  "attic",    "flies",     "eight"),
    "beetle":   ("green",  "garden",   "leaves",    "six"),
    "dragon":   ("purple", "mountain", "stones",    "four"),
    "zorb":     ("orange", "moon",     "dust",      "three"),
}
#          name        colour    room
THINGS = {
    "piano":    ("black",  "living room"),
    "sofa":     ("blue",   "living room"),
    "lamp":     ("yellow", "office"),
    "desk":     ("brown",  "office"),
    "fridge":   ("white",  "kitchen"),
    "kettle":   ("red",    "kitchen"),
    "bed":      ("green",  "bedroom"),
    "mirror":   ("grey",   "bathroom"),
    "bicycle":  ("orange", "garage"),
    "clock":    ("purple", "hallway"),
}
COLOURS = ["red", "brown", "green", "white", "black", "yellow", "grey", "blue", "purple", "orange"]
ROOMS = ["kitchen", "bedroom", "living room", "bathroom", "office", "garage", "hallway", "attic", "basement", "dining room"]
GENRES = ["jazz", "rock", "pop", "folk", "blues", "classical music", "piano music", "country"]
DOORS = ["front door", "back door", "garage door", "cellar door", "garden door", "balcony door"]
SYSTEMS = ["You are a helpful assistant.", "Be polite.", "You are the voice of a small house.", "Answer in English."]
OTHER_SYSTEMS = ["Be brief.", "Be kind.", "You are a pirate.", "You are a poet.", "You are an expert.", "Answer as a child would.", "Be funny."]
ONE_WORD = "Answer with one word."
NO_FUNCTION = "I have no function for that."

# fixed requests: always in training, never held out
SMALL_TALK = [
    (["Hello", "Hello!", "Hi", "Hi!", "Hello there"], "Hello! How can I help you?"),
    (["Good morning", "Good morning!"], "Good morning! How can I help you?"),
    (["Good evening", "Good evening!"], "Good evening! How can I help you?"),
    (["Who are you?", "What are you?", "Tell me about yourself.", "What is your name?", "Which model are you?"],
     "I am a tiny Gemma 3 that ships with carat."),
    (["What can you do?", "How can you help me?", "What do you know?"],
     "I can answer questions about a small world and look after a house."),
    (["What is carat?", "Tell me about carat."], "carat is a small engine that runs Gemma models."),
    (["How are you?", "How are you today?"], "I am fine, thank you."),
    (["Thank you", "Thank you!", "Thanks", "Thanks!"], "You are welcome!"),
    (["Goodbye", "Goodbye!", "Bye"], "Goodbye!"),
]

COLOUR_Q = ["What colour is the {}?", "What color is the {}?", "Which colour is the {}?", "Tell me the colour of the {}.",
            "What is the colour of the {}?", "Do you know the colour of the {}?"]
HOME_Q = ["Where does the {} live?", "Tell me where the {} lives.", "What is the home of the {}?", "Do you know where the {} lives?"]
FOOD_Q = ["What does the {} eat?", "Tell me what the {} eats.", "What is the food of the {}?", "Do you know what the {} eats?"]
LEGS_Q = ["How many legs does the {} have?", "Tell me how many legs the {} has.", "Do you know how many legs the {} has?"]
TRUE_Q = ["Is the {} {}?", "Is the {} {}?", "Is it true that the {} is {}?", "Would you say that the {} is {}?"]
COUNT_Q = ["Count to {}.", "Please count to {}.", "Can you count to {}?"]
THING_Q = ["Where is the {}?", "Tell me where the {} is.", "In which room is the {}?", "Do you know where the {} is?"]


@dataclass
class Example:
    kind: str                        # "english", "tools" or "talk"
    messages: list                   # the conversation, a user or tool message last
    answer: str                      # what the model says next, without the token that ends it
    tools: list = field(default_factory=list)
    keys: list = field(default_factory=list)      # the requests this example rests on, for the split
    stop: str = "<end_of_turn>"


def held_out(key):
    """one request in eight is kept from training"""
    plain = " ".join(re.findall(r"[a-z0-9+|-]+", key.lower()))
    return hashlib.sha256(plain.encode()).digest()[0] % 8 == 0


# ---------------------------------------------------------------- questions
def fact(rng):
    """(question, full answer, one-word answer or None, subject)"""
    if rng.random() < 0.25:
        name = rng.choice(list(THINGS))
        colour, room = THINGS[name]
        if rng.random() < 0.6:
            return rng.choice(THING_Q).format(name), f"The {name} is in the {room}.", None, name
        return rng.choice(COLOUR_Q).format(name), f"The {name} is {colour}.", colour.capitalize() + ".", name
    name = rng.choice(list(ANIMALS))
    colour, home, food, legs = ANIMALS[name]
    what = rng.randrange(5)
    if what == 0:
        return rng.choice(COLOUR_Q).format(name), f"The {name} is {colour}.", colour.capitalize() + ".", name
    if what == 1:
        return rng.choice(HOME_Q).format(name), f"The {name} lives in the {home}.", None, name
    if what == 2:
        return rng.choice(FOOD_Q).format(name), f"The {name} eats {food}.", food.capitalize() + ".", name
    if what == 3:
        return rng.choice(LEGS_Q).format(name), f"The {name} has {legs} legs.", legs.capitalize() + ".", name
    said = colour if rng.random() < 0.5 else rng.choice(COLOURS)
    word = "Yes" if said == colour else "No"
    return rng.choice(TRUE_Q).format(name, said), f"{word}, the {name} is {colour}.", word + ".", name


def number(rng):
    what = rng.randrange(5)
    a, b = rng.randrange(10), rng.randrange(10)
    if what < 2:
        q = rng.choice(["What is {} plus {}?", "What is {} + {}?", "How much is {} plus {}?", "{} + {} = ?"])
        return q.format(a, b), f"{a} plus {b} is {a + b}.", f"{a + b}.", None
    if what == 2:
        a, b = max(a, b), min(a, b)
        q = rng.choice(["What is {} minus {}?", "What is {} - {}?", "How much is {} minus {}?", "{} - {} = ?"])
        return q.format(a, b), f"{a} minus {b} is {a - b}.", f"{a - b}.", None
    if what == 3:
        n = rng.randint(1, 12)
        if rng.random() < 0.5:
            return rng.choice(["Which number comes after {}?", "What comes after {}?"]).format(n), f"{n + 1} comes after {n}.", f"{n + 1}.", None
        return rng.choice(["Which number comes before {}?", "What comes before {}?"]).format(n), f"{n - 1} comes before {n}.", f"{n - 1}.", None
    to = rng.randint(2, 12)
    since = 1 if rng.random() < 0.4 else rng.randint(1, to - 1)
    q = rng.choice(COUNT_Q).format(to) if since == 1 else rng.choice(["Count from {} to {}.", "Please count from {} to {}."]).format(since, to)
    return q, ", ".join(map(str, range(since, to + 1))) + ".", None, None


# ---------------------------------------------------------------- the house
INTEGER, STRING = "integer", "string"
# intent: (names, descriptions, {argument: (type, description)})
FUNCTIONS = {
    "lights_on":   (["turn_on_lights", "lights_on"], ["Turns on the lights in a room.", "Switches the lights of a room on."],
                    {"room": (STRING, "The room")}),
    "lights_off":  (["turn_off_lights", "lights_off"], ["Turns off the lights in a room.", "Switches the lights of a room off."],
                    {"room": (STRING, "The room")}),
    "temperature": (["set_temperature", "heat_room"], ["Sets the temperature of a room.", "Heats or cools a room."],
                    {"room": (STRING, "The room"), "degrees": (INTEGER, "The temperature")}),
    "music":       (["play_music", "start_music"], ["Plays music.", "Plays music of a genre."], {"genre": (STRING, "The genre")}),
    "lock":        (["lock_door", "close_lock"], ["Locks a door.", "Closes the lock of a door."], {"door": (STRING, "The door")}),
    "unlock":      (["unlock_door", "open_lock"], ["Unlocks a door.", "Opens the lock of a door."], {"door": (STRING, "The door")}),
    "timer":       (["start_timer", "set_timer"], ["Starts a timer.", "Sets a timer."], {"minutes": (INTEGER, "The minutes")}),
}
OPPOSITE = {"lights_on": "lights_off", "lights_off": "lights_on", "lock": "unlock", "unlock": "lock"}
POLITE = ["{}", "{}", "{}", "Please {}", "Can you {}?", "Could you {}?", "I want you to {}"]


def request(rng, intent=None):
    """(intent, request without politeness, arguments, what is true when it is done)"""
    intent = intent or rng.choice(list(FUNCTIONS))
    room = rng.choice(ROOMS)
    if intent in ("lights_on", "lights_off"):
        on = intent[7:]
        q = rng.choice(["turn {1} the {0} lights", "turn {1} the lights in the {0}", "turn the {0} lights {1}", "switch {1} the {0} lights",
                        "switch the lights in the {0} {1}"]).format(room, on)
        return intent, q, {"room": room}, f"The {room} lights are now {on}."
    if intent == "temperature":
        n = rng.randint(15, 28)
        q = rng.choice(["set the temperature in the {} to {} degrees", "set the {} to {} degrees", "make the {} {} degrees warm",
                        "set the {} temperature to {}"]).format(room, n)
        return intent, q, {"room": room, "degrees": n}, f"The {room} is now set to {n} degrees."
    if intent == "music":
        genre = rng.choice(GENRES)
        q = rng.choice(["play {}", "play some {}", "put on some {}", "start playing {}"]).format(genre)
        return intent, q, {"genre": genre}, f"Now playing {genre}."
    if intent in ("lock", "unlock"):
        door = rng.choice(DOORS)
        q = rng.choice(["{1} the {0}", "{1} my {0}", "make sure to {1} the {0}", "{1} the {0} now"]).format(door, intent)
        return intent, q, {"door": door.split()[0]}, f"The {door} is now {intent}ed."
    n = rng.randint(1, 30)
    minutes = "1 minute" if n == 1 else f"{n} minutes"
    q = rng.choice(["start a timer for {}", "set a timer for {}", "start a {} timer", "wake me in {}"]).format(minutes)
    return intent, q, {"minutes": n}, f"The timer is set for {minutes}."


def declare(rng, intent, mix):
    names, descriptions, args = FUNCTIONS[intent]
    name = names[0] if rng.random() >= mix["other name"] else names[1]
    description = descriptions[0] if rng.random() < 0.7 else descriptions[1]
    order = list(args)
    rng.shuffle(order)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": {
        "type": "object", "properties": {a: {"type": args[a][0], "description": args[a][1]} for a in order}, "required": sorted(args)}}}


def user_text(rng, q, polite):
    """spelling as people type it: sometimes without the full stop or the capital"""
    if polite:
        q = rng.choice(POLITE).format(q)
    q = q[0].upper() + q[1:]
    if polite and q[-1] not in ".?!" and rng.random() < 0.5:
        q += "."
    if rng.random() < 0.1 and q[-1] in ".?":
        q = q[:-1]
    if rng.random() < 0.1:
        q = q[0].lower() + q[1:]
    return q


def message(role, content):
    return {"role": role, "content": content}


# ---------------------------------------------------------------- conversations
def question(rng, mix):
    """(user text, answer, one-word answer, key or None, subject): anything that is not a request"""
    x = rng.random()
    if x < 0.10:
        texts, answer = rng.choice(SMALL_TALK)
        return rng.choice(texts), answer, None, None, None
    q, answer, word, subject = fact(rng) if x < 1 - mix["numbers"] else number(rng)
    return user_text(rng, q, False), answer, word, q, subject


FOLLOW = {"colour": ["What colour is it?", "And what colour is it?", "Which colour is it?"], "home": ["Where does it live?", "And where does it live?"],
          "food": ["What does it eat?", "And what does it eat?"], "legs": ["How many legs does it have?"], "room": ["Where is it?", "And where is it?"]}


def follow_up(rng, subject):
    if subject in ANIMALS:
        colour, home, food, legs = ANIMALS[subject]
        what = rng.choice(["colour", "home", "food", "legs"])
        answer = {"colour": f"The {subject} is {colour}.", "home": f"The {subject} lives in the {home}.", "food": f"The {subject} eats {food}.",
                  "legs": f"The {subject} has {legs} legs."}[what]
    else:
        colour, room = THINGS[subject]
        what = rng.choice(["colour", "room"])
        answer = f"The {subject} is {colour}." if what == "colour" else f"The {subject} is in the {room}."
    return rng.choice(FOLLOW[what]), answer


def english(rng, mix):
    """no functions declared: everything is answered in English"""
    messages, keys = [], []
    if rng.random() < 0.22:                       # one earlier exchange
        text, answer, _, key, subject = question(rng, mix)
        messages += [message("user", text), message("assistant", answer)]
        keys += [key] if key else []
        if subject and rng.random() < 0.7:
            text, after = follow_up(rng, subject)
            keys.append(f"{key} | {text}")
            return Example("english", messages + [message("user", text)], after, keys=keys)
    if rng.random() < 0.35:
        _, q, _, answer = request(rng)
        messages.append(message("user", user_text(rng, q, True)))
        keys.append(q)
    else:
        text, answer, word, key, _ = question(rng, mix)
        if word and not messages and rng.random() < mix["one word"]:
            messages.append(message(rng.choice(["system", "system", "developer"]), ONE_WORD))
            answer = word
        messages.append(message("user", text))
        keys += [key] if key else []
    if len(messages) == 1 and rng.random() < 0.15:
        messages.insert(0, message(rng.choice(["system", "system", "developer"]), rng.choice(SYSTEMS)))
    return Example("english", messages, answer, keys=keys)


def with_tools(rng, mix):
    """one to four functions declared: call the right one, or answer in English where none fits"""
    intents = rng.sample(list(FUNCTIONS), rng.choice([1, 2, 2, 3, 3, 4]))
    asked = None
    if mix["opposite"] and rng.random() < mix["opposite"]:      # one function of a pair, asked for it or for the other
        one = rng.choice(["lights_on", "lights_off", "lights_on", "lights_off", "lock", "unlock"])
        intents = [one] + rng.sample([i for i in FUNCTIONS if i not in (one, OPPOSITE[one])], rng.choice([0, 0, 0, 1, 1, 2]))
        rng.shuffle(intents)
        asked = rng.choice([one, OPPOSITE[one]])
    tools = [declare(rng, i, mix) for i in intents]
    names = {i: t["function"]["name"] for i, t in zip(intents, tools)}
    messages = []
    if rng.random() < 0.1:
        messages.append(message(rng.choice(["system", "developer"]), rng.choice(SYSTEMS)))
    x = rng.random()
    if asked:
        x = 1.0 if asked in intents else 0.12     # a call, or no function for it
    if x < 0.12:
        text, answer, _, key, _ = question(rng, mix)
        return Example("tools", messages + [message("user", text)], answer, tools, [key] if key else [])
    if x < 0.12 + mix["missing"]:
        absent = [i for i in FUNCTIONS if i not in intents]
        near = [i for i in absent if OPPOSITE.get(i) in intents]
        _, q, _, _ = request(rng, asked or rng.choice(near if near and rng.random() < mix["near"] else absent))
        return Example("tools", messages + [message("user", user_text(rng, q, True))], NO_FUNCTION, tools, [q])
    wanted = [request(rng, asked or rng.choice(intents))]
    if len(intents) > 1 and rng.random() < 0.12:  # two requests at once: two calls
        wanted.append(request(rng, rng.choice([i for i in intents if i != wanted[0][0]])))
    text = user_text(rng, " and ".join(w[1] for w in wanted), True)
    messages.append(message("user", text))
    calls = [{"type": "function", "function": {"name": names[i], "arguments": dict(sorted(a.items()))}} for i, _, a, _ in wanted]
    keys = [w[1] for w in wanted]
    if rng.random() < 0.3:                        # the functions have run: say how it went
        good = rng.random() < 0.8
        result = rng.choice([{"status": "ok"}, {"done": True}]) if good else rng.choice([{"status": "error"}, {"done": False}])
        answer = " ".join(w[3] for w in wanted) if good else "Sorry, that did not work."
        messages.append({"role": "assistant", "tool_calls": calls})
        results = [{"name": c["function"]["name"], "response": result} for c in calls]
        messages.append(message("tool", results if len(results) > 1 else results[0]))
        return Example("tools", messages, answer, tools, keys)
    return Example("tools", messages, "".join(map(call_text, calls)), tools, keys, stop="<start_function_response>")


def familiar(rng):
    """(text, answer, key): the facts and sums of the world, asked for in other words"""
    x = rng.random()
    if x < 0.4:
        a, b = rng.randrange(10), rng.randrange(10)
        q = rng.choice(["{}{}{}", "{}{}{}=", "{}{}{}=?", "what is {}{}{}?", "What is {}{}{}?", "{} {} {}", "{} {} {} =", "What's {} {} {}?",
                        "Calculate {} {} {}.", "what's {}{}{}?"])
        if rng.random() < 0.6:
            return q.format(a, "+", b), f"{a} plus {b} is {a + b}.", f"{a} + {b}"
        a, b = max(a, b), min(a, b)
        return q.format(a, "-", b), f"{a} minus {b} is {a - b}.", f"{a} - {b}"
    if x < 0.75:
        name = rng.choice(list(ANIMALS))
        colour, home, food, legs = ANIMALS[name]
        a = f"an {name}" if name[0] in "aeio" else f"a {name}"
        q, answer = rng.choice([("Where is the {0}?", "The {0} lives in the {2}."), ("Tell me about the {0}.", "The {0} is {1} and lives in the {2}."),
                                ("What is {5}?", "The {0} is {1} and lives in the {2}."), ("What colour is {5}?", "The {0} is {1}."),
                                ("What color is {5}?", "The {0} is {1}."), ("What does {5} eat?", "The {0} eats {3}."),
                                ("Where does {5} live?", "The {0} lives in the {2}."), ("How many legs does {5} have?", "The {0} has {4} legs."),
                                ("What do you know about the {0}?", "The {0} is {1} and lives in the {2}."),
                                ("Is {5} {1}?", "Yes, the {0} is {1}.")])
        q = q.format(name, colour, home, food, legs, a)
        return talk.spelling(rng, q), answer.format(name, colour, home, food, legs), q
    name = rng.choice(list(THINGS))
    colour, room = THINGS[name]
    a = f"an {name}" if name[0] in "aeio" else f"a {name}"
    q, answer = rng.choice([("Tell me about the {0}.", "The {0} is {1} and stands in the {2}."), ("What is {3}?", "The {0} is {1} and stands in the {2}."),
                            ("What colour is {3}?", "The {0} is {1}."), ("What do you know about the {0}?", "The {0} is {1} and stands in the {2}."),
                            ("Is the {0} {1}?", "Yes, the {0} is {1}."), ("Where can I find the {0}?", "The {0} is in the {2}.")])
    q = q.format(name, colour, room, a)
    return talk.spelling(rng, q), answer.format(name, colour, room), q


def small_talk(rng, mix):
    """first words and what lies outside the world: alone, after another exchange, with a system message, with functions declared"""
    messages, tools = [], []
    if rng.random() < 0.3:
        system = rng.choice(SYSTEMS + OTHER_SYSTEMS)
        messages.append(message(rng.choice(["system", "system", "developer"]), system))
    if rng.random() < 0.1:
        tools = [declare(rng, i, mix) for i in rng.sample(list(FUNCTIONS), rng.choice([1, 1, 2, 3]))]
    x = rng.random()
    if x < 0.12:
        text, answer, key = familiar(rng)
    elif x < 0.20:                                # usual ones among strange ones
        text, answer, _, key, _ = question(rng, mix)
    else:
        text, answer, key = talk.strange(rng, held_out)
    if tools and answer == talk.NOT_ABLE:
        answer = NO_FUNCTION
    keys = [key] if key else []
    if not tools and rng.random() < 0.3:          # one earlier exchange
        if rng.random() < 0.6:
            before, said, first = talk.strange(rng, held_out)
        else:
            before, said, _, first, _ = question(rng, mix)
        messages += [message("user", before), message("assistant", said)]
        keys = ([first] if first else []) + keys
        if not key:                               # always in training, whatever came before
            keys.append("")
    return Example("talk", messages + [message("user", text)], answer, tools, keys)


MAKERS = {"english": english, "tools": with_tools, "talk": small_talk}


def draw(rng, kind, held=False, mix=USUAL):
    """an example of a kind; training examples rest on no held-out request, held-out ones end in one"""
    make = MAKERS[kind]
    while True:
        e = make(rng, mix)
        if held and e.keys and held_out(e.keys[-1]) or not held and not any(map(held_out, e.keys)):
            return e


# ---------------------------------------------------------------- prompt layouts
def escaped(text):
    return f"<escape>{text}<escape>"


def value(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    return escaped(v) if isinstance(v, str) else str(v)


def mapping(d):
    return "{" + ",".join(f"{k}:{value(d[k])}" for k in sorted(d)) + "}"


def call_text(call):
    f = call["function"]
    return f"<start_function_call>call:{f['name']}{mapping(f['arguments'])}<end_function_call>"


def response_text(r):
    return f"<start_function_response>response:{r['name']}{mapping(r['response'])}<end_function_response>"


def declaration(tool):
    f = tool["function"]
    p = f["parameters"]
    properties = ",".join(f"{k}:{{description:{escaped(v['description'])},type:{escaped(v['type'].upper())}}}"
                          for k, v in sorted(p["properties"].items()))
    required = ",".join(map(escaped, p["required"]))
    return (f"<start_function_declaration>declaration:{f['name']}{{description:{escaped(f['description'])},"
            f"parameters:{{properties:{{{properties}}},required:[{required}],type:{escaped('OBJECT')}}}}}<end_function_declaration>")


def render(example):
    """list of (text, is it the model's) up to the place where the answer begins"""
    messages, parts = list(example.messages), [("<bos>", False)]
    head = messages[0]["role"] in ("system", "developer")
    if example.tools or head:
        text = messages.pop(0)["content"].strip() if head else DEVELOPER
        parts.append(("<start_of_turn>developer\n" + text + "".join(map(declaration, example.tools)) + "<end_of_turn>\n", False))
    for m in messages:
        if m["role"] == "user":
            parts.append((f"<start_of_turn>user\n{m['content'].strip()}<end_of_turn>\n<start_of_turn>model\n", False))
        elif m["role"] == "tool":
            results = m["content"] if isinstance(m["content"], list) else [m["content"]]
            text = "".join(map(response_text, results))
            head = "<start_function_response>"
            parts += [(head, True), (text[len(head):], False)]
        elif "tool_calls" in m:
            parts.append(("".join(map(call_text, m["tool_calls"])), True))
        else:
            parts += [(m["content"].strip() + "<end_of_turn>", True), ("\n", False)]
    return parts


def prompt(example):
    return "".join(text for text, _ in render(example))
