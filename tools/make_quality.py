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


def run(*command):
    env = {**os.environ, "MILLRACE_TEST_MODEL": str(MODEL)}
    return subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout


def test_lines(pattern, gtest_filter):
    out = run(str(BUILD / "src/model/model_test"), f"--gtest_filter={gtest_filter}", "--gtest_brief=1")
    return [line.strip() for line in out.splitlines() if re.search(pattern, line) and not line.startswith(("[", "Running main"))]


def perplexity(*flags):
    return json.loads(run(str(BUILD / "bin/millrace"), "perplexity", "default", "-f", TEXT, "--json", *flags))["perplexity"]


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
    for flags in (["--matmul-precision", "f32", "--kv-cache-dtype", "f32"], ["--matmul-precision", "f32"], [],
                  *(["--kv-cache-dtype", name] for name in ("f16", "int8", "fp8", "k8v4", "int4"))):
        value = perplexity(*flags)
        out.append(f"| {' '.join(flags) or '(defaults)'} | {value:.4f} | {100 * (value / reference['perplexity'] - 1):+.4f} % |")
    out.append("")
    page = ROOT / "docs/quality.md"
    _, heading, rounding = page.read_text().partition("## Rounding at load\n")  # bench/rounding/compare.py writes it
    page.write_text("\n".join([*out, ""]) + heading + rounding if heading else "\n".join(out))
    print("\n".join(out))


if __name__ == "__main__":
    main()
