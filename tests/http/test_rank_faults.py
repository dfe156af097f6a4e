"""Signals to ranks at many points of their lives: streams have the right text, or the start fails with a reason, and nothing is left behind.

Few points here; with MILLRACE_TEST_ALL (./dev test --all) twenty, for each rank, with SIGKILL and SIGSTOP, with stages too.
"""
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

import pytest
from running_server import RUNTIME_FOLDER, PATIENCE, events
from test_tensor_parallel import PROMPTS, TEXT, TWO, answers, is_there, others, wait_until

ALL = "MILLRACE_TEST_ALL" in os.environ
GRID = ["-tp", "2", "-pp", "2", "-t", "1", "--allow-oversubscription"]
# So few pages that streams are swapped out, and their pages read and written by all ranks.
CROWDED = ["--kv-cache-tokens", "768", "--max-model-len", "512", "--swap-space", "64MB", "--preemption-mode", "swap"]
KILL, STOP = signal.SIGKILL, signal.SIGSTOP
ASKED = [{"prompt": prompt, "max_tokens": 130, "temperature": 0.8 * (i % 2), "seed": i, "ignore_eos": True} for i, prompt in enumerate(PROMPTS)]
FORKED = [body | {"n": 3, "max_tokens": 30, "temperature": 0.9} for body in ASKED[:4]]  # their first page is copied


def ranks_of(server):
    """Processes of the ranks from 1 on, in their order."""
    found = {}
    for process in others(server):
        try:
            words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if words[1:2] == [b"follow-rank"] and is_there(process):
            found[int(words[3])] = process
    return [found[rank] for rank in sorted(found)]


def left_behind():
    """What of the program's own is in places that outlive it."""
    folders = ["/dev/shm", tempfile.gettempdir()]
    return sorted(entry for folder in folders for entry in os.listdir(folder) if "millrace" in entry and entry not in RUNTIME_FOLDER)


@pytest.fixture
def leaves_nothing():
    """leaves_nothing(processes): they end, and their shared memory is gone."""
    before = left_behind()

    def check(processes):
        wait_until(lambda: not any(is_there(process) for process in processes))
        assert left_behind() == before

    return check


class Streams:
    """Requests that are answered while something happens."""

    def __init__(self, server, bodies):
        self.pieces = 0
        self.pool = concurrent.futures.ThreadPoolExecutor(len(bodies))
        self.texts = [self.pool.submit(self._read, server, body) for body in bodies]

    def _read(self, server, body):
        plug = server.open_stream(TEXT, body | {"stream": True}, timeout=90 * PATIENCE, headers=["Connection: close"])
        received = b""
        with plug:
            while piece := plug.recv(1 << 16):
                received += piece
                self.pieces += piece.count(b"data: ")
        body = b"".join(re.findall(rb"(data: .*\n\n)", received))
        told = [data for _, data in events(body)]
        assert told and told.pop() == "[DONE]" and not any("error" in piece for piece in told), received[-600:]
        texts = {}
        for piece in told:
            for choice in piece["choices"]:
                texts[choice["index"]] = texts.get(choice["index"], "") + choice["text"]
        return [texts[i] for i in sorted(texts)]

    def wait_for(self, pieces):
        wait_until(lambda: self.pieces >= pieces or all(text.done() for text in self.texts), 60)

    def results(self):
        with self.pool:
            return [text.result(120 * PATIENCE) for text in self.texts]


@pytest.fixture(scope="module")
def expected(server):
    def texts(bodies):
        return [[choice["text"] for choice in sorted(choices, key=lambda c: c["index"])] for choices in answers(server, [(TEXT, body) for body in bodies])]
    return {"crowded": texts(ASKED), "forked": texts(FORKED)}


def swaps(server):
    return float(re.search(r"^millrace:swapped_total(?:{[^}]*})? (\S+)", server.call("GET", "/metrics").body.decode(), re.M)[1])


def within(kind, asked, wait):
    """A moment of streams, once wait(streams) returns."""
    def run(server, signal_now):
        streams = Streams(server, asked)
        wait(streams)
        signal_now()
        return kind, streams
    return run


def crowded_at(pieces):
    return within("crowded", ASKED, lambda streams: streams.wait_for(pieces))


def swapping_after(more):
    """A moment after so many sequences more have been swapped out."""
    def run(server, signal_now):
        before = swaps(server)
        streams = Streams(server, ASKED)
        wait_until(lambda: swaps(server) >= before + more or all(text.done() for text in streams.texts), 60)
        signal_now()
        return "crowded", streams
    return run


def forking_after(seconds):
    return within("forked", FORKED, lambda _: time.sleep(seconds))


POINTS = {f"token {n}": crowded_at(n) for n in ([1, 9, 40, 120, 250, 500, 800] if ALL else [])}  # test_tensor_parallel.py has one
POINTS |= {f"swap {n}": swapping_after(n) for n in ([1, 2, 3, 4] if ALL else [1])}
POINTS |= {f"copy {ms} ms": forking_after(ms / 1000) for ms in ([0, 60, 150] if ALL else [100])}
DRAINED = [0, 0.1, 0.5] if ALL else [0.1]
LOADING = [0, 0.05, 0.3] if ALL else [0.05]
LAYOUTS = {"ranks": TWO, "grid": GRID} if ALL else {"ranks": TWO}
SIGNALS = {"kill": KILL, "stop": STOP}


def each_rank(layout):
    return range(1, 4) if layout == "grid" else [1]


def who(layouts=LAYOUTS):
    return [pytest.param(layout, rank, id=f"{layout}-{rank}") for layout in layouts for rank in each_rank(layout)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_streams_go_on_whenever_a_rank_is_lost(start, expected, leaves_nothing, layout):
    with start(*LAYOUTS[layout], *CROWDED) as server:
        seen = {server.process.pid}
        for name, point in POINTS.items():
            for how in SIGNALS.values():
                for rank in each_rank(layout):
                    ranks = ranks_of(server)
                    seen.update(ranks)
                    kind, streams = point(server, lambda: os.kill(ranks[rank - 1], how))
                    assert streams.results() == expected[kind], (name, how, rank)
                    answers(server, [(TEXT, {"prompt": "One", "max_tokens": 1})])  # where the streams had ended before
                    assert not is_there(ranks[rank - 1]), (name, how, rank)
        seen.update(ranks_of(server))
        assert swaps(server) > 0
    leaves_nothing(seen)


@pytest.mark.parametrize("how", SIGNALS)
@pytest.mark.parametrize("layout, rank", who())
@pytest.mark.parametrize("seconds", DRAINED)
def test_streams_go_on_when_a_rank_is_lost_while_the_server_drains(start, expected, leaves_nothing, layout, rank, how, seconds):
    with start(*LAYOUTS[layout], *CROWDED) as server:
        ranks = ranks_of(server)
        streams = Streams(server, ASKED)
        streams.wait_for(20)
        server.signal(signal.SIGTERM)
        time.sleep(seconds)
        os.kill(ranks[rank - 1], SIGNALS[how])
        assert streams.results() == expected["crowded"]
        assert server.process.wait(30) == 0, server.text()
    leaves_nothing([server.process.pid, *ranks])


@pytest.mark.parametrize("layout, rank", who())
@pytest.mark.parametrize("seconds", LOADING)
def test_a_rank_that_is_killed_while_it_loads_ends_the_start_with_its_name(start, leaves_nothing, layout, rank, seconds):
    server = start(*LAYOUTS[layout], wait=False)
    try:
        wait_until(lambda: len(ranks_of(server)) == len(list(each_rank(layout))))
        time.sleep(seconds)
        ranks = ranks_of(server)
        os.kill(ranks[rank - 1], KILL)
        end = time.monotonic() + 5 * PATIENCE  # one that had loaded notices nothing before it is asked
        while server.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        if server.process.poll() is None:  # it had loaded: what it does then is another test's
            assert server.stop() == 0
        else:
            assert server.process.returncode != 0 and re.search(rf"rank {rank} (\(process \d+\) )?has ended", server.text()), server.text()
        leaves_nothing([server.process.pid, *ranks])
    finally:
        server.process.kill()
        server.process.wait()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wait", [False, True], ids=["loading", "loaded"])
def test_nothing_is_left_of_ranks_whose_first_was_killed(start, leaves_nothing, layout, wait):
    server = start(*LAYOUTS[layout], wait=wait)
    wait_until(lambda: len(ranks_of(server)) == len(list(each_rank(layout))))
    ranks = ranks_of(server)
    server.process.kill()
    server.process.wait()
    leaves_nothing(ranks)


def test_nothing_is_left_when_all_ranks_are_killed_at_once(start, leaves_nothing):
    server = start(*TWO)
    ranks = ranks_of(server)
    for process in [server.process.pid, *ranks]:
        os.kill(process, KILL)
    server.process.wait()
    leaves_nothing(ranks)


def test_a_first_rank_that_stops_for_a_while_goes_on(start, expected):
    """The others wait for it in an exchange, end, and are started anew."""
    with start(*TWO, *CROWDED) as server:
        streams = Streams(server, ASKED)
        streams.wait_for(40)
        server.signal(STOP)
        time.sleep(3)
        server.signal(signal.SIGCONT)
        assert streams.results() == expected["crowded"]
