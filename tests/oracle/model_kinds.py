"""Tokenizers for the tests of normalizers and models, trained on generated text: what they are made of, and how."""

import collections
import functools
import io
import json

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import protobuf
import text_samples

SPACE = "\u2581"


def sequence(*parts):
    return normalizers.Sequence(list(parts))


def bert(**options):
    return normalizers.BertNormalizer(**options)


NORMALIZERS = {
    "NFC": normalizers.NFC,
    "NFD": normalizers.NFD,
    "NFKC": normalizers.NFKC,
    "NFKD": normalizers.NFKD,
    "Lowercase": normalizers.Lowercase,
    "Strip": normalizers.Strip,
    "Strip left": lambda: normalizers.Strip(left=True, right=False),
    "Strip right": lambda: normalizers.Strip(left=False, right=True),
    "StripAccents": normalizers.StripAccents,
    "Nmt": normalizers.Nmt,
    "Prepend": lambda: normalizers.Prepend(SPACE),
    "Replace": lambda: normalizers.Replace(" ", SPACE),
    "Replace by nothing": lambda: normalizers.Replace("a", ""),
    "Replace spaces": lambda: normalizers.Replace(Regex(" {2,}"), " "),
    "Replace white space": lambda: normalizers.Replace(Regex(r"\s+"), "ab"),
    "BertNormalizer": bert,
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


SPECIALS = ["<unk>", "<s>", "</s>", "<pad>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
ADDED = [AddedToken("<|im_end|>", special=True, normalized=False), AddedToken("<tool>", special=False, normalized=False),
         AddedToken("<mask>", special=True, normalized=False, lstrip=True), AddedToken("Word", special=False, normalized=True, single_word=True)]


def lines_of_few_characters(normalizer=None, most=250):
    """Training text of the commonest characters only: small vocabularies must hold them all."""
    lines = [line.replace("<", "").replace(SPACE, "") for line in text_samples.training_lines()]  # no special token is a word
    if normalizer:
        lines = [normalizer.normalize_str(line) for line in lines]
    common = {c for c, _ in collections.Counter("".join(lines)).most_common(most)}
    return ["".join(c for c in line if c in common) for line in lines]


def assembled(model, **parts):
    """A tokenizer of these parts: normalizer, pre_tokenizer, decoder, post_processor."""
    tokenizer = Tokenizer(model)
    for name, part in parts.items():
        if part is not None:
            setattr(tokenizer, name, part)
    return tokenizer


def trained(model, trainer, normalizer=None, added=ADDED, **parts):
    tokenizer = assembled(model, normalizer=normalizer, **parts)
    tokenizer.train_from_iterator(lines_of_few_characters(normalizer), trainer)
    tokenizer.add_tokens(added)
    return tokenizer


def word_piece(prefix="##", max_characters=100, size=1500, **parts):
    model = models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=max_characters, continuing_subword_prefix=prefix)
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=SPECIALS[4:], continuing_subword_prefix=prefix, show_progress=False)
    parts.setdefault("pre_tokenizer", pre_tokenizers.BertPreTokenizer())
    parts.setdefault("decoder", decoders.WordPiece(prefix=prefix))
    return trained(model, trainer, **parts)


def bert_tokenizer(added=ADDED, **options):
    frame = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return word_piece(normalizer=bert(**options), post_processor=frame, added=added)


def word_level(**parts):
    trainer = trainers.WordLevelTrainer(vocab_size=300, special_tokens=SPECIALS[:4], show_progress=False)
    return trained(models.WordLevel(unk_token="<unk>"), trainer, **parts)


@functools.cache
def unigram_vocabulary(splits_bytes=False):
    trainer = trainers.UnigramTrainer(vocab_size=1200, special_tokens=SPECIALS[:4], unk_token="<unk>", show_progress=False)
    pre_tokenizer = pre_tokenizers.ByteLevel() if splits_bytes else pre_tokenizers.Metaspace()
    model = json.loads(trained(models.Unigram(), trainer, pre_tokenizer=pre_tokenizer, added=[]).to_str())["model"]
    return [tuple(entry) for entry in model["vocab"]]


def with_added_tokens(tokenizer, specials, added=ADDED):
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in specials])
    tokenizer.add_tokens(added)
    return tokenizer


def unigram(vocabulary=None, pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(), normalizer=None):
    model = models.Unigram(vocabulary or unigram_vocabulary(), unk_id=0)
    return with_added_tokens(assembled(model, normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoder), SPECIALS[:4])


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
    tokenizer = assembled(
        models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        normalizer=normalizers.Replace(" ", SPACE), pre_tokenizer=pre_tokenizers.Split(" ", "merged_with_previous"),
        decoder=decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]))
    trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=SPECIALS[:4] + ["<0x%02X>" % b for b in range(256)], limit_alphabet=200, show_progress=False)
    tokenizer.train_from_iterator(lines_of_few_characters(), trainer)
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


def sentence_piece_model(lines, **options):
    """The contents of a tokenizer.model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, num_threads=1, minloglevel=2, **options)
    return model.getvalue()


@functools.cache
def sentence_piece(kind):
    """(contents of tokenizer.model, processor)"""
    lines = [line.replace("\n", " ").replace("\r", " ").replace("\x00", "") for line in lines_of_few_characters(most=300)]
    options = dict(model_type="unigram", vocab_size=800, split_digits=True, character_coverage=0.99)
    model = sentence_piece_model(lines, **{**options, **SPM_KINDS[kind]})
    return model, sentencepiece.SentencePieceProcessor(model_proto=model)


def gguf_pieces(processor, user_defined=()):
    """What a GGUF file says of the pieces of a SentencePiece model."""

    def type_of(i):
        if processor.id_to_piece(i) in user_defined:
            return 4
        return 2 if processor.is_unknown(i) else 3 if processor.is_control(i) else 6 if processor.is_byte(i) else 1

    ids = range(processor.get_piece_size())
    return dict(tokens=[processor.id_to_piece(i) for i in ids], scores=[processor.get_score(i) for i in ids], token_types=[type_of(i) for i in ids])


def precompiled(kind="unigram"):
    return normalizers.Precompiled(protobuf.charsmap_of(sentence_piece(kind)[0]))


def converted(normalizer, pre_tokenizer, kind="unigram"):
    """A Unigram tokenizer.json as Transformers makes it from a SentencePiece model."""
    _, processor = sentence_piece(kind)
    vocab = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(processor.get_piece_size())]
    model = models.Unigram(vocab, unk_id=processor.unk_id(), byte_fallback="<0x00>" in dict(vocab))
    tokenizer = assembled(model, normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoders.Metaspace())
    return with_added_tokens(tokenizer, SPECIALS[:3])


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
    "BERT uncased": bert_tokenizer,
    "BERT cased": lambda: bert_tokenizer(lowercase=False),
    "WordPiece, other prefix and limit": lambda: word_piece(prefix="@@", max_characters=7, size=700, pre_tokenizer=pre_tokenizers.WhitespaceSplit()),
    "WordPiece without prefix": lambda: word_piece(prefix="", size=700, pre_tokenizer=pre_tokenizers.Whitespace()),
    "WordLevel": lambda: word_level(normalizer=normalizers.Lowercase(), pre_tokenizer=pre_tokenizers.Whitespace()),
    "Unigram": unigram,
    "Unigram by words": lambda: unigram(pre_tokenizer=pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])),
    "Unigram, unsplit": lambda: unigram(pre_tokenizer=pre_tokenizers.Metaspace(split=False)),
    "Unigram of bytes": lambda: unigram(unigram_vocabulary(True), pre_tokenizer=pre_tokenizers.ByteLevel(), decoder=decoders.ByteLevel()),
    "Unigram, unknown bytes": lambda: with_bytes(unigram()),
    "Unigram, NFKC": lambda: unigram(normalizer=NORMALIZERS["XLM-R"]()),
    "Gemma": gemma,
    **CONVERTED,
}

