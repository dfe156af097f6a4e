"""Mixtures of experts through the server: answers that neighbours, a cached prefix, speculation and chunks do not change; what steps read, told."""
import concurrent.futures
import re
import subprocess

import pytest
from running_server import PROGRAM, RunningServer, environment

PROMPT = "The machine reads its weights once for every token. " * 6
BODY = {"model": "m", "prompt": PROMPT, "max_tokens": 24, "temperature": 0.8, "seed": 5, "ignore_eos": True, "return_token_ids": True, "logprobs": 2}
SHAPES = {"tiny-qwen3-moe": "q4_0", "tiny-gpt-oss": "mxfp4"}


@pytest.fixture(scope="module", params=SHAPES)
def mixture(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("mixture") / "mixture.gguf"
    subprocess.run([PROGRAM, "synth", "--shape", request.param, "--format", SHAPES[request.param], "--no-progress", path], check=True, env=environment(), timeout=60)
    return path


def asked(server, more=None):
    reply = server.call("POST", "/v1/completions", BODY | (more or {}))
    assert reply.status == 200, reply
    (choice,) = reply.json()["choices"]
    return choice["token_ids"], choice["logprobs"]


@pytest.fixture(scope="module")
def plain(mixture):
    """The server of the test, and what it answers when nothing else runs and nothing is cached."""
    with RunningServer(mixture, mixture.parent / "plain.log") as server:
        yield server, asked(server, {"cache_salt": "alone"})


def test_neighbours_and_a_cached_prefix_change_nothing(plain):
    server, alone = plain
    others = [BODY | {"prompt": f"{i} " + PROMPT[i:], "seed": i, "max_tokens": 40} for i in range(7)]
    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        running = [clients.submit(server.call, "POST", "/v1/completions", body) for body in others]
        assert asked(server, {"cache_salt": "in a batch"}) == alone
        assert all(one.result().status == 200 for one in running)
    assert asked(server, {"cache_salt": "in a batch"}) == alone  # its prompt is in the cache now


@pytest.mark.parametrize("flags", [("--spec-method", "ngram"), ("--max-num-batched-tokens", "32"), ("--kv-cache-dtype", "bf16", "--no-prefix-caching")])
def test_speculation_and_chunks_change_nothing(mixture, plain, flags):
    with RunningServer(mixture, mixture.parent / "other.log", *flags) as server:
        assert asked(server) == plain[1]


def test_metrics_and_explain_tell_what_steps_read(mixture, plain):
    server, _ = plain
    shown = subprocess.run([PROGRAM, "inspect", mixture], check=True, capture_output=True, text=True, env=environment(), timeout=60).stdout
    layers, experts, chosen = map(int, re.search(r"^experts +(\d+) layers of (\d+), (\d+) chosen", shown, re.M).groups())

    def counter(name):
        text = server.call("GET", "/metrics").body.decode()
        return float(re.search(rf"^millrace:{name}\{{.*\}} (.*)$", text, re.M)[1])

    names = ["expert_layers_total", "experts_touched_total", "expert_read_bytes_total"]
    before = [counter(name) for name in names]
    reply = server.call("POST", "/v1/completions", BODY | {"explain": True, "cache_salt": "told"})
    decode = next(cause for cause in reply.json()["why_slow"] if cause["cause"] == "decode")
    assert decode["experts"]["touched_per_layer"] == chosen and decode["experts"]["of"] == experts and decode["experts"]["imbalance"] == 1
    assert f"{chosen:.1f} of {experts} experts" in decode["why"] and 0 < decode["experts"]["share_of_bytes"] < 1
    ran, touched, read = (counter(name) - was for name, was in zip(names, before))
    steps = 23  # of one token; the others computed the prompt
    assert ran >= layers * (steps + 1) and ran % layers == 0
    assert layers * (steps * chosen + chosen) < touched <= layers * steps * chosen + (ran - layers * steps) * experts
    assert counter("experts_per_layer") == experts and read > 0
    assert counter("expert_busiest_rows_total") >= counter("expert_even_rows_total") >= counter("expert_layers_total")
    assert counter("expert_imbalance") == 1  # of the last step, which had one token
