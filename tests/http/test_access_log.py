"""The log has a line for each request that was refused, and never what it said."""
import json
import re
import subprocess
import time

import pytest
from running_server import PROGRAM, environment, request_bytes

SECRET = "the-prompt-nobody-may-log"
TEXT = "/v1/completions"


@pytest.fixture(scope="module")
def logged(start):
    with start("--log-format", "json", "--max-body-bytes", "4096B", "--header-timeout", "1", env={"MILLRACE_API_KEY": "master-key-00"}) as server:
        yield server


def lines(server):
    found = []
    for line in server.text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [line for line in found if line.get("msg") == "request"]


def line_of(server, request_id):
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if mine := [line for line in lines(server) if line["request_id"] == request_id]:
            time.sleep(0.05)
            assert [line for line in lines(server) if line["request_id"] == request_id] == mine  # once
            return mine[0]
        time.sleep(0.02)
    raise AssertionError(server.text())


KEY = {"Authorization": "Bearer master-key-00"}
CASES = [
    ("bad-json", "POST", TEXT, b'{"prompt": "' + SECRET.encode(), KEY, 400, TEXT, "invalid_value"),
    ("bad-value", "POST", TEXT, {"prompt": SECRET, "n": 99}, KEY, 400, TEXT, "invalid_value"),
    ("no-room", "POST", TEXT, {"prompt": SECRET, "max_tokens": 5000}, KEY, 400, TEXT, "context_length_exceeded"),
    ("no-key", "POST", TEXT, {"prompt": SECRET}, {}, 401, TEXT, "missing_api_key"),
    ("bad-key", "POST", TEXT, {"prompt": SECRET}, {"X-Api-Key": SECRET}, 401, TEXT, "invalid_api_key"),
    ("no-path", "POST", f"/no/such%20path?{SECRET}", {"prompt": SECRET}, KEY, 404, "none", "not_found"),
    ("no-model", "POST", TEXT, {"prompt": SECRET, "model": "x"}, KEY, 404, TEXT, "model_not_found"),
    ("no-method", "DELETE", TEXT, None, KEY, 405, "none", "method_not_allowed"),
    ("no-type", "POST", TEXT, {"prompt": SECRET}, KEY | {"Content-Type": "text/plain"}, 415, TEXT, "unsupported_media_type"),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_what_is_refused_before_a_model_has_its_line(logged, case):
    name, method, path, body, headers, status, route, error = case
    reply = logged.call(method, path, body, headers | {"X-Request-Id": name})
    assert reply.status == status and reply.headers["x-request-id"] == name
    line = line_of(logged, name)
    assert (line["status"], line["route"], line["path"], line["error"]) == (status, route, path.partition("?")[0], error)
    assert 0 <= line["total_ms"] < 60_000 and SECRET not in logged.text()


def test_what_the_connection_refuses_has_its_line_too(logged):
    for data, status in [(request_bytes(TEXT, {"prompt": SECRET * 1000}, ["Authorization: Bearer master-key-00"]), 413),
                         (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431), (b"nonsense\r\n\r\n", 400), (b"GET /vers", 408)]:
        received = logged.raw(data)
        request_id = re.search(rb"x-request-id: (\w+)", received)[1].decode()
        line = line_of(logged, request_id)
        assert line["status"] == status and 0 <= line["total_ms"] < 60_000
    assert SECRET not in logged.text()


def test_a_path_is_cut_and_cannot_forge_lines(logged):
    for name, path, wanted in [("long", "/" + "x" * 3000, "/" + "x" * 199 + "..."), ("bytes", "/\xff\x1b[31m", None)]:
        received = logged.raw(b"GET %s HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: %s\r\nX-Api-Key: master-key-00\r\nConnection: close\r\n\r\n"
                              % (path.encode("latin-1"), name.encode()))
        if wanted:
            assert b" 404 " in received and line_of(logged, name)["path"] == wanted
    assert "\x1b" not in logged.text()


def test_lines_for_people_begin_with_the_time_and_name_the_path(start):
    with start() as server:
        assert server.call("GET", "/v1/chat", headers={"X-Request-Id": "lost"}).status == 404
        pattern = r"(?m)^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info request request_id=lost route=none path=/v1/chat status=404 "
        server._wait_for(lambda: re.search(pattern, server.text()), 10)


def test_in_json_every_line_is_json_also_the_hubs_and_the_last_error(start, model):
    with start("--log-format", "json", "--model", "gone=nosuch/model-of-nobody", env={"HF_HUB_OFFLINE": "1"}) as server:
        reply = server.post(TEXT, {"prompt": SECRET, "model": "gone", "max_tokens": 1})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (404, "model_not_found", "model")
        assert "nosuch/model-of-nobody" in reply.error["message"] and "/" not in reply.error["message"].replace("nosuch/model-of-nobody", "")
        taken = subprocess.run([PROGRAM, "serve", model, "--port", str(server.port), "--log-format", "json"], capture_output=True, timeout=60, env=environment())
        assert taken.returncode == 1 and json.loads(taken.stderr)["level"] == "error"
        server._wait_for(lambda: "nosuch" in server.text(), 10)
    for line in server.text().splitlines():
        assert line.startswith("listening on ") or json.loads(line)["ts"]


def test_a_full_tenant_has_its_line(start, tmp_path):
    (tmp_path / "keys").write_text("limited-key-0 tenant=slow rpm=1\n")
    with start("--log-format", "json", "--api-key-file", tmp_path / "keys") as server:
        headers = {"X-Api-Key": "limited-key-0"}
        body = {"prompt": SECRET, "max_tokens": 1}
        assert server.post(TEXT, body, headers | {"X-Request-Id": "first"}).status == 200
        assert server.post(TEXT, body, headers | {"X-Request-Id": "second"}).status == 429
        assert line_of(server, "first")["status"] == 200
        assert line_of(server, "second")["error"] == "quota_exceeded"


def test_what_is_logged_before_the_server_listens_has_the_format_of_the_log(start, tmp_path):
    (tmp_path / "millrace").mkdir()
    (tmp_path / "millrace").chmod(0o755)
    with start("--log-format", "json", env={"XDG_RUNTIME_DIR": str(tmp_path)}) as server:
        early = [json.loads(line) for line in server.text().splitlines() if "open to other users" in line]
    assert [line["level"] for line in early] == ["warning"]
