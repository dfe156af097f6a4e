"""A model shared by processes: the bits of one, and a pause where one of them dies."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from adapter_files import ASK, LOAD, UNLOAD, adapted, folder, text_of, write_adapter  # adapted and folder are fixtures
from running_server import PROGRAM, events, read_all, request_bytes

TEXT, CHAT = "/v1/completions", "/v1/chat/completions"
TWO = ["--tensor-parallel-size", "2", "-t", "1", "--allow-oversubscription"]  # whatever the machine has
STAGES = ["--pipeline-parallel-size", "2", "-t", "1", "--allow-oversubscription"]
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


@pytest.fixture(scope="module", params=[TWO, STAGES], ids=["ranks", "stages"])
def two(start, request):
    with start(*request.param) as server:
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


@pytest.mark.parametrize("flags, how", [(TWO, signal.SIGKILL), (TWO, signal.SIGSTOP), (STAGES, signal.SIGKILL), (STAGES, signal.SIGSTOP)])
def test_streams_go_on_when_a_rank_ends_or_stops(start, server, flags, how):
    asked = [(TEXT, {"prompt": prompt, "max_tokens": 150, "temperature": 0.8 * (i % 2), "seed": i, "ignore_eos": True}) for i, prompt in enumerate(PROMPTS)]
    expected = [choices[0]["text"] for choices in answers(server, asked)]
    with start(*flags) as running, concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        def stream(request):
            pieces = [data for _, data in events(running.call("POST", request[0], request[1] | {"stream": True}).body)]
            assert pieces.pop() == "[DONE]" and not any("error" in piece for piece in pieces), pieces
            return "".join(piece["choices"][0]["text"] for piece in pieces)
        texts = [pool.submit(stream, request) for request in asked]
        for times in (1, 2):
            time.sleep(0.2)
            [rank] = others(running)
            os.kill(rank, how)
            wait_until(lambda: running.text().count("started anew") >= times, 60)  # one that stops while it starts is missed only after a minute
        assert [text.result(60) for text in texts] == expected
        [rank] = others(running)
    assert not is_there(rank)


@pytest.mark.parametrize("flags", [TWO, STAGES])
def test_times_of_ranks_are_shown(start, tmp_path, flags):
    trace = tmp_path / "steps.json"
    with start(*flags, "--trace-file", trace, "--log-format", "json") as running:
        answers(running, [(TEXT, {"prompt": "Once upon a time", "max_tokens": 20, "ignore_eos": True})])
        told = running.call("GET", "/metrics").body.decode()
        times = {(name, rank): float(re.search(rf'millrace:rank_{name}_seconds_total{{[^}}]*rank="{rank}"}} (.*)', told)[1]) for name in ("step", "wait") for rank in (0, 1)}
        assert all(0 < times["wait", rank] < times["step", rank] for rank in (0, 1)), times
        steps_by_metrics = times["step", 0]
        with concurrent.futures.ThreadPoolExecutor(1) as pool:  # top shows what happens meanwhile
            pool.submit(answers, running, [(TEXT, {"prompt": "Once upon a time", "max_tokens": 500, "ignore_eos": True})])
            def top(*more):
                return subprocess.run([PROGRAM, "top", f"http://127.0.0.1:{running.port}", "--once", "--interval", "0.5", *more], capture_output=True, text=True, check=True).stdout
            [view] = json.loads(top("--json"))
            assert len(view["rank_wait_share"]) == 2 and all(0 < share < 1 for share in view["rank_wait_share"]), view
            assert "ranks wait" in top()
    steps = [event["args"]["ranks"] for event in json.loads(trace.read_text()) if event["name"] == "step"]
    assert len(steps) >= 20 and all(len(ranks) == 2 and all(0 < of["waited_ms"] < of["ms"] for of in ranks) for ranks in steps)
    assert sum(of[0]["ms"] for of in steps[:20]) / 1e3 == pytest.approx(steps_by_metrics, rel=0.2)  # or one step more
    log = running.text()
    assert re.search(r'"rank_wait_percent": ?"[0-9.]+ [0-9.]+"', log) and re.search(r"rank 1 will have .* of weights in layers [0-9]+ to 29", log)


def test_a_rank_that_is_stopped_while_it_loads_costs_seconds(start, server):
    request = [(TEXT, {"prompt": "Once upon a time", "max_tokens": 10, "temperature": 0})]
    expected = answers(server, request)
    with start(*TWO) as running, concurrent.futures.ThreadPoolExecutor(1) as pool:
        [first] = others(running)
        os.kill(first, signal.SIGKILL)
        answer = pool.submit(answers, running, request)
        def new_one():  # before it has begun to run the program, rank 0 waits for it in the system
            return [rank for rank in others(running) if rank != first and b"follow-rank" in pathlib.Path(f"/proc/{rank}/cmdline").read_bytes()]
        wait_until(new_one)
        os.kill(new_one()[0], signal.SIGSTOP)
        assert answer.result(30) == expected  # a rank that loads may take a minute, if it is not stopped


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


ADAPTED = [{"model": name} for name in "mabcd"] + [{"lora": [{"name": "a", "scale": 0.5}, {"name": "c", "scale": -1}]}, {"model": "group/inner", "temperature": 0.8, "seed": 3}]


@pytest.mark.parametrize("flags", [TWO, STAGES])
def test_adapters_give_the_texts_of_one_rank(start, folder, adapted, flags):
    expected = [text_of(adapted, **fields) for fields in ADAPTED]
    assert len(set(expected)) == len(expected)
    with start(*flags, "--lora", f"a={folder / 'a'}", "--lora-dir", folder, "--max-loras", 3) as two:
        assert [text_of(two, **fields) for fields in ADAPTED] == expected
        with concurrent.futures.ThreadPoolExecutor(len(ADAPTED)) as pool:  # more than have room
            assert list(pool.map(lambda fields: text_of(two, cache_salt="together", **fields), ADAPTED)) == expected
        assert two.text().count("started anew") == 0


def test_adapters_come_and_go_over_http(start, folder, adapted):
    with start(*TWO, "--lora-dir", folder) as two:
        def load(name, path, **more):
            assert two.post(LOAD, {"lora_name": name, "lora_path": str(folder / path), **more}).status == 200
        load("x", "a")
        assert text_of(two, model="x") == text_of(adapted, model="a")
        load("x", "b", load_inplace=True)
        assert text_of(two, model="x") == text_of(adapted, model="b")
        assert two.post(UNLOAD, {"lora_name": "x"}).status == 200
        assert two.post(TEXT, ASK | {"model": "x"}).status == 404
        assert text_of(two, model="m") == text_of(adapted, model="m")


def streamed(server, body):
    """The text, and the errors."""
    pieces = [data for _, data in events(server.call("POST", TEXT, body | {"stream": True}).body)]
    assert pieces.pop() == "[DONE]"
    errors = [piece["error"] for piece in pieces if "error" in piece]
    return "".join(piece["choices"][0]["text"] for piece in pieces if "choices" in piece), errors


def test_streams_with_adapters_go_on_when_a_rank_ends(start, folder, adapted):
    asked = [ASK | {"model": name, "max_tokens": 150, "temperature": 0.8 * (i % 2), "seed": i} for i, name in enumerate("abmcab")]
    expected = [text_of(adapted, **body) for body in asked]
    with start(*TWO, "--lora-dir", folder) as two, concurrent.futures.ThreadPoolExecutor(len(asked)) as pool:
        texts = [pool.submit(streamed, two, body) for body in asked]
        time.sleep(0.5)
        [rank] = others(two)
        os.kill(rank, signal.SIGKILL)
        assert [text.result(60) for text in texts] == [(text, []) for text in expected]
        assert two.text().count("started anew") == 1


def test_an_adapter_that_a_new_rank_cannot_read_ends_its_requests_alone(start, tmp_path, server):
    write_adapter(tmp_path / "x", 1)
    with start(*TWO, "--lora", f"x={tmp_path / 'x'}") as two, concurrent.futures.ThreadPoolExecutor(2) as pool:
        before = text_of(two, model="x")
        body = ASK | {"max_tokens": 200}
        plain, ended = pool.submit(streamed, two, body | {"model": "m"}), pool.submit(streamed, two, body | {"model": "x"})
        time.sleep(0.5)
        shutil.move(tmp_path / "x", tmp_path / "elsewhere")
        [rank] = others(two)
        os.kill(rank, signal.SIGKILL)
        assert plain.result(60) == (text_of(server, **body), [])
        [error] = ended.result(60)[1]
        assert "rank 1" in error["message"]
        refused = two.post(TEXT, ASK | {"model": "x"})
        assert refused.status == 409 and "rank 1" in refused.json()["error"]["message"], refused
        shutil.move(tmp_path / "elsewhere", tmp_path / "x")
        assert text_of(two, model="x") == before
