#!/usr/bin/env python3
"""Writes src/quant/grids.gen.h: the grids of GGUF's i-quants, from Python's gguf package (needs numpy and gguf 0.19 or newer).

A row of a grid is eight values of a table of three, 2 bits each, or four of a table of eight, 3 bits each: value j in bits 2j or 3j. Run by
hand; the result is committed.
"""

import pathlib
import textwrap

import numpy as np
from gguf import quants

OUT = pathlib.Path(__file__).resolve().parent.parent / "src/quant/grids.gen.h"
GRIDS = {"kIq2XxsGrid": quants.IQ2_XXS, "kIq2XsGrid": quants.IQ2_XS, "kIq2SGrid": quants.IQ2_S, "kIq1Grid": quants.IQ1_S,
         "kIq3XxsGrid": quants.IQ3_XXS, "kIq3SGrid": quants.IQ3_S}


def rows(kind):
    kind.init_grid()
    values = kind.grid.reshape(kind.grid_shape).astype(int)
    bits = 2 if values.shape[1] == 8 else 3
    places = {value: i for i, value in enumerate(kind.grid_map)}
    return [sum(places[v] << bits * j for j, v in enumerate(row)) for row in values]


def main():
    assert all(sign == i | (bin(i).count("1") % 2) << 7 for i, sign in enumerate(quants.IQ2_XXS.ksigns))  # what signs_of() computes
    text = "#pragma once\n\n#include <array>\n#include <cstdint>\n\n// Written by tools/make_quant_grids.py.\n// clang-format off\n\nnamespace millrace::quant {\n"
    for name, kind in GRIDS.items():
        words = rows(kind)
        body = textwrap.fill(",".join(f" {w:#x}" for w in words).strip(), 120, break_long_words=False)
        text += f"\n// Rows of the values {', '.join(map(str, kind.grid_map))}.\n"
        text += f"inline constexpr std::array<std::uint16_t, {len(words)}> {name} = {{\n{body}}};\n"
    OUT.write_text(text + "\n}  // namespace millrace::quant\n// clang-format on\n")


if __name__ == "__main__":
    main()
