"""A model whose values have another size than its keys: GGUF says so with attention.key_length and attention.value_length."""
import json

import pytest

KEY, VALUE, LAYERS, KV_HEADS = 96, 64, 2, 2  # the shape tiny-values
TEXT = "Pages hold a key and a value of each token, and neither need be as long as the other. " * 2


@pytest.fixture(scope="module")
def model(millrace, real_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("values") / "m.gguf"
    millrace("synth", "--shape", "tiny-values", "--format", "f32", "--seed", 3, "--tokenizer", real_model, path)
    return path


def test_inspect_shows_both_sizes_and_plans_with_them(millrace, model):
    report = json.loads(millrace("inspect", model, "--json").out)
    assert (report["shape"]["head_dim"], report["shape"]["value_dim"]) == (KEY, VALUE)
    numbers = LAYERS * KV_HEADS * (KEY + VALUE)
    per_token = report["memory"]["kv_bytes_per_token"]
    assert per_token["fp8_e4m3"] == numbers and per_token["int4"] < per_token["k8v4"] < per_token["int8"]
    dense = {name: per_token[name] for name in ("f32", "f16", "bf16", "int8")}
    assert dense == {"f32": 4 * numbers, "f16": 2 * numbers, "bf16": 2 * numbers,
                                                     "int8": numbers + LAYERS * KV_HEADS * 8}
    assert f"4 heads of {KEY} (values of {VALUE})" in millrace("inspect", model).out


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "int8"])
def test_answers_are_alike_in_every_page_layout_on_every_instruction_set(millrace, model, dtype):
    def answer(*flags):
        return millrace("run", model, "-p", TEXT, "--temperature", "0", "--max-tokens", "24", "--kv-cache-dtype", dtype, *flags).out

    plain = answer()
    assert plain.strip()
    for layout in ("token", "vector16"):
        assert answer("--kv-layout", layout, "--threads", "1") == plain
    for isa in ("scalar", "avx2"):
        assert answer("--cpu-isa", isa) == plain


def test_pages_are_found_again_on_disk(millrace, model, tmp_path):
    def cached():
        report = millrace("bench", "throughput", model, "--requests", 2, "--concurrency", 1, "--shared-prefix-tokens", 1000,
                          "--input-tokens", 8, "--output-tokens", 2, "--prefix-caching", "--warmup", 0, "--kv-archive", tmp_path / "kv",
                          "--json", "-").out
        return json.loads(report)["results"]["cached_tokens"]

    first = cached()
    assert 0 < first < cached()


def test_the_work_of_a_step_counts_keys_and_values_by_their_own_sizes(millrace, model):
    report = json.loads(millrace("bench", "latency", model, "--prompt-tokens", 40, "--output-tokens", 9, "--runs", 1, "--probe-time", "0.001",
                                 "--json", "-").out)
    vocabulary, layer = report["model"]["vocab_size"], 2 * (256 * (4 * KEY + 2 * KEY + 2 * VALUE) + 256 * 4 * VALUE + 3 * 256 * 512)
    result = report["results"][0]
    assert report["model"]["operations_per_token"] == LAYERS * layer + 2 * 256 * vocabulary
    attention = LAYERS * 2 * 4 * (KEY + VALUE) * 40 * 41 / 2
    assert result["prefill_operations"] == 40 * LAYERS * layer + 2 * 256 * vocabulary + attention
    # 8 steps that see 41 to 48 tokens.
    token = 2 * LAYERS * KV_HEADS * (KEY + VALUE)
    assert result["decode_bytes_per_step"] == pytest.approx(report["model"]["weight_bytes_per_token"] + 44.5 * token)
    assert result["memory"]["kv_pool_bytes"] == 64 * token


def test_attention_is_timed_with_both_sizes(millrace):
    def case(heads, op="attention_decode"):
        return json.loads(millrace("bench", "kernels", "--op", op, "--heads", heads, "--rows", "1", "--context", "64", "--min-time", "0.001",
                                   "--repeats", "1", "--format", "f32", "--shape", "64x64", "--json", "-").out)["results"][0]

    both, keys, values = case("8:2:96:64"), case("8:2:96"), case("8:2:64")
    assert (both["head_dim"], both["value_dim"], keys["value_dim"]) == (96, 64, 96)
    for figure in ("bytes", "operations"):
        assert 2 * both[figure] == keys[figure] + values[figure]
    assert case("8:2:96:64", "project_attention")["operations"] == 2 * 64 * (8 * 96 + 2 * 96 + 2 * 64)
    refused = millrace("bench", "kernels", "--op", "attention", "--heads", "8:2:96:513", ok=False)
    assert refused.code == 2 and "keys of 1 to 576 and values of 1 to 512 dimensions" in refused.err
    refused = millrace("bench", "kernels", "--op", "attention", "--heads", "8:2", ok=False)
    assert refused.code == 2 and "heads is '8:2'" in refused.err


def test_safetensors_cannot_say_it(millrace, tmp_path):
    refused = millrace("synth", "--shape", "tiny-values", "--format", "f32", "--tokenizer", "none", tmp_path / "directory", ok=False)
    assert refused.code == 2 and "values of 64 dimensions and keys of 96" in refused.err
