"""Claude Code as a client: a conversation of twenty turns as it sends them finds what it has said before in the cache."""
import itertools
import json

import pytest
from running_server import events, read_all, unchunked

MESSAGES, COUNT = "/v1/messages", "/v1/messages/count_tokens"
CACHED = {"type": "ephemeral"}
TURNS = 20
RULES = "You are an agent that helps with programming. " + " ".join(f"Rule {i}: keep file {i} short, tested and documented." for i in range(40))
TOOLS = [{"name": name, "description": f"{name}: works on files of the project.", "eager_input_streaming": True,
          "input_schema": {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "required": ["path"]}}
         for name in ("Read", "Write", "Bash")]


def header(turn):
    return f"x-anthropic-billing-header: cc_version=2.1.76.b{turn:02}; cc_entrypoint=cli; cch={turn * 7919 % 1048576:05x};"


def in_blocks(turn):
    return [{"type": "text", "text": header(turn)}, {"type": "text", "text": "You are Claude Code.", "cache_control": CACHED},
            {"type": "text", "text": RULES, "cache_control": CACHED}]


def in_a_line(turn):
    return f"{header(turn)}\nYou are Claude Code.\n{RULES}"


def conversation():
    """The messages of one turn after the other: questions, calls of tools and their results; the last block is marked for the cache."""
    messages = []
    for turn in itertools.count():
        if turn % 2 == 0:
            block = {"type": "text", "text": f"Step {turn}: look at file {turn} and say what it does."}
        else:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": f"I read file {turn}."},
                                                              {"type": "tool_use", "id": f"toolu_{turn}", "name": "Read", "input": {"path": f"src/{turn}.cc"}}]})
            block = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": [{"type": "text", "text": f"line {turn} of the file\n" * 5}]}
        messages.append({"role": "user", "content": [block | {"cache_control": CACHED}]})
        yield list(messages)
        del messages[-1]["content"][0]["cache_control"]
        if turn % 2:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": f"File {turn} holds a loop."}]})


def usage_of(server, body):
    """What the answer counts: prompt tokens, and those of them that were in the cache."""
    if body.get("stream"):
        with server.open_stream(MESSAGES + "?beta=true", body, headers=["Connection: close", "anthropic-beta: claude-code-20250219"]) as plug:
            said = [data for _, data in events(unchunked(read_all(plug)))]
        assert said[-1] == {"type": "message_stop"}
        usage = next(data["usage"] for data in said if data["type"] == "message_delta")
    else:
        reply = server.post(MESSAGES + "?beta=true", body)
        assert reply.status == 200, reply
        usage = reply.json()["usage"]
    return usage["input_tokens"] + usage["cache_read_input_tokens"], usage["cache_read_input_tokens"]


def hits(server, system, stream):
    """The share of what the turn before had sent that was found again, of all turns."""
    before = found = could = 0
    for turn, messages in zip(range(TURNS), conversation()):
        prompt, cached = usage_of(server, {"model": "m", "max_tokens": 2, "temperature": 0, "stream": stream, "system": system(turn), "tools": TOOLS,
                                           "messages": messages, "metadata": {"user_id": "u"}})
        assert prompt > before
        found, could, before = found + min(cached, before), could + before, prompt
    return found / could


@pytest.fixture(scope="module")
def fresh(start):
    with start() as server:
        yield server


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("system", [in_blocks, in_a_line])
def test_twenty_turns_find_what_they_have_said_before(fresh, system, stream):
    assert hits(fresh, system, stream) >= 0.95
    assert fresh.text().count("x-anthropic-billing-header is kept out") == 1


def test_the_header_stays_where_it_is_wanted(start):
    with start("--keep-billing-header") as server:
        assert hits(server, in_blocks, False) < 0.2
        assert "x-anthropic-billing-header" not in server.text()


def test_the_header_is_not_counted_and_nothing_else_is_cut(server):
    ask = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}

    def count(system):
        return server.post(COUNT, ask | ({"system": system} if system is not None else {})).json()["input_tokens"]

    plain = count("Be brief.")
    assert count([{"type": "text", "text": "Be brief."}]) == plain
    for system in (f"{header(1)}\nBe brief.", [{"type": "text", "text": header(1)}, {"type": "text", "text": "Be brief."}],
                   [{"type": "text", "text": f"{header(1)}\nBe brief."}]):
        assert count(system) == plain
    assert count(header(1)) == count([{"type": "text", "text": header(1)}]) == count(None)
    for system in (f"Be brief.\n{header(1)}", f"x-anthropic-billing-header: what is it?\nBe brief.",
                   [{"type": "text", "text": "Be brief."}, {"type": "text", "text": header(1)}]):
        assert count(system) > plain + 5
    assert count([{"type": "text", "text": header(1)}, {"type": "text", "text": f"{header(2)}\nBe brief."}]) > plain + 5


def test_a_system_message_stays_in_its_place(server):
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}, {"role": "system", "content": [{"type": "text", "text": "Now be brief."}]},
            {"role": "user", "content": "What is the capital of France?"}]
    chat = [dict(message, content="Now be brief." if message["role"] == "system" else message["content"]) for message in talk]
    tokens = server.post("/tokenize", {"messages": chat}).json()["tokens"]
    text = server.post("/detokenize", {"tokens": tokens}).json()["text"]
    assert text.index("Hello!") < text.index("<|im_start|>system\nNow be brief.") < text.index("France")
    assert server.post(COUNT, {"messages": talk}).json()["input_tokens"] == len(tokens)
    reply = server.post(MESSAGES, {"messages": talk, "max_tokens": 8, "temperature": 0})
    assert reply.status == 200, reply
    for bad in ([{"type": "tool_use", "id": "a", "name": "f", "input": {}}], 1, None):
        error = server.post(MESSAGES, {"messages": [{"role": "system", "content": bad}], "max_tokens": 1}).error
        assert error["message"].startswith("messages[0].content"), json.dumps(error)
