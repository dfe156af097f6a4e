"""millrace top against a server that is only its metrics."""
import http.server
import json
import threading

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
