"""BPE tokenizers for the tests, trained on generated text: the expressions that cut it into words, and how they are built."""

import functools
import json

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import text_samples
from model_kinds import SPACE, assembled, sentence_piece_model, with_added_tokens

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
    tokenizer = assembled(models.BPE(), normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoders.ByteLevel())
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
    post_processor = processors.RobertaProcessing(("t", 83), ("e", 68), trim_offsets=True, add_prefix_space=False)
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), post_processor=post_processor)


def qwen2(added=FLAGGED_ADDED):
    return byte_level(split_by(QWEN2), normalizer=normalizers.NFC(), added=added)


@functools.cache
def llama2_vocabulary():
    """A SentencePiece model such as Llama 2's."""
    lines = [line.replace("\n", " ").replace("\r", " ") for line in text_samples.training_lines()]
    return sentencepiece.SentencePieceProcessor(model_proto=sentence_piece_model(
        lines, model_type="bpe", vocab_size=1400, byte_fallback=True, character_coverage=0.98, normalization_rule_name="identity",
        remove_extra_whitespaces=False, add_dummy_prefix=True, split_digits=True, allow_whitespace_only_pieces=True))


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


def llama2(legacy=True, scheme=None, split=False, words=False, added=FLAGGED_ADDED):
    vocab, merges = merges_of(llama2_vocabulary())
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
    with_added_tokens(tokenizer, ["<unk>", "<s>", "</s>"], added)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return tokenizer


KINDS = {
    "gpt2": gpt2,
    "gpt2 with a prefix space": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "smollm": smollm,
    "llama3": llama3,
    "qwen2": qwen2,
    "qwen3.5": lambda: byte_level(split_by(QWEN35)),
    "o200k": lambda: byte_level(split_by(O200K)),
    "tekken": lambda: byte_level(split_by(TEKKEN), ignore_merges=True),
    "bloom": lambda: byte_level(split_by(BLOOM)),
    "deepseek v3": lambda: byte_level(split_by(r"\p{N}{1,3}", CJK, DEEPSEEK_V3)),
    "deepseek coder": deepseek_coder,
    "falcon": falcon,
    "o200k by PCRE2": lambda: byte_level(split_by(O200K_ALIKE)),
    "kimi by PCRE2": lambda: byte_level(split_by(KIMI)),
    "bert's words": lambda: byte_level(sequence(pre_tokenizers.BertPreTokenizer(), BYTES)),
    "whitespace": lambda: byte_level(sequence(pre_tokenizers.Whitespace(), BYTES)),
    "whitespace split, metaspace": lambda: llama2(legacy=False, scheme="always", words=True),
    "delimiter, fixed length": lambda: byte_level(sequence(pre_tokenizers.CharDelimiterSplit("e"), pre_tokenizers.FixedLength(7), BYTES)),
    "roberta": roberta,
    "llama 2, legacy": llama2,
    "metaspace first": lambda: llama2(legacy=False, scheme="first"),
    "metaspace always": lambda: llama2(legacy=False, scheme="always"),
    "metaspace never": lambda: llama2(legacy=False, scheme="never"),
    "metaspace first, split": lambda: llama2(legacy=False, scheme="first", split=True),
}
