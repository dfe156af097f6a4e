"""Every field that this server takes and does not do is refused as far as it asks for anything, or listed in X-Ignored-Params. Which of the two the
schemas say, in /openapi.json as x-not-done: what they say is held here against what the server does, field by field."""
import json

import pytest
from running_server import events, read_all, unchunked
from test_bad_values import CHAT, EMBED, GOOD, MESSAGES, RESPONSES, TEXT

COUNT, UNLOAD = "/v1/messages/count_tokens", "/v1/unload_lora_adapter"
USUAL = {UNLOAD: 404}  # where it is not 200: no adapter of that name is loaded
BODIES = GOOD | {COUNT: {"messages": [{"role": "user", "content": "Hi"}]}, "/v1/sessions": {}, UNLOAD: {"lora_name": "none"}}
NOTHING = [True, False, 7, -1, 1.5, "bogus", "", "auto", [], ["bogus"], [{}], {}, {"bogus": 1}, {"edits": [{"type": "clear_tool_uses_20250919"}]},
           {"edits": [{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 1}}]}, {"id": "c_1"}]
OF_TYPE = {"object": [{}, {"user_id": "u"}], "string": ["", "x"], "boolean": [True, False], "integer": [3], "array": [[]]}

SERVING = {"user": "listed", "safety_identifier": "listed", "metadata": "listed", "store": "listed", "service_tier": "listed", "prompt_cache_key": "listed",
           "prompt_cache_retention": "listed", "vllm_xargs": "refused", "kv_transfer_params": "refused"}
STREAM = {"stream_options.include_obfuscation": "listed"}
GUIDED = {"guided_decoding_backend": "listed", "guided_whitespace_pattern": "refused"}
PROMPT = {"chat_template": "refused", "echo": "refused"}
NOT_DONE = {
    CHAT: SERVING | STREAM | GUIDED | PROMPT | {"verbosity": "listed", "prediction": "listed", "modalities": "refused", "audio": "refused",
                                                "web_search_options": "refused", "functions": "refused", "function_call": "refused"},
    TEXT: SERVING | STREAM | GUIDED,
    EMBED: SERVING,
    RESPONSES: SERVING | STREAM | {"include": "listed", "text.verbosity": "listed", "reasoning.summary": "listed", "reasoning.generate_summary": "listed",
                                   "max_tool_calls": "listed", "previous_response_id": "refused", "conversation": "refused", "prompt": "refused",
                                   "background": "refused"},
    MESSAGES: {"cache_control": "listed", "thinking.display": "listed", "metadata": "listed", "service_tier": "listed", "container": "refused",
               "mcp_servers": "refused", "context_management": "refused"},
    COUNT: {"cache_control": "listed", "thinking.display": "listed"},
    "/tokenize": PROMPT,
    UNLOAD: {"lora_int_id": "listed"},
}


def properties(schema, prefix=""):
    for name, shape in schema.get("properties", {}).items():
        yield prefix + name, shape
        if shape.get("type") == ["object", "null"]:
            yield from properties(shape, prefix + name + ".")


@pytest.fixture(scope="module")
def schemas(server):
    """{route: {field: JSON Schema}} of all bodies."""
    paths = server.call("GET", "/openapi.json").json()["paths"]
    bodies = {path: one["post"]["requestBody"]["content"]["application/json"]["schema"] for path, one in paths.items() if "requestBody" in one.get("post", {})}
    return {path: dict(properties(schema)) for path, schema in bodies.items()}


def test_what_is_not_done_is_written_down_here(schemas):
    found = {path: {name: shape["x-not-done"] for name, shape in fields.items() if "x-not-done" in shape} for path, fields in schemas.items()}
    assert {path: fields for path, fields in found.items() if fields} == NOT_DONE
    silent = [(path, name) for path, fields in schemas.items() for name, shape in fields.items()
              if "no effect" in shape.get("description", "") and "x-not-done" not in shape]
    assert not silent


def with_field(path, name, value):
    body = dict(BODIES[path])
    outer, _, inner = name.partition(".")
    if inner:
        value = ({"type": "enabled"} if outer == "thinking" else {}) | {inner: value}
    return body | {outer: value}


def ask(server, path, name, value):
    reply = server.post(path, with_field(path, name, value))
    return reply, name in reply.headers.get("x-ignored-params", "").split(", ")


def refused(reply, name):
    named = reply.error.get("param") or reply.error["message"]
    return reply.status == 400 and named.startswith(name)


def taken_of(shape):
    """Values that ask for something, and are taken all the same."""
    neutral = shape.get("x-neutral", [])
    if "enum" in shape:
        return [value for value in shape["enum"] if value is not None and value not in neutral]
    if "items" in shape:
        return [shape["items"]["enum"]]
    kinds = shape["type"] if isinstance(shape["type"], list) else [shape["type"]]
    return [value for kind in kinds for value in OF_TYPE.get(kind, []) if value not in neutral]


def is_same(a, b):
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("path", NOT_DONE)
def test_refused_fields_take_what_asks_for_nothing_and_no_more(server, schemas, path):
    wrong, checked = [], 0
    for name, shape in schemas[path].items():
        if shape.get("x-not-done") != "refused":
            continue
        for value in shape["enum"]:
            reply, listed = ask(server, path, name, value)
            wrong += [(name, value, reply)] if reply.status != USUAL.get(path, 200) or listed else []
        for value in NOTHING:
            if any(is_same(value, neutral) for neutral in shape["enum"]):
                continue
            reply, _ = ask(server, path, name, value)
            checked += 1
            wrong += [(name, value, reply)] if not refused(reply, name) or reply.error.get("code", "unsupported") != "unsupported" else []
    assert not wrong and (checked > 10 or not any(kind == "refused" for kind in NOT_DONE[path].values()))


@pytest.mark.parametrize("path", NOT_DONE)
def test_listed_fields_are_listed_unless_they_ask_for_nothing(server, schemas, path):
    wrong = []
    for name, shape in schemas[path].items():
        if shape.get("x-not-done") != "listed":
            continue
        for value in [None, *shape.get("x-neutral", [])]:
            reply, listed = ask(server, path, name, value)
            wrong += [(name, value, reply)] if reply.status != USUAL.get(path, 200) or listed else []
        taken = taken_of(shape)
        assert taken, name
        for value in taken:
            reply, listed = ask(server, path, name, value)
            wrong += [(name, value, reply)] if reply.status != USUAL.get(path, 200) or not listed else []
        others = [7, ["bogus"]] + (["bogus"] if "enum" in shape else []) if "integer" not in shape.get("type", []) else ["bogus", 1.5]
        for value in others:
            reply, _ = ask(server, path, name, value)
            wrong += [(name, value, reply)] if not refused(reply, name) else []
    assert not wrong


@pytest.mark.parametrize("path, name, values", [
    (CHAT, "service_tier", ["flex", "priority", "scale"]), (RESPONSES, "service_tier", ["flex"]), (MESSAGES, "service_tier", ["priority"]),
    (RESPONSES, "include", [["message.output_text.logprobs"], ["reasoning.encrypted_content", "file_search_call.results"]]),
    (CHAT, "modalities", [["text", "audio"]]), (MESSAGES, "context_management", [{"edits": [{"type": "clear_tool_uses_20250919"}]}])])
def test_what_would_change_the_answer_is_refused(server, path, name, values):
    for value in values:
        reply, _ = ask(server, path, name, value)
        assert refused(reply, name) and "not supported" in reply.error["message"], (value, reply)


def test_members_that_nobody_knows_are_listed_with_their_objects(server):
    def ignored(path, more):
        reply = server.post(path, BODIES[path] | more)
        assert reply.status == 200, reply
        return reply.headers.get("x-ignored-params")

    assert ignored(RESPONSES, {"text": {"style": 1}, "reasoning": {"effort": "low", "depth": 2}, "text.format": 1}) == "text.style, reasoning.depth, text.format"
    assert ignored(CHAT, {"stream_options": {"include_all": True}, "structured_outputs": {"regex": "a", "_backend": "x"}}) == \
        "stream_options.include_all, structured_outputs._backend"
    assert ignored(MESSAGES, {"tools": [{"name": "f", "input_schema": {}, "defer_loading": True, "cache_control": {"type": "ephemeral"}}]}) == "tools.defer_loading"
    for path in (COUNT, "/tokenize", "/detokenize", "/v1/sessions"):
        assert ignored(path, {"bogus": 1}) == "bogus"


def test_strict_is_about_names_that_nobody_knows(start):
    with start("--strict-params") as server:
        harmless = {"user": "u", "store": True, "metadata": {"a": "b"}, "service_tier": "auto"}
        reply = server.post(CHAT, GOOD[CHAT] | harmless)
        assert reply.status == 200 and set(reply.headers["x-ignored-params"].split(", ")) == set(harmless)
        for path, bogus in [(CHAT, {"stream_options": {"bogus": 1}}), (RESPONSES, {"text": {"bogus": 1}}), (MESSAGES, {"bogus": 1}), (COUNT, {"bogus": 1}),
                            ("/tokenize", {"bogus": 1}), ("/detokenize", {"bogus": 1}), ("/v1/sessions", {"bogus": 1})]:
            reply = server.post(path, BODIES[path] | bogus)
            assert reply.status == 400 and "does not know" in reply.error["message"], (path, reply)


@pytest.mark.parametrize("path, kind", [
    *((RESPONSES, kind) for kind in ("web_search", "web_search_preview", "file_search", "code_interpreter", "mcp", "computer_use_preview", "custom", "local_shell")),
    *((MESSAGES, kind) for kind in ("web_search_20250305", "code_execution_20250825", "bash_20250124", "text_editor_20250728", "memory_20250818"))])
def test_tools_of_a_service_are_refused_by_name(server, path, kind):
    own = {"type": "function", "name": "f", "parameters": {}} if path == RESPONSES else {"name": "f", "input_schema": {}}
    reply = server.post(path, GOOD[path] | {"tools": [own, {"type": kind, "name": "x"}]})
    assert refused(reply, "tools[1].type") and kind in reply.error["message"]
    shouted = server.post(path, GOOD[path] | {"tools": [{"type": "<SECRET>"}]})
    assert shouted.status == 400 and "SECRET" not in shouted.body.decode()


def test_the_format_of_an_answer_is_kept_on_messages(server):
    schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"], "additionalProperties": False}
    wanted = {"type": "json_schema", "schema": schema}
    ask_it = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "max_tokens": 60, "temperature": 0}
    for field in ({"output_config": {"format": wanted}}, {"output_config": {"format": wanted, "effort": "max"}}, {"output_format": wanted}):
        reply = server.post(MESSAGES, ask_it | field)
        assert reply.status == 200 and "x-ignored-params" not in reply.headers, reply
        assert set(json.loads(reply.json()["content"][0]["text"])) == {"city"}
    for field, bad in [("output_config.format.type", {"output_config": {"format": {"type": "text"}}}), ("output_config.effort", {"output_config": {"effort": "much"}}),
                       ("output_config.format.schema", {"output_config": {"format": {"type": "json_schema"}}}), ("output_config", {"output_config": 1}),
                       ("output_config.format.schema and output_format.schema exclude", {"output_format": wanted, "output_config": {"format": wanted}})]:
        assert refused(server.post(MESSAGES, ask_it | bad), field), (field, server.post(MESSAGES, ask_it | bad))


def test_a_conversation_too_long_loses_its_oldest_turns(start):
    def talk(turns):
        said = [{"role": "developer", "content": "Be brief."}]
        for turn in range(turns):
            said += [{"role": "user", "content": f"Say {turn}. " + "Please. " * 40}, {"role": "assistant", "content": f"{turn}"}]
        return said + [{"role": "user", "content": "What is the capital of France?"}]

    with start("--max-model-len", "1024") as server:
        body = {"input": talk(20), "instructions": "You are kind.", "max_output_tokens": 16, "temperature": 0}
        for disabled in ({}, {"truncation": "disabled"}, {"truncation": None}):
            assert server.post(RESPONSES, body | disabled).error["code"] == "context_length_exceeded"
        assert refused(server.post(RESPONSES, body | {"truncation": "bogus"}), "truncation")
        reply = server.post(RESPONSES, body | {"truncation": "auto"})
        assert reply.status == 200 and "x-ignored-params" not in reply.headers, reply
        answer = reply.json()
        assert answer["truncation"] == "auto"
        assert 800 < answer["usage"]["input_tokens"] <= 1024 - 16  # no more is left out than must be
        few = server.post(RESPONSES, body | {"input": talk(2), "truncation": "auto"}).json()
        assert few["usage"]["input_tokens"] == server.post(RESPONSES, body | {"input": talk(2)}).json()["usage"]["input_tokens"]
        unnamed = {k: v for k, v in body.items() if k != "max_output_tokens"}
        answer = server.post(RESPONSES, unnamed | {"truncation": "auto"}).json()
        assert answer["usage"]["input_tokens"] <= 1024 - 128
        last_alone = body | {"input": talk(3)[:1] + [{"role": "user", "content": "a " * 3000}], "truncation": "auto"}
        assert server.post(RESPONSES, last_alone).error["code"] == "context_length_exceeded"
        with server.open_stream(RESPONSES, body | {"truncation": "auto", "stream": True}, headers=["Connection: close"]) as plug:
            assert events(unchunked(read_all(plug)))[-1][1]["response"]["truncation"] == "auto"
