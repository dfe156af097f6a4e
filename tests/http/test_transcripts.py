"""What is sent for streams, byte for byte: ids, times and the digits of logarithms replaced, nothing else.

    pytest tests/http/test_transcripts.py --write-transcripts     after a change that is meant
"""
import json
import pathlib
import re

import pytest
from running_server import read_all, statuses, unchunked

FOLDER = pathlib.Path(__file__).parent / "transcripts"
CHAT, TEXT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"
ASK = [{"role": "user", "content": "What is the capital of France?"}]
PROMPT = "The capital of France is"
USAGE = {"stream_options": {"include_usage": True}}
CONTINUOUS = {"stream_options": {"include_usage": True, "continuous_usage_stats": True}}
CASES = {
    "chat": (CHAT, {"messages": ASK}),
    "chat_to_its_end": (CHAT, {"messages": ASK, "max_tokens": 40}),
    "chat_usage": (CHAT, {"messages": ASK} | USAGE),
    "chat_continuous_usage": (CHAT, {"messages": ASK} | CONTINUOUS),
    "chat_two_answers": (CHAT, {"messages": ASK, "n": 2} | USAGE),
    "chat_logprobs": (CHAT, {"messages": ASK, "logprobs": True, "top_logprobs": 1, "max_tokens": 3}),
    "chat_stop": (CHAT, {"messages": ASK, "stop": [" France"]}),
    "chat_stop_included": (CHAT, {"messages": ASK, "stop": [" France"], "include_stop_str_in_output": True}),
    "chat_token_ids": (CHAT, {"messages": ASK, "return_token_ids": True, "max_tokens": 3}),
    "chat_interval": (CHAT, {"messages": ASK, "stream_interval": 3}),
    "chat_system": (CHAT, {"messages": [{"role": "system", "content": "Be brief."}] + ASK}),
    "chat_continued": (CHAT, {"messages": ASK + [{"role": "assistant", "content": PROMPT}], "continue_final_message": True,
                              "add_generation_prompt": False, "max_tokens": 3}),
    "completion": (TEXT, {"prompt": PROMPT}),
    "completion_usage": (TEXT, {"prompt": PROMPT} | USAGE),
    "completion_continuous_usage": (TEXT, {"prompt": PROMPT} | CONTINUOUS),
    "completion_two_prompts": (TEXT, {"prompt": [PROMPT, PROMPT], "max_tokens": 2} | USAGE),
    "completion_two_answers": (TEXT, {"prompt": PROMPT, "n": 2, "max_tokens": 2}),
    "completion_logprobs": (TEXT, {"prompt": PROMPT, "logprobs": 1, "max_tokens": 3}),
    "completion_echo": (TEXT, {"prompt": PROMPT, "echo": True, "max_tokens": 2}),
    "completion_echo_logprobs": (TEXT, {"prompt": PROMPT, "echo": True, "logprobs": 0, "max_tokens": 2}),
    "completion_stop": (TEXT, {"prompt": PROMPT, "stop": "."}),
    "completion_stop_token": (TEXT, {"prompt": PROMPT, "stop_token_ids": [30], "max_tokens": 12}),
    "completion_token_ids": (TEXT, {"prompt": PROMPT, "return_token_ids": True, "max_tokens": 2}),
    "completion_as_token_ids": (TEXT, {"prompt": PROMPT, "return_tokens_as_token_ids": True, "logprobs": 1, "max_tokens": 2}),
    "messages": (MESSAGES, {"messages": ASK}),
    "messages_to_its_end": (MESSAGES, {"messages": ASK, "max_tokens": 40}),
    "messages_stop": (MESSAGES, {"messages": ASK, "stop_sequences": [" France"]}),
    "messages_system": (MESSAGES, {"messages": ASK, "system": "Be brief."}),
    "messages_prefilled": (MESSAGES, {"messages": ASK + [{"role": "assistant", "content": PROMPT}], "max_tokens": 3}),
    "responses": (RESPONSES, {"input": ASK[0]["content"]}),
    "responses_to_its_end": (RESPONSES, {"input": ASK[0]["content"], "max_output_tokens": 40}),
    "responses_instructions": (RESPONSES, {"input": ASK, "instructions": "Be brief."}),
}


@pytest.fixture(scope="module")
def plain(start):
    """Nothing is cached, so that counts are always the same."""
    with start("--no-prefix-caching") as running:
        yield running


def settled(text):
    """What differs from one run to the next."""
    text = re.sub(r'"(chatcmpl-|cmpl-|msg_|resp_)[0-9a-f]{16}"', r'"\1ID"', text)
    text = re.sub(r'"(created|created_at)":\d+', r'"\1":0', text)
    return re.sub(r"-?\d+\.\d{4,}(e-\d+)?|-?\d+(\.\d+)?e-\d+", "-0.0", text)


@pytest.mark.parametrize("name", CASES)
def test_a_stream_is_this_to_the_byte(plain, request, name):
    path, body = CASES[name]
    longest = "max_output_tokens" if path == RESPONSES else "max_tokens"
    body = {"model": "m", "temperature": 0, "stream": True, longest: 6} | body
    with plain.open_stream(path, body, headers=["Connection: close"]) as plug:
        received = read_all(plug)
    assert statuses(received) == [200], received
    head = received.partition(b"\r\n\r\n")[0].decode()
    assert "\r\ncontent-type: text/event-stream; charset=utf-8\r\n" in head and "\r\ncache-control: no-cache" in head
    text = settled(unchunked(received).decode())
    if "two_prompts" in name:  # each of which goes its own way
        blocks = text.split("\n\n")
        text = "\n\n".join(sorted(blocks, key=lambda block: (re.findall(r'"index":(\d)', block) or ["9"])[0]))
    file = FOLDER / f"{name}.txt"
    if request.config.getoption("--write-transcripts", False):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(text)
    assert text == file.read_text()


@pytest.mark.parametrize("name", [name for name in CASES if "two_answers" not in name])
def test_a_stream_says_what_the_whole_answer_says(plain, name):
    path, body = CASES[name]
    longest = "max_output_tokens" if path == RESPONSES else "max_tokens"
    body = {"model": "m", "temperature": 0, longest: 6} | {key: value for key, value in body.items() if key != "stream_options"}
    whole = plain.post(path, body).json()
    if path == CHAT:
        text, end = whole["choices"][0]["message"]["content"], whole["choices"][0]["finish_reason"]
    elif path == TEXT:
        text, end = "".join(choice["text"] for choice in whole["choices"]), whole["choices"][0]["finish_reason"]
    elif path == MESSAGES:
        text, end = whole["content"][0]["text"], whole["stop_reason"]
    else:
        text, end = whole["output"][0]["content"][0]["text"], whole["status"]

    streamed = ""
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        if not line.startswith("data: {"):
            continue
        event = json.loads(line[6:])
        for choice in event.get("choices", []):
            streamed += choice["delta"].get("content", "") if path == CHAT else choice["text"]
        if event.get("type") == "content_block_delta":
            streamed += event["delta"]["text"]
        if event.get("type") == "response.output_text.delta":
            streamed += event["delta"]
        if any(choice.get("finish_reason") == end for choice in event.get("choices", [])):
            end = None
        if event.get("type") == "message_delta" and event["delta"]["stop_reason"] == end or event.get("type") == f"response.{end}":
            end = None
    assert streamed == text and end is None
