"""Encoding speed beside the PyPI `tokenizers` and `sentencepiece` libraries, one core each, alternating on the same text.

    ./dev bench tokenizers [--rounds 5] [--kind NAME]
    ./dev bench tokenizers --repeated        # ours alone, on a megabyte of one character: the longest second of each kind

Prints MB/s: ours, the oracle's, and their ratio (median of the rounds). English is the licence texts of tests/data, code is
the Python standard library's. The vocabulary of the byte-level kinds is the GGUF file's; the others are trained here.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/oracle"))

import bpe_kinds as kinds  # noqa: E402
import gguf  # noqa: E402
from comparison import Ours  # noqa: E402
from model_kinds import SPACE, assembled  # noqa: E402
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

MEGABYTE = 1 << 20


def english():
    text = (ROOT / "tests/data/licenses.txt").read_text()
    return (text * (4 * MEGABYTE // len(text) + 1))[: 4 * MEGABYTE]


def code():
    files = sorted(pathlib.Path(os.__file__).parent.glob("*.py"))
    return "".join(f.read_text(errors="replace") for f in files)[: 4 * MEGABYTE]


def chunks(text, size=1 << 16):
    return [text[i : i + size] for i in range(0, len(text), size)]


def byte_level_kinds():
    fields = gguf.GGUFReader(os.environ["MILLRACE_TEST_MODEL"]).fields
    tokens, merges = (fields["tokenizer.ggml." + name].contents() for name in ["tokens", "merges"])
    vocab, pairs = {t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]

    def build(pre_tokenizer, normalizer=None, **options):
        return assembled(models.BPE(vocab, pairs, **options), normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoders.ByteLevel())

    digits = pre_tokenizers.Digits(individual_digits=True)
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return {
        "gpt2": lambda: build(gpt2),
        "smollm": lambda: build(kinds.sequence(digits, gpt2)),
        "llama3": lambda: build(kinds.split_by(kinds.LLAMA3), ignore_merges=True),
        "qwen2": lambda: build(kinds.split_by(kinds.QWEN2), normalizers.NFC()),
        "o200k": lambda: build(kinds.split_by(kinds.O200K)),
        "tekken": lambda: build(kinds.split_by(kinds.TEKKEN), ignore_merges=True),
        "deepseek v3": lambda: build(kinds.split_by(r"\p{N}{1,3}", kinds.CJK, kinds.DEEPSEEK_V3)),
        "kimi (PCRE2)": lambda: build(kinds.split_by(kinds.KIMI)),
    }


def trained_kinds(lines):
    def train(tokenizer, trainer):
        tokenizer.train_from_iterator(lines, trainer)
        return tokenizer

    def gemma():  # trained as SentencePiece does: no token reaches over the beginning of a word
        tokenizer = assembled(
            models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
            normalizer=normalizers.Replace(" ", SPACE), pre_tokenizer=pre_tokenizers.Split(SPACE, "merged_with_next"),
            decoder=decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]))
        trainer = trainers.BpeTrainer(vocab_size=8000, special_tokens=["<unk>"] + ["<0x%02X>" % b for b in range(256)], show_progress=False)
        train(tokenizer, trainer)
        tree = json.loads(tokenizer.to_str())
        tree["added_tokens"] = tree["added_tokens"][:1]
        tree["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
        return Tokenizer.from_str(json.dumps(tree))

    def unigram():
        tokenizer = assembled(models.Unigram(), normalizer=normalizers.NFKC(), pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace())
        return train(tokenizer, trainers.UnigramTrainer(vocab_size=8000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False))

    def word_piece():
        tokenizer = assembled(models.WordPiece(unk_token="[UNK]"), normalizer=normalizers.BertNormalizer(),
                              pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece())
        return train(tokenizer, trainers.WordPieceTrainer(vocab_size=8000, special_tokens=["[UNK]"], show_progress=False))

    return {"llama2 (SentencePiece BPE)": kinds.llama2, "gemma": gemma, "unigram": unigram, "bert (WordPiece)": word_piece}


def measure(ours, oracle, texts, rounds):
    size = sum(len(t.encode()) for t in texts) / MEGABYTE
    mine, theirs = [], []
    for _ in range(rounds):
        answer = ours.expect(op="encode", texts=texts, trusted=True)
        mine.append(size / answer["seconds"])
        start = time.perf_counter()
        ids = [oracle.encode(t, add_special_tokens=False).ids for t in texts]
        theirs.append(size / (time.perf_counter() - start))
        assert ids == answer["ids"]
    return statistics.median(mine), statistics.median(theirs)


REPEATED = {"a": "a", "newline": "\n", "space": " ", "combining mark": "\u0301", "e and mark": "e\u0301", "CJK": "\u4f60", "=": "="}


def print_repeated(ours, name):
    seconds = {}
    for label, unit in REPEATED.items():
        text = unit * (MEGABYTE // len(unit.encode()))
        seconds[label] = ours.expect(op="encode", texts=[text])["seconds"]
    worst = max(seconds, key=seconds.get)
    print("%-28s %s; at most %.3f s (%s)" % (name, ", ".join("%s %.3f" % s for s in seconds.items()), seconds[worst], worst), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", default="")
    parser.add_argument("--repeated", action="store_true")
    args = parser.parse_args()
    corpora = {"English": chunks(english()), "code": chunks(code())}
    builders = {**byte_level_kinds(), **trained_kinds([line for t in corpora.values() for c in t[:16] for line in c.splitlines()])}
    ours = Ours()
    if not args.repeated:
        print("%-28s %-8s %10s %10s %8s" % ("kind", "text", "ours MB/s", "PyPI MB/s", "ratio"))
    for name, build in builders.items():
        if args.kind not in name:
            continue
        oracle = Tokenizer.from_str(build().to_str())  # as a file gives it: scores change in their last bits
        with tempfile.TemporaryDirectory() as directory:
            loaded = ours.load(oracle, pathlib.Path(directory), ok=False)
        if "error" in loaded:
            print("%-28s %s" % (name, loaded["error"]))
            continue
        if args.repeated:
            print_repeated(ours, name)
            continue
        for corpus, texts in corpora.items():
            mine, theirs = measure(ours, oracle, texts, args.rounds)
            print("%-28s %-8s %10.1f %10.1f %8.1f" % (name, corpus, mine, theirs, mine / theirs), flush=True)


main()
