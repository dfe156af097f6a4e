"""Writes the seed files of corpus/{regex,ebnf,structural_tag,json_schema}."""
import json
import pathlib

CORPUS = pathlib.Path(__file__).parent / "corpus"
# The first byte: bit 0 search, bit 1 respect case, bit 2 '.' is not line ends.
REGEX = {
    "words": b"\x06(foo|bar){2,3}baz?", "classes": b"\x07[a-z\\d_-]+[^\\s,]", "anchors": b"\x07^a|b$|(^|,)c",
    "date": b"\x06(?<y>\\d{4})-(?P<m>\\d\\d)", "escapes": b"\x06" + rb"\x41\u0042\u{43}\uD83D\uDE00\cA\0\p{Lu}\P{Han}[\b\]]",
    "flags": b"\x00(?i)ab(?s:.)(?-i:c)", "lazy": b"\x06a*?b+?c??d{1,2}?", "nested": b"\x06((a+)+b|c{3}){0,9}",
}
EBNF = {
    "gbnf": b'root ::= "a" [b-d^]+ item{2,3} (x | "\\x41\\u00e9")* # end\nitem ::= <|t|> | .\nx ::= x "+" | "1"\n',
    "gbnf_lines": b'root ::=\n  ("yes" |\n   [^a\\]])\n  | root?\n',
    "lark": b'?start: a -> n\n  | (b "c"i)~1..2 [D]\na.2: /x\\/[y]/is "a".."z"\n!b: <|t|> {2}\nD: "d"+\n%import common.INT -> I\n%ignore /[ ]+/\n',
    "lark_json": b'start: %json {"type": "object", "properties": {"a": {"enum": [1, "b"]}}}\n%import common (WS, INT)\n%ignore WS\n',
}
TAG = {"type": "tag", "begin": "<a>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": ["</a>", ";"]}
TEXT = {"type": "const_string", "value": "x"}
FORMATS = {
    "tag": {"type": "tag", "begin": {"type": "token", "token": "<t>"}, "content": {"type": "any_text"}, "end": "</t>"},
    "triggered": {"type": "triggered_tags", "triggers": ["<"], "tags": [TAG], "at_least_one": True, "excludes": ["no"]},
    "separated": {"type": "tags_with_separator", "tags": [TAG], "separator": ",", "stop_after_first": False},
    "dispatch": {"type": "dispatch", "rules": [["<x>", TEXT], ["ab", {"type": "any_text", "max_chars": 9}]], "loop": False},
    "composed": {"type": "sequence", "elements": [
        {"type": "or", "elements": [TEXT, {"type": "grammar", "grammar": 'root ::= "y"'}]}, {"type": "optional", "content": TEXT},
        {"type": "plus", "content": TEXT}, {"type": "repeat", "min": 1, "max": 3, "content": TEXT}]},
    "schema": {"type": "json_schema", "json_schema": {"type": "integer"}},
}
# The first byte: layout of white space, and with bit 2 what is not supported is left out.
SCHEMAS = {
    "object": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1, "multipleOf": 0.5}, "b": {"enum": [1, "x", None]}},
               "required": ["a"], "patternProperties": {"^x": True}, "additionalProperties": {"type": ["string", "null"]},
               "minProperties": 2, "propertyNames": {"maxLength": 3}},
    "array": {"prefixItems": [{"const": 1.0}, {"type": "boolean"}], "items": {"format": "date"}, "contains": {"pattern": "a+$"},
              "maxContains": 2, "maxItems": 4, "unevaluatedItems": False},
    "unique": {"type": "array", "items": {"enum": [1, 2, [3]]}, "uniqueItems": True, "minItems": 1},
    "combined": {"allOf": [{"oneOf": [{"type": "string"}, {"minLength": 2}]}, {"anyOf": [{"not": {"const": "a"}}, {"if": {"maximum": 3}, "then": False}]}],
                 "unevaluatedProperties": False, "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"minProperties": 2}}},
    "references": {"$id": "http://a/b", "$defs": {"t": {"$anchor": "t", "properties": {"n": {"$ref": "#/$defs/t"}, "m": {"$dynamicRef": "#d"}}},
                   "u/~%": {"$id": "c.json", "$dynamicAnchor": "d"}}, "anyOf": [{"$ref": "#t"}, {"$ref": "c.json#d"}, {"$ref": "#/$defs/u~1~0%25"}]},
    "draft4": {"$schema": "http://json-schema.org/draft-04/schema#", "definitions": {"a": {"maximum": 2, "exclusiveMaximum": True}},
               "items": [{"$ref": "#/definitions/a"}], "additionalItems": False, "dependencies": {"a": ["b"]}},
}


def write(folder, name, data):
    path = CORPUS / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def main():
    for name, data in REGEX.items():
        write("regex", name, data)
    for name, data in EBNF.items():
        write("ebnf", name, data)
    for number, (name, value) in enumerate(SCHEMAS.items()):
        write("json_schema", name, bytes([number]) + json.dumps(value).encode())
    for name, value in FORMATS.items():
        write("structural_tag", name, json.dumps({"type": "structural_tag", "format": value}).encode())
    legacy = {"type": "structural_tag", "structures": [{"begin": "<f=a>", "schema": {"type": "null"}, "end": "</f>"}],
              "triggers": ["<f"]}
    write("structural_tag", "legacy", json.dumps(legacy).encode())


if __name__ == "__main__":
    main()
