"""A model shared by processes: the bits of one, and a pause where one of them dies."""
import concurrent.futures
import os
import pathlib
import signal
import time

import pytest
from running_server import events, read_all, request_bytes

TEXT, CHAT = "/v1/completions", "/v1/chat/completions"
TWO = ["--tensor-parallel-size", "2", "-t", "1", "--allow-oversubscription"]  # whatever the machine has
PROMPTS = ["Once upon a time", "The capital of France is", "def add(a, b):", "Q: What is a mill? A:", "1, 2, 3,", "Dear Sir", "In 1969", "A haiku:"]


def others(server):
    """The processes of the ranks behind the server's own."""
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]


def is_there(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def answers(server, requests):
    def ask(request):
        route, body = request
        reply = server.call("POST", route, body)
        assert reply.status == 200, reply
        return [{k: v for k, v in choice.items()} for choice in reply.json()["choices"]]
    with concurrent.futures.ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(ask, requests))


@pytest.fixture(scope="module")
def two(start):
    with start(*TWO) as server:
        yield server


def requests_of_many_kinds():
    greedy = [(TEXT, {"prompt": prompt, "max_tokens": 30, "temperature": 0}) for prompt in PROMPTS]
    sampled = [(TEXT, {"prompt": prompt, "max_tokens": 20, "temperature": 0.9, "seed": i, "top_p": 0.9}) for i, prompt in enumerate(PROMPTS)]
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}}
    return greedy + sampled + [
        (TEXT, {"prompt": "One two", "max_tokens": 12, "logprobs": 3, "echo": True, "temperature": 0}),
        (TEXT, {"prompt": "One two", "max_tokens": 12, "n": 3, "temperature": 1, "seed": 7}),
        (CHAT, {"messages": [{"role": "user", "content": "Give me a number."}], "max_tokens": 30, "temperature": 0, "response_format": schema}),
        (CHAT, {"messages": [{"role": "user", "content": "word " * 300}], "max_tokens": 10, "temperature": 0, "logprobs": True, "top_logprobs": 2}),
    ]


def test_answers_are_those_of_one_rank(two, server):
    for _ in range(2):  # the second time their prompts are in pages
        asked = requests_of_many_kinds()
        assert answers(two, asked) == answers(server, asked)
    assert len(others(two)) == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_streams_go_on_when_a_rank_ends_or_stops(start, server, how):
    asked = [(TEXT, {"prompt": prompt, "max_tokens": 150, "temperature": 0.8 * (i % 2), "seed": i, "ignore_eos": True}) for i, prompt in enumerate(PROMPTS)]
    expected = [choices[0]["text"] for choices in answers(server, asked)]
    with start(*TWO) as running, concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        def stream(request):
            pieces = [data for _, data in events(running.call("POST", request[0], request[1] | {"stream": True}).body)]
            assert pieces.pop() == "[DONE]" and not any("error" in piece for piece in pieces), pieces
            return "".join(piece["choices"][0]["text"] for piece in pieces)
        texts = [pool.submit(stream, request) for request in asked]
        for _ in range(2):
            time.sleep(0.2)
            [rank] = others(running)
            os.kill(rank, how)
            wait_until(lambda: others(running) not in ([], [rank]))
        assert [text.result(60) for text in texts] == expected
        assert running.text().count("started anew") == 2
        [rank] = others(running)
    assert not is_there(rank)


def test_a_rank_that_ends_while_nobody_asks_is_not_noticed_by_who_asks_next(start, server):
    with start(*TWO) as running:
        os.kill(others(running)[0], signal.SIGKILL)
        request = [(TEXT, {"prompt": "Once upon a time", "max_tokens": 10, "temperature": 0})]
        assert answers(running, request) == answers(server, request)


def test_no_rank_outlives_the_first(start):
    with start(*TWO) as running:
        [rank] = others(running)
        running.process.kill()
        running.process.wait()
        wait_until(lambda: not is_there(rank))


def test_a_rank_that_is_started_later_holds_no_connection(start):
    """Else a connection that the server has closed stays open at the client's end."""
    body = {"prompt": "Once upon a time", "max_tokens": 200, "stream": True, "ignore_eos": True}
    with start(*TWO) as running, running.connect(20) as plug:
        plug.sendall(request_bytes(TEXT, body, ["Connection: close"]))
        plug.recv(1)
        [rank] = others(running)
        os.kill(rank, signal.SIGKILL)
        assert b"[DONE]" in read_all(plug)
        [rank] = others(running)
        held = {os.readlink(link) for link in pathlib.Path(f"/proc/{rank}/fd").iterdir()}
        assert not any(target.startswith("socket:") for target in held), held
