"""Tiktoken files against the PyPI library `tiktoken`."""

import base64

import pytest
import tiktoken

import text_samples
from bpe_kinds import KIMI, LLAMA3, O200K, QWEN2
from comparison import CASES, check_same

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Ranks, expression, what the vocabulary begins a text with.
KINDS = {
    "r50k_base": (50256, GPT2, []), "cl100k_base": (100256, LLAMA3, []), "llama3": (128000, LLAMA3, [128000]),
    "qwen": (151643, QWEN2, []), "kimi": (163584, KIMI, []), "o200k_base": (199998, O200K, []),
}


def ranks_of(count):
    """Bytes, then byte strings of the samples, then fillers that no text holds, up to the count that names a vocabulary."""
    ranks = {bytes([b]): b for b in range(256)}
    for size in range(2, 9):
        for text in text_samples.training_lines()[:1500]:
            data = text.encode()
            for at in range(0, len(data) - size, size + 3):
                if len(ranks) < min(count, 30000):
                    ranks.setdefault(data[at : at + size], len(ranks))
    while len(ranks) < count:
        ranks[b"\xff\xff%d" % len(ranks)] = len(ranks)
    return ranks


def contents_of(ranks):
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())


@pytest.mark.parametrize("kind", KINDS)
def test_a_tiktoken_file_gives_the_ids_of_the_oracle(kind, ours, tmp_path):
    count, expression, prefix = KINDS[kind]
    ranks = ranks_of(count)
    config = {"added_tokens_decoder": {str(count + 3): {"content": "<|im_end|>", "special": True}}} if kind == "kimi" else {}
    ours.load_tiktoken(contents_of(ranks), tmp_path, config)
    oracle = tiktoken.Encoding(kind, pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    # The expressions of tiktoken know another version of Unicode than Oniguruma's.
    texts = text_samples.generate(CASES, seed=kind, assigned_only=True)
    expected = [oracle.encode(t, disallowed_special=()) for t in texts]
    found = ours.encode(texts, trusted=False)
    check_same(texts, expected, found)
    answer = ours.expect(op="decode", ids=expected[:1000])
    assert answer["texts"] == texts[:1000] and all(answer["streamed"])
    assert ours.encode(["a"], add_special=True)[0][:-1] == prefix


def test_special_tokens_are_those_of_the_vocabulary(ours, tmp_path):
    ours.load_tiktoken(contents_of(ranks_of(151643)), tmp_path)
    assert ours.encode(["<|im_start|><|extra_204|>"], trusted=True) == [[151644, 151850]]
    assert ours.expect(op="facts")["end_of_generation"] == [151643, 151645]


@pytest.mark.parametrize("contents,named", [
    (b"YQ== 0\nYg== 1\n", "of 2 ranks"),
    (b"YQ== 1\n", "line 1: the rank 0 expected"),
    (b"YQ== 0\n??? 1\n", "line 2"),
    (b"YQ==\n", "line 1"),
    (b"", "of 0 ranks"),
])
def test_a_file_that_is_none_is_refused_with_its_line(contents, named, ours, tmp_path):
    assert named in ours.load_tiktoken(contents, tmp_path, ok=False)["error"]
