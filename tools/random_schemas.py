# SPDX-License-Identifier: Apache-2.0
# random_schemas.py: JSON schemas made at random, from a seed, of every keyword that carat understands,
# nested; and sets of tools of them. Also the same schemas in the spellings of older drafts. What is done with
# them is left to check_schemas.py and check_answers.py.
import random

FORMATS = ["date", "time", "date-time", "uuid", "email", "ipv4", "ipv6", "uri"]
PATTERNS = ["^a+b?$", "^[a-z]{2,4}$", "x", "[0-9]+$", "^(foo|bar|é+)-", "^[a-z_]+ [^a]*$", "^.{3}$"]
ANNOTATIONS = [("title", "A title"), ("description", "é \"quoted\""), ("default", 3), ("examples", [[], "x"]),
               ("$comment", "none"), ("deprecated", True), ("readOnly", False)]


class Maker:
    """Makes a schema. Names of keys ascend, so that sorting them gives the order of the schema."""

    def __init__(self, number):
        self.r = random.Random(number)
        self.names = {}
        self.defs = {}

    def name(self):
        name = f"{self.r.choice(['k', 'a b', 'é', 'q/'])}{len(self.names):03d}"
        self.names[name] = len(self.names)
        return name

    def maybe(self, p=0.5):
        return self.r.random() < p

    def integer(self):
        s = {"type": "integer"}
        base = self.r.choice([0, 5, 10, 100, 12345, 10**12])
        if self.maybe():
            s[self.r.choice(["minimum", "exclusiveMinimum"])] = self.r.randint(-base, base)
        if self.maybe():
            s[self.r.choice(["maximum", "exclusiveMaximum"])] = self.r.randint(base, 3 * base + 20)
        if self.maybe(0.3):
            s["multipleOf"] = self.r.choice([1, 2, 3, 7, 10, 48])
        return s

    def number(self):
        s = {"type": "number"}
        base = self.r.choice([0, 0.5, 1e-9, 3.75, 1e17, 2.5e-3])
        if self.maybe():
            s[self.r.choice(["minimum", "exclusiveMinimum"])] = -self.r.random() * base
        if self.maybe():
            s[self.r.choice(["maximum", "exclusiveMaximum"])] = self.r.choice([base, base + 1, 2 * base + 7])
        return s

    def string(self):
        s = {"type": "string"}
        kind = self.r.randrange(6)
        if kind == 0:
            s["pattern"] = self.r.choice(PATTERNS)
        elif kind == 1:
            s["format"] = self.r.choice(FORMATS)
        elif kind == 2:
            s["minLength"] = self.r.randrange(3)
            s["maxLength"] = self.r.randrange(3, 9)
        elif kind == 3:
            s["maxLength"] = self.r.randrange(4)
        elif kind == 4:
            s["pattern"] = self.r.choice(["x", "[0-9]+$", "^[^a]*$", "é"])
            s["maxLength"] = self.r.randrange(3, 9)
            s["minLength"] = self.r.randrange(3)
        return s

    def value(self, depth=1):
        kind = self.r.randrange(7 if depth else 5)
        if kind == 5:
            return [self.value(0) for _ in range(self.r.randrange(3))]
        if kind == 6:
            return {self.name(): self.value(0) for _ in range(self.r.randrange(3))}
        text = "t\n" + "é" * self.r.randrange(3)
        return [None, True, self.r.randint(-9, 99), round(self.r.random(), 3), text][kind]

    def array(self, depth):
        s = {"type": "array"}
        if self.maybe(0.4):
            s["prefixItems"] = [self.schema(depth - 1) for _ in range(self.r.randint(1, 3))]
        if self.maybe(0.7):
            s["items"] = self.r.choice([False, True, self.schema(depth - 1), self.schema(depth - 1)])
        if self.maybe(0.4):
            s["minItems"] = self.r.randrange(3)
        if self.maybe(0.4):
            s["maxItems"] = self.r.randrange(2, 6)
        return s

    def object(self, depth):
        s = {"type": "object"}
        if self.maybe(0.85):
            s["properties"] = {self.name(): self.schema(depth - 1) for _ in range(self.r.randrange(4))}
            if self.maybe(0.1):
                s["properties"][self.name()] = True
            s["required"] = [k for k in s["properties"] if self.maybe()]
            if self.maybe(0.1):
                s["required"].append(self.name())
        if self.maybe(0.3):
            s["patternProperties"] = {"^x": self.schema(0)}
            if self.maybe():
                s["patternProperties"]["y$"] = self.r.choice([False, self.schema(0), self.schema(0)])
        if self.maybe(0.6):
            s["additionalProperties"] = self.r.choice([False, False, True, self.schema(depth - 1)])
        if self.maybe(0.15):
            s["maxProperties"] = self.r.randint(1, 5)
        if self.maybe(0.15):
            s["minProperties"] = self.r.randint(1, 2)
        return s

    def schema(self, depth):
        s = self.bare(depth)
        if self.maybe(0.1):
            s = {**s, **dict(self.r.sample(ANNOTATIONS, 2))}
        return s

    def bare(self, depth):
        if depth <= 0 or self.maybe(0.3):
            return self.r.choice([
                self.integer, self.number, self.string, lambda: {"type": "null"}, lambda: {"type": "boolean"},
                lambda: {"const": self.value()},
                lambda: {"enum": [self.value() for _ in range(self.r.randint(1, 4))]},
                lambda: {"type": ["string", "null"], "maxLength": 4},
                lambda: {"type": ["integer", "array", "boolean"], "maxItems": 1},
                lambda: {"type": ["number", "object"], "minimum": 2, "maxProperties": 1}])()
        kind = self.r.randrange(13)
        if kind < 5:
            return self.object(depth)
        if kind < 8:
            return self.array(depth)
        if kind == 8:
            return {"anyOf": [self.schema(depth - 1) for _ in range(self.r.randint(1, 3))]}
        if kind == 9:
            return {"oneOf": [self.object(depth - 1), self.array(depth - 1), self.string(), {"type": "null"}][
                :self.r.randint(1, 4)]}
        if kind == 10:
            return {"allOf": [self.object(depth - 1) for _ in range(2)]}
        if kind == 11:  # branches that a constant tells apart
            key = self.name()
            branches = [{"type": "object", "required": [key], "additionalProperties": False, "properties": {
                key: {"const": word}, self.name(): self.schema(depth - 1)}} for word in ("a", "b", "ab")]
            return {"oneOf": branches[:self.r.randint(2, 3)]}
        name = f"d{len(self.defs)}"
        self.defs[name] = self.schema(0)
        self.defs[name] = {"type": "object", "properties": {
            self.name(): self.schema(depth - 1), self.name(): {"$ref": f"#/$defs/{name}"}},
            "additionalProperties": False}
        return {"$ref": f"#/$defs/{name}"}

    def root(self):
        s = self.schema(3)
        if self.defs:
            s = {**s, "$defs": self.defs}
        return s

    def tools(self):
        """Tools, and what the arguments of each have to be: a call has no keys that are not declared."""
        made, forms = [], {}
        for k in range(self.r.randint(1, 3)):
            properties = {f"{self.r.choice(['name', 'x_y', 'é'])}{i}": self.schema(2)
                          for i in range(self.r.randrange(5))}
            parameters = {"type": "object", "properties": properties,
                          "required": [key for key in properties if self.maybe(0.6)]}
            made.append({"type": "function", "function": {
                "name": f"tool_{k}", "description": "d", "parameters": parameters}})
            forms[f"tool_{k}"] = {**parameters, "additionalProperties": False}
        if self.defs:
            for tool in made:
                tool["function"]["parameters"]["$defs"] = self.defs
            forms = {name: {**form, "$defs": self.defs} for name, form in forms.items()}
        return made, forms


def rewritten(schema, rule):
    """Each schema within a schema, innermost first; what is no schema stays."""
    if isinstance(schema, list):
        return [rewritten(s, rule) for s in schema]
    if not isinstance(schema, dict):
        return schema
    values = ("const", "enum", "required", "default", "examples", "type")
    maps = ("properties", "patternProperties", "$defs")
    s = {}
    for key, value in schema.items():
        if key in maps:
            value = {name: rewritten(one, rule) for name, one in value.items()}
        elif key not in values:
            value = rewritten(value, rule)
        s[key] = value
    return rule(s)


def list_of_items(s):
    if isinstance(s.get("prefixItems"), list):
        s = {**s, "items": s["prefixItems"], "additionalItems": s.get("items", True)}
        del s["prefixItems"]
    return s


def in_draft_7(schema):
    """The same in the spelling that hypothesis-jsonschema knows."""
    return rewritten(schema, list_of_items)


def in_older_spelling(schema):
    """The same as draft 4 spells it."""

    def rule(s):
        s = list_of_items(s)
        for key, beside in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if key in s:
                s = {**s, beside: s[key], key: True}
        if "$defs" in s:
            s["definitions"] = s.pop("$defs")
        if "$ref" in s:
            s["$ref"] = s["$ref"].replace("#/$defs/", "#/definitions/")
        return s

    return rewritten(schema, rule)
