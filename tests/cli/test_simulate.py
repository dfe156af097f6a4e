"""`millrace simulate`: repeats itself, and predicts."""
import json

import pytest

PROFILE = {"fixed_ms": 1.0, "weights_ms": 10.0, "token_ms": 0.5, "kv_token_ms": 0.0001, "sample_ms": 0.01}


@pytest.fixture
def profile(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(PROFILE))
    return path


def test_the_same_seeds_print_the_same_bytes(millrace):
    first, second = (millrace("simulate", "--seed", 3, "--seeds", 20, "--json") for _ in range(2))
    assert first.out == second.out
    report = json.loads(first.out)
    assert report["seeds"] == 20 and report["violations"] == []
    assert millrace("simulate", "--seed", 4, "--seeds", 20, "--json").out != first.out


def test_predicts_a_load_for_each_policy(millrace, profile):
    run = lambda: millrace("simulate", "--workload", "requests=50,rate=5,input=16-64,output=8-32:long,prefix=32", "--policy",
                           "fcfs,decode-first", "--model-speed", profile, "--goodput", "ttft:200,tpot:50", "--json").out
    report = json.loads(run())
    assert set(report["policies"]) == {"fcfs", "decode-first"}
    for policy in report["policies"].values():
        assert policy["requests"] == 50 and policy["rejected"] == policy["refused"] == 0
        assert policy["ttft_ms"]["p50"] >= PROFILE["weights_ms"]
        assert 0 < policy["kv_use_peak"] <= 1 and 0 <= policy["goodput_share"] <= 1
    assert run() == run()


def test_one_request_takes_what_the_profile_says(millrace, profile):
    report = json.loads(millrace("simulate", "--workload", "requests=1,input=10,output=11", "--model-speed", profile, "--json").out)
    (policy,) = report["policies"].values()
    assert policy["tpot_ms"]["p50"] == pytest.approx(11.01, abs=0.02)


def test_weights_of_tenants_change_what_fair_predicts(millrace, profile):
    def ttft(*flags):
        outcome = millrace("simulate", "--workload", "requests=60,rate=0,input=64,output=32,tenants=3", "--policy", "fair", "--max-num-seqs", 4,
                           "--model-speed", profile, "--json", *flags)
        (policy,) = json.loads(outcome.out)["policies"].values()
        return policy["ttft_ms"]

    assert ttft("--tenant-weights", "0=1,1=1") == ttft() != ttft("--tenant-weights", "0=100,1=0.01")


def test_weights_of_tenants_are_checked_under_every_policy(millrace, profile):
    for value, named in (("0=1001", "'0=1001': the weight must be between 0.001 and 1000"), ("0", "'0': expected name=weight"),
                         ("bob=2", "the tenant 'bob': expected a number from 0 to 4294967295")):
        outcome = millrace("simulate", "--workload", "requests=1,input=10,output=5", "--model-speed", profile, "--tenant-weights", value, ok=False)
        assert outcome.code == 2 and "tenant-weights" in outcome.err and named in outcome.err, outcome.err


@pytest.mark.parametrize("text", ["arrival_s,prompt_tokens,output_tokens,tenant\n0,10,5,1\n0.5,20,5,2\n",
                                  '{"arrival_s": 0, "prompt_tokens": 10, "output_tokens": 5}\n'
                                  '{"arrival_s": 0.5, "prompt_tokens": 20, "output_tokens": 5, "prefix_group": 1}\n'])
def test_reads_traces(millrace, profile, tmp_path, text):
    trace = tmp_path / "trace"
    trace.write_text(text)
    report = json.loads(millrace("simulate", "--trace", trace, "--model-speed", profile, "--json").out)
    (policy,) = report["policies"].values()
    assert policy["requests"] == 2


@pytest.mark.parametrize("text, named", [("arrival_s,prompt_tokens\n0,1\n", "output_tokens"), ("", "no requests"),
                                         ("arrival_s,prompt_tokens,output_tokens\n0,-1,5\n", "line 2"),
                                         ('{"arrival_s": 0}\n', "prompt_tokens"), ("{", "line 1")])
def test_says_what_is_wrong_with_a_trace(millrace, profile, tmp_path, text, named):
    trace = tmp_path / "trace"
    trace.write_text(text)
    outcome = millrace("simulate", "--trace", trace, "--model-speed", profile, ok=False)
    assert outcome.code in (2, 3) and named in outcome.err


@pytest.mark.parametrize("flags, named", [(["--workload", "requests=0"], "requests"), (["--workload", "colour=1"], "colour"),
                                          (["--workload", "requests=1", "--goodput", "ttft:x"], "goodput"),
                                          (["--workload", "requests=1", "--goodput", "ttft:1/tpot:1"], "goodput"),
                                          (["--workload", "requests=1", "--policy", "best"], "best")])
def test_says_what_is_wrong_with_a_flag(millrace, profile, flags, named):
    outcome = millrace("simulate", *flags, "--model-speed", profile, ok=False)
    assert outcome.code == 2 and named in outcome.err


def test_ends_with_a_recommendation(millrace, profile):
    slow = ["--workload", "requests=100,rate=50,input=64,output=32", "--policy", "fcfs,decode-first", "--model-speed", profile]
    out = millrace("simulate", *slow).out
    last = out.strip().splitlines()[-1]
    assert last.startswith("Use --scheduling-policy ") and "faster than this machine serves them" in last and last.endswith(".")
    easy = ["--workload", "requests=20,rate=1,input=16,output=8", "--goodput", "ttft:5000", "--model-speed", profile]
    last = millrace("simulate", *easy).out.strip().splitlines()[-1]
    assert "100 % of the requests meet the objective" in last and "the machine keeps up" in last
    small = ["--workload", "requests=50,rate=50,input=64,output=64", "--kv-cache-tokens", 512, "--model-speed", profile, "--json"]
    assert "more --kv-cache-tokens would help" in json.loads(millrace("simulate", *small).out)["recommendation"]
    assert "--workload with --model-speed" in millrace("simulate", "--seeds", 1).out
