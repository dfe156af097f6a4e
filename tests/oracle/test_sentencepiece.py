"""Compares tokenizer.model files, and GGUF files of the models t5, bert and llama, with the PyPI `sentencepiece` and `tokenizers` libraries.

The variables are those of test_models.py.
"""

import random

import pytest
from tokenizers import AddedToken

import protobuf
import text_samples
from comparison import CASES, check_decoding, check_decoding_of, check_long_texts, check_same, check_spans, check_untrusted_spans
from model_kinds import SPACE, SPECIALS, SPM_KINDS, bert_tokenizer, gguf_pieces, sentence_piece


def check_sentence_piece(ours, processor, seed):
    """Ids, and texts of tokens cut anywhere and of any tokens. SentencePiece never takes text for a control token."""
    texts = text_samples.generate(CASES, seed=seed)
    texts[::5] = text_samples.normalizable(len(texts[::5]), seed=seed)
    texts = [text.replace("\x00", "") for text in texts]
    expected = processor.encode(texts)
    found = ours.encode(texts, trusted=False)
    check_same(texts, expected, found)
    rng = random.Random(seed)
    # Control tokens are left out before there is a text, where SentencePiece makes nothing of them later.
    tokens = [i for i in range(processor.get_piece_size()) if not processor.is_control(i)]
    sequences = [ids[rng.randrange(len(ids) + 1) :] for ids in expected[: CASES // 4]]
    sequences += [rng.choices(tokens, k=rng.randint(1, 12)) for _ in range(2000)]
    sequences += [rng.choices(tokens[:270], k=rng.randint(1, 12)) for _ in range(2000)]  # bytes, if there are
    expected = processor.decode(sequences)
    check_decoding_of(ours, sequences, expected, skip_special=True)


@pytest.mark.parametrize("kind", SPM_KINDS)
def test_a_tokenizer_model_gives_the_ids_and_texts_of_sentencepiece(kind, ours, tmp_path):
    model, processor = sentence_piece(kind)
    ours.load_model(model, tmp_path)
    check_sentence_piece(ours, processor, kind)


@pytest.mark.parametrize("flags,expected", [
    ({}, [1, 0]), ({"add_bos_token": False}, [0, 0]), ({"add_eos_token": True}, [1, 1]), ({"add_bos_token": False, "add_eos_token": True}, [0, 1])])
def test_bos_and_eos_of_a_tokenizer_model_are_what_its_configuration_says(flags, expected, ours, tmp_path):
    model, processor = sentence_piece("bpe identity")
    ours.load_model(model, tmp_path, {"bos_token": "<s>", "eos_token": {"content": "</s>"}, **flags})
    ids = ours.encode(["hello world"], add_special=True)[0]
    assert ids == [1] * expected[0] + processor.encode("hello world") + [2] * expected[1]
    facts = ours.expect(op="facts")
    assert (facts["bos"], facts["eos"], facts["adds_bos"], facts["end_of_generation"]) == (1, 2, bool(expected[0]), [2])


def test_tokens_of_the_configuration_follow_the_pieces(ours, tmp_path):
    model, processor = sentence_piece("bpe identity")
    size = processor.get_piece_size()
    added = {str(size): {"content": "<|im_start|>", "special": True}, str(size + 1): {"content": "<tool>", "special": False},
             "1": {"content": "<s>", "special": True}}
    ours.load_model(model, tmp_path, {"added_tokens_decoder": added, "legacy": False})
    assert ours.expect(op="facts")["vocab_size"] == size + 2
    hello = processor.encode("hello")
    assert ours.encode(["<|im_start|>hello"])[0][0] == size
    assert ours.encode(["hello<tool>", "hello<|im_start|>"], trusted=False) == [hello + [size + 1], processor.encode("hello<|im_start|>")]
    # Only the start of the whole text gets a space in front.
    assert ours.expect(op="decode", ids=ours.encode(["<|im_start|>hello"]), skip_special=False)["texts"] == ["<|im_start|>hello"]
    clash = {"5": {"content": "<tool>", "special": False}}
    assert "id 5" in ours.load_model(model, tmp_path, {"added_tokens_decoder": clash}, ok=False)["error"]


def piece(text, kind=1):
    return protobuf.field(1, protobuf.field(1, text.encode()) + protobuf.field(3, kind))


UNKNOWN = piece("<unk>", 2)
RULES = (8).to_bytes(4, "little") + bytes(8)


@pytest.mark.parametrize("model,named", [
    (UNKNOWN + piece("a") + protobuf.field(2, protobuf.field(3, 3)), "trainer_spec.model_type is 3 (word)"),
    (UNKNOWN + piece("a") + protobuf.field(2, protobuf.field(3, 4)), "trainer_spec.model_type is 4 (char)"),
    (UNKNOWN + piece("a") + protobuf.field(5, protobuf.field(2, RULES)), "denormalizer_spec"),
    (UNKNOWN + piece("a") + protobuf.field(3, protobuf.field(2, b"\xff\xff\xff\xff")), "precompiled_charsmap"),
    (UNKNOWN + piece("a") + piece("a"), "pieces[2]"),
    (UNKNOWN + UNKNOWN, "pieces"),
    (UNKNOWN + piece("a", 9), "pieces[1].type is 9"),
    (UNKNOWN + piece(""), "pieces[1]"),
    (UNKNOWN + piece("<0x41>", 6), "byte_fallback"),
    (UNKNOWN + piece("a") + protobuf.field(2, protobuf.field(35, 1)), "256 bytes"),
    (piece("a"), "unknown"),
    (b"", "unknown"),
    (b"\x0a\xff\xff\xff\xff\x0f", "field 1"),
    (b"\x0b", "wire type"),
    (b"IQ== 0\nIg== 1\n", "unknown"),  # a tiktoken file
])
def test_a_damaged_tokenizer_model_is_refused_by_name(model, named, ours, tmp_path):
    assert named in ours.load_model(model, tmp_path, ok=False)["error"]


def gguf_dump(kind):
    model, processor = sentence_piece(kind)
    spec = dict(protobuf.fields(dict(protobuf.fields(model))[3]))
    return dict(**gguf_pieces(processor, SPM_KINDS[kind].get("user_defined_symbols", [])), precompiled_charsmap=list(spec.get(2, b"")),
                add_space_prefix=bool(spec.get(3, 1)), remove_extra_whitespaces=bool(spec.get(4, 1)), eos=processor.eos_id(), unk=processor.unk_id())


@pytest.mark.parametrize("kind", ["unigram", "unigram identity", "unigram nfkc", "unigram spaces", "bpe", "bpe nmt_nfkc_cf", "bpe symbols"])
def test_a_gguf_file_of_sentencepiece_gives_its_ids_and_texts(kind, ours, tmp_path):
    ours.load_gguf(tmp_path, model="t5" if kind.startswith("unigram") else "llama", **gguf_dump(kind))
    processor = sentence_piece(kind)[1]
    check_sentence_piece(ours, processor, kind)
    if kind.startswith("unigram"):
        assert ours.encode(["hello"], add_special=True)[0] == [*processor.encode("hello"), processor.eos_id()]


def phantom(token):
    """As converters to GGUF spell BERT's tokens."""
    if token.startswith("[") and token.endswith("]"):
        return token
    return token[2:] if token.startswith("##") else SPACE + token


@pytest.mark.parametrize("cased", [False, True])
def test_a_gguf_file_of_bert_gives_the_ids_and_texts_of_the_oracle(cased, ours, tmp_path):
    oracle = bert_tokenizer(lowercase=not cased, added=[AddedToken("[MASK]", special=True, normalized=False)])
    tokens = [t for t, _ in sorted(oracle.get_vocab().items(), key=lambda item: item[1])]
    types = [2 if t == "[UNK]" else 3 if t in SPECIALS else 1 for t in tokens]
    ours.load_gguf(tmp_path, model="bert", tokens=[phantom(t) for t in tokens], token_types=types, bos=1, sep=2, unk=0)
    # U+2581 cannot be told from the one that converters put in front.
    texts = [text.replace(SPACE, "") for text in text_samples.generate(CASES, seed="bert %s" % cased)]
    check_spans(ours, oracle, texts, trusted=True)
    check_untrusted_spans(ours, oracle, texts)
    check_decoding(ours, oracle, texts[: CASES // 4], seed=cased)
    assert ours.encode(["Hello there"], add_special=True)[0] == oracle.encode("Hello there").ids


@pytest.mark.parametrize("model", ["rwkv", "none"])
def test_a_gguf_model_that_it_does_not_know_is_refused_by_name(model, ours, tmp_path):
    error = ours.load_gguf(tmp_path, ok=False, model=model, tokens=["a"])["error"]
    assert model in error and '"t5"' in error and '"bert"' in error


@pytest.mark.parametrize("kind", ["unigram", "unigram symbols", "bpe", "bpe identity", "bpe symbols"])
def test_a_long_text_of_one_thing_is_encoded(kind, ours, tmp_path):
    ours.load_model(sentence_piece(kind)[0], tmp_path)
    check_long_texts(ours)
