"""Reasoning apart from the answer. The model of the tests was not trained to; where the text it may write begins with a tag, it takes it."""
from running_server import events, read_all, unchunked

CHAT = "/v1/chat/completions"
BODY = {"messages": [{"role": "user", "content": "Hi"}], "temperature": 0, "max_tokens": 60, "regex": "<think>\nhm hm\n</think>\n\nyes"}
TEXT = "<think>\nhm hm\n</think>\n\nyes"


def test_reasoning_comes_apart_from_the_content(start):
    """A constraint holds for what comes after reasoning, which is free: so the tag may come twice, and the second is content."""
    with start("--reasoning-parser", "qwen3") as server:
        reply = server.post(CHAT, BODY).json()
        message, usage = reply["choices"][0]["message"], reply["usage"]
        assert message["content"] in (TEXT, "yes") and message["reasoning_content"] == message["reasoning"] != ""
        assert 0 < usage["completion_tokens_details"]["reasoning_tokens"] < usage["completion_tokens"]

        with server.open_stream(CHAT, BODY | {"stream": True}, headers=["Connection: close"]) as plug:
            deltas = [data["choices"][0]["delta"] for _, data in events(unchunked(read_all(plug))) if isinstance(data, dict)]
        assert "".join(delta.get("content") or "" for delta in deltas) == message["content"]
        assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == message["reasoning"]
        assert not any("content" in delta and "reasoning_content" in delta for delta in deltas)

        hidden = server.post(CHAT, BODY | {"include_reasoning": False}).json()["choices"][0]["message"]
        assert hidden["content"] == message["content"] and "reasoning_content" not in hidden
        together = server.post(CHAT, BODY | {"separate_reasoning": False}).json()["choices"][0]["message"]
        assert together["content"] == TEXT and "reasoning_content" not in together
        # Its vocabulary has no token that ends reasoning.
        assert server.post(CHAT, BODY | {"thinking_token_budget": 4}).error["param"] == "thinking_token_budget"


def test_without_a_parser_it_is_content(server):
    message = server.post(CHAT, BODY).json()["choices"][0]["message"]
    assert message["content"] == TEXT and "reasoning_content" not in message
