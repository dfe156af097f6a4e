"""The anthropic package for Python as its users use it."""
import asyncio

import anthropic
import pytest

ASK = [{"role": "user", "content": "What is the capital of France?"}]
# This version of the package has dropped the fields of sampling; the API takes them still.
SURE = {"model": "m", "max_tokens": 12, "extra_body": {"temperature": 0}}


@pytest.fixture(scope="module")
def client(guarded, key):
    with anthropic.Anthropic(base_url=guarded.url, api_key=key, max_retries=0, timeout=60) as made:
        yield made


def test_a_message_whole(client):
    message = client.messages.create(messages=ASK, **SURE)
    assert message.type == "message" and message.role == "assistant" and message.model == "m"
    assert message.content[0].type == "text" and "Paris" in message.content[0].text
    assert message.stop_reason in ("end_turn", "max_tokens")
    assert message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0) > 0 and message.usage.output_tokens > 0
    assert message._request_id


def test_a_message_streamed_says_the_same(client):
    whole = client.messages.create(messages=ASK, **SURE)
    with client.messages.stream(messages=ASK, **SURE) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == final.content[0].text == whole.content[0].text
    assert final.stop_reason == whole.stop_reason and final.usage.output_tokens == whole.usage.output_tokens
    raw = [event.type for event in client.messages.create(messages=ASK, stream=True, **SURE)]
    assert raw[:2] == ["message_start", "content_block_start"] and raw[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(raw[2:-3]) == {"content_block_delta"}


def test_the_system_prompt_counts_and_is_heard(client):
    counts = [client.messages.count_tokens(model="m", messages=ASK, **more).input_tokens
              for more in ({"system": "Say: yes."}, {"system": [{"type": "text", "text": "Say: yes."}]}, {"system": "Say: yes. " * 10})]
    assert counts[0] == counts[1] < counts[2]
    message = client.messages.create(messages=ASK, system="Say: yes. " * 10, **SURE)
    assert message.usage.input_tokens + message.usage.cache_read_input_tokens == counts[2]


def test_a_stop_sequence_ends_the_answer_and_is_named(client):
    whole = client.messages.create(messages=ASK, **SURE).content[0].text
    stop = whole.split()[2]
    message = client.messages.create(messages=ASK, stop_sequences=[stop], **SURE)
    assert message.content[0].text == whole[:whole.index(stop)]
    assert message.stop_reason == "stop_sequence" and message.stop_sequence == stop
    with client.messages.stream(messages=ASK, stop_sequences=[stop], **SURE) as stream:
        final = stream.get_final_message()
    assert final.stop_reason == "stop_sequence" and final.stop_sequence == stop and final.content[0].text == message.content[0].text


def test_an_answer_that_has_begun_goes_on(client):
    message = client.messages.create(messages=ASK + [{"role": "assistant", "content": "The capital of France is"}], **SURE)
    assert "Paris" in message.content[0].text and not message.content[0].text.startswith("The capital")


def test_blocks_as_agents_send_them(client):
    talk = [{"role": "user", "content": [{"type": "text", "text": "Hello.", "cache_control": {"type": "ephemeral"}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "text", "text": "Hi!"}]},
            {"role": "user", "content": [{"type": "text", "text": "What is the capital of France?"}]}]
    message = client.messages.create(messages=talk, system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
                                     metadata={"user_id": "u"}, **SURE | {"extra_body": {"top_k": 1}})
    assert "Paris" in message.content[0].text
    assert client.beta.messages.create(messages=ASK, betas=["context-1m-2025-08-07"], **SURE).content[0].text


def test_async_client_runs_many_at_once(guarded, key):
    async def ask():
        async with anthropic.AsyncAnthropic(base_url=guarded.url, api_key=key, max_retries=0, timeout=60) as client:
            async def one(i):
                if i % 2:
                    return (await client.messages.create(messages=ASK, **SURE)).content[0].text
                async with client.messages.stream(messages=ASK, **SURE) as stream:
                    return "".join([text async for text in stream.text_stream])

            return await asyncio.gather(*(one(i) for i in range(6)))

    assert len(set(asyncio.run(ask()))) == 1


def test_errors_have_the_clients_classes(guarded, client, key):
    with pytest.raises(anthropic.AuthenticationError) as caught:
        anthropic.Anthropic(base_url=guarded.url, api_key="nonsense", max_retries=0).messages.create(messages=ASK, **SURE)
    assert caught.value.body["type"] == "error" and caught.value.body["error"]["type"] == "authentication_error"
    with pytest.raises(anthropic.PermissionDeniedError):
        anthropic.Anthropic(base_url=guarded.url, api_key="key-of-an-admin", max_retries=0).messages.create(messages=ASK, **SURE)
    with pytest.raises(anthropic.NotFoundError) as caught:
        client.messages.create(messages=ASK, **SURE | {"model": "nobody"})
    assert caught.value.body["error"]["type"] == "not_found_error"
    for wrong in ({"extra_body": {"temperature": 2}}, {"max_tokens": 0}, {"messages": []}, {"stop_sequences": [""]}, {"messages": [{"role": "user", "content": "a " * 5000}]}):
        with pytest.raises(anthropic.BadRequestError) as caught:
            client.messages.create(**({"messages": ASK} | SURE | wrong))
        assert caught.value.body["error"]["type"] == "invalid_request_error"
    assert caught.value.request_id


def test_a_tool_is_used_whole_and_streamed(client):
    tool = {"name": "get_weather", "description": "The weather of a city",
            "input_schema": {"type": "object", "properties": {"city": {"type": "string", "maxLength": 30}}, "required": ["city"], "additionalProperties": False}}
    asked = SURE | dict(max_tokens=120, messages=ASK, tools=[tool], tool_choice={"type": "tool", "name": "get_weather"})
    message = client.messages.create(**asked)
    assert message.stop_reason == "tool_use" and [block.type for block in message.content] == ["tool_use"]
    assert message.content[0].name == "get_weather" and set(message.content[0].input) == {"city"}
    with client.messages.stream(**asked) as stream:
        final = stream.get_final_message()
    assert final.content[0].input == message.content[0].input and final.stop_reason == "tool_use"
    result = {"type": "tool_result", "tool_use_id": message.content[0].id, "content": "rain"}
    after = client.messages.create(messages=ASK + [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}],
                                   tools=[tool], **SURE)
    assert after.content
