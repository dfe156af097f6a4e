"""Servers that their user finds: `ps`, `stop`, `load`, `unload`, and `run` that asks one instead of loading the model."""
import itertools
import json
import os
import pathlib
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest
from running_server import PROGRAM, RunningServer, environment, events, unchunked

ASKED = ["Name three colours.", "--seed", "5", "--max-tokens", "12"]
LENGTH = ["--max-model-len", "2048", "--kv-cache-tokens", "4096"]
NUMBERS = itertools.count()
REQUEST = "route=/v1/chat/completions"


@pytest.fixture
def folder(tmp_path):
    """Where servers of this test alone are found."""
    return tmp_path / "runtime"


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A small model with random weights, which is there at once."""
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([PROGRAM, "synth", "--shape", "tiny", "--format", "q4_0", "--no-progress", path], check=True, env=environment(), timeout=60)
    return path


@pytest.fixture
def serve(folder, model):
    folder.mkdir()
    return lambda *flags, **more: RunningServer(model, folder / f"{next(NUMBERS)}.log", *LENGTH, *flags, env={"XDG_RUNTIME_DIR": str(folder)}, **more)


@pytest.fixture
def millrace(folder):
    def run(*words, code=0, stdin=subprocess.DEVNULL, **more):
        done = subprocess.run([PROGRAM, *map(str, words)], stdin=stdin, capture_output=True, text=True, timeout=120,
                              env=environment() | {"XDG_RUNTIME_DIR": str(folder)} | more)
        assert done.returncode == code, done.stderr
        assert code == 0 or len(done.stderr.splitlines()) == 1, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


def answered(server, count, request=REQUEST):
    """The log, which is written beside the work, has a line for each request."""
    end = time.monotonic() + 30
    while server.text().count(request) < count and time.monotonic() < end:
        time.sleep(0.02)
    assert server.text().count(request) == count, server.text()


def sockets(folder):
    return sorted(path.name for path in (folder / "millrace").iterdir())


def test_the_socket_is_its_users_alone_and_goes_with_the_server(serve, folder, millrace):
    with serve() as server:
        (name,) = sockets(folder)
        assert name == f"{server.process.pid}.sock"
        assert stat.S_IMODE((folder / "millrace").stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "millrace" / name).stat().st_mode) == 0o600
        (row,) = json.loads(millrace("ps", "--json"))
        assert (row["pid"], row["address"], row["requests"]) == (server.process.pid, server.url, 0)
        assert [(model["name"], model["state"]) for model in row["models"]] == [("m", "ready")]
        assert row["resident_bytes"] > 10e6 and row["seconds"] >= 0
        line = millrace("ps").splitlines()[1]
        assert re.fullmatch(rf" *{server.process.pid}  {re.escape(server.url)}  m +ready +0 +[\d.]+ MB  \d+ s", line)
    assert sockets(folder) == []
    assert len(millrace("ps").splitlines()) == 1


def test_a_killed_servers_socket_is_swept_away(serve, folder, millrace):
    with serve() as server:
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        assert len(sockets(folder)) == 1
        assert json.loads(millrace("ps", "--json")) == []
        assert sockets(folder) == []


def test_a_process_runs_until_its_last_thread_has_ended(folder, millrace):
    (folder / "millrace").mkdir(mode=0o700, parents=True)
    ends_main_thread = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(60,)).start(); ctypes.CDLL(None).pthread_exit(None)"
    state = lambda process: (pathlib.Path("/proc") / str(process.pid) / "stat").read_text().rpartition(")")[2].split()[0]
    with subprocess.Popen([sys.executable, "-c", ends_main_thread]) as process, socket.socket(socket.AF_UNIX) as bound:
        name = f"{process.pid}.sock"
        bound.bind(str(folder / "millrace" / name))
        end = time.monotonic() + 30
        while state(process) != "Z" and time.monotonic() < end:
            time.sleep(0.02)
        assert state(process) == "Z"
        assert [row["pid"] for row in json.loads(millrace("ps", "--json"))] == [process.pid]
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # all threads have ended, but nobody has asked
        assert json.loads(millrace("ps", "--json")) == []
        assert sockets(folder) == []


def test_a_number_that_another_process_got_is_not_stopped(serve, folder, millrace):
    with serve() as server:
        with subprocess.Popen(["sleep", "60"]) as other:
            old = folder / "millrace" / f"{other.pid}.sock"
            os.rename(folder / "millrace" / f"{server.process.pid}.sock", old)
            os.utime(old, (time.time() - 3600, time.time() - 3600))
            millrace("stop", other.pid, code=3)
            assert other.poll() is None
            other.kill()


def test_run_asks_the_server_that_has_the_model_and_answers_the_same(serve, model, millrace):
    here = millrace("run", model, *ASKED)
    with serve() as server:
        assert millrace("run", model, *ASKED) == here
        answered(server, 1)
        assert millrace("run", model, *ASKED, "--url", "none") == here
        assert millrace("run", model, *ASKED, "--threads", "1") == here  # the server's may be others
        answered(server, 1)
        assert millrace("run", "--url", server.url, *ASKED) == here
        assert millrace("run", "--url", f"127.0.0.1:{server.port}/v1", "m", *ASKED) == here
        answered(server, 3)
        regex = millrace("run", model, "A number?", "--regex", "[0-9]{4}", "--temperature", "0")
        assert re.fullmatch(r"\d{4}\n", regex)
        answered(server, 4)
        assert regex == millrace("run", model, "A number?", "--regex", "[0-9]{4}", "--temperature", "0", "--url", "none")
        schema = json.dumps({"type": "object", "properties": {"a": {"type": "integer", "maximum": 9}}, "required": ["a"], "additionalProperties": False})
        assert isinstance(json.loads(millrace("run", model, "A number?", "--json-schema", schema))["a"], int)
        grammar = 'root ::= "yes" | "no"'
        assert millrace("run", model, "Is it?", "--grammar", grammar) in ("yes\n", "no\n")
        answered(server, 6)


def test_every_sampler_reaches_the_server(serve, model, millrace):
    flags = ["--top-k", "9", "--typical-p", "0.9", "--xtc-probability", "0.5", "--dry-multiplier", "0.8", "--repetition-penalty", "1.2",
             "--temperature", "1.7", "--samplers", "dry;top_k;typical_p;temperature", "--dry-sequence-breaker", ":", "--stop", "zzz", "--ignore-eos"]
    here = millrace("run", model, *ASKED, *flags)
    assert here != millrace("run", model, *ASKED)
    with serve() as server:
        assert millrace("run", model, *ASKED, *flags) == here
        answered(server, 1)


def test_a_model_without_a_template_goes_on_with_the_text(serve, millrace, tmp_path):
    bare = tmp_path / "bare.gguf"
    millrace("synth", "--shape", "tiny", "--format", "q4_0", bare)
    bare.write_bytes(bare.read_bytes().replace(b"tokenizer.chat_template", b"tokenizer.chat_templat_"))
    here = millrace("run", bare, "abc", "--seed", "1", "--max-tokens", "6")
    with serve("--model", f"bare={bare}") as server:
        millrace("load", "bare")
        assert millrace("run", bare, "abc", "--seed", "1", "--max-tokens", "6") == here
        answered(server, 1, "route=/v1/completions")


def test_the_owner_needs_no_key_and_others_do(serve, model, millrace):
    with serve("--api-key", "a-secret-key") as server:
        millrace("run", model, *ASKED)
        answered(server, 1)
        refused = millrace("run", "--url", server.url, *ASKED, code=2)
        assert "--api-key" in refused and "MILLRACE_API_KEY" in refused
        assert millrace("run", "--url", server.url, *ASKED, MILLRACE_API_KEY="a-secret-key")
        assert server.call("POST", "/models/unload", {"model": "m"}).status == 401


def test_loading_and_unloading_need_the_scope_admin(serve, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("key-of-a-user scopes=infer\nkey-of-the-admin scopes=admin\n")
    with serve("--api-key-file", keys) as server:
        for path in ("/models/load", "/models/unload"):
            as_user, as_admin = (server.post(path, {"model": "m"}, {"Authorization": f"Bearer key-of-{who}"}) for who in ("a-user", "the-admin"))
            assert (as_user.status, as_user.error["code"], as_admin.status, as_admin.json()) == (403, "scope_missing", 200, {"success": True})
        unknown = server.post("/models/load", {"model": "nosuch"}, {"Authorization": "Bearer key-of-the-admin"})
        assert (unknown.status, unknown.error["code"], unknown.error["param"]) == (404, "model_not_found", "model")
        wrong = server.post("/models/unload", {}, {"Authorization": "Bearer key-of-the-admin"})
        assert (wrong.status, wrong.error["param"]) == (400, "model")
        empty = server.post("/models/unload", {"model": ""}, {"Authorization": "Bearer key-of-the-admin"})
        assert (empty.status, empty.error["message"]) == (400, "model must be a name of 1 to 256 characters")


def test_models_are_loaded_and_unloaded(serve, model, millrace):
    def states():
        (row,) = json.loads(millrace("ps", "--json"))
        return {one["name"]: one["state"] for one in row["models"]}

    with serve("--model", f"second={model}") as server:
        assert states() == {"m": "ready", "second": "unloaded"}
        assert millrace("load", "second") == "second is loaded\n"
        assert states() == {"m": "ready", "second": "ready"}
        assert millrace("load", "second", "--url", server.url) == "second is loaded\n"
        assert millrace("unload", "m") == "m is unloaded\n"
        assert states() == {"m": "unloaded", "second": "ready"}
        assert server.call("GET", "/ready").status == 200
        assert server.post("/v1/completions", {"model": "m", "prompt": "a", "max_tokens": 1}).status == 200  # which loads it
        assert states() == {"m": "ready", "second": "ready"}
        assert "your servers have m, second" in millrace("unload", "third", code=3)
        assert "nosuch" in millrace("load", "nosuch", "--url", server.url, code=3)


def test_a_model_in_use_is_not_unloaded(serve, millrace):
    with serve() as server:
        stream = server.open_stream("/v1/completions", {"prompt": "a", "max_tokens": 2000, "ignore_eos": True, "stream": True})
        received = stream.recv(1 << 16)
        refused = millrace("unload", "m", code=1)
        assert "m is in use" in refused and "requests have ended" in refused
        while piece := stream.recv(1 << 16):
            received += piece
            if received.endswith(b"0\r\n\r\n"):
                break
        stream.close()
        told = events(unchunked(received))
        assert told[-1][1] == "[DONE]" and told[-2][1]["choices"][0]["finish_reason"] == "length"
        millrace("unload", "m")


def test_a_model_that_is_not_there_says_why(serve, millrace, tmp_path):
    with serve("--model", f"gone={tmp_path}/gone.gguf"):
        assert "leads nowhere" in millrace("load", "gone", code=3)


def test_stop_waits_for_what_runs_and_says_which_server_it_means(serve, millrace):
    assert "no server of yours runs" in millrace("stop", code=3)
    with serve() as one, serve() as other:
        choose = millrace("stop", code=2)
        assert all(str(server.process.pid) in choose and server.url in choose for server in (one, other))
        assert "no server of yours has the pid or port 1" in millrace("stop", "1", code=3)
        reply = []
        asking = threading.Thread(target=lambda: reply.append(one.post("/v1/completions", {"prompt": "a", "max_tokens": 1500, "ignore_eos": True})))
        asking.start()
        while not one.call("GET", "/v1/requests").json()["data"]:
            time.sleep(0.01)
        assert millrace("stop", one.port) == f"stopped {one.process.pid}\n"
        assert one.process.poll() == 0  # it has ended, not only been told to
        asking.join()
        assert reply[0].status == 200 and reply[0].json()["usage"]["completion_tokens"] == 1500
        assert millrace("stop", "--all") == f"stopped {other.process.pid}\n"
        assert other.process.wait(10) == 0


def test_now_cancels_what_runs(serve, millrace):
    with serve() as server:
        stream = server.open_stream("/v1/completions", {"prompt": "a", "max_tokens": 2000, "ignore_eos": True, "stream": True})
        stream.recv(1 << 16)
        millrace("stop", "--now")
        assert server.process.wait(10) in (0, 128 + signal.SIGTERM)
        stream.close()


@pytest.mark.parametrize("spoil, why", [
    (lambda path: path.chmod(0o755), "open to other users"),
    (lambda path: (path.rmdir(), path.write_text("")), "not a directory"),
    (lambda path: os.chown(path, 12345, 12345), "belongs to another user"),
], ids=["open", "file", "foreign"])
def test_a_folder_that_others_could_have_made_is_not_trusted(serve, folder, model, millrace, spoil, why):
    mine = folder / "millrace"
    mine.mkdir(mode=0o700)
    try:
        spoil(mine)
    except PermissionError:
        pytest.skip("only root gives folders away")
    here = millrace("run", model, *ASKED)
    with serve() as server:
        assert why in server.text() and server.call("GET", "/ready").status == 200
        assert why in millrace("ps", code=2) and why in millrace("stop", code=2)
        assert millrace("run", model, *ASKED) == here and REQUEST not in server.text()


def test_a_folder_too_deep_for_a_socket_is_said(model, tmp_path):
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    with RunningServer(model, tmp_path / "log", *LENGTH, env={"XDG_RUNTIME_DIR": str(deep)}) as server:
        assert "not listened on" in server.text() and server.call("GET", "/ready").status == 200


def test_a_hanging_server_does_not_keep_a_chat_from_beginning(serve, model, millrace):
    with serve() as server:
        here = millrace("run", model, *ASKED, "--url", "none")
        server.process.send_signal(signal.SIGSTOP)
        try:
            assert millrace("run", model, *ASKED) == here
            (row,) = json.loads(millrace("ps", "--json"))
            assert row["pid"] == server.process.pid and row["error"]
        finally:
            server.process.send_signal(signal.SIGCONT)


def test_where_no_model_is_and_what_cannot_be_said_of_one_elsewhere(serve, millrace):
    with serve() as server:
        assert "has no model nosuch: it has m" in millrace("run", "--url", server.url, "nosuch", "a b", code=3)
        assert "--threads" in millrace("run", "--url", server.url, "m", "a", "--threads", "1", code=2)
        port = server.port
    assert f"127.0.0.1:{port}" in millrace("run", "--url", f"127.0.0.1:{port}", "a b", code=1)
