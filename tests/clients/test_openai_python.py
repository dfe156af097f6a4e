"""The openai package for Python as its users use it."""
import asyncio
import base64
import json
import math
import struct

import httpx2
import openai
import pydantic
import pytest

ASK = [{"role": "user", "content": "What is the capital of France?"}]
SURE = {"model": "m", "temperature": 0, "max_tokens": 12}


@pytest.fixture(scope="module")
def client(guarded, key):
    with openai.OpenAI(base_url=guarded.url + "/v1", api_key=key, max_retries=0, timeout=60) as made:
        yield made


def other(guarded, key, **more):
    return openai.OpenAI(base_url=guarded.url + "/v1", api_key=key, timeout=60, **({"max_retries": 0} | more))


def test_chat_whole(client):
    answer = client.chat.completions.create(messages=ASK, **SURE)
    assert answer.object == "chat.completion" and answer.model == "m" and answer.id.startswith("chatcmpl-")
    choice = answer.choices[0]
    assert "Paris" in choice.message.content and choice.message.role == "assistant"
    assert choice.finish_reason in ("stop", "length")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert 0 < answer.usage.completion_tokens <= 12
    assert answer._request_id and answer.id.endswith(answer._request_id)


def test_chat_streamed_says_the_same(client):
    whole = client.chat.completions.create(messages=ASK, **SURE)
    chunks = list(client.chat.completions.create(messages=ASK, stream=True, stream_options={"include_usage": True}, **SURE))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1] if chunk.choices[0].finish_reason] == [whole.choices[0].finish_reason]
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == whole.usage.completion_tokens
    assert len({chunk.id for chunk in chunks}) == 1


def test_chat_streamed_through_the_helper(client):
    with client.chat.completions.stream(messages=ASK, **SURE) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        final = stream.get_final_completion()
    assert "".join(deltas) == final.choices[0].message.content
    assert "Paris" in final.choices[0].message.content


def test_several_answers_at_once_whole_and_streamed(client):
    body = dict(model="m", messages=ASK, n=3, temperature=1.0, seed=7, max_tokens=10)
    whole = client.chat.completions.create(**body)
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    texts = ["", "", ""]
    ends = [None] * 3
    for chunk in client.chat.completions.create(stream=True, **body):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            ends[choice.index] = choice.finish_reason or ends[choice.index]
    assert texts == [choice.message.content for choice in whole.choices]
    assert ends == [choice.finish_reason for choice in whole.choices]


def test_a_seed_gives_the_same_answer_again(client):
    body = dict(model="m", messages=ASK, temperature=1.5, max_tokens=12)
    texts = [client.chat.completions.create(seed=seed, **body).choices[0].message.content for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]


def test_logprobs_are_probabilities_of_the_text(client):
    answer = client.chat.completions.create(messages=ASK, logprobs=True, top_logprobs=3, **SURE)
    content = answer.choices[0].logprobs.content
    assert len(content) == answer.usage.completion_tokens
    assert b"".join(bytes(one.bytes) for one in content).decode().startswith(answer.choices[0].message.content)
    for one in content:
        assert len(one.top_logprobs) == 3 and one.logprob <= 0
        assert one.top_logprobs[0].token == one.token  # greedy
        assert sum(math.exp(top.logprob) for top in one.top_logprobs) <= 1.0001
    streamed = []
    for chunk in client.chat.completions.create(messages=ASK, logprobs=True, top_logprobs=3, stream=True, **SURE):
        if chunk.choices[0].logprobs:
            streamed += chunk.choices[0].logprobs.content
    assert streamed == content


def test_a_stop_ends_the_answer_before_it(client):
    whole = client.chat.completions.create(messages=ASK, **SURE).choices[0].message.content
    stop = whole.split()[2]
    answer = client.chat.completions.create(messages=ASK, stop=[stop], **SURE)
    assert answer.choices[0].message.content == whole[:whole.index(stop)] and answer.choices[0].finish_reason == "stop"


def test_completions_whole_streamed_and_several(client):
    body = {"model": "m", "prompt": "The capital of France is", "max_tokens": 8, "temperature": 0}
    whole = client.completions.create(**body)
    assert "Paris" in whole.choices[0].text
    assert "".join(chunk.choices[0].text for chunk in client.completions.create(stream=True, **body)) == whole.choices[0].text
    several = client.completions.create(**body | {"prompt": [body["prompt"], "Water boils at"], "n": 2})
    assert [choice.index for choice in several.choices] == [0, 1, 2, 3]
    assert several.choices[0].text == several.choices[1].text == whole.choices[0].text
    ids = client.completions.create(**body | {"prompt": [1, 2, 3]})
    assert ids.usage.prompt_tokens == 3
    assert client.completions.create(**body, extra_body={"top_k": 1}).choices[0].text == whole.choices[0].text


def test_echo_scores_the_prompt(client):
    prompt = "The capital of France is Paris"
    scored = client.completions.create(model="m", prompt=prompt, max_tokens=0, echo=True, logprobs=2)
    logprobs = scored.choices[0].logprobs
    assert scored.choices[0].text == prompt == "".join(logprobs.tokens)
    assert logprobs.token_logprobs[0] is None and all(value <= 0 for value in logprobs.token_logprobs[1:])
    assert logprobs.top_logprobs[0] is None and all(2 <= len(top) <= 3 for top in logprobs.top_logprobs[1:])
    assert [prompt[at:at + len(token)] for at, token in zip(logprobs.text_offset, logprobs.tokens)] == logprobs.tokens
    # What is said by the model itself: the same tokens, drawn, have the same scores.
    drawn = client.completions.create(model="m", prompt="The capital of France is", max_tokens=1, temperature=0, logprobs=2)
    assert drawn.choices[0].logprobs.tokens == [" Paris"] or logprobs.tokens[-1] != " Paris"
    if drawn.choices[0].logprobs.tokens == logprobs.tokens[-1:]:
        assert drawn.choices[0].logprobs.token_logprobs[0] == pytest.approx(logprobs.token_logprobs[-1], abs=2e-2)


def test_echo_with_several_answers_streams_the_prompts_scores_with_each(client):
    body = {"model": "m", "prompt": "The capital of France", "max_tokens": 3, "echo": True, "logprobs": 1, "n": 3, "temperature": 1.0, "seed": 1}
    whole = client.completions.create(**body)
    tokens, texts = [[], [], []], ["", "", ""]
    for chunk in client.completions.create(stream=True, **body):
        for choice in chunk.choices:
            tokens[choice.index] += choice.logprobs.tokens if choice.logprobs else []
            texts[choice.index] += choice.text
    assert texts == [choice.text for choice in whole.choices]
    assert tokens == [choice.logprobs.tokens for choice in whole.choices]


def test_embeddings_in_both_spellings(client):
    texts = ["a cat", "a kitten", "the stock exchange"]
    packed = client.embeddings.create(model="m", input=texts)  # the client asks for base64 of its own accord
    plain = client.embeddings.create(model="m", input=texts, encoding_format="float")
    for a, b in zip(packed.data, plain.data, strict=True):
        assert a.embedding == pytest.approx(b.embedding, abs=1e-6) and a.index == b.index
        assert sum(x * x for x in b.embedding) == pytest.approx(1, abs=1e-3)
    raw = client.embeddings.with_raw_response.create(model="m", input="a cat", encoding_format="base64").http_response.json()
    bytes_ = base64.b64decode(raw["data"][0]["embedding"])
    assert struct.unpack(f"<{len(bytes_) // 4}f", bytes_) == pytest.approx(plain.data[0].embedding, abs=1e-6)
    assert plain.usage.prompt_tokens == plain.usage.total_tokens > 0


def test_models_are_listed_and_found(client):
    listed = client.models.list().data
    assert [model.id for model in listed] == ["m"]
    assert client.models.retrieve("m").max_model_len == 4096
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("nobody")


def test_responses_whole_and_streamed(client):
    body = dict(model="m", input="What is the capital of France?", instructions="Be brief.", temperature=0, max_output_tokens=12)
    whole = client.responses.create(**body)
    assert "Paris" in whole.output_text and whole.status in ("completed", "incomplete")
    assert whole.usage.output_tokens <= 12
    streamed = list(client.responses.create(stream=True, **body))
    assert [event.sequence_number for event in streamed] == list(range(len(streamed)))
    assert streamed[0].type == "response.created" and streamed[-1].type in ("response.completed", "response.incomplete")
    assert "".join(event.delta for event in streamed if event.type == "response.output_text.delta") == whole.output_text


def test_responses_through_the_helper(client):
    with client.responses.stream(model="m", input="What is the capital of France?", temperature=0, max_output_tokens=60) as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert final.output_text == text and "Paris" in text


def test_async_client_runs_many_at_once(guarded, key):
    async def ask():
        async with openai.AsyncOpenAI(base_url=guarded.url + "/v1", api_key=key, max_retries=0, timeout=60) as client:
            async def one(i):
                if i % 2:
                    return (await client.chat.completions.create(messages=ASK, **SURE)).choices[0].message.content
                stream = await client.chat.completions.create(messages=ASK, stream=True, **SURE)
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

            return await asyncio.gather(*(one(i) for i in range(8)))

    assert len(set(asyncio.run(ask()))) == 1


def test_leaving_a_stream_early_closes_it(client, guarded):
    stream = client.chat.completions.create(messages=ASK, model="m", stream=True, max_tokens=3000, extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()
    assert "Paris" in client.chat.completions.create(messages=ASK, **SURE).choices[0].message.content


@pytest.mark.parametrize("wrong, param", [
    ({"temperature": -1}, "temperature"), ({"top_p": 2}, "top_p"), ({"n": 100}, "n"), ({"max_tokens": 0}, "max_tokens"), ({"messages": []}, "messages"),
    ({"logit_bias": {"99999999": 1}}, "logit_bias"), ({"top_logprobs": 21, "logprobs": True}, "top_logprobs"), ({"max_tokens": 100_000}, "max_tokens"),
])
def test_bad_values_are_bad_requests_that_name_them(client, wrong, param):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(**({"messages": ASK} | SURE | wrong))
    assert caught.value.param == param and caught.value.type == "invalid_request_error" and caught.value.request_id


def test_a_bad_value_of_a_stream_is_an_error_before_it_begins(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(messages=ASK, stream=True, **SURE | {"max_tokens": 100_000})
    assert caught.value.code == "context_length_exceeded"


def test_errors_have_the_clients_classes(guarded, client, key):
    with pytest.raises(openai.AuthenticationError) as caught:
        other(guarded, "nonsense").models.list()
    assert caught.value.status_code == 401 and caught.value.code == "invalid_api_key"
    with pytest.raises(openai.PermissionDeniedError):
        other(guarded, "key-of-an-admin").chat.completions.create(messages=ASK, **SURE)
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(messages=ASK, **SURE | {"model": "nobody"})
    assert caught.value.code == "model_not_found" and caught.value.param == "model"
    limited = other(guarded, "key-with-a-quota")
    with pytest.raises(openai.RateLimitError) as caught:
        for _ in range(3):
            limited.completions.create(model="m", prompt="a", max_tokens=1)
    assert caught.value.code == "quota_exceeded" and int(caught.value.response.headers["retry-after"]) >= 1
    with pytest.raises(openai.NotFoundError):
        client.post("/nowhere", cast_to=object, body={})


def test_it_tries_again_while_the_model_loads(start_guarded, key):
    with start_guarded(wait=False) as loading:
        statuses = []
        counting = httpx2.Client(event_hooks={"response": [lambda response: statuses.append(response.status_code)]})
        patient = other(loading, key, max_retries=30, http_client=counting)
        assert patient.completions.create(model="m", prompt="a", max_tokens=1).choices[0].text
    assert statuses[-1] == 200 and set(statuses[:-1]) <= {503}


WEATHER = {"type": "function", "function": {"name": "get_weather", "strict": True, "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 30}, "days": {"type": "integer", "minimum": 1, "maximum": 9}},
    "required": ["city", "days"], "additionalProperties": False}}}
LONGER = {"model": "m", "temperature": 0, "max_tokens": 120}


class Capital(pydantic.BaseModel):
    city: str = pydantic.Field(max_length=20)
    large: bool


def test_a_call_of_a_tool_whole_and_through_the_streaming_helper(client):
    asked = dict(messages=ASK, tools=[WEATHER], tool_choice="required", parallel_tool_calls=False, **LONGER)
    whole = client.chat.completions.create(**asked).choices[0]
    call = whole.message.tool_calls[0]
    arguments = json.loads(call.function.arguments)
    assert call.function.name == "get_weather" and isinstance(arguments["city"], str) and 1 <= arguments["days"] <= 9
    assert whole.finish_reason == "tool_calls" and whole.message.content is None
    with client.chat.completions.stream(**asked) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion().choices[0].message
    assert [event.arguments for event in done] == [call.function.arguments] == [final.tool_calls[0].function.arguments]
    answer = client.chat.completions.create(messages=ASK + [whole.message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}], tools=[WEATHER], **SURE)
    assert answer.choices[0].message.content or answer.choices[0].message.tool_calls


def test_an_answer_is_parsed_into_the_callers_own_type(client):
    parsed = client.chat.completions.parse(messages=ASK, response_format=Capital, **LONGER).choices[0].message.parsed
    assert isinstance(parsed, Capital)
    response = client.responses.parse(model="m", input=ASK, text_format=Capital, temperature=0, max_output_tokens=120)
    assert isinstance(response.output_parsed, Capital)


def test_a_call_of_a_tool_in_responses(client):
    tool = {"type": "function"} | WEATHER["function"]
    asked = dict(model="m", input=ASK, tools=[tool], tool_choice="required", parallel_tool_calls=False, temperature=0, max_output_tokens=120)
    response = client.responses.create(**asked)
    call = response.output[0]
    assert call.type == "function_call" and "city" in json.loads(call.arguments)
    with client.responses.stream(**asked) as stream:
        pieces = [event.delta for event in stream if event.type == "response.function_call_arguments.delta"]
        final = stream.get_final_response()
    assert "".join(pieces) == final.output[0].arguments == call.arguments
    after = client.responses.create(model="m", input=[*ASK, call, {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}],
                                    tools=[tool], max_output_tokens=8)
    assert after.status in ("completed", "incomplete")
