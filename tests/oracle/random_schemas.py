"""Random JSON Schemas, and random values that may fit them: small, so that all keywords meet each other."""

import random

NAMES = ["a", "b", "c"]
FORMATS = ["date", "ipv4", "ipv6", "email", "uuid"]  # those that jsonschema checks without other packages
PATTERNS = ["^a", "b$", "^[a-c]*$", "a|b", "^.?$", "[0-9]+"]
SCALARS = [None, True, False, 0, 1, 2, -1, 1.5, 10, "", "a", "b", "ab", "abc", "7"]


class Schemas:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def schema(self, depth=3):
        r = self.random
        if r.random() < 0.08:
            return r.choice([True, False])
        made = {}
        if r.random() < 0.6:
            made["type"] = self.types()
        for keyword in r.sample(self.keywords(depth), r.choice([0, 1, 1, 2, 3])):
            keyword(made, depth - 1)
        return made

    def types(self):
        names = ["null", "boolean", "integer", "number", "string", "array", "object"]
        return self.random.choice(names[2:]) if self.random.random() < 0.7 else self.random.sample(names, 3)

    def keywords(self, depth):
        flat = [self.enum, self.numbers, self.strings, self.sizes, self.required]
        deep = [self.objects, self.objects, self.arrays, self.combined, self.condition, self.dependent]
        return flat + deep if depth > 0 else flat

    def enum(self, made, depth):
        if self.random.random() < 0.3:
            made["const"] = self.value(1)
        else:
            made["enum"] = [self.value(1) for _ in range(self.random.randint(1, 4))]

    def numbers(self, made, depth):
        r = self.random
        keyword = r.choice(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"])
        made[keyword] = r.choice([1, 2, 3, 0.5, 0.25]) if keyword == "multipleOf" else r.choice([-2, 0, 1, 1.25, 7, 12])

    def strings(self, made, depth):
        r = self.random
        kind = r.random()
        if kind < 0.5:
            made["pattern"] = r.choice(PATTERNS)
        elif kind < 0.9:
            made[r.choice(["minLength", "maxLength"])] = r.randint(0, 3)
        else:
            made["format"] = r.choice(FORMATS)

    def sizes(self, made, depth):
        made[self.random.choice(["minItems", "maxItems", "minProperties", "maxProperties"])] = self.random.randint(0, 3)

    def required(self, made, depth):
        made["required"] = self.random.sample(NAMES, self.random.randint(1, 2))

    def objects(self, made, depth):
        r = self.random
        if r.random() < 0.8:
            made["properties"] = {name: self.schema(depth) for name in r.sample(NAMES, r.randint(1, 3))}
        if r.random() < 0.3:
            made["patternProperties"] = {r.choice(PATTERNS): self.schema(depth)}
        if r.random() < 0.4:
            made[r.choice(["additionalProperties", "unevaluatedProperties"])] = self.schema(depth - 1)
        if r.random() < 0.15:
            made["propertyNames"] = {r.choice(["maxLength", "minLength"]): 1}

    def arrays(self, made, depth):
        r = self.random
        if r.random() < 0.5:
            made["prefixItems"] = [self.schema(depth) for _ in range(r.randint(1, 2))]
        if r.random() < 0.5:
            made["items"] = self.schema(depth)
        if r.random() < 0.3:
            made["contains"] = self.schema(depth - 1)
            if r.random() < 0.5:
                made[r.choice(["minContains", "maxContains"])] = r.randint(0, 2)

    def combined(self, made, depth):
        r = self.random
        keyword = r.choice(["allOf", "anyOf", "oneOf", "not"])
        made[keyword] = self.schema(depth) if keyword == "not" else [self.schema(depth) for _ in range(r.randint(1, 3))]

    def condition(self, made, depth):
        made["if"] = self.schema(depth)
        for keyword in ("then", "else"):
            if self.random.random() < 0.7:
                made[keyword] = self.schema(depth)

    def dependent(self, made, depth):
        if self.random.random() < 0.5:
            made["dependentRequired"] = {self.random.choice(NAMES): self.random.sample(NAMES, 1)}
        else:
            made["dependentSchemas"] = {self.random.choice(NAMES): self.schema(depth)}

    def value(self, depth=2):
        r = self.random
        kind = r.random()
        if depth == 0 or kind < 0.5:
            return r.choice(SCALARS)
        if kind < 0.75:
            return [self.value(depth - 1) for _ in range(r.randint(0, 3))]
        names = r.sample([*NAMES, "ab", "x"], r.randint(0, 3))
        return {name: self.value(depth - 1) for name in names}
