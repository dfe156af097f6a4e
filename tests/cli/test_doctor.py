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
