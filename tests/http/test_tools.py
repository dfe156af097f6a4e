"""Calls of tools with a real model whose template knows none: what is demanded comes, in every dialect, whole and as a stream."""
import json

import pytest
from running_server import events, read_all, unchunked

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 40}, "unit": {"enum": ["c", "f"]}},
          "required": ["city", "unit"], "additionalProperties": False}
WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city", "parameters": SCHEMA}}
TIME = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}
ASK = [{"role": "user", "content": "What is the weather in Paris?"}]
SURE = {"messages": ASK, "temperature": 0, "max_tokens": 120}
NAMED = {"type": "function", "function": {"name": "get_time"}}


def streamed(server, path, body):
    with server.open_stream(path, body | {"stream": True}, headers=["Connection: close"]) as plug:
        return [(name, data) for name, data in events(unchunked(read_all(plug)))]


def chat(server, **more):
    reply = server.post(CHAT, SURE | more)
    assert reply.status == 200, reply
    return reply.json()["choices"]


def gathered(chunks):
    """What the deltas of a stream add up to: messages by index, and their finish reasons."""
    messages, ends = {}, {}
    for _, chunk in chunks:
        for choice in chunk["choices"] if isinstance(chunk, dict) else []:
            message = messages.setdefault(choice["index"], {"content": "", "calls": []})
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            for call in delta.get("tool_calls", []):
                if "id" in call:
                    assert call["index"] == len(message["calls"]) and call["type"] == "function"
                    message["calls"].append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
                message["calls"][call["index"]]["arguments"] += call["function"]["arguments"]
            if choice["finish_reason"]:
                ends[choice["index"]] = choice["finish_reason"]
    return messages, ends


def check_weather(arguments):
    assert set(arguments) == {"city", "unit"} and arguments["unit"] in ("c", "f") and len(arguments["city"]) <= 40


def test_a_demanded_call_comes_and_fits_its_schema(server):
    choice = chat(server, tools=[WEATHER], tool_choice="required", parallel_tool_calls=False)[0]
    calls = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
    assert calls[0]["type"] == "function" and calls[0]["id"] and calls[0]["function"]["name"] == "get_weather"
    check_weather(json.loads(calls[0]["function"]["arguments"]))


def test_what_a_tool_says_beyond_grammars_is_left_out_and_told_or_refused(server):
    tags = {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 2, "uniqueItems": True}
    for parameters, told in ((SCHEMA | {"properties": {"tags": tags}, "required": []}, "/tools/tag/properties/tags/uniqueItems"),
                             ({"type": "object", "properties": {"a": {"$ref": "https://example.com/a"}}}, "/tools/tag/properties/a/$ref"),
                             ({"type": "object", "properties": {"a": {"type": "no such"}}}, "/tools/tag")):
        tool = {"type": "function", "function": {"name": "tag", "parameters": parameters}}
        asked = SURE | {"tools": [tool], "tool_choice": "required", "parallel_tool_calls": False, "max_tokens": 40}
        reply = server.post(CHAT, asked)
        assert reply.status == 200 and reply.headers["x-ignored-schema-keywords"] == told
        tool["function"]["strict"] = True
        reply = server.post(CHAT, asked)
        assert reply.status == 400 and "tool tag" in reply.json()["error"]["message"]


def test_a_call_demanded_by_name_is_that_one_and_ends_with_stop(server):
    choice = chat(server, tools=[WEATHER, TIME], tool_choice=NAMED)[0]
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["get_time"]
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == {}
    assert choice["finish_reason"] == "stop"


def test_only_allowed_tools_are_called(server):
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "get_time"}]}
    choice = chat(server, tools=[WEATHER, TIME], tool_choice=allowed, parallel_tool_calls=False)[0]
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["get_time"]


def test_a_stream_of_calls_adds_up_to_the_whole(server):
    body = {"tools": [WEATHER, TIME], "tool_choice": "required", "parallel_tool_calls": False}
    whole = chat(server, **body)[0]
    chunks = streamed(server, CHAT, SURE | body)
    messages, ends = gathered(chunks)
    call = whole["message"]["tool_calls"][0]["function"]
    assert [(one["name"], one["arguments"]) for one in messages[0]["calls"]] == [(call["name"], call["arguments"])]
    assert messages[0]["content"] == "" and ends == {0: "tool_calls"}
    assert chunks[-2][1]["choices"][0]["delta"] == {}, "the end is a chunk of its own"


def test_several_answers_have_their_own_calls(server):
    body = {"tools": [WEATHER], "tool_choice": "required", "parallel_tool_calls": False, "n": 3, "temperature": 1.0, "seed": 3}
    choices = chat(server, **body)
    messages, _ = gathered(streamed(server, CHAT, SURE | body))
    ids = set()
    for choice in choices:
        call = choice["message"]["tool_calls"][0]
        ids.add(call["id"])
        check_weather(json.loads(call["function"]["arguments"]))
        assert messages[choice["index"]]["calls"][0]["arguments"] == call["function"]["arguments"]
    assert len(ids) == 3


def test_with_auto_the_model_may_answer_in_words_and_with_none_it_must(server):
    for choice in ("auto", "none"):
        answer = chat(server, tools=[WEATHER], tool_choice=choice, max_tokens=16)[0]
        assert answer["message"]["content"] or answer["message"].get("tool_calls")
        assert choice == "auto" or "tool_calls" not in answer["message"]
    assert chat(server, tools=[WEATHER], tool_choice="none")[0]["message"] == chat(server)[0]["message"]


def test_a_conversation_with_calls_and_results_goes_on(server):
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\", \"unit\": \"c\"}"}}
    messages = ASK + [{"role": "assistant", "content": None, "tool_calls": [call]},
                      {"role": "tool", "tool_call_id": "call_1", "content": "17 degrees and rain"}]
    reply = server.post(CHAT, SURE | {"messages": messages, "tools": [WEATHER], "max_tokens": 24})
    assert reply.status == 200, reply
    longer = reply.json()["usage"]["prompt_tokens"]
    assert longer > server.post(CHAT, SURE | {"tools": [WEATHER], "max_tokens": 1}).json()["usage"]["prompt_tokens"]


def test_logarithms_list_all_tokens_of_a_call(server):
    choice = chat(server, tools=[TIME], tool_choice=NAMED, logprobs=True)[0]
    said = "".join(one["token"] for one in choice["logprobs"]["content"])
    assert '"name"' in said and "get_time" in said


def test_anthropic_spells_calls_its_own_way(server):
    tool = {"name": "get_weather", "description": "The weather", "input_schema": SCHEMA}
    body = {"messages": ASK, "max_tokens": 120, "temperature": 0, "tools": [tool], "tool_choice": {"type": "any", "disable_parallel_tool_use": True}}
    message = server.post(MESSAGES, body).json()
    assert message["stop_reason"] == "tool_use" and [block["type"] for block in message["content"]] == ["tool_use"]
    check_weather(message["content"][0]["input"])
    told = streamed(server, MESSAGES, body)
    start = [data for name, data in told if name == "content_block_start"]
    assert [block["content_block"]["type"] for block in start] == ["tool_use"] and start[0]["content_block"]["input"] == {}
    written = "".join(data["delta"]["partial_json"] for name, data in told if name == "content_block_delta")
    assert json.loads(written) == message["content"][0]["input"]
    after = ASK + [{"role": "assistant", "content": message["content"]},
                   {"role": "user", "content": [{"type": "tool_result", "tool_use_id": message["content"][0]["id"],
                                                 "content": [{"type": "text", "text": "17 degrees"}]}]}]
    reply = server.post(MESSAGES, {"messages": after, "max_tokens": 12, "tools": [tool]})
    assert reply.status == 200, reply


def test_responses_have_calls_as_items(server):
    tool = {"type": "function"} | WEATHER["function"]
    body = {"input": ASK[0]["content"], "max_output_tokens": 120, "temperature": 0, "tools": [tool],
            "tool_choice": {"type": "function", "name": "get_weather"}}
    whole = server.post(RESPONSES, body).json()
    assert [item["type"] for item in whole["output"]] == ["function_call"] and whole["output"][0]["name"] == "get_weather"
    check_weather(json.loads(whole["output"][0]["arguments"]))
    told = streamed(server, RESPONSES, body)
    names = [name for name, _ in told]
    assert names[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert names[-3:] == ["response.function_call_arguments.done", "response.output_item.done", "response.completed"]
    written = "".join(data["delta"] for name, data in told if name == "response.function_call_arguments.delta")
    assert written == whole["output"][0]["arguments"] == told[-1][1]["response"]["output"][0]["arguments"]
    assert [data["sequence_number"] for _, data in told] == list(range(len(told)))
    call = whole["output"][0]
    after = {"input": [ASK[0], call, {"type": "function_call_output", "call_id": call["call_id"], "output": "17 degrees"}], "tools": [tool],
             "max_output_tokens": 12}
    reply = server.post(RESPONSES, after)
    assert reply.status == 200, reply


BAD_TOOLS = {
    "tools[0]": [1], "tools[0].type": [{"type": "x"}], "tools[0].function": [{"type": "function"}],
    "tools[0].function.name": [{"type": "function", "function": {"name": "a b"}}],
    "tools[0].function.parameters": [{"type": "function", "function": {"name": "f", "parameters": []}}],
    "tools[0].function.strict": [{"type": "function", "function": {"name": "f", "strict": 1}}],
    "tools[1]": [TIME, TIME], "tools": [TIME] * 129,
}


@pytest.mark.parametrize("param", BAD_TOOLS)
def test_bad_tools_are_refused_by_name(server, param):
    error = server.post(CHAT, SURE | {"tools": BAD_TOOLS[param]}).error
    assert error["param"] == param and error["type"] == "invalid_request_error"


@pytest.mark.parametrize("choice", ["required", "any", 1, {}, {"type": "function"}, {"type": "function", "function": {"name": "nobody"}},
                                    {"type": "allowed_tools", "mode": "x", "tools": []}])
def test_bad_choices_are_refused_by_name(server, choice):
    more = {} if choice == "required" else {"tools": [WEATHER]}
    reply = server.post(CHAT, SURE | {"tool_choice": choice} | more)
    assert reply.status == 400 and reply.error["param"].startswith("tool_choice"), reply


def test_a_demanded_call_and_a_response_format_exclude_each_other(server):
    reply = server.post(CHAT, SURE | {"tools": [TIME], "tool_choice": "required", "response_format": {"type": "json_object"}})
    assert reply.status == 400 and reply.error["param"] == "response_format"


def test_parsers_have_names(start):
    with start("--tool-call-parser", "llama3_json", "--reasoning-parser", "qwen3") as server:
        body = {"tools": [TIME], "tool_choice": NAMED}
        assert chat(server, **body)[0]["message"]["tool_calls"][0]["function"]["name"] == "get_time"
    with start("--tool-call-parser", "none") as server:
        assert server.post(CHAT, SURE | {"tools": [TIME]}).error["param"] == "tools"
        assert server.post(CHAT, SURE | {"tools": [TIME], "tool_choice": "none", "max_tokens": 1}).status == 200


def test_where_the_first_word_decides_a_call_that_is_begun_is_finished_and_words_are_free(start):
    with start("--tool-call-parser", "functionary_v3") as server:

        def begun_with(word, **more):
            """The answer of a model that likes one token above all."""
            token = server.post("/tokenize", {"prompt": word, "add_special_tokens": False}).json()["tokens"][0]
            return chat(server, tools=[WEATHER], tool_choice="auto", parallel_tool_calls=False, logit_bias={str(token): 100}, **more)[0]

        choice = begun_with("get_weather")
        assert choice["finish_reason"] == "tool_calls"
        check_weather(json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]))
        message = begun_with("all", max_tokens=8)["message"]
        assert message["content"] and "tool_calls" not in message
