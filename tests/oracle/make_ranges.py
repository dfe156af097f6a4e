"""Writes src/unicode/ranges.gen.h: the Unicode classes that tokenizers ask about, taken from the PyPI `tokenizers` library.

    python tests/oracle/make_ranges.py > src/unicode/ranges.gen.h

The classes come from the oracle itself, not from a Unicode database, so that both sides know the same Unicode version.
"""

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from character_tables import CODE_POINTS, class_runs, generated_header, matching, print_table


def isolated_by(pre_tokenizer):
    """What it makes a word of its own among letters."""
    found = set()
    for i in range(0, len(CODE_POINTS), 2048):
        text = "".join("aa" + chr(c) for c in CODE_POINTS[i : i + 2048]) + "a"
        found.update(ord(t) for t, _ in pre_tokenizer.pre_tokenize_str(text) if len(t) == 1 and t != "a")
    return found


def word_characters():
    """What an added token with single_word=True may not touch (\\w of Rust's regex)."""
    tokenizer = Tokenizer(models.BPE({"a": 0}, []))
    tokenizer.add_tokens([AddedToken("QQ", single_word=True, normalized=False)])
    encodings = tokenizer.encode_batch(["QQ" + chr(c) for c in CODE_POINTS])
    return {c for c, e in zip(CODE_POINTS, encodings) if 1 not in e.ids}


def main():
    classes = {
        "kLetter": matching(r"\p{L}+"),
        "kNumber": matching(r"\p{N}+"),
        "kSpace": matching(r"\s+"),
        "kDigit": isolated_by(pre_tokenizers.Digits(individual_digits=True)),  # Rust's char::is_numeric
        "kWord": word_characters(),
        "kBertPunctuation": isolated_by(pre_tokenizers.BertPreTokenizer()),  # ASCII symbols, and \p{P} of an older Unicode version
    }
    ranges = ["{0x%x, 0x%x, %d}," % run for run in class_runs(classes.values())]
    with generated_header("<cstdint>"):
        print("struct UnicodeRange {\n  std::uint32_t first, last;\n  std::uint8_t classes;\n};\n")
        print("// Sorted and disjoint; code points outside have no class.\n// Bits: %s."
              % ", ".join("%d %s" % (1 << bit, name) for bit, name in enumerate(classes)))
        print("// clang-format off")
        print_table("UnicodeRange kUnicodeRanges", ranges, 5)


main()
