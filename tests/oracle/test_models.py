"""Compares normalizers and models with the PyPI `tokenizers` and `sentencepiece` libraries, through the program text_oracle.

MILLRACE_BUILD_DIR     where the build lies (default build/release)
MILLRACE_ORACLE_CASES  strings a kind (default 5,000; every kind has passed with 100,000)
"""

import collections
import functools
import io
import json
import os
import random

import pytest
import sentencepiece
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


# SentencePiece models: what they are trained with.
SPM_KINDS = {
    "unigram": dict(),
    "unigram identity": dict(normalization_rule_name="identity", remove_extra_whitespaces=False),
    "unigram nfkc": dict(normalization_rule_name="nfkc", byte_fallback=True),
    "unigram nmt_nfkc_cf": dict(normalization_rule_name="nmt_nfkc_cf", add_dummy_prefix=False),
    "unigram suffix": dict(treat_whitespace_as_suffix=True),
    "unigram symbols": dict(user_defined_symbols=["<tool>", "ab", "th", "\u4f60\u597d", "\ufb01"], control_symbols=["<ctl>"], unk_surface="?"),
    "unigram spaces": dict(remove_extra_whitespaces=False, byte_fallback=True, user_defined_symbols=["\u2581\u2581"]),
    "bpe": dict(model_type="bpe"),
    "bpe identity": dict(model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True),
    "bpe nfkc": dict(model_type="bpe", normalization_rule_name="nfkc", add_dummy_prefix=False),
    "bpe nmt_nfkc_cf": dict(model_type="bpe", normalization_rule_name="nmt_nfkc_cf", byte_fallback=True),
    "bpe suffix": dict(model_type="bpe", treat_whitespace_as_suffix=True, remove_extra_whitespaces=False),
    "bpe symbols": dict(model_type="bpe", user_defined_symbols=["<tool>", "ab", "th", "\u4f60\u597d", "\ufb01"], control_symbols=["<ctl>"]),
    "bpe plain": dict(model_type="bpe", normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
                      user_defined_symbols=["\n", "\t"], byte_fallback=True),
}


@functools.cache
def sentence_piece(kind, **more):
    """(contents of tokenizer.model, processor)"""
    options = dict(model_type="unigram", vocab_size=800, num_threads=1, minloglevel=2, split_digits=True, character_coverage=0.99)
    lines = [line.replace("\n", " ").replace("\r", " ").replace("\x00", "") for line in lines_of_few_characters(most=300)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, **{**options, **SPM_KINDS[kind], **more})
    return model.getvalue(), sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def protobuf_fields(message):
    """[(number, value)]"""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    at, fields = 0, []
    while at < len(message):
        key = varint()
        if key & 7 == 0:
            fields.append((key >> 3, varint()))
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            fields.append((key >> 3, message[at : at + size]))
            at += size
    return fields


def charsmap_of(model):
    spec = dict(protobuf_fields(model))[3]
    return dict(protobuf_fields(spec)).get(2, b"")


def precompiled(kind="unigram"):
    return normalizers.Precompiled(charsmap_of(sentence_piece(kind)[0]))


def converted(normalizer, pre_tokenizer, kind="unigram", added=ADDED):
    """A Unigram tokenizer.json as Transformers makes it from a SentencePiece model."""
    _, processor = sentence_piece(kind)
    vocab = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(processor.get_piece_size())]
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=processor.unk_id(), byte_fallback="<0x00>" in dict(vocab)))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in SPECIALS[:3]])
    tokenizer.add_tokens(added)
    return tokenizer


SPACES = Regex(" {2,}")
CONVERTED = {
    "XLM-R": lambda: converted(sequence(precompiled(), normalizers.Replace(SPACES, " ")),
                               pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])),
    "T5": lambda: converted(sequence(precompiled(), normalizers.Strip(left=False), normalizers.Replace(SPACES, SPACE)), pre_tokenizers.Metaspace()),
    "mT5": lambda: converted(precompiled("unigram nfkc"), pre_tokenizers.Metaspace(), kind="unigram nfkc"),
    "mBART": lambda: converted(sequence(normalizers.Replace(Regex("[\\n\\r\\t]"), " "), precompiled("unigram"), normalizers.Replace(SPACES, " ")),
                               pre_tokenizers.Metaspace()),
    "ALBERT": lambda: converted(sequence(*list(NORMALIZERS["ALBERT"]())[:-1], precompiled("unigram"), normalizers.Replace(SPACES, " ")), pre_tokenizers.Metaspace()),
    "DeBERTa-v2": lambda: converted(sequence(normalizers.Strip(), precompiled("unigram nmt_nfkc_cf"), normalizers.Replace(SPACES, " ")), pre_tokenizers.Metaspace(),
                                    kind="unigram nmt_nfkc_cf"),
}
for rules in ["unigram", "unigram nfkc", "unigram nmt_nfkc_cf"]:
    NORMALIZERS["Precompiled, " + rules] = functools.partial(precompiled, rules)
    NORMALIZERS["Precompiled among others, " + rules] = lambda rules=rules: sequence(normalizers.NFD(), precompiled(rules), normalizers.Lowercase())

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
    "Unigram, NFKC": lambda: unigram(normalizer=NORMALIZERS["XLM-R"]()),
    "Gemma": lambda: gemma(),
    **CONVERTED,
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


def load_model(ours, directory, model, config=None):
    path = directory / "tokenizer.model"
    path.write_bytes(model)
    config_path = ""
    if config is not None:
        config_path = directory / "tokenizer_config.json"
        config_path.write_text(json.dumps(config))
    return ours.ask(op="load_model", model=str(path), config=str(config_path))


def check_sentence_piece(ours, processor, seed):
    """Ids, and texts of tokens cut anywhere and of any tokens. SentencePiece never takes text for a control token."""
    texts = text_samples.generate(CASES, seed=seed)
    texts[::5] = text_samples.normalizable(len(texts[::5]), seed=seed)
    texts = [text.replace("\x00", "") for text in texts]
    expected = processor.encode(texts)
    found = ours.encode(texts, trusted=False)
    assert not first_difference(texts, expected, found), first_difference(texts, expected, found)
    rng = random.Random(seed)
    # Control tokens are left out before there is a text, where SentencePiece makes nothing of them later.
    tokens = [i for i in range(processor.get_piece_size()) if not processor.is_control(i)]
    sequences = [ids[rng.randrange(len(ids) + 1) :] for ids in expected[: CASES // 4]]
    sequences += [rng.choices(tokens, k=rng.randint(1, 12)) for _ in range(2000)]
    sequences += [rng.choices(tokens[:270], k=rng.randint(1, 12)) for _ in range(2000)]  # bytes, if there are
    expected = processor.decode(sequences)
    answer = ours.expect(op="decode", ids=sequences, skip_special=True)
    assert not first_difference(sequences, expected, answer["texts"]), first_difference(sequences, expected, answer["texts"])
    assert all(answer["streamed"]), sequences[answer["streamed"].index(False)]


@pytest.mark.parametrize("kind", SPM_KINDS)
def test_a_tokenizer_model_gives_the_ids_and_texts_of_sentencepiece(kind, ours, tmp_path):
    model, processor = sentence_piece(kind)
    loaded = load_model(ours, tmp_path, model)
    assert "error" not in loaded, loaded
    check_sentence_piece(ours, processor, kind)
