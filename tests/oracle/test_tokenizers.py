"""Compares our tokenizers with the PyPI `tokenizers` and `sentencepiece` libraries, through the program text_oracle.

MILLRACE_BUILD_DIR     where the build lies (default build/release)
MILLRACE_TEST_MODEL    a GGUF file whose vocabulary is compared too (optional; needs the PyPI library `gguf`)
MILLRACE_ORACLE_CASES  strings a kind (default 5,000; every kind has passed with 100,000)
"""

import json
import os
import random

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

import text_samples
from bpe_kinds import BYTES, KINDS, PLAIN_ADDED, byte_level, gpt2, llama2, llama2_vocabulary, llama3, qwen2, sequence, smollm
from comparison import CASES, check_decoding, check_encoding, check_same, check_spans
from model_kinds import assembled, gguf_pieces


@pytest.mark.parametrize("kind", KINDS)
def test_tokenizer_json_gives_the_ids_and_texts_of_the_oracle(kind, ours, tmp_path):
    oracle = KINDS[kind]()
    ours.load(oracle, tmp_path)
    texts = text_samples.generate(CASES, seed=kind)
    check_encoding(ours, oracle, texts)
    check_encoding(ours, oracle, texts[:1000] + [""], add_special=True)
    check_spans(ours, oracle, texts)
    check_spans(ours, oracle, texts[:1000] + [""], add_special=True)
    check_decoding(ours, oracle, texts[:4000], seed=kind)


@pytest.mark.parametrize("behavior", ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"])
@pytest.mark.parametrize("pattern", [Regex(r"\d+|[aeiou]|\s"), Regex(r"(?=[aeiou])|\d*"), Regex(r"\w+(?=\W)|\b[^\w\s]+"), "a"])
@pytest.mark.parametrize("invert", [False, True])
def test_every_split_behavior_is_the_oracles(behavior, pattern, invert, ours, tmp_path):
    oracle = byte_level(sequence(pre_tokenizers.Split(pattern, behavior, invert), BYTES))
    ours.load(oracle, tmp_path)
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
    ours.load_gguf(tmp_path, **gguf_dump(oracle, "gpt2", pre))
    texts = text_samples.generate(CASES, seed=pre)
    check_encoding(ours, oracle, texts)
    check_decoding(ours, oracle, texts[:4000], seed=pre)


def test_every_name_of_a_gguf_pre_tokenizer_gives_the_ids_of_the_oracle(ours, tmp_path):
    base = json.loads(gpt2(added=PLAIN_ADDED).to_str())
    texts = text_samples.generate(max(CASES // 10, 300), seed=11)
    for pre in ours.expect(op="gguf_pre")["names"]:
        base["pre_tokenizer"], base["normalizer"] = pre["pre_tokenizer"], pre["normalizer"]
        base["model"]["ignore_merges"] = pre["ignore_merges"]
        oracle = Tokenizer.from_str(json.dumps(base))
        ours.load_gguf(tmp_path, **gguf_dump(oracle, "gpt2", pre["name"]))
        check_encoding(ours, oracle, texts)


def test_gguf_sentence_piece_gives_the_ids_of_both_oracles(ours, tmp_path):
    processor = llama2_vocabulary()
    ours.load_gguf(tmp_path, model="llama", pre="default", **gguf_pieces(processor), bos=1, eos=2, unk=0)
    texts = [t.replace("\x00", "") for t in text_samples.generate(CASES, seed=5)]
    found = ours.encode(texts, trusted=False)
    expected = processor.encode(texts)
    check_same(texts, expected, found)
    # The converted tokenizer breaks ties inside runs of one character in another order; elsewhere it must agree.
    oracle = llama2(added=[])
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
    oracle = assembled(
        models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]), decoder=decoders.ByteLevel(),
        pre_tokenizer=sequence(pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)))
    oracle.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, kind in zip(tokens, types) if kind == 3])
    ours.load_gguf(tmp_path, model="gpt2", pre="smollm", tokens=tokens, token_types=types, merges=merges)
    texts = text_samples.generate(CASES, seed=6)
    check_encoding(ours, oracle, texts)
    check_decoding(ours, oracle, texts[:4000], seed=6)
    assert ours.load(oracle, tmp_path).get("kind") == "byte-level BPE"
    check_encoding(ours, oracle, texts[:2000])


def test_bytes_that_are_not_utf8_are_replaced_as_python_does(ours, tmp_path):
    oracle = gpt2()
    ours.load(oracle, tmp_path)
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
    check_same(raw, expected, found)


def test_special_tokens_are_recognised_only_inside_trusted_pieces(ours, tmp_path):
    oracle = smollm()
    ours.load(oracle, tmp_path)
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
def test_a_megabyte_of_one_thing_is_encoded(kind, unit, ours, tmp_path):
    ours.load(KINDS[kind](), tmp_path)
    text = unit * (1000000 // len(unit.encode()))
    ids = ours.expect(op="encode", texts=[text])["ids"]
    decoded = ours.expect(op="decode", ids=ids)["texts"][0]
    if kind == "qwen2":
        text = text.replace("a\u0323\u0301", "\u1ea1\u0301")
    assert decoded == text


@pytest.mark.parametrize("flags", [{}, {"add_bos_token": True, "add_eos_token": True}, {"add_bos_token": False}])
def test_bos_and_eos_are_where_transformers_puts_them(flags, ours, tmp_path):
    transformers = pytest.importorskip("transformers")
    config = {"bos_token": "<s>", "eos_token": "</s>", "tokenizer_class": "PreTrainedTokenizerFast", **flags}
    ours.load(llama2(), tmp_path, config)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    assert ours.encode(["Hello"], add_special=True) == [theirs("Hello")["input_ids"]]
    facts = ours.expect(op="facts")
    assert (facts["bos"], facts["eos"], facts["adds_bos"]) == (1, 2, True)
    assert facts["end_of_generation"] == [2, llama2_vocabulary().get_piece_size() + 1]


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
    (["normalizer"], {"type": "Replace", "pattern": {"String": "a"}, "content": "b" * 17}, "/normalizer/content"),
    (["normalizer"], {"type": "Replace", "pattern": {"Regex": "("}, "content": "b"}, "/normalizer/pattern/Regex"),
    (["post_processor"], {"type": "XlnetProcessing"}, "XlnetProcessing"),
    (["model", "type"], "Bigram", "Bigram"),
    (["model", "dropout"], 0.1, "/model/dropout"),
    (["model", "continuing_subword_prefix"], "#" * 65, "/model/continuing_subword_prefix"),
    (["model", "vocab"], {"a": -1}, "/model/vocab/a"),
    (["model", "vocab"], {"a": 1 << 40}, "/model/vocab/a"),
    (["model", "merges"], [["a", "zzz-not-there"]], "zzz-not-there"),
    (["model", "merges"], ["a"], "/model/merges/0"),
    (["pre_tokenizer"], {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Isolated", "invert": False}, "/pre_tokenizer/pattern/Regex"),
])
def test_what_it_does_not_know_is_refused_by_name(path, value, named, ours, tmp_path):
    assert named in ours.load(edited(path, value), tmp_path, ok=False)["error"]


def test_a_file_that_nests_too_deep_or_is_no_json_is_refused(ours, tmp_path):
    assert "error" in ours.load('{"model":' + "[" * 100000, tmp_path, ok=False)
    assert "error" in ours.load("[" * 100 + "]" * 100, tmp_path, ok=False)
    assert "error" in ours.load("", tmp_path, ok=False)
