"""Writes the seed files of corpus/sentencepiece_model, and those of corpus/tokenizer_json that hold a model other than BPE or a normalizer.

Needs sentencepiece and tokenizers.
"""

import contextlib
import pathlib
import sys
import tempfile

from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

CORPUS = pathlib.Path(__file__).parent / "corpus"
sys.path.insert(0, str(CORPUS.parents[1] / "oracle"))
from model_kinds import assembled, sentence_piece_model  # noqa: E402
from protobuf import charsmap_of  # noqa: E402

LINES = ["hello world the cat", "the world said hello", "a cat and the hat", "that is it"] * 4
# "A" -> "a", U+FB01 -> "fi", U+00AD -> nothing, "e" U+0301 -> U+00E9, U+3000 -> " "
RULES = "41\t61\nFB01\t66 69\nAD\t\n65 301\tE9\n3000\t20\n"


def train(**options):
    # The model holds the rules' path: a relative one, so that it comes out the same every time.
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        pathlib.Path("rules.tsv").write_text(RULES)
        return sentence_piece_model(LINES, normalization_rule_tsv="rules.tsv", hard_vocab_limit=False, **{"vocab_size": 40, **options})


def write(folder, name, contents):
    path = CORPUS / folder
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_bytes(contents)


def tokenizer_json(name, model, normalizer=None, pre_tokenizer=None, decoder=None):
    tokenizer = assembled(model, normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=decoder)
    tokenizer.add_special_tokens([AddedToken("<s>", special=True, normalized=False)])
    write("tokenizer_json", name + ".json", tokenizer.to_str().encode())


unigram = train(model_type="unigram")
write("sentencepiece_model", "unigram.model", unigram)
write("sentencepiece_model", "bytes.model", train(model_type="unigram", byte_fallback=True, vocab_size=300, remove_extra_whitespaces=False, user_defined_symbols=["<t>", "ab"]))
write("sentencepiece_model", "bpe.model", train(model_type="bpe", control_symbols=["<c>"], user_defined_symbols=["ab"]))
write("sentencepiece_model", "suffix.model", train(model_type="bpe", treat_whitespace_as_suffix=True, byte_fallback=True, vocab_size=300))

pieces = [("<unk>", 0.0), ("\u2581", -2.0), ("a", -3.0), ("\u2581hello", -4.5), ("b", -3.5), ("ab", -3.25), ("<0x0A>", -9.0)]
rules = normalizers.Precompiled(charsmap_of(unigram))
tokenizer_json("unigram", models.Unigram(pieces, unk_id=0, byte_fallback=True),
               normalizers.Sequence([rules, normalizers.Replace(Regex(" {2,}"), " ")]), pre_tokenizers.Metaspace(), decoders.Metaspace())
words = {"[UNK]": 0, "hello": 1, "##lo": 2, "he": 3, "##l": 4, ",": 5, "x": 6, "a": 7, "1": 8, "##2": 9}
tokenizer_json("word_piece", models.WordPiece(words, unk_token="[UNK]"), normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer(), decoders.WordPiece())
tokenizer_json("word_level", models.WordLevel(words, unk_token="[UNK]"),
               normalizers.Sequence([normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()]),
               pre_tokenizers.Whitespace())
tokenizer_json("forms", models.WordLevel(words, unk_token="[UNK]"),
               normalizers.Sequence([normalizers.NFD(), normalizers.NFC(), normalizers.NFKC(), normalizers.ByteLevel(), normalizers.Prepend("a")]))
