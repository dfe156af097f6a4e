"""millrace bench serve, sweep, compare and report on a real server: reports agree with themselves and with what was asked. No time is asserted."""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

import pytest

from conftest import PROGRAM

SMALL = ["--input-len", "20", "--output-len", "6", "--no-probe", "--no-progress"]


@pytest.fixture(scope="module")
def server(real_model):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MILLRACE_")}
    process = subprocess.Popen([PROGRAM, "serve", real_model, "--port", "0", "--disable-log-requests", "--kv-cache-tokens", "8192"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    url = re.search(r"http://\S+", process.stdout.readline()).group(0)
    while True:
        try:
            urllib.request.urlopen(url + "/ready")
            break
        except OSError:
            assert process.poll() is None
            time.sleep(0.05)
    yield url
    process.terminate()
    process.wait()


def bench(*arguments, code=0):
    done = subprocess.run([str(word) for word in (PROGRAM, "bench", *arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return done


def serve_report(*arguments):
    return json.loads(bench("serve", *arguments, *SMALL, "--output", "-").stdout)


def test_a_report_agrees_with_itself(server):
    report = serve_report(server, "--request-rate", "40", "--num-prompts", "20", "--num-warmups", "2", "--goodput", "ttft:60000", "tpot:60000", "/", "ttft:0.001")
    assert report["schema"] == "millrace.bench.serve" and report["completed"] == 20 and report["failed"] == 0
    assert report["total_input_tokens"] == 400 and report["total_output_tokens"] == 120
    counted = [r for r in report["requests"] if not r["warmup"]]
    assert len(counted) == 20 and len(report["requests"]) == 22
    for r, ttft, gaps in zip(counted, report["ttfts"], report["itls"]):
        assert r["first_token"] - r["due"] == pytest.approx(ttft, abs=3e-6)
        assert r["prompt_tokens"] == 20 and r["output_tokens"] == 6
        latency = ttft + sum(gaps)
        assert r["due"] + latency <= r["ended"] + 2e-5 and r["sent"] >= r["due"] - 1e-9
    assert report["median_ttft_ms"] == pytest.approx(1000 * statistics.median(report["ttfts"]), rel=1e-3)
    assert report["mean_itl_ms"] == pytest.approx(1000 * statistics.fmean(g for gaps in report["itls"] for g in gaps), rel=1e-3)
    for name, e in report["estimates"].items():
        assert e["low"] <= e["value"] <= e["high"], name
    easy, impossible = report["goodput"]
    assert easy["share"]["value"] == 1.0 and impossible["share"]["value"] == 0.0
    assert easy["requests_s"] == pytest.approx(report["request_throughput"])
    assert report["server"]["counters"]["generation_tokens"] >= 120
    assert report["server"]["model_bytes"] > 5e7 and report["server"]["resident_peak_bytes"] > report["server"]["model_bytes"] / 2


def test_a_running_millrace_says_where_the_time_went(server):
    """Without --trace-file: with each answer."""
    report = serve_report(server, "--users", "3", "--num-prompts", "9")
    assert report["target"]["server"] == "millrace" and report["target"]["version"]
    assert report["steps"] is None
    for r in report["requests"]:
        assert [p["phase"] for p in r["phases"]] == ["queue", "prefill", "decode"]
        assert r["due"] - 0.05 <= r["phases"][0]["start"] <= r["phases"][-1]["end"] <= r["ended"] + 0.05
        spent = sum(r["causes"].values())
        assert 0 < spent <= 1000 * (r["ended"] - r["sent"]) + 1 and "prefill" in r["causes"]
    shown = bench("serve", server, *SMALL, "--num-prompts", "4").stdout
    assert re.search(r"Where the Time Goes.*\n(.*\n)*Prefill \(%\): +\d", shown) and "Not known" not in shown
    # Nothing is asked twice where the user asks.
    assert serve_report(server, "--num-prompts", "1", "--extra-body", '{"explain": false}')["requests"][0]["causes"] is None


def test_a_run_stands_beside_an_earlier_one(server, tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    bench("serve", server, *SMALL, "--num-prompts", "4", "--users", "1", "--seed", "7001", "--output", first)
    shown = bench("serve", server, *SMALL, "--num-prompts", "4", "--users", "2", "--seed", "7002", "--compare-with", first, "--output", second).stdout
    then, now = json.loads(first.read_text()), json.loads(second.read_text())["earlier"]
    assert now["estimates"] == then["estimates"] and now["date"] == then["date"] and now["file"] == str(first)
    assert now["differences"] == ["users: 2 now, 1 then"]
    assert re.search(r"Beside .*first.json of 20.*\n +Median TTFT \(ms\) +\S+ was +\S+ +[+-]\d", shown) and "differs: users: 2 now, 1 then" in shown
    for wrong in (tmp_path / "none.json", pathlib.Path(__file__)):
        done = subprocess.run([PROGRAM, "bench", "serve", server, "--num-prompts", "1", *SMALL, "--compare-with", wrong], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "compare-with" in done.stderr and done.stdout == ""


# Answers one token as vLLM does, and fails what it does not know.
STRANGER = """
import http.server, json, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def send(self, body, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.send(json.dumps({"data": [{"id": "m", "owned_by": "vllm", "meta": {"n_vocab": 100}}], "version": "0.11.0"}).encode())
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if {"explain", "timings"} & set(asked):
            return self.send_error(400)
        events = [{"id": "c", "choices": [{"text": "a", "finish_reason": "length"}]}, {"id": "c", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}]
        self.send("".join(f"data: {e}\\n\\n" for e in [*map(json.dumps, events), "[DONE]"]).encode(), "text/event-stream")

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_another_server_does_not_say_where_the_time_went(tmp_path):
    script, out = tmp_path / "stranger.py", tmp_path / "r.json"
    script.write_text(STRANGER)
    done = bench("serve", "--spawn-command", f"{sys.executable} {script} {{port}}", "--num-prompts", "2", *SMALL, "--output", out)
    report = json.loads(out.read_text())
    assert report["completed"] == 2 and report["target"]["server"] == "vllm" and report["target"]["version"] == "0.11.0"
    assert "Not known: vllm does not say." in done.stdout


def test_percentiles_that_are_asked_for(server):
    report = serve_report(server, "--request-rate", "inf", "--num-prompts", "12", "--metric-percentiles", "25,99.9", "--percentile-metrics", "ttft,e2el")
    ttfts = sorted(report["ttfts"])
    assert report["p25_ttft_ms"] == pytest.approx(1000 * (0.25 * ttfts[2] + 0.75 * ttfts[3]), rel=1e-3)
    assert report["p99_ttft_ms"] < report["p99.9_ttft_ms"] <= 1000 * ttfts[-1] + 1e-3
    assert "p25_e2el_ms" in report and "p25_tpot_ms" not in report
    shown = bench("serve", server, *SMALL, "--num-prompts", "4", "--metric-percentiles", "25,99.9").stdout
    assert shown.index("P25 TTFT") < shown.index("P90 TTFT") < shown.index("P99.9 TTFT")


def test_the_schedule_of_an_open_loop_is_of_its_seed(server):
    def schedule(seed):
        report = serve_report(server, "--request-rate", "50", "--num-prompts", "12", "--seed", seed)
        return [round(r["due"], 9) for r in report["requests"]]

    assert schedule(3) == schedule(3) != schedule(4)
    assert schedule(3)[0] == 0.0 and schedule(3) == sorted(schedule(3))


def test_users_of_a_closed_loop_wait_for_their_answers(server):
    report = serve_report(server, "--users", "2", "--num-prompts", "8")
    assert report["load"]["kind"] == "closed" and report["max_concurrent_requests"] == 2 and report["completed"] == 8


def test_turns_of_a_conversation_follow_on_what_was_said(server):
    report = serve_report(server, "--users", "2", "--num-prompts", "3", "--dataset-name", "multi-turn", "--turns", "3", "--backend", "openai-chat")
    assert report["completed"] == 9
    for session in range(3):
        turns = sorted((r for r in report["requests"] if r["session"] == session), key=lambda r: r["turn"])
        lengths = [r["prompt_tokens"] for r in turns]
        assert lengths == sorted(set(lengths)), "prompts grow from turn to turn"
        assert all(b["due"] >= a["ended"] - 1e-3 for a, b in zip(turns, turns[1:]))


@pytest.mark.parametrize("workload", [["json"], ["copy-heavy"], ["shared-prefix", "--prefix-len", "64"], ["long-context"], ["sharegpt"]])
def test_workloads_are_answered(server, workload):
    report = serve_report(server, "--users", "4", "--num-prompts", "4", "--dataset-name", *workload)
    assert report["completed"] == 4 and report["failed"] == 0


def test_what_a_server_refuses_is_counted_and_quoted(server):
    done = bench("serve", server, "--users", "1", "--num-prompts", "2", "--extra-body", '{"top_p": 99}', *SMALL, "--output", "-", code=1)
    report = json.loads(done.stdout)
    assert report["failed"] == 2 and report["completed"] == 0 and all("top_p" in e for e in report["errors"])


@pytest.mark.parametrize("flags, named", [
    (["--request-rate", "0"], "request-rate"), (["--dataset-name", "nothing"], "dataset-name"), (["--goodput", "ttft"], "goodput"),
    (["--metric-percentiles", "101"], "metric-percentiles"), (["--percentile-metrics", "mbu"], "percentile-metrics"),
    (["--input-len", "0"], "input-len"), (["--extra-body", "[]"], "extra-body"), (["--model", "unheard-of"], "unheard-of"),
    (["--ramp-up-strategy", "linear"], "ramp-up-start-rps"), (["--output", "/no/such/folder/x.json"], "output"), (["--header", "none"], "header"), (["--header", "none:"], "header")])
def test_wrong_flags_are_named(server, flags, named):
    done = subprocess.run([PROGRAM, "bench", "serve", server, "--num-prompts", "1", *SMALL, *flags], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and named in done.stderr


def test_nobody_there_is_said_at_once():
    done = subprocess.run([PROGRAM, "bench", "serve", "http://127.0.0.1:9", "--num-prompts", "1"], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "127.0.0.1:9" in done.stderr


def test_ctrl_c_still_writes_the_report(server, tmp_path):
    out = tmp_path / "r.json"
    process = subprocess.Popen([PROGRAM, "bench", "serve", server, "--request-rate", "2", "--num-prompts", "1000", *SMALL, "--output", out],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    report = json.loads(out.read_text())
    assert report["load"]["stopped"] and 0 < report["completed"] < 1000


def test_a_spawned_server_shows_its_steps(real_model, tmp_path):
    out, page = tmp_path / "r.json", tmp_path / "r.html"
    bench("serve", "--spawn", real_model, "--serve-args", "--max-num-seqs 3", "--users", "4", "--num-prompts", "8", *SMALL, "--output", out, "--report", page)
    report = json.loads(out.read_text())
    assert max(report["steps"]["running"]) <= 3 and sum(report["steps"]["decode_tokens"]) >= 8 * 5
    phases = {p["phase"] for r in report["requests"] for p in r["phases"] or []}
    assert phases == {"queue", "prefill", "decode"}
    for r in report["requests"]:
        assert all(r["due"] - 1e-3 <= p["start"] <= p["end"] <= r["ended"] + 1e-3 for p in r["phases"])
    assert "MILLRACE_REPORT" not in page.read_text() and (tmp_path / "r.md").exists() and (tmp_path / "r.csv").exists()
    assert sorted(p.name for p in tmp_path.glob("r.*")) == ["r.csv", "r.html", "r.json", "r.md"]


# Serves a model that answers nothing, and notes at its end whether its log is still there.
FORLORN = """
import http.server, os, pathlib, signal, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"data": [{"id": "m", "meta": {"n_vocab": 100}}]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

def end(*_):
    log = os.readlink("/proc/self/fd/1")
    pathlib.Path(sys.argv[2]).write_text(f"{os.path.exists(log)} {log}")
    os._exit(0)

signal.signal(signal.SIGTERM, end)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_what_a_spawned_server_writes_into_goes_after_it(tmp_path):
    script, last_words = tmp_path / "forlorn.py", tmp_path / "last_words"
    script.write_text(FORLORN)
    bench("serve", "--spawn-command", f"{sys.executable} {script} {{port}} {last_words}", "--num-prompts", "1", *SMALL, code=1)
    there, log = last_words.read_text().split(" ", 1)
    assert there == "True" and not os.path.exists(os.path.dirname(log))


def test_a_sweep_goes_on_where_it_stopped(server, tmp_path):
    out = tmp_path / "s.json"
    command = ["sweep", server, "--axis", "batch-size", "--values", "1,2", "--output", out, "--label", "x", *SMALL]
    bench(*command)
    first = json.loads(out.read_text())
    assert [p["x"] for p in first["series"][0]["points"]] == [1, 2]
    kept = sorted((tmp_path / "s.json.points").iterdir())
    assert len(kept) == 2
    for file in kept:  # nothing there grows with the requests
        report = json.loads(file.read_text())["report"]
        assert {"estimates", "server", "noise", "load", "goodput"} <= set(report)
        assert not {"itls", "ttfts", "errors", "requests", "steps", "samples", "itl_heat"} & set(report)
        assert [name for name, value in report.items() if isinstance(value, list)] == ["goodput"]
    kept[1].unlink()
    bench(*command, "--resume")
    again = json.loads(out.read_text())
    before, after = first["series"][0]["points"], again["series"][0]["points"]
    assert after[0] == before[0] and after[1]["metrics"] != before[1]["metrics"]


def test_no_point_of_a_sweep_finds_its_prompts_in_a_cache(server, tmp_path):
    out = tmp_path / "s.json"
    bench("sweep", server, "--axis", "batch-size", "--values", "1,2", "--input-len", "40", "--output-len", "2", "--seed", "77", "--no-probe", "--no-progress",
          "--output", out)
    kept = [json.loads(p.read_text())["report"] for p in (tmp_path / "s.json.points").iterdir()]
    assert len(kept) == 2 and all(r["server"]["counters"]["cached_tokens"] == 0 for r in kept)


@pytest.mark.parametrize("flags, sent, says", [
    (["--num-prompts", "6"], [6, 6], "6 requests (--num-prompts)"),
    (["--point-seconds", "0.5"], [20, 40], "as many requests as are due in 0.5 s (--point-seconds), at least 20"),
    (["--num-prompts", "6", "--point-seconds", "0.1"], [2, 6], "6 requests (--num-prompts) or as many as are due in 0.1 s (--point-seconds), whichever is less")])
def test_how_many_requests_a_point_of_a_sweep_sends(server, tmp_path, flags, sent, says):
    out = tmp_path / "s.json"
    done = bench("sweep", server, "--axis", "request-rate", "--values", "20,80", *flags, *SMALL, "--output", out)
    report = json.loads(out.read_text())
    assert [p["requests"] for p in report["series"][0]["points"]] == sent
    assert report["point_size"] == says and f"Each point: {says}." in done.stdout


def test_a_sweep_of_batch_sizes_sends_what_it_is_told(server, tmp_path):
    out = tmp_path / "s.json"
    bench("sweep", server, "--axis", "batch-size", "--values", "1,2", "--num-prompts", "3", *SMALL, "--output", out)
    assert [p["requests"] for p in json.loads(out.read_text())["series"][0]["points"]] == [3, 3]


def test_only_serve_asks_a_server_for_its_steps(server, real_model, tmp_path):
    out = tmp_path / "s.json"
    bench("sweep", "--spawn", real_model, "--axis", "batch-size", "--values", "1", *SMALL, "--output", out)
    [point] = [json.loads(p.read_text())["report"] for p in (tmp_path / "s.json.points").iterdir()]
    assert "--trace-file" not in point["target"]["spawned"] and " serve " in point["target"]["spawned"]
    for command in (["sweep", server], ["compare", server, server]):
        done = subprocess.run([PROGRAM, "bench", *command, "--server-trace", "x", *SMALL], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "--server-trace" in done.stderr


def test_a_trace_that_a_running_server_writes_is_read(real_model, tmp_path):
    """What `bench serve --server-trace` is told to read is what the server's --trace-file names."""
    out, trace = tmp_path / "r.json", tmp_path / "steps.json"
    command = f"{PROGRAM} serve {real_model} --port {{port}} --disable-log-requests --trace-file {trace}"
    bench("serve", "--spawn-command", command, "--server-trace", trace, "--users", "2", "--num-prompts", "4", *SMALL, "--output", out)
    assert sum(json.loads(out.read_text())["steps"]["decode_tokens"]) >= 4 * 5


def test_sweeps_that_make_no_sense_are_refused(server):
    for flags, named in ((["--axis", "colour"], "axis"), (["--series", "batching"], "--spawn"), (["--values", "0"], "values"), (["--axis", "batch-size", "--point-seconds", "5"], "--axis batch-size"), (["--max-goodput", "0.9"], "goodput"),
                         (["--resume"], "output")):
        done = subprocess.run([PROGRAM, "bench", "sweep", server, *flags, *SMALL], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and named in done.stderr, flags


def test_a_server_beside_itself_is_no_regression_and_a_slower_one_is(server, real_model, tmp_path):
    out = tmp_path / "c.json"
    done = subprocess.run([PROGRAM, "bench", "compare", server, server, "--users", "1", "--num-prompts", "2", "--rounds", "3", *SMALL, "--output", out],
                          capture_output=True, text=True, timeout=300)
    report = json.loads(out.read_text())
    assert done.returncode == 0 and report["verdict"] != "regression"
    assert [r["order"] for r in report["rounds"]] == ["AB", "BA", "AB"]
    assert [s["name"] for s in report["sides"]] == ["A", "B"]
    assert report["remark"] == f"A and B are the same server, {server}: what differs between them is noise" and report["remark"] in done.stdout
    # Six users at a time on one place wait for one another: nothing of speed is needed to see it.
    slow = f"{PROGRAM} serve {real_model} --port {{port}} --max-num-seqs 1 --disable-log-requests"
    done = subprocess.run([PROGRAM, "bench", "compare", server, slow, "--users", "6", "--num-prompts", "12", "--rounds", "6", "--input-len", "8", "--output-len", "24",
                           "--no-probe", "--no-progress", "--output", out], capture_output=True, text=True, timeout=300)
    report = json.loads(out.read_text())
    assert done.returncode == 5 and report["verdict"] == "regression", done.stdout
    assert report["remark"] is None and [s["name"] for s in report["sides"]] == [server, "..." + slow[-57:]], "one program and one model: what the user wrote differs"
    assert {v["metric"]: v["verdict"] for v in report["verdicts"]}["median_ttft_ms"] == "B worse"


def test_sides_are_named_by_what_differs(server, tmp_path):
    script, out = tmp_path / "stranger.py", tmp_path / "c.json"
    script.write_text(STRANGER)
    stranger = f"{sys.executable} {script} {{port}}"
    command = ["compare", server, stranger, "--num-prompts", "1", "--rounds", "1", *SMALL, "--output", out]
    bench(*command)
    a, b = json.loads(out.read_text())["sides"]
    assert a["name"] == f"millrace {a['version']}, {a['model_id']}" and b["name"] == "vllm 0.11.0, m" and b["millrace_version"] is None
    bench(*command, "--names", "old", "new")
    assert [s["name"] for s in json.loads(out.read_text())["sides"]] == ["old", "new"]


def cached_tokens(url):
    metrics = urllib.request.urlopen(url + "/metrics").read().decode()
    return sum(float(value) for value in re.findall(r"^vllm:prefix_cache_hits_total(?:{.*?})? (\S+)", metrics, re.M))


def test_a_server_beside_itself_finds_no_prompt_of_the_other_side_in_its_cache(server):
    before = cached_tokens(server)
    long_prompts = ["--users", "1", "--num-prompts", "2", "--input-len", "40", "--output-len", "2", "--no-probe", "--no-progress"]
    bench("compare", server, server.replace("127.0.0.1", "localhost") + "/v1", *long_prompts, "--rounds", "2", "--seed", "9100")
    assert cached_tokens(server) == before
    for _ in range(2):  # the figure would have told: the second of these finds the prompts of the first
        bench("serve", server, *long_prompts, "--seed", "9200")
    assert cached_tokens(server) > before


def test_a_report_that_is_none_is_refused(tmp_path):
    file = tmp_path / "x.json"
    for text in ("{}", "[", '{"schema": "millrace.bench.kernels"}'):
        file.write_text(text)
        done = subprocess.run([PROGRAM, "bench", "report", file, "--report", tmp_path / "x.html"], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "no JSON of" in done.stderr and not (tmp_path / "x.html").exists()
