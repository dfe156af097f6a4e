import json

import pytest

STAGES = ["--pipeline-parallel-size", "2", "--threads", "1", "--allow-oversubscription"]
TWO = ["--tensor-parallel-size", "2", "--threads", "1", "--allow-oversubscription"]


def test_a_completion_of_two_ranks_is_that_of_one(millrace, real_model):
    prompt = [real_model, "Name three rivers.", "--temperature", "0", "--max-tokens", "24"]
    one = millrace("run", *prompt)
    assert one.out and millrace("run", *prompt, *TWO).out == one.out
    assert millrace("run", *prompt, *STAGES).out == one.out
    assert millrace("run", *prompt, "-tp", "2", "-pp", "2", "-t", "1", "--allow-oversubscription").out == one.out
    assert millrace("run", *prompt, "-tp", "2", "-t", "1", "--allow-oversubscription", "--tensor-parallel-shares", "1,2").out == one.out
    assert millrace("run", *prompt, "-pp", "2", "-t", "1", "--allow-oversubscription", "--pipeline-parallel-shares", "1,3").out == one.out


def test_perplexity_of_three_ranks_is_that_of_one(millrace, real_model, text_file):
    def loss(*flags):
        return json.loads(millrace("eval", real_model, "-f", text_file, "--json", *flags).out)["perplexity"]
    assert loss("--tensor-parallel-size", "3", "--threads", "1", "--allow-oversubscription") == loss()


def test_a_speculator_and_a_small_cache_change_no_text(millrace, real_model):
    prompt = [real_model, "Count to twenty: one, two, three,", "--temperature", "0", "--max-tokens", "40"]
    assert millrace("run", *prompt, *TWO, "--spec-method", "ngram").out == millrace("run", *prompt).out


def test_reads_of_a_step_are_those_of_all_ranks(millrace, real_model, tmp_path):
    def bytes_of(*flags):
        millrace("bench", "latency", real_model, "--prompt-tokens", "4", "--output-tokens", "4", "--batch", "1", "--runs", "1", "--json", tmp_path / "o.json", *flags)
        report = json.loads((tmp_path / "o.json").read_text())
        return report["model"]["weight_bytes_per_token"], report["results"][0]["memory"]["packed_weight_bytes"]
    step, packed = bytes_of("-t", "1")
    stages_step, stages_packed = bytes_of(*STAGES)
    assert stages_step == step and packed < stages_packed  # two stages have the embedding, which is the head too
    ranks_step, ranks_packed = bytes_of(*TWO)
    assert step <= ranks_step < 1.02 * step and packed <= ranks_packed < 1.02 * packed  # one key head is of both


@pytest.mark.parametrize("flags, told", [
    (["--tensor-parallel-size", "10", "--allow-oversubscription"], "tensor-parallel-size is 10: must be from 1 to 9, the query heads of a layer"),
    (["--tensor-parallel-size", "2", "--threads", "600"], "are more than the"),
    (["--tensor-parallel-size", "0"], "--tensor-parallel-size"),
    (["--tensor-parallel-size", "2", "--tensor-parallel-shares", "1,0"], "tensor-parallel-shares has 0: must be numbers above 0"),
])
def test_what_cannot_be_is_refused_by_name(millrace, real_model, flags, told):
    refused = millrace("run", real_model, "hi", *flags, ok=False)
    assert refused.code == 2 and told in refused.err
