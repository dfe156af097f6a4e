"""Who may do what: keys, scopes, tenants, browsers."""
import signal
import socket
import subprocess
import time

import pytest
from running_server import PROGRAM, environment, events, read_all, unchunked

TEXT = "/v1/completions"
HI = {"prompt": "Hi", "max_tokens": 1}
INFER, ADMIN, METRICS, OTHER, RED_ADMIN = "infer-key-000", "admin-key-000", "metrics-key-0", "other-key-000", "red-admin-key"


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def guarded(start, tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys") / "keys"
    keys.write_text(f"""# tenants of the tests
{INFER} tenant=red
{OTHER} tenant=blue scopes=infer
{ADMIN} scopes=admin
{RED_ADMIN} tenant=red scopes=admin
{METRICS} scopes=metrics
limited-key-0 tenant=slow rpm=2
single-key-00 tenant=single concurrent=1
""")
    with start("--api-key-file", keys, env={"MILLRACE_API_KEY": "master-key-00"}) as server:
        yield server


@pytest.fixture
def fresh(start):
    """Nobody has guessed a key of it yet."""
    with start(env={"MILLRACE_API_KEY": "master-key-00"}, wait=False) as server:
        yield server


def test_a_key_opens_what_its_scopes_say(guarded):
    for headers in (bearer(INFER), {"X-Api-Key": INFER}, {"Authorization": f"bearer {INFER}"}, bearer("master-key-00")):
        assert guarded.post(TEXT, HI, headers).status == 200
    for key in (ADMIN, METRICS):
        reply = guarded.post(TEXT, HI, bearer(key))
        assert reply.status == 403 and reply.error["type"] == "permission_error" and reply.error["code"] == "scope_missing"


def raw_status(server, *lines, version="1.1"):
    head = "\r\n".join([f"GET /v1/models HTTP/{version}", *lines, "Connection: close", "", ""])
    return int(server.raw(head.encode("latin-1")).split(b" ")[1])


def test_every_key_that_is_shown_is_looked_at(guarded):
    def status(*lines):
        return raw_status(guarded, "Host: localhost", *lines)

    good, same_tenant, other, bad = f"Authorization: Bearer {INFER}", f"X-Api-Key: {INFER}", f"X-Api-Key: {OTHER}", "X-Api-Key: wrong-key-000"
    assert status(good, same_tenant) == status(same_tenant, same_tenant) == status(good, "Authorization: Basic eDp5") == 200
    for lines in [(good, bad), (bad, good), (good, other), (same_tenant, bad), (bad, same_tenant), (f"Authorization: Bearer wrong-key-000", same_tenant),
                  (good, "Authorization: Bearer wrong-key-000"), ("Authorization: Basic eDp5",)]:
        assert status(*lines) == 401, lines


def test_keys_of_one_tenant_open_what_each_of_them_opens(guarded):
    body = {"lora_name": "a", "lora_path": "b"}
    assert guarded.post(TEXT, HI, {"X-Api-Key": INFER}).status == 200
    assert guarded.post("/v1/load_lora_adapter", body, {"X-Api-Key": RED_ADMIN}).error["code"] == "unsupported"
    for path in (TEXT, "/v1/load_lora_adapter"):
        for one, other in ((INFER, RED_ADMIN), (RED_ADMIN, INFER)):
            reply = guarded.post(path, HI, bearer(one) | {"X-Api-Key": other})
            assert reply.status == 403 and reply.error["code"] == "scope_missing"


def test_the_scheme_has_no_case_and_takes_spaces(guarded):
    for value in (f"BEARER {INFER}", f"bearer {INFER}", f"BeArEr   {INFER}"):
        assert guarded.call("GET", "/v1/models", headers={"Authorization": value}).status == 200, value
    for value in ("Bearer", "Bearer ", f"Bearer{INFER}", f"Bearer\t{INFER}", f"Token {INFER}", INFER):
        assert guarded.call("GET", "/v1/models", headers={"Authorization": value}).status == 401, value


# What a Host is, and whether it is answered where no key is needed, which is for loopback names alone.
HOSTS = {"localhost": 200, "LOCALHOST": 200, "LocalHost:8000": 200, "localhost.": 200, "localhost.:8000": 200, "127.0.0.1:1": 200, "[::1]": 200, "[::1]:8000": 200,
         "localhost:": 200, "evil.example": 403, "localhost.evil.example": 403, "localhost..": 403, "%6cocalhost": 403, "[::2]": 403,
         "user@localhost": 400, "user:pw@localhost": 400, "localhost:pw@evil.example": 400, "localhost:abc": 400, "localhost:65536": 400, "a b": 400, "a,b": 400,
         "localhost, evil.example": 400, "/": 400, "localhost/": 400, "http://localhost": 400, "[::1": 400, "::1": 400, "[::1]x": 400, "": 400, ":80": 400}


def test_a_host_is_read_as_the_standard_says(server, guarded):
    assert {host: raw_status(server, f"Host: {host}") for host in HOSTS} == HOSTS
    key = f"X-Api-Key: {INFER}"
    assert {host: raw_status(guarded, f"Host: {host}", key) for host in HOSTS} == {host: 400 if status == 400 else 200 for host, status in HOSTS.items()}


def test_a_request_of_the_old_version_needs_no_host(guarded):
    key = f"X-Api-Key: {INFER}"
    assert raw_status(guarded, key, version="1.0") == raw_status(guarded, key, "Host:", version="1.0") == 200
    assert raw_status(guarded, key, "Host: a@b", version="1.0") == raw_status(guarded, key, "Host: a", "Host: a", version="1.0") == 400


def test_names_and_origins_of_flags_have_no_case(start):
    with start("--allowed-hosts", "LLM.Example.", "--allowed-origins", "HTTPS://Chat.Example", wait=False) as server:
        assert raw_status(server, "Host: llm.EXAMPLE:80") == raw_status(server, "Host: llm.example.") == 200
        assert raw_status(server, "Host: localhost") == 403
        assert raw_status(server, "Host: llm.example", "Origin: https://chat.example") == 200
        assert raw_status(server, "Host: LLM.example", "Origin: http://llm.EXAMPLE") == 200
        assert raw_status(server, "Host: llm.example", "Origin: https://chat.example.evil") == 403


def test_without_a_key_everything_but_health_is_shut(fresh):
    assert fresh.call("GET", "/health").status == 200
    assert fresh.call("GET", "/ready").status in (200, 503)
    wrong = []
    paths = ["/", "/version", "/v1/models", "/openapi.json", "/nowhere", "//v1/models", "/v1/../health", "/health/../v1/models",
             "/%2e%2e/health", "/health/", "/HEALTH", "/health;x", "/Ready", "/health%00", "/v1//models", "/metrics"]
    for path in paths:
        reply = fresh.call("GET", path)
        if reply.status != 401 or reply.headers.get("www-authenticate") != "Bearer" or reply.error["type"] != "authentication_error":
            wrong.append((path, reply))
    assert not wrong


def test_who_guesses_is_slowed_down_and_who_knows_is_not(fresh):
    """Unknown paths, bad bodies, bad methods: all the same 401, since the key is looked at first."""
    seen = {fresh.call(method, path, body, bearer("wrong")).body
            for method, path, body in [("GET", "/v1/models", None), ("POST", TEXT, b"{"), ("GET", "/nowhere", None), ("PUT", "/version", None),
                                       ("POST", TEXT, b"\0" * 1000)]}
    assert len(seen) == 1 and b"invalid_api_key" in seen.pop()
    statuses = [fresh.call("GET", "/v1/models", headers=bearer(f"wrong-{i}")).status for i in range(25)]
    assert statuses[0] == 401 and statuses[-1] == 429
    assert fresh.call("GET", "/v1/models", headers=bearer("master-key-00")).status == 200


def test_a_key_is_not_accepted_in_part_or_twice(fresh):
    for headers in (bearer(""), bearer("master-key-0"), bearer("master-key-00 "[:-1] + "x"), bearer("MASTER-KEY-00"), {"Authorization": "master-key-00"},
                    {"Authorization": "Basic bWFzdGVyLWtleS0wMA=="}, {"X-Api-Key": ""}, {"Cookie": "key=master-key-00"}):
        assert fresh.call("GET", "/v1/models", headers=headers).status == 401, headers
    assert fresh.call("GET", "/v1/models?key=master-key-00&api_key=master-key-00").status == 401


def test_an_open_path_does_not_open_its_neighbours(guarded):
    for path in ("/v1/completions/", "//v1/completions", "/v1/./completions", "/v1/%63ompletions", "/V1/completions", "/v1/completions%20"):
        assert guarded.post(path, HI, bearer(INFER)).status == 404
        assert guarded.post(path, HI).status == 401


def test_tenants_do_not_share_prefixes_nor_learn_of_each_others(guarded):
    def cached(key, salt=None):
        body = {"prompt": "The tenants of this house do not share what they have cached. " * 20, "max_tokens": 1, "cache_salt": salt}
        return guarded.post(TEXT, body, bearer(key)).json()["usage"]["prompt_tokens_details"]["cached_tokens"]

    assert cached(INFER) == 0
    assert cached(INFER) > 0
    assert cached(OTHER) == 0
    assert cached(OTHER) > 0
    assert cached("master-key-00") == 0
    assert cached(INFER, "pepper") == 0
    assert cached(INFER, "pepper") > 0
    assert cached(OTHER, "pepper") == 0


def test_a_quota_is_kept_and_says_when_to_come_back(guarded):
    statuses = [guarded.post(TEXT, HI, bearer("limited-key-0")) for _ in range(4)]
    assert [reply.status for reply in statuses] == [200, 200, 429, 429]
    assert statuses[-1].error["type"] == "rate_limit_error" and int(statuses[-1].headers["retry-after"]) >= 1
    assert guarded.post(TEXT, HI, bearer(INFER)).status == 200


def test_a_tenant_runs_no_more_at_once_than_it_may(guarded):
    key = bearer("single-key-00")
    with guarded.open_stream(TEXT, HI | {"max_tokens": 2000, "ignore_eos": True, "stream": True},
                             headers=["Authorization: Bearer single-key-00", "Connection: close"]) as plug:
        plug.recv(100)
        assert guarded.post(TEXT, HI, key).status == 429
    for _ in range(100):
        if (status := guarded.post(TEXT, HI, key).status) == 200:
            break
    assert status == 200


def test_keys_and_prompts_are_not_logged(guarded):
    guarded.post(TEXT, {"prompt": "planted-prompt", "max_tokens": 1}, bearer(INFER))
    guarded.post(TEXT, {"prompt": "planted-prompt", "max_tokens": 1}, bearer("planted-key"))
    for planted in (INFER, OTHER, ADMIN, "master-key-00", "planted-prompt", "planted-key"):
        assert planted not in guarded.text()


def rejected_start(model, *flags, env=None):
    done = subprocess.run([PROGRAM, "serve", model, "--port", "0", *map(str, flags)], capture_output=True, timeout=30, env=environment() | (env or {}))
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_listening_to_the_world_needs_a_key(model, host):
    code, message = rejected_start(model, "--host", host)
    assert code == 2 and "API key" in message


def test_listening_to_the_world_without_a_key_can_be_insisted_on(start):
    with start("--host", "0.0.0.0", "--insecure-no-auth", wait=False) as server:
        assert server.call("GET", "/health").status == 200


def test_a_key_file_with_a_mistake_is_refused_by_its_line_and_without_the_key(model, tmp_path):
    for line in ("short", "long-enough-key scope=infer", "long-enough-key scopes=root", "long-enough-key rpm=-1", "long-enough-key tenant="):
        keys = tmp_path / "keys"
        keys.write_text("# first\ngood-key-0000\n" + line + "\n")
        code, message = rejected_start(model, "--api-key-file", keys)
        assert code == 2 and "line 3" in message and "long-enough-key" not in message, message
    keys.write_text("# none\n")
    code, message = rejected_start(model, "--api-key-file", keys)
    assert code == 2 and "no key" in message


def test_weights_are_of_tenants_of_the_key_file(model, tmp_path, start):
    keys = tmp_path / "keys"
    keys.write_text("alice-key-0000 tenant=alice\n")
    flags = ("--api-key-file", keys, "--scheduling-policy", "fair", "--tenant-weights")
    code, message = rejected_start(model, *flags, "alice=2,bob=1")
    assert code == 2 and "tenant-weights names the tenant 'bob': expected one of default, alice" in message, message
    code, message = rejected_start(model, *flags, "alice=0")
    assert code == 2 and "tenant-weights has 'alice=0': the weight must be between 0.001 and 1000" in message, message
    with start(*flags, "alice=2,default=0.5") as server:
        assert server.call("GET", "/health").status == 200


def test_another_name_for_this_machine_is_not_answered(server):
    """A page may point its own name at 127.0.0.1; its requests then carry that name."""
    for host in ("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", ""):
        received = server.raw(f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert received.startswith(b"HTTP/1.1 400 " if host in ("", "localhost@evil.example") else b"HTTP/1.1 403 "), (host, received)
    for host in ("localhost", "localhost:8000", "127.0.0.1", "[::1]:8000"):
        received = server.raw(f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert received.startswith(b"HTTP/1.1 200 "), (host, received)


def test_a_page_of_another_site_is_refused(server):
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        reply = server.post(TEXT, HI, {"Origin": origin})
        assert reply.status == 403 and reply.error["code"] == "origin_not_allowed"
        assert not [name for name in reply.headers if name.startswith("access-control")]
        assert server.call("OPTIONS", TEXT, headers={"Origin": origin}).status == 403
    assert server.post(TEXT, HI, {"Origin": f"http://127.0.0.1:{server.port}", "Host": f"127.0.0.1:{server.port}"}).status == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", ""])
def test_a_form_is_not_json(server, kind):
    """What a page may send without asking first."""
    reply = server.post(TEXT, HI, {"Content-Type": kind})
    assert reply.status == 415


def test_json_may_name_its_charset(server):
    assert server.post(TEXT, HI, {"Content-Type": "application/json; charset=utf-8"}).status == 200
    assert server.post(TEXT, HI, {"Content-Type": "Application/JSON"}).status == 200


@pytest.fixture(scope="module")
def friendly(start):
    with start("--allowed-origins", "https://chat.example,localhost", "--allowed-hosts", "llm.example,localhost") as server:
        yield server


@pytest.mark.parametrize("origin", ["https://chat.example", "http://localhost:3000", "http://127.0.0.1:5173"])
def test_an_allowed_page_may_ask_and_read_the_answer(friendly, origin):
    asked = friendly.call("OPTIONS", TEXT, headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert asked.status == 204 and asked.body == b"" and "content-length" not in asked.headers
    for reply in (asked, friendly.post(TEXT, HI, {"Origin": origin}), friendly.post(TEXT, {}, {"Origin": origin}),
                  friendly.call("GET", "/nowhere", headers={"Origin": origin}), friendly.call("GET", "/v1/models", headers={"Origin": origin})):
        assert reply.headers["access-control-allow-origin"] == origin, reply
        assert "origin" in reply.headers["vary"]
    with friendly.open_stream(TEXT, HI | {"stream": True}, headers=[f"Origin: {origin}", "Connection: close"]) as plug:
        received = read_all(plug)
    assert f"access-control-allow-origin: {origin}\r\n".encode() in received
    assert events(unchunked(received))[-1] == (None, "[DONE]")


LOCAL_PAGES = ["http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:8080", "https://localhost"]


@pytest.mark.parametrize("origin", LOCAL_PAGES)
def test_pages_of_this_machine_may_ask_a_server_that_only_this_machine_reaches(server, origin):
    asked = server.call("OPTIONS", TEXT, headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
    assert asked.status == 204 and asked.headers["access-control-allow-origin"] == origin
    reply = server.post(TEXT, HI, {"Origin": origin})
    assert reply.status == 200 and reply.headers["access-control-allow-origin"] == origin
    # A name that somebody pointed here is refused whatever page asks, and so is a page that only looks local.
    assert server.post(TEXT, HI, {"Origin": origin, "Host": "evil.example"}).status == 403
    reply = server.post(TEXT, HI, {"Origin": origin.replace("localhost", "localhost.evil.example").replace("127.0.0.1", "127.0.0.1.evil.example")
                                   .replace("[::1]", "[::2]")})
    assert reply.status == 403 and "access-control-allow-origin" not in reply.headers


def test_a_key_is_still_asked_of_them(fresh):
    assert fresh.call("GET", "/v1/models", headers={"Origin": "http://localhost:3000"}).status == 401
    assert fresh.call("GET", "/v1/models", headers={"Origin": "http://localhost:3000"} | bearer("master-key-00")).status == 200


@pytest.mark.parametrize("flags", [["--host", "0.0.0.0", "--insecure-no-auth"], ["--allowed-origins", "none"],
                                   ["--allowed-origins", "https://chat.example"]])
def test_pages_of_this_machine_stay_out_where_others_reach_the_server_or_other_pages_are_named(start, flags):
    with start(*flags, wait=False) as server:
        for origin in LOCAL_PAGES:
            reply = server.call("GET", "/health", headers={"Origin": origin})
            assert reply.status == 403 and "access-control-allow-origin" not in reply.headers, origin


def test_other_pages_and_names_stay_out_there_too(friendly):
    assert friendly.post(TEXT, HI, {"Origin": "https://chat.example.evil"}).status == 403
    assert friendly.post(TEXT, HI, {"Host": "evil.example"}).status == 403
    assert friendly.post(TEXT, HI, {"Host": "llm.example"}).status == 200
    assert "access-control-allow-origin" not in friendly.post(TEXT, HI).headers


def test_a_request_has_an_id_of_its_own_or_the_clients(server):
    for path, body in ((TEXT, HI), (TEXT, {}), ("/v1/messages", {}), ("/tokenize", {"prompt": "a"}), ("/nowhere", {})):
        assert server.post(path, body, {"X-Request-Id": "mine-1.2_3"}).headers["x-request-id"] == "mine-1.2_3"
        ids = {server.post(path, body).headers["x-request-id"] for _ in range(3)}
        assert len(ids) == 3
        for bad in ("a b", "x" * 129, "é".encode().decode("latin-1"), 'a"b'):
            assert server.post(path, body, {"X-Request-Id": bad}).headers["x-request-id"] != bad
    assert server.post(TEXT, HI, {"X-Request-Id": "mine"}).json()["id"] == "cmpl-mine"


def test_unknown_fields_are_listed(server):
    reply = server.post(TEXT, HI | {"tempratur": 1, "x-y": 1, "top_q": None})
    assert reply.status == 200 and reply.headers["x-ignored-params"] == "tempratur, top_q"
    assert "x-ignored-params" not in server.post(TEXT, HI).headers


def test_unknown_fields_are_errors_where_the_server_is_strict(start):
    with start("--strict-params") as server:
        reply = server.post(TEXT, HI | {"tempratur": 1})
        assert reply.status == 400 and reply.error["code"] == "unknown_parameter"
        assert server.post(TEXT, HI).status == 200


def test_keys_are_read_anew_on_sighup(start, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("first-key-000 tenant=red\nstays-key-000 tenant=blue rpm=1\n")
    with start("--api-key-file", keys, env={"MILLRACE_API_KEY": "master-key-00"}) as server:

        def status(key):
            return server.post(TEXT, HI, bearer(key)).status

        def reload(text):
            before = server.text().count(" read again")
            keys.write_text(text)
            server.signal(signal.SIGHUP)
            end = time.monotonic() + 10
            while server.text().count(" read again") + server.text().count("not read again") == before:
                assert time.monotonic() < end
                time.sleep(0.02)

        assert status("stays-key-000") == 200 and status("first-key-000") == 200
        with server.open_stream(TEXT, HI | {"max_tokens": 300, "ignore_eos": True, "stream": True},
                                headers=["Authorization: Bearer first-key-000", "Connection: close"]) as plug:
            plug.recv(1, socket.MSG_PEEK)
            reload("second-key-00 tenant=green\nstays-key-000 tenant=blue rpm=1\n")
            assert status("first-key-000") == 401 and status("second-key-00") == 200 and status("master-key-00") == 200
            assert status("stays-key-000") == 429  # what it has used it has used
            metrics = server.call("GET", "/metrics", headers=bearer("master-key-00")).body.decode()
            assert 'millrace:tenant_requests_total{outcome="ok",tenant="green"} 1' in metrics  # new, and has its label
            assert events(unchunked(read_all(plug)))[-1] == (None, "[DONE]")  # of the key that is gone
        reload("short\n")
        assert "line 1" in server.text() and status("second-key-00") == 200  # those before stay
        assert "second-key-00" not in server.text()


def test_a_wrong_line_of_the_key_file_is_named_with_the_file(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("short\n")
    done = subprocess.run([PROGRAM, "serve", "default", "--api-key-file", keys], capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 2 and f"{keys}: line 1: a key has at least 8" in done.stderr
    assert subprocess.run([PROGRAM, "serve", "default", "--uds", tmp_path / "no" / "socket"], capture_output=True, timeout=60, env=environment()).returncode == 2


def test_what_is_no_address_is_not_called_reachable():
    done = subprocess.run([PROGRAM, "serve", "default", "--host", "300.1.1.1"], capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 2 and "host is '300.1.1.1': expected an address" in done.stderr
