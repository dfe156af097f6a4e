"""bench/peers without a peer installed: what is refused, and how rounds become a ratio."""
import contextlib
import importlib
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from conftest import PROGRAM, ROOT

PEERS = ROOT / "bench" / "peers"


@pytest.fixture(scope="module")
def library():
    sys.path.insert(0, str(PEERS))
    yield importlib.import_module("library")
    sys.path.remove(str(PEERS))


@pytest.fixture(scope="module")
def serving(library):
    return importlib.import_module("serving")


class Timed:
    """Stands for a program whose n-th run takes times[n]; counts the loads it got."""

    def __init__(self, times):
        self.times, self.loads = list(times), []

    def run(self, load):
        self.loads.append(load)
        return self.times[len(self.loads) - 1]


def times(prefill_ms, tpot_ms):
    return {"prefill_ms": prefill_ms, "tpot_ms": tpot_ms}


def test_rounds_alternate_on_the_same_load_and_the_ratio_is_of_neighbours(library):
    ours = Timed([times(100, 10), times(200, 20), times(100, 5)])
    theirs = Timed([times(1, 1), times(300, 20), times(300, 20), times(300, 30)])  # the first warms up
    result = library.measure(ours, theirs, library.parse_shape("batch4"), 3)
    assert ours.loads == theirs.loads[1:] and len({load["seed"] for load in theirs.loads}) == 4
    assert result["ratios"]["decode_tok_s"] == {"value": 2.0, "low": 1.0, "high": 6.0}
    assert result["ratios"]["prefill_tok_s"] == {"value": 3.0, "low": 1.5, "high": 3.0}
    assert result["medians"]["millrace"]["decode_tok_s"] == 400.0 and result["medians"]["peer"]["decode_tok_s"] == 200.0
    assert result["medians"]["peer"]["prefill_tok_s"] == pytest.approx(1000 * 4 * 128 / 300)


@pytest.mark.parametrize("text, load", [("prefill512", (1, 512, 2)), ("decode128", (1, 128, 128)), ("batch32", (32, 128, 64))])
def test_a_shape_is_a_load(library, text, load):
    assert tuple(library.parse_shape(text)["load"].values()) == load


@pytest.mark.parametrize("text", ["", "prefill", "prefill0", "decode-1", "batch 8", "batch8x", "serve9"])
def test_what_is_no_shape_is_refused(text):
    done = subprocess.run([PEERS / "compare", "m.gguf", "--peer", "vllm", "--shape", text], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and done.stdout == "" and "prefillN" in done.stderr


def test_a_peer_that_is_not_installed_is_told_how(library, monkeypatch, tmp_path):
    monkeypatch.setattr(library, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="bench/peers/setup llama.cpp"):
        library.Peer("llama.cpp", "m.gguf", 2)


def test_every_peer_has_requirements_and_a_worker(library):
    assert {p.stem for p in (PEERS / "requirements").glob("*.txt")} == set(library.WORKERS) == set(library.FILES)
    for worker in library.WORKERS.values():
        compile((PEERS / "workers" / worker).read_text(), worker, "exec")


def test_setup_of_an_unknown_peer_lists_those_there_are():
    done = subprocess.run([PEERS / "setup", "../../etc"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "llama.cpp" in done.stderr and "vllm" in done.stderr


def test_each_side_begins_every_other_round_and_gets_the_same_requests(library, serving, monkeypatch):
    calls = []

    def run(program, server, flags, vocabulary, seed):
        calls.append((server, seed))
        return {"metrics": {"output_throughput": 100.0 if server == "us" else 50.0 * seed}, "report": {"millrace": {}, "machine": {}}}

    monkeypatch.setattr(serving, "run", run)
    result, _ = serving.measure("millrace", "us", "them", "one-user", 2, 1000)
    assert calls == [("us", 1), ("them", 1), ("them", 2), ("us", 2)]
    assert result["ratios"]["output_throughput"] == {"value": 1.5, "low": 1.0, "high": 2.0}


def test_no_server_outlives_a_comparison_that_fails(tmp_path):
    server = tmp_path / "server.py"
    server.write_text("""
import http.server, subprocess, sys
class Any(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{"data": 1}')
subprocess.Popen(["sleep", "600"])
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Any).serve_forever()
""")
    script = f"""
import sys; sys.path.insert(0, {str(PEERS)!r})
import serving; (serving.ROOT / "build/peers").mkdir(parents=True, exist_ok=True)
print(serving.Server("unknown", [sys.executable, {str(server)!r}, "{{port}}"], 1).process.pid, flush=True)
serving.fail("it did")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "it did" in done.stderr
    group = done.stdout.strip()
    for _ in range(100):  # until init has buried the killed
        if not alive_in(group):
            return
        time.sleep(0.1)
    raise AssertionError(f"processes {alive_in(group)} are left")


def alive_in(group):
    """Processes of a group that are no zombies."""
    alive = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            state, _, pgid = stat.read_text().rsplit(")", 1)[1].split()[:3]
            if pgid == group and state != "Z":
                alive.append(stat.parent.name)
    return alive


def test_shapes_and_workloads_do_not_mix():
    done = subprocess.run([PEERS / "compare", "m.gguf", "--peer", "vllm", "--shape", "decode8", "--workload", "offline"], capture_output=True,
                          text=True, timeout=30)
    assert done.returncode == 2 and "one of them" in done.stderr


@pytest.mark.parametrize("answers, version", [({"/version": {"version": "0.32.0"}, "/props": {}}, "0.32.0"),
                                              ({"/props": {"build_info": "b6000-abc"}}, "b6000-abc"), ({}, "")])
def test_a_server_says_its_version_in_one_of_two_places(serving, answers, version):
    server = object.__new__(serving.Server)
    server.get = answers.get
    assert server.version() == version


COUNTING_SERVER = """
import sys
sys.path.insert(0, {peers!r})
import completions_server

def make(path, threads):
    def stream(ids, max_tokens, emit):
        if ids == [13]:
            raise ValueError("no thirteen")
        for i in range(max_tokens):
            emit(f" {{i}}")
    return {{"peer": "counting", "version": "1", "weights": path, "vocab_size": 77}}, stream

completions_server.serve(make)
"""


@pytest.fixture
def counting_server(library, serving, tmp_path):
    program = tmp_path / "server.py"
    program.write_text(COUNTING_SERVER.format(peers=str(PEERS / "servers")))
    port = serving.free_port()
    process = subprocess.Popen([sys.executable, program, "weights", str(port), "2"])
    url = f"http://127.0.0.1:{port}"
    for _ in range(200):
        try:
            urllib.request.urlopen(url + "/v1/models")
            break
        except OSError:
            threading.Event().wait(0.05)
    yield url
    process.kill()
    process.wait()


def test_the_server_of_peers_without_one_bears_a_load(counting_server):
    done = subprocess.run([PROGRAM, "bench", "serve", counting_server, "--users", "4", "--num-prompts", "12", "--input-len", "5", "--output-len", "7",
                           "--no-probe", "--output", "-"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["completed"] == 12 and report["total_output_tokens"] == 84 and report["total_input_tokens"] == 60


def test_what_a_peer_throws_is_an_error_of_that_request(counting_server):
    body = json.dumps({"prompt": [13], "max_tokens": 2, "stream": True}).encode()
    reply = urllib.request.urlopen(urllib.request.Request(counting_server + "/v1/completions", body)).read().decode()
    assert "no thirteen" in reply and reply.endswith("data: [DONE]\n\n")
