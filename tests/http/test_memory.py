"""What a server says it takes, and what it leaves room for."""
import re
import subprocess
import time

from running_server import PROGRAM, environment


def bytes_of(server, kind):
    text = server.call("GET", "/metrics").body.decode()
    return float(re.search(rf'^millrace:memory_bytes{{.*kind="{kind}".*}} (\S+)$', text, re.M)[1])


def settles(server, limit, seconds=90.0):
    """What is resident once it is at most `limit` bytes; the last word where it never is."""
    end = time.monotonic() + seconds
    while (resident := server.resident_bytes()) > limit and time.monotonic() < end:
        time.sleep(0.25)
    return resident


def test_an_idle_server_keeps_little_more_than_its_weights(start):
    """1 GB is reserved for keys and values; what is used of it goes back, and answers stay as they are."""
    prompt = {"prompt": "The history of the mill race begins", "max_tokens": 24, "temperature": 0}
    with start("--kv-cache-memory-bytes", "1GB", "--max-model-len", "4096") as server:
        limit = 1.05 * bytes_of(server, "weights") + 64e6
        assert server.resident_bytes() < 2 * limit  # not the gigabyte, from the start
        before = server.post("/v1/completions", prompt).json()["choices"][0]["text"]
        words = " ".join(f"word{i}" for i in range(200))
        assert server.post("/v1/completions", {"prompt": words, "max_tokens": 4}).status == 200
        assert settles(server, limit) <= limit, server.resident_bytes()
        assert server.post("/v1/completions", prompt).json()["choices"][0]["text"] == before


def test_a_cache_that_does_not_fit_names_its_flag_and_what_is_free(model):
    for flags, named in [(["--kv-cache-memory-bytes", "400TiB"], "--kv-cache-memory-bytes asks for 440 TB of keys and values"),
                         (["--kv-cache-tokens", "4000000000"], "--kv-cache-tokens asks for ")]:
        done = subprocess.run([PROGRAM, "serve", model, "--port", "0", *flags], capture_output=True, text=True, timeout=60, env=environment())
        assert done.returncode == 4 and named in done.stderr and "of memory are available" in done.stderr, done.stderr


def test_a_draft_models_pages_share_the_memory_of_the_cache(start, model):
    flags = ["--kv-cache-memory-bytes", "32MB", "--max-model-len", "256"]
    with start(*flags) as alone, start(*flags, "--spec-method", "draft-model", "--spec-model", model) as drafting:
        assert bytes_of(alone, "drafting") == 0 and bytes_of(drafting, "drafting") > bytes_of(alone, "weights")
        assert bytes_of(drafting, "weights") == bytes_of(alone, "weights")
        # The draft model is the model itself: its pages are as large.
        assert 31e6 < bytes_of(alone, "kv_cache") <= 32 * 2**20
        assert 0.48 < bytes_of(drafting, "kv_cache") / bytes_of(alone, "kv_cache") <= 0.5
        assert re.search(r"of weights, .* of keys and values for \d+ tokens, .* of drafting; .* available", drafting.text())
