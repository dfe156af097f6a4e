import json

import pytest


def test_reports_the_shape_without_reading_weights(millrace, tiny):
    report = json.loads(millrace("inspect", tiny, "--json").out)
    assert report["container"] == "gguf" and report["family"] == "llama"
    shape = report["shape"]
    assert (shape["layers"], shape["hidden_size"], shape["heads"], shape["kv_heads"], shape["head_dim"]) == (2, 256, 4, 2, 64)
    assert report["parameters"]["total"] - report["parameters"]["without_embedding"] == 512 * 256
    assert sum(f["tensors"] for f in report["formats"]) == 20
    assert sum(f["bytes"] for f in report["formats"]) == report["parameters"]["bytes"]
    memory = report["memory"]
    assert memory["kv_bytes_per_token"] == {"f32": 2 * 2 * 2 * 64 * 4, "f16": 2 * 2 * 2 * 64 * 2, "bf16": 2 * 2 * 2 * 64 * 2, "int8": 2 * 2 * 2 * (64 + 4),
                                            "fp8_e4m3": 2 * 2 * 2 * 64, "k8v4": 2 * 2 * (68 + 44), "int4": 2 * 2 * (52 + 44)}
    assert memory["total"] == memory["weights"] + memory["kv"] + memory["workspace"]
    assert any("no tokenizer" in warning for warning in report["warnings"])


def test_plans_memory_for_the_length_asked_for(millrace, tiny):
    memory = lambda *flags: json.loads(millrace("inspect", tiny, "--json", *flags).out)["memory"]
    assert memory("-c", 64)["kv"] == 64 * 2 * 2 * 2 * 64 * 2
    assert memory("-c", 64, "--kv-cache-dtype", "f32")["kv"] == 2 * memory("-c", 64)["kv"]
    assert memory("-c", 33, "--kv-layout", "token")["kv"] == 33 * 1024 and memory("-c", 33, "--block-size", 64)["kv"] == 64 * 1024


def test_warns_when_it_does_not_fit(millrace, tiny):
    report = json.loads(millrace("inspect", tiny, "--json", "-c", 2**24, "--kv-cache-dtype", "f32").out)
    fits = report["memory"]["total"] <= report["memory"]["available"]
    assert fits or any("max-model-len" in warning for warning in report["warnings"])


def test_lists_tensors_on_request(millrace, tiny):
    assert "tensors" not in json.loads(millrace("inspect", tiny, "--json").out)
    tensors = json.loads(millrace("inspect", tiny, "--json", "--tensors").out)["tensors"]
    assert {"name": "token_embd.weight", "format": "q4_0", "shape": [512, 256]}.items() <= tensors[0].items()
    assert "blk.1.ffn_down.weight" in millrace("inspect", tiny, "--tensors").out


def test_a_path_cannot_move_the_cursor(millrace, tiny, tmp_path):
    odd = tmp_path / "a\x1b[2Jb.gguf"
    odd.symlink_to(tiny)
    out = millrace("inspect", odd).out
    assert "\x1b" not in out and "a\\x1b[2Jb.gguf" in out


def test_both_containers_read_alike(millrace, tiny, tiny_directory):
    a, b = (json.loads(millrace("inspect", model, "--json").out) for model in (tiny, tiny_directory))
    assert a["shape"] == b["shape"]
    assert a["parameters"]["total"] == b["parameters"]["total"]


def test_names_from_files_cannot_steer_the_terminal(millrace, tiny, tmp_path):
    raw = tiny.read_bytes()
    assert raw.count(b"synth-tiny") == 1
    path = tmp_path / "m.gguf"
    path.write_bytes(raw.replace(b"synth-tiny", b"\x1b[31mred\x07\n"))
    assert not set(millrace("inspect", path).out) & {"\x1b", "\x07"}


def test_a_mixture_tells_what_steps_read_of_its_experts(millrace, tmp_path):
    model = tmp_path / "mixture.gguf"
    millrace("synth", "--shape", "tiny-qwen3-moe", "--format", "q4_0", "--tokenizer", "none", "--no-progress", model)
    report = json.loads(millrace("inspect", model, "--json").out)
    experts = report["shape"]["experts"]
    assert (experts["experts"], experts["chosen"]) == (8, 2) and experts["layers"] == report["shape"]["layers"]
    assert [(step["tokens"], round(step["touched"], 2)) for step in experts["steps"][:2]] == [(1, 2.0), (8, round(8 * (1 - 0.75**8), 2))]
    assert 0 < report["memory"]["experts"] < report["memory"]["weights"]


def test_shows_what_ranks_have(millrace, tiny):
    def ranks(*flags):
        return json.loads(millrace("inspect", tiny, "--json", *flags).out)
    whole = ranks()
    assert "tensor_parallel" not in whole and "tensor_parallel" not in ranks("--tensor-parallel-size", 1)
    group = ranks("--tensor-parallel-size", 2)["tensor_parallel"]
    assert group["size"] == 2 and [rank["share"] for rank in group["ranks"]] == [0.5, 0.5]
    assert sum(rank["weights"] for rank in group["ranks"]) == whole["memory"]["weights"]  # two heads and a key head each
    assert sum(rank["kv_bytes_per_token"] for rank in group["ranks"]) == whole["memory"]["kv_bytes_per_token"]["bf16"]
    assert sum(rank["work"] for rank in group["ranks"]) == pytest.approx(1) and 0.9 < group["balance"] <= 1
    matrices = [tensor for tensor in ranks("--tensors")["tensors"] if len(tensor["shape"]) == 2]
    assert sum(rank["read"] for rank in group["ranks"]) == sum(tensor["bytes"] for tensor in matrices)
    uneven = ranks("--tensor-parallel-size", 2, "--tensor-parallel-shares", "1,3")["tensor_parallel"]
    assert [rank["share"] for rank in uneven["ranks"]] == [0.25, 0.75] and uneven["ranks"][0]["weights"] < uneven["ranks"][1]["weights"] / 2
    stages = ranks("--pipeline-parallel-size", 2)["tensor_parallel"]
    assert stages["stages"] == 2 and [rank["layers"] for rank in stages["ranks"]] == [[0, 1], [1, 2]]
    assert sum(rank["kv_bytes_per_token"] for rank in stages["ranks"]) == whole["memory"]["kv_bytes_per_token"]["bf16"]
    assert sum(rank["work"] for rank in stages["ranks"]) == pytest.approx(1)
    uneven = ranks("--pipeline-parallel-size", 2, "--pipeline-parallel-shares", "1,3")["tensor_parallel"]
    assert [rank["share"] for rank in uneven["ranks"]] == [0.25, 0.75]
    assert uneven["balance"] == pytest.approx(1 / max(rank["work"] / rank["share"] for rank in uneven["ranks"]))
    assert "4 ranks in 2 stages" in millrace("inspect", tiny, "-pp", 2, "-tp", 2).out
    assert "2 ranks by tensor parallelism" in millrace("inspect", tiny, "--tensor-parallel-size", 2).out


@pytest.fixture
def speeds(tmp_path):
    """Files as `doctor` writes them: one process of a host, and a network."""
    one, link = tmp_path / "one.json", tmp_path / "link.json"
    one.write_text(json.dumps({"fixed_ms": 1.0, "weights_ms": 100.0, "token_ms": 4.0, "kv_token_ms": 0.0, "sample_ms": 0.0}))
    link.write_text(json.dumps({"latency_us": 25.0, "gb_per_s": 1.0}))
    return one, link


def test_predicts_the_steps_of_ranks(millrace, tiny, speeds, tmp_path):
    one, link = speeds
    flags = ("inspect", tiny, "-tp", 2, "--model-speed", one, "--link-speed", link)
    hosts = json.loads(millrace(*flags, "--hosts", 2, "--json").out)["tensor_parallel"]
    predicted, layers = hosts["predicted"], hosts["ranks"][0]["layers"][1]
    exchanges = 4 * layers + 2  # attended heads, hidden values and twice the residual; embedding; logits
    assert predicted["fixed_ms"] == pytest.approx(1.0 + exchanges * 0.025)
    assert predicted["weights_ms"] == pytest.approx(100.0 / 2 / hosts["balance"]) and predicted["row_ms"] > 0
    decode = predicted["steps"][0]
    assert decode["one_ms"] == 101.0 and 0 < decode["exchanges_ms"] < decode["ranks_ms"] < decode["one_ms"]
    alone = json.loads(millrace(*flags, "--json").out)["tensor_parallel"]["predicted"]  # both on one host: nothing is gained
    assert alone["steps"][0]["ranks_ms"] > alone["steps"][0]["one_ms"]
    assert "predicted on 2 hosts, 25.0 us and 1.0 GB/s between ranks" in millrace(*flags, "--hosts", 2).out
    stages = json.loads(millrace("inspect", tiny, "-pp", 2, "--model-speed", one, "--link-speed", link, "--json").out)["tensor_parallel"]["predicted"]
    assert stages["fixed_ms"] == pytest.approx(1.0 + 2 * 0.025)  # rows to the second stage, and logits back
    assert stages["weights_ms"] == pytest.approx(2 * 100.0)  # one stage at a time, on half of the processors, whatever each has to do
    report = tmp_path / "ranks.json"
    report.write_text(millrace(*flags, "--hosts", 2, "--json").out)
    served = millrace("simulate", "--workload", "requests=1,input=1,output=2", "--model-speed", report, "--json")
    assert json.loads(served.out)["policies"].popitem()[1]["tpot_ms"]["p50"] == pytest.approx(decode["ranks_ms"], rel=0.01)


@pytest.mark.parametrize("flags, said", [
    (["--model-speed", "{one}"], "--model-speed predicts steps of ranks: it needs --tensor-parallel-size or --pipeline-parallel-size"),
    (["-tp", "2", "--hosts", "2"], "--model-speed"),
    (["-tp", "2", "--model-speed", "{one}", "--hosts", "2"], "--link-speed is needed for several hosts"),
    (["-tp", "3", "--model-speed", "{one}", "--link-speed", "{link}", "--hosts", "2"], "hosts is 2: must divide the 3 ranks"),
    (["-tp", "2", "--model-speed", "{one}", "--link-speed", "{one}"], "latency_us: expected a number above 0, below 1e9"),
    (["-tp", "2", "--model-speed", "{link}"], "fixed_ms: expected milliseconds from 0 to 1e9")])
def test_says_what_a_prediction_misses(millrace, tiny, speeds, flags, said):
    one, link = speeds
    outcome = millrace("inspect", tiny, *[flag.format(one=one, link=link) for flag in flags], ok=False)
    assert outcome.code in (2, 3) and said in outcome.err  # 3: of a file


@pytest.mark.parametrize("flags, told", [
    (["--tensor-parallel-size", "5"], "tensor-parallel-size is 5: must be from 1 to 4, the query heads of a layer"),
    (["--tensor-parallel-size", "2", "--tensor-parallel-shares", "1"], "tensor-parallel-shares has 1 numbers: must be one for each of the 2 ranks"),
    (["--tensor-parallel-size", "2", "--tensor-parallel-shares", "1,0"], "tensor-parallel-shares has 0: must be numbers above 0"),
    (["--tensor-parallel-shares", "1,2"], "--tensor-parallel-size"),
    (["--tensor-parallel-size", "0"], "--tensor-parallel-size"),
    (["--pipeline-parallel-size", "3"], "pipeline-parallel-size is 3: must be from 1 to 2, the layers of the model"),
    (["--pipeline-parallel-size", "2", "--pipeline-parallel-shares", "1"], "pipeline-parallel-shares has 1 numbers: must be one for each of the 2 stages"),
    (["--pipeline-parallel-size", "2", "--pipeline-parallel-shares", "1,-1"], "pipeline-parallel-shares has -1: must be numbers above 0"),
    (["--pipeline-parallel-size", "33", "--tensor-parallel-size", "2"], "these are 66 ranks, of at most 64"),
])
def test_ranks_that_cannot_be_are_refused_by_name(millrace, tiny, flags, told):
    refused = millrace("inspect", tiny, *flags, ok=False)
    assert refused.code == 2 and told in refused.err
