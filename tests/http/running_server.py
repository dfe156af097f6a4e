"""A millrace serve of the tests: started, waited for, spoken to byte by byte or in JSON, stopped."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

# How much longer an answer may take than on a server that is built for speed: `./dev asan server` says 10.
PATIENCE = float(os.environ.get("MILLRACE_TEST_PATIENCE", 1))

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "bin" / "millrace"
SMALL = {"--kv-cache-tokens": "4096", "--max-model-len": "4096"}  # a cache that one request can fill


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json()["error"]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:600]!r}"


RUNTIME_FOLDER = tempfile.mkdtemp(prefix="millrace-run-")  # where servers of the tests can be found, and no others


def environment():
    """None of the user's own settings reaches a test."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
    return own | {"HF_HUB_OFFLINE": "1", "XDG_RUNTIME_DIR": RUNTIME_FOLDER}


class RunningServer:
    """with RunningServer(model, log, "--flag", ...) as server: ... Leaving asks it to end and wants exit code 0."""

    def __init__(self, model, log, *flags, env=None, wait=True, program=PROGRAM, name="m"):
        self.log = pathlib.Path(log)
        small = {k: v for k, v in SMALL.items() if k not in flags and not (k == "--kv-cache-tokens" and "--kv-cache-memory-bytes" in flags)}
        flags = [*(word for pair in small.items() for word in pair), *map(str, flags)]
        self.uds = flags[flags.index("--uds") + 1] if "--uds" in flags else None
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen([program, "serve", model, "--port", "0", *(["--served-model-name", name] if name else []), *flags],
                                            stdout=out, stderr=subprocess.STDOUT, env=environment() | (env or {}))
        try:
            listening = self._wait_for(lambda: re.search(r"listening on (?:(https?)://(.*):(\d+)|unix:(.*))\n", self.text()), 60)
            self.tls = listening[1] == "https"
            self.port = int(listening[3]) if listening[3] else 0
            self.url = f"{listening[1]}://127.0.0.1:{self.port}" if self.port else ""
            if wait:
                self.wait_until_ready()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            code = self.stop()
            assert code == 0 or kind is not None, f"exit code {code}\n{self.text()}"

    def _wait_for(self, look, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := look():
                return found
            assert self.process.poll() is None, f"ended with {self.process.returncode}\n{self.text()}"
            time.sleep(0.02)
        raise AssertionError(f"not within {seconds} s\n{self.text()}")

    def wait_until_ready(self):
        self._wait_for(lambda: self.call("GET", "/ready").status == 200, 120)

    def text(self):
        return self.log.read_text(errors="replace")

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, seconds=30):
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    # What the process holds, from outside.
    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def resident_bytes(self):
        pages = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    # Bytes.
    def connect(self, timeout=30.0, receive_buffer=None):
        if self.uds:
            plug = socket.socket(socket.AF_UNIX)
            address = self.uds
        else:
            plug = socket.socket()
            address = ("127.0.0.1", self.port)
        if receive_buffer:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        plug.settimeout(timeout)
        plug.connect(address)
        return plug

    def raw(self, data, timeout=30.0, half_close=False):
        """All that comes back on a connection of its own until the server closes it."""
        with self.connect(timeout) as plug:
            try:
                for piece in [data] if isinstance(data, bytes) else data:
                    plug.sendall(piece)
                if half_close:
                    plug.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has said its last word before we had
            return read_all(plug)

    # JSON.
    def call(self, method, path, body=None, headers=None, timeout=60.0):
        headers = dict(headers or {})
        data = body
        if body is not None and not isinstance(body, bytes):
            data = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        timeout *= PATIENCE
        connection = http.client.HTTPConnection("localhost", self.port, timeout=timeout)
        connection.sock = self.connect(timeout) if not self.tls else self._tls(timeout)
        try:
            connection.request(method, path, body=data, headers=headers)
            response = connection.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def _tls(self, timeout):
        import ssl
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return context.wrap_socket(self.connect(timeout))

    def post(self, path, body, headers=None, **more):
        return self.call("POST", path, body, headers, **more)

    def open_stream(self, path, body, timeout=60.0, receive_buffer=None, headers=()):
        """A socket on which the request was sent."""
        plug = self.connect(timeout, receive_buffer)
        plug.sendall(request_bytes(path, body, headers))
        return plug


def request_bytes(path, body, headers=()):
    data = json.dumps(body).encode()
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + data


def read_all(plug):
    received = b""
    try:
        while piece := plug.recv(1 << 16):
            received += piece
    except (ConnectionResetError, BrokenPipeError):
        pass
    return received


def statuses(received):
    """Of all replies in what one connection brought; bodies must not look like a status line."""
    return [int(code) for code in re.findall(rb"(?:^|(?<=[\n}]))HTTP/1\.1 (\d{3}) ", received)]


def unchunked(received):
    """The body of one chunked reply."""
    head, _, rest = received.partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head.lower(), received[:400]
    body = b""
    while True:
        size, _, rest = rest.partition(b"\r\n")
        count = int(size, 16)
        if count == 0:
            assert rest == b"\r\n"
            return body
        body, rest = body + rest[:count], rest[count + 2:]


def events(body):
    """(event name, parsed data) of server-sent events; [DONE] stays text."""
    out = []
    for block in body.decode().split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if "data" in lines:
            out.append((lines.get("event"), lines["data"] if lines["data"] == "[DONE]" else json.loads(lines["data"])))
    return out
