"""The tokenizer of PLaMo 2 and 3 (tokenizer.ggml.model = "plamo2") against a plain search for the best segmentation. What llama.cpp makes of texts is in
tests/data/plamo2, which text_test reads too."""

import json
import math
import random
import re

import pytest

import text_samples
from comparison import CASES, ROOT, byte_offsets, check_decoding_of, check_long_texts, check_same

SPECIAL = ["<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>", "<|plamo:op|>"]
FIRST_BYTE, FIRST_PIECE = 5, 261
BYTES_COST, DEAD = 10_000_000, 20_000_000  # of a character in bytes; from here on no text becomes a token
GOLDEN = json.loads((ROOT / "tests/data/plamo2/llama_cpp.json").read_text())


class Plamo:
    """The pieces [text, score, type] with the special tokens and the bytes in front."""

    def __init__(self, pieces):
        self.tokens = [*SPECIAL, *("<0x%02X>" % byte for byte in range(256)), *(text for text, _, _ in pieces)]
        self.types = [2, 3, 3, 3, 3, *[6] * 256, *(kind for _, _, kind in pieces)]
        self.scores = [0.0] * FIRST_PIECE + [score for _, score, _ in pieces]
        self.known = {}
        for i, (text, score, kind) in enumerate(pieces):
            cost = math.floor(-score * 1e4 + 0.5) if score < 0 else -math.floor(score * 1e4 + 0.5)
            if kind == 1 and cost < DEAD:
                self.known[text] = (FIRST_PIECE + i, cost)
        self.longest = max(map(len, self.known))

    def segment(self, text):
        """(ids, spans in characters) of the segmentation with the lowest cost; of equal ones with the longest first token, bytes last."""
        best, step = [0] * (len(text) + 1), [None] * len(text)
        for at in reversed(range(len(text))):
            ways = [(best[at + 1] + BYTES_COST, 0, at + 1, None)]
            for end in range(at + 1, min(len(text), at + self.longest) + 1):
                token, cost = self.known.get(text[at:end], (None, 0))
                if token is not None:
                    ways.append((best[end] + cost, at - end, end, token))
            best[at], _, end, token = min(ways, key=lambda way: way[:2])
            step[at] = end, token
        ids, spans, at = [], [], 0
        while at < len(text):
            end, token = step[at]
            found = [FIRST_BYTE + byte for byte in text[at:end].encode()] if token is None else [token]
            ids += found
            spans += [(at, end)] * len(found)
            at = end
        return ids, spans

    def encode(self, text, trusted):
        ids, spans, at = [], [], 0
        for part in re.split("(" + "|".join(map(re.escape, SPECIAL)) + ")", text) if trusted else [text]:
            found, places = ([SPECIAL.index(part)], [(0, len(part))]) if trusted and part in SPECIAL else self.segment(part)
            ids += found
            spans += [(at + begin, at + end) for begin, end in places]
            at += len(part)
        offsets = byte_offsets(text)
        return ids, [[offsets[begin], offsets[end]] for begin, end in spans]

    def decode(self, ids, skip_special):
        parts = [bytes([i - FIRST_BYTE]) if FIRST_BYTE <= i < FIRST_PIECE else self.tokens[i].encode() for i in ids if not (skip_special and i < FIRST_BYTE)]
        return b"".join(parts).decode("utf-8", "replace")

    def load_into(self, ours, directory):
        ours.load_gguf(directory, model="plamo2", pre="default", tokens=self.tokens, scores=self.scores, token_types=self.types, add_space_prefix=False)


def random_pieces(seed):
    """Substrings of the samples with few different scores, so that many sums are equal, and characters that most texts have."""
    rng = random.Random(seed)
    texts = text_samples.generate(300, seed=seed)
    found = {c: -4.0 for c in "abcdefghijklmnopqrstuvwxyz "}
    while len(found) < 800:
        text = rng.choice(texts) or " "
        at = rng.randrange(len(text))
        piece = text[at : at + rng.choice([1, 1, 2, 2, 3, 4, 6, 12])]
        found.setdefault(piece, -float(rng.choice([1, 2, 3, 4, 6, 8, 999, 1000.5, 1500, 1999, 2000, 2500])))
    return [[text, score, 1] for text, score in found.items() if text not in SPECIAL]


@pytest.mark.parametrize("seed", range(4))
def test_the_ids_spans_and_texts_are_those_of_the_best_segmentation(seed, ours, tmp_path):
    plamo = Plamo(random_pieces(seed))
    plamo.load_into(ours, tmp_path)
    texts = text_samples.generate(CASES // 10, seed="plamo %s" % seed) + ["<|plamo:op|>user\nhello<|plamo:op|><|plamo:eos|>", "<0x41><|plamo:op"]
    for trusted in [True, False]:
        answer = ours.expect(op="encode_spans", texts=texts, trusted=trusted)
        check_same(texts, [plamo.encode(text, trusted) for text in texts], list(zip(answer["ids"], answer["spans"])))
    rng = random.Random(seed)
    sequences = [[rng.randrange(len(plamo.tokens)) for _ in range(rng.randint(1, 12))] for _ in range(1000)]
    sequences += [[rng.randrange(FIRST_PIECE + 20) for _ in range(rng.randint(1, 8))] for _ in range(1000)]
    for skip_special in [False, True]:
        check_decoding_of(ours, sequences, [plamo.decode(ids, skip_special) for ids in sequences], skip_special)


def test_llama_cpp_gives_the_same(ours, tmp_path):
    plamo = Plamo(GOLDEN["pieces"])
    plamo.load_into(ours, tmp_path)
    texts = [text for text, _ in GOLDEN["cases"]]
    check_same(texts, [ids for _, ids in GOLDEN["cases"]], ours.encode(texts))
    check_same(texts, [ids for _, ids in GOLDEN["cases"]], [plamo.encode(text, True)[0] for text in texts])


def test_a_long_text_of_one_thing_is_encoded(ours, tmp_path):
    Plamo(GOLDEN["pieces"]).load_into(ours, tmp_path)
    check_long_texts(ours)
