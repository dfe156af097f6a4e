"""`bench serve` with adapters against a server that has room for some of them, and what a server says of their memory."""
import json
import re
import subprocess

import pytest
from adapter_files import write_adapter
from running_server import PROGRAM, RunningServer

NAMES = [f"n{i}" for i in range(5)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    for seed, name in enumerate(NAMES):
        write_adapter(folder / name, seed)
    return folder


def bench(server, *flags):
    words = [PROGRAM, "bench", "serve", server.url, "--dataset-name", "adapters", "--input-len", "20", "--output-len", "6", "--no-probe", "--no-progress", *flags]
    ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_load_of_adapters_is_reported_by_adapter(start, folder):
    with start("--lora-dir", folder, "--max-loras", 2) as server:
        for name in NAMES:  # from then on requests wait in the engine's queue
            assert server.post("/v1/completions", {"model": name, "prompt": "a", "max_tokens": 1}).status == 200
        flags = ["--lora-modules", *NAMES, "--lora-zipf", "0.5", "--lora-base-share", "0.2", "--users", "8"]
        report = json.loads(bench(server, *flags, "--num-prompts", "60", "--output", "-"))
        assert report["completed"] == 60 and report["failed"] == 0
        groups = report["models"]
        assert {group["model"] for group in groups if group["adapter"]} == set(NAMES)
        base, = (group for group in groups if not group["adapter"])
        assert 4 <= base["completed"] <= 22 and base["model"] == report["model_id"]
        assert sum(group["completed"] for group in groups) == 60 and sum(group["output_tokens"] for group in groups) == 360
        assert [group["completed"] for group in groups] == sorted((group["completed"] for group in groups), reverse=True)
        assert base["waited"] == 0 and sum(group["waited"] for group in groups) > 0, "five adapters have two places"
        for group in groups:
            asked = [request for request in report["requests"] if (request["model"] or base["model"]) == group["model"]]
            waits = [request["causes"]["adapter"] for request in asked if "adapter" in request["causes"]]
            assert len(asked) == group["completed"] and len(waits) == group["waited"]
            assert group["mean_wait_ms"] == pytest.approx(sum(waits) / len(waits) if waits else 0, abs=1e-3)
            assert group["median_ttft_ms"] <= group["p99_ttft_ms"]
        shown = bench(server, *flags, "--num-prompts", "20")
        assert "Models and Adapters" in shown and "Waiting for adapters (%)" in shown and re.search(r"(?m)^n0 +\d+ ", shown)


@pytest.mark.parametrize("flags, told", [
    (["--lora-zipf", "11"], "--lora-zipf"),
    (["--lora-base-share", "1.5"], "--lora-base-share"),
    ([], "lora-modules: adapters wants the names"),
])
def test_wrong_loads_are_refused_by_name(server, flags, told):
    ended = subprocess.run([PROGRAM, "bench", "serve", server.url, "--dataset-name", "adapters", *flags], capture_output=True, text=True)
    assert ended.returncode == 2 and told in ended.stderr


def test_memory_is_kept_for_adapters(start, model, logs, folder):
    with RunningServer(model, logs(), "--lora", f"n0={folder / 'n0'}", "--max-loras", 3) as server:
        loaded, kept = re.search(r", (\S+ \S+) of adapters and (\S+ \S+) kept for them by --max-loras;", server.text()).groups()
        size = server.call("GET", "/v1/models").json()["data"][1]["meta"]["size"]
        assert float(loaded.split()[0]) == pytest.approx(size / 1e6, rel=0.01) and float(kept.split()[0]) == pytest.approx(3 * size / 1e6, rel=0.01)
    with RunningServer(model, logs(), "--lora-memory", "900GB", wait=False) as server:
        assert server.process.wait(60) == 4
        assert re.search(r"--lora-memory keeps \d+ GB for adapters, of which 0 B are loaded", server.text())
