"""The programs that answer for us, and comparisons of their answers with those of other libraries."""

import json
import os
import pathlib
import random
import subprocess

from untrusted import Untrusted

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = int(os.environ.get("MILLRACE_ORACLE_CASES", 5000))
BATCH = 2000  # texts a question


class Answers:
    """A program that answers JSON, a line for a line."""

    def __init__(self, name):
        build = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", ROOT / "build/release"))
        program = build / "tests/oracle" / name
        self.process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the oracle ended"
        return json.loads(line)

    def expect(self, **request):
        answer = self.ask(**request)
        assert "error" not in answer, answer
        return answer


class Ours(Answers):
    """text_oracle, which answers for our tokenizers."""

    def __init__(self):
        super().__init__("text_oracle")

    def load(self, tokenizer, directory, config=None, ok=True):
        text = tokenizer if isinstance(tokenizer, str) else tokenizer.to_str()
        return self._load("load", text.encode(), directory / "tokenizer.json", config, ok)

    def load_model(self, contents, directory, config=None, ok=True):
        return self._load("load_model", contents, directory / "tokenizer.model", config, ok)

    def load_tiktoken(self, contents, directory, config=None, ok=True):
        return self._load("load_tiktoken", contents, directory / "x.tiktoken", config, ok)

    def load_gguf(self, directory, ok=True, **vocabulary):
        return self._load("load_gguf", json.dumps(vocabulary).encode(), directory / "vocabulary.json", None, ok)

    def _load(self, op, contents, path, config, ok):
        path.write_bytes(contents)
        config_path = ""
        if config is not None:
            config_path = path.with_name("tokenizer_config.json")
            config_path.write_text(json.dumps(config))
        return (self.expect if ok else self.ask)(op=op, file=str(path), config=str(config_path))

    def encode(self, texts, **options):
        ids = []
        for i in range(0, len(texts), BATCH):
            ids += self.expect(op="encode", texts=texts[i : i + BATCH], **options)["ids"]
        return ids


def check_same(given, expected, found):
    assert len(given) == len(expected) == len(found)
    for one, e, f in zip(given, expected, found):
        assert e == f, "%r\n  expected %s\n  found    %s" % (one, e, f)


def check_encoding(ours, oracle, texts, add_special=False):
    expected = [e.ids for e in oracle.encode_batch(texts, add_special_tokens=add_special)]
    found = ours.encode(texts, add_special=add_special)
    check_same(texts, expected, found)
    expected = Untrusted(oracle).ids(texts, add_special)
    found = ours.encode(texts, trusted=False, add_special=add_special)
    check_same(texts, expected, found)


def byte_offsets(text):
    """Where each character begins, and the end."""
    offsets = [0]
    for c in text:
        offsets.append(offsets[-1] + len(c.encode()))
    return offsets


def check_spans(ours, oracle, texts, add_special=False, **options):
    """Ids, and the bytes that each token stands for."""
    for i in range(0, len(texts), BATCH):
        batch = texts[i : i + BATCH]
        expected = []
        for text, encoding in zip(batch, oracle.encode_batch(batch, add_special_tokens=add_special)):
            at = byte_offsets(text)
            expected.append((encoding.ids, [[at[begin], at[end]] for begin, end in encoding.offsets]))
        answer = ours.expect(op="encode_spans", texts=batch, add_special=add_special, **options)
        check_same(batch, expected, list(zip(answer["ids"], answer["spans"])))


def check_untrusted_spans(ours, oracle, texts):
    untrusted = Untrusted(oracle)
    expected, cut_apart = [], 0
    for text, (ids, encoding) in zip(texts, untrusted.encodings(texts)):
        at = byte_offsets(text)
        expected.append((ids, None if encoding is None else [[at[begin], at[end]] for begin, end in encoding.offsets]))
        cut_apart += encoding is None
    answer = ours.expect(op="encode_spans", texts=texts, trusted=False)
    found = [(ids, spans if e[1] is not None else None) for ids, spans, e in zip(answer["ids"], answer["spans"], expected)]
    check_same(texts, expected, found)
    assert cut_apart < len(texts) / 2


def check_decoding_of(ours, sequences, expected, skip_special):
    """Texts, whole and streamed."""
    answer = ours.expect(op="decode", ids=sequences, skip_special=skip_special)
    check_same(sequences, expected, answer["texts"])
    assert all(answer["streamed"]), sequences[answer["streamed"].index(False)]


def check_decoding(ours, oracle, texts, seed):
    rng = random.Random(seed)
    sequences = []
    for encoding in oracle.encode_batch(texts):
        ids = encoding.ids
        cut = rng.randrange(len(ids) + 1)
        sequences.append(ids[cut:] if rng.random() < 0.5 else ids[:cut])
    size = oracle.get_vocab_size()
    sequences += [[rng.randrange(size) for _ in range(rng.randint(1, 12))] for _ in range(2000)]
    # Where bytes are tokens of their own, these runs are mostly not UTF-8.
    sequences += [[rng.randrange(300) for _ in range(rng.randint(1, 8))] for _ in range(2000)]
    for skip_special in [False, True]:
        expected = oracle.decode_batch(sequences, skip_special_tokens=skip_special)
        check_decoding_of(ours, sequences, expected, skip_special)


def check_long_texts(ours):
    for unit in ["a", "\n", " ", "\u0301", "\u0323\u0301", "\u2581", "\ufb01", "ab "]:
        text = unit * (300_000 // len(unit.encode()))
        ids = ours.expect(op="encode", texts=[text])["ids"]
        assert ours.expect(op="decode", ids=ids)["streamed"] == [True]
