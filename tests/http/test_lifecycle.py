"""Beginning, ending, being reached: signals, ports, TLS, Unix sockets."""
import contextlib
import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import threading
import time

import pytest
from running_server import PROGRAM, environment, events, read_all, request_bytes, statuses, unchunked

TEXT = "/v1/completions"
LONG = {"prompt": "Count: 1, 2, 3,", "max_tokens": 150, "ignore_eos": True, "temperature": 0, "stream": True}
GET = b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def test_running_requests_end_in_peace_and_new_ones_are_turned_away(start):
    with start() as server, server.connect() as idle, server.open_stream(TEXT, LONG) as plug:
        plug.recv(100, socket.MSG_PEEK)
        server.signal(signal.SIGTERM)
        idle.settimeout(10)
        assert idle.recv(1) == b""  # has nothing to lose
        with pytest.raises(OSError):
            for _ in range(100):
                server.raw(GET)
                time.sleep(0.05)
            pytest.fail("the server still takes connections")
        pieces = events(unchunked(read_all(plug)))
        assert pieces[-1] == (None, "[DONE]") and pieces[-2][1]["choices"][0]["finish_reason"] == "length"
        assert server.process.wait(30) == 0


def test_a_connection_in_use_hears_that_the_server_shuts_down(start):
    """A request that comes while another of its connection is answered, after the signal."""
    with start() as server, server.open_stream(TEXT, LONG) as plug:
        plug.recv(100, socket.MSG_PEEK)
        server.signal(signal.SIGTERM)
        time.sleep(0.3)
        plug.sendall(GET)
        received = read_all(plug)
        assert statuses(received)[0] == 200 and statuses(received)[1:] in ([], [503])
        assert server.process.wait(30) == 0


def test_what_does_not_end_in_time_is_told_and_ended(start):
    with start("--shutdown-timeout", "0.5") as server:
        with server.open_stream(TEXT, LONG | {"max_tokens": 3500}) as plug:
            plug.recv(100, socket.MSG_PEEK)
            began = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - began < 8
            received = read_all(plug)
    pieces = events(unchunked(received))
    assert pieces[-2][1]["error"]["code"] == "shutting_down"


def test_a_second_signal_ends_it_at_once(start):
    with start("--shutdown-timeout", "60") as server, server.open_stream(TEXT, LONG | {"max_tokens": 3500}) as plug:
        plug.recv(100)
        server.signal(signal.SIGTERM)
        time.sleep(0.3)
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        assert server.process.wait(5) == 128 + signal.SIGTERM
        assert time.monotonic() - began < 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_model_loads_ends_it(start, number):
    with start(wait=False) as server:
        server.signal(number)
        assert server.process.wait(20) == 0


def test_until_the_model_is_there_requests_are_told_to_wait(start):
    with start(wait=False) as server:
        assert server.call("GET", "/health").status == 200
        seen = []
        for _ in range(1000):
            reply = server.post(TEXT, {"prompt": "a", "max_tokens": 1})
            seen.append(reply.status)
            if reply.status == 200:
                break
            assert reply.status == 503 and reply.headers["retry-after"] == "1" and reply.error["type"] == "server_error"
            time.sleep(0.01)
        assert seen[-1] == 200
        assert server.call("GET", "/ready").status == 200


def test_ready_says_how_much_of_the_model_is_there(start):
    # One thread loads, so that on a busy machine of two cores there is time to ask while it does.
    with start("--packed-cache", "off", "--matmul-precision", "f32", "--threads", "1", wait=False) as server:
        shares, told = [], []
        while (reply := server.call("GET", "/ready")).status != 200:
            assert reply.status == 503 and reply.headers["retry-after"] == "1" and reply.json()["status"] == "loading"
            shares.append(reply.json()["progress"])
            if (refused := server.post(TEXT, {"prompt": "a", "max_tokens": 1})).status == 503:
                told.append(int(refused.error["message"].split(": ")[1].split(" %")[0]))
        assert shares == sorted(shares) and told == sorted(told)
        assert any(0 < share < 1 for share in shares) and any(0 < percent < 100 for percent in told), (shares, told)
        assert server.call("GET", "/ready").json() == {"status": "ready"}


def test_a_model_that_cannot_be_loaded_ends_the_server_with_its_code(tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF" + b"\xff" * 100)
    done = subprocess.run([PROGRAM, "serve", bad, "--port", "0"], capture_output=True, timeout=60, env=environment())
    assert done.returncode not in (0, 70) and b"bad.gguf" in done.stderr


def test_a_port_in_use_is_an_error_that_names_it(server, model):
    done = subprocess.run([PROGRAM, "serve", model, "--port", str(server.port)], capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 1 and done.stdout == "" and "of weights" not in done.stderr  # nothing was loaded
    assert f"--port {server.port}: process {server.process.pid} (millrace) listens on 127.0.0.1:{server.port}" in done.stderr
    # An address of its own is not taken where another has all, and none of it is where the model leads nowhere.
    everywhere = subprocess.run([PROGRAM, "serve", "/no/such.gguf", "--host", "0.0.0.0", "--insecure-no-auth", "--port", str(server.port)],
                                capture_output=True, text=True, timeout=60, env=environment())
    assert everywhere.returncode == 1 and f"process {server.process.pid}" in everywhere.stderr


@pytest.mark.parametrize("flags, code, named", [(["--host", "203.0.113.1", "--insecure-no-auth"], 2, "--host 203.0.113.1: this machine has no such address"),
                                                (["--uds", "/no/folder/s"], 2, "--uds /no/folder/s"), (["--uds", __file__], 1, "no socket")])
def test_an_address_that_cannot_be_taken_is_named(model, flags, code, named):
    done = subprocess.run([PROGRAM, "serve", model, *flags], capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == code and named in done.stderr


def test_a_unix_socket_serves_its_owner_only(start, tmp_path, model):
    path = tmp_path / "socket"
    with start("--uds", str(path)) as server:
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0
        assert server.post(TEXT, {"prompt": "a", "max_tokens": 1}).status == 200
        assert statuses(server.raw(GET)) == [200]
        second = subprocess.run([PROGRAM, "serve", model, "--uds", path], capture_output=True, timeout=60, env=environment())
        assert second.returncode == 1 and f"process {server.process.pid} (millrace) listens there".encode() in second.stderr
        assert statuses(server.raw(GET)) == [200]
    assert not path.exists()


def test_the_socket_of_a_server_that_was_killed_is_taken_over(start, tmp_path):
    path = tmp_path / "socket"
    with start("--uds", str(path), wait=False) as server:
        server.process.kill()
        server.process.wait()
    assert path.exists()
    with start("--uds", str(path), wait=False) as server:
        assert server.call("GET", "/health").status == 200


def test_a_successor_listens_while_its_predecessor_still_answers(start, tmp_path):
    path = tmp_path / "socket"
    with start("--uds", str(path), "--shutdown-timeout", "60") as first:
        with first.open_stream(TEXT, LONG | {"max_tokens": 3500}) as plug:
            plug.recv(100)
            first.signal(signal.SIGTERM)
            until = time.monotonic() + 20
            while path.exists() and time.monotonic() < until:
                time.sleep(0.01)
            assert not path.exists()
            second = start("--uds", str(path))
            assert first.process.poll() is None
        with second:
            assert first.process.wait(30) == 0  # its last client has gone
            assert statuses(second.raw(GET)) == [200]
    assert not path.exists()


def make_certificate(folder, name):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    f"/CN={name}", "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)


def test_tls_serves_streams_refuses_what_is_old_and_reads_its_certificate_anew(start, tmp_path):
    make_certificate(tmp_path, "first")
    with start("--ssl-certfile", tmp_path / "cert.pem", "--ssl-keyfile", tmp_path / "key.pem") as server:
        assert server.tls

        def connect(versions=None):
            context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
            if versions:
                context.minimum_version, context.maximum_version = versions
            return context.wrap_socket(server.connect(), server_hostname="localhost")

        with connect() as plug:
            assert dict(pair[0] for pair in plug.getpeercert()["subject"])["commonName"] == "first"
            plug.sendall(request_bytes(TEXT, LONG | {"max_tokens": 50}, ["Connection: close"]))
            assert events(unchunked(read_all(plug)))[-1] == (None, "[DONE]")
        with pytest.raises((ssl.SSLError, OSError)):
            import warnings
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                connect((ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1))
        assert read_plain(server) == b"" or b"400" in read_plain(server)
        for _ in range(50):  # handshakes that end early
            with server.connect() as plug:
                plug.sendall(os.urandom(100))
        make_certificate(tmp_path, "second")
        with connect_any(server) as old:
            server.signal(signal.SIGHUP)
            wait_for(lambda: common_name(connect) == "second")
            old.sendall(GET)
            assert statuses(read_all(old)) == [200]
        (tmp_path / "cert.pem").write_text("nonsense")
        server.signal(signal.SIGHUP)
        time.sleep(0.5)
        with connect_any(server) as plug:  # keeps the one it has
            plug.sendall(GET)
            assert statuses(read_all(plug)) == [200]


class HalfTls:
    """A TLS client that can close its sending side alone, which Python's SSLSocket cannot."""

    def __init__(self, server):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self.read, self.written = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls, self.plug = context.wrap_bio(self.read, self.written), server.connect(20)
        self._until_done(self.tls.do_handshake)

    def _until_done(self, action):
        while True:
            try:
                return action()
            except ssl.SSLWantReadError:
                self.flush()
                piece = self.plug.recv(1 << 16)
                self.read.write(piece) if piece else self.read.write_eof()
            finally:
                self.flush()

    def flush(self):
        self.plug.sendall(self.written.read())

    def send(self, data):
        self.tls.write(data)
        self.flush()

    def say_that_nothing_follows(self):
        with contextlib.suppress(ssl.SSLWantReadError):  # it would like to hear the same from the server
            self.tls.unwrap()
        self.flush()

    def read_all(self):
        received = b""
        with contextlib.suppress(ssl.SSLZeroReturnError):
            while piece := self._until_done(lambda: self.tls.read(1 << 16)):
                received += piece
        return received


def test_tls_clients_that_close_their_sending_side_are_served_and_those_that_leave_are_noticed(start, tmp_path):
    make_certificate(tmp_path, "half")
    with start("--ssl-certfile", tmp_path / "cert.pem", "--ssl-keyfile", tmp_path / "key.pem") as server:
        for stream in (False, True):
            client = HalfTls(server)
            client.send(request_bytes(TEXT, LONG | {"max_tokens": 50, "stream": stream}))
            client.say_that_nothing_follows()
            got = client.read_all()
            assert 200 in statuses(got), got
            assert b"[DONE]" in got if stream else b'"completion_tokens":50' in got
            client.plug.close()

        def running():
            metrics = server.call("GET", "/metrics").body.decode()
            return float(re.search(r"^vllm:num_requests_running{[^}]*} (\S+)$", metrics, re.M)[1])

        for say in (True, False):  # with a last word and without
            client = HalfTls(server)
            client.send(request_bytes(TEXT, LONG | {"max_tokens": 4000, "stream": False}))
            wait_for(lambda: running() == 1)
            if say:
                client.say_that_nothing_follows()
            client.plug.close()
            wait_for(lambda: running() == 0)


def read_plain(server):
    return server.raw(GET, timeout=15)


def connect_any(server):
    return server._tls(10)


def common_name(connect):
    try:
        with connect() as plug:
            return dict(pair[0] for pair in plug.getpeercert()["subject"])["commonName"]
    except ssl.SSLError:
        return None


def wait_for(look, seconds=10):
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_certificate_that_is_not_one_ends_it_by_name(model, tmp_path):
    (tmp_path / "cert.pem").write_text("nonsense")
    (tmp_path / "key.pem").write_text("nonsense")
    for flags in (["--ssl-certfile", tmp_path / "cert.pem", "--ssl-keyfile", tmp_path / "key.pem"], ["--ssl-certfile", tmp_path / "cert.pem"]):
        done = subprocess.run([PROGRAM, "serve", model, "--port", "0", *flags], capture_output=True, timeout=60, env=environment())
        assert done.returncode not in (0, 70) and b"cert" in done.stderr


def test_no_descriptors_left_is_survived(start):
    import resource
    with start() as server:
        soft = server.descriptors() + 10
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (soft, soft))
        plugs = []
        try:
            for _ in range(40):
                plugs.append(server.connect(timeout=5))
            plugs[0].sendall(GET)
            assert statuses(read_all(plugs[0])) == [200]
        finally:
            for plug in plugs:
                plug.close()
        wait_for(lambda: server.call("GET", "/health").status == 200)


def test_many_streams_at_once_say_each_what_they_would_alone(server):
    prompts = [f"Item {i} of the list is" for i in range(24)]
    body = {"max_tokens": 12, "temperature": 0}
    alone = [server.post(TEXT, body | {"prompt": prompt}).json()["choices"][0]["text"] for prompt in prompts]
    texts = [None] * len(prompts)

    def stream(i):
        with server.open_stream(TEXT, body | {"prompt": prompts[i], "stream": True}, headers=["Connection: close"]) as plug:
            pieces = events(unchunked(read_all(plug)))
        texts[i] = "".join(piece["choices"][0]["text"] for _, piece in pieces[:-1])

    threads = [threading.Thread(target=stream, args=(i,)) for i in range(len(prompts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert texts == alone


def test_two_busy_models_share_the_machine(start, model):
    """While a stream of one runs, a stream of the other comes about as far; alone again, each is as fast as before."""
    with start("--model", f"other={model}") as server:
        assert server.post(TEXT, {"prompt": "a", "max_tokens": 1, "model": "other"}).status == 200  # loads it
        body = {"prompt": "Count: 1, 2, 3,", "max_tokens": 300, "ignore_eos": True, "temperature": 0, "stream": True}
        said = {}

        def read(name):
            with server.open_stream(TEXT, body | {"model": name}) as plug:
                plug.recv(1, socket.MSG_PEEK)
                begun.wait()
                text = said[name] = []
                while b"[DONE]" not in (piece := plug.recv(1 << 12)):
                    text.append(piece)
                counts.append({other: b"".join(pieces).count(b"data: ") for other, pieces in said.items()})

        begun, counts = threading.Barrier(2), []
        threads = [threading.Thread(target=read, args=(name,)) for name in ("m", "other")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        first = counts[0]
        assert min(first.values()) > 0.8 * max(first.values()), counts
        busy = {line.split('model_name="')[1].split('"')[0] for line in server.call("GET", "/metrics").body.decode().splitlines()
                if line.startswith("millrace:step_phase_seconds_count") and 'phase="send"' in line and not line.endswith(" 0")}
        assert busy == {"m", "other"}


def states(server):
    return {card["id"]: card["status"] for card in server.call("GET", "/v1/models").json()["data"]}


def test_models_that_nobody_asks_for_go_and_come_back(start, model):
    """The idle ones, and one in the way of another; what was measured of them stays."""
    with start("--model", f"other={model}", "--model-idle-timeout", "0.2") as server:
        ask = {"prompt": "Count: 1, 2, 3,", "max_tokens": 4, "temperature": 0}
        first = server.post(TEXT, ask | {"model": "other"}).json()["choices"][0]["text"]
        wait_for(lambda: set(states(server).values()) == {"unloaded"}, 60)
        assert 'model_name="other"' in server.call("GET", "/metrics").body.decode()
        assert server.post(TEXT, ask | {"model": "other"}).json()["choices"][0]["text"] == first
    with start("--model", f"other={model}", "--model-memory", "1B") as server:  # no room for two
        assert server.post(TEXT, ask | {"model": "other"}).json()["choices"][0]["text"] == first
        assert states(server) == {"m": "unloaded", "other": "ready"}
        with server.open_stream(TEXT, LONG | {"max_tokens": 3500}) as plug:
            plug.recv(1, socket.MSG_PEEK)
            assert states(server) == {"m": "ready", "other": "unloaded"}
            assert server.post(TEXT, ask | {"model": "other"}).status == 200
            assert states(server) == {"m": "ready", "other": "ready"}  # one that is busy stays
