"""The whole server on a device whose memory only operations see: what touches it from outside ends the process.

    ninja -C build/release millrace_locked
"""
import pytest
from running_server import PROGRAM

LOCKED = PROGRAM.with_name("millrace_locked")
PROMPT = {"model": "m", "prompt": "The capital of France is", "max_tokens": 24, "temperature": 0, "logprobs": 2}


def answers(server):
    plain = server.call("POST", "/v1/completions", PROMPT)
    again = server.call("POST", "/v1/completions", PROMPT)  # its prompt's pages are there
    many = server.call("POST", "/v1/completions", PROMPT | {"n": 3, "temperature": 0.9, "seed": 5, "logprobs": None})
    for reply in (plain, again, many):
        assert reply.status == 200, reply
    return [choice for reply in (plain, again, many) for choice in reply.json()["choices"]]


@pytest.mark.parametrize("speculation", [(), ("--spec-method", "early-exit")], ids=["plain", "early-exit"])
def test_answers_are_those_of_the_processor(start, speculation):
    with start(*speculation) as server:
        expected = answers(server)
    with start("--device", "locked-cpu", *speculation, program=LOCKED) as server:
        assert answers(server) == expected
