"""Samplers, beams and speculation through the API. That they change no bit of each other is engine_test's business."""
import json
import re

import pytest

TEXT = "/v1/completions"
COPY = "the red fox ran over the hill and " * 6 + "the red fox"
ASK = {"prompt": COPY, "max_tokens": 40, "timings": True, "ignore_eos": True}


@pytest.fixture(scope="module")
def guessing(start):
    with start("--spec-method", "ngram", "--no-spec-adaptive", "--spec-branches", "3") as running:
        yield running


def answer(server, **fields):
    reply = server.post(TEXT, ASK | fields)
    assert reply.status == 200, reply.body
    return reply.json()


@pytest.mark.parametrize("sampling", [{"temperature": 0}, {"temperature": 1.0, "seed": 5},
                                      {"temperature": 0.8, "seed": 2, "dry_multiplier": 0.8, "min_p": 0.05, "logprobs": 2}])
def test_speculation_changes_no_answer_and_is_told(server, guessing, sampling):
    plain, guessed, off = answer(server, **sampling), answer(guessing, **sampling), answer(guessing, **sampling, spec_tokens=0)
    assert plain["choices"] == guessed["choices"] == off["choices"]
    assert plain["usage"] == guessed["usage"] | {"prompt_tokens_details": plain["usage"]["prompt_tokens_details"]}
    assert off["timings"]["draft_n"] == 0 and guessed["timings"]["draft_n"] >= guessed["timings"]["draft_n_accepted"]


def test_copies_are_guessed_and_counted(guessing):
    told = answer(guessing, temperature=0)["timings"]
    assert told["draft_n_accepted"] > 10
    metrics = guessing.call("GET", "/metrics").body.decode()
    for name in ["num_drafts", "num_draft_tokens", "num_accepted_tokens"]:
        assert re.search(rf"vllm:spec_decode_{name}_total\{{.*\}} [1-9]", metrics), name


def test_beams_find_likelier_answers_than_the_greedy_one_and_stream(server, guessing):
    ask = {"prompt": "The capital of France", "max_tokens": 12, "ignore_eos": True, "logprobs": 0}
    score = lambda choice: sum(choice["logprobs"]["token_logprobs"])
    greedy = server.post(TEXT, ask | {"temperature": 0}).json()["choices"][0]
    search = ask | {"use_beam_search": True, "n": 3, "length_penalty": 0.0}
    found = server.post(TEXT, search).json()["choices"]
    assert [c["index"] for c in found] == [0, 1, 2] and len({c["text"] for c in found}) == 3
    assert score(found[0]) >= score(greedy) and sorted(map(score, found), reverse=True) == [score(c) for c in found]
    assert guessing.post(TEXT, search).json()["choices"] == found
    texts, ends = ["", "", ""], []
    for line in server.post(TEXT, search | {"stream": True}).body.decode().splitlines():
        if line.startswith("data: {"):
            for choice in json.loads(line[6:])["choices"]:
                texts[choice["index"]] += choice["text"]
                ends += [choice["index"]] if choice["finish_reason"] else []
    assert texts == [c["text"] for c in found] and sorted(ends) == [0, 1, 2]


def test_chat_searches_too(server):
    ask = {"messages": [{"role": "user", "content": "Say hello"}], "max_tokens": 8, "n": 2}
    reply = server.post("/v1/chat/completions", ask | {"use_beam_search": True, "num_beams": 4, "early_stopping": True})
    assert reply.status == 200 and len(reply.json()["choices"]) == 2


@pytest.mark.parametrize("field, value, says", [
    ("spec_tokens", 65, "expected 0 to 64"), ("spec_branches", 5, "expected 1 to 4"), ("num_beams", 65, "expected 1 to 64"),
    ("early_stopping", "often", "never"),
    ("length_penalty", 11, "expected from -10 to 10"), ("num_beam_groups", 3, "divisor")])
def test_wrong_values_are_named(server, field, value, says):
    reply = server.post(TEXT, {"prompt": "a", "max_tokens": 2, "use_beam_search": True, "n": 2, field: value})
    assert reply.status == 400 and reply.error["param"] == field and says in reply.error["message"], reply.body
