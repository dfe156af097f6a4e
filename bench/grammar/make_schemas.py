#!/usr/bin/env python3
"""Writes JSON schemas as people use them for structured output, each with a text that fits it: a line each of
{"name", "schema", "text"}. The same lines every time."""

import argparse
import json
import random

WORDS = """name title description status type id code value amount price total count quantity currency email phone
address street city country zip date time created updated start end author editor comment rating score level rank
category tags items entries results points steps reason summary content message subject body url image width height
color size weight unit language locale version active enabled visible public owner member role permission limit offset
page query filter order source target path method payload headers options settings config parameters arguments
""".split()

SENTENCE = """the quick brown fox jumps over a lazy dog while seven engineers measure how long every token takes and
write it down for those who come after them in the spring""".split()


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def sentence(self, least, most):
        words = self.random.choices(SENTENCE, k=self.random.randint(1, 9))
        text = " ".join(words)
        while len(text) < least:
            text += " " + self.random.choice(SENTENCE)
        return text[:most].rstrip() if len(text[:most].rstrip()) >= least else text[:most]

    def string(self):
        kind = self.random.randrange(9)
        if kind <= 2:
            return {"type": "string"}, self.sentence(0, 200) + self.random.choice(["", "!", " (\"quoted\")", "\n", " é"])
        if kind == 3:
            least, most = self.random.randint(0, 5), self.random.choice([20, 50, 100, 280])
            return {"type": "string", "minLength": least, "maxLength": most}, self.sentence(least, most)
        if kind == 4:
            values = self.random.sample(WORDS, self.random.randint(2, 8))
            return {"type": "string", "enum": values}, self.random.choice(values)
        if kind == 5:
            return {"type": "string", "format": "date-time"}, "2026-11-22T09:30:00Z"
        if kind == 6:
            return {"type": "string", "format": "date"}, "2026-11-22"
        if kind == 7:
            return {"type": "string", "pattern": "^[A-Z]{2,3}-[0-9]{4}$"}, "ABC-1234"
        return {"type": "string", "format": "email"}, "someone@example.org"

    def scalar(self):
        kind = self.random.randrange(8)
        if kind <= 3:
            return self.string()
        if kind == 4:
            return {"type": "integer"}, self.random.randint(-5, 100000)
        if kind == 5:
            low = self.random.randint(0, 10)
            high = low + self.random.choice([5, 90, 1000])
            return {"type": "integer", "minimum": low, "maximum": high}, self.random.randint(low, high)
        if kind == 6:
            return {"type": "number"}, round(self.random.uniform(-1000, 1000), 2)
        return {"type": "boolean"}, self.random.random() < 0.5

    def value(self, depth):
        kind = self.random.randrange(10)
        if depth <= 0 or kind <= 5:
            return self.scalar()
        if kind <= 7:
            return self.array(depth - 1)
        if kind == 8:
            return self.object(depth - 1)
        options = [self.scalar() for _ in range(self.random.randint(2, 3))] + [({"type": "null"}, None)]
        return {"anyOf": [schema for schema, _ in options]}, self.random.choice(options)[1]

    def array(self, depth):
        state = self.random.getstate()
        schema, _ = self.value(depth)
        texts = []
        for _ in range(self.random.randint(1, 4)):  # the same schema, and each time another value of it
            after = self.random.getstate()
            self.random.setstate(state)
            texts.append(self.value(depth)[1])
            self.random.setstate(after)
        out = {"type": "array", "items": schema}
        if self.random.random() < 0.3:
            out["minItems"], out["maxItems"] = 1, 10
        return out, texts

    def object(self, depth):
        names = self.random.sample(WORDS, self.random.randint(2, 12 if depth > 1 else 6))
        schema = {"type": "object", "properties": {}, "required": []}
        value = {}
        for name in names:
            schema["properties"][name], one = self.value(depth)
            required = self.random.random() < 0.7
            if required:
                schema["required"].append(name)
            if required or self.random.random() < 0.5:
                value[name] = one
        if self.random.random() < 0.7:
            schema["additionalProperties"] = False
        return schema, value

    def tree(self):
        node = {"type": "object", "properties": {"value": {"type": "string"}, "children": {"type": "array",
                "items": {"$ref": "#/$defs/node"}}}, "required": ["value"], "additionalProperties": False}
        value = {"value": "root", "children": [{"value": self.sentence(0, 30)} for _ in range(3)]}
        return {"$ref": "#/$defs/node", "$defs": {"node": node}}, value


def bound(schema):
    """Limits on what has none: the text of the sample may then be too long."""
    if schema.get("type") == "string" and not {"enum", "format", "pattern"} & schema.keys():
        schema["maxLength"] = min(schema.get("maxLength", 40), 40)
    if schema.get("type") == "integer":
        schema.setdefault("minimum", -1000)
        schema.setdefault("maximum", 100000)
    if schema.get("type") == "array":
        schema["maxItems"] = 3
    if schema.get("type") == "object":
        schema["additionalProperties"] = False
    for name in ("items", "node"):
        if name in schema:
            bound(schema[name])
    for one in [*schema.get("properties", {}).values(), *schema.get("anyOf", []), *schema.get("$defs", {}).values()]:
        bound(one)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--compact", action="store_true", help="texts without white space")
    parser.add_argument("--bounded", action="store_true", help="schemas whose texts all come to an end soon")
    args = parser.parse_args()
    for i in range(args.count):
        maker = Maker(i)
        schema, value = maker.tree() if i % 20 == 19 else maker.object(3 if i % 3 else 1)
        style = i % 3 if not args.compact else 0
        text = json.dumps(value, ensure_ascii=i % 2 == 0, indent=2 if style == 2 else None,
                          separators=(",", ":") if style == 0 else None)
        if args.bounded:
            bound(schema)
        print(json.dumps({"name": f"schema-{i}", "schema": schema, "text": text}))


if __name__ == "__main__":
    main()
