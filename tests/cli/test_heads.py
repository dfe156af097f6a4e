"""Heads for speculation: `synth --heads` writes some, `run --spec-method` uses them."""
import pytest


@pytest.fixture(scope="module")
def ask(millrace, real_model):
    def run(*flags, **more):
        return millrace("run", real_model, "Name a colour.", "-n", 16, "--temperature", 0, *flags, **more)

    return run


@pytest.fixture(scope="module")
def heads(millrace, real_model, tmp_path_factory):
    """heads(kind) -> a directory of random heads on a model like the real one."""

    def write(kind):
        path = tmp_path_factory.mktemp("heads") / kind
        millrace("synth", "--heads", kind, "--shape", "llama-135m", "--format", "bf16", "--tokenizer", real_model, path)
        assert sorted(file.name for file in path.iterdir()) == ["config.json", "model.safetensors"]
        return path

    return write


STAGES = ["--pipeline-parallel-size", 2, "--threads", 1, "--allow-oversubscription"]


@pytest.mark.parametrize("flags", [[], STAGES], ids=["alone", "stages"])
@pytest.mark.parametrize("kind,method", [("medusa", "medusa"), ("eagle", "eagle"), ("eagle3", "eagle")])
def test_heads_change_no_token(ask, heads, kind, method, flags):
    plain = ask("--stats")
    guessed = ask("--spec-method", method, "--spec-model", heads(kind), "--no-spec-adaptive", "--spec-tokens", 3, "--stats", *flags)
    assert guessed.out == plain.out


def test_what_is_wrong_with_heads_is_said_in_one_line(ask, heads, tmp_path, tiny_directory):
    def refused(*flags):
        outcome = ask(*flags, ok=False)
        assert outcome.code != 0 and outcome.out == "" and outcome.err.count("\n") == 1, outcome.err
        return outcome.err

    assert "none of model.mtp_layers.0.input_proj.weight is there" in refused("--spec-method", "mtp")
    assert "eagle needs --spec-model" in refused("--spec-method", "eagle")
    assert "no config.json" in refused("--spec-method", "medusa", "--spec-model", tmp_path)
    assert "num_hidden_layers: 2 is not supported" in refused("--spec-method", "eagle", "--spec-model", tiny_directory)


def test_heads_are_a_directory(millrace, tmp_path):
    outcome = millrace("synth", "--heads", "eagle", "--shape", "tiny", "--format", "bf16", "--tokenizer", "none",
                       tmp_path / "x.gguf", ok=False)
    assert outcome.code == 2 and "heads are written as a directory" in outcome.err
