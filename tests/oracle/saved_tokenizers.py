"""Tokenizers that other tools saved, as people use them: each kind writes a model's folder or .gguf file and knows what it must give."""

import functools
import json
import os
import pathlib
import subprocess
import sys

import gguf
import numpy
import sentencepiece
import transformers
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

import bpe_kinds
import hard_strings
import model_kinds
import text_samples
from model_kinds import SPACE, assembled, sequence
from untrusted import Untrusted

HERE = pathlib.Path(__file__).resolve().parent
TEXTS = [string.decode("utf-8", "replace") for string in hard_strings.STRINGS]
CONFIG = {"architectures": ["LlamaForCausalLM"], "vocab_size": 100000, "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64, "rms_norm_eps": 1e-6}


class OfTokenizers:
    """What the library tokenizers says."""

    def __init__(self, tokenizer):
        self.tokenizer, self.untrusted = tokenizer, Untrusted(tokenizer)

    def ids(self, trusted, add_special=False):
        if not trusted:
            return self.untrusted.ids(TEXTS)
        return [e.ids for e in self.tokenizer.encode_batch(TEXTS, add_special_tokens=add_special)]

    def texts(self, sequences, skip_special):
        return self.tokenizer.decode_batch(sequences, skip_special_tokens=skip_special)


class OfSentencePiece:
    """What SentencePiece says, which takes no text for a control piece: nothing of trusted text that spells one, or one of `special`."""

    def __init__(self, processor, special=()):
        self.processor, self.skips = processor, not special
        pieces = range(processor.get_piece_size())
        self.special = [processor.id_to_piece(i) for i in pieces if processor.is_control(i) or processor.is_unknown(i)] + list(special)

    def ids(self, trusted, add_special=False):
        return [None if add_special or (trusted and any(s in text for s in self.special)) else self.processor.encode(text) for text in TEXTS]

    def texts(self, sequences, skip_special):
        if not skip_special or not self.skips:
            return None
        return [None if any(s in given for s in self.special) else text for given, text in zip(TEXTS, self.processor.decode(sequences))]


class OfPython:
    """What one of Transformers' tokenizers written in Python said."""

    def __init__(self, answers):
        self.answers = answers

    def ids(self, trusted, add_special=False):
        return [None] * len(TEXTS) if add_special else self.answers["trusted" if trusted else "untrusted"]

    def texts(self, sequences, skip_special):
        return None


def folder_of_a_model(folder):
    """What else a model's folder needs to be opened."""
    (folder / "config.json").write_text(json.dumps(CONFIG))
    save_file({"a": numpy.zeros(2, numpy.float32)}, str(folder / "model.safetensors"))
    return folder


def reread(folder):
    """As users get it: the tokenizer that Transformers 5 reads from the folder."""
    return OfTokenizers(transformers.AutoTokenizer.from_pretrained(str(folder)).backend_tokenizer)


def lines():
    return text_samples.training_lines()[:500]


# Transformers 5: trained, given the tokens of a chat, saved.
def saved_by_5(name, folder, size=600, tokens=None, added=()):
    untrained = getattr(transformers, name)(**(tokens or {}))
    few = type(untrained.backend_tokenizer.model).__name__ == "Unigram"  # its trainer takes every character that it sees
    text = model_kinds.lines_of_few_characters(most=150)[:700] if few else lines()
    tokenizer = untrained.train_new_from_iterator(text, size, show_progress=False)
    tokenizer.add_special_tokens({"extra_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.add_tokens(list(added))
    tokenizer.save_pretrained(str(folder))
    return reread(folder)


@functools.cache
def saved_by_4(root):
    """All of saved_by_transformers4.py at once: {name: what its Python tokenizers say}"""
    source = pathlib.Path(root) / "sources"
    source.mkdir(exist_ok=True)
    sources = {"models": {}, "files": {}}
    pieces = dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>")
    models_of = {"llama": dict(), "gemma": dict(add_dummy_prefix=False, **pieces)}
    for name, options in models_of.items():
        sources["models"][name] = str(source / (name + ".model"))
        (source / (name + ".model")).write_bytes(trained_by_sentencepiece(model_type="bpe", byte_fallback=True, vocab_size=900,
                                                                          normalization_rule_name="identity", remove_extra_whitespaces=False, **options))
    chat = [AddedToken(t, special=True, normalized=False) for t in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]]
    files = {"llama": bpe_kinds.llama2(legacy=False, scheme="first", added=chat), "llama legacy": bpe_kinds.llama2(added=chat), "gpt2": bpe_kinds.gpt2(added=chat),
             "qwen2": bpe_kinds.qwen2(added=chat), "bert": model_kinds.bert_tokenizer(lowercase=False), "unigram": model_kinds.CONVERTED["XLM-R"]()}
    for name, tokenizer in files.items():
        sources["files"][name] = str(source / (name + ".json"))
        tokenizer.save(sources["files"][name])
    job = {"texts": TEXTS, "to": root, **sources}
    packages = os.environ.get("MILLRACE_TRANSFORMERS4", str(pathlib.Path(sys.prefix) / "transformers4"))
    done = subprocess.run([sys.executable, str(HERE / "saved_by_transformers4.py")], input=json.dumps(job), capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": packages})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def from_4(name, folder):
    answers = saved_by_4(str(folder.parent))[name]
    return OfPython(answers) if answers else OfTokenizers(Tokenizer.from_file(str(folder / "tokenizer.json")))


# The library tokenizers: trained with special tokens of all kinds, saved by it, a configuration beside.
def saved_by_tokenizers(folder, tokenizer, config=None, edit=None):
    tree = json.loads(tokenizer.to_str())
    if edit:
        edit(tree)
    (folder / "tokenizer.json").write_text(json.dumps(tree))
    if config is None:
        return OfTokenizers(Tokenizer.from_str(json.dumps(tree)))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **config}))
    return reread(folder)


def special(text, **flags):
    return AddedToken(text, special=True, normalized=False, **flags)


def bytes_bpe(special_tokens=(), added=(), size=700, pre_tokenizer=None):
    tokenizer = assembled(models.BPE(), pre_tokenizer=pre_tokenizer or pre_tokenizers.ByteLevel(add_prefix_space=False), decoder=decoders.ByteLevel())
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=list(special_tokens), initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(lines(), trainer)
    tokenizer.add_tokens(list(added))
    return tokenizer


def character_bpe(special_tokens, unk="<unk>", **options):
    tokenizer = assembled(models.BPE(unk_token=unk, **options), pre_tokenizer=pre_tokenizers.Metaspace(),
                          decoder=decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]))
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=list(special_tokens), limit_alphabet=150, show_progress=False)
    tokenizer.train_from_iterator(model_kinds.lines_of_few_characters()[:700], trainer)
    return tokenizer


BYTES = ["<0x%02X>" % b for b in range(256)]


def unigram_of(special_tokens, **parts):
    tokenizer = assembled(models.Unigram(), pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(), **parts)
    trainer = trainers.UnigramTrainer(vocab_size=700, special_tokens=list(special_tokens), unk_token="<unk>", show_progress=False,
                                       initial_alphabet=list("<0123456789ABCDEFx>"))
    tokenizer.train_from_iterator(model_kinds.lines_of_few_characters(most=150)[:700], trainer)
    return tokenizer


def add_bytes(tree):
    """Byte fallback of a Unigram model, its bytes special."""
    tree["model"]["byte_fallback"] = True
    first = len(tree["model"]["vocab"])
    tree["model"]["vocab"] += [[b, -20.0] for b in BYTES]
    tree["added_tokens"] += [{"id": first + i, "content": b, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                             for i, b in enumerate(BYTES)]
    tree["decoder"] = json.loads(assembled(models.BPE(), decoder=decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace()])).to_str())["decoder"]


def one_id_for_all(tree):
    """As careless scripts write them."""
    shared = len(tree["model"]["vocab"])
    more = [dict(tree["added_tokens"][0], content="<extra_%d>" % i, id=shared) for i in range(300)]
    tree["added_tokens"] += more + more[:5]


def other_ids(tree):
    """Gaps, another order, a vocabulary's token under another id."""
    size = len(tree["model"]["vocab"])
    token = tree["added_tokens"][0]
    tree["added_tokens"] += [dict(token, content=c, id=i) for c, i in [("<x>", size + 40), ("<tool>", size + 7), ("<mask>", size + 8), (token["content"], 1831)]]


WORDS = ["<unk>", "!", "ab", "the", "<s>", "</s>"]
FLAGGED = [special("<mask>", lstrip=True), special("<tool>", rstrip=True), special("the", single_word=True), special("!", single_word=True),
           AddedToken("Hi", normalized=True), AddedToken("\u00e9", normalized=True, special=True)]


def word_level(folder):
    tokenizer = assembled(models.WordLevel(unk_token="<unk>"), pre_tokenizer=pre_tokenizers.Whitespace())
    tokenizer.train_from_iterator(lines(), trainers.WordLevelTrainer(vocab_size=300, special_tokens=WORDS, show_progress=False))
    return saved_by_tokenizers(folder, tokenizer)


def clip(folder):
    """CLIP's text encoder: "!" pads, words end in </w>."""
    tokenizer = assembled(models.BPE(continuing_subword_prefix="", end_of_word_suffix="</w>", unk_token="<|endoftext|>"), normalizer=model_kinds.NORMALIZERS["CLIP"](),
                          pre_tokenizer=bpe_kinds.sequence(pre_tokenizers.Split(bpe_kinds.Regex(r"'s|'t|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"), "removed", invert=True),
                                                           pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)), decoder=decoders.BPEDecoder("</w>"))
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=["<|startoftext|>", "<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
                                  end_of_word_suffix="</w>", show_progress=False)
    tokenizer.train_from_iterator(lines(), trainer)
    return saved_by_tokenizers(folder, tokenizer, {"pad_token": "!", "bos_token": "<|startoftext|>", "eos_token": "<|endoftext|>"})


def word_piece(folder):
    tokenizer = assembled(models.WordPiece(unk_token="[UNK]"), normalizer=normalizers.BertNormalizer(), pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
                          decoder=decoders.WordPiece())
    tokenizer.train_from_iterator(lines(), trainers.WordPieceTrainer(vocab_size=700, special_tokens=["[UNK]", "[CLS]", "[SEP]", "!", "a", "##b"], show_progress=False))
    return saved_by_tokenizers(folder, tokenizer, {"unk_token": "[UNK]", "mask_token": "[MASK]"})


# SentencePiece's own trainer.
def trained_by_sentencepiece(**options):
    train = [line.replace("\n", " ").replace("\r", " ").replace("\x00", "") for line in model_kinds.lines_of_few_characters(most=200)[:700]]
    return model_kinds.sentence_piece_model(train, **{"vocab_size": 700, "character_coverage": 0.99, "hard_vocab_limit": False, **options})


def saved_by_sentencepiece(folder, config=None, **options):
    model = trained_by_sentencepiece(**options)
    (folder / "tokenizer.model").write_bytes(model)
    (folder / "tokenizer_config.json").write_text(json.dumps({"legacy": True, **(config or {})}))
    special = [token["content"] for token in (config or {}).get("added_tokens_decoder", {}).values()]
    return OfSentencePiece(sentencepiece.SentencePieceProcessor(model_proto=model), special)


# gguf's own writer.
def write_gguf(file, model, tokens, types, pre=None, merges=None, scores=None, **ids):
    writer = gguf.GGUFWriter(str(file), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(16)
    writer.add_block_count(1)
    writer.add_feed_forward_length(24)
    writer.add_head_count(4)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model(model)
    if pre:
        writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if merges:
        writer.add_token_merges(merges)
    if scores:
        writer.add_token_scores(scores)
    for name, value in ids.items():
        getattr(writer, "add_" + name)(value)
    writer.add_tensor("token_embd.weight", numpy.zeros((len(tokens), 16), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def byte_level_gguf(file, pre, tokenizer, control=()):
    tree = json.loads(tokenizer.to_str())
    tokenizer.add_special_tokens([special(t) for t in control])
    vocab = tokenizer.get_vocab(with_added_tokens=True)
    added = {t.content: t for t in tokenizer.get_added_tokens_decoder().values()}
    tokens = sorted(vocab, key=vocab.get)
    write_gguf(file, "gpt2", tokens, [1 if t not in added else 3 if added[t].special else 4 for t in tokens], pre=pre,
               merges=[" ".join(m) if isinstance(m, list) else m for m in tree["model"]["merges"]], eos_token_id=0)
    return OfTokenizers(tokenizer)


def sentencepiece_gguf(file, kind, bytes_type=None):
    processor = bpe_kinds.llama2_vocabulary() if kind == "llama 2" else model_kinds.sentence_piece(kind)[1]
    pieces = model_kinds.gguf_pieces(processor)
    types = [bytes_type if bytes_type and t == 6 else t for t in pieces["token_types"]]
    write_gguf(file, "llama", pieces["tokens"], types, pre="default", scores=pieces["scores"], bos_token_id=1, eos_token_id=2, unk_token_id=0)
    return OfSentencePiece(processor)


CLASSES_OF_5 = """GPT2 Llama CodeLlama Gemma Qwen2 CLIP T5 Bert XLMRoberta Albert Roberta MBart Cohere GPTNeoX DebertaV2 Deberta MPNet BigBird Camembert Nllb
    Whisper Herbert OpenAIGPT RemBert""".split()
OF_4 = ["Llama, Python, legacy", "Llama, Python", "Gemma, Python", "Gemma, Python, names of another", "Llama", "Llama, legacy", "T5", "XLM-R", "BERT", "GPT-2, pad !", "Qwen2", "any"]
EOT = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

# From a folder, or where a .gguf file is to be, to what its tokenizer must give.
KINDS = {
    **{"Transformers 5, " + name: lambda folder, name=name: saved_by_5(name + "Tokenizer", folder) for name in CLASSES_OF_5},
    "Transformers 5, GPT-2 that pads with !": lambda folder: saved_by_5("GPT2Tokenizer", folder, tokens={"pad_token": "!"}),
    "Transformers 5, Qwen2 with tokens of users": lambda folder: saved_by_5("Qwen2Tokenizer", folder, added=["<tool>", AddedToken("Hi", single_word=True), " both"]),
    **{"Transformers 4, " + name: lambda folder, name=name: from_4(name, folder) for name in OF_4},
    "tokenizers, byte-level BPE": lambda folder: saved_by_tokenizers(folder, bytes_bpe(EOT)),
    "tokenizers, one-byte specials": lambda folder: saved_by_tokenizers(folder, bytes_bpe(["!", "\u0120", "a"] + EOT)),
    "tokenizers, flags": lambda folder: saved_by_tokenizers(folder, bytes_bpe(EOT, FLAGGED)),
    "tokenizers, roles in the configuration": lambda folder: saved_by_tokenizers(folder, bytes_bpe(["<s>"]), {"pad_token": "!", "eos_token": "<s>", "unk_token": "?"}),
    "tokenizers, specials that merges make": lambda folder: saved_by_tokenizers(folder, bytes_bpe(EOT, [special("the"), special("\u0120the")])),
    "tokenizers, one id for 300": lambda folder: saved_by_tokenizers(folder, bytes_bpe(EOT), edit=one_id_for_all),
    "tokenizers, other ids": lambda folder: saved_by_tokenizers(folder, bytes_bpe(EOT), edit=other_ids),
    "tokenizers, a byte of UTF-8": lambda folder: saved_by_tokenizers(folder, bytes_bpe(EOT, [special("\u00c3"), special("\u00e9"), special("\u00f0")])),
    "tokenizers, BPE with special bytes": lambda folder: saved_by_tokenizers(folder, character_bpe(["<unk>", "<s>", "</s>"] + BYTES, fuse_unk=True, byte_fallback=True)),
    "tokenizers, BPE with special bytes, no unknown": lambda folder: saved_by_tokenizers(folder, character_bpe(["<s>"] + BYTES, unk=None, byte_fallback=True)),
    "tokenizers, BPE with special characters": lambda folder: saved_by_tokenizers(folder, character_bpe(["<unk>", "a", "!", SPACE], fuse_unk=True)),
    "tokenizers, Unigram": lambda folder: saved_by_tokenizers(folder, unigram_of(["<unk>", "<s>", "a", "!", "ab"], normalizer=normalizers.NFKC())),
    "tokenizers, Unigram with special bytes": lambda folder: saved_by_tokenizers(folder, unigram_of(["<unk>", "<s>"]), edit=add_bytes),
    "tokenizers, WordPiece": word_piece,
    "tokenizers, WordLevel": word_level,
    "tokenizers, CLIP": clip,
    "SentencePiece, BPE": lambda folder: saved_by_sentencepiece(folder, model_type="bpe"),
    "SentencePiece, BPE with bytes": lambda folder: saved_by_sentencepiece(
        folder, {"added_tokens_decoder": {str(3 + i): {"content": b, "special": True} for i, b in enumerate(BYTES)}}, model_type="bpe", byte_fallback=True, vocab_size=900),
    "SentencePiece, BPE with symbols": lambda folder: saved_by_sentencepiece(folder, model_type="bpe", user_defined_symbols=["<tool>", "ab", "!"], control_symbols=["<|im_end|>", "z"]),
    "SentencePiece, Unigram": lambda folder: saved_by_sentencepiece(folder),
    "SentencePiece, Unigram with bytes": lambda folder: saved_by_sentencepiece(folder, byte_fallback=True, vocab_size=900, normalization_rule_name="nfkc"),
    "SentencePiece, Unigram with symbols": lambda folder: saved_by_sentencepiece(folder, user_defined_symbols=["<tool>", "th", "!"], control_symbols=["<|im_end|>", "z"]),
    "GGUF, GPT-2": lambda file: byte_level_gguf(file, "gpt-2", bytes_bpe(EOT)),
    "GGUF, Llama 3": lambda file: byte_level_gguf(file, "llama-bpe", bpe_kinds.llama3(added=bpe_kinds.PLAIN_ADDED)),
    "GGUF, Qwen2": lambda file: byte_level_gguf(file, "qwen2", bpe_kinds.qwen2(added=bpe_kinds.PLAIN_ADDED)),
    "GGUF, GPT-2 with ! as control": lambda file: byte_level_gguf(file, "gpt-2", bytes_bpe(EOT), control=["!", "th", "ing"]),
    "GGUF, Llama 2": lambda file: sentencepiece_gguf(file, "llama 2"),
    "GGUF, Llama 2 with bytes as control": lambda file: sentencepiece_gguf(file, "llama 2", bytes_type=3),
}
