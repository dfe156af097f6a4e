"""60 tokenizers saved by other tools x 100 strings: ids and texts as those tools have them, in trusted and in untrusted text.

Differences that stay are in DIFFERENCES, and in docs/text.md with their reasons; one that is gone must go there too.
"""

import pytest

import hard_strings
from saved_tokenizers import KINDS, TEXTS, folder_of_a_model

assert len(KINDS) >= 60 and len(hard_strings.STRINGS) == 100

# {kind: {(what, number of the string)}}
DIFFERENCES = {
    # Its configuration gives a role to "[MASK]", which the vocabulary does not have.
    "tokenizers, WordPiece": {(what, number) for what in ["trusted", "trusted framed"] for number in [79, 80, 85]},
    # Its configuration has other names than the control pieces <s> and </s> of its tokenizer.model.
    "Transformers 4, Gemma, Python, names of another": {("trusted", number) for number in [76, 77, 80, 84]},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("saved")


def check_all(expected, found, what, differences):
    different = set()
    for i, (e, f) in enumerate(zip(expected, found, strict=True)):
        if e is None or e == f:
            continue
        different.add((what, i))
        assert (what, i) in differences, "%s of string %d, %r\n  expected %s\n  found    %s" % (what, i, TEXTS[i], e, f)
    return different


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_tokenizer_gives_the_ids_and_texts_of_its_own_library(kind, ours, root):
    path = root / kind.replace("Transformers 4, ", "")
    if kind.startswith("GGUF"):
        path = path.with_suffix(".gguf")
    elif not kind.startswith("Transformers 4"):
        path.mkdir()
    oracle = KINDS[kind](path)
    if path.is_dir():
        folder_of_a_model(path)
    ours.expect(op="open", path=str(path))
    strings = [list(string) for string in hard_strings.STRINGS]
    differences, seen = DIFFERENCES.get(kind, set()), set()
    for trusted, add_special in [(True, False), (True, True), (False, False)]:
        found = ours.expect(op="encode_bytes", texts=strings, trusted=trusted, add_special=add_special)["ids"]
        what = "trusted" + " framed" * add_special if trusted else "untrusted"
        seen |= check_all(oracle.ids(trusted, add_special), found, what, differences)
        for skip_special in [False, True]:
            expected = oracle.texts(found, skip_special)
            answer = ours.expect(op="decode", ids=found, skip_special=skip_special)
            assert all(answer["streamed"])
            if expected is not None:
                seen |= check_all(expected, answer["texts"], "text of " + what + ", skipped" * skip_special, differences)
    assert seen == differences, "these differences are gone: %s" % sorted(differences - seen)
