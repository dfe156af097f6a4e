"""Compares normalizers and models with the PyPI `tokenizers` and `sentencepiece` libraries, through the program text_oracle.

MILLRACE_BUILD_DIR     where the build lies (default build/release)
MILLRACE_ORACLE_CASES  strings a kind (default 5,000; every kind has passed with 100,000)
"""

import json
import os

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

import text_samples
from test_tokenizers import Ours, first_difference, ours  # noqa: F401 (a fixture)

CASES = int(os.environ.get("MILLRACE_ORACLE_CASES", 5000))
SPACE = "\u2581"


def character_spans(text, spans):
    """Byte offsets as offsets of characters."""
    index, at = {}, 0
    for i, c in enumerate(text):
        index[at] = i
        at += len(c.encode())
    index[at] = len(text)
    return [(index[b], index[e]) for b, e in spans]


def check_spans(ours, oracle, texts, **options):
    """Ids and offsets."""
    expected = [(e.ids, e.offsets) for e in oracle.encode_batch(texts, add_special_tokens=False)]
    found = []
    for i in range(0, len(texts), 2000):
        answer = ours.expect(op="encode_spans", texts=texts[i : i + 2000], **options)
        found += [(a, character_spans(t, s)) for t, a, s in zip(texts[i:], answer["ids"], answer["spans"])]
    assert not first_difference(texts, expected, found), first_difference(texts, expected, found)


def bytes_of_normalized(normalizer):
    """A tokenizer whose tokens are the bytes of the normalized text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({c: i for i, c in enumerate(alphabet)}, []))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sequence(*parts):
    return normalizers.Sequence(list(parts))


def bert(**options):
    return normalizers.BertNormalizer(**options)


NORMALIZERS = {
    "NFC": lambda: normalizers.NFC(),
    "NFD": lambda: normalizers.NFD(),
    "NFKC": lambda: normalizers.NFKC(),
    "NFKD": lambda: normalizers.NFKD(),
    "Lowercase": lambda: normalizers.Lowercase(),
    "Strip": lambda: normalizers.Strip(),
    "Strip left": lambda: normalizers.Strip(left=True, right=False),
    "Strip right": lambda: normalizers.Strip(left=False, right=True),
    "StripAccents": lambda: normalizers.StripAccents(),
    "Nmt": lambda: normalizers.Nmt(),
    "Prepend": lambda: normalizers.Prepend(SPACE),
    "Replace": lambda: normalizers.Replace(" ", SPACE),
    "Replace by nothing": lambda: normalizers.Replace("a", ""),
    "Replace spaces": lambda: normalizers.Replace(Regex(" {2,}"), " "),
    "Replace white space": lambda: normalizers.Replace(Regex(r"\s+"), "ab"),
    "BertNormalizer": lambda: bert(),
    "BertNormalizer, cased": lambda: bert(lowercase=False),
    "BertNormalizer, accents": lambda: bert(strip_accents=False),
    "BertNormalizer, Chinese only": lambda: bert(clean_text=False, lowercase=False),
    "BertNormalizer, nothing": lambda: bert(clean_text=False, handle_chinese_chars=False, lowercase=False),
    "ALBERT": lambda: sequence(normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
                               normalizers.Lowercase(), normalizers.Replace(Regex(" {2,}"), " ")),
    "XLM-R": lambda: sequence(normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")),
    "DeBERTa-v2": lambda: sequence(normalizers.Strip(), normalizers.NFKC(), normalizers.Lowercase()),
    "Gemma": lambda: normalizers.Replace(" ", SPACE),
    "Llama": lambda: sequence(normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)),
    "CLIP": lambda: sequence(normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()),
    "marks of marks": lambda: sequence(normalizers.NFKD(), normalizers.NFC(), normalizers.Strip(), normalizers.NFD(), normalizers.StripAccents()),
}


def check_normalizer(ours, normalizer, directory, seed, **options):
    oracle = bytes_of_normalized(normalizer)
    loaded = ours.load(oracle, directory)
    assert "error" not in loaded, loaded
    check_spans(ours, oracle, text_samples.generate(CASES, seed=seed) + text_samples.normalizable(CASES, seed=seed), **options)


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_a_normalizer_gives_the_text_and_the_offsets_of_the_oracle(kind, ours, tmp_path):
    check_normalizer(ours, NORMALIZERS[kind](), tmp_path, kind)


def test_the_byte_level_normalizer_spells_bytes(ours, tmp_path):
    oracle = bytes_of_normalized(normalizers.ByteLevel())
    oracle.pre_tokenizer = pre_tokenizers.Split(Regex("x"), "isolated")
    assert "error" not in ours.load(oracle, tmp_path)
    check_spans(ours, oracle, text_samples.generate(CASES, seed=3))


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_a_normalizer_gives_the_oracles_text_for_every_character(kind, ours, tmp_path):
    oracle = bytes_of_normalized(NORMALIZERS[kind]())
    assert "error" not in ours.load(oracle, tmp_path)
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    texts = ["a" + "a".join(characters[i : i + 1024]) for i in range(0, len(characters), 1024)]
    expected = [e.ids for e in oracle.encode_batch(texts, add_special_tokens=False)]
    found = ours.encode(texts)
    for text, e, f in zip(texts, expected, found):
        assert e == f, "between U+%04X and U+%04X" % (ord(text[1]), ord(text[-1]))
