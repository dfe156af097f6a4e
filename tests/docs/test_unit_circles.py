"""tools/unit_circles.py finds circles of includes between units, and accepted circles that are gone."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import unit_circles  # noqa: E402


def problems(tmp_path, files, accepted=()):
    for name, includes in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'#include "{target}"\n' for target in includes))
    return unit_circles.problems(unit_circles.read_units(tmp_path), list(accepted))


def test_a_header_and_its_source_are_one_unit(tmp_path):
    files = {"a/one.h": [], "a/one.cc": ["a/one.h", "b/two.h"], "b/two.h": [], "b/two.cc": ["b/two.h", "a/one.h"]}
    assert problems(tmp_path, files) == ["src: a circle of units: a/one includes b/two; b/two includes a/one"]


def test_a_circle_over_three_and_an_inc_file_is_found(tmp_path):
    files = {"a/one.h": ["a/two.h"], "a/two.inc": ["a/three.h"], "a/two.h": [], "a/three.h": ["a/one.h"], "a/four.h": ["a/one.h"]}
    (line,) = problems(tmp_path, files)
    assert "a/one includes a/two" in line and "a/two includes a/three" in line and "a/four" not in line


def test_includes_that_lead_one_way_are_no_circle(tmp_path):
    assert problems(tmp_path, {"a/one.h": [], "a/two.h": ["a/one.h"], "a/three.cc": ["a/one.h", "a/two.h", "<vector>"]}) == []


def test_an_accepted_circle_may_stay_but_neither_grow_nor_go_unnoticed(tmp_path):
    files = {"a/one.h": ["a/two.h"], "a/two.h": ["a/one.h"], "a/three.h": []}
    assert problems(tmp_path, files, [{"a/one", "a/two"}]) == []
    assert problems(tmp_path, {"a/two.h": ["a/three.h"], "a/three.h": ["a/one.h"]}, [{"a/one", "a/two"}]) != []
    (line,) = problems(tmp_path, {"a/one.h": [], "a/two.h": []}, [{"a/one", "a/two"}])
    assert "is not there" in line


def test_this_tree_has_the_accepted_circles_alone():
    assert unit_circles.problems(unit_circles.read_units(ROOT / "src"), unit_circles.ACCEPTED) == []
