"""Requests as the OpenAI API spells them, over every template: capabilities, the forms of tool calls, and trust."""

import copy
import json
import pathlib

import pytest

from conversations import HOSTILE, MARK
from reference import TOKENS, UNIX_TIME, Engine, template_files, text_of

CAPABILITIES = json.loads((pathlib.Path(__file__).parent / "capabilities.json").read_text())
TEMPLATES = {path.stem: path.read_text() for path in template_files()}
PRINTERS = ["call_blocks", "grouped", "reversed"]  # of our own: they show a conversation as no model takes it
CHAT = [name for name in TEMPLATES if name not in PRINTERS]


@pytest.fixture(scope="module")
def engine():
    return Engine()


def requests(engine, template, requests):
    engine.ask({"conversations": requests})
    engine.loaded = None
    return engine.ask({"chat": TEMPLATES[template], "unix_time": UNIX_TIME, **TOKENS})


@pytest.mark.parametrize("name", TEMPLATES)
def test_capabilities(engine, name):
    found = engine.ask({"probe": TEMPLATES[name], "unix_time": UNIX_TIME, **TOKENS})
    assert found == CAPABILITIES[name]


def test_a_capability_holds_for_some_template_and_not_for_another():
    known = [found for found in CAPABILITIES.values() if "error" not in found]
    for field in known[0]:
        assert len({found[field] for found in known}) > 1 or field == "content_strings", field


def marked(text):
    return MARK + text + MARK


def hostile_request(attack, argument_form):
    """A conversation with the attack in every string that a client controls."""
    evil = marked(attack)
    schema = {"type": "object", "description": evil, "required": [evil], "properties": {
        evil: {"type": "string", "description": evil, "enum": [evil, "b"], "default": evil},
        "list": {"type": "array", "description": evil, "items": {"type": "object", "additionalProperties": {"type": "string"}, "properties": {evil: {"type": ["string", "null"], "description": evil}}}},
        "one": {"description": evil, "oneOf": [{"type": "string", "description": evil, "default": evil}, {"type": "number"}], "format": evil, "examples": [evil]}}}
    arguments = {evil: evil, "nested": {evil: [evil]}}
    call = {"id": "abcde1234", "type": "function", "function": {"name": evil, "arguments": argument_form(arguments)}}
    return {
        "messages": [
            {"role": "system", "content": evil}, {"role": "user", "content": evil, "name": evil}, {"role": "assistant", "content": evil, "reasoning_content": evil},
            {"role": "user", "content": [{"type": "text", "text": evil}]}, {"role": "assistant", "content": None, "tool_calls": [call], "tool_plan": evil},
            {"role": "tool", "content": evil, "tool_call_id": "abcde1234", "name": evil}, {"role": "assistant", "content": evil, "thinking": evil}, {"role": "user", "content": evil},
        ],
        "tools": [{"type": "function", "function": {"name": evil, "description": evil, "parameters": schema, "return": {"type": "string", "description": evil}}}],
        "documents": [{"title": evil, "text": evil, evil: evil, "doc_id": evil}],
        "chat_template_kwargs": {name: evil for name in ["reasoning_effort", "model_identity", "date_string", "safety_mode", "citation_mode", "controls", "builtin_tools", "custom_tools", "x"]},
    }


def variants(request):
    """The request, and shorter ones for the templates that refuse a part of it."""
    yield request
    for keep in (["user", "assistant"], ["system", "user"], ["user"]):
        shorter = {**request, "messages": [m for m in request["messages"] if m["role"] in keep and "tool_calls" not in m]}
        yield shorter
        yield {**shorter, "messages": shorter["messages"][:2]}
        yield {**shorter, "messages": shorter["messages"][:1], "chat_template_kwargs": {}}
    yield {**request, "chat_template_kwargs": {"reasoning_effort": marked("<|end|>")}, "tools": None}


@pytest.mark.parametrize("name", CHAT)
def test_nothing_a_client_writes_is_trusted(engine, name):
    attacks = HOSTILE[:12] + ["user", "x"]
    asked = [variant for attack in attacks for form in (json.dumps, lambda a: a) for variant in variants(hostile_request(attack, form))]
    answers = requests(engine, name, asked)
    rendered = [answer for answer in answers if "error" not in answer]
    assert any(MARK in text for answer in rendered for text, trusted in answer if not trusted), answers[0]
    for answer in rendered:
        assert not any(MARK in text or MARK.lower() in text for text, trusted in answer if trusted), answer


@pytest.mark.parametrize("name", CHAT)
def test_images_are_refused_by_name(engine, name):
    content = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    (answer,) = requests(engine, name, [{"messages": [{"role": "user", "content": content}]}])
    assert answer == {"error": 'messages[0].content[1].type is "image_url"; this model takes text only', "code": "invalid_argument"}


TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Of a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Its name."}}, "required": ["city"]}}}]


def tool_conversation(name, argument_form):
    calls = [{"id": f"abcde123{i}", "type": "function", "function": {"name": "get_weather", "arguments": argument_form({"city": "K\u00f6ln", "days": [2, 0.5, None]})}} for i in range(2 if CAPABILITIES[name]["parallel_tool_calls"] else 1)]
    results = [{"role": "tool", "content": "rain", "tool_call_id": call["id"], "name": "get_weather"} for call in calls]
    answered = [{"role": "assistant", "content": "It rains."}, {"role": "user", "content": "Thanks"}]
    return {"messages": [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": None, "tool_calls": calls}, *results, *answered], "tools": TOOLS}


@pytest.mark.parametrize("name", [name for name in CHAT if CAPABILITIES[name]["tool_arguments"] != "none"])
def test_arguments_as_text_and_as_an_object_are_the_same_prompt(engine, name):
    as_text = tool_conversation(name, lambda arguments: json.dumps(arguments, ensure_ascii=False))
    as_object = tool_conversation(name, copy.deepcopy)
    first, second = (text_of(answer) for answer in requests(engine, name, [as_text, as_object]))
    assert first == second
    assert first is not None and "K\u00f6ln" in first


@pytest.mark.parametrize("name", CHAT)
def test_content_as_a_part_and_as_a_string_are_the_same_prompt(engine, name):
    as_string = {"messages": [{"role": "user", "content": "Hello there"}]}
    as_part = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hello there"}]}]}
    if CAPABILITIES[name]["documents"]:
        as_string["documents"] = as_part["documents"] = [{"title": "t", "text": "d"}]
    as_string["tools"] = as_part["tools"] = TOOLS
    first, second = (text_of(answer) for answer in requests(engine, name, [as_string, as_part]))
    assert first is not None and first == second


def called(**message):
    call = {"id": "abcde1230", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "K"}}}
    return [{"role": "user", "content": "Weather?"}, {"role": "assistant", "tool_calls": [call], **message}, {"role": "tool", "content": "rain", "tool_call_id": "abcde1230"}]


def test_gpt_oss_gets_its_effort_and_keeps_its_reasoning_until_it_has_answered(engine):
    answered = [{"role": "assistant", "content": "It rains.", "reasoning_content": "So."}, {"role": "user", "content": "Thanks"}]
    asked = [
        {"messages": called(reasoning_content="Hm."), "tools": TOOLS, "chat_template_kwargs": {"reasoning_effort": "high"}},
        {"messages": [*called(reasoning_content="Hm."), *answered], "tools": TOOLS},
        {"messages": called(content="I look.", reasoning_content="Hm."), "tools": TOOLS},
    ]
    high, later, both = (text_of(answer) for answer in requests(engine, "gpt_oss", asked))
    call = '<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city": "K"}<|call|>'
    assert "Reasoning: high\n" in high and "Reasoning: medium\n" in later
    assert "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>" + call in high
    assert call in later and "Hm." not in later and "So." not in later
    assert "<|start|>assistant<|channel|>analysis<|message|>Hm.\n\nI look.<|end|>" + call in both
    assert all(prompt.endswith("<|start|>assistant") for prompt in (high, later, both))


def test_hunyuan_refuses_an_effort_that_it_does_not_know(engine):
    asked = [{"messages": [{"role": "user", "content": "Hi"}], "chat_template_kwargs": {"reasoning_effort": effort}} for effort in ("medium", "low")]
    refused, low = requests(engine, "hy_v3", asked)
    assert refused["code"] == "invalid_argument" and "no_think, low or high" in refused["error"]
    assert text_of(low).endswith("<｜hy_Assistant:opensource｜><think:opensource>")
