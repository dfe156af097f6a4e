"""Compares normalizers and models with the PyPI `tokenizers` and `sentencepiece` libraries, through the program text_oracle.

MILLRACE_BUILD_DIR     where the build lies (default build/release)
MILLRACE_ORACLE_CASES  strings a kind (default 5,000; every kind has passed with 100,000)
"""

import collections
import json
import os

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import text_samples
from test_tokenizers import check_decoding, first_difference, ours  # noqa: F401 (a fixture)

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
    check_spans(ours, oracle, text_samples.generate(CASES // 10, seed=seed) + text_samples.normalizable(CASES // 10, seed=seed), **options)


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_a_normalizer_gives_the_text_and_the_offsets_of_the_oracle(kind, ours, tmp_path):
    check_normalizer(ours, NORMALIZERS[kind](), tmp_path, kind)


def test_the_byte_level_normalizer_spells_bytes(ours, tmp_path):
    oracle = bytes_of_normalized(normalizers.ByteLevel())
    oracle.pre_tokenizer = pre_tokenizers.Split(Regex("x"), "isolated")
    assert "error" not in ours.load(oracle, tmp_path)
    check_spans(ours, oracle, text_samples.generate(CASES // 10, seed=3))


@pytest.mark.parametrize("kind", ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt", "BertNormalizer", "BertNormalizer, cased"])
def test_a_normalizer_gives_the_oracles_text_for_every_character(kind, ours, tmp_path):
    oracle = bytes_of_normalized(NORMALIZERS[kind]())
    assert "error" not in ours.load(oracle, tmp_path)
    characters = [chr(c) for c in [*range(0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200)]]
    texts = ["a" + "a".join(characters[i : i + 1024]) for i in range(0, len(characters), 1024)]
    expected = [e.ids for e in oracle.encode_batch(texts, add_special_tokens=False)]
    found = ours.encode(texts)
    for text, e, f in zip(texts, expected, found):
        assert e == f, "between U+%04X and U+%04X" % (ord(text[1]), ord(text[-1]))


SPECIALS = ["<unk>", "<s>", "</s>", "<pad>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
ADDED = [AddedToken("<|im_end|>", special=True, normalized=False), AddedToken("<tool>", special=False, normalized=False),
         AddedToken("<mask>", special=True, normalized=False, lstrip=True), AddedToken("Word", special=False, normalized=True, single_word=True)]


def lines_of_few_characters(normalizer=None, most=250):
    """Training text of the commonest characters only: small vocabularies must hold them all."""
    lines = [line.replace("<", "") for line in text_samples.training_lines()]  # no special token is a word
    if normalizer:
        lines = [normalizer.normalize_str(line) for line in lines]
    common = {c for c, _ in collections.Counter("".join(lines)).most_common(most)}
    return ["".join(c for c in line if c in common) for line in lines]


def trained(model, trainer, normalizer=None, pre_tokenizer=None, decoder=None, post_processor=None, added=ADDED):
    tokenizer = Tokenizer(model)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    if decoder:
        tokenizer.decoder = decoder
    if post_processor:
        tokenizer.post_processor = post_processor
    tokenizer.train_from_iterator(lines_of_few_characters(normalizer), trainer)
    tokenizer.add_tokens(added)
    return tokenizer


def word_piece(prefix="##", max_characters=100, size=1500, **parts):
    model = models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=max_characters, continuing_subword_prefix=prefix)
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=SPECIALS[4:], continuing_subword_prefix=prefix, show_progress=False)
    parts.setdefault("pre_tokenizer", pre_tokenizers.BertPreTokenizer())
    parts.setdefault("decoder", decoders.WordPiece(prefix=prefix))
    return trained(model, trainer, **parts)


def bert_tokenizer(**options):
    frame = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return word_piece(normalizer=bert(**options), post_processor=frame)


def word_level(**parts):
    trainer = trainers.WordLevelTrainer(vocab_size=300, special_tokens=SPECIALS[:4], show_progress=False)
    return trained(models.WordLevel(unk_token="<unk>"), trainer, **parts)


def unigram(**parts):
    trainer = trainers.UnigramTrainer(vocab_size=1200, special_tokens=SPECIALS[:4], unk_token="<unk>", show_progress=False)
    parts.setdefault("pre_tokenizer", pre_tokenizers.Metaspace())
    parts.setdefault("decoder", decoders.Metaspace())
    return trained(models.Unigram(), trainer, **parts)


def with_bytes(tokenizer):
    """The same with byte fallback."""
    tree = json.loads(tokenizer.to_str())
    model = tree["model"]
    model["byte_fallback"] = True
    used = len(model["vocab"])
    model["vocab"] += [["<0x%02X>" % b, -20.0] for b in range(256)]
    for token in tree["added_tokens"]:
        if token["id"] >= used:
            token["id"] += 256
    tree["decoder"] = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}]}
    return Tokenizer.from_str(json.dumps(tree))


def gemma():
    """BPE over characters, unknown ones as bytes, spaces rewritten by the normalizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=SPECIALS[:4] + ["<0x%02X>" % b for b in range(256)], limit_alphabet=200, show_progress=False)
    tokenizer.train_from_iterator(lines_of_few_characters(), trainer)
    # Bytes are tokens of the model, but not to be looked for in text.
    tree = json.loads(tokenizer.to_str())
    tree["added_tokens"] = tree["added_tokens"][:4]
    tokenizer = Tokenizer.from_str(json.dumps(tree))
    tokenizer.add_tokens(ADDED)
    return tokenizer


KINDS = {
    "BERT uncased": lambda: bert_tokenizer(),
    "BERT cased": lambda: bert_tokenizer(lowercase=False),
    "WordPiece, other prefix and limit": lambda: word_piece(prefix="@@", max_characters=7, size=700, pre_tokenizer=pre_tokenizers.WhitespaceSplit()),
    "WordPiece without prefix": lambda: word_piece(prefix="", size=700, pre_tokenizer=pre_tokenizers.Whitespace()),
    "WordLevel": lambda: word_level(normalizer=normalizers.Lowercase(), pre_tokenizer=pre_tokenizers.Whitespace()),
    "Unigram": lambda: unigram(),
    "Unigram by words": lambda: unigram(pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])),
    "Unigram, unsplit": lambda: unigram(pre_tokenizer=pre_tokenizers.Metaspace(split=False)),
    "Unigram of bytes": lambda: unigram(pre_tokenizer=pre_tokenizers.ByteLevel(), decoder=decoders.ByteLevel()),
    "Unigram, unknown bytes": lambda: with_bytes(unigram()),
    "ALBERT": lambda: unigram(normalizer=NORMALIZERS["ALBERT"]()),
    "XLM-R before Precompiled": lambda: unigram(normalizer=NORMALIZERS["XLM-R"]()),
    "DeBERTa-v2": lambda: unigram(normalizer=NORMALIZERS["DeBERTa-v2"]()),
    "Gemma": lambda: gemma(),
}


def untrusted_twin(tokenizer):
    """The same tokenizer, in which no text is a special token: what untrusted text must give.

    (The oracle's own encode_special_tokens still lets the model find them in its vocabulary.)
    """
    tree = json.loads(tokenizer.to_str())
    names = {}
    for token in tree["added_tokens"]:
        if token["special"]:
            names[token["content"]] = "\U0010fff0%d" % token["id"]
            token["content"] = names[token["content"]]
    model = tree["model"]
    if isinstance(model["vocab"], dict):
        model["vocab"] = {names.get(text, text): i for text, i in model["vocab"].items()}
    else:
        model["vocab"] = [[names.get(text, text), score] for text, score in model["vocab"]]
    if model.get("unk_token"):
        model["unk_token"] = names.get(model["unk_token"], model["unk_token"])
    tree["post_processor"] = None
    return Tokenizer.from_str(json.dumps(tree))


def check_model(ours, oracle, directory, seed):
    oracle = Tokenizer.from_str(oracle.to_str())  # reading numbers changes them a little
    loaded = ours.load(oracle, directory)
    assert "error" not in loaded, loaded
    texts = text_samples.generate(CASES, seed=seed)
    texts[::5] = text_samples.normalizable(len(texts[::5]), seed=seed)
    check_spans(ours, oracle, texts, trusted=True)
    check_spans(ours, untrusted_twin(oracle), texts, trusted=False)
    check_decoding(ours, oracle, texts[: CASES // 4], seed=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_gives_the_ids_offsets_and_texts_of_the_oracle(kind, ours, tmp_path):
    check_model(ours, KINDS[kind](), tmp_path, kind)
