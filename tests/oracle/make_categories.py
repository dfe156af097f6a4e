"""Writes src/unicode/categories.gen.h: general categories and the Han script as the PyPI `tokenizers` library knows them.

    python tests/oracle/make_categories.py > src/unicode/categories.gen.h

They come from the oracle's own regular expressions, not from a Unicode database, so that both sides know the same version.
"""

import sys
import unicodedata

from character_tables import generated_header, matching, print_table, runs

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()
OLD = "14.0.0"  # of the PCRE2 that Debian 12 has, and of this Python


def main():
    assert unicodedata.unidata_version == OLD, unicodedata.unidata_version
    category = [CATEGORIES.index("Cn")] * 0x110000
    for index, name in enumerate(CATEGORIES):
        for c in matching(r"\p{%s}+" % name):
            category[c] = index
    old = [CATEGORIES.index(unicodedata.category(chr(c)).replace("Cs", "Cn")) for c in range(0x110000)]
    entries = ["{0x%x, k%s}," % (first, CATEGORIES[value]) for first, _, value in runs(category.__getitem__)]
    changes = ["{0x%x, 0x%x, k%s}," % (first, last, CATEGORIES[value])
               for first, last, value in runs(lambda c: category[c] if category[c] != old[c] else None) if value is not None]
    han = matching(r"\p{Han}+")
    hans = ["{0x%x, 0x%x}," % (first, last) for first, last, is_han in runs(han.__contains__) if is_han]
    with generated_header('"unicode/general_category.h"'):
        print("// clang-format off\n// Each run of one category, up to the next one's start.")
        print("struct CategoryRun {\n  std::uint32_t first;\n  Category category;\n};")
        print_table("CategoryRun kCategoryRuns", entries, 8)
        print("\n// What Unicode %s has otherwise, mostly as unassigned." % OLD)
        print("struct CategoryChange {\n  std::uint32_t first, last;\n  Category category;\n};")
        print_table("CategoryChange kCategoryChanges", changes, 5)
        print("\nstruct CodePointRange {\n  std::uint32_t first, last;\n};")
        print_table("CodePointRange kHanRanges", hans, 6)
    print("%d runs, %d changes, %d ranges of Han" % (len(entries), len(changes), len(hans)), file=sys.stderr)


main()
