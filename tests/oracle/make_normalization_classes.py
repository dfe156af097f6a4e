"""Writes src/unicode/normalization_classes.gen.h: what the normalizers ask about characters, taken from the PyPI `tokenizers` library.

    python tests/oracle/make_normalization_classes.py > src/unicode/normalization_classes.gen.h

The answers come from the oracle itself, not from a Unicode database: its normalizers know several versions of Unicode.
"""

from tokenizers import normalizers

from character_tables import CODE_POINTS, class_runs, generated_header, print_table

NFD, NFC, NFKD, NFKC = (getattr(normalizers, n)().normalize_str for n in ["NFD", "NFC", "NFKD", "NFKC"])


def is_mark(c):
    """A combining class that is not 0, as far as the oracle knows: it moves over a mark of another class."""
    low, high = "\u0334", "\u0345"  # classes 1 and 240
    return NFD(chr(c) + low)[0] == low or NFD(high + chr(c))[-1] == high


def changed(normalize):
    return {c for c in CODE_POINTS if normalize(chr(c)) != chr(c)}


def second_of_a_pair():
    """What may melt into the character before it."""
    out = {0x1161 + i for i in range(21)} | {0x11A8 + i for i in range(27)}
    for c in CODE_POINTS:
        parts = NFD(chr(c))
        if len(parts) > 1 and not 0xAC00 <= c < 0xD7A4:
            out.update(map(ord, parts[1:]))
    return out


def removed(normalizer):
    return {c for c in CODE_POINTS if normalizer.normalize_str("a" + chr(c)) == "a"}


def bert(**chosen):
    options = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**options, **chosen})


def lowercase():
    lower = normalizers.Lowercase().normalize_str
    return {c: lower(chr(c)) for c in CODE_POINTS if lower(chr(c)) != chr(c)}


def mapping_ranges(mapping):
    """[first, last, step, difference]: characters a constant distance from their lowercase, next to each other or every other one."""
    ranges = []
    for c, text in mapping.items():
        if len(text) != 1:
            continue
        delta = ord(text) - c
        if ranges:
            first, last, step, difference = ranges[-1]
            gap = c - last
            if delta == difference and gap in (1, 2) and (step == gap or first == last):
                ranges[-1] = [first, c, gap, delta]
                continue
        ranges.append([c, c, 1, delta])
    return ranges


def main():
    marks = {c for c in CODE_POINTS if is_mark(c)}
    second = second_of_a_pair()
    lower = lowercase()
    assert [t for t in lower.values() if len(t) > 1] == ["i\u0307"], "lower_case() knows one long mapping, that of U+0130"
    # In the order of the bits of NormalizationClass.
    classes = [
        changed(NFD) | marks,  # kNfdChanges
        changed(NFKD) | marks,  # kNfkdChanges
        changed(NFC) | marks | second,  # kNfcChanges
        changed(NFKC) | marks | second,  # kNfkcChanges
        removed(normalizers.StripAccents()),  # kCombiningMark
        removed(bert(strip_accents=True)),  # kNonspacingMark
        removed(bert(clean_text=True)),  # kUnclean
        set(lower),  # kHasLowerCase
    ]
    ranges = ["{0x%x, 0x%x, %d}," % run for run in class_runs(classes)]
    mappings = ["{0x%x, 0x%x, %d, %d}," % tuple(r) for r in mapping_ranges(lower)]
    with generated_header("<cstdint>"):
        print("struct NormalizationRange {\n  std::uint32_t first, last;\n  std::uint8_t classes;\n};")
        print("struct LowerCaseRange {\n  std::uint32_t first, last;\n  std::int32_t step, difference;\n};\n")
        print("// Sorted and disjoint; code points outside have no class. The bits are those of NormalizationClass.")
        print("// clang-format off")
        print_table("NormalizationRange kNormalizationRanges", ranges, 5)
        print("\n// Every step-th character from first to last is `difference` away from its lowercase. Sorted and disjoint.")
        print_table("LowerCaseRange kLowerCaseRanges", mappings, 4)


main()
