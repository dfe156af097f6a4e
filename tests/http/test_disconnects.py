"""Clients that leave at any moment: the work for them ends, what they held comes back, the others notice nothing."""
import random
import re
import socket
import struct
import threading
import time

import pytest
from running_server import PATIENCE, request_bytes

GONE = 500
CHAT, TEXT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"


def leave(plug, rng):
    """With FIN or with RST."""
    if rng.random() < 0.5:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    plug.close()


def some_request(rng):
    talk = [{"role": "user", "content": "word " * rng.choice([1, 20, 400])}]
    stream = rng.random() < 0.7
    return rng.choice([
        (TEXT, {"prompt": "word " * rng.choice([1, 50, 900]), "max_tokens": 60, "stream": stream, "n": rng.choice([1, 1, 3])}),
        (TEXT, {"prompt": ["a", "b", "c"], "max_tokens": 40, "stream": stream, "logprobs": 5, "echo": True}),
        (CHAT, {"messages": talk, "max_tokens": 60, "stream": stream}),
        (CHAT, {"messages": talk, "max_tokens": 30, "stream": stream, "n": 4, "logprobs": True, "top_logprobs": 2}),
        (MESSAGES, {"messages": talk, "max_tokens": 60, "stream": stream}),
        (RESPONSES, {"input": talk, "max_output_tokens": 60, "stream": stream}),
        ("/v1/embeddings", {"input": ["word " * rng.choice([1, 200])] * 4}),
        ("/tokenize", {"prompt": "word " * 10_000}),
    ])


def connect_and_leave(server, rng):
    data = request_bytes(*some_request(rng))
    where = rng.choice(["head", "body", "soon", "later", "reading"])
    plug = server.connect(timeout=5)
    try:
        if where == "head":
            plug.sendall(data[:rng.randrange(1, 60)])
        elif where == "body":
            plug.sendall(data[:rng.randrange(len(data) // 2, len(data))])
        else:
            plug.sendall(data)
            if where == "later":
                time.sleep(rng.random() * 0.3)
            if where == "reading":
                plug.settimeout(rng.random() * 0.5)
                plug.recv(rng.randrange(1, 2000))
    except OSError:
        pass
    leave(plug, rng)


@pytest.mark.usefixtures("canaries")
def test_500_clients_leave_at_random_and_nothing_of_theirs_stays(server, at_rest):
    whole = {"prompt": [1] * 3900, "max_tokens": 4}  # needs all of the cache
    assert server.post(TEXT, whole).status == 200
    check, before = at_rest(), server.resident_bytes()

    def some(seed):
        rng = random.Random(seed)
        for _ in range(GONE // 10):
            connect_and_leave(server, rng)

    threads = [threading.Thread(target=some, args=(seed,)) for seed in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert server.post(TEXT, whole, timeout=120).status == 200
    check()
    if PATIENCE == 1:  # a sanitizer keeps what is freed
        assert server.resident_bytes() - before < 64 << 20


def test_the_metrics_say_that_nothing_is_left(start):
    """Without canaries, so that rest is rest: no request, no page in use, no connection but the one that asks."""
    with start() as server:
        rng = random.Random(1)
        for _ in range(100):
            connect_and_leave(server, rng)
        idle = {"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "millrace:paused_streams": 0,
                "millrace:http_connections": 1, "used": 0}
        end = time.monotonic() + 10
        while (now := at_work(server)) != idle:
            assert time.monotonic() < end, now
            time.sleep(0.05)


def at_work(server):
    text = server.call("GET", "/metrics").body.decode()
    names = ["vllm:num_requests_running", "vllm:num_requests_waiting", "millrace:paused_streams", "millrace:http_connections"]
    values = {name: float(re.search(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M)[1]) for name in names}
    return values | {"used": float(re.search(r'^millrace:kv_pages{.*state="used"} (\S+)$', text, re.M)[1])}


def test_a_client_that_leaves_a_queued_request_takes_it_along(start):
    with start("--max-num-seqs", "1") as server:
        endless = {"prompt": "a", "max_tokens": 3000, "ignore_eos": True, "stream": True}
        with server.open_stream(TEXT, endless) as running:
            running.recv(100)
            queued = [server.open_stream(TEXT, endless) for _ in range(5)]
            time.sleep(0.3)
            for plug in queued:
                plug.close()
            time.sleep(0.3)
        began = time.monotonic()  # the first has left too: nobody is before us
        assert server.post(TEXT, {"prompt": "a", "max_tokens": 1}).status == 200
        assert time.monotonic() - began < 10


@pytest.mark.usefixtures("canaries")
def test_a_reply_goes_on_for_who_asked_twice_and_left_once(server):
    body = {"prompt": "The capital of France is", "max_tokens": 12, "temperature": 0}
    alone = server.post(TEXT, body).json()["choices"][0]["text"]
    for _ in range(20):
        with server.open_stream(TEXT, body | {"stream": True}):
            pass
        assert server.post(TEXT, body).json()["choices"][0]["text"] == alone
