"""millrace bench: its reports, whose figures must agree with each other, and what it refuses."""
import json

import pytest

FAST = ("--probe-time", "0.0005")
THREADS = ("-t", "2")


def near(a, b, tolerance=1e-6):
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


def check_spread(spread):
    assert list(spread) == ["median", "min", "max"]
    assert 0 < spread["min"] <= spread["median"] <= spread["max"]


def check_report(report, command):
    assert report["schema"] == f"millrace.bench.{command}" and report["schema_version"] == 1
    assert set(report["millrace"]) == {"version", "commit", "build"}
    machine = report["machine"]
    assert machine["threads"] == 2 and machine["isa"] in ("scalar", "avx2", "avx512_vnni", "avx512_bf16")
    limits = report["limits"]
    assert limits["measurements"] >= 2
    for name in ("read_gb_s", "read_sustained_gb_s", "f32_gflop_s", "int8_gop_s", "bf16_gflop_s"):
        if limits[name] is not None:
            check_spread(limits[name])
    assert limits["read_sustained_gb_s"]["median"] <= limits["read_gb_s"]["median"]
    assert limits["read_gb_s"] and limits["f32_gflop_s"]


@pytest.fixture(scope="module")
def latency(millrace, tiny):
    arguments = ("--prompt-tokens", 40, "--output-tokens", 9, "--batch", "1,3", "--runs", 3, *THREADS, *FAST)
    return json.loads(millrace("bench", "latency", tiny, *arguments, "--json", "-").out)


def test_latency_report(latency):
    check_report(latency, "latency")
    assert [r["batch"] for r in latency["results"]] == [1, 3]
    for result in latency["results"]:
        assert (result["prompt_tokens"], result["output_tokens"], len(result["runs"])) == (40, 9, 3)
        for name in ("ttft_ms", "prefill_ms", "tpot_ms", "latency_ms", "prefill_tok_s", "decode_tok_s", "outside_ms", "mbu_percent",
                     "prefill_mfu_percent", "decode_mfu_percent"):
            check_spread(result[name])


def test_latency_is_the_sum_of_its_parts(latency):
    for result in latency["results"]:
        batch = result["batch"]
        for run in result["runs"]:
            assert run["decode_steps"] == 8 and 0 < run["outside_ms"] < run["tpot_ms"]
            assert near(run["latency_ms"], run["prefill_ms"] + 8 * run["tpot_ms"])
            assert near(run["ttft_ms"], run["prefill_ms"]) if batch == 1 else 0 < run["ttft_ms"] <= run["prefill_ms"] * 1.000001
        assert near(result["decode_tok_s"]["max"], 1000 * batch / result["tpot_ms"]["min"])
        assert near(result["prefill_tok_s"]["min"], 1000 * batch * 40 / result["prefill_ms"]["max"])


def test_shares_follow_from_work_time_and_limits(latency):
    peak = {"int8": "int8_gop_s", "bf16": "bf16_gflop_s", "f32": "f32_gflop_s"}[latency["model"]["arithmetic"]]
    for result in latency["results"]:
        for share, work, time, limit in (("mbu_percent", "decode_bytes_per_step", "tpot_ms", "read_gb_s"),
                                         ("decode_mfu_percent", "decode_operations_per_step", "tpot_ms", peak),
                                         ("prefill_mfu_percent", "prefill_operations", "prefill_ms", peak)):
            shares = sorted(100 * result[work] / (run[time] * 1e6) / (run["limits"][limit] or run["limits"]["f32_gflop_s"])
                            for run in result["runs"])
            assert near(result[share]["min"], shares[0]) and near(result[share]["max"], shares[2])


def test_work_is_the_model_s(latency):
    """The tiny shape: 2 layers, hidden 256, 4 query and 2 key heads of 64, feed-forward 512, vocabulary 512."""
    layer = 2 * (256 * 256 + 2 * 256 * 128 + 256 * 256 + 3 * 256 * 512)
    head = 2 * 256 * 512
    assert latency["model"]["operations_per_token"] == 2 * layer + head
    one, three = latency["results"]
    attention = 2 * 4 * 256 * 40 * 41 / 2
    assert one["prefill_operations"] == 40 * 2 * layer + head + attention
    assert three["prefill_operations"] == 3 * one["prefill_operations"]
    # 8 steps that see 41 to 48 tokens; a token's keys and values of both layers in bf16 are 2 * 2 * 2 * 64 * 2 bytes.
    weights = latency["model"]["weight_bytes_per_token"]
    assert near(one["decode_bytes_per_step"], weights + 44.5 * 1024)
    assert near(three["decode_bytes_per_step"], weights + 3 * 44.5 * 1024)
    assert one["memory"]["kv_pool_bytes"] == 64 * 1024 and three["memory"]["kv_pool_bytes"] == 3 * 64 * 1024
    assert one["memory"]["resident_bytes"] > one["memory"]["packed_weight_bytes"] > 0


def test_latency_of_a_directory_and_kv_type(millrace, tiny_directory):
    out = millrace("bench", "latency", tiny_directory, "--prompt-tokens", 5, "--output-tokens", 2, "--runs", 1, "--kv-cache-dtype", "f32",
                   *THREADS, *FAST, "--json", "-").out
    report = json.loads(out)
    assert report["model"]["kv_cache_dtype"] == "f32" and report["results"][0]["memory"]["kv_pool_bytes"] == 32 * 2048


def test_kernels_report_names_the_cache(millrace):
    arguments = ("--op", "attention_decode", "--rows", 2, "--context", 70, "--heads", "4:2:32", "--min-time", "0.001", "--repeats", 1)
    lists = ("--kv-layout", "token,vector16", "--block-size", "1,32", "--kv-pages", "contiguous,scattered")
    results = json.loads(millrace("bench", "kernels", *arguments, *lists, *THREADS, *FAST, "--json", "-").out)["results"]
    assert [(r["kv_layout"], r["block_size"], r["kv_pages"]) for r in results] == [
        (layout, size, pages) for layout in ("token", "vector16") for size in (1, 32) for pages in ("contiguous", "scattered")]
    assert "bf16 vector16:16 scattered keys 70" in millrace(
        "bench", "kernels", *arguments, "--kv-layout", "vector16", "--kv-pages", "scattered", *THREADS, *FAST).out


def test_latency_report_names_the_cache(millrace, tiny):
    arguments = ("--prompt-tokens", 5, "--output-tokens", 2, "--runs", 1, "--kv-layout", "vector16", "--block-size", 8)
    report = json.loads(millrace("bench", "latency", tiny, *arguments, *THREADS, *FAST, "--json", "-").out)
    assert report["model"]["kv_layout"] == "vector16" and report["model"]["block_size"] == 8
    assert report["results"][0]["memory"]["kv_pool_bytes"] == 8 * 1024  # 7 tokens


@pytest.fixture(scope="module")
def throughput(millrace, tiny):
    arguments = ("--requests", 10, "--concurrency", 4, "--input-tokens", "5-40", "--output-tokens", "2-9", "--seed", 3, *THREADS, *FAST)
    return lambda: json.loads(millrace("bench", "throughput", tiny, *arguments, "--json", "-").out)


def test_throughput_report(throughput):
    report = throughput()
    check_report(report, "throughput")
    r = report["results"]
    assert r["requests"] == 10 and 50 <= r["input_tokens"] <= 400 and 20 <= r["output_tokens"] <= 90
    assert near(r["total_tok_s"] * r["seconds"], r["input_tokens"] + r["output_tokens"])
    assert near(r["output_tok_s"] * r["seconds"], r["output_tokens"])
    assert near(r["requests_s"] * r["seconds"], 10)
    assert near(r["mean_step_outputs"] * r["steps"], r["output_tokens"]) and r["mean_step_outputs"] <= 4
    assert near(r["mean_step_tokens"] * r["steps"], r["input_tokens"] + r["output_tokens"] - 10)
    assert r["mfu_percent"] > 0
    for name in ("ttft_ms", "tpot_ms", "latency_ms"):
        d = r[name]
        assert 0 < d["p50"] <= d["p90"] <= d["p99"] <= d["max"] <= 1000 * r["seconds"]
    assert r["latency_ms"]["p50"] > r["ttft_ms"]["p50"]


def test_throughput_of_one_seed_is_one_workload(throughput):
    first, second = throughput(), throughput()
    assert first["options"] == second["options"]
    for name in ("input_tokens", "output_tokens", "steps"):
        assert first["results"][name] == second["results"][name]


def test_kernels_take_formats_of_groups(millrace):
    run = lambda name, **more: millrace("bench", "kernels", "--op", "linear", "--format", name, "--rows", "2", "--shape", "64x256", "--min-time", "0.001",
                                        "--repeats", 1, *THREADS, *FAST, "--json", "-", **more)
    assert [r["format"] for r in json.loads(run("e4m3_g128,q4_0").out)["results"]] == ["e4m3_g128", "q4_0"]
    refused = run("e4m3_g129", ok=False)
    assert refused.code == 2 and "format is 'e4m3_g129'" in refused.err


def test_kernels_report(millrace):
    out = millrace("bench", "kernels", "--op", "all", "--format", "q4_0,f32", "--rows", "1,3", "--shape", "64x256", "--context", "40",
                   "--heads", "4:2:32", "--kv-cache-dtype", "bf16,f32", "--min-time", "0.001", "--repeats", 1, *THREADS, *FAST, "--json", "-").out
    report = json.loads(out)
    check_report(report, "kernels")
    results = report["results"]
    by_op = {name: [r for r in results if r["op"] == name] for name in {r["op"] for r in results}}
    assert {"linear", "mlp", "project_attention", "attention_decode", "attention_prefill", "norm", "quantize", "rope"} <= set(by_op)
    assert {(r["format"], r["rows"]) for r in by_op["linear"]} == {(f, n) for f in ("q4_0", "f32") for n in (1, 3)}
    for r in results:
        check_spread(r["microseconds"])
        check_spread(r["gb_s"])
        assert near(r["gb_s"]["max"], r["bytes"] / r["microseconds"]["min"] / 1000)
    for r in by_op["linear"]:
        assert r["operations"] == 2 * 64 * 256 * r["rows"] and r["bytes"] == r["weight_bytes"]
        assert r["read_percent"]["median"] > 0 and r["peak_percent"]["median"] > 0 and r["best_percent"] > 0
    for r in by_op["mlp"]:
        assert r["operations"] == 2 * r["rows"] * (64 * 256 + 256 * 32) and r["bytes"] == r["weight_bytes"]
    for r in by_op["project_attention"]:
        assert r["operations"] == 2 * r["rows"] * 8 * 32 * 256 and r["bytes"] == r["weight_bytes"]
    token = {"bf16": 256, "f32": 512}  # bytes of a token's keys and values: 2 heads of 32
    for r in by_op["attention_decode"]:
        assert r["bytes"] == 40 * r["rows"] * token[r["kv_cache_dtype"]] and r["operations"] == 4 * 40 * r["rows"] * 4 * 32
    for r in by_op["attention_prefill"]:
        assert r["operations"] == 4 * (40 - (r["rows"] - 1) / 2) * r["rows"] * 4 * 32


def test_a_table_for_people_and_the_report_in_a_file(millrace, tiny, tmp_path):
    file = tmp_path / "report.json"
    out = millrace("bench", "latency", tiny, "--prompt-tokens", 8, "--output-tokens", 3, "--runs", 1, *THREADS, *FAST, "--json", file).out
    assert "TTFT ms" in out and "MBU %" in out and "limits while measuring" in out
    check_report(json.loads(file.read_text()), "latency")
    out = millrace("bench", "throughput", tiny, "--requests", 2, "--input-tokens", 4, "--output-tokens", 3, *THREADS, *FAST).out
    assert "p99" in out and "output tok/s" in out
    out = millrace("bench", "kernels", "--op", "norm", "--rows", "2", "--min-time", "0.001", "--repeats", 1, *THREADS, *FAST).out
    assert out.startswith("op") and "rms 2048" in out


@pytest.mark.parametrize(
    "arguments, named",
    [
        ([], "bench"),
        (["kernel"], "did you mean 'kernels'"),
        (["kernels", "--op", "linaer"], "attention_decode"),
        (["kernels", "--op", "linear,"], "op is 'linear,'"),
        (["kernels", "--format", "q99"], "q4_0"),
        (["kernels", "--rows", "0"], "rows"),
        (["kernels", "--rows", "1,x"], "'x'"),
        (["kernels", "--shape", "100"], "shape"),
        (["kernels", "--shape", "16x16x16"], "shape"),
        (["kernels", "--shape", "64x100", "--format", "q4_0"], "multiple of 32"),
        (["kernels", "--op", "mlp", "--shape", "65x64"], "even"),
        (["kernels", "--heads", "5:2:64"], "heads"),
        (["kernels", "--heads", "4:2:513"], "heads"),
        (["kernels", "--kv-cache-dtype", "int3"], "kv-cache-dtype"),
        (["kernels", "--kv-layout", "paged32,rows"], "kv-layout is 'rows': expected some of paged32, token, vector16"),
        (["kernels", "--block-size", "16"], "block-size is 16: pages of kv-layout paged32 have a multiple of 32 tokens, 1024 at most"),
        (["kernels", "--block-size", "2048"], "block-size is '2048'"),
        (["kernels", "--kv-pages", "random"], "contiguous, scattered"),
        (["kernels", "--op", "attention_decode", "--rows", "512"], "rows"),
        (["kernels", "--min-time", "0"], "min-time"),
        (["kernels", "--cpu-isa", "mmx"], "mmx"),
        (["latency", "default", "--batch", "0"], "batch"),
        (["latency", "default", "--batch", "1,,2"], "batch"),
        (["latency", "default", "--output-tokens", "1"], "output-tokens"),
        (["latency", "default", "--prompt-tokens", "0"], "prompt-tokens"),
        (["latency", "default", "--runs", "0"], "runs"),
        (["latency", "default", "--prmopt-tokens", "1"], "did you mean '--prompt-tokens'"),
        (["throughput", "default", "--input-tokens", "9-3"], "input-tokens is '9-3'"),
        (["throughput", "default", "--output-tokens", "x"], "output-tokens is 'x'"),
        (["throughput", "default", "--requests", "0"], "requests"),
    ],
)
def test_a_wrong_flag_is_refused_by_name(millrace, arguments, named):
    outcome = millrace("bench", *arguments, ok=False)
    assert outcome.code == 2 and outcome.out == "" and outcome.err.count("\n") == 1
    assert named in outcome.err


def test_what_does_not_fit_the_model_is_refused(millrace, tiny):
    outcome = millrace("bench", "latency", tiny, "--prompt-tokens", 5000, "--output-tokens", 2, *FAST, ok=False)
    assert outcome.code == 2 and "5000" in outcome.err and "2048" in outcome.err
    outcome = millrace("bench", "throughput", tiny, "--input-tokens", "64", "--kv-cache-tokens", 32, *FAST, ok=False)
    assert outcome.code == 2 and "64" in outcome.err
    assert millrace("bench", "latency", "/nowhere.gguf", ok=False).code == 3


def test_a_report_that_cannot_be_written_is_2(millrace, tiny, tmp_path):
    arguments = ("--prompt-tokens", 4, "--output-tokens", 2, "--runs", 1, *FAST, "--json", tmp_path / "no" / "x.json")
    outcome = millrace("bench", "latency", tiny, *arguments, ok=False)
    assert outcome.code == 2 and outcome.out == "" and "x.json" in outcome.err


def test_the_help_of_a_slip_names_the_whole_command(millrace):
    assert "'millrace bench latency --help'" in millrace("bench", "latency", "--runs", "x", ok=False).err
