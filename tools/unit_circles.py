#!/usr/bin/env python3
"""Circles of units in src/: a unit is X.h, X.cc and X.inc together, and it points to every unit that one of them includes.

    tools/unit_circles.py     prints the circles that ACCEPTED does not have, and those of it that are gone; called by tools/check_layers.py

Units in a circle cannot be understood, tested or moved one without the other. A new one is broken by moving a declaration to where it
belongs: into a header of its own below both, or out of the unit that does not need it."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".h", ".cc", ".inc"}
# Each with its reason. No other circle may appear, and none of these may grow.
ACCEPTED: list[set[str]] = []


def read_units(root: pathlib.Path) -> dict[str, set[str]]:
    """The units below a folder, each with the others that it includes."""
    units: dict[str, set[str]] = {}
    for path in sorted(p for p in root.rglob("*") if p.suffix in SUFFIXES):
        included = re.findall(r'^\s*#\s*include "([^"]+)"', path.read_text(), re.M)
        targets = units.setdefault(str(path.relative_to(root).with_suffix("")), set())
        targets |= {str(pathlib.PurePosixPath(target).with_suffix("")) for target in included}
    return {unit: {t for t in targets if t in units and t != unit} for unit, targets in units.items()}


def reachable(units: dict[str, set[str]], start: str) -> set[str]:
    """What a unit points to, over any number of others."""
    found: set[str] = set()
    open_units = [start]
    while open_units:
        new = units[open_units.pop()] - found
        found |= new
        open_units += new
    return found


def circles(units: dict[str, set[str]]) -> list[set[str]]:
    """The sets of units that all reach each other, of two or more."""
    reach = {unit: reachable(units, unit) for unit in units}
    found: list[set[str]] = []
    for unit in sorted(units):
        circle = {other for other in reach[unit] if unit in reach[other]}
        if unit in circle and circle not in found:
            found.append(circle)
    return found


def problems(units: dict[str, set[str]], accepted: list[set[str]]) -> list[str]:
    found = circles(units)
    lines = []
    for circle in (c for c in found if c not in accepted):
        edges = "; ".join(f"{unit} includes {', '.join(sorted(units[unit] & circle))}" for unit in sorted(circle))
        lines.append(f"src: a circle of units: {edges}")
    lines += [f"tools/unit_circles.py: the accepted circle of {', '.join(sorted(c))} is not there: drop it or say what it is now"
              for c in accepted if c not in found]
    return lines


if __name__ == "__main__":
    found_problems = problems(read_units(ROOT / "src"), ACCEPTED)
    print("\n".join(found_problems) or "no circles of units" + (f" but {len(ACCEPTED)} accepted ones" if ACCEPTED else ""))
    sys.exit(bool(found_problems))
