"""A bit of a weight changes in memory: it is found by name while requests run, and no process goes on with it."""
import concurrent.futures
import os
import re
import time

import pytest
from memory_bits import damage_file, flip_bit
from running_server import events
from test_tensor_parallel import STAGES, TEXT, TWO, others, wait_until

FOUND = "has changed in memory since it was loaded"
HEAD = "token_embd.weight"  # of the tokens at its end no text here has any, so that texts stay what they are
BODIES = [{"prompt": prompt, "max_tokens": 120, "temperature": 0.8 * (i % 2), "seed": i, "ignore_eos": True}
          for i, prompt in enumerate(["Once upon a time", "The capital of France is", "def add(a, b):", "1, 2, 3,", "Dear Sir"])]


def streamed(server, body):
    """The text, and the errors."""
    pieces = [data for _, data in events(server.call("POST", TEXT, body | {"stream": True}).body)]
    assert pieces.pop() == "[DONE]"
    return "".join(piece["choices"][0]["text"] for piece in pieces if "choices" in piece), [piece["error"] for piece in pieces if "error" in piece]


def rounds(server):
    return float(re.search(r"^millrace:weight_rounds_total{.*} (\S+)$", server.call("GET", "/metrics").body.decode(), re.M)[1])


def streams_until(server, holds, expected=None, seconds=120):
    """Streams of all bodies again and again, side by side."""
    end = time.monotonic() + seconds

    def stream(i):
        while not holds():
            assert time.monotonic() < end, server.text()
            text, errors = streamed(server, BODIES[i])
            assert not errors, errors
            assert expected is None or text == expected[i]

    with concurrent.futures.ThreadPoolExecutor(len(BODIES)) as pool:
        list(pool.map(stream, range(len(BODIES))))


@pytest.mark.parametrize("flags", [pytest.param(TWO, id="ranks"), *([pytest.param(STAGES, id="stages")] if "MILLRACE_TEST_ALL" in os.environ else [])])
def test_a_rank_whose_weights_have_changed_is_named_and_started_anew(start, server, tmp_path, flags):
    expected = [streamed(server, body)[0] for body in BODIES]
    with start(*flags, "--packed-cache", tmp_path) as running:
        [rank] = others(running)
        [packed] = [path for path in tmp_path.glob("*.packed") if flip_bit(rank, path, HEAD, -300)]
        damage_file(packed, HEAD)  # so that what the new process reads is damaged too
        streams_until(running, lambda: FOUND in running.text(), expected)
        wait_until(lambda: others(running) not in ([], [rank]))
        log = running.text()
        assert re.search(rf"a step has failed: rank 1: weight {HEAD} of \S+\.gguf {FOUND}; it is to be computed again", log), log
        assert f"{packed}: weight {HEAD} is damaged; the file is removed" in log
        assert log.count("started anew") == 1 and not packed.exists()
        before = rounds(running)
        streams_until(running, lambda: rounds(running) > before, expected)  # the new one's weights are good
        assert running.text().count(FOUND) == 1


def test_a_server_whose_weights_have_changed_ends(start, tmp_path):
    with start("--packed-cache", tmp_path) as running, concurrent.futures.ThreadPoolExecutor(len(BODIES)) as pool:
        streams_until(running, lambda: rounds(running) > 0)
        [packed] = tmp_path.glob("*.packed")
        assert flip_bit(running.process.pid, packed, HEAD, -300)

        def error_of(body):
            """Of the first request that has one: in its stream, or instead of it."""
            while True:
                reply = running.call("POST", TEXT, body | {"stream": True})
                if reply.status != 200:
                    return reply.error["message"]
                for _, data in events(reply.body):
                    if "error" in data:
                        return data["error"]["message"]

        assert set(pool.map(error_of, BODIES)) == {"the engine has failed"}
        assert running.process.wait(20) == 70
        assert re.search(rf"the engine failed: weight {HEAD} of \S+\.gguf {FOUND}", running.text()), running.text()
