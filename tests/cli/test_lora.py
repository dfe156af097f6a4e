"""`lora list|check|merge|export|bench`, and --lora-merge: files are compared with what numpy and other people's libraries make of them."""
import json
import pathlib
import resource
import shutil
import subprocess

import pytest

gguf = pytest.importorskip("gguf")
numpy = pytest.importorskip("numpy")
safetensors = pytest.importorskip("safetensors.numpy")

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
LLAMA, ADAPTERS = GOLDEN / "tiny/llama", GOLDEN / "adapters"
NAMES = {"q_proj": "attn_q", "v_proj": "attn_v", "down_proj": "ffn_down"}


def write_adapter(folder, sizes, layers, rank=4, seed=1, size=0.05, alpha=None):
    """A random adapter for modules {"self_attn.q_proj": (rows, cols)}, as PEFT saves it. Returns B A by module."""
    folder.mkdir()
    random, tensors, products = numpy.random.default_rng(seed), {}, {}
    for layer in range(layers):
        for module, (rows, cols) in sizes.items():
            name = f"model.layers.{layer}.{module}"
            a, b = (random.standard_normal(shape).astype(numpy.float32) * size for shape in ((rank, cols), (rows, rank)))
            tensors[f"base_model.model.{name}.lora_A.weight"], tensors[f"base_model.model.{name}.lora_B.weight"] = a, b
            products[name] = b @ a * ((alpha or rank) / rank)
    safetensors.save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha or rank, "target_modules": [m.split(".")[-1] for m in sizes], "base_model_name_or_path": "org/base"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return products


TINY = {"self_attn.v_proj": (128, 256), "mlp.down_proj": (256, 512)}  # of `synth --shape tiny`: rows of values keep their order in GGUF


def tensors_of(path):
    """The tensors of a safetensors file; of a .gguf its raw bytes and types too."""
    if path.suffix != ".gguf":
        return safetensors.load_file(path / "model.safetensors")
    return {t.name: t for t in gguf.GGUFReader(path).tensors}


def values_of(tensor):
    return gguf.quants.dequantize(tensor.data, tensor.tensor_type)


def test_list_says_what_is_in_a_directory(millrace, tmp_path):
    out = json.loads(millrace("lora", "list", ADAPTERS, "--json").out)["adapters"]
    rows = {one["name"]: one for one in out}
    assert len(rows) == len([p for p in ADAPTERS.iterdir() if p.is_dir()])
    assert (rows["llama_all"]["rank"], rows["llama_all"]["modules"], rows["llama_all"]["kind"]) == (6, 14, "LoRA")
    assert rows["llama_rslora"]["kind"] == "rsLoRA" and rows["llama_patterns"]["rank"] == 7 and rows["llama_torch"]["modules"] == 4
    assert (rows["qwen3_moe_experts"]["rank"], rows["qwen3_moe_experts"]["modules"], rows["mixtral_apart"]["rank"]) == (5, 6, 3)
    assert rows["gpt2"]["base_model_name_or_path"] == "tiny/gpt2" and rows["gpt2"]["bytes"] == (ADAPTERS / "gpt2/adapter_model.safetensors").stat().st_size
    assert [line.split()[0] for line in millrace("lora", "list", ADAPTERS / "llama_rslora").out.splitlines()] == ["name", "llama_rslora"]
    assert all(one["problem"] == "" for one in out)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/adapter_config.json").write_text('{"peft_type": "IA3"}')
    listed = millrace("lora", "list", tmp_path)
    assert "IA3" in listed.out and "adapter_model" in listed.err
    tensors = safetensors.load_file(ADAPTERS / "llama_q_v/adapter_model.safetensors")
    kohya = {name.replace("lora_A", "lora_down").replace("lora_B", "lora_up"): values for name, values in tensors.items()}
    safetensors.save_file(kohya, tmp_path / "alone.safetensors", metadata={"ss_network_alpha": "8"})
    safetensors.save_file(kohya, tmp_path / "no_alpha.safetensors")
    safetensors.save_file({"model.norm.weight": numpy.ones(4, numpy.float32)}, tmp_path / "model.safetensors")
    files = {one["name"]: one for one in json.loads(millrace("lora", "list", tmp_path, "--json").out)["adapters"]}
    assert set(files) == {"alone", "broken", "no_alpha"}
    assert (files["alone"]["rank"], files["alone"]["modules"], files["alone"]["problem"]) == (4, 4, "") and "alpha" in files["no_alpha"]["problem"]
    missing = millrace("lora", "list", tmp_path / "none", ok=False)
    assert missing.code == 3 and "none" in missing.err


def test_check_says_what_loading_says(millrace, tmp_path):
    report = json.loads(millrace("lora", "check", LLAMA, ADAPTERS / "llama_all", ADAPTERS / "llama_odd_rank", "--lora-dtype", "bf16", "--json").out)
    first, second = report["adapters"]
    assert (first["fits"], first["rank"], first["modules"], first["type"]) == (True, 6, 14, "bf16") and second["rank"] == 3
    assert 1e-4 < first["error"] < 1e-2 and first["bytes"] > 10000
    assert "rank 6, 14 modules" in millrace("lora", "check", LLAMA / "model.gguf", ADAPTERS / "llama_all").out
    refused = millrace("lora", "check", LLAMA, ADAPTERS / "llama_all", ADAPTERS / "gpt2", ok=False)
    assert refused.code == 1 and "fits" in refused.out
    assert refused.err.count("\n") == 1 and "transformer.h.0.attn.c_attn.lora_A.weight" in refused.err
    assert "max-lora-rank is 5" in millrace("lora", "check", LLAMA, ADAPTERS / "llama_all", "--max-lora-rank", 5, ok=False).err
    write_adapter(tmp_path / "nan", {"self_attn.q_proj": (64, 32)}, 2, size=numpy.nan)
    assert "q_proj.lora_A.weight' has a value that is no finite number" in millrace("lora", "check", LLAMA, tmp_path / "nan", ok=False).err


def test_merged_safetensors_are_the_sum(millrace, tmp_path):
    base = tmp_path / "base"
    base.mkdir()
    for name in ("config.json", "model.safetensors"):
        (base / name).write_bytes((LLAMA / name).read_bytes())
    (base / "tokenizer_config.json").write_text("{}")
    (base / "model.safetensors.index.json").write_text("{}")
    sizes = {"self_attn.q_proj": (64, 32), "mlp.down_proj": (32, 64)}
    first, second = write_adapter(tmp_path / "a", sizes, 2), write_adapter(tmp_path / "b", sizes, 2, rank=3, seed=2, alpha=6)
    out = tmp_path / "out"
    report = json.loads(millrace("lora", "merge", base, f"{tmp_path / 'a'}=0.5", f"{tmp_path / 'b'}", "-o", out, "--json").out)
    assert report["changed_tensors"] == 4 and report["rounding_error"] == 0 and report["adapters"] == 2
    before, after = tensors_of(base), tensors_of(out)
    assert list(before) == list(after)
    for name, values in before.items():
        module = name.removesuffix(".weight")
        if module not in first:
            assert (after[name] == values).all(), name
            continue
        expected = values + 0.5 * first[module] + second[module]
        assert after[name].dtype == values.dtype and numpy.abs(after[name] - expected).max() < 1e-6, name
    assert (out / "config.json").read_bytes() == (base / "config.json").read_bytes()
    assert sorted(p.name for p in out.iterdir()) == ["config.json", "model.safetensors", "tokenizer_config.json"]
    again = millrace("lora", "merge", base, tmp_path / "a", "-o", out, ok=False)
    assert again.code == 2 and "something of that name" in again.err


def test_a_tied_head_becomes_a_tensor_of_its_own(millrace, tmp_path):
    base = GOLDEN / "tiny/llama_tied_biased"
    folder, rank = tmp_path / "a", 2
    folder.mkdir()
    a, b = (numpy.random.default_rng(3).standard_normal(shape).astype(numpy.float32) for shape in ((rank, 32), (64, rank)))
    safetensors.save_file({"base_model.model.lm_head.lora_A.weight": a, "base_model.model.lm_head.lora_B.weight": b}, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": rank, "lora_alpha": rank, "target_modules": ["lm_head"]}))
    millrace("lora", "merge", base, folder, "-o", tmp_path / "out")
    before, after = tensors_of(base), tensors_of(tmp_path / "out")
    assert set(after) - set(before) == {"lm_head.weight"}
    assert (after["model.embed_tokens.weight"] == before["model.embed_tokens.weight"]).all()
    assert numpy.abs(after["lm_head.weight"] - before["model.embed_tokens.weight"] - b @ a).max() < 1e-5
    assert json.loads((tmp_path / "out/config.json").read_text())["tie_word_embeddings"] is False


def test_merging_in_bf16_keeps_the_type_and_says_what_it_rounds(millrace, tiny_directory, tmp_path):
    products = write_adapter(tmp_path / "a", TINY, 2)
    report = json.loads(millrace("lora", "merge", tiny_directory, tmp_path / "a", "-o", tmp_path / "out", "--json").out)
    assert 1e-4 < report["rounding_error"] < 4e-3
    types = []
    for model in (tiny_directory, tmp_path / "out"):
        with pytest.importorskip("safetensors").safe_open(model / "model.safetensors", "np") as file:
            types.append({name: file.get_slice(name).get_dtype() for name in file.keys()})
    assert types[0] == types[1] and types[1]["model.layers.0.mlp.down_proj.weight"] == "BF16"
    millrace("lora", "merge", tiny_directory, tmp_path / "a", "-o", tmp_path / "f32", "--type", "f32")
    millrace("lora", "merge", tiny_directory, f"{tmp_path / 'a'}=0", "-o", tmp_path / "base", "--type", "f32")
    before, after = tensors_of(tmp_path / "base"), tensors_of(tmp_path / "f32")
    for module, product in products.items():
        assert numpy.abs(after[f"{module}.weight"] - before[f"{module}.weight"] - product).max() < 1e-6
    assert {str(values.dtype) for values in after.values()} == {"float32"}
    assert json.loads((tmp_path / "f32/config.json").read_text())["torch_dtype"] == "float32"
    refused = millrace("lora", "merge", tiny_directory, tmp_path / "a", "-o", tmp_path / "x", "--type", "q4_0", ok=False)
    assert refused.code == 2 and "f32, f16 or bf16" in refused.err


@pytest.mark.parametrize("kind", ["", "q8_0", "q4_k", "f16"])
def test_merged_gguf_is_rounded_again(millrace, tiny, tmp_path, kind):
    products = write_adapter(tmp_path / "a", TINY, 2)
    out = tmp_path / "out.gguf"
    report = json.loads(millrace("lora", "merge", tiny, tmp_path / "a", "-o", out, "--json", *(["--type", kind] if kind else [])).out)
    before, after = tensors_of(tiny), tensors_of(out)
    assert list(before) == list(after)
    changed = set()
    for module, product in products.items():
        layer, name = module.split(".")[2], module.split(".")[-1]
        tensor = f"blk.{layer}.{NAMES[name]}.weight"
        changed.add(tensor)
        expected = values_of(before[tensor]) + product
        error = numpy.linalg.norm(values_of(after[tensor]) - expected) / numpy.linalg.norm(expected)
        assert error < {"": 0.1, "q8_0": 0.01, "q4_k": 0.1, "f16": 1e-3}[kind]
        assert after[tensor].tensor_type.name.lower() == (kind or "q4_0")
    for name, tensor in before.items():
        if name in changed or (kind and tensor.tensor_type.name != "F32"):
            continue
        assert (after[name].data == tensor.data).all(), name
    assert 1e-5 < report["rounding_error"] < 0.1
    fields, old = gguf.GGUFReader(out).fields, gguf.GGUFReader(tiny).fields
    assert {k for k in old if not k.startswith("GGUF.")} <= set(fields)
    types = {"": gguf.LlamaFileType.MOSTLY_Q4_0, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0, "q4_k": gguf.LlamaFileType.MOSTLY_Q4_K_S, "f16": gguf.LlamaFileType.MOSTLY_F16}
    assert fields["general.file_type"].contents() == types[kind]
    assert "tiny" in millrace("inspect", out).out


def test_a_disk_that_is_full_leaves_nothing(program, tiny, tiny_directory, tmp_path):
    write_adapter(tmp_path / "a", TINY, 2)
    for model, out in ((tiny, "out.gguf"), (tiny_directory, "out")):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        done = subprocess.run([program, "lora", "merge", model, tmp_path / "a", "-o", tmp_path / out], capture_output=True, preexec_fn=limit,
                              restore_signals=False, timeout=60)  # SIGXFSZ stays ignored, as Python has it
        assert done.returncode != 0 and out in done.stderr.decode()
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("quantized", ["awq_gemm_g32", "ct_fp8_block", "modelopt_fp8", "mlx_4bit"])
def test_quantized_safetensors_are_merged_into_a_plain_type(millrace, tmp_path, quantized):
    base = GOLDEN / "quantized" / quantized
    config = json.loads((base / "config.json").read_text())
    heads, width = config["num_attention_heads"], config["hidden_size"]
    sizes = {"self_attn.q_proj": (heads * (config.get("head_dim") or width // heads), width)}
    products = write_adapter(tmp_path / "a", sizes, config["num_hidden_layers"])
    assert "fits" in millrace("lora", "check", base, tmp_path / "a").out
    refused = millrace("lora", "merge", base, tmp_path / "a", "-o", tmp_path / "out", ok=False)
    assert refused.code == 3 and "q_proj.weight' is stored in several tensors" in refused.err and "--type bf16" in refused.err
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    for scale in (0, 1):
        millrace("lora", "merge", base, f"{tmp_path / 'a'}={scale}", "-o", tmp_path / str(scale), "--type", "f32")
    before, after = (tensors_of(tmp_path / name) for name in "01")
    assert set(before) == set(after) and all(values.dtype == numpy.float32 for values in after.values())
    for name, values in before.items():
        module = name.removesuffix(".weight")
        assert numpy.abs(after[name] - values - products.get(module, 0)).max() < 1e-6, name
    written = json.loads((tmp_path / "1/config.json").read_text())
    assert not {"quantization_config", "quantization"} & set(written) and not (tmp_path / "1/hf_quant_config.json").exists()
    assert "fits" in millrace("lora", "check", tmp_path / "1", tmp_path / "a").out


def test_merged_models_have_the_layers_and_tokens_of_their_adapters(millrace, tmp_path):
    only_merged = GOLDEN / "merged_adapters"
    millrace("lora", "merge", LLAMA, only_merged / "llama_layers", "-o", tmp_path / "layers")
    assert json.loads((tmp_path / "layers/config.json").read_text())["num_hidden_layers"] == 4
    assert {name.split(".")[2] for name in tensors_of(tmp_path / "layers") if ".layers." in name} == set("0123")
    adapter = shutil.copytree(only_merged / "llama_tokens", tmp_path / "adapter")
    (adapter / "added_tokens.json").write_text('{"<new>": 64}')
    millrace("lora", "merge", LLAMA, adapter, "-o", tmp_path / "tokens")
    assert json.loads((tmp_path / "tokens/config.json").read_text())["vocab_size"] == 67
    assert {tensors_of(tmp_path / "tokens")[name].shape for name in ("model.embed_tokens.weight", "lm_head.weight")} == {(67, 32)}
    assert (tmp_path / "tokens/added_tokens.json").read_text() == '{"<new>": 64}'
    refused = millrace("lora", "merge", tmp_path / "layers", adapter, "-o", tmp_path / "x", "--type", "q4_0", ok=False)
    assert refused.code == 2 and not (tmp_path / "x").exists()
    millrace("lora", "merge", LLAMA, only_merged / "llama_norms", "-o", tmp_path / "norms")
    tuned = safetensors.load_file(only_merged / "llama_norms/adapter_model.safetensors")
    assert (tensors_of(tmp_path / "norms")["model.norm.weight"] == tuned["base_model.model.model.norm.weight"]).all()
    refused = millrace("lora", "merge", LLAMA / "model.gguf", only_merged / "llama_norms", "-o", tmp_path / "x.gguf", ok=False)
    assert refused.code == 3 and "input_layernorm.weight" in refused.err and not (tmp_path / "x.gguf").exists()


def test_what_cannot_be_written_is_refused_by_name(millrace, tmp_path):
    model = tmp_path / "iq.gguf"
    millrace("synth", "--shape", "tiny", "--format", "iq2_xs", "--tokenizer", "none", model)
    write_adapter(tmp_path / "a", TINY, 2)
    refused = millrace("lora", "merge", model, tmp_path / "a", "-o", tmp_path / "out.gguf", ok=False)
    assert refused.code == 3 and "attn_v.weight" in refused.err and "iq2_xs" in refused.err
    millrace("lora", "merge", model, tmp_path / "a", "-o", tmp_path / "out.gguf", "--type", "q8_0")
    assert millrace("lora", "merge", LLAMA, f"{ADAPTERS / 'llama_all'}=inf", "-o", tmp_path / "out", ok=False).code == 2
    assert not (tmp_path / "out").exists()


def test_export_gives_the_merged_adapter_back(millrace, tmp_path):
    sizes = {"self_attn.q_proj": (64, 32), "mlp.down_proj": (32, 64)}
    products = write_adapter(tmp_path / "a", sizes, 2)
    millrace("lora", "merge", LLAMA, tmp_path / "a", "-o", tmp_path / "tuned")
    report = json.loads(millrace("lora", "export", LLAMA, tmp_path / "tuned", "--rank", 4, "-o", tmp_path / "back", "--json").out)
    assert set(report["kinds"]) == {"q_proj", "down_proj"} and report["modules"] == 4 and report["left_out"] == []
    assert all(kind["error"] < 1e-4 for kind in report["kinds"].values())
    tensors = safetensors.load_file(tmp_path / "back/adapter_model.safetensors")
    for module, product in products.items():
        a, b = (tensors[f"base_model.model.{module}.lora_{which}.weight"] for which in "AB")
        assert a.shape[0] == 4 and numpy.linalg.norm(b @ a - product) < 1e-4 * numpy.linalg.norm(product)
    config = json.loads((tmp_path / "back/adapter_config.json").read_text())
    assert config["r"] == config["lora_alpha"] == 4 and sorted(config["target_modules"]) == ["down_proj", "q_proj"]
    assert "rank 4" in millrace("lora", "check", LLAMA, tmp_path / "back").out
    part = millrace("lora", "export", LLAMA, tmp_path / "tuned", "--rank", 2, "--modules", "q_proj", "-o", tmp_path / "part")
    assert "2 modules, error" in part.out and "2 tensors differ" in part.err
    assert millrace("lora", "export", LLAMA, tmp_path / "tuned", "-o", tmp_path / "part", ok=False).code == 2
    assert "down_proj" in millrace("lora", "export", LLAMA, tmp_path / "tuned", "--modules", "qproj", "-o", tmp_path / "x", ok=False).err


def test_bench_measures_ranks_beside_the_base(millrace, tiny):
    arguments = ("lora", "bench", tiny, "--rank", "4,9", "--runs", 2, "--prompt-tokens", 9, "--output-tokens", 4, "--probe-time", "0.001", "-t", 1)
    report = json.loads(millrace(*arguments, "--json", "-").out)
    assert [row["rank"] for row in report["results"]] == [0, 4, 9]
    base, low, high = report["results"]
    assert base["bytes"] == 0 and base["tpot_speed"]["median"] == 1 and low["modules"] == high["modules"] == 14
    assert 0 < low["bytes"] < high["bytes"] and low["type"] == "bf16" and low["tpot_ms"]["median"] > 0
    table = millrace(*arguments, "--modules", "q_proj,v_proj", "--batch", 2).out
    assert [line.split()[:2] for line in table.splitlines() if line.split()[:1] in (["base"], ["4"], ["9"])] == [["base", "0"], ["4", "4"], ["9", "4"]]
    assert millrace("lora", "bench", tiny, "--modules", "x", ok=False).code == 2


def test_lora_merge_computes_with_the_merged_file(millrace, real_model, tmp_path):
    sizes = {"self_attn.q_proj": (576, 576), "self_attn.v_proj": (192, 576)}
    write_adapter(tmp_path / "a", sizes, 30, size=0.3)
    merged = tmp_path / "merged.gguf"
    millrace("lora", "merge", real_model, tmp_path / "a", "-o", merged)
    ask = ("The capital of France is", "--temperature", 0, "--max-tokens", 16, "--url", "none")
    plain = millrace("run", real_model, *ask).out
    from_file = millrace("run", merged, *ask).out
    loading = millrace("--log-level", "info", "run", real_model, *ask, "--lora", f"a={tmp_path / 'a'}", "--lora-merge")
    assert loading.out == from_file != plain
    assert "is merged into 60 tensors; rounding them changed values by" in loading.err


def test_packed_weights_are_not_those_of_the_model_without_it(millrace, real_model, tmp_path):
    write_adapter(tmp_path / "a", {"self_attn.v_proj": (192, 576), "mlp.down_proj": (576, 1536)}, 30, size=0.3)
    ask = (real_model, "The capital of France is", "--temperature", 0, "--max-tokens", 12, "--url", "none")
    merge = ("--lora", f"a={tmp_path / 'a'}", "--lora-merge")
    plain, merged = (millrace("run", *ask, *flags, "--packed-cache", "off").out for flags in ((), merge))
    assert plain != merged
    kept = [millrace("run", *ask, *flags, "--packed-cache", tmp_path / "packed").out for flags in ((), merge, (), merge)]
    assert kept == [plain, merged, plain, merged]


def test_pages_on_disk_are_not_those_of_the_model_without_it(millrace, real_model, tmp_path):
    write_adapter(tmp_path / "a", {"self_attn.v_proj": (192, 576)}, 30, size=0.3)

    def cached(*flags):
        report = millrace("bench", "throughput", real_model, "--requests", 2, "--concurrency", 1, "--shared-prefix-tokens", 1000, "--input-tokens", 8,
                          "--output-tokens", 2, "--prefix-caching", "--warmup", 0, "--kv-disk-tier", tmp_path / "kv", *flags, "--json", "-").out
        return json.loads(report)["results"]["cached_tokens"]

    merge = ("--lora", f"a={tmp_path / 'a'}", "--lora-merge")
    assert [cached(), cached(*merge), cached(*merge), cached()] == [992, 992, 1984, 1984]


@pytest.mark.parametrize("flags", [("--lora-merge",), ("--lora-merge", "--lora", "a=x", "--lora", "b=y")])
def test_lora_merge_takes_one_adapter(millrace, tiny, flags):
    refused = millrace("run", tiny, "Hello", "--url", "none", *flags, ok=False)
    assert refused.code == 2 and "lora-merge goes with one --lora" in refused.err


def test_two_adapters_of_one_name_are_refused(millrace, real_model):
    refused = millrace("run", real_model, "Hello", "--url", "none", "--lora", "a=x", "--lora", "a=y", ok=False)
    assert refused.code == 2 and "lora names 'a' twice" in refused.err
