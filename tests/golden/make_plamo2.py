#!/usr/bin/env python3
"""Makes tests/data/plamo2/llama_cpp.json: a made-up vocabulary of tokenizer.ggml.model = "plamo2", and what llama.cpp makes of texts with it.

Run by hand; the result is committed. Needs llama-cpp-python (0.3.36) and gguf (its source archive has it in vendor/llama.cpp/gguf-py).
The file holds "pieces": [[text, score, type]...], which stand behind the special tokens and the 256 bytes, and "cases": [[text, [id...]]...].
"""

import json
import pathlib
import random
import tempfile

import gguf
import llama_cpp
import numpy

OUT = pathlib.Path(__file__).resolve().parents[1] / "data/plamo2/llama_cpp.json"
SPECIAL = [("<|plamo:unk|>", 2), ("<|plamo:bos|>", 3), ("<|plamo:eos|>", 3), ("<|plamo:pad|>", 3), ("<|plamo:op|>", 3)]
LINES = [
    "吾輩は猫である。名前はまだ無い。",
    "どこで生れたかとんと見当がつかぬ。",
    "The quick brown fox jumps over the lazy dog.",
    "    for (int i = 0; i < n; ++i) sum += x[i];\n",
    "今日は2025年11月14日、気温は12.5度です。",
    "a naïve café, über-schön, 東京タワー🗼と👩‍👩‍👧",
]
MORE = ["", " ", "  a", "aaaaaaaa", "\n\n\t", "か\u3099が", "𠮷野家", "\x00\x7f", "<|plamo:op|>system\n猫<|plamo:eos|>", "<|plamo:op", "<0x41>A"]
MORE += ["\u2581", "ab" * 30]
SCORES = [1, 2, 3, 4, 5.5, 8.25, 9.12345, 0.00004, 0.00006, 1000.5, 1999.5, 2000, 3000]


def pieces(rng):
    """Substrings of the lines with scores: few different ones, so that many sums are equal; some worse than bytes, some that no text becomes."""
    found = {"a": -1.0, "b": -1.0, "ab": -2.0, "aa": -2.0, "aaa": -2.5}
    while len(found) < 260:
        line = rng.choice(LINES)
        at = rng.randrange(len(line))
        text = line[at : at + rng.choice([1, 1, 1, 2, 2, 3, 4, 7])]
        found.setdefault(text, -float(rng.choice(SCORES) * len(text) ** 0.5))
    return [[text, float(numpy.float32(score)), 1] for text, score in found.items()]


def texts(rng):
    out = LINES + MORE
    alphabet = sorted(set("".join(LINES))) + ["é", "ß", "\U0001f600", "ab", "猫である"]
    return out + ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 40))) for _ in range(60)]


def write(path, tokens):
    writer = gguf.GGUFWriter(str(path), "llama")
    for add, value in (("context_length", 64), ("embedding_length", 16), ("block_count", 1), ("feed_forward_length", 24), ("head_count", 4)):
        getattr(writer, "add_" + add)(value)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("plamo2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([t[0].encode() for t in tokens])
    writer.add_token_scores([t[1] for t in tokens])
    writer.add_token_types([t[2] for t in tokens])
    writer.add_eot_token_id(4)
    writer.add_add_space_prefix(False)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    rng = random.Random(1)
    made = pieces(rng)
    tokens = [[text, 0.0, kind] for text, kind in SPECIAL] + [["<0x%02X>" % byte, 0.0, 6] for byte in range(256)] + made
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "plamo2.gguf"
        write(path, tokens)
        model = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
        cases = [[text, model.tokenize(text.encode(), add_bos=False, special=True)] for text in texts(rng)]
    OUT.parent.mkdir(exist_ok=True)
    pieces_text, cases_text = (",\n".join(json.dumps(one, ensure_ascii=False) for one in all_of) for all_of in (made, cases))
    OUT.write_text('{"pieces": [\n' + pieces_text + '\n], "cases": [\n' + cases_text + "\n]}\n")


if __name__ == "__main__":
    main()
