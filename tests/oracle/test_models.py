"""Compares normalizers and models of tokenizer.json with the PyPI `tokenizers` library, through the program text_oracle.

MILLRACE_BUILD_DIR     where the build lies (default build/release)
MILLRACE_ORACLE_CASES  strings a kind (default 5,000, a fifth of them for a normalizer; every kind has passed with 100,000)
"""

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

import text_samples
from comparison import CASES, check_decoding, check_long_texts, check_spans, check_untrusted_spans
from model_kinds import KINDS, NORMALIZERS, assembled


def bytes_of_normalized(normalizer):
    """A tokenizer whose tokens are the bytes of the normalized text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return assembled(models.BPE({c: i for i, c in enumerate(alphabet)}, []), normalizer=normalizer, decoder=decoders.ByteLevel(),
                     pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False))


def check_normalizer(ours, normalizer, directory, seed, **options):
    oracle = bytes_of_normalized(normalizer)
    ours.load(oracle, directory)
    check_spans(ours, oracle, text_samples.generate(CASES // 10, seed=seed) + text_samples.normalizable(CASES // 10, seed=seed), **options)


def check_model(ours, oracle, directory, seed):
    oracle = Tokenizer.from_str(oracle.to_str())  # reading numbers changes them a little
    ours.load(oracle, directory)
    texts = text_samples.generate(CASES, seed=seed)
    texts[::5] = text_samples.normalizable(len(texts[::5]), seed=seed)
    check_spans(ours, oracle, texts, trusted=True)
    check_untrusted_spans(ours, oracle, texts)
    check_decoding(ours, oracle, texts[: CASES // 4], seed=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_gives_the_ids_offsets_and_texts_of_the_oracle(kind, ours, tmp_path):
    check_model(ours, KINDS[kind](), tmp_path, kind)


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_a_normalizer_gives_the_text_and_the_offsets_of_the_oracle(kind, ours, tmp_path):
    check_normalizer(ours, NORMALIZERS[kind](), tmp_path, kind)


def test_the_byte_level_normalizer_spells_bytes(ours, tmp_path):
    oracle = bytes_of_normalized(normalizers.ByteLevel())
    oracle.pre_tokenizer = pre_tokenizers.Split(Regex("x"), "isolated")
    ours.load(oracle, tmp_path)
    check_spans(ours, oracle, text_samples.generate(CASES // 10, seed=3))


@pytest.mark.parametrize("kind", ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt", "BertNormalizer", "BertNormalizer, cased"])
def test_a_normalizer_gives_the_oracles_text_for_every_character(kind, ours, tmp_path):
    oracle = bytes_of_normalized(NORMALIZERS[kind]())
    ours.load(oracle, tmp_path)
    characters = [chr(c) for c in [*range(0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)]]
    texts = ["a" + "a".join(characters[i : i + 1024]) for i in range(0, len(characters), 1024)]
    expected = [e.ids for e in oracle.encode_batch(texts, add_special_tokens=False)]
    found = ours.encode(texts)
    for text, e, f in zip(texts, expected, found):
        assert e == f, "between U+%04X and U+%04X" % (ord(text[1]), ord(text[-1]))


LONG_KINDS = ["BERT uncased", "WordLevel", "Unigram", "Unigram, unsplit", "XLM-R", "T5", "ALBERT", "Gemma"]


@pytest.mark.parametrize("kind", LONG_KINDS)
def test_a_long_text_of_one_thing_is_encoded(kind, ours, tmp_path):
    ours.load(KINDS[kind](), tmp_path)
    check_long_texts(ours)
