"""`millrace doctor`: what it recommends."""
import json


def test_recommends_models_and_flags(millrace):
    outcome = json.loads(millrace("doctor", "--threads", 1, "--json").out)
    assert any("largest model that fits: " in line for line in outcome["recommendations"])
    assert "recommendation: the largest model that fits: " in millrace("doctor", "--threads", 1).out


def test_a_default_model_that_is_not_there_is_a_problem_with_a_remedy(millrace, tmp_path):
    out = millrace("doctor", "--threads", 1, env={"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}).out
    assert "warning: the default model is not there" in out and "remedy: " in out and "no problems found" not in out


def test_a_models_speed_comes_with_progress_and_what_it_means(millrace, tiny):
    outcome = millrace("doctor", "--threads", 1, "--model-speed", tiny)
    assert json.loads(outcome.out)["measured_steps"] > 0  # a file, as `simulate` takes it
    assert "measuring steps: 0 %" in outcome.err and "use --max-num-seqs " in outcome.err and "millrace simulate" in outcome.err


def test_a_mixtures_speed_knows_its_experts(millrace, tmp_path):
    model, profile = tmp_path / "mixture.gguf", tmp_path / "profile.json"
    millrace("synth", "--shape", "tiny-qwen3-moe", "--format", "q4_0", "--tokenizer", "none", "--no-progress", model)
    outcome = millrace("doctor", "--threads", 1, "--model-speed", model)
    speed = json.loads(outcome.out)
    assert speed["left_out"] == 1 - 2 / 8 and 0 < speed["experts"] < 1
    assert "share the time of reading the weights" not in outcome.err  # each request reads experts of its own
    predict = ("simulate", "--model-speed", profile, "--workload", "requests=5,rate=4")
    profile.write_text(outcome.out)
    assert "TTFT" in millrace(*predict).out
    profile.write_text(json.dumps(speed | {"experts": 1.5}))
    refused = millrace(*predict, ok=False)
    assert refused.code != 0 and "experts: expected a share from 0 to 1" in refused.err


def test_measures_how_fast_ranks_exchange_rows(millrace):
    speed = json.loads(millrace("doctor", "--link-speed", "shm").out)
    assert speed["backend"] == "shm" and 0 < speed["latency_us"] < 1e6 and speed["gb_per_s"] > 0


def test_measures_steps_that_ranks_share(millrace, tiny):
    outcome = millrace("doctor", "--threads", 1, "--tensor-parallel-size", 2, "--model-speed", tiny)
    assert json.loads(outcome.out)["measured_steps"] > 0
