"""bench/peers without a peer installed: what is refused, and how rounds become a ratio."""
import importlib.machinery
import importlib.util
import subprocess

import pytest

from conftest import ROOT

PEERS = ROOT / "bench" / "peers"


@pytest.fixture(scope="module")
def compare():
    loader = importlib.machinery.SourceFileLoader("compare", str(PEERS / "compare"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


class Timed:
    """Stands for a program whose n-th run takes times[n]; counts the loads it got."""

    def __init__(self, times):
        self.times, self.loads = list(times), []

    def run(self, load):
        self.loads.append(load)
        return self.times[len(self.loads) - 1]


def times(prefill_ms, tpot_ms):
    return {"prefill_ms": prefill_ms, "tpot_ms": tpot_ms}


def test_rounds_alternate_on_the_same_load_and_the_ratio_is_of_neighbours(compare):
    ours = Timed([times(100, 10), times(200, 20), times(100, 5)])
    theirs = Timed([times(1, 1), times(300, 20), times(300, 20), times(300, 30)])  # the first warms up
    result = compare.measure(ours, theirs, compare.parse_shape("batch4"), 3)
    assert ours.loads == theirs.loads[1:] and len({load["seed"] for load in theirs.loads}) == 4
    assert result["ratio"]["decode_tok_s"] == {"median": 2.0, "min": 1.0, "max": 6.0}
    assert result["ratio"]["prefill_tok_s"] == {"median": 3.0, "min": 1.5, "max": 3.0}
    assert result["millrace"]["decode_tok_s"] == 400.0 and result["peer"]["decode_tok_s"] == 200.0
    assert result["peer"]["prefill_tok_s"] == pytest.approx(1000 * 4 * 128 / 300)


@pytest.mark.parametrize("text, load", [("prefill512", (1, 512, 2)), ("decode128", (1, 128, 128)), ("batch32", (32, 128, 64))])
def test_a_shape_is_a_load(compare, text, load):
    assert tuple(compare.parse_shape(text)["load"].values()) == load


@pytest.mark.parametrize("text", ["", "prefill", "prefill0", "decode-1", "batch 8", "batch8x", "serve9"])
def test_what_is_no_shape_is_refused(text):
    done = subprocess.run([PEERS / "compare", "m.gguf", "--peer", "vllm", "--shape", text], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and done.stdout == "" and "prefillN" in done.stderr


def test_a_peer_that_is_not_installed_is_told_how(compare, monkeypatch, tmp_path):
    monkeypatch.setattr(compare, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="bench/peers/setup llama.cpp"):
        compare.Peer("llama.cpp", "m.gguf", 2)


def test_every_peer_has_requirements_and_a_worker(compare):
    assert {p.stem for p in (PEERS / "requirements").glob("*.txt")} == set(compare.WORKERS) == set(compare.FILES)
    for worker in compare.WORKERS.values():
        compile((PEERS / "workers" / worker).read_text(), worker, "exec")


def test_setup_of_an_unknown_peer_lists_those_there_are():
    done = subprocess.run([PEERS / "setup", "../../etc"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "llama.cpp" in done.stderr and "vllm" in done.stderr
