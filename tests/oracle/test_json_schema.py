"""JSON Schema grammars: every case of the official test suite, and random schemas with jsonschema as the judge."""

import collections
import json
import os
import pathlib

import jsonschema
import llguidance
import pytest

from random_schemas import FORMATS, Schemas
from schema_oracle import SchemaGrammars, first_text_of, texts_of

# Debian's package json-schema-test-suite has drafts up to 7; a checkout of json-schema-org/JSON-Schema-Test-Suite all.
SUITE = pathlib.Path(os.environ.get("MILLRACE_JSON_SCHEMA_SUITE", "/usr/share/json-schema-test-suite"))
DIALECTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
# How many schemas may be refused, by what of them; all else must be right. Measured on the suite of November 2026.
REFUSED = {"$ref": 22, "$dynamicRef": 12, "$recursiveRef": 3, "uniqueItems": 3, "unevaluatedItems": 4, "multipleOf": 1,
           "propertyNames": 2, "unevaluatedProperties": 2, "oneOf": 1}
# Where we differ on purpose. A format is asserted, where the suite wants a remark; metaschemas are not read.
DIFFERENT = {("format", None), ("vocabulary", "no validation: invalid number, but it still validates")}
SEEDS = int(os.environ.get("MILLRACE_SCHEMA_SEEDS", 2000))


@pytest.fixture(scope="module")
def grammars():
    grammars = SchemaGrammars()
    yield grammars
    grammars.close()


def groups(draft):
    for file in sorted((SUITE / "tests" / draft).glob("*.json")):
        for group in json.loads(file.read_text()):
            yield file.stem, group


def check_group(file, group, answer, texts):
    for case, (begin, end) in zip(group["tests"], texts):
        if (file, None) in DIFFERENT or (file, case["description"]) in DIFFERENT:
            continue
        fits = any(answer["accepted"][begin:end])
        assert fits == case["valid"], (group["description"], case, group["schema"])


@pytest.mark.parametrize("draft", DIALECTS)
def test_every_case_of_the_official_suite_is_right_or_refused_by_name(draft, grammars):
    if not (SUITE / "tests" / draft).is_dir():
        pytest.skip(f"no {draft} in {SUITE}: install json-schema-test-suite, or set MILLRACE_JSON_SCHEMA_SUITE")
    refused, cases = collections.Counter(), 0
    for file, group in groups(draft):
        schema = group["schema"]
        if isinstance(schema, dict) and "$schema" not in schema:
            schema = {"$schema": DIALECTS[draft], **schema}
        texts, places = [], []
        for case in group["tests"]:
            more = texts_of(case["data"]) or [first_text_of(case["data"])]
            places.append((len(texts), len(texts) + len(more)))
            texts += more
        answer = grammars.ask(schema, texts)
        if "error" not in answer:
            assert answer["accepted"] == answer["reference"], group["description"]
            check_group(file, group, answer, places)
            cases += len(places)
        elif answer["code"] == "unsupported":
            refused[answer["error"].split(" is not supported")[0].split("/")[-1]] += 1
        else:
            assert "fits" in answer["error"], answer
            assert not any(case["valid"] for case in group["tests"]), (group, answer)
    assert cases > 250
    assert all(count <= REFUSED.get(keyword, 0) for keyword, count in refused.items()), refused


def judge(schema):
    return jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(FORMATS))


def is_judged(value):
    """Not where Python's `re` (its "." and "$" know fewer line ends) or its doubles (1e999) see something else."""
    text = json.dumps(value)
    return not any(end in text for end in (r"\n", r"\r", r"\u2028", r"\u2029", "Infinity"))


def without_duplicates(text):
    duplicates = []

    def members(pairs):
        duplicates.extend(pairs[len(dict(pairs)) :])
        return dict(pairs)

    value = json.loads(text, object_pairs_hook=members)
    return None if duplicates else [value]


def test_random_schemas_accept_exactly_what_fits(grammars):
    """Values both ways; and random texts of the grammar, which must all be JSON that fits."""
    written = judged = 0
    for seed in range(SEEDS):
        schemas = Schemas(seed)
        schema = schemas.schema(3 + seed % 3)
        values = [schemas.value() for _ in range(25)]
        spelled = [texts_of(value) for value in values]
        flat = [text for texts in spelled for text in texts]
        answer = grammars.ask(schema, flat, samples=15, seed=seed, reference=seed % 10 == 0)
        valid = [judge(schema).is_valid(value) for value in values]
        if "error" in answer:
            assert answer["code"] == "unsupported" or not any(valid), (schema, answer)
            continue
        written += 1
        if answer["reference"]:
            assert answer["accepted"] == answer["reference"], schema
        accepted = iter(answer["accepted"])
        for value, fits, texts in zip(values, valid, spelled):
            assert any([next(accepted) for _ in texts]) == fits or not texts, (value, fits, schema)
        for text in answer["samples"]:
            for value in filter(is_judged, without_duplicates(text) or []):
                judged += 1
                assert judge(schema).is_valid(value), (text, schema)
    assert written > SEEDS / 2 and judged > SEEDS * 3


PLAIN = [
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"enum": ["x", 1, None]}, "b": {"type": "boolean"}}, "additionalProperties": False},
    {"type": "array", "items": {"anyOf": [{"type": "null"}, {"type": "number", "minimum": 2}]}, "maxItems": 2},
    {"type": "object", "properties": {"n": {"$ref": "#"}, "v": {"type": "integer", "maximum": 10}}, "required": ["v"],
     "additionalProperties": False},
    {"type": "string", "pattern": "^[ab]+$", "maxLength": 3},
    {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}, "required": ["d"]},
]


@pytest.mark.parametrize("schema", PLAIN)
def test_llguidance_takes_the_texts_that_we_write(schema, grammars):
    tokenizer = llguidance.LLTokenizer("byte")
    source = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    for seed in range(20):
        for text in grammars.ask(schema, samples=20, seed=seed)["samples"]:
            matcher = llguidance.LLMatcher(tokenizer, source)
            assert not matcher.is_error(), matcher.get_error()
            if any(c in text for c in "eE\\\t\n\r/") or "  " in text or not is_judged(json.loads(text)):
                continue  # it takes fewer escapes and less white space
            taken = matcher.consume_tokens(tokenizer.tokenize_bytes(text.encode())) and matcher.is_accepting()
            assert taken or without_duplicates(text) is None, text
