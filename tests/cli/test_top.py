"""millrace top against a server that is only its metrics."""
import fcntl
import http.server
import json
import os
import pty
import re
import select
import ssl
import struct
import subprocess
import termios
import threading
import time

import pytest

PAGE = """# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="m\x1b"}} 3
vllm:num_requests_waiting{{engine="0",model_name="m\x1b"}} 2
vllm:kv_cache_usage_perc{{engine="0",model_name="m\x1b"}} 0.25
vllm:generation_tokens_total{{engine="0",model_name="m\x1b"}} {tokens}
vllm:inter_token_latency_seconds_bucket{{engine="0",model_name="m\x1b",le="0.01"}} 0
vllm:inter_token_latency_seconds_bucket{{engine="0",model_name="m\x1b",le="0.02"}} {tokens}
vllm:inter_token_latency_seconds_bucket{{engine="0",model_name="m\x1b",le="+Inf"}} {tokens}
"""


@pytest.fixture
def server():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == "/v1/requests":
                self.send_response(200 if self.server.requests is not None else 404)
                self.end_headers()
                self.wfile.write(json.dumps({"object": "list", "data": self.server.requests}).encode())
                return
            self.server.count += 1
            right = self.path == "/metrics" and self.headers.get("Authorization") in (None, "Bearer key")
            self.send_response(200 if right else 401)
            self.end_headers()
            self.wfile.write(self.server.page.format(tokens=100 * self.server.count).encode())

        def log_message(self, *_):
            pass

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.count = 0
    served.page = PAGE
    served.requests = None
    threading.Thread(target=served.serve_forever, daemon=True).start()
    yield served
    served.shutdown()
    served.server_close()


def address(server):
    return f"http://127.0.0.1:{server.server_port}"


def test_once_as_json_gives_rates_between_two_readings(millrace, server):
    views = json.loads(millrace("top", address(server), "--once", "--json", "--interval", "0.2").out)
    assert [view["model"] for view in views] == ["m\x1b"]
    view = views[0]
    assert view["running"] == 3 and view["waiting"] == 2 and view["kv_cache_usage"] == 0.25
    assert 0.2 <= view["seconds"] < 5
    assert view["output_tokens_per_second"] == pytest.approx(100 / view["seconds"])
    assert view["inter_token_seconds"]["p50"] == pytest.approx(0.015)


def test_text_escapes_what_a_terminal_would_obey(millrace, server):
    out = millrace("top", address(server) + "/metrics", "--once", "--interval", "0.1", "--api-key", "key").out
    assert "running     3" in out and "\x1b" not in out


def test_errors_name_the_address_and_exit_with_3(millrace, server):
    wrong = millrace("top", address(server), "--once", "--api-key", "wrong", ok=False)
    assert wrong.code == 3 and "--api-key" in wrong.err and wrong.out == ""
    gone = millrace("top", "http://127.0.0.1:1", "--once", ok=False)
    assert gone.code == 3 and "127.0.0.1:1" in gone.err
    server.page = "<html>"
    page = millrace("top", address(server), "--once", ok=False)
    assert page.code == 3 and "line 1" in page.err


def row(number, tokens):
    return {"id": f"request-{number}\x1b", "model": "m", "state": "answering", "age_ms": 1000.0 * number, "prompt_tokens": 10, "output_tokens": tokens}


def test_shares_above_the_limit_and_times_that_were_not_measured_are_not_shown_as_numbers(millrace, server):
    server.page = PAGE + 'millrace:memory_bandwidth_utilization{{model_name="m\x1b"}} 3.834\nmillrace:compute_utilization{{model_name="m\x1b"}} NaN\n'
    out = millrace("top", address(server), "--once", "--interval", "0.1").out
    assert out.count("limit not known (measured under load)") == 2 and "383" not in out and "nan" not in out.lower()
    assert re.search(r"TTFT +p50 +- +p95 +-\n", out) and "0.0 ms" not in out
    view = json.loads(millrace("top", address(server), "--once", "--json", "--interval", "0.1").out)[0]
    assert view["memory_bandwidth_utilization"] is None and view["compute_utilization"] is None and view["ttft_seconds"]["p50"] is None


def test_without_a_terminal_it_prints_one_table_and_ends(millrace, server):
    server.requests = [row(1, 5)]
    out = millrace("top", address(server), "--interval", "0.1").out
    assert out.startswith("m\\x1b\n") and "1 running requests" in out and "request-1\\x1b" in out and "\x1b" not in out


class Screen:
    """millrace top on a terminal of its own."""

    def __init__(self, program, *arguments, columns=100, rows=40, **env):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_") and k != "NO_COLOR"} | {"TERM": "xterm", "LC_ALL": "C.UTF-8"} | env
        self.process = subprocess.Popen([program, "top", *arguments], stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
        os.close(slave)
        self.master, self.all = master, ""

    def until(self, pattern, seconds=20):
        """All that was drawn since the last call, once it has the pattern."""
        end, new = time.monotonic() + seconds, b""
        while not re.search(pattern, new.decode(errors="replace"), re.S):
            assert time.monotonic() < end, (pattern, new)
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    new += os.read(self.master, 1 << 16)
                except OSError:
                    assert re.search(pattern, new.decode(errors="replace"), re.S), new
        return new.decode(errors="replace")

    def press(self, keys):
        os.write(self.master, keys)

    def end(self):
        code = self.process.wait(20)
        os.close(self.master)
        return code


def test_keys_choose_sort_and_quit(program, server):
    server.requests = [row(1, 500), row(2, 50)]
    screen = Screen(program, address(server), "--interval", "0.1")
    first = screen.until("q quit")
    assert "by age" in first and first.index("request-2") < first.index("request-1") and "\x1b[31m" not in first
    screen.until("[▁▂▃▄▅▆▇█]{3}")
    screen.press(b"s")
    drawn = screen.until("by output tokens.*q quit")
    drawn = drawn[drawn.rindex("by output tokens"):]
    assert drawn.index("request-1") < drawn.index("request-2")
    screen.press(b"\x1b[B")
    screen.until(r"\x1b\[7m> request-1")
    screen.press(b"\x1b[A")
    screen.until(r"> \x1b\[7mm")
    screen.press(b"q")
    screen.until(r"\x1b\[\?1049l")
    assert screen.end() == 0


def test_no_colour_where_none_is_wanted_and_plain_signs_without_utf8(program, server):
    screen = Screen(program, address(server), "--interval", "0.1", NO_COLOR="1", LC_ALL="C")
    drawn = screen.until("lately +[_.:=+*#-]{3}.*q quit")
    assert not re.search(r"\x1b\[[0-9]+m", drawn) and drawn.isascii()
    screen.press(b"q")
    assert screen.end() == 0


def test_a_narrow_terminal_is_not_overrun(program, server):
    server.requests = [row(i, i) for i in range(50)]
    screen = Screen(program, address(server), "--interval", "0.1", columns=20, rows=10)
    drawn = screen.until("q quit")
    frame = drawn[drawn.rindex("\x1b[H"):]
    lines = [re.sub(r"\x1b\[[0-9?]*[a-zA-Z]", "", line).rstrip("\r") for line in frame.split("\n")]
    assert len(lines) <= 10 and all(len(line) <= 20 for line in lines), lines
    assert "running           3" in lines[2:] or any(re.fullmatch(" running +3", line) for line in lines), lines
    screen.press(b"q")
    assert screen.end() == 0


def test_a_dumb_terminal_gets_one_table(program, server):
    screen = Screen(program, address(server), "--interval", "0.1", TERM="dumb")
    assert "\x1b" not in screen.until("a step")
    assert screen.end() == 0


def test_a_server_that_goes_away_is_said_in_a_line_and_found_again(program, server):
    screen = Screen(program, address(server), "--interval", "0.1")
    screen.until("q quit")
    page, server.page = server.page, "<html>"
    screen.until("trying again: ")
    server.page = page
    screen.until("q quit")
    screen.press(b"q")
    assert screen.end() == 0


@pytest.fixture
def certified(server, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return f"https://127.0.0.1:{server.server_port}", str(tmp_path / "cert.pem")


def test_a_private_certificate_is_trusted_where_it_is_named(millrace, certified):
    url, certificate = certified
    run = lambda *flags, **more: millrace("top", url, "--once", "--interval", "0.1", *flags, **more)
    assert "certificate" in run(ok=False).err.lower()
    for outcome in (run("--cacert", certificate), run(env={"SSL_CERT_FILE": certificate}), run("--insecure")):
        assert "tokens/s" in outcome.out
    assert run("--cacert", "/no/such.pem", ok=False).code == 2
