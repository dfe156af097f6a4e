"""Answers that keep to a schema, a regular expression, a grammar; and sources that shall not harm anybody else."""
import json
import re
import threading
import time

import jsonschema
import pytest
from running_server import events, read_all, unchunked

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
ASK = [{"role": "user", "content": "Tell me of a person."}]
SURE = {"messages": ASK, "temperature": 0, "max_tokens": 200}
PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
                                           "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3}},
          "required": ["name", "age", "tags"], "additionalProperties": False}


def text(server, path=CHAT, **more):
    body = (SURE if path == CHAT else {"prompt": "Yes or no:", "temperature": 0, "max_tokens": 60}) | more
    reply = server.post(path, body)
    assert reply.status == 200, reply
    choice = reply.json()["choices"][0]
    return choice["message"]["content"] if path == CHAT else choice["text"]


def schema_format(schema, **more):
    return {"type": "json_schema", "json_schema": {"name": "person", "schema": schema} | more}


SCHEMA_FIELDS = [{"response_format": schema_format(PERSON, strict=True)}, {"structured_outputs": {"json": PERSON}},
                 {"structured_outputs": {"json": json.dumps(PERSON)}}, {"guided_json": PERSON}, {"json_schema": PERSON},
                 {"response_format": {"type": "json_object", "schema": PERSON}}]


@pytest.mark.parametrize("field", SCHEMA_FIELDS, ids=lambda field: next(iter(field)))
def test_an_answer_fits_its_schema(server, field):
    jsonschema.validate(json.loads(text(server, **field)), PERSON)


def test_a_json_object_is_one(server):
    for field in ({"response_format": {"type": "json_object"}}, {"structured_outputs": {"json_object": True}}):
        answer = server.post(CHAT, SURE | field | {"max_tokens": 400}).json()["choices"][0]
        if answer["finish_reason"] == "stop":
            assert isinstance(json.loads(answer["message"]["content"]), dict)
        else:
            assert answer["message"]["content"].lstrip().startswith("{")


def test_white_space_is_as_asked(server):
    got = text(server, structured_outputs={"json": PERSON, "disable_any_whitespace": True})
    assert json.dumps(json.loads(got), ensure_ascii=False) == got


OTHERS = [({"structured_outputs": {"regex": "[A-Z][a-z]{2,5} (1|2)0"}}, "[A-Z][a-z]{2,5} (1|2)0"), ({"guided_regex": "(ab){1,3}!"}, "(ab){1,3}!"),
          ({"regex": "[0-9]{3}"}, "[0-9]{3}"), ({"structured_outputs": {"choice": ["positive", "negative"]}}, "positive|negative"),
          ({"guided_choice": ["x y", "z"]}, "x y|z"), ({"structured_outputs": {"grammar": 'root ::= "a" [b-d]{2} | "e"'}}, "a[b-d]{2}|e"),
          ({"guided_grammar": 'start: "a" "b"'}, "ab"), ({"grammar": 'root ::= "yes" | "no"'}, "yes|no"), ({"ebnf": 'root ::= "q"'}, "q")]


@pytest.mark.parametrize("field, pattern", OTHERS, ids=lambda value: str(value)[:40])
@pytest.mark.parametrize("path", [CHAT, TEXT])
def test_an_answer_fits_its_language(server, path, field, pattern):
    assert re.fullmatch(pattern, text(server, path, **field))


def test_streams_several_answers_and_hot_ones_keep_to_it_too(server):
    body = SURE | {"response_format": schema_format(PERSON), "n": 4, "temperature": 1.5, "seed": 1, "max_tokens": 400}
    whole = [choice["message"]["content"] for choice in server.post(CHAT, body).json()["choices"]]
    with server.open_stream(CHAT, body | {"stream": True}, headers=["Connection: close"]) as plug:
        streamed = [""] * 4
        for _, data in events(unchunked(read_all(plug))):
            for choice in data["choices"] if isinstance(data, dict) else []:
                streamed[choice["index"]] += choice["delta"].get("content") or ""
    assert streamed == whole
    for answer in whole:
        jsonschema.validate(json.loads(answer), PERSON)


def test_beams_keep_to_it(server):
    reply = server.post(TEXT, {"prompt": "Yes or no:", "use_beam_search": True, "n": 2, "max_tokens": 8, "guided_choice": ["yes", "no", "maybe"]})
    assert reply.status == 200, reply
    assert {choice["text"] for choice in reply.json()["choices"]} <= {"yes", "no", "maybe"}


def test_responses_have_a_format(server):
    body = {"input": "Tell me of a person.", "max_output_tokens": 200, "temperature": 0,
            "text": {"format": {"type": "json_schema", "name": "p", "schema": PERSON, "strict": True}}}
    reply = server.post(RESPONSES, body).json()
    jsonschema.validate(json.loads(reply["output"][0]["content"][0]["text"]), PERSON)
    assert reply["text"]["format"]["name"] == "p"


def test_two_of_them_exclude_each_other(server):
    for body, param in [({"guided_regex": "a", "guided_choice": ["a"]}, "guided_choice"),
                        ({"structured_outputs": {"regex": "a", "choice": ["a"]}}, "structured_outputs.choice"),
                        ({"response_format": {"type": "json_object"}, "json_schema": {}}, "json_schema")]:
        reply = server.post(CHAT, SURE | body)
        assert reply.status == 400 and reply.error["param"] == param, reply


def nested(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"oneOf": [schema, {"type": "array", "items": schema}]} if levels <= 10 else {"type": "array", "items": schema}
    return schema


BAD = [
    ("structured_outputs", {"regex": "foo**"}), ("structured_outputs", {"regex": "(?<=x)*a"}), ("structured_outputs", {"regex": "a{0,1000000000}"}),
    ("structured_outputs", {"regex": "(" * 30000 + ")" * 30000}), ("structured_outputs", {"regex": "("}), ("structured_outputs", {"regex": 1}),
    ("structured_outputs", {"regex": "a" * 70000}), ("structured_outputs", {"grammar": "root ::= root"}), ("structured_outputs", {"grammar": "root ::= nobody"}),
    ("structured_outputs", {"grammar": "root ::= (" + "(" * 20000}), ("structured_outputs", {"choice": []}), ("structured_outputs", {"choice": [1]}),
    ("structured_outputs", {"nonsense": 1}), ("structured_outputs", 1), ("structured_outputs", {"json": "no json"}),
    ("structured_outputs", {"json": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}}), ("structured_outputs", {"json": {"type": "nobody"}}),
    ("structured_outputs", {"structural_tag": {"format": {"type": "nobody"}}}), ("response_format", {"type": "json_schema"}), ("response_format", {"type": "x"}),
    ("response_format", schema_format({"not": {"pattern": "a"}, "uniqueItems": 1})), ("guided_json", 1), ("guided_regex", "["), ("guided_choice", "a"),
    ("guided_whitespace_pattern", " "), ("grammar", "nonsense"), ("json_schema", {"type": 7}),
]


@pytest.mark.parametrize("field, value", BAD, ids=lambda value: str(value)[:50])
def test_a_bad_source_is_refused_by_name_and_harms_nobody(server, canaries, field, value):
    start = time.monotonic()
    reply = server.post(CHAT, SURE | {field: value, "max_tokens": 4})
    assert reply.status == 400 and reply.error["param"].startswith(field), reply
    assert reply.error["code"] in ("grammar_invalid", "grammar_too_complex", "invalid_value", "unsupported")
    assert time.monotonic() - start < 30  # the budget is two seconds of one thread; this machine may be busy


def test_costly_sources_end_one_way_or_the_other(server, canaries):
    for value in ({"regex": "(a+)+b"}, {"regex": "(a|aa|aaa){1,200}b"}, {"json": nested(8)}, {"json": {"enum": [f"value {i}" for i in range(3000)]}},
                  {"json": {"type": "array", "items": {"$ref": "#"}}}):
        reply = server.post(CHAT, SURE | {"structured_outputs": value, "max_tokens": 8})
        assert reply.status in (200, 400), reply
        assert reply.status == 200 or reply.error["code"] in ("grammar_too_complex", "grammar_invalid"), reply


def test_many_schemas_at_once_are_kept_apart(server, canaries):
    wrong = []

    def ask(i):
        got = text(server, structured_outputs={"regex": f"person {i}[a-z]!"}, max_tokens=16)
        if not re.fullmatch(f"person {i}[a-z]!", got):
            wrong.append((i, got))

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_client_that_leaves_while_its_grammar_is_made_takes_nothing_along(server, canaries, at_rest):
    rest = at_rest()
    for i in range(8):
        with server.open_stream(CHAT, SURE | {"structured_outputs": {"regex": f"((a|b|c){{1,90}}x{i}){{1,90}}"}, "stream": True}):
            pass
    rest()


def test_what_a_schema_says_beyond_grammars_is_refused_or_left_out_and_told(server):
    schema = PERSON | {"properties": PERSON["properties"] | {"tags": {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2,
                                                                      "uniqueItems": True}}}
    refused = server.post(CHAT, SURE | {"response_format": schema_format(schema, strict=True)})
    assert refused.status == 400 and "/properties/tags/uniqueItems" in refused.json()["error"]["message"]
    for _ in range(2):  # the second time the grammar is known
        reply = server.post(CHAT, SURE | {"response_format": schema_format(schema, strict=False)})
        assert reply.status == 200 and reply.headers["x-ignored-schema-keywords"] == "/properties/tags/uniqueItems"
