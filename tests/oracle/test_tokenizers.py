"""Compares our tokenizers with the PyPI `tokenizers` and `sentencepiece` libraries, through the program text_oracle.

MILLRACE_BUILD_DIR     where the build lies (default build/release)
MILLRACE_TEST_MODEL    a GGUF file whose vocabulary is compared too (optional; needs the PyPI library `gguf`)
MILLRACE_ORACLE_CASES  strings a kind (default 5,000; every kind has passed with 100,000)
"""

import json
import os
import pathlib
import random
import subprocess

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import text_samples

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNT = int(os.environ.get("MILLRACE_ORACLE_CASES", 5000))

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
TEKKEN = O200K.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "").replace("{1,3}", "")
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
CJK = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
DEEPSEEK_V3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"""
               r"""|\s*[\r\n]+|\s+(?!\S)|\s+""")
# No scanner of ours knows these: they go through PCRE2.
O200K_ALIKE = O200K.replace("(?!\\S)", "(?=\\s|$)")
KIMI = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
SPACE = "\u2581"

PLAIN_ADDED = [
    AddedToken("<|im_start|>", special=True, normalized=False),
    AddedToken("<|im_end|>", special=True, normalized=False),
    AddedToken("<tool>", special=False, normalized=False),
]
FLAGGED_ADDED = PLAIN_ADDED + [
    AddedToken("<mask>", special=True, normalized=False, lstrip=True),
    AddedToken("<r>", special=False, normalized=False, rstrip=True),
    AddedToken("Word", special=False, normalized=False, single_word=True),
    AddedToken("N\u00f6rm", special=False, normalized=True),
]


def byte_level(pre_tokenizer, normalizer=None, ignore_merges=False, added=FLAGGED_ADDED, post_processor=None):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=1200, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(text_samples.training_lines(), trainer)
    if ignore_merges:
        # Some tokens that no merge makes, as in Llama 3.
        model = json.loads(tokenizer.to_str())
        vocab = model["model"]["vocab"]
        for word in ["\u0120zebra", "qqq", "\u0120\u0120\u0120!"]:
            vocab[word] = len(vocab)
        model["model"]["ignore_merges"] = True
        tokenizer = Tokenizer.from_str(json.dumps(model))
    tokenizer.add_tokens(added)
    tokenizer.post_processor = post_processor or processors.ByteLevel(trim_offsets=False)
    return tokenizer


def sequence(*parts):
    return pre_tokenizers.Sequence(list(parts))


BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split_by(*regexes):
    return sequence(*[pre_tokenizers.Split(Regex(r), "isolated") for r in regexes], BYTES)


def falcon(added=FLAGGED_ADDED):
    return byte_level(sequence(
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")), added=added)


def deepseek_coder(added=FLAGGED_ADDED):
    splits = [pre_tokenizers.Split(Regex(r), "isolated") for r in ["[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"]]
    return byte_level(sequence(*splits, pre_tokenizers.Digits(individual_digits=True), BYTES), added=added)


def gpt2(added=FLAGGED_ADDED):
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), added=added)


def smollm(added=FLAGGED_ADDED):
    return byte_level(sequence(pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)), added=added)


def llama3(added=FLAGGED_ADDED):
    return byte_level(split_by(LLAMA3), ignore_merges=True, added=added)


def roberta():
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), post_processor=processors.RobertaProcessing(("t", 83), ("e", 68), trim_offsets=True, add_prefix_space=False))


def qwen2(added=FLAGGED_ADDED):
    return byte_level(split_by(QWEN2), normalizer=normalizers.NFC(), added=added)


def sentence_piece_vocabulary(directory):
    import sentencepiece

    lines = directory / "lines.txt"
    lines.write_text("\n".join(l.replace("\n", " ").replace("\r", " ") for l in text_samples.training_lines()), encoding="utf-8")
    prefix = str(directory / "spm")
    sentencepiece.SentencePieceTrainer.train(
        input=str(lines), model_prefix=prefix, model_type="bpe", vocab_size=1400, byte_fallback=True, character_coverage=0.98,
        normalization_rule_name="identity", remove_extra_whitespaces=False, add_dummy_prefix=True, num_threads=1, minloglevel=2,
        split_digits=True, allow_whitespace_only_pieces=True)
    return sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")


def merges_of(processor):
    """As Transformers converts a SentencePiece model."""
    vocab = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    merges = []
    for piece, i in vocab.items():
        if processor.is_control(i) or processor.is_unknown(i) or processor.is_byte(i):
            continue
        local = [(piece[:k], piece[k:], processor.get_score(i)) for k in range(1, len(piece)) if piece[:k] in vocab and piece[k:] in vocab]
        merges.extend(sorted(local, key=lambda m: (vocab[m[0]], vocab[m[1]])))
    merges.sort(key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)
    return vocab, [(left, right) for left, right, _ in merges]


def sentence_piece(processor, legacy=True, scheme=None, split=False, words=False, added=FLAGGED_ADDED):
    vocab, merges = merges_of(processor)
    tokenizer = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    decode = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if legacy:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme=scheme, split=split)
        if words:
            tokenizer.pre_tokenizer = sequence(pre_tokenizers.WhitespaceSplit(), tokenizer.pre_tokenizer)
    if legacy or scheme != "never":
        decode.append(decoders.Strip(" ", 1, 0))
    tokenizer.decoder = decoders.Sequence(decode)
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ["<unk>", "<s>", "</s>"]])
    tokenizer.add_tokens(added)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return tokenizer


@pytest.fixture(scope="session")
def spm(tmp_path_factory):
    return sentence_piece_vocabulary(tmp_path_factory.mktemp("spm"))


KINDS = {
    "gpt2": lambda _: gpt2(),
    "gpt2 with a prefix space": lambda _: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "smollm": lambda _: smollm(),
    "llama3": lambda _: llama3(),
    "qwen2": lambda _: qwen2(),
    "qwen3.5": lambda _: byte_level(split_by(QWEN35)),
    "o200k": lambda _: byte_level(split_by(O200K)),
    "tekken": lambda _: byte_level(split_by(TEKKEN), ignore_merges=True),
    "bloom": lambda _: byte_level(split_by(BLOOM)),
    "deepseek v3": lambda _: byte_level(split_by(r"\p{N}{1,3}", CJK, DEEPSEEK_V3)),
    "deepseek coder": lambda _: deepseek_coder(),
    "falcon": lambda _: falcon(),
    "o200k by PCRE2": lambda _: byte_level(split_by(O200K_ALIKE)),
    "kimi by PCRE2": lambda _: byte_level(split_by(KIMI)),
    "bert's words": lambda _: byte_level(sequence(pre_tokenizers.BertPreTokenizer(), BYTES)),
    "whitespace": lambda _: byte_level(sequence(pre_tokenizers.Whitespace(), BYTES)),
    "whitespace split, metaspace": lambda p: sentence_piece(p, legacy=False, scheme="always", words=True),
    "delimiter, fixed length": lambda _: byte_level(sequence(pre_tokenizers.CharDelimiterSplit("e"), pre_tokenizers.FixedLength(7), BYTES)),
    "roberta": lambda _: roberta(),
    "llama 2, legacy": lambda p: sentence_piece(p),
    "metaspace first": lambda p: sentence_piece(p, legacy=False, scheme="first"),
    "metaspace always": lambda p: sentence_piece(p, legacy=False, scheme="always"),
    "metaspace never": lambda p: sentence_piece(p, legacy=False, scheme="never"),
    "metaspace first, split": lambda p: sentence_piece(p, legacy=False, scheme="first", split=True),
}


class Ours:
    def __init__(self):
        build = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", ROOT / "build/release"))
        program = build / "tests/oracle/text_oracle"
        self.process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "text_oracle ended"
        return json.loads(line)

    def expect(self, **request):
        answer = self.ask(**request)
        assert "error" not in answer, answer
        return answer

    def load(self, tokenizer, directory, config=None):
        path = directory / "tokenizer.json"
        path.write_text(tokenizer if isinstance(tokenizer, str) else tokenizer.to_str(), encoding="utf-8")
        config_path = ""
        if config is not None:
            config_path = directory / "tokenizer_config.json"
            config_path.write_text(json.dumps(config))
        return self.ask(op="load", tokenizer=str(path), config=str(config_path))

    def load_gguf(self, directory, **vocabulary):
        path = directory / "vocabulary.json"
        path.write_text(json.dumps(vocabulary))
        return self.ask(op="load_gguf", vocabulary=str(path))

    def encode(self, texts, **options):
        ids = []
        for i in range(0, len(texts), 2000):
            ids += self.expect(op="encode", texts=texts[i : i + 2000], **options)["ids"]
        return ids


@pytest.fixture
def ours():
    ours = Ours()
    yield ours
    ours.process.stdin.close()
    ours.process.wait(10)


def first_difference(texts, expected, found):
    for text, e, f in zip(texts, expected, found):
        if e != f:
            return "%r\n  expected %s\n  found    %s" % (text, e, f)
    return None


def check_encoding(ours, oracle, texts, add_special=False):
    for trusted in [True, False]:
        oracle.encode_special_tokens = not trusted
        expected = [e.ids for e in oracle.encode_batch(texts, add_special_tokens=add_special)]
        found = ours.encode(texts, trusted=trusted, add_special=add_special)
        assert not first_difference(texts, expected, found), first_difference(texts, expected, found)
    oracle.encode_special_tokens = False


def check_spans(ours, oracle, texts, add_special=False):
    answer = ours.expect(op="encode_spans", texts=texts, add_special=add_special)
    for text, encoding, ids, spans in zip(texts, oracle.encode_batch(texts, add_special_tokens=add_special), answer["ids"], answer["spans"]):
        assert encoding.ids == ids, text
        starts = [0]
        for c in text:
            starts.append(starts[-1] + len(c.encode()))
        expected = [[starts[b], starts[e]] for b, e in encoding.offsets]
        assert expected == spans, "%r\n  tokens   %s\n  expected %s\n  found    %s" % (text, encoding.tokens, expected, spans)


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
        answer = ours.expect(op="decode", ids=sequences, skip_special=skip_special)
        assert not first_difference(sequences, expected, answer["texts"]), first_difference(sequences, expected, answer["texts"])
        assert all(answer["streamed"]), sequences[answer["streamed"].index(False)]


@pytest.mark.parametrize("kind", KINDS)
def test_tokenizer_json_gives_the_ids_and_texts_of_the_oracle(kind, ours, spm, tmp_path):
    oracle = KINDS[kind](spm)
    loaded = ours.load(oracle, tmp_path)
    assert "error" not in loaded, loaded
    texts = text_samples.generate(COUNT, seed=kind)
    check_encoding(ours, oracle, texts)
    check_encoding(ours, oracle, texts[:1000] + [""], add_special=True)
    for i in range(0, len(texts), 5000):
        check_spans(ours, oracle, texts[i : i + 5000])
    check_spans(ours, oracle, texts[:1000] + [""], add_special=True)
    check_decoding(ours, oracle, texts[:4000], seed=kind)


@pytest.mark.parametrize("behavior", ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"])
@pytest.mark.parametrize("pattern", [Regex(r"\d+|[aeiou]|\s"), Regex(r"(?=[aeiou])|\d*"), Regex(r"\w+(?=\W)|\b[^\w\s]+"), "a"])
@pytest.mark.parametrize("invert", [False, True])
def test_every_split_behavior_is_the_oracles(behavior, pattern, invert, ours, tmp_path):
    oracle = byte_level(sequence(pre_tokenizers.Split(pattern, behavior, invert), pre_tokenizers.ByteLevel(False, use_regex=False)))
    assert "error" not in ours.load(oracle, tmp_path)
    check_encoding(ours, oracle, text_samples.generate(1500, seed=2, assigned_only=True))


def gguf_dump(oracle, model, pre, **more):
    vocab = oracle.get_vocab(with_added_tokens=True)
    tokens = [text for text, _ in sorted(vocab.items(), key=lambda item: item[1])]
    added = {t.content: t for t in oracle.get_added_tokens_decoder().values()}
    types = [1 if t not in added else 3 if added[t].special else 4 for t in tokens]
    merges = [" ".join(m) if isinstance(m, list) else m for m in json.loads(oracle.to_str())["model"]["merges"]]
    return dict(model=model, pre=pre, tokens=tokens, token_types=types, merges=merges, **more)


@pytest.mark.parametrize("pre,build", [("gpt-2", gpt2), ("smollm", smollm), ("llama-bpe", llama3), ("qwen2", qwen2)])
def test_gguf_byte_level_gives_the_ids_and_texts_of_the_oracle(pre, build, ours, tmp_path):
    oracle = build(added=PLAIN_ADDED)
    loaded = ours.load_gguf(tmp_path, **gguf_dump(oracle, "gpt2", pre))
    assert "error" not in loaded, loaded
    texts = text_samples.generate(COUNT, seed=pre)
    check_encoding(ours, oracle, texts)
    check_decoding(ours, oracle, texts[:4000], seed=pre)


def test_every_name_of_a_gguf_pre_tokenizer_gives_the_ids_of_the_oracle(ours, tmp_path):
    base = json.loads(gpt2(added=PLAIN_ADDED).to_str())
    texts = text_samples.generate(max(COUNT // 10, 300), seed=11)
    for pre in ours.expect(op="gguf_pre")["names"]:
        base["pre_tokenizer"], base["normalizer"] = pre["pre_tokenizer"], pre["normalizer"]
        base["model"]["ignore_merges"] = pre["ignore_merges"]
        oracle = Tokenizer.from_str(json.dumps(base))
        loaded = ours.load_gguf(tmp_path, **gguf_dump(oracle, "gpt2", pre["name"]))
        assert "error" not in loaded, loaded
        check_encoding(ours, oracle, texts)


def gguf_spm(processor):
    n = processor.get_piece_size()
    types = [3 if processor.is_control(i) else 2 if processor.is_unknown(i) else 6 if processor.is_byte(i) else 1 for i in range(n)]
    return dict(model="llama", pre="default", tokens=[processor.id_to_piece(i) for i in range(n)], token_types=types,
                scores=[processor.get_score(i) for i in range(n)], bos=1, eos=2, unk=0)


def test_gguf_sentence_piece_gives_the_ids_of_both_oracles(ours, spm, tmp_path):
    loaded = ours.load_gguf(tmp_path, **gguf_spm(spm))
    assert "error" not in loaded, loaded
    texts = [t.replace("\x00", "") for t in text_samples.generate(COUNT, seed=5)]
    found = ours.encode(texts, trusted=False)
    expected = spm.encode(texts)
    assert not first_difference(texts, expected, found), first_difference(texts, expected, found)
    # The converted tokenizer breaks ties inside runs of one character in another order; elsewhere it must agree.
    oracle = sentence_piece(spm, added=[])
    oracle.encode_special_tokens = True
    converted = [e.ids for e in oracle.encode_batch(texts, add_special_tokens=False)]
    assert sum(a == b for a, b in zip(converted, found)) > 0.97 * len(texts)
    check_decoding(ours, oracle, texts[:4000], seed=5)
    assert ours.expect(op="encode", texts=["a"], add_special=True)["ids"][0][0] == 1


def test_the_real_models_vocabulary_gives_the_ids_of_the_oracle(ours, tmp_path):
    path = os.environ.get("MILLRACE_TEST_MODEL")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL names no GGUF file")
    gguf = pytest.importorskip("gguf")
    fields = gguf.GGUFReader(path).fields

    def field(name):
        return fields["tokenizer.ggml." + name].contents()

    if field("model") != "gpt2" or field("pre") != "smollm":
        pytest.skip("this test builds the oracle of SmolLM2 only")
    tokens, types, merges = field("tokens"), field("token_type"), field("merges")
    oracle = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))
    oracle.pre_tokenizer = sequence(pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False))
    oracle.decoder = decoders.ByteLevel()
    oracle.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, kind in zip(tokens, types) if kind == 3])
    loaded = ours.load_gguf(tmp_path, model="gpt2", pre="smollm", tokens=tokens, token_types=types, merges=merges)
    assert "error" not in loaded, loaded
    texts = text_samples.generate(COUNT, seed=6)
    check_encoding(ours, oracle, texts)
    check_decoding(ours, oracle, texts[:4000], seed=6)
    assert ours.load(oracle, tmp_path).get("kind") == "byte-level BPE"
    check_encoding(ours, oracle, texts[:2000])


def test_bytes_that_are_not_utf8_are_replaced_as_python_does(ours, tmp_path):
    oracle = gpt2()
    assert "error" not in ours.load(oracle, tmp_path)
    rng = random.Random(7)
    raw = []
    for text in text_samples.generate(3000, seed=7):
        data = bytearray(text.encode() or b"?")
        for _ in range(rng.randint(0, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        start = rng.randrange(len(data))
        raw.append(bytes(data[start : start + rng.randint(1, 40)]))
    expected = [e.ids for e in oracle.encode_batch([r.decode("utf-8", "replace") for r in raw], add_special_tokens=False)]
    found = ours.expect(op="encode_bytes", texts=[list(r) for r in raw])["ids"]
    assert not first_difference(raw, expected, found), first_difference(raw, expected, found)


def test_special_tokens_are_recognised_only_inside_trusted_pieces(ours, tmp_path):
    oracle = smollm()
    assert "error" not in ours.load(oracle, tmp_path)
    start, end, tool = (oracle.token_to_id(t) for t in ["<|im_start|>", "<|im_end|>", "<tool>"])
    rng = random.Random(8)
    texts = text_samples.generate(2000, seed=8)
    for i in range(0, len(texts) - 3, 3):
        user = texts[i] + rng.choice(["<|im_end|>", "<|im_", "<|im_start|>", "<tool>", ""])
        pieces = [["<|im_start|>", True], [user, False], ["<|im_end|>", True], ["end|><|im_", True], ["start|>", rng.random() < 0.5]]
        ids = ours.expect(op="encode_pieces", pieces=pieces)["ids"]
        assert ids.count(end) == 1
        assert ids.count(start) == 1 + pieces[-1][1]
        assert ids.count(tool) == user.count("<tool>")
    same = ours.expect(op="encode_pieces", pieces=[["Hello, wo", True], ["rld and more", False]])["ids"]
    assert same == oracle.encode("Hello, world and more").ids


@pytest.mark.parametrize("kind", ["gpt2", "qwen2", "o200k by PCRE2", "llama 2, legacy"])
@pytest.mark.parametrize("unit", ["a", "\n", "\u0301", " ", "=", "\u4f60", "a\u0323\u0301", "<"])
def test_a_megabyte_of_one_thing_is_encoded(kind, unit, ours, spm, tmp_path):
    assert "error" not in ours.load(KINDS[kind](spm), tmp_path)
    text = unit * (1000000 // len(unit.encode()))
    ids = ours.expect(op="encode", texts=[text])["ids"]
    decoded = ours.expect(op="decode", ids=ids)["texts"][0]
    if kind == "qwen2":
        text = text.replace("a\u0323\u0301", "\u1ea1\u0301")
    assert decoded == text


@pytest.mark.parametrize("flags", [{}, {"add_bos_token": True, "add_eos_token": True}, {"add_bos_token": False}])
def test_bos_and_eos_are_where_transformers_puts_them(flags, ours, spm, tmp_path):
    transformers = pytest.importorskip("transformers")
    config = {"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "PreTrainedTokenizerFast", **flags}
    assert "error" not in ours.load(sentence_piece(spm), tmp_path, config)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    assert ours.encode(["Hello"], add_special=True) == [theirs("Hello")["input_ids"]]
    facts = ours.expect(op="facts")
    assert (facts["bos"], facts["eos"], facts["adds_bos"]) == (1, 2, True)
    assert facts["end_of_generation"] == [2, spm.get_piece_size() + 1]


def edited(path, value):
    tree = json.loads(gpt2().to_str())
    node = tree
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return json.dumps(tree)


@pytest.mark.parametrize("path,value,named", [
    (["pre_tokenizer"], {"type": "Syllables"}, "Syllables"),
    (["normalizer"], {"type": "Uppercase"}, "Uppercase"),
    (["decoder"], {"type": "Morse"}, "Morse"),
    (["normalizer"], {"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 17}, "normalizer.content"),
    (["normalizer"], {"type": "Replace", "pattern": {"Regex": "("}, "content": "b"}, "normalizer.pattern"),
    (["post_processor"], {"type": "XlnetProcessing"}, "XlnetProcessing"),
    (["model", "type"], "Bigram", "Bigram"),
    (["model", "dropout"], 0.1, "model.dropout"),
    (["model", "continuing_subword_prefix"], "#" * 65, "model.continuing_subword_prefix"),
    (["model", "vocab"], {"a": -1}, "model.vocab"),
    (["model", "vocab"], {"a": 1 << 40}, "model.vocab"),
    (["model", "merges"], [["a", "zzz-not-there"]], "zzz-not-there"),
    (["model", "merges"], ["a"], "model.merges"),
    (["pre_tokenizer"], {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}, "pattern.Regex"),
])
def test_what_it_does_not_know_is_refused_by_name(path, value, named, ours, tmp_path):
    answer = ours.load(edited(path, value), tmp_path)
    assert named in answer.get("error", ""), answer


def test_a_file_that_nests_too_deep_or_is_no_json_is_refused(ours, tmp_path):
    assert "error" in ours.load('{"model":' + "[" * 100000, tmp_path)
    assert "error" in ours.load("[" * 100 + "]" * 100, tmp_path)
    assert "error" in ours.load("", tmp_path)
