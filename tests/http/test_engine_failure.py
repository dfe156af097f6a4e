"""An engine that dies, hangs or dawdles: what clients and supervisors see. The executor is the simulator's, the rest is `serve`."""
import contextlib
import http.client
import json
import re
import socket
import subprocess
import threading
import time

import pytest
from running_server import PROGRAM, environment, events, read_all, request_bytes, unchunked

FAULTY = PROGRAM.parent / "faulty_server"
TEXT = "/v1/completions"
BODY = {"prompt": [1, 2, 3], "max_tokens": 500, "ignore_eos": True}


class Faulty:
    def __init__(self, log, *flags, port=0):
        assert FAULTY.exists(), f"{FAULTY} is not built: ./dev build"
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen([FAULTY, "--port", str(port), *map(str, flags)], stdout=out, stderr=subprocess.STDOUT, env=environment())
        end = time.monotonic() + 20
        while not (found := re.search(r"listening on http://127.0.0.1:(\d+)", log.read_text())):
            assert self.process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.01)
        self.port = int(found[1])
        while self.get("/ready")[0] != 200:
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def plug(self, data=b""):
        plug = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        plug.sendall(data)
        return plug

    def get(self, path):
        connection = http.client.HTTPConnection("localhost", self.port, timeout=20)
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read()

    def post(self, body):
        with self.plug(request_bytes(TEXT, body, ["Connection: close"])) as plug:
            head, _, rest = read_all(plug).partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(rest)


@pytest.fixture
def faulty(tmp_path):
    with contextlib.ExitStack() as stack:
        yield lambda *flags, **more: stack.enter_context(Faulty(tmp_path / f"{time.monotonic_ns()}.log", *flags, **more))


def stream(server, **more):
    return server.plug(request_bytes(TEXT, BODY | {"stream": True} | more, ["Connection: close"]))


@pytest.mark.parametrize("fault", [("--throw-at", 40), ("--hang-at", 40, "--step-timeout", 0.7)], ids=["dies", "hangs"])
def test_an_engine_that_fails_turns_health_red_tells_every_stream_and_ends_the_process(faulty, fault):
    server = faulty("--step-ms", 5, *fault)
    streams = [stream(server) for _ in range(3)]
    whole = server.plug(request_bytes(TEXT, BODY, ["Connection: close"]))
    reds = []

    def watch():
        with contextlib.suppress(OSError, http.client.HTTPException):
            while True:
                status, _ = server.get("/health")
                if status != 200:
                    reds.append(time.monotonic())
                time.sleep(0.02)

    watching = threading.Thread(target=watch)
    watching.start()
    for plug in streams:
        pieces = events(unchunked(read_all(plug)))
        assert len(pieces) > 10
        assert pieces[-2][1]["error"]["message"] == "the engine has failed" and pieces[-1] == (None, "[DONE]")
    received = read_all(whole)
    assert received.startswith(b"HTTP/1.1 500 ") and b"the engine has failed" in received
    assert server.process.wait(20) == 70
    ended = time.monotonic()
    watching.join()
    assert reds and ended - reds[0] < 5
    again = faulty(port=server.port)  # the port is free
    assert again.post(BODY | {"max_tokens": 2})[0] == 200


def test_a_step_that_the_device_fails_costs_its_requests_only(faulty):
    server = faulty("--refuse-at", 3, "--step-ms", 1)
    status, body = server.post(BODY)
    assert status == 500 and body["error"]["type"] == "server_error"
    assert server.post(BODY | {"max_tokens": 3})[0] == 200
    assert server.get("/health")[0] == 200


def test_a_stream_begins_before_its_first_token_where_that_takes_long(faulty):
    server = faulty("--step-ms", 2500, "--sse-keep-alive-interval", 0.5)
    with stream(server, max_tokens=1) as plug:
        plug.settimeout(1.8)
        head = plug.recv(4096)
        assert head.startswith(b"HTTP/1.1 200 ") and b"text/event-stream" in head
        comment = b""
        while b": keep-alive" not in comment:
            comment += plug.recv(4096)
        plug.settimeout(20)
        received = head + comment + read_all(plug)
    assert events(unchunked(received))[-1] == (None, "[DONE]")
    status, body = server.post({"prompt": [1], "max_tokens": 100_000, "stream": True})  # found before: an error as ever
    assert status == 400 and body["error"]["code"] == "context_length_exceeded"


def test_an_error_after_the_early_head_is_an_event(faulty):
    server = faulty("--step-ms", 1000, "--throw-at", 3, "--sse-keep-alive-interval", 0.3)
    with stream(server, prompt=[2] * 2000) as plug:  # more than two steps
        received = read_all(plug)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert [name if data == "[DONE]" else list(data) for name, data in events(unchunked(received))] == [["error"], None]


def test_half_closed_clients_are_served_and_those_that_left_are_noticed(faulty):
    server = faulty("--step-ms", 50)
    for protocol in ("HTTP/1.1", "HTTP/1.0"):
        data = request_bytes(TEXT, BODY | {"max_tokens": 10}).replace(b"HTTP/1.1", protocol.encode(), 1)
        with server.plug(data) as plug:
            plug.shutdown(socket.SHUT_WR)
            received = read_all(plug)
        assert b" 200 OK\r\n" in received and b'"finish_reason":"length"' in received
    with stream(server, max_tokens=10) as plug:
        plug.shutdown(socket.SHUT_WR)
        assert b"data: [DONE]" in read_all(plug)
    for streams in (False, True):
        server.plug(request_bytes(TEXT, BODY | {"stream": streams, "max_tokens": 3000})).close()
        end = time.monotonic() + 5  # alone it would take more than 2 minutes
        while b'num_requests_running{engine="0",model_name="m"} 0' not in server.get("/metrics")[1]:
            assert time.monotonic() < end
            time.sleep(0.05)
