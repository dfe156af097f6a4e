"""Models whose JSON files Python wrote: numbers without a limit, NaN, Infinity, half characters, a byte order mark."""
import json

import pytest

TEXT = "Hello world, 3.14!"
NO_LIMIT = int(1e30)  # what Transformers writes as model_max_length of every tokenizer without a limit
VALUES = [NO_LIMIT, -NO_LIMIT, 2**64, -(2**63) - 1, float("nan"), float("inf"), -float("inf"), "\ud800", "NaN", [0.0, float("inf")],
          {"__float__": "Infinity"}]


@pytest.fixture
def model(millrace, real_model, tmp_path):
    path = tmp_path / "model"
    millrace("synth", "--shape", "tiny", "--format", "bf16", "--tokenizer", real_model, path)
    return path


def change(path, encoding="utf-8", **fields):
    old = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(old | fields), encoding)


def ids(millrace, model):
    return millrace("tokenize", model, "--ids", TEXT).out


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json", "generation_config.json"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_fields_that_nobody_reads_stop_no_model(millrace, model, file, value):
    expected = ids(millrace, model)
    change(model / file, model_max_length=value, time_step_limit=[0.0, value])
    assert ids(millrace, model) == expected
    assert "llama" in millrace("inspect", model).out.lower()


def test_numbers_written_out_beyond_a_double(millrace, model):
    expected = ids(millrace, model)
    for file in ("tokenizer_config.json", "config.json"):
        text = (model / file).read_text().rstrip()
        for number in ("1e400", "-1e400", "9" * 5000, "0." + "3" * 5000, "1" + "0" * 2_000_000):
            (model / file).write_text(f'{text[:-1]}, "a": {number}}}')
            assert ids(millrace, model) == expected, number[:20]
        (model / file).write_text(text)


def test_a_byte_order_mark_is_no_part_of_the_text(millrace, model):
    expected = ids(millrace, model)
    for file in ("tokenizer_config.json", "config.json"):
        change(model / file, "utf-8-sig")
    assert ids(millrace, model) == expected


def test_settings_that_python_wrote_as_floats(millrace, model):
    expected = ids(millrace, model)
    sizes = json.loads((model / "config.json").read_text())
    change(model / "config.json", num_attention_heads=float(sizes["num_attention_heads"]), max_position_embeddings=NO_LIMIT,
           eos_token_id=[2, -1])
    change(model / "generation_config.json", top_k=50.0, top_p=float("nan"), temperature={"__float__": "Infinity"}, eos_token_id=-1)
    assert ids(millrace, model) == expected
    assert millrace("run", model, "Hello", "-n", 4, "--ignore-eos", "--temperature", 0, "--max-model-len", 512).code == 0


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
def test_a_number_of_ten_megabytes_is_refused_by_file_and_limit(millrace, model, file):
    text = (model / file).read_text().rstrip()
    (model / file).write_text(f'{text[:-1]}, "a": {"7" * 10_000_000}}}')
    outcome = millrace("tokenize", model, "--ids", TEXT, ok=False)
    assert outcome.code == 3 and file in outcome.err and "limit" in outcome.err, outcome.err


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json", "generation_config.json"])
def test_deep_nesting_is_refused_by_name(millrace, model, file):
    change(model / file)
    text = (model / file).read_text().rstrip()
    (model / file).write_text(f'{text[:-1]}{"," if len(text) > 2 else ""} "a": {"[" * 100_000}NaN{"]" * 100_000}}}')
    outcome = millrace("tokenize", model, "--ids", TEXT, ok=False)
    assert outcome.code == 3 and file in outcome.err and outcome.err.count("\n") == 1, outcome.err


def test_an_adapter_as_peft_saves_it_is_no_model_and_beside_one_it_does_no_harm(millrace, model, tmp_path):
    adapter = {"base_model_name_or_path": "org/base", "peft_type": "LORA", "r": 8, "lora_alpha": 16.0, "loftq_config": {},
               "target_modules": ["q_proj", "v_proj"], "lora_dropout": float("nan"), "modules_to_save": None}
    expected = ids(millrace, model)
    alone = tmp_path / "adapter"
    alone.mkdir()
    for folder in (model, alone):
        (folder / "adapter_config.json").write_text(json.dumps(adapter))
        (folder / "adapter_model.safetensors").write_bytes(b"")
    assert ids(millrace, model) == expected
    outcome = millrace("tokenize", alone, "--ids", TEXT, ok=False)
    assert outcome.code == 3 and "merge_and_unload" in outcome.err and str(alone) in outcome.err


@pytest.mark.parametrize("value", ["[1, NaN", "nan", "Inf", "1e", "01e400", "--1"])
def test_what_python_refuses_is_refused(millrace, model, value):
    for file in ("tokenizer_config.json", "config.json"):
        text = (model / file).read_text().rstrip()
        (model / file).write_text(f'{text[:-1]}, "a": {value}}}')
        outcome = millrace("tokenize", model, "--ids", TEXT, ok=False)
        assert outcome.code == 3 and file in outcome.err, outcome.err
        (model / file).write_text(text)
