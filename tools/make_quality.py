#!/usr/bin/env python3
"""Writes docs/quality.md from the commands that measure it (./dev docs)."""

import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
MODEL = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "millrace/models/SmolLM2-135M-Instruct.Q4_1.gguf"
TEXT = "tests/data/licenses.txt"
TRIALS = 1  # numbers at each length and depth


def run(*command):
    env = {**os.environ, "MILLRACE_TEST_MODEL": str(MODEL)}
    return subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout


def test_lines(pattern, gtest_filter):
    out = run(str(BUILD / "src/model/model_test"), f"--gtest_filter={gtest_filter}", "--gtest_brief=1")
    return [line.strip() for line in out.splitlines() if re.search(pattern, line) and not line.startswith(("[", "Running main"))]


def evaluate(*flags):
    return json.loads(run(str(BUILD / "bin/millrace"), "eval", "default", "--json", *flags))


def perplexity(*flags):
    return evaluate("-f", TEXT, *flags)["perplexity"]


def kv_lines():
    """What each type of keys and values costs beside bf16: in perplexity, in divergence, in needles not found."""
    types = ("bf16", "f16", "fp8", "int8", "k8v4", "int4")
    figures = {}
    for name in types:
        exact = evaluate("-f", TEXT, "--matmul-precision", "f32", "--kv-cache-dtype", name, "--reference", "default")
        figures[name] = perplexity("--kv-cache-dtype", name), exact["kld"]
    out = ["## Keys and values", "",
           f"Perplexity of {TEXT} by `millrace eval default -f {TEXT} --kv-cache-dtype TYPE`; the divergence of next-token distributions from",
           "those of f32 by adding `--matmul-precision f32 --reference default`. Perplexity goes up or down a little with any change of rounding: two",
           "models of divergence D differ by sqrt(2 D / tokens) by chance alone, 0.03 % where D is 0.0006. The divergence only grows.",
           "[kv.md](kv.md#encodings) has the bits of each type.", "",
           "| type | perplexity | beside bf16 | divergence (KLD), products in f32 |", "|---|---|---|---|"]
    for name, (value, kld) in figures.items():
        out.append(f"| {name} | {value:.4f} | {100 * (value / figures['bf16'][0] - 1):+.2f} % | {kld['mean']:.6f} ± {kld['error']:.6f} |")
    out += ["", "### A number in a long text", "",
            f"`millrace eval default --needle --needle-trials {TRIALS} --kv-cache-dtype TYPE`: numbers found by length of the context, of {5 * TRIALS} at five",
            "depths. The last column: how many of those found with bf16 in the same process each type finds, too.", ""]
    needle_types = ("fp8", "int8", "k8v4", "int4")
    for name in needle_types:
        found = evaluate("--needle", "--needle-trials", str(TRIALS), "--kv-cache-dtype", name)
        bf16, other = found["kv"]
        if name == needle_types[0]:
            out += [f"| type | {' | '.join(f'{length} tokens' for length in found['lengths'])} | kept |",
                    "|---|" + "---|" * (len(found["lengths"]) + 1), needle_row(bf16, bf16["found"])]
        out.append(needle_row(other, bf16["found"]))
    return out


def needle_row(found, of):
    return f"| {found['name']} | {' | '.join(str(sum(row)) for row in found['right'])} | {found['kept']} of {of} |"


def main():
    reference = json.loads((ROOT / "tests/golden/real_model.json").read_text())
    out = ["# Quality: what the results differ from the reference by", "",
           "Every figure is printed by the command above its table; `./dev docs` writes this page.", "",
           "## Logits of tiny random checkpoints against Hugging Face Transformers in float32", "",
           "`build/release/src/model/model_test --gtest_filter='*LogitsEqual*'` (bound 1e-4; logits have a standard deviation of 1.4 to 1.6)",
           "", "| model | max error |", "|---|---|"]
    for line in test_lines("max error", "*LogitsEqual*"):
        name, error = re.match(r"(.*\S)\s+max error (\S+)", line).groups()
        out.append(f"| {name} | {error} |")
    out += ["", "## Weight formats against their dequantized float32 weights", "",
            "`build/release/src/model/model_test --gtest_filter='*FormatQuality*'`", "", "```"]
    out += test_lines(r"\S", "*FormatQuality*:*Format*Quality*")
    out += ["```", "", "## The real model", "",
            "Greedy choices against Transformers on the dequantized weights: "
            "`MILLRACE_TEST_MODEL=... build/release/src/model/model_test --gtest_filter='*RealModel*'`", "", "```"]
    out += test_lines("greedy choices", "*RealModel*")
    out += ["```", "",
            f"Perplexity of {TEXT} ({reference['perplexity_tokens']} tokens scored in windows of {reference['window']}): "
            f"`millrace perplexity default -f {TEXT}` with the flags of the row", "",
            "| flags | perplexity | from the reference |", "|---|---|---|",
            f"| Transformers, float32 (tests/golden/make_real.py) | {reference['perplexity']:.4f} | |"]
    for flags in (["--matmul-precision", "f32", "--kv-cache-dtype", "f32"], ["--matmul-precision", "f32"], [], ["--kv-cache-dtype", "f32"]):
        value = perplexity(*flags)
        out.append(f"| {' '.join(flags) or '(defaults)'} | {value:.4f} | {100 * (value / reference['perplexity'] - 1):+.4f} % |")
    out += ["", *kv_lines(), ""]
    page = ROOT / "docs/quality.md"
    _, heading, rounding = page.read_text().partition("## Rounding at load\n")  # bench/rounding/compare.py writes it
    page.write_text("\n".join([*out, ""]) + heading + rounding if heading else "\n".join(out))
    print("\n".join(out))


if __name__ == "__main__":
    main()
