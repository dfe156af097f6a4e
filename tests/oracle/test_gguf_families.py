"""The names of pre-tokenizers that llama.cpp's converter writes for the dense families, each against the tokenizer of a model that has the name:
GGUF files by gguf's own writer, read back through the library and through `millrace tokenize`."""

import os
import subprocess

import pytest
from tokenizers import normalizers

import text_samples
from bpe_kinds import BLOOM, CJK, DEEPSEEK_V3, LLAMA3, O200K, PLAIN_ADDED, QWEN2, TEKKEN, byte_level, falcon, gpt2, smollm, split_by
from comparison import ROOT
from saved_tokenizers import byte_level_gguf

SEED_CODER = QWEN2.replace(r"\p{N}|", r"\p{N}{1}|").replace(r"[^\s\p{L}\p{N}]+[\r\n]*", r"[^\s\p{L}\p{N}\r\n]+")
JAIS2 = LLAMA3.replace(r"\s+(?!\S)|\s+", "") + "|".join(
    [*(r"\s{%d}(?!\S)" % n for n in [512, 256, 128, 64, 32, 16, 8, 4]), r"\s{1,2}(?!\S)", r"\s{1}"])


def nfc(build):
    tokenizer = build(added=PLAIN_ADDED)
    tokenizer.normalizer = normalizers.NFC()
    return tokenizer


def split(*regexes, **more):
    return lambda: byte_level(split_by(*regexes), added=PLAIN_ADDED, **more)


def plain(build):
    return lambda: build(added=PLAIN_ADDED)


llama3 = split(LLAMA3, ignore_merges=True)
# One or more models that carry each name stand behind it.
FAMILIES = {
    "gpt-2": plain(gpt2),  # GPT-J, CodeGen, Neo, OPT
    "phi-2": plain(gpt2),
    "mpt": lambda: nfc(gpt2),
    "olmo": lambda: nfc(gpt2),  # NeoX and Pythia too
    "jais": plain(gpt2),
    "exaone4": plain(gpt2),
    "granite-docling": plain(gpt2),
    "trillion": plain(gpt2),
    "starcoder": plain(smollm),
    "refact": plain(smollm),  # Granite 3 and Code
    "smollm": plain(smollm),
    "exaone": plain(smollm),
    "command-r": lambda: nfc(smollm),
    "llama-bpe": llama3,  # BitNet, Arcee, CWM, SmolLM3
    "smaug-bpe": split(LLAMA3),
    "dbrx": split(LLAMA3),  # Phi-4, OLMo 2 and 3, Granite 4
    "glm4": split(LLAMA3),
    "chatglm-bpe": split(LLAMA3),
    "qwen2": lambda: byte_level(split_by(QWEN2), normalizer=normalizers.NFC(), added=PLAIN_ADDED),
    "stablelm2": split(QWEN2),
    "hunyuan": split(QWEN2),
    "hunyuan-dense": split(r"\p{N}{1,3}", CJK, DEEPSEEK_V3),
    "seed-coder": split(SEED_CODER),  # Seed-OSS
    "jais-2": split(JAIS2),
    "gpt-4o": split(O200K),  # Phi-4-mini
    "llama4": split(O200K),
    "tekken": split(TEKKEN, ignore_merges=True),  # Mistral since Nemo, Apertus
    "bloom": split(BLOOM),
    "poro-chat": split(BLOOM),
    "falcon": plain(falcon),
}
TEXTS = text_samples.generate(400, seed="families") + ["it's 12345 I'M\u2009e\u0301  \n\n x" + " " * 700 + "y", "def f(x):\n\treturn x // 2\r\n"]


@pytest.mark.parametrize("pre", FAMILIES)
def test_a_file_with_this_name_gives_the_ids_of_the_models_tokenizer(pre, ours, tmp_path):
    tokenizer = FAMILIES[pre]()
    path = tmp_path / "m.gguf"
    byte_level_gguf(path, pre, tokenizer)
    ours.expect(op="open", path=str(path))
    expected = [e.ids for e in tokenizer.encode_batch(TEXTS, add_special_tokens=False)]
    found = ours.encode(TEXTS, trusted=True)
    for text, e, f in zip(TEXTS, expected, found, strict=True):
        assert e == f, "%r\n  expected %s\n  found    %s" % (text, e, f)


def test_the_program_tokenizes_by_it_and_refuses_a_name_that_it_does_not_know(tmp_path):
    program = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "bin/millrace"
    path, tokenizer = tmp_path / "m.gguf", FAMILIES["seed-coder"]()
    byte_level_gguf(path, "seed-coder", tokenizer)
    done = subprocess.run([program, "tokenize", "--ids", path, TEXTS[-1]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [int(word) for word in done.stdout.split()] == tokenizer.encode(TEXTS[-1], add_special_tokens=False).ids
    byte_level_gguf(path, "seed-decoder", tokenizer)
    done = subprocess.run([program, "tokenize", "--ids", path, "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert 'tokenizer.ggml.pre is "seed-decoder"; known are' in done.stderr and '"seed-coder"' in done.stderr
