"""Clients that dawdle: cut off when their time is up, never waited for by anybody else."""
import time

import pytest
from running_server import events, read_all, statuses, unchunked

LONG = {"prompt": "Count: 1, 2, 3,", "max_tokens": 3000, "ignore_eos": True, "temperature": 0, "stream": True, "logprobs": 20}


def answers(server):
    return server.post("/v1/completions", {"prompt": "a", "max_tokens": 1}).status == 200


def drip(plug, pieces, seconds):
    """One piece each `seconds`, until the other side has had enough."""
    for piece in pieces:
        try:
            plug.sendall(piece)
        except OSError:
            break
        plug.settimeout(seconds)
        try:
            if first := plug.recv(1 << 16):
                plug.settimeout(30)
                return first + read_all(plug)
            break
        except TimeoutError:
            continue
    plug.settimeout(30)
    return read_all(plug)


def test_a_head_that_comes_by_the_byte_is_cut_off(impatient):
    with impatient.connect() as plug:
        began = time.monotonic()
        received = drip(plug, (b"%c" % byte for byte in b"GET /version HTTP/1.1\r\nX: " + b"a" * 1000), 0.1)
    assert statuses(received) == [408] and time.monotonic() - began < 10


def test_a_body_that_stops_is_cut_off(impatient):
    with impatient.connect() as plug:
        plug.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        assert statuses(read_all(plug)) == [408]


def test_a_body_below_the_least_rate_is_cut_off(impatient):
    head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"
    with impatient.connect() as plug:
        plug.sendall(head)
        began = time.monotonic()
        received = drip(plug, (b" " for _ in range(60)), 0.5)
    assert statuses(received) == [408] and time.monotonic() - began < 20


def test_connections_that_say_nothing_are_closed_without_a_word(impatient):
    plugs = [impatient.connect() for _ in range(100)]
    try:
        assert answers(impatient)
        assert all(read_all(plug) == b"" for plug in plugs)
    finally:
        for plug in plugs:
            plug.close()


def descriptors_at_rest(server):
    """Those of the tests before linger for two seconds."""
    fewest = server.descriptors()
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        time.sleep(0.1)
        fewest = min(fewest, server.descriptors())
    return fewest


def test_a_reader_that_stops_is_paused_and_cut_off_and_its_sequence_ends(impatient):
    before = descriptors_at_rest(impatient)
    stopped = [impatient.open_stream("/v1/completions", LONG, receive_buffer=2048) for _ in range(4)]
    try:
        for plug in stopped:
            plug.recv(100)
        assert answers(impatient)
        end = time.monotonic() + 60
        while impatient.descriptors() > before:  # the server let go of them though we did not
            assert time.monotonic() < end
            time.sleep(0.1)
        for plug in stopped:  # of 6 MB: what is made for who does not read ends soon
            assert len(read_all(plug)) < 1 << 20
    finally:
        for plug in stopped:
            plug.close()
    whole = {"prompt": [1] * 3900, "max_tokens": 4}  # needs all of the cache
    assert impatient.post("/v1/completions", whole, timeout=300).status == 200


def test_a_slow_reader_gets_all_of_its_stream_and_delays_nobody(server, canaries):
    body = LONG | {"max_tokens": 300}
    with server.open_stream("/v1/completions", body, receive_buffer=2048, headers=["Connection: close"]) as plug:
        time.sleep(0.5)
        sung = sum(canaries.finished)
        received = b""
        while piece := plug.recv(2048):
            received += piece
            if len(received) < 100_000:
                time.sleep(0.01)
    assert sum(canaries.finished) > sung
    pieces = events(unchunked(received))
    assert pieces[-1] == (None, "[DONE]")
    assert sum(len(piece["choices"][0]["logprobs"]["tokens"]) for _, piece in pieces[:-1]) == 300


@pytest.mark.usefixtures("canaries")
def test_a_thousand_idle_connections_are_in_nobodys_way(server, at_rest):
    check = at_rest()
    before = server.resident_bytes()
    plugs = [server.connect() for _ in range(1000)]
    try:
        assert answers(server)
        assert server.resident_bytes() - before < 1000 * (64 << 10)
    finally:
        for plug in plugs:
            plug.close()
    check()


def test_more_connections_than_there_are_places_are_told_so(start):
    with start("--max-connections", "4") as server:
        plugs = [server.connect() for _ in range(4)]
        for plug in plugs:
            plug.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert plug.recv(15) == b"HTTP/1.1 200 OK"
        refused = server.raw(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert statuses(refused) in ([503], [])
        if refused:
            assert b"retry-after: 1" in refused
        plugs.pop().close()
        time.sleep(0.2)
        assert server.call("GET", "/health").status == 200
        for plug in plugs:
            plug.close()


def test_a_silent_stream_gets_comments(start):
    with start("--sse-keep-alive-interval", "0.1") as server:
        body = LONG | {"max_tokens": 800, "logprobs": None, "stream_interval": 400}
        with server.open_stream("/v1/completions", body, headers=["Connection: close"]) as plug:
            received = unchunked(read_all(plug))
    first, second = (at for at in range(len(received)) if received.startswith(b"data: {", at))
    assert b"\n\n: keep-alive\n\n" in received[first:second]
